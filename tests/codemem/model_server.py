"""A local server that speaks the embedding APIs of Ollama, OpenAI and Gemini, with their faults."""

import hashlib
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 8
_HTTP_OK = 200


@dataclass
class Fault:
    """One wrong answer: a status with headers, another body, or nothing for a while."""

    status: int = _HTTP_OK
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    seconds: float = 0.0


@dataclass
class ModelServer:
    """Answers with vectors made of the texts' hashes; `faults` come first, one for each request."""

    url: str = ""
    dimensions: int = DIMENSIONS
    key: str = ""
    most_texts: int | None = None  # more are refused with 413
    answered_texts: int | None = None  # of more, only so many are answered
    faults: list[Fault] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [text for body in self.asked for text in texts_of(body)]

    def vector(self, text: str) -> list[float]:
        seed = hashlib.sha256(text.encode()).digest()
        return [seed[n % 32] / 255 - 0.5 for n in range(self.dimensions)]


def texts_of(body: dict[str, Any]) -> list[str]:
    if "requests" in body:
        return [request["content"]["parts"][0]["text"] for request in body["requests"]]
    return list(body["input"])


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Serve on a free port of this machine until the block ends."""
    told = ModelServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(told))
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()


def _handler(told: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.asked.append(body)
            told.paths.append(self.path)
            fault = told.faults.pop(0) if told.faults else None
            if fault:
                time.sleep(fault.seconds)
                if fault.status != _HTTP_OK or fault.body is not None:
                    self.answer(fault.status, fault.body or b"{}", fault.headers)
                    return
            given = self.headers.get("Authorization") or self.headers.get("x-goog-api-key") or ""
            if told.key and told.key not in given:
                self.answer(401, b'{"error": {"message": "Incorrect API key provided."}}')
                return
            texts = texts_of(body)
            if told.most_texts is not None and len(texts) > told.most_texts:
                self.answer(413, b"{}")
                return
            vectors = [told.vector(text) for text in texts[: told.answered_texts]]
            answer = _answer(self.path, body, vectors)
            if answer is None:
                self.answer(
                    404, b'{"error": "model \\"nothing\\" not found, try pulling it first"}'
                )
                return
            self.answer(_HTTP_OK, json.dumps(answer).encode())

        def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _answer(path: str, body: dict[str, Any], vectors: Sequence[list[float]]) -> Any:
    if body.get("model") == "nothing":
        return None
    if path == "/api/embed":
        return {"model": body["model"], "embeddings": vectors, "total_duration": 1}
    if path == "/v1/embeddings":
        rows = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        return {"object": "list", "data": rows[::-1], "model": body["model"]}
    if path.endswith(":batchEmbedContents"):
        return {"embeddings": [{"values": vector} for vector in vectors]}
    return None
