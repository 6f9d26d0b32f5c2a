#!/bin/sh
# A pattern that changes under a piece: a state that becomes a computation and
# back, a state with another name, another pattern under the name of a piece,
# and migrations. Nothing is lost, what is hidden is said, and a migration runs
# once, with two processes and when one is killed.
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

# says NAME TEXT: whether the text has been printed.
says() {
    grep -qF -- "$2" "$1"
}

# run ARGUMENT...: out, err and code are what came of it.
run() {
    "$HEDDLE" "$@" >out.txt 2>err.txt
    code=$?
    out=$(cat out.txt)
    err=$(cat err.txt)
}

# gives NAME OUT ARGUMENT...: exit code 0, and the output.
gives() {
    name=$1 want=$2
    shift 2
    run "$@" --canonical
    same "$name" "$code $out" "0 $want"
}

# told NAME TEXT: the last command has said it.
told() {
    if says err.txt "$2"; then ok "$1"; else not_ok "$1" "stderr: $err" "expected: $2"; fi
}

# silent NAME TEXT: it has not.
silent() {
    if says err.txt "$2"; then not_ok "$1" "stderr: $err"; else ok "$1"; fi
}

# refused NAME CODE TEXT ARGUMENT...: an exit code, and a sentence.
refused() {
    name=$1 want=$2 sentence=$3
    shift 3
    run "$@"
    if [ "$code" -eq "$want" ] && says err.txt "$sentence"; then
        ok "$name"
    else
        not_ok "$name" "exit code $code, expected $want" "stdout: $out" "stderr: $err" "expected: $sentence"
    fi
}

# pattern NAME BODY: the text of a file with one pattern.
pattern() {
    printf 'local heddle = require "heddle"\nreturn heddle.pattern("%s", function(p)\n%s\nend)\n' "$1" "$2"
}

# ---- a state that becomes a computation, and back ----

as_state='local a = p:state("a", 1)
  local items = p:state("items", heddle.array{})
  return { a = a, items = items, add = p:handler("add", function(e) items:append(e) end) }'
as_computed='local a = p:state("a", 1)
  local items = p:computed("items", function() return 10 * a:get() end)
  local next = p:computed("next", function() return items:get() + 1 end)
  return { a = a, items = items, next = next }'
as_list='local a = p:state("a", 1)
  local source = p:state("source", heddle.array{ 1, 2 })
  local items = p:map(source, function(i) return 2 * i:get() end, { name = "items" })
  return { a = a, items = items }'
as_argument='local a = p:state("a", 1)
  local items = p:arg("items", 5)
  return { a = a, items = items }'

pattern tasks "$as_state" >tasks.lua
"$HEDDLE" run tasks.lua --once >/dev/null 2>&1
"$HEDDLE" send tasks add '"one"' >/dev/null
"$HEDDLE" send tasks add '"two"' >/dev/null
pattern tasks "$as_computed" >tasks.lua
run run tasks.lua --once
same "the computation gives its own result" "$out" '{"a":1,"items":10,"next":11}'
told "what was a state is said" "'items' was a state and is a computation now: its data is kept"
"$HEDDLE" set tasks a 2
gives "it follows its inputs" '{"a":2,"items":20,"next":21}' get tasks
silent "it is said once" "was a state"
refused "it cannot be set" 2 "'items' is computed" set tasks items 3
pattern tasks "$as_state" >tasks.lua
gives "the state is back with its data" '["one","two"]' get tasks items
told "that is said, too" "'items' is a state again"
"$HEDDLE" send tasks add '"three"' >/dev/null
pattern tasks "$as_list" >tasks.lua
gives "as a list" '[2,4]' get tasks items
pattern tasks "$as_argument" >tasks.lua
gives "as an argument" 5 get tasks items
gives "with another value" '{"a":2,"items":7}' run tasks.lua --once --args '{"items": 7}'
pattern tasks "$as_computed" >tasks.lua
gives "as a computation again" 20 get tasks items
pattern tasks "$as_argument" >tasks.lua
gives "as an argument again" 7 get tasks items
pattern tasks "$as_state" >tasks.lua
gives "and as a state after all that" '["one","two","three"]' get tasks items
gives "what is stored is the same" '["one","two","three"]' get tasks items --stored

pattern other "$as_computed" >other.lua
"$HEDDLE" run other.lua --once >/dev/null 2>&1
pattern other "$as_state" >other.lua
gives "what was computed becomes a state with its initial value" '[]' get other items

# ---- a state with another name ----

pattern tasks 'local todo = p:state("todo", heddle.array{})
  return { todo = todo }' >tasks.lua
gives "a renamed state is empty" '{"todo":[]}' get tasks
told "and it is said what is hidden" "the pattern no longer declares the state 'items'"
told "and how to move it" "p:migrate"
run get tasks
silent "once" "no longer declares"

pattern tasks 'local todo = p:state("todo", heddle.array{})
  local moves = p:state("moves", 0)
  p:migrate(2, function(old)
    todo:set(old:get("items"))
    old:drop("items")
    moves:increment(1)
  end)
  return { todo = todo, moves = moves }' >tasks.lua
gives "a migration moves the data" '{"moves":1,"todo":["one","two","three"]}' run tasks.lua --once
told "which is said" "tasks: migrated from version 1 to 2"
gives "it does not run again" '{"moves":1,"todo":["one","two","three"]}' run tasks.lua --once
refused "what was dropped is gone" 1 "items" get tasks items --stored
"$HEDDLE" set tasks todo '["one"]'
gives "nor with a command" '{"moves":1,"todo":["one"]}' get tasks
gives "a new piece has no need of it" '{"moves":0,"todo":[]}' run tasks.lua --name fresh --once

pattern tasks 'return { todo = p:state("todo", heddle.array{}) }' >tasks.lua
refused "an older pattern is refused" 2 "has version 2, but this pattern has version 1" get tasks

# ---- migrations that fail ----

pattern tasks 'local todo = p:state("todo", heddle.array{})
  local done = p:state("done", 0)
  p:migrate(2, function() error("never again") end)
  p:migrate(3, function() done:set(1) end)
  p:migrate(4, function() todo:set("broken") done:set(2) error("this is wrong") end)
  return { todo = todo, done = done }' >tasks.lua
refused "a migration that fails is an error" 2 "this is wrong" run tasks.lua --once
told "with the version" "the migration of tasks to version 4"
told "and the line" "tasks.lua:7"
gives "and leaves everything as it was" '{"moves":1,"todo":["one"]}' get tasks --stored
pattern tasks 'local todo = p:state("todo", heddle.array{})
  local done = p:state("done", 0)
  p:migrate(4, function() todo:append("four") done:increment(4) end)
  p:migrate(2, function() error("never again") end)
  p:migrate(3, function() todo:append("three") done:increment(3) end)
  return { todo = todo, done = done }' >tasks.lua
gives "all that are missing run, in order, once" '{"done":7,"todo":["one","three","four"]}' get tasks

for wrong in 'p:migrate(1, function() end)' 'p:migrate("2", function() end)' 'p:migrate(2)' \
    'p:migrate(2, function() end) p:migrate(2, function() end)'; do
    pattern wrong "$wrong" >wrong.lua
    refused "$wrong" 2 "wrong.lua:3" run wrong.lua --once
done
pattern reads 'local n = p:state("n", 1)
  local c = p:computed("c", function() return n:get() end)
  return { n = n, c = c }' >reads.lua
"$HEDDLE" run reads.lua --once >/dev/null 2>&1
pattern reads 'local n = p:state("n", 1)
  local c = p:computed("c", function() return n:get() end)
  p:migrate(2, function(old) n:set(c:get()) end)
  return { n = n, c = c }' >reads.lua
refused "a migration does not read what is computed" 2 "a migration can read only the states, arguments and collections" get reads
pattern reads 'local n = p:state("n", 1)
  p:migrate(2, function(old) old:get("m") end)
  return { n = n }' >reads.lua
refused "nor what there was not" 2 "there was no state or argument 'm'" get reads

# ---- children ----

cat >outer.lua <<'LUA'
local heddle = require "heddle"
local inner = heddle.pattern("inner", function(p) return { n = p:state("n", 3) } end)
return heddle.pattern("outer", function(p)
  local one = p:piece(inner, {}, { name = "one" })
  return { n = one.n }
end)
LUA
"$HEDDLE" run outer.lua --once >/dev/null 2>&1
cat >outer.lua <<'LUA'
local heddle = require "heddle"
local inner = heddle.pattern("inner", function(p)
  local count = p:state("count", 0)
  p:migrate(2, function(old) count:set(old:get("n") * 100) end)
  return { n = count }
end)
return heddle.pattern("outer", function(p)
  local one = p:piece(inner, {}, { name = "one" })
  local two = p:piece(inner, {}, { name = "two" })
  return { n = one.n, m = two.n }
end)
LUA
gives "a child has a version of its own" '{"m":0,"n":300}' run outer.lua --once
gives "also after that" '{"m":0,"n":300}' get outer

# ---- two processes, and one that is killed ----

counting() {
    pattern many "local n = p:state('n', 0)
  local all = p:state('all', heddle.array{})
  for v = 2, $1 do
    p:migrate(v, function() n:increment(1) all:append(v) end)
  end
  return { n = n, all = all }"
}
counting 1 >many.lua
"$HEDDLE" run many.lua --once >/dev/null 2>&1
version=1
for round in 1 2 3 4 5 6; do
    version=$((version + 1))
    counting $version >many.lua
    for i in 1 2 3; do
        "$HEDDLE" run many.lua --once >"many$i.txt" 2>&1 &
        eval "pid$i=$!"
    done
    started="$pid1 $pid2 $pid3"
    if [ $((round % 2)) -eq 0 ]; then
        kill -9 "$pid1" 2>/dev/null
    fi
    wait
done 2>/dev/null
started=""
gives "a migration runs once, whatever else runs" '{"all":[2,3,4,5,6,7],"n":6}' get many

# ---- while it runs ----

pattern live 'local n = p:state("n", 5) return { n = n }' >live.lua
"$HEDDLE" run live.lua --watch >live.out 2>live.err &
live=$!
started=$live
check "a process runs it" until_true says live.out '{"n":5}'
pattern live 'local count = p:state("count", 0)
  p:migrate(2, function(old) count:set(old:get("n") + 1) end)
  return { count = count }' >next.lua
mv next.lua live.lua
check "the edited file is migrated to" until_true says live.out '{"count":6}'
check "which is said" until_true says live.err "live: migrated from version 1 to 2"
pattern live 'local count = p:state("count", 0)
  p:migrate(2, function() end)
  p:migrate(3, function(old) count:set(0) error("not yet") end)
  return { count = count }' >next.lua
mv next.lua live.lua
check "one that fails is said" until_true says live.err "not yet"
gives "and changes nothing" '{"count":6}' get live --stored
kill -INT "$live" 2>/dev/null
wait "$live"
started=""
pattern live 'local count = p:state("count", 0)
  p:migrate(2, function() end)
  p:migrate(3, function(old) count:increment(10) end)
  return { count = count }' >live.lua

# A process that runs the older file notices.
"$HEDDLE" run live.lua >live.out 2>live.err &
live=$!
started=$live
check "another process runs it" until_true says live.out '{"count":16}'
pattern live 'local count = p:state("count", 0)
  p:migrate(4, function(old) count:increment(100) end)
  return { count = count }' >live.lua
gives "a command migrates it" '{"count":116}' get live
wait "$live"
same "the process that had the older one ends" "$?" 2
check "and says why" says live.err "another process migrated"
started=""

# ---- another pattern under the name of a piece ----

pattern notes 'local list = p:state("list", heddle.array{"a"}) return { list = list }' >notes.lua
pattern plans 'local plan = p:state("plan", "none") return { plan = plan }' >plans.lua
"$HEDDLE" run notes.lua --name mine --once >/dev/null 2>&1
refused "another pattern is refused" 2 "the piece mine is of the pattern notes" run plans.lua --name mine --once
told "with what to do" "--replace"
told "and what would be hidden" "list"
gives "and nothing has changed" '{"list":["a"]}' get mine
gives "it can be wanted" '{"plan":"none"}' run plans.lua --name mine --replace --once
gives "then it is of that one" '{"plan":"none"}' get mine
refused "and not of the first" 2 "the piece mine is of the pattern plans" run notes.lua --name mine --once
gives "the data of the first is still there" '{"list":["a"]}' run notes.lua --name mine --replace --once
pattern ledger 'local sum = p:state("sum", 1)
  p:migrate(2, function() sum:increment(10) end)
  return { sum = sum }' >ledger.lua
pattern ledger 'return { sum = p:state("sum", 1) }' >first.lua
"$HEDDLE" run first.lua --name books --once >/dev/null 2>&1
gives "a moved file migrates as well" '{"sum":11}' run ledger.lua --name books --once
gives "what replaces it has a version of its own" '{"plan":"none"}' run plans.lua --name books --replace --once
gives "and what comes back has been migrated" '{"sum":11}' run ledger.lua --name books --replace --once
mkdir elsewhere
mv notes.lua elsewhere/notes.lua
gives "a file that was moved is no other pattern" '{"list":["a"]}' run elsewhere/notes.lua --name mine --once
pattern renamed 'local list = p:state("list", heddle.array{"a"}) return { list = list }' >elsewhere/notes.lua
gives "nor one whose pattern has another name now" '{"list":["a"]}' run elsewhere/notes.lua --name mine --once
pattern renamed 'local sum = p:state("sum", 0) return { sum = sum }' >same.lua
refused "another file with a pattern of that name that has nothing in common is" 2 \
    "the piece mine is of" run same.lua --name mine --once

finish
