"""One blob's facts -> what the file says of routes, requests and messages, by the rules.

Cheap to refuse: a file without sites and without the imports that a rule asks for is not looked at
by it. Knows one file: what names of other files mean is `composition`'s question.
"""

from indexing.crossing.reading.clients import requests_in
from indexing.crossing.reading.messages import messages_in
from indexing.crossing.reading.servers import server_facts
from indexing.crossing.reading.source import Source
from indexing.crossing.traffic import FileTraffic
from indexing.facts import BlobFacts
from indexing.libraries.rules import rules_for

__all__ = ["read_traffic"]


def read_traffic(facts: BlobFacts) -> FileTraffic:
    """Return what a file says of services; nothing for one without sites that makes no router."""
    rules = rules_for(facts.language)
    source = Source(facts)
    may_make_routers = any(
        rule.is_implicit or source.imports_any(rule.imports) for rule in rules.servers
    )
    may_send_tasks = any(rule.task_senders for rule in rules.buses)
    if not (facts.sites or may_make_routers or may_send_tasks):
        return FileTraffic()
    routers, mounts, routes = server_facts(source, rules.servers)
    requests = tuple(requests_in(source, rules.clients))
    messages = tuple(messages_in(source, rules.buses))
    found = FileTraffic(
        routers=routers, mounts=mounts, routes=routes, requests=requests, messages=messages
    )
    if not found:
        return found
    return FileTraffic(
        routers=routers,
        mounts=mounts,
        routes=routes,
        requests=requests,
        messages=messages,
        names=tuple(source.names()),
        constants=tuple(source.constants()),
    )
