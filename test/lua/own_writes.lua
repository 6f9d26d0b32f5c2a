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
