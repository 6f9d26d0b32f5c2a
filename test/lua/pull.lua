-- Group 4: demand.
local heddle = require "heddle"
local test   = require "heddle.test"
local graph  = require "lib.graph"

test("PULL-01 without demand it stays invalid", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1 })
  local c  = graph.computation(rt, "C", "s -> r", function(s) return s * 10 end)
  t:eq(c:status(), "never-ran")
  t:eq(rt:pull(rt:doc("r")), 10)
  t:eq(c:status(), "clean")
  d.s:set(2); rt:idle()
  t:eq(c:status(), "invalid")
  t:eq(c:runs(), 1)
end)

test("PULL-04 a child's output wakes its parent", function(t)
  local rt = t:runtime()
  local s, cr, pr = rt:doc("s", 2), rt:doc("cr"), rt:doc("pr")
  local k
  local p = rt:computation{ name = "P", writes = { pr }, fn = function()
    k = rt:computation{ name = "K", writes = { cr }, fn = function() cr:set(s:get() * 10) end }
    pr:set((cr:get() or 0) + 1)
  end }
  local seen, e = graph.watch(rt, "E", "pr")
  rt:idle()
  t:eq(k:runs(), 1)
  t:ok(p:runs() <= 2)
  t:eq(seen[#seen], 21)
end)

test("PULL-05 an unchanged output stops the wave", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1 })
  local c  = graph.computation(rt, "C", "s -> d", function(s) return s % 2 end)
  local seen, e = graph.watch(rt, "E", "d")
  rt:idle()
  d.s:set(3); rt:idle()
  t:eq({ c:runs(), e:runs() }, { 2, 1 })
  d.s:set(4); rt:idle()
  t:eq({ c:runs(), e:runs() }, { 3, 2 })
  t:eq(seen, { 1, 0 })
end)

test("PULL-09 a write that was not declared arrives by value", function(t)
  local rt = t:runtime()
  local s, pr, cr, r = rt:doc("s", 1), rt:doc("pr"), rt:doc("cr"), rt:doc("r")
  local p = rt:computation{ name = "P", writes = { pr }, fn = function()
    rt:computation{ name = "K", fn = function() cr:set(s:get() * 10) end }
    pr:set(s:get())
  end }
  rt:effect{ name = "E", fn = function() r:set((pr:get() or 0) + (cr:get() or 0)) end }
  rt:idle()
  t:eq(r:get(), 11)
  t:eq(p:runs(), 1)
  t:eq(rt:violations()[1].kind, "surface")
end)

test("PULL-13 a chain runs once a change", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1 })
  local c1 = graph.computation(rt, "C1", "s -> m1", function(s) return s + 1 end)
  local c2 = graph.computation(rt, "C2", "m1 -> m2", function(m) return m * 2 end)
  local seen, e = graph.watch(rt, "E", "m2")
  rt:idle()
  d.s:set(5); rt:idle()
  t:eq(seen, { 4, 12 })
  t:eq({ c1:runs(), c2:runs(), e:runs() }, { 2, 2, 2 })
end)

test("PULL-14 reads that depend on values", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { sel = false, a = 2, b = 7 })
  local m  = rt:doc("m")
  local c  = rt:computation{ name = "C", writes = { m }, fn = function()
    m:set((d.sel:get() and d.b:get() or d.a:get()) * 10)
  end }
  local seen, e = graph.watch(rt, "E", "m")
  rt:idle()
  d.sel:set(true); rt:idle()
  d.a:set(999)
  t:eq(c:status(), "clean")
  rt:idle()
  d.b:set(6); rt:idle()
  t:eq(seen, { 20, 70, 60 })
  t:eq(e:runs(), 3)
end)

test("PULL-16 a change makes its readers invalid, and nobody else", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1 })
  local a  = graph.computation(rt, "A", "s -> m", function(s) return s end)
  local b  = graph.computation(rt, "B", "m -> o", function(m) return m end)
  local _, e = graph.watch(rt, "E", "o")
  rt:idle()
  d.s:set(2)
  t:eq({ a:status(), b:status(), e:status() }, { "invalid", "clean", "clean" })
end)

test("PULL-18 a constant stops everything behind it", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1 })
  local a  = graph.computation(rt, "A", "s -> st", function() return 1 end)
  local b  = graph.computation(rt, "B", "st -> o", graph.identity)
  local _, e = graph.watch(rt, "E", "o")
  rt:idle()
  d.s:set(2); rt:idle()
  t:eq({ a:runs(), b:runs(), e:runs() }, { 2, 1, 1 })
end)

test("PULL-22 a child that changes what its parent has read", function(t)
  local rt = t:runtime()
  local i, samples, k = rt:doc("i", 1), {}, nil
  rt:effect{ name = "P", fn = function()
    samples[#samples + 1] = i:get()
    k = rt:computation{ name = "K", writes = { i }, fn = function() i:set(2) end }
  end }
  rt:idle()
  t:eq(samples, { 1, 2 })
  t:eq(k:runs(), 1)
end)

test("PULL-26 a node that nobody wants never runs", function(t)
  local rt = t:runtime()
  local d  = graph.docs(rt, { s = 1 })
  local c  = graph.computation(rt, "C", "s -> o", graph.identity, { declared = true })
  rt:idle(); d.s:set(2); rt:idle()
  t:eq({ c:status(), c:runs(), c:live() }, { "never-ran", 0, false })
  t:eq(c:reads(), { { doc = "s", space = "main", path = heddle.array{} } })
  t:eq(c:causes(), heddle.array{})
end)

test("PULL-28 through a link", function(t)
  local rt = t:runtime()
  local s, io = rt:doc("s", heddle.array{}), rt:doc("io")
  local oi, oo = rt:doc("oi", { to = io:link() }), rt:doc("oo")
  local i = rt:computation{ name = "I", writes = { io }, fn = function() io:set(s:get()[1] or heddle.null) end }
  local o = rt:computation{ name = "O", writes = { oo }, fn = function()
    local v = oi:get().to
    oo:set(v == heddle.null and "default" or v or "default")
  end }
  local seen, e = graph.watch(rt, "E", "oo")
  rt:idle()
  s:set{ "apple" }; rt:idle()
  t:eq(seen, { "default", "apple" })
  t:eq({ i:runs(), o:runs(), e:runs() }, { 2, 2, 2 })
end)

test("PULL-29 a link to what comes later", function(t)
  local rt = t:runtime()
  local target = rt:doc("t")
  local src = rt:doc("src", { profile = target:link() })
  local seen = {}
  rt:sink(src:key("profile", "name"), function(v) seen[#seen + 1] = v or "absent" end)
  rt:idle()
  target:set{ name = "Ada" }; rt:idle()
  target:key("name"):set("Grace"); rt:idle()
  t:eq(seen, { "absent", "Ada", "Grace" })
end)

test("PULL-33 lengths", function(t)
  local rt = t:runtime()
  local arr, lengths = rt:doc("arr", { 1, 2, 3 }), {}
  rt:sink(arr, function(v) lengths[#lengths + 1] = #v end)
  rt:idle()
  arr:set{ 1, 2, 3, 4, 5 }; rt:idle()
  t:eq(lengths, { 3, 5 })
end)

test("PULL-34 a filter over an array", function(t)
  local rt = t:runtime()
  local items, names = rt:doc("items", { { name = "item1" }, { name = "item2", hidden = true } }), rt:doc("names")
  local c = rt:computation{ name = "F", writes = { names }, fn = function()
    local found = heddle.array{}
    for _, item in ipairs(items:get()) do
      if not item.hidden then found[#found + 1] = item.name end
    end
    names:set(found)
  end }
  t:eq(rt:pull(names), { "item1" })
  items:append{ name = "item3" }
  t:eq(rt:pull(names), { "item1", "item3" })
  t:eq(c:runs(), 2)
end)

test("PULL-38 registered again after a cancel", function(t)
  local rt = t:runtime()
  local items, count = rt:doc("items", { 1 }), rt:doc("count")
  local function register()
    return rt:computation{ name = "N", writes = { count }, fn = function() count:set(#items:get()) end }
  end
  local c = register()
  t:eq(rt:pull(count), 1)
  c:cancel()
  items:append(2)
  t:eq(rt:pull(count), 1)
  register()
  t:eq(rt:pull(count), 2)
end)
