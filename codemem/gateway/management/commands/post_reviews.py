"""Have the server post reviews to a repository's pull requests by itself, or stop it.

manage.py post_reviews acme/shop --forge github --token env:CODEMEM_FORGE_TOKEN_SHOP
manage.py post_reviews acme/shop --off

The token stays where it is: in an environment variable of the workers, or in a file of
CODEMEM_FORGE_TOKENS_DIRECTORY. Only its place is stored.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from codemem.accounts import queries as accounts
from graph import queries as graph
from indexing.posting import services
from indexing.posting.forges import TokenUnset, read_token
from indexing.posting.values import Forge
from indexing.signing import webhook_secret, webhook_signing_token

_ACTOR = "manage.py"
_USUAL_APIS = {Forge.GITHUB: "https://api.github.com", Forge.GITLAB: "https://gitlab.com/api/v4"}


class Command(BaseCommand):
    help = "Post reviews to a repository's pull requests when its git host tells of them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("repository", help="namespace/name")
        parser.add_argument("--forge", choices=[forge.value for forge in Forge])
        parser.add_argument("--project", default="", help="owner/name, as the git host spells it")
        parser.add_argument("--api", default="", help="https://git.example.org/api/v1")
        parser.add_argument("--token", default="", help="env:CODEMEM_FORGE_TOKEN_X or file:NAME")
        parser.add_argument("--off", action="store_true", help="stop posting")

    def handle(self, *_: Any, **options: Any) -> None:
        repository = _repository(options["repository"])
        if options["off"]:
            stopped = services.disconnect(repository_id=repository.id, actor=_ACTOR)
            self.stdout.write("No more reviews are posted." if stopped else "None were posted.")
            return
        if not options["forge"]:
            raise CommandError("--forge: say which kind of git host it is.")
        forge = Forge(options["forge"])
        api = options["api"] or _USUAL_APIS.get(forge, "")
        if not api:
            raise CommandError(f"--api: say where the API of this {forge} is.")
        try:
            services.connect(
                repository_id=repository.id,
                forge=forge,
                api_url=api,
                project=options["project"] or options["repository"],
                token_source=options["token"],
                actor=_ACTOR,
            )
        except services.ConnectionInvalid as error:
            raise CommandError(str(error)) from error
        self._tell_what_is_left(repository.id, forge, options["token"])

    def _tell_what_is_left(self, repository_id: Any, forge: Forge, source: str) -> None:
        try:
            read_token(source)
        except TokenUnset as error:
            self.stdout.write(f"{error} The workers need it there.")
        secret = webhook_secret(repository_id)
        self.stdout.write(
            f"Now add a webhook at the git host: POST /webhooks/{forge}/{repository_id}, JSON,"
            f" events: push and pull requests, secret {secret}"
        )
        if forge is Forge.GITLAB:
            self.stdout.write(f"As a signing token: {webhook_signing_token(repository_id)}")


def _repository(text: str) -> Any:
    namespace, _, name = text.partition("/")
    known = accounts.find_namespace_by_name(name=namespace)
    found = graph.find_repositories(namespace_ids=[known.pk], name=name) if known and name else []
    if len(found) != 1:
        raise CommandError(f"There is no repository {text!r}: name it as namespace/name.")
    return found[0]
