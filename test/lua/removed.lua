-- Views and items of what was removed meanwhile, inside of values.
local heddle = require "heddle"
local test   = require "heddle.test"

local child = heddle.pattern("child", function(p)
  return { a = p:arg("a") }
end)

-- Each function uses a view `v` after what it shows was removed.
local uses = {
  result   = function(v) return { v } end,
  field    = function(v) return { kept = { deep = v } } end,
  set      = function(v, at) at.other:set({ v }) end,
  append   = function(v, at) at.list:append({ v }) end,
  send     = function(v, at) heddle.send(at.stream, { v }) end,
  launch   = function(v) heddle.launch(child, { a = v }) end,
  raise    = function(v) error({ code = 5, v = v }) end,
}

for name, use in pairs(uses) do
  test("a view of something that was removed cannot be part of a value: " .. name, function(t)
    local rt = t:runtime()
    local pattern = heddle.pattern("holder", function(p)
      local at = { state = p:state("state", { a = { b = 1 } }), other = p:state("other", 1), list = p:state("list", heddle.array{}) }
      at.stream = p:handler("ignore", function() end)
      local go = p:handler("go", function()
        local v = at.state:get().a
        at.state:delete()
        return use(v, at)
      end)
      return { state = at.state, other = at.other, go = go }
    end)
    local piece = rt:run(pattern)
    local ticket = piece:send("go")
    rt:settled()
    t:eq(ticket:state(), "failed")
    t:eq(piece:get("state"), { a = { b = 1 } })
    t:ok(#rt:errors() > 0)
  end)
end

test("an element that is a link to something removed fails alone", function(t)
  local rt = t:runtime()
  local pattern = heddle.pattern("lists", function(p)
    local one, two = p:state("one", { n = 1 }), p:state("two", { n = 2 })
    local list = p:state("list", heddle.array{})
    local out = p:map(list, function(x) return { v = x } end, { name = "out" })
    local fill = p:handler("fill", function() list:set(heddle.array{ one, two }) end)
    local clear = p:handler("clear", function() one:delete() end)
    local again = p:handler("again", function() one:set({ n = 3 }) end)
    return { list = list, out = out, fill = fill, clear = clear, again = again }
  end)
  local piece = rt:run(pattern)
  piece:send("fill"); rt:settled()
  t:eq(#piece:get("out"), 2)
  piece:send("clear"); rt:settled()
  t:eq(#piece:get("out"), 2)
  local errors = rt:errors()
  t:eq(#errors, 1)
  t:ok(errors[1].message:find("removed"))
  piece:send("again"); rt:settled()
  rt:errors()
  t:eq(#piece:get("out"), 2)
end)
