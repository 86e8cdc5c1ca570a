"""DRF viewsets for resources: namespaces, members, tokens, repositories, memories, audit.

Each reads through a filtered entry point of `queries` and writes through `services`, so that a row
of somebody else's namespace is a 404 here as everywhere.
"""

from contextlib import suppress
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import DefaultRouter

from codemem.accounts import queries as accounts
from codemem.accounts import services as account_services
from codemem.accounts.values import NOBODY, PERMISSIONS, Action, Caller, TokenKind, TokenScope
from codemem.gateway import filters
from codemem.gateway.auth import caller_of
from codemem.gateway.errors import NotFound, RightMissing
from codemem.gateway.pagination import AuditPagination, FindingPagination, StartedPagination
from codemem.gateway.representations import (
    AuditRepresentation,
    ConsolidationChangesRepresentation,
    ConsolidationRunRepresentation,
    ConsolidationRunsRepresentation,
    DecisionRepresentation,
    DismissalRepresentation,
    FindingRepresentation,
    IssuedTokenRepresentation,
    MemberRepresentation,
    MemoryRepresentation,
    NamespaceRepresentation,
    ProposalRepresentation,
    RegisteredRepositoryRepresentation,
    RemarkDismissalRepresentation,
    RemarkKeyRepresentation,
    RepositoryRepresentation,
    ReviewRepresentation,
    RunRepresentation,
    TokenRepresentation,
    WantedChangesRepresentation,
    WantedConsolidationRepresentation,
    WholeReviewRepresentation,
)
from graph import queries as graph
from graph import services as graph_services
from indexing import queries as indexing
from indexing import services as indexing_services
from indexing.findings import queries as findings
from indexing.findings import services as finding_services
from indexing.posting import queries as reviews
from indexing.posting import services as review_services
from memory import queries as memory
from memory import services as memory_services
from memory.consolidation import runs as consolidation
from memory.consolidation.changes import changes_of
from workers import queue


class ResourceViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Any]):
    """A resource as its caller sees it; `get_queryset` is always one of the filtered queries."""

    request: Request

    @cached_property
    def caller(self) -> Caller:
        # While the OpenAPI document is drawn up nobody asks, and nothing is visible.
        is_drawn_up = getattr(self, "swagger_fake_view", False)
        return NOBODY if is_drawn_up else caller_of(self.request)

    def require(self, wanted: Action, namespace: Any) -> None:
        if self.caller.can(wanted, namespace.pk):
            return
        permission = PERMISSIONS[wanted]
        raise RightMissing(
            f"You may not {wanted} in {namespace.name}.",
            hint=f"It takes the role {permission.role.title} there and a token with the scope"
            f" {permission.scope}.",
        )

    def namespace_named(self, name: str) -> Any:
        found = accounts.find_namespace(caller=self.caller, name=name)
        if found is None:
            raise NotFound(f"There is no namespace {name!r}.")
        return found


class NamespaceViewSet(ResourceViewSet, mixins.RetrieveModelMixin):
    """The namespaces you belong to; owners rename and describe them."""

    serializer_class = NamespaceRepresentation
    lookup_field = "name"
    lookup_value_regex = r"[^/\x00]+"

    def get_queryset(self) -> QuerySet[Any]:
        return accounts.member_namespaces(caller=self.caller)

    def get_object(self) -> Any:
        return self.namespace_named(self.kwargs["name"])

    def partial_update(self, request: Request, name: str) -> Response:  # noqa: ARG002
        namespace = self.get_object()
        self.require(Action.MANAGE_MEMBERS, namespace)
        data = _valid(NamespaceRepresentation, request, partial=True)
        account_services.change_namespace(namespace=namespace, actor=self.caller.username, **data)
        return Response(NamespaceRepresentation(namespace).data)


class MemberViewSet(ResourceViewSet):
    """Who belongs to the namespaces that you own, and with which role."""

    serializer_class = MemberRepresentation
    filterset_class = filters.MemberFilters

    def get_queryset(self) -> QuerySet[Any]:
        return accounts.members_of(caller=self.caller, action=Action.MANAGE_MEMBERS)

    def create(self, request: Request) -> Response:
        """Add a member, or change the role of one."""
        data = _valid(MemberRepresentation, request)
        namespace = self.namespace_named(data["namespace"]["name"])
        self.require(Action.MANAGE_MEMBERS, namespace)
        username = data["user"]["username"]
        user = accounts.find_user(username=username)
        if user is None:
            raise NotFound(f"There is no user {username!r}.")
        membership = account_services.set_role(
            namespace=namespace, user=user, role=data["role"], actor=self.caller.username
        )
        return Response(MemberRepresentation(membership).data, status=status.HTTP_201_CREATED)

    def destroy(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Take a member out of the namespace."""
        membership = self.get_object()
        account_services.remove_member(
            namespace=membership.namespace, user=membership.user, actor=self.caller.username
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokenViewSet(ResourceViewSet, mixins.RetrieveModelMixin):
    """Your tokens: make one (the secret is in the answer, once), list them, revoke them."""

    serializer_class = TokenRepresentation
    filterset_class = filters.TokenFilters

    def get_queryset(self) -> QuerySet[Any]:
        return accounts.tokens_of(caller=self.caller)

    @extend_schema(responses={201: IssuedTokenRepresentation})
    def create(self, request: Request) -> Response:
        """Make a token; it can do, reach and last no more than the one that asks."""
        data = _valid(TokenRepresentation, request)
        now = timezone.now()
        issued = account_services.issue_own_token(
            caller=self.caller,
            name=data["name"],
            kind=TokenKind(data["kind"]),
            scopes=[TokenScope(scope) for scope in data["scopes"]] if "scopes" in data else None,
            namespaces=[self.namespace_named(name) for name in data.get("namespaces", ())],
            expires_at=now + timedelta(days=data["days"]) if "days" in data else None,
            default_lifetime=timedelta(days=settings.TOKEN_DEFAULT_DAYS),
            now=now,
        )
        shown = {**TokenRepresentation(issued.token).data, "secret": issued.secret}
        return Response(
            shown, status=status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"}
        )

    def destroy(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Revoke a token at once."""
        account_services.revoke_token(
            token=self.get_object(), actor=self.caller.username, now=timezone.now()
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class RepositoryViewSet(ResourceViewSet, mixins.RetrieveModelMixin):
    """Repositories: register one, have it indexed, see the runs."""

    serializer_class = RepositoryRepresentation
    filterset_class = filters.RepositoryFilters

    def get_queryset(self) -> QuerySet[Any]:
        return graph.visible_repositories(caller=self.caller, action=Action.READ_GRAPH)

    @extend_schema(responses={201: RegisteredRepositoryRepresentation})
    def create(self, request: Request) -> Response:
        """Register a repository and have a worker index it."""
        data = _valid(RepositoryRepresentation, request)
        namespace = self.namespace_named(data["namespace"]["name"])
        self.require(Action.MANAGE_REPOSITORIES, namespace)
        repository = graph_services.register_repository(
            namespace=namespace,
            name=data["name"],
            url=data["url"],
            default_branch=data.get("default_branch", ""),
            created_by=accounts.get_user(user_id=self.caller.user_id),
        )
        shown = dict(RepositoryRepresentation(repository).data)
        try:
            self._request_index(repository.pk)
        except queue.QueueUnavailable as error:
            # Registered all the same, and the run is a row that is sent when Redis is back.
            shown["note"] = str(error)
        return Response(shown, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses={202: RunRepresentation})
    @action(detail=True, methods=["post"], url_path="index")
    def index(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Have a worker fetch the repository and bring its graph up to the head."""
        repository = self.get_object()
        self.require(Action.MANAGE_REPOSITORIES, repository.namespace)
        run = indexing.get_run(run_id=self._request_index(repository.pk))
        return Response(RunRepresentation(run).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(responses=RunRepresentation(many=True), filters=False)
    @action(detail=True, methods=["get"], url_path="runs", pagination_class=None)
    def runs(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Return the newest index runs with progress, counts, timings and skipped files."""
        runs = indexing.recent_runs(repository_id=self.get_object().pk)
        return Response(RunRepresentation(runs, many=True).data)

    def _request_index(self, repository_id: UUID) -> UUID:
        run_id = indexing_services.request_index(
            repository_id=repository_id, requested_by=self.caller.username
        )
        queue.index(run_id=run_id)
        return run_id


class FindingViewSet(ResourceViewSet, mixins.RetrieveModelMixin):
    """What analyses found in the code: list, read, dismiss with a reason, reopen."""

    serializer_class = FindingRepresentation
    filterset_class = filters.FindingFilters
    pagination_class = FindingPagination

    def get_queryset(self) -> QuerySet[Any]:
        return findings.visible_findings(caller=self.caller)

    @extend_schema(request=DismissalRepresentation, responses=FindingRepresentation)
    @action(detail=True, methods=["post"])
    def dismiss(self, request: Request, pk: str) -> Response:  # noqa: ARG002
        """Say that a finding is no problem, and why; it stays so while the code stays."""
        finding = self.get_object()
        self.require(Action.DISMISS_FINDING, finding.repository.namespace)
        finding_services.dismiss(
            finding_id=finding.pk,
            reason=_valid(DismissalRepresentation, request)["reason"],
            actor=self.caller.username,
            now=timezone.now(),
        )
        return Response(FindingRepresentation(self.get_object()).data)

    @extend_schema(request=None, responses=FindingRepresentation)
    @action(detail=True, methods=["post"])
    def reopen(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Take a dismissal back."""
        finding = self.get_object()
        self.require(Action.DISMISS_FINDING, finding.repository.namespace)
        finding_services.reopen(finding_id=finding.pk, actor=self.caller.username)
        return Response(FindingRepresentation(self.get_object()).data)


class ReviewViewSet(ResourceViewSet, mixins.RetrieveModelMixin):
    """Kept reviews of pull requests and commits: list, read, dismiss a remark, take that back."""

    serializer_class = ReviewRepresentation
    filterset_class = filters.ReviewFilters

    def get_queryset(self) -> QuerySet[Any]:
        return reviews.visible_reviews(caller=self.caller)

    @extend_schema(responses=WholeReviewRepresentation)
    def retrieve(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Return one review with what was asked and answered."""
        return Response(WholeReviewRepresentation(self.get_object()).data)

    @extend_schema(request=RemarkDismissalRepresentation, responses=WholeReviewRepresentation)
    @action(detail=True, methods=["post"])
    def dismiss(self, request: Request, pk: str) -> Response:  # noqa: ARG002
        """Say that a remark does not matter; it stays so over every push of the pull request."""
        review = self.get_object()
        self.require(Action.DISMISS_FINDING, review.repository.namespace)
        data = _valid(RemarkDismissalRepresentation, request)
        review_services.dismiss(
            review=review, actor=self.caller.username, now=timezone.now(), **data
        )
        return Response(WholeReviewRepresentation(self.get_object()).data)

    @extend_schema(request=RemarkKeyRepresentation, responses=WholeReviewRepresentation)
    @action(detail=True, methods=["post"])
    def restore(self, request: Request, pk: str) -> Response:  # noqa: ARG002
        """Take a dismissal back."""
        review = self.get_object()
        self.require(Action.DISMISS_FINDING, review.repository.namespace)
        data = _valid(RemarkKeyRepresentation, request)
        review_services.restore(review=review, actor=self.caller.username, **data)
        return Response(WholeReviewRepresentation(self.get_object()).data)


class MemoryViewSet(ResourceViewSet, mixins.RetrieveModelMixin):
    """What the team learned: list, read, retire. Agents store and recall with the tools."""

    serializer_class = MemoryRepresentation
    filterset_class = filters.MemoryFilters

    def get_queryset(self) -> QuerySet[Any]:
        return memory.list_memories(caller=self.caller, now=timezone.now())

    def destroy(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Retire a memory: nothing is erased."""
        memory_services.delete_memory(
            caller=self.caller, memory_id=self.get_object().pk, now=timezone.now()
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class ProposalViewSet(ResourceViewSet, mixins.RetrieveModelMixin):
    """What machines propose about memories: list, read, approve, reject."""

    serializer_class = ProposalRepresentation
    filterset_class = filters.ProposalFilters

    def get_queryset(self) -> QuerySet[Any]:
        return memory_services.visible_proposals(caller=self.caller)

    @extend_schema(request=DecisionRepresentation, responses=ProposalRepresentation)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:  # noqa: ARG002
        """Have a proposal carried out as yourself."""
        return self._decide(request, approve=True)

    @extend_schema(request=DecisionRepresentation, responses=ProposalRepresentation)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:  # noqa: ARG002
        """Turn a proposal down; it is not made again for 180 days."""
        return self._decide(request, approve=False)

    def _decide(self, request: Request, *, approve: bool) -> Response:
        memory_services.decide(
            caller=self.caller,
            item_id=self.get_object().pk,
            approve=approve,
            note=_valid(DecisionRepresentation, request)["note"],
            now=timezone.now(),
        )
        return Response(ProposalRepresentation(self.get_object()).data)


class ConsolidationRunViewSet(ResourceViewSet):
    """Consolidation: ask for runs of the cycles, see what they did, take it back."""

    serializer_class = ConsolidationRunRepresentation
    filterset_class = filters.ConsolidationRunFilters
    pagination_class = StartedPagination

    def get_queryset(self) -> QuerySet[Any]:
        return consolidation.visible_runs(caller=self.caller)

    def paginate_queryset(self, queryset: Any) -> Any:
        page = super().paginate_queryset(queryset)
        return page and [self._view(run) for run in page]

    def retrieve(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Return one run with its report."""
        return Response(ConsolidationRunRepresentation(self._view(self.get_object())).data)

    @extend_schema(
        parameters=[WantedChangesRepresentation], responses=ConsolidationChangesRepresentation
    )
    @action(detail=True, methods=["get"], pagination_class=None, filter_backends=[])
    def changes(self, request: Request, pk: str) -> Response:  # noqa: ARG002
        """Return what a run changed, in its order, as far as you may read the memories."""
        wanted = WantedChangesRepresentation(data=request.query_params.dict())
        wanted.is_valid(raise_exception=True)
        page = changes_of(
            run=self.get_object(),
            caller=self.caller,
            now=timezone.now(),
            **wanted.validated_data,
        )
        return Response(ConsolidationChangesRepresentation(page).data)

    @extend_schema(
        request=WantedConsolidationRepresentation,
        responses={202: ConsolidationRunsRepresentation},
    )
    def create(self, request: Request) -> Response:
        """Have workers run cycles; one that waits already is not asked for twice."""
        data = _valid(WantedConsolidationRepresentation, request)
        namespace = self.namespace_named(data["namespace"])
        self.require(Action.DELETE_ANY_MEMORY, namespace)
        asked = consolidation.request(
            caller=self.caller,
            namespace_id=namespace.pk,
            cycles=data.get("cycles") or [cycle.value for cycle in consolidation.CYCLES],
            is_dry=data["dry_run"],
            now=timezone.now(),
        )
        # A run is a row first: while Redis is away it waits for the clock.
        with suppress(queue.QueueUnavailable):
            queue.consolidate(namespace_id=namespace.pk)
        rows = {run.pk: run for run in self.get_queryset().filter(pk__in=asked)}
        shown = [self._view(rows[key]) for key in asked]
        return Response(
            ConsolidationRunsRepresentation({"runs": shown}).data, status=status.HTTP_202_ACCEPTED
        )

    @extend_schema(request=None, responses=ConsolidationRunRepresentation)
    @action(detail=True, methods=["post"])
    def undo(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Put back what a run changed; what was changed since stays, and is told."""
        run_id = self.get_object().pk
        consolidation.undo(caller=self.caller, run_id=run_id, now=timezone.now())
        return Response(ConsolidationRunRepresentation(self._view(self.get_object())).data)

    @extend_schema(request=None, responses=ConsolidationRunRepresentation)
    @action(detail=True, methods=["post"])
    def cancel(self, _request: Request, pk: str) -> Response:  # noqa: ARG002
        """Stop a run at its next step; what it did can be undone."""
        run_id = self.get_object().pk
        consolidation.cancel(caller=self.caller, run_id=run_id, now=timezone.now())
        return Response(ConsolidationRunRepresentation(self._view(self.get_object())).data)

    def _view(self, run: Any) -> consolidation.RunView:
        return consolidation.view_of(run, caller=self.caller)


class AuditViewSet(ResourceViewSet):
    """The audit trail of the namespaces that you own."""

    serializer_class = AuditRepresentation
    pagination_class = AuditPagination
    filterset_class = filters.AuditFilters

    def get_queryset(self) -> QuerySet[Any]:
        return accounts.audit_of(caller=self.caller)


class ResourceRouter(DefaultRouter):
    """Addresses without a slash at the end, like all others of this server."""

    # A namespace may be called "site.json": that is a name, not a format.
    include_format_suffixes = False

    def __init__(self) -> None:
        super().__init__(trailing_slash=False)


router = ResourceRouter()
router.register("namespaces", NamespaceViewSet, basename="namespace")
router.register("members", MemberViewSet, basename="member")
router.register("tokens", TokenViewSet, basename="token")
router.register("repositories", RepositoryViewSet, basename="repository")
router.register("findings", FindingViewSet, basename="finding")
router.register("reviews", ReviewViewSet, basename="review")
router.register("memories", MemoryViewSet, basename="memory")
router.register("proposals", ProposalViewSet, basename="proposal")
router.register("consolidation-runs", ConsolidationRunViewSet, basename="consolidation-run")
router.register("audit", AuditViewSet, basename="audit")


def _valid(
    serializer_class: type[serializers.Serializer[Any]], request: Request, *, partial: bool = False
) -> dict[str, Any]:
    serializer = serializer_class(data=request.data, partial=partial)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
