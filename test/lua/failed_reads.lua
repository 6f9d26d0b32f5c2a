-- A run that fails is subscribed to everything that it looked at, and to what
-- the run before it had read: when one of them changes, it runs again.
local heddle = require "heddle"
local test   = require "heddle.test"

-- a is a link to b.x, and b.x a link to a.
local function circle(rt)
  local a, b = rt:doc("a"), rt:doc("b", { x = 0 })
  a:set(b:key("x"):link())
  b:set{ x = a:link() }
  return a, b
end

-- The ways in which Lua reads what is at a cell.
local ways = {
  get    = function(cell) return cell:get() end,
  value  = function(cell) return cell:value() end,
  keys   = function(cell) return cell:keys() end,
  sample = function(cell) return cell:get() and cell:sample() end,
  below  = function(cell) return cell:key("y", "z"):get() end,
  caught = function(cell) local _, v = pcall(cell.get, cell) return v end,
}

for name, read in pairs(ways) do
  test("an effect that meets a circle runs when the circle is repaired: " .. name, function(t)
    local rt = t:runtime()
    local a, b = circle(rt)
    local seen = {}
    local e = rt:effect{ name = "e", fn = function() seen[#seen + 1] = read(a) or "nothing" end }
    rt:idle()
    t:eq(#rt:errors(), name == "caught" and 0 or 1)
    t:ok(#e:reads() >= 2)
    local before = #seen
    b:set{ x = { y = { z = 1 } } }; rt:idle()
    t:eq(#seen, before + 1)
    t:eq(#rt:errors(), name == "caught" and 0 or 1)
  end)
end

test("a computation that meets a circle runs when the circle is repaired", function(t)
  local rt = t:runtime()
  local a, b = circle(rt)
  local out = rt:doc("out")
  rt:computation{ name = "c", writes = { out }, fn = function() out:set(a:get() + 1) end }
  rt:sink(out, function() end)
  rt:idle()
  t:eq(out:get(), nil)
  t:eq(#rt:errors(), 1)
  b:set{ x = 1 }; rt:idle()
  t:eq(out:get(), 2)
  t:eq(#rt:errors(), 1)
end)

test("the reads of the run before stay, beside those of the run that failed", function(t)
  local rt = t:runtime()
  local way, n, b = rt:doc("way", "n"), rt:doc("n", 1), nil
  local a
  a, b = circle(rt)
  local calls = 0
  rt:effect{ name = "e", fn = function()
    calls = calls + 1
    return way:get() == "n" and n:get() or a:get()
  end }
  rt:idle()
  way:set("a"); rt:idle()
  t:eq(#rt:errors(), 1)
  n:set(2); rt:idle() -- of the run before
  t:eq(calls, 3)
  t:eq(#rt:errors(), 2)
  b:set{ x = 7 }; rt:idle()
  t:eq(calls, 4)
  t:eq(#rt:errors(), 2)
  n:set(3); rt:idle() -- what succeeded reads n no more
  t:eq(calls, 4)
end)

test("a link to what is absent", function(t)
  local rt = t:runtime()
  local a = rt:doc("a", { to = rt:doc("absent"):key("deep", "down"):link() })
  local seen = {}
  rt:effect{ name = "e", fn = function() seen[#seen + 1] = a:get().to or "nothing" end }
  rt:idle()
  rt:doc("absent", { deep = { down = 5 } }); rt:idle()
  t:eq(seen, { "nothing", 5 })
end)

test("a value of another type on the way", function(t)
  local rt = t:runtime()
  local d = rt:doc("d", { a = 5 })
  local seen = {}
  rt:effect{ name = "e", fn = function() seen[#seen + 1] = d:get().a.b.c end }
  rt:idle()
  t:eq(#rt:errors(), 1)
  d:key("a"):set{ b = { c = 1 } }; rt:idle()
  t:eq(seen, { 1 })
  d:key("n"):set(1)
  rt:effect{ name = "f", fn = function() seen[#seen + 1] = d:key("n"):keys() end }
  rt:idle()
  t:eq(#rt:errors(), 2)
  d:key("n"):set{ 1, 2, 3 }; rt:idle()
  t:eq(seen, { 1, 3 })
end)

test("a write that failed because of what is there", function(t)
  local rt = t:runtime()
  local d = rt:doc("d", { a = 5, n = "text", list = 1 })
  local writes = {
    function() d:key("a", "b"):set(1) end,
    function() d:key("n"):increment(1) end,
    function() d:key("list"):append(1) end,
  }
  for i, write in ipairs(writes) do
    rt:effect{ name = "e" .. i, fn = write }
  end
  rt:idle()
  t:eq(#rt:errors(), 3)
  d:set{ a = {}, n = 1, list = heddle.array{} }; rt:idle()
  t:eq(#rt:errors(), 3)
  t:eq(d:value(), { a = { b = 1 }, n = 2, list = { 1 } })
end)

test("a write through a circle", function(t)
  local rt = t:runtime()
  local a, b = circle(rt)
  rt:effect{ name = "e", fn = function() a:set(3) end }
  rt:idle()
  t:eq(#rt:errors(), 1)
  b:set{ x = 1 }; rt:idle()
  t:eq(b:value(), { x = 3 })
end)

test("a pattern, and its effect after a restart", function(t)
  local pattern = heddle.pattern("p", function(p)
    local a = p:arg("a")
    local log = p:state("log", {})
    local c = p:computed("c", function() return a:get() * 2 end)
    p:effect("e", function() log:set{ c:get() } end)
    return { c = c, log = log }
  end)
  local rt = t:runtime()
  circle(rt)
  rt:run(pattern, { a = rt:doc("a") })
  rt:settled()
  t:ok(#rt:errors() >= 1)
  rt = rt:restart()
  local piece = rt:run(pattern)
  rt:settled()
  local errors = #rt:errors() -- a run that failed is made again after a restart
  rt:doc("b"):set{ x = 4 }; rt:settled()
  t:eq(#rt:errors(), errors)
  t:eq(piece:get("c"), 8)
  t:eq(piece:get("log"), { 8 })
end)

test("a clearance that was missing", function(t)
  local rt = t:runtime()
  local d = rt:doc("d", { secret = 1 })
  local piece = rt:run(heddle.pattern("p", function(p)
    local secret = p:computed("secret", function() return d:get().secret end, { label = "salary" })
    local public = p:computed("public", function() return 1 end)
    return { secret = secret, public = public }
  end))
  piece:get()
  local seen = {}
  rt:effect{ name = "e", fn = function() seen[#seen + 1] = piece:cell("secret"):get() end }
  rt:idle()
  t:eq(#rt:errors(), 1)
  d:key("secret"):set(2); rt:idle()
  t:eq(#rt:errors(), 2) -- it was asked again
  t:eq(#seen, 0)
end)
