"""DRF viewsets for resources: namespaces, members, tokens, repositories, memories, audit.

Each reads through a filtered entry point of `queries` and writes through `services`, so that a row
of somebody else's namespace is a 404 here as everywhere.
"""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.validators import RegexValidator
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import DefaultRouter

from codemem.accounts import queries as accounts
from codemem.accounts import services as account_services
from codemem.accounts.values import Action, Caller, Role, TokenKind, TokenScope
from codemem.gateway.auth import caller_of
from codemem.gateway.errors import NotFound, RightMissing
from codemem.gateway.pagination import AuditPagination
from graph import queries as graph
from graph import services as graph_services
from indexing import queries as indexing
from indexing import services as indexing_services
from memory import queries as memory
from memory import services as memory_services
from workers import queue

_NAME = RegexValidator(accounts.NAME_PATTERN, "Use lower-case letters, digits, . _ or -.")


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "codemem.gateway.auth.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "bearerFormat": "cm_..."}


# --- What goes over the wire ----------------------------------------------------------------------
class NamespaceSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(read_only=True)
    name = serializers.CharField(max_length=63, validators=[_NAME])
    description = serializers.CharField(max_length=500, required=False, allow_blank=True)
    created_at = serializers.DateTimeField(read_only=True)


class MemberSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(read_only=True)
    namespace = serializers.CharField(source="namespace.name")
    user = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(choices=[role.title for role in Role])
    created_at = serializers.DateTimeField(read_only=True)

    def to_representation(self, instance: Any) -> dict[str, Any]:
        shown: dict[str, Any] = {**super().to_representation(instance)}
        shown["role"] = Role(instance.role).title
        return shown


class TokenSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(read_only=True)
    name = serializers.CharField(max_length=100)
    prefix = serializers.CharField(read_only=True)
    kind = serializers.ChoiceField(choices=[kind.value for kind in TokenKind], default="user")
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=[scope.value for scope in TokenScope]),
        required=False,
    )
    namespaces = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)
    days = serializers.IntegerField(
        write_only=True, required=False, min_value=1, max_value=3650, help_text="Days until expiry."
    )
    only_namespaces = serializers.ListField(
        child=serializers.CharField(), write_only=True, required=False, default=list
    )
    created_at = serializers.DateTimeField(read_only=True)
    expires_at = serializers.DateTimeField(read_only=True)
    last_used_at = serializers.DateTimeField(read_only=True)
    revoked_at = serializers.DateTimeField(read_only=True)


class IssuedTokenSerializer(TokenSerializer):
    secret = serializers.CharField(read_only=True, help_text="Shown once, here.")


class RepositorySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(read_only=True)
    namespace = serializers.CharField(source="namespace.name")
    name = serializers.CharField(max_length=63, validators=[_NAME])
    url = serializers.CharField(max_length=500)
    default_branch = serializers.CharField(max_length=255, required=False, allow_blank=True)
    created_at = serializers.DateTimeField(read_only=True)


class RunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    ref = serializers.CharField()
    commit = serializers.CharField()
    state = serializers.CharField()
    step = serializers.CharField()
    files_done = serializers.IntegerField()
    files_total = serializers.IntegerField()
    counts = serializers.DictField()
    seconds = serializers.DictField()
    skipped = serializers.DictField()
    error = serializers.CharField()
    queued_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class MemorySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.name")
    repository = serializers.CharField(source="repository.name", default=None)
    branch = serializers.CharField()
    memory_type = serializers.CharField()
    content = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    importance = serializers.FloatField()
    confidence = serializers.FloatField()
    author = serializers.CharField(source="author_name")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)


class AuditSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    action = serializers.CharField()
    namespace = serializers.CharField(source="namespace_name")
    target = serializers.CharField()
    result = serializers.CharField()
    detail = serializers.DictField()
    request_id = serializers.CharField()


# --- Views ----------------------------------------------------------------------------------------
class _CallerMixin:
    request: Request

    @property
    def caller(self) -> Caller:
        return caller_of(self.request)

    def require(self, wanted: Action, namespace_id: Any) -> None:
        if not self.caller.can(wanted, namespace_id):
            raise RightMissing(f"You may not {wanted} in this namespace.")

    def namespace_named(self, name: str) -> Any:
        found = accounts.find_namespace(caller=self.caller, name=name)
        if found is None:
            raise NotFound(f"There is no namespace {name!r}.")
        return found


class NamespaceViewSet(
    _CallerMixin,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    viewsets.GenericViewSet[Any],
):
    """The namespaces you belong to; owners rename them."""

    serializer_class = NamespaceSerializer
    lookup_field = "name"
    lookup_value_regex = "[^/]+"

    def get_queryset(self) -> QuerySet[Any]:
        return accounts.member_namespaces(caller=self.caller)

    def partial_update(self, request: Request, name: str) -> Response:
        namespace = self.namespace_named(name)
        self.require(Action.MANAGE_MEMBERS, namespace.pk)
        data = _valid(NamespaceSerializer, request, partial=True)
        if "name" in data:
            account_services.rename_namespace(
                namespace=namespace, name=data["name"], actor=self.caller.username
            )
        if "description" in data:
            account_services.describe_namespace(
                namespace=namespace, description=data["description"], actor=self.caller.username
            )
        return Response(NamespaceSerializer(namespace).data)


class MemberViewSet(_CallerMixin, mixins.ListModelMixin, viewsets.GenericViewSet[Any]):
    """Who belongs to the namespaces that you own, and with which role."""

    serializer_class = MemberSerializer
    filterset_fields = ["namespace__name", "user__username"]

    def get_queryset(self) -> QuerySet[Any]:
        return accounts.members_of(caller=self.caller, action=Action.MANAGE_MEMBERS)

    def create(self, request: Request) -> Response:
        data = _valid(MemberSerializer, request)
        namespace = self.namespace_named(data["namespace"]["name"])
        self.require(Action.MANAGE_MEMBERS, namespace.pk)
        user = accounts.find_user(username=data["user"]["username"])
        if user is None:
            raise NotFound(f"There is no user {data['user']['username']!r}.")
        membership = account_services.set_role(
            namespace=namespace,
            user=user,
            role=Role[data["role"].upper()],
            actor=self.caller.username,
        )
        return Response(MemberSerializer(membership).data, status=status.HTTP_201_CREATED)

    def destroy(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        membership = self.get_object()
        account_services.remove_member(
            namespace=membership.namespace, user=membership.user, actor=self.caller.username
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokenViewSet(
    _CallerMixin,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    viewsets.GenericViewSet[Any],
):
    """Your tokens: make one (the secret is in the answer, once), list them, revoke them."""

    serializer_class = TokenSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return accounts.tokens_of(caller=self.caller)

    @extend_schema(request=TokenSerializer, responses={201: IssuedTokenSerializer})
    def create(self, request: Request) -> Response:
        data = _valid(TokenSerializer, request)
        scopes = frozenset(TokenScope(scope) for scope in data.get("scopes", ())) or None
        # A token may never make one that can do more than itself.
        if scopes is not None and not scopes <= self.caller.scopes:
            missing = ", ".join(sorted(scopes - self.caller.scopes))
            raise RightMissing(f"Your own token lacks the scopes {missing}.")
        user = accounts.get_user(user_id=self.caller.user_id)
        issued = account_services.issue_token(
            user=user,
            name=data["name"],
            kind=TokenKind(data["kind"]),
            scopes=scopes if scopes is not None else self._default_scopes(data["kind"]),
            namespaces=self._namespaces(data["only_namespaces"]),
            expires_at=timezone.now()
            + timedelta(days=data.get("days", settings.TOKEN_DEFAULT_DAYS)),
            actor=user,
            now=timezone.now(),
        )
        shown = {**TokenSerializer(issued.token).data, "secret": issued.secret}
        return Response(shown, status=status.HTTP_201_CREATED)

    def destroy(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        account_services.revoke_token(
            token=self.get_object(), actor=self.caller.username, now=timezone.now()
        )
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _default_scopes(self, kind: str) -> frozenset[TokenScope]:
        return account_services.default_scopes(TokenKind(kind)) & self.caller.scopes

    def _namespaces(self, names: list[str]) -> list[Any]:
        if not names and accounts.is_limited(token_id=self.caller.token_id):
            return list(accounts.member_namespaces(caller=self.caller))
        return [self.namespace_named(name) for name in names]


class RepositoryViewSet(
    _CallerMixin,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    viewsets.GenericViewSet[Any],
):
    """Repositories: register one, have it indexed, see the runs."""

    serializer_class = RepositorySerializer
    filterset_fields = ["name", "namespace__name"]

    def get_queryset(self) -> QuerySet[Any]:
        return graph.visible_repositories(caller=self.caller, action=Action.READ_GRAPH)

    def create(self, request: Request) -> Response:
        data = _valid(RepositorySerializer, request)
        namespace = self.namespace_named(data["namespace"]["name"])
        self.require(Action.MANAGE_REPOSITORIES, namespace.pk)
        repository = graph_services.register_repository(
            namespace=namespace,
            name=data["name"],
            url=data["url"],
            default_branch=data.get("default_branch", ""),
            created_by=accounts.get_user(user_id=self.caller.user_id),
        )
        self._request_index(repository)
        return Response(RepositorySerializer(repository).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses={202: RunSerializer})
    @action(detail=True, methods=["post"], url_path="index")
    def index(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Have a worker fetch the repository and bring its graph up to the head."""
        repository = self.get_object()
        self.require(Action.MANAGE_REPOSITORIES, repository.namespace_id)
        run_id = self._request_index(repository)
        return Response(
            RunSerializer(indexing.get_run(run_id=run_id)).data, status=status.HTTP_202_ACCEPTED
        )

    @extend_schema(responses=RunSerializer(many=True))
    @action(detail=True, methods=["get"], url_path="runs")
    def runs(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Return the newest index runs with progress, counts, timings and skipped files."""
        runs = indexing.recent_runs(repository_id=self.get_object().pk)
        return Response(RunSerializer(runs, many=True).data)

    def _request_index(self, repository: Any) -> Any:
        run_id = indexing_services.request_index(
            repository_id=repository.pk, requested_by=self.caller.username
        )
        queue.index(run_id=run_id)
        return run_id


class MemoryViewSet(
    _CallerMixin,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    viewsets.GenericViewSet[Any],
):
    """What the team learned: list, read, retire."""

    serializer_class = MemorySerializer
    filterset_fields = ["memory_type", "namespace__name", "repository__name", "author_name"]

    def get_queryset(self) -> QuerySet[Any]:
        return memory.visible_memories(caller=self.caller, now=timezone.now())

    def destroy(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        memory_services.delete_memory(
            caller=self.caller, memory_id=self.get_object().pk, now=timezone.now()
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class AuditViewSet(_CallerMixin, mixins.ListModelMixin, viewsets.GenericViewSet[Any]):
    """The audit trail of the namespaces that you own."""

    serializer_class = AuditSerializer
    pagination_class = AuditPagination
    filterset_fields = ["action", "actor", "namespace_name"]

    def get_queryset(self) -> QuerySet[Any]:
        return accounts.audit_of(caller=self.caller)


router = DefaultRouter()
router.register("namespaces", NamespaceViewSet, basename="namespace")
router.register("members", MemberViewSet, basename="member")
router.register("tokens", TokenViewSet, basename="token")
router.register("repositories", RepositoryViewSet, basename="repository")
router.register("memories", MemoryViewSet, basename="memory")
router.register("audit", AuditViewSet, basename="audit")


def _valid(
    serializer_class: type[serializers.Serializer[Any]], request: Request, *, partial: bool = False
) -> dict[str, Any]:
    serializer = serializer_class(data=request.data, partial=partial)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
