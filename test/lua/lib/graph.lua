-- Short ways to say a graph: documents by name, nodes by what they read and
-- write.
local graph = {}

-- The cells of the words in a text: "a b" gives two.
local function cells(rt, words)
  local list = {}
  for word in words:gmatch("%S+") do list[#list + 1] = rt:doc(word) end
  return list
end

-- Documents with their values.
function graph.docs(rt, values)
  local docs = {}
  for id, value in pairs(values) do docs[id] = rt:doc(id, value) end
  return docs
end

-- graph.node(rt, "C", "a b -> c", function(a, b) return a + b end): reads in
-- this order, and writes what the function returns, if anything. What is left
-- of the arrow is declared only with `declared`.
local function node(rt, kind, name, surface, fn, options)
  local reads, writes = surface:match("^(.-)%->(.*)$")
  local from, to = cells(rt, reads or surface), cells(rt, writes or "")
  local spec = { name = name, writes = to }
  for key, value in pairs(options or {}) do spec[key] = value end
  if spec.declared then spec.reads = from end
  spec.declared = nil
  spec.fn = function(tx)
    local values = {}
    for i, cell in ipairs(from) do values[i] = cell:get() end
    local result = fn(table.unpack(values, 1, #from))
    if result ~= nil then tx:set(to[1], result) end
  end
  return rt[kind](rt, spec)
end

function graph.computation(rt, ...) return node(rt, "computation", ...) end
function graph.effect(rt, ...) return node(rt, "effect", ...) end

-- An effect that keeps what it has seen in a list.
function graph.watch(rt, name, id)
  local seen = {}
  local effect = graph.effect(rt, name, id, function(v) seen[#seen + 1] = v end)
  return seen, effect
end

function graph.identity(v) return v end

return graph
