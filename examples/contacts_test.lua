-- The directory: pages, and what a change of a row runs.

local heddle   = require "heddle"
local test     = require "heddle.test"
local contacts = require "contacts"

local function filled(t, n)
  local rt = t:runtime()
  local piece = rt:run(contacts, {})
  rt:sink(piece:cell("lines"), function() end)
  for i = 1, n do
    piece:send("add", { id = i, name = ("name %03d"):format(i), city = i % 2 == 0 and "Bonn" or "Graz" })
  end
  rt:idle()
  return rt, piece
end

test("a page shows the first rows by name, and the next page those behind", function(t)
  local rt, piece = filled(t, 45)
  t:eq(#piece:get("page"), 20)
  t:eq(piece:get("lines")[1], "name 001 (Graz)")
  piece:send("next")
  rt:idle()
  t:eq(piece:get("lines")[1], "name 021 (Graz)")
  piece:send("next")
  rt:idle()
  t:eq(#piece:get("page"), 5)
end)

test("a city is a part of its index", function(t)
  local rt, piece = filled(t, 45)
  piece:send("show", { city = "Bonn" })
  rt:idle()
  t:eq(piece:get("lines")[1], "name 002 (Bonn)")
  piece:send("next")
  rt:idle()
  t:eq(piece:get("lines"), { "name 042 (Bonn)", "name 044 (Bonn)" })
end)

test("a row beside the page runs nothing", function(t)
  local rt, piece = filled(t, 45)
  local runs = piece:node("page"):runs()
  piece:send("edit", { id = 40, fields = { city = "Rome" } })
  piece:send("add", { id = 100, name = "zoe" })
  rt:idle()
  t:eq(piece:node("page"):runs(), runs)
  piece:send("edit", { id = 4, fields = { city = "Rome" } })
  rt:idle()
  t:eq(piece:node("page"):runs(), runs + 1)
  t:eq(piece:get("lines")[4], "name 004 (Rome)")
end)

test("a row has to fit the schema", function(t)
  local rt, piece = filled(t, 1)
  local ticket = piece:send("add", { id = 2, name = "" })
  rt:idle()
  t:eq(ticket:state(), "failed")
  t:ok(rt:errors()[1].message:find("at /name", 1, true))
  t:eq(piece:get("people").count, 1)
end)
