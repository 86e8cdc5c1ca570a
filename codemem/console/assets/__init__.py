"""The browser's libraries: what package-lock.json names, without a CDN at run time."""
