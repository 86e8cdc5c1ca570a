"""The chat completions API of OpenAI, which many other servers speak."""

from codemem.language.http import Endpoint, count_in, text_in
from codemem.language.values import LanguageRefused, Reply


class OpenAICompatible:
    """A model behind `url`, which ends before `/chat/completions`; local servers need no key."""

    name = "openai"

    def __init__(self, *, url: str, key: str, model: str, timeout_seconds: float) -> None:
        self.model = model
        self.endpoint = Endpoint(
            url=f"{url.rstrip('/')}/chat/completions",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout_seconds=timeout_seconds,
        )

    def complete(self, *, system: str, prompt: str, maximum_tokens: int) -> Reply:
        answer = self.endpoint.post(
            {
                "model": self.model,
                "max_tokens": maximum_tokens,
                "messages": [
                    {"role": "system", "content": system},
                    {"role": "user", "content": prompt},
                ],
            }
        )
        choices = answer.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        message = first.get("message") if isinstance(first, dict) else None
        if not isinstance(first, dict) or not isinstance(message, dict):
            raise LanguageRefused("The provider answered without a choice.")
        usage = answer.get("usage")
        used = usage if isinstance(usage, dict) else {}
        return Reply(
            text=text_in(message.get("content")),
            model=str(answer.get("model") or self.model),
            input_tokens=count_in(used.get("prompt_tokens")),
            output_tokens=count_in(used.get("completion_tokens")),
            is_cut=first.get("finish_reason") == "length",
        )
