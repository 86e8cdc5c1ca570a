"""Signing in and out of the console, and of the admin, which has no door of its own."""

from urllib.parse import urlencode

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from codemem.accounts import services as accounts
from codemem.console.access import is_ours


@never_cache
@sensitive_post_parameters("password")
def sign_in(request: HttpRequest) -> HttpResponse:
    """Show the form, or open a session and lead to where the person wanted to go."""
    wanted = request.POST.get("next", request.GET.get("next", ""))
    where = wanted if is_ours(request, wanted) else reverse("console:dashboard")
    if request.method != "POST":
        return _shown(request, where) if not request.user.is_authenticated else _to(where)
    username = request.POST.get("username", "").replace("\0", "")
    try:
        person = accounts.sign_in(
            request=request,
            username=username,
            password=request.POST.get("password", ""),
            now=timezone.now(),
        )
    except accounts.SignInThrottled as error:
        return _shown(request, where, username=username, refusal=str(error), status=429)
    except accounts.SignInRefused as error:
        return _shown(request, where, username=username, refusal=str(error), status=401)
    login(request, person)
    return _to(where)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return HttpResponseRedirect(reverse("console:sign-in"))


def to_sign_in(request: HttpRequest) -> HttpResponse:
    """Lead whoever comes to the admin's door to the console's."""
    parameters = urlencode({"next": request.GET.get("next", reverse("admin:index"))})
    return HttpResponseRedirect(f"{reverse('console:sign-in')}?{parameters}")


def _shown(
    request: HttpRequest, where: str, *, username: str = "", refusal: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "title": "Sign in",
        "next": where,
        "username": username,
        "refusal": refusal,
        # A form was sent by a page that outlived its session.
        "is_lost": request.method != "POST" and request.GET.get("lost") == "yes",
    }
    return render(request, "console/sign_in.html", context, status=status)


def _to(address: str) -> HttpResponse:
    return HttpResponseRedirect(address)
