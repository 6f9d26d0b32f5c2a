-- heddle test kanban_test.lua

local heddle = require "heddle"
local test = require "heddle.test"
local kanban = require "kanban"

local function board_with(t, ...)
  local rt = t:runtime()
  local board = rt:run(kanban)
  for _, title in ipairs{ ... } do board:send("add", { title = title }) end
  rt:idle()
  return rt, board
end

test("each card is a piece", function(t)
  local rt, board = board_with(t, "paint", "sing")
  board:send("cards/1/card1/move", { to = "doing" })
  board:send("cards/1/card1/comment", { text = "louder" })
  rt:idle()
  t:eq(board:get("cards.1.view"), { title = "paint", column = "todo", comments = 0 })
  t:eq(board:get("cards.2.view"), { title = "sing", column = "doing", comments = 1 })
  t:eq(board:get("columns"), { todo = 1, doing = 1, done = 0 })
  t:eq(board:get("history"), { "2: todo -> doing" })
end)

test("the board sends to its cards", function(t)
  local rt, board = board_with(t, "paint", "sing")
  board:send("cards/0/card1/move", { to = "doing" })
  rt:idle()
  board:send("finish", {})
  rt:idle()
  t:eq(board:get("columns"), { todo = 1, doing = 0, done = 1 })
end)

test("a card that is removed takes what it kept with it", function(t)
  local rt, board = board_with(t, "paint", "sing")
  board:send("cards/0/card1/comment", { text = "red" })
  rt:idle()
  board:send("remove", { id = 1 })
  board:send("add", { title = "paint" })
  rt:idle()
  t:eq(board:get("columns"), { todo = 2, doing = 0, done = 0 })
  t:eq(board:get("cards.2"), { view = { title = "paint", column = "todo", comments = 0 }, comments = heddle.array{} })
end)
