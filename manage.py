#!/usr/bin/env python
"""Django's command line for codemem: run `python manage.py help` for the list."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    from django.core.management import execute_from_command_line
    from django.db.utils import OperationalError

    from codemem.env import EnvironmentInvalid

    try:
        execute_from_command_line(sys.argv)
    except EnvironmentInvalid as error:
        sys.exit(f"Settings: {error}")
    except OperationalError as error:
        # Django's own checks connect before ours can say it in a sentence.
        reason = str(error).strip().splitlines()[0]
        sys.exit(
            f"Postgres does not answer: {reason}\n"
            "HINT: Check DATABASE_URL; `make up` starts a server of its own."
        )


if __name__ == "__main__":
    main()
