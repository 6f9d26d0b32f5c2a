"""Decides whether a history is explained by a serial order.

A history is a list of calls: what a caller asked for, when it asked and when
it was answered (numbers that only have an order), and what it was told. An
explanation is an order of all calls in which

  - a call comes after every call that was answered before it began,
  - a call that was acknowledged is applied once, with the answer it was given,
  - a call that was refused has no effect,
  - a call whose caller was killed is applied once or not at all,
  - events that a handler sent, and events that were queued, are handled once,
    those of one handler in the order in which it sent them, some time after
    it, whatever became of the process,

and after which the pieces are what was read at the end. The search is
depth-first over the calls that may come next; a state of the search that has
failed is not looked at again.
"""

from model import Failed
from values import Refused, equal, loose


class Call:
    def __init__(self, index, begin, action, text):
        self.index = index
        self.begin = begin
        self.end = None
        self.action = action  # action(world) -> value; raises Failed or Refused
        self.text = text
        self.answer = None
        self.after = None  # an earlier call of the same caller at the same document
        self.loose = False  # the answer does not tell [] from {}
        self.baseless = False  # refused on a state that did not come to be: any refusal is explained

    def __repr__(self):
        end = "?" if self.end is None else "%d" % self.end
        return "[%d..%s] %s -> %r" % (self.begin, end, self.text, self.answer)


# A refusal that the model cannot foresee: others were faster, or there was no
# time. Such a call has no effect.
CONTENTION = ("gave up", "was rejected", "did not land", "NOT_CONVERGED", "time limit", "TIMEOUT", "BUSY",
              "is busy", "timed out", "in time", "did not finish", "deadline", "conflict", "rejected by the test")


class TooLong(Exception):
    """The search was given up: the history has too many orders."""


class Search:
    def __init__(self, calls, final, steps=20000):
        self.calls = calls
        self.final = final  # final(world) -> None or what differs
        self.seen = set()
        self.steps = steps
        self.nearest = "no order agrees with the answers"
        self.most_done = -1

    def explain(self, world):
        """None, or the sentence that says what is unexplained."""
        return None if self._go(world, frozenset()) else self.nearest

    @staticmethod
    def _before(call):
        """The call that has to come first, or None. A refusal has no effect: it was said on
        what the caller saw then, where its own writes had not met those of others yet."""
        if call.answer.outcome == "refused":
            return None
        earlier = call.after
        while earlier is not None and earlier.answer.outcome == "refused":
            earlier = earlier.after
        return earlier

    def _may_come(self, call, done):
        earlier = self._before(call)
        if earlier is not None and earlier.index not in done:
            return False
        return all(other.index in done or other.end is None or other.end >= call.begin
                   for other in self.calls if other is not call)

    def _note(self, done, text):
        if len(done) >= self.most_done:
            self.most_done = len(done)
            self.nearest = text

    def _go(self, world, done):
        key = (done, world.text())
        if key in self.seen:
            return False
        self.seen.add(key)
        if len(self.seen) > self.steps:
            raise TooLong()
        if len(done) == len(self.calls) and not world.waiting:
            differs = self.final(world)
            if differs is None:
                return True
            self._note(done, differs)
        for call in self.calls:
            if call.index not in done and self._may_come(call, done):
                for following in self._outcomes(world, call, done):
                    if self._go(following, done | {call.index}):
                        return True
        origins = set()
        for index, event in enumerate(world.waiting):
            if event[0] not in origins:
                origins.add(event[0])
                following = world.copy()
                following.settle_one(index)
                if self._go(following, done):
                    return True
        return False

    @staticmethod
    def _equal(call, value):
        if call.loose:
            return equal(loose(value), loose(call.answer.value))
        return equal(value, call.answer.value)

    def _outcomes(self, world, call, done):
        """The worlds after a call that agree with what its caller was told."""
        following = world.copy()
        following.origin = "call %d" % call.index
        try:
            value = call.action(following)
            refusal = None
        except (Failed, Refused) as error:
            following, value, refusal = world.copy(), None, str(error)
        outcome = call.answer.outcome
        found = []
        if outcome == "ok":
            if refusal is not None:
                self._note(done, "%s: the model refuses it: %s" % (call.text, refusal))
            elif None not in (value, call.answer.value) and not self._equal(call, value):
                self._note(done, "%s: answered %r, a serial order gives %r" % (call.text, call.answer.value, value))
            else:
                found.append(following)
        elif outcome == "refused":
            if refusal is not None or call.baseless or any(word in call.answer.text for word in CONTENTION):
                found.append(world.copy())
            else:
                self._note(done, "%s: refused, the model does it" % call.text)
        else:
            if refusal is None:
                found.append(following)
            found.append(world.copy())
        return found
