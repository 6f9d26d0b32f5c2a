"""Programs: patterns as data, and the same printed as Lua.

A pattern is a dictionary:

    name      of the pattern and its file
    states    [{name, initial, scope?, schema?}]; the initial value may be ["link", cell]
    args      [{name, initial}]
    computed  [{name, expr, options?}]
    lists     [{name, kind: map|filter|flat_map|reduce, list: cell, expr, initial?}]
    choices   [{name, condition: cell, then: cell, otherwise: cell or None}]
    children  [{name, pattern, args: {name: ["value", v] or ["link", cell]}}]
    handlers  [{name, body, schema?}]
    launches  patterns that handlers launch, by name

A cell is [name, key...], where name is a state, an argument, a computation, a
list, or "child.field". Keys are strings, or positions from 0.

Expressions and statements are lists whose first element says what they are;
`model.py` interprets them, `driver.c` as well, and this file prints them.
"""

import json
import re

PRELUDE = '''local heddle = require "heddle"
local function num(c) local v = c:get() if math.type(v) then return v end return 0 end
local function text(c) local v = c:get() if type(v) == "string" then return v end return "" end
local function val(c) local v = c:value() if v == nil then return heddle.null end return v end
local function list(c) local v = c:value() if type(v) == "table" then return v end return {} end
local function sum(t) local s = 0 for _, v in ipairs(t) do if math.type(v) then s = s + v end end return s end
local function mul(a, b) return (a * b) % 1000 end
local function str(v) if v == heddle.null then return "null" end if type(v) == "table" then return "t" end return tostring(v) end
local function view(c) local s = 0 for _, v in ipairs(c:get() or {}) do if math.type(v) then s = s + v end end return s end
'''


def lua_value(value):
    """A constant as Lua text; the table says whether it is an array."""
    if value is None:
        return "heddle.null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list):
        return "heddle.array{%s}" % ", ".join(lua_value(item) for item in value)
    return "heddle.object{%s}" % ", ".join(
        "[%s] = %s" % (json.dumps(key), lua_value(item)) for key, item in value.items())


def lua_name(name):
    """Cells of children are locals, because a field is looked up while the
    piece is built."""
    return re.sub(r"\W", "_", name)


def lua_cell(cell):
    text = lua_name(cell[0])
    if len(cell) > 1:
        text += ":key(%s)" % ", ".join(
            str(key + 1) if isinstance(key, int) else json.dumps(key) for key in cell[1:])
    return text


def lua_expr(expr):
    kind = expr[0]
    if kind == "const":
        return lua_value(expr[1])
    if kind == "event":
        return "event." + expr[1]
    if kind == "num":
        return "num(%s)" % lua_cell(expr[1])
    if kind == "text":
        return "text(%s)" % lua_cell(expr[1])
    if kind == "value":
        return "val(%s)" % lua_cell(expr[1])
    if kind == "len":
        return "#list(%s)" % lua_cell(expr[1])
    if kind == "shape":
        return "(%s:keys() or 0)" % lua_cell(expr[1])
    if kind == "sum":
        return "sum(list(%s))" % lua_cell(expr[1])
    if kind == "view":
        return "view(%s)" % lua_cell(expr[1])
    if kind == "add":
        return "(%s + %s)" % (lua_expr(expr[1]), lua_expr(expr[2]))
    if kind == "mul":
        return "mul(%s, %s)" % (lua_expr(expr[1]), lua_expr(expr[2]))
    if kind == "cat":
        return "(%s .. %s)" % (lua_expr(expr[1]), lua_expr(expr[2]))
    if kind == "str":
        return "str(%s)" % lua_expr(expr[1])
    if kind == "item":
        return "item"
    if kind == "sofar":
        return "sofar"
    if kind == "differs":
        return "(%s ~= %s)" % (lua_expr(expr[1]), lua_expr(expr[2]))
    if kind == "positive":
        return "(%s > 0)" % lua_expr(expr[1])
    if kind == "object":
        return "heddle.object{%s}" % ", ".join(
            "%s = %s" % (key, lua_expr(item)) for key, item in expr[1].items())
    if kind == "array":
        return "heddle.array{%s}" % ", ".join(lua_expr(item) for item in expr[1])
    raise ValueError(kind)


def lua_statements(body, indent):
    lines = []
    for statement in body:
        kind = statement[0]
        if kind in ("set", "append", "add_unique", "remove", "increment"):
            lines.append("%s:%s(%s)" % (lua_cell(statement[1]), kind, lua_expr(statement[2])))
        elif kind == "delete":
            lines.append("%s:delete()" % lua_cell(statement[1]))
        elif kind == "link":
            lines.append("%s:set(%s:link())" % (lua_cell(statement[1]), lua_cell(statement[2])))
        elif kind == "send":
            lines.append("heddle.send(%s, %s)" % (lua_name(statement[1]), lua_expr(statement[2])))
        elif kind == "try_send":
            lines.append("pcall(heddle.send, %s, %s)" % (lua_name(statement[1]), lua_expr(statement[2])))
        elif kind == "launch":
            lines.append("local launched = heddle.launch(%s, {%s})" % (
                lua_name(statement[1]), lua_arguments(statement[2])))
        elif kind == "fail_if":
            lines.append('if %s then error("refused on purpose") end' % lua_expr(statement[1]))
        elif kind == "if":
            lines.append("if %s then" % lua_expr(statement[1]))
            lines += lua_statements(statement[2], "  ")
            lines.append("end")
        elif kind == "repeat":
            lines.append("for _ = 1, %d do" % statement[1])
            lines += lua_statements(statement[2], "  ")
            lines.append("end")
        elif kind == "return":
            lines.append("return " + lua_expr(statement[1]))
        elif kind == "return_launched":
            lines.append("return launched")
        else:
            raise ValueError(kind)
    return [indent + line for line in lines]


def lua_arguments(args):
    parts = []
    for name, (kind, what) in args.items():
        parts.append("%s = %s" % (name, lua_cell(what) if kind == "link" else lua_value(what)))
    return ", ".join(parts)


def lua_options(options):
    return ", {%s}" % ", ".join("%s = %s" % pair for pair in options.items()) if options else ""


def fields(pattern):
    """The names of the fields of the result, in order."""
    return [part["name"] for group in ("states", "args", "computed", "lists", "choices", "children", "handlers")
            for part in pattern.get(group, ())]


def lua_body(pattern):
    lines = []
    for arg in pattern.get("args", ()):
        lines.append('local %s = p:arg("%s", %s)' % (arg["name"], arg["name"], lua_value(arg["initial"])))
    for state in pattern["states"]:
        initial = state["initial"]
        if isinstance(initial, list) and initial[:1] == ["link"]:
            text = lua_cell(initial[1])
        else:
            text = lua_value(initial)
        options = {"scope": json.dumps(state["scope"])} if state.get("scope") else {}
        if "schema" in state:
            options["schema"] = lua_value(state["schema"])
        lines.append('local %s = p:state("%s", %s%s)' % (state["name"], state["name"], text, lua_options(options)))
    for child in pattern.get("children", ()):
        lines.append('local %s = p:piece(%s, {%s}, { name = "%s" })' % (
            child["name"], lua_name(child["pattern"]["name"]), lua_arguments(child["args"]), child["name"]))
        for field in fields(child["pattern"]):
            lines.append("local %s_%s = %s.%s" % (child["name"], field, child["name"], field))
    for part in pattern.get("lists", ()):
        if part["kind"] == "reduce":
            lines.append('local %s = p:reduce(%s, %s, function(sofar, item) return %s end, { name = "%s" })' % (
                part["name"], lua_cell(part["list"]), lua_value(part["initial"]), lua_expr(part["expr"]),
                part["name"]))
        else:
            lines.append('local %s = p:%s(%s, function(element) local item = element:value() return %s end, { name = "%s" })' % (
                part["name"], part["kind"], lua_cell(part["list"]), lua_expr(part["expr"]), part["name"]))
    for part in pattern.get("choices", ()):
        if part["otherwise"]:
            lines.append('local %s = p:if_else(%s, %s, %s, { name = "%s" })' % (
                part["name"], lua_cell(part["condition"]), lua_cell(part["then"]), lua_cell(part["otherwise"]),
                part["name"]))
        else:
            lines.append('local %s = p:when(%s, %s, { name = "%s" })' % (
                part["name"], lua_cell(part["condition"]), lua_cell(part["then"]), part["name"]))
    for part in pattern.get("computed", ()):
        lines.append('local %s = p:computed("%s", function() return %s end%s)' % (
            part["name"], part["name"], lua_expr(part["expr"]), lua_options(part.get("options"))))
    for handler in pattern.get("handlers", ()):
        lines.append('local %s = p:handler("%s", function(event)' % (handler["name"], handler["name"]))
        lines += lua_statements(handler["body"], "  ")
        lines.append("end%s)" % lua_options({"schema": lua_value(handler["schema"])} if "schema" in handler else None))
    lines.append("return {%s}" % ", ".join("%s = %s" % (name, name) for name in fields(pattern)))
    return ["  " + line for line in lines]


def inner_patterns(pattern):
    """The patterns that the file has to define before this one."""
    found = []
    for child in pattern.get("children", ()):
        found += inner_patterns(child["pattern"]) + [child["pattern"]]
    for launched in pattern.get("launches", ()):
        found += inner_patterns(launched) + [launched]
    return found


def lua_definition(pattern):
    return ['heddle.pattern("%s", function(p)' % pattern["name"]] + lua_body(pattern) + ["end)"]


def lua_file(pattern):
    lines = [PRELUDE]
    for inner in inner_patterns(pattern):
        definition = lua_definition(inner)
        definition[0] = "local %s = %s" % (lua_name(inner["name"]), definition[0])
        lines += definition
    definition = lua_definition(pattern)
    definition[0] = "return " + definition[0]
    return "\n".join(lines + definition) + "\n"
