-- A shopping list: totals, open items, and a warning when the total exceeds a
-- limit. `./dev demo` runs it.
--
--   heddle run shopping.lua
--   heddle send shopping add '{"name": "yarn", "price": 4, "qty": 3}'

local heddle = require "heddle"

return heddle.pattern("shopping", function(p)
  local items = p:state("items", heddle.array{})
  local rate = p:state("rate", 0.25) -- the tax
  local limit = p:state("limit", 40)

  local net = p:computed("net", function()
    local sum = 0
    for _, item in ipairs(items:get()) do
      sum = sum + item.price * item.qty
    end
    return sum
  end)

  local total = p:computed("total", function()
    return net:get() * (1 + rate:get())
  end)

  local open = p:filter(items, function(item)
    return not item:get().bought
  end)

  -- Runs only in `heddle run`, when something that it read has changed.
  p:effect("alert", function()
    if total:get() > limit:get() then
      heddle.notify("this is too much: " .. total:get())
    end
  end)

  local add = p:handler("add", function(event)
    items:append{ name = event.name, price = event.price, qty = event.qty or 1, bought = false }
    return { count = #items:get() }
  end)

  local buy = p:handler("buy", function(event)
    for position, item in ipairs(items:get()) do
      if item.name == event.name then
        items:key(position, "bought"):set(true)
        return { bought = item.name }
      end
    end
    error("there is no " .. event.name .. " on the list")
  end)

  return {
    items = items, rate = rate, limit = limit,
    net = net, total = total, open = open,
    add = add, buy = buy,
  }
end)
