"""Rounds on a board with a piece per card: cards come, go, move and are edited
while other processes send to them by their addresses. The model is its own: a
list, what each card has counted since it came, and what the board was told."""

import json
import os
import time

from round import difference
from rounds_command import check
from values import Refused

BOARD = '''local heddle = require "heddle"
local card = heddle.pattern("card", function(p)
  local item = p:arg("card")
  local told = p:arg("told")
  local count = p:state("count", 0)
  local view = p:computed("view", function()
    return { id = item:get().id, title = item:get().title, count = count:get() }
  end)
  local bump = p:handler("bump", function(event)
    count:increment(event.by)
    %s
  end)
  %s
  return { view = view, bump = bump, count = count }
end)
return heddle.pattern("p", function(p)
  local list = p:state("list", %s)
  local heard = p:state("heard", heddle.array{})
  local told = p:handler("told", function(event) heard:append(event.id) end)
  local function change(name, fn)
    return p:handler(name, function(event)
      local all = list:value()
      fn(all, event)
      list:set(heddle.array(all))
      return { size = #all }
    end)
  end
  local function find(all, id)
    for i, one in ipairs(all) do if one.id == id then return i end end
    error("there is no card " .. id)
  end
  change("add", function(all, event) table.insert(all, event.at %% (#all + 1) + 1, { id = event.id, title = "t" }) end)
  change("remove", function(all, event) table.remove(all, find(all, event.id)) end)
  change("edit", function(all, event) all[find(all, event.id)] = { id = event.id, title = event.title } end)
  change("move", function(all, event)
    local one = table.remove(all, find(all, event.id))
    table.insert(all, event.at %% (#all + 1) + 1, one)
  end)
  local cards = p:map(list, function(item) return p:piece(card, { card = item, told = told }) end,
    { name = "cards", key = "id" })
  return { cards = cards, heard = heard }
end)
'''


# What the handler of a card does besides: it reads and sends, or nothing, so that only the card itself could be missed.
TELLS = "heddle.send(told, { id = item:get().id }) return { count = count:get() }"


class Board:
    """What a World is to the search, for this one pattern."""

    def __init__(self, ids=(), tells=True):
        self.tells = tells
        self.list = [(one, "t", 0) for one in ids]
        self.heard = ()
        self.waiting = []  # (origin, id)
        self.origin = ""

    def copy(self):
        other = Board((), self.tells)
        other.list = list(self.list)
        other.heard = self.heard
        other.waiting = list(self.waiting)
        other.origin = self.origin
        return other

    def text(self):
        return repr((self.list, self.heard, self.waiting))

    def settle_one(self, index):
        self.heard += (self.waiting.pop(index)[1],)

    def result(self):
        return {"cards": [{"view": {"id": one, "title": title, "count": count}, "count": count}
                          for one, title, count in self.list], "heard": list(self.heard)}

    def find(self, one):
        for index, card in enumerate(self.list):
            if card[0] == one:
                return index
        raise Refused("there is no card " + one)

    def add(self, one, at):
        self.list.insert(at % (len(self.list) + 1), (one, "t", 0))
        return {"size": len(self.list)}

    def remove(self, one):
        del self.list[self.find(one)]
        return {"size": len(self.list)}

    def edit(self, one, title):
        index = self.find(one)
        self.list[index] = (one, title, self.list[index][2])
        return {"size": len(self.list)}

    def move(self, one, at):
        card = self.list.pop(self.find(one))
        self.list.insert(at % (len(self.list) + 1), card)
        return {"size": len(self.list)}

    def bump(self, one, by):
        index = self.find(one)
        _, title, count = self.list[index]
        self.list[index] = (one, title, count + by)
        if not self.tells:
            return {}
        self.waiting.append((self.origin, one))
        return {"count": count + by}

    def set_count(self, one, count):
        """The piece of a card that has gone is there until the list is looked at: a write to it is lost."""
        if any(card[0] == one for card in self.list):
            index = self.find(one)
            self.list[index] = (one, self.list[index][1], count)


class Play:
    def __init__(self, round):
        self.round = round
        self.numbers = 0
        ids = [self.new_id() for _ in range(round.random.randrange(3))]
        self.start = Board(ids, round.generator.chance(50))
        self.cards = list(ids)  # that have been added by now; some are removed
        effect = 'p:effect("show", function() count:get() end)' if round.generator.chance(50) else ""
        initial = "heddle.array{%s}" % ", ".join('{ id = "%s", title = "t" }' % one for one in ids)
        with open(os.path.join(round.directory, "p.lua"), "w") as file:
            file.write(BOARD % (TELLS if self.start.tells else "", effect, initial))
        answer = round.command.run("p")
        round.note("run p --once -> %r" % answer)
        if answer.outcome != "ok":
            round.fail("run: %r" % answer)
        round.count("run")

    def new_id(self):
        self.numbers += 1
        return "c%d" % self.numbers

    def elements(self):
        """The elements of the list as they are stored, by key."""
        file = os.path.join(self.round.command.data, "main.db")
        answer = self.round.command.call_plain("store", "show", file, "piece:p/cards/elements")
        return answer.value["value"] if answer.outcome == "ok" and answer.value else {}

    def address(self, one):
        for key, element in self.elements().items():
            if element["id"] == one:
                return "p/cards/%s" % key
        return None

    def some_words(self):
        """An operation: the words of the command, and what the model does."""
        random = self.round.random
        what = random.choice(["add", "add", "remove", "edit", "move", "bump", "bump", "bump", "count"])
        one = random.choice(self.cards) if self.cards else None
        if what == "add" or one is None:
            one, at = self.new_id(), random.randrange(4)
            self.cards.append(one)
            self.round.count("card added")
            return ["send", "p", "add", json.dumps({"id": one, "at": at})], lambda board: board.add(one, at)
        if what in ("bump", "count"):
            address = self.address(one)
            if address is None:
                return None
            by = random.randrange(1, 9)
            self.round.count("call to a card")
            if what == "count":
                return ["set", address, "count", str(by)], lambda board: board.set_count(one, by)
            return ["send", address, "bump", json.dumps({"by": by})], lambda board: board.bump(one, by)
        if what == "remove":
            self.round.count("card removed")
            return ["send", "p", "remove", json.dumps({"id": one})], lambda board: board.remove(one)
        if what == "edit":
            title = "t%d" % random.randrange(5)
            return (["send", "p", "edit", json.dumps({"id": one, "title": title})],
                    lambda board: board.edit(one, title))
        at = random.randrange(4)
        return ["send", "p", "move", json.dumps({"id": one, "at": at})], lambda board: board.move(one, at)

    def begin(self):
        operation = self.some_words()
        if operation is None:
            return None
        words, action = operation
        call = self.round.call(" ".join(words), action)
        call.baseless = words[0] == "set"  # or the piece has gone by now
        return call, self.round.started(self.round.command.start(*words))

    def finish(self):
        """What is stored and read at the end agrees with the model, and with itself."""
        round = self.round
        round.note("run p --once -> %r" % round.command.run("p"))
        answer = round.command.get("p")
        round.note("get p -> %r" % answer)
        if answer.outcome != "ok":
            round.fail("get: %r" % answer)
        round.count("get")
        round.explain(lambda board: difference("p", answer.value, board.result()), self.start)
        self.check_documents()

    def check_documents(self):
        """Nothing is left of a card that has gone."""
        round = self.round
        keys = set(self.elements())
        file = os.path.join(round.command.data, "main.db")
        answer = round.command.call_plain("store", "show", file)
        for line in str(answer.value).splitlines():
            name = line.strip().strip('"').split("/")
            if name[:2] == ["piece:p", "cards"] and len(name) > 2 and name[2] != "elements" and name[2] not in keys:
                round.fail("%s is left of a card that has gone" % line)


def cards(round):
    """A piece per card: cards come and go while processes send to them."""
    play = Play(round)
    runner = None
    if round.generator.chance(50):
        runner = round.started(round.command.start("run", "p.lua"))
        round.count("runner beside cards")
    for _ in range(round.random.randrange(2, 5)):
        pairs = [pair for pair in (play.begin() for _ in range(round.random.randrange(1, 4))) if pair]
        if runner is not None and round.generator.chance(25):
            runner.kill()
            runner = None
            round.count("kill -9")
        elif pairs and round.generator.chance(25):
            time.sleep(round.random.random() * 0.02)
            round.random.choice(pairs)[1].kill()
            round.count("kill -9")
        for call, process in pairs:
            round.answered(call, round.command.finish(process))
    if runner is not None:
        runner.kill()
        runner.communicate()
    play.finish()
    if round.generator.chance(30):
        check(round)
