-- Schemas that a pattern declares: stored with the piece, and obeyed by every
-- runtime that writes to it, with or without the pattern.
local heddle = require "heddle"
local test   = require "heddle.test"

local item = {
  type = "object",
  required = { "name" },
  properties = { name = { type = "string" }, qty = { type = "integer", default = 1, minimum = 1 } },
}

local function shop_with(items_schema, extra)
  return heddle.pattern("shop", function(p)
    local items = p:state("items", heddle.array{}, { schema = items_schema })
    local open  = p:state("open", true)
    local add = p:handler("add", function(event) items:append(event) return #items:get() end, { schema = item })
    local put = p:handler("put", function(event)
      open:set(false)
      items:set(event)
    end)
    local try = p:handler("try", function(event)
      local fine, message = pcall(items.set, items, event)
      open:set(fine)
      return message or true
    end)
    if extra then extra(p, items) end
    return { items = items, open = open, add = add, put = put, try = try }
  end)
end

local shop = shop_with{ type = "array", items = item, maxItems = 2 }

local function two(t)
  local engine = t:engine()
  return t:runtime{ engine = engine }, t:runtime{ engine = engine }
end

test("a payload that fits is filled with defaults", function(t)
  local rt = t:runtime()
  local piece = rt:run(shop)
  local ticket = piece:send("add", { name = "yarn" })
  rt:settled()
  t:eq(ticket:state(), "done")
  t:eq(piece:get("items"), { { name = "yarn", qty = 1 } })
end)

test("a payload that does not fit fails its event, and the handler is not called", function(t)
  local rt = t:runtime()
  local piece = rt:run(shop)
  local ticket = piece:send("add", { name = "yarn", qty = 0 })
  rt:settled()
  t:eq(ticket:state(), "failed")
  t:eq(ticket:error().name, "SCHEMA")
  t:eq(ticket:error().message, "the payload at /qty: must be 1 or more")
  t:eq(piece:get("items"), heddle.array{})
end)

test("a write that does not fit fails the handler, and nothing of it is committed", function(t)
  local rt = t:runtime()
  local piece = rt:run(shop)
  local ticket = piece:send("put", { 5 })
  rt:settled()
  t:eq(ticket:state(), "failed")
  t:ok(ticket:error().message:find("piece:shop/items does not match its schema at /0: must be object, not integer", 1, true),
       ticket:error().message)
  t:eq(piece:get("open"), true)
  t:eq(piece:get("items"), heddle.array{})
end)

test("a handler can catch the refusal and commit the rest", function(t)
  local rt = t:runtime()
  local piece = rt:run(shop)
  local ticket = piece:send("try", { 5 })
  rt:settled()
  t:eq(ticket:state(), "done")
  t:ok(ticket:receipt():find("does not match its schema", 1, true), ticket:receipt())
  t:eq(piece:get("open"), false)
  t:eq(piece:get("items"), heddle.array{})
end)

test("merging writes are judged by what they leave", function(t)
  local rt = t:runtime()
  local p = rt:run(heddle.pattern("merges", function(p)
    local list = p:state("list", { 1 }, { schema = { items = { type = "integer" }, maxItems = 2, minItems = 1 } })
    local n    = p:state("n", 1, { schema = { type = "integer", maximum = 2 } })
    local way = p:handler("way", function(event)
      if event == "append" then list:append("x")
      elseif event == "two" then list:append(2, 3)
      elseif event == "unique" then list:add_unique({})
      elseif event == "remove" then list:remove(1)
      elseif event == "increment" then n:increment(2)
      elseif event == "half" then n:increment(0.5)
      elseif event == "delete" then list:key(1):delete()
      elseif event == "fine" then list:append(2) n:increment(1) end
    end, { schema = { type = "string" } })
    return { list = list, n = n, way = way }
  end))
  for _, way in ipairs{ "append", "two", "unique", "remove", "increment", "half", "delete" } do
    local ticket = p:send("way", way)
    rt:settled()
    t:eq(ticket:state(), "failed", way)
    t:ok(ticket:error().message:find("does not match its schema", 1, true), way)
  end
  t:eq(p:get(), { list = { 1 }, n = 1 })
  t:eq(p:send("way", "fine"):state(), "queued")
  rt:settled()
  t:eq(p:get(), { list = { 1, 2 }, n = 2 })
end)

test("a runtime without the piece obeys, and needs no pattern", function(t)
  local one, other = two(t)
  local piece = one:run(shop)
  one:settled()
  local items = other:doc("piece:shop/items")
  t:fails(function() items:set{ 5 } end, "piece:shop/items does not match its schema at /0: must be object, not integer")
  t:fails(function() items:append({ qty = 1 }) end, "at /0/name: is missing")
  items:append({ name = "loom", qty = 2 })
  other:settled()
  one:settled()
  t:eq(piece:get("items"), { { name = "loom", qty = 2 } })
end)

test("a computation of another piece that writes to it obeys", function(t)
  local one, other = two(t)
  one:run(shop)
  one:settled()
  local source = other:doc("source", 1)
  local items = other:doc("piece:shop/items")
  other:computation{ name = "c", writes = { items }, fn = function(tx)
    tx:set(items, { source:get() })
  end }
  other:sink(items, function() items:get() end)
  other:settled()
  local errors = other:errors()
  t:ok(#errors > 0 and errors[1].message:find("does not match its schema", 1, true))
  t:eq(one:doc("piece:shop/items"):value(), heddle.array{})
end)

test("an event for a piece that is not started is refused where a handler sends it", function(t)
  local one, other = two(t)
  one:run(shop)
  one:settled()
  local target = heddle.pattern("sender", function(p)
    local board = p:arg("board")
    return { go = p:handler("go", function(event) heddle.send(board:key("add"), event) end) }
  end)
  local sender = other:run(target, { board = other:doc("piece:shop") })
  other:settled()
  local ticket = sender:send("go", { qty = 1 })
  other:settled()
  t:eq(ticket:state(), "failed")
  t:ok(ticket:error().message:find("the payload at /name: is missing", 1, true), ticket:error().message)
end)

test("initial values and arguments get their defaults", function(t)
  local rt = t:runtime()
  local p = rt:run(heddle.pattern("defaults", function(p)
    local size = { properties = { w = { default = 1 }, h = { default = 2 } } }
    return {
      a = p:state("a", { w = 5 }, { schema = size }),
      b = p:state("b", nil, { schema = { default = heddle.array{} } }),
      c = p:arg("c", nil, { schema = { type = "integer", default = 7 } }),
      d = p:arg("d", nil, { schema = size }),
    }
  end), { d = { h = 3 } })
  rt:settled()
  t:eq(p:get(), { a = { w = 5, h = 2 }, b = heddle.array{}, c = 7, d = { w = 1, h = 3 } })
end)

test("a link fits, and what it leads to is judged by its own schema", function(t)
  local rt = t:runtime()
  rt:run(shop)
  local p = rt:run(heddle.pattern("holder", function(p)
    local target = p:arg("target", nil, { schema = { type = "integer" } })
    local put = p:handler("put", function(event) target:set(event) end)
    return { target = target, put = put }
  end), { target = rt:doc("piece:shop/items") })
  rt:settled()
  local ticket = p:send("put", 5)
  rt:settled()
  t:ok(ticket:error().message:find("piece:shop/items does not match its schema", 1, true))
  p:send("put", { { name = "a" } })
  rt:settled()
  t:eq(rt:doc("piece:shop/items"):value(), { { name = "a", qty = 1 } })
end)

test("children have their schemas, and so have their arguments", function(t)
  local rt = t:runtime()
  local child = heddle.pattern("child", function(p)
    local rate = p:arg("rate", 1, { schema = { type = "number" } })
    local set  = p:handler("set", function(event) rate:set(event) end, { schema = { type = "number" } })
    return { rate = rate, set = set }
  end)
  local parent = rt:run(heddle.pattern("parent", function(p)
    local c = p:piece(child, { rate = 2 }, { name = "c" })
    return { rate = c.rate, set = p:handler("set", function(event) heddle.send(c:key("set"), event) end) }
  end))
  rt:settled()
  t:fails(function() rt:doc("piece:parent/c/rate"):set("x") end, "must be number, not string")
  local ticket = parent:send("set", "x")
  rt:settled()
  t:ok(ticket:error().message:find("the payload: must be number, not string", 1, true))
  parent:send("set", 3)
  rt:settled()
  t:eq(parent:get("rate"), 3)
  t:fails(function()
    rt:run(heddle.pattern("bad", function(p) return { c = p:piece(child, { rate = "x" }) } end))
  end, "the argument 'rate': must be number, not string")
end)

test("a state of a user is judged for each user", function(t)
  local engine = t:engine()
  local alice = t:runtime{ engine = engine, user = "alice" }
  local bob = t:runtime{ engine = engine, user = "bob" }
  local prefs = heddle.pattern("prefs", function(p)
    local theme = p:state("theme", "light", { scope = "user", schema = { enum = { "light", "dark" } } })
    return { theme = theme, set = p:handler("set", function(event) theme:set(event) end) }
  end)
  local a = alice:run(prefs)
  alice:settled()
  local b = bob:run(prefs)
  bob:settled()
  for _, piece in ipairs{ a, b } do
    local ticket = piece:send("set", "blue")
    alice:settled()
    bob:settled()
    t:eq(ticket:state(), "failed")
    t:ok(ticket:error().message:find("does not match its schema", 1, true))
  end
  b:send("set", "dark")
  bob:settled()
  t:eq(b:get("theme"), "dark")
  b:stop()
  t:fails(function() bob:doc("piece:prefs/theme", nil, { scope = "user" }):set("blue") end, "does not match its schema")
end)

test("a piece that is stopped here still has its schemas", function(t)
  local rt = t:runtime()
  local piece = rt:run(shop)
  rt:settled()
  piece:stop()
  t:fails(function() rt:doc("piece:shop/items"):set(5) end, "must be array, not integer")
end)

test("a piece that is removed has none", function(t)
  local rt = t:runtime()
  local piece = rt:run(shop)
  rt:settled()
  piece:remove()
  rt:settled()
  rt:doc("piece:shop/items"):set(5)
  rt:settled()
  t:eq(rt:doc("piece:shop/items"):get(), 5)
end)

test("a restart with the same schemas writes nothing, and they hold", function(t)
  local rt = t:runtime()
  rt:run(shop)
  rt:settled()
  rt = rt:restart()
  rt:run(shop)
  rt:settled()
  t:eq(rt:stats().commits, 0)
  t:fails(function() rt:doc("piece:shop/items"):set(5) end, "must be array, not integer")
end)

test("a schema that changes holds from then on, and keeps the data", function(t)
  local rt = t:runtime()
  local piece = rt:run(shop)
  piece:send("add", { name = "yarn" })
  rt:settled()
  rt = rt:restart()
  piece = rt:run(shop_with{ type = "array", items = { type = "integer" } })
  rt:settled()
  t:eq(piece:get("items"), { { name = "yarn", qty = 1 } })
  t:fails(function() rt:doc("piece:shop/items"):append("x") end, "at /1: must be integer, not string")
  rt:doc("piece:shop/items"):append(5)
  rt:settled()
  t:eq(piece:get("items"), { { name = "yarn", qty = 1 }, 5 })
  rt = rt:restart()
  piece = rt:run(shop_with(nil))
  rt:settled()
  rt:doc("piece:shop/items"):set("anything")
  rt:settled()
  t:eq(piece:get("items"), "anything")
end)

test("a runtime that runs the piece takes over the schemas of another one's pattern", function(t)
  local one, other = two(t)
  one:run(shop_with(nil))
  one:settled()
  local items = one:doc("piece:shop/items")
  items:append(5)
  one:settled()
  local later = other:run(shop_with{ items = { type = "integer" } })
  other:settled()
  one:settled()
  t:fails(function() items:append("x") end, "at /1: must be integer, not string")
  items:append(6)
  one:settled()
  other:settled()
  t:eq(later:get("items"), { 5, 6 })
end)

test("a start that fails leaves the schemas as they are", function(t)
  local rt = t:runtime()
  local piece = rt:run(shop)
  rt:settled()
  piece:stop()
  t:fails(function()
    rt:run(shop_with({ type = "string" }, function(p)
      p:migrate(2, function() error("no") end)
    end))
  end, "no")
  rt:settled()
  t:fails(function() rt:doc("piece:shop/items"):set("x") end, "must be array, not string")
end)

test("a migration is judged by the new schemas", function(t)
  local rt = t:runtime()
  local piece = rt:run(shop)
  piece:send("add", { name = "yarn" })
  rt:settled()
  rt = rt:restart()
  t:fails(function()
    rt:run(shop_with({ type = "integer" }, function(p, items)
      p:migrate(2, function() items:set("x") end)
    end))
  end, "piece:shop/items does not match its schema: must be integer, not string")
  rt = rt:restart()
  piece = rt:run(shop_with({ type = "integer" }, function(p, items)
    p:migrate(2, function(old) items:set(#old:get("items")) end)
  end))
  rt:settled()
  t:eq(piece:get("items"), 1)
end)

test("a name that is another kind now has the schema of that kind", function(t)
  local rt = t:runtime()
  local function as(declare)
    return heddle.pattern("kinds", function(p)
      local keep = p:state("keep", 1)
      return { keep = keep, x = declare(p) }
    end)
  end
  rt:run(as(function(p) return p:state("x", 1, { schema = { type = "integer" } }) end))
  rt:settled()
  rt = rt:restart()
  local piece = rt:run(as(function(p)
    return p:handler("x", function() return 1 end, { schema = { type = "string" } })
  end))
  rt:settled()
  local ticket = piece:send("x", 5)
  rt:settled()
  t:eq(ticket:error().message, "the payload: must be string, not integer")
  rt = rt:restart()
  piece = rt:run(as(function(p) return p:state("x", 1, { schema = { type = "integer" } }) end))
  rt:settled()
  t:eq(piece:get("x"), 1)
  t:fails(function() rt:doc("piece:kinds/x"):set("x") end, "must be integer, not string")
end)

test("a piece that is launched has its schemas", function(t)
  local rt = t:runtime()
  local card = heddle.pattern("card", function(p)
    local title = p:arg("title", nil, { schema = { type = "string" } })
    return { title = title, rename = p:handler("rename", function(e) title:set(e) end, { schema = { type = "string" } }) }
  end)
  local board = rt:run(heddle.pattern("board", function(p)
    return { add = p:handler("add", function(event) return heddle.launch(card, { title = event }) end) }
  end))
  rt:settled()
  local ticket = board:send("add", "weave")
  rt:settled()
  local id = ticket:receipt().id
  t:ok(id ~= nil)
  t:fails(function() rt:doc(id .. "/title"):set(5) end, "must be string, not integer")
end)

-- Random schemas and writes: what a schema refuses leaves the data as it was, what it takes is there, in both runtimes.
test("what is refused leaves no trace, whatever the order of writers", function(t)
  t:seeds(10, function(_, random)
    local one, other = two(t)
    local most = random(1, 4)
    local pattern = heddle.pattern("random", function(p)
      local list = p:state("list", heddle.array{}, { schema = { items = { type = "integer", maximum = 5 } } })
      local n = p:state("n", 0, { schema = { type = "integer", maximum = most } })
      return { list = list, n = n, add = p:handler("add", function(e) list:append(e) n:increment(1) end) }
    end)
    local piece = one:run(pattern)
    one:settled()
    local list, n = {}, 0
    for _ = 1, 12 do
      local value = random(1, 8)
      if random(1, 2) == 1 then
        local ticket = piece:send("add", value)
        one:settled()
        if value <= 5 and n < most then
          list[#list + 1] = value
          n = n + 1
          t:eq(ticket:state(), "done")
        else
          t:eq(ticket:state(), "failed")
          ticket:error()
        end
      else
        local cell = other:doc("piece:random/list")
        local fine = pcall(cell.append, cell, value)
        t:eq(fine, value <= 5)
        if fine then list[#list + 1] = value end
        other:settled()
      end
      one:settled()
      other:settled()
    end
    t:eq(piece:get(), { list = heddle.array(list), n = n })
    t:eq(other:doc("piece:random/list"):value(), heddle.array(list))
  end)
end)
