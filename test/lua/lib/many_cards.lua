-- Counts what a change of a board with 10,000 cards costs: test/e2e/children.sh.

local heddle = require "heddle"
local test = require "heddle.test"

local function one(id) return { id = id, title = id } end

-- What a change has cost: the difference of the counters.
local function cost(rt, change)
  local before = rt:stats()
  change()
  rt:idle()
  local after = rt:stats()
  return { runs = after.runs - before.runs, commits = after.commits - before.commits,
    documents = after.documents - before.documents, computations = after.computations - before.computations,
    effects = after.effects - before.effects }
end

test("with 10,000 cards, one more costs one piece", function(t)
  local list = {}
  for i = 1, 10000 do list[i] = one("c" .. i) end
  local small = heddle.pattern("small", function(p)
    local item = p:arg("card")
    local count = p:state("count", 0)
    p:handler("bump", function() count:increment() end)
    return { view = p:computed("view", function() return { id = item:get().id, count = count:get() } end) }
  end)
  local pattern = heddle.pattern("many", function(p)
    local cards = p:state("list", heddle.array(list))
    return { cards = p:map(cards, function(item) return p:piece(small, { card = item }) end, { name = "cards", key = "id" }) }
  end)
  local rt = t:runtime()
  local board = rt:run(pattern)
  rt:idle()
  local items = rt:doc("piece:many/list")
  -- The coordinator, and the effect that keeps it up to date; the write, and the coordinator's commit; the documents
  -- of the new piece: its own, that of the child's result, the argument, the state.
  local added = { runs = 2, commits = 2, documents = 4, computations = 1, effects = 0 }
  t:eq(cost(rt, function() items:append(one "new") end), added)
  t:eq(board:get("cards.10001.view"), { id = "new", count = 0 })
  rt = rt:restart()
  board = rt:run(pattern)
  rt:idle()
  t:ok(rt:stats().documents < 20, "a start fetches the documents of the list, and none of the cards")
  items = rt:doc("piece:many/list")
  items:get()
  rt:idle()
  local again = cost(rt, function() items:append(one "newer") end)
  t:eq({ again.runs, again.commits, again.computations }, { 2, 2, 1 })
  t:ok(again.documents < 20, again.documents)
  local bumped = cost(rt, function() board:send("cards/5000/small1/bump", {}) end)
  t:eq({ bumped.runs, bumped.commits, bumped.computations }, { 0, 1, 0 })
  t:ok(bumped.documents < 20, bumped.documents)
  local gone = cost(rt, function() items:set(heddle.array(list)) end)
  t:eq(gone.computations, -2)
  t:ok(gone.runs <= 4, gone.runs)
  t:ok(gone.documents < 20, gone.documents)
end)
