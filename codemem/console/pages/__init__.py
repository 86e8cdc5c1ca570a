"""The pages by topic: each decodes a request, makes domain calls and renders a template."""
