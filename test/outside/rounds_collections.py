"""Rounds with a collection: processes insert, change, remove and ask for ranges,
one after the other and at the same time, and some are killed. The model is a
dictionary that is sorted for each question."""

import json
import os

from command import Command
from model import Failed
from rounds_command import check
from values import equal

PEOPLE = '''local heddle = require "heddle"
return heddle.pattern("p", function(p)
  local rows = p:collection("rows", { key = "id", index = { by_group = { "group", "rank" } } })
  local first = p:computed("first", function()
    local ids = heddle.array{}
    for i, row in ipairs(rows:range{ index = "by_group", limit = 5 }) do ids[i] = row.id end
    return ids
  end)
  p:handler("insert", function(event)
    for _, row in ipairs(event.rows) do rows:insert(row) end
    return { count = rows:count() }
  end)
  p:handler("fill", function(event)
    for i = event.from, event.to do rows:insert{ id = i, group = i % 5, rank = i } end
    return { count = rows:count() }
  end)
  p:handler("put", function(event) rows:put(event.row) return { count = rows:count() } end)
  p:handler("update", function(event) rows:update(event.id, event.fields) return {} end)
  p:handler("cell", function(event) rows:row(event.id):key("rank"):set(event.rank) return {} end)
  p:handler("remove", function(event) return { existed = rows:remove(event.id) } end)
  p:handler("ask", function(event)
    local ids = heddle.array{}
    for i, row in ipairs(rows:range(event)) do ids[i] = row.id end
    return ids
  end)
  p:handler("all", function(event) return rows:range(event) end)
  p:handler("count", function(event) return { count = rows:count(event) } end)
  return { first = first }
end)
'''


def order_of(value):
    """Null, booleans, numbers, texts."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (1, value)
    if isinstance(value, str):
        return (3, value.encode())
    return (2, value)


class Table:
    """What Search needs of a world: a copy, a text, and nothing that waits."""

    def __init__(self):
        self.rows = {}  # by JSON of the key
        self.waiting = []
        self.origin = None

    def copy(self):
        other = Table()
        other.rows = dict(self.rows)
        return other

    def text(self):
        return json.dumps(self.rows, sort_keys=True)

    def sorted(self, index):
        fields = ["group", "rank", "id"] if index else ["id"]
        return sorted(self.rows.values(), key=lambda row: [order_of(row.get(name)) for name in fields])

    def inside(self, event):
        index = event.get("index")
        name = "group" if index else "id"
        rows = [row for row in self.sorted(index)
                if ("from" not in event or order_of(row.get(name)) >= order_of(event["from"][0]))
                and ("to" not in event or order_of(row.get(name)) <= order_of(event["to"][0]))]
        if event.get("reverse"):
            rows.reverse()
        return rows[:event["limit"]] if "limit" in event else rows

    def insert(self, rows):
        for row in rows:
            if json.dumps(row["id"]) in self.rows:
                raise Failed("a row with the key already exists")
            self.rows[json.dumps(row["id"])] = row

    def change(self, key, fields):
        row = self.rows.get(json.dumps(key))
        if row is None:
            raise Failed("there is no row with the key")
        self.rows[json.dumps(key)] = dict(row, **fields)

    def send(self, stream, event):
        if stream == "insert":
            self.insert(event["rows"])
        elif stream == "fill":
            self.insert([{"id": i, "group": i % 5, "rank": i} for i in range(event["from"], event["to"] + 1)])
        elif stream == "put":
            self.rows[json.dumps(event["row"]["id"])] = event["row"]
        elif stream == "update":
            self.change(event["id"], event["fields"])
            return {}
        elif stream == "cell":
            self.change(event["id"], {"rank": event["rank"]})
            return {}
        elif stream == "remove":
            return {"existed": self.rows.pop(json.dumps(event["id"]), None) is not None}
        elif stream == "ask":
            return [row["id"] for row in self.inside(event)]
        elif stream == "all":
            return self.inside(event)
        elif stream == "count":
            return {"count": len(self.inside(event))}
        return {"count": len(self.rows)}


class Rows:
    """What callers ask for."""

    def __init__(self, round, table):
        self.round = round
        self.table = table
        self.keys = [1, 2, 3, 5, 8, -4, 2.5, "a", "b c", "\u00e9", "a/b", "x" * 70]

    def value(self):
        return self.round.random.choice([None, True, False, -1, 0, 1, 2, 2.5, "", "a", "a b", "b"])

    def row(self, key=None):
        row = {"id": self.round.random.choice(self.keys) if key is None else key, "group": self.value()}
        if self.round.generator.chance(70):
            row["rank"] = self.value()
        return row

    def range(self):
        random = self.round.random
        event = {"index": "by_group"} if random.random() < 0.5 else {}
        values = [0, 1, 2, "a"] if event else self.keys
        for name in ("from", "to"):
            if random.random() < 0.5:
                event[name] = [random.choice(values)]
        return event

    def change(self):
        """An event that changes rows: (stream, payload)."""
        random = self.round.random
        kind = random.choice(["insert", "insert", "put", "update", "update", "cell", "remove"])
        key = random.choice(self.keys)
        self.round.count("row " + kind)
        if kind == "insert":
            keys = random.sample(self.keys, random.randrange(1, 3))
            return kind, {"rows": [self.row(key) for key in keys]}
        if kind == "put":
            return kind, {"row": self.row(key)}
        if kind == "update":
            return kind, {"id": key, "fields": {random.choice(["group", "rank", "note"]): self.value()}}
        if kind == "cell":
            if json.dumps(key) not in self.table.rows:
                return "remove", {"id": key}  # a cell of no row has no key
            return kind, {"id": key, "rank": self.value()}
        return kind, {"id": key}

    def question(self):
        event = self.range()
        if self.round.generator.chance(30):
            self.round.count("rows counted")
            return "count", event
        if self.round.generator.chance(50):
            event["limit"] = self.round.random.randrange(1, 6)
        if self.round.generator.chance(40):
            event["reverse"] = True
        self.round.count("range of rows")
        return "ask", event

    def some(self):
        return self.change() if self.round.generator.chance(65) else self.question()


def ask(round, table, stream, payload):
    """A call that nothing overlaps."""
    text = "send p %s %s" % (stream, json.dumps(payload))
    answer = round.command.send("p", stream, payload)
    round.note("%s -> %r" % (text, answer))
    following = table.copy()
    try:
        value, outcome = following.send(stream, payload), "ok"
        table.rows = following.rows
    except Failed as error:
        value, outcome = str(error), "refused"
    if answer.outcome != outcome or (outcome == "ok" and not equal(answer.value, value)):
        round.fail("%s: %r, the model: %s %s" % (text, answer, outcome, json.dumps(value)))


def overlap(round, rows, table):
    """Several calls at the same time, one of which may be killed; what the rows are afterwards."""
    processes = []
    for _ in range(round.random.randrange(2, 5)):
        stream, payload = rows.some()
        call = round.call("send p %s %s" % (stream, json.dumps(payload)),
                          lambda world, stream=stream, payload=payload: world.send(stream, payload))
        processes.append((call, round.started(round.command.start(*Command.send_words("p", stream, payload)))))
    if round.generator.chance(30):
        round.random.choice(processes)[1].kill()
        round.count("kill -9", "kill beside rows")
    for call, process in processes:
        round.answered(call, Command.finish(process))
    round.count("rows at once")
    done = round.command.send("p", "all", {})
    index = round.command.send("p", "all", {"index": "by_group"})
    round.note("afterwards -> %r %r" % (done, index))
    kept = {}

    def final(world):
        for found, event in ((done, {}), (index, {"index": "by_group"})):
            want = world.send("all", event)
            if found.outcome != "ok" or not equal(found.value, want):
                return "the rows are %r, the model has %s" % (found, json.dumps(want))
        kept["rows"] = world.rows
        return None
    round.explain(final, table)
    table.rows = kept["rows"]


def collections(round):
    """A collection that several processes change and ask, some of which are killed."""
    with open(os.path.join(round.directory, "p.lua"), "w") as file:
        file.write(PEOPLE)
    answer = round.command.run("p")
    if answer.outcome != "ok":
        round.fail("run: %r" % answer)
    table = Table()
    rows = Rows(round, table)
    if round.generator.chance(45):
        ask(round, table, "fill", {"from": 1001, "to": 1000 + round.random.randrange(1050, 1250)})
        rows.keys += [1001, 1513, 1600]
        round.count("rows in several pages")
    for _ in range(round.random.randrange(2, 5)):
        for _ in range(round.random.randrange(1, 4)):
            ask(round, table, *rows.some())
        overlap(round, rows, table)
    answer = round.command.get("p", "first")
    round.note("get -> %r" % answer)
    want = [row["id"] for row in table.inside({"index": "by_group", "limit": 5})]
    if answer.outcome != "ok" or not equal(answer.value, want):
        round.fail("first is %r, the model has %s" % (answer, json.dumps(want)))
    ask(round, table, "count", {})
    if round.generator.chance(35):
        check(round)
