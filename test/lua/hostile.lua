-- Odd things at odd places: an error for the one who did it, and all is well.
local heddle = require "heddle"
local test   = require "heddle.test"

local function message(rt) return rt:errors()[#rt:errors()].message end

test("a node that cancels itself, its parent, its sibling", function(t)
  local rt = t:runtime()
  local s  = rt:doc("s", 1)
  local a, b, k
  a = rt:effect{ name = "A", fn = function() s:get(); a:cancel(); a:cancel() end }
  b = rt:effect{ name = "B", fn = function()
    k = rt:effect{ name = "K", fn = function() b:cancel(); s:get() end }
    rt:effect{ name = "L", fn = function() k:cancel() end }
  end }
  rt:idle()
  s:set(2); rt:idle()
  t:eq(rt:stats().effects, 0)
  t:eq({ a:live(), b:live(), k:live() }, { false, false, false })
end)

test("yields, restarts and steps inside of a run", function(t)
  local rt = t:runtime()
  rt:effect{ name = "A", fn = function() coroutine.yield() end }
  rt:idle()
  t:ok(message(rt):find("yield"))
  rt:effect{ name = "B", fn = function() rt:restart() end }
  rt:idle()
  t:ok(message(rt):find("inside a run"))
  rt:effect{ name = "C", fn = function() rt:edit(function() end) end }
  rt:idle()
  t:ok(message(rt):find("inside a run"))
  rt:effect{ name = "D", fn = function() t:seeds(1, function() end) end }
  rt:idle()
  t:ok(message(rt):find("inside a run"))
end)

test("a runtime is driven from a coroutine", function(t)
  local rt = t:runtime()
  local s, seen = rt:doc("s", 1), {}
  rt:sink(s, function(v) seen[#seen + 1] = v end)
  local step = coroutine.wrap(function()
    rt:idle(); coroutine.yield(1)
    s:set(2); rt:idle()
  end)
  t:eq(step(), 1)
  step()
  t:eq(seen, { 1, 2 })
end)

test("another runtime is driven inside of a run", function(t)
  local outer, inner = t:runtime(), t:runtime()
  local x = inner:doc("x", 1)
  local seen = {}
  inner:sink(x, function(v) seen[#seen + 1] = v end)
  local y = outer:doc("y", 1)
  outer:effect{ name = "E", fn = function() x:set(y:get() * 10); inner:idle() end }
  outer:idle()
  y:set(2); outer:idle()
  t:eq(seen, { 10, 20 })
  t:fails(function() outer:edit(function(tx) tx:set(x, 1) end) end, "another runtime")
end)

test("tx is of no use after its run", function(t)
  local rt, kept = t:runtime(), nil
  local s = rt:doc("s", 1)
  rt:effect{ name = "E", fn = function(tx) kept = tx end }
  rt:idle()
  t:fails(function() kept:set(s, 1) end, "is over")
  t:fails(function() kept:abort() end, "is over")
end)

test("an endless run ends, and so does one that eats memory", function(t)
  local rt = t:runtime()
  local s  = rt:doc("s", 1)
  local e  = rt:effect{ name = "E", fn = function()
    if s:get() == 1 then while true do end end
    if s:get() == 2 then local x = "x"; while true do x = x .. x end end
  end }
  rt:idle()
  t:ok(message(rt):find("step budget"))
  s:set(2); rt:idle()
  t:ok(message(rt):find("memory"))
  s:set(3); rt:idle()
  t:eq(e:runs(), 1)
end)

test("an abort cannot be caught", function(t)
  local rt = t:runtime()
  local o = rt:doc("o", 0)
  local _, why = rt:edit(function(tx) o:set(1); pcall(tx.abort, tx); o:set(2) end)
  t:eq(why.name, "GIVEN_UP")
  t:eq(o:get(), 0)
end)

test("errors of any type", function(t)
  local rt = t:runtime()
  for i, object in ipairs{ {}, 1, true, print } do
    rt:effect{ name = "E" .. i, fn = function() error(object) end }
  end
  rt:idle()
  t:eq(#rt:errors(), 4)
end)

test("names with anything in them", function(t)
  local rt = t:runtime()
  local odd = "a/b~c\n\0\u{1F9F5}\"'"
  local d = rt:doc("d", { [odd] = 1 })
  t:eq(d:key(odd):get(), 1)
  t:eq(d:get()[odd], 1)
  local e = rt:effect{ name = odd, fn = function() return d:get()[odd] end }
  rt:idle()
  t:eq(e:reads()[1].path, { odd })
  t:fails(function() rt:effect{ name = "\xff", fn = print } end, "UTF%-8")
  t:fails(function() rt:doc("\xff") end, "UTF%-8")
  t:fails(function() rt:doc("") end)
  t:fails(function() rt:doc(("x"):rep(100000)) end)
end)

test("many objects that nobody keeps", function(t)
  local rt = t:runtime()
  local d  = rt:doc("d", { list = { 1, 2, 3 } })
  for i = 1, 3000 do
    local v = d:key("list", 1 + i % 3)
    t:eq(v:get(), 1 + i % 3)
    local _ = d:get().list, rt:doc("other" .. i % 10), rt:stream("s" .. i % 10)
  end
end)

test("a view that is compared, stored and looped over", function(t)
  local rt = t:runtime()
  local d  = rt:doc("d", { a = { x = 1 }, b = { 1, 2 } })
  local o  = rt:doc("o")
  o:set(d:get())
  t:eq(o:value(), { a = { x = 1 }, b = { 1, 2 } })
  t:eq(d:get().a, d:get().a)
  local keys = {}
  for k in pairs(d:get()) do keys[#keys + 1] = k end
  t:eq(keys, { "a", "b" })
  t:fails(function() setmetatable(d:get(), {}) end)
end)
