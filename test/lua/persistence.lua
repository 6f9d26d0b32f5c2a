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

test("a run that failed is unknown after a restart", function(t)
  local function build(rt)
    return rt:effect{ name = "bad", fn = function() rt:doc("s"):get(); error("no") end }
  end
  local rt = t:runtime()
  rt:doc("s", 1)
  build(rt); rt:settled()
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
