"""What ECMAScript writes without types: patterns that take values apart, functions as arguments.

Says with chains (`indexing.expressions`) where the type of an untyped parameter is written: with
`{n}` for the type of the nth parameter, `run((job) => ...)` gives `job` the type `run{0}{0}`.
"""

from collections.abc import Callable, Iterator

from tree_sitter import Node

from indexing.expressions import RESULT

_MAX_DEPTH = 8
_MAX_NAMES = 50

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_CALLERS = frozenset({"call_expression", "new_expression"})
_AROUND = frozenset({"pair", "array", "parenthesized_expression", "ternary_expression"})
_LIKE_THEIR_FIRST = frozenset({"parenthesized_expression", "as_expression", "non_null_expression"})
_PLAIN_MEMBERS = frozenset({"identifier", "member_expression", "call_expression", "new_expression"})
_FIRST_VALUE = {"||": 0, "??": 0, "&&": 1}

Chain = Callable[[Node], str]


def names_bound(pattern: Node, depth: int = 0) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Yield the names that a pattern binds, each with the path of members that lead to it."""
    if pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield pattern, ()
    elif pattern.type in ("assignment_pattern", "object_assignment_pattern"):
        left = pattern.child_by_field_name("left")
        if left:
            yield from names_bound(left, depth)
    elif pattern.type == "object_pattern" and depth < _MAX_DEPTH:
        for child in pattern.named_children[:_MAX_NAMES]:
            yield from _names_bound_in(child, depth + 1)


def _names_bound_in(child: Node, depth: int) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    if child.type == "pair_pattern":
        key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
        if key and value and key.type == "property_identifier":
            for name, members in names_bound(value, depth):
                yield name, (key, *members)
    elif child.type != "rest_pattern":
        for name, _ in names_bound(child, depth):
            yield name, (name,)


def place_of(pattern: Node) -> int:
    """Return the place of a parameter's pattern among the parameters."""
    parameter = pattern.parent
    around = parameter.parent if parameter else None
    if around is None or parameter is None:
        return 0
    return _place(parameter, around)


def untyped_parameters(function: Node) -> list[tuple[int, Node]]:
    """Return the parameters of a function whose types are not written, with their places."""
    alone = function.child_by_field_name("parameter")
    if alone:
        return [(0, alone)]
    listed = function.child_by_field_name("parameters")
    parameters = [node for node in listed.named_children if not node.is_extra] if listed else []
    return [
        (place, node.child_by_field_name("pattern") or node)
        for place, node in enumerate(parameters)
        if not node.child_by_field_name("type")
    ]


def expected_at(node: Node, chain: Chain, depth: int = 0) -> str:
    """Return the chain of the type that a place expects of what is written there, or ""."""
    parent = node.parent
    if parent is None or depth > _MAX_DEPTH:
        return ""
    if node.type == "method_definition":
        return _member(expected_at(parent, chain, depth + 1), node.child_by_field_name("name"))
    if parent.type == "arguments":
        return _argument(node, parent, chain)
    if parent.type in _AROUND:
        return _inside(parent, chain, depth)
    if parent.type == "return_statement" or _is_body(node, parent):
        return _returned(parent, chain, depth)
    return _declared(parent, chain)


def values_of(node: Node, depth: int = 0) -> Iterator[Node]:
    """Yield the expressions one of which is the value of `a ?? b`, `a && b` or `c ? a : b`."""
    if node.type in _LIKE_THEIR_FIRST:
        inner = node.named_children[:1]
    elif node.type == "ternary_expression":
        inner = node.named_children[1:]
    elif node.type == "binary_expression":
        operator = node.child_by_field_name("operator")
        kind = operator.type if operator else ""
        inner = node.named_children[_FIRST_VALUE[kind] :] if kind in _FIRST_VALUE else []
    else:
        yield node
        return
    for one in inner if depth < _MAX_DEPTH else ():
        yield from values_of(one, depth + 1)


def members_written(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield keys and values of an object's members that are names, members or calls."""
    for child in node.named_children[:_MAX_NAMES]:
        if child.type == "shorthand_property_identifier":
            yield child, child
        elif child.type == "pair":
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            is_plain = key and key.type == "property_identifier"
            if key and value and is_plain and value.type in _PLAIN_MEMBERS:
                yield key, value


def _argument(node: Node, arguments: Node, chain: Chain) -> str:
    call = arguments.parent
    if call is None or call.type not in _CALLERS:
        return ""
    called = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    text = chain(called) if called else ""
    return f"{text}{{{_place(node, arguments)}}}" if text else ""


def _inside(around: Node, chain: Chain, depth: int) -> str:
    """Return what is expected inside of an object's pair, a list, or parentheses."""
    if around.type == "pair":
        whole = around.parent
        expected = expected_at(whole, chain, depth + 1) if whole else ""
        return _member(expected, around.child_by_field_name("key"))
    expected = expected_at(around, chain, depth + 1)
    return f"{expected}[]" if expected and around.type == "array" else expected


def _member(expected: str, key: Node | None) -> str:
    if not expected or key is None or key.type != "property_identifier" or key.text is None:
        return ""
    return f"{expected}.{key.text.decode('utf-8', 'replace')}"


def _returned(node: Node, chain: Chain, depth: int) -> str:
    """Return what the function around expects to return: as it says, or as it is expected to."""
    function: Node | None = node
    while function and function.type not in _FUNCTIONS:
        if function.type in ("function_declaration", "method_definition"):
            break
        function = function.parent
    if function is None:
        return ""
    if function.child_by_field_name("return_type"):
        return RESULT
    expected = expected_at(function, chain, depth + 1)
    return f"{expected}()" if expected else ""


def _declared(parent: Node, chain: Chain) -> str:
    """Return the name with a declared type that a value is given to."""
    if parent.type == "variable_declarator":
        name = parent.child_by_field_name("name")
        return chain(name) if name and parent.child_by_field_name("type") else ""
    if parent.type == "assignment_expression":
        left = parent.child_by_field_name("left")
        return chain(left) if left else ""
    if parent.type == "public_field_definition" and parent.child_by_field_name("type"):
        return _member("this", parent.child_by_field_name("name"))
    return ""


def _is_body(node: Node, function: Node) -> bool:
    body = function.child_by_field_name("body") if function.type in _FUNCTIONS else None
    return body is not None and body.id == node.id


def _place(node: Node, around: Node) -> int:
    siblings = [one for one in around.named_children if not one.is_extra]
    return next((place for place, one in enumerate(siblings) if one.id == node.id), 0)
