"""Rounds through `heddle test`: several runtimes on one engine, with held
confirmations, refusals, restarts and users."""

import json

from generate import near_lists, places_of
from model import Failed, Frame
from program import lua_value
from round import difference
from rounds_command import count_bodies, make_scoped
from rounds_library import edit_action, make_long
from script import Script, lua_cell_of, lua_operation
from values import equal, loose, plain


class Stage:
    """Runtimes of a script, and which calls of each have no answer yet."""

    def __init__(self, round, pattern, users, bare=()):
        self.round = round
        self.pattern = pattern
        self.users = users
        self.bare = bare  # those that do not start the piece, and so follow nothing of it
        self.script = Script(round.settings.heddle, round.directory, [pattern])
        self.open = {runtime: [] for runtime in users}
        self.looks = []  # (call, number, tick)
        self.held = set()
        self.script.line("local engine = t:engine{}")
        for runtime in users:
            self.start(runtime)

    def start(self, runtime):
        user = self.users[runtime]
        self.script.line("R[%d] = t:runtime{ engine = engine%s }" % (runtime, ', user = "%s"' % user if user else ""))
        self.take_up(runtime)

    def take_up(self, runtime):
        if runtime in self.bare:
            return
        self.script.line('P[%d] = R[%d]:run(pattern_p, {}, { name = "p" })' % (runtime, runtime))
        self.script.line("settle(R[%d])" % runtime)

    def scope(self, cell):
        for state in self.pattern["states"]:
            if state["name"] == cell[0]:
                return state.get("scope")
        return None

    # ---- calls ----

    def begin(self, runtime, text, action, look):
        call = self.round.call("%d: %s" % (runtime, text), action)
        call.runtime = runtime
        self.open[runtime].append((call, look))
        return call

    def look(self, runtime):
        """Asks what became of every call of a runtime that may be open."""
        for call, look in self.open[runtime]:
            self.looks.append((call, self.script.say(look), self.round.tick()))

    def send(self, runtime, stream, payload):
        user = self.users[runtime]
        number = len(self.round.calls)
        self.script.line('T[%d] = P[%d]:send("%s", %s)' % (number, runtime, stream, lua_value(payload)))
        self.begin(runtime, "send %s %s" % (stream, json.dumps(payload)),
                   lambda world: world.send("p", stream, payload, user=user), "say_ticket(%%d, T[%d])" % number)
        self.round.count("lua send")

    def edit(self, runtime, operations, reads):
        user = self.users[runtime]
        number = len(self.round.calls)
        self.script.line("local reads%d" % number)
        self.script.line("T[%d] = edit(R[%d], function()" % (number, runtime))
        for operation in operations:
            self.script.line("  " + lua_operation(runtime, "p", *operation, scope=self.scope(operation[1])))
        self.script.line("  reads%d = { %s }" % (number, ", ".join(
            "val(%s)" % lua_cell_of(runtime, "p", cell, self.scope(cell)) for cell in reads)))
        self.script.line("end)")
        call = self.begin(runtime, "edit %s reads %s" % (json.dumps(operations), json.dumps(reads)),
                          edit_action(operations, reads, user),
                          "say_edit(%%d, T[%d], reads%d)" % (number, number))
        call.writes = {operation[1][0] for operation in operations}
        for earlier, _ in self.open[runtime][:-1]:
            # Edits of one runtime take effect in order, if they meet.
            if call.writes & getattr(earlier, "writes", set()):
                call.after = earlier
        self.round.count("lua edit")

    def settle(self, runtime):
        self.script.line("settle(R[%d])" % runtime)
        self.look(runtime)

    def hold(self, runtime):
        self.script.line("R[%d]:hold(true)" % runtime)
        self.held.add(runtime)
        self.round.count("held confirmations")

    def release(self, runtime):
        if runtime in self.held:
            self.script.line("R[%d]:hold(false)" % runtime)
            self.held.discard(runtime)

    def advance(self, runtime):
        """The clock is that of all runtimes; a connection that is silent for so long is lost."""
        self.script.line("R[%d]:advance(%d)" % (runtime, self.round.random.choice([10, 1000, 20000, 100000])))
        self.round.count("clock that moves")

    def refuse_next(self, runtime):
        kind = self.round.random.choice(["conflict", "conflict", "transient"])
        self.script.line('R[%d]:reject_next{ kind = "%s", times = %d }' % (
            runtime, kind, self.round.random.randrange(1, 3)))
        self.round.count("refused commits")

    def restart(self, runtime):
        """As a crash: what is not confirmed may be lost."""
        self.look(runtime)
        self.open[runtime] = []
        self.held.discard(runtime)
        self.script.line("R[%d]:errors() R[%d]:violations()" % (runtime, runtime))
        self.script.line("R[%d] = R[%d]:restart()" % (runtime, runtime))
        self.take_up(runtime)
        self.round.count("lua restart")

    # ---- the end ----

    def finish(self):
        """Everything comes to rest; what each runtime reads, and a new one of
        each user."""
        for runtime in self.users:
            self.release(runtime)
        for _ in range(3):
            for runtime in self.users:
                self.script.line("settle(R[%d])" % runtime)
        finals = []
        for runtime, user in self.users.items():
            self.look(runtime)
            if runtime not in self.bare:
                finals.append((user, self.script.say('say(%%d, "ok", P[%d]:get())' % runtime)))
        for runtime, user in list(self.users.items()):
            self.script.line("R[%d]:errors() R[%d]:violations()" % (runtime, runtime))
            last = runtime + 10
            self.users[last] = user
            self.start(last)
            finals.append((user, self.script.say('say(%%d, "ok", P[%d]:get())' % last)))
            self.script.line("R[%d]:errors() R[%d]:violations()" % (last, last))
        problem = self.script.run()
        if problem:
            self.round.fail("heddle test: " + problem)
        self.judge(finals)

    def extend_refusals(self):
        """A handler fails on what its runtime sees, with commits of that runtime which have not landed
        (docs/promises.md). So a refusal holds at the latest when those have landed. If one of them never
        does, the refusal was said on a state that did not come to be, and says nothing."""
        for call in self.round.calls:
            if call.answer.outcome != "refused":
                continue
            earlier = [other for other in self.round.calls if other.runtime == call.runtime
                       and other.begin < call.end and (other.end is None or other.end > call.end)]
            if any(other.end is None for other in earlier):
                call.baseless = True
                self.round.count("refused on a state that was lost")
            else:
                call.end = max([call.end] + [other.end for other in earlier])

    def judge(self, finals):
        round, answers = self.round, self.script.answers
        for call, number, tick in self.looks:
            answer = answers[number]
            if answer.outcome == "waiting":
                answer.outcome = "unknown"
                call.answer = call.answer or answer
            elif call.answer is None or call.answer.outcome == "unknown":
                call.answer, call.end = answer, tick
        for user, number in finals:
            round.note("get as %s -> %r" % (user, answers[number]))
        self.extend_refusals()

        def final(world):
            for user, number in finals:
                differs = difference("p as %s" % user, loose(answers[number].value), loose(world.result("p", user)))
                if differs:
                    return differs
            return None
        for call in round.calls:
            if call.answer.outcome == "ok":
                call.loose = True
        round.explain(final)


def traffic(stage, most, holds):
    round, pattern = stage.round, stage.pattern
    places = places_of(pattern)
    runtimes = list(stage.users)
    for _ in range(round.random.randrange(3, most)):
        runtime = round.random.choice(runtimes)
        near = near_lists(round.world, "p")
        if runtime in stage.bare:
            round.count("lua edit that follows nothing")
        if runtime not in stage.bare and round.generator.chance(60):
            stage.send(runtime, round.random.choice(pattern["handlers"])["name"], round.generator.payload(near))
        else:
            operations = [round.generator.edit(places, near) for _ in range(round.random.randrange(1, 3))]
            reads = [round.random.choice(places.written["list"] + places.written["number"])
                     for _ in range(round.random.randrange(3))]
            stage.edit(runtime, operations, reads)
        if not holds or round.generator.chance(40):
            stage.settle(runtime)
        if holds and round.generator.chance(15):
            stage.advance(runtime)
        if holds and round.generator.chance(15):
            stage.hold(runtime)
        elif holds and round.generator.chance(25):
            stage.release(runtime)
        elif holds and round.generator.chance(20):
            stage.refuse_next(runtime)
        elif round.generator.chance(14):
            stage.restart(runtime)
    stage.finish()


def held(round):
    """Runtimes on one engine, with held confirmations, refusals and restarts."""
    make_long(round)
    pattern = round.generator.pattern("p", links=0, handlers=2)
    count_bodies(round, pattern)
    round.world.start("p", pattern)
    traffic(Stage(round, pattern, {1: None, 2: None, 3: None}, bare={3}), 8, holds=True)


def users(round):
    """Two users, each with their own instance of user-scoped states."""
    pattern = round.generator.pattern("p", children=0, lists=1)
    make_scoped(round, pattern)
    count_bodies(round, pattern)
    round.world.start("p", pattern)
    traffic(Stage(round, pattern, {1: "ann", 2: "bob"}), 7, holds=False)


def asked(round):
    """`heddle test` fails for an error that its test did not ask for."""
    pattern = round.generator.pattern("p", handlers=2)
    pattern["handlers"].append({"name": "sour", "body": [
        ["increment", ["n0"], ["const", 1]], ["fail_if", ["positive", ["event", "i"]]]]})
    round.world.start("p", pattern)
    stage = Stage(round, pattern, {1: None})
    failed = 0
    for _ in range(round.random.randrange(3, 7)):
        stream = round.random.choice(pattern["handlers"])["name"]
        payload = round.generator.payload(near_lists(round.world, "p"))
        stage.script.line('P[1]:send("%s", %s)' % (stream, lua_value(payload)))
        stage.script.line("settle(R[1])")
        round.note("send %s %s" % (stream, json.dumps(payload)))
        round.count("lua send")
        try:
            round.world.send("p", stream, payload)
            round.world.settle()
        except Failed:
            failed += 1
    failed += round.world.failed
    asks = round.generator.chance(40)
    if asks:
        number = stage.script.say('say(%d, "ok", #R[1]:errors())')
    problem = stage.script.run()
    if asks and problem is None and stage.script.answers[number].value != failed:
        round.fail("%d events failed, the test is told of %d errors" % (failed, stage.script.answers[number].value))
    if (problem is not None) != (failed > 0 and not asks):
        round.fail("%d events failed, the test %s for the errors, and %s" % (
            failed, "asks" if asks else "does not ask", "passes" if problem is None else "fails: " + problem))
    round.count("test with errors or without")


def dormant(round):
    """A computation behind a window that nothing looks at runs as soon as something does."""
    # A handler that reads one waits for it.
    round.generator.without = ("own-view",)
    pattern = round.generator.pattern("p", handlers=2)
    for handler in pattern["handlers"]:
        handler["body"] = [statement for statement in handler["body"] if statement[0] != "fail_if"]
    # Only one: a run of its inputs while it is live is a change that its window counts.
    part = round.random.choice(pattern["computed"])
    part["options"] = {"debounce": round.random.choice([50, 500, 30000])}
    name = part["name"]
    round.world.start("p", pattern)
    stage = Stage(round, pattern, {1: None})
    stage.script.line('local cell, seen, sink = R[1]:doc("piece:p/%s"), nil, nil' % name)
    stage.script.line("local function look() sink = R[1]:sink(cell, function() seen = cell:value() end) end")
    stage.script.line("look() R[1]:idle()")
    wanted = []
    for _ in range(round.random.randrange(2, 6)):
        payload = round.generator.payload(near_lists(round.world, "p"))
        stream = round.random.choice(pattern["handlers"])["name"]
        stage.script.line('P[1]:send("%s", %s)' % (stream, lua_value(payload)))
        stage.script.line("R[1]:idle() R[1]:errors()")
        round.note("send %s %s" % (stream, json.dumps(payload)))
        round.count("lua send")
        try:
            round.world.send("p", stream, payload)
            round.world.settle()
        except Failed:
            pass
        stage.script.line("sink:cancel() R[1]:idle() R[1]:errors() look() R[1]:idle()")
        number = stage.script.say('say(%d, "ok", { value = seen, now = R[1]:now() })')
        wanted.append((number, loose(round.world.read(Frame(round.world, "p"), [name]))))
        round.count("dormant computation")
    problem = stage.script.run()
    if problem:
        round.fail("heddle test: " + problem)
    for number, value in wanted:
        answer = stage.script.answers[number]
        round.note("%s -> %r, the model %s" % (name, answer, json.dumps(plain(value))))
        if not equal(answer.value, {"value": value, "now": 0}):
            round.fail("%s is %s, the model has %s at 0" % (name, json.dumps(answer.value), json.dumps(plain(value))))
