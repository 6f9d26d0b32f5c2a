"""Rounds with timers: processes set and cancel them at once, runners handle
them, and both are killed. The model is its own: what each caller was told of
each timer, and how often it rang."""

import os
import time

from command import Command
from rounds_command import check
from rounds_process import Runner

BELL = '''local heddle = require "heddle"
return heddle.pattern("p", function(p)
  local rang = p:state("rang", heddle.array{})
  local ticks = p:state("ticks", heddle.array{})
  local ring = p:handler("ring", function(event) rang:append(event.name) end)
  local tick = p:handler("tick", function(event) ticks:append{ name = event.name, at = heddle.now() } end)
  p:handler("set", function(event)
    for _, name in ipairs(event.names) do
      heddle.send(ring, { name = name }, { after = event.after, id = name })
    end
    if event.every then
      heddle.send(tick, { name = event.every }, { every = 100, id = event.every, missed = event.missed })
    end
    return { names = event.names }
  end)
  p:handler("drop", function(event) return { was = heddle.cancel(event.name) } end)
  return { rang = rang, ticks = ticks }
end)
'''


class Timers:
    """What callers were told."""

    def __init__(self, round):
        self.round = round
        self.sets = []     # (names, process)
        self.drops = []    # (name, process)
        self.every = []    # names of those that repeat
        self.names = []

    def set(self):
        random = self.round.random
        names = ["t%d" % (len(self.names) + i) for i in range(random.randrange(1, 4))]
        payload = {"names": names, "after": random.choice([0, 1, 20, 60])}
        if random.random() < 0.3:
            payload["every"] = "e%d" % len(self.every)
            payload["missed"] = random.choice(["one", "all", "none"])
            self.every.append(payload["every"])
        self.names += names
        self.round.count("timer")
        self.sets.append((names, self.start("set", payload)))

    def drop(self):
        if self.names:
            name = self.round.random.choice(self.names)
            self.round.count("timer cancelled")
            self.drops.append((name, self.start("drop", {"name": name})))

    def start(self, stream, payload):
        self.round.note("send p %s %s" % (stream, payload))
        return self.round.started(self.round.command.start(*Command.send_words("p", stream, payload)))

    def finish(self):
        """The answers: {name: outcome of its set}, {name: answers to its drops}."""
        outcomes, drops = {}, {}
        for names, process in self.sets:
            answer = Command.finish(process)
            self.round.note("set %s -> %r" % (names, answer))
            outcomes.update({name: answer.outcome for name in names})
        for name, process in self.drops:
            answer = Command.finish(process)
            self.round.note("drop %s -> %r" % (name, answer))
            was = answer.value["was"] if answer.outcome == "ok" else None
            drops.setdefault(name, []).append(was)
        return outcomes, drops


def ring_all(round, every):
    """Runs the piece until no timer is set."""
    for name in every:
        answer = round.command.send("p", "drop", {"name": name})
        round.note("drop %s -> %r" % (name, answer))
        if answer.outcome != "ok":
            round.fail("drop %s: %r" % (name, answer))
    end = time.monotonic() + 60
    while time.monotonic() < end:
        round.note("run -> %r" % round.command.run("p"))
        waiting = round.command.call("timers", "--json")
        if waiting.outcome == "ok" and not waiting.value["timers"]:
            return
        time.sleep(0.01)
    round.fail("timers are set that do not ring: %r" % waiting)


def judge(round, outcomes, drops, rang):
    for name, outcome in outcomes.items():
        times = rang.count(name)
        answers = drops.get(name, [])
        if times > 1:
            round.fail("%s rang %d times" % (name, times))
        if outcome == "refused" and times > 0:
            round.fail("%s was refused, and rang" % name)
        if True in answers and times > 0:
            round.fail("%s was cancelled, and rang" % name)
        if answers.count(True) > 1:
            round.fail("%s was cancelled twice" % name)
        if outcome == "ok" and times == 0 and True not in answers and None not in answers:
            round.fail("%s was set, was not cancelled, and did not ring" % name)
    for name in rang:
        if name not in outcomes:
            round.fail("%s rang, and nobody has set it" % name)


def judge_ticks(round, ticks):
    """Ticks keep to their schedule, and none comes twice."""
    last = {}
    for tick in ticks:
        before = last.get(tick["name"])
        if before is not None and (tick["at"] <= before or (tick["at"] - before) % 100 != 0):
            round.fail("a tick of %s at %d follows one at %d" % (tick["name"], tick["at"], before))
        last[tick["name"]] = tick["at"]


def timers(round):
    """Timers that several processes set, cancel and handle, some of which are killed: each rings once."""
    with open(os.path.join(round.directory, "p.lua"), "w") as file:
        file.write(BELL)
    answer = round.command.run("p")
    if answer.outcome != "ok":
        round.fail("run: %r" % answer)
    runners = [Runner(round, index) for index in range(round.random.randrange(0, 3))]
    known = Timers(round)
    for _ in range(round.random.randrange(2, 5)):
        for _ in range(round.random.randrange(1, 3)):
            known.set()
        if round.generator.chance(50):
            known.drop()
        time.sleep(round.random.random() * 0.03)
        if round.generator.chance(40):
            victims = [process for _, process in known.sets[-2:]] + [runner.process for runner in runners]
            round.random.choice(victims).kill()
            round.count("kill -9", "kill beside timers")
    outcomes, drops = known.finish()
    for runner in runners:
        runner.process.kill()
        runner.process.wait()
    ring_all(round, known.every)
    answer = round.command.get("p")
    round.note("get -> %r" % answer)
    if answer.outcome != "ok":
        round.fail("get: %r" % answer)
    judge(round, outcomes, drops, answer.value["rang"])
    judge_ticks(round, answer.value["ticks"])
    if round.generator.chance(35):
        check(round)
