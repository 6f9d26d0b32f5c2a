-- Groups 16 to 23: materializers, time, retries, idempotency.
local heddle = require "heddle"
local test   = require "heddle.test"
local graph  = require "lib.graph"

test("MAT-01 a materializer needs no reader", function(t)
  local rt = t:runtime()
  local s, m = rt:doc("s", 1), rt:doc("mt")
  local c = rt:computation{ name = "M", envelope = { m }, fn = function() m:set(s:get()) end }
  rt:idle()
  t:eq({ c:runs(), m:get(), c:live() }, { 1, 1, true })
  s:set(2); rt:idle()
  t:eq({ c:runs(), m:get() }, { 2, 2 })
  t:eq(rt:graph().nodes[1].kind, "materializer")
end)

test("MAT-07 an event sees what a materializer will have written", function(t)
  local rt = t:runtime()
  local s, m, seen = rt:doc("s", 1), rt:doc("mt"), {}
  rt:computation{ name = "M", envelope = { m }, fn = function() m:set(s:get()) end }
  local go = rt:stream("go")
  rt:on(go, function() seen[#seen + 1] = m:get() end, { reads = { m } })
  rt:idle()
  s:set(2); go:send(1); rt:settled()
  t:eq(seen, { 2 })
end)

test("TIME-05 each change begins the window anew", function(t)
  local rt = t:runtime()
  local s  = rt:doc("s", 1)
  local c  = graph.computation(rt, "C", "s -> r", function(v) return v * 10 end, { debounce = 50 })
  local seen = graph.watch(rt, "E", "r")
  rt:idle()
  t:eq(seen, { 10 }) -- the first run is not delayed
  s:set(2); rt:step(); rt:advance(25); rt:step()
  s:set(3); rt:step(); rt:advance(30); rt:step()
  t:eq(c:runs(), 1)
  t:eq({ c:gate() }, { "debounce", 20 })
  rt:advance(20); rt:idle()
  t:eq(seen, { 10, 30 })
end)

test("NEW-07 a debounce has a longest wait", function(t)
  -- How long changes every 10 ms can hold a run back.
  local function longest(options)
    local rt = t:runtime{ idempotency_check = false }
    local s  = rt:doc("s", 0)
    local e  = graph.effect(rt, "E", "s", function() end, options)
    rt:idle()
    for i = 1, 1000 do
      s:set(i); rt:step()
      if e:runs() > 1 then return (i - 1) * 10 end
      rt:advance(10)
    end
  end
  t:eq(longest{ debounce = 50 }, 1000) -- at least a second
  t:eq(longest{ debounce = 200 }, 2000) -- ten windows
  t:eq(longest{ debounce = 50, debounce_max = 120 }, 120)
end)

test("TIME-06 a cancelled node has no window", function(t)
  local rt = t:runtime()
  local e = rt:effect{ name = "E", debounce = 30000, fn = function() end }
  local began = rt:now()
  e:cancel()
  rt:idle()
  t:eq({ e:runs(), rt:now() - began }, { 0, 0 })
end)

test("TIME-10 a slow effect is given a window", function(t)
  local rt = t:runtime()
  local s  = rt:doc("s", 0)
  local e  = rt:effect{ name = "E", fn = function() s:get(); rt:advance(60) end }
  local f  = rt:effect{ name = "F", no_auto_debounce = true, fn = function() s:get(); rt:advance(60) end }
  for i = 1, 3 do s:set(i); rt:idle() end
  s:set(9); rt:step()
  t:eq(e:gate(), "debounce")
  t:eq(f:gate(), nil)
end)

test("TIME-13 an effect's first run waits, too", function(t)
  local rt = t:runtime()
  local e = rt:effect{ name = "E", debounce = 50, fn = function() end }
  rt:step()
  t:eq(e:runs(), 0)
  rt:advance(50); rt:step()
  t:eq(e:runs(), 1)
end)

test("IDLE-07 idle does not wait for a computation behind its window", function(t)
  local rt = t:runtime()
  local s  = rt:doc("s", 1)
  local c  = graph.computation(rt, "C", "s -> r", graph.identity, { debounce = 30000 })
  graph.watch(rt, "E", "r")
  rt:idle()
  local began = rt:now()
  s:set(2)
  t:ok(rt:idle())
  t:eq({ c:runs(), rt:now() - began }, { 1, 0 })
end)

test("THR-06 a distance between runs", function(t)
  local rt = t:runtime()
  local s  = rt:doc("s", 1)
  local seen, values = nil, {}
  rt:effect{ name = "E", throttle = 500, fn = function() values[#values + 1] = s:get() * 2 end }
  rt:step()
  s:set(5); rt:advance(80); rt:step()
  t:eq(values, { 2 })
  rt:advance(420); rt:step()
  t:eq(values, { 2, 10 })
  s:set(10); rt:idle()
  t:eq(values, { 2, 10, 20 })
end)

test("THR-08 a throttle that is taken away", function(t)
  local rt = t:runtime()
  local s, values = rt:doc("s", 1), {}
  local e = rt:effect{ name = "E", fn = function() values[#values + 1] = s:get() end }
  rt:idle()
  e:throttle(30000)
  s:set(2); rt:step()
  t:eq(values, { 1 })
  e:throttle(nil)
  local began = rt:now()
  rt:idle()
  t:eq(values, { 1, 2 })
  t:eq(rt:now(), began)
end)

test("RETRY-03 what is refused for good is not tried again", function(t)
  local rt = t:runtime()
  local s, o = rt:doc("s", 1), rt:doc("o", 0)
  rt:settled()
  local attempts = 0
  rt:effect{ name = "E", fn = function() attempts = attempts + 1; o:set(s:get()) end }
  rt:reject_next{ kind = "permanent" }
  rt:settled()
  t:eq({ attempts, o:get() }, { 1, 0 })
end)

test("RETRY-06 conflicts are, as often as it takes", function(t)
  local rt = t:runtime()
  local s, o = rt:doc("s", 1), rt:doc("o", 0)
  rt:settled()
  rt:effect{ name = "E", fn = function() o:set(s:get()) end }
  rt:reject_next{ kind = "conflict", times = 15 }
  rt:settled()
  t:eq(o:get(), 1)
end)

test("RETRY-10 an attempt that is given up leaves nothing", function(t)
  local rt = t:runtime()
  local s, i, attempts = rt:doc("s", 1), rt:doc("i", 0), 0
  local a = rt:computation{ name = "A", writes = { i }, fn = function(tx)
    attempts = attempts + 1
    i:set(s:get() * 10)
    if attempts < 3 then tx:abort() end
  end }
  local b = graph.computation(rt, "B", "i -> o", function(v) return v + 5 end)
  local seen = graph.watch(rt, "E", "o")
  rt:idle()
  t:eq({ a:runs(), i:get(), rt:doc("o"):get() }, { 1, 10, 15 })
  t:ok(b:runs() <= 2)
  t:eq(seen[#seen], 15)
end)

test("RETRY a transient failure is tried again", function(t)
  local rt = t:runtime()
  local s, o = rt:doc("s", 1), rt:doc("o", 0)
  rt:settled()
  rt:effect{ name = "E", fn = function() o:set(s:get()) end }
  rt:reject_next{ kind = "transient", times = 3 }
  rt:settled()
  t:eq(o:get(), 1)
end)

test("a run that fails is not a run, and is woken by what it read", function(t)
  local rt = t:runtime()
  local s  = rt:doc("s", 1)
  local e  = rt:effect{ name = "E", fn = function() if s:get() == 2 then error("boom") end end }
  rt:idle()
  s:set(2); rt:idle()
  t:eq(e:runs(), 1)
  local errors = rt:errors()
  t:eq({ #errors, errors[1].source, errors[1].at }, { 1, "E", rt:now() })
  t:ok(errors[1].message:find("time.lua:%d+: boom"))
  s:set(3); rt:idle()
  t:eq(e:runs(), 2)
end)

test("IDEM-01 what draws again is not idempotent, what repeats its draw is", function(t)
  local rt, n = t:runtime(), 0
  local a, b, c = rt:doc("a"), rt:doc("b"), rt:doc("c")
  rt:computation{ name = "A", writes = { a }, fn = function() n = n + 1; a:set(n) end }
  rt:computation{ name = "B", writes = { b }, fn = function() b:set({ heddle.random(), heddle.now() }) end }
  rt:computation{ name = "C", writes = { c }, fn = function() c:set((a:get() or 0) * 2) end }
  for _, cell in ipairs{ a, b, c } do rt:sink(cell, function() end) end
  rt:idle()
  local violations = rt:violations()
  t:eq(#violations, 1)
  t:eq({ violations[1].source, violations[1].before, violations[1].after }, { "A", 1, 2 })
end)

test("IDEM without the check nobody looks", function(t)
  local rt, n = t:runtime{ idempotency_check = false }, 0
  local a = rt:doc("a")
  rt:computation{ name = "A", writes = { a }, fn = function() n = n + 1; a:set(n) end }
  t:eq(rt:pull(a), 1)
  t:eq(n, 1)
end)

test("why_not: a clean node behind one that has to run waits for it", function(t)
  local rt = t:runtime()
  local s, late, more = rt:doc("s", 1), rt:doc("late"), rt:doc("more")
  rt:computation{ name = "late", writes = { late }, debounce = 1000, fn = function() late:set(s:get()) end }
  rt:computation{ name = "more", writes = { more }, fn = function() more:set(late:get()) end }
  local look = rt:effect{ name = "look", fn = function() more:get() end }
  rt:idle()
  t:ok(rt:why_not(look).text:find("look is up to date", 1, true))
  s:set(2); rt:step()
  t:ok(rt:why_not(look).text:find("look waits for late, which must run first", 1, true))
  rt:advance(1000); rt:idle()
  t:eq(more:get(), 2)
  t:ok(rt:why_not(look).text:find("look is up to date", 1, true))
end)
