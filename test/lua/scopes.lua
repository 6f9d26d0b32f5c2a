-- Scopes flow: what is computed from one user's data is that user's, and a
-- state of a user has its initial value for each user.
local heddle = require "heddle"
local test   = require "heddle.test"

-- Runtimes of several users on one engine.
local function users(t, ...)
  local engine = t:engine()
  local all = {}
  for i, user in ipairs{ ... } do
    all[i] = t:runtime{ engine = engine, user = user }
  end
  return table.unpack(all)
end

local function settled(...)
  for _ = 1, 4 do
    for _, rt in ipairs{ ... } do rt:settled() end
  end
end

local prefs = heddle.pattern("prefs", function(p)
  local mine  = p:state("mine", 1, { scope = "user" })
  local base  = p:state("base", 10)
  local total = p:computed("total", function() return base:get() + mine:get() end)
  local twice = p:computed("twice", function() return total:get() * 2 end)
  local plain = p:computed("plain", function() return base:get() + 1 end)
  local set   = p:handler("set", function(e) mine:set(e.n) end)
  local raise = p:handler("raise", function(e) base:increment(e.by) end)
  local share = p:handler("share", function() base:set(total:get()) end)
  return { mine = mine, base = base, total = total, twice = twice, plain = plain,
           set = set, raise = raise, share = share }
end)

test("each user has the initial value, and results of its own", function(t)
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(prefs), nil
  settled(alice)
  b = bob:run(prefs)
  settled(alice, bob)
  t:eq(a:get("mine"), 1)
  t:eq(b:get("mine"), 1)
  b:send("set", { n = 5 }); settled(bob, alice)
  t:eq(b:get(), { mine = 5, base = 10, total = 15, twice = 30, plain = 11 })
  t:eq(a:get(), { mine = 1, base = 10, total = 11, twice = 22, plain = 11 })
  a:send("raise", { by = 100 }); settled(alice, bob)
  t:eq(a:get(), { mine = 1, base = 110, total = 111, twice = 222, plain = 111 })
  t:eq(b:get(), { mine = 5, base = 110, total = 115, twice = 230, plain = 111 })
end)

test("shared documents hold no user's data", function(t)
  local alice, bob = users(t, "alice", "bob")
  local a = alice:run(prefs)
  a:send("set", { n = 4711 }); settled(alice)
  t:eq(a:get("twice"), 9442)
  local b = bob:run(prefs)
  t:eq(b:get("twice"), 22)
  for _, name in ipairs{ "total", "twice" } do
    local link = bob:doc("piece:prefs/" .. name)
    t:eq(link:get(), name == "total" and 11 or 22)
    t:eq(bob:doc("piece:prefs/" .. name, nil, { scope = "user" }):get(), name == "total" and 11 or 22)
  end
end)

test("a handler may share a user's data", function(t)
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(prefs), nil
  settled(alice)
  b = bob:run(prefs); settled(alice, bob)
  a:send("set", { n = 3 }); settled(alice, bob)
  a:send("share"); settled(alice, bob)
  t:eq(b:get("base"), 13)
  t:eq(b:get("total"), 14)
  t:eq(a:get("total"), 16)
end)

test("a restart runs nothing, and one user's runs do not make another's clean", function(t)
  local alice, bob = users(t, "alice", "bob")
  local a = alice:run(prefs)
  a:get(); settled(alice)
  local b = bob:run(prefs)
  t:eq(b:get("twice"), 22)
  b:send("set", { n = 2 }); settled(alice, bob)
  t:eq(b:get("twice"), 24)
  settled(alice, bob)

  alice = alice:restart(); bob = bob:restart()
  a, b = alice:run(prefs), bob:run(prefs)
  settled(alice, bob)
  t:eq(a:get("twice"), 22)
  t:eq(b:get("twice"), 24)
  t:eq(alice:stats().runs, 0)
  t:eq(bob:stats().runs, 0)

  -- Only the user whose state changed has something to do.
  b:send("set", { n = 7 }); settled(bob, alice)
  t:eq(b:get("twice"), 34)
  settled(bob, alice)
  alice = alice:restart(); bob = bob:restart()
  a, b = alice:run(prefs), bob:run(prefs)
  t:eq(a:get("twice"), 22)
  t:eq(b:get("twice"), 34)
  t:eq(alice:stats().runs + bob:stats().runs, 0)
end)

test("a change while a user is away is found when the user comes back", function(t)
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(prefs), nil
  a:get(); settled(alice)
  b = bob:run(prefs); b:get(); settled(alice, bob)
  bob = bob:restart()
  a:send("raise", { by = 5 }); settled(alice)
  t:eq(a:get("twice"), 32)
  settled(alice)
  b = bob:run(prefs)
  t:eq(b:get("twice"), 32)
  b:send("set", { n = 0 }); settled(bob)
  t:eq(b:get("twice"), 30)
end)

test("two runtimes of one user agree", function(t)
  local one, two, bob = users(t, "alice", "alice", "bob")
  local a = one:run(prefs); a:get(); settled(one)
  local b = two:run(prefs); b:get(); settled(one, two)
  local c = bob:run(prefs); c:get(); settled(one, two, bob)
  one:effect{ name = "look", fn = function() return a:cell("twice"):get() end }
  two:effect{ name = "look", fn = function() return b:cell("twice"):get() end }
  for i = 1, 5 do
    (i % 2 == 0 and a or b):send("set", { n = i }); settled(one, two, bob)
    t:eq(a:get("twice"), 20 + 2 * i)
    t:eq(b:get("twice"), 20 + 2 * i)
    t:eq(c:get("twice"), 22)
  end
end)

-- Reads of user data come and go with a shared switch.
local switching = heddle.pattern("switching", function(p)
  local mine   = p:state("mine", 1, { scope = "user" })
  local shared = p:state("shared", 100)
  local own    = p:state("own", false)
  local value  = p:computed("value", function() return own:get() and mine:get() or shared:get() end)
  local next_  = p:computed("next", function() return value:get() + 1 end)
  local set    = p:handler("set", function(e) mine:set(e.n) end)
  local switch = p:handler("switch", function(e) own:set(e.on) end)
  return { value = value, next = next_, set = set, switch = switch }
end)

test("a run that reads user data in one run and not in the next", function(t)
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(switching), nil
  a:get(); settled(alice)
  b = bob:run(switching); b:get(); settled(alice, bob)
  a:send("set", { n = 7 }); settled(alice, bob)
  for round = 1, 4 do
    t:eq(a:get(), { value = 100, next = 101 })
    t:eq(b:get(), { value = 100, next = 101 })
    settled(alice, bob)
    local turn = round % 2 == 0 and a or b
    turn:send("switch", { on = true }); settled(alice, bob)
    if round > 2 then
      alice = alice:restart(); a = alice:run(switching); settled(alice, bob)
    end
    t:eq(a:get(), { value = 7, next = 8 })
    t:eq(b:get(), { value = 1, next = 2 })
    settled(alice, bob)
    if round > 1 then
      bob = bob:restart(); b = bob:run(switching); settled(alice, bob)
    end
    turn = round % 2 == 0 and b or a
    turn:send("switch", { on = false }); settled(alice, bob)
  end
end)

test("what a run only samples counts", function(t)
  local pattern = heddle.pattern("sampling", function(p)
    local mine = p:state("mine", 1, { scope = "user" })
    local n    = p:state("n", 1)
    local sum  = p:computed("sum", function() return n:get() + mine:sample() end)
    local set  = p:handler("set", function(e) mine:set(e.n) end)
    local next = p:handler("next", function() n:increment(1) end)
    return { sum = sum, set = set, next = next }
  end)
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(pattern), nil
  a:send("set", { n = 50 }); settled(alice)
  t:eq(a:get("sum"), 51); settled(alice)
  b = bob:run(pattern)
  t:eq(b:get("sum"), 2); settled(alice, bob)
  b:send("next"); settled(alice, bob)
  t:eq(b:get("sum"), 3)
  t:eq(a:get("sum"), 52)
end)

test("lists over a user's data", function(t)
  local calls = 0
  local pattern = heddle.pattern("lists", function(p)
    local items  = p:state("items", { { n = 1 }, { n = 2 } }, { scope = "user" })
    local double = p:map(items, function(item) calls = calls + 1 return item.n * 2 end)
    local large  = p:filter(items, function(item) return item.n > 1 end)
    local flat   = p:flat_map(items, function(item) return { item.n, -item.n } end)
    local sum    = p:reduce(items, 0, function(sum, item) return sum + item.n end)
    local count  = p:computed("count", function() return #double:get() end)
    local add    = p:handler("add", function(e) items:append{ n = e.n } end)
    local drop   = p:handler("drop", function() items:set(heddle.array{}) end)
    local change = p:handler("change", function(e) items:key(e.at, "n"):set(e.n) end)
    return { double = double, large = large, flat = flat, sum = sum, count = count,
             add = add, drop = drop, change = change }
  end)
  local function expect(piece, list)
    local double, large, flat, sum = heddle.array{}, heddle.array{}, heddle.array{}, 0
    for _, n in ipairs(list) do
      double[#double + 1] = 2 * n
      if n > 1 then large[#large + 1] = { n = n } end
      flat[#flat + 1] = n; flat[#flat + 1] = -n
      sum = sum + n
    end
    t:eq(piece:get(), { double = double, large = large, flat = flat, sum = sum, count = #list })
  end
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(pattern), nil
  expect(a, { 1, 2 }); settled(alice)
  b = bob:run(pattern)
  expect(b, { 1, 2 }); settled(alice, bob)
  a:send("add", { n = 3 }); settled(alice, bob)
  expect(a, { 1, 2, 3 })
  expect(b, { 1, 2 })
  b:send("drop"); settled(alice, bob)
  expect(b, {}); settled(alice, bob)
  expect(a, { 1, 2, 3 })
  b:send("add", { n = 9 }); settled(alice, bob)
  expect(b, { 9 })
  a:send("change", { at = 2, n = 20 }); settled(alice, bob)
  expect(a, { 1, 20, 3 }); expect(b, { 9 })
  settled(alice, bob)
  alice = alice:restart(); bob = bob:restart()
  a, b = alice:run(pattern), bob:run(pattern)
  settled(alice, bob)
  calls = 0
  expect(a, { 1, 20, 3 }); expect(b, { 9 })
  t:eq(calls, 0)
  t:eq(alice:stats().runs + bob:stats().runs, 0)
  a:send("change", { at = 1, n = 5 }); settled(alice, bob)
  expect(a, { 5, 20, 3 }); expect(b, { 9 })
  t:eq(calls, 2) -- one child: a test calls each function twice
end)

test("a list whose scope changes", function(t)
  local pattern = heddle.pattern("turning", function(p)
    local mine   = p:state("mine", { 1 }, { scope = "user" })
    local shared = p:state("shared", { 10, 20 })
    local own    = p:state("own", false)
    local list   = p:computed("list", function() return own:get() and mine:value() or shared:value() end)
    local double = p:map(list, function(item) return item:get() * 2 end)
    local large  = p:filter(list, function(item) return item:get() > 5 end)
    local switch = p:handler("switch", function(e) own:set(e.on) end)
    local add    = p:handler("add", function(e) mine:append(e.n) end)
    return { double = double, large = large, switch = switch, add = add }
  end)
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(pattern), nil
  a:get(); settled(alice)
  b = bob:run(pattern); b:get(); settled(alice, bob)
  b:send("add", { n = 7 }); settled(alice, bob)
  for round = 1, 3 do
    t:eq(a:get(), { double = { 20, 40 }, large = { 10, 20 } })
    t:eq(b:get(), { double = { 20, 40 }, large = { 10, 20 } })
    a:send("switch", { on = true }); settled(alice, bob)
    t:eq(a:get(), { double = { 2 }, large = heddle.array{} })
    t:eq(b:get(), { double = { 2, 14 }, large = { 7 } })
    settled(alice, bob)
    if round == 2 then
      alice = alice:restart(); bob = bob:restart()
      a, b = alice:run(pattern), bob:run(pattern)
      t:eq(a:get(), { double = { 2 }, large = heddle.array{} })
      t:eq(b:get(), { double = { 2, 14 }, large = { 7 } })
      t:eq(alice:stats().runs + bob:stats().runs, 0)
    end
    b:send("switch", { on = false }); settled(alice, bob)
  end
end)

test("a piece that was removed gives nothing of a user's to the next one", function(t)
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(prefs), nil
  a:get(); settled(alice)
  b = bob:run(prefs); b:send("set", { n = 99 }); settled(alice, bob)
  t:eq(b:get("total"), 109)
  b:stop(); a:remove(); settled(alice, bob)
  a = alice:run(prefs); t:eq(a:get("total"), 11); settled(alice, bob)
  b = bob:run(prefs)
  t:eq(b:get("mine"), 1)
  t:eq(b:get("total"), 11)
end)

test("a state that a user deleted stays deleted, and a later version adds one", function(t)
  local function pattern(more)
    return heddle.pattern("versions", function(p)
      local mine = p:state("mine", 1, { scope = "user" })
      local other = more and p:state("other", 2, { scope = "user" }) or nil
      local drop = p:handler("drop", function() mine:delete() end)
      return { mine = mine, other = other, drop = drop }
    end)
  end
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(pattern(false)), nil
  a:send("drop"); settled(alice)
  t:eq(a:get("mine"), nil)
  alice = alice:restart()
  a = alice:run(pattern(true))
  t:eq(a:get("mine"), nil)
  t:eq(a:get("other"), 2)
  settled(alice)
  b = bob:run(pattern(true))
  t:eq(b:get(), { mine = 1, other = 2 })
end)

test("a handler that writes a user's data and reads what follows from it", function(t)
  local pattern = heddle.pattern("looking", function(p)
    local mine  = p:state("mine", 1, { scope = "user" })
    local items = p:state("items", { 1 }, { scope = "user" })
    local total = p:computed("total", function() return mine:get() + 100 end)
    local twice = p:computed("twice", function() return total:get() * 2 end)
    local list  = p:map(items, function(item) return item:get() * 10 end)
    local large = p:filter(items, function(item) return item:get() > 1 end)
    local set   = p:handler("set", function(e)
      mine:set(e.n)
      items:append(e.n)
      return { total = total:get(), twice = twice:get(), list = list:value(), large = #large:get(), last = list:get()[2] }
    end)
    return { total = total, twice = twice, list = list, large = large, set = set }
  end)
  local alice, bob = users(t, "alice", "bob")
  local a, b = alice:run(pattern), nil
  a:get(); settled(alice)
  b = bob:run(pattern); b:get(); settled(alice, bob)
  local ticket = b:send("set", { n = 7 }); settled(alice, bob)
  local receipt = ticket:receipt()
  t:eq({ receipt.total, receipt.twice, #receipt.list, receipt.large, receipt.last }, { 107, 214, 2, 1, 70 })
  t:eq(b:get(), { total = 107, twice = 214, list = { 10, 70 }, large = { 7 } })
  t:eq(a:get(), { total = 101, twice = 202, list = { 10 }, large = heddle.array{} })
end)

test("links from a user's document to shared data", function(t)
  local alice, bob = users(t, "alice", "bob")
  local shared = alice:doc("shared", { n = 1 })
  local mine = alice:doc("mine", { to = shared:link() }, { scope = "user" })
  t:eq(mine:get().to.n, 1)
  mine:set{ to = shared:key("n"):link() }
  t:eq(mine:get().to, 1)
end)

test("a computation of the program: whole outputs move, other writes are refused", function(t)
  local alice, bob = users(t, "alice", "bob")
  local results = {}
  for i, rt in ipairs{ alice, bob } do
    local mine = rt:doc("mine", i, { scope = "user" })
    local out = rt:doc("out")
    rt:computation{ name = "c", writes = { out }, fn = function() out:set(mine:get() * 10) end }
    rt:effect{ name = "e", fn = function() results[i] = out:get() end }
    rt:settled()
  end
  settled(alice, bob)
  t:eq(results, { 10, 20 })
  alice:doc("mine", nil, { scope = "user" }):set(3); settled(alice, bob)
  t:eq(results, { 30, 20 })

  local mine = alice:doc("mine", nil, { scope = "user" })
  local log = alice:doc("log", { n = 0 })
  alice:computation{ name = "bad", writes = { log }, fn = function() log:key("n"):set(mine:get()) end }
  alice:sink(log, function() end)
  alice:settled()
  t:eq(#alice:errors(), 1)
  t:ok(alice:errors()[1].message:find("cannot write to log: it is shared", 1, true))
  t:eq(log:value(), { n = 0 })
end)

test("sessions are narrower than users", function(t)
  local pattern = heddle.pattern("sessions", function(p)
    local tab  = p:state("tab", 1, { scope = "session" })
    local mine = p:state("mine", 10, { scope = "user" })
    local sum  = p:computed("sum", function() return tab:get() + mine:get() end)
    local half = p:computed("half", function() return mine:get() // 2 end)
    local set  = p:handler("set", function(e) tab:set(e.n) end)
    local user = p:handler("user", function(e) mine:set(e.n) end)
    return { sum = sum, half = half, set = set, user = user }
  end)
  local one, two, bob = users(t, "alice", "alice", "bob")
  local a = one:run(pattern); a:get(); settled(one)
  local b = two:run(pattern); b:get(); settled(one, two)
  local c = bob:run(pattern); c:get(); settled(one, two, bob)
  a:send("set", { n = 2 }); settled(one, two, bob)
  t:eq({ a:get("sum"), b:get("sum"), c:get("sum") }, { 12, 11, 11 })
  b:send("user", { n = 100 }); settled(one, two, bob)
  t:eq({ a:get("sum"), b:get("sum"), c:get("sum") }, { 102, 101, 11 })
  t:eq({ a:get("half"), b:get("half"), c:get("half") }, { 50, 50, 5 })
end)
