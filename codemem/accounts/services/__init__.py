"""Everything that changes who may do what; each change leaves an audit event."""

from codemem.accounts.services.audit import record
from codemem.accounts.services.namespaces import (
    LastOwner,
    NamespaceNameTaken,
    archive_namespace,
    change_namespace,
    create_namespace,
    remove_member,
    restore_namespace,
    set_role,
)
from codemem.accounts.services.people import create_user, save_administrator
from codemem.accounts.services.signing_in import SignInRefused, SignInThrottled, sign_in
from codemem.accounts.services.tokens import (
    IssuedToken,
    TokenExceedsMaker,
    TokenInvalid,
    authenticate_token,
    caller_of_user,
    is_usable,
    issue_own_token,
    issue_token,
    revoke_token,
)

__all__ = [
    "IssuedToken",
    "LastOwner",
    "NamespaceNameTaken",
    "SignInRefused",
    "SignInThrottled",
    "TokenExceedsMaker",
    "TokenInvalid",
    "archive_namespace",
    "authenticate_token",
    "caller_of_user",
    "change_namespace",
    "create_namespace",
    "create_user",
    "is_usable",
    "issue_own_token",
    "issue_token",
    "record",
    "remove_member",
    "restore_namespace",
    "revoke_token",
    "save_administrator",
    "set_role",
    "sign_in",
]
