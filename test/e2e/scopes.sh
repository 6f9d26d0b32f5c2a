#!/bin/sh
# Data of users: each has the initial value and results of its own, through the
# command, over restarts, and with both users' processes running at once.
#
# What `until_true` is given to run, shellcheck takes for unreachable:
# shellcheck disable=SC2317

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
cd "$scratch" || exit 1

# Whatever ends this script ends what it has started.
started=""
stop_all() {
    for pid in $started; do
        kill -9 "$pid" 2>/dev/null
    done
}
trap 'stop_all; rm -rf "$scratch"' EXIT

# until_true COMMAND...: tries again and again, for ten seconds.
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || return 1
        sleep 0.05
    done
}

cat >prefs.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("prefs", function(p)
  local mine  = p:state("mine", 1, { scope = "user" })
  local items = p:state("items", { 1, 2 }, { scope = "user" })
  local base  = p:state("base", 10)
  local total = p:computed("total", function() return base:get() + mine:get() end)
  local twice = p:computed("twice", function() return total:get() * 2 end)
  local list  = p:map(items, function(item) return item:get() * base:get() end, { name = "list" })
  local set   = p:handler("set", function(e) mine:set(e.n) items:append(e.n) end)
  local raise = p:handler("raise", function() base:increment(1) end)
  return { mine = mine, total = total, twice = twice, list = list, set = set, raise = raise }
end)
LUA

# as USER COMMAND...: the command for a user, quietly.
as() {
    user=$1
    shift
    "$HEDDLE" "$@" --user "$user" --dir data 2>"$scratch/stderr"
}

# result N BASE LIST: what a user sees whose state is N.
result() {
    echo "{\"list\":$3,\"mine\":$1,\"total\":$(($1 + $2)),\"twice\":$((2 * ($1 + $2)))}"
}

# ---- one after the other ----

same "the first user" "$(as alice run prefs.lua --once)" "$(result 1 10 '[10,20]')"
same "an event of the first user" "$(as alice send prefs set '{"n":5}')" "{}"
same "changes its result" "$(as alice get prefs)" "$(result 5 10 '[10,20,50]')"
same "the second user has the initial values, and nothing of the first" \
    "$(as bob run prefs.lua --once)" "$(result 1 10 '[10,20]')"
same "an event of the second user" "$(as bob send prefs set '{"n":7}')" "{}"
same "changes the second user's result" "$(as bob get prefs)" "$(result 7 10 '[10,20,70]')"
same "and not the first user's" "$(as alice get prefs)" "$(result 5 10 '[10,20,50]')"
for user in alice bob; do
    as "$user" run prefs.lua --once >/dev/null
    same "$user: a restart runs nothing" "$(grep -o 'up to date after .*' stderr)" "up to date after 0 runs"
done
same "what is shared changes for both" "$(as alice send prefs raise)" "{}"
same "the user who sent it" "$(as alice get prefs)" "$(result 5 11 '[11,22,55]')"
same "the other user" "$(as bob get prefs)" "$(result 7 11 '[11,22,77]')"
same "what is stored for a user, without a run" "$(as bob get prefs twice --stored)" "36"
same "a user who comes last" "$(as carol get prefs)" "$(result 1 11 '[11,22]')"

# ---- without a user ----

check "without --user it is said what is missing" sh -c \
    '! "$HEDDLE" get prefs --dir data 2>without && grep -qF -- "--user NAME" without'
check "and which state needs it" grep -q "^heddle: prefs" without
"$HEDDLE" store show data/main.db piece:prefs/total >shared
check "a shared document has no user's data" grep -qF '"link@1":{"scope":"user"}' shared
check "no shared document has any" sh -c \
    '! "$HEDDLE" store show data/main.db --json | tr -d "[]\"" | tr , "\n" | grep "^piece:prefs/" |
        while read -r id; do "$HEDDLE" store show data/main.db "$id"; done | grep -E "\b(16|18|32|36|55|77)\b"'

# ---- looking ----

"$HEDDLE" ps --dir data >ps
check "ps tells the users' nodes apart: alice" grep -q "^  total@user:alice " ps
check "ps tells the users' nodes apart: bob" grep -q "^  total@user:bob " ps
check "ps names the elements of a user's list" grep -q "^  list/2@user:bob " ps
check "ps has a handler once" test "$(grep -c "^  raise " ps)" = 1
"$HEDDLE" why prefs twice --user bob --dir data >why
check "why, of a user: the node" grep -q "^twice@user:bob ran 3 times" why
check "why, of a user: the cause" grep -qF "piece:prefs/total@user:bob#/value: 17 -> 18" why
check "why-not, of a user" sh -c '"$HEDDLE" why-not prefs total --user alice --dir data | grep -q "^total@user:alice: it is up to date"'
check "why, of a user for whom nothing ran" sh -c \
    '! "$HEDDLE" why prefs twice --user nobody --dir data 2>nobody && grep -q "no recorded run of the user nobody" nobody'
check "graph: nobody reads from another user" sh -c \
    '"$HEDDLE" graph prefs --dir data | grep -qx "twice@user:bob (computed, clean) <- total@user:bob"'

# ---- a set for a user who has not had the piece ----

cat >first.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("first", function(p)
  local n = p:state("n", 7, { scope = "user" })
  local l = p:state("l", heddle.array { 1, 2 }, { scope = "user" })
  local o = p:state("o", { a = 1, b = { c = 2 } }, { scope = "user" })
  p:state("own", heddle.array { 1 }, { scope = "user" })
  local base = p:state("base", 10)
  local total = p:computed("total", function() return base:get() + (n:get() or 0) end)
  return { n = n, l = l, o = o, base = base, total = total }
end)
LUA

# fields N L O: what a user sees with these values.
fields() {
    echo "{\"base\":10,\"l\":$2,\"n\":$1,\"o\":$3,\"total\":$(($1 + 10))}"
}
whole='{"a":1,"b":{"c":2}}'

as ann run first.lua --once >/dev/null
as u1 set first l 9 --append
same "an append has the initial value before it" "$(as u1 get first)" "$(fields 7 '[1,2,9]' "$whole")"
as u2 set first n 1 --increment
same "an increment adds to the initial value" "$(as u2 get first)" "$(fields 8 '[1,2]' "$whole")"
as u3 set first l 1 --remove
same "a remove takes from the initial value" "$(as u3 get first)" "$(fields 7 '[2]' "$whole")"
as u4 set first l 2 --add-unique
same "an add-unique finds what is in the initial value" "$(as u4 get first)" "$(fields 7 '[1,2]' "$whole")"
as u5 set first n --delete
same "a delete stays" "$(as u5 get first)" '{"base":10,"l":[1,2],"o":{"a":1,"b":{"c":2}},"total":10}'
as u6 set first o/b/d 3
same "a set below a key keeps the other keys" "$(as u6 get first)" "$(fields 7 '[1,2]' '{"a":1,"b":{"c":2,"d":3}}')"
as u7 set first n 1
same "a set replaces the initial value" "$(as u7 get first)" "$(fields 1 '[1,2]' "$whole")"
as u8 set first n 1 --increment
as u8 set first n 1 --increment
same "the initial value is there once" "$(as u8 get first n --stored)" "9"
as u9 set first own 2 --append
same "a state that the pattern does not return" "$(as u9 get first own)" "[1,2]"
same "belongs to its user, too" "$(as u8 get first own)" "[1]"
check "and is in no shared document" sh -c \
    '! "$HEDDLE" store show data/main.db piece:first/own 2>own && grep -q "document not found" own'
check "a set without --user says what is missing" sh -c \
    '! "$HEDDLE" set first n 1 --dir data 2>without && grep -qF -- "--user NAME" without'
same "the first user has what it had" "$(as ann get first)" "$(fields 7 '[1,2]' "$whole")"
"$HEDDLE" run first.lua --user u2 --dir data >u2.out 2>u2.err &
started="$started $!"
check "a process of a user runs" until_true test -s u2.out
as u2 set first n 1 --increment
u2_has_nine() {
    [ "$(tail -n 1 u2.out)" = "$(fields 9 '[1,2]' "$whole")" ]
}
check "and sees a set for its user" until_true u2_has_nine

# ---- both at once ----

# start USER: a process that runs the piece; its id is in $pid.
start() {
    "$HEDDLE" run prefs.lua --user "$1" --dir data >"$1.out" 2>"$1.err" &
    pid=$!
    started="$started $pid"
}
shows() {
    [ "$(tail -n 1 "$1.out")" = "$2" ]
}

start alice
alice_pid=$pid
start bob
start dora
check "alice's process" until_true shows alice "$(result 5 11 '[11,22,55]')"
check "bob's process" until_true shows bob "$(result 7 11 '[11,22,77]')"
check "dora's process, who is new" until_true shows dora "$(result 1 11 '[11,22]')"
as bob send prefs set '{"n":8}' >/dev/null
check "bob's process sees bob's event" until_true shows bob "$(result 8 11 '[11,22,77,88]')"
as alice send prefs raise >/dev/null
check "all see what is shared: alice" until_true shows alice "$(result 5 12 '[12,24,60]')"
check "all see what is shared: bob" until_true shows bob "$(result 8 12 '[12,24,84,96]')"
check "all see what is shared: dora" until_true shows dora "$(result 1 12 '[12,24]')"
kill -9 "$alice_pid"
as alice send prefs set '{"n":2}' >/dev/null
same "after a process was killed" "$(as alice get prefs)" "$(result 2 12 '[12,24,60,24]')"
start alice
check "alice's next process" until_true shows alice "$(result 2 12 '[12,24,60,24]')"
check "bob's is what it was" shows bob "$(result 8 12 '[12,24,84,96]')"

# ---- two processes of one user ----

"$HEDDLE" run prefs.lua --user bob --dir data >bob2.out 2>bob2.err &
started="$started $!"
check "bob's second process" until_true shows bob2 "$(result 8 12 '[12,24,84,96]')"
as bob send prefs set '{"n":3}' >/dev/null
check "both processes of bob: the first" until_true shows bob "$(result 3 12 '[12,24,84,96,36]')"
check "both processes of bob: the second" until_true shows bob2 "$(result 3 12 '[12,24,84,96,36]')"
check "alice's is what it was" shows alice "$(result 2 12 '[12,24,60,24]')"

finish
