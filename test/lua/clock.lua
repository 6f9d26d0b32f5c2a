-- heddle.clock: a cell that holds the start of the current interval.
local heddle = require "heddle"
local test   = require "heddle.test"

-- A computation that reads a clock into `out`, and an effect that looks at it.
local function reader(rt, ms, look)
  local out  = rt:doc("out")
  local node = rt:computation{ name = "c", writes = { out }, fn = function() out:set(heddle.clock(ms):get()) end }
  local seen = {}
  if look then rt:effect{ name = "e", fn = function() seen[#seen + 1] = out:get() end } end
  return node, seen
end

-- ---- who is woken, and when ----

test("a live reader runs once per interval that has begun", function(t)
  local rt = t:runtime()
  local node, seen = reader(rt, 1000, true)
  rt:idle()
  t:eq({ seen, node:runs() }, { { 0 }, 1 })
  rt:advance(999); rt:idle()
  t:eq(node:runs(), 1)
  rt:advance(1); rt:idle()
  t:eq({ seen, node:runs() }, { { 0, 1000 }, 2 })
  rt:advance(3700); rt:idle() -- intervals in which nothing ran are left out
  t:eq({ seen, node:runs() }, { { 0, 1000, 4000 }, 3 })
  rt:advance(299); rt:idle()
  t:eq(node:runs(), 3)
end)

test("idle does not move the clock to the next interval", function(t)
  local rt = t:runtime()
  local node = reader(rt, 1000, true)
  rt:idle(); rt:settled()
  t:eq({ rt:now(), node:runs() }, { 0, 1 })
end)

test("a reader that is not live costs nothing, and is up to date when it is read", function(t)
  local rt = t:runtime()
  local node = reader(rt, 1000)
  local out = rt:doc("out")
  t:eq(rt:pull(out), 0)
  local runs, commits = rt:stats().runs, rt:stats().commits
  rt:advance(60000); rt:idle()
  t:eq({ rt:stats().runs - runs, rt:stats().commits - commits, node:runs() }, { 0, 0, 1 })
  t:eq(rt:pull(out), 60000)
  t:eq(node:runs(), 2)
  t:eq(rt:pull(out), 60000)
  t:eq(node:runs(), 2)
end)

test("the last reader that goes ends the ticks", function(t)
  local rt = t:runtime()
  local node = rt:effect{ name = "e", fn = function() heddle.clock(100):get() end }
  rt:idle(); rt:advance(100); rt:idle()
  t:eq(node:runs(), 2)
  node:cancel(); rt:idle()
  local runs = rt:stats().runs
  rt:advance(1000); rt:idle()
  t:eq(rt:stats().runs, runs)
end)

test("a reader that gives the same in the next interval stops the wave", function(t)
  local rt, out = t:runtime(), nil
  out = rt:doc("day")
  local c = rt:computation{ name = "day", writes = { out }, fn = function() out:set(heddle.clock(1000):get() // 10000) end }
  local e = rt:effect{ name = "e", fn = function() out:get() end }
  rt:idle()
  for _ = 1, 20 do rt:advance(1000); rt:idle() end
  t:eq({ c:runs(), e:runs() }, { 21, 3 })
end)

-- ---- one cell ----

test("clocks of one length are one cell", function(t)
  local rt = t:runtime()
  t:ok(heddle.clock(1000) == heddle.clock(1000))
  t:ok(heddle.clock(1000) ~= heddle.clock(2000))
  for i = 1, 3 do rt:effect{ name = "e" .. i, fn = function() heddle.clock(1000):get() end } end
  rt:idle()
  local runs = rt:stats().runs
  rt:advance(1000); rt:idle()
  t:eq(rt:stats().runs - runs, 4) -- the clock, and each reader
end)

test("clocks of several lengths in one reader", function(t)
  local rt, seen = t:runtime(), {}
  rt:effect{ name = "e", fn = function() seen[#seen + 1] = { heddle.clock(300):get(), heddle.clock(500):get() } end }
  rt:idle()
  for _ = 1, 10 do rt:advance(100); rt:idle() end
  t:eq(seen, { { 0, 0 }, { 300, 0 }, { 300, 500 }, { 600, 500 }, { 900, 500 }, { 900, 1000 } })
end)

test("a sink on a clock, and a sample that does not subscribe", function(t)
  local rt, seen = t:runtime(), {}
  local node = rt:sink(heddle.clock(1000), function(value) seen[#seen + 1] = value end)
  local e = rt:effect{ name = "e", fn = function() heddle.clock(1000):sample() end }
  rt:idle(); rt:advance(1500); rt:idle()
  t:eq({ seen, node:runs(), e:runs() }, { { 0, 1000 }, 2, 1 })
end)

-- ---- patterns and handlers ----

local alarm = heddle.pattern("alarm", function(p)
  local minute = heddle.clock(60000)
  local due    = p:state("due", 120000)
  local late   = p:computed("late", function() return minute:get() >= due:get() end)
  local asked  = p:handler("asked", function() return { minute = minute:get(), late = late:get() } end)
  return { minute = minute, late = late, asked = asked }
end)

test("a pattern declares a clock, and a handler reads what is current", function(t)
  local rt = t:runtime()
  local piece = rt:run(alarm)
  t:eq({ piece:get("minute"), piece:get("late") }, { 0, false })
  rt:advance(130000)
  local ticket = piece:send("asked"); rt:settled()
  t:eq(ticket:receipt(), { minute = 120000, late = true })
  t:eq({ piece:get("minute"), piece:get("late") }, { 120000, true })
end)

test("a handler reads a clock that nothing has read before", function(t)
  local rt = t:runtime()
  local go, seen = rt:stream("go"), nil
  rt:on(go, function() seen = heddle.clock(1000):get() end)
  rt:advance(2500); go:send(1); rt:settled()
  t:eq(seen, 2000)
  rt:advance(1000); go:send(2); rt:settled()
  t:eq(seen, 3000)
end)

test("events in an interval do not run a reader of the clock", function(t)
  local rt = t:runtime()
  local n, go = rt:doc("n", 0), rt:stream("go")
  rt:on(go, function() n:set(n:get() + 1) end)
  local node = reader(rt, 1000, true)
  for i = 1, 5 do go:send(i); rt:settled() end
  t:eq({ n:get(), node:runs() }, { 5, 1 })
end)

-- ---- restarts and other runtimes ----

test("after a restart in the same interval nothing runs", function(t)
  local rt = t:runtime()
  local node = reader(rt, 1000, true)
  rt:idle(); rt:settled()
  rt = rt:restart()
  local counts = rt:resume(function() node = reader(rt, 1000, true) end)
  rt:idle()
  t:eq({ counts.restored, node:runs() }, { 2, 0 })
end)

test("after a restart an earlier interval is stale, and its reader runs when it is demanded", function(t)
  local rt = t:runtime()
  local node = reader(rt, 1000)
  t:eq(rt:pull(rt:doc("out")), 0)
  rt:settled()
  rt = rt:restart()
  rt:advance(5000)
  rt:resume(function() node = reader(rt, 1000) end)
  rt:idle()
  t:eq(node:runs(), 0)
  t:eq({ rt:pull(rt:doc("out")), node:runs() }, { 5000, 1 })
end)

test("after a restart a live reader is woken by the next interval", function(t)
  local rt = t:runtime()
  local node, seen = reader(rt, 1000, true)
  rt:idle(); rt:settled()
  rt = rt:restart()
  rt:resume(function() node, seen = reader(rt, 1000, true) end)
  rt:idle(); rt:advance(1000); rt:idle()
  t:eq({ seen, node:runs() }, { { 1000 }, 1 })
end)

test("a runtime that adopted the run of another one has the clock, too", function(t)
  local cluster, nodes, seen = t:cluster(2), {}, {}
  for i, rt in ipairs(cluster) do nodes[i] = reader(rt, 1000) end
  cluster:settled()
  cluster[1]:effect{ name = "first", fn = function() cluster[1]:doc("out"):get() end }
  cluster:settled()
  t:eq({ nodes[1]:runs(), nodes[2]:runs(), cluster[2]:stats().adopted }, { 1, 0, 1 })
  cluster[2]:effect{ name = "second", fn = function() seen[#seen + 1] = cluster[2]:doc("out"):get() end }
  cluster:settled()
  nodes[1]:cancel()
  cluster[1]:advance(1000); cluster:settled()
  t:eq({ seen, nodes[2]:runs() }, { { 0, 1000 }, 1 })
end)

test("a clock that another runtime left behind is set again", function(t)
  local cluster = t:cluster(2)
  local _, seen = reader(cluster[1], 1000, true)
  cluster[1]:advance(5000); cluster:settled()
  local clock = cluster[2]:doc("clock:1000")
  local late = cluster[2]:computation{ name = "late", writes = { clock }, fn = function() clock:set(3000) end }
  cluster[2]:pull(clock)
  t:eq(late:runs(), 1)
  late:cancel()
  cluster:settled()
  t:eq({ seen[#seen], cluster[1]:pull(cluster[1]:doc("clock:1000")) }, { 5000, 5000 })
end)

-- ---- refusals ----

test("a clock has one writer", function(t)
  local rt = t:runtime()
  local seen
  local piece = rt:run(heddle.pattern("p", function(p)
    p:effect("e", function() seen = heddle.clock(1000):get() end)
    return {
      set = p:handler("set", function() heddle.clock(1000):set(5) end),
      delete = p:handler("delete", function() heddle.clock(1000):delete() end),
    }
  end))
  rt:advance(2000); rt:idle()
  for _, name in ipairs{ "set", "delete" } do
    local ticket = piece:send(name)
    rt:settled()
    t:eq(ticket:state(), "failed")
    t:ok(ticket:error().message:find("'clock:1000' is a clock: it cannot be set", 1, true), ticket:error().message)
  end
  t:fails(function() rt:doc("clock:1000"):set(5) end, "'clock:1000' is a clock: it cannot be set")
  t:fails(function() rt:edit(function() rt:doc("clock:1000"):set(5) end) end, "is a clock")
  rt:settled()
  t:eq(seen, 2000)
  rt:errors()
end)

test("an interval is a whole number of milliseconds, not too short", function(t)
  local rt = t:runtime()
  t:fails(function() heddle.clock(9) end, "from 10 on, not 9")
  t:fails(function() heddle.clock(-1000) end, "not %-1000")
  t:fails(function() heddle.clock(10.5) end, "integer")
  t:fails(function() heddle.clock() end, "number expected")
  t:fails(function() heddle.clock("a minute") end, "number expected")
  t:eq(rt:pull(heddle.clock(10)), 0)
end)

test("a test with several runtimes says in which one", function(t)
  t:cluster(2)
  t:fails(function() heddle.clock(1000) end, "call it there")
end)
