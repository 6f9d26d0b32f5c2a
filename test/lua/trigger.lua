-- Group 3: which changes wake a reader, by value.
local heddle = require "heddle"
local test   = require "heddle.test"

-- Whether an effect that reads `before` so runs again when it becomes `after`.
local function woken(t, before, after, read)
  local rt = t:runtime()
  local d  = rt:doc("d", before)
  local e  = rt:effect{ name = "E", fn = function() read(d) end }
  rt:idle()
  d:set(after); rt:idle()
  return e:runs() == 2
end

local function deep(...)
  local path = { ... }
  return function(d) if #path > 0 then d:key(table.unpack(path)):value() else d:value() end end
end

local function shallow(...)
  local path = { ... }
  return function(d) d:key(table.unpack(path)):keys() end
end

test("TRIG-05 a value that differs, and one that does not", function(t)
  t:ok(woken(t, { a = 1 }, { a = 2 }, deep("a")))
  t:ok(not woken(t, { a = 1 }, { a = 1 }, deep("a")))
end)

test("TRIG-10 what comes and goes", function(t)
  t:ok(woken(t, { x = 1 }, { a = { b = 2 } }, deep("a", "b")))
  t:ok(woken(t, { a = { b = 2 } }, { x = 1 }, deep("a", "b")))
end)

test("TRIG-11 arrays", function(t)
  t:ok(woken(t, { items = { 1, 2 } }, { items = { 9, 2 } }, deep("items", 1)))
  t:ok(woken(t, { items = { 1, 2 } }, { items = { 1, 2, 3 } }, deep("items")))
  t:ok(woken(t, { items = { {}, { name = "a" } } }, { items = { {}, { name = "b" } } }, deep("items", 2, "name")))
  t:ok(not woken(t, { items = { 1, 2 } }, { items = { 3, 4 } }, deep("items", 6)))
end)

test("TRIG-15 leaves of all kinds", function(t)
  t:ok(woken(t, true, false, deep()))
  t:ok(woken(t, heddle.null, 123, deep()))
  t:ok(not woken(t, {}, { b = 1 }, deep("a")))
end)

test("TRIG-16 whole values", function(t)
  t:ok(woken(t, 42, 43, deep()))
  t:ok(not woken(t, 42, 42, deep()))
  t:ok(woken(t, 42, { value = 42 }, deep()))
  t:ok(woken(t, { 1, 2, 3 }, "s", deep()))
end)

test("TRIG-19 another key is nobody's business", function(t)
  t:ok(not woken(t, { o = { x = 1 } }, { o = { x = 1, y = 2 } }, deep("o", "x")))
end)

test("TRIG-20 another kind, another order", function(t)
  t:ok(woken(t, { a = { b = 1 } }, { a = { 1 } }, deep("a")))
  t:ok(woken(t, { a = { 1, 2 } }, { a = { 2, 1 } }, deep("a")))
  t:ok(woken(t, { a = heddle.array{} }, { a = { 1 } }, deep("a")))
  t:ok(woken(t, { a = { { 1 } } }, { a = { { 2 } } }, deep("a")))
end)

test("TRIG-21 shapes", function(t)
  t:ok(not woken(t, { a = { x = 1 } }, { a = { x = 2 } }, shallow("a")))
  t:ok(woken(t, { a = { x = 1 } }, { a = { x = 1, y = 1 } }, shallow("a")))
  t:ok(woken(t, { a = { b = 1 }, x = 1 }, { a = heddle.array{}, x = 2 }, shallow("a")))
  t:ok(not woken(t, { a = { 1, 2 } }, { a = { 3, 4 } }, shallow("a")))
  t:ok(woken(t, { a = { 1, 2 } }, { a = { 1 } }, shallow("a")))
end)

test("TRIG-33 one of a hundred readers", function(t)
  local rt, value, nodes = t:runtime(), {}, {}
  for i = 0, 99 do value["field" .. i] = 0 end
  local d = rt:doc("d", value)
  for i = 0, 99 do
    nodes[i] = rt:effect{ name = "E" .. i, fn = function() return d:get()["field" .. i] end }
  end
  rt:idle()
  d:key("field50"):set(1); rt:idle()
  for i = 0, 99 do t:eq(nodes[i]:runs(), i == 50 and 2 or 1) end
end)

test("TRIG-34 twenty reads, one of them changes", function(t)
  local rt, value = t:runtime(), {}
  for i = 1, 20 do value["k" .. i] = 0 end
  local d = rt:doc("d", value)
  local e = rt:effect{ name = "E", fn = function() for i = 1, 20 do local _ = d:get()["k" .. i] end end }
  rt:idle()
  d:key("k10"):set(1); rt:idle()
  t:eq(e:runs(), 2)
end)

test("TRIG-32 a reader is woken exactly if what it read differs", function(t)
  local function value(random, depth)
    local kind = random(depth > 0 and 4 or 2)
    if kind <= 2 then return random(2) end
    local made = kind == 3 and heddle.array{} or heddle.object{}
    for i = 1, random(3) do
      made[kind == 3 and i or ("k" .. i)] = value(random, depth - 1)
    end
    return made
  end
  t:seeds(60, function(seed, random)
    local rt = t:runtime()
    local d  = rt:doc("d", value(random, 3))
    local path = {}
    for i = 1, random(3) do path[i] = random(2) == 1 and random(3) or "k" .. random(3) end
    local at = d:key(table.unpack(path))
    local e  = rt:effect{ name = "E", fn = function() at:value() end }
    rt:idle()
    for _ = 1, 5 do
      local runs, before = e:runs(), at:value()
      d:set(value(random, 3)); rt:idle()
      local same = pcall(t.eq, t, before, at:value())
      if not same then t:eq(e:runs(), runs + 1) end
    end
  end)
end)

test("an object that becomes an array is another container, for who looked at nothing below", function(t)
  local rt = t:runtime()
  local d = rt:doc("d", { x = heddle.object{} })
  local seen = {}
  local e = rt:effect{ name = "e", fn = function()
    seen[#seen + 1] = #d:key("x"):get() >= 0 and tostring(d:key("x"):get())
  end }
  local get = rt:effect{ name = "get", fn = function() d:key("x"):get() end }
  rt:idle()
  t:eq(get:runs(), 1)
  d:key("x"):set(heddle.array{}); rt:idle()
  t:eq(get:runs(), 2)
  d:key("x"):append(1); rt:idle()
  t:eq(get:runs(), 2)
  d:key("x"):set(heddle.object{ a = 1 }); rt:idle()
  t:eq(get:runs(), 3)
  d:key("x", "b"):set(2); rt:idle()
  t:eq(get:runs(), 3)
end)
