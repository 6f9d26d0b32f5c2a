"""What a program means: an interpreter of patterns on plain documents.

A World holds the documents of every piece and the events that wait. It knows
one step: an operation of a caller, or the handling of one event, is applied as
a whole or not at all. Derived values are not stored: they are computed from
the documents whenever they are asked for.
"""

from schemas import judged
from values import (ABSENT, OPERATIONS, Link, Refused, canonical, change_below, equal, get_below,
                    is_number)

HOPS = 64


class Failed(Exception):
    """A handler failed: nothing of it is kept."""


class Frame:
    """Where an expression is evaluated: a piece, and what is bound there."""

    def __init__(self, world, piece, user=None, event=ABSENT, item=ABSENT, sofar=ABSENT):
        self.world = world
        self.piece = piece
        self.user = user
        self.event = event
        self.item = item
        self.sofar = sofar

    def with_item(self, item, sofar=ABSENT):
        return Frame(self.world, self.piece, self.user, self.event, item, sofar)


class World:
    """Documents by id; pieces by their full name ("board", "board/kid")."""

    def __init__(self):
        self.documents = {}
        self.patterns = {}
        self.waiting = []  # events: (origin, piece, handler, payload, user)
        self.receipts = {}  # (session, id, piece, handler): (payload, receipt)
        self.origin = ""  # of the events that are sent now
        self.failed = 0  # events of handlers that failed

    def copy(self):
        other = World()
        other.documents = dict(self.documents)
        other.patterns = dict(self.patterns)
        other.waiting = list(self.waiting)
        other.receipts = dict(self.receipts)
        other.origin = self.origin
        other.failed = self.failed
        return other

    def take(self, other):
        self.documents = other.documents
        self.patterns = other.patterns
        self.waiting = other.waiting
        self.receipts = other.receipts

    def text(self):
        """Equal worlds have equal texts."""
        return canonical([sorted(self.documents.items()), self.waiting, [[list(key), list(receipt)] for key, receipt in
                          sorted(self.receipts.items())]])

    # ---- pieces ----

    def start(self, piece, pattern, args=None):
        """A new piece, or one that is there with another pattern."""
        known = piece in self.patterns
        self.patterns[piece] = pattern
        for arg in pattern.get("args", ()):
            given = (args or {}).get(arg["name"], ABSENT)
            if given is not ABSENT:
                self.documents[piece + "/" + arg["name"]] = given
            elif not known:
                self.documents[piece + "/" + arg["name"]] = arg["initial"]
        for state in pattern["states"]:
            name = piece + "/" + state["name"]
            if name not in self.documents and not state.get("scope"):
                self.documents[name] = self._initial(piece, state)
        for child in pattern.get("children", ()):
            given = {}
            for name, (kind, what) in child["args"].items():
                given[name] = self.link(Frame(self, piece), what) if kind == "link" else what
            self.start(piece + "/" + child["name"], child["pattern"], given)

    def _initial(self, piece, state):
        initial = state["initial"]
        if isinstance(initial, list) and initial[:1] == ["link"]:
            return self.link(Frame(self, piece), initial[1])
        return judged(state.get("schema"), initial)

    def part(self, piece, name):
        """(group, declaration) of a name of a piece."""
        for group in ("states", "args", "computed", "lists", "choices", "children", "handlers"):
            for part in self.patterns[piece].get(group, ()):
                if part["name"] == name:
                    return group, part
        raise KeyError("%s has no %s" % (piece, name))

    # ---- places ----

    def place(self, frame, cell):
        """The document and path of a cell, before any link is followed."""
        piece, name = frame.piece, cell[0]
        while "." in name:
            child, name = name.split(".", 1)
            piece = piece + "/" + child
        document = piece + "/" + name
        return self.instance(document, frame.user), tuple(cell[1:])

    def instance(self, document, user):
        """The document that a user means by a name: of a user's state, the one
        of that user, which has the initial value at first."""
        piece, _, name = document.rpartition("/")
        if "@" in name or piece not in self.patterns:
            return document
        group, part = self.part(piece, name)
        if part.get("scope") == "user":
            document += "@" + str(user)
            if document not in self.documents:
                self.documents[document] = self._initial(piece, part)
        return document

    def link(self, frame, cell):
        """A link names no user: whoever follows it means their own instance."""
        document, path = self.place(frame, cell)
        return Link(document.partition("@")[0], path)

    def load(self, document, frame):
        """The value of a document, derived ones included."""
        piece, _, name = document.partition("@")[0].rpartition("/")
        if piece not in self.patterns:
            return self.documents.get(document, ABSENT)
        group, part = self.part(piece, name)
        inner = Frame(self, piece, frame.user)
        if group == "computed":
            return self.evaluate(part["expr"], inner)
        if group == "lists":
            return self.evaluate_list(part, inner)
        if group == "choices":
            return self.choose(part, inner)
        return self.documents.get(document, ABSENT)

    def resolve(self, frame, cell, last=True):
        """The place behind the links on the way, and behind those at its end."""
        document, path = self.place(frame, cell)
        return self.resolve_place(document, path, frame, last)

    def resolve_place(self, document, path, frame, last=True):
        for _ in range(HOPS):
            document = self.instance(document, frame.user)
            value = self.load(document, frame)
            for depth in range(len(path) + 1):
                if isinstance(value, Link):
                    break
                if depth < len(path):
                    value = get_below(value, path[depth:depth + 1])
            if not isinstance(value, Link) or (depth == len(path) and not last):
                return document, path
            document, path = value.document, value.path + path[depth:]
        raise Refused("a circle of links")

    def read(self, frame, cell):
        document, path = self.resolve(frame, cell)
        return get_below(self.load(document, frame), path)

    def expand(self, value, frame):
        """The value with everything that it links to, as `heddle get` prints it."""
        if isinstance(value, Link):
            document, path = self.resolve_place(value.document, value.path, frame)
            return self.expand(get_below(self.load(document, frame), path), frame)
        if isinstance(value, list):
            return [self.expand(item, frame) for item in value]
        if isinstance(value, dict):
            items = {key: self.expand(item, frame) for key, item in value.items()}
            return {key: item for key, item in items.items() if item is not ABSENT}
        return value

    def write(self, frame, cell, operation, operand):
        if operation == "link":
            document, path = self.resolve(frame, cell, last=False)
            operation = "set"
        else:
            document, path = self.resolve(frame, cell)
        if self._is_derived(document):
            raise Refused("derived")
        before = self.documents.get(document, ABSENT)
        after = change_below(before, path, lambda old: OPERATIONS[operation](old, operand))
        # What is set below something absent is a put of the whole.
        whole = operation == "set" and (path == () or before is ABSENT)
        self.documents[document] = judged(self._schema(document), after, whole)

    def _schema(self, document):
        piece, _, name = document.partition("@")[0].rpartition("/")
        return self.part(piece, name)[1].get("schema") if piece in self.patterns else None

    def _is_derived(self, document):
        piece, _, name = document.partition("@")[0].rpartition("/")
        return piece in self.patterns and self.part(piece, name)[0] in ("computed", "lists", "choices")

    # ---- expressions ----

    def evaluate(self, expr, frame):
        kind = expr[0]
        if kind == "const":
            return expr[1]
        if kind == "event":
            return frame.event[expr[1]]
        if kind == "item":
            return frame.item
        if kind == "sofar":
            return frame.sofar
        if kind == "num":
            value = self.read(frame, expr[1])
            return value if is_number(value) else 0
        if kind == "text":
            value = self.read(frame, expr[1])
            return value if isinstance(value, str) else ""
        if kind == "value":
            value = self.read(frame, expr[1])
            return None if value is ABSENT else value
        if kind in ("len", "shape"):
            value = self.read(frame, expr[1])
            return len(value) if isinstance(value, list) else 0
        if kind in ("sum", "view"):
            value = self.expand(self.read(frame, expr[1]), frame)
            return sum(item for item in value if is_number(item)) if isinstance(value, list) else 0
        if kind == "add":
            return self.evaluate(expr[1], frame) + self.evaluate(expr[2], frame)
        if kind == "mul":
            # Bounded, so that no number leaves the range of an integer.
            return (self.evaluate(expr[1], frame) * self.evaluate(expr[2], frame)) % 1000
        if kind == "cat":
            return self.evaluate(expr[1], frame) + self.evaluate(expr[2], frame)
        if kind == "str":
            value = self.evaluate(expr[1], frame)
            if isinstance(value, str):
                return value
            return "t" if isinstance(value, (list, dict)) else canonical(value)
        if kind == "differs":
            return not equal(self.evaluate(expr[1], frame), self.evaluate(expr[2], frame))
        if kind == "positive":
            return self.evaluate(expr[1], frame) > 0
        if kind == "object":
            return {key: self.evaluate(item, frame) for key, item in expr[1].items()}
        if kind == "array":
            return [self.evaluate(item, frame) for item in expr[1]]
        raise ValueError(kind)

    def evaluate_list(self, part, frame):
        items = self.read(frame, part["list"])
        items = items if isinstance(items, list) else []
        items = [self.expand(item, frame) for item in items]
        if part["kind"] == "reduce":
            sofar = part["initial"]
            for item in items:
                sofar = self.evaluate(part["expr"], frame.with_item(item, sofar))
            return sofar
        results = [self.evaluate(part["expr"], frame.with_item(item)) for item in items]
        if part["kind"] == "map":
            return results
        if part["kind"] == "filter":
            return [item for item, result in zip(items, results) if result is not False and result is not None]
        flat = []
        for result in results:
            flat += result if isinstance(result, list) else [result]
        return flat

    def choose(self, part, frame):
        """A link to the cell that was chosen. 0 and "" are true."""
        condition = self.read(frame, part["condition"])
        if condition is not ABSENT and condition is not None and condition is not False:
            return self.link(frame, part["then"])
        return self.link(frame, part["otherwise"]) if part["otherwise"] else ABSENT

    def result(self, piece, user=None):
        """What `heddle get` prints: every field but the streams."""
        pattern = self.patterns[piece]
        frame = Frame(self, piece, user)
        found = {}
        for group in ("states", "args", "computed", "lists", "choices"):
            for part in pattern.get(group, ()):
                value = self.expand(self.read(frame, [part["name"]]), frame)
                if value is not ABSENT:
                    found[part["name"]] = value
        for child in pattern.get("children", ()):
            found[child["name"]] = self.result(piece + "/" + child["name"], user)
        return found

    # ---- steps ----

    def stream(self, frame, name):
        """(piece, handler) behind the name of a stream, also through a link."""
        piece = frame.piece
        while "." in name:
            child, name = name.split(".", 1)
            piece = piece + "/" + child
        if self.part(piece, name)[0] == "handlers":
            return piece, name
        document, _ = self.resolve(Frame(self, piece, frame.user), [name])
        piece, _, name = document.rpartition("/")
        return piece, name

    def send(self, piece, name, payload, key=None, user=None):
        """An event of a caller. With a key, (session, id), it is handled once."""
        piece, name = self.stream(Frame(self, piece, user), name)
        if key is None:
            return self.handle(piece, name, payload, user)
        key = tuple(key) + (piece, name)
        if key in self.receipts:
            sent, receipt = self.receipts[key]
            if not equal(sent, payload):
                raise Failed("the id has another payload")
            return receipt
        receipt = self.handle(piece, name, payload, user)
        self.receipts[key] = (payload, receipt)
        return receipt

    def queue(self, piece, name, payload, user=None):
        """An event of a caller that is handled some time later."""
        piece, name = self.stream(Frame(self, piece, user), name)
        judged(self.part(piece, name)[1].get("schema"), payload)
        self.waiting.append((self.origin, piece, name, payload, user))

    def handle(self, piece, name, payload, user=None):
        """Handles one event: what it returns, or Failed and nothing has changed."""
        group, handler = self.part(piece, name)
        attempt = self.copy()
        try:
            frame = Frame(attempt, piece, user, judged(handler.get("schema"), payload))
            returned = attempt._perform(handler["body"], frame)
        except Refused as refusal:
            raise Failed(str(refusal))
        self.take(attempt)
        return {} if returned is ABSENT else returned

    def _perform(self, body, frame):
        for statement in body:
            kind = statement[0]
            if kind in OPERATIONS:
                operand = self.evaluate(statement[2], frame) if kind != "delete" else ABSENT
                self.write(frame, statement[1], kind, operand)
            elif kind == "link":
                self.write(frame, statement[1], "link", self.link(frame, statement[2]))
            elif kind in ("send", "try_send"):
                piece, name = self.stream(frame, statement[1])
                judged(self.part(piece, name)[1].get("schema"), self.evaluate(statement[2], frame))
                self.waiting.append((self.origin, piece, name, self.evaluate(statement[2], frame), frame.user))
            elif kind == "fail_if":
                if self.evaluate(statement[1], frame):
                    raise Failed("refused on purpose")
            elif kind == "if":
                if self.evaluate(statement[1], frame):
                    returned = self._perform(statement[2], frame)
                    if returned is not ABSENT:
                        return returned
            elif kind == "repeat":
                for _ in range(statement[1]):
                    self._perform(statement[2], frame)
            elif kind == "return":
                return self.evaluate(statement[1], frame)
            else:
                raise ValueError(kind)
        return ABSENT

    def settle(self):
        """Handles what waits, in order; a failed event leaves nothing."""
        while self.waiting:
            self.settle_one(0)

    def settle_one(self, index):
        origin, piece, name, payload, user = self.waiting.pop(index)
        self.origin = origin
        try:
            self.handle(piece, name, payload, user)
        except Failed:
            self.failed += 1

    def edit(self, piece, operations, user=None):
        """Several operations from outside, all or none: [(operation, cell, operand)]."""
        attempt = self.copy()
        frame = Frame(attempt, piece, user)
        for operation, cell, operand in operations:
            if operation == "link":
                operand = attempt.link(frame, operand)
            attempt.write(frame, cell, operation, operand)
        self.take(attempt)
