-- Tasks: what a pattern sees of them, with a test as their host.

local heddle = require "heddle"
local test   = require "heddle.test"

local function kinds(extra)
  return heddle.pattern("kinds", function(p)
    local city = p:state("city", "Oslo")
    local options = { kind = "http" }
    for key, value in pairs(extra or {}) do options[key] = value end
    local weather = p:task("weather", function()
      local name = city:get()
      if name == "" then return nil end
      return { url = "http://weather/" .. name }
    end, options)
    return { city = city, weather = weather }
  end)
end

test("a task is running, then done", function(t)
  local rt = t:runtime()
  local p  = rt:run(kinds(), {})
  rt:idle()
  t:eq(p:task("weather"), nil) -- nothing reads it
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  t:eq(p:get("weather").state, "running")
  local call = p:task("weather")
  t:eq(call:kind(), "http")
  t:eq(call:request(), { url = "http://weather/Oslo" })
  t:eq(call:attempt(), 1)
  t:eq(#call:key(), 43)
  call:finish{ status = 200, body = 21 }
  rt:idle()
  t:eq(p:task("weather"), nil)
  local weather = p:get("weather")
  t:eq(weather.state, "done")
  t:eq(weather.value, { status = 200, body = 21 })
  t:eq(weather.attempts, 1)
  t:fails(function() call:finish(1) end, "the call has ended, or was cancelled")
end)

test("other inputs cancel it and begin it again; no inputs end it", function(t)
  local rt = t:runtime()
  local p  = rt:run(kinds(), {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  local first = p:task("weather")
  local key = first:key()
  p:cell("city"):set("Rome"); rt:idle()
  t:fails(function() first:finish(1) end, "cancelled")
  local second = p:task("weather")
  t:eq(second:request().url, "http://weather/Rome")
  t:ok(second:key() ~= key)
  second:finish("sunny"); rt:idle()
  t:eq(p:get("weather").value, "sunny")
  p:cell("city"):set(""); rt:idle()
  t:eq(p:get("weather"), { state = "idle" })
  p:cell("city"):set("Oslo"); rt:idle()
  t:eq(p:task("weather"):key(), key) -- the same work has the same key
end)

test("what failed for good stays failed for that input", function(t)
  local rt = t:runtime()
  local p  = rt:run(kinds(), {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  p:task("weather"):fail({ code = "STATUS", text = "404", status = 404 }, { retry = false })
  rt:idle()
  t:eq(p:task("weather"), nil)
  local weather = p:get("weather")
  t:eq(weather.state, "failed")
  t:eq(weather.error, { code = "STATUS", text = "404", status = 404 })
end)

test("what may be repeated is, after a pause that doubles", function(t)
  local rt = t:runtime()
  local p  = rt:run(kinds{ retries = 2, backoff = 1000 }, {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  local key = p:task("weather"):key()
  p:task("weather"):fail("no route", { retry = true }); rt:idle()
  t:eq(p:task("weather"), nil)
  t:eq(p:get("weather").state, "running")
  rt:advance(499); rt:idle()
  t:eq(p:task("weather"), nil)
  rt:advance(501); rt:idle()
  t:eq(p:task("weather"):attempt(), 2)
  t:eq(p:task("weather"):key(), key)
  p:task("weather"):fail("no route", { retry = true, after = 5000 }); rt:idle()
  rt:advance(4999); rt:idle()
  t:eq(p:task("weather"), nil) -- the other side asked for more
  rt:advance(1); rt:idle()
  t:eq(p:task("weather"):attempt(), 3)
  p:task("weather"):fail("no route", { retry = true }); rt:idle()
  t:eq(p:get("weather").state, "failed")
  t:eq(p:get("weather").attempts, 3)
  t:eq(p:get("weather").error.text, "no route")
end)

test("inputs that change during a pause end it", function(t)
  local rt = t:runtime()
  local p  = rt:run(kinds{ retries = 2 }, {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  p:task("weather"):fail("no route", { retry = true }); rt:idle()
  p:cell("city"):set("Rome"); rt:idle()
  t:eq(p:task("weather"):request().url, "http://weather/Rome")
  t:eq(p:task("weather"):attempt(), 1)
end)

test("a restart takes up what is running, with the same key", function(t)
  local pattern = kinds()
  local rt = t:runtime()
  local p  = rt:run(pattern, {})
  rt:sink(p:cell("weather"), function() end)
  rt:settled()
  local key = p:task("weather"):key()
  rt = rt:restart()
  p  = rt:run(pattern, {})
  rt:sink(p:cell("weather"), function() end)
  rt:settled()
  t:eq(p:task("weather"):key(), key)
  p:task("weather"):finish(1)
  rt:settled()
  rt = rt:restart()
  p  = rt:run(pattern, {})
  rt:sink(p:cell("weather"), function() end)
  rt:settled()
  t:eq(p:task("weather"), nil) -- done once
  t:eq(p:get("weather").value, 1)
end)

test("a restart takes up the running tasks of elements, and no others", function(t)
  local pattern = heddle.pattern("jobs", function(p)
    local list = p:state("list", heddle.array{ { id = 1 }, { id = 2 } })
    return { jobs = p:map(list, function(item)
      return { out = p:task("out", function() return { url = "http://host/" .. item.id } end, { kind = "http" }) }
    end, { name = "jobs", key = "id" }) }
  end)
  local function begin(rt)
    local p = rt:run(pattern, {})
    rt:sink(p:cell("jobs"), function() p:get("jobs") end)
    rt:settled()
    return p
  end
  local rt = t:runtime{ engine = t:engine() }
  local p  = begin(rt)
  p:task("jobs/0/out"):finish("first")
  rt:settled()
  local key = p:task("jobs/1/out"):key()
  rt = rt:restart()
  p  = begin(rt)
  t:eq(p:task("jobs/0/out"), nil)
  t:eq(p:task("jobs/1/out"):key(), key)
  p:task("jobs/1/out"):finish("second")
  rt:settled()
  rt = rt:restart()
  p  = begin(rt)
  t:eq(p:task("jobs/1/out"), nil)
  t:eq(p:get("jobs")[2].out.value, "second")
end)

test("of two runtimes one does it, and the other takes over", function(t)
  local pattern = kinds()
  local engine = t:engine{}
  local a, b = t:runtime{ engine = engine }, t:runtime{ engine = engine }
  local pa, pb = a:run(pattern, {}), b:run(pattern, {})
  a:sink(pa:cell("weather"), function() end)
  a:settled()
  b:sink(pb:cell("weather"), function() end)
  b:settled()
  t:ok(pa:task("weather") ~= nil)
  t:eq(pb:task("weather"), nil)
  b:advance(5000); b:settled()
  t:eq(pb:task("weather"), nil)
  local key = pa:task("weather"):key()
  a:restart()
  b:advance(500); b:settled()
  t:eq(pb:task("weather"):key(), key)
  pb:task("weather"):finish("cold"); b:settled()
  t:eq(pb:get("weather").value, "cold")
end)

-- Bodies ------------------------------------------------------------------

local function order(options)
  return heddle.pattern("order", function(p)
    local amount = p:state("amount", 5)
    local out = { retries = options.retries, backoff = options.backoff, run = options.run }
    local paid = p:task("paid", function() return { amount = amount:get() } end, out)
    return { amount = amount, paid = paid }
  end)
end

local function start(t, options)
  local rt = t:runtime()
  local p = rt:run(order(options), {})
  rt:sink(p:cell("paid"), function() end)
  rt:idle()
  return rt, p
end

test("a body is a coroutine that waits for calls", function(t)
  local rt, p = start(t, { run = function(input, task)
    local token = task:http{ url = "http://bank/token" }
    local answer, problem = task:http{ url = "http://bank/pay", json = { amount = input.amount, token = token.body } }
    if answer == nil then return { refused = problem.text } end
    local printed = task:exec{ program = "print" }
    return { id = answer.body, printed = printed, key = task:key() }
  end })
  t:eq(p:task("paid"):request().url, "http://bank/token")
  p:task("paid"):finish{ body = "T" }; rt:idle()
  t:eq(p:task("paid"):request().json, { amount = 5, token = "T" })
  p:task("paid"):finish{ body = "N1" }; rt:idle()
  t:eq(p:task("paid"):kind(), "exec")
  local key = p:task("paid"):key() -- of the third call
  p:task("paid"):finish(true); rt:idle()
  local value = p:get("paid").value
  t:eq({ value.id, value.printed, value.key .. "-3" }, { "N1", true, key })
  p:cell("amount"):set(6); rt:idle()
  p:task("paid"):finish{ body = "T" }; rt:idle()
  p:task("paid"):fail("no money"); rt:idle()
  t:eq(p:get("paid").value, { refused = "no money" })
end)

test("a body without a call is done at once", function(t)
  local _, p = start(t, { run = function(input) return input.amount * 2 end })
  t:eq(p:get("paid").value, 10)
end)

test("a body can sleep", function(t)
  local rt, p = start(t, { run = function(input, task)
    for _ = 1, 3 do task:sleep(1000) end
    return input.amount
  end })
  for _ = 1, 2 do rt:advance(1000); rt:idle() end
  t:eq(p:get("paid").state, "running")
  rt:advance(1000); rt:idle()
  t:eq(p:get("paid").value, 5)
end)

test("a body that raises fails, with the file and the line", function(t)
  local _, p = start(t, { run = function() error("no such account") end })
  local paid = p:get("paid")
  t:eq(paid.state, "failed")
  t:eq(paid.error.code, "ERROR")
  t:ok(paid.error.text:find("tasks.lua:%d+: no such account"), paid.error.text)
end)

test("a body that raises is repeated if it has retries", function(t)
  local rt, p = start(t, { retries = 1, backoff = 10, run = function(_, task)
    if task:attempt() == 1 then error("not yet") end
    return "now"
  end })
  t:eq(p:get("paid").state, "running")
  rt:advance(10); rt:idle()
  t:eq(p:get("paid").value, "now")
  t:eq(p:get("paid").attempts, 2)
end)

test("a body has its input and nothing else", function(t)
  local seen = {}
  local rt = t:runtime()
  local p = rt:run(heddle.pattern("strict", function(p)
    local n = p:state("n", 1)
    local h = p:handler("h", function() end)
    local out = p:task("out", n, { run = function()
      for i, try in ipairs{ function() return n:get() end, function() n:set(2) end, function() heddle.send(h, 1) end } do
        local _, problem = pcall(try)
        seen[i] = problem
      end
    end })
    return { n = n, h = h, out = out }
  end), {})
  rt:sink(p:cell("out"), function() end)
  rt:idle()
  t:eq(p:get("out").state, "done")
  t:ok(seen[1]:find("put what it needs into its inputs", 1, true), seen[1])
  t:ok(seen[2]:find("return its value", 1, true), seen[2])
  t:ok(seen[3] ~= nil)
  t:eq(p:get("n"), 1)
end)

test("a body whose input changes is closed", function(t)
  local closed = {}
  local rt, p = start(t, { run = function(input, task)
    local guard <close> = setmetatable({}, { __close = function() closed[#closed + 1] = input.amount end })
    task:http{ url = "http://bank" }
    return input.amount
  end })
  p:cell("amount"):set(7); rt:idle()
  t:eq(closed, { 5 })
  p:task("paid"):finish(true); rt:idle()
  t:eq(closed, { 5, 7 })
  t:eq(p:get("paid").value, 7)
  p:cell("amount"):set(8); rt:idle() -- and stays under way to the end of the test
end)

test("a coroutine of a body cannot wait", function(t)
  local _, p = start(t, { run = function(_, task)
    local thread = coroutine.wrap(function() return task:http{ url = "x" } end)
    local fine, problem = pcall(thread)
    return { fine = fine, problem = problem }
  end })
  t:eq(p:get("paid").value.fine, false)
  t:ok(p:get("paid").value.problem:find("only the function of the task itself can wait", 1, true))
end)

test("a body that never ends is stopped by its budget", function(t)
  local _, p = start(t, { run = function() while true do end end })
  t:eq(p:get("paid").state, "failed")
  t:ok(p:get("paid").error.text:find("step budget", 1, true))
end)

-- Declaring ---------------------------------------------------------------

local function declare(t, options, inputs)
  return t:fails(function()
    t:runtime():run(heddle.pattern("bad", function(p)
      return { x = p:task("x", inputs or function() return 1 end, options) }
    end), {})
  end)
end

test("what is wrong with a declaration is said", function(t)
  t:ok(declare(t, {}):find('a task needs kind = "..." or run = function(input, task)', 1, true))
  t:ok(declare(t, { kind = "http", run = function() end }):find("not both", 1, true))
  t:ok(declare(t, { run = 3 }):find("run must be a function", 1, true))
  t:ok(declare(t, { kind = "http", retrys = 3 }):find("unknown option 'retrys'; did you mean 'retries'?", 1, true))
  t:ok(declare(t, { kind = "http", retries = 1000 }):find("retries must be an integer from 0 to 100", 1, true))
  t:ok(declare(t, { kind = 4 }):find("kind must be a string", 1, true))
end)

test("inputs can be a cell, and a task's output an input", function(t)
  local rt = t:runtime()
  local p = rt:run(heddle.pattern("chain", function(p)
    local n = p:state("n", 1)
    local a = p:task("a", n, { kind = "double" })
    local b = p:task("b", function()
      local first = a:value()
      return first.state == "done" and { n = first.value } or nil
    end, { kind = "double" })
    return { n = n, a = a, b = b }
  end), {})
  rt:sink(p:cell("b"), function() end)
  rt:idle()
  t:eq(p:task("b"), nil)
  t:eq(p:task("a"):request(), 1)
  p:task("a"):finish(2); rt:idle()
  t:eq(p:task("b"):request(), { n = 2 })
  p:task("b"):finish(4); rt:idle()
  t:eq(p:get("b").value, 4)
end)

test("each element of a list has its own task", function(t)
  local one = heddle.pattern("one", function(p)
    local city = p:arg("city")
    return { weather = p:task("weather", function() return { url = "http://weather/" .. city:get() } end, { kind = "http" }) }
  end)
  local rt = t:runtime()
  local piece = rt:run(heddle.pattern("many", function(p)
    local cities = p:state("cities", heddle.array{ "Oslo", "Rome" })
    return { all = p:map(cities, function(city) return p:piece(one, { city = city }) end, { name = "all" }) }
  end))
  rt:effect{ name = "look", fn = function()
    for _, each in ipairs(piece:cell("all"):get()) do local _ = each.weather.state end
  end }
  rt:idle()
  t:eq(piece:get("all.1.weather.state"), "running")
  t:eq(piece:task("all/1/one1/weather"):request().url, "http://weather/Rome")
  piece:task("all/0/one1/weather"):finish{ sky = "clear" }
  rt:idle()
  t:eq(piece:get("all.1.weather.value"), { sky = "clear" })
  t:eq(piece:get("all.2.weather.state"), "running")
  t:eq(piece:task("all/0/one1/weather"), nil)
end)

-- ---- rt:tasks ----

test("a function of the test does the tasks of a kind", function(t)
  local rt, asked = t:runtime(), {}
  rt:tasks("http", function(input, task)
    asked[#asked + 1] = { input.url, task:kind(), task:attempt(), task:cancelled() }
    return { body = #asked }
  end)
  local p = rt:run(kinds(), {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  t:eq(p:get("weather").value, { body = 1 })
  t:eq({ p:get("weather").state, p:get("weather").attempts, asked }, { "done", 1, { { "http://weather/Oslo", "http", 1, false } } })
  p:cell("city"):set("Oslo"); rt:idle()
  t:eq(#asked, 1) -- equal inputs do not start again
  p:cell("city"):set("Rome"); rt:idle()
  t:eq({ #asked, p:get("weather").value }, { 2, { body = 2 } })
  p:cell("city"):set(""); rt:idle()
  t:eq({ #asked, p:get("weather") }, { 2, { state = "idle" } })
end)

test("a task that is only asked for is done, too", function(t)
  local rt = t:runtime()
  rt:tasks("http", function() return 7 end)
  local p = rt:run(kinds(), {})
  t:eq({ p:get("weather").state, p:get("weather").value }, { "done", 7 })
end)

test("a task that the function keeps ends later", function(t)
  local rt, kept = t:runtime(), {}
  rt:tasks("http", function(_, task) kept[#kept + 1] = task end)
  local p = rt:run(kinds(), {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  t:eq({ p:get("weather").state, kept[1]:cancelled() }, { "running", false })
  p:cell("city"):set("Rome"); rt:idle()
  t:eq({ #kept, kept[1]:cancelled(), kept[2]:cancelled() }, { 2, true, false })
  t:fails(function() kept[1]:done(1) end, "cancelled")
  kept[2]:done("sunny"); rt:idle()
  t:eq({ p:get("weather").state, p:get("weather").value, kept[2]:cancelled() }, { "done", "sunny", false })
end)

test("a failure is repeated after a pause, unless it is for good", function(t)
  local rt, attempts, last = t:runtime(), 0, nil
  rt:tasks("http", function(_, task)
    attempts = attempts + 1
    task:fail("attempt " .. attempts, last)
  end)
  local p = rt:run(kinds{ backoff = 1000 }, {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  t:eq({ attempts, p:get("weather").state }, { 1, "running" })
  for _ = 1, 5 do rt:advance(10000); rt:idle() end
  local weather = p:get("weather")
  t:eq({ attempts, weather.state, weather.attempts, weather.error.text }, { 4, "failed", 4, "attempt 4" }) -- three retries
  last = { retry = false }
  p:cell("city"):set("Rome"); rt:idle()
  weather = p:get("weather")
  t:eq({ attempts, weather.state, weather.attempts, weather.error.text }, { 5, "failed", 1, "attempt 5" })
end)

test("an error of the function is reported, and fails the task", function(t)
  local rt = t:runtime()
  rt:tasks("http", function() error("no such city") end)
  local p = rt:run(kinds(), {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  t:eq(p:get("weather").state, "failed")
  t:ok(rt:errors()[1].message:find("no such city", 1, true))
end)

test("a process that comes back starts what was running again", function(t)
  local rt, starts = t:runtime(), 0
  local function serve(rt) rt:tasks("http", function(_, task) starts = starts + 1 end) end
  serve(rt)
  local p = rt:run(kinds(), {}, { name = "k" })
  rt:sink(p:cell("weather"), function() end)
  rt:settled()
  rt = rt:restart(); serve(rt)
  p = rt:run(kinds(), {}, { name = "k" })
  rt:sink(p:cell("weather"), function() end)
  rt:settled()
  t:eq({ starts, p:get("weather").state }, { 2, "running" })
end)

-- ---- the key ----

test("a pattern chooses the key of its work", function(t)
  local rt, keys = t:runtime(), {}
  rt:tasks("http", function(_, task) keys[#keys + 1] = task:key() return true end)
  local p = rt:run(kinds{ key = function(input) return "weather of " .. input.url end }, {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  p:cell("city"):set("Rome"); rt:idle()
  t:eq(keys, { "weather of http://weather/Oslo", "weather of http://weather/Rome" })
end)

test("a key that is none fails the task", function(t)
  local rt = t:runtime()
  local p = rt:run(kinds{ key = function() return 5 end }, {})
  rt:sink(p:cell("weather"), function() end)
  rt:idle()
  t:ok(p:get("weather").error.text:find("a text of 1 to 256 bytes", 1, true))
  t:fails(function() rt:run(kinds{ key = "k" }, {}, { name = "other" }) end, "key must be a function")
end)

-- ---- inputs are values ----

test("a change behind a link in the inputs begins the work again", function(t)
  local rt, seen = t:runtime(), {}
  rt:tasks("sum", function(inputs) seen[#seen + 1] = inputs; return #seen end)
  local piece = rt:run(heddle.pattern("p", function(p)
    local rows = p:collection("rows", { key = "id" })
    local title = p:state("title", { text = "a" })
    local twice = p:computed("twice", function() return title:get().text .. title:get().text end)
    local work = p:task("work", function()
      return { rows = rows:range{ to = { 5 } }, first = rows:get(1), title = title, twice = twice, text = title:get().text }
    end, { kind = "sum" })
    p:effect("look", function() work:value() end)
    return {
      work = work,
      put = p:handler("put", function(row) rows:put(row) end),
      set = p:handler("set", function(text) title:set{ text = text } end),
    }
  end))
  rt:settled()
  t:eq(seen[1], { rows = heddle.array{}, title = { text = "a" }, twice = "aa", text = "a" })
  piece:send("put", { id = 1, n = 1 }); rt:settled()
  t:eq({ #seen, seen[2].rows, seen[2].first }, { 2, { { id = 1, n = 1 } }, { id = 1, n = 1 } })
  piece:send("put", { id = 1, n = 2 }); rt:settled()
  t:eq({ #seen, seen[3].rows, seen[3].first }, { 3, { { id = 1, n = 2 } }, { id = 1, n = 2 } })
  piece:send("put", { id = 9, n = 2 }); rt:settled() -- outside of the range
  t:eq(#seen, 3)
  piece:send("set", "b"); rt:settled()
  t:eq({ #seen, seen[4].title, seen[4].twice }, { 4, { text = "b" }, "bb" })
  t:eq(piece:get("work").value, 4)
end)

test("equal inputs behind links do not begin the work again after a restart", function(t)
  local rt, runs = t:runtime(), 0
  local pattern = heddle.pattern("p", function(p)
    local rows = p:collection("rows", { key = "id" })
    local work = p:task("work", function() return { rows = rows:range{} } end, { kind = "count" })
    p:effect("look", function() work:value() end)
    return { work = work, put = p:handler("put", function(row) rows:put(row) end) }
  end)
  local function run()
    rt:tasks("count", function(inputs) runs = runs + 1; return #inputs.rows end)
    local piece = rt:run(pattern)
    rt:settled()
    return piece
  end
  local piece = run()
  piece:send("put", { id = 1 }); rt:settled()
  t:eq({ runs, piece:get("work").value }, { 2, 1 })
  piece:send("put", { id = 1 }); rt:settled()
  t:eq(runs, 2)
  rt = rt:restart()
  piece = run()
  t:eq({ runs, piece:get("work").value }, { 2, 1 })
end)
