"""The Django admin of what a server works on: settings of namespaces, repositories, their runs.

Registering a repository has a worker index it.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db import transaction
from django.db.models import Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from codemem import policies
from codemem.accounts.admin import NamespaceAdmin, ReadOnly, SentencesForErrors, adopt
from codemem.accounts.models import Namespace, User
from codemem.accounts.services import caller_of_user
from codemem.embedding import EmbeddingUnavailable, reembedding
from codemem.embedding.models import EmbeddingModel, Reembedding
from codemem.embedding.reembedding import ReembeddingNeedless, ReembeddingUnderWay
from graph import services as graph
from graph.models import Repository, RepositoryAlias
from graph.remotes import redact_credentials
from indexing import services as indexing
from indexing.findings import services as findings
from indexing.models import Finding, History, IndexRun, ScipRun
from indexing.signing import webhook_secret
from memory import services as memory
from memory.models import ReviewItem
from workers import queue

_REFUSED_DECISIONS = (
    memory.MemoryUnknown,
    memory.ProposalDecided,
    memory.ProposalOvertaken,
    memory.ProposalUnknown,
    memory.RightMissing,
)


class SettingsForm(forms.ModelForm[Namespace]):
    """A namespace with a field for each setting; what is left empty follows the default."""

    class Meta:
        model = Namespace
        fields = ["name", "description"]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for key, policy in policies.registry().items():
            if key in self.fields:
                self.fields[key].initial = self.instance.settings.get(policy.key, "")

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        for key in policies.registry().keys() & self.fields.keys():
            try:
                _parsed(key, self.cleaned_data.get(key, ""))
            except policies.PolicyInvalid as error:
                self.add_error(key, str(error))
        return cleaned


admin.site.unregister(Namespace)


@admin.register(Namespace)
class NamespaceWithSettingsAdmin(NamespaceAdmin):
    """Namespaces with what each decides for itself, checked as over REST and audited alike."""

    def get_form(
        self,
        request: HttpRequest,
        obj: Namespace | None = None,
        change: bool = False,  # noqa: FBT001, FBT002
        **options: Any,
    ) -> Any:
        declared = {key: _field_of(policy) for key, policy in policies.registry().items()}
        options["form"] = type("NamespaceForm", (SettingsForm,), declared) if obj else SettingsForm
        return super().get_form(request, obj, change, **options)

    def get_fieldsets(self, request: HttpRequest, obj: Namespace | None = None) -> Any:
        shown = super().get_fieldsets(request, obj)
        if obj is None:
            return shown
        keys = list(policies.registry())
        about = "What is left empty follows the default, also a later one."
        return [
            *shown,
            ("Settings", {"fields": keys, "classes": ["collapse"], "description": about}),
        ]

    def save_model(
        self,
        request: HttpRequest,
        obj: Namespace,
        form: ModelForm[Namespace],
        change: bool,  # noqa: FBT001
    ) -> None:
        super().save_model(request, obj, form, change)
        given = {
            key: _parsed(key, form.cleaned_data[key])
            for key in policies.registry()
            if key in form.changed_data
        }
        policies.change_as(actor=_user(request).username, namespace_id=obj.pk, changes=given)


def _field_of(policy: policies.Policy) -> forms.Field:
    about = f"{policy.description} Default: {policy.default}; {policy.accepts}."
    options = policy.choices or (("True", "False") if policy.kind is bool else ())
    if not options:
        return forms.CharField(label=policy.key, help_text=about, required=False)
    choices = [("", "(default)"), *((option, option.lower()) for option in options)]
    return forms.ChoiceField(label=policy.key, help_text=about, required=False, choices=choices)


def _parsed(key: str, typed: str) -> policies.Value | None:
    return policies.get_policy(key).parsed(typed) if typed.strip() else None


class AliasInline(admin.TabularInline[RepositoryAlias, Repository]):
    """What the repository is recognized by, to read."""

    model = RepositoryAlias
    fields = ["kind", "value"]
    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False


@admin.register(Repository)
class RepositoryAdmin(SentencesForErrors[Repository]):
    """Register repositories and have them indexed."""

    anticipated = (graph.RepositoryNameTaken, graph.RemoteTaken)
    list_display = ["name", "namespace", "address", "default_branch", "created_at"]
    list_filter = ["namespace"]
    search_fields = ["name", "url"]
    fields = ["namespace", "name", "url", "default_branch", "webhook"]
    inlines = [AliasInline]
    actions = ["index_now"]

    def changeform_view(
        self, request: HttpRequest, *arguments: Any, **options: Any
    ) -> HttpResponse:
        """Return the form; when Redis was away, the list, which says what waits for it."""
        try:
            return super().changeform_view(request, *arguments, **options)
        except queue.QueueUnavailable as error:
            # Raised after the commit: the repository and its run are there.
            messages.warning(request, str(error))
            return HttpResponseRedirect(reverse("admin:graph_repository_changelist"))

    def get_readonly_fields(
        self,
        request: HttpRequest,  # noqa: ARG002
        obj: Repository | None = None,
    ) -> list[str]:
        return ["namespace", "webhook"] if obj else ["webhook"]

    def save_model(
        self,
        request: HttpRequest,
        obj: Repository,
        form: ModelForm[Repository],
        change: bool,  # noqa: FBT001
    ) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        made = graph.register_repository(
            namespace=obj.namespace,
            name=obj.name,
            url=obj.url,
            default_branch=obj.default_branch,
            created_by=_user(request),
        )
        adopt(obj, made)
        self._index(request, made)

    def has_delete_permission(self, request: HttpRequest, obj: Repository | None = None) -> bool:  # noqa: ARG002
        """Deleting would take memories along; archiving the namespace closes it."""
        return False

    @admin.display(description="webhook")
    def webhook(self, repository: Repository) -> str:
        """Return what to enter at the git host, so that pushes are indexed at once."""
        if repository._state.adding:  # noqa: SLF001  the only way to tell: the id is there already
            return "Shown when the repository is saved."
        return (
            f"POST /webhooks/<github, gitlab, gitea or forgejo>/{repository.pk}, as JSON,"
            f" secret {webhook_secret(repository.pk)}"
        )

    @admin.display(description="address")
    def address(self, repository: Repository) -> str:
        return redact_credentials(repository.url)

    @admin.action(description="Fetch and index now", permissions=["change"])
    def index_now(self, request: HttpRequest, queryset: QuerySet[Repository]) -> None:
        for repository in queryset:
            try:
                self._index(request, repository)
            except queue.QueueUnavailable as error:
                messages.warning(request, f"{repository.name}: {error}")

    def _index(self, request: HttpRequest, repository: Repository) -> None:
        run_id = indexing.request_index(
            repository_id=repository.pk, requested_by=_user(request).username
        )
        queue.index(run_id=run_id)
        # Said when it is so: after the commit, which is when the queue gets the message.
        transaction.on_commit(
            lambda: messages.success(request, f"{repository.name} will be indexed by a worker.")
        )


@admin.register(ScipRun)
class ScipRunAdmin(ReadOnly[ScipRun]):
    """What compilers' indexers did, and why one did not."""

    list_display = ["indexer", "repository", "state", "reason", "commit", "started_at", "seconds"]
    list_filter = ["state", "indexer", "repository"]
    list_select_related = ["repository"]


class DismissalForm(ActionForm):
    """The reason that a dismissal takes, beside the action."""

    reason = forms.CharField(max_length=1000, required=False)


@admin.register(Finding)
class FindingAdmin(ReadOnly[Finding]):
    """What analyses found, to read and to dismiss."""

    list_display = ["severity", "rule", "repository", "place", "message", "state", "first_seen_at"]
    list_filter = ["state", "severity", "rule", "repository"]
    search_fields = ["path", "symbol", "message"]
    list_select_related = ["repository"]
    ordering = ["state", "-weight", "rule", "path", "line"]
    action_form = DismissalForm
    actions = ["dismiss", "reopen"]

    @admin.display(description="place", ordering="path")
    def place(self, finding: Finding) -> str:
        return f"{finding.path}:{finding.line}"

    @admin.action(description="Dismiss, for the reason given")
    def dismiss(self, request: HttpRequest, queryset: QuerySet[Finding]) -> None:
        reason = request.POST.get("reason", "").strip()
        if not reason:
            messages.error(request, "Say why: a dismissal needs a reason.")
            return
        for finding in queryset.exclude(state=Finding.State.RESOLVED):
            findings.dismiss(
                finding_id=finding.pk,
                reason=reason[:1000],
                actor=_user(request).username,
                now=timezone.now(),
            )

    @admin.action(description="Reopen what was dismissed")
    def reopen(self, request: HttpRequest, queryset: QuerySet[Finding]) -> None:
        for finding in queryset:
            findings.reopen(finding_id=finding.pk, actor=_user(request).username)


@admin.register(IndexRun)
class IndexRunAdmin(ReadOnly[IndexRun]):
    """What the workers did, to read."""

    list_display = [
        "repository",
        "ref",
        "state",
        "step",
        "files_done",
        "files_total",
        "queued_at",
        "finished_at",
        "whole_because",
    ]
    list_filter = ["state", "repository"]


@admin.register(History)
class HistoryAdmin(ReadOnly[History]):
    """How far back each repository's history is known, to read."""

    list_display = [
        "repository",
        "state",
        "commits_done",
        "commits_total",
        "heartbeat_at",
        "finished_at",
        "error",
    ]
    list_filter = ["state"]


@admin.register(ReviewItem)
class ReviewItemAdmin(ReadOnly[ReviewItem]):
    """What machines propose about memories, to approve and to reject as the member one is."""

    list_display = [
        "kind",
        "namespace",
        "repository",
        "reason",
        "confidence",
        "state",
        "decided_by",
    ]
    list_filter = ["state", "kind", "namespace"]
    list_select_related = ["namespace", "repository"]
    exclude = ["fingerprint"]
    actions = ["approve", "reject"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReviewItem]:
        """Return what is not somebody else's alone: running a server opens no private memory."""
        return (
            super().get_queryset(request).filter(Q(private_to=None) | Q(private_to=_user(request)))
        )

    @admin.action(description="Approve: carry out now")
    def approve(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> None:
        self._decide(request, queryset, approve=True)

    @admin.action(description="Reject, for 180 days")
    def reject(self, request: HttpRequest, queryset: QuerySet[ReviewItem]) -> None:
        self._decide(request, queryset, approve=False)

    def _decide(
        self, request: HttpRequest, queryset: QuerySet[ReviewItem], *, approve: bool
    ) -> None:
        caller = caller_of_user(user=_user(request))
        for item in queryset:
            try:
                memory.decide(caller=caller, item_id=item.pk, approve=approve, now=timezone.now())
            except _REFUSED_DECISIONS as error:
                messages.error(request, f"{item}: {error}")


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(ReadOnly[EmbeddingModel]):
    """Models that made vectors here, and which one answers."""

    list_display = ["fingerprint", "dimensions", "is_serving", "created_at"]
    actions = ["change_to_configured"]

    @admin.action(description="Change to the model that the settings name")
    def change_to_configured(self, request: HttpRequest, _rows: QuerySet[EmbeddingModel]) -> None:
        """Start to re-embed, whichever rows were chosen; only for the server's administrators."""
        if not (isinstance(request.user, User) and request.user.is_superuser):
            messages.error(request, "It takes an administrator of the server.")
            return
        try:
            change = reembedding.start(requested_by=request.user.username, now=timezone.now())
            queue.reembed()
        except (EmbeddingUnavailable, ReembeddingNeedless, ReembeddingUnderWay) as error:
            messages.error(request, str(error))
        except queue.QueueUnavailable as error:
            messages.warning(request, str(error))
        else:
            messages.success(request, f"Everything is being embedded by {change.model}.")


@admin.register(Reembedding)
class ReembeddingAdmin(ReadOnly[Reembedding]):
    """Changes of models, and how far they are."""

    list_display = ["model", "state", "done", "total", "trouble", "requested_by", "created_at"]
    actions = ["cancel"]

    @admin.action(description="Cancel the change that is under way")
    def cancel(self, request: HttpRequest, _rows: QuerySet[Reembedding]) -> None:
        if isinstance(request.user, User) and request.user.is_superuser:
            reembedding.cancel(now=timezone.now())
