-- p:collection: rows by key, indexes, ranges, and what wakes their readers.

local heddle = require "heddle"
local test = require "heddle.test"

local options = { key = "id", index = { by_age = { "age", "name" } } }

-- A piece that does what events say, and shows a range or two. `range` is what
-- the computation "page" reads; `body` may declare more.
local function people_of(settings)
  return heddle.pattern("people", function(p)
    local people = p:collection("people", settings.options or options)
    local page = p:computed("page", function()
      local words = {}
      for _, row in ipairs(people:range(settings.range)) do words[#words + 1] = row.id .. ":" .. row.name end
      return table.concat(words, " ")
    end)
    p:effect("show", function() page:get() end)
    p:handler("insert", function(rows) for _, row in ipairs(rows) do people:insert(row) end end)
    p:handler("put", function(row) people:put(row) end)
    p:handler("update", function(event) people:update(event.id, event.fields) end)
    p:handler("remove", function(event) return { existed = people:remove(event.id) } end)
    p:handler("ask", function(range)
      local ids = heddle.array{}
      for i, row in ipairs(people:range(range)) do ids[i] = row.id end
      return ids
    end)
    p:handler("count", function(range) return people:count(range) end)
    p:handler("get", function(event)
      local row = people:get(event.id)
      return row and row.name or "nothing"
    end)
    if settings.body then settings.body(p, people) end
    return { people = people, page = page }
  end)
end

local function person(id, age, name) return { id = id, age = age, name = name or id } end

local function crowd(n)
  local rows = heddle.array{}
  for i = 1, n do rows[i] = person(i, i % 7, "n" .. i) end
  return rows
end

-- Sends and gives the receipt; errors if the event failed.
local function ask(rt, piece, stream, payload)
  local ticket = piece:send(stream, payload)
  rt:idle()
  if ticket:state() ~= "done" then error(ticket:error() and ticket:error().message or ticket:state(), 2) end
  return ticket:receipt()
end

test("rows are inserted, put, updated, removed and found by key", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{}, nil, { name = "crm" })
  ask(rt, piece, "insert", { person("b", 2), person("a", 1), person("c", 3) })
  t:eq(piece:get("page"), "a:a b:b c:c")
  t:eq(ask(rt, piece, "get", { id = "b" }), "b")
  t:eq(ask(rt, piece, "get", { id = "x" }), "nothing")
  ask(rt, piece, "put", person("b", 2, "Bea"))
  ask(rt, piece, "put", person("d", 4, "Dan"))
  t:eq(piece:get("page"), "a:a b:Bea c:c d:Dan")
  ask(rt, piece, "update", { id = "a", fields = { name = "Ann" } })
  t:eq(piece:get("page"), "a:Ann b:Bea c:c d:Dan")
  t:eq(ask(rt, piece, "remove", { id = "c" }), { existed = true })
  t:eq(ask(rt, piece, "remove", { id = "c" }), { existed = false })
  t:eq(piece:get("page"), "a:Ann b:Bea d:Dan")
  t:eq(ask(rt, piece, "count", {}), 3)
end)

test("an insert of a key that exists is refused, and nothing is written", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{})
  ask(rt, piece, "insert", { person("a", 1) })
  t:fails(function() ask(rt, piece, "insert", { person("b", 1), person("a", 2) }) end,
    "a row with the id 'a' already exists")
  t:eq(piece:get("page"), "a:a")
  t:eq(ask(rt, piece, "count", {}), 1)
  t:fails(function() ask(rt, piece, "update", { id = "x", fields = { age = 1 } }) end, "there is no row with the id 'x'")
  rt:errors()
end)

test("ranges by key and by index, with bounds, limit and reverse", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{})
  ask(rt, piece, "insert", {
    person("a", 30, "Zoe"), person("b", 20, "Yan"), person("c", 30, "Ada"), person("d", 40), { id = "e", name = "nobody" },
  })
  t:eq(ask(rt, piece, "ask", {}), { "a", "b", "c", "d", "e" })
  t:eq(ask(rt, piece, "ask", { from = { "b" }, to = { "d" } }), { "b", "c", "d" })
  t:eq(ask(rt, piece, "ask", { from = { "bb" } }), { "c", "d", "e" })
  t:eq(ask(rt, piece, "ask", { reverse = true, limit = 2 }), { "e", "d" })
  t:eq(ask(rt, piece, "ask", { index = "by_age" }), { "e", "b", "c", "a", "d" })
  t:eq(ask(rt, piece, "ask", { index = "by_age", from = { 30 }, to = { 30 } }), { "c", "a" })
  t:eq(ask(rt, piece, "ask", { index = "by_age", from = { 30, "B" }, to = { 40 } }), { "a", "d" })
  t:eq(ask(rt, piece, "ask", { index = "by_age", to = { 30 }, reverse = true }), { "a", "c", "b", "e" })
  t:eq(ask(rt, piece, "ask", { index = "by_age", from = { 41 } }), heddle.array{})
  t:eq(ask(rt, piece, "ask", { index = "by_age", from = { 40 }, to = { 20 } }), heddle.array{})
  t:eq(ask(rt, piece, "count", { index = "by_age", from = { 21 } }), 3)
  t:eq(ask(rt, piece, "count", { from = { "b" }, to = { "c" } }), 2)
end)

test("paging goes on after a row, a key or a position", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{ body = function(p, people)
    p:handler("pages", function(event)
      local pages, after = heddle.array{}, nil
      while true do
        local rows = people:range{ index = event.index, reverse = event.reverse, limit = 30, after = after }
        if #rows == 0 then return pages end
        local ids = heddle.array{}
        for i, row in ipairs(rows) do ids[i] = row.id end
        pages[#pages + 1] = ids
        after = rows[#rows]
      end
    end)
  end })
  ask(rt, piece, "insert", crowd(300))
  for _, event in ipairs{ {}, { reverse = true }, { index = "by_age" }, { index = "by_age", reverse = true } } do
    local pages = ask(rt, piece, "pages", event)
    t:eq(#pages, 10)
    local seen = {}
    for _, ids in ipairs(pages) do
      for _, id in ipairs(ids) do t:ok(not seen[id], id) seen[id] = true end
    end
  end
  t:eq(ask(rt, piece, "ask", { after = { 297 } }), { 298, 299, 300 })
  t:eq(ask(rt, piece, "ask", { after = 298 }), { 299, 300 })
  t:eq(ask(rt, piece, "ask", { index = "by_age", after = { 5, "n96", 96 }, limit = 1 }), { 104 })
  t:eq(ask(rt, piece, "ask", { index = "by_age", after = { 5 }, limit = 2 }), { 104, 111 })
end)

test("a range wakes its reader for a row inside of it, and at no other time", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{ range = { from = { 100 }, to = { 110 } } })
  ask(rt, piece, "insert", crowd(90))
  local runs = piece:node("page"):runs()
  local function woken(name, times)
    t:eq(piece:node("page"):runs() - runs, times, name)
    runs = piece:node("page"):runs()
  end
  ask(rt, piece, "insert", { person(99, 1), person(111, 1) })
  woken("an insert beside the range", 0)
  ask(rt, piece, "insert", { person(105, 1, "x") })
  woken("an insert inside", 1)
  t:eq(piece:get("page"), "105:x")
  ask(rt, piece, "update", { id = 99, fields = { name = "z" } })
  woken("an update beside", 0)
  ask(rt, piece, "update", { id = 105, fields = { age = 50 } })
  woken("an update inside", 1)
  ask(rt, piece, "remove", { id = 111 })
  woken("a removal beside", 0)
  ask(rt, piece, "remove", { id = 105 })
  woken("a removal inside", 1)
  t:eq(piece:get("page"), "")
  ask(rt, piece, "put", person(110, 1, "y"))
  woken("a put inside", 1)
end)

test("a limited range depends on what it has taken", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{ range = { limit = 3 } })
  ask(rt, piece, "insert", { person(10, 1), person(20, 1), person(30, 1), person(40, 1) })
  local runs = piece:node("page"):runs()
  ask(rt, piece, "insert", { person(35, 1), person(50, 1) })
  t:eq(piece:node("page"):runs(), runs)
  ask(rt, piece, "insert", { person(15, 1) })
  t:eq(piece:node("page"):runs(), runs + 1)
  t:eq(piece:get("page"), "10:10 15:15 20:20")
end)

test("a row moves inside an index, and only those who see it are woken", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{ range = { index = "by_age", from = { 18 }, to = { 29 } } })
  ask(rt, piece, "insert", { person("a", 17), person("b", 18), person("c", 29), person("d", 30) })
  t:eq(piece:get("page"), "b:b c:c")
  local runs = piece:node("page"):runs()
  ask(rt, piece, "update", { id = "d", fields = { age = 31 } })
  t:eq(piece:node("page"):runs(), runs)
  ask(rt, piece, "update", { id = "a", fields = { age = 18 } })
  t:eq(piece:get("page"), "a:a b:b c:c")
  ask(rt, piece, "update", { id = "c", fields = { age = 99 } })
  t:eq(piece:get("page"), "a:a b:b")
  t:eq(piece:node("page"):runs(), runs + 2)
end)

test("counts wake their readers when they change", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{ body = function(p, people)
    p:computed("all", function() return people:count() end)
    p:computed("some", function() return people:count{ from = { 10 }, to = { 19 } } end)
  end })
  ask(rt, piece, "insert", crowd(30))
  t:eq(rt:pull(piece:cell("page")) ~= nil, true)
  local all, some = piece:node("all"), piece:node("some")
  rt:sink(rt:doc("piece:people/all"), function() end)
  rt:sink(rt:doc("piece:people/some"), function() end)
  rt:idle()
  local before = { all:runs(), some:runs() }
  ask(rt, piece, "insert", { person(31, 1) })
  ask(rt, piece, "update", { id = 12, fields = { name = "x" } })
  t:eq({ all:runs() - before[1], some:runs() - before[2] }, { 1, 0 })
  ask(rt, piece, "remove", { id = 12 })
  t:eq({ all:runs() - before[1], some:runs() - before[2] }, { 2, 1 })
end)

test("a write to the cell of a row keeps indexes, key and schema", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{
    options = { key = "id", index = options.index,
                schema = { type = "object", properties = { age = { type = "integer" } } } },
    range = { index = "by_age", from = { 40 } },
    body = function(p, people)
      p:handler("age", function(event) people:row(event.id):key("age"):set(event.age) end)
      p:handler("grow", function(event) people:row(event.id):key("age"):increment(event.by) end)
      p:handler("rename", function(event) people:row(event.id):key("id"):set("z") end)
      p:handler("whole", function(event) people:row(event.id):set(event) end)
      p:handler("drop", function(event) people:row(event.id):delete() end)
    end,
  })
  ask(rt, piece, "insert", { person("a", 30), person("b", 50) })
  t:eq(piece:get("page"), "b:b")
  ask(rt, piece, "age", { id = "a", age = 45 })
  t:eq(piece:get("page"), "a:a b:b")
  ask(rt, piece, "grow", { id = "b", by = -20 })
  t:eq(piece:get("page"), "a:a")
  ask(rt, piece, "whole", person("c", 41, "new"))
  t:eq(piece:get("page"), "c:new a:a")
  t:fails(function() ask(rt, piece, "rename", { id = "a" }) end, "the key 'id' of a row cannot change")
  t:fails(function() ask(rt, piece, "age", { id = "a", age = "old" }) end, "at /age: must be integer, not string")
  t:fails(function() ask(rt, piece, "insert", { person("d", 1.5) }) end, "the row 'd' does not match the schema of its collection at /age")
  ask(rt, piece, "drop", { id = "a" })
  t:eq(piece:get("page"), "c:new")
  t:eq(ask(rt, piece, "count", {}), 2)
  rt:errors()
end)

test("what cannot be a row, a key, an index or an option is refused", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{})
  local function refused(stream, payload, sentence)
    t:fails(function() ask(rt, piece, stream, payload) end, sentence)
  end
  refused("insert", { { name = "x" } }, "the row has no field 'id', which is its key")
  refused("insert", { { id = true } }, "the key 'id' of a row must be a string or a number, not boolean")
  refused("insert", { { id = ("x"):rep(257) } }, "the key 'id' of a row must have 1 to 256 bytes, not 257")
  refused("insert", { { id = 1, age = { 1 } } }, "the field 'age' is in an index")
  refused("put", heddle.array{ 1 }, "a row must be an object, not array")
  refused("ask", { index = "by_aeg" }, "the collection has no index 'by_aeg'; did you mean 'by_age'%?")
  refused("ask", { idnex = "by_age" }, "unknown option 'idnex'")
  refused("ask", { limit = 0 }, "limit must be an integer from 1 on")
  refused("ask", { from = { 1, 2 } }, "'from' of the range has 2 values, but the rows are ordered by 1 field, their key")
  refused("count", { limit = 1 }, "unknown option 'limit'")
  rt:errors()
  local function bad(settings, sentence)
    t:fails(function() rt:run(people_of{ options = settings }, nil, { name = "bad" }) end, sentence)
  end
  bad({ index = {} }, "'key' must be the name of a field")
  bad({ key = "id", index = { ["a/b"] = { "x" } } }, "the name of an index must have")
  bad({ key = "id", index = { x = {} } }, "an index must be a list of 1 to 8 field names")
  bad({ key = "id", idx = {} }, "unknown option 'idx'")
  bad({ key = "id", schema = { type = "nothing" } }, "the schema of the collection 'people'")
end)

test("a computation cannot change a collection", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{ body = function(p, people)
    local wrong = p:computed("wrong", function() people:put(person("a", 1)) return 1 end)
    p:effect("look", function() wrong:get() end)
  end })
  rt:idle()
  t:ok(rt:errors()[1].message:find("a computation cannot change a collection", 1, true))
  t:eq(piece:get("page"), "")
end)

test("a range is a list of links for p:map, which keeps elements by identity", function(t)
  local rt = t:runtime{ idempotency_check = false }
  local runs = {}
  local piece = rt:run(people_of{ body = function(p, people)
    local list = p:computed("list", function() return people:range{ from = { 1 }, to = { 5 } } end)
    local names = p:map(list, function(row)
      runs[row.id] = (runs[row.id] or 0) + 1
      return row.name
    end, { name = "names" })
    local text = p:computed("text", function()
      local words = {}
      for _, name in ipairs(names:get()) do words[#words + 1] = name end
      return table.concat(words, " ")
    end)
    p:effect("see", function() text:get() end)
  end })
  ask(rt, piece, "insert", { person(3, 1), person(1, 1), person(9, 1) })
  t:eq(rt:doc("piece:people/text"):get(), "1 3")
  ask(rt, piece, "insert", { person(2, 1) })
  ask(rt, piece, "update", { id = 3, fields = { name = "three" } })
  t:eq(rt:doc("piece:people/text"):get(), "1 2 three")
  t:eq(runs, { [1] = 1, [2] = 1, [3] = 2 })
end)

test("rows outlive a restart, and clean readers stay clean", function(t)
  local engine = t:engine()
  local rt = t:runtime{ engine = engine }
  local settings = { range = { from = { 5 }, to = { 7 } } }
  local piece = rt:run(people_of(settings), nil, { name = "crm" })
  ask(rt, piece, "insert", crowd(400))
  rt:settled()
  local again = rt:restart()
  again:resume(function() end)
  local resumed = again:run(people_of(settings), nil, { name = "crm" })
  again:idle()
  t:eq(resumed:node("page"):runs(), 0)
  t:eq(resumed:get("page"), "5:n5 6:n6 7:n7")
  t:eq(ask(again, resumed, "count", { index = "by_age", from = { 3 }, to = { 3 } }), 57)
  ask(again, resumed, "insert", { person(5.5, 1, "half") })
  t:eq(resumed:get("page"), "5:n5 5.5:half 6:n6 7:n7")
  t:eq(ask(again, resumed, "ask", { index = "by_age", from = { 6 }, limit = 2 }), { 104, 111 })
end)

test("two runtimes insert into one page without conflicts, and conflict on one key", function(t)
  local cluster = t:cluster(2)
  local one, two = cluster[1], cluster[2]
  local first = one:run(people_of{}, nil, { name = "crm" })
  one:settled()
  local second = two:run(people_of{}, nil, { name = "crm" })
  cluster:settled()
  one:hold(true)
  two:hold(true)
  local tickets = {}
  for i = 1, 10 do
    tickets[#tickets + 1] = first:send("insert", { person(i, 1) })
    tickets[#tickets + 1] = second:send("insert", { person(100 + i, 1) })
  end
  one:idle() two:idle()
  one:hold(false) two:hold(false)
  cluster:settled()
  for _, ticket in ipairs(tickets) do t:eq(ticket:state(), "done") end
  t:eq(ask(one, first, "count", {}), 20)
  cluster:settled()
  one:hold(true)
  two:hold(true)
  local a, b = first:send("insert", { person(50, 1, "one") }), second:send("insert", { person(50, 1, "two") })
  one:idle() two:idle()
  one:hold(false) two:hold(false)
  cluster:settled()
  local states = { a:state(), b:state() }
  table.sort(states)
  t:eq(states, { "done", "failed" })
  t:eq(ask(two, second, "count", {}), 21)
  one:errors() two:errors()
end)

test("pages divide while two runtimes fill them", function(t)
  local cluster = t:cluster(2)
  local one, two = cluster[1], cluster[2]
  local first = one:run(people_of{}, nil, { name = "crm" })
  one:settled()
  local second = two:run(people_of{}, nil, { name = "crm" })
  cluster:settled()
  for round = 0, 9 do
    local rows, others = heddle.array{}, heddle.array{}
    for i = 1, 30 do
      rows[i] = person(round * 60 + i * 2, i % 5)
      others[i] = person(round * 60 + i * 2 + 1, i % 5)
    end
    first:send("insert", rows)
    second:send("insert", others)
    cluster:settled()
  end
  t:eq(ask(one, first, "count", {}), 600)
  t:eq(ask(two, second, "count", { from = { 0 } }), 600)
  t:eq(ask(two, second, "count", { index = "by_age", from = { 2 }, to = { 2 } }), 120)
  cluster:settled()
  t:eq(first:get("page"), second:get("page"))
end)

test("code outside of runs uses a collection as well", function(t)
  local rt = t:runtime()
  local people
  local piece = rt:run(people_of{ body = function(_, c) people = c end })
  rt:idle()
  people:insert(person("b", 2))
  people:put(person("a", 1))
  people:update("a", { name = "Ann" })
  rt:idle()
  t:eq(people:get("a").name, "Ann")
  t:eq(people:row("b"):key("age"):get(), 2)
  t:eq(#people:range(), 2)
  t:eq(people:range{ limit = 1 }, { person("a", 1, "Ann") })
  t:eq(people:count(), 2)
  t:eq(people:remove("b"), true)
  t:eq(people:remove("b"), false)
  t:fails(function() people:insert(person("a", 1)) end, "a row with the id 'a' already exists")
  rt:idle()
  t:eq(piece:get("page"), "a:Ann")
end)

test("an index that a later version declares is filled from the rows", function(t)
  local engine = t:engine()
  local rt = t:runtime{ engine = engine }
  local piece = rt:run(people_of{ options = { key = "id" } }, nil, { name = "crm" })
  ask(rt, piece, "insert", crowd(300))
  rt:settled()
  local again = rt:restart()
  again:resume(function() end)
  local resumed = again:run(people_of{}, nil, { name = "crm" })
  again:idle()
  t:eq(ask(again, resumed, "count", { index = "by_age", from = { 3 }, to = { 3 } }), 43)
  t:eq(ask(again, resumed, "ask", { index = "by_age", limit = 2 }), { 105, 112 })
  again:settled()
  local third = again:restart()
  third:resume(function() end)
  t:fails(function()
    third:run(people_of{ options = { key = "name" } }, nil, { name = "crm" })
    third:idle()
    third:errors()
    error("the piece runs")
  end, "the key of the rows was 'id' and cannot become 'name'")
end)

test("a handler that fails leaves no row and no entry", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{ body = function(p, people)
    p:handler("half", function() people:insert(person("x", 1)) error("no") end)
  end })
  t:fails(function() ask(rt, piece, "half", {}) end)
  rt:errors()
  t:eq(piece:get("page"), "")
  t:eq(ask(rt, piece, "count", {}), 0)
end)

test("a handler sees the rows that it has just written", function(t)
  local rt = t:runtime()
  local piece = rt:run(people_of{ body = function(p, people)
    p:handler("both", function()
      people:insert(person("n", 5, "new"))
      people:update("a", { age = 5 })
      local ids = heddle.array{}
      for i, row in ipairs(people:range{ index = "by_age", from = { 5 } }) do ids[i] = row.id end
      return { ids = ids, name = people:get("n").name, count = people:count() }
    end)
  end })
  ask(rt, piece, "insert", { person("a", 1) })
  t:eq(ask(rt, piece, "both", {}), { ids = { "a", "n" }, name = "new", count = 2 })
end)

test("a handler that has looked at a range conflicts with an insert inside of it", function(t)
  local cluster = t:cluster(2)
  local one, two = cluster[1], cluster[2]
  local settings = { body = function(p, people)
    -- One booking per day: the second handler must see the first row.
    p:handler("book", function(event)
      if people:count{ index = "by_age", from = { event.day }, to = { event.day } } > 0 then return "taken" end
      people:insert(person(event.id, event.day))
      return "booked"
    end)
  end }
  local first = one:run(people_of(settings), nil, { name = "crm" })
  one:settled()
  local second = two:run(people_of(settings), nil, { name = "crm" })
  cluster:settled()
  one:hold(true)
  two:hold(true)
  local a, b = first:send("book", { id = 1, day = 7 }), second:send("book", { id = 2, day = 7 })
  local c, d = first:send("book", { id = 3, day = 8 }), second:send("book", { id = 4, day = 9 })
  one:idle() two:idle()
  one:hold(false) two:hold(false)
  cluster:settled()
  local answers = { a:receipt(), b:receipt() }
  table.sort(answers)
  t:eq(answers, { "booked", "taken" })
  t:eq({ c:receipt(), d:receipt() }, { "booked", "booked" })
  t:eq(ask(one, first, "count", {}), 3)
end)

test("a piece per element can have a collection, and it goes with its element", function(t)
  local rt = t:runtime()
  local shelf = heddle.pattern("shelf", function(p)
    local books = p:collection("books", { key = "id" })
    p:handler("add", function(event) books:insert(event) end)
    return { books = books }
  end)
  local piece = rt:run(heddle.pattern("library", function(p)
    local list = p:state("list", heddle.array{ { id = "a" }, { id = "b" } })
    local shelves = p:map(list, function() return p:piece(shelf, {}) end, { name = "shelves", key = "id" })
    p:handler("set", function(event) list:set(heddle.array(event)) end)
    return { shelves = shelves }
  end))
  rt:idle()
  piece:send("shelves/0/shelf1/add", { id = 1 })
  piece:send("shelves/1/shelf1/add", { id = 2 })
  rt:idle()
  t:eq(piece:get("shelves"), { { books = { count = 1, rows = { { id = 1 } } } }, { books = { count = 1, rows = { { id = 2 } } } } })
  piece:send("set", { { id = "b" } })
  rt:idle()
  t:eq(piece:get("shelves"), { { books = { count = 1, rows = { { id = 2 } } } } })
  t:eq(rt:doc("piece:library/shelves/0/shelf1/books//row/=1"):get(), nil)
  t:eq(rt:doc("piece:library/shelves/1/shelf1/books//row/=2"):get().id, 2)
end)

test("a bound that is a row or a field that does not exist is refused", function(t)
  local rt = t:runtime()
  local people
  local piece = rt:run(people_of{ body = function(p, rows)
    people = rows
    p:handler("turn", function()
      local page = rows:range{ limit = 2 }
      rows:remove(2)
      return #rows:range{ after = page[2] }
    end)
  end })
  for i = 1, 3 do people:insert(person(i, i)) end
  local page = people:range{ limit = 2 }
  people:remove(2)
  t:fails(function() people:range{ after = page[2] } end, "'after' of a range is a row or a field that does not exist")
  t:fails(function() people:range{ after = people:row(99) } end, "'after' of a range is a row or a field that does not exist")
  t:fails(function() people:range{ from = people:row(99):key("id") } end, "'from' of a range is a row or a field that does not exist")
  t:fails(function() people:count{ to = people:row(99) } end, "'to' of a range is a row or a field that does not exist")
  t:eq(#people:range{ after = page[1] }, 1)
  t:eq(#people:range{ from = people:row(3):key("id") }, 1)
  people:insert(person(2, 2))
  t:fails(function() ask(rt, piece, "turn", {}) end, "'after' of a range is a row or a field that does not exist")
  t:eq(people:count(), 3)
end)

test("integers beyond 2^53 are ordered exactly, as fields and as keys", function(t)
  local rt = t:runtime()
  local people
  rt:run(people_of{ body = function(_, rows) people = rows end })
  local large = 1794958091104000000
  for i = 3, 1, -1 do people:insert(person(large + i, large - i)) end
  people:insert(person(math.mininteger, math.maxinteger))
  people:insert(person(0x1p63, -0.0))
  local function ids(range)
    local list = {}
    for i, row in ipairs(people:range(range)) do list[i] = row.id end
    return list
  end
  t:eq(ids{}, { math.mininteger, large + 1, large + 2, large + 3, 0x1p63 })
  t:eq(ids{ index = "by_age" }, { 0x1p63, large + 3, large + 2, large + 1, math.mininteger })
  t:eq(ids{ index = "by_age", from = large - 2, to = large - 2 }, { large + 2 })
  t:eq(ids{ index = "by_age", from = 0, to = 0 }, { 0x1p63 })
  t:eq(ids{ after = { large + 2 }, reverse = true }, { large + 1, math.mininteger })
  t:eq(people:get(large + 1).age, large - 1)
end)

test("a computation cannot change a row through its cell", function(t)
  local rt = t:runtime()
  local people
  local piece = rt:run(people_of{ body = function(p, rows)
    people = rows
    local go = p:state("go", false)
    local wrong = p:computed("wrong", function()
      if go:get() then rows:row(1):key("age"):set(4) end
      return 1
    end)
    p:effect("look", function() wrong:get() end)
    p:handler("start", function() go:set(true) end)
  end })
  people:insert(person(1, 1))
  ask(rt, piece, "start", {})
  t:ok(rt:errors()[1].message:find("a computation cannot change a collection", 1, true))
  t:eq(people:get(1).age, 1)
end)

test("what is wrong with a range or a number is said in its own words", function(t)
  local rt = t:runtime()
  local people
  rt:run(people_of{ options = { key = "id", index = { by_age = { "age" } } }, body = function(_, rows) people = rows end })
  people:insert(person(2, 1))
  t:fails(function() people:insert(person(2, 1)) end, "a row with the id 2 already exists")
  t:fails(function() people:insert(person(1, 0 / 0)) end, "a finite number, a boolean or null, not NaN or an infinite one")
  t:fails(function() people:insert(person(1 / 0, 1)) end, "the key 'id' of a row must be finite, not NaN or infinite")
  t:fails(function() people:range{ index = "by_age", from = 1 / 0 } end, "finite numbers, booleans or null, not NaN or an infinite one")
  t:fails(function() people:range{ reverse = "yes" } end, "'reverse' of a range must be true or false, not a string")
  t:fails(function() people:range{ index = 7 } end, "'index' of a range must be the name of an index, not a number")
  t:fails(function() people:range{ limit = "3" } end, "limit must be an integer from 1 on")
  t:fails(function() people:range{ index = "by_age", from = { 1, 2, 3 } } end,
    "'from' of the range has 3 values, but the index has 1 field, which only the key of a row can follow")
  t:fails(function() people:range{ to = { 1, 2 } } end, "'to' of the range has 2 values, but the rows are ordered by 1 field, their key")
end)

-- A piece with 300 rows by id; `declare` is the pattern of the next version.
local function with_rows(t, declare)
  local rt = t:runtime()
  local before = heddle.pattern("people", function(p)
    local rows = p:collection("rows", { key = "id", index = { by_age = { "age" } } })
    p:handler("fill", function() for i = 1, 300 do rows:insert{ id = i, age = i % 7 } end end)
    return { rows = rows }
  end)
  local piece = rt:run(before, nil, { name = "m" })
  piece:send("fill"); rt:settled()
  rt = rt:restart() -- nothing of it is loaded
  piece = rt:run(heddle.pattern("people", declare), nil, { name = "m" })
  rt:settled()
  return rt, piece
end

test("a migration reads the rows of a collection that was, and drops it", function(t)
  local calls = 0
  local rt, piece = with_rows(t, function(p)
    local sum = p:state("sum", 0)
    p:migrate(2, function(old)
      calls = calls + 1
      local rows, total = old:get("rows"), 0
      for _, row in ipairs(rows) do total = total + row.age end
      sum:set(total)
      old:drop("rows")
    end)
    return { sum = sum }
  end)
  local want = 0
  for i = 1, 300 do want = want + i % 7 end
  t:eq(piece:get("sum"), want)
  t:ok(calls < 12) -- documents are loaded together, not one per call
  rt = rt:restart()
  piece = rt:run(heddle.pattern("people", function(p)
    local rows = p:collection("rows", { key = "id" })
    p:migrate(2, function() end)
    return { rows = rows, count = p:computed("count", function() return #rows:range{} end) }
  end), nil, { name = "m" })
  rt:settled()
  t:eq(rt:pull(piece:cell("count")), 0)
end)

test("a migration copies rows to a collection of another key, and changes those of one that stays", function(t)
  local rt, piece = with_rows(t, function(p)
    local rows = p:collection("rows", { key = "id", index = { by_age = { "age" } } })
    local by_name = p:collection("by_name", { key = "name", index = { by_age = { "age" } } })
    p:migrate(2, function(old)
      for _, row in ipairs(old:get("rows")) do by_name:insert{ name = "n" .. row.id, age = row.age } end
      for _, row in ipairs(rows:range{ index = "by_age", from = { 6 } }) do rows:update(row.id, { age = 60 }) end
      rows:remove(1)
      rows:insert{ id = 1000, age = 70 }
      assert(by_name:get("n7").age == 0 and by_name:count() == 300)
    end)
    p:handler("ask", function(event)
      return { rows:count(), rows:count{ index = "by_age", from = { 60 } }, by_name:count{ index = "by_age", from = { 6 } } }
    end)
    return { rows = rows, by_name = by_name }
  end)
  local ticket = piece:send("ask"); rt:settled()
  t:eq(ticket:receipt(), { 300, 44, 43 })
end)

test("a migration that fails leaves the rows as they were", function(t)
  local rt = t:runtime()
  local function version(step)
    return heddle.pattern("people", function(p)
      local rows = p:collection("rows", { key = "id" })
      p:handler("add", function(event) rows:insert(event) end)
      if step then p:migrate(2, function(old) step(old, rows) end) end
      return { rows = rows }
    end)
  end
  local piece = rt:run(version(), nil, { name = "m" })
  piece:send("add", { id = 1 }); rt:settled()
  for _, case in ipairs{
    { function(old, rows) rows:insert{ id = 2 } error("no") end, "no" },
    { function(old, rows) rows:insert{ id = 1 } end, "already exists" },
    { function(old) old:drop("rows") end, "is declared by the pattern and cannot be dropped" },
  } do
    rt = rt:restart()
    t:fails(function() rt:run(version(case[1]), nil, { name = "m" }) end, case[2])
  end
  rt = rt:restart()
  piece = rt:run(version(), nil, { name = "m" }); rt:settled()
  t:eq(piece:get("rows"), { count = 1, rows = { { id = 1 } } })
end)
