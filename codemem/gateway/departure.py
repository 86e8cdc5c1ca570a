"""Whether whoever sent a request has hung up: nobody has to finish what nobody waits for."""

import socket

from django.http import HttpRequest


def is_abandoned(request: HttpRequest) -> bool:
    """Tell whether the client closed its connection; False where that cannot be seen.

    gunicorn hands its socket to the application. Looking takes nothing from it: what has arrived
    meanwhile is the client's next request.
    """
    client = request.META.get("gunicorn.socket")
    if not isinstance(client, socket.socket):
        return False
    try:
        return client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
