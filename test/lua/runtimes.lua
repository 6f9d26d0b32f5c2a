-- Runtimes: several on one engine, faults, restarts, edits, and the checks.
local heddle = require "heddle"
local test   = require "heddle.test"

test("edits", function(t)
  local rt = t:runtime()
  local a, b = rt:doc("a", 1), rt:doc("b", 1)
  local done, commit = rt:edit(function(tx)
    tx:set(a, 5)
    b:set(a:get())
    local log = tx:log()
    t:eq(log.writes, { { doc = "a", space = "main", path = heddle.array{} }, { doc = "b", space = "main", path = heddle.array{} } })
    t:eq(#log.shallow, 0)
  end)
  t:eq(done, true)
  t:eq(commit:state(), "pending")
  rt:settled()
  t:eq(commit:state(), "confirmed")
  t:eq(b:get(), 5)
  local given_up, why = rt:edit(function(tx) a:set(9); tx:abort() end)
  t:eq(given_up, nil)
  t:eq(why.name, "GIVEN_UP")
  t:fails(function() rt:edit(function() a:set(10); error("no") end) end, "no")
  t:eq(a:get(), 5)
end)

test("a refused edit is reverted", function(t)
  local rt = t:runtime()
  local a = rt:doc("a", 1)
  rt:settled()
  rt:reject_next{ kind = "permanent" }
  local done, commit = rt:edit(function() a:set(7) end)
  t:eq(a:get(), 7)
  rt:settled()
  t:eq(commit:state(), "rejected")
  t:eq(commit:error().precondition, true)
  t:eq(a:get(), 1)
  t:eq(rt:stats().reverted, 1)
end)

test("a write of its own tries again by itself", function(t)
  local rt = t:runtime()
  local a = rt:doc("a", 1)
  rt:settled()
  rt:reject_next{ kind = "conflict", times = 2 }
  a:set(8); rt:settled()
  t:eq(a:get(), 8)
  rt:reject_next{ kind = "terminal" }
  a:set(9); rt:settled()
  t:eq(a:get(), 8)
  t:eq(#rt:errors(), 1)
  t:eq(rt:errors()[1].doc, "a")
end)

test("a commit that is judged says who made it", function(t)
  local rt = t:runtime()
  local s, o = rt:doc("s", 1), rt:doc("o")
  rt:computation{ name = "c", writes = { o }, fn = function() o:set(s:get()) end }
  rt:sink(o, function() end)
  local seen = {}
  rt:reject_next{ kind = "conflict", when = function(commit) seen[#seen + 1] = commit; return false end }
  rt:settled()
  local by_node = {}
  for _, commit in ipairs(seen) do if commit.node then by_node[#by_node + 1] = commit end end
  t:eq(#by_node, 1)
  t:eq(by_node[1].node, "c")
  t:eq(by_node[1].docs, { "o" })
  t:eq(by_node[1].ops, 1)
  t:eq(by_node[1].observation_only, false)
end)

test("a conflict reverts a run, and it runs again", function(t)
  local rt = t:runtime()
  local s, o = rt:doc("s", 1), rt:doc("o")
  local c = rt:computation{ name = "c", writes = { o }, fn = function() o:set(s:get() * 2) end }
  rt:sink(o, function() end)
  rt:reject_next{ kind = "conflict", times = 3, when = function(commit) return commit.node == "c" end }
  rt:settled()
  t:eq(o:get(), 2)
  t:eq(c:status(), "clean")
  t:ok(c:runs() >= 4)
end)

test("increments of a cluster add up", function(t)
  local cluster = t:cluster(3)
  cluster[1]:doc("n", 0)
  t:ok(cluster:settled())
  for i, rt in ipairs(cluster) do rt:doc("n"):increment(i) end
  t:eq(cluster:settled(), true)
  for _, rt in ipairs(cluster) do t:eq(rt:doc("n"):get(), 6) end
end)

test("what another one commits arrives with a step", function(t)
  local e = t:engine()
  local one, two = t:runtime{ engine = e }, t:runtime{ engine = e }
  local a = one:doc("a", 1)
  one:settled()
  local b = two:doc("a")
  t:eq(b:get(), 1)
  a:set(2); one:settled()
  t:eq(b:get(), 1)
  two:step()
  t:eq(b:get(), 2)
end)

test("COLD-01 what comes late arrives by itself", function(t)
  local e = t:engine()
  local w, r = t:runtime{ engine = e }, t:runtime{ engine = e }
  local input = w:doc("input", {})
  w:settled()
  local observed = r:doc("observed")
  local seen = {}
  r:computation{ name = "c", writes = { observed }, fn = function() observed:set(r:doc("input"):get().value or "missing") end }
  r:sink(observed, function(v) seen[#seen + 1] = v end)
  r:idle()
  t:eq(seen[#seen], "missing")
  input:key("value"):set("arrived"); w:settled()
  r:idle()
  t:eq(observed:get(), "arrived")
  t:eq(seen[#seen], "arrived")
  r:errors()
end)

test("what is held back is not confirmed", function(t)
  local rt = t:runtime()
  local a = rt:doc("a", 1)
  rt:settled()
  rt:hold(true)
  a:set(2)
  t:eq(a:get(), 2)
  t:eq(rt:idle(), true)
  local rest, why = rt:settled()
  t:eq(rest, nil)
  t:eq(why, "held")
  rt:hold(false)
  t:eq(rt:settled(), true)
  t:eq(rt:stats().commits, rt:stats().confirmed)
end)

test("a restart keeps what was confirmed, and nothing else", function(t)
  local rt = t:runtime()
  local a = rt:doc("a", 1)
  local node = rt:effect{ name = "e", fn = function() a:get() end }
  rt:settled()
  a:set(3); rt:settled()
  rt:hold(true); a:set(4)
  local again = rt:restart()
  t:fails(function() a:get() end, "has ended")
  t:fails(function() rt:step() end, "has ended")
  t:eq(node:live(), false)
  t:eq(node:runs(), 2)
  t:eq(again:doc("a"):get(), 3)
end)

test("an engine on a file", function(t)
  local e = t:engine{ file = "x" }
  local rt = t:runtime{ engine = e }
  rt:doc("k", { 1 }); rt:settled()
  t:eq(t:runtime{ engine = e }:doc("k"):get(), { 1 })
  t:fails(function() t:engine{ file = "../x" } end, "without slashes")
end)

test("spaces", function(t)
  local rt = t:runtime{ spaces = { "one", "two" } }
  local a, b = rt:doc("d", 1), rt:doc("d", 2, { space = "two" })
  rt:settled()
  t:eq(a:get(), 1)
  t:eq(b:get(), 2)
  a:set{ far = b:link() }
  t:eq(a:get().far, 2)
end)

test("checks", function(t)
  t:eq({ 1, { a = heddle.null } }, { 1, { a = heddle.null } })
  t:eq(nil, nil)
  t:eq(print, print)
  t:fails(function() t:eq(1, "1") end, 'is 1, expected "1"')
  t:fails(function() t:eq(nil, false) end, "is nil, expected false")
  t:fails(function() t:ok(nil) end, "is nil")
  t:fails(function() t:ok(false, "the flag") end, "the flag: is false")
  t:eq(t:fails(function() error({}) end), "table")
  t:fails(function() t:fails(function() end) end, "there was none")
  t:fails(function() t:fails(function() error("a") end, "b") end, 'expected one with "b"')
end)

test("seeds", function(t)
  local sums = {}
  for round = 1, 2 do
    sums[round] = 0
    t:seeds(5, function(seed, random)
      sums[round] = sums[round] + random(1000)
      t:ok(random(3) <= 3)
      t:runtime():doc("a", 1)
    end)
  end
  t:eq(sums[1], sums[2])
  t:fails(function() t:seeds(5, function(seed) t:ok(seed ~= 3) end) end, "seed 3: ")
end)

test("arguments that are wrong", function(t)
  local rt = t:runtime()
  t:fails(function() rt:doc() end, "string expected")
  t:fails(function() rt:computation{} end, "fn is missing: give the function of the node")
  t:fails(function() rt:computation{ fn = print, writes = { 1 } } end, "list of cells")
  t:fails(function() rt:effect{ fn = print, debounce = -1 } end, "milliseconds")
  t:fails(function() rt:reject_next{ kind = "odd" } end, '"transient"')
  t:fails(function() rt:sink(1, print) end, "cell expected")
  t:fails(function() rt:advance(-1) end, "milliseconds")
  t:fails(function() t:runtime{ lanes = "many" } end, '"space"')
  t:fails(function() t:runtime{ spaces = {} } end, "list of names")
  t:fails(function() t:runtime{ engine = 1 } end, "t:engine")
  t:fails(function() t:cluster(0) end, "1 to 64")
  local other = t:runtime()
  t:fails(function() other:sink(rt:doc("a"), print) end, "another runtime")
  rt:effect{ name = "e", fn = function() rt:step() end }
  rt:idle()
  t:ok(rt:errors()[1].message:find("inside a run", 1, true))
end)
