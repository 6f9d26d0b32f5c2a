-- Timers: events that are due later, on the clock of the test.
local heddle = require "heddle"
local test   = require "heddle.test"

-- A log that a stream appends to; each entry is what was sent and heddle.now().
local function logger(t, rt)
  rt = rt or t:runtime()
  local log, ring = rt:doc("log", heddle.array{}), rt:stream("ring")
  rt:on(ring, function(event) log:append{ event, heddle.now() } end)
  rt:idle()
  return rt, log, ring
end

-- The clock of a test begins at 0; local times need a date.
local function at_date(t, ms)
  local rt = t:runtime()
  rt:advance(ms - rt:now())
  return logger(t, rt)
end

local hour, day = 3600000, 86400000
local berlin, new_york = "Europe/Berlin", "America/New_York"

-- ---- what is returned and listed ----

-- A piece that sends `tick` with the ids that an event of `go` names. With `cancel` it sends an event before that cancels the last of them.
local function sender(p)
  local log, ids = p:state("log", heddle.array{}), p:state("ids", heddle.array{})
  local tick = p:handler("tick", function(event) log:append(event) end)
  local cancel = p:handler("cancel", function(n) log:append(heddle.cancel(ids:get()[n])) end)
  return {
    log = log, ids = ids, tick = tick, cancel = cancel,
    go = p:handler("go", function(event)
      if event.cancel then heddle.send(cancel, #event.sends) end
      for i, sent in ipairs(event.sends) do
        local options = { id = sent.id, session = sent.session, after = sent.after }
        ids:append(heddle.send(tick, sent.id .. i, options))
      end
    end),
    both = p:handler("both", function() return { heddle.send(tick, 1, { id = "x" }), heddle.cancel("x"), heddle.cancel("x") } end),
    fail = p:handler("fail", function() heddle.send(tick, 1, { id = "x" }) error("no") end),
  }
end

test("an event of a handler can have an id, and is handled at once", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", sender))
  piece:send("go", { sends = { { id = "a" }, { id = "b" } } }); rt:settled()
  t:eq({ rt:now(), piece:get("ids"), piece:get("log") }, { 0, { "a", "b" }, { "a1", "b2" } })
  piece:send("go", { sends = { { id = "a" } } }); rt:settled() -- the id is free again
  t:eq({ piece:get("log"), #rt:timers(), #rt:events() }, { { "a1", "b2", "a1" }, 0, 0 })
  local ticket = piece:send("both"); rt:settled()
  t:eq(ticket:receipt(), { "x", true, false })
  piece:send("fail"); rt:settled(); rt:errors()
  t:eq(piece:get("log"), { "a1", "b2", "a1" })
  t:fails(function() piece:send("tick", 1, { id = "x" }) end, "must be given together")
end)

test("the same id replaces an event that waits", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", sender))
  piece:send("go", { sends = { { id = "a" }, { id = "a" } } }); rt:settled()
  t:eq(piece:get("log"), { "a2" })
  piece:send("go", { sends = { { id = "b", after = 1000 } } }); rt:settled()
  piece:send("go", { sends = { { id = "b" } } }); rt:settled()
  rt:advance(2000); rt:idle()
  t:eq(piece:get("log"), { "a2", "b1" })
end)

test("heddle.cancel takes back an event that waits, by the id that was returned", function(t)
  for _, session in ipairs{ "none", "s" } do
    local rt = t:runtime()
    local piece = rt:run(heddle.pattern("p", sender))
    local sent = { id = "n", session = session ~= "none" and session or nil }
    piece:send("go", { cancel = true, sends = { sent } }); rt:settled()
    t:eq({ session, piece:get("log") }, { session, { true } })
    piece:send("cancel", 1); rt:settled()
    t:eq({ piece:get("log"), #rt:timers(), #rt:events() }, { { true, false }, 0, 0 })
    rt:errors()
  end
end)

test("heddle.send returns an id, and heddle.cancel takes it", function(t)
  local rt = t:runtime()
  local ids, was = {}, {}
  local start, ring, other = rt:stream("start"), rt:stream("ring"), rt:stream("other")
  rt:on(start, function()
    ids = { heddle.send(ring, 1, { after = 100 }), heddle.send(ring, 2, { after = 200, id = "two" }), heddle.send(other, 3) }
  end)
  rt:on(ring, function(event) was[#was + 1] = heddle.cancel(event) end)
  start:send(1); rt:settled()
  t:eq({ #ids, type(ids[1]), ids[2], type(ids[3]) }, { 3, "string", "two", "string" })
  t:eq({ #rt:timers(), #rt:events() }, { 2, 1 }) -- "other" has no handler: its event waits
  for _, id in ipairs(ids) do ring:send(id) end
  ring:send("two"); rt:settled()
  t:eq({ was, rt:timers(), rt:events() }, { { true, true, true, false }, {}, {} })
  rt:errors()
end)

test("a handler cancels a timer of another stream by its id", function(t)
  local rt, log, ring = logger(t)
  local control, was = rt:stream("control"), {}
  rt:on(control, function(event)
    if event == "set" then heddle.send(ring, "x", { after = 100, id = "x" })
    else was[#was + 1] = heddle.cancel("x") end
  end)
  control:send("set"); control:send("drop"); control:send("drop"); rt:settled()
  t:eq(was, { true, false })
  control:send("set"); rt:settled()
  rt:advance(100); rt:idle()
  t:eq(log:value(), { { "x", 100 } })
  control:send("drop"); rt:settled()
  t:eq(was[3], false)
end)

for _, options in ipairs{ {}, { after = 500 }, { every = 500 } } do
  local kind = next(options) or "event"
  test("a handler takes back what it has just sent, by its id: " .. kind, function(t)
    local rt = t:runtime()
    local calls, was, log = 0, {}, {}
    local start, ring = rt:stream("start"), rt:stream("ring")
    rt:on(ring, function(event) log[#log + 1] = event end)
    rt:on(start, function()
      calls = calls + 1
      local first = heddle.send(ring, "first", options)
      local second = heddle.send(ring, "second", options.every and { after = 500 } or options)
      was = { heddle.cancel(first), heddle.cancel(first), second }
    end)
    local ticket = start:send(1); rt:settled()
    rt:advance(500); rt:idle(); rt:settled()
    t:eq({ ticket:state(), calls, was[1], was[2], log }, { "done", 1, true, false, { "second" } })
    t:eq({ rt:timers(), rt:events() }, { {}, {} })
    rt = rt:restart(); rt:settled()
    t:eq({ #rt:timers(), #rt:events() }, { 0, 0 })
  end)
end

test("rt:timers() lists what is set, in the order of time", function(t)
  local rt, log, ring = logger(t)
  ring:send("b", { after = 500, id = "b" }); ring:send("a", { after = 300 }); rt:settled()
  local timers = rt:timers()
  t:eq({ timers[2], timers[1].stream, timers[1].due, timers[1].payload },
    { { id = "b", stream = "ring", due = 500, payload = "b" }, "ring", 300, "a" })
  rt:advance(300); rt:idle()
  t:eq({ #rt:timers(), #rt:events() }, { 1, 0 })
end)

test("rt:events() lists what waits, by the piece and the handler", function(t)
  local rt = t:runtime()
  local relay = heddle.pattern("relay", function(p)
    local out = p:state("out", 0)
    local take = p:handler("take", function() out:set(out:get() + 1) end)
    local go = p:handler("go", function(event) heddle.send(take, event); heddle.send(take, { event }) end)
    return { go = go, out = out }
  end)
  local piece = rt:run(relay)
  rt:settled(); rt:hold(true)
  t:eq(rt:events(), {})
  piece:send("go", 7); rt:hold(false); rt:step()
  local list = rt:events()
  t:ok(#list <= 2)
  for _, event in ipairs(list) do t:eq({ event.piece, event.stream }, { "relay", "take" }) end
  rt:settled()
  t:eq({ piece:get("out"), rt:events() }, { 2, {} })
end)

test("cron fields and their time zone", function(t)
  local rt, log, ring = at_date(t, 1767225600000) -- 2026-01-01
  ring:send("nine", { cron = "0 9 * * *", tz = berlin }); rt:settled()
  rt:advance(day); rt:idle()
  t:eq(log:value(), { { "nine", 1767225600000 + 8 * hour } })
end)

-- ---- one event ----

test("an event after a time is handled then, and once", function(t)
  local rt, log, ring = logger(t)
  local ticket = ring:send("tea", { after = 300 })
  rt:settled()
  t:eq(ticket:state(), "stored")
  rt:advance(299); rt:idle()
  t:eq(log:value(), {})
  rt:advance(1); rt:idle()
  t:eq(log:value(), { { "tea", 300 } })
  rt:advance(100000); rt:idle()
  t:eq(#log:value(), 1)
end)

test("an event at a time, as a number or as a text", function(t)
  local rt, log, ring = logger(t)
  ring:send("b", { at = 2000 })
  ring:send("a", { at = "1970-01-01T00:00:01.500Z" })
  ring:send("c", { at = "1970-01-01T01:00:03+01:00" })
  rt:advance(10000); rt:idle()
  t:eq(log:value(), { { "a", 1500 }, { "b", 2000 }, { "c", 3000 } })
end)

test("a time that has passed is now", function(t)
  local rt, log, ring = logger(t)
  rt:advance(5000)
  ring:send("late", { at = 1000 })
  ring:send("now", { after = 0 })
  rt:settled(); rt:idle()
  t:eq(log:value(), { { "late", 1000 }, { "now", 5000 } })
end)

test("timers of one time come in the order of their setting", function(t)
  local rt, log, ring = logger(t)
  for i = 1, 5 do ring:send(i, { at = 100 }) end
  rt:advance(100); rt:idle()
  local order = {}
  for i, entry in ipairs(log:value()) do order[i] = entry[1] end
  t:eq(order, { 1, 2, 3, 4, 5 })
end)

test("a timer that a handler sets is part of its commit", function(t)
  local rt = t:runtime()
  local n, start, ring = rt:doc("n", 0), rt:stream("start"), rt:stream("ring")
  rt:on(ring, function() n:set(n:get() + 1) end)
  rt:on(start, function(event, tx)
    heddle.send(ring, nil, { after = 100 })
    if event == "abort" then tx:abort() end
  end)
  start:send("abort"); start:send("go"); rt:settled()
  rt:advance(1000); rt:idle()
  t:eq(n:get(), 1)
end)

test("a handler that is called again sets one timer", function(t)
  local cluster, streams, calls = t:cluster(2), {}, 0
  for i, rt in ipairs(cluster) do
    local n, ring = rt:doc("n", 0), rt:stream("ring")
    streams[i] = rt:stream("start")
    rt:on(ring, function() n:set(n:get() + 1) end)
    rt:on(streams[i], function()
      calls = calls + 1
      n:set(n:get() + 10)
      heddle.send(ring, nil, { after = 100 })
    end)
  end
  cluster:settled()
  for _ = 1, 3 do -- each finds that the other one was faster
    streams[1]:send(1); streams[2]:send(1)
    cluster[1]:hold(true); cluster[1]:step()
    cluster[2]:settled()
    cluster[1]:hold(false)
    cluster:settled()
  end
  t:ok(calls > 6)
  cluster[1]:advance(60000)
  cluster:settled()
  t:eq(cluster[1]:doc("n"):get(), 66)
end)

-- ---- names ----

test("a name stands for one timer: the next one takes its place", function(t)
  local rt, log, ring = logger(t)
  ring:send("first", { after = 100, id = "x" })
  rt:settled(); rt:advance(50)
  ring:send("second", { after = 100, id = "x" })
  ring:send("other", { after = 100, id = "y" })
  rt:advance(1000); rt:idle()
  t:eq(log:value(), { { "second", 150 }, { "other", 150 } })
  ring:send("third", { after = 10, id = "x" }) -- the name is free again
  rt:advance(10); rt:idle()
  t:eq(#log:value(), 3)
end)

test("a cancelled timer does not come, and cancel says whether there was one", function(t)
  local rt, log, ring = logger(t)
  ring:send("tea", { after = 100, id = "x" })
  t:eq(ring:cancel("y"), false)
  t:eq(ring:cancel("x"), true)
  t:eq(ring:cancel("x"), false)
  rt:advance(1000); rt:idle()
  t:eq(log:value(), {})
  ring:send("tea", { after = 100, id = "x" })
  rt:advance(100); rt:idle()
  t:eq(#log:value(), 1)
  t:eq(ring:cancel("x"), false)
end)

test("a handler cancels timers of its piece", function(t)
  local rt = t:runtime()
  local pattern = heddle.pattern("kettle", function(p)
    local rang = p:state("rang", 0)
    local ring = p:handler("ring", function() rang:set(rang:get() + 1) end)
    local boil = p:handler("boil", function() heddle.send(ring, nil, { after = 1000, id = "tea" }) end)
    local stop = p:handler("stop", function() return { was = heddle.cancel("tea") } end)
    return { rang = rang, ring = ring, boil = boil, stop = stop }
  end)
  local one, two = rt:run(pattern, {}, { name = "one" }), rt:run(pattern, {}, { name = "two" })
  one:send("boil"); two:send("boil"); rt:settled()
  local first, again = one:send("stop"), one:send("stop")
  rt:settled()
  t:eq({ first:receipt(), again:receipt() }, { { was = true }, { was = false } })
  rt:advance(1000); rt:idle()
  t:eq({ one:get("rang"), two:get("rang") }, { 0, 1 })
  two:send("boil"); rt:settled()
  t:eq(two:cancel("tea"), true)
  rt:advance(1000); rt:idle()
  t:eq(two:get("rang"), 1)
end)

-- A piece with two streams that log what comes; `set` and `drop` name the id, and `drop` also the stream if only that one is meant.
local function two_streams(p)
  local log = p:state("log", heddle.array{})
  local streams = {
    tea = p:handler("tea", function(event) log:append("tea " .. event) end),
    egg = p:handler("egg", function(event) log:append("egg " .. event) end),
  }
  local set = p:handler("set", function(event)
    for _, stream in ipairs(event.on) do heddle.send(streams[stream], event.id, { after = 1000, id = event.id }) end
  end)
  local drop = p:handler("drop", function(event)
    if event.on then return { was = heddle.cancel(event.id, streams[event.on]) } end
    return { was = heddle.cancel(event.id), again = heddle.cancel(event.id) }
  end)
  return { log = log, tea = streams.tea, egg = streams.egg, set = set, drop = drop }
end

test("an id on two streams is two timers", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("two", two_streams))
  piece:send("set", { id = "x", on = { "tea", "egg" } }); rt:settled()
  t:eq(#rt:timers(), 2)
  piece:send("set", { id = "x", on = { "tea" } }); rt:settled() -- replaces that of its stream
  t:eq(#rt:timers(), 2)
  rt:advance(1000); rt:idle()
  t:eq(piece:get("log"), { "tea x", "egg x" })
end)

test("heddle.cancel with a stream takes the timer of that stream, without one all of the piece", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("two", two_streams))
  local function drop(event)
    local ticket = piece:send("drop", event)
    rt:settled()
    return ticket:receipt()
  end
  piece:send("set", { id = "x", on = { "tea", "egg" } }); rt:settled()
  t:eq(drop{ id = "x", on = "tea" }, { was = true })
  t:eq(drop{ id = "x", on = "tea" }, { was = false })
  t:eq(rt:timers()[1].payload, "x")
  t:eq(drop{ id = "x" }, { was = true, again = false })
  piece:send("set", { id = "x", on = { "tea", "egg" } })
  piece:send("set", { id = "y", on = { "egg" } }); rt:settled()
  t:eq(drop{ id = "x" }, { was = true, again = false })
  rt:advance(1000); rt:idle()
  t:eq(piece:get("log"), { "egg y" })
  t:eq(drop{ id = "y" }, { was = false, again = false })
  piece:send("set", { id = "z", on = { "tea", "egg" } }); rt:settled()
  t:eq({ piece:cancel("z"), piece:cancel("z"), #rt:timers() }, { true, false, 0 })
end)

test("heddle.cancel finds timers whose commit has no answer yet, and those of another runtime", function(t)
  local engine = t:engine()
  local one, two = t:runtime{ engine = engine }, t:runtime{ engine = engine }
  local pattern = heddle.pattern("two", two_streams)
  local piece = one:run(pattern, {}, { name = "p" }); one:settled()
  one:hold(true)
  piece:send("set", { id = "x", on = { "tea", "egg" } }); one:idle()
  local ticket = piece:send("drop", { id = "x" }); one:idle()
  one:hold(false); one:settled()
  t:eq({ ticket:receipt(), #one:timers() }, { { was = true, again = false }, 0 })

  piece:send("set", { id = "y", on = { "tea", "egg" } }); one:settled()
  local other = two:run(pattern, {}, { name = "p" })
  local dropped = other:send("drop", { id = "y" }); two:settled()
  t:eq({ dropped:receipt(), #two:timers() }, { { was = true, again = false }, 0 })
end)

test("heddle.cancel takes the stream of a child through a cell", function(t)
  local rt = t:runtime()
  local kettle = heddle.pattern("kettle", function(p)
    local rang = p:state("rang", 0)
    return { rang = rang, ring = p:handler("ring", function() rang:increment() end) }
  end)
  local piece = rt:run(heddle.pattern("kitchen", function(p)
    local child = p:piece(kettle, {}, { name = "kettle" })
    p:handler("set", function() heddle.send(child:key("ring"), nil, { after = 1000, id = "tea" }) end)
    p:handler("drop", function() return { heddle.cancel("tea"), heddle.cancel("tea", child:key("ring")) } end)
    p:handler("wrong", function() heddle.cancel("tea", 7) end)
    return { rang = child:key("rang") }
  end))
  piece:send("set"); rt:settled()
  local ticket = piece:send("drop"); rt:settled()
  t:eq({ ticket:receipt(), #rt:timers() }, { { false, true }, 0 })
  local wrong = piece:send("wrong"); rt:settled(); rt:errors()
  t:ok(wrong:error().message:find("stream expected", 1, true))
end)

test("a handler can cancel and set in one commit", function(t)
  local rt = t:runtime()
  local seen, ring, go = rt:doc("seen", heddle.array{}), rt:stream("ring"), rt:stream("go")
  rt:on(ring, function(event) seen:append(event) end)
  rt:on(go, function(event)
    local was = ring:cancel("x")
    if event ~= "off" then ring:send(event, { after = 100, id = "x" }) end
    return { was = was }
  end)
  local a, b = go:send(1), go:send(2)
  rt:settled()
  t:eq({ a:receipt(), b:receipt() }, { { was = false }, { was = true } })
  rt:advance(100); rt:idle()
  t:eq(seen:value(), { 2 })
end)

-- ---- restarts ----

test("a timer outlives its runtime, and what was due comes at the next start", function(t)
  local rt, log, ring = logger(t)
  ring:send("early", { after = 100 })
  ring:send("late", { after = 5000 })
  rt:settled()
  rt = rt:restart()
  rt:advance(1000) -- nothing runs
  rt, log = logger(t, rt)
  t:eq(log:value(), { { "early", 100 } })
  rt:advance(4000); rt:idle()
  t:eq(log:value(), { { "early", 100 }, { "late", 5000 } })
end)

test("two runtimes handle a timer once", function(t)
  local cluster, streams = t:cluster(2), {}
  for i, rt in ipairs(cluster) do
    local log = rt:doc("log", heddle.array{})
    streams[i] = rt:stream("ring")
    rt:on(streams[i], function(event) log:append(event) end)
  end
  cluster:settled()
  for i = 1, 20 do streams[i % 2 + 1]:send(i, { after = i * 10 }) end
  streams[1]:send("tick", { every = 100, missed = "all" })
  cluster:settled()
  cluster[1]:advance(1000)
  cluster:settled()
  t:eq(#cluster[1]:doc("log"):value(), 30)
end)

-- ---- repeating ----

test("ticks follow the schedule, not the handling", function(t)
  local rt, log, ring = logger(t)
  ring:send("tick", { every = 1000, id = "clock" })
  rt:settled()
  rt:advance(3500); rt:idle()
  t:eq(log:value(), { { "tick", 1000 }, { "tick", 2000 }, { "tick", 3000 } })
  t:eq(ring:cancel("clock"), true)
  rt:advance(5000); rt:idle()
  t:eq(#log:value(), 3)
end)

test("the first tick can be at a time of its own", function(t)
  local rt, log, ring = logger(t)
  ring:send("tick", { after = 0, every = 1000 })
  rt:settled(); rt:advance(2100); rt:idle()
  t:eq(log:value(), { { "tick", 0 }, { "tick", 1000 }, { "tick", 2000 } })
end)

local function missed(t, option)
  local rt, log, ring = logger(t)
  local began = rt:now()
  ring:send("tick", { every = 1000, missed = option })
  rt:settled()
  rt = rt:restart()
  rt:advance(4500)
  rt, log = logger(t, rt)
  rt:settled(); rt:idle()
  local at_start = log:value()
  rt:advance(1000); rt:idle()
  local times = {}
  for i, entry in ipairs(log:value()) do times[i] = entry[2] - began end
  return times, #at_start
end

test("of ticks that were missed one is handled", function(t)
  local times, at_start = missed(t, nil)
  t:eq({ times, at_start }, { { 1000, 5000 }, 1 })
  times = missed(t, "one")
  t:eq(times, { 1000, 5000 })
end)

test("or all of them, or none", function(t)
  local times, at_start = missed(t, "all")
  t:eq({ times, at_start }, { { 1000, 2000, 3000, 4000, 5000 }, 4 })
  times, at_start = missed(t, "none")
  t:eq({ times, at_start }, { { 4000, 5000 }, 1 }) -- that of 4000 is not missed at 4500
end)

-- The days whose ticks are handled by a process that was there on day 0, and is
-- again `late` ms after the tick of day 2.
local function days(t, option, late)
  local hour = 3600000
  local rt, log, ring = logger(t)
  ring:send("tick", { every = "0 9 * * *", missed = option })
  rt:settled()
  rt:advance(10 * hour); rt:idle()
  rt = rt:restart()
  rt:advance(47 * hour + late)
  rt, log = logger(t, rt)
  rt:settled(); rt:idle()
  local seen = {}
  for i, entry in ipairs(log:value()) do seen[i] = entry[2] // (24 * hour) end
  return seen
end

for _, late in ipairs{ 0, 10000, 59999, 60000 } do
  local name = late .. " ms after a tick, if the one before it was missed: "
  test(name .. "none", function(t) t:eq(days(t, "none", late), late < 60000 and { 0, 2 } or { 0 }) end)
  test(name .. "one", function(t) t:eq(days(t, "one", late), { 0, 1 }) end)
  test(name .. "all", function(t) t:eq(days(t, "all", late), { 0, 1, 2 }) end)
end

test("a handler that fails does not end a timer that repeats", function(t)
  local rt = t:runtime()
  local n, ring = rt:doc("n", 0), rt:stream("ring")
  rt:on(ring, function()
    if heddle.now() == 2000 then error("not now") end
    n:set(n:get() + 1)
  end)
  rt:idle()
  ring:send(nil, { every = 1000 })
  rt:settled(); rt:advance(4000); rt:idle()
  t:eq(n:get(), 3)
  t:eq(#rt:errors(), 1)
end)

test("a handler can stop the timer that called it", function(t)
  local rt = t:runtime()
  local n, ring = rt:doc("n", 0), rt:stream("ring")
  rt:on(ring, function()
    n:set(n:get() + 1)
    if n:get() == 3 then heddle.cancel("clock") end
  end)
  rt:idle()
  ring:send(nil, { every = 1000, id = "clock" })
  rt:settled(); rt:advance(10000); rt:idle()
  t:eq(n:get(), 3)
end)

test("and can give it another time", function(t)
  local rt = t:runtime()
  local times, ring = rt:doc("times", heddle.array{}), rt:stream("ring")
  rt:on(ring, function()
    times:append(heddle.now())
    if heddle.now() == 2000 then heddle.send(ring, nil, { every = 5000, id = "clock" }) end
  end)
  rt:idle()
  ring:send(nil, { every = 1000, id = "clock" })
  rt:settled(); rt:advance(12000); rt:idle()
  t:eq(times:value(), { 1000, 2000, 7000, 12000 })
end)

test("a handler that sets a timer for itself is no endless chain", function(t)
  local rt = t:runtime{ hops = 5 }
  local n, ring = rt:doc("n", 0), rt:stream("ring")
  rt:on(ring, function() n:set(n:get() + 1); heddle.send(ring, nil, { after = 100 }) end)
  rt:idle()
  ring:send(nil); rt:settled()
  rt:advance(2000); rt:idle()
  t:eq(n:get(), 21)
end)

-- ---- cron ----

local function times_of(log)
  local times = {}
  for i, entry in ipairs(log:value()) do times[i] = entry[2] end
  return times
end

-- 2026-03-27T12:00:00Z, two days before summer time begins in Europe, as ms.
local march, october, november = 1774612800000, 1792843200000, 1793448000000

test("cron fields are in UTC, unless a zone is given", function(t)
  local rt, log, ring = at_date(t, march)
  ring:send("tick", { every = "30 14 * * *" })
  rt:settled(); rt:advance(2 * day); rt:idle()
  t:eq(times_of(log), { march + 2.5 * hour // 1, march + day + 2.5 * hour // 1 })
end)

test("nine o'clock in Berlin is nine o'clock when summer begins, and when it ends", function(t)
  local rt, log, ring = at_date(t, march) -- Friday, 13:00 in Berlin
  ring:send("tick", { every = "0 9 * * *", zone = berlin })
  rt:settled(); rt:advance(3 * day); rt:idle()
  t:eq(times_of(log), { march + 20 * hour, march + 43 * hour, march + 67 * hour })
  rt, log, ring = at_date(t, october) -- Saturday, 24 October 2026, 14:00 in Berlin
  ring:send("tick", { every = "0 9 * * *", zone = berlin })
  rt:settled(); rt:advance(2 * day); rt:idle()
  t:eq(times_of(log), { october + 20 * hour, october + 44 * hour })
end)

test("a local time that is left out comes when the clocks have moved", function(t)
  local rt, log, ring = at_date(t, march)
  ring:send("tick", { every = "30 2 * * *", zone = berlin })
  rt:settled(); rt:advance(3 * day); rt:idle()
  -- Saturday 02:30 CET, Sunday 03:00 CEST (01:00 UTC), Monday 02:30 CEST
  t:eq(times_of(log), { march + 13.5 * hour // 1, march + 37 * hour, march + 60.5 * hour // 1 })
end)

test("a local time that comes twice is one tick", function(t)
  local rt, log, ring = at_date(t, november) -- Saturday, 31 October 2026, 08:00 in New York
  ring:send("tick", { every = "30 1 * * *", zone = new_york })
  rt:settled(); rt:advance(2 * day); rt:idle()
  t:eq(times_of(log), { november + 17.5 * hour // 1, november + 42.5 * hour // 1 })
end)

test("a time of each hour comes twice in an hour that does", function(t)
  local rt, log, ring = at_date(t, november + 17 * hour) -- 01:00 in summer time
  ring:send("tick", { every = "30 * * * *", zone = new_york })
  rt:settled(); rt:advance(3 * hour); rt:idle()
  t:eq(#times_of(log), 3)
end)

test("a leap day comes every four years", function(t)
  local rt, log, ring = at_date(t, march)
  ring:send("tick", { every = "0 0 29 2 *" })
  rt:settled(); rt:advance(6 * 366 * day); rt:idle()
  t:eq(times_of(log), { 1835395200000, 1961625600000 })
end)

test("what cannot be a time is refused", function(t)
  local _, _, ring = logger(t)
  local function refuses(options, sentence) t:fails(function() ring:send(1, options) end, sentence) end
  refuses({ every = "0 0 31 2 *" }, "name a day that its month does not have")
  refuses({ every = "0 0 30 2 *" }, "name a day that its month does not have")
  refuses({ every = "61 * * * *" }, "the minute of the cron fields '61 * * * *' must be *, or numbers and ranges from 0 to 59")
  refuses({ every = "* * * *" }, "'* * * *' has 4 of them")
  refuses({ every = "* * * * * *" }, "has more than five cron fields")
  refuses({ every = "0 9 * * *", zone = "Mars/Base" }, "there is no time zone 'Mars/Base'")
  refuses({ every = "0 9 * * *", zone = "../etc/passwd" }, "there is no time zone")
  refuses({ every = 99 }, "'every' must be at least 100 ms")
  refuses({ every = 0 }, "'every'")
  refuses({ after = -1 }, "'after' must be a number of milliseconds")
  refuses({ after = 1, at = 2 }, "'after' and 'at' exclude each other")
  refuses({ after = 1, every = "* * * * *" }, "'after' and 'at' cannot be combined")
  refuses({ at = "tomorrow" }, "'at' must be")
  refuses({ at = "2026-02-29T00:00:00Z" }, "'at' must be")
  refuses({ after = 1, missed = "all" }, "'missed' requires 'every' or 'cron'")
  refuses({ every = 1000, missed = "some" }, "'missed' must be")
  refuses({ after = 1, zone = "UTC" }, "a time zone requires cron fields")
  refuses({ after = 1, tz = "UTC" }, "a time zone requires cron fields")
  refuses({ every = 1000, cron = "* * * * *" }, "exclude each other")
  refuses({ cron = "* * * *" }, "has 4 of them")
  refuses({ cron = 5 }, "cron must be a string")
  refuses({ after = 1, id = "" }, "the id of a timer")
  refuses({ after = 1, id = "x", session = "s" }, "leave out 'session'")
  refuses({ in_ms = 5 }, "send has no option 'in_ms'")
  t:fails(function() heddle.cancel("x") end, "heddle.cancel is only for handlers")
end)

test("an effect sets no timer", function(t)
  local rt = t:runtime()
  local s, ring = rt:doc("s", 1), rt:stream("ring")
  local said
  rt:effect{ name = "E", fn = function() s:get(); said = select(2, pcall(ring.send, ring, 1, { after = 5 })) end }
  rt:idle()
  t:ok(tostring(said):find("only a handler or an edit can set a timer", 1, true))
end)

test("ticks that were missed are made up in the order of their times, among other timers", function(t)
  local pattern = heddle.pattern("p", function(p)
    local log = p:state("log", heddle.array{})
    local tick = p:handler("tick", function(name) log:append(name .. heddle.now()) end)
    local other = p:handler("other", function(name) log:append(name .. heddle.now()) end)
    return { log = log, go = p:handler("go", function()
      heddle.send(tick, "a", { every = 1000, missed = "all", id = "a" })
      heddle.send(tick, "once", { after = 2500 })
      heddle.send(other, "b", { every = 700, missed = "all", id = "b" })
      heddle.send(other, "early", { after = 10 })
      heddle.send(tick, "same", { after = 2000 })
      heddle.send(other, "one", { every = 1500, id = "one" })
    end) }
  end)
  local rt = t:runtime()
  local piece = rt:run(pattern)
  piece:send("go"); rt:settled()
  piece:stop()
  rt:advance(3500)
  rt = rt:restart()
  piece = rt:run(pattern)
  rt:settled()
  t:eq(table.concat(piece:get("log"), " "),
    "early10 b700 a1000 b1400 one1500 a2000 same2000 b2100 once2500 b2800 a3000 b3500")
  rt:advance(1000); rt:idle()
  t:eq(table.concat(piece:get("log"), " ", 13), "a4000 b4200 one4500")
end)
