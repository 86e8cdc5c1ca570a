"""The Django admin of repositories and index runs: registering one has a worker index it."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from codemem.accounts.models import User
from graph import services as graph
from graph.models import Repository, RepositoryAlias
from indexing import services as indexing
from indexing.models import IndexRun
from workers import queue


class AliasInline(admin.TabularInline[RepositoryAlias, Repository]):
    model = RepositoryAlias
    fields = ["kind", "value"]
    readonly_fields = ["kind", "value"]
    extra = 0
    can_delete = False


@admin.register(Repository)
class RepositoryAdmin(admin.ModelAdmin[Repository]):
    """Register repositories and have them indexed."""

    list_display = ["name", "namespace", "url", "default_branch", "created_at"]
    list_filter = ["namespace"]
    search_fields = ["name", "url"]
    fields = ["namespace", "name", "url", "default_branch"]
    inlines = [AliasInline]
    actions = ["index_now"]

    def get_readonly_fields(
        self, request: HttpRequest, obj: Repository | None = None  # noqa: ARG002
    ) -> list[str]:
        return ["namespace"] if obj else []

    def save_model(
        self, request: HttpRequest, obj: Repository, form: ModelForm[Repository], change: bool  # noqa: FBT001
    ) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        made = graph.register_repository(
            namespace=obj.namespace,
            name=obj.name,
            url=obj.url,
            created_by=_user(request),
        )
        obj.pk = made.pk
        obj.created_at = made.created_at
        obj._state.adding = False  # noqa: SLF001  the inlines are saved against this instance
        self._index(request, made)

    def has_delete_permission(
        self, request: HttpRequest, obj: Repository | None = None  # noqa: ARG002
    ) -> bool:
        """Deleting would take memories along; archiving the namespace closes it."""
        return False

    @admin.action(description="Fetch and index now")
    def index_now(self, request: HttpRequest, queryset: QuerySet[Repository]) -> None:
        for repository in queryset:
            self._index(request, repository)

    def _index(self, request: HttpRequest, repository: Repository) -> None:
        run_id = indexing.request_index(
            repository_id=repository.pk, requested_by=_user(request).username
        )
        try:
            queue.index(run_id=run_id)
        except queue.QueueUnavailable as error:
            messages.warning(request, str(error))
        else:
            messages.success(request, f"{repository.name} will be indexed by a worker.")


@admin.register(IndexRun)
class IndexRunAdmin(admin.ModelAdmin[IndexRun]):
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
    ]
    list_filter = ["state", "repository"]

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: IndexRun | None = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: IndexRun | None = None) -> bool:  # noqa: ARG002
        return False


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
