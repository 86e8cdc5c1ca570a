"""Gunicorn's entry (gthread, synchronous: the measurements are in ARCHITECTURE.md)."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
application = get_wsgi_application()
