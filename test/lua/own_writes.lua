-- A handler or an edit that writes and then reads a computation gets the value
-- that the computation has with those writes. The result is not stored.
local heddle = require "heddle"
local test   = require "heddle.test"

test("a handler reads a computation after writing its input", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", function(p)
    local n = p:state("n", 1)
    local double = p:computed("double", function() return n:get() * 2 end)
    return { n = n, double = double, go = p:handler("go", function(event)
      n:set(event.n)
      local first = double:get()
      n:increment(10)
      return { first = first, second = double:get() }
    end) }
  end))
  t:eq(piece:get("double"), 2)
  local runs = piece:node("double"):runs()
  local ticket = piece:send("go", { n = 5 }); rt:idle()
  t:eq(ticket:receipt(), { first = 10, second = 30 })
  t:eq(piece:get("double"), 30)
  t:eq(piece:node("double"):runs(), runs + 1)
  t:eq(#rt:errors(), 0)
  t:eq(#rt:violations(), 0)
end)

test("a chain of computations, of which one is not changed by the write", function(t)
  local rt = t:runtime()
  local calls = 0
  local piece = rt:run(heddle.pattern("p", function(p)
    local n = p:state("n", 1)
    local other = p:state("other", 100)
    local even = p:computed("even", function() return n:get() % 2 == 0 end)
    local word = p:computed("word", function() calls = calls + 1; return even:get() and "even" or "odd" end)
    local all = p:computed("all", function() return word:get() .. " " .. tostring(other:get()) end)
    return { all = all, go = p:handler("go", function(event)
      n:set(event.n)
      return { all = all:get() }
    end) }
  end))
  t:eq(piece:get("all"), "odd 100")
  local before = calls
  local same = piece:send("go", { n = 3 }); rt:idle()
  t:eq(same:receipt(), { all = "odd 100" })
  t:eq(calls, before)
  local changed = piece:send("go", { n = 4 }); rt:idle()
  t:eq(changed:receipt(), { all = "even 100" })
  t:eq(piece:get("all"), "even 100")
end)

test("a long chain", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", function(p)
    local n = p:state("n", 0)
    local last = n
    for i = 1, 300 do
      local before = last
      last = p:computed("c" .. i, function() return before:get() + 1 end)
    end
    return { last = last, go = p:handler("go", function()
      n:set(1000)
      return { last = last:get() }
    end) }
  end))
  t:eq(piece:get("last"), 300)
  local ticket = piece:send("go"); rt:idle()
  t:eq(ticket:receipt(), { last = 1300 })
end)

test("a computation that nobody has looked at", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", function(p)
    local n = p:state("n", 1)
    local a = p:computed("a", function() return n:get() + 1 end)
    local b = p:computed("b", function() return a:get() * 10 end)
    return { go = p:handler("go", function() n:set(4); return { b = b:get() } end) }
  end))
  local ticket = piece:send("go"); rt:idle()
  t:eq(ticket:receipt(), { b = 50 })
end)

test("what a computation reads changes with the write", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", function(p)
    local flag = p:state("flag", false)
    local x, y = p:state("x", 1), p:state("y", 2)
    local twice = p:computed("twice", function() return y:get() * 2 end)
    local chosen = p:computed("chosen", function() return flag:get() and twice:get() or x:get() end)
    return { chosen = chosen, go = p:handler("go", function()
      flag:set(true); y:set(20)
      return { chosen = chosen:get() }
    end) }
  end))
  t:eq(piece:get("chosen"), 1)
  local ticket = piece:send("go"); rt:idle()
  t:eq(ticket:receipt(), { chosen = 40 })
end)

test("views of a computed table, and reads of a part", function(t)
  local rt = t:runtime()
  local calls = 0
  local piece = rt:run(heddle.pattern("p", function(p)
    local n = p:state("n", 1)
    local stats = p:computed("stats", function()
      calls = calls + 1
      return { n = n:get(), list = { n:get(), n:get() + 1 } }
    end)
    return { stats = stats, go = p:handler("go", function()
      n:set(7)
      local before = calls
      local s = stats:get()
      local sum = s.n + s.list[1] + s.list[2] + stats:key("n"):get() + stats:value().n
      return { sum = sum, calls = calls - before }
    end) }
  end), nil, { name = "x" })
  t:eq(piece:get("stats.n"), 1)
  local ticket = piece:send("go"); rt:idle()
  t:eq(ticket:receipt(), { sum = 7 + 7 + 8 + 7 + 7, calls = 1 })
end)

test("an element that was a container when the computation ran, and is written", function(t)
  local function sum(cell)
    local total = 0
    for _, value in ipairs(cell:get()) do
      if math.type(value) then total = total + value end -- of a container, only that it is one
    end
    return total
  end
  for _, was in ipairs{ heddle.object{ q = 2 }, heddle.object{}, heddle.array{ 2 }, 2 } do
    for _, is in ipairs{ heddle.object{ q = 3 }, heddle.array{}, "text", 7 } do
      local rt = t:runtime{ engine = t:engine() }
      local list, out, seen = rt:doc("list", heddle.array{ 1, was, 4 }), rt:doc("out"), rt:doc("seen", 0)
      rt:computation{ name = "sum", writes = { out }, fn = function() out:set(sum(list)) end }
      local number = math.type(was) and was or 0
      t:eq(rt:pull(out), 5 + number)
      local stream, want = rt:stream("s"), 5 + (math.type(is) and is or 0)
      rt:on(stream, function()
        list:key(2):set(is)
        seen:set(out:get())
      end)
      stream:send(heddle.object{}); rt:settled()
      t:eq({ seen:get(), rt:pull(out) }, { want, want })
      rt:edit(function()
        list:key(2):set(was)
        seen:set(out:get())
      end)
      rt:settled()
      t:eq({ seen:get(), rt:pull(out) }, { 5 + number, 5 + number })
    end
  end
end)

test("a computation of another piece", function(t)
  local rt = t:runtime()
  local a = rt:run(heddle.pattern("a", function(p)
    local n = p:state("n", 1)
    return { n = n, double = p:computed("double", function() return n:get() * 2 end) }
  end))
  local b = rt:run(heddle.pattern("b", function(p)
    local n, double = p:arg("n", 0), p:arg("double", 0)
    return { go = p:handler("go", function() n:set(21); return { double = double:get() } end) }
  end), { n = a:cell("n"), double = a:cell("double") })
  t:eq(a:get("double"), 2)
  local ticket = b:send("go"); rt:idle()
  t:eq(ticket:receipt(), { double = 42 })
end)

test("a branch that is chosen by what was written", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", function(p)
    local flag = p:state("flag", true)
    local a, b = p:state("a", 1), p:state("b", 2)
    local chosen = p:if_else(flag, a, b)
    return { a = a, b = b, chosen = chosen, go = p:handler("go", function()
      flag:set(false)
      local value = chosen:get()
      chosen:set(9)
      return { value = value }
    end) }
  end))
  t:eq(piece:get("chosen"), 1)
  local ticket = piece:send("go"); rt:idle()
  t:eq(ticket:receipt(), { value = 2 })
  t:eq({ piece:get("a"), piece:get("b") }, { 1, 9 })
end)

test("a computation that fails on the written value is an error of the read", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", function(p)
    local n = p:state("n", 1)
    local checked = p:computed("checked", function()
      if n:get() > 3 then error("too much") end
      return n:get()
    end)
    return { n = n, checked = checked,
      go = p:handler("go", function()
        n:set(4)
        local fine, why = pcall(function() return checked:get() end)
        n:set(2)
        return { fine = fine, why = why, after = checked:get() }
      end),
      bad = p:handler("bad", function() n:set(5); return checked:get() end) }
  end))
  t:eq(piece:get("checked"), 1)
  local ticket = piece:send("go"); rt:idle()
  local receipt = ticket:receipt()
  t:eq(receipt.fine, false)
  t:eq(receipt.after, 2)
  t:ok(receipt.why:find("p/checked", 1, true) ~= nil, receipt.why)
  t:ok(receipt.why:find("too much", 1, true) ~= nil, receipt.why)
  local bad = piece:send("bad"); rt:idle()
  t:eq(bad:state(), "failed")
  t:eq(piece:get("n"), 2)
  rt:errors()
end)

test("the reads of an evaluated computation are reads of the handler", function(t)
  local engine = t:engine()
  local one, two = t:runtime{ engine = engine }, t:runtime{ engine = engine }
  local pattern = heddle.pattern("p", function(p)
    local n, rate = p:state("n", 1), p:state("rate", 2)
    local total = p:computed("total", function() return n:get() * rate:get() end)
    local seen = p:state("seen", 0)
    return { rate = rate, seen = seen, total = total,
      go = p:handler("go", function() n:set(10); seen:set(total:get()) end) }
  end)
  local piece = one:run(pattern); one:settled()
  t:eq(piece:get("total"), 2)
  one:settled()
  one:hold(true)
  piece:send("go"); one:step()
  local rate = two:doc("piece:p/rate")
  rate:set(3); two:settled()
  one:hold(false); one:settled()
  t:eq(piece:get("rate"), 3)
  t:eq(piece:get("seen"), 30)
end)

test("a computed list follows what was written", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", function(p)
    local list = p:state("list", { 1, 2, 3 })
    local doubled = p:map(list, function(item) return item:get() * 2 end, { name = "doubled" })
    local big = p:filter(list, function(item) return item:get() > 2 end, { name = "big" })
    local both = p:flat_map(list, function(item) return { item:get(), -item:get() } end, { name = "both" })
    local sum = p:reduce(doubled, 0, function(a, e) return a + e end, { name = "sum" })
    return { list = list, doubled = doubled, big = big, both = both, sum = sum,
      go = p:handler("go", function(event)
        list:set(event.list)
        local d, b, f = {}, {}, {}
        for i, e in ipairs(doubled:get()) do d[i] = e end
        for i, e in ipairs(big:get()) do b[i] = e end
        for i, e in ipairs(both:get()) do f[i] = e end
        return { d = heddle.array(d), b = heddle.array(b), f = heddle.array(f), sum = sum:get() }
      end) }
  end))
  local function go(list)
    local ticket = piece:send("go", { list = heddle.array(list) }); rt:idle()
    local d, b, f, sum = {}, {}, {}, 0
    for i, n in ipairs(list) do
      d[i] = n * 2; sum = sum + n * 2
      f[2 * i - 1], f[2 * i] = n, -n
      if n > 2 then b[#b + 1] = n end
    end
    t:eq(ticket:receipt(), { d = heddle.array(d), b = heddle.array(b), f = heddle.array(f), sum = sum })
    t:eq(piece:get("sum"), sum)
    t:eq(piece:get("both"), heddle.array(f))
  end
  t:eq(piece:get("sum"), 12)
  go{ 1, 2, 3, 4 }
  go{ 4, 1, 9, 9, 3 }
  go{ 9 }
  go{}
  go{ 5, 6 }
  t:eq(#rt:errors(), 0)
  t:eq(#rt:violations(), 0)
end)

test("an edit sees computations on its own view", function(t)
  local rt = t:runtime()
  local n, o, q = rt:doc("n", 1), rt:doc("o"), rt:doc("q")
  local c = rt:computation{ name = "c", writes = { o }, fn = function() o:set(n:get() * 2) end }
  local d = rt:computation{ name = "d", writes = { q }, fn = function() q:set(o:get() + 1) end }
  rt:sink(q, function() end); rt:idle()
  local runs = c:runs()
  local first, second
  t:eq(rt:edit(function() first = q:get(); n:set(5); second = q:get() end), true)
  t:eq({ first, second }, { 3, 11 })
  t:eq(c:runs(), runs)
  t:eq(o:get(), 2)
  rt:idle()
  t:eq(q:get(), 11)
end)

test("an edit does not see the stale value of a computation that nobody looks at", function(t)
  local rt = t:runtime()
  local n, o = rt:doc("n", 1), rt:doc("o")
  rt:computation{ name = "c", writes = { o }, fn = function() o:set(n:get() * 2) end }
  t:eq(rt:pull(o), 2)
  n:set(8); rt:idle()
  local seen
  rt:edit(function() seen = o:get() end)
  t:eq(seen, 16)
end)

test("a computation that needs another one which fails", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("p", function(p)
    local n = p:state("n", 1)
    local checked = p:computed("checked", function()
      if n:get() > 3 then error("too much") end
      return n:get()
    end)
    local last = checked
    for i = 1, 100 do
      local before = last
      last = p:computed("c" .. i, function() return before:get() + 1 end)
    end
    local kept = p:computed("kept", function() -- a pcall does not make it succeed
      local fine, value = pcall(function() return last:get() end)
      return n:get() + (fine and value or 0)
    end)
    local other = p:computed("other", function() return n:get() > 3 and "none" or checked:get() end)
    local function ask(cell)
      local fine, value = pcall(function() return cell:get() end)
      return fine and value or value:match("p/%w+ cannot.*")
    end
    return { n = n, last = last, kept = kept, other = other, go = p:handler("go", function(event)
      n:set(event.n)
      return { last = ask(last), kept = ask(kept), other = ask(other), again = ask(last) }
    end) }
  end))
  t:eq({ piece:get("last"), piece:get("kept"), piece:get("other") }, { 101, 102, 1 })
  local ticket = piece:send("go", { n = 4 }); rt:idle()
  local receipt = ticket:receipt()
  for _, key in ipairs{ "last", "kept", "again" } do
    t:ok(tostring(receipt[key]):find("^p/checked cannot be computed .*too much"), key .. ": " .. tostring(receipt[key]))
  end
  t:eq(receipt.other, "none")
  ticket = piece:send("go", { n = 2 }); rt:idle()
  t:eq(ticket:receipt(), { last = 102, kept = 104, other = 2, again = 102 })
  rt:errors()
end)

-- After a restart no document is loaded: the answers are the same.
local function restarted(name, build, events)
  test("after a restart: " .. name, function(t)
    local pattern = heddle.pattern("p", build)
    local plain = t:runtime()
    local expected = plain:run(pattern)
    local rt = t:runtime()
    local piece = rt:run(pattern)
    for i, event in ipairs(events) do
      t:eq(piece:get(), expected:get(), "before event " .. i)
      rt:settled(); plain:settled()
      rt = rt:restart()
      piece = rt:run(pattern)
      local want, got = expected:send("go", event), piece:send("go", event)
      plain:settled(); rt:settled()
      t:eq(got:error(), want:error(), "event " .. i)
      t:eq(got:receipt(), want:receipt(), "event " .. i)
      t:eq(#rt:errors(), #plain:errors(), "event " .. i)
    end
    t:eq(piece:get(), expected:get())
  end)
end

restarted("a choice of a state or nothing", function(p)
  local n, s = p:state("n", -2), p:state("s", "yes")
  local chosen = p:when(s, n, { name = "chosen" })
  local c = p:computed("c", function() return chosen:get() or 0 end)
  return { c = c, go = p:handler("go", function(event)
    if event.s then s:set(event.s) else s:delete() end
    return { c = c:get() }
  end) }
end, { {}, { s = "yes" }, { s = false }, { s = 1 }, {} })

restarted("choices of choices, of computations and of parts", function(p)
  local a, b, on = p:state("a", { x = 1 }), p:state("b", 5), p:state("on", true)
  local double = p:computed("double", function() return b:get() and b:get() * 2 end)
  local low = p:if_else(on, a:key("x"), double, { name = "low" })
  local is_big = p:computed("is_big", function() return (low:get() or 0) > 6 end)
  local high = p:when(is_big, low, { name = "high" })
  local one = p:computed("one", function() return { high = high:get() or "none" } end)
  local two = p:computed("two", function() return one:get().high end)
  local three = p:computed("three", function() return "<" .. tostring(two:get()) .. ">" end)
  return { a = a, b = b, on = on, low = low, high = high, three = three, go = p:handler("go", function(event)
    if event.on ~= nil then on:set(event.on) end
    if event.b then b:set(event.b) end
    if event.x then a:key("x"):set(event.x) end
    if event.gone then b:delete() end
    return { three = three:get(), first = event.both and low:get() or "" }
  end) }
end, { { on = false }, { b = 1 }, { on = true, x = 9 }, { on = false, both = true }, { b = 7, both = true },
       { gone = true }, { b = 4 }, { x = 2, on = true }, { x = 20 }, { x = 3 } })

restarted("lists", function(p)
  local list = p:state("list", { 1, 2, 3 })
  local limit = p:state("limit", 1)
  local kept = p:filter(list, function(item) return item:get() > limit:get() end, { name = "kept" })
  local mapped = p:map(kept, function(item) return item:get() ~= 3 and item:get() * 2 or nil end, { name = "mapped" })
  local both = p:flat_map(list, function(item) return item:get() > 2 and { item:get(), 0 } or heddle.array{} end, { name = "both" })
  local sum = p:reduce(both, 0, function(sum, value) return sum + value end, { name = "sum" })
  local text = p:computed("text", function()
    local words = {}
    for i = 1, #mapped:get() do words[i] = tostring(mapped:get()[i]) end
    return table.concat(words, " ") .. " of " .. tostring(sum:get())
  end)
  local any = p:when(p:computed("some", function() return #kept:get() > 0 end), text, { name = "any" })
  local last = p:computed("last", function() return any:get() or "nothing" end)
  return { list = list, last = last, sum = sum, go = p:handler("go", function(event)
    if event.list then list:set(heddle.array(event.list)) end
    if event.limit then limit:set(event.limit) end
    if event.add then list:append(event.add) end
    return { last = last:get() }
  end) }
end, { { limit = 2 }, { limit = 3 }, { add = 7 }, { list = { 2, 4 } }, { limit = 0 }, { list = {} }, { add = 3 },
       { limit = 5 }, { list = { 9, 3, 9 } } })

restarted("a child", function(p)
  local n = p:state("n", 1)
  local half = heddle.pattern("half", function(q)
    local value = q:arg("value", 0)
    local even = q:computed("even", function() return value:get() % 2 == 0 end)
    local chosen = q:when(even, value, { name = "chosen" })
    return { half = q:computed("half", function() return (chosen:get() or 0) // 2 end) }
  end)
  local child = p:piece(half, { value = n }, { name = "first" })
  local over = p:computed("over", function() return child:get().half + 100 end)
  return { n = n, over = over, go = p:handler("go", function(event)
    n:set(event.n)
    return { over = over:get() }
  end) }
end, { { n = 8 }, { n = 9 }, { n = 10 }, { n = 10 }, { n = 7 } })

test("after a restart: a computation of another piece", function(t)
  local source = heddle.pattern("a", function(p)
    local n = p:state("n", 1)
    local positive = p:computed("positive", function() return n:get() > 0 end)
    local chosen = p:when(positive, n, { name = "chosen" })
    return { n = n, double = p:computed("double", function() return (chosen:get() or 50) * 2 end) }
  end)
  local asking = heddle.pattern("b", function(p)
    local n, double = p:arg("n", 0), p:arg("double", 0)
    local more = p:computed("more", function() return double:get() + 1 end)
    return { more = more, go = p:handler("go", function(event) n:set(event.n); return { more = more:get() } end) }
  end)
  local rt = t:runtime()
  local function start()
    local a = rt:run(source)
    return rt:run(asking, { n = a:cell("n"), double = a:cell("double") })
  end
  t:eq(start():get("more"), 3)
  for _, case in ipairs{ { -1, 101 }, { 21, 43 }, { 21, 43 }, { 0, 101 } } do
    rt:settled()
    rt = rt:restart()
    local ticket = start():send("go", { n = case[1] }); rt:settled()
    t:eq(ticket:receipt(), { more = case[2] })
    t:eq(#rt:errors(), 0)
  end
end)

test("after a restart: a long chain is loaded at once", function(t)
  local calls = 0
  local pattern = heddle.pattern("p", function(p)
    local n = p:state("n", 1)
    local last = n
    for i = 1, 100 do
      local before = p:when(last, n, { name = "w" .. i })
      last = p:computed("c" .. i, function() return before:get() end)
    end
    local text = p:computed("text", function() return tostring(last:get()) end)
    return { text = text, go = p:handler("go", function()
      calls = calls + 1
      n:delete()
      return { text = text:get() }
    end) }
  end)
  local rt = t:runtime()
  t:eq(rt:run(pattern):get("text"), "1")
  rt:settled()
  rt = rt:restart()
  local ticket = rt:run(pattern):send("go"); rt:settled()
  t:eq(ticket:receipt(), { text = "nil" })
  t:ok(calls < 10, calls .. " calls of the handler")
end)

test("after a restart: an edit", function(t)
  local pattern = heddle.pattern("p", function(p)
    local n, s = p:state("n", -2), p:state("s", "yes")
    local chosen = p:when(s, n, { name = "chosen" })
    return { s = s, c = p:computed("c", function() return chosen:get() or 0 end) }
  end)
  local rt = t:runtime()
  t:eq(rt:run(pattern):get("c"), -2)
  rt:settled()
  rt = rt:restart()
  local piece = rt:run(pattern)
  local s, c = piece:cell("s"), piece:cell("c")
  local seen
  rt:edit(function() s:delete(); seen = c:get() end)
  rt:settled()
  t:eq({ seen, piece:get("c") }, { 0, 0 })
end)

-- Handlers, effects, edits and tests cannot write what belongs to a node either.
test("what is computed has one writer", function(t)
  local pattern = heddle.pattern("p", function(p)
    local n = p:state("n", 1)
    local c = p:computed("c", function() return n:get() * 2 end)
    local set = p:handler("set", function() c:set(7) end)
    local count = p:handler("count", function() n:increment() end)
    return { n = n, c = c, set = set, count = count }
  end)
  local rt = t:runtime()
  local piece = rt:run(pattern)
  local ticket = piece:send("set", {})
  rt:settled()
  t:ok(ticket:error().message:find("'c' of the piece 'p' is computed: set one of its inputs instead", 1, true),
    ticket:error().message)
  local fine, why = pcall(function() piece:cell("c"):set(7) end)
  t:eq(fine, false)
  t:ok(tostring(why):find("is computed", 1, true), why)
  fine = pcall(function() rt:edit(function() piece:cell("c"):delete() end) end)
  t:eq(fine, false)
  piece:send("count", {})
  rt:settled()
  t:eq(piece:get("c"), 4)
  rt:errors()
end)

-- A name that was computed and is a state now can be written, by its migration as well.
test("what is a state now can be written", function(t)
  local function version(two)
    return heddle.pattern("p", function(p)
      local n = p:state("n", 1)
      if not two then return { n = n, c = p:computed("c", function() return n:get() * 2 end) } end
      local c = p:state("c", 0)
      p:migrate(2, function() c:set(9) end)
      return { n = n, c = c, set = p:handler("set", function() c:set(10) end) }
    end)
  end
  local rt = t:runtime()
  local piece = rt:run(version(false))
  t:eq(piece:get("c"), 2)
  t:eq(pcall(function() piece:cell("c"):set(7) end), false)
  rt:settled()
  rt = rt:restart()
  piece = rt:run(version(true))
  t:eq(piece:get("c"), 9)
  piece:send("set", {})
  rt:settled()
  t:eq(piece:get("c"), 10)
  piece:cell("c"):set(11)
  rt:settled()
  t:eq(piece:get("c"), 11)
end)
