"""What providers of language models promise, answer and raise."""

from dataclasses import dataclass
from typing import Protocol


class LanguageUnavailable(Exception):
    """The model cannot be reached, is overloaded or too slow; later it may answer."""


class LanguageRefused(Exception):
    """The provider turned the request down or answered nonsense; trying again will not help."""


class ProviderUnset(LanguageRefused):
    """A namespace wants a provider that the server's settings do not describe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's text; `is_cut` when it ran into the limit. Tokens as the provider counts them."""

    text: str
    model: str
    input_tokens: int
    output_tokens: int
    is_cut: bool = False


class Provider(Protocol):
    """A language model behind an API."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    def complete(self, *, system: str, prompt: str, maximum_tokens: int) -> Reply:
        """Return the model's answer; raise LanguageUnavailable or LanguageRefused."""
        ...
