"""Rounds through the commands that explain: ps, graph, why and why-not say what
the model says; a circle of computations is told; a broken file under --watch
keeps what ran."""

import json
import os
import signal

from generate import near_lists, places_of
from model import Frame
from program import lua_file
from round import difference
from rounds_command import edit, look, send, start
from rounds_process import Runner
from values import ABSENT, OPERATIONS, equal, plain


def ask(round, *words):
    """The JSON that a command prints."""
    answer = round.command.call(*words, "--json")
    round.note("%s -> %r" % (" ".join(words), answer))
    if answer.outcome != "ok":
        round.fail("%s: %r" % (" ".join(words), answer))
    return answer.value


# ---- what the model knows of nodes ----

def cells_of(expr):
    """The cells that an expression reads, whatever their values."""
    if not isinstance(expr, list):
        return [cell for item in expr.values() for cell in cells_of(item)] if isinstance(expr, dict) else []
    if expr[0] in ("num", "text", "value", "len", "shape", "sum", "view"):
        return [expr[1]]
    if expr[0] == "const":
        return []
    return [cell for part in expr[1:] for cell in cells_of(part)]


class Nodes:
    """The computations of a piece, what each reads, and the values when `get`
    printed them last."""

    def __init__(self, round, pattern):
        self.round = round
        self.reads = {part["name"]: cells_of(part["expr"]) for part in pattern["computed"]}
        self.handlers = [part["name"] for part in pattern["handlers"]]
        self.seen = self.values()
        self.written = []  # since then

    def behind(self, name):
        """(states, computations) that lead to a computation."""
        states, nodes = [], set()
        for cell in self.reads[name]:
            if cell[0] in self.reads:
                more_states, more_nodes = self.behind(cell[0])
                states += more_states
                nodes |= more_nodes | {cell[0]}
            else:
                states.append(cell)
        return states, nodes

    def values(self):
        """Of each cell its value, behind the kinds of what it is in: a read
        below an object is a read that there is one."""
        world = self.round.world
        frame = Frame(world, "p")
        found = {}
        for name in self.reads:
            for cell in self.behind(name)[0] + [[name]]:
                found[json.dumps(cell)] = [type(world.read(frame, cell[:length])).__name__
                                           for length in range(1, len(cell))] + [world.read(frame, cell)]
        return found

    def changed(self, cell):
        before, after = self.seen[json.dumps(cell)], self.values()[json.dumps(cell)]
        return before[:-1] != after[:-1] or not equal_or_absent(before[-1], after[-1])

    def is_written(self, cell):
        """A write above a cell may leave there what was there."""
        return any(cell[:len(place)] == place for place in self.written)

    def compare(self):
        """What `ps` and `why-not` say of each node, and what the model allows."""
        told = {node["node"]: node for piece in ask(self.round, "ps")["pieces"] if piece["piece"] == "p"
                for node in piece["nodes"]}
        if sorted(told) != sorted(list(self.reads) + self.handlers):
            self.round.fail("ps has the nodes %s" % sorted(told))
        for name in self.handlers:
            if told[name]["kind"] != "handler" or "status" in told[name]:
                self.round.fail("ps says of a handler: %s" % told[name])
        for name in self.reads:
            self.compare_one(name, told[name]["status"], ask(self.round, "why-not", "p", name))
        self.round.count("ps", "why-not")

    def compare_one(self, name, status, why_not):
        states, nodes = self.behind(name)
        condition = why_not["condition"]
        says = "%s is %s in ps, %s in why-not" % (name, status, condition)
        if self.changed([name]) and condition == "clean":
            self.round.fail(says + ", and it is out of date")
        if not any(self.changed(cell) or self.is_written(cell) for cell in states) and (status, condition) != ("clean", "clean"):
            self.round.fail(says + ", and nothing that it reads has changed")
        if (status == "clean") != (condition in ("clean", "waits")):
            self.round.fail(says)
        if condition == "waits":
            self.round.count("node that waits")
            if why_not["waitsFor"]["node"] not in nodes:
                self.round.fail("%s waits for %s, which it does not read" % (name, why_not["waitsFor"]))

    def compare_graph(self):
        graph = ask(self.round, "graph", "p")
        nodes = {node["id"]: node for node in graph["nodes"]}
        found = {name: set() for name in self.reads}
        for node in graph["nodes"]:
            if node["kind"] == "handler" and "status" in node:
                self.round.fail("graph says of a handler: %s" % node)
        for edge in graph["edges"]:
            found[nodes[edge["to"]]["name"]].add(nodes[edge["from"]]["name"])
        for name, reads in self.reads.items():
            if found[name] != {cell[0] for cell in reads}:
                self.round.fail("graph: %s reads %s, the model %s" % (
                    name, sorted(found[name]), sorted({cell[0] for cell in reads})))
        self.round.count("graph")

    def compare_why(self, origin):
        """After `get`: what has another value ran because of `origin`."""
        for name in self.reads:
            if self.changed([name]):
                found = origins(ask(self.round, "why", "p", name))
                if found != {origin}:
                    self.round.fail("%s ran because of %s, the model: %s" % (name, sorted(found), origin))
                self.round.count("why")
        self.seen = self.values()
        self.written = []


def equal_or_absent(first, second):
    if first is ABSENT or second is ABSENT:
        return first is second
    return equal(first, second)


def origins(run):
    """What a run goes back to: events by their handler, and edits."""
    found = set()
    for cause in run.get("causes", ()):
        by = cause["by"]
        if by["type"] == "node":
            found |= origins(by["run"])
        else:
            found.add(by.get("handler", by["type"]))
    return found


# ---- kinds ----

def places_written(body):
    """The cells that statements may write to."""
    return [place for statement in body for place in (
        places_written(statement[2]) if statement[0] == "if" else [statement[1]] if statement[0] in OPERATIONS else [])]


def one_call(round, pattern, nodes):
    """An event or an edit; what `why` calls it."""
    near = near_lists(round.world, "p")
    if round.generator.chance(50):
        handler = round.random.choice(pattern["handlers"])
        send(round, "p", handler["name"], round.generator.payload(near))
        nodes.written = places_written(handler["body"])
        return handler["name"]
    operation = round.generator.edit(places_of(pattern), near)
    edit(round, "p", *operation)
    nodes.written = [operation[1]]
    return "edit"


def explain(round):
    """ps, graph, why and why-not say what the model says of each node."""
    pattern = round.generator.pattern("p", lists=0, handlers=2, choices=0)
    for index, part in enumerate(pattern["computed"]):
        if index > 0 and round.generator.chance(60):
            part["expr"] = ["add", ["num", ["c%d" % round.random.randrange(index)]], part["expr"]]
    for handler in pattern["handlers"]:
        # One call is one commit, so that a value that is the same did not change between.
        handler["body"] = [statement for statement in handler["body"] if statement[0] not in ("send", "repeat")]
    start(round, "p", pattern)
    nodes = Nodes(round, pattern)
    nodes.compare()
    nodes.compare_graph()
    for _ in range(round.random.randrange(4, 8)):
        origin = one_call(round, pattern, nodes)
        nodes.compare()
        look(round, "p")
        nodes.compare_why(origin)
        nodes.compare()
    round.count("explained piece")


def circle(round):
    """A link closes a circle of computations, which is told until it is opened."""
    length = round.random.randrange(2, 6)
    last = ["c%d" % (length - 1)]
    computed = [{"name": "c%d" % index, "expr": [
        "add", ["num", ["c%d" % (index - 1)] if index > 0 else ["seam"]], ["const", round.random.randrange(1, 4)]]}
        for index in range(length)]
    computed.append({"name": "calm", "expr": ["add", ["num", ["n0"]], ["const", 1]]})
    pattern = {"name": "p", "states": [{"name": "n0", "initial": round.generator.number()},
                                       {"name": "seam", "initial": ["link", ["n0"]]}],
               "computed": computed, "lists": [], "choices": [], "children": [], "handlers": [
                   {"name": "close", "body": [["link", ["seam"], last]]},
                   {"name": "open", "body": [["link", ["seam"], ["n0"]]]},
                   {"name": "bump", "body": [["increment", ["n0"], ["event", "i"]], ["return", ["num", ["calm"]]]]}]}
    start(round, "p", pattern)
    send(round, "p", "close", {"i": 0})
    expect_circle(round, ["p/c%d" % index for index in range(length)])
    send(round, "p", "bump", round.generator.payload())
    send(round, "p", "open", {"i": 0})
    look(round, "p")
    send(round, "p", "bump", round.generator.payload())
    look(round, "p")
    round.count("circle")


def expect_circle(round, names):
    """Commands that meet the circle say so, once, and nothing else does."""
    words = round.random.choice([["get", "p"], ["run", "p.lua", "--once"]])
    process = round.started(round.command.start(*words))
    _, err = process.communicate(timeout=60)
    round.note("%s -> %d %s" % (" ".join(words), process.returncode, err))
    if process.returncode != 4 or err.count("form a cycle") != 1 or "heddle: up to date" in err:
        round.fail("%s: a circle is not told: %d %s" % (" ".join(words), process.returncode, err))
    for name in names:
        if name not in err:
            round.fail("%s: %s is not named in %s" % (" ".join(words), name, err))
    answer = round.command.call("get", "p", "calm")
    calm = round.world.read(Frame(round.world, "p"), ["calm"])
    if answer.outcome != "ok" or not equal(answer.value, calm):
        round.fail("get p calm, which is beside the circle: %r, the model %s" % (answer, json.dumps(calm)))


def broken(round):
    """A file that is broken under --watch: what ran goes on until it is mended."""
    pattern = round.generator.pattern("p")
    start(round, "p", pattern)
    runner = Runner(round, 0, "--watch")
    follow(round, runner)
    for version in range(round.random.randrange(1, 3)):
        break_file(round)
        if not runner.wait_for_error("the previous version keeps running", 30):
            round.fail("a broken file is not told: %s" % runner.errors())
        edit(round, "p", *round.generator.edit(places_of(pattern), near_lists(round.world, "p")))
        follow(round, runner)
        pattern = dict(pattern, computed=[
            dict(part, expr=round.generator.number_expr(places_of(pattern), 2)) for part in pattern["computed"]])
        runner.forget_errors()
        replace_file(round, "-- version %d\n%s" % (version, lua_file(pattern)))
        round.world.start("p", pattern)
        if not runner.wait_for_error("restarted", 30):
            round.fail("a file that was mended is not taken: %s" % runner.errors())
        runner.forget_errors()
        follow(round, runner)
        round.count("broken file")
    runner.process.send_signal(signal.SIGTERM)
    runner.process.wait(timeout=30)
    look(round, "p")


def follow(round, runner):
    """The runner shows what the model has."""
    want = round.world.result("p")
    if not runner.wait_for(lambda result: result is not None and difference("p", result, want) is None, 30):
        round.fail("the runner shows %s, the model has %s; it said %s" % (
            json.dumps(runner.last()), json.dumps(plain(want)), runner.errors()))


def replace_file(round, text):
    """At once, so that the runner sees no half of it."""
    path = os.path.join(round.directory, "p.lua")
    with open(path + ".new", "w") as file:
        file.write(text)
    os.replace(path + ".new", path)


def break_file(round):
    with open(os.path.join(round.directory, "p.lua")) as file:
        text = file.read()
    replace_file(round, round.random.choice([
        text.replace("p:computed(", "p:computd(", 1),
        text.replace("  return {n0", "  error(\"it is not done\")\n  return {n0"),
        text + "end)\n",
        "return 3 +\n",
        "local nothing = 1\n"]))
