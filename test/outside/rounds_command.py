"""Rounds through the `heddle` command: a fresh process for each operation."""

import json
import os

from generate import near_lists, places_of
from round import difference
from schemas import add_schemas
from values import Link


def link_to(piece, name):
    """A link to a part of a piece, as JSON for --args."""
    return {"/": {"link@1": {"id": "piece:%s/%s" % (piece, name), "path": ["value"]}}}


# ---- operations ----

def send(round, piece, stream, payload, key=None):
    answer = round.command.send(piece, stream, payload, key)
    round.count("send")
    user = round.command.user

    def action(world):
        receipt = world.send(piece, stream, payload, key, user)
        world.settle()
        return receipt
    round.expect("send %s %s %s%s" % (piece, stream, json.dumps(payload), " as %s/%s" % key if key else ""),
                 answer, action)


def edit(round, piece, operation, cell, operand):
    answer = round.command.set(piece, operation, cell, operand)
    round.count("set", "set " + operation)
    user = round.command.user
    round.expect("set %s %s %s %s" % (piece, operation, cell, json.dumps(operand)), answer,
                 lambda world: world.edit(piece, [(operation, cell, operand)], user))


def look(round, piece):
    answer = round.command.get(piece)
    round.note("get %s -> %r" % (piece, answer))
    if answer.outcome != "ok":
        round.fail("get %s: %r" % (piece, answer))
    differs = difference(piece, answer.value, round.world.result(piece, round.command.user))
    if differs:
        round.fail("get " + differs)
    round.count("get")


def start(round, piece, pattern, args=None, model_args=None):
    round.write_pattern(piece, pattern)
    answer = round.command.run(piece, args)
    round.world.start(piece, pattern, model_args)
    round.note("run %s --once -> %r" % (piece, answer))
    if answer.outcome != "ok":
        round.fail("run %s: %r" % (piece, answer))
    differs = difference(piece, answer.value, round.world.result(piece, round.command.user))
    if differs:
        round.fail("run --once " + differs)
    round.count("run")


def check(round):
    """The store's own check must agree, too."""
    answer = round.command.call("check")
    round.note("check -> %r" % answer)
    if answer.outcome != "ok":
        round.fail("check: %r" % answer)
    round.count("check")


def count_bodies(round, pattern):
    """Which value operations the handlers of a pattern are made of."""
    for handler in pattern["handlers"]:
        kinds = [statement[0] for statement in handler["body"]]
        for kind in kinds:
            round.count("body " + kind)
        for first, second in zip(handler["body"], handler["body"][1:]):
            if first[0] != second[0] and len(first) > 2 and len(second) > 2 and first[1] == second[1]:
                round.count("body mixed on one place")
    for part in pattern["lists"]:
        round.count("list " + part["kind"])
    for _ in pattern["choices"]:
        round.count("choice")


def some_traffic(round, pieces, most=8, users=()):
    """Events and edits in turn, each by a process of its own."""
    for _ in range(round.random.randrange(3, most)):
        piece = round.random.choice(list(pieces))
        if users:
            round.command.user = round.random.choice(users)
            round.note("as %s:" % round.command.user)
        pattern = pieces[piece]
        near = near_lists(round.world, piece)
        if round.generator.chance(75):
            stream = round.random.choice(pattern["handlers"])["name"]
            if stream == "relay":
                round.count("send to another piece")
            send(round, piece, stream, round.generator.payload(near))
        else:
            edit(round, piece, *round.generator.edit(places_of(pattern), near))
        if round.generator.chance(50):
            look(round, piece)
    for piece in pieces:
        look(round, piece)


# ---- kinds ----

def values(round):
    """All value operations on documents that this process has not loaded."""
    pattern = round.generator.pattern("p")
    count_bodies(round, pattern)
    start(round, "p", pattern)
    some_traffic(round, {"p": pattern})
    if round.generator.chance(35):
        check(round)


def links(round):
    """States that are links: re-pointed, and written through."""
    pattern = round.generator.pattern("p", links=round.random.randrange(1, 3))
    count_bodies(round, pattern)
    round.count("links that turn")
    start(round, "p", pattern)
    some_traffic(round, {"p": pattern})


def children(round):
    """Child pieces whose arguments are links, and events to their streams."""
    pattern = round.generator.pattern("p", children=round.random.randrange(1, 3))
    count_bodies(round, pattern)
    for child in pattern["children"]:
        count_bodies(round, child["pattern"])
    round.count("children")
    start(round, "p", pattern)
    some_traffic(round, {"p": pattern})
    send_to_child(round, pattern)
    look(round, "p")


def send_to_child(round, pattern):
    child = round.random.choice(pattern["children"])
    handler = round.random.choice(child["pattern"]["handlers"])["name"]
    payload = round.generator.payload()
    answer = round.command.send("p", "%s/%s" % (child["name"], handler), payload)
    round.count("send to a child")

    def action(world):
        receipt = world.send("p", "%s.%s" % (child["name"], handler), payload)
        world.settle()
        return receipt
    round.expect("send p %s/%s %s" % (child["name"], handler, json.dumps(payload)), answer, action)


def two_pieces(round, change=lambda pattern: None):
    """Pieces a and b; b has links to a part and a stream of a. `change` is called for each pattern."""
    first = round.generator.pattern("a")
    kind, cell = round.random.choice([("number", ["n0"]), ("list", ["l0"])])
    second = round.generator.pattern("b", args=[("x", kind)])
    stream = round.random.choice(first["handlers"])["name"]
    second["args"].append({"name": "there", "initial": 0})
    second["handlers"].append({"name": "relay", "body": [["send", "there", ["object", {
        "v": ["event", "v"], "i": ["event", "i"], "w": ["event", "w"]}]]]})
    change(first)
    change(second)
    count_bodies(round, first)
    count_bodies(round, second)
    round.count("pieces that read each other")
    start(round, "a", first)
    start(round, "b", second, {"x": link_to("a", cell[0]), "there": link_to("a", stream)},
          {"x": Link("a/" + cell[0]), "there": Link("a/" + stream)})
    return {"a": first, "b": second}


def pieces(round):
    """A piece that reads and writes another one, through its argument."""
    some_traffic(round, two_pieces(round))
    send(round, "b", "relay", round.generator.payload(near_lists(round.world, "a")))
    round.count("send to another piece")
    look(round, "a")


def resend(round):
    """The same event again: the same receipt, and nothing runs."""
    pattern = round.generator.pattern("p")
    start(round, "p", pattern)
    sent = []
    for index in range(round.random.randrange(3, 7)):
        if sent and round.generator.chance(60):
            stream, payload, key = round.random.choice(sent)
            if round.generator.chance(40):
                payload = dict(payload, i=payload["i"] + 1)
                round.count("resend with another payload")
            round.count("resend")
        else:
            stream = round.random.choice(pattern["handlers"])["name"]
            payload, key = round.generator.payload(), ("me", "e%d" % index)
            sent.append((stream, payload, key))
        send(round, "p", stream, payload, key)
        if round.generator.chance(30):
            look(round, "p")
    look(round, "p")


def hide(round):
    """A state that a version of the file does not declare keeps its data."""
    pattern = round.generator.pattern("p", lists=0, computed=1)
    start(round, "p", pattern)
    some_traffic(round, {"p": pattern}, 5)
    without = dict(pattern, choices=[], states=[state for state in pattern["states"] if state["name"] != "n0"])
    if not any(state["name"][0] in "no" for state in without["states"]):
        without["states"] = without["states"] + [{"name": "n5", "initial": 5}]
    places = places_of(without)
    without["computed"] = [dict(part, expr=round.generator.number_expr(places, 1)) for part in pattern["computed"]]
    without["handlers"] = [round.generator.handler(places, part["name"], dict(without, handlers=[], children=[]))
                           for part in pattern["handlers"]]
    start(round, "p", without)
    some_traffic(round, {"p": without}, 4)
    start(round, "p", pattern)
    round.count("hidden state")
    some_traffic(round, {"p": pattern}, 4)


def reload(round):
    """Another version of the file: the same states, other computations."""
    pattern = round.generator.pattern("p")
    start(round, "p", pattern)
    some_traffic(round, {"p": pattern}, 5)
    again = dict(pattern)
    places = places_of(pattern)
    again["computed"] = [dict(part, expr=round.generator.number_expr(places, 2)) for part in pattern["computed"]]
    if round.generator.chance(50):
        again["states"] = pattern["states"] + [{"name": "n9", "initial": 9}]
    again["handlers"] = [round.generator.handler(places, part["name"], dict(again, handlers=[], children=[]))
                         for part in pattern["handlers"]]
    start(round, "p", again)
    round.count("hot reload")
    some_traffic(round, {"p": again}, 5)
    change_kind(round, again)
    take_over(round)


def change_kind(round, pattern):
    """A version in which a state is a computation: the data is there again
    when the state is."""
    state = round.random.choice(pattern["states"])
    changed = dict(pattern, computed=[{"name": state["name"], "expr": ["const", round.random.randrange(9)]}],
                   states=[other for other in pattern["states"] if other is not state],
                   lists=[], choices=[], children=[], handlers=[])
    start(round, "p", changed)
    look(round, "p")
    start(round, "p", pattern)
    look(round, "p")
    round.count("state that becomes a computation")


def take_over(round):
    """A piece of another pattern does not get the name."""
    other = round.generator.pattern("q")
    round.write_pattern("q", other)
    answer = round.command.call("run", "q.lua", "--once", "--name", "p")
    round.note("run q --name p -> %r" % answer)
    if answer.outcome != "refused":
        round.fail("run q --name p: not refused: %r" % answer)
    look(round, "p")
    round.count("takeover refused")


def make_scoped(round, pattern):
    """Some states get an instance for each user."""
    states = [state for state in pattern["states"] if state["name"][0] in "nl"]
    for index, state in enumerate(states):
        if index == 0 or round.generator.chance(40):
            state["scope"] = "user"
    round.count("user-scoped states")


def schemas(round):
    """Schemas: what does not fit is refused and leaves nothing, with or without the file."""
    patterns = two_pieces(round, lambda pattern: round.count(*["schema"] * add_schemas(round.random, pattern)))
    for _ in range(round.random.randrange(4, 10)):
        piece = round.random.choice("ab")
        near = near_lists(round.world, piece)
        choice = round.random.randrange(10)
        if choice < 4:
            schema_send(round, piece, round.random.choice(patterns[piece]["handlers"]), near)
        elif choice < 6:
            schema_queue(round, piece, round.random.choice(patterns[piece]["handlers"]), near)
        else:
            schema_edit(round, piece, patterns[piece], near)
        if round.generator.chance(40):
            look(round, piece)
    for piece in "ab":
        look(round, piece)
    check(round)


def schema_payload(round, handler, near):
    """A payload that may lack what the schema has a default for, or what it requires."""
    payload = round.generator.payload(near)
    if "schema" in handler and round.generator.chance(40):
        payload.pop(round.random.choice(["i", "i", "v"]))
    return payload


def schema_send(round, piece, handler, near):
    send(round, piece, handler["name"], schema_payload(round, handler, near))
    count_refusal(round)


def schema_queue(round, piece, handler, near):
    """Queued, and then handled by the next process: what is refused never waits."""
    payload = schema_payload(round, handler, near)
    answer = round.command.call("send", piece, handler["name"], json.dumps(payload), "--queue")
    round.expect("send --queue %s %s %s" % (piece, handler["name"], json.dumps(payload)), answer,
                 lambda world: world.queue(piece, handler["name"], payload))
    waits = round.command.call("events", "--json")
    if answer.outcome == "refused":
        count_refusal(round)
        if waits.outcome != "ok" or waits.value["events"]:
            round.fail("a refused event waits: %r" % waits)
    round.command.run(piece)
    round.world.settle()
    round.world.failed = 0
    round.count("queued for a schema")


def schema_edit(round, piece, pattern, near):
    """A set, half of the times by a process that cannot read the file of the pattern."""
    file = os.path.join(round.directory, piece + ".lua")
    away = round.generator.chance(50)
    if away:
        os.rename(file, file + ".away")
        round.count("set without the file")
    edit(round, piece, *round.generator.edit(places_of(pattern), near))
    count_refusal(round)
    if away:
        os.rename(file + ".away", file)


def count_refusal(round):
    told = round.history[-1]
    if "refused" in told and ("does not match its schema" in told or ": the payload" in told):
        round.count("refused by a schema")
    else:
        round.count("judged by a schema")


def people(round):
    """Commands on behalf of two users, one after the other."""
    pattern = round.generator.pattern("p")
    make_scoped(round, pattern)
    count_bodies(round, pattern)
    users = ["ann", "bob"]
    round.command.user = "ann"
    start(round, "p", pattern)
    some_traffic(round, {"p": pattern}, users=users)
    for round.command.user in users:
        look(round, "p")


def debounce(round):
    """A debounce is no reason for a wrong answer."""
    pattern = round.generator.pattern("p")
    for index, part in enumerate(pattern["computed"]):
        if index == 0 or round.generator.chance(70):
            part["options"] = round.random.choice([{"debounce": 300}, {"debounce": 2000}, {"throttle": 500}])
            round.count("debounce")
    start(round, "p", pattern)
    some_traffic(round, {"p": pattern}, 5)


def backlog(round):
    """Many events of one handler: all are handled, or the sender is told."""
    pattern = {"name": "p", "states": [{"name": "n0", "initial": 0}, {"name": "l0", "initial": []}],
               "computed": [{"name": "c0", "expr": ["add", ["num", ["n0"]], ["len", ["l0"]]]}], "lists": [],
               "choices": [], "children": [], "handlers": []}
    pattern["handlers"].append({"name": "h0", "body": [["increment", ["n0"], ["const", 1]]]})
    counts = [round.random.choice([5, 40, 100, 250, 300, 400]), 10200]
    for count in counts:
        # Also a handler that ignores that an event of it was refused is refused as a whole.
        kind = round.random.choice(["send", "try_send"])
        pattern["handlers"].append({"name": "h%d" % count, "body": [
            ["append", ["l0"], ["event", "v"]],
            ["repeat", count, [[kind, "h0", ["object", {"v": ["event", "v"]}]]]]]})
    start(round, "p", pattern)
    for count in counts:
        send_many(round, "h%d" % count)


def send_many(round, stream):
    payload = {"v": 1}
    answer = round.command.send("p", stream, payload)
    round.note("send p %s -> %r" % (stream, answer))
    round.count("backlog")
    if answer.outcome == "ok":
        round.world.send("p", stream, payload)
        round.world.settle()
    elif "backlog" not in answer.text.lower() and "wait" not in answer.text:
        round.fail("send p %s: refused for another reason: %r" % (stream, answer))
    else:
        round.count("backlog refused")
    look(round, "p")
