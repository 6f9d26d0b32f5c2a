#!/bin/sh
# Schemas that a pattern declares, as users meet them: what does not fit is
# refused with its path and leaves nothing behind, in the process that runs the
# piece, in commands, in processes that do not have the pattern's file, after
# restarts and kills, and after the piece was renamed or imported.
#
# What `until_true` is given to run, shellcheck takes for unreachable:
# shellcheck disable=SC2317

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

cat >kanban.lua <<'LUA'
local heddle = require "heddle"

local card = {
  type = "object",
  required = { "title" },
  additionalProperties = false,
  properties = {
    title  = { type = "string", minLength = 1, maxLength = 20, description = "what the card says" },
    column = { enum = { "todo", "doing", "done" }, default = "todo" },
    tags   = { type = "array", items = { type = "string" }, maxItems = 2 },
  },
}

return heddle.pattern("kanban", function(p)
  local limit = p:arg("limit", 3, { schema = { type = "integer", minimum = 1 } })
  local cards = p:state("cards", heddle.array{}, { schema = { type = "array", items = card } })
  local name  = p:state("name", "board", { schema = { type = "string", title = "the name of the board" } })
  local count = p:computed("count", function() return #cards:get() end)
  local add = p:handler("add", function(event)
    cards:append{ title = event.title, column = event.column }
    return { count = #cards:get() }
  end, { schema = card })
  local copy = p:handler("copy", function(event) heddle.send(add, { title = event.title }) end)
  local break_name = p:handler("break_name", function() name:set(5) end)
  local clear = p:handler("clear", function() cards:set(heddle.array{}) end)
  return { limit = limit, cards = cards, name = name, count = count,
           add = add, copy = copy, break_name = break_name, clear = clear }
end)
LUA

# stored: how many commits the space has, and what is there: a refusal leaves both.
stored() {
    "$HEDDLE" log --json | wc -l
    "$HEDDLE" get kanban --stored
}

# refused NAME CODE SENTENCE ARGUMENT...: fails with the sentence and leaves no trace.
refused() {
    name=$1 want=$2 sentence=$3
    shift 3
    before=$(stored)
    run "$@"
    if [ "$code" -ne "$want" ] || [ "$out" != "" ] || [ "$err" != "heddle: $sentence" ]; then
        not_ok "$name" "exit code $code, expected $want" "stdout:   $out" "stderr:   $err" "expected: heddle: $sentence"
    else
        same "$name, and leaves nothing behind" "$(stored)" "$before"
    fi
}

# ---- one process after the other ----

board='{"cards":[],"count":0,"limit":3,"name":"board"}'
try "a pattern with schemas runs" 0 "$board" 'heddle: kanban is new*' run kanban.lua --once
try "a payload that fits is handled" 0 '{"count":1}' '' send kanban add '{"title":"weave"}'
same "its defaults are filled in" "$("$HEDDLE" get kanban cards)" '[{"column":"todo","title":"weave"}]'
refused "a payload of another type is refused" 2 \
    "kanban/add: the payload at /title: must be string, not integer" send kanban add '{"title":5}'
refused "so is one that lacks a key" 2 "kanban/add: the payload at /title: is missing" send kanban add '{}'
refused "so is none at all" 2 "kanban/add: the payload: must be object, not null" send kanban add
refused "so is one that is to be queued" 2 \
    "kanban/add: the payload at /x: must be absent" send kanban add '{"title":"a","x":1}' --queue
refused "and one with an id" 2 "kanban/add: the payload at /title: must be string, not integer" \
    send kanban add '{"title":5}' --id 1 --session me
try "whose id is not spent" 0 '{"count":2}' '' send kanban add '{"title":"spin"}' --id 1 --session me
try "a handled one has its receipt" 0 '{"count":2}' '' send kanban add '{"title":"spin"}' --id 1 --session me
try "nothing waits" 0 '' 'heddle: no events are waiting' events kanban
refused "a handler that sends what does not fit fails" 1 \
    "kanban/copy: $scratch/kanban.lua:23: the payload at /title: must have 1 characters or more" send kanban copy '{"title":""}'
refused "a handler that writes what does not fit fails" 1 \
    "kanban/break_name: $scratch/kanban.lua:24: piece:kanban/name does not match its schema: must be string, not integer" \
    send kanban break_name

# ---- heddle set ----

refused "set refuses what does not fit" 2 \
    "cards/0/title: piece:kanban/cards does not match its schema at /0/title: must be string, not integer" \
    set kanban cards/0/title 5
refused "set refuses an element that does not fit" 2 \
    "cards: piece:kanban/cards does not match its schema at /2/title: is missing" set kanban cards '{}' --append
refused "set refuses to delete what is required" 2 \
    "cards/0/title: piece:kanban/cards does not match its schema at /0/title: is missing" set kanban cards/0/title --delete
try "set takes what fits" 0 '' '' set kanban cards/0/title '"wind"'
same "and it is there" "$("$HEDDLE" get kanban cards/0)" '{"column":"todo","title":"wind"}'
refused "an argument has a schema, too" 2 "limit: piece:kanban/limit does not match its schema: must be 1 or more" \
    set kanban limit 0

# ---- what a piece takes ----

try "the help of a piece lists its streams and their payloads" 0 \
    'usage: heddle send [OPTION...] kanban STREAM [JSON]

Streams of kanban:
  add        object
    column     "todo", "doing" or "done", default "todo"
    tags       array of string, at most 2 elements
    title      string, 1 to 20 characters, required: what the card says
  break_name anything
  clear      anything
  copy       anything

'"'heddle send --help' explains the command and its options." '' send kanban --help
try "or one of them" 0 'usage: heddle send [OPTION...] kanban STREAM [JSON]

Streams of kanban:
  copy       anything

'"'heddle send --help' explains the command and its options." '' send kanban copy --help
try "a stream that it does not have" 1 '' "heddle: the piece kanban has no stream 'ad'; did you mean 'add'?" \
    send kanban ad --help
try "the same as JSON" 0 \
    '{"piece":"kanban","streams":{"add":{"schema":{"additionalProperties":false,"properties":{"column":{"default":"todo",'\
'"enum":["todo","doing","done"]},"tags":{"items":{"type":"string"},"maxItems":2,"type":"array"},"title":{"description":'\
'"what the card says","maxLength":20,"minLength":1,"type":"string"}},"required":["title"],"type":"object"}}}}' '' \
    send kanban add --help --json
try "states and arguments" 0 'usage: heddle set [OPTION...] kanban PATH [JSON]

States of kanban:
  cards      array of object
    column     "todo", "doing" or "done", default "todo"
    tags       array of string, at most 2 elements
    title      string, 1 to 20 characters, required: what the card says
  name       string: the name of the board

Arguments of kanban:
  limit      integer, at least 1

'"'heddle set --help' explains the command and its options." '' set kanban --help
try "the state of a path" 0 '{"piece":"kanban","states":{},"arguments":{"limit":{"schema":{"minimum":1,"type":"integer"}}}}' '' \
    set kanban limit/0 --help --json
try "a piece that there is not" 1 '' "heddle: there is no piece kanbn in ./heddle-data; did you mean 'kanban'?" \
    send kanbn --help
try "the names of pieces" 0 'kanban' '' completion pieces
try "of streams" 0 'add
break_name
clear
copy' '' completion streams kanban
try "and of states" 0 'cards
name' '' completion states kanban

# completes WORD...: what bash offers for the last word.
completes() {
    # shellcheck disable=SC2016
    bash -c 'eval "$("$HEDDLE" completion bash)"
        heddle() { "$HEDDLE" "$@"; }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _heddle && echo "${COMPREPLY[*]}"' bash "$@"
}
same "bash completes commands" "$(completes heddle se)" "serve send set"
same "pieces" "$(completes heddle send k)" "kanban"
same "streams" "$(completes heddle send --timeout 500 kanban c)" "clear copy"
same "states, of a directory" "$(completes heddle set --dir heddle-data kanban n)" "name"
same "and options" "$(completes heddle send kanban add --q)" "--queue"

# Names of other people's patterns are words, not code.
cat >names.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("names", function(p)
  for _, name in ipairs{ "$(touch oops)", "`touch oops`", "a b", "-x", "fine", "\27[31m" } do p:handler(name, function() end) end
  p:state("s", nil, { schema = { description = "one\ntwo \27[31m" } })
  return {}
end)
LUA
try "a pattern with names that a shell would expand" 0 '{}' 'heddle: names is new*' run names.lua --once --dir names
same "they are not offered" "$(completes heddle send --dir names names '' | cut -d' ' -f1-2)" "fine --dir"
check "nor run" test ! -e oops
same "what patterns say is shown on one line" "$("$HEDDLE" set names --help --dir names | grep '^  s')" \
    '  s          anything: one\x0atwo \x1b[31m'
rm -rf names

# ---- pieces as arguments ----

cat >viewer.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("viewer", function(p)
  local board = p:arg("board")
  local cards = p:arg("cards")
  local limit = p:arg("limit", 1, { schema = { type = "integer" } })
  local count = p:computed("count", function() return #board:key("cards"):get() * limit:get() end)
  local add = p:handler("add", function(event) heddle.send(board:key("add"), event) end)
  return { count = count, limit = limit, first = cards:key(1), add = add }
end)
LUA
same "a piece is an argument by its name" \
    "$("$HEDDLE" run viewer.lua --once --arg board=piece:kanban --arg cards=piece:kanban/cards --arg limit=10 2>/dev/null)" \
    '{"count":20,"first":{"column":"todo","title":"wind"},"limit":10}'
try "which it can read" 0 '20' '' get viewer count
try "and send to" 0 '{}' '' send viewer add '{"title":"sew"}'
try "and follows" 0 '30' '' get viewer count
try "a piece that does not exist" 1 '' "heddle: there is no piece kanbn in ./heddle-data; did you mean 'kanban'?" \
    run kanban.lua --once --arg limit=piece:kanbn
try "a value that is no JSON" 2 '' 'heddle: --arg limit:*' run kanban.lua --once --arg limit=abc
try "an argument without a value" 2 '' "heddle: --arg takes NAME=VALUE, not 'limit'*" run kanban.lua --once --arg limit
try "an argument that is given twice" 2 '' "heddle: the argument 'limit' is given twice*" \
    run kanban.lua --once --args '{"limit":1}' --arg limit=2

# ---- without the file ----

mv kanban.lua away.lua
refused "without the file of the pattern, set refuses what does not fit" 2 \
    "cards/0/title: piece:kanban/cards does not match its schema at /0/title: must be string, not integer" \
    set kanban cards/0/title 5
try "and takes what fits" 0 '' '' set kanban cards/0/title '"dye"'

# Another piece, whose pattern knows nothing of kanban's.
cat >writer.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("writer", function(p)
  local board = p:arg("board")
  local first = p:handler("first", function(event) board:key("cards", 1, "title"):set(event) end)
  local add = p:handler("add", function(event) heddle.send(board:key("add"), event) end)
  return { first = first, add = add }
end)
LUA
link='{"board":{"/":{"link@1":{"id":"piece:kanban"}}}}'
try "a piece that writes to another one" 0 '{}' 'heddle: writer is new*' run writer.lua --once --args "$link"
refused "its handler is refused what does not fit" 1 \
    "writer/first: $scratch/writer.lua:4: piece:kanban/cards does not match its schema at /0/title: must be string, not integer" \
    send writer first 5
try "and may write what fits" 0 '{}' '' send writer first '"full"'
same "which is there" "$("$HEDDLE" get kanban cards/0/title --stored)" '"full"'
refused "an event to the other piece is refused where it is sent" 1 \
    "writer/add: $scratch/writer.lua:5: the payload at /title: is missing" send writer add '{}'
try "no such event waits" 0 '' 'heddle: no events are waiting' events
same "its streams are still listed" "$("$HEDDLE" completion streams kanban | head -n 1)" "add"
mv away.lua kanban.lua

# ---- restarts and kills ----

"$HEDDLE" get kanban >/dev/null # so that a start has nothing to compute
start first run kanban.lua
runner=$pid
check "the piece is taken up" until_true says first "kanban resumed"
refused "while it runs, set refuses what does not fit" 2 \
    "name: piece:kanban/name does not match its schema: must be string, not integer" set kanban name 5
stop "$runner" KILL
refused "after a kill as well" 2 \
    "name: piece:kanban/name does not match its schema: must be string, not integer" set kanban name 5
before=$(stored)
try "a restart with the same schemas" 0 "$("$HEDDLE" get kanban)" 'heddle: kanban resumed*' run kanban.lua --once
same "writes nothing" "$(stored)" "$before"

# ---- arguments ----

try "an argument that does not fit is refused" 2 '' \
    "heddle: kanban.lua:15: the argument 'limit': must be integer, not string" \
    run kanban.lua --once --name other --args '{"limit":"x"}'
try "and the piece does not come to be" 1 '' 'heddle: there is no piece other*' get other --stored
refused "also of a piece that is there" 2 "kanban.lua:15: the argument 'limit': must be 1 or more" \
    run kanban.lua --once --args '{"limit":0}'

# ---- a schema that changes ----

sed 's/maxLength = 20/maxLength = 3/' kanban.lua >strict.lua
cp kanban.lua kept.lua
cp strict.lua kanban.lua
run run kanban.lua --once
same "data that does not fit a new schema is told" "$(grep -F schema err.txt)" \
    "heddle: kanban: the state 'cards' does not match its schema at /0/title: must have 3 characters or fewer; its data is kept, \
and writes that change this part must make it match"
same "and kept" "$("$HEDDLE" get kanban cards/0/title)" '"full"'
run run kanban.lua --once
same "it is told once" "$(grep -F schema err.txt)" ""
refused "the new schema holds" 2 \
    "cards/1/title: piece:kanban/cards does not match its schema at /1/title: must have 3 characters or fewer" \
    set kanban cards/1/title '"long"'
try "other parts can be written" 0 '' '' set kanban cards/0/column '"done"'
try "and the part can be made right" 0 '' '' set kanban cards/0/title '"cut"'
cp kept.lua kanban.lua
try "the old schema is back" 0 "$("$HEDDLE" get kanban --stored)" 'heddle: kanban resumed*' run kanban.lua --once
try "and holds" 0 '' '' set kanban cards/1/title '"long"'
sed 's/, { schema = { type = "string".*/)/' kept.lua >kanban.lua
run run kanban.lua --once
try "a schema that is gone does not hold" 0 '' '' set kanban name 5
cp kept.lua kanban.lua
run run kanban.lua --once
same "one that is new is told" "$(grep -F schema err.txt)" \
    "heddle: kanban: the state 'name' does not match its schema: must be string, not integer; its data is kept, \
and writes that change this part must make it match"
try "a value of the right type is taken" 0 '' '' set kanban name '"mine"'

sed '/local copy/d; s/copy = copy, //' kept.lua >kanban.lua
run run kanban.lua --once
same "a stream that is no longer declared is not listed" "$("$HEDDLE" completion streams kanban | tr '\n' ' ')" \
    "add break_name clear "
cp kept.lua kanban.lua
run run kanban.lua --once
same "and is again when it is" "$("$HEDDLE" completion streams kanban | tr '\n' ' ')" "add break_name clear copy "

# A process that runs an earlier version of the file obeys what is stored.
start old run kept.lua --name kanban
runner=$pid
check "a process runs the piece" until_true says old "kanban resumed"
cp strict.lua kanban.lua
run run kanban.lua --once
check "another process brings another schema" until_true sh -c "! '$HEDDLE' set kanban cards/0/title '\"longer\"' 2>/dev/null"
stop "$runner" TERM
cp kept.lua kanban.lua
run run kanban.lua --once

# ---- whole pieces ----

try "a renamed piece" 0 '' '*' rename kanban board
try "has its schemas" 2 '' 'heddle: name: piece:board/name does not match its schema: must be string, not integer' \
    set board name 5
try "so has a copy" 0 '' '*' export board board.jsonl
try "that was imported" 0 '' '*' import board.jsonl --name copy
try "under another name" 2 '' 'heddle: name: piece:copy/name does not match its schema: must be string, not integer' \
    set copy name 5
try "a branch" 0 '' '*' branch create draft
try "has them, too" 2 '' 'heddle: name: piece:board/name does not match its schema: must be string, not integer' \
    set board name 5 --branch draft
try "a piece that was removed" 0 '' '*' rm copy --yes
sed 's/, { schema = { type = "string".*/)/' kept.lua >plain.lua
run run plain.lua --once --name copy
try "leaves none to the next one of its name" 0 '' '' set copy name 5

# ---- schemas that are none ----

# bad NAME SENTENCE SCHEMA: a pattern with that schema does not start.
bad() {
    rm -rf bad
    printf 'local heddle = require "heddle"\nreturn heddle.pattern("bad", function(p)\n%s\nreturn {} end)\n' \
        "p:state('s', nil, { schema = $3 })" >bad.lua
    run run bad.lua --once --dir bad
    case "$err" in
    "heddle: bad.lua:3: $2"*) ok "$1" ;;
    *) not_ok "$1" "stderr:   $err" "expected: heddle: bad.lua:3: $2" ;;
    esac
}

bad "an unknown keyword" "the schema of 's' at /properties/a/pattern: " '{ properties = { a = { pattern = "x" } } }'
bad "a keyword that is misspelt" "the schema of 's' at /minimun: unknown keyword 'minimun'; did you mean 'minimum'?" \
    '{ minimun = 1 }'
bad "a type that does not exist" "the schema of 's' at /type: " '{ type = "text" }'
bad "a schema that is a number" "the schema of 's': a schema must be an object or a boolean, not integer" '5'
bad "a list without a tag is an object" "the schema of 's' at /required: " '{ required = {} }'
bad "a default that does not fit" "the schema of 's' at /default: " '{ type = "string", default = 5 }'
bad "text that is not UTF-8" "" '{ description = "\xff" }'
bad "a schema that is too deep" "the schema of 's' at " \
    '(function() local s = {}; for _ = 1, 70 do s = { items = s } end; return s end)()'
bad "one of too many parts" "the schema of 's' at " \
    '(function() local s = {}; for i = 1, 10001 do s["k" .. i] = {} end; return { properties = s } end)()'
bad "an initial value that does not fit" "the initial value of 't': must be integer, not string" \
    'true }) p:state("t", "x", { schema = { type = "integer" }'

# At the limits: 9,999 parts, 64 levels, 100,000 words.
cat >large.lua <<'LUA'
local heddle = require "heddle"
local many, words, deep = {}, {}, { type = "integer" }
for i = 1, 9999 do many["k" .. i] = { type = "integer" } end
for i = 1, 100000 do words[i] = "word " .. i end
for _ = 1, 63 do deep = { items = deep } end
return heddle.pattern("large", function(p)
  local m = p:state("m", {}, { schema = { properties = many } })
  local w = p:state("w", "word 1", { schema = { enum = words } })
  local d = p:state("d", nil, { schema = deep })
  return { m = m, w = w, d = d }
end)
LUA
try "schemas at the limits" 0 '{"m":{},"w":"word 1"}' 'heddle: large is new*' run large.lua --once
try "hold: the last of many parts" 2 '' \
    'heddle: m/k9999: piece:large/m does not match its schema at /k9999: must be integer, not string' set large m/k9999 '"x"'
try "the last of many words" 0 '' '' set large w '"word 100000"'
try "and none of them" 2 '' 'heddle: w: piece:large/w does not match its schema: *' set large w '"word 100001"'
deep=$(printf '[%.0s' $(seq 63))5$(printf ']%.0s' $(seq 63))
wrong=$(printf '[%.0s' $(seq 63))'""'$(printf ']%.0s' $(seq 63))
try "the deepest part fits" 0 '' '' set large d "$deep"
try "or is refused" 2 '' 'heddle: d: piece:large/d does not match its schema at /0/0*' set large d "$wrong"

# A payload of 100,000 elements, and one of them is wrong.
cat >bulk.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("bulk", function(p)
  local list = p:state("list", heddle.array{}, { schema = { items = { type = "integer" } } })
  local put = p:handler("put", function(event) list:set(event) return #list:get() end, { schema = { items = { type = "integer" } } })
  return { put = put }
end)
LUA
run run bulk.lua --once
seq 100000 | sed '1s/^/[/; $!s/$/,/; $s/$/]/' >numbers.json
sed 's/^99999,/"x",/' numbers.json >wrong.json
"$HEDDLE" send bulk put - <numbers.json >out.txt 2>err.txt
same "a large payload fits" "$(cat out.txt)" "100000"
"$HEDDLE" send bulk put - <wrong.json >out.txt 2>err.txt
same "or not, with the path" "$(cat err.txt)" "heddle: bulk/put: the payload at /99998: must be integer, not string"
"$HEDDLE" set bulk list - <wrong.json >out.txt 2>err.txt
same "so with set" "$(cat err.txt)" "heddle: list: piece:bulk/list does not match its schema at /99998: must be integer, not string"

# ---- pieces in a list ----

cat >many.lua <<'END'
local heddle = require "heddle"
local one = heddle.pattern("one", function(p)
  local n = p:state("n", 0)
  return { n = n, set = p:handler("set", function(event) n:set(event) end, { schema = { type = "integer" } }) }
end)
return heddle.pattern("many", function(p)
  local list = p:state("list", heddle.array{ 1, 2 })
  return { all = p:map(list, function() return p:piece(one, {}) end, { name = "all" }) }
end)
END
run run many.lua --once
try "an event to a piece in a list has to fit" 2 '' 'heddle: many/all/0/set: the payload: must be integer, not string' \
    send many/all/0 set '"x"'
try "also if it is queued" 2 '' 'heddle: many/all/1/set: the payload: must be integer, not string' send many/all/1 set '"x"' --queue
try "and one that fits is handled" 0 '{}' '' send many/all/1 set 5
try "nothing else is" 0 '[{"n":0},{"n":5}]' '' get many all

finish
