"""JSON values as the checker sees them, and the value operations.

A value is None, a boolean, a number, a string, a list, a dictionary or a Link.
Values are never changed in place: an operation returns a new value that shares
what stayed the same. ABSENT stands for "there is nothing", which is not null.

The rules are those of docs/values.md and docs/lua.md, written down a second
time and on purpose without a look at src/.
"""

import json


class _Absent:
    def __repr__(self):
        return "ABSENT"


ABSENT = _Absent()


class Refused(Exception):
    """An operation does not fit what is there: nothing is written."""


class Link:
    """A link to a place: a document of the model and a path in its value."""

    def __init__(self, document, path=()):
        self.document = document
        self.path = tuple(path)

    def __repr__(self):
        return "Link(%s, %s)" % (self.document, "/".join(map(str, self.path)))


def plain(value):
    """The value in a form that has one text: 1.0 is 1, links are objects."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Link):
        return {"/": [value.document, list(value.path)]}
    if value is ABSENT:
        return {"/": "absent"}
    return value


def canonical(value):
    """Equal values have equal texts, and only these."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"))


def equal(a, b):
    return canonical(a) == canonical(b)


def loose(value):
    """The value as Lua prints it, which does not tell [] from {}."""
    if isinstance(value, list):
        return [loose(item) for item in value] or {}
    if isinstance(value, dict):
        return {key: loose(item) for key, item in value.items()}
    return value


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def get_below(value, path):
    """What is at the path; links are not followed."""
    for key in path:
        if isinstance(value, dict) and isinstance(key, str) and key in value:
            value = value[key]
        elif isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
            value = value[key]
        else:
            return ABSENT
    return value


def change_below(value, path, change):
    """The value after `change(old) -> new` at the path.

    Objects that are missing on the way are made, unless the change leaves
    nothing at its place. An element that is deleted leaves no gap.
    """
    if not path:
        return change(value)
    key, rest = path[0], path[1:]
    if value is ABSENT:
        below = change_below(ABSENT, rest, change)
        if below is ABSENT:
            return ABSENT
        if not isinstance(key, str):
            raise Refused("no array to set an element of")
        return {key: below}
    if isinstance(value, dict) and isinstance(key, str):
        below = change_below(value.get(key, ABSENT), rest, change)
        changed = dict(value)
        if below is ABSENT:
            changed.pop(key, None)
        else:
            changed[key] = below
        return changed
    if isinstance(value, list) and isinstance(key, int):
        old = value[key] if key < len(value) else ABSENT
        below = change_below(old, rest, change)
        if below is ABSENT:
            return value[:key] + value[key + 1:]
        if key > len(value):
            raise Refused("index %d of %d" % (key, len(value)))
        return value[:key] + [below] + value[key + 1:]
    raise Refused("'%s' is below a leaf" % (key,))


# ---- the operations, each on what is at its place ----

def _list_or_empty(value):
    if value is ABSENT:
        return []
    if not isinstance(value, list):
        raise Refused("not an array")
    return value


def apply_set(old, operand):
    return operand


def apply_delete(old, operand):
    return ABSENT


def apply_append(old, operand):
    return _list_or_empty(old) + [operand]


def apply_add_unique(old, operand):
    items = _list_or_empty(old)
    if any(equal(item, operand) for item in items):
        return items
    return items + [operand]


def apply_remove(old, operand):
    if old is ABSENT:
        return ABSENT
    return [item for item in _list_or_empty(old) if not equal(item, operand)]


def apply_increment(old, operand):
    if old is ABSENT:
        old = 0
    if not is_number(old):
        raise Refused("not a number")
    return old + operand


OPERATIONS = {
    "set": apply_set,
    "delete": apply_delete,
    "append": apply_append,
    "add_unique": apply_add_unique,
    "remove": apply_remove,
    "increment": apply_increment,
}
