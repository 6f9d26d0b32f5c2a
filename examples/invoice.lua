-- An invoice that is sent to a payment service: a task with an idempotency key.
--
--   heddle run examples/invoice.lua --allow-net payments.example
--   heddle send invoice issue '{"to": "Ada", "cents": 1200}'
--   heddle get invoice payment
--
-- One process makes the request once per invoice. If the process is killed, the
-- request is repeated; the service recognises the key and charges only once.

local heddle = require "heddle"

return heddle.pattern("invoice", function(p)
  local invoice = p:state("invoice", heddle.null)

  local payment = p:task("payment", function()
    local now = invoice:value()
    if now == heddle.null then return nil end -- nothing to do yet
    return {
      url = "https://payments.example/charges",
      json = { to = now.to, cents = now.cents, number = now.number },
      idempotency_key = true, -- the service supports it, so a POST may be retried
    }
  end, { kind = "http", timeout = 10000, retries = 5 })

  local status = p:computed("status", function()
    local now = payment:value()
    if now.state == "idle" then return "no invoice" end
    if now.state == "running" then return "on its way" end
    if now.state == "failed" then return "not paid: " .. now.error.text end
    return "paid: " .. now.value.body.id
  end)

  local issue = p:handler("issue", function(event)
    local last = invoice:value()
    local number = last == heddle.null and 1 or last.number + 1
    invoice:set{ to = event.to, cents = event.cents, number = number }
    return { number = number }
  end)

  return { invoice = invoice, payment = payment, status = status, issue = issue }
end)
