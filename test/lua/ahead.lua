-- Code that goes over many documents which have not come yet is called a few times, not once per document.
local heddle = require "heddle"
local test   = require "heddle.test"

local COUNT = 300

-- Calls of code over COUNT documents: their number doubles with each, per document on the way to an element.
local MOST = 40

local function numbered(from)
  local list = {}
  for i = 1, COUNT do list[i] = { id = from + i - 1, title = "t" .. i } end
  return list
end

-- A runtime that has none of COUNT documents, to which another one has stored links in "all".
local function linked(t, holder)
  local engine = t:engine()
  local rt, other = t:runtime{ engine = engine }, t:runtime{ engine = engine }
  local links = {}
  for i = 1, COUNT do
    other:doc("end" .. i, i)
    links[holder == "array" and i or "k" .. i] = other:doc("d" .. i, { to = other:doc("end" .. i):link() }):link()
  end
  other:doc("all", holder == "array" and heddle.array(links) or links)
  other:settled()
  return rt
end

local function add_up(rt, calls)
  calls.count = calls.count + 1
  local sum = 0
  for _, one in pairs(rt:doc("all"):get()) do sum = sum + one.to end
  return sum
end

for _, holder in ipairs{ "array", "object" } do
  test("a computation over an " .. holder .. " of links to links", function(t)
    local rt, calls = linked(t, holder), { count = 0 }
    local out = rt:doc("out")
    rt:computation{ name = "c", writes = { out }, fn = function() out:set(add_up(rt, calls)) end }
    rt:sink(out, function() end)
    rt:settled()
    t:eq(out:get(), COUNT * (COUNT + 1) // 2)
    t:ok(calls.count <= MOST, calls.count)
  end)
end

test("a handler", function(t)
  local rt, calls = linked(t, "array"), { count = 0 }
  local stream = rt:stream("s")
  rt:on(stream, function() return { sum = add_up(rt, calls) } end)
  local ticket = stream:send({})
  rt:settled()
  t:eq(ticket:receipt(), { sum = COUNT * (COUNT + 1) // 2 })
  t:ok(calls.count <= MOST, calls.count)
end)

test("code that looks at one element has few other documents come", function(t)
  local rt = linked(t, "array")
  local seen
  rt:effect{ name = "e", fn = function() seen = rt:doc("all"):get()[7].to end }
  rt:settled()
  t:eq(seen, 7)
  t:ok(rt:stats().documents < 20, rt:stats().documents)
end)

-- A board with a piece per card; `calls` counts the calls of the computation over all of them.
local function board(calls, columns)
  local card = heddle.pattern("card", function(p)
    local about = p:arg("card")
    local column = p:state("column", "todo")
    local doubled = p:computed("doubled", function() return about:get().id * 2 end)
    local view = p:computed("view", function()
      calls.views = calls.views + 1
      return { id = doubled:get(), column = column:get() }
    end)
    return { view = view }
  end)
  return heddle.pattern("board", function(p)
    local list = p:state("list", heddle.array{})
    local cards = p:map(list, function(item) return p:piece(card, { card = item }) end, { name = "cards", key = "id" })
    local fill = p:handler("fill", function(event) list:set(heddle.array(numbered(event.from))) end)
    return { fill = fill, columns = p:computed("columns", function()
      calls.count = calls.count + 1
      return columns(cards:get())
    end) }
  end)
end

local function sum_of(cards)
  local sum = 0
  for _, one in ipairs(cards) do sum = sum + one.view.id end
  return sum
end

test("a computation over the results of new cards", function(t)
  local calls = { count = 0, views = 0 }
  local rt = t:runtime()
  local piece = rt:run(board(calls, sum_of))
  piece:send("fill", { from = 1 })
  rt:idle()
  t:eq(piece:get("columns"), COUNT * (COUNT + 1))
  t:ok(calls.count <= MOST, calls.count)
end)

test("a computation over cards that another process has made, of which none has run", function(t)
  local calls = { count = 0, views = 0 }
  local rt = t:runtime()
  rt:run(board(calls, sum_of)):send("fill", { from = 1 })
  rt:idle()
  t:eq(calls, { count = 0, views = 0 })
  rt = rt:restart()
  local piece = rt:run(board(calls, sum_of))
  t:eq(piece:get("columns"), COUNT * (COUNT + 1))
  t:ok(calls.count <= MOST, calls.count)
  t:ok(calls.views <= 10 * COUNT, calls.views)
end)

test("what it does not read does not run", function(t)
  local calls = { count = 0, views = 0 }
  local function third(cards) return cards[3].view.id end
  local rt = t:runtime()
  rt:run(board(calls, third)):send("fill", { from = 1 })
  rt:idle()
  rt = rt:restart()
  local piece = rt:run(board(calls, third))
  t:eq(piece:get("columns"), 6)
  rt:idle()
  local ran = 0
  for _, node in ipairs(rt:graph().nodes) do
    if node.name:match("/view$") and node.runs > 0 then ran = ran + 1 end
  end
  t:eq(ran, 1)
end)

test("all cards are replaced by a process that has none of their documents", function(t)
  local calls = { count = 0, views = 0 }
  local rt = t:runtime()
  local piece = rt:run(board(calls, sum_of))
  piece:send("fill", { from = 1 })
  rt:idle()
  t:eq(piece:get("columns"), COUNT * (COUNT + 1))
  rt = rt:restart()
  calls.count = 0
  piece = rt:run(board(calls, sum_of))
  piece:send("fill", { from = COUNT + 1 })
  rt:idle()
  t:eq(piece:get("columns"), COUNT * (COUNT + 1) + 2 * COUNT * COUNT)
  t:ok(calls.count <= MOST, calls.count)
  local highest = 0
  for _, node in ipairs(rt:graph().nodes) do highest = math.max(highest, node.height) end
  t:ok(highest < 10, "the list does not depend on what its elements compute: " .. highest)
end)
