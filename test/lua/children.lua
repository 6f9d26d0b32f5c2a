-- Pieces per element of a list: p:piece inside p:map.

local heddle = require "heddle"
local test = require "heddle.test"

-- A card counts, shows itself, and tells its board.
local card = heddle.pattern("card", function(p)
  local item = p:arg("card")
  local board = p:arg("board")
  local count = p:state("count", 0)
  local view = p:computed("view", function()
    if item:get().fails then error("this card fails") end
    return { id = item:get().id, title = item:get().title, count = count:get() }
  end)
  local bump = p:handler("bump", function(event)
    count:increment((event or {}).by or 1)
    heddle.send(board, { id = item:get().id })
    return { count = count:get() }
  end)
  local edit = p:handler("edit", function() item:key("title"):set("no") end)
  p:effect("show", function() heddle.write_line(item:get().id .. "=" .. count:get()) end)
  return { view = view, bump = bump, edit = edit }
end)

local function board_of(options)
  return heddle.pattern("board", function(p)
    local list = p:state("list", heddle.array(options.list or {}))
    local heard = p:state("heard", heddle.array{})
    local note = p:handler("note", function(event) heard:append(event.id) end)
    local set = p:handler("set", function(event) list:set(heddle.array(event)) end)
    local cards = p:map(list, function(item)
      return p:piece(card, { card = item, board = note })
    end, { name = "cards", key = options.key })
    local bump = p:handler("bump", function(event)
      heddle.send(cards:key(event.at, "bump"), { by = event.by })
    end)
    return { cards = cards, heard = heard, set = set, bump = bump }
  end)
end

local function one(id, title) return { id = id, title = title or id } end

-- "a:2 b:0": the ids and the counts, in order.
local function shown(piece)
  local words = {}
  for _, c in ipairs(piece:get("cards")) do words[#words + 1] = c.view.id .. ":" .. c.view.count end
  return table.concat(words, " ")
end

test("one piece per element, with a stream of its own", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a", one "b" } })
  rt:idle()
  t:eq(shown(board), "a:0 b:0")
  board:send("cards/1/card1/bump", {})
  rt:idle()
  t:eq(shown(board), "a:0 b:1")
  t:eq(board:get("heard"), { "b" })
  board:send("bump", { at = 1, by = 5 })
  rt:idle()
  t:eq(shown(board), "a:5 b:1")
  t:eq(board:node("cards/0/card1/view"):runs(), 2)
end)

test("a piece stays with its element: moves, inserts and removals", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a", one "b", one "c" } })
  rt:idle()
  for i, by in ipairs{ 10, 20, 30 } do board:send("cards/" .. i - 1 .. "/card1/bump", { by = by }) end
  rt:idle()
  t:eq(shown(board), "a:10 b:20 c:30")
  local runs = board:node("cards/2/card1/view"):runs()
  board:send("set", { one "c", one "a", one "b" })
  rt:idle()
  t:eq(shown(board), "c:30 a:10 b:20")
  t:eq(board:node("cards/2/card1/view"):runs(), runs)
  board:send("set", { one "c", one "x", one "a" })
  rt:idle()
  t:eq(shown(board), "c:30 x:0 a:10")
  t:eq(board:node("cards/1/card1/view"), nil)
  for _, part in ipairs{ "", "/card1", "/card1/count", "/card1/card", "/card1/board", "/card1/view" } do
    t:eq(rt:doc("piece:board/cards/1" .. part):get(), nil, part)
  end
  board:send("set", {})
  rt:idle()
  t:eq(board:get("cards"), heddle.array{})
end)

test("equal elements have a piece each", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a", one "a" } })
  rt:idle()
  board:send("cards/1/card1/bump", { by = 3 })
  rt:idle()
  t:eq(shown(board), "a:0 a:3")
  board:send("set", { one "a" })
  rt:idle()
  t:eq(shown(board), "a:0")
end)

test("without a key an edit in place keeps the piece", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a", one "b" } })
  rt:idle()
  board:send("cards/1/card1/bump", { by = 3 })
  rt:idle()
  board:send("set", { one "a", one("b", "other") })
  rt:idle()
  t:eq(board:get("cards.2.view"), { id = "b", title = "other", count = 3 })
end)

test("an element that comes while another one goes has a piece of its own", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a", one "b" } })
  rt:idle()
  board:send("cards/0/card1/bump", { by = 3 })
  rt:idle()
  board:send("set", { one "b", one "c" })
  rt:idle()
  t:eq(shown(board), "b:0 c:0")
end)

test("with a key the field says which element is which", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a", one "b" }, key = "id" })
  rt:idle()
  board:send("cards/0/card1/bump", { by = 3 })
  board:send("cards/1/card1/bump", { by = 4 })
  rt:idle()
  board:send("set", { one("b", "x"), one("a", "y") })
  rt:idle()
  t:eq(shown(board), "b:4 a:3")
  board:send("set", { one("c", "x"), one("a", "y") }) -- in the place of b
  rt:idle()
  t:eq(shown(board), "c:0 a:3")
end)

test("a key of a value list keeps the child whose other fields are edited", function(t)
  local rt = t:runtime()
  local board = rt:run(heddle.pattern("plain", function(p)
    local list = p:state("list", heddle.array{ one "a", one "b" })
    local set = p:handler("set", function(event) list:set(heddle.array(event)) end)
    local ids = p:map(list, function(item) return item.id end, { name = "ids", key = "id" })
    return { ids = ids, set = set }
  end))
  t:eq(board:get("ids"), { "a", "b" })
  local before = rt:stats().runs
  board:send("set", { one("b", "x"), one("a", "y") })
  rt:idle()
  t:eq(board:get("ids"), { "b", "a" })
  t:eq(rt:stats().runs - before <= 4, true)
end)

test("a key is not used again: an event to a piece that has gone reaches no other", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a" } })
  rt:idle()
  board:send("set", {})
  rt:idle()
  board:send("set", { one "b" })
  rt:idle()
  local message = t:fails(function() board:send("cards/0/card1/bump", {}) end)
  t:ok(message:find("cards/0/card1/bump", 1, true), message)
  local late = rt:stream("piece:board/cards/0/card1/bump"):send({})
  rt:idle()
  t:eq(late:state(), "dropped")
  t:ok(late:error().message:find("cards/0/card1/bump", 1, true), late:error().message)
  t:eq(shown(board), "b:0")
  t:eq(board:node("cards/1/card1/view") ~= nil, true)
end)

test("after a restart the pieces are what they were, and nothing runs", function(t)
  local rt = t:runtime()
  local pattern = board_of{ list = { one "a", one "b" } }
  local board = rt:run(pattern)
  rt:idle()
  board:send("cards/1/card1/bump", { by = 2 })
  rt:idle()
  t:eq(shown(board), "a:0 b:2")
  rt = rt:restart()
  board = rt:run(pattern)
  rt:idle()
  t:eq(board:node("cards/1/card1/view"):status(), "clean")
  t:eq(board:node("cards/1/card1/view"):runs(), 0)
  t:eq(rt:doc("piece:board/cards/1/card1/view"):get().count, 2)
  board:send("cards/0/card1/bump", { by = 7 })
  rt:idle()
  t:eq(shown(board), "a:7 b:2")
  t:eq(rt:calls("write_line")[1].arguments, { "a=7" })
  t:eq(#rt:calls("write_line"), 1)
end)

test("a list that has changed meanwhile is compared with what it was", function(t)
  local rt = t:runtime()
  local pattern = board_of{ list = { one "a", one "b", one "c" } }
  local board = rt:run(pattern)
  rt:idle()
  board:send("cards/2/card1/bump", { by = 2 })
  rt:idle()
  rt = rt:restart()
  rt:doc("piece:board/list"):set(heddle.array{ one "c", one "d" })
  board = rt:run(pattern)
  rt:idle()
  t:eq(shown(board), "c:2 d:0")
  t:eq(rt:doc("piece:board/cards/0/card1/count"):get(), nil)
end)

test("an error in one piece leaves the others alone, and names the element", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a", { id = "b", fails = true }, one "c" } })
  rt:idle()
  t:eq(board:get("cards.1.view.id"), "a")
  t:eq(board:get("cards.3.view.id"), "c")
  t:eq(board:get("cards.2"), heddle.object{})
  local errors = rt:errors()
  t:ok(#errors > 0)
  for _, e in ipairs(errors) do
    t:ok(e.message:find("this card fails", 1, true), e.message)
    t:eq(e.source, "board/cards/1/card1/view")
  end
end)

test("effects of a piece end with it", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a", one "b" } })
  rt:idle()
  t:eq(#rt:calls("write_line"), 2)
  board:send("set", { one "b" })
  rt:idle()
  board:send("set", { one "b", one "c" })
  rt:idle()
  t:eq(#rt:calls("write_line"), 3)
  t:eq(rt:calls("write_line")[3].arguments, { "c=0" })
end)

test("a piece cannot write to the list's copy of its element", function(t)
  local rt = t:runtime()
  local board = rt:run(board_of{ list = { one "a" } })
  rt:idle()
  local ticket = board:send("cards/0/card1/edit", {})
  rt:idle()
  t:eq(ticket:state(), "failed")
  t:ok(ticket:error().message:find("write to the list", 1, true), ticket:error().message)
end)

test("lists in pieces in lists: columns with cards", function(t)
  local column = heddle.pattern("column", function(p)
    local col = p:arg("column")
    local note = p:arg("note")
    local cards = p:map(col:key("cards"), function(item)
      return p:piece(card, { card = item, board = note })
    end, { name = "cards", key = "id" })
    local title = p:computed("title", function() return col:get().title end)
    return { title = title, cards = cards }
  end)
  local pattern = heddle.pattern("columns", function(p)
    local list = p:state("list", heddle.array{
      { title = "todo", cards = heddle.array{ one "a", one "b" } }, { title = "done", cards = heddle.array{} },
    })
    local heard = p:state("heard", heddle.array{})
    local note = p:handler("note", function(event) heard:append(event.id) end)
    local set = p:handler("set", function(event) list:set(event) end)
    local columns = p:map(list, function(item) return p:piece(column, { column = item, note = note }) end,
      { name = "columns", key = "title" })
    return { columns = columns, set = set, heard = heard }
  end)
  local rt = t:runtime()
  local board = rt:run(pattern)
  rt:idle()
  local function all()
    local words = {}
    for _, c in ipairs(board:get("columns")) do
      local own = { c.title }
      for _, d in ipairs(c.cards) do own[#own + 1] = d.view.id .. ":" .. d.view.count end
      words[#words + 1] = table.concat(own, " ")
    end
    return table.concat(words, ", ")
  end
  t:eq(all(), "todo a:0 b:0, done")
  board:send("columns/0/column1/cards/1/card1/bump", { by = 4 })
  rt:idle()
  t:eq(all(), "todo a:0 b:4, done")
  t:eq(board:get("heard"), { "b" })
  rt = rt:restart()
  board = rt:run(pattern)
  rt:idle()
  board:send("columns/0/column1/cards/1/card1/bump", { by = 1 })
  board:send("set", heddle.array{ { title = "done", cards = heddle.array{ one "z" } }, { title = "todo", cards = heddle.array{ one "b" } } })
  rt:idle()
  t:eq(all(), "done z:0, todo b:5")
  board:send("set", heddle.array{ { title = "done", cards = heddle.array{ one "z" } } })
  rt:idle()
  t:eq(all(), "done z:0")
  t:eq(rt:doc("piece:columns/columns/0/column1/cards/1/card1/count"):get(), nil)
  t:eq(rt:doc("piece:columns/columns/0/column1/cards"):get(), nil)
  board:remove()
  rt:idle()
  t:eq(rt:doc("piece:columns/columns/1/column1/cards/0/card1/count"):get(), nil)
  t:eq(rt:doc("piece:columns/columns/1"):get(), nil)
end)

test("everything can be declared for an element", function(t)
  local rt = t:runtime()
  local board = rt:run(heddle.pattern("free", function(p)
    local list = p:state("list", heddle.array{ 3, 4 })
    local factor = p:state("factor", 10)
    local rows = p:map(list, function(item)
      local more = p:state("more", 1)
      local add = p:handler("add", function() more:increment() end)
      local sum = p:computed("sum", function() return item:get() * factor:get() + more:get() end)
      return { sum = sum, add = add }
    end, { name = "rows" })
    local total = p:computed("total", function()
      local sum = 0
      for _, row in ipairs(rows:get()) do sum = sum + row.sum end
      return sum
    end)
    return { rows = rows, total = total, factor = factor }
  end))
  t:eq(board:get("total"), 72)
  board:send("rows/1/add", {})
  rt:idle()
  t:eq(board:get(), { rows = { { sum = 31 }, { sum = 42 } }, total = 73, factor = 10 })
end)

test("what cannot be declared is refused where it is written", function(t)
  local function refused(fn)
    local rt = t:runtime()
    return t:fails(function() rt:run(heddle.pattern("bad", fn)); rt:idle(); error(rt:errors()[1].message) end)
  end
  local message = refused(function(p)
    p:filter(p:state("l", heddle.array{ 1 }), function(item) return p:piece(card, { card = item }) end)
  end)
  t:ok(message:find("only the function of p:map can declare", 1, true), message)
  message = refused(function(p)
    p:map(p:state("l", heddle.array{ 1 }), function(item) return p:state("x", item:get()) end)
  end)
  t:ok(message:find("nothing can be read", 1, true) or message:find("is built", 1, true), message)
  message = refused(function(p)
    p:map(p:state("l", heddle.array{ 1 }), function(item) return p:state("x", 1, { scope = "user" }) end)
  end)
  t:ok(message:find("without a scope", 1, true), message)
  message = refused(function(p)
    p:map(p:state("l", heddle.array{ 1 }), function(item) return p:piece(card, { crad = item }) end)
  end)
  t:ok(message:find("crad", 1, true) and message:find("'card'", 1, true), message)
  message = refused(function(p)
    p:map(p:state("l", heddle.array{ 1 }), function(item) return 1 end, { kye = "id" })
  end)
  t:ok(message:find("did you mean 'key'", 1, true), message)
end)

-- A board of cards whose pattern has versions.
local function versions(declare)
  local small = heddle.pattern("small", function(p) return declare(p, p:arg("item")) end)
  return heddle.pattern("versions", function(p)
    local list = p:state("list", heddle.array{ "a", "b" })
    local cards = p:map(list, function(item) return p:piece(small, { item = item }) end, { name = "cards" })
    return { cards = cards, list = list }
  end)
end

local function first_version(p, item)
  local count = p:state("count", 1)
  local bump = p:handler("bump", function() count:increment() end)
  return { count = count, bump = bump, item = item }
end

test("a pattern that declares more finds its pieces, and adds to them", function(t)
  local rt = t:runtime()
  local board = rt:run(versions(first_version))
  rt:idle()
  board:send("cards/1/small1/bump", {})
  rt:idle()
  rt = rt:restart()
  local pattern = versions(function(p, item)
    local result = first_version(p, item)
    result.more = p:state("more", 7)
    return result
  end)
  board = rt:run(pattern)
  rt:idle()
  local want = { { count = 1, item = "a", more = 7 }, { count = 2, item = "b", more = 7 } }
  t:eq(board:get("cards"), want)
  rt:doc("piece:versions/cards/0/small1/more"):set(8)
  rt:doc("piece:versions/list"):append("c")
  rt:idle()
  rt = rt:restart()
  board = rt:run(pattern)
  rt:idle()
  want[1].more = 8
  want[3] = { count = 1, item = "c", more = 7 }
  t:eq(board:get("cards"), want)
end)

test("pieces of elements are migrated", function(t)
  local rt = t:runtime()
  local board = rt:run(versions(first_version))
  rt:idle()
  board:send("cards/1/small1/bump", {})
  rt:idle()
  local pattern = versions(function(p, item)
    local number = p:state("number", 0)
    p:migrate(2, function(old)
      number:set(old:get("count") * 100)
      old:drop("count")
    end)
    return { number = number, item = item }
  end)
  for _ = 1, 2 do
    rt = rt:restart()
    board = rt:run(pattern)
    rt:idle()
    t:eq(board:get("cards"), { { number = 100, item = "a" }, { number = 200, item = "b" } })
    t:eq(rt:doc("piece:versions/cards/1/small1/count"):get(), nil)
  end
  rt:doc("piece:versions/list"):append("c")
  rt:idle()
  t:eq(board:get("cards.3"), { number = 0, item = "c" })
  rt = rt:restart()
  local message = t:fails(function() rt:run(versions(first_version)); rt:idle() error("started") end)
  t:ok(message:find("version", 1, true), message)
end)

test("data that is no longer declared goes with its element", function(t)
  local rt = t:runtime()
  rt:run(versions(first_version))
  rt:idle()
  local pattern = versions(function(p, item)
    return { count = p:computed("count", function() return item:get() .. "!" end) }
  end)
  rt = rt:restart()
  local board = rt:run(pattern)
  rt:idle()
  t:eq(board:get("cards"), { { count = "a!" }, { count = "b!" } })
  t:eq(rt:doc("piece:versions/cards/0/small1/count"):get(), 1)
  rt:doc("piece:versions/list"):append("c")
  rt:idle()
  rt = rt:restart()
  board = rt:run(pattern)
  rt:doc("piece:versions/list"):set(heddle.array{ "b", "c" })
  rt:idle()
  t:eq(board:get("cards"), { { count = "b!" }, { count = "c!" } })
  for _, part in ipairs{ "", "/small1", "/small1/count", "/small1/count//computed", "/small1/item" } do
    t:eq(rt:doc("piece:versions/cards/0" .. part):get(), nil, part)
  end
  rt = rt:restart()
  board = rt:run(versions(first_version))
  rt:idle()
  t:eq(board:get("cards"), { { count = 1, item = "b" }, { count = 1, item = "c" } })
end)

test("several runtimes add and remove at once, and agree", function(t)
  local cluster = t:cluster(3)
  local pattern = board_of{ list = { one "a" }, key = "id" }
  local boards = {}
  for i, rt in ipairs(cluster) do
    boards[i] = rt:run(pattern)
    rt:idle()
  end
  cluster:settled()
  for i, rt in ipairs(cluster) do rt:doc("piece:board/list"):append(one("x" .. i)) end
  cluster:settled()
  local seen = shown(boards[1])
  for i = 1, 3 do
    t:eq(shown(boards[i]), seen)
    t:eq(#boards[i]:get("cards"), 4)
  end
  for i = 1, 3 do boards[i]:send("cards/2/card1/bump", { by = i }) end
  cluster:settled()
  for i = 1, 3 do t:eq(boards[i]:get("cards.3.view.count"), 6) end
  cluster[1]:doc("piece:board/list"):set(heddle.array{ one "a" })
  local late = boards[2]:send("cards/2/card1/bump", {})
  cluster:settled()
  t:eq(shown(boards[2]), "a:0")
  t:ok(late:state() == "done" or late:error().message:find("was removed", 1, true)
    or late:error().message:find("no stream", 1, true), late:state())
  t:eq(cluster[3]:doc("piece:board/cards/2/card1/count"):get(), nil)
end)

-- A model: the list, and what each card has counted since it came.
local function expected(list, counts)
  local words = {}
  for i, c in ipairs(list) do words[i] = c.id .. "=" .. c.title .. ":" .. counts[c.id] end
  return table.concat(words, " ")
end

local function found(board)
  local words = {}
  for i, c in ipairs(board:get("cards")) do words[i] = c.view.id .. "=" .. c.view.title .. ":" .. c.view.count end
  return table.concat(words, " ")
end

-- The address of the stream of the card at a position.
local function stream_at(rt, index)
  local link = rt:doc("piece:board/cards"):value()[index]
  return link.id:sub(#"piece:board/" + 1) .. "/card1/bump"
end

test("random changes, restarts and events agree with a plain list", function(t)
  t:seeds(12, function(_, random)
    local cluster = t:cluster(2)
    local pattern = board_of{ key = "id" }
    local boards = {}
    for i = 1, 2 do
      boards[i] = cluster[i]:run(pattern)
      cluster[i]:idle()
    end
    cluster:settled()
    local list, counts, next_id = heddle.array{}, {}, 0
    for _ = 1, 30 do
      local which = random(2)
      local rt, board = cluster[which], boards[which]
      local what = random(8)
      local at = #list > 0 and random(#list) or 0
      if what <= 3 or at == 0 then
        next_id = next_id + 1
        counts["k" .. next_id] = 0
        table.insert(list, random(#list + 1), one("k" .. next_id, "t"))
      elseif what == 4 then
        table.remove(list, at)
      elseif what == 5 then
        table.insert(list, random(#list), table.remove(list, at))
      elseif what == 6 then
        list[at] = one(list[at].id, "t" .. random(9))
      elseif what == 7 then
        local by = random(5)
        counts[list[at].id] = counts[list[at].id] + by
        board:send(stream_at(rt, at), { by = by })
      else
        cluster[which] = rt:restart()
        rt = cluster[which]
        boards[which] = rt:run(pattern)
        board = boards[which]
        rt:idle()
      end
      rt:doc("piece:board/list"):set(list)
      for _ = 1, 3 do
        for i = 1, 2 do cluster[i]:idle() end
      end
      t:eq(found(boards[random(2)]), expected(list, counts))
    end
    for i = 1, 2 do t:eq(found(boards[i]), expected(list, counts)) end
  end)
end)

test("schemas hold for the pieces of elements", function(t)
  local rt = t:runtime()
  local typed = heddle.pattern("typed", function(p)
    local item = p:arg("item")
    local count = p:state("count", 0, { schema = { type = "integer" } })
    local set = p:handler("set", function(event) count:set(event.to) end, {
      schema = { type = "object", properties = { to = { type = { "integer", "string" } } }, required = { "to" } } })
    return { count = count, set = set, item = item }
  end)
  local pattern = heddle.pattern("schemas", function(p)
    local list = p:state("list", heddle.array{ "a", "b" })
    return { rows = p:map(list, function(item) return p:piece(typed, { item = item }) end, { name = "rows" }) }
  end)
  local function send(board, payload)
    local done, ticket = pcall(function() return board:send("rows/1/typed1/set", payload) end)
    rt:idle()
    return done and (ticket:error() or {}).message or (not done and ticket) or ""
  end
  local board = rt:run(pattern)
  rt:idle()
  for _ = 1, 2 do
    t:eq(send(board, { to = 5 }), "")
    t:eq(board:get("rows.2.count"), 5)
    t:ok(send(board, {}):find("to", 1, true))
    t:ok(send(board, { to = "x" }):find("integer", 1, true))
    t:eq(board:get("rows.2.count"), 5)
    rt:errors()
    rt = rt:restart()
    board = rt:run(pattern)
    rt:idle()
  end
end)

test("an event that lands after its card has gone leaves nothing behind", function(t)
  local blind = heddle.pattern("blind", function(p)
    local count = p:state("count", 0)
    local bump = p:handler("bump", function() count:increment() end)
    return { item = p:arg("item"), count = count, bump = bump }
  end)
  local pattern = heddle.pattern("late", function(p)
    local list = p:state("list", heddle.array{ "a", "b" })
    return { rows = p:map(list, function(item) return p:piece(blind, { item = item }) end, { name = "rows" }) }
  end)
  local cluster = t:cluster(2)
  local boards = {}
  for i = 1, 2 do
    boards[i] = cluster[i]:run(pattern)
    cluster[i]:idle()
  end
  cluster:settled()
  boards[2]:send("rows/1/blind1/bump", {}) -- so that what the handler needs is here
  cluster:settled()
  cluster[2]:hold(true)
  local late = boards[2]:send("rows/1/blind1/bump", {})
  cluster[2]:idle()
  cluster[1]:doc("piece:late/list"):set(heddle.array{ "a" })
  cluster[1]:idle()
  cluster[2]:hold(false)
  cluster:settled()
  t:ok(late:state() == "failed" or late:state() == "dropped", late:state())
  t:ok(late:error().message:find("was removed", 1, true) or late:error().message:find("no stream", 1, true), late:error().message)
  for i = 1, 2 do t:eq(cluster[i]:doc("piece:late/rows/1/blind1/count"):get(), nil) end
end)

test("a change that is too much for one commit fails with what to do, and nothing changes", function(t)
  local wide = heddle.pattern("wide", function(p)
    for i = 1, 1000 do p:state("s" .. i, i) end
    return {}
  end)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("board", function(p)
    local list = p:state("list", heddle.array{})
    local set = p:handler("set", function(event)
      local all = heddle.array{}
      for i = 1, event.count do all[i] = i end
      list:set(all)
    end)
    return { cards = p:map(list, function() return p:piece(wide, {}) end, { name = "cards" }), set = set }
  end))
  piece:send("set", { count = 2 })
  rt:idle()
  t:eq(#piece:get("cards"), 2)
  piece:send("set", { count = 102 })
  rt:idle()
  local errors = rt:errors()
  t:eq(#errors, 1)
  t:ok(errors[1].message:find("a commit has at most 100000: change the list in several steps", 1, true), errors[1].message)
  t:eq(#piece:get("cards"), 2)
  piece:send("set", { count = 52 })
  rt:idle()
  t:eq(#piece:get("cards"), 52)
end)
