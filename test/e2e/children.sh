#!/bin/sh
# Pieces per element of a list, from outside: the example board, its cards by
# their addresses, restarts, kills, several processes, and cards that are
# removed while another process sends to them.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

cp "$ROOT/examples/kanban.lua" "$ROOT/examples/kanban_test.lua" .

check "the example's own tests" "$HEDDLE" test kanban_test.lua
check "with 10,000 cards, one more costs one piece" "$HEDDLE" test "$ROOT/test/lua/lib/many_cards.lua"

run run kanban.lua --once
try "a card is added" 0 '{"id":1}' '' send kanban add '{"title": "paint"}'
try "and another one" 0 '{"id":2}' '' send kanban add '{"title": "sing"}'
try "a card is addressed by its key, although nothing has run since" 0 '{"from":"todo","to":"doing"}' '' \
    send kanban/cards/1 move '{"to": "doing"}'
try "it has told the board" 0 '["2: todo -> doing"]' '' get kanban history
try "the board shows it" 0 '{"doing":1,"done":0,"todo":1}' '' get kanban columns
try "get takes the address" 0 '"sing"' '' get kanban/cards/1 view.title
try "so does a child of the element" 0 '"sing"' '' get kanban/cards/1/card1 view.title
try "the board sends to its cards" 0 '{}' '' send kanban finish
try "and they answer" 0 '["2: todo -> doing","2: doing -> done"]' '' get kanban history
try "an event for a card can be queued" 0 "$("$HEDDLE" send kanban/cards/0 comment '{"text": "red"}' --queue --id q --session s)" '' \
    send kanban/cards/0 comment '{"text": "red"}' --queue --id q --session s
same "events lists it by the address of the card" "$("$HEDDLE" events kanban/cards/0 | grep -c cards/0/card1/comment)" 1
same "and not by that of another card" "$("$HEDDLE" events kanban/cards/1 2>&1)" 'heddle: no events are waiting'
run run kanban.lua --once
try "the next process that runs the board handles it" 0 1 '' get kanban/cards/0 view.comments

# ---- names that do not exist ----

try "a stream of a card with a typo" 1 '' "heddle: kanban/cards/1: the piece has no stream 'mvoe'; did you mean 'move'?" \
    send kanban/cards/1 mvoe
try "a card that never was" 1 '' "heddle: there is no piece kanban/cards/7 in *" send kanban/cards/7 move
try "a list that never was" 1 '' "heddle: there is no piece kanban/crads/1 in *" get kanban/crads/1
try "a board that never was" 1 '' "heddle: there is no piece kanbna in *" get kanbna/cards/1
try "a card cannot be set as a whole" 2 '' "heddle: 'card1' is a piece: *" set kanban/cards/1 card1 '"x"'
try "nor what it does not return" 1 '' "heddle: there is no 'card1/column' in this piece*" set kanban/cards/1 card1/column '"x"'
try "what a card computes cannot be set" 2 '' "heddle: 'view' is computed: *" set kanban/cards/1 view 1
try "a state of a card can" 0 '' '' set kanban/cards/1 comments '["a", "b"]'
try "and counts" 0 2 '' get kanban/cards/1 view.comments

# ---- looking ----

run ps
check "ps has the nodes of each card" grep -q 'cards/1/card1/view *computed' out.txt
check "and no others" sh -c '! grep -q "^ *#" out.txt'
run why kanban/cards/1 view
check "why takes the address and the node" grep -q 'cards/1/card1/view ran' out.txt
run why kanban/cards/1 veiw
check "why names the nodes of that card only" sh -c 'grep -q cards/1/card1/view err.txt && ! grep -q cards/0 err.txt'
run graph kanban/cards/1
check "graph shows one card" sh -c 'grep -q "cards/1/card1/view (computed" out.txt && ! grep -q cards/0 out.txt'
run log kanban/cards/1
check "log shows the commits of one card" sh -c 'grep -q "event cards/1/card1/move" out.txt && ! grep -q "event cards/0" out.txt'
seq=$(awk '/card1\/view of/ { print $1; exit }' out.txt)
try "show reads the past of a card" 0 '"doing"' '' show kanban/cards/1 view.column --at "$seq"

# ---- removing ----

# documents KEY: how many a card has.
documents() {
    "$HEDDLE" store show heddle-data/main.db | grep -c "piece:kanban/cards/$1\(/\|\"\|$\)"
}

check "a card has documents" test "$(documents 1)" -gt 3
try "it is removed" 0 '{}' '' send kanban remove '{"id": 2}'
try "and the board does not show it" 0 '{"doing":0,"done":0,"todo":1}' '' get kanban columns
same "its documents are gone" "$(documents 1)" 0
run ps
check "and so are its nodes" sh -c '! grep -q "^ *cards/1/\|^ *#" out.txt'
try "an event to it is refused" 1 '' "heddle: there is no piece kanban/cards/1 in *" send kanban/cards/1 move
try "its past is still there" 0 '"sing"' '' show kanban/cards/1 view.title --at "$seq"
try "the same title again is another card" 0 '{"id":3}' '' send kanban add '{"title": "sing"}'
try "with another key" 0 '{"column":"todo","comments":0,"title":"sing"}' '' get kanban/cards/2 view

# ---- processes ----

start runner run kanban.lua
runner=$pid
until_true says runner columns
try "a card comes while another process runs the board" 0 '{"id":4}' '' send kanban add '{"title": "dance"}'
until_true says runner dance
check "the runner shows it" says runner dance
for i in 1 2 3 4 5 6 7 8; do
    "$HEDDLE" send kanban/cards/3 comment "{\"text\": \"$i\"}" >"send$i.out" 2>"send$i.err" &
    senders="$senders $!"
done
for one in $senders; do
    wait "$one"
done
try "several processes send to one card at once" 0 8 '' get kanban/cards/3 view.comments
stop "$runner" KILL
try "after a kill the cards are as they were" 0 '{"column":"todo","comments":8,"title":"dance"}' '' get kanban/cards/3 view
try "and take events" 0 '{"count":9}' '' send kanban/cards/3 comment '{"text": "9"}'

# Removed while others send: each sender has a receipt, or is told why not; and
# nothing of the card is left.
start runner run kanban.lua
runner=$pid
until_true says runner columns
for _ in 1 2 3; do
    id=$("$HEDDLE" send kanban add '{"title": "brief"}' | tr -dc '0-9')
    key=$((id - 1))
    "$HEDDLE" get kanban columns >/dev/null
    senders=""
    for i in 1 2 3; do
        "$HEDDLE" send "kanban/cards/$key" comment '{"text": "late"}' >"late$i.out" 2>"late$i.err" &
        senders="$senders $!"
    done
    "$HEDDLE" send kanban remove "{\"id\": $id}" >/dev/null
    fine=yes
    i=0
    for one in $senders; do
        i=$((i + 1))
        wait "$one"
        code=$?
        if [ "$code" -eq 0 ]; then
            grep -q '"count"' "late$i.out" || fine="$(cat "late$i.out")"
        else
            grep -q 'there is no piece\|has no stream\|was removed' "late$i.err" || fine="$(cat "late$i.err")"
        fi
    done
    same "each sender to a card that is removed gets an answer" "$fine" yes
    "$HEDDLE" get kanban columns >/dev/null
    same "nothing of the card is left" "$(documents "$key")" 0
done
stop "$runner" TERM
check "the history is sound" "$HEDDLE" store check heddle-data/main.db

# ---- branches ----

run branch create draft
try "a card of a branch takes events" 0 '{"count":2}' '' send kanban/cards/0 comment '{"text": "blue"}' --branch draft
run send kanban add '{"title": "draw"}' --branch draft
run get kanban columns --branch draft
try "the main branch has neither" 0 1 '' get kanban/cards/0 view.comments
run branch merge draft
try "a merge brings what a card keeps" 0 2 '' get kanban/cards/0 view.comments
same "and the new card" "$("$HEDDLE" get kanban cards | grep -c '"title":"draw"')" 1

# ---- what can be set ----

cat >parts.lua <<'LUA'
local heddle = require "heddle"
local card = heddle.pattern("card", function(p)
  local about = p:arg("about")
  local late = p:state("late", 0, { schema = { type = "integer" } })
  local hidden = p:state("hidden", 0)
  local start = p:handler("start", function() late:increment() end, { schema = { type = "object" } })
  return { title = about:key("title"), late = late, start = start }
end)
local kid = heddle.pattern("kid", function(p)
  local n = p:state("n", 0)
  local inc = p:handler("inc", function() n:increment() end)
  return { n = n, inc = inc, twice = p:computed("twice", function() return n:get() * 2 end) }
end)
return heddle.pattern("parts", function(p)
  local list = p:state("list", { { id = 1, title = "a" }, { id = 2, title = "b" } })
  local cards = p:map(list, function(item) return p:piece(card, { about = item }) end, { name = "cards", key = "id" })
  local titles = p:map(list, function(item) return item:key("title"):get() end, { name = "titles", key = "id" })
  local words = p:task("words", function() return { program = "wc", args = { "-w" }, stdin = "a b" } end, { kind = "exec" })
  local lates = p:computed("lates", function() return { cards:get()[1].late, cards:get()[2].late } end)
  return { lates = lates, list = list, cards = cards, titles = titles, words = words, k = p:piece(kid, {}, { name = "k" }) }
end)
LUA
run run parts.lua --once
before=$("$HEDDLE" get parts)
# refused NAME SENTENCE ARGUMENT...: set is.
refused() {
    name=$1
    sentence=$2
    shift 2
    try "$name cannot be set" 2 '' "heddle: $sentence" set "$@"
}
refused "a card of a list" "'cards/0' is a piece: set one of its states ('heddle set parts/cards/0/card1 --help' lists them)" \
    parts cards/0 5
refused "nor deleted: it" "'cards/1' is a piece: *" parts cards/1 --delete
refused "a child" "'k' is a piece: set one of its states ('heddle set parts/k --help' lists them)" parts k 5
refused "a list of pieces" "'cards' is computed: set one of its inputs instead" parts cards '[]'
refused "an element that is computed" "'titles/0' is computed: *" parts titles/0 5
refused "the output of a task" "'words' is the output of a task: set one of its inputs instead" parts words 3
refused "nor forged: it" "'words' is the output of a task: *" parts words '{"state":"done","value":7}'
refused "a stream of a card" "'cards/0/start' is a stream: 'heddle send parts/cards/0/card1 start JSON'" parts cards/0/start 5
refused "by the address of the card, it" "'start' is a stream: *" parts/cards/0 start 5
refused "a stream of a child" "'inc' is a stream: 'heddle send parts/k inc JSON'" parts/k inc 5
refused "what a child computes" "'k/twice' is computed: *" parts k/twice 5
refused "the copy of an element" "'cards/0/title' is a copy of an element of the source list of 'cards': set it in that list" \
    parts cards/0/title '"z"'
try "a field that a card does not have" 1 '' "heddle: there is no 'lat' in this piece; did you mean 'late'?" set parts/cards/0 lat 1
# typed NAME SENTENCE LINE: repl refuses it as well.
typed() {
    printf '%s\n' "$3" | "$HEDDLE" repl >typed.txt 2>&1
    same "in repl: $1" "$(grep -v '^>' typed.txt)" "heddle: line:1: $2"
}
typed "what is computed" "'lates' of the piece 'parts' is computed: set one of its inputs instead" 'parts:cell("lates"):set(1)'
typed "what a child computes" "'k/twice' of the piece 'parts' is computed: set one of its inputs instead" 'parts:cell("k.twice"):delete()'
typed "a list of pieces" "'cards' of the piece 'parts' is computed: set one of its inputs instead" 'parts:cell("cards"):append(1)'
typed "an element that is computed" "'titles' of the piece 'parts' is computed: set one of its inputs instead" \
    'parts:cell("titles.0"):set(1)'
typed "the output of a task" "'words' of the piece 'parts' is the output of a task: set one of its inputs instead" \
    'parts:cell("words"):set({state = "done"})'
typed "a part of it" "'words' of the piece 'parts' is the output of a task: set one of its inputs instead" \
    'parts:cell("words.state"):set("done")'
typed "a stream" "'k/inc' of the piece 'parts' is a stream: send an event to it" 'parts:cell("k.inc"):set(1)'
typed "a stream of a card" "'card1/start' of the piece 'parts/cards/0' is a stream: send an event to it" \
    'parts:cell("cards.0.start"):set(1)'
typed "a child" "'k' of the piece 'parts' is a piece: set one of its states" 'parts:cell("k"):set(1)'
typed "a field that there is not" "'parts' is a piece: set one of its states" 'parts:cell("other"):set(1)'
same "nothing of it was written" "$("$HEDDLE" get parts)" "$before"
try "states of children are set by both addresses" 0 '' '' set parts cards/0/late 4
try "and of cards" 0 '' '' set parts/cards/1 late 5
try "and have the values" 0 '[4,5]' '' get parts lates

# ---- what help says of children ----

try "the help of a child lists its streams" 0 '{"piece":"parts/k","streams":{"inc":{}}}' '' send parts/k --help --json
try "or one of them" 0 '{"piece":"parts/k","streams":{"inc":{}}}' '' send parts/k inc --help --json
try "or its states" 0 '{"piece":"parts/k","states":{"n":{}},"arguments":{}}' '' set parts/k --help --json
streams='"streams":{"start":{"schema":{"type":"object"}}}}'
try "the help of a card lists what is sent to it" 0 "{\"piece\":\"parts/cards/1\",$streams" '' send parts/cards/1 --help --json
try "or one stream" 0 "{\"piece\":\"parts/cards/1\",$streams" '' send parts/cards/1 start --help --json
try "also by the child of the element" 0 "{\"piece\":\"parts/cards/1/card1\",$streams" '' send parts/cards/1/card1 --help --json
try "and by the name of the child" 0 '{"piece":"parts/cards/1","streams":{"card1/start":{"schema":{"type":"object"}}}}' '' \
    send parts/cards/1 card1/start --help --json
try "a stream that a card does not have" 1 '' "heddle: the piece parts/cards/1 has no stream 'strat'; did you mean 'start'?" \
    send parts/cards/1 strat --help
try "the help of a card lists the states that can be set" 0 \
    '{"piece":"parts/cards/1","states":{"late":{"schema":{"type":"integer"}}},"arguments":{}}' '' set parts/cards/1 --help --json
same "in words, too" "$("$HEDDLE" set parts/cards/1/card1 --help | grep '^  ')" '  late       integer'
try "the help of the piece lists those of its children that can be set" 0 \
    '{"piece":"parts","states":{"list":{},"k/n":{}},"arguments":{}}' '' set parts --help --json
try "completions are the same" 0 start '' completion streams parts/cards/1
try "for states, too" 0 n '' completion states parts/k

# ---- whole boards ----

try "a board is renamed with its cards" 0 '' '*' rename kanban board
try "they have another address" 0 '"paint"' '' get board/cards/0 view.title
try "and take events" 0 '{"from":"todo","to":"doing"}' '' send board/cards/0 move '{"to": "doing"}'
refuse_part() {
    run "$@"
    same "a card is no piece for $1" "$code $err" \
        "2 heddle: 'board/cards/0' is part of the piece 'board': give the whole piece; see 'heddle $1 --help'"
}
refuse_part rm board/cards/0 --yes
refuse_part rename board/cards/0 other
refuse_part export board/cards/0 card.json
run rm board --yes
same "a board is removed with its cards" "$("$HEDDLE" store show heddle-data/main.db | grep -c 'piece:board/cards')" 0

finish
