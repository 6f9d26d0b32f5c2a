-- Events: one handling, one commit, one end.
local heddle = require "heddle"
local test   = require "heddle.test"

-- A counter that a stream adds to.
local function counter(t, options)
  local rt = t:runtime(options)
  local n, add = rt:doc("n", 0), rt:stream("add")
  local handler = rt:on(add, function(event)
    n:set(n:get() + event.by)
    return { n = n:get() }
  end)
  return rt, n, add, handler
end

test("EVT-01 a handler gets what is sent", function(t)
  local rt, n, add = counter(t)
  local ticket = add:send{ by = 2 }
  t:eq(ticket:state(), "queued")
  t:eq(n:get(), 0)
  t:ok(rt:settled())
  t:eq(ticket:state(), "done")
  t:eq(ticket:receipt(), { n = 2 })
  t:eq(ticket:error(), nil)
  t:eq(n:get(), 2)
end)

test("EVT-02 in the order in which it was sent", function(t)
  local rt = t:runtime()
  local log = rt:doc("log", heddle.array{})
  local a, b = rt:stream("a"), rt:stream("b")
  rt:on(a, function(e) log:append(e) end)
  rt:on(b, function(e) log:append(e) end)
  a:send(1); b:send(2); a:send(3)
  rt:step()
  t:eq(log:value(), { 1 })
  rt:settled()
  t:eq(log:value(), { 1, 2, 3 })
end)

test("a second handler is refused, and a cancelled one drops", function(t)
  local rt, n, add, handler = counter(t)
  t:fails(function() rt:on(add, function() end) end, "handler")
  handler:cancel()
  local ticket = add:send{ by = 1 }
  rt:settled()
  t:eq(ticket:state(), "dropped")
  t:eq(ticket:error().name, "NO_HANDLER")
  t:eq(n:get(), 0)
end)

test("EVT-19 a handler that gives up is not called again", function(t)
  local rt = t:runtime()
  local n, s = rt:doc("n", 0), rt:stream("s")
  local calls = 0
  rt:on(s, function(event, tx) calls = calls + 1; n:set(9); tx:abort() end)
  local ticket = s:send(1)
  rt:settled()
  t:eq(calls, 1)
  t:eq(ticket:state(), "failed")
  t:eq(n:get(), 0)
end)

test("a handler that fails says why", function(t)
  local rt = t:runtime()
  local s = rt:stream("s")
  rt:on(s, function() error("boom") end)
  local ticket = s:send(1)
  rt:settled()
  t:eq(ticket:state(), "failed")
  t:ok(ticket:error().message:find("boom", 1, true))
end)

test("LIN a follow-up event lives and dies with its origin", function(t)
  local rt = t:runtime()
  local a, b = rt:stream("a"), rt:stream("b")
  local seen = {}
  rt:on(a, function(e, tx)
    heddle.send(b, e)
    if e == 2 then tx:abort() end
  end)
  rt:on(b, function(e) seen[#seen + 1] = e end)
  a:send(1); a:send(2); a:send(3)
  rt:settled()
  t:eq(seen, { 1, 3 })
  t:fails(function() heddle.send(b, 1) end, "for handlers")
end)

test("BP conflicts are tried again, in order", function(t)
  local rt = t:runtime()
  local log, s = rt:doc("log", heddle.array{}), rt:stream("s")
  rt:on(s, function(e)
    local all = log:value()
    all[#all + 1] = e
    log:set(heddle.array(all))
  end)
  rt:settled()
  rt:reject_next{ kind = "conflict", times = 8, when = function(c) return c.event == "s" end }
  for i = 1, 3 do s:send(i) end
  rt:settled()
  t:eq(log:value(), { 1, 2, 3 })
  t:eq(rt:stats().reverted, 8)
end)

test("a refusal for good drops, one of a rule fails", function(t)
  local rt, n, add = counter(t)
  rt:settled()
  rt:reject_next{ kind = "permanent" }
  local dropped = add:send{ by = 1 }
  rt:settled()
  rt:reject_next{ kind = "terminal" }
  local failed = add:send{ by = 1 }
  rt:settled()
  t:eq(dropped:state(), "dropped")
  t:eq(failed:state(), "failed")
  t:eq(n:get(), 0)
end)

test("RCPT the same id and session are handled once", function(t)
  local rt, n, add = counter(t)
  local first = add:send({ by = 1 }, { id = "x", session = "me" })
  rt:settled()
  local second = add:send({ by = 1 }, { id = "x", session = "me" })
  rt:settled()
  t:eq(n:get(), 1)
  t:eq(first:receipt(), { n = 1 })
  t:eq(second:receipt(), { n = 1 })
end)

test("RCPT also by another runtime of the engine", function(t)
  local e = t:engine()
  local one, n1, add1 = counter(t, { engine = e })
  local two, n2, add2 = counter(t, { engine = e })
  add1:send({ by = 1 }, { id = "x", session = "me" })
  one:settled()
  local again = add2:send({ by = 1 }, { id = "x", session = "me" })
  two:settled()
  t:eq(n2:get(), 1)
  t:eq(again:state(), "dropped")
end)

test("the backlog has a limit", function(t)
  local rt, n, add = counter(t)
  for i = 1, 10000 do add:send{ by = 1 } end
  t:fails(function() add:send{ by = 1 } end, "the backlog of the stream add is full: 10000 events wait")
  rt:settled()
  t:eq(n:get(), 10000)
end)

test("a handler whose event is refused fails as a whole", function(t)
  local rt, n, add = counter(t)
  local many, written = rt:stream("many"), rt:doc("written", 0)
  rt:on(many, function(event)
    written:set(event.count)
    for i = 1, event.count do
      if event.careless then pcall(add.send, add, { by = 1 }) else add:send{ by = 1 } end
    end
  end)
  local good = many:send{ count = 300 }; rt:settled()
  t:eq({ good:state(), n:get(), written:get() }, { "done", 300, 300 })
  for _, careless in ipairs{ false, true } do
    local bad = many:send{ count = 10001, careless = careless }; rt:settled()
    t:eq({ bad:state(), bad:error().name }, { "failed", "BACKLOG" })
    t:ok(bad:error().message:find("10000 events wait, which is the limit", 1, true))
    t:eq({ n:get(), written:get() }, { 300, 300 })
  end
end)

test("a stream that asks for it keeps the last of too many", function(t)
  local rt = t:runtime()
  local seen, at, last, calls = rt:doc("seen", 0), rt:stream("at"), nil, 0
  rt:on(at, function(event) calls = calls + 1; seen:set(event) end, { collapse = true })
  for i = 1, 10003 do last = at:send(i) end
  rt:settled()
  t:eq({ calls, seen:get(), last:state() }, { 10000, 10003, "done" })
end)

test("PRE what a handler reads is up to date", function(t)
  local rt = t:runtime()
  local s, o, r = rt:doc("s", 1), rt:doc("o"), rt:doc("r")
  rt:computation{ name = "c", writes = { o }, fn = function() o:set(s:get() * 10) end }
  local go = rt:stream("go")
  rt:on(go, function() r:set(o:get() + 1) end, { reads = { o } })
  go:send(1); rt:settled()
  t:eq(r:get(), 11)
  s:set(2); go:send(1); rt:settled()
  t:eq(r:get(), 21)
end)

test("time and chance are those of the event", function(t)
  local rt = t:runtime()
  local s, tries = rt:stream("s"), {}
  local o = rt:doc("o", 0)
  rt:on(s, function() tries[#tries + 1] = { heddle.now(), heddle.random(1000000) }; o:increment() end)
  rt:settled()
  rt:reject_next{ kind = "conflict", times = 2 }
  s:send(1); rt:settled()
  t:eq(#tries, 3)
  t:eq(tries[1], tries[3])
end)

test("EVT-03 what was sent before the cancel is handled", function(t)
  local rt, n, add, handler = counter(t)
  add:send{ by = 1 }; rt:settled()
  handler:cancel()
  add:send{ by = 1 }; rt:settled()
  t:eq(n:get(), 1)
end)

test("EVT-08 idle does not wait for a confirmation", function(t)
  local rt, n, add = counter(t)
  rt:settled()
  rt:hold(true)
  local ticket = add:send{ by = 1 }
  t:eq(rt:idle(), true)
  t:eq({ ticket:state(), n:get() }, { "queued", 1 })
  rt:hold(false); rt:settled()
  t:eq(ticket:state(), "done")
end)

test("EVT-09 seven events, two lists", function(t)
  local rt = t:runtime()
  local a, b, s = rt:doc("a", heddle.array{}), rt:doc("b", heddle.array{}), rt:stream("s")
  rt:on(s, function(e) a:append(e); b:append(e) end)
  for i = 1, 7 do s:send(i) end
  rt:settled()
  t:eq(a:value(), { 1, 2, 3, 4, 5, 6, 7 })
  t:eq(b:value(), a:value())
end)

test("EVT-12 a handler that fails leaves nothing", function(t)
  local rt = t:runtime()
  local r, s, calls = rt:doc("r", 0), rt:stream("s"), 0
  rt:on(s, function() calls = calls + 1; r:set(1); error("no") end)
  s:send(1); rt:settled()
  t:eq({ calls, r:get() }, { 1, 0 })
  t:eq(#rt:errors(), 1)
end)

test("lanes: a stream that waits holds up its own space only", function(t)
  for _, lanes in ipairs{ "one", "space" } do
    local rt = t:runtime{ spaces = { "a", "b" }, lanes = lanes }
    local seen = {}
    local a, b = rt:stream("a"), rt:stream("b", { space = "b" })
    rt:on(a, function() seen[#seen + 1] = "a" end)
    rt:on(b, function() seen[#seen + 1] = "b" end)
    a:send(1); a:send(2); b:send(1)
    rt:step()
    t:eq(#seen, lanes == "one" and 1 or 2)
    rt:settled()
    t:eq(#seen, 3)
  end
end)

test("EID-05 another session is another event", function(t)
  local rt, n, add = counter(t)
  add:send({ by = 1 }, { id = "x", session = "me" })
  add:send({ by = 1 }, { id = "x", session = "you" })
  add:send({ by = 1 }, { id = "y", session = "me" })
  rt:settled()
  t:eq(n:get(), 3)
  t:fails(function() add:send({ by = 1 }, { id = "x" }) end)
end)

test("PRE-01 what is invalid runs first", function(t)
  local rt, order = t:runtime(), {}
  local s, co, r = rt:doc("s", 10), rt:doc("co"), rt:doc("r")
  rt:computation{ name = "C", writes = { co }, fn = function() order[#order + 1] = "C"; co:set(s:get() * 2) end }
  local go = rt:stream("go")
  rt:on(go, function(e) order[#order + 1] = "H"; r:set(co:get() + e) end, { reads = { co } })
  rt:pull(co)
  order = {}
  s:set(20); go:send(5); rt:settled()
  t:eq(r:get(), 45)
  t:eq({ order[1], order[#order] }, { "C", "H" })
end)

test("PRE-02 what is not read does not run", function(t)
  local rt = t:runtime()
  local d, s, r = rt:doc("d", { foo = 0, bar = 1 }), rt:doc("s", 1), rt:doc("r")
  local c = rt:computation{ name = "C", writes = { d:key("foo") }, fn = function() d:key("foo"):set(s:get()) end }
  local go = rt:stream("go")
  rt:on(go, function(e) r:set(d:get().bar + e) end, { reads = { d:key("bar") } })
  go:send(3); rt:settled()
  t:eq({ c:runs(), r:get() }, { 0, 4 })
end)

test("PRE-12 a chain that nobody else wants", function(t)
  local rt = t:runtime()
  local s, m, o, r = rt:doc("s", 1), rt:doc("m"), rt:doc("o"), rt:doc("r")
  local u = rt:computation{ name = "U", writes = { m }, fn = function() m:set(s:get() + 1) end }
  local d = rt:computation{ name = "D", writes = { o }, fn = function() o:set(m:get() * 2) end }
  local go = rt:stream("go")
  rt:on(go, function(e) r:set(o:get() + e) end) -- not declared: found out
  s:set(4); go:send(5); rt:settled()
  t:eq({ u:runs(), d:runs(), r:get() }, { 1, 1, 15 })
end)

test("LIN-09 a retry sends its follow-up once", function(t)
  local rt = t:runtime()
  local n, a, b = rt:doc("n", 0), rt:stream("a"), rt:stream("b")
  local attempts, seen = 0, {}
  rt:on(a, function() attempts = attempts + 1; n:set(n:get() + 1); heddle.send(b, n:get()) end)
  rt:on(b, function(e) seen[#seen + 1] = e end)
  rt:settled()
  rt:reject_next{ kind = "conflict", when = function(c) return c.event == "a" end }
  a:send(1); rt:settled()
  t:eq(attempts, 2)
  t:eq(n:get(), 1)
  t:eq(seen[#seen], 1)
end)

test("LIN-14 to another space, only after the origin has landed", function(t)
  local rt = t:runtime{ spaces = { "a", "b" } }
  local n, seen = rt:doc("n", 0), 0
  local a, b = rt:stream("sa"), rt:stream("sb", { space = "b" })
  rt:on(a, function() n:set(1); heddle.send(b, 1) end)
  rt:on(b, function() seen = seen + 1 end)
  rt:settled()
  rt:hold(true)
  a:send(1)
  local rest, why = rt:idle()
  t:eq(rest, nil)
  t:eq({ why, seen }, { "held", 0 })
  rt:hold(false); rt:settled()
  t:eq(seen, 1)
end)

test("RCPT-12 a handler without a result has an empty receipt", function(t)
  local rt, s = t:runtime(), nil
  s = rt:stream("s")
  rt:on(s, function() end)
  local ticket = s:send(1)
  rt:settled()
  t:eq(ticket:receipt(), {})
end)

test("RCPT-13 the receipt is that of the first", function(t)
  local rt = t:runtime()
  local s = rt:stream("s")
  rt:on(s, function(e) return { ok = true, n = e } end)
  s:send(42, { id = "x", session = "me" }); rt:settled()
  local again = s:send(42, { id = "x", session = "me" }); rt:settled()
  t:eq(again:receipt(), { ok = true, n = 42 })
end)

test("an id stands for one payload", function(t)
  local rt = t:runtime()
  local s, calls = rt:stream("s"), {}
  rt:on(s, function(e) calls[#calls + 1] = e.a; return { n = e.a } end)
  s:send({ a = 1, b = "x" }, { id = "x", session = "me" }); rt:settled()
  local other = s:send({ a = 2, b = "x" }, { id = "x", session = "me" }); rt:settled()
  t:eq(other:state(), "failed")
  t:eq(other:error().name, "IDEMPOTENCY_MISMATCH")
  t:ok(other:error().message:find("sent before with another payload", 1, true))
  local equal = s:send({ b = "x", a = 1 }, { id = "x", session = "me" }); rt:settled()
  t:eq(equal:state(), "dropped")
  t:eq(equal:receipt(), { n = 1 })
end)

test("tickets outlive their runtime", function(t)
  local rt, n, add = counter(t)
  rt:settled()
  rt:hold(true)
  local flying = add:send{ by = 1 }; rt:idle()
  local waiting = add:send{ by = 1 }
  local again = rt:restart()
  t:eq({ flying:state(), waiting:state() }, { "dropped", "dropped" })
  t:eq(again:doc("n"):get(), 0)
end)

-- What is sent because of what a handler has written is caused by its event.
test("a circle of an effect, an event and a handler ends at the limit of hops", function(t)
  local rt = t:runtime{ hops = 5 }
  local n, seen, bump = rt:doc("n", 0), rt:doc("seen", 0), rt:stream("bump")
  rt:on(bump, function() n:set(n:get() + 1) end)
  rt:effect{ name = "copy", fn = function() seen:set(n:get()) end }
  rt:effect{ name = "again", fn = function() if seen:get() > 0 then bump:send(1) end end }
  bump:send(1)
  t:ok(rt:settled())
  t:eq(n:get(), 6)
  local errors = rt:errors()
  t:eq(#errors, 1)
  t:eq(errors[1].source, "again")
  t:ok(errors[1].message:find("handlers caused a chain of 5 events, and the next one, from the effect again", 1, true))
  -- A change from outside begins a chain of its own.
  n:set(100)
  t:ok(rt:settled())
  t:eq(n:get(), 106)
  t:eq(#rt:errors(), 2)
end)

test("an effect that ignores the limit of hops fails all the same", function(t)
  local rt = t:runtime{ hops = 2 }
  local n, bump = rt:doc("n", 0), rt:stream("bump")
  rt:on(bump, function() n:set(n:get() + 1) end)
  rt:effect{ name = "again", fn = function() if n:get() > 0 then pcall(bump.send, bump, 1) end end }
  bump:send(1)
  t:ok(rt:settled())
  t:eq(n:get(), 3)
  t:ok(rt:errors()[1].message:find("caused a chain of 2 events", 1, true))
end)

test("effects that an event creates, each of which sends one, end at the limit", function(t)
  local rt = t:runtime{ hops = 4 }
  local list, add = rt:doc("list", heddle.array{}), rt:stream("add")
  local out = rt:doc("out", 0)
  rt:on(add, function(e) list:append(e) end)
  rt:computation{ name = "each", writes = { out }, fn = function()
    local items = list:value()
    for i = 1, #items do
      rt:effect{ name = "more" .. i, fn = function() add:send(i) end }
    end
    out:set(#items)
  end }
  rt:sink(out, function() end)
  add:send(0)
  t:ok(rt:settled())
  t:eq(#list:value(), 5)
  t:eq(#rt:errors(), 1)
end)

-- ---- what an effect sends is stored ----

-- A piece whose effect sends `n` to `take`; `ran` counts its runs in this test.
local function shop(ran)
  return heddle.pattern("shop", function(p)
    local n, log = p:state("n", 0), p:state("log", heddle.array{})
    local take = p:handler("take", function(event) log:append(event) end)
    p:effect("ship", function()
      ran.count = ran.count + 1
      if n:get() > 0 then take:send(n:get()) end
    end)
    return { n = n, log = log, take = take }
  end)
end

test("an event that an effect sends is part of the commit of its run", function(t)
  local rt = t:runtime()
  local n, ring = rt:doc("n", 0), rt:stream("ring")
  rt:effect{ name = "e", fn = function() if n:get() > 0 then ring:send(n:get()) end end }
  rt:idle()
  n:set(1); rt:settled()
  t:eq({ #rt:events(), rt:events()[1].payload }, { 1, 1 }) -- nothing handles it: it waits
  rt:errors()
  rt = rt:restart()
  local log = rt:doc("log", heddle.array{})
  rt:on(rt:stream("ring"), function(event) log:append(event) end)
  rt:settled()
  t:eq({ log:value(), #rt:events() }, { { 1 }, 0 })
end)

test("after a crash an effect that has sent does not run again, and one that has not does", function(t)
  for _, held in ipairs{ false, true } do
    local rt, ran = t:runtime(), { count = 0 }
    local piece = rt:run(shop(ran), {}, { name = "shop" }); rt:settled()
    local before = ran.count
    piece:get("n") -- it is here
    rt:hold(held)
    rt:edit(function(tx) tx:set(piece:cell("n"), 7) end)
    rt:idle()
    t:eq(ran.count, before + 1)
    rt = rt:restart()
    piece = rt:run(shop(ran), {}, { name = "shop" }); rt:settled()
    if held then -- neither the edit nor the run was stored
      t:eq(piece:get("log"), {})
      rt:edit(function(tx) tx:set(piece:cell("n"), 7) end); rt:settled()
    end
    t:eq({ held, piece:get("log"), ran.count }, { held, { 7 }, before + (held and 2 or 1) })
  end
end)

test("an effect whose commit is refused sends once", function(t)
  local rt, ran = t:runtime(), { count = 0 }
  local piece = rt:run(shop(ran), {}, { name = "shop" }); rt:settled()
  local before = ran.count
  rt:reject_next{ kind = "conflict", when = function(commit) return commit.node ~= nil and commit.ops > 0 end }
  rt:edit(function(tx) tx:set(piece:cell("n"), 3) end); rt:settled()
  t:eq({ piece:get("log"), ran.count }, { { 3 }, before + 2 })
end)

test("effects that an outside change makes run can send for ever", function(t)
  local rt = t:runtime{ hops = 2 }
  local n, total, add = rt:doc("n", 0), rt:doc("total", 0), rt:stream("add")
  rt:on(add, function(e) total:set(total:get() + e) end)
  rt:effect{ name = "count", fn = function() if n:get() > 0 then add:send(1) end end }
  for i = 1, 20 do
    n:set(i)
    t:ok(rt:settled())
  end
  t:eq(total:get(), 20)
end)

test("a circle of effects is told once, with their names", function(t)
  local rt = t:runtime()
  local a, b = rt:doc("a", 0), rt:doc("b", 0)
  rt:effect{ name = "left", fn = function() b:set(a:get() + 1) end }
  rt:effect{ name = "right", fn = function() a:set(b:get() + 1) end }
  for _ = 1, 3 do rt:settled() end
  local found = 0
  for _, e in ipairs(rt:errors()) do
    if e.message:find("form a cycle that does not settle", 1, true) then
      found = found + 1
      t:ok(e.message:find("left reads a", 1, true))
      t:ok(e.message:find("right reads b", 1, true))
    end
  end
  t:eq(found, 1)
end)
