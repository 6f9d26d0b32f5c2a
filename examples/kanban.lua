-- A kanban board: each card is a piece with its own state and streams.
--
--   heddle run kanban.lua
--   heddle send kanban add '{"title": "write the tutorial"}'
--   heddle send kanban/cards/0 move '{"to": "doing"}'
--   heddle get kanban columns

local heddle = require "heddle"

-- One card: an argument holds the board's data about it, and its states hold
-- what happens to it.
local card = heddle.pattern("card", function(p)
  local about = p:arg("card")
  local moved = p:arg("moved")
  local column = p:state("column", "todo")
  local comments = p:state("comments", heddle.array{})

  local view = p:computed("view", function()
    return { title = about:get().title, column = column:get(), comments = #comments:get() }
  end)
  local move = p:handler("move", function(event)
    local from = column:get()
    column:set(event.to)
    heddle.send(moved, { id = about:get().id, from = from, to = event.to })
    return { from = from, to = event.to }
  end)
  local comment = p:handler("comment", function(event)
    comments:append(event.text)
    return { count = #comments:get() }
  end)
  return { view = view, comments = comments, move = move, comment = comment }
end)

return heddle.pattern("kanban", function(p)
  local list = p:state("list", heddle.array{})
  local last = p:state("last", 0)
  local history = p:state("history", heddle.array{})

  local moved = p:handler("moved", function(event)
    history:append(event.id .. ": " .. event.from .. " -> " .. event.to)
  end)
  local cards = p:map(list, function(item)
    return p:piece(card, { card = item, moved = moved })
  end, { name = "cards", key = "id" })

  local columns = p:computed("columns", function()
    local found = { todo = 0, doing = 0, done = 0 }
    for _, one in ipairs(cards:get()) do
      local column = one.view.column
      found[column] = (found[column] or 0) + 1
    end
    return found
  end)

  local add = p:handler("add", function(event)
    last:increment()
    list:append{ id = last:get(), title = event.title }
    return { id = last:get() }
  end)
  local remove = p:handler("remove", function(event)
    local rest = heddle.array{}
    for _, one in ipairs(list:value()) do
      if one.id ~= event.id then rest[#rest + 1] = one end
    end
    list:set(rest)
  end)
  -- The board sends to its cards as well.
  local finish = p:handler("finish", function()
    for i, one in ipairs(cards:get()) do
      if one.view.column == "doing" then heddle.send(cards:key(i, "move"), { to = "done" }) end
    end
  end)

  return { cards = cards, columns = columns, history = history, add = add, remove = remove, finish = finish }
end)
