-- No function sees "nothing" for a document that has not come yet: it is
-- interrupted at that read, past any pcall, and called again.
local heddle = require "heddle"
local test   = require "heddle.test"

local COUNT = 40

local function world(t)
  local engine = t:engine()
  local one, other = t:runtime{ engine = engine }, t:runtime{ engine = engine }
  for i = 1, COUNT do other:doc("d" .. i, i) end
  other:doc("map", { a = { b = 1 } })
  other:settled()
  return one
end

-- Adds up all documents, and counts what is not there.
local function reader(rt)
  local seen = { missing = 0, sum = 0 }
  return seen, function()
    local sum = 0
    for i = 1, COUNT do
      local fine, value = pcall(function() return rt:doc("d" .. i):get() end)
      if fine and value ~= nil then sum = sum + value else seen.missing = seen.missing + 1 end
    end
    local map = rt:doc("map")
    if map:key("a", "b"):get() == nil or map:keys() == nil or map:get() == nil then seen.missing = seen.missing + 1 end
    seen.sum = sum
    return sum
  end
end

test("an effect", function(t)
  local rt = world(t)
  local seen, read = reader(rt)
  rt:effect{ name = "e", fn = read }
  rt:settled()
  t:eq(seen, { missing = 0, sum = 820 })
  t:eq(#rt:errors(), 0)
end)

test("a computation", function(t)
  local rt = world(t)
  local seen, read = reader(rt)
  local out = rt:doc("out")
  rt:computation{ name = "c", writes = { out }, fn = function() out:set(read()) end }
  rt:sink(out, function() end)
  rt:settled()
  t:eq({ seen.missing, out:get() }, { 0, 820 })
end)

test("a read that does not subscribe", function(t)
  local rt = world(t)
  local seen = {}
  rt:effect{ name = "e", fn = function() seen[#seen + 1] = rt:doc("d7"):sample() or "nothing" end }
  rt:settled()
  t:eq(seen, { 7 })
end)

test("a handler", function(t)
  local rt = world(t)
  local seen, read = reader(rt)
  local stream = rt:stream("s")
  rt:on(stream, function() return { sum = read() } end)
  local ticket = stream:send({})
  rt:settled()
  t:eq(ticket:receipt(), { sum = 820 })
  t:eq(seen.missing, 0)
end)

test("an evaluated computation", function(t)
  local rt = world(t)
  local seen, read = reader(rt)
  local n, out = rt:doc("n", 0), rt:doc("out")
  rt:computation{ name = "c", writes = { out }, fn = function() out:set(n:get() + read()) end }
  local sum
  rt:edit(function() n:set(1000); sum = out:get() end)
  t:eq({ seen.missing, sum }, { 0, 1820 })
end)
