"""Rounds through the public header: runtimes in one process, and several
processes on one directory."""

import json
import time

from generate import near_lists, one_list, places_of
from library import Library, operation_of
from model import Frame
from round import difference
from rounds_command import count_bodies, make_scoped


def driver(round):
    return round.started(Library(round.settings.driver, round.directory))


def must(round, text, answer):
    round.note("%s -> %r" % (text, answer))
    if answer.outcome != "ok":
        round.fail("%s: %r" % (text, answer))
    return answer


def open_piece(round, library, runtime, pattern, piece="p", **options):
    round.write_pattern(piece, pattern)  # for the people who read of a failure
    must(round, "open %d" % runtime, library.open(runtime, **options))
    must(round, "start %d" % runtime, library.ask("start", runtime, piece=piece, pattern=pattern))


def look(round, library, runtime=0, piece="p", user=None):
    """What the piece has, in a runtime that has just been opened."""
    answer = must(round, "get %d" % runtime, library.ask("get", runtime, document="piece:" + piece, path=""))
    differs = difference(piece, answer.value, round.world.result(piece, user))
    if differs:
        round.fail("get " + differs)
    round.count("library get")


def some_edit(round, pattern, most=3, places=None):
    """Operations of one edit, and places that it reads after them."""
    places, near = places or places_of(pattern), near_lists(round.world, "p")
    operations = [round.generator.edit(places, near)]
    for _ in range(round.random.randrange(most)):
        operation = round.generator.edit(places, near)
        if round.generator.chance(60):
            # Another operation on the same place.
            same = [other for other in (round.generator.edit(places, near) for _ in range(8))
                    if other[1] == operations[-1][1]]
            operation = same[0] if same else operation
        operations.append(operation)
    reads = [round.random.choice(places.written["list"] + places.written["number"])
             for _ in range(round.random.randrange(3))]
    return operations, reads


def edit_action(operations, reads, user=None):
    def action(world):
        frame = Frame(world, "p", user)
        for cell in [operation[1] for operation in operations] + reads:
            world.place(frame, cell)  # the initial value of a user's state
        before = world.text()
        world.edit("p", operations, user)
        if world.text() == before:
            return None  # nothing is committed: what it reads may be a moment old
        return [world.evaluate(["value", cell], frame) for cell in reads]
    return action


def edit_command(operations, reads, pattern):
    scoped = [state["name"] for state in pattern["states"] if state.get("scope")]
    return {"operations": [operation_of("p", *operation, scoped=scoped) for operation in operations],
            "reads": [operation_of("p", "set", cell, None, scoped)[1:3] for cell in reads]}


def count_operations(round, operations):
    for operation in operations:
        round.count("library " + operation[0])
    for first, second in zip(operations, operations[1:]):
        if first[1] == second[1] and first[0] != second[0]:
            round.count("edit mixed on one place")


# ---- one caller ----

def library(round):
    """Events, edits and writes through the header, with restarts between."""
    pattern = round.generator.pattern("p", links=round.random.choice([0, 0, 1]),
                                      children=round.random.choice([0, 0, 1]))
    count_bodies(round, pattern)
    process = driver(round)
    open_piece(round, process, 0, pattern)
    round.world.start("p", pattern)
    for _ in range(round.random.randrange(5, 15)):
        if round.generator.chance(30):
            must(round, "close", process.ask("close"))
            open_piece(round, process, 0, pattern)
            round.count("library restart")
        step(round, process, 0, pattern)
        if round.generator.chance(30):
            must(round, "settle", process.ask("settle"))
            look(round, process)
    must(round, "close", process.ask("close"))
    open_piece(round, process, 0, pattern)
    look(round, process)


def step(round, process, runtime, pattern, user=None):
    """One event, edit or write, and what it must answer."""
    choice = round.random.randrange(10)
    if choice < 5:
        stream = round.random.choice(pattern["handlers"])["name"]
        payload = round.generator.payload(near_lists(round.world, "p"))

        def action(world):
            receipt = world.send("p", stream, payload, user=user)
            world.settle()
            return receipt
        answer = process.ask("send", runtime, piece="p", stream=stream, payload=payload)
        round.count("library send")
        round.expect("send %d %s %s" % (runtime, stream, json.dumps(payload)), answer, action)
        must_settle(round, process, runtime)
        return
    operations, reads = some_edit(round, pattern)
    count_operations(round, operations)
    if choice < 9:
        answer = process.ask("edit", runtime, **edit_command(operations, reads, pattern))
        round.count("library edit")
        round.expect("edit %d %s reads %s" % (runtime, json.dumps(operations), json.dumps(reads)), answer,
                     edit_action(operations, reads, user))
        return
    command = edit_command(operations[:1], [], pattern)
    answer = process.ask("write", runtime, settle=1, **command)
    round.count("library write")
    round.expect("write %d %s" % (runtime, json.dumps(operations[:1])), answer,
                 lambda world: world.edit("p", operations[:1], user))


def bare_step(round, process, runtime, pattern):
    """An edit, or a read that loads a document and leaves it to get old."""
    operations, reads = some_edit(round, pattern, 2)
    if round.generator.chance(50):
        document, path = operation_of("p", *operations[0])[1:3]
        must(round, "get %d %s" % (runtime, document), process.ask("get", runtime, document=document, path=path))
        return
    answer = process.ask("edit", runtime, **edit_command(operations, reads, pattern))
    count_operations(round, operations)
    round.expect("edit %d %s reads %s" % (runtime, json.dumps(operations), json.dumps(reads)), answer,
                 edit_action(operations, reads))
    round.count("library edit")


def must_settle(round, process, runtime):
    """Events that the handler sent are handled, too; one of them may fail."""
    answer = process.ask("settle", runtime)
    if answer.outcome == "unknown":
        round.fail("settle %d: %r" % (runtime, answer))


def turns(round):
    """Runtimes that take turns: each call sees all that was answered before."""
    round.generator.narrow = round.generator.chance(50)
    pattern = round.generator.pattern("p", links=round.random.choice([0, 0, 1]))
    count_bodies(round, pattern)
    first = driver(round)
    # Two runtimes in one process, and sometimes a third in another.
    places = [(first, 0), (first, 1)]
    if round.generator.chance(40):
        places.append((driver(round), 2))
    users = {}
    if round.generator.chance(30):
        make_scoped(round, pattern)
        users = {0: "ann", 1: "bob", 2: "ann"}
    round.world.start("p", pattern)
    for process, runtime in places:
        open_piece(round, process, runtime, pattern, user=users.get(runtime))
    # A runtime that has not started the piece follows nothing of it.
    must(round, "open 3", first.open(3))
    for _ in range(round.random.randrange(4, 12)):
        if not users and round.generator.chance(25):
            bare_step(round, first, 3, pattern)
        else:
            process, runtime = round.random.choice(places)
            step(round, process, runtime, pattern, users.get(runtime))
        round.count("turn")
    for runtime, user in ((6, users.get(0)), (7, users.get(1))):
        open_piece(round, first, runtime, pattern, user=user)
        look(round, first, runtime, user=user)


# ---- several callers ----

def final_of(round, process, pattern, runtime=7):
    """What a runtime that is opened at the end reads: the end of a history."""
    open_piece(round, process, runtime, pattern)
    must(round, "settle", process.ask("settle", runtime))
    answer = must(round, "get %d" % runtime, process.ask("get", runtime, document="piece:p", path=""))
    round.count("library get")
    return lambda world: difference("p", answer.value, world.result("p"))


def make_long(round):
    """Some rounds have a list that is written as what is different in it."""
    round.generator.long = round.generator.chance(50)
    if round.generator.long:
        round.count("long list")


def overlap(round):
    """Runtimes on one directory whose writes have not met yet."""
    round.generator.narrow = round.generator.chance(30)
    make_long(round)
    pattern = round.generator.pattern("p", children=0)
    count_bodies(round, pattern)
    process = driver(round)
    runtimes = list(range(round.random.randrange(2, 4)))
    for runtime in runtimes:
        open_piece(round, process, runtime, pattern)
    round.world.start("p", pattern)
    waiting = {runtime: [] for runtime in runtimes}
    last = {}  # (runtime, document): the write before
    places = places_of(pattern)
    if round.generator.long or round.generator.chance(60):
        places = one_list(places)
        round.count("overlap on one list")
    for _ in range(round.random.randrange(4, 8)):
        runtime = round.random.choice(runtimes)
        operations, _ = some_edit(round, pattern, 1, places)
        operations = operations[:1]
        call = round.call("write %d %s" % (runtime, json.dumps(operations)),
                          lambda world, operations=operations: world.edit("p", operations))
        written = (runtime, operations[0][1][0])
        call.after = last.get(written)
        last[written] = call
        answer = process.ask("write", runtime, **edit_command(operations, [], pattern))
        count_operations(round, operations)
        round.count("unsettled write")
        # A refusal counts from then on, too: it may be because of a write that
        # has not landed.
        waiting[runtime].append(call)
        call.answer = answer
        if round.generator.chance(15):
            settle(round, process, runtime, waiting)
    round.random.shuffle(runtimes)
    for runtime in runtimes:
        settle(round, process, runtime, waiting)
    round.explain(final_of(round, process, pattern))


def settle(round, process, runtime, waiting):
    """The writes of a runtime reach the store, or it says which did not."""
    answer = process.ask("settle", runtime)
    round.note("settle %d -> %r" % (runtime, answer))
    if answer.outcome == "refused":
        # Which of them was refused is not told; each may have been.
        for call in waiting[runtime]:
            if call.answer.outcome == "ok":
                call.answer.outcome = "unknown"
            call.end = round.tick()
    else:
        for call in waiting[runtime]:
            round.answered(call, call.answer)
    waiting[runtime] = []


def processes(round):
    """Processes that work on one directory at once; some are killed."""
    pattern = round.generator.pattern("p", children=0, handlers=2)
    count_bodies(round, pattern)
    first = driver(round)
    open_piece(round, first, 0, pattern)
    round.world.start("p", pattern)
    others = [driver(round) for _ in range(round.random.randrange(1, 3))]
    for other in others:
        open_piece(round, other, 0, pattern)
    everyone = [first] + others
    given = [give_some(round, process, index, pattern) for index, process in enumerate(everyone)]
    if round.generator.chance(50):
        disturb(round, round.random.choice(others))
    collect(round, zip(everyone, given))
    round.count("processes at once")
    round.explain(final_of(round, driver(round), pattern))


def disturb(round, victim):
    """A process that ends, or stands still for a while, at any moment."""
    time.sleep(round.random.random() * 0.01)
    if round.generator.chance(60):
        victim.kill()
        round.note("a process is killed")
        round.count("kill -9")
        return
    victim.pause()
    time.sleep(round.random.random() * 0.1)
    victim.resume()
    round.count("SIGSTOP")


def give_some(round, process, index, pattern):
    """Commands that a process is given without waiting; their calls."""
    calls = []
    for _ in range(round.random.randrange(1, 4)):
        if round.generator.chance(40):
            stream = round.random.choice(pattern["handlers"])["name"]
            payload = round.generator.payload(near_lists(round.world, "p"))
            call = round.call("%d: send %s %s" % (index, stream, json.dumps(payload)),
                              lambda world, stream=stream, payload=payload: world.send("p", stream, payload))
            process.give("send", 0, piece="p", stream=stream, payload=payload)
            round.count("concurrent send")
        else:
            operations, reads = some_edit(round, pattern, 2)
            call = round.call("%d: edit %s reads %s" % (index, json.dumps(operations), json.dumps(reads)),
                              edit_action(operations, reads))
            process.give("edit", 0, **edit_command(operations, reads, pattern))
            count_operations(round, operations)
            round.count("concurrent edit")
        calls.append(call)
    process.give("settle", 0)
    return calls


def collect(round, pairs):
    """The answers. The calls of one process are in order; between processes
    only what was answered before another was asked is."""
    for process, calls in pairs:
        for call in calls:
            call.answer = process.take()
            if call.answer.outcome == "unknown":
                round.count("unknown answer")
        process.take()
        for earlier, later in zip(calls, calls[1:]):
            if earlier.answer.outcome != "unknown":
                later.after = earlier


def sessions(round):
    """Two processes with one session name: each write lands, or is refused."""
    pattern = {"name": "p", "states": [{"name": "n0", "initial": 0}, {"name": "l0", "initial": []}], "computed": [],
               "lists": [], "children": [], "handlers": []}
    first, second = driver(round), driver(round)
    name = "shared"
    must(round, "open first", first.open(0, session=name))
    must(round, "start", first.ask("start", piece="p", pattern=pattern))
    round.world.start("p", pattern)
    answer = second.open(0, session=name)
    round.note("open second -> %r" % answer)
    round.count("shared session name")
    callers = [first]
    if answer.outcome == "ok":
        callers.append(second)
    else:
        round.count("shared session refused")
    done = 0
    appended = []
    maybe = 0
    for index in range(round.random.randrange(4, 20)):
        caller = round.random.choice(callers)
        if round.generator.chance(70):
            operation = ["increment", "piece:p/n0", "", 1]
        else:
            operation = ["append", "piece:p/l0", "", index]
        answer = caller.ask("edit", operations=[operation])
        round.note("%s: %s -> %r" % ("first" if caller is first else "second", json.dumps(operation), answer))
        if answer.outcome == "ok":
            done += operation[0] == "increment"
            if operation[0] == "append":
                appended.append(index)
        elif answer.outcome == "unknown":
            maybe += 1
    reader = driver(round)
    must(round, "open reader", reader.open())
    number = must(round, "get n0", reader.ask("get", document="piece:p/n0", path="")).value
    items = must(round, "get l0", reader.ask("get", document="piece:p/l0", path="")).value
    if not done <= number <= done + maybe:
        round.fail("%d increments were acknowledged, n0 is %d" % (done, number))
    if [item for item in items if item in appended] != appended or len(items) > len(appended) + maybe:
        round.fail("%s were appended, l0 is %s" % (appended, items))
