"""What crosses repositories: packages, and the traffic between services.

Reads top to bottom: `packages` (what manifests declare), `reading` (what one file says of routes,
calls and topics, by the rules in rules.yaml), `composition` (whole paths and topics of a
repository), `specifications` (OpenAPI and AsyncAPI documents), `matching` (who calls whom), and
`services` (the pass after a push). All but `services` and `queries` are pure.
"""
