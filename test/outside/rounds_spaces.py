"""Rounds with children in other spaces: processes make the parent at once,
send to it, to its child and back, launch pieces elsewhere, and are killed. The
model is its own: what each caller was told of each event."""

import os
import time

from command import Command
from rounds_command import check
from rounds_process import Runner

BOARD = '''local heddle = require "heddle"
local kid = heddle.pattern("kid", function(p)
  local back = p:arg("back")
  local got = p:state("got", heddle.array{})
  local count = p:computed("count", function() return #got:get() end)
  local tick = p:handler("tick", function(event)
    got:append(event.name)
    heddle.send(back, event)
    return { name = event.name }
  end)
  return { got = got, count = count, tick = tick }
end)
local note = heddle.pattern("note", function(p) return { text = p:arg("text", "") } end)
return heddle.pattern("p", function(p)
  local heard = p:state("heard", heddle.array{})
  local hear = p:handler("hear", function(event) heard:append(event.name) end)
  local child = p:piece(kid, { back = hear }, { name = "kid", space = "team" })
  local count = p:computed("count", function() return child.count or -1 end)
  p:handler("kick", function(event)
    heddle.send(child:key("tick"), event)
    return { name = event.name }
  end)
  p:handler("add", function(event)
    heddle.launch(note, { text = event.name }, { name = event.name, space = "notes" })
    return { name = event.name }
  end)
  return { heard = heard, got = child:key("got"), count = count }
end)
'''


class Events:
    """What callers were told."""

    def __init__(self, round):
        self.round = round
        self.sent = []  # (kind, name, process)

    def send(self):
        kind = self.round.random.choice(["kick", "kick", "tick", "add"])
        name = "%s%d" % (kind, len(self.sent))
        words = Command.send_words("p~kid" if kind == "tick" else "p", kind, {"name": name})
        words += ["--space", "team"] if kind == "tick" else []
        self.round.count("event between spaces" if kind != "add" else "launch in another space")
        self.round.note("send %s" % (words,))
        self.sent.append((kind, name, self.round.started(self.round.command.start(*words))))

    def finish(self):
        outcomes = []
        for kind, name, process in self.sent:
            answer = Command.finish(process)
            self.round.note("%s -> %r" % (name, answer))
            outcomes.append((kind, name, answer.outcome))
        return outcomes


def begin(round):
    """Several processes make the parent and its child; some are killed."""
    processes = [round.started(round.command.start("run", "p.lua", "--once"))
                 for _ in range(round.random.randrange(1, 4))]
    if round.generator.chance(60):
        time.sleep(round.random.random() * 0.05)
        processes[0].kill()
        round.count("kill -9", "kill beside a child elsewhere")
    for process in processes:
        round.note("run -> %r" % Command.finish(process))
    answer = round.command.run("p")
    if answer.outcome != "ok":
        round.fail("run: %r" % answer)
    if answer.value["count"] != 0:
        round.fail("a parent without its child: %r" % answer)


def drain(round):
    """Runs the parent until no event waits."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        round.note("run -> %r" % round.command.run("p"))
        waiting = [round.command.call("events", "--json", "--space", space) for space in ("main", "team")]
        if all(one.outcome == "ok" and not one.value["events"] for one in waiting):
            return
        time.sleep(0.01)
    round.fail("events wait that nobody handles: %r" % waiting)


def judge(round, outcomes, got, heard):
    if sorted(got) != sorted(heard):
        round.fail("the child got %s, the parent heard %s" % (sorted(got), sorted(heard)))
    for kind, name, outcome in outcomes:
        if kind == "add":
            there = round.command.call("get", name, "--space", "notes")
            is_there = there.outcome == "ok" and there.value == {"text": name}
            if outcome == "ok" and not is_there:
                round.fail("%s was launched, and is not there: %r" % (name, there))
            if outcome == "refused" and is_there:
                round.fail("%s was refused, and is there" % name)
        elif got.count(name) > 1 or (got.count(name) == 0 and outcome == "ok") or (name in got and outcome == "refused"):
            round.fail("%s was %s, and came %d times" % (name, outcome, got.count(name)))
    known = [name for _, name, _ in outcomes]
    if [name for name in got if name not in known]:
        round.fail("nobody has sent %s" % [name for name in got if name not in known])


def spaces(round):
    """A child in another space: it is made once, and events go both ways once, beside kills."""
    with open(os.path.join(round.directory, "p.lua"), "w") as file:
        file.write(BOARD)
    begin(round)
    runners = [Runner(round, index) for index in range(round.random.randrange(0, 3))]
    events = Events(round)
    for _ in range(round.random.randrange(2, 5)):
        for _ in range(round.random.randrange(1, 4)):
            events.send()
        time.sleep(round.random.random() * 0.05)
        if round.generator.chance(50):
            victims = [process for _, _, process in events.sent[-3:]] + [runner.process for runner in runners]
            round.random.choice(victims).kill()
            round.count("kill -9", "kill beside a child elsewhere")
    outcomes = events.finish()
    for runner in runners:
        runner.process.kill()
        runner.process.wait()
    drain(round)
    answer = round.command.get("p")
    round.note("get -> %r" % answer)
    if answer.outcome != "ok":
        round.fail("get: %r" % answer)
    if answer.value["count"] != len(answer.value["got"]):
        round.fail("the count is %d, of %d" % (answer.value["count"], len(answer.value["got"])))
    judge(round, outcomes, answer.value["got"], answer.value["heard"])
    if round.generator.chance(35):
        check(round)
