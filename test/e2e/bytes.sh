#!/bin/bash
# Bytes that are not UTF-8. The name of a file or directory has any bytes and
# works; the name of a piece, a stream, a user, a path, an id is text, or it is
# refused before anything is stored. A space of a version that took them is
# mended by `heddle check --repair`.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

"$HEDDLE" new list >/dev/null

# refused NAME SENTENCE WORD...: with code 2 and that beginning, as valid text;
# and nothing is left of it.
refused() {
    name=$1 want=$2
    shift 2
    try "$name" 2 '' "$want" "$@"
    check "$name: what is shown is text" iconv -f UTF-8 -t UTF-8 -o /dev/null err.txt
}

# ---- names ----

"$HEDDLE" run list.lua --once >/dev/null 2>&1
"$HEDDLE" send list add '{"text": "one"}' >/dev/null
refused "the name of a piece" "heddle: --name must be UTF-8, and 'caf\xe9' is not*" run list.lua --once --name $'caf\xe9'
refused "a name that comes from the file" \
    "heddle: 'caf\xe9' cannot be the name of a piece: it is not UTF-8; choose a name with --name*" run $'caf\xe9.lua' --once
refused "the name of a pattern" "heddle: --pattern must be UTF-8*" run list.lua --once --pattern $'\xff'
refused "a user" "heddle: --user must be UTF-8*" run list.lua --once --user $'m\xfcller'
refused "a piece to read" "heddle: PIECE must be UTF-8, and 'l\xff' is not*" get $'l\xff'
refused "a path to read" "heddle: PATH must be UTF-8*" get list $'items/\xff'
refused "a path to write" "heddle: PATH must be UTF-8, and 'items/0/x\xff' is not*" set list $'items/0/x\xff' 1
refused "half a character" "heddle: PATH must be UTF-8*" set list $'items/0/\xc3' 1
refused "a surrogate" "heddle: PATH must be UTF-8*" set list $'items/0/\xed\xa0\x80' 1
refused "a value" "heddle: JSON: line 1, column 2: expected UTF-8*" set list items/0/x $'"\xff"'
refused "a stream" "heddle: STREAM must be UTF-8*" send list $'add\xff' 1
refused "an event" "heddle: JSON: line 1, column 3: expected UTF-8*" send list add $'{"\xff":1}'
refused "the id of an event" "heddle: --id must be UTF-8*" send list add '{}' --id $'\xff' --session a
refused "the session of an event" "heddle: --session must be UTF-8*" send list add '{}' --id a --session $'\xff'
refused "arguments" "heddle: --args: line 1, column 3: expected UTF-8*" run list.lua --name other --once --args $'{"\xff":1}'
refused "a path of the past" "heddle: PATH must be UTF-8*" show list $'\xff'
refused "a node" "heddle: NODE must be UTF-8*" why list $'\xff'
refused "a piece of the log" "heddle: PIECE must be UTF-8*" log $'\xff'
refused "a piece of a graph" "heddle: PIECE must be UTF-8*" graph $'\xff'
refused "a piece to talk to" "heddle: PIECE must be UTF-8*" repl $'\xff'
refused "a pointer" "heddle: POINTER must be UTF-8*" value get --text '{}' $'/\xff'
refused "the id of a document" "heddle: ID must be UTF-8*" store show heddle-data/main.db $'\xff'
refused "a branch" "heddle: --branch must be UTF-8*" store show heddle-data/main.db --branch $'\xff'
refused "a command" "heddle: there is no command '\xff'*" $'\xff'
try "nothing of it is there" 0 '{"items":[{"done":false,"text":"one"}],"open":1}' '' get list
check "and the space is sound" "$HEDDLE" check
printf '{"session":"s","localSeq":1,"operations":[{"op":"set","id":"d\377","value":{"value":1}}]}' >commit.json
try "a commit as a message" 2 '' "heddle: commit.json: line 1, column 62: expected UTF-8*" store commit heddle-data/main.db commit.json

# ---- files ----

folder=$'d\xff\xc3'
mkdir "$folder"
cp list.lua "$folder/"$'caf\xe9.lua'
try "a file with any bytes in its name" 0 '{"items":[],"open":0}' "heddle: cafe is new*" run "$folder/"$'caf\xe9.lua' --name cafe --once
try "is found again by other commands" 0 '{"count":1}' '' send cafe add '{"text": "two"}'
try "and again" 0 '1' '' get cafe open
try "also from elsewhere" 0 '1' '' get cafe open --dir "$PWD/heddle-data"
cp list.lua 'a\x5cb\xff.lua'
try "a name with what looks like an escape" 0 '{"items":[],"open":0}' "heddle: plain is new*" run 'a\x5cb\xff.lua' --name plain --once
try "is that name" 0 '0' '' get plain open
cat >"$folder/wrong.lua" <<'LUA'
local heddle = require "heddle"
return heddle.pattern("wrong", function(p)
  return { n = p:computed("n", function() error("a\xff") end) }
end)
LUA
run run "$folder/wrong.lua" --once
same "an error in such a file" "$code" 1
check "is told as text" grep -qF 'heddle: wrong/n: d\xff\xc3/wrong.lua:3: a\xff' err.txt
check "and remembered as such" "$HEDDLE" check
try "a data directory with any bytes" 0 '{"items":[],"open":0}' "heddle: list is new*" run list.lua --once --dir "$folder/data"
try "is one like any other" 0 '{"count":1}' '' send list add '{"text": "three"}' --dir "$folder/data"
check "that is sound" "$HEDDLE" check --dir "$folder/data"
printf 'require "heddle.test"("name\377", function(t) t:eq(1, 2) end)\n' >"$folder/"$'test\xfe.lua'
run test "$folder/"$'test\xfe.lua' --json
same "a test file with any bytes runs" "$code" 1
check "and its result is JSON" python3 -c 'import json; json.load(open("out.txt", "rb"))'
run test "$folder/"$'test\xfe.lua'
check "or text" iconv -f UTF-8 -t UTF-8 -o /dev/null out.txt

# ---- a space that has them ----

mkdir old
python3 - "$ROOT/test/data/not_utf8.sql" <<'PYTHON'
import sqlite3, sys
sqlite3.connect("old/main.db").executescript(open(sys.argv[1]).read())
PYTHON
run check --dir old
same "such a space is not sound" "$code" 1
check "check says what helps" grep -qF "13 rows with bytes that are not UTF-8: 'heddle check --repair'" out.txt
cp -r old damaged
run get list items --stored --dir old --timeout 300
same "what is wrong is told once" "$(grep -c "expected UTF-8" err.txt)" 1
run check --repair --dir old
same "repair mends it" "$code" 0
check "and says so" grep -qF ': 13 rows repaired (bytes that were not UTF-8 are \xNN now): 6 commits, 8 documents' out.txt
check "it is sound" "$HEDDLE" check --dir old
try "there is no more to mend" 0 'main.db: 6 commits, 8 documents, 0 snapshots, 0 actions: no error found' '' check --repair --dir old
try "what was written is there" 0 '[{"done":false,"text":"one","x\\xff":1}]' '' get list items --stored --dir old
try "also of the piece with that name" 0 '{"items":[],"open":0}' '' get 'caf\xe9' --stored --dir old
try "which goes on" 0 '{"items":[],"open":0}' 'heddle: caf\xe9 resumed*' run list.lua --name 'caf\xe9' --once --dir old
try "and takes events" 0 '{"count":1}' '' send 'caf\xe9' add '{"text": "four"}' --dir old
run log --dir old
check "its user is there" grep -qF 'session:m%5Cxfcller:' out.txt
try "the past can be read" 0 '[{"done":false,"text":"one"}]' '' show list items --at 3 --dir old
check "and backed up" "$HEDDLE" store backup old/main.db copy.db
check "which is sound" "$HEDDLE" store check copy.db

# From a history that was changed otherwise, nothing is made.
python3 - <<'PYTHON'
import sqlite3
db = sqlite3.connect("damaged/main.db")
db.execute("UPDATE revision SET data = '{\"value\":1}' WHERE document = 4")
db.commit()
PYTHON
# rows: the data of all revisions.
rows() {
    python3 -c 'import sqlite3
rows = sqlite3.connect("damaged/main.db").execute("SELECT hex(CAST(data AS BLOB)) FROM revision")
print(rows.fetchall())'
}

before=$(rows)
run check --repair --dir damaged
same "a history that does not hold is not mended" "$code" 1
check "which is said" grep -qF "the digest chain breaks at record 2" out.txt
same "its rows are as they were" "$(rows)" "$before"

finish
