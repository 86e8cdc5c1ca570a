"""The Django admin of people, namespaces, tokens and the audit trail: enough to run a server."""

from datetime import datetime, timedelta
from typing import Any, TypeVar

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.db.models import Count, Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone

from codemem.accounts import services
from codemem.accounts.models import AuditEvent, Membership, Namespace, Token, User
from codemem.accounts.values import DEFAULT_SCOPES, Role, TokenKind, TokenScope

Row = TypeVar("Row", bound=Model)

admin.site.site_header = "codemem"
admin.site.site_title = "codemem"
admin.site.index_title = "Team memory"


class SentencesForErrors(admin.ModelAdmin[Row]):
    """Shows an anticipated error over the form as its sentence; nothing of the form was saved."""

    anticipated: tuple[type[Exception], ...] = ()

    def changeform_view(
        self, request: HttpRequest, *arguments: Any, **options: Any
    ) -> HttpResponse:
        """Return the form, with an error for each change that the services refused."""
        try:
            return super().changeform_view(request, *arguments, **options)
        except self.anticipated as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(request.get_full_path())


class ReadOnly(admin.ModelAdmin[Row]):
    """Rows to read: people neither add, change nor delete them."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:  # noqa: ARG002
        return False


@admin.register(User)
class PersonAdmin(UserAdmin[User]):
    """People; closing an account keeps what it is named in."""

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:  # noqa: ARG002
        """Deleting would take memberships along and could leave a namespace without an owner."""
        return False


class MembershipForm(forms.ModelForm[Membership]):
    class Meta:
        model = Membership
        fields = ["user", "role"]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Another person is another member: add one, remove the other.
        if self.instance.pk and "user" in self.fields:
            self.fields["user"].disabled = True


class MembershipInline(admin.TabularInline[Membership, Namespace]):
    model = Membership
    form = MembershipForm
    extra = 1
    autocomplete_fields = ["user"]
    verbose_name_plural = "members (whoever creates a namespace owns it)"


@admin.register(Namespace)
class NamespaceAdmin(SentencesForErrors[Namespace]):
    """Create, rename and archive namespaces, and choose their members."""

    anticipated = (services.NamespaceNameTaken, services.LastOwner)
    list_display = ["name", "member_count", "created_at", "archived_at"]
    search_fields = ["name", "description"]
    readonly_fields = ["id", "created_at", "archived_at"]
    fields = ["name", "description", "id", "created_at", "archived_at"]
    inlines = [MembershipInline]
    actions = ["archive", "restore"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Namespace]:
        return super().get_queryset(request).annotate(member_count=Count("memberships"))

    def save_model(
        self,
        request: HttpRequest,
        obj: Namespace,
        form: ModelForm[Namespace],  # noqa: ARG002
        change: bool,  # noqa: FBT001
    ) -> None:
        if change:
            services.change_namespace(
                namespace=obj, name=obj.name, description=obj.description, actor=_actor(request)
            )
            return
        made = services.create_namespace(
            name=obj.name,
            description=obj.description,
            owner=_user(request),
            actor=_actor(request),
        )
        adopt(obj, made)

    def save_formset(
        self,
        request: HttpRequest,
        form: Any,
        formset: Any,
        change: bool,  # noqa: ARG002, FBT001
    ) -> None:
        """Go through the services, which keep an owner and write the trail."""
        rows = formset.save(commit=False)
        # Owners first, so that one form may hand a namespace over.
        for row in sorted(rows, key=lambda row: -row.role):
            services.set_role(
                namespace=form.instance, user=row.user, role=Role(row.role), actor=_actor(request)
            )
        for row in formset.deleted_objects:
            services.remove_member(namespace=form.instance, user=row.user, actor=_actor(request))

    def has_delete_permission(self, request: HttpRequest, obj: Namespace | None = None) -> bool:  # noqa: ARG002
        """Archive instead: nothing is destroyed from here."""
        return False

    @admin.display(description="members", ordering="member_count")
    def member_count(self, namespace: Any) -> int:
        return int(namespace.member_count)

    @admin.action(description="Archive: close to everyone, keep the data", permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet[Namespace]) -> None:
        for namespace in queryset:
            services.archive_namespace(
                namespace=namespace, actor=_actor(request), now=timezone.now()
            )

    @admin.action(description="Restore archived namespaces", permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Namespace]) -> None:
        for namespace in queryset:
            services.restore_namespace(namespace=namespace, actor=_actor(request))


class TokenForm(forms.ModelForm[Token]):
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, scope.value) for scope in TokenScope],
        widget=forms.CheckboxSelectMultiple,
        initial=sorted(DEFAULT_SCOPES[TokenKind.USER]),
    )

    class Meta:
        model = Token
        fields = ["user", "name", "kind", "scopes", "namespaces", "expires_at"]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.initial.setdefault("kind", TokenKind.USER.value)
        self.initial.setdefault(
            "expires_at", timezone.now() + timedelta(days=settings.TOKEN_DEFAULT_DAYS)
        )

    def clean_expires_at(self) -> datetime | None:
        expires_at: datetime | None = self.cleaned_data["expires_at"]
        if expires_at is not None and expires_at <= timezone.now():
            raise forms.ValidationError("A token cannot expire before it is made.")
        return expires_at


@admin.register(Token)
class TokenAdmin(admin.ModelAdmin[Token]):
    """Issue and revoke tokens; the secret is on the page after saving, and nowhere else."""

    form = TokenForm
    list_display = ["name", "prefix", "user", "kind", "expires_at", "last_used_at", "revoked_at"]
    list_filter = ["kind", "revoked_at"]
    search_fields = ["name", "prefix", "user__username"]
    autocomplete_fields = ["user"]
    filter_horizontal = ["namespaces"]
    actions = ["revoke"]

    def get_fields(self, request: HttpRequest, obj: Token | None = None) -> Any:  # noqa: ARG002
        """Ask for what a new token needs; show what became of an old one."""
        asked = TokenForm.Meta.fields
        if obj is None:
            return asked
        return [
            "prefix",
            *asked,
            "is_limited",
            "created_by",
            "created_at",
            "last_used_at",
            "last_used_ip",
            "revoked_at",
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Token | None = None) -> Any:
        return [] if obj is None else self.get_fields(request, obj)

    def save_model(
        self,
        request: HttpRequest,
        obj: Token,
        form: ModelForm[Token],
        change: bool,  # noqa: ARG002, FBT001
    ) -> None:
        data = form.cleaned_data
        issued = services.issue_token(
            user=data["user"],
            name=data["name"],
            kind=TokenKind(data["kind"]),
            scopes=[TokenScope(scope) for scope in data["scopes"]],
            namespaces=list(data["namespaces"]),
            expires_at=data["expires_at"],
            actor=_user(request),
            now=timezone.now(),
        )
        adopt(obj, issued.token)
        request.issued = issued  # type: ignore[attr-defined]

    def response_add(
        self,
        request: HttpRequest,
        obj: Token,  # noqa: ARG002
        post_url_continue: str | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Show the secret in this very answer: a message would be kept in a cookie or session."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Token issued",
            "issued": request.issued,  # type: ignore[attr-defined]
        }
        return TemplateResponse(
            request, "accounts/token_issued.html", context, headers={"Cache-Control": "no-store"}
        )

    def has_change_permission(self, request: HttpRequest, obj: Token | None = None) -> bool:
        """A token never changes: make another and revoke this one."""
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Token | None = None) -> bool:  # noqa: ARG002
        """Revoke instead, so that the trail can still name it."""
        return False

    @admin.action(description="Revoke at once", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        for token in queryset:
            services.revoke_token(token=token, actor=_actor(request), now=timezone.now())


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly[AuditEvent]):
    """The trail, to read."""

    list_display = ["at", "actor", "action", "namespace", "target"]
    list_filter = ["action", "namespace_name"]
    search_fields = ["actor", "target", "request_id"]
    date_hierarchy = "at"

    @admin.display(ordering="namespace_name")
    def namespace(self, event: AuditEvent) -> str:
        return event.namespace_name


def adopt(row: Model, made: Model) -> None:
    """Let the admin go on with the row that a service made instead of the one of its form."""
    for field in made._meta.concrete_fields:  # noqa: SLF001
        setattr(row, field.attname, getattr(made, field.attname))
    row._state.adding = False  # noqa: SLF001


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _actor(request: HttpRequest) -> str:
    return _user(request).username
