-- Lists and choices of patterns, and the items that their functions get.

local heddle = require "heddle"
local test   = require "heddle.test"

-- A piece with a list, and how often the function ran.
local function over(t, list, fn, kind)
  local rt = t:runtime()
  local count = { runs = 0 }
  local piece = rt:run(heddle.pattern("over", function(p)
    local list = p:state("list", list)
    local out = p[kind or "map"](p, list, function(item)
      count.runs = count.runs + 1
      return fn(item)
    end)
    p:effect("look", function() out:value(); for _, x in ipairs(out:get()) do end end)
    return { list = list, out = out }
  end))
  rt:idle()
  return rt, piece, count
end

local no_check = { idempotency_check = false }

local function counted(t, list, fn, kind)
  local rt = t:runtime(no_check)
  local count = { runs = 0 }
  local piece = rt:run(heddle.pattern("counted", function(p)
    local list = p:state("list", list)
    local out = p[kind or "map"](p, list, function(item)
      count.runs = count.runs + 1
      return fn(item)
    end)
    p:effect("look", function() for _, x in ipairs(out:get()) do end end)
    return { list = list, out = out }
  end))
  rt:idle()
  return rt, piece, count
end

test("an item is a value and a cell", function(t)
  local function mapped(list, fn)
    local _, piece = over(t, list, fn)
    return piece:get("out")
  end
  t:eq(mapped({ { price = 2, qty = 3 } }, function(i) return i.price * i.qty end), { 6 })
  t:eq(mapped({ { price = 2, qty = 3 } }, function(i) return i:get().price * i:get().qty end), { 6 })
  t:eq(mapped({ { price = 2 } }, function(i) return i:key("price"):get() end), { 2 })
  t:eq(mapped({ { a = { b = 5 } } }, function(i) return i.a.b end), { 5 })
  t:eq(mapped({ 1, 2 }, function(i) return i * 2 end), { 2, 4 })
  t:eq(mapped({ 1, 2 }, function(i) return 10 - i end), { 9, 8 })
  t:eq(mapped({ 7 }, function(i) return { i + 1, i - 1, i / 2, i // 2, i % 4, i ^ 2, -i, i & 3, i | 8, i ~ 1, i << 1, i >> 1, ~i } end),
    { { 8, 6, 3.5, 3, 3, 49.0, -7, 3, 15, 6, 14, 3, -8 } })
  t:eq(mapped({ "a" }, function(i) return i .. "!" end), { "a!" })
  t:eq(mapped({ "a" }, function(i) return "<" .. i .. ">" end), { "<a>" })
  t:eq(mapped({ 1, 5 }, function(i) return i > 3 end), { false, true })
  t:eq(mapped({ 1, 5 }, function(i) return i <= 1 end), { true, false })
  t:eq(mapped({ "abc", { 1, 2 } }, function(i) return #i end), { 3, 2 })
  t:eq(mapped({ { 1, 2, 3 } }, function(i) local s = 0; for _, x in ipairs(i) do s = s + x end; return s end), { 6 })
  t:eq(mapped({ { a = 1, b = 2 } }, function(i) local s = ""; for k, v in pairs(i) do s = s .. k .. v end; return s end), { "a1b2" })
  t:eq(mapped({ 5, "x", { a = 1 } }, function(i) return i end), { 5, "x", { a = 1 } })
  t:eq(mapped({ 5, { a = 1 } }, function(i) return { item = i } end), { { item = 5 }, { item = { a = 1 } } })
  t:eq(mapped({ 5, { a = 1 } }, function(i) return tostring(i) end), { "5", '{"a":1}' })
  t:eq(mapped({ { n = 1 } }, function(i) return i.nothing == nil end), { true })
end)

test("a field of the data wins over a method", function(t)
  local _, piece = over(t, { { get = "mine", key = "k", other = 1 } }, function(i)
    return { i.get, i.key, i.other, type(i.value) }
  end)
  t:eq(piece:get("out"), { { "mine", "k", 1, "function" } })
end)

test("items are compared by their values", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("x", function(p)
    local list = p:state("list", { 3, 3, { a = 1 }, { a = 1 }, { a = 2 } })
    local out = p:map(list, function(i)
      local same = 0
      for k = 1, 5 do if i == i then same = same + 1 end end
      return same
    end)
    return { out = out }
  end))
  t:eq(piece:get("out"), { 5, 5, 5, 5, 5 })
end)

test("what an item cannot do is said", function(t)
  local function error_of(list, fn)
    local rt, piece = over(t, list, fn)
    return rt:errors()[1].message
  end
  t:ok(error_of({ 5 }, function(i) return i.price end):find("the element is a number and has no field price", 1, true))
  t:ok(error_of({ { a = 1 } }, function(i) i.a = 2 end):find('item:key("a"):set(value)', 1, true))
  t:ok(error_of({ {} }, function(i) return i + 1 end):find("arithmetic", 1, true))
end)

test("an item that is a link is written through it, a value is not", function(t)
  local rt = t:runtime()
  local a, b = rt:doc("a", { n = 1 }), rt:doc("b", { n = 2 })
  local function mark(list)
    return rt:run(heddle.pattern("mark", function(p)
      local list = p:arg("list")
      return { out = p:map(list, function(i) i:key("seen"):set(i.n * 2) return i.n end) }
    end), { list = list })
  end
  t:eq(mark{ a, b }:get("out"), { 1, 2 })
  t:eq(a:value(), { n = 1, seen = 2 })
  t:eq(#rt:violations(), 2) -- which is outside of what a map says that it writes
  t:eq(#rt:errors(), 0)
  mark{ { n = 1 } }:get("out")
  t:ok(rt:errors()[1].message:find("an element that is not a link cannot be written", 1, true))
end)

test("an edit of one element runs one child, a move none", function(t)
  local rt, piece, count = counted(t, { { n = 1 }, { n = 2 }, { n = 3 } }, function(i) return i.n * 10 end)
  t:eq(piece:get("out"), { 10, 20, 30 })
  t:eq(count.runs, 3)
  piece:cell("list"):key(2, "n"):set(5); rt:idle()
  t:eq(piece:get("out"), { 10, 50, 30 })
  t:eq(count.runs, 4)
  piece:cell("list"):set{ { n = 3 }, { n = 1 }, { n = 5 } }; rt:idle()
  t:eq(piece:get("out"), { 30, 10, 50 })
  t:eq(count.runs, 4)
  piece:cell("list"):append{ n = 4 }; rt:idle()
  t:eq(piece:get("out"), { 30, 10, 50, 40 })
  t:eq(count.runs, 5)
  piece:cell("list"):remove{ n = 1 }; rt:idle()
  t:eq(piece:get("out"), { 30, 50, 40 })
  t:eq(count.runs, 5)
end)

test("a field that was not read runs nobody", function(t)
  local rt, piece, count = counted(t, { { n = 1, note = "x" } }, function(i) return i.n end)
  piece:cell("list"):key(1, "note"):set("y"); rt:idle()
  t:eq(count.runs, 1)
end)

test("filter keeps the elements, flat_map what they give", function(t)
  local rt, piece, count = counted(t, { 1, 5, 2, 8 }, function(i) return i > 3 end, "filter")
  t:eq(piece:get("out"), { 5, 8 })
  piece:cell("list"):key(1):set(9); rt:idle()
  t:eq(piece:get("out"), { 9, 5, 8 })
  t:eq(count.runs, 5)
  local _, flat = over(t, { { 1, 2 }, {}, { 3 } }, function(i) return i end, "flat_map")
  t:eq(flat:get("out"), { 1, 2, {}, 3 })
  local _, none = over(t, heddle.array{}, function(i) return i end, "flat_map")
  t:eq(none:get("out"), heddle.array{})
end)

test("reduce goes over the list", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("x", function(p)
    local list = p:state("list", { { n = 1 }, { n = 2 } })
    return { list = list,
             sum = p:reduce(list, 0, function(sum, item) return sum + item.n end),
             text = p:reduce(list, function(text, item) return text .. item.n end, "") }
  end))
  t:eq(piece:get("sum"), 3)
  t:eq(piece:get("text"), "12")
  piece:cell("list"):append{ n = 4 }
  t:eq(piece:get("sum"), 7)
end)

test("a choice reads only the branch that was chosen", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("x", function(p)
    local flag, n = p:state("flag", true), p:state("n", 1)
    local a = p:computed("a", function() return n:get() + 1 end)
    local b = p:computed("b", function() return n:get() + 2 end)
    local chosen = p:if_else(flag, a, b)
    p:effect("look", function() chosen:get() end)
    return { flag = flag, n = n, chosen = chosen, maybe = p:when(flag, a),
             inline = p:if_else(function() return n:get() > 1 end, "many", function() return n:get() end) }
  end))
  rt:idle()
  t:eq(piece:get("chosen"), 2)
  t:eq(piece:get("maybe"), 2)
  t:eq(piece:get("inline"), 1)
  t:eq(piece:node("b"):runs(), 0)
  piece:cell("flag"):set(false); rt:idle()
  t:eq(piece:get("chosen"), 3)
  t:eq(piece:get("maybe"), nil)
  t:eq(piece:node("a"):live(), false)
  piece:cell("n"):set(5); rt:idle()
  t:eq(piece:get("chosen"), 7)
  t:eq(piece:get("inline"), "many")
  t:eq(piece:node("a"):runs(), 1)
end)

test("a list of pieces: the children of a map are what they were after a restart", function(t)
  local runs = 0
  local pattern = heddle.pattern("x", function(p)
    local list = p:state("list", { 1, 2, 3 })
    local out = p:map(list, function(i) runs = runs + 1; return i * 2 end)
    p:effect("look", function() for _, x in ipairs(out:get()) do end end)
    return { list = list, out = out }
  end)
  local rt = t:runtime(no_check)
  rt:run(pattern, nil, { name = "x" }); rt:settled()
  t:eq(runs, 3)
  rt = rt:restart()
  local piece = rt:run(pattern, nil, { name = "x" }); rt:settled()
  t:eq(runs, 3)
  t:eq(piece:get("out"), { 2, 4, 6 })
  piece:cell("list"):key(1):set(5); rt:settled()
  t:eq(piece:get("out"), { 10, 4, 6 })
  t:eq(runs, 4)
end)

test("arguments of the list calls are checked", function(t)
  local rt = t:runtime()
  local function refused(fn, why) t:fails(function() rt:run(heddle.pattern("bad", fn)) end, why) end
  refused(function(p) p:map() end, "a list is missing")
  refused(function(p) p:map({ 1 }, 5) end, "function expected")
  refused(function(p) p:map({ 1 }, function() end, { nam = "x" }) end, "unknown option 'nam'; did you mean 'name'?")
  refused(function(p) p:reduce({ 1 }, function() end) end, "initial value is missing")
  refused(function(p) p:map({ 1 }, function() end, { name = "a/b" }) end, "must not contain '/'")
end)

test("a plain list can be mapped, too, and a name asked for", function(t)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("x", function(p)
    return { out = p:map({ 1, 2 }, function(i) return i + 1 end, { name = "more" }) }
  end))
  t:eq(piece:get("out"), { 2, 3 })
  t:ok(piece:node("more"))
end)

test("all cells can be used like their values in a run", function(t)
  local rt = t:runtime()
  local n, list = rt:doc("n", 4), rt:doc("list", { 1, 2 })
  local seen = {}
  local e = rt:effect{ name = "e", fn = function()
    seen = { n + 1, 2 * n, n .. "", n < 5, #list }
    for i, x in ipairs(list) do seen[#seen + 1] = x end
  end }
  rt:idle()
  t:eq(seen, { 5, 8, "4", true, 2, 1, 2 })
  n:set(5); rt:idle()
  t:eq(e:runs(), 2)
  t:eq(n == rt:doc("n"), true)
  t:eq(rt:doc("m", 5) == n, false)
end)
