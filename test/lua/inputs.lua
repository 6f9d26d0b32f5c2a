-- What a handler or an edit reads of a computation holds when it is committed:
-- no input of the computation, over any number of others, has changed before.
local heddle = require "heddle"
local test   = require "heddle.test"

-- Two runtimes on one engine. The first one has the computations; while its
-- commits are held, the other one writes.
local function two(t)
  local engine = t:engine()
  return t:runtime{ engine = engine }, t:runtime{ engine = engine }
end

local function computation(rt, name, fn)
  local out = rt:doc(name)
  rt:computation{ name = name, writes = { out }, fn = function() out:set(fn()) end }
  return out
end

-- `read` is called by a handler, and its value is stored; `before` it, something
-- may be written here, and `rival` writes before all of that lands. Gives what is
-- stored in the end, how often `read` was called, and how the event has ended.
local function race(one, other, read, rival, before)
  local seen, stream, calls = one:doc("seen"), one:stream("note"), 0
  one:on(stream, function() calls = calls + 1; seen:set(read()) end)
  one:settled(); other:settled()
  one:hold(true)
  if before then before() end
  local ticket = stream:send(heddle.object{})
  one:step()
  rival()
  other:settled()
  one:hold(false)
  one:settled()
  return seen:value(), calls, ticket:state()
end

-- The same with an edit.
local function race_of_edit(one, other, read, rival, before)
  local seen, calls = one:doc("seen"), 0
  one:settled(); other:settled()
  one:hold(true)
  if before then before() end
  local _, commit = one:edit(function() calls = calls + 1; seen:set(read()) end)
  rival()
  other:settled()
  one:hold(false)
  one:settled()
  return seen:value(), calls, commit:state()
end

for name, run in pairs{ ["a handler"] = race, ["an edit"] = race_of_edit } do
  local ended = run == race and "done" or "confirmed"

  test(name .. " does not commit on a computation of which an input has changed", function(t)
    local one, other = two(t)
    local n = one:doc("n", 1)
    local double = computation(one, "double", function() return n:get() * 2 end)
    t:eq(one:pull(double), 2)
    t:eq({ run(one, other, function() return double:get() end, function() other:doc("n"):set(7) end) }, { 14, 2, ended })
  end)

  test(name .. " does not commit on a computation behind others", function(t)
    local one, other = two(t)
    local n = one:doc("n", 1)
    local last = n
    for i = 1, 20 do
      local before = last
      last = computation(one, "c" .. i, function() return before:get() + 1 end)
    end
    t:eq(one:pull(last), 21)
    t:eq({ run(one, other, function() return last:get() end, function() other:doc("n"):set(100) end) }, { 120, 2, ended })
  end)

  test(name .. " does not commit on what the last run of a computation read, though it wrote nothing", function(t)
    local one, other = two(t)
    local which, a, b = one:doc("which", "a"), one:doc("a", 5), one:doc("b", 5)
    local chosen = computation(one, "chosen", function() return which:get() == "a" and a:get() or b:get() end)
    t:eq(one:pull(chosen), 5)
    one:settled(); other:settled()
    which:set("b")
    t:eq(one:pull(chosen), 5)
    t:eq({ run(one, other, function() return chosen:get() end, function() other:doc("b"):set(6) end) }, { 6, 2, ended })
  end)

  test(name .. " does not commit on a computation over an own write that was refused", function(t)
    local one, other = two(t)
    local n, high = one:doc("n", 1), nil
    high = computation(one, "high", function() return n:get() > 10 end)
    t:eq(one:pull(high), false)
    t:eq({ run(one, other, function() return high:get() end, function() other:doc("n"):set(50) end, function()
      one:edit(function() n:set(n:get() + 1) end) -- makes no difference to `high`
      t:eq(one:pull(high), false)
    end) }, { true, 2, ended })
    t:eq(n:get(), 51)
  end)

  test(name .. " is not made again for what it does not depend on", function(t)
    local one, other = two(t)
    local n, m = one:doc("n", 1), one:doc("m", 1)
    local double = computation(one, "double", function() return n:get() * 2 end)
    t:eq(one:pull(double), 2)
    t:eq({ run(one, other, function() return double:get() end, function() other:doc("elsewhere"):set(7) end) }, { 2, 1, ended })
    t:eq(m:get(), 1)
  end)

  test(name .. " does not commit on a changed input after a refusal either", function(t)
    local one, other = two(t)
    local n, busy = one:doc("n", 1), one:doc("busy", 0)
    local last = n
    for i = 1, 5 do
      local before = last
      last = computation(one, "c" .. i, function() return before:get() + 1 end)
    end
    local watched = computation(one, "watched", function() return busy:get() end)
    t:eq({ one:pull(last), one:pull(watched) }, { 6, 0 })
    -- The second attempt is held as well, and `n` changes before it lands.
    local value, calls, state = run(one, other, function() return last:get() end, function()
      other:doc("busy"):set(1); other:settled()
      one:hold(false); one:step(); one:hold(true)
      one:advance(5); one:step()
      other:doc("n"):set(100)
    end)
    t:eq({ value, calls, state }, { 105, 3, ended })
  end)

  test(name .. " ends though others write without end", function(t)
    local one, other = two(t)
    local n, busy = one:doc("n", 1), one:doc("busy", 0)
    local double = computation(one, "double", function() return n:get() * 2 end)
    local watched = computation(one, "watched", function() return busy:get() end)
    t:eq({ one:pull(double), one:pull(watched) }, { 2, 0 })
    local calls = 0
    local function read()
      calls = calls + 1
      return double:get()
    end
    -- Before each commit of the first runtime lands, the other one has written
    -- something that the first runtime watches and this read does not need.
    local seen, stream = one:doc("seen"), one:stream("note")
    one:on(stream, function() seen:set(read()) end)
    one:settled(); other:settled()
    one:hold(true)
    local ended_as
    if run == race then
      local ticket = stream:send(heddle.object{})
      ended_as = function() return ticket:state() == "done" end
    else
      local _, commit = one:edit(function() seen:set(read()) end)
      ended_as = function() return commit:state() == "confirmed" end
    end
    for i = 1, 4 do
      one:step()
      other:doc("busy"):set(i)
      other:settled()
      one:hold(false)
      one:step()
      one:hold(true)
      one:advance(5)
    end
    t:eq({ ended_as(), calls <= 3 }, { true, true })
    one:hold(false); one:settled()
    t:eq(seen:get(), 2)
  end)
end
