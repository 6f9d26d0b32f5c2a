-- Cells: what is read counts, what is written lands.
local heddle = require "heddle"
local test   = require "heddle.test"

test("only what was touched is read", function(t)
  local rt = t:runtime()
  local d  = rt:doc("d", { a = 1, b = { c = { 1, 2, 3 } } })
  local seen = {}
  local e = rt:effect{ name = "e", fn = function() seen[#seen + 1] = d:get().a end }
  rt:idle()
  t:eq(e:reads(), { { doc = "d", space = "main", path = { "a" } } })
  d:key("b", "c"):append(4); rt:idle()
  d:key("z"):set(1); rt:idle()
  t:eq(e:runs(), 1)
  d:key("a"):set(5); rt:idle()
  t:eq(seen, { 1, 5 })
end)

test("a container that becomes something else is seen", function(t)
  local rt = t:runtime()
  local d  = rt:doc("d", { a = { x = 1 } })
  local kinds = {}
  rt:effect{ name = "e", fn = function() kinds[#kinds + 1] = type(d:get().a) end }
  rt:idle()
  d:key("a", "x"):set(2); rt:idle()
  t:eq(kinds, { "userdata" })
  d:key("a"):set(7); rt:idle()
  d:key("a"):delete(); rt:idle()
  t:eq(kinds, { "userdata", "number", "nil" })
end)

test("shapes: lengths, keys, loops", function(t)
  local rt = t:runtime()
  local d  = rt:doc("d", { 1, 2, 3 })
  local e  = rt:effect{ name = "e", fn = function() return #d:get() end }
  rt:idle()
  t:eq(e:reads(), { { doc = "d", space = "main", path = heddle.array{}, shallow = true } })
  d:key(2):set(20); rt:idle()
  t:eq(e:runs(), 1)
  d:append(4); rt:idle()
  t:eq(e:runs(), 2)
  t:eq(d:keys(), 4)
  t:eq(rt:doc("o", { b = 1, a = 2 }):keys(), { "a", "b" })
  t:eq(rt:doc("none"):keys(), nil)
  t:fails(function() rt:doc("n", 1):keys() end, "integer")
end)

test("views are read-only, and gone with their run", function(t)
  local rt = t:runtime()
  local d  = rt:doc("d", { a = { 1 } })
  t:fails(function() d:get().a = 1 end, 'cell:key("a"):set(value)')
  local kept
  rt:effect{ name = "e", fn = function() kept = d:get() end }
  rt:idle()
  t:fails(function() return kept.a end, "run that has ended")
end)

test("writes, each a transaction of its own", function(t)
  local rt = t:runtime()
  local d  = rt:doc("d", { n = 1, list = { 1, 2, 3 } })
  d:key("n"):increment(3)
  d:key("n"):increment()
  d:key("list"):remove(2)
  d:key("list"):add_unique(1, 9)
  d:key("list"):append(5, 6)
  t:eq(d:value(), { n = 5, list = { 1, 3, 9, 5, 6 } })
  d:key("n"):delete()
  t:eq(d:key("n"):get(), nil)
  d:delete()
  t:eq(d:get(), nil)
  d:set(heddle.array{})
  t:eq(d:value(), heddle.array{})
  t:fails(function() t:eq(d:value(), heddle.object{}) end, "is [], expected {}")
  d:set(heddle.null)
  t:eq(d:get(), heddle.null)
  t:fails(function() d:set(nil) end, "delete()")
  t:fails(function() d:set(print) end, "function")
  t:fails(function() d:key("x", "y"):set(1) end)
  t:fails(function() d:key() end, "a key or a position")
  t:fails(function() d:key(0) end, "begins with 1")
end)

test("sample does not subscribe", function(t)
  local rt = t:runtime()
  local s  = rt:doc("s", 1)
  local e  = rt:effect{ name = "e", fn = function() s:sample() end }
  rt:idle()
  s:set(2); rt:idle()
  t:eq(e:runs(), 1)
end)

test("a link is followed, by reads and by writes", function(t)
  local rt = t:runtime()
  local a  = rt:doc("a", { x = 1 })
  local b  = rt:doc("b", { l = a:link(), same = a })
  local seen = {}
  rt:sink(b:key("l", "x"), function(v) seen[#seen + 1] = v end)
  rt:idle()
  a:key("x"):set(2); rt:idle()
  b:key("l", "x"):set(3); rt:idle()
  t:eq(seen, { 1, 2, 3 })
  t:eq(b:get().same.x, 3)
  t:eq(b:value().l, a:link())
  t:eq(b:value().l.id, "a")
end)

test("user and session are scopes of their own", function(t)
  local e = t:engine()
  local ada, eve = t:runtime{ engine = e, user = "ada" }, t:runtime{ engine = e, user = "eve" }
  ada:doc("d", 1, { scope = "user" })
  ada:settled()
  t:eq(eve:doc("d", nil, { scope = "user" }):get(), nil)
  t:eq(ada:doc("d", nil, { scope = "user" }):get(), 1)
  t:eq(ada:doc("d"):get(), nil)
  t:fails(function() ada:doc("d", nil, { scope = "planet" }) end, '"session"')
  t:fails(function() ada:doc("d", nil, { space = "other" }) end, "no such space")
end)

test("a computation may use what was read in any way", function(t)
  local rt = t:runtime()
  local items = rt:doc("items", { { price = 2, qty = 3 }, { price = 1, qty = 4 } })
  local net   = rt:doc("net")
  local c = rt:computation{ name = "net", writes = { net }, fn = function()
    local sum = 0
    for _, item in ipairs(items:get()) do sum = sum + item.price * item.qty end
    net:set(sum)
  end }
  t:eq(rt:pull(net), 10)
  items:append{ price = 5, qty = 1 }
  t:eq(rt:pull(net), 15)
  items:key(1, "name"):set("thread")
  t:eq(rt:pull(net), 15)
  t:eq(c:runs(), 2)
end)
