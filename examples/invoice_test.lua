-- The invoice without a payment service: the test answers the requests.

local heddle  = require "heddle"
local test    = require "heddle.test"
local invoice = require "invoice"

local function issued(t)
  local rt = t:runtime()
  local piece = rt:run(invoice, {})
  rt:sink(piece:cell("status"), function() end)
  piece:send("issue", { to = "Ada", cents = 1200 })
  rt:idle()
  return rt, piece
end

test("an invoice is paid", function(t)
  local rt, piece = issued(t)
  t:eq(piece:get("status"), "on its way")
  local call = piece:task("payment")
  t:eq(call:request().json, { to = "Ada", cents = 1200, number = 1 })
  call:finish{ status = 201, headers = {}, body = { id = "ch_1" } }
  rt:idle()
  t:eq(piece:get("status"), "paid: ch_1")
end)

test("a refusal is shown", function(t)
  local rt, piece = issued(t)
  piece:task("payment"):fail({ code = "STATUS", text = "the card has expired", status = 402 }, { retry = false })
  rt:idle()
  t:eq(piece:get("status"), "not paid: the card has expired")
end)

test("the next invoice does not wait for the one before", function(t)
  local rt, piece = issued(t)
  piece:send("issue", { to = "Grace", cents = 5 })
  rt:idle()
  t:eq(piece:task("payment"):request().json.number, 2)
end)
