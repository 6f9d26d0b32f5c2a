-- What outlives a restart: group 25, by hand and in pieces.

local heddle = require "heddle"
local test   = require "heddle.test"

-- s -> c -> o, looked at by e; and what was registered, by name.
local function chain(rt, by)
  local s, o = rt:doc("s"), rt:doc("o")
  local nodes = {}
  nodes.c = rt:computation{ name = "c", writes = { o }, fn = function() o:set((s:get() or 0) * by) end }
  nodes.e = rt:effect{ name = "e", reads = { o }, fn = function() o:get() end }
  return nodes
end

local function settled_chain(t, options, by)
  local rt = t:runtime(options)
  rt:doc("s", 1)
  chain(rt, by or 10)
  rt:settled()
  return rt
end

local function resumed(rt, register)
  local nodes
  local counts = rt:resume(function() nodes = register() end)
  return nodes, counts
end

test("PERS-20 what is clean is restored: no run, no document is fetched", function(t)
  local rt = settled_chain(t):restart()
  local nodes, counts = resumed(rt, function() return chain(rt, 10) end)
  t:eq(counts, { restored = 2, dirty = 0, unknown = 0 })
  rt:settled()
  t:eq(rt:stats().runs, 0)
  t:eq(rt:stats().reads_of_data, 0)
  t:eq(nodes.c:status(), "clean")
  t:eq(nodes.e:status(), "clean")
  t:eq(nodes.e:live(), true)
  t:eq(rt:doc("o"):get(), 10)
end)

test("PERS-08 another function is fresh, and it alone", function(t)
  local rt = settled_chain(t):restart()
  local nodes, counts = resumed(rt, function() return chain(rt, 20) end)
  t:eq(counts, { restored = 1, dirty = 0, unknown = 1 })
  rt:settled()
  t:eq(nodes.c:runs(), 1)
  t:eq(nodes.e:runs(), 1)
  t:eq(rt:doc("o"):get(), 20)
end)

test("PERS-08 a node that was not there before is unknown", function(t)
  local rt = settled_chain(t):restart()
  local more
  local _, counts = resumed(rt, function()
    chain(rt, 10)
    more = rt:effect{ name = "more", fn = function() rt:doc("o"):get() end }
  end)
  t:eq(counts, { restored = 2, dirty = 0, unknown = 1 })
  rt:settled()
  t:eq(more:runs(), 1)
end)

test("PERS-14 what changed meanwhile is dirty, and runs", function(t)
  local engine = t:engine()
  local rt = settled_chain(t, { engine = engine })
  rt:restart() -- which runs nothing
  local other = t:runtime{ engine = engine, persist = false }
  other:doc("s"):set(2); other:settled()
  local again = t:runtime{ engine = engine }
  local nodes, counts = resumed(again, function() return chain(again, 10) end)
  t:eq(counts, { restored = 1, dirty = 1, unknown = 0 })
  t:eq(nodes.c:status(), "invalid")
  t:eq(nodes.c:causes(), { { doc = "s", space = "main", path = heddle.array{} } })
  again:settled()
  t:eq(nodes.c:runs(), 1)
  t:eq(nodes.e:runs(), 1)
  t:eq(again:doc("o"):get(), 20)
end)

test("PERS-16 of two readers only the one whose input changed is dirty", function(t)
  local engine = t:engine()
  local function two(rt)
    local a, b = rt:doc("a"), rt:doc("b")
    return { a = rt:effect{ name = "ra", fn = function() a:get() end },
             b = rt:effect{ name = "rb", fn = function() b:get() end } }
  end
  local rt = t:runtime{ engine = engine }
  rt:doc("a", 1); rt:doc("b", 1)
  two(rt); rt:settled()
  rt = rt:restart()
  local other = t:runtime{ engine = engine, persist = false }
  other:doc("a"):set(2); other:settled()
  local nodes, counts = resumed(rt, function() return two(rt) end)
  t:eq(counts, { restored = 1, dirty = 1, unknown = 0 })
  rt:settled()
  t:eq(nodes.a:runs(), 1)
  t:eq(nodes.b:runs(), 0)
end)

test("PERS-12 a run that writes nothing is remembered", function(t)
  local function quiet(rt)
    local a = rt:doc("a")
    return rt:effect{ name = "quiet", fn = function() a:get() end }
  end
  local rt = t:runtime()
  rt:doc("a", 1)
  quiet(rt); rt:settled()
  rt = rt:restart()
  local node, counts = resumed(rt, function() return quiet(rt) end)
  t:eq(counts.restored, 1)
  rt:settled()
  t:eq(node:runs(), 0)
  rt:doc("a"):set(2); rt:settled()
  t:eq(node:runs(), 1)
end)

test("PERS-10 a node that registers others runs again, its children with it", function(t)
  local function parent(rt)
    local list, nodes = rt:doc("list"), {}
    nodes.parent = rt:effect{ name = "parent", fn = function()
      for i = 1, #list:get() do
        rt:effect{ name = "child" .. i, fn = function() list:key(i):get() end }
      end
    end }
    nodes.control = rt:effect{ name = "control", fn = function() list:keys() end }
    return nodes
  end
  local rt = t:runtime()
  rt:doc("list", { 1, 2 })
  parent(rt); rt:settled()
  t:eq(#rt:graph().nodes, 4)
  rt = rt:restart()
  local nodes, counts = resumed(rt, function() return parent(rt) end)
  t:eq(counts, { restored = 1, dirty = 0, unknown = 1 })
  rt:settled()
  t:eq(nodes.parent:runs(), 1)
  t:eq(nodes.control:runs(), 0)
  t:eq(#rt:graph().nodes, 4)
end)

test("PERS-18 the edge is there when the reader is restored first", function(t)
  local rt = settled_chain(t):restart()
  local s, o = rt:doc("s"), rt:doc("o")
  local c, e
  rt:resume(function()
    e = rt:effect{ name = "e", reads = { o }, fn = function() o:get() end }
    c = rt:computation{ name = "c", writes = { o }, fn = function() o:set((s:get() or 0) * 11) end }
  end)
  t:ok(e:height() > c:height())
  t:eq(c:live(), true)
  rt:settled()
  t:eq(c:runs(), 1) -- another function
  t:eq(e:runs(), 1)
end)

test("PERS-19 a restored materializer is a root", function(t)
  local function build(rt)
    local s, o, m = rt:doc("s"), rt:doc("o"), rt:doc("m")
    return { w = rt:computation{ name = "w", writes = { o }, fn = function() o:set(s:get()) end },
             m = rt:computation{ name = "m", envelope = { m }, fn = function() m:key("x"):set(o:get()) end } }
  end
  local rt = t:runtime()
  rt:doc("s", 1); rt:doc("m", {})
  build(rt); rt:settled()
  rt = rt:restart()
  local nodes, counts = resumed(rt, function() return build(rt) end)
  t:eq(counts.restored, 2)
  t:eq(nodes.w:live(), true)
  rt:doc("s"):set(5); rt:settled()
  t:eq(rt:doc("m"):value(), { x = 5 })
  t:eq(nodes.w:runs(), 1)
end)

test("PERS-35 a commit to one field leaves the readers of others clean", function(t)
  local function build(rt)
    local d = rt:doc("d")
    local function reader(key) return rt:effect{ name = "r" .. key, fn = function() d:key(key):get() end } end
    return { x = reader("x"), y = reader("y") }
  end
  local rt = t:runtime()
  rt:doc("d", { x = 1, y = 1 })
  build(rt); rt:settled()
  rt:doc("d"):key("x"):set(2); rt:settled()
  rt = rt:restart()
  local _, counts = resumed(rt, function() return build(rt) end)
  t:eq(counts, { restored = 2, dirty = 0, unknown = 0 })
end)

test("PERS-13 what was read in another space is asked for there", function(t)
  local engine, spaces, other = t:engine(), { "main", "other" }, { space = "other" }
  local function build(rt)
    local x, o = rt:doc("x", nil, other), rt:doc("o")
    return { c = rt:computation{ name = "c", writes = { o }, fn = function() o:set(x:get() * 10) end },
             e = rt:effect{ name = "e", fn = function() o:get() end } }
  end
  local rt = t:runtime{ engine = engine, spaces = spaces }
  rt:doc("x", 1, other)
  build(rt); rt:settled()
  rt = rt:restart()
  local nodes, counts = resumed(rt, function() return build(rt) end)
  t:eq(counts, { restored = 2, dirty = 0, unknown = 0 })
  rt:settled()
  t:eq(rt:stats().runs, 0)
  rt:restart()
  local somebody = t:runtime{ engine = engine, spaces = spaces, persist = false }
  somebody:doc("x", nil, other):set(2); somebody:settled()
  rt = t:runtime{ engine = engine, spaces = spaces }
  nodes, counts = resumed(rt, function() return build(rt) end)
  t:eq(counts, { restored = 1, dirty = 1, unknown = 0 })
  rt:settled()
  t:eq(nodes.c:runs(), 1)
  t:eq(rt:doc("o"):get(), 20)
end)

test("PERS-19 a restored materializer wakes a writer that changed meanwhile", function(t)
  local engine = t:engine()
  local function build(rt)
    local s, o, m = rt:doc("s"), rt:doc("o"), rt:doc("m")
    return { m = rt:computation{ name = "m", envelope = { m }, fn = function() m:key("x"):set(o:get()) end },
             w = rt:computation{ name = "w", writes = { o }, fn = function() o:set(s:get()) end } }
  end
  local rt = t:runtime{ engine = engine }
  rt:doc("s", 1); rt:doc("m", {})
  build(rt); rt:settled()
  rt:restart()
  local somebody = t:runtime{ engine = engine, persist = false }
  somebody:doc("s"):set(5); somebody:settled()
  rt = t:runtime{ engine = engine }
  local nodes, counts = resumed(rt, function() return build(rt) end)
  t:eq(counts, { restored = 1, dirty = 1, unknown = 0 })
  rt:settled()
  t:eq(nodes.w:runs(), 1)
  t:eq(nodes.m:runs(), 1)
  t:eq(rt:doc("m"):value(), { x = 5 })
end)

test("a run that failed is unknown after a restart", function(t)
  local function build(rt)
    return rt:effect{ name = "bad", fn = function() rt:doc("s"):get(); error("no") end }
  end
  local rt = t:runtime()
  rt:doc("s", 1)
  build(rt); rt:settled()
  t:ok(#rt:errors() > 0)
  rt = rt:restart()
  local _, counts = resumed(rt, function() return build(rt) end)
  t:eq(counts, { restored = 0, dirty = 0, unknown = 1 })
  rt:settled()
  t:ok(#rt:errors() > 0)
end)

test("what was not confirmed at the crash is not taken for clean", function(t)
  local rt = settled_chain(t)
  rt:hold(true)
  rt:doc("s"):set(7); rt:idle()
  t:eq(rt:doc("o"):get(), 70)
  rt = rt:restart()
  local nodes, counts = resumed(rt, function() return chain(rt, 10) end)
  t:eq(counts, { restored = 2, dirty = 0, unknown = 0 })
  rt:settled()
  t:eq(rt:doc("s"):get(), 1)
  t:eq(rt:doc("o"):get(), 10)
  t:eq(nodes.c:runs(), 0)
end)

test("without persistence everything is fresh", function(t)
  local rt = settled_chain(t, { persist = false }):restart()
  local nodes, counts = resumed(rt, function() return chain(rt, 10) end)
  t:eq(counts, { restored = 0, dirty = 0, unknown = 2 })
  rt:settled()
  t:eq(nodes.c:runs(), 1)
end)

test("R19 with persistence off nothing is taken up, told or lost", function(t)
  local engine = t:engine()
  settled_chain(t, { engine = engine }):restart()
  local function off() return t:runtime{ engine = engine, persist = false } end
  local rt = off()
  local nodes, counts = resumed(rt, function() return chain(rt, 10) end)
  t:eq(counts, { restored = 0, dirty = 0, unknown = 2 }) -- though there are rows
  rt:settled()
  t:eq(nodes.c:runs(), 1)
  t:eq(nodes.e:runs(), 1)
  rt:restart()
  rt = t:runtime{ engine = engine } -- which are what they were
  nodes, counts = resumed(rt, function() return chain(rt, 10) end)
  t:eq(counts, { restored = 2, dirty = 0, unknown = 0 })
  rt:settled()
  t:eq(rt:stats().runs, 0)
  rt:restart()
  rt = off() -- runs of which nobody is told
  chain(rt, 10)
  rt:doc("s"):set(5); rt:settled()
  t:eq(rt:doc("o"):get(), 50)
  rt:restart()
  rt = t:runtime{ engine = engine }
  nodes, counts = resumed(rt, function() return chain(rt, 10) end)
  t:eq(counts, { restored = 0, dirty = 2, unknown = 0 })
  rt:settled()
  t:eq(nodes.c:runs(), 1)
  t:eq(rt:doc("o"):get(), 50)
end)

-- c reads what is everybody's, and with by > 1 what is the user's own.
local function personal(rt, by)
  local s, u, o = rt:doc("s"), rt:doc("u", nil, { scope = "user" }), rt:doc("o")
  return {
    c = rt:computation{ name = "c", writes = { o }, fn = function()
      local n = s:get()
      if by > 1 then n = n + u:get() end
      o:set(n * by)
    end },
    e = rt:effect{ name = "e", fn = function() o:get() end },
  }
end

local function with_user(t, engine, user, own)
  local rt = t:runtime{ engine = engine, user = user }
  rt:doc("s", 1); rt:doc("u", own, { scope = "user" })
  return rt
end

test("PERS-07 of two rows the one of the same code is taken, without another question", function(t)
  local engine = t:engine()
  local rt = with_user(t, engine, "alice", 2)
  personal(rt, 1); rt:settled() -- a row of the space, of other code
  rt = rt:restart()
  personal(rt, 2); rt:settled() -- a row of alice's
  t:eq(rt:doc("o"):get(), 6)
  rt = rt:restart()
  local _, counts = resumed(rt, function() return personal(rt, 2) end)
  t:eq(counts, { restored = 2, dirty = 0, unknown = 0 })
  rt:settled()
  t:eq(rt:stats().runs, 0)
  t:eq(rt:stats().reads_of_data, 0)
  -- Bob has none but that of the space.
  local bob = with_user(t, engine, "bob", 5)
  local nodes
  nodes, counts = resumed(bob, function() return personal(bob, 2) end)
  t:eq(counts, { restored = 0, dirty = 1, unknown = 1 })
  bob:settled()
  t:eq(nodes.c:runs(), 1)
  t:eq(bob:doc("o"):get(), 12)
end)

test("PERS-07 a row of the same code is of no use if other code ran later", function(t)
  local rt = with_user(t, t:engine(), "alice", 2)
  personal(rt, 2); rt:settled()
  rt = rt:restart()
  personal(rt, 1); rt:settled() -- it has written the output, too
  t:eq(rt:doc("o"):get(), 1)
  rt = rt:restart()
  local nodes, counts = resumed(rt, function() return personal(rt, 2) end)
  t:eq(counts, { restored = 1, dirty = 0, unknown = 1 })
  rt:settled()
  t:eq(nodes.c:runs(), 1)
  t:eq(rt:doc("o"):get(), 6)
end)

test("R24 R25 each user has rows of his own, and what one writes is the other's no concern", function(t)
  local engine, own = t:engine(), { scope = "user" }
  local function build(rt)
    local u, o = rt:doc("u", nil, own), rt:doc("o", nil, own)
    return { c = rt:computation{ name = "c", writes = { o }, fn = function() o:set(u:get() * 10) end },
             e = rt:effect{ name = "e", fn = function() o:get() end } }
  end
  local rts = {}
  for i, user in ipairs{ "alice", "bob" } do
    rts[user] = with_user(t, engine, user, i)
    build(rts[user]); rts[user]:settled()
    t:eq(rts[user]:stats().runs, 2)
    t:eq(rts[user]:stats().adopted, 0)
  end
  local function again(user)
    local rt = rts[user]:restart()
    rts[user] = rt
    local nodes, counts = resumed(rt, function() return build(rt) end)
    rt:settled()
    return counts, nodes.c:runs(), rt:doc("o", nil, own):get()
  end
  local clean = { restored = 2, dirty = 0, unknown = 0 }
  for _, want in ipairs{ { "alice", 10 }, { "bob", 20 } } do
    local counts, runs, value = again(want[1])
    t:eq(counts, clean)
    t:eq(runs, 0)
    t:eq(value, want[2])
  end
  for _, user in ipairs{ "alice", "bob" } do -- behind the backs of both
    rts[user]:restart()
    local rt = t:runtime{ engine = engine, user = user, persist = false }
    rt:doc("u", nil, own):set(7); rt:settled(); rt:restart()
    rts[user] = t:runtime{ engine = engine, user = user }
  end
  local dirty = { restored = 1, dirty = 1, unknown = 0 }
  local counts, runs, value = again("alice")
  t:eq(counts, dirty)
  t:eq(runs, 1)
  t:eq(value, 70)
  t:eq(again("alice"), clean)
  counts, runs = again("bob") -- hers are clean again, his are not
  t:eq(counts, dirty)
  t:eq(runs, 1)
end)

test("a node without a name is unknown", function(t)
  local rt = settled_chain(t):restart()
  local _, counts = resumed(rt, function()
    chain(rt, 10)
    rt:effect{ fn = function() rt:doc("s"):get() end }
  end)
  t:eq(counts, { restored = 2, dirty = 0, unknown = 1 })
end)

test("what a function counts and lists does not make it another one", function(t)
  local runs, log = 0, {}
  local function build(rt)
    return rt:effect{ name = "e", fn = function() runs = runs + 1; log[#log + 1] = rt:doc("s"):get() end }
  end
  local rt = t:runtime()
  rt:doc("s", 1)
  build(rt); rt:settled()
  rt = rt:restart()
  local _, counts = resumed(rt, function() return build(rt) end)
  t:eq(counts.restored, 1)
  rt:settled()
  t:eq(runs, 1)
  t:eq(log, { 1 })
end)

test("an error in resume() leaves nothing open", function(t)
  local rt = settled_chain(t):restart()
  t:fails(function() rt:resume(function() error("no") end) end, "no")
  t:fails(function() rt:resume(function() rt:resume(function() end) end) end, "under way")
  local _, counts = resumed(rt, function() return chain(rt, 10) end)
  t:eq(counts.restored, 2)
end)

test("on a file", function(t)
  local engine = t:engine{ file = "kept" }
  local rt = settled_chain(t, { engine = engine }):restart()
  local _, counts = resumed(rt, function() return chain(rt, 10) end)
  t:eq(counts.restored, 2)
end)

-- Pieces.

local counter = heddle.pattern("counter", function(p)
  local n = p:state("n", 1)
  local double = p:computed("double", function() return n:get() * 2 end)
  local plus = p:computed("plus", function() return double:get() + 1 end)
  p:effect("look", function() plus:get() end)
  return { n = n, plus = plus, set = p:handler("set", function(to) n:set(to) end) }
end)

test("PERS-20 a piece is taken up again with no run and no read of its data", function(t)
  local rt = t:runtime()
  rt:run(counter, nil, { name = "c" })
  rt:settled()
  rt = rt:restart()
  local piece = rt:run(counter, nil, { name = "c" })
  rt:settled()
  t:eq(rt:stats().runs, 0)
  t:eq(rt:stats().reads_of_data, 0)
  t:eq(piece:node("look"):status(), "clean")
  t:eq(piece:get("plus"), 3)
  t:eq(piece:node("plus"):runs(), 0)
  piece:send("set", 5); rt:settled()
  t:eq(piece:get("plus"), 11)
  t:eq(piece:node("double"):runs(), 1)
end)

-- A piece that makes something, and one that uses it.
local producer = heddle.pattern("producer", function(p)
  local n = p:state("n", 1)
  local extra = p:state("extra", 0)
  local ten = p:computed("ten", function() return n:get() * 10 end)
  return { ten = ten, extra = extra,
           set = p:handler("set", function(to) n:set(to) end),
           add = p:handler("add", function(to) extra:set(to) end) }
end)

local consumer = heddle.pattern("consumer", function(p)
  local ten, extra = p:arg("ten"), p:arg("extra")
  local plus = p:computed("plus", function() return ten:get() + 1 end)
  local twice = p:computed("twice", function() return extra:get() * 2 end)
  p:effect("show", function() plus:get() end)
  p:effect("look", function() twice:get() end)
  return { plus = plus, twice = twice }
end)

test("PERS-14 R32 what another piece changed meanwhile, by a computation or by an event, and nothing else", function(t)
  local rt = t:runtime()
  local function consume(make)
    return rt:run(consumer, { ten = make:cell("ten"), extra = make:cell("extra") }, { name = "use" })
  end
  local make = rt:run(producer, nil, { name = "make" })
  local use = consume(make)
  rt:settled()
  t:eq(use:get("plus"), 11)
  use:stop()
  make:send("set", 2); rt:settled()
  t:eq(make:get("ten"), 20) -- somebody looks: it runs
  rt:settled()
  rt = rt:restart()
  make = rt:run(producer, nil, { name = "make" })
  use = consume(make)
  rt:settled()
  t:eq(use:node("plus"):runs(), 1)
  t:eq(use:node("show"):runs(), 1)
  t:eq(use:node("twice"):runs(), 0)
  t:eq(use:node("look"):runs(), 0)
  t:eq(make:node("ten"):runs(), 0)
  t:eq(use:get("plus"), 21)
  use:stop()
  make:send("add", 4); rt:settled() -- by an event alone
  rt = rt:restart()
  make = rt:run(producer, nil, { name = "make" })
  use = consume(make)
  rt:settled()
  t:eq(use:node("twice"):runs(), 1)
  t:eq(use:node("look"):runs(), 1)
  t:eq(use:node("plus"):runs(), 0)
  t:eq(use:node("show"):runs(), 0)
  t:eq(use:get("twice"), 8)
end)

test("PERS-35 three computations in one graph, none of which dirties a sibling", function(t)
  local pattern = heddle.pattern("three", function(p)
    local n = p:state("n", 4)
    local doubled = p:computed("doubled", function() return n:get() * 2 end)
    local plus = p:computed("plusOne", function() return n:get() + 1 end)
    local label = p:computed("label", function() return "n is " .. plus:get() end)
    return { doubled = doubled, plusOne = plus, label = label }
  end)
  local rt = t:runtime()
  local piece = rt:run(pattern, nil, { name = "x" })
  t:eq(piece:get(), { doubled = 8, plusOne = 5, label = "n is 5" })
  rt:settled()
  rt = rt:restart()
  local counts = rt:resume(function() piece = rt:run(pattern, nil, { name = "x" }) end)
  t:eq(counts, { restored = 3, dirty = 0, unknown = 0 })
  t:eq(piece:get(), { doubled = 8, plusOne = 5, label = "n is 5" })
  rt:settled()
  t:eq(rt:stats().runs, 0)
end)

test("pieces and nodes by hand in one resume()", function(t)
  local rt = settled_chain(t)
  rt:run(counter, nil, { name = "c" })
  rt:settled()
  rt = rt:restart()
  local piece
  local counts = rt:resume(function()
    rt:effect{ name = "new", fn = function() end }
    piece = rt:run(counter, nil, { name = "c" })
    chain(rt, 10)
  end)
  t:eq(piece:state(), "running")
  t:eq(counts, { restored = 5, dirty = 0, unknown = 1 })
end)

test("an edited function of a piece runs, the others do not", function(t)
  local function build(by)
    return heddle.pattern("x", function(p)
      local n = p:state("n", 1)
      local a = p:computed("a", function() return n:get() * by end)
      local b = p:computed("b", function() return n:get() + 1 end)
      p:effect("e", function() a:get(); b:get() end)
      return { a = a, b = b }
    end)
  end
  local rt = t:runtime()
  rt:run(build(2), nil, { name = "x" })
  rt:settled()
  rt = rt:restart()
  local piece = rt:run(build(3), nil, { name = "x" })
  rt:settled()
  t:eq(piece:get("a"), 3)
  t:eq(piece:node("a"):runs(), 1)
  t:eq(piece:node("b"):runs(), 0)
  t:eq(piece:node("e"):runs(), 1)
end)

test("a state keeps its value, its initial one is of the first start only", function(t)
  local function build(initial)
    return heddle.pattern("x", function(p) return { n = p:state("n", initial) } end)
  end
  local rt = t:runtime()
  local piece = rt:run(build(1), nil, { name = "x" })
  piece:cell("n"):set(5); rt:settled()
  rt = rt:restart()
  t:eq(rt:run(build(2), nil, { name = "x" }):get("n"), 5)
end)

test("COLD-01 a document that comes later reaches a piece with an empty replica", function(t)
  local rts = t:cluster(2)
  local pattern = heddle.pattern("seen", function(p)
    local input = p:arg("input")
    local observed = p:computed("observed", function() return input:get() and input:get().value or "missing" end)
    return { observed = observed }
  end)
  local input = rts[1]:doc("input", {})
  rts[1]:run(pattern, { input = input }, { name = "x" })
  rts:settled()
  local piece = rts[2]:run(pattern, nil, { name = "x" })
  local last
  rts[2]:sink(piece:cell("observed"), function(v) last = v end)
  rts:settled()
  t:eq(last, "missing")
  input:key("value"):set("arrived"); rts:settled()
  t:eq(last, "arrived")
end)

test("PERS-20 a handler writes below a document that is not here, and reads nothing", function(t)
  local pattern = heddle.pattern("list", function(p)
    local items = p:state("items", { { done = false }, { done = false } })
    local open = p:computed("open", function()
      local count = 0
      for _, item in ipairs(items:get()) do if not item.done then count = count + 1 end end
      return count
    end)
    local finish = p:handler("finish", function(event) items:key(event.number, "done"):set(true) end)
    return { open = open, finish = finish }
  end)
  local rt = t:runtime()
  local piece = rt:run(pattern, nil, { name = "x" })
  t:eq(piece:get("open"), 2)
  rt:settled()
  rt = rt:restart()
  piece = rt:run(pattern, nil, { name = "x" })
  rt:settled()
  t:eq(rt:stats().runs, 0)
  local ticket = piece:send("finish", { number = 1 })
  rt:settled()
  t:eq(ticket:state(), "done")
  t:eq(piece:get("open"), 1)
end)

test("PERS-20 a node writes below a document that is not here, and reads nothing of it", function(t)
  local rt = t:runtime()
  rt:doc("target", { a = 0, b = 1 })
  rt:doc("s", 1)
  local function register()
    local s, target = rt:doc("s"), rt:doc("target")
    return { rt:effect{ name = "e", fn = function() if s:get() > 1 then target:key("a"):set(s:get()) end end },
             rt:effect{ name = "f", fn = function() target:key("b"):get() end } }
  end
  register()
  rt:settled()
  rt = rt:restart()
  local nodes = resumed(rt, register)
  rt:settled()
  t:eq(rt:stats().runs, 0)
  rt:doc("s"):set(2)
  rt:settled()
  t:eq(rt:doc("target"):get(), { a = 2, b = 1 })
  t:eq(nodes[1]:runs(), 1)
  t:eq(nodes[2]:runs(), 0)
end)
