-- Several runtimes on one engine: whatever the order, they agree in the end.
local heddle = require "heddle"
local test   = require "heddle.test"

test("a computation on each of them follows", function(t)
  t:seeds(10, function(seed, random)
    local cluster = t:cluster(3)
    for _, rt in ipairs(cluster) do
      local n, o = rt:doc("n", 0), rt:doc("o")
      rt:computation{ name = "c", writes = { o }, fn = function() o:set(n:get() * 2) end }
      rt:sink(o, function() end)
    end
    t:eq(cluster:settled(), true)
    local total = 0
    for _ = 1, 10 do
      local rt, by = cluster[random(3)], random(5)
      total = total + by
      rt:doc("n"):increment(by)
      if random(2) == 1 then rt:step() end
    end
    t:eq(cluster:settled(), true)
    for _, rt in ipairs(cluster) do
      t:eq({ rt:doc("n"):get(), rt:doc("o"):get() }, { total, total * 2 })
      t:eq(rt:errors(), heddle.array{})
    end
  end)
end)

test("no handling is lost, none is done twice", function(t)
  t:seeds(10, function(seed, random)
    local cluster, streams, tickets = t:cluster(3), {}, {}
    for i, rt in ipairs(cluster) do
      local n = rt:doc("n", 0)
      streams[i] = rt:stream("add")
      rt:on(streams[i], function(by) n:set(n:get() + by) end)
    end
    cluster:settled()
    for k = 1, 12 do
      local i = random(3)
      tickets[k] = streams[i]:send(1)
      if random(2) == 1 then cluster[i]:step() end
    end
    t:eq(cluster:settled(), true)
    for _, ticket in ipairs(tickets) do t:eq(ticket:state(), "done") end
    for _, rt in ipairs(cluster) do t:eq(rt:doc("n"):get(), 12) end
  end)
end)

test("lists that are appended to have everything", function(t)
  t:seeds(10, function(seed, random)
    local cluster = t:cluster(4)
    cluster[1]:doc("list", heddle.array{})
    cluster:settled()
    for i = 1, 20 do
      local rt = cluster[random(4)]
      rt:hold(random(3) == 1)
      rt:doc("list"):append(i)
      if random(2) == 1 then rt:step() end
    end
    for _, rt in ipairs(cluster) do rt:hold(false) end
    t:eq(cluster:settled(), true)
    local all = cluster[1]:doc("list"):value()
    table.sort(all)
    t:eq(#all, 20)
    for i = 1, 20 do t:eq(all[i], i) end
    for _, rt in ipairs(cluster) do t:eq(rt:doc("list"):value(), cluster[1]:doc("list"):value()) end
  end)
end)

test("of initial values one stays, and none replaces what is there", function(t)
  t:seeds(10, function(seed, random)
    local cluster, given = t:cluster(3), {}
    for step = 1, 30 do
      local i, id = random(3), "d" .. random(6)
      cluster[i]:hold(random(3) == 1)
      local cell = cluster[i]:doc(id, step)
      given[id] = given[id] or {}
      given[id][step] = true
      if random(4) == 1 then
        cell:increment(100)
        given[id].more = (given[id].more or 0) + 100
      end
      if random(2) == 1 then cluster[i]:step() end
    end
    for _, rt in ipairs(cluster) do rt:hold(false) end
    t:eq(cluster:settled(), true)
    for id, values in pairs(given) do
      local value = cluster[1]:doc(id):get()
      t:ok(values[value - (values.more or 0)], id .. " is " .. value)
      for _, rt in ipairs(cluster) do t:eq(rt:doc(id, "later"):get(), value) end
    end
    t:eq(cluster:settled(), true)
  end)
end)

test("a held runtime stays connected, and its clock stands still", function(t)
  local cluster = t:cluster(2)
  local first, second = cluster[1], cluster[2]
  first:doc("n", 1)
  cluster:settled()
  second:doc("n"):increment(1)
  second:hold(true)
  second:doc("n"):increment(1)
  local rest, why = second:settled()
  t:eq(rest, nil)
  t:eq(why, "held")
  t:eq(second:now(), 0)
  second:hold(false)
  t:eq(cluster:settled(), true)
  t:eq(first:doc("n"):get(), 3)
end)

test("a clock that has moved far is no silence of the engine", function(t)
  local counter = heddle.pattern("counter", function(p)
    local n, s = p:state("n", 6), p:state("s", "x")
    return { n = n, s = s, double = p:computed("double", function() return 2 * n:get() end) }
  end)
  local cluster, pieces = t:cluster(2), {}
  for i, rt in ipairs(cluster) do
    pieces[i] = rt:run(counter, {}, { name = "p" })
    rt:settled()
  end
  local rt = cluster[2]
  rt:advance(20000)
  -- Neither document is loaded in the second runtime, which has resumed the piece.
  t:eq(rt:edit(function()
    rt:doc("piece:p/n"):set(#rt:doc("piece:p/s"):get())
  end), true)
  t:eq(cluster:settled(), true)
  for _, piece in ipairs(pieces) do
    local result = piece:get()
    t:eq(result.n, 1)
    t:eq(result.s, "x")
    t:eq(result.double, 2)
  end
end)
