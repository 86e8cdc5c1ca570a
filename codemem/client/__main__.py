"""`python -m codemem.client`, for checkouts where the `codemem` script is not installed."""

import sys

from codemem.client.cli import main

if __name__ == "__main__":
    sys.exit(main())
