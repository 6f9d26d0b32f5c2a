-- Writes from outside of runs: rt:edit, and writes of their own.
local heddle = require "heddle"
local test   = require "heddle.test"

-- Two runtimes on one engine.
local function two(t)
  local engine = t:engine()
  return t:runtime{ engine = engine }, t:runtime{ engine = engine }
end

test("the first touch of a document in an edit fetches it", function(t)
  local one, other = two(t)
  other:doc("a", { n = 5, list = { 1 } }); other:doc("b", "text"); other:settled()
  local seen, calls = {}, 0
  t:eq(one:edit(function()
    calls = calls + 1
    local a, b = one:doc("a"), one:doc("b")
    seen = { a:key("n"):get(), b:get() }
    a:key("m"):set(6)
    a:key("list"):append(2)
  end), true)
  t:eq(seen, { 5, "text" })
  one:settled(); other:settled()
  t:eq(other:doc("a"):value(), { n = 5, m = 6, list = { 1, 2 } })
end)

test("no body sees nil for a document that is not loaded", function(t)
  local one, other = two(t)
  for i = 1, 50 do other:doc("d" .. i, i) end
  other:settled()
  local nils, sum = 0, 0
  one:edit(function()
    sum = 0
    for i = 1, 50 do
      local fine, value = pcall(function() return one:doc("d" .. i):get() end)
      if not fine or value == nil then nils = nils + 1 else sum = sum + value end
    end
  end)
  t:eq({ nils, sum }, { 0, 1275 })
end)

test("a refused edit runs its body again on what is there then", function(t)
  local one, other = two(t)
  local a = one:doc("a", 1); one:settled()
  local b = other:doc("a")
  local calls = 0
  one:hold(true)
  local done, commit = one:edit(function() calls = calls + 1; a:set(a:get() + 10) end)
  t:eq({ done, commit:state(), a:get() }, { true, "pending", 11 })
  b:set(100); other:settled()
  one:hold(false); one:settled()
  t:eq({ calls, commit:state(), a:get() }, { 2, "confirmed", 110 })
  other:settled()
  t:eq(b:get(), 110)
  t:eq(commit:error(), nil)
end)

test("an edit that finds nothing to do when it runs again", function(t)
  local one, other = two(t)
  local a = one:doc("a", 1); one:settled()
  one:hold(true)
  local _, commit = one:edit(function() if a:get() < 50 then a:set(50) end end)
  other:doc("a"):set(99); other:settled()
  one:hold(false); one:settled()
  t:eq({ commit:state(), a:get() }, { "confirmed", 99 })
end)

test("an edit whose body fails when it runs again is reported", function(t)
  local one, other = two(t)
  local a = one:doc("a", 1); one:settled()
  one:hold(true)
  local _, commit = one:edit(function()
    if a:get() > 50 then error("it is taken") end
    a:set(2)
  end)
  other:doc("a"):set(99); other:settled()
  one:hold(false); one:settled()
  t:eq({ commit:state(), a:get() }, { "rejected", 99 })
  t:ok(commit:error().message:find("it is taken", 1, true) ~= nil, commit:error().message)
  t:eq(#one:errors(), 1)
end)

test("an edit that is refused for good is reported, and its handle says so", function(t)
  local rt = t:runtime()
  local a = rt:doc("a", 1); rt:settled()
  rt:reject_next{ kind = "permanent" }
  local _, commit = rt:edit(function() a:set(7) end)
  rt:settled()
  t:eq({ commit:state(), a:get() }, { "rejected", 1 })
  t:eq(#rt:errors(), 1)
end)

test("a write that was refused once does not overwrite a later one", function(t)
  local rt = t:runtime()
  local d = rt:doc("d", 0); rt:settled()
  rt:reject_next{ kind = "conflict" }
  d:set(1)
  d:set(2)
  rt:settled()
  t:eq(d:get(), 2)
  rt:reject_next{ kind = "conflict" }
  d:set(3); rt:step()
  d:set(4)
  rt:settled()
  t:eq(d:get(), 4)
  rt:reject_next{ kind = "conflict" }
  d:set(5); d:increment(2)
  rt:settled()
  t:eq(d:get(), 7)
  t:eq(#rt:errors(), 0)
end)

test("the order holds for edits among writes of their own", function(t)
  local rt = t:runtime()
  local d, e = rt:doc("d", 0), rt:doc("e", 0); rt:settled()
  rt:reject_next{ kind = "conflict", times = 2 }
  d:set(1)
  rt:edit(function() d:set(d:get() * 10); e:set(1) end)
  d:increment(5)
  rt:settled()
  t:eq({ d:get(), e:get() }, { 15, 1 })
end)

test("what follows a write that is refused for good is made without it", function(t)
  local rt = t:runtime()
  local d = rt:doc("d", 0); rt:settled()
  rt:reject_next{ kind = "terminal" }
  d:set(1)
  d:increment(5)
  rt:settled()
  t:eq(d:get(), 5)
  t:eq(#rt:errors(), 1)
end)

test("an initial value does not overwrite what was created meanwhile", function(t)
  local one, other = two(t)
  one:hold(true)
  local a = one:doc("a", "mine")
  t:eq(a:get(), "mine")
  other:doc("a", "theirs"); other:settled()
  one:hold(false); one:settled()
  t:eq(a:get(), "theirs")
  other:settled()
  t:eq(other:doc("a"):get(), "theirs")
  t:eq(#one:errors(), 0)
  -- A document that was deleted has an initial value again.
  a:delete(); one:settled()
  t:eq(one:doc("a", "again"):get(), "again")
  one:settled(); other:settled()
  t:eq(other:doc("a"):get(), "again")
end)

test("a write that changes nothing on an old view is made on the new one", function(t)
  local e = t:engine()
  local one, two = t:runtime{ engine = e }, t:runtime{ engine = e }
  local a, b = one:doc("d", 5), nil
  one:settled()
  b = two:doc("d")
  t:eq(b:get(), 5)
  a:set(6) one:settled()
  b:set(5) two:settled() one:settled()
  t:eq(a:get(), 5)
  local l = one:doc("l", { "a", "b" })
  one:settled()
  local m = two:doc("l")
  t:eq(m:value(), { "a", "b" })
  l:append("x") one:settled()
  two:edit(function() m:remove("x") end)
  two:settled() one:settled()
  t:eq(l:value(), { "a", "b" })
end)

test("a position beyond the end of an old view is looked for on the new one", function(t)
  local e = t:engine()
  local one, other = t:runtime{ engine = e }, t:runtime{ engine = e }
  one:doc("l", heddle.array{ 1 })
  one:settled()
  local l = other:doc("l")
  t:eq(l:value(), { 1 })
  one:doc("l"):append(2) one:doc("l"):append(3) one:settled()
  t:eq(other:edit(function() l:key(3):set("c") end), true)
  other:settled() one:settled()
  t:eq(one:doc("l"):value(), { 1, 2, "c" })
  one:doc("l"):append(4) one:doc("l"):append(5) one:settled()
  l:key(5):set("e")
  other:settled() one:settled()
  t:eq(one:doc("l"):value(), { 1, 2, "c", 4, "e" })
  t:eq(pcall(function() l:key(9):set("x") end), false)
end)

test("an edit that fails on an old view is made on the new one", function(t)
  local e = t:engine()
  local one, other = t:runtime{ engine = e }, t:runtime{ engine = e }
  one:doc("n", 1) one:settled()
  local n, calls = other:doc("n"), 0
  t:eq(n:get(), 1)
  one:doc("n"):set(2) one:settled()
  local function edit()
    calls = calls + 1
    if n:get() % 2 == 1 then error("it is odd") end
    n:increment(1)
  end
  t:eq(other:edit(edit), true)
  t:eq(calls, 2)
  other:settled()
  -- On the newest view it fails at once.
  local done, why = pcall(other.edit, other, edit)
  t:eq(done, false)
  t:ok(tostring(why):find("it is odd", 1, true), why)
  t:eq(calls, 3)
end)

test("a position that only an old view has fails, also if the edit overwrites the array later", function(t)
  local engine = t:engine()
  local a, b = t:runtime{ engine = engine }, t:runtime{ engine = engine }
  local mine = a:doc("list", heddle.array{ 1, 2 })
  a:settled()
  local theirs = b:doc("list")
  t:eq(theirs:value(), { 1, 2 })
  b:hold(true)
  mine:set(heddle.array{ 1 })
  a:settled()
  local calls = 0
  b:edit(function()
    calls = calls + 1
    theirs:key(3):set("behind the last")
    theirs:set(heddle.array{ 7 })
  end)
  b:hold(false)
  b:settled()
  t:eq(calls, 2)
  t:eq(#b:errors(), 1)
  a:settled()
  t:eq(mine:value(), { 1 })
end)

test("an edit that is refused while a later one fetches its documents comes first", function(t)
  local one, other = two(t)
  other:doc("a", { list = { 1 } }); other:doc("read", 1); other:doc("far", "x"); other:settled()
  local _, first = one:edit(function()
    one:doc("a"):key("list"):set(heddle.array{})
    one:doc("read"):get()
  end)
  other:doc("read"):set(2); other:settled()
  local _, second = one:edit(function()
    one:doc("far"):set("y")
    one:doc("a"):key("list"):add_unique(5)
  end)
  one:settled(); other:settled()
  t:eq({ first:state(), second:state() }, { "confirmed", "confirmed" })
  t:eq(other:doc("a"):key("list"):value(), { 5 })
end)
