"""Turns a prompt into text: what a provider promises, and which ones there are.

Knows nothing of memories, budgets or what the text is for. Nothing here is needed: without a
provider the product does all it does, with sentences instead of prose.
"""

from collections.abc import Callable, Mapping
from typing import Final

from codemem.language.values import (
    LanguageRefused,
    LanguageUnavailable,
    Provider,
    ProviderUnset,
    Reply,
)

__all__ = [
    "NONE",
    "LanguageRefused",
    "LanguageUnavailable",
    "Provider",
    "ProviderUnset",
    "Reply",
    "from_settings",
]

NONE: Final = "none"


def from_settings(name: str) -> Provider | None:
    """Return the provider of that name as the Django settings describe it; None for "none".

    Raise ProviderUnset, saying which setting is missing.
    """
    return None if name == NONE else _PROVIDERS[name]()


def _anthropic() -> Provider:
    from django.conf import settings

    from codemem.language.anthropic import Anthropic

    return Anthropic(
        url=settings.LANGUAGE_ANTHROPIC_URL,
        key=_required("CODEMEM_LANGUAGE_ANTHROPIC_KEY", settings.LANGUAGE_ANTHROPIC_KEY),
        model=_required("CODEMEM_LANGUAGE_ANTHROPIC_MODEL", settings.LANGUAGE_ANTHROPIC_MODEL),
        timeout_seconds=settings.LANGUAGE_TIMEOUT_SECONDS,
    )


def _openai() -> Provider:
    from django.conf import settings

    from codemem.language.openai import OpenAICompatible

    return OpenAICompatible(
        url=settings.LANGUAGE_OPENAI_URL,
        key=settings.LANGUAGE_OPENAI_KEY,
        model=_required("CODEMEM_LANGUAGE_OPENAI_MODEL", settings.LANGUAGE_OPENAI_MODEL),
        timeout_seconds=settings.LANGUAGE_TIMEOUT_SECONDS,
    )


def _ollama() -> Provider:
    from django.conf import settings

    from codemem.language.ollama import Ollama

    return Ollama(
        url=settings.LANGUAGE_OLLAMA_URL,
        model=_required("CODEMEM_LANGUAGE_OLLAMA_MODEL", settings.LANGUAGE_OLLAMA_MODEL),
        timeout_seconds=settings.LANGUAGE_TIMEOUT_SECONDS,
    )


_PROVIDERS: Final[Mapping[str, Callable[[], Provider]]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "ollama": _ollama,
}


def _required(name: str, value: str) -> str:
    if not value:
        raise ProviderUnset(f"No language model can be asked: {name} is not set on the server.")
    return value
