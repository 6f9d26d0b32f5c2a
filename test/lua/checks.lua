-- What a test asserts and what fails it: equality, the clock, reported errors,
-- calls of host functions.
local heddle = require "heddle"
local test   = require "heddle.test"

local function differ(t, a, b, pattern)
  t:fails(function() t:eq(a, b) end, pattern)
  t:fails(function() t:eq(b, a) end)
end

test("tables with positions and names are equal by content", function(t)
  t:eq({ 1, 2, x = 3 }, { 1, 2, x = 3 })
  t:eq({ n = 2, { 1, k = "v" } }, { { 1, k = "v" }, n = 2 })
  differ(t, { 1, 2, x = 3 }, { 1, 2, x = 4 }, 'at "x": is 3, expected 4')
  differ(t, { 1, 2, x = 3 }, { 1, 2 }, 'at "x": is 3, expected nil')
  differ(t, { a = { { 5, y = 1 } } }, { a = { { 6, y = 1 } } }, 'at "a"[1][1]: is 5, expected 6')
  t:eq({ [true] = 1, [2.5] = 2 }, { [true] = 1, [2.5] = 2 })
  t:eq({ nil, 2 }, { nil, 2 })
  differ(t, { nil, 2 }, { 1, 2 })
end)

test("what cannot be stored is equal if it is the same", function(t)
  local function f() end
  t:eq({ f = f, 1 }, { f = f, 1 })
  differ(t, { f = f }, { f = function() end })
  local circle = {}
  circle.again = circle
  t:eq(circle, circle)
  t:eq(circle, { again = { again = circle } })
  local other = {}
  other.again = other
  t:fails(function() t:eq(circle, other) end, "too deeply")
end)

test("an untagged empty table equals an empty array and an empty object", function(t)
  t:eq({}, {})
  t:eq({}, heddle.array{})
  t:eq(heddle.array{}, {})
  t:eq(heddle.object{}, {})
  t:eq({ list = {} }, { list = heddle.array{} })
  differ(t, heddle.array{}, heddle.object{}, "is %[%], expected {}")
  differ(t, { a = heddle.array{} }, { a = heddle.object{} })
  differ(t, {}, { 1 })
  differ(t, heddle.array{}, { x = 1 })
end)

test("empty containers of documents keep their kind", function(t)
  local rt = t:runtime()
  local list, map = rt:doc("list", heddle.array{}), rt:doc("map", {})
  local both = rt:doc("both", { list = heddle.array{}, map = heddle.object{} })
  t:eq(list:get(), {})
  t:eq(map:get(), {})
  t:eq(list:value(), {})
  t:eq(both:value(), { list = {}, map = {} })
  differ(t, list:get(), heddle.object{})
  differ(t, map:get(), heddle.array{})
  differ(t, map:value(), heddle.array{})
  differ(t, both:value(), { list = {}, map = heddle.array{} })
  differ(t, list:get(), map:get())
  local empty = map:value()   -- still a table like any other
  empty[1] = "a"
  map:set(empty)
  t:eq(map:get(), { "a" })
end)

test("views, items, links and null are compared as their values", function(t)
  local rt = t:runtime()
  local a = rt:doc("a", { n = 1, list = { 1, 2 }, none = heddle.null })
  local to = rt:doc("to", { link = a })
  t:eq(a:get(), { n = 1, list = { 1, 2 }, none = heddle.null })
  t:eq({ a:get(), x = 1 }, { a:value(), x = 1 })
  t:eq(a:get().list, { 1, 2 })
  t:eq(to:value(), { link = a:link() })
  t:eq(to:value(), { link = a })
  differ(t, to:value(), { link = to:link() })
  differ(t, { heddle.null }, { false })
  differ(t, heddle.null, nil)
  t:eq(1, 1.0)
  t:eq({ 0 / 0 }, { 0 / 0 })
  differ(t, 1, "1")
end)

test("the clock of a test begins at 0", function(t)
  local rt = t:runtime()
  t:eq(rt:now(), 0)
  t:eq(heddle.now(), 0)
  local s, o = rt:doc("s", 1), rt:doc("o")
  local seen
  rt:computation{ name = "c", writes = { o }, throttle = 100, debounce = 10,
    fn = function() seen = heddle.now(); o:set(s:get()) end }
  local sink = rt:sink(o, function() end)
  rt:idle()
  t:eq(rt:now(), 0)
  t:eq(seen, 0)
  s:set(2); rt:idle()
  t:eq(o:get(), 1)
  rt:advance(100); rt:idle()
  t:eq(o:get(), 2)
  t:eq(seen, 100)
  t:eq(sink:runs(), 2)
end)

test("a reported error has its time", function(t)
  local rt = t:runtime()
  local s = rt:doc("s", 1)
  rt:effect{ name = "e", fn = function() if s:get() > 1 then error("too many") end end }
  rt:idle()
  t:eq(rt:errors(), {})
  rt:advance(7)
  s:set(2); rt:idle()
  local errors = rt:errors()
  t:eq(#errors, 1)
  t:eq(errors[1].source, "e")
  t:eq(errors[1].at, 7)
  t:ok(errors[1].message:find("too many", 1, true))
end)

test("calls of host functions are listed after the run has landed", function(t)
  local rt = t:runtime()
  local s = rt:doc("s", 1)
  rt:effect{ name = "tell", fn = function()
    heddle.notify("s is", s:get())
    heddle.write_line{ value = s:get() }
  end }
  t:eq(rt:calls(), {})
  rt:settled()
  t:eq(rt:calls(), {
    { name = "notify", arguments = { "s is", 1 }, at = 0 },
    { name = "write_line", arguments = { { value = 1 } }, at = 0 },
  })
  rt:advance(5)
  s:set(2); rt:settled()
  t:eq(rt:calls("notify"), {
    { name = "notify", arguments = { "s is", 1 }, at = 0 },
    { name = "notify", arguments = { "s is", 2 }, at = 5 },
  })
  t:eq(rt:calls("exec"), {})
  t:fails(function() heddle.notify("here") end, "only for effects")
end)

test("a call of a run that is refused is not made", function(t)
  local rt = t:runtime()
  local s, log = rt:doc("s", 1), rt:doc("log", 0)
  rt:settled()
  rt:effect{ name = "tell", fn = function() heddle.notify("at", s:get()); log:set(s:get()) end }
  rt:reject_next{ kind = "permanent", when = function(commit) return commit.node == "tell" end }
  rt:settled()
  t:eq(rt:calls(), {})
  t:eq(#rt:errors(), 1)
end)
