-- Documents that are numbers or links to each other, also in circles, beside a
-- model that is a table.
local heddle = require "heddle"
local test   = require "heddle.test"

local COUNT = 4

-- The document at which a chain of links ends; nil if it is a circle.
local function end_of(model, i)
  for _ = 1, COUNT do
    if model[i].link == nil then return i end
    i = model[i].link
  end
  return nil
end

local function expected(model)
  local all = {}
  for i = 1, COUNT do
    local last = end_of(model, i)
    all[i] = last and model[last].number or "circle"
  end
  return all
end

-- One write of a runtime, and the same in the model.
local function write(t, rt, model, random)
  local i, j = random(COUNT), random(COUNT)
  local cell, last = rt:doc("d" .. i), end_of(model, i)
  if random(2) == 1 then
    cell:set(rt:doc("d" .. j):link())
    model[i] = { link = j }
  elseif last == nil then
    t:fails(function() cell:set(1) end)
  elseif random(2) == 1 then
    cell:increment(10)
    model[last] = { number = model[last].number + 10 }
  else
    local number = random(9)
    cell:set(number)
    model[last] = { number = number }
  end
end

test("effects see what links lead to, through circles that come and go", function(t)
  t:seeds(30, function(_, random)
    local cluster = t:cluster(2)
    local model, seen = {}, {}
    for i = 1, COUNT do
      cluster[1]:doc("d" .. i, i)
      model[i] = { number = i }
    end
    cluster:settled()
    for i = 1, COUNT do
      local cell = cluster[1]:doc("d" .. i)
      cluster[1]:effect{ name = "e" .. i, fn = function()
        seen[i] = "circle"
        seen[i] = cell:get()
      end }
    end
    for _ = 1, 25 do
      write(t, cluster[random(2)], model, random)
      t:eq(cluster:settled(), true)
      for i = 1, 2 do cluster[i]:errors() end
      t:eq(seen, expected(model))
    end
  end)
end)
