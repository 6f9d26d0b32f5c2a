#!/bin/sh
# Pieces and directories as a whole: rm, rename, export, import, backup.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

# States of the space and of a user, a computation, a list, a child, a piece
# that a handler launches, and an effect.
cat >board.lua <<'END'
local heddle = require "heddle"
local card = heddle.pattern("card", function(p)
  local n = p:state("n", 0)
  return { title = p:arg("title", "none"), n = n, more = p:handler("more", function() n:increment(1) return n:get() end) }
end)
return heddle.pattern("board", function(p)
  local items = p:state("items", heddle.array{})
  local theme = p:state("theme", "light", { scope = "user" })
  local count = p:computed("count", function() return #items:get() end)
  p:effect("tell", function() heddle.notify("count " .. count:get()) end)
  return {
    items = items, theme = theme, count = count, child = p:piece(card, { title = "inner" }),
    doubled = p:map(items, function(item) return item:get() * 2 end),
    add = p:handler("add", function(event) items:append(event) return #items:get() end),
    card = p:handler("card", function(event) return heddle.launch(card, { title = event }) end),
  }
end)
END
cat >other.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("other", function(p)
  local target = p:state("target", 0)
  return { n = p:computed("n", function() return target:key("count"):get() end), target = target }
end)
END
full='{"child":{"n":1,"title":"inner"},"count":2,"doubled":[2,4],"items":[1,2],"theme":"dark"}'

# alice ARGUMENT...: her result.
alice() {
    "$HEDDLE" "$@" --user alice 2>/dev/null
}

# fill DIR: a board with everything, and another piece that links to it.
fill() {
    alice run board.lua --once --dir "$1" >/dev/null
    alice send board add 1 --dir "$1" >/dev/null
    alice send board add 2 --dir "$1" >/dev/null
    alice set board child/n 1 --dir "$1"
    alice set board theme '"dark"' --dir "$1"
    launched=$(alice send board card '"hello"' --dir "$1" | sed 's/.*"id":"piece:\([^"]*\)".*/\1/')
    "$HEDDLE" run other.lua --once --dir "$1" >/dev/null 2>&1
    "$HEDDLE" set other target '{"/":{"link@1":{"id":"piece:board","path":["value"]}}}' --dir "$1"
    alice run board.lua --once --dir "$1" >/dev/null
    "$HEDDLE" get other n --dir "$1" >/dev/null 2>&1
}

# sound DIR: the file fits together.
sound() {
    "$HEDDLE" check --dir "$1"
}

fill heddle-data
same "a board" "$(alice get board)" "$full"
same "a card that its handler launched" "$(alice get "$launched" title)" '"hello"'

# ---- rename ----

try "a name that is taken" 2 '' "heddle: a piece other already exists" rename board other
try "a name that is none" 2 '' "heddle: the name of a piece must not contain '/'*" rename board a/b
try "a piece that is not there" 1 '' "heddle: there is no piece bord in ./heddle-data; did you mean 'board'?" rename bord wall
try "a launched piece keeps its name" 2 '' "heddle: $launched was launched by a handler and cannot be renamed" rename "$launched" x
start runs run board.lua --user alice
runner=$pid
check "a process runs it" until_true says runs "heddle: up to date"
try "then it is refused" 2 '' "heddle: the piece board is running in process $runner: stop that process first" rename board wall
try "and not removed" 2 '' "heddle: the piece board is running in process*" rm board --yes
stop "$runner" TERM
try "a piece gets another name" 0 '' 'heddle: wall renamed, 15 documents of 2 pieces; links in *' rename board wall
same "it has everything" "$(alice get wall)" "$full"
try "of the old name nothing is left" 1 '' "heddle: there is no piece board in*" get board
same "what links to it follows" "$(alice get other n)" 2
same "what it launched moves with it" "$(alice get "wall${launched#board}" title)" '"hello"'
same "it goes on" "$(alice send wall add 3)" 3
same "and computes" "$(alice get wall count)" 3
same "and so does what links to it" "$(alice get other n)" 3
same "a new board is another one" "$(alice run board.lua --once)" \
    '{"child":{"n":0,"title":"inner"},"count":0,"doubled":[],"items":[],"theme":"light"}'
check "the file fits together" sound heddle-data
check "the log calls it an edit" sh -c '"$1" log | grep -q "an external edit  *piece:wall"' sh "$HEDDLE"

# ---- rm ----

try "without a terminal it wants to be sure" 2 '' "heddle: not a terminal, so you cannot be asked: --yes removes without asking*" rm board
try "a piece that is not there" 1 '' "heddle: there is no piece bord in ./heddle-data; did you mean 'board'?" rm bord --yes
run rm board --yes
same "a piece is removed" "$code $err" "0 heddle: board removed, 10 documents"
try "it is gone" 1 '' "heddle: there is no piece board in*" get board
try "for programs" 0 '{"piece":"wall","pieces":2,"documents":15,"relinked":0}' '' rm wall --yes --json
try "with what it launched" 1 '' "heddle: there is no piece*" get "wall${launched#board}"
same "no document of it is left" "$("$HEDDLE" store show heddle-data/main.db --scope user:alice | grep -c 'piece:wall')" 0
check "the history shows it still" sh -c '"$1" log wall | grep -q piece:wall/items' sh "$HEDDLE"
check "the file fits together after it" sound heddle-data
same "a new one begins anew" "$(alice run board.lua --once --name wall)" \
    '{"child":{"n":0,"title":"inner"},"count":0,"doubled":[],"items":[],"theme":"light"}'

# ---- export and import ----

fill from
run export board board.jsonl --dir from
same "export" "$code $err" "0 heddle: board exported, 15 documents of 2 pieces"
try "never replaces a file" 3 '' "heddle: board.jsonl: File exists" export board board.jsonl --dir from
try "a piece that is not there" 1 '' "heddle: there is no piece bord in from; did you mean 'board'?" export bord x.jsonl --dir from
run import board.jsonl --dir to
same "import into a new directory" "$code $err" "0 heddle: board imported, 15 documents of 2 pieces"
same "everything is there" "$(alice get board --dir to)" "$full"
same "what it launched, too" "$(alice get "$launched" title --dir to)" '"hello"'
"$HEDDLE" export board again.jsonl --dir to 2>/dev/null
same "exported again it is the same" "$(tail -n +2 again.jsonl)" "$(tail -n +2 board.jsonl)"
try "what is there is refused" 2 '' "heddle: a piece board already exists" import board.jsonl --dir to
run import board.jsonl --dir to --name copy
same "under another name" "$code" 0
same "it is a copy" "$(alice get copy --dir to)" "$full"
same "with cards of its own" "$(alice get "copy${launched#board}" title --dir to)" '"hello"'
same "that goes its own way" "$(alice send copy add 7 --dir to)" 3
same "beside the first" "$(alice get board --dir to)" "$full"
run import board.jsonl --dir to --name copy --replace
same "or replaced" "$code" 0
same "it is as it was exported" "$(alice get copy --dir to)" "$full"
check "the copy fits together" sound to
"$HEDDLE" export --all all.jsonl --dir from 2>/dev/null
try "a space is not imported into another one" 2 '' "heddle: the space is not empty: --replace removes its data" \
    import all.jsonl --dir to
"$HEDDLE" import all.jsonl --dir to --replace 2>/dev/null
same "unless it replaces it" "$(alice get board --dir to)" "$full"
same "with all its pieces" "$(alice get other n --dir to)" 2
try "and no others" 1 '' "heddle: there is no piece copy in to; there are board, other" get copy --dir to
check "that fits together, too" sound to
head -n 3 board.jsonl >cut.jsonl
try "a file that was cut is refused" 2 '' "heddle: line 4: the file is truncated" import cut.jsonl --dir none
echo '{"format":"other"}' >wrong.jsonl
try "another one as well" 2 '' "heddle: line 1: this is not a heddle export" import wrong.jsonl --dir none
sed '1s/"version":1/"version":2/' board.jsonl >later.jsonl
try "and that of a later version" 2 '' "heddle: line 1: unknown version of the export format" import later.jsonl --dir none
"$HEDDLE" export board - --dir from | "$HEDDLE" import - --dir pipe 2>/dev/null
same "through a pipe" "$(alice get board --dir pipe)" "$full"

# ---- backup ----

start busy run board.lua --dir from --user alice
runner=$pid
check "a process is at work" until_true says busy "heddle: up to date"
try "its directory is copied" 0 '' 'heddle: 1 space copied to saved' backup saved --dir from
same "and is used as one" "$(alice get board --dir saved)" "$full"
check "the copy of a directory fits together" sound saved
try "what is there is not replaced" 2 '' "heddle: cannot create saved: Directory not empty" backup saved --dir from
mkdir empty
run backup empty --dir from --json
same "an empty directory will do" "$code $(printf '%s' "$out" | sed 's/"seq":[0-9]*/"seq":N/')" \
    '0 {"spaces":[{"file":"main.db","seq":N}],"together":true}'
stop "$runner" TERM
same "nothing else is left" "$(ls -d saved* empty*)" "$(printf 'empty\nsaved')"
try "a directory that is none" 1 '' "heddle: *" backup x --dir nowhere
cp -r from broken
echo garbage >broken/team.db
try "a space that cannot be read is not left out" 2 '' \
    "heddle: team.db cannot be copied: it is not a database; repair the file, or move it out of the directory" backup x --dir broken
check "and nothing was copied" test ! -e x

# ---- killed in the middle ----

# ---- timers in a file that was edited ----

cat >bell.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("bell", function(p)
  local ring = p:handler("ring", function() end)
  return { ring = ring }
end)
END
"$HEDDLE" run bell.lua --once --dir bells >/dev/null 2>&1
"$HEDDLE" send bell ring --every '0 9 * * 1-5' --zone UTC --id work --dir bells >/dev/null
"$HEDDLE" export --all bells.jsonl --dir bells 2>/dev/null
line=$(grep -n '"id":"receipt:timer:' bells.jsonl | cut -d: -f1)
edited() { # NAME WHY SED: an import of the edited file is refused with WHY
    sed "$3" bells.jsonl >edited.jsonl
    "$HEDDLE" import edited.jsonl --dir new >/dev/null 2>edited.err
    same "$1 is refused, with its path" "$? $(cat edited.err)" "2 heddle: line $line: document.event.$2"
}
edited "a due time that is none" "due must be an integer from 0 on" 's/"due":[0-9]*/"due":"soon"/'
edited "a due time too far away" "due must be before the year 10000" 's/"due":[0-9]*/"due":9999999999999999/'
edited "a timer without a due time" "due is missing: the id is that of a timer" 's/"due":[0-9]*,//'
edited "cron fields that are none" \
    "cron: cron fields are minute, hour, day of the month, month and day of the week: '0 9' has 2 of them" 's/"0 9 \* \* 1-5"/"0 9"/'
edited "a zone that is not known" \
    "zone: there is no time zone 'Mars/Base' on this system: names are those of the tz database, such as Europe/Berlin" \
    's/"zone":"UTC"/"zone":"Mars\/Base"/'
check "the file itself is imported" "$HEDDLE" import bells.jsonl --dir new
same "with its timer" "$("$HEDDLE" timers --dir new | grep -c ' work$')" 1

# ---- kills ----

cat >many.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("many", function(p)
  local list = p:state("list", heddle.array{})
  return { list = list, all = p:map(list, function(item) return item:get() end),
    fill = p:handler("fill", function() local t = heddle.array{} for i = 1, 1000 do t[i] = i end list:set(t) end) }
end)
END
"$HEDDLE" run many.lua --once --dir kill >/dev/null 2>&1
"$HEDDLE" send many fill --dir kill >/dev/null 2>&1
"$HEDDLE" run many.lua --once --dir kill >/dev/null 2>&1
now=many next=none
whole=yes
for delay in 0 0.002 0.005 0.01 0.02 0.03 0.05 0.1; do
    "$HEDDLE" rename "$now" "$next" --dir kill 2>/dev/null &
    sleep "$delay"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    if "$HEDDLE" get "$next" list --stored --dir kill >list.txt 2>/dev/null; then
        was=$now now=$next next=$was
    else
        "$HEDDLE" get "$now" list --stored --dir kill >list.txt 2>/dev/null || whole=no
    fi
    "$HEDDLE" get "$next" list --stored --dir kill >/dev/null 2>&1 && whole=no
    grep -q ',999,1000]' list.txt || whole=no
done
same "a rename that is killed has happened, or has not" "$whole" yes
check "and the file fits together" sound kill

# ---- pieces that a handler has named ----

cat >family.lua <<'END'
local heddle = require "heddle"
local kid = heddle.pattern("kid", function(p) return { n = p:state("n", 1) } end)
return heddle.pattern("family", function(p)
  local kids = p:state("kids", heddle.array{})
  return { kids = kids, add = p:handler("add", function(name) kids:append(heddle.launch(kid, {}, { name = name })) end) }
end)
END
for name in ann bob; do
    "$HEDDLE" run family.lua --once --dir named >/dev/null 2>&1
    "$HEDDLE" send family add "\"$name\"" --dir named >/dev/null 2>&1
done
try "a launched piece has the name that its handler gave" 0 '{"n":1}' '' get ann --dir named
"$HEDDLE" send family add '"ann"' --dir named >/dev/null 2>err.txt
same "and it is no name for another one" "$? $(grep -c "a piece named 'ann' already exists: launch it with another name" err.txt)" "1 1"
"$HEDDLE" ps --dir named >ps.txt 2>/dev/null
check "ps lists it" grep -q "^ann " ps.txt
try "it cannot be renamed" 2 '' "heddle: ann was launched by a handler and cannot be renamed" rename ann eve --dir named
"$HEDDLE" export family family.jsonl --dir named >/dev/null 2>&1
try "a copy would need its name" 2 '' "heddle: a piece ann already exists" import family.jsonl --name copy --dir named
"$HEDDLE" import family.jsonl --name copy --dir empty >/dev/null 2>&1
try "which is free elsewhere" 0 '{"kids":[{"n":1},{"n":1}]}' '' get copy --dir empty
"$HEDDLE" rename family clan --dir named >/dev/null 2>&1
try "its launcher can be renamed" 0 '{"kids":[{"n":1},{"n":1}]}' '' get clan --dir named
"$HEDDLE" rm ann --yes --dir named >/dev/null 2>&1
"$HEDDLE" run family.lua --name clan --once --dir named >out.txt 2>&1
same "and starts without it when it is removed" "$? $(grep -c "no piece" out.txt)" "0 0"
try "the name is free then" 0 '{}' '' send clan add '"ann"' --dir named
try "for a new piece" 0 '{"n":1}' '' get ann --dir named
"$HEDDLE" rm clan --yes --dir named >/dev/null 2>&1
try "and all go with the launcher" 1 '' "heddle: there is no piece bob in *" get bob --dir named
check "the file is whole" sound named

finish
