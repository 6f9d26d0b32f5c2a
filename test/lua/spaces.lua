-- Children in other spaces.

local heddle = require "heddle"
local test = require "heddle.test"

local clock = heddle.pattern("clock", function(p)
  local base = p:arg("base", 0)
  local back = p:arg("back")
  local ticks = p:state("ticks", 0)
  local total = p:computed("total", function() return base:get() + ticks:get() end)
  local tick = p:handler("tick", function(event)
    ticks:increment(event.by or 1)
    if event.tell then heddle.send(back, { n = ticks:get() }) end
  end)
  return { total = total, ticks = ticks, tick = tick }
end)

local note = heddle.pattern("note", function(p)
  local seen = p:state("seen", 0)
  return { text = p:arg("text", ""), seen = seen, see = p:handler("see", function() seen:increment(1) end) }
end)

local function board_of(options)
  return heddle.pattern(options.pattern or "board", function(p)
    local base = p:state("base", 10)
    local heard = p:state("heard", heddle.array{})
    local hear = p:handler("hear", function(event) heard:append(event.n) end)
    local result = { base = base, heard = heard }
    if not options.without then
      local child = p:piece(clock, { base = base, back = hear }, { name = "clock", space = options.space or "team" })
      result.clock = child
      result.double = p:computed("double", function() return (child.total or 0) * 2 end)
      result.kick = p:handler("kick", function(event) heddle.send(child:key("tick"), event) end)
      result.hush = p:handler("hush", function(id) return heddle.cancel(id, child:key("tick")) end)
    end
    result.set = p:handler("set", function(event) base:set(event) end)
    local last = p:state("last", heddle.null)
    result.last = last
    result.poke = p:handler("poke", function() heddle.send(last:key("see")) end)
    result.add = p:handler("add", function(event)
      local made = heddle.launch(note, { text = event.text }, { name = event.name, space = event.space })
      last:set(made)
      if event.fails then error("this one fails") end
      return made
    end)
    return result
  end)
end

local board = board_of{}

local function doc(rt, id, space)
  return rt:doc(id, nil, { space = space or "team" }):get()
end

test("a child in another space reads, is read, and is sent to", function(t)
  local rt = t:runtime()
  local b = rt:run(board, {}, { name = "board" })
  rt:settled()
  t:eq(b:get("double"), 20)
  t:eq(doc(rt, "piece:board~clock").total, 10)
  b:send("kick", { by = 3 })
  rt:settled()
  t:eq(b:get("double"), 26)
  b:send("kick", { by = 3, tell = true })
  rt:settled()
  t:eq(b:get("heard"), { 6 })
  b:send("set", 100)
  rt:settled()
  t:eq(b:get("double"), 212)
  t:eq(b:get("clock.ticks"), 6)
end)

test("a handler does not cancel timers of another space: its commit could not hold that", function(t)
  local rt = t:runtime()
  local b = rt:run(board, {}, { name = "board" })
  rt:settled()
  local ticket = b:send("hush", "late")
  rt:settled()
  t:ok(ticket:error().message:find("the timer is in the space 'team': send an event to the piece there", 1, true), ticket:error().message)
  rt:errors()
end)

test("the space of the piece itself is no other space", function(t)
  local rt = t:runtime()
  local b = rt:run(board_of{ space = "main" }, {}, { name = "board" })
  rt:settled()
  t:eq(b:get("double"), 20)
  t:eq(doc(rt, "piece:board/clock/ticks", "main"), 0)
end)

test("after a restart nothing runs that has not changed", function(t)
  local rt = t:runtime()
  local b = rt:run(board, {}, { name = "board" })
  rt:settled()
  b:send("kick", { by = 3 })
  rt:settled()
  t:eq(b:get("double"), 26)
  local again = rt:restart()
  local c = again:run(board, {}, { name = "board" })
  again:settled()
  t:eq(c:get("double"), 26)
  t:eq(c:node("double"):runs(), 0)
  c:send("kick", { by = 1 })
  again:settled()
  t:eq(c:get("double"), 28)
  t:eq(c:node("double"):runs(), 1)
end)

test("the child comes to be when the commit of its parent has landed", function(t)
  local engine = t:engine{}
  local rt = t:runtime{ engine = engine }
  rt:hold(true)
  local b = rt:run(board, {}, { name = "board" })
  t:eq(b:state(), "loading")
  local other = t:runtime{ engine = engine, spaces = { "team" } }
  t:eq(other:doc("piece:board~clock"):get(), nil)
  rt:hold(false)
  rt:settled()
  t:eq(b:get("double"), 20)
end)

test("an event is for a child that is being made", function(t)
  local rt = t:runtime()
  local b = rt:run(board, {}, { name = "board" })
  b:send("kick", { by = 3 })
  b:send("add", { name = "one", text = "hi", space = "notes" })
  b:send("poke")
  rt:settled()
  t:eq(b:get("double"), 26)
  t:eq(doc(rt, "piece:one", "notes").seen, 1)
end)

test("a parent that is not made has no child", function(t)
  local engine = t:engine{}
  local rt = t:runtime{ engine = engine }
  rt:reject_next{ kind = "terminal" }
  t:fails(function() rt:run(board, {}, { name = "board" }) end, "rejected by the test")
  rt:settled()
  local other = t:runtime{ engine = engine, spaces = { "team" } }
  t:eq(other:doc("piece:board~clock"):get(), nil)
end)

test("a crash between the two commits is made good by the next start", function(t)
  local engine = t:engine{}
  local rt = t:runtime{ engine = engine }
  rt:reject_next{ kind = "transient", times = 1000, when = function(commit)
    return table.concat(commit.docs, " "):find("board~clock", 1, true) ~= nil
  end }
  rt:run(board, {}, { name = "board" })
  for _ = 1, 5 do rt:step() end
  local other = t:runtime{ engine = engine, spaces = { "team" } }
  t:eq(other:doc("piece:board~clock"):get(), nil)
  local again = rt:restart()
  local b = again:run(board, {}, { name = "board" })
  again:settled()
  t:eq(b:get("double"), 20)
end)

test("several runtimes make one child", function(t)
  local engine = t:engine{}
  local one = t:runtime{ engine = engine }
  local two = t:runtime{ engine = engine }
  local a = one:run(board, {}, { name = "board" })
  local b = two:run(board, {}, { name = "board" })
  for _ = 1, 3 do one:settled(); two:settled() end
  a:send("kick", { by = 2 })
  for _ = 1, 3 do one:settled(); two:settled() end
  b:send("kick", { by = 3 })
  for _ = 1, 3 do one:settled(); two:settled() end
  t:eq(a:get("double"), 30)
  t:eq(b:get("double"), 30)
end)

test("a runtime that has the child alone is seen by the parent's", function(t)
  local engine = t:engine{}
  local one = t:runtime{ engine = engine }
  local b = one:run(board_of{ pattern = "lone" }, {}, { name = "board" })
  one:settled()
  local two = t:runtime{ engine = engine, spaces = { "team" } }
  local c = two:run(clock, nil, { name = "board~clock" })
  two:settled()
  t:eq(c:get("total"), 10) -- its argument is in the other space
  c:send("tick", { by = 5, tell = true })
  two:settled()
  one:settled()
  t:eq(b:get("double"), 30)
  t:eq(b:get("heard"), { 5 })
end)

test("a piece that is not the parent's is not taken for its child", function(t)
  local rt = t:runtime{ spaces = { "main", "team" } }
  local engine = t:engine{}
  local one = t:runtime{ engine = engine, spaces = { "team" } }
  one:run(note, { text = "mine" }, { name = "board~clock" })
  one:settled()
  rt = t:runtime{ engine = engine }
  local b = rt:run(board, {}, { name = "board" })
  rt:settled()
  local errors = rt:errors()
  t:eq(#errors, 1)
  t:eq(errors[1].source, "board~clock")
  t:eq(errors[1].message, "the space 'team' has a piece 'board~clock' that is not the child of 'board': give the child another name")
  b:remove()
  rt:settled()
  one:settled()
  t:eq(one:doc("piece:board~clock"):get().text, "mine")
end)

test("a child that is declared no more sleeps, and goes with its parent", function(t)
  local rt = t:runtime()
  local b = rt:run(board, {}, { name = "board" })
  rt:settled()
  b:send("kick", { by = 4 })
  rt:settled()
  b:stop()
  local without = rt:run(board_of{ without = true }, {}, { name = "board" })
  rt:settled()
  t:eq(doc(rt, "piece:board~clock/ticks"), 4)
  without:stop()
  b = rt:run(board, {}, { name = "board" })
  rt:settled()
  t:eq(b:get("double"), 28)
  b:stop()
  without = rt:run(board_of{ without = true }, {}, { name = "board" })
  rt:settled()
  without:remove()
  rt:settled()
  t:eq(doc(rt, "piece:board~clock/ticks"), nil)
end)

test("a child moves to another space with its declaration, and its data stays", function(t)
  local rt = t:runtime()
  local b = rt:run(board, {}, { name = "board" })
  rt:settled()
  b:send("kick", { by = 4 })
  rt:settled()
  b:stop()
  b = rt:run(board_of{ space = "third" }, {}, { name = "board" })
  rt:settled()
  t:eq(b:get("double"), 20)
  t:eq(doc(rt, "piece:board~clock/ticks"), 4)
  b:remove()
  rt:settled()
  t:eq(doc(rt, "piece:board~clock/ticks"), nil)
  t:eq(doc(rt, "piece:board~clock/ticks", "third"), nil)
end)

test("removing a parent removes its children in other spaces", function(t)
  local rt = t:runtime()
  local b = rt:run(board, {}, { name = "board" })
  rt:settled()
  b:send("add", { name = "one", text = "hi", space = "notes" })
  b:send("kick", {})
  rt:settled()
  t:eq(doc(rt, "piece:one/text", "notes"), "hi")
  b:remove()
  rt:settled()
  t:eq(b:state(), "stopped")
  t:eq(doc(rt, "piece:one/text", "notes"), nil)
  t:eq(doc(rt, "piece:board~clock/ticks"), nil)
  b = rt:run(board, {}, { name = "board" })
  rt:settled()
  t:eq(b:get("double"), 20)
end)

test("a handler launches in another space, once, with its commit", function(t)
  local rt = t:runtime()
  local b = rt:run(board, {}, { name = "board" })
  rt:settled()
  b:send("add", { text = "hi", space = "notes" })
  rt:settled()
  t:eq(b:get("last.text"), "hi")
  local failing = b:send("add", { name = "two", space = "notes", fails = true })
  rt:settled()
  t:eq(failing:state(), "failed")
  t:eq(doc(rt, "piece:two", "notes"), nil)
  t:eq(#rt:errors(), 1)
  b:send("add", { name = "one", text = "a", space = "notes" })
  rt:settled()
  local again = b:send("add", { name = "one", text = "b", space = "notes" })
  rt:settled()
  t:ok(again:error().message:find("a piece named 'one' already exists in the space 'notes': launch it with another name", 1, true))
  t:eq(doc(rt, "piece:one", "notes").text, "a")
  t:eq(#rt:errors(), 2)
end)

test("children of children, over three spaces", function(t)
  local inner = heddle.pattern("inner", function(p)
    local n = p:state("n", 1)
    return { n = n, add = p:handler("add", function() n:increment(1) end) }
  end)
  local middle = heddle.pattern("middle", function(p)
    local child = p:piece(inner, {}, { name = "inner", space = "third" })
    return { inner = child, more = p:computed("more", function() return (child.n or 0) + 1 end) }
  end)
  local outer = heddle.pattern("outer", function(p)
    local far = p:piece(middle, {}, { name = "far", space = "second" })
    local near = p:piece(middle, {}, { name = "near" })
    return { far = far, near = near, sum = p:computed("sum", function() return (far.more or 0) + (near.more or 0) end) }
  end)
  local rt = t:runtime()
  local o = rt:run(outer, {}, { name = "outer" })
  rt:settled()
  t:eq(o:get("sum"), 4)
  t:eq(doc(rt, "piece:outer~far~inner/n", "third"), 1)
  t:eq(doc(rt, "piece:outer~near~inner/n", "third"), 1)
  o:remove()
  rt:settled()
  t:eq(doc(rt, "piece:outer~far~inner/n", "third"), nil)
  t:eq(doc(rt, "piece:outer~near~inner/n", "third"), nil)
  t:eq(doc(rt, "piece:outer~far/more", "second"), nil)
end)

test("what cannot be declared", function(t)
  local rt = t:runtime()
  t:fails(function() rt:run(board_of{ space = "a/b" }, {}, { name = "x" }) end, "the name of a space must not be")
  t:fails(function() rt:run(board_of{ space = "" }, {}, { name = "x" }) end, "empty")
  t:fails(function()
    rt:run(heddle.pattern("y", function(p) p:piece(note, {}, { space = 1 }) return {} end))
  end, "space must be a string")
  t:fails(function()
    rt:run(heddle.pattern("z", function(p) p:piece(note, {}, { spaec = "a" }) return {} end))
  end, "spaec")
  local list = heddle.pattern("list", function(p)
    local items = p:state("items", heddle.array{ 1 })
    return { l = p:map(items, function() return p:piece(note, {}, { space = "team" }) end) }
  end)
  local l = rt:run(list, {}, { name = "list" })
  rt:idle()
  t:ok(rt:errors()[1].message:find("a child in another space cannot be declared per element of a list", 1, true))
  l:stop()
end)
