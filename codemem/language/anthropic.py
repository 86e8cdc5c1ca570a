"""Anthropic's Messages API."""

from codemem.language.http import Endpoint, count_in, text_in
from codemem.language.values import LanguageRefused, Reply

_VERSION = "2023-06-01"


class Anthropic:
    """A model of Anthropic, or of whoever speaks its API at `url`."""

    name = "anthropic"

    def __init__(self, *, url: str, key: str, model: str, timeout_seconds: float) -> None:
        self.model = model
        self.endpoint = Endpoint(
            url=f"{url.rstrip('/')}/v1/messages",
            headers={"x-api-key": key, "anthropic-version": _VERSION},
            timeout_seconds=timeout_seconds,
        )

    def complete(self, *, system: str, prompt: str, maximum_tokens: int) -> Reply:
        answer = self.endpoint.post(
            {
                "model": self.model,
                "max_tokens": maximum_tokens,
                "system": system,
                "messages": [{"role": "user", "content": prompt}],
            }
        )
        blocks = answer.get("content")
        if not isinstance(blocks, list):
            raise LanguageRefused("Anthropic answered without content.")
        texts = [
            text_in(block.get("text"))
            for block in blocks
            if isinstance(block, dict) and block.get("type") == "text"
        ]
        usage = answer.get("usage")
        used = usage if isinstance(usage, dict) else {}
        return Reply(
            text="".join(texts),
            model=str(answer.get("model") or self.model),
            input_tokens=count_in(used.get("input_tokens")),
            output_tokens=count_in(used.get("output_tokens")),
            is_cut=answer.get("stop_reason") == "max_tokens",
        )
