"""The driver for Lua: a file for `heddle test` that is written, run and read.

A test drives several runtimes on one engine, on a clock that stands still, and
can hold their confirmations. The file prints one line per answer, "@N JSON".
"""

import json
import os
import subprocess

from command import Answer
from program import PRELUDE, inner_patterns, lua_definition, lua_name, lua_value

HELPERS = '''local test = require "heddle.test"
local function json(v)
  if v == nil then return "null" end
  if v == heddle.null then return "null" end
  if type(v) == "string" then return '"' .. v .. '"' end
  if math.type(v) == "float" then return string.format("%.17g", v) end
  if type(v) ~= "table" then return tostring(v) end
  local parts = {}
  if #v > 0 then
    for i = 1, #v do parts[i] = json(v[i]) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for k, item in pairs(v) do parts[#parts + 1] = '"' .. k .. '":' .. json(item) end
  return "{" .. table.concat(parts, ",") .. "}"
end
local function say(n, outcome, value, text)
  text = text and tostring(text):gsub('[^%w .:/#_-]', " ") or ""
  print(string.format('@%d {"outcome":"%s","value":%s,"text":"%s"}', n, outcome, json(value), text))
end
local function say_ticket(n, ticket)
  local state = ticket:state()
  local why = ticket:error()
  local receipt = ticket:receipt()
  if state == "queued" then say(n, "waiting")
  elseif receipt ~= nil then say(n, "ok", receipt)
  else say(n, "refused", nil, why and (why.name .. " " .. why.message)) end
end
local function settle(rt)
  local _, why = rt:settled()
  if why == "restless" then error("a runtime does not come to rest") end
end
local function edit(rt, fn)
  local ran, first, second = pcall(rt.edit, rt, fn)
  if ran then return { first, second } end
  return { nil, { name = "raised", message = first } }
end
local function say_edit(n, edit, reads)
  if not edit[1] then say(n, "refused", nil, edit[2].name .. " " .. edit[2].message) return end
  local state = edit[2]:state()
  if state == "pending" then say(n, "waiting")
  elseif state == "confirmed" then say(n, "ok", reads)
  else say(n, "refused", nil, "did not land") end
end
'''


class Script:
    """The text of a test, line by line, and later its answers."""

    def __init__(self, heddle, directory, patterns):
        self.heddle = heddle
        self.path = os.path.join(directory, "round_test.lua")
        self.directory = directory
        self.lines = [PRELUDE + HELPERS]
        known = set()
        for pattern in patterns:
            for each in inner_patterns(pattern) + [pattern]:
                if each["name"] not in known:
                    known.add(each["name"])
                    definition = lua_definition(each)
                    definition[0] = "local %s = %s" % (lua_name("pattern_" + each["name"])
                                                       if each is pattern else lua_name(each["name"]), definition[0])
                    self.lines += definition
        self.lines += ['test("round", function(t)', "local R, P, T = {}, {}, {}"]
        self.said = 0
        self.answers = {}

    def line(self, text):
        self.lines.append("  " + text)

    def say(self, call):
        """A line that prints an answer: `call` has "%d" for its number."""
        self.said += 1
        self.line(call % self.said)
        return self.said

    def run(self):
        """Runs the file; None, or why it could not be run."""
        self.lines.append("end)")
        with open(self.path, "w") as file:
            file.write("\n".join(self.lines) + "\n")
        done = subprocess.run([self.heddle, "test", self.path], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, cwd=self.directory, timeout=120)
        for line in done.stdout.splitlines():
            if line.startswith("@"):
                number, _, text = line[1:].partition(" ")
                answer = json.loads(text)
                self.answers[int(number)] = Answer(answer["outcome"], answer["value"], answer["text"])
        return None if done.returncode == 0 else (done.stdout + done.stderr)[-2000:]


def lua_cell_of(runtime, piece, cell, scope=None):
    document = "piece:%s/%s" % (piece, cell[0].replace(".", "/"))
    text = 'R[%d]:doc("%s"%s)' % (runtime, document, ', nil, { scope = "%s" }' % scope if scope else "")
    if len(cell) > 1:
        text += ":key(%s)" % ", ".join(str(key + 1) if isinstance(key, int) else json.dumps(key) for key in cell[1:])
    return text


def lua_operation(runtime, piece, operation, cell, operand, scope=None):
    place = lua_cell_of(runtime, piece, cell, scope)
    if operation == "delete":
        return place + ":delete()"
    return "%s:%s(%s)" % (place, operation, lua_value(operand))
