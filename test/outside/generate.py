"""Random programs and random payloads.

Every choice comes from one random.Random, so a round is its seed. Programs are
small, their names short, and their values from a small alphabet, so that
equal elements, moves and writers of one place are frequent.
"""

ELEMENTS = [1, 2, 3, 4, 1, 2, "a", "b", "c", "a", {"q": 1}, {"q": 2, "r": [1]}, [1], None, True]
KEYS = ["a", "b", "c"]


class Places:
    """The cells of a pattern by their type: number, text, list."""

    def __init__(self):
        self.written = {"number": [], "text": [], "list": []}
        self.read = {"number": [], "text": [], "list": []}
        self.links = []  # (cell, type)

    def add(self, kind, cell, written=True):
        self.read[kind].append(cell)
        if written:
            self.written[kind].append(cell)


class Generator:
    def __init__(self, random, without=()):
        self.random = random
        self.without = without
        self.narrow = False  # few values: many writes change nothing
        self.long = False  # long first lists: what is written is a difference

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def element(self):
        return self.random.choice([1, "a"] if self.narrow else ELEMENTS)

    def long_list(self):
        return [self.element() for _ in range(self.random.randrange(34, 40))]

    def list(self, most=5):
        return [self.element() for _ in range(self.random.randrange(most + 1))]

    def position(self):
        """Of an element, from 0: the first one often, and any that a list may have."""
        return self.random.choice([0, 1, 2, self.random.randrange(40 if self.long else 6)])

    def number(self):
        if self.narrow:
            return self.random.randrange(2)
        if self.chance(10):
            return self.random.choice([0.5, 1.5, -2.25])
        return self.random.randrange(-5, 20)

    def text(self):
        return "".join(self.random.choice("xyz") for _ in range(self.random.randrange(1, 4)))

    def of_type(self, kind):
        return {"number": self.number, "text": self.text, "list": self.list}[kind]()

    # ---- patterns ----

    def pattern(self, name, links=0, children=0, lists=2, computed=3, handlers=3, args=(), is_child=False,
                choices=30):
        """A random pattern. `args` are (name, type): places that may be links; `choices` is how
        likely one is, in percent."""
        pattern = {"name": name, "states": [], "args": [], "computed": [], "lists": [], "choices": [],
                   "children": [], "handlers": []}
        places = Places()
        for arg, kind in args:
            pattern["args"].append({"name": arg, "initial": self.of_type(kind)})
            places.add(kind, [arg])
        self.states(pattern, places)
        for index in range(links):
            kind = self.random.choice(["number", "list"])
            target = self.random.choice(places.written[kind])
            pattern["states"].append({"name": "k%d" % index, "initial": ["link", target]})
            places.links.append((["k%d" % index], kind))
        for cell, kind in places.links:
            places.add(kind, cell)
        for index in range(children):
            self.child(pattern, places, "kid%d" % index)
        self.lists(pattern, places, self.random.randrange(lists + 1))
        if self.chance(choices):
            cells = self.random.choices(places.read["number"], k=2)
            pattern["choices"].append({
                "name": "i0", "condition": self.random.choice(places.written["number"] + places.written["text"]),
                "then": cells[0], "otherwise": cells[1] if self.chance(70) else None})
            places.add("number", ["i0"], written=False)
        for index in range(self.random.randrange(1, computed + 1)):
            pattern["computed"].append({"name": "c%d" % index, "expr": self.number_expr(places, 2)})
            places.add("number", ["c%d" % index], written=False)
        for index in range(self.random.randrange(1, handlers + 1)):
            pattern["handlers"].append(self.handler(places, "h%d" % index, pattern))
        return pattern

    def states(self, pattern, places):
        states = pattern["states"]
        for index in range(self.random.randrange(1, 3)):
            states.append({"name": "n%d" % index, "initial": self.number()})
            places.add("number", ["n%d" % index])
        for index in range(self.random.randrange(1, 3)):
            initial = self.long_list() if self.long and index == 0 else self.list()
            states.append({"name": "l%d" % index, "initial": initial})
            places.add("list", ["l%d" % index])
        states.append({"name": "s0", "initial": self.text()})
        places.add("text", ["s0"])
        if self.chance(70):
            states.append({"name": "o0", "initial": {
                "a": self.number(), "b": self.list(3), "c": {"d": self.number(), "e": self.text()}}})
            for kind, cell in (("number", ["o0", "a"]), ("number", ["o0", "c", "d"]), ("list", ["o0", "b"]),
                               ("text", ["o0", "c", "e"])):
                places.add(kind, cell)

    def child(self, pattern, places, name):
        kind = self.random.choice(["number", "list"])
        inner = self.pattern(name + "_pattern", lists=1, computed=2, handlers=2, args=[("x", kind)], is_child=True)
        target = self.random.choice(places.written[kind])
        given = ["link", target] if self.chance(75) else ["value", self.of_type(kind)]
        pattern["children"].append({"name": name, "pattern": inner, "args": {"x": given}})
        for part in inner["computed"]:
            places.add("number", ["%s.%s" % (name, part["name"])], written=False)

    def lists(self, pattern, places, count):
        for index in range(count):
            kind = self.random.choice(["map", "map", "filter", "flat_map", "reduce"])
            part = {"name": "m%d" % index, "kind": kind, "list": self.random.choice(places.read["list"])}
            number = ["num", self.random.choice(places.read["number"])]
            if kind == "map":
                part["expr"] = self.random.choice([
                    ["item"], ["object", {"v": ["item"], "n": number}], ["array", [["item"], number]]])
            elif kind == "filter":
                part["expr"] = ["differs", ["item"], ["const", self.random.choice([1, 2, "a"])]]
            elif kind == "flat_map":
                part["expr"] = ["array", self.random.choice([[["item"], ["item"]], [], [["item"], number]])]
            else:
                part["initial"] = ""
                part["expr"] = ["cat", ["sofar"], ["str", ["item"]]]
            pattern["lists"].append(part)
            if kind in ("filter", "flat_map"):
                places.add("list", [part["name"]], written=False)

    def number_expr(self, places, depth):
        choice = self.random.randrange(8)
        if depth > 0 and choice < 3:
            return [self.random.choice(["add", "add", "mul"]), self.number_expr(places, depth - 1),
                    self.number_expr(places, depth - 1)]
        if choice < 5:
            return ["num", self.random.choice(places.read["number"])]
        if choice < 7:
            cell = self.random.choice(places.read["list"])
            kinds = ["len", "sum", "view"] if cell in places.written["list"] else ["len", "view"]
            return [self.random.choice(kinds), cell]
        return ["const", self.random.randrange(1, 5)]

    # ---- handlers ----

    def handler(self, places, name, pattern):
        if "own-view" in self.without:
            # A handler reads no derived value.
            plain = Places()
            plain.written, plain.links = places.written, places.links
            plain.read = places.written
            places = plain
        # A blind handler writes to documents that nothing has loaded.
        blind = self.chance(40)
        body = []
        focus = self.random.choice(["number", "list", "list", "any"])
        cell = None
        for _ in range(self.random.randrange(1, 6)):
            kind = focus if focus != "any" else self.random.choice(["number", "text", "list"])
            if cell is None or focus == "any" or self.chance(25):
                cell = self.random.choice(places.written[kind])
            statement = self.operation(places, kind, cell, blind)
            if not blind and self.chance(10):
                statement = ["if", ["positive", self.number_expr(places, 0)], [statement]]
            body.append(statement)
        if places.links and self.chance(35):
            link, kind = self.random.choice(places.links)
            targets = [cell for cell in places.written[kind] if cell != link and cell not in
                       [other for other, _ in places.links]]
            body.insert(self.random.randrange(len(body) + 1), ["link", link, self.random.choice(targets)])
        streams = [handler["name"] for handler in pattern["handlers"]]
        for child in pattern["children"]:
            streams += ["%s.%s" % (child["name"], part["name"]) for part in child["pattern"]["handlers"]] * 2
        if streams and self.chance(35):
            send = ["send", self.random.choice(streams), ["object", {
                "v": ["event", "v"], "i": ["event", "i"], "w": ["event", "w"]}]]
            body.append(["repeat", self.random.randrange(2, 5), [send]] if self.chance(25) else send)
        if not blind and self.chance(8):
            body.append(["fail_if", ["positive", self.number_expr(places, 0)]])
        if not blind and self.chance(80):
            body.append(["return", self.returned(places)])
        return {"name": name, "body": body}

    def operation(self, places, kind, cell, blind):
        if kind == "text" and self.chance(10):
            # Of the wrong type: refused, unless there is nothing.
            return self.random.choice([["append", cell, ["event", "v"]], ["increment", cell, ["const", 1]]])
        if kind == "number":
            operations = [
                ["increment", cell, ["const", 1]],
                ["increment", cell, ["event", "i"]],
                ["set", cell, ["event", "i"]],
                ["delete", cell]]
            if not blind:
                operations.append(["set", cell, ["add", self.number_expr(places, 1), ["event", "i"]]])
            if len(cell) > 1:
                # What is set there afterwards is set below something absent.
                operations.append(["delete", cell[:-1]])
            return self.random.choice(operations)
        if kind == "text":
            operations = [["set", cell, ["str", ["event", "v"]]], ["delete", cell]]
            if not blind:
                operations.append(["set", cell, ["cat", ["text", cell], ["str", ["event", "v"]]]])
            return self.random.choice(operations)
        choice = self.random.randrange(100)
        operand = self.random.choice([["event", "v"], ["event", "v"], ["const", self.element()]])
        if choice < 30:
            return ["append", cell, operand]
        if choice < 50:
            return ["remove", cell, operand]
        if choice < 70:
            return ["add_unique", cell, operand]
        if choice < 85:
            return ["set", cell, ["event", "w"]]
        if choice < 93 and not blind:
            # An element by its position; beyond the end it would be refused.
            position = self.position()
            operation = ["set", cell + [position], operand] if self.chance(70) else ["delete", cell + [position]]
            return ["if", ["positive", ["add", ["len", cell], ["const", -position]]], [operation]]
        return ["delete", cell]

    def returned(self, places):
        found = {}
        for key in KEYS[:self.random.randrange(1, 4)]:
            choice = self.random.randrange(4)
            if choice == 0:
                found[key] = ["num", self.random.choice(places.read["number"])]
            elif choice == 1:
                found[key] = ["len", self.random.choice(places.read["list"])]
            elif choice == 2:
                found[key] = ["value", self.random.choice(places.written["list"])]
            else:
                found[key] = self.number_expr(places, 1)
        return ["object", found]

    # ---- payloads and edits ----

    def payload(self, near=()):
        """The payload of any event. `near` are lists to permute and edit."""
        near = [items for items in near if isinstance(items, list)]
        whole = self.list(2 if self.narrow else 5)
        if near and self.chance(60):
            whole = self.changed(self.random.choice(near))
        return {"v": self.element(), "i": self.random.randrange(-3, 9), "w": whole}

    def changed(self, items):
        """Another order of a list, or a list that differs in few places."""
        items = list(items)
        choice = self.random.randrange(5)
        if choice < 3 and not self.long:
            self.random.shuffle(items)
        elif choice < 2 and items:
            items.pop(self.random.randrange(len(items)))
        elif choice == 2 and items:
            items[self.random.randrange(len(items))] = self.element()
        if choice > 2 or self.chance(20):
            items.insert(self.random.randrange(len(items) + 1), self.element())
        return items

    def edit(self, places, near=()):
        """(operation, cell, operand) of an edit by hand."""
        kind = self.random.choice([kind for kind in ("number", "text", "list", "list") if places.written[kind]])
        cell = self.random.choice(places.written[kind])
        if kind == "number":
            return self.random.choice([("set", cell, self.number()), ("increment", cell, self.random.randrange(1, 5)),
                                       ("delete", cell[:-1] if len(cell) > 1 and self.chance(50) else cell, None)])
        if kind == "text":
            return ("set", cell, self.text())
        operation = self.random.choice(["append", "remove", "add_unique", "set"] + ["set"] * (6 if self.long else 0))
        if self.chance(15):
            # An element by its position: a set is refused beyond the one behind the last.
            if self.chance(25):
                return ("delete", cell + [self.position()], None)
            return ("set", cell + [self.position()], self.element())
        return (operation, cell, self.payload(near)["w"] if operation == "set" else self.element())


def places_of(pattern):
    """The places of a pattern that was generated, found again by their names."""
    places = Places()
    kinds = {"n": "number", "l": "list", "s": "text"}
    for state in pattern["states"]:
        name, initial = state["name"], state["initial"]
        if name[0] in kinds:
            places.add(kinds[name[0]], [name])
        elif name[0] == "o":
            for kind, cell in (("number", [name, "a"]), ("number", [name, "c", "d"]), ("list", [name, "b"]),
                               ("text", [name, "c", "e"])):
                places.add(kind, cell)
    return places


def one_list(places):
    """The first list alone, for callers that meet at one place."""
    single = Places()
    single.add("list", places.written["list"][0])
    return single


def near_lists(world, piece):
    """The lists that a piece has now."""
    return [value for document, value in world.documents.items()
            if document.startswith(piece + "/") and isinstance(value, list)]
