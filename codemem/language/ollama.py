"""Ollama's chat API: a model on a machine of one's own."""

from codemem.language.http import Endpoint, count_in, text_in
from codemem.language.values import LanguageRefused, Reply


class Ollama:
    """A model that an Ollama server at `url` has."""

    name = "ollama"

    def __init__(self, *, url: str, model: str, timeout_seconds: float) -> None:
        self.model = model
        self.endpoint = Endpoint(
            url=f"{url.rstrip('/')}/api/chat", headers={}, timeout_seconds=timeout_seconds
        )

    def complete(self, *, system: str, prompt: str, maximum_tokens: int) -> Reply:
        answer = self.endpoint.post(
            {
                "model": self.model,
                "stream": False,
                "options": {"num_predict": maximum_tokens},
                "messages": [
                    {"role": "system", "content": system},
                    {"role": "user", "content": prompt},
                ],
            }
        )
        message = answer.get("message")
        if not isinstance(message, dict):
            raise LanguageRefused("Ollama answered without a message.")
        return Reply(
            text=text_in(message.get("content")),
            model=str(answer.get("model") or self.model),
            input_tokens=count_in(answer.get("prompt_eval_count")),
            output_tokens=count_in(answer.get("eval_count")),
            is_cut=answer.get("done_reason") == "length",
        )
