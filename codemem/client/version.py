"""The version of this client; a test holds it to the one in pyproject.toml.

A constant, because asking importlib.metadata costs more than the rest of `codemem --version`.
"""

VERSION = "0.1.0"
