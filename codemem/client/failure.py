"""What a command tells the user when it cannot do its work, and the exit status it ends with."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """The exit statuses of every command, as `codemem --help` documents them."""

    OK = 0
    PROBLEMS_FOUND = 1
    USAGE = 2
    UNREACHABLE = 3
    UNAUTHORIZED = 4
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class Failure(Exception):
    """A sentence for the user, a hint what to do about it, and a code for programs."""

    status = ExitStatus.USAGE
    code = "failed"

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.code

    def as_json(self) -> dict[str, object]:
        """Return the same object that the server's own errors have."""
        error = {"code": self.code, "message": self.message}
        return {"error": error | ({"hint": self.hint} if self.hint else {})}
