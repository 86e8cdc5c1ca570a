"""What can go wrong with models, in sentences."""


class EmbeddingUnavailable(Exception):
    """No vectors can be made at present; `hint` says what an administrator can do."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(f"{message} {hint}")
        self.hint = hint


class ProviderUnknown(Exception):
    """The settings name an embedding provider that does not exist."""


class SpecificationInvalid(EmbeddingUnavailable):
    """The settings describe a model that cannot be used; the message says which one to mend."""

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="Then start the server again.")
