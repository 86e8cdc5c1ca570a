"""Providers of language models, against a server that speaks their APIs."""

import time
from dataclasses import replace
from typing import Any

import pytest

from codemem import language
from codemem.language import LanguageRefused, LanguageUnavailable
from codemem.language.anthropic import Anthropic
from codemem.language.ollama import Ollama
from codemem.language.openai import OpenAICompatible
from tests.codemem.language.conftest import ANTHROPIC, OLLAMA, OPENAI, Answer

KEY = "sk-secret-0123456789"
NAMES = ["anthropic", "openai", "ollama"]
GOOD: dict[str, dict[str, Any]] = {"anthropic": ANTHROPIC, "openai": OPENAI, "ollama": OLLAMA}


def make(name, server, *, timeout=5.0):
    makers: dict[str, Any] = {
        "anthropic": lambda: Anthropic(
            url=server.url, key=KEY, model="claude-haiku-4-5", timeout_seconds=timeout
        ),
        "openai": lambda: OpenAICompatible(
            url=f"{server.url}/v1", key=KEY, model="gpt-x-mini", timeout_seconds=timeout
        ),
        "ollama": lambda: Ollama(url=server.url, model="qwen3:8b", timeout_seconds=timeout),
    }
    made = makers[name]()
    made.waits = []
    made.endpoint = replace(made.endpoint, sleep=made.waits.append, chance=lambda: 1.0)
    return made


def ask(provider):
    return provider.complete(system="Be brief.", prompt="Notes.", maximum_tokens=50)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_with_its_model_and_tokens_comes_back(name, server):
    server.will(Answer(body=GOOD[name]))
    reply = ask(make(name, server))
    assert reply.text == "- Totals are rounded."
    assert (reply.input_tokens, reply.output_tokens, reply.is_cut) == (120, 9, False)
    assert reply.model == GOOD[name]["model"]


def test_anthropic_is_asked_as_its_documentation_says(server):
    server.will(Answer(body=ANTHROPIC))
    ask(make("anthropic", server))
    (asked,) = server.asked
    headers = {name.lower(): value for name, value in asked.headers.items()}
    assert asked.path == "/v1/messages"
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert asked.body == {
        "model": "claude-haiku-4-5",
        "max_tokens": 50,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Notes."}],
    }


def test_openai_is_asked_as_its_documentation_says(server):
    server.will(Answer(body=OPENAI))
    ask(make("openai", server))
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert [message["role"] for message in asked.body["messages"]] == ["system", "user"]
    assert asked.body["max_tokens"] == 50


def test_ollama_is_asked_for_one_whole_answer(server):
    server.will(Answer(body=OLLAMA))
    ask(make("ollama", server))
    (asked,) = server.asked
    assert (asked.path, asked.body["stream"]) == ("/api/chat", False)
    assert asked.body["options"] == {"num_predict": 50}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_an_overloaded_server_is_asked_again(name, status, server):
    server.will(Answer(status=status, body={}), Answer(body=GOOD[name]))
    provider = make(name, server)
    assert ask(provider).text
    assert provider.waits == [1.0]


def test_it_waits_as_long_as_it_is_told_to_and_then_gives_up(server):
    server.will(Answer(status=429, body={}, headers={"Retry-After": "7"}))
    provider = make("anthropic", server)
    with pytest.raises(LanguageUnavailable, match="429 4 times"):
        ask(provider)
    assert provider.waits == [8.0, 9.0, 11.0]
    assert len(server.asked) == 4


def test_a_date_to_wait_for_is_bounded(server):
    server.will(
        Answer(status=503, body={}, headers={"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}),
        Answer(body=OPENAI),
    )
    provider = make("openai", server)
    ask(provider)
    assert provider.waits == [31.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_final_and_says_why_without_the_key(status, server):
    server.will(
        Answer(status=status, body={"error": {"type": "x", "message": "The model is unknown."}})
    )
    with pytest.raises(LanguageRefused, match="The model is unknown") as caught:
        ask(make("openai", server))
    assert KEY not in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Bad gateway</html>",
        b"[1, 2]",
        b'{"choices": []}',
        b'{"choices": ["x"], "content": "x", "message": "x"}',
        b'{"content": [{"type": "text"}], "message": {"content": 7}, "choices": [{"message": {}}]}',
        b"[" * 100_000,
    ],
)
def test_nonsense_is_refused_in_a_sentence(name, body, server):
    server.will(Answer(body=body))
    with pytest.raises(LanguageRefused):
        ask(make(name, server))


def test_a_server_that_trickles_is_given_up_in_time(server):
    server.will(Answer(body=OPENAI, trickle=0.05))
    started = time.monotonic()
    with pytest.raises(LanguageUnavailable, match="ReadTimeout"):
        ask(make("openai", server, timeout=0.3))
    assert time.monotonic() - started < 5


def test_an_endless_answer_is_refused(server):
    server.will(Answer(body=b" " * (3 << 20)))
    with pytest.raises(LanguageRefused, match="far too long"):
        ask(make("openai", server))


def test_nobody_there_is_unavailable(server):
    provider = make("ollama", server)
    server.server.shutdown()
    server.server.server_close()
    with pytest.raises(LanguageUnavailable, match="ConnectError"):
        ask(provider)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("anthropic", {"stop_reason": "max_tokens"}),
        ("openai", {"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}),
        ("ollama", {"done_reason": "length"}),
    ],
)
def test_a_text_that_was_cut_says_so(name, changes, server):
    server.will(Answer(body={**GOOD[name], **changes}))
    assert ask(make(name, server)).is_cut


def test_settings_choose_a_provider_and_say_what_is_missing(settings):
    assert language.from_settings("none") is None
    settings.LANGUAGE_ANTHROPIC_KEY = ""
    with pytest.raises(language.ProviderUnset, match="CODEMEM_LANGUAGE_ANTHROPIC_KEY"):
        language.from_settings("anthropic")
    settings.LANGUAGE_ANTHROPIC_KEY = KEY
    chosen = language.from_settings("anthropic")
    assert chosen is not None
    assert chosen.name == "anthropic"
