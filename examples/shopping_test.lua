-- heddle test shopping_test.lua

local test = require "heddle.test"
local shopping = require "shopping"

local yarn = { name = "yarn", price = 4, qty = 3 }

test("the total follows what is on the list", function(t)
  local rt = t:runtime()
  local piece = rt:run(shopping)
  piece:send("add", yarn)
  rt:idle()
  t:eq(piece:get("net"), 12)
  t:eq(piece:get("total"), 15)
end)

test("another tax does not add up the list again", function(t)
  local rt = t:runtime()
  local piece = rt:run(shopping)
  piece:send("add", yarn)
  rt:idle()
  t:eq(piece:get("total"), 15)

  local before = piece:node("net"):runs()
  piece:cell("rate"):set(0.5)
  t:eq(piece:get("total"), 18)
  t:eq(piece:node("net"):runs(), before)
end)

test("what is bought is not open", function(t)
  local rt = t:runtime()
  local piece = rt:run(shopping)
  piece:send("add", yarn)
  piece:send("add", { name = "loom", price = 30 })
  local receipt = piece:send("buy", { name = "yarn" })
  rt:idle()
  t:eq(receipt:receipt(), { bought = "yarn" })
  t:eq(#piece:get("open"), 1)
end)

test("what is not on the list cannot be bought", function(t)
  local rt = t:runtime()
  local piece = rt:run(shopping)
  local receipt = piece:send("buy", { name = "milk" })
  rt:idle()
  t:eq(receipt:state(), "failed")
  t:ok(receipt:error().message:find("no milk"))
  t:eq(#piece:get("items"), 0)
end)
