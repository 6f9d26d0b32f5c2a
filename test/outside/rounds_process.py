"""Rounds with several `heddle` processes on one directory at the same time:
callers, runners, kills, processes that stand still, a disk that is full."""

import json
import os
import resource
import signal
import subprocess
import time

from command import Command
from generate import near_lists, places_of
from round import difference
from rounds_command import check, count_bodies, look, start, two_pieces


def some_call(round, pattern, limit=None, piece="p"):
    """Starts an event or an edit in a process of its own: (call, process)."""
    near = near_lists(round.world, piece)
    if round.generator.chance(65):
        stream, payload = round.random.choice(pattern["handlers"])["name"], round.generator.payload(near)
        words = Command.send_words(piece, stream, payload)
        action = lambda world: world.send(piece, stream, payload)
        text = "send %s %s %s" % (piece, stream, json.dumps(payload))
        round.count("send", "concurrent send")
    else:
        operation = round.generator.edit(places_of(pattern), near)
        words = Command.set_words(piece, *operation)
        action = lambda world: world.edit(piece, [operation])
        text = "set %s %s" % (piece, json.dumps(operation))
        round.count("set", "concurrent set")
    call = round.call(text, action)
    return call, round.started(start_limited(round, words, limit))


def start_limited(round, words, limit):
    """A process that can make no file larger than `limit` bytes, as on a full disk."""
    if limit is None:
        return round.command.start(*words)
    # Storing is tried again until there is no time: a short one will do.
    words = words[:1] + ["--timeout", "300"] + words[1:]
    # Python ignores SIGXFSZ, and so does a child whose signals are not
    # restored: a write beyond the limit fails as on a full disk.
    return subprocess.Popen(round.command.arguments(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, cwd=round.directory, text=True, restore_signals=False,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))


def final_get(round, pieces=("p",)):
    """The pieces as a process reads them that starts after all others."""
    found = {}
    for piece in pieces:
        answer = round.command.run(piece)
        round.note("run %s --once -> %r" % (piece, answer))
    answer = round.command.call("events", "--json")
    if answer.outcome != "ok" or answer.value["events"]:
        round.fail("events wait after all pieces were run: %r" % answer)
    for piece in pieces:
        answer = round.command.get(piece)
        round.note("get %s -> %r" % (piece, answer))
        if answer.outcome != "ok":
            round.fail("get: %r" % answer)
        round.count("get")
        found[piece] = answer.value

    def final(world):
        for piece in pieces:
            differs = difference(piece, found[piece], world.result(piece))
            if differs:
                return differs
        return None
    return final


def new_piece(round, **options):
    pattern = round.generator.pattern("p", **options)
    count_bodies(round, pattern)
    start(round, "p", pattern)
    return pattern


def start_compact(round):
    """Removes every row that no process needs, beside whatever else is at work. Receipts of named events stay: they
    are younger than an hour."""
    file = os.path.join(round.command.data, "main.db")
    words = [round.command.heddle, "store", "compact", file, "--keep-commits", "0", "--keep-age", "3600"]
    round.count("compact")
    return round.started(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, cwd=round.directory, text=True))


def finish_compact(round, process, killed=False):
    out, err = process.communicate(timeout=60)
    round.note("compact -> %d %s%s" % (process.returncode, out, err))
    if process.returncode != 0 and not killed:
        round.fail("compact: %d %s%s" % (process.returncode, out, err))


# ---- kinds ----

def retry(round):
    """A named event whose sender is killed and sends it again, until told."""
    pattern = new_piece(round, handlers=2)
    for index in range(round.random.randrange(1, 4)):
        stream = round.random.choice(pattern["handlers"])["name"]
        payload = round.generator.payload(near_lists(round.world, "p"))
        words = Command.send_words("p", stream, payload, ("me", "r%d" % index))
        action = lambda world, stream=stream, payload=payload, index=index: world.send(
            "p", stream, payload, ("me", "r%d" % index))
        for attempt in range(6):
            if round.generator.chance(30):
                finish_compact(round, start_compact(round))
            call = round.call("send %s %s as me/r%d" % (stream, json.dumps(payload), index), action)
            process = round.started(round.command.start(*words))
            if attempt < 5 and round.generator.chance(80):
                # Mostly within the first milliseconds: a command takes few, where
                # nothing else runs.
                time.sleep(round.random.random() ** 3 * 0.02)
                process.kill()
                round.count("kill -9")
            round.answered(call, Command.finish(process))
            if call.answer.outcome != "unknown":
                break
            round.count("sent again after a kill")
    round.explain(final_get(round))


def together(round):
    """Commands at once on one directory; some are killed."""
    pattern = new_piece(round, handlers=2, children=round.random.choice([0, 0, 1]))
    for _ in range(round.random.randrange(1, 3)):
        pairs = [some_call(round, pattern) for _ in range(round.random.randrange(2, 4))]
        if round.generator.chance(50):
            time.sleep(round.random.random() * 0.02)
            round.random.choice(pairs)[1].kill()
            round.count("kill -9")
        compacting = start_compact(round) if round.generator.chance(55) else None
        killed = compacting is not None and round.generator.chance(50)
        if killed:
            time.sleep(round.random.random() * 0.03)
            compacting.kill()
            round.count("kill -9", "compact killed")
        for call, process in pairs:
            round.answered(call, Command.finish(process))
            round.count("unknown answer" if call.answer.outcome == "unknown" else "answer")
        if compacting is not None:
            finish_compact(round, compacting, killed)
    round.count("processes at once")
    round.explain(final_get(round))
    if round.generator.chance(35):
        check(round)


def queued(round):
    """Events that are queued, beside others that are not; some processes are killed."""
    pattern = new_piece(round, handlers=2)
    runner = Runner(round, 0) if round.generator.chance(50) else None
    for index in range(round.random.randrange(1, 3)):
        pairs = [some_call(round, pattern)]
        for number in range(round.random.randrange(1, 3)):
            stream = round.random.choice(pattern["handlers"])["name"]
            payload = round.generator.payload(near_lists(round.world, "p"))
            words = Command.send_words("p", stream, payload) + ["--queue"]
            if round.generator.chance(40):
                words += ["--session", "me", "--id", "q%d.%d" % (index, number)]
            call = round.call("queue %s %s" % (stream, json.dumps(payload)),
                              lambda world, stream=stream, payload=payload: world.queue("p", stream, payload))
            pairs.append((call, round.started(round.command.start(*words))))
            round.count("queued event")
        if round.generator.chance(60):
            time.sleep(round.random.random() * 0.02)
            victims = [process for _, process in pairs] + ([runner.process] if runner else [])
            round.random.choice(victims).kill()
            round.count("kill -9", "kill beside queued events")
        for call, process in pairs:
            answer = Command.finish(process)
            if "queue" in call.text and answer.outcome == "ok":
                answer.value = None  # an id
            round.answered(call, answer)
    if runner:
        runner.process.kill()
        runner.process.wait()
    round.explain(final_get(round))
    if round.generator.chance(35):
        check(round)


def cut(round):
    """A process is killed, or its disk is full, while it handles the events that a handler has sent."""
    count = round.random.randrange(60, 120)
    limit = round.random.randrange(600, 1000) * 1024 if round.generator.chance(50) else None
    body = [["send", "h0", ["object", {"v": ["const", number]}]] for number in range(count)]
    pattern = {"name": "p", "states": [{"name": "l0", "initial": []}, {"name": "n0", "initial": 0}], "computed": [],
               "lists": [], "children": [], "choices": [], "handlers": [
                   {"name": "h0", "body": [["append", ["l0"], ["event", "v"]], ["increment", ["n0"], ["const", 1]]]},
                   {"name": "h1", "body": [["increment", ["n0"], ["const", 1000]]] + body}]}
    start(round, "p", pattern)
    call = round.call("send h1", lambda world: world.send("p", "h1", {}))
    process = round.started(start_limited(round, Command.send_words("p", "h1", {}), limit))
    if limit is None:
        time.sleep(round.random.random() * 0.03)
        process.kill()
        round.count("kill -9")
    answer = Command.finish(process)
    if answer.outcome == "refused" and limit is not None:
        answer.outcome = "unknown"  # it is not told what was stored
    round.answered(call, answer)
    waiting = round.command.call("events", "p", "--json")
    if waiting.outcome == "ok" and 0 < len(waiting.value["events"]) < count:
        round.count("ended between the events of a handler")
    round.explain(final_get(round))
    if round.generator.chance(35):
        check(round)


def crossing(round):
    """Commands at once on two pieces, one of which sends to the other."""
    patterns = two_pieces(round)
    for _ in range(round.random.randrange(1, 3)):
        pairs = []
        for _ in range(round.random.randrange(2, 4)):
            piece = round.random.choice(["a", "b"])
            pairs.append(some_call(round, patterns[piece], piece=piece))
        for call, process in pairs:
            round.answered(call, Command.finish(process))
    round.count("processes at once", "pieces at once")
    round.explain(final_get(round, ("a", "b")))


class Runner:
    """`heddle run` in the background; its output goes to files."""

    def __init__(self, round, index, *options):
        self.path = os.path.join(round.directory, "runner-%d" % index)
        self.forgotten = 0  # characters of its errors
        with open(self.path, "w") as out, open(self.path + ".errors", "w") as errors:
            self.process = subprocess.Popen(round.command.arguments("run", "p.lua", *options),
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=errors, cwd=round.directory)
        round.started(self.process)

    def errors(self):
        with open(self.path + ".errors") as file:
            return file.read()[self.forgotten:]

    def forget_errors(self):
        self.forgotten += len(self.errors())

    def wait_for_error(self, text, seconds):
        return self.wait_for(lambda _: text in self.errors(), seconds)

    def last(self):
        with open(self.path) as file:
            lines = [line for line in file.read().splitlines(keepends=True) if line.endswith("\n")]
        return json.loads(lines[-1]) if lines else None

    def wait_for(self, wanted, seconds):
        """Whether the runner prints a wanted result in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if wanted(self.last()):
                return True
            time.sleep(0.01)
        return wanted(self.last())


def runners(round):
    """One or two runners of a piece, which follow what others commit."""
    pattern = new_piece(round, handlers=2)
    running = [Runner(round, index) for index in range(round.random.randrange(1, 3))]
    round.count("runners" if len(running) > 1 else "runner")
    for runner in running:
        if not runner.wait_for(lambda result: result is not None, 20):
            round.fail("a runner does not start")
    for _ in range(round.random.randrange(2, 5)):
        pairs = [some_call(round, pattern) for _ in range(round.random.choice([1, 1, 2]))]
        if round.generator.chance(40):
            pause(round, round.random.choice(running))
        for call, process in pairs:
            round.answered(call, Command.finish(process))
        if len(running) > 1 and round.generator.chance(20):
            victim = running.pop()
            victim.process.kill()
            round.count("kill -9")
    answer = round.command.get("p")
    round.note("get -> %r" % answer)
    if answer.outcome != "ok":
        round.fail("get: %r" % answer)
    for runner in running:
        if not runner.wait_for(lambda result: result == answer.value, 10):
            round.fail("the runner shows %s, get prints %s" % (json.dumps(runner.last()), json.dumps(answer.value)))
        round.count("runner followed")
        runner.process.send_signal(signal.SIGTERM)
        runner.process.wait(timeout=30)
    round.explain(lambda world: difference("p", answer.value, world.result("p")))


def pause(round, runner):
    runner.process.send_signal(signal.SIGSTOP)
    compacting = start_compact(round) if round.generator.chance(50) else None
    time.sleep(round.random.random() * 0.05)
    runner.process.send_signal(signal.SIGCONT)
    round.count("SIGSTOP")
    if compacting is not None:
        round.count("compact beside a stopped process")
        finish_compact(round, compacting)


# In pages of 4 KiB. Below 8 the store cannot be opened, because its shared memory has 32 KiB; some
# more are enough for the first commits of a command and not for the others.
LIMITS = [1, 7, 8, 8, 8, 9, 9] + list(range(10, 17))


def full_disk(round):
    """A disk that is full: what was refused is absent, what was said is there."""
    pattern = new_piece(round, handlers=2)
    for _ in range(round.random.randrange(2, 5)):
        limit = None
        if round.generator.chance(70):
            limit = round.random.choice(LIMITS) * 4096
            round.count("full disk")
        call, process = some_call(round, pattern, limit)
        answer = Command.finish(process)
        if answer.outcome == "refused" and limit is not None:
            # Without a receipt it is not told whether the system stored what
            # it reported as failed.
            round.count("full disk refused")
            answer.outcome = "unknown"
        if answer.lost and limit is not None:
            round.count("full disk, with a receipt")
        round.answered(call, answer)
    round.explain(final_get(round))
    check(round)


def expect_listed(round, names, pattern):
    """`ps` knows the pieces that were launched, also before anything asks for them."""
    answer = round.command.call("ps", "--json")
    round.note("ps -> %r" % answer)
    told = {piece["piece"]: piece for piece in answer.value["pieces"]} if answer.outcome == "ok" else {}
    if sorted(told) != sorted(["p"] + names):
        round.fail("ps has the pieces %s" % sorted(told))
    for name in names:
        if told[name]["pattern"] != pattern["name"]:
            round.fail("ps says that %s is a %s" % (name, told[name]["pattern"]))
    round.count("ps of a launched piece")


def expect_explained(round, name, pattern):
    """The other commands know a piece that was launched, and how it came to be."""
    for words in (["log", name], ["show", name], ["graph", name], ["why", name, pattern["computed"][0]["name"]]):
        answer = round.command.call(*words, "--json")
        round.note("%s -> %r" % (" ".join(words), answer))
        if answer.outcome != "ok":
            round.fail("%s: %r" % (" ".join(words), answer))
        # Neither the launch nor the start is an edit.
        if words[0] == "log" and '"edit"' in json.dumps(answer.value):
            round.fail("log %s: %r" % (name, answer))


def launch(round):
    """A handler that starts a piece, which can then be used like any other."""
    launched = round.generator.pattern("side", handlers=1, lists=1)
    pattern = round.generator.pattern("p", handlers=1)
    pattern["launches"] = [launched]
    pattern["handlers"].append({"name": "spawn", "body": [
        ["increment", ["n0"], ["const", 1]], ["launch", "side", {}], ["return_launched"]]})
    start(round, "p", pattern)
    names = []
    for _ in range(round.random.randrange(1, 3)):
        answer = round.command.send("p", "spawn", round.generator.payload())
        round.note("send spawn -> %r" % answer)
        round.count("launch")
        if answer.outcome != "ok":
            round.fail("send spawn: %r" % answer)
        try:
            identity = answer.value["/"]["link@1"]["id"]
        except (KeyError, TypeError):
            round.fail("the receipt of a launch is no link: %r" % answer)
        round.world.edit("p", [("increment", ["n0"], 1)])
        names.append(identity.partition("piece:")[2])
        round.world.start(names[-1], launched)
    if len(set(names)) != len(names):
        round.fail("two launches made one piece")
    expect_listed(round, names, launched)
    for name in names:
        look(round, name)
        stream = launched["handlers"][0]["name"]
        payload = round.generator.payload()
        answer = round.command.send(name, stream, payload)

        def action(world):
            receipt = world.send(name, stream, payload)
            world.settle()
            return receipt
        round.expect("send %s %s %s" % (name, stream, json.dumps(payload)), answer, action)
        look(round, name)
        expect_explained(round, name, launched)
    look(round, "p")
    expect_listed(round, names, launched)
