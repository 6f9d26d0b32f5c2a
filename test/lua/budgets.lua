-- What a call makes the host do and keep counts against the budgets of the call.
-- The build with deep checks looks at a whole document after each write, which is
-- quadratic here: ./dev test runs this file on the release alone.
local heddle = require "heddle"
local test   = require "heddle.test"

local function handled(t, fn)
  local rt = t:runtime()
  local list, map = rt:doc("list", heddle.array{}), rt:doc("map", heddle.object{})
  local stream = rt:stream("work")
  rt:on(stream, function() fn(list, map) end)
  local ticket = stream:send(1)
  rt:settled()
  return ticket, list, map
end

-- What the host keeps until the transaction ends counts as memory of the call.
test("a call that writes without end is ended by the memory budget", function(t)
  for _, write in ipairs{
    function(list, _) while true do list:append(("x"):rep(2000)) end end,
    function(_, map) for i = 1, math.huge do map:key("k" .. i):set(i) end end,
  } do
    local ticket, list = handled(t, write)
    t:eq(ticket:state(), "failed")
    t:ok(ticket:error().message:find("memory budget of 67108864 bytes", 1, true))
    t:eq(list:value(), heddle.array{})
  end
end)

test("a write that looks at a whole list is paid for with steps", function(t)
  local ticket = handled(t, function(list)
    local all = {}
    for i = 1, 20000 do all[i] = i end
    list:set(heddle.array(all))
    for i = 1, math.huge do list:remove(-1) end
  end)
  t:eq(ticket:state(), "failed")
  t:ok(ticket:error().message:find("the step budget is used up", 1, true))
end)

test("writes of twenty thousand keys are within the budget", function(t)
  local ticket, _, map = handled(t, function(_, map)
    for i = 1, 20000 do map:key("k" .. i):set(i) end
  end)
  t:eq(ticket:state(), "done")
  t:eq(map:key("k20000"):get(), 20000)
end)
