"""The Django admin of people, namespaces, tokens and the audit trail: enough to run a server."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from codemem.accounts import services
from codemem.accounts.models import AuditEvent, Membership, Namespace, Token, User
from codemem.accounts.values import DEFAULT_SCOPES, Role, TokenKind, TokenScope

admin.site.site_header = "codemem"
admin.site.site_title = "codemem"
admin.site.index_title = "Team memory"

admin.site.register(User, UserAdmin)


class MembershipInline(admin.TabularInline[Membership, Namespace]):
    model = Membership
    extra = 1
    autocomplete_fields = ["user"]


@admin.register(Namespace)
class NamespaceAdmin(admin.ModelAdmin[Namespace]):
    """Create, rename and archive namespaces, and choose their members."""

    list_display = ["name", "member_count", "created_at", "archived_at"]
    search_fields = ["name", "description"]
    readonly_fields = ["id", "created_at", "archived_at"]
    fields = ["name", "description", "id", "created_at", "archived_at"]
    inlines = [MembershipInline]
    actions = ["archive", "restore"]

    def save_model(
        self, request: HttpRequest, obj: Namespace, form: ModelForm[Namespace], change: bool  # noqa: FBT001, ARG002
    ) -> None:
        if change:
            name, obj.name = obj.name, Namespace.objects.get(pk=obj.pk).name
            obj.save(update_fields=["description"])
            services.rename_namespace(namespace=obj, name=name, actor=_actor(request))
            return
        made = services.create_namespace(
            name=obj.name,
            description=obj.description,
            owner=_user(request),
            actor=_actor(request),
        )
        obj.pk = made.pk
        obj.created_at = made.created_at
        obj._state.adding = False  # noqa: SLF001  the inlines are saved against this instance

    def save_formset(
        self, request: HttpRequest, form: Any, formset: Any, change: bool  # noqa: FBT001, ARG002
    ) -> None:
        """Go through the services, which keep an owner and write the trail."""
        if formset.model is not Membership:
            super().save_formset(request, form, formset, change)
            return
        rows = formset.save(commit=False)
        try:
            # Owners first, so that swapping the owner in one form is possible.
            for row in sorted(rows, key=lambda row: -row.role):
                services.set_role(
                    namespace=form.instance,
                    user=row.user,
                    role=Role(row.role),
                    actor=_actor(request),
                )
            for row in formset.deleted_objects:
                services.remove_member(
                    namespace=form.instance, user=row.user, actor=_actor(request)
                )
        except services.LastOwner as error:
            messages.error(request, str(error))

    def has_delete_permission(
        self, request: HttpRequest, obj: Namespace | None = None  # noqa: ARG002
    ) -> bool:
        """Archive instead: nothing is destroyed from here."""
        return False

    @admin.display(description="members")
    def member_count(self, namespace: Namespace) -> int:
        return namespace.memberships.count()

    @admin.action(description="Archive: close to everyone, keep the data")
    def archive(self, request: HttpRequest, queryset: QuerySet[Namespace]) -> None:
        for namespace in queryset:
            services.archive_namespace(
                namespace=namespace, actor=_actor(request), now=timezone.now()
            )

    @admin.action(description="Restore archived namespaces")
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

    def clean_expires_at(self) -> Any:
        expires_at = self.cleaned_data["expires_at"]
        if expires_at is not None and expires_at <= timezone.now():
            raise forms.ValidationError("A token cannot expire before it is made.")
        return expires_at


@admin.register(Token)
class TokenAdmin(admin.ModelAdmin[Token]):
    """Issue and revoke tokens; the secret is shown once, in the message after saving."""

    form = TokenForm
    list_display = ["name", "prefix", "user", "kind", "expires_at", "last_used_at", "revoked_at"]
    list_filter = ["kind", "revoked_at"]
    search_fields = ["name", "prefix", "user__username"]
    autocomplete_fields = ["user"]
    filter_horizontal = ["namespaces"]
    actions = ["revoke"]

    def save_model(
        self, request: HttpRequest, obj: Token, form: ModelForm[Token], change: bool  # noqa: FBT001, ARG002
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
        obj.pk = issued.token.pk
        obj.prefix = issued.token.prefix
        obj._state.adding = False  # noqa: SLF001  the admin redirects to this instance
        messages.warning(
            request,
            format_html("Copy this token now, it is not shown again: <code>{}</code>", issued.secret),
        )

    def has_change_permission(self, request: HttpRequest, obj: Token | None = None) -> bool:  # noqa: ARG002
        """A token never changes: make another and revoke this one."""
        return obj is None

    def has_delete_permission(self, request: HttpRequest, obj: Token | None = None) -> bool:  # noqa: ARG002
        return False

    @admin.action(description="Revoke at once")
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        for token in queryset:
            services.revoke_token(token=token, actor=_actor(request), now=timezone.now())


@admin.register(AuditEvent)
class AuditEventAdmin(admin.ModelAdmin[AuditEvent]):
    """The trail, to read."""

    list_display = ["at", "actor", "action", "namespace_name", "target", "result"]
    list_filter = ["action", "namespace_name"]
    search_fields = ["actor", "target", "request_id"]
    date_hierarchy = "at"

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEvent | None = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AuditEvent | None = None) -> bool:  # noqa: ARG002
        return False


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _actor(request: HttpRequest) -> str:
    return _user(request).username
