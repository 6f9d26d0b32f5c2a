-- The example of a test in docs/lua.md, literally.
local heddle = require "heddle"
local test   = require "heddle.test"

test("an unchanged output stops the wave", function(t)
  local rt = t:runtime()
  local s  = rt:doc("s", 1)
  local c  = rt:computation{ name = "c", writes = { rt:doc("o") }, fn = function(tx) tx:set(rt:doc("o"), s:get() // 10) end }
  local e  = rt:effect{ name = "e", reads = { rt:doc("o") }, fn = function() rt:doc("o"):get() end }
  rt:idle()
  s:set(2); rt:idle()
  t:eq(c:runs(), 2)
  t:eq(e:runs(), 1)
end)
