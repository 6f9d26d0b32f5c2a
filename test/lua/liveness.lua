-- Groups 8 and 9: who is live, and what does not come to rest.
local test  = require "heddle.test"
local graph = require "lib.graph"

test("LIVE-02 demand goes up, and back", function(t)
  local rt = t:runtime()
  graph.docs(rt, { s = 1 })
  local a = graph.computation(rt, "A", "s -> m", graph.identity, { declared = true })
  local b = graph.computation(rt, "B", "m -> o", graph.identity, { declared = true })
  t:eq({ a:live(), b:live() }, { false, false })
  local _, e = graph.watch(rt, "E", "o")
  rt:idle()
  t:eq({ a:live(), b:live() }, { true, true })
  e:cancel()
  t:eq({ a:live(), b:live() }, { false, false })
end)

test("LIVE-05 shared by two effects", function(t)
  local rt = t:runtime()
  graph.docs(rt, { s = 1 })
  local c = graph.computation(rt, "C", "s -> o", graph.identity)
  local _, e1 = graph.watch(rt, "E1", "o")
  local _, e2 = graph.watch(rt, "E2", "o")
  rt:idle()
  e1:cancel(); t:eq(c:live(), true)
  e2:cancel(); t:eq(c:live(), false)
end)

test("LIVE-08 a reader before its writer", function(t)
  local rt = t:runtime()
  graph.docs(rt, { s = 1 })
  local seen = graph.watch(rt, "E", "o")
  rt:idle()
  local c = graph.computation(rt, "C", "m -> o", graph.identity)
  local w = graph.computation(rt, "W", "s -> m", graph.identity)
  rt:idle()
  t:eq({ c:live(), w:live() }, { true, true })
  t:eq(seen[#seen], 1)
end)

test("LIVE-09 a cycle alone is not live", function(t)
  local rt = t:runtime{ idempotency_check = false }
  graph.docs(rt, { a = 0, b = 0 })
  local a = graph.computation(rt, "A", "b -> a", graph.identity, { declared = true })
  local b = graph.computation(rt, "B", "a -> b", graph.identity, { declared = true })
  local _, e = graph.watch(rt, "E", "a")
  rt:idle()
  t:eq({ a:live(), b:live() }, { true, true })
  e:cancel()
  t:eq({ a:live(), b:live() }, { false, false })
end)

test("LIVE-15 a child and its reader, created together", function(t)
  local rt = t:runtime()
  local cs, co, seen, k = rt:doc("cs", 1), rt:doc("co"), {}, nil
  rt:effect{ name = "P", fn = function()
    k = rt:computation{ name = "K", writes = { co }, fn = function() co:set(cs:get() * 10) end }
    rt:effect{ name = "R", fn = function() seen[#seen + 1] = co:get() end }
  end }
  rt:idle()
  cs:set(2); rt:idle()
  t:eq(k:runs(), 2)
  t:eq(seen, { 10, 20 })
end)

test("LIVE-16 idle waits for the first run of a child", function(t)
  local rt = t:runtime()
  local s, o, k = rt:doc("s", 3), rt:doc("o"), nil
  rt:effect{ name = "P", fn = function()
    k = rt:computation{ name = "K", writes = { o }, debounce = 200, fn = function() o:set(s:get() * 10) end }
  end }
  local began = rt:now()
  rt:idle()
  t:eq(k:runs(), 1)
  t:eq(o:get(), 30)
  t:eq(rt:now() - began, 200)
end)

test("LIVE-17 and for no other", function(t)
  local rt = t:runtime()
  local s, o, k = rt:doc("s", 3), rt:doc("o"), nil
  rt:effect{ name = "P", fn = function()
    k = rt:computation{ name = "K", writes = { o }, fn = function() o:set(s:get() * 10) end }
  end }
  rt:idle()
  t:eq(o:get(), 30)
  s:set(4); rt:idle()
  t:eq({ k:runs(), o:get(), k:status() }, { 1, 30, "invalid" })
end)

test("CONV-04 a cycle that never rests does not stop the others", function(t)
  local rt = t:runtime{ idempotency_check = false }
  graph.docs(rt, { a = 0, b = 0, us = 7 })
  local a = graph.computation(rt, "A", "b -> a", function(b) return b + 1 end)
  local b = graph.computation(rt, "B", "a -> b", function(a) return a + 1 end)
  graph.watch(rt, "E", "b")
  graph.computation(rt, "U", "us -> uo", function(v) return v * 10 end)
  local seen = graph.watch(rt, "V", "uo")
  t:ok(rt:idle())
  t:ok(a:runs() <= 41 and b:runs() <= 41, a:runs() .. " " .. b:runs())
  t:eq(seen, { 70 })
  local told = rt:errors()
  t:ok(told[#told].message:find("A and B form a cycle that does not settle", 1, true))
end)

test("CONV-09 a node that feeds itself comes to rest", function(t)
  local rt = t:runtime{ idempotency_check = false }
  local x = rt:doc("x", 0)
  local e = rt:effect{ name = "E", fn = function() if x:get() < 5 then x:set(x:get() + 1) end end }
  for _ = 1, 20 do rt:idle() end
  t:ok(x:get() <= 5)
  t:ok(e:runs() < 200)
end)

test("CONV-15 a chain of any depth runs once a node, in one pass", function(t)
  local rt = t:runtime{ idempotency_check = false }
  local head, links = rt:doc("d0", 0), {}
  for i = 1, 50 do
    links[i] = graph.computation(rt, "L" .. i, "d" .. (i - 1) .. " -> d" .. i, function(v) return v + 1 end)
  end
  local seen = graph.watch(rt, "E", "d50")
  rt:idle()
  local runs, passes = rt:stats().runs, rt:stats().passes
  head:set(5); rt:idle()
  t:eq(seen, { 50, 55 })
  t:eq(rt:stats().runs - runs, 51)
  for _, link in ipairs(links) do t:eq(link:runs(), 2) end
end)
