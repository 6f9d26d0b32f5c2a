-- A directory of people: rows by key, two indexes, and pages of 20.
--
--   $ heddle run examples/contacts.lua
--   $ heddle send contacts add '{"id": 1, "name": "Ada", "city": "London"}'
--   $ heddle send contacts show '{"city": "London"}'
--   $ heddle get contacts page

local heddle = require "heddle"

local PAGE = 20

return heddle.pattern("contacts", function(p)
  local people = p:collection("people", {
    key = "id",
    index = { by_name = { "name" }, by_city = { "city", "name" } },
    schema = {
      type = "object",
      properties = { name = { type = "string", minLength = 1 }, city = { type = "string", default = "" } },
      required = { "name" },
    },
  })

  -- What the page shows: one city or all people, from the start or after a row.
  local view = p:state("view", {})

  -- Runs again only when a row of this page is added, removed or changed.
  local page = p:computed("page", function()
    local shown = view:get()
    local city = shown.city
    return people:range{
      index = city and "by_city" or "by_name",
      from = city and { city } or nil,
      to = city and { city } or nil,
      after = shown.after,
      limit = PAGE,
    }
  end)

  -- One child per row on the page: editing a row runs one of them.
  local lines = p:map(page, function(row) return row.name .. " (" .. row.city .. ")" end, { name = "lines" })

  local add = p:handler("add", function(person)
    people:insert(person)
    return { count = people:count() }
  end)
  local edit = p:handler("edit", function(event) people:update(event.id, event.fields) end)
  local remove = p:handler("remove", function(event) return { existed = people:remove(event.id) } end)

  local show = p:handler("show", function(event) view:set(event) end)
  local next_page = p:handler("next", function()
    local rows, city = page:get(), view:get().city
    if #rows < PAGE then return end
    -- The page ends at these index fields and this key.
    local last = rows[#rows]
    view:set{ city = city, after = city and { last.city, last.name, last.id } or { last.name, last.id } }
  end)

  return {
    people = people, page = page, lines = lines,
    add = add, edit = edit, remove = remove, show = show, next = next_page,
  }
end)
