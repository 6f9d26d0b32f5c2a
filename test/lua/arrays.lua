-- Arrays that several writers change at the same time: what is stored is what
-- one order of the accepted transactions gives.
local heddle = require "heddle"
local test   = require "heddle.test"

test("two arrays that are put at the same time: one of them stays", function(t)
  local cluster = t:cluster(2)
  local one, two = cluster[1]:doc("list", { 1, 2, 3 }), nil
  cluster:settled()
  two = cluster[2]:doc("list")
  t:eq(two:value(), { 1, 2, 3 })
  cluster[1]:hold(true) cluster[2]:hold(true)
  one:set{ 1, 2, 3, 4 }
  two:set{ 0, 1, 2, 3 }
  cluster[1]:hold(false) cluster[1]:step()
  cluster[2]:hold(false)
  t:eq(cluster:settled(), true)
  local first = one:value()[1]
  t:eq(one:value(), first == 0 and { 0, 1, 2, 3 } or { 1, 2, 3, 4 })
  t:eq(two:value(), one:value())
end)

-- Both have seen the change and neither the other's result.
local function compute_apart(t, make, first, second)
  local cluster = t:cluster(3)
  local lists = {}
  cluster[3]:doc("n", first)
  cluster:settled()
  for i = 1, 2 do
    local rt = cluster[i]
    local n, o = rt:doc("n"), rt:doc("o")
    lists[i] = o
    rt:computation{ name = "list", writes = { o }, fn = function() o:set(make(n:get())) end }
    rt:sink(o, function() end)
  end
  t:eq(cluster:settled(), true)
  cluster[1]:hold(true) cluster[2]:hold(true)
  cluster[3]:doc("n"):set(second)
  cluster[3]:settled()
  for _ = 1, 5 do
    cluster[1]:advance(1000)
    for i = 1, 2 do cluster[i]:step() end
  end
  t:eq(lists[1]:value(), make(second))
  t:eq(lists[2]:value(), make(second))
  cluster[1]:hold(false) cluster[2]:hold(false)
  t:eq(cluster:settled(), true)
  for i = 1, 2 do t:eq(lists[i]:value(), make(second)) end
  t:eq(cluster[3]:doc("o"):value(), make(second))
end

test("two runtimes compute one array, and it is stored as it was computed", function(t)
  compute_apart(t, function(n)
    local all = {}
    for k = n, 1, -1 do all[#all + 1] = k end
    return all
  end, 3, 4)
end)

-- Long arrays are sent as what is different.
local function long(first)
  local all = {}
  for i = 100 + first, 1, -1 do all[#all + 1] = i end
  return all
end

test("two runtimes compute one long array", function(t) compute_apart(t, long, 1, 2) end)

test("writes of several kinds to one list, by several writers: each is there once", function(t)
  t:seeds(20, function(seed, random)
    local cluster = t:cluster(3)
    local streams = {}
    for i, rt in ipairs(cluster) do
      local list = rt:doc("list", { "start" })
      streams[i] = rt:stream("change")
      rt:on(streams[i], function(event)
        list:append(event.add)
        if event.unique then list:add_unique(event.unique) end
        list:remove(event.remove)
      end)
    end
    cluster:settled()
    local added = {}
    for k = 1, 12 do
      local i = random(3)
      cluster[i]:hold(random(4) == 1)
      added["a" .. k] = true
      streams[i]:send{ add = "a" .. k, unique = "u", remove = "start" }
      if random(2) == 1 then cluster[i]:step() end
    end
    for _, rt in ipairs(cluster) do rt:hold(false) end
    t:eq(cluster:settled(), true)
    local seen, unique = {}, 0
    for _, item in ipairs(cluster[1]:doc("list"):value()) do
      if item == "u" then unique = unique + 1
      else
        t:eq(added[item], true, item)
        t:eq(seen[item], nil, item)
        seen[item] = true
      end
    end
    t:eq(unique, 1)
    for item in pairs(added) do t:eq(seen[item], true, item) end
  end)
end)
