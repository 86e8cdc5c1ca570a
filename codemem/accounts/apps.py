"""Start-up of the accounts app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "codemem.accounts"
    label = "accounts"
    verbose_name = "People, namespaces and tokens"
