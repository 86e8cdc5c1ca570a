"""One blob's facts -> what the file says of routes, requests and messages, by the rules.

Cheap to refuse: a file without sites, or without the imports that a rule asks for, is not looked
at by it. Knows one file: what names of other files mean is `composition`'s question.
"""

from indexing.crossing.reading.clients import requests_in
from indexing.crossing.reading.messages import messages_in
from indexing.crossing.reading.servers import server_facts
from indexing.crossing.reading.source import Source
from indexing.crossing.rules import rules_for
from indexing.crossing.traffic import FileTraffic
from indexing.facts import BlobFacts

__all__ = ["read_traffic"]


def read_traffic(facts: BlobFacts) -> FileTraffic:
    """Return what a file says of services; nothing for one that has no sites."""
    rules = rules_for(facts.language)
    if not facts.sites and not any(rule.task_senders for rule in rules.buses):
        return FileTraffic()
    source = Source(facts)
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
