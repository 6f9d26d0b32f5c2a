"""One round: its directory, its random numbers, its history and its counts.

A round kind is a function that takes a Round, does something through a driver
and lets `expect` and `explain` judge it. What it finds is an Unexplained.
"""

import collections
import json
import os
import random
import shutil
import tempfile

from checker import Call, Search
from command import Command
from generate import Generator
from model import Failed, World
from program import lua_file
from values import Refused, equal, plain


class Unexplained(Exception):
    """What a caller was told, or what is stored, agrees with no serial order."""


class Round:
    def __init__(self, settings, seed, number, kind):
        self.settings = settings
        self.number = number
        self.kind = kind
        self.random = random.Random("%s/%d" % (seed, number))
        self.generator = Generator(self.random, settings.without)
        self.directory = tempfile.mkdtemp(prefix="outside-", dir=settings.scratch)
        self.command = Command(settings.heddle, self.directory)
        self.world = World()
        self.history = []
        self.calls = []
        self.counts = collections.Counter()
        self.time = 0
        self.processes = []

    # ---- what happened ----

    def count(self, *words):
        for word in words:
            self.counts[word] += 1

    def note(self, text):
        self.history.append(text)

    def fail(self, text):
        raise Unexplained(text)

    def tick(self):
        self.time += 1
        return self.time

    # ---- files and pieces ----

    def write_pattern(self, piece, pattern):
        with open(os.path.join(self.directory, piece + ".lua"), "w") as file:
            file.write(lua_file(pattern))

    def started(self, process):
        """A process that must not outlive the round."""
        self.processes.append(process)
        return process

    def clean_up(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- judging ----

    def expect(self, text, answer, action):
        """The answer of a call that nothing overlaps is exactly the model's."""
        self.note("%s -> %r" % (text, answer))
        try:
            value, outcome = action(self.world), "ok"
        except (Failed, Refused) as error:
            value, outcome = str(error), "refused"
        if answer.outcome != outcome:
            self.fail("%s: %r, the model: %s %s" % (text, answer, outcome, json.dumps(plain(value))))
        failed, self.world.failed = self.world.failed, 0
        if outcome == "ok" and answer.warned is not None and (failed > 0) != answer.warned:
            self.fail("%s: %d events that it sent failed, %s" % (
                text, failed, "the caller was not told" if failed else "the caller was told of one: %r" % answer))
        if outcome == "ok" and value is not None and not equal(answer.value, value):
            self.fail("%s: answered %s, the model %s" % (
                text, json.dumps(answer.value), json.dumps(plain(value))))

    def call(self, text, action):
        """A call that others may overlap; `answered` ends it."""
        call = Call(len(self.calls), self.tick(), action, text)
        self.calls.append(call)
        return call

    def answered(self, call, answer):
        call.answer = answer
        if answer.outcome != "unknown":
            call.end = self.tick()

    def explain(self, final, start=None):
        """All calls since the last time, and what was read at the end."""
        calls, self.calls = self.calls, []
        for call in calls:
            self.note(repr(call))
        unexplained = Search(calls, final).explain(start or self.world)
        if unexplained:
            self.fail(unexplained)


def difference(piece, got, want):
    """None, or which fields differ."""
    if equal(got, want):
        return None
    if not isinstance(got, dict):
        return "%s is %s, the model has %s" % (piece, json.dumps(got), json.dumps(plain(want)))
    parts = []
    for key in sorted(set(got) | set(want)):
        if key not in got:
            parts.append("%s is missing, the model has %s" % (key, json.dumps(plain(want[key]))))
        elif key not in want:
            parts.append("%s is %s, the model has nothing" % (key, json.dumps(got[key])))
        elif not equal(got[key], want[key]):
            parts.append("%s is %s, the model has %s" % (key, json.dumps(got[key]), json.dumps(plain(want[key]))))
    return "%s: %s" % (piece, "; ".join(parts))
