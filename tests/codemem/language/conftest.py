"""A server that speaks the APIs of language models as they do, also when they are unwell."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

ANTHROPIC = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-4-5-20251001",
    "content": [{"type": "text", "text": "- Totals are "}, {"type": "text", "text": "rounded."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 120, "output_tokens": 9},
}
OPENAI = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "gpt-x-mini-2026",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "- Totals are rounded."},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 120, "completion_tokens": 9, "total_tokens": 129},
}
OLLAMA = {
    "model": "qwen3:8b",
    "message": {"role": "assistant", "content": "- Totals are rounded."},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 120,
    "eval_count": 9,
}


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Answer:
    """What the server says next; `trickle` seconds pass before each byte of it."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    trickle: float = 0.0


class ModelServer:
    """Answers what it was told to, one after the other, the last again and again."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: list[Answer] = []
        self.stopped = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def will(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        told = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                told.asked.append(Asked(self.path, dict(self.headers), json.loads(content)))
                answer = told.answers.pop(0) if len(told.answers) > 1 else told.answers[0]
                body = answer.body
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                if not answer.trickle:
                    self.wfile.write(raw)
                    return
                for byte in raw:
                    if told.stopped.wait(answer.trickle):
                        return
                    try:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                    except OSError:
                        return

            def log_message(self, *_: object) -> None:
                """Say nothing: the test says what was asked."""

        return Handler


@pytest.fixture
def server() -> Iterator[ModelServer]:
    made = ModelServer()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.stopped.set()
    made.server.shutdown()
    made.server.server_close()
