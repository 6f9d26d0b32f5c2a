#!/bin/sh
# Children in other spaces, from outside: two files, several processes, kills
# between the commits of the two, events both ways, --space, removal.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

cat >board.lua <<'LUA'
local heddle = require "heddle"

local clock = heddle.pattern("clock", function(p)
  local base = p:arg("base", 0)
  local back = p:arg("back")
  local ticks = p:state("ticks", 0)
  local total = p:computed("total", function() return base:get() + ticks:get() end)
  local tick = p:handler("tick", function(event)
    ticks:increment(1)
    if event.tell then heddle.send(back, { n = ticks:get() }) end
    return { ticks = ticks:get() }
  end)
  return { total = total, ticks = ticks, tick = tick }
end)

local note = heddle.pattern("note", function(p)
  local text = p:arg("text", "")
  local seen = p:state("seen", 0)
  return { text = text, seen = seen, see = p:handler("see", function() seen:increment(1) end) }
end)

return heddle.pattern("board", function(p)
  local base = p:state("base", 10)
  local heard = p:state("heard", heddle.array{})
  local hear = p:handler("hear", function(event) heard:append(event.n) end)
  local clock = p:piece(clock, { base = base, back = hear }, { name = "clock", space = "team" })
  local double = p:computed("double", function() return (clock.total or 0) * 2 end)
  local kick = p:handler("kick", function(event) heddle.send(clock:key("tick"), event) end)
  local add = p:handler("add", function(event)
    return heddle.launch(note, { text = event.text }, { name = event.name, space = event.space or "notes" })
  end)
  return { clock = clock, base = base, double = double, heard = heard, kick = kick, add = add }
end)
LUA
cat >other.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("other", function(p) return { n = p:state("n", 1) } end)
LUA

# contains NAME TEXT PART
contains() {
    case "$2" in
    *"$3"*) ok "$1" ;;
    *) not_ok "$1" "got:      $2" "expected: $3" ;;
    esac
}

# How often the piece $2 was made in the space $1.
made() {
    "$HEDDLE" log --space "$1" | grep -c "start of $2 .*piece:$2 set"
}

# hold SPACE: another program has the write lock of its file until let_go.
cat >hold.py <<'PY'
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
PY
is_held() { grep -q held hold.out; }
hold() {
    rm -f let_go
    mkfifo let_go
    : >hold.out
    python3 hold.py "heddle-data/$1.db" >hold.out 2>&1 <let_go &
    holder=$!
    started="$started $holder"
    exec 3>let_go
    until_true is_held
}
let_go() {
    echo >&3
    exec 3>&-
    wait "$holder"
}
answers() { "$HEDDLE" "$@" >/dev/null 2>&1; }

# ---- a child in another space ----

try "the parent is run" 0 '{"base":10,"clock":{"ticks":0,"total":10},"double":20,"heard":[]}' \
    "heddle: board is new*" run board.lua --once
check "its child has a file of its own" test -f heddle-data/team.db
try "which has the child" 0 '{"ticks":0,"total":10}' '' get 'board~clock' --space team
try "the child has an address in its parent, too" 0 '10' '' get board/clock total
try "the parent's handler sends to it" 0 '{}' '' send board kick '{"tell": true}'
try "it has answered" 0 '[1]' '' get board heard
try "the parent's computation reads the child" 0 '22' '' get board double
try "an argument is read across spaces" 0 '' '' set board base 100
try "by the child" 0 '101' '' get 'board~clock' total --space team
try "an event can be sent to the child alone" 0 '{"ticks":2}' '' send 'board~clock' tick '{"tell": true}' --space team
try "which answers in the other space" 0 '[1,2]' '' get board heard
same "it was made once" "$(made team 'board~clock')" 1
try "the result of the child cannot be set" 2 '' \
    "heddle: 'clock' is a piece: set one of its states ('heddle set board~clock --space team --help' lists them)" \
    set board clock 5
try "nor a stream" 2 '' "heddle: 'clock.tick' is a stream: 'heddle send board~clock tick JSON --space team'" \
    set board clock.tick 5

start runner run board.lua
runner=$pid
until_true says runner '"double":204'
"$HEDDLE" set 'board~clock' ticks 50 --space team
check "a process that runs the parent sees a change of the child" until_true says runner '"double":300'
run ps --space team
contains "ps says that the parent's process has it started" "$out" \
    "board~clock  started by run (pid $runner); child of board in the space main"
try "the parent is in use" 2 '' "heddle: the piece board is running in process $runner: *" rm board --yes
stop "$runner" KILL
run why board double
contains "why names the other space that the node has read" "$out" \
    "it also reads the space team: 'heddle log --space team' lists the changes there"
run ps
contains "and so does ps" "$out" " the space team"

# ---- launched by a handler ----

try "a handler launches a piece elsewhere" 0 \
    '{"/":{"link@1":{"id":"piece:one","path":["value"],"space":"notes"}}}' '' send board add '{"name": "one", "text": "hi"}'
try "it is there" 0 '{"seen":0,"text":"hi"}' '' get one --space notes
try "and takes events" 0 '{}' '' send one see --space notes
run send board add '{"name": "one"}'
contains "a name that is taken is refused" "$code $err" \
    "a piece named 'one' already exists in the space 'notes': launch it with another name"
run send board add '{"name": "two", "space": "../x"}'
contains "a name that no space can have is refused" "$err" "the name of a space must not be "
check "and makes no file" test ! -e x.db
run ps
contains "ps lists the children elsewhere" "$out" "  child board~clock in the space team
  child one in the space notes"
same "also as JSON" "$("$HEDDLE" ps --json | tr ',' '\n' | grep -c '"space":"notes"')" 1

# ---- names ----

try "a space with a typo" 1 '' "heddle: there is no space 'temm' in ./heddle-data; did you mean 'team'?" get x --space temm
try "a space that never was" 1 '' "heddle: there is no space 'qqq' in ./heddle-data; there are main, notes, team" ps --space qqq
try "a space cannot be a path" 2 '' "heddle: the name of a space must not be *" get x --space ../heddle-data/team
try "main has no such piece" 1 '' "heddle: there is no piece board~clock in *" get 'board~clock'
try "a space of its own can be run" 0 '{"n":1}' "heddle: other is new*" run other.lua --once --space team
try "and looked into" 0 '1' '' show other n --space team
run why 'board~clock' total --space team
contains "why takes a space" "$out" "total ran"
run why-not 'board~clock' total --space team
same "so does why-not" "$code" 0
run graph 'board~clock' --space team
contains "so does graph" "$out" "total (computed"
start watcher watch 'board~clock' ticks --space team
until_true says watcher 50
"$HEDDLE" set 'board~clock' ticks 51 --space team
check "so does watch" until_true says watcher 51
stop "$pid" TERM
run branch create draft --space team
run branch list --space team
contains "so does branch" "$out" "draft"
run branch create draft
run get board --branch draft
contains "a piece with a child elsewhere does not start on a branch" "$code $err" \
    "a piece cannot have children in another space on the branch 'draft': a branch is of one space; use the branch 'main'"

# ---- a kill between the two commits ----

mkdir kill && cd kill || exit 1
cp ../board.lua ../other.lua ../hold.py .
run run other.lua --once --space team
hold team
start runner run board.lua
runner=$pid
check "the parent lands while the file of the child cannot be written to" until_true answers get board base --stored
stop "$runner" KILL
try "after a kill there is no child" 1 '' "heddle: there is no piece board~clock in *" get 'board~clock' --space team
let_go
try "the next start of the parent makes it" 0 '20' '' get board double
same "once" "$(made team 'board~clock')" 1

run run other.lua --once --space notes
hold notes
start sender send board add '{"name": "one", "text": "hi"}'
sender=$pid
check "a handler's commit lands while the piece that it launches cannot be made" until_true \
    sh -c '"$0" ps --json | grep -q "\"piece\":\"one\""' "$HEDDLE"
kill -9 "$sender"
wait "$sender" 2>/dev/null
let_go
try "after a kill there is no such piece" 1 '' "heddle: there is no piece one in *" get one --space notes
try "the next process that takes up the piece makes it" 0 '20' '' get board double
try "with its arguments" 0 '"hi"' '' get one text --space notes
same "once" "$(made notes one)" 1

# ---- a kill between an event and its handling in the other space ----

ticks() { "$HEDDLE" get 'board~clock' ticks --space team --stored; }
waiting() { "$HEDDLE" events "$@" 2>/dev/null | grep -c 'board~clock/tick\|board/hear'; }
has_waiting() { [ "$(waiting)" -eq 1 ]; }

hold team
start sender send board kick '{"tell": true}'
sender=$pid
check "the event is stored with the commit of its sender" until_true has_waiting
kill -9 "$sender"
wait "$sender" 2>/dev/null
let_go
same "after a kill it waits" "$(waiting)" 1
same "and was not handled" "$(ticks)" 0
try "a process of the child's space alone handles it" 0 '{"ticks":2}' '' send 'board~clock' tick '{}' --space team
try "the answer went back" 0 '[1]' '' get board heard
same "and nothing waits" "$(waiting) $(waiting --space team)" '0 0'

# The receipt is in the one file, and the other one does not know of it.
hold team
start sender send board kick '{}'
sender=$pid
check "another event is stored" until_true has_waiting
kill -9 "$sender"
wait "$sender" 2>/dev/null
let_go
hold main
start sender send 'board~clock' tick '{}' --space team
sender=$pid
are_four() { [ "$(ticks)" -eq 4 ]; }
check "it is handled, and its sender's space cannot be told" until_true are_four
kill -9 "$sender"
wait "$sender" 2>/dev/null
let_go
same "after a kill it waits" "$(waiting)" 1
run run board.lua --once
same "and is not handled again" "$(ticks)" 4
same "now nothing waits" "$(waiting) $(waiting --space team)" '0 0'

# ---- kills at any time, while events go both ways ----

"$HEDDLE" set 'board~clock' ticks 0 --space team
"$HEDDLE" set board heard '[]'
seed=${SEED:-$$}
echo "# seed $seed"
i=0
while [ "$i" -lt 12 ]; do
    i=$((i + 1))
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    start sender send board kick '{"tell": true}' --id "k$i" --session s
    sender=$pid
    sleep "0.0$((seed / 65536 % 10))$((seed / 1024 % 10))"
    kill -9 "$sender" 2>/dev/null
    wait "$sender" 2>/dev/null
    until "$HEDDLE" send board kick '{"tell": true}' --id "k$i" --session s >/dev/null 2>&1; do :; done
done
run run board.lua --once
try "each event was handled once" 0 "$i" '' get 'board~clock' ticks --space team
try "and so was each answer" 0 '[1,2,3,4,5,6,7,8,9,10,11,12]' '' get board heard
same "nothing waits" "$(waiting) $(waiting --space team)" '0 0'
try "both files are sound" 0 "$("$HEDDLE" check)" '' check
contains "which is what check says" "$out" "no error found"
try "check takes one space" 0 "$("$HEDDLE" check | grep '^team')" '' check --space team

# ---- two processes at once ----

mkdir ../two && cd ../two || exit 1
cp ../board.lua .
mkdir heddle-data
for n in 1 2 3 4; do
    start "both$n" run board.lua --once
    both="$both $pid"
done
for one in $both; do
    wait "$one"
done
same "several processes that make the parent at once make one child" "$(made team 'board~clock')" 1
try "which all of them see" 0 '20' '' get board double

# ---- a piece of that name that is not the child ----

mkdir ../taken && cd ../taken || exit 1
cp ../board.lua ../other.lua .
run run other.lua --once --space team --name 'board~clock'
run run board.lua --once
same "a parent without its child ends with 1" "$code" 1
contains "and says why" "$err" \
    "heddle: board~clock: the space 'team' has a piece 'board~clock' that is not the child of 'board': give the child another name"
try "the other piece is as it was" 0 '{"n":1}' '' get 'board~clock' --space team
run send board kick '{}'
contains "an event on its way to another space is listed for its sender" "$("$HEDDLE" events board)" 'kick of board'
run rm board --yes
try "and stays when the parent is removed" 0 '{"n":1}' '' get 'board~clock' --space team

# ---- removing ----

mkdir ../refused && cd ../refused || exit 1
cp ../board.lua .
run run board.lua --once
run send board kick '{}'
run send board add '{"name":"one","space":"notes","text":"x"}'
run run board.lua --once
printf garbagegarbagegarbage | dd of=heddle-data/notes.db conv=notrunc 2>/dev/null
run rm board --yes
same "a removal that one child refuses" "$code" 2
try "has removed none of the others" 0 1 '' get 'board~clock' ticks --space team

cd ../kill || exit 1
try "a child is not removed alone" 2 '' "heddle: board~clock is a child of board in the space main: remove that piece" \
    rm 'board~clock' --yes --space team
try "nor renamed" 2 '' "heddle: board~clock cannot be renamed: it is a child of board in the space main" \
    rename 'board~clock' x --space team
try "its parent is not renamed" 2 '' "heddle: board cannot be renamed: it has a child in the space *" rename board x
try "nor exported" 2 '' "heddle: board cannot be exported: it has a child in the space *" export board -
run export --all all.jsonl --space team
same "a space is exported as a whole" "$code" 0
run backup ../copy
try "a backup has both spaces" 0 '[1,2,3,4,5,6,7,8,9,10,11,12]' '' get board heard --dir ../copy
try "with the child" 0 "$("$HEDDLE" get board double)" '' get board double --dir ../copy

# Links name the space in which they were.
cat >links.lua <<'LUA'
local heddle = require "heddle"
local child = heddle.pattern("child", function(p)
  local n = p:arg("n")
  return { n = n, twice = p:computed("twice", function() return n:get() * 2 end) }
end)
return heddle.pattern("links", function(p)
  local n = p:state("n", 4)
  return { n = n, child = p:piece(child, { n = n }, { name = "child" }) }
end)
LUA
run run links.lua --once
run export links links.jsonl
run import links.jsonl --space team
run set links n 5
try "an imported piece reads its own documents in its space" 0 '8' '' get links child.twice --space team
try "not those of the space that it was exported from" 0 '10' '' get links child.twice

# The child has gone first, and a kill comes before its parent has. An event for
# the child waits in the space of the parent.
hold team
start sender send board kick '{}'
sender=$pid
until_true has_waiting
kill -9 "$sender"
wait "$sender" 2>/dev/null
let_go
hold main
start remover rm board --yes
remover=$pid
check "a removal begins with the children" until_true \
    sh -c '! "$0" get "board~clock" --space team --stored' "$HEDDLE"
kill -9 "$remover"
wait "$remover" 2>/dev/null
let_go
try "after a kill the parent is there" 0 '10' '' get board base --stored
try "the removal can be repeated" 0 '' "heddle: board removed, *" rm board --yes
same "and no event for it" "$(waiting)" 0
same "then nothing of it is left" "$("$HEDDLE" export --all - 2>/dev/null | grep -c '"id":"piece:board[~/]')" 0
same "in any space" "$("$HEDDLE" export --all - --space team 2>/dev/null | grep -c '"id":"piece:board~clock/')" 0
same "nor of what a handler launched" "$("$HEDDLE" export --all - --space notes 2>/dev/null | grep -c '"id":"piece:one/')" 0
try "other pieces stay" 0 '1' '' get other n --space team
try "a new parent has a new child" 0 '{"base":10,"clock":{"ticks":0,"total":10},"double":20,"heard":[]}' \
    "heddle: board is new*" run board.lua --once

finish
