-- Groups 5, 6 and 7: what nodes declare, their coming and going, their order.
local heddle = require "heddle"
local test   = require "heddle.test"
local graph  = require "lib.graph"

local function times_ten(v) return v * 10 end

test("SW-01 a sink is demand", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1 })
  local c  = graph.computation(rt, "C", "s -> o", times_ten)
  d.s:set(3); rt:idle()
  t:eq(c:runs(), 0)
  local seen = {}
  rt:sink(rt:doc("o"), function(v) seen[#seen + 1] = v end)
  rt:idle()
  t:eq(seen, { 30 })
  t:eq(c:runs(), 1)
end)

test("SW-02 demand that comes back wakes what slept", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1 })
  local a  = graph.computation(rt, "A", "s -> m", times_ten)
  local b  = graph.computation(rt, "B", "m -> o", graph.identity)
  local sink = rt:sink(rt:doc("o"), function() end)
  rt:idle()
  sink:cancel()
  d.s:set(2); rt:idle()
  t:eq({ a:runs(), b:runs(), rt:doc("o"):get() }, { 1, 1, 10 })
  local seen = {}
  rt:sink(rt:doc("o"), function(v) seen[#seen + 1] = v end)
  rt:idle()
  t:eq(seen[#seen], 20)
  t:eq({ a:runs(), b:runs() }, { 2, 2 })
end)

test("SW-06 a write outside of the surface is reported, not blocked", function(t)
  local rt = t:runtime()
  local s, u, d = rt:doc("s", 1), rt:doc("u"), rt:doc("d")
  rt:computation{ name = "C", writes = { d }, fn = function() u:set(s:get()) end }
  rt:sink(d, function() end)
  rt:idle()
  t:eq(u:get(), 1)
  local violations = rt:violations()
  t:eq(#violations, 1)
  t:eq({ violations[1].source, violations[1].doc, violations[1].kind }, { "C", "u", "surface" })
end)

test("SW-07 one of another scope is none", function(t)
  local rt = t:runtime{ user = "ada" }
  local s, d = rt:doc("s", 1), rt:doc("d")
  local u = rt:doc("u", nil, { scope = "session" })
  rt:computation{ name = "C", writes = { d }, fn = function() u:set(s:get()) end }
  rt:sink(d, function() end)
  rt:idle()
  t:eq(u:get(), 1)
  t:eq(#rt:violations(), 0)
end)

test("SW-08 the surface is known before any run", function(t)
  local rt = t:runtime()
  local c = rt:computation{ name = "C", writes = { rt:doc("x") }, envelope = { rt:doc("y") }, fn = function() end }
  local root = heddle.array{}
  t:eq(c:writes(), { { doc = "x", space = "main", path = root }, { doc = "y", space = "main", path = root, envelope = true } })
end)

test("SW-13 an edge is there as soon as both are", function(t)
  local rt = t:runtime()
  local d  = rt:doc("d", { foo = 1, bar = 1 })
  rt:effect{ name = "E", fn = function() return d:get().foo end }
  rt:idle()
  local c = rt:computation{ name = "C", writes = { d:key("foo") }, fn = function() d:key("foo"):set(2) end }
  t:eq(rt:graph().edges, { { from = "C", to = "E", kind = "data" } })
  t:eq(c:live(), true)
  local x = rt:computation{ name = "X", writes = { d:key("nobody") }, fn = function() end }
  t:eq(x:live(), false)
  rt:idle()
  t:eq(d:get().foo, 2)
end)

test("EFF-03 counts of nodes", function(t)
  local rt = t:runtime()
  local c = rt:computation{ name = "C", fn = function() end }
  local e = rt:effect{ name = "E", fn = function() end }
  local function counts() return { rt:stats().computations, rt:stats().effects } end
  t:eq(counts(), { 1, 1 })
  c:cancel(); t:eq(counts(), { 0, 1 })
  e:cancel(); t:eq(counts(), { 0, 0 })
end)

test("EFF-05 a sink inside an effect is its child", function(t)
  local rt = t:runtime()
  local a  = rt:doc("a", 42)
  rt:effect{ name = "P", fn = function() rt:sink(a, function() end) end }
  rt:idle()
  local parents = {}
  for _, node in ipairs(rt:graph().nodes) do parents[node.name] = node.parent end
  t:eq(parents, { sink = "P" })
end)

test("EFF-10 a child that comes and goes", function(t)
  local rt = t:runtime()
  local toggle, order, k = rt:doc("toggle", true), {}, nil
  rt:effect{ name = "P", fn = function()
    order[#order + 1] = "P"
    if toggle:get() then
      k = rt:effect{ name = "K", fn = function() order[#order + 1] = "K" end }
    else
      k:cancel()
    end
  end }
  rt:idle()
  t:eq(order, { "P", "K" })
  toggle:set(false); rt:idle()
  t:eq(order, { "P", "K", "P" })
  toggle:set(true); rt:idle()
  t:eq(order, { "P", "K", "P", "P", "K" })
end)

test("EFF-11 a parent takes its children along", function(t)
  local rt = t:runtime()
  local s, k = rt:doc("s", 1), nil
  local p = rt:effect{ name = "P", fn = function()
    k = rt:effect{ name = "K", fn = function()
      rt:effect{ name = "L", fn = function() s:get() end }
      s:get()
    end }
  end }
  rt:idle()
  p:cancel()
  s:set(2); rt:idle()
  t:eq(k:runs(), 1)
  t:eq(rt:stats().effects, 0)
end)

test("ORD-02 writers before readers, whatever the order of registration", function(t)
  local rt, order = t:runtime(), {}
  graph.docs(rt, { s = 1 })
  local function note(name)
    return function(v) order[#order + 1] = name; return v end
  end
  graph.effect(rt, "E", "o", function() order[#order + 1] = "E" end, { declared = true })
  graph.computation(rt, "B", "m -> o", note("B"), { declared = true })
  graph.computation(rt, "A", "s -> m", note("A"), { declared = true })
  rt:idle()
  t:eq(order[1], "A")
  t:eq(order[#order], "E")
end)

test("ORD-11 an uneven diamond, once each and never torn", function(t)
  for length = 1, 12 do
    local rt = t:runtime{ idempotency_check = false }
    local s  = rt:doc("s", 1)
    local last = "s"
    local chain = {}
    for i = 1, length do
      chain[i] = graph.computation(rt, "A" .. i, last .. " -> a" .. i, graph.identity)
      last = "a" .. i
    end
    local torn = false
    local m = graph.computation(rt, "M", "s " .. last .. " -> m", function(x, y)
      torn = torn or x ~= y
      return x + y
    end)
    local seen, e = graph.watch(rt, "E", "m")
    rt:idle()
    s:set(2); rt:idle()
    t:eq(seen, { 2, 4 })
    t:eq(torn, false)
    t:eq({ m:runs(), e:runs(), chain[length]:runs() }, { 2, 2, 2 })
    t:eq(e:height() > m:height() and m:height() > chain[length]:height(), true)
  end
end)
