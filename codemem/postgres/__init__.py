"""Django's PostgreSQL backend, rolling back in a way that AGE survives."""
