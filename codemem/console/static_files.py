"""How static files get their addresses."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped library
    """Names with a hash of the content once collected; before that, the plain ones.

    A test and a first run have nothing collected: whitenoise serves the packages' own files then.
    """

    def stored_name(self, name: str) -> str:
        try:
            stored: str = super().stored_name(name)
        except ValueError:
            return name
        return stored
