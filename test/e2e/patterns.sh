#!/bin/sh
# Files of patterns as people edit them, and the pieces that come of them: a
# file that breaks while it runs, files with several patterns, and pieces that a
# handler has launched, which every command knows by name.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

# ---- a file that breaks while it runs ----

# edited METHOD FACTOR: the file with the name of a method and a number.
edited() {
    cat >edited.new <<END
local heddle = require "heddle"
local words = require "words"
return heddle.pattern("edited", function(p)
  local n = p:state("n", 2)
  local bump = p:handler("bump", function() n:increment(1) end)
  return { n = n, word = words.word, times = p:$1("times", function() return n:get() * $2 end), bump = bump }
end)
END
    mv edited.new edited.lua
}

echo 'return { word = "one" }' >words.lua
edited computed 10
start watch run edited.lua --watch
watch=$pid
check "a file that is watched" until_true says watch '{"n":2,"times":20,"word":"one"}'
edited computd 10
check "one that fails while the piece is built is told" until_true says watch "computd"
check "and what ran goes on" until_true says watch "heddle: the previous version keeps running"
run send edited bump
same "other commands see the file that is broken" "$code" 2
try "a state can be set" 0 '' '' set edited n 3
check "and what ran before computes" until_true says watch '{"n":3,"times":30,"word":"one"}'
edited computed 100
check "the next edit is tried" until_true says watch '{"n":3,"times":300,"word":"one"}'
echo 'return { word = nil' >words.lua
check "a module that breaks is told" until_true says watch "words.lua:"
try "what ran goes on" 0 '' '' set edited n 4
check "with the module as it was" until_true says watch '{"n":4,"times":400,"word":"one"}'
echo 'return { word = "two" }' >words.lua
check "and its next edit is tried" until_true says watch '{"n":4,"times":400,"word":"two"}'
edited computd 1
check "broken once more" until_true sh -c 'test "$(grep -c computd watch.err)" -ge 2'
echo 'return { word = "three" }' >words.lua
edited computed 1
check "a module and the file may change together" until_true says watch '{"n":4,"times":4,"word":"three"}'
stop "$watch" TERM
same "it has not ended before" "$code" 0
try "the last version has stayed" 0 '{"n":4,"times":4,"word":"three"}' '' get edited

# ---- a file with several patterns ----

cat >shop.lua <<'END'
local heddle = require "heddle"
return {
  order = heddle.pattern("order", function(p)
    local count = p:state("count", 1)
    local more = p:handler("more", function() count:increment(1) return count:get() end)
    return { count = count, twice = p:computed("twice", function() return count:get() * 2 end), more = more }
  end),
  cart = heddle.pattern("cart", function(p) return { items = p:state("items", 7) } end),
}
END
try "it has to be chosen from" 2 '' \
    "heddle: $scratch/shop.lua returns several patterns: choose one with --pattern NAME, of cart, order" run shop.lua --once
try "by one of these names" 2 '' "heddle: $scratch/shop.lua returns no pattern card: there are cart, order" \
    run shop.lua --once --pattern card
try "the piece is called as the pattern" 0 '{"count":1,"twice":2}' '*' run shop.lua --once --pattern order
try "its stream" 0 2 '' send order more
try "its result" 0 '{"count":2,"twice":4}' '' get order
try "another one of that file" 0 '{"items":7}' '*' run shop.lua --once --pattern cart --name basket
try "is taken up without a choice" 0 '{"items":7}' '*' run shop.lua --once --name basket
try "and read" 0 7 '' get basket items
try "a piece does not change its pattern" 2 '' "heddle: the piece basket is of the pattern cart, not of order:*" \
    run shop.lua --once --name basket --pattern order
try "of one pattern, its name may be given" 0 '{"n":4,"times":4,"word":"three"}' '*' \
    run edited.lua --once --pattern edited

# ---- pieces that a handler has launched ----

cat >office.lua <<'END'
local heddle = require "heddle"
local note = heddle.pattern("note", function(p)
  local text = p:arg("text", "")
  local edits = p:state("edits", 0)
  local length = p:computed("length", function() return #text:get() + edits:get() end)
  local edit = p:handler("edit", function() edits:increment(1) return edits:get() end)
  return { text = text, length = length, edit = edit }
end)
local drawer = heddle.pattern("drawer", function(p)
  local put = p:handler("put", function(event) return heddle.launch(note, { text = event.text }) end)
  return { put = put }
end)
return heddle.pattern("office", function(p)
  local open = p:handler("open", function() return heddle.launch(drawer, {}) end)
  return { open = open }
end)
END

# launched: the name of the piece whose link was printed last.
launched() {
    sed -n 's/.*"id":"piece:\([^"]*\)".*/\1/p' out.txt
}

run run office.lua --once
run send office open
same "a handler launches a piece" "$code" 0
drawer=$(launched)
run send "$drawer" put '{"text": "four"}'
same "which has streams" "$code" 0
note=$(launched)
try "and launches others" 0 '{"length":4,"text":"four"}' '' get "$note"
try "they are sent to" 0 1 '' send "$note" edit
try "and read" 0 5 '' get "$note" length
try "and set" 0 '' '' set "$note" edits 6
try "which counts" 0 10 '' get "$note" length
first=$("$HEDDLE" log "$note" | sed -n 's/^\([0-9]*\) .* node length of .*/\1/p' | head -n 1)
try "as it was" 0 4 '' show "$note" length --at "$first"
try "with a word on why" 0 "$("$HEDDLE" why "$note" length)" '' why "$note" length
check "that names the state" grep -qF "piece:$note/edits" out.txt
try "and on why not" 0 "$("$HEDDLE" why-not "$note" length)" '' why-not "$note" length
run graph "$note"
check "the graph knows it" grep -q "^length (computed, clean) <- edits, text" out.txt
run ps
for name in office "$drawer" "$note"; do
    check "ps lists $(echo "$name" | sed 's/~.*/ launched/')" grep -q "^$name " out.txt
done
run log
same "the log knows their starts" "$(grep -c "start of $drawer \|start of $note " out.txt)" 2
same "and takes none for an edit but the one that was" \
    "$(grep "an external edit" out.txt | grep -c "piece:office")" 1
run log "$note"
same "of one alone" "$(grep -c "start of $note " out.txt) $(grep -c "$drawer set" out.txt)" "1 0"
start keeper run office.lua
keeper=$pid
check "a process that runs the first one" until_true says keeper "heddle: up to date"
run ps
check "has all of them started" grep -q "^$note  *started by run" out.txt
try "an event meanwhile" 0 7 '' send "$note" edit
stop "$keeper" KILL
try "after a kill they are as they were" 0 11 '' get "$note" length
try "a name that there is not" 1 '' "heddle: there is no piece $note-x in *" get "$note-x"

finish
