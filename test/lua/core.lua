-- Groups 1 and 2: what runs, when, and who is not woken by whom.
local heddle = require "heddle"
local test   = require "heddle.test"
local graph  = require "lib.graph"

local function sum(a, b) return a + b end

test("CORE-02 nothing runs without demand", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { a = 1, b = 2, c = 0 })
  local c  = graph.computation(rt, "C", "a b -> c", sum)
  rt:idle()
  t:eq(c:runs(), 0)
  t:eq(d.c:get(), 0)
  d.a:set(2)
  t:eq(rt:pull(d.c), 4)
  t:eq(c:runs(), 1)
end)

test("CORE-05 a trace tells who was woken by what", function(t)
  local rt = t:runtime{ trace = true }
  local d  = graph.docs(rt, { a = 1 })
  graph.computation(rt, "C", "a -> b", function(a) return a + 1 end, { group = "g" })
  graph.effect(rt, "E", "b -> c", graph.identity, {})
  rt:idle()
  d.a:set(2); rt:idle()
  local woken = {}
  for _, trigger in ipairs(rt:trace("triggers")) do
    if trigger.decision == "mark-invalid" then woken[trigger.node] = trigger.doc end
  end
  t:eq(woken, { C = "a", E = "b" })
end)

test("CORE-07 runs in the trace", function(t)
  local rt = t:runtime{ trace = true }
  local d  = graph.docs(rt, { a = 1 })
  graph.computation(rt, "C", "a -> b", function(a) return a + 1 end)
  local seen = graph.watch(rt, "E", "b")
  rt:idle()
  local kinds = {}
  for _, run in ipairs(rt:trace("runs")) do kinds[run.node] = { run.kind, #run.declared, #run.writes } end
  t:eq(kinds, { C = { "computation", 1, 1 }, E = { "effect", 0, 0 } })
  t:ok(#rt:trace("passes") > 0)
  t:eq(seen, { 2 })
  t:fails(function() t:runtime():trace() end, "trace = true")
end)

test("CORE-09 a cancelled node does not run", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { a = 1, b = 2 })
  local c  = graph.computation(rt, "C", "a b -> c", sum)
  d.a:set(2)
  t:eq(rt:pull(rt:doc("c")), 4)
  c:cancel()
  d.a:set(3)
  t:eq(rt:pull(rt:doc("c")), 4)
  t:eq(c:runs(), 1)
end)

test("CORE-10 effects in the order of what they write", function(t)
  local rt, order = t:runtime(), {}
  local d = graph.docs(rt, { a = 1, b = 2, d = 1, c = 0, e = 0 })
  local function effect(name, surface)
    local reads, writes = surface:match("(.+) %-> (.+)")
    local x, y = reads:match("(%S+) (%S+)")
    rt:effect{ name = name, fn = function()
      order[#order + 1] = name
      d[writes]:set(d[x]:get() + d[y]:get())
    end }
  end
  effect("E1", "a b -> c"); rt:idle()
  effect("E2", "c d -> e"); rt:idle()
  d.d:set(2); rt:idle()
  t:eq({ d.c:get(), d.e:get() }, { 3, 5 })
  d.a:set(2); rt:idle()
  t:eq({ d.c:get(), d.e:get() }, { 4, 6 })
  t:eq(order, { "E1", "E2", "E2", "E1", "E2" })
end)

test("CORE-12 what reads its own output runs once", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { counter = 0, by = 1 })
  rt:effect{ name = "E", fn = function() d.counter:set(d.counter:get() + d.by:get()) end }
  rt:idle(); t:eq(d.counter:get(), 1)
  rt:idle(); t:eq(d.counter:get(), 1)
  d.by:set(2); rt:idle(); t:eq(d.counter:get(), 3)
  t:eq(rt:errors(), heddle.array{})
end)

test("CORE-14 an effect that reads nothing runs once", function(t)
  local rt, n = t:runtime(), 0
  rt:effect{ name = "E", fn = function() n = n + 1 end }
  rt:idle(); rt:idle()
  t:eq(n, 1)
end)

test("CORE-27 children by name", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1, x = 0 })
  local kids = {}
  local p = rt:effect{ name = "P", fn = function()
    d.s:get()
    kids[#kids + 1] = rt:effect{ name = "K", fn = function() d.x:get() end }
  end }
  rt:idle()
  d.s:set(2); rt:idle()
  t:eq(p:runs(), 2)
  t:eq(#kids, 2)
  t:eq(kids[2]:runs(), 1)
  t:eq(#rt:graph().nodes, 2)
  t:eq(rt:graph().nodes[2].parent, "P")
  t:eq(rt:graph().edges, { { from = "P", to = "K", kind = "parent" } })
  t:fails(function() rt:effect{ name = "P", fn = print } end, "already")
  p:cancel()
  d.x:set(3); rt:idle()
  t:eq(kids[1]:runs(), 1)
  t:eq(kids[1]:live(), false)
  t:eq(#rt:graph().nodes, 0)
  rt:effect{ name = "P", fn = function() end }
end)

test("TXID-02 two who pull see the same", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1 })
  local c  = graph.computation(rt, "C", "s -> o", function(s) return s * 10 end)
  d.s:set(2)
  t:eq(rt:pull(rt:doc("o")), 20)
  t:eq(rt:pull(rt:doc("o")), 20)
  t:eq(c:runs(), 1)
end)

test("TXID-03 a group does not wake its own", function(t)
  local rt = t:runtime()
  local v, seen = rt:doc("v", 0), {}
  rt:effect{ name = "E", group = "G", fn = function() seen[#seen + 1] = v:get() end }
  rt:idle()
  rt:edit(function(tx) tx:set(v, 1) end, { group = "G" }); rt:idle()
  t:eq(seen, { 0 })
  v:set(2); rt:idle()
  t:eq(seen, { 0, 2 })
end)

test("TXID-06 causes are places", function(t)
  local rt = t:runtime()
  local d  = rt:doc("d", { a = { b = 1 }, list = { 1, 2 } })
  local e  = rt:effect{ name = "E", fn = function() local v = d:get(); return v.a.b, v.list[2] end }
  rt:idle()
  t:eq(e:causes(), heddle.array{})
  d:key("a", "b"):set(2)
  t:eq(e:causes(), { { doc = "d", space = "main", path = { "a", "b" } } })
  d:key("list", 2):set(3)
  t:eq(e:causes()[2], { doc = "d", space = "main", path = { "list", "1" } })
  t:eq(e:status(), "invalid")
  t:ok(rt:why_not(e).text)
  rt:idle()
  t:eq(e:causes(), heddle.array{})
  t:eq(#rt:why(e).causes, 2)
end)
