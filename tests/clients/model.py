"""A language model that does what a test says, in the words of three model APIs.

Anthropic's messages, OpenAI's responses and chat completions, Google's generateContent: all
streamed, as the clients ask for. Every request is kept, so that a test can see what the model was
shown.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Say:
    """The model ends its turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """The model runs a command with the client's own tool."""

    command: str


@dataclass(frozen=True, slots=True)
class Write:
    """The model writes a file with the client's own tool."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Ask:
    """The model calls a tool of ours, under whatever name the client lists it."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)


Step = Say | Run | Write | Ask


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a request offers it; some clients group the tools of one server."""

    name: str
    group: str = ""
    is_freeform: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    tool: Tool
    arguments: Mapping[str, object] | str


class ToolMissing(Exception):
    """A request does not offer what the step needs."""


class ScriptedModel:
    """One model; `plays` says what it does next."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self._steps: list[Step] = []
        self._lock = Lock()

    def __enter__(self) -> Self:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def plays(self, *steps: Step) -> None:
        """Do these steps in the next session, and forget what was asked before."""
        with self._lock:
            self._steps = list(steps)
            self.requests.clear()
            self.problems.clear()

    @property
    def was_shown(self) -> str:
        """Everything that the requests of this session showed the model."""
        return json.dumps(self.requests, ensure_ascii=False)

    def next_step(self, body: dict[str, Any], tools: Sequence[Tool]) -> Say | Call:
        """Return what to do now. A request without tools is a side show: a title, a summary."""
        with self._lock:
            self.requests.append(body)
            if not any(_ending(tools, name) for name in _RUNNERS):
                return Say("ok")
            step = self._steps.pop(0) if self._steps else Say("Done.")
        try:
            return step if isinstance(step, Say) else _call(step, tools)
        except ToolMissing as missing:
            self.problems.append(f"{missing}; offered: {sorted(tool.name for tool in tools)}")
            return Say(str(missing))


def _patch(path: str, content: str) -> str:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


# A client's own tools: how each is told to run a command and to write a file.
_RUNNERS: Mapping[str, Callable[..., Any]] = {
    "exec_command": lambda command: {"cmd": command},
    "run_shell_command": lambda command: {"command": command, "description": "check"},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-lc", command]},
    "Bash": lambda command: {"command": command, "description": "check"},
    "bash": lambda command: {"command": command, "description": "check"},
}
_WRITERS: Mapping[str, Callable[..., Any]] = {
    "write_file": lambda path, content: {"file_path": path, "content": content},
    "apply_patch": _patch,
    "Write": lambda path, content: {"file_path": path, "content": content},
    "write": lambda path, content: {"filePath": path, "content": content},
}


def _call(step: Run | Write | Ask, tools: Sequence[Tool]) -> Call:
    if isinstance(step, Ask):
        tool = _ending(tools, step.tool)
        if tool is None:
            raise ToolMissing(f"no tool {step.tool}")
        return Call(tool, step.arguments)
    ways = _RUNNERS if isinstance(step, Run) else _WRITERS
    for name, arguments in ways.items():
        tool = _ending(tools, name)
        if tool is not None and tool.name == name:
            given = (step.command,) if isinstance(step, Run) else (step.path, step.content)
            return Call(tool, arguments(*given))
    if isinstance(step, Write):
        content = step.content.replace("'", "'\\''")
        return _call(Run(f"printf '%s' '{content}' > {step.path}"), tools)
    raise ToolMissing("no tool that runs commands")


def _ending(tools: Sequence[Tool], name: str) -> Tool | None:
    exact = [tool for tool in tools if tool.name == name]
    ours = [tool for tool in tools if re.search(rf"codemem[_.]+{name}$", tool.name)]
    return next(iter(exact or ours), None)


# --- The three APIs ------------------------------------------------------------------------------


def _anthropic(model: ScriptedModel, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    step = model.next_step(body, [Tool(tool["name"]) for tool in body.get("tools") or []])
    usage = {"input_tokens": 10, "output_tokens": 5}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield "message_start", {"message": message}
    if isinstance(step, Say):
        start: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": step.text}
        reason = "end_turn"
    else:
        start = {"type": "tool_use", "id": f"toolu_{len(model.requests)}", "name": step.tool.name,
                 "input": {}}  # fmt: skip
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
        reason = "tool_use"
    yield "content_block_start", {"index": 0, "content_block": start}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    yield "message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield "message_stop", {}


def _responses(model: ScriptedModel, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    tools = []
    for tool in body.get("tools") or []:
        inner = tool.get("tools")
        if inner:
            tools += [Tool(one["name"], group=tool["name"]) for one in inner if "name" in one]
        elif "name" in tool:
            tools.append(Tool(tool["name"], is_freeform=tool.get("type") == "custom"))
    step = model.next_step(body, tools)
    number = len(model.requests)
    item: dict[str, Any]
    if isinstance(step, Say):
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": f"m{number}", "content": content}
    elif step.tool.is_freeform:
        item = {"type": "custom_tool_call", "id": f"c{number}", "call_id": f"call_{number}",
                "name": step.tool.name, "input": step.arguments}  # fmt: skip
    else:
        item = {"type": "function_call", "id": f"f{number}", "call_id": f"call_{number}",
                "name": step.tool.name, "arguments": json.dumps(step.arguments)}  # fmt: skip
        if step.tool.group:
            item["namespace"] = step.tool.group
    response = {"id": f"resp_{number}", "object": "response", "status": "completed",
                "output": [item]}  # fmt: skip
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 5,
             "output_tokens_details": None, "total_tokens": 15}  # fmt: skip
    yield "response.created", {"response": {"id": f"resp_{number}"}}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": {**response, "usage": usage}}


def _chat(model: ScriptedModel, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    tools = [Tool(tool["function"]["name"]) for tool in body.get("tools") or []]
    step = model.next_step(body, tools)
    number = len(model.requests)
    delta: dict[str, Any] = {"role": "assistant"}
    if isinstance(step, Say):
        delta["content"] = step.text
    else:
        function = {"name": step.tool.name, "arguments": json.dumps(step.arguments)}
        delta["tool_calls"] = [
            {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        ]
    base = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 1,
            "model": body.get("model")}  # fmt: skip
    reason = "stop" if isinstance(step, Say) else "tool_calls"
    yield "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    end = {"index": 0, "delta": {}, "finish_reason": reason}
    yield "", {**base, "choices": [end], "usage": usage}


def _gemini(model: ScriptedModel, body: dict[str, Any]) -> dict[str, Any]:
    tools = [
        Tool(one["name"])
        for group in body.get("tools") or []
        for one in group.get("functionDeclarations") or []
    ]
    step = model.next_step(body, tools)
    part: dict[str, Any]
    if isinstance(step, Say):
        part = {"text": step.text}
        wanted = (body.get("generationConfig") or {}).get("responseJsonSchema")
        if wanted:  # a side question that wants an object, such as which model to use
            part = {"text": json.dumps({"reasoning": "short", "model_choice": "flash"})}
    else:
        part = {"functionCall": {"name": step.tool.name, "args": step.arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def _named(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    return ((name, {"type": name, **data}) for name, data in events)


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one class
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send_json({"data": [], "models": [], "object": "list"})

        do_HEAD = do_GET  # noqa: N815 - the names are http.server's

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Transfer-Encoding") == "chunked":
                content = self._chunks()
            try:
                body = json.loads(content)
            except ValueError:
                model.problems.append(f"a request to {self.path} is no JSON")
                body = {}
            self._answer(self.path.partition("?")[0], body)

        def _answer(self, path: str, body: dict[str, Any]) -> None:
            match re.split("[/:]", path)[-1]:
                case "messages":
                    self._stream(_named(_anthropic(model, body)))
                case "responses":
                    self._stream(_named(_responses(model, body)))
                case "completions":
                    self._stream(_chat(model, body), ends_with="[DONE]")
                case "streamGenerateContent":
                    self._stream([("", _gemini(model, body))])
                case "generateContent":
                    self._send_json(_gemini(model, body))
                case "count_tokens" | "countTokens":
                    self._send_json({"input_tokens": 10, "totalTokens": 10})
                case _:
                    self._send_json({})

        def _chunks(self) -> bytes:
            content = b""
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return content

        def _stream(self, events: Any, *, ends_with: str = "") -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for name, data in events:
                label = f"event: {name}\n" if name else ""
                self.wfile.write(f"{label}data: {json.dumps(data)}\n\n".encode())
            if ends_with:
                self.wfile.write(f"data: {ends_with}\n\n".encode())

        def _send_json(self, value: object) -> None:
            content = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
