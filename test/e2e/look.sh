#!/bin/sh
# Looking at pieces from outside: ps, why, why-not, graph, log, show, check,
# doctor. Everything comes from the files: nothing runs meanwhile, also after a
# kill -9.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
cd "$scratch" || exit 1

# has NAME PATTERN ARGUMENT...: the output of the command has such a line.
has() {
    name=$1 pattern=$2
    shift 2
    got=$("$HEDDLE" "$@" 2>stderr)
    if printf '%s\n' "$got" | grep -q -e "$pattern"; then
        ok "$name"
    else
        not_ok "$name" "$got" "$(cat stderr)"
    fi
}

# hasnt NAME PATTERN ARGUMENT...: no line is like that.
hasnt() {
    name=$1 pattern=$2
    shift 2
    got=$("$HEDDLE" "$@" 2>stderr)
    if printf '%s\n' "$got" | grep -q -e "$pattern"; then
        not_ok "$name" "$got"
    else
        ok "$name"
    fi
}

# refuses CODE NAME PATTERN ARGUMENT...: one line on standard error, no output.
refuses() {
    code=$1 name=$2 pattern=$3
    shift 3
    got=$("$HEDDLE" "$@" 2>stderr)
    was=$?
    if [ "$was" -eq "$code" ] && [ -z "$got" ] && [ "$(wc -l <stderr)" -eq 1 ] && grep -q -e "$pattern" stderr; then
        ok "$name"
    else
        not_ok "$name" "exit code $was" "$got" "$(cat stderr)"
    fi
}

cat >shop.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("shop", function(p)
  local items = p:state("items", heddle.array{})
  local rate = p:state("rate", 0.5)
  local net = p:computed("net", function()
    local sum = 0
    for _, item in ipairs(items:get()) do sum = sum + item.price end
    return sum
  end)
  local total = p:computed("total", function() return net:get() * (1 + rate:get()) end)
  local idle = p:computed("idle", function() return net:get() + 1 end)
  local add = p:handler("add", function(event)
    items:append{ price = event.price }
    return { count = #items:get() }
  end)
  p:effect("alert", function() total:get() end)
  return { items = items, rate = rate, net = net, total = total, idle = idle, add = add }
end)
END

refuses 1 "without a directory there is advice" "data directory not found" ps
check "a piece is made" sh -c "'$HEDDLE' run shop.lua --once 2>/dev/null >/dev/null"
check "an event is handled" sh -c "'$HEDDLE' send shop add '{\"price\":10}' >/dev/null"
check "and its consequences run" sh -c "'$HEDDLE' run shop.lua --once 2>/dev/null >/dev/null"
before=$("$HEDDLE" log --json | tr -d '\n' | wc -c)

# ---- why ----

has "why: the address, old and new" '^  piece:shop/net#/value: 0 -> 10$' why shop total
has "why: the commit and the node behind it" 'commit [0-9]*, by node net of shop' why shop total
has "why: back to the event" 'commit [0-9]*, by event add of shop' why shop total
has "why: with its receipt" 'receipt:.* {"count":1}' why shop total
has "why: an effect leads to the same origin" 'by event add of shop' why shop alert
has "why: as JSON" '"type":"event","piece":"shop","handler":"add"' why shop total --json
hasnt "why: what has not changed is no cause" 'rate' why shop total
refuses 1 "why: an unknown node is refused with those that there are" "there are add, alert" why shop nope
refuses 1 "why: so is an unknown piece" "there are shop" why nope net
has "why: a handler has no run of its own" 'is a handler' why shop add

"$HEDDLE" set shop rate 1
has "why-not: a change that nobody has seen" 'no process runs the effects that read it' why-not shop total
has "why-not: what to do" 'heddle run .*shop.lua --name shop' why-not shop total
has "why-not: as JSON" '"condition":"not-started"' why-not shop total --json
has "why-not: clean" 'it is up to date' why-not shop net
has "why-not: a handler wants an event" 'heddle send shop add' why-not shop add
"$HEDDLE" send shop add '{"price":5}' >/dev/null
same "who asks runs what has to run" "$("$HEDDLE" get shop net)" 15
has "why-not: nobody looks" '"condition":"nobody-looks"' why-not shop idle --json

# ---- ps ----

has "ps: a piece that nobody runs sleeps" '^shop  asleep' ps
has "ps: what has to run is dirty" '^  total  *computed  *dirty  *asleep  *2 ' ps
has "ps: with runs and the last cause" '^  idle  *computed  *dirty  *dormant  *2 .*piece:shop/net#/value' ps
has "ps: as JSON" '"node":"total","kind":"computed","status":"dirty","live":false,"wanted":true,"runs":2' ps --json
same "ps: no colour in a file" "$("$HEDDLE" ps | grep -c "$(printf '\033')")" 0

# ---- graph ----

has "graph: as text" '^total (computed, dirty) <- net, rate$' graph shop
has "graph: for Mermaid" '^graph LR$' graph shop --mermaid
has "graph: for Graphviz" '^digraph heddle {$' graph shop --dot
has "graph: as JSON" '"name":"rate","kind":"input","document":"piece:shop/rate"' graph shop --json
if command -v dot >/dev/null; then
    check "Graphviz reads it" sh -c "'$HEDDLE' graph shop --dot | dot -Tsvg >/dev/null"
fi

# ---- log, show ----

has "log: the start" '^1 .*start of shop' log
has "log: an event with what it wrote" 'event add of shop .*piece:shop/items#/value' log shop
cat >effects.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("effects", function(p)
  local n, last = p:state("n", 1), p:state("last", 0)
  p:effect("note", function() last:set(n:get() * 10) end)
  return { n = n, last = last }
end)
LUA
for number in 2 3 4; do
    "$HEDDLE" run effects.lua --once --dir effects >/dev/null 2>&1
    "$HEDDLE" set effects n "$number" --dir effects
done
same "log: every commit of an effect is its own, not only the last" \
    "$("$HEDDLE" log --dir effects | grep -c 'node note of effects  *piece:effects/last#/value')" 3
same "log: and edits are edits" "$("$HEDDLE" log --dir effects | grep -c 'an external edit  *piece:effects/n#/value')" 3

has "log: an external edit" 'an external edit .*piece:shop/rate#/value' log
same "log: only so many" "$("$HEDDLE" log --limit 2 | wc -l)" 3
refuses 1 "log: of a piece that there is" "there are shop" log nope
edit=$("$HEDDLE" log | sed -n 's/^\([0-9]*\) .*an external edit.*/\1/p')
same "show: before the edit" "$("$HEDDLE" show shop rate --at $((edit - 1)))" 0.5
same "show: after it" "$("$HEDDLE" show shop rate --at "$edit")" 1
same "show: through the links" "$("$HEDDLE" show shop items/0/price)" 10
same "show: the whole result as it began" "$("$HEDDLE" show shop --at 1)" '{"items":[],"rate":0.5}'
same "show: what is stored, and nothing runs" "$("$HEDDLE" show shop total)" 15
refuses 1 "show: nothing is 1" "no value at" show shop nope
refuses 2 "show: beyond the head" "beyond the head" show shop rate --at 999
refuses 2 "show: no number" "requires an integer" show shop rate --at x

# ---- check, doctor ----

has "check: no error found" '^main.db: .*: no error found$' check
has "check: as JSON" '"differences":0' check --json
has "doctor: versions" '^heddle .*, SQLite .*, Lua 5' doctor
has "doctor: no hazard" 'no hazard' doctor --dir heddle-data
got=$("$HEDDLE" doctor --dir nowhere)
same "doctor: a directory that is not there is a hazard" "$?" 1
after=$("$HEDDLE" log --json | tr -d '\n' | wc -c)
check "looking has not changed anything but what was sent" [ "$after" -gt "$before" ]
seq=$("$HEDDLE" store info heddle-data/main.db --json | sed 's/.*"seq":\([0-9]*\).*/\1/')
for command in "ps" "why shop total" "why-not shop total" "graph shop" "log" "show shop" "check" "doctor"; do
    # shellcheck disable=SC2086
    "$HEDDLE" $command >/dev/null
done
same "nor has looking committed" "$("$HEDDLE" store info heddle-data/main.db --json | sed 's/.*"seq":\([0-9]*\).*/\1/')" "$seq"

# ---- somebody who is there ----

"$HEDDLE" run shop.lua >run.out 2>/dev/null &
runner=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$HEDDLE" ps | grep -q "^  total .*clean .*live" && break
    sleep 0.1
done
has "ps: who has it started" "^shop  started by run (pid $runner)" ps
has "ps: what an effect reads is live" '^  net .*clean .*live' ps
has "ps: and what the process itself looks at" '^  idle .*clean .*live' ps
has "doctor: who is there" "running: run (pid $runner)" doctor
for node in net total idle alert add; do
    "$HEDDLE" why shop "$node"
    "$HEDDLE" why shop "$node" --json
done >beside.out 2>&1
"$HEDDLE" why-not shop net >>beside.out
kill -9 "$runner"
wait "$runner" 2>/dev/null
for node in net total idle alert add; do
    "$HEDDLE" why shop "$node"
    "$HEDDLE" why shop "$node" --json
done >after.out 2>&1
"$HEDDLE" why-not shop net >>after.out
check "why and why-not say the same beside a running process and after it" cmp beside.out after.out
check "why: the sentence of an account" \
    grep -q '"sentence":"net ran, because piece:shop/items#/value changed by event add of shop' after.out
has "after a kill -9 it sleeps" '^shop  asleep' ps
has "and why knows everything" 'by event add of shop' why shop total
has "and check finds nothing" 'no error found' check
check "the next one takes the file away that was left" sh -c "'$HEDDLE' run shop.lua --once >/dev/null 2>&1"
same "and its own" "$(find heddle-data/run -type f | wc -l)" 0

# ---- damage ----

if command -v python3 >/dev/null; then
    python3 - <<'PY'
import sqlite3
db = sqlite3.connect("heddle-data/main.db")
db.execute("UPDATE document SET head_seq = head_seq - 1 WHERE id LIKE 'piece:shop/%' AND head_seq > 1")
db.commit()
PY
    "$HEDDLE" check >out 2>&1
    same "check: rows that the history contradicts are differences" "$?" 1
    check "check: each is named" grep -q '^main.db: piece:shop/.*: its row does not match its last revision$' out
    has "check: they can be rebuilt" '^main.db: [0-9]* rows* rebuilt: .*: no error found$' check --repair
    has "check: and are" '^main.db: .*: no error found$' check
else
    skip "check: rows that the history contradicts are differences" "there is no python3"
fi

cp heddle-data/main.db whole.db
printf 'this is no space' >heddle-data/other.db
"$HEDDLE" check >out 2>&1
same "check: a file that is no space is a difference" "$?" 1
check "and is named" grep -q '^other.db: ' out
rm heddle-data/other.db

# ---- completions ----

for shell in bash zsh fish; do
    has "completions for $shell know every command" 'why-not' completion "$shell"
done
check "bash reads its own" bash -n -c "$("$HEDDLE" completion bash)"
refuses 2 "there are no others" "bash, zsh and fish" completion tcsh

# ---- what waits, what notified, what was removed ----

mkdir waits
cat >waits/slow.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("slow", function(p)
  local n = p:state("n", 1)
  local late = p:computed("late", function() return n:get() * 2 end, { debounce = 600000 })
  local more = p:computed("more", function() return late:get() * 2 end)
  p:effect("tell", function() heddle.notify("n is " .. n:get()) end)
  p:effect("look", function() more:get() end)
  local bump = p:handler("bump", function() n:increment(1) end)
  p:handler("other", function() end)
  return { n = n, bump = bump }
end)
END
"$HEDDLE" run waits/slow.lua --once --dir waits.d >/dev/null 2>&1
has "why-not: nothing waits" '^look: it is up to date' why-not slow look --dir waits.d
"$HEDDLE" send slow bump --dir waits.d >/dev/null
"$HEDDLE" set slow n --increment 1 --dir waits.d
has "why-not: what reads from a node that has to run waits for it" \
    '^more: it waits for late, which must run first$' why-not slow more --dir waits.d
has "why-not: also behind others" '^look: it waits for late, which must run first$' why-not slow look --dir waits.d
has "why-not: and which node that is" 'heddle why-not slow late$' why-not slow look --dir waits.d
has "why-not: the same for programs" '"condition":"waits".*"waitsFor":{"piece":"slow","node":"late"}' why-not slow look --dir waits.d --json
hasnt "why-not: that node is not up to date either" 'up to date' why-not slow late --dir waits.d
"$HEDDLE" run waits/slow.lua --once --dir waits.d >run.out 2>&1
check "an effect notifies" grep -q 'notify: n is 3' run.out
has "why: of an effect that notified, what changed is told and nothing else" \
    '^tell ran 2 times, last at seq [0-9]*; no document changed$' why slow tell --dir waits.d
hasnt "why: it does not say that it had no effect" 'without effect' why slow tell --dir waits.d

has "graph: a handler has no status, and what it wrote" '^bump (handler) -> n$' graph slow --dir waits.d
has "graph: whether it ran or not" '^other (handler)$' graph slow --dir waits.d
has "graph: for programs" '"document":"piece:slow/n","kind":"writes"}' graph slow --dir waits.d --json
has "graph: for Mermaid, a handler has a shape of its own" '^  n[0-9]*>"bump"]$' graph slow --dir waits.d --mermaid
has "graph: and an arrow" '^  n[0-9]* --> i0$' graph slow --dir waits.d --mermaid
has "graph: for Graphviz" 'label="bump", shape=cds' graph slow --dir waits.d --dot
hasnt "graph: no handler is said never to have run" 'never-ran' graph slow --dir waits.d --json
hasnt "ps: the same for programs" 'never-ran' ps --dir waits.d --json

echo 'slow:remove()' | "$HEDDLE" repl slow --dir waits.d >/dev/null 2>&1
hasnt "a piece that was removed is not listed" slow ps --dir waits.d
has "show --at: it is there as it was" '^{"n":1}$' show slow --at 3 --dir waits.d
has "show --at: and its states" '^2$' show slow n --at 4 --dir waits.d
has "log: its commits are there" 'bump' log slow --dir waits.d
refuses 1 "show: now there is nothing" "there is no piece 'slow'" show slow --dir waits.d
refuses 1 "show --at: of a piece that never was" "there is no piece 'slaw'" show slaw --at 3 --dir waits.d
refuses 1 "log: of a piece that never was" "there is no piece 'slaw'" log slaw --dir waits.d

# ---- a leaf that becomes a container ----

mkdir "$scratch/turn"
cat >"$scratch/turn/turn.lua" <<'END'
local heddle = require "heddle"
return heddle.pattern("turn", function(p)
  local list = p:state("list", heddle.array{ 2 })
  return { list = list, sum = p:computed("sum", function()
    local sum = 0
    for _, item in ipairs(list:get()) do sum = sum + (math.type(item) and item or 0) end
    return sum
  end) }
end)
END
(
    cd "$scratch/turn" || exit
    "$HEDDLE" run turn.lua --once && "$HEDDLE" set turn list/0 '{"q":1}' && "$HEDDLE" get turn sum
) >/dev/null 2>&1
"$HEDDLE" why turn sum --dir "$scratch/turn/heddle-data" >"$scratch/out"
check "why names a leaf that has become an object" grep -qF 'piece:turn/list#/value: [2] -> [{"q":1}]' "$scratch/out"

# ---- tasks ----

cat >job.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("job", function(p)
  local n = p:state("n", 1)
  local work = p:task("work", function() return { program = "true", args = { n:get() } } end, { kind = "exec" })
  local bad  = p:task("bad", function() return { program = "false" } end, { kind = "exec" })
  local none = p:task("none", function() return nil end, { kind = "exec" })
  local text = p:computed("text", function() return work:value().state end)
  return { n = n, text = text, bad = bad, none = none }
end)
LUA
"$HEDDLE" run job.lua --once --dir job.d --allow-exec true,false >/dev/null 2>&1
has "ps: a task that is done" '^  work  *task  *done after 1 attempt ' ps --dir job.d
has "ps: one that failed" "^  bad  *task  *failed after 1 attempt: 'false' exited with 1 " ps --dir job.d
has "ps: one without inputs" '^  none  *task  *idle: its inputs are nil ' ps --dir job.d
has "ps: as JSON" '"node":"bad","kind":"task","task":{"state":"failed","attempts":1,"error":{' ps --dir job.d --json
has "why: the task" '^  the task is done after 1 attempt$' why job work --dir job.d
has "why: as JSON" '"task":{"state":"done","attempts":1}' why job work --dir job.d --json
has "why-not: the task" "^  the task is failed after 1 attempt: 'false' exited with 1$" why-not job bad --dir job.d
has "graph: a task" '^work (task, done after 1 attempt) <- inputs' graph job --dir job.d
has "graph: a reader of it" '^text (computed, clean) <- work$' graph job --dir job.d
has "graph: as JSON" '"name":"none","kind":"task","task":{"state":"idle","waitsFor":"inputs"}' graph job --dir job.d --json
"$HEDDLE" set job n 2 --dir job.d >/dev/null
"$HEDDLE" get job --dir job.d >/dev/null
has "ps: one that is not begun" '^  work  *task  *running: waits for a process that runs job ' ps --dir job.d
has "ps: as JSON" '"task":{"state":"running","waitsFor":"process"}' ps --dir job.d --json

# ---- a run with many causes ----

cat >many.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("many", function(p)
  local numbers = p:state("numbers", {})
  local sum = p:computed("sum", function()
    local sum = 0
    for i = 1, 300 do sum = sum + (numbers:key("n" .. i):get() or 0) end
    return sum
  end)
  local fill = p:handler("fill", function()
    for i = 1, 300 do numbers:key("n" .. i):set(i) end
  end)
  return { sum = sum, fill = fill }
end)
LUA
"$HEDDLE" run many.lua --once --dir many.d >/dev/null 2>&1
"$HEDDLE" send many fill --dir many.d >/dev/null
"$HEDDLE" get many --dir many.d >/dev/null
has "why: of many causes a hundred" '^  200 other reads of the run were not examined$' why many sum --dir many.d
has "why: as JSON" '"moreReads":200' why many sum --dir many.d --json
same "why: and each with its commit" "$("$HEDDLE" why many sum --dir many.d --json | grep -o '"handler":"fill"' | wc -l)" 100

# ---- one long row does not widen the others ----

cat >wide.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("wide", function(p)
  local cells = {}
  for i = 1, 40 do cells["a_long_name_of_a_state_" .. i] = p:state("a_long_name_of_a_state_" .. i, 0) end
  return cells
end)
LUA
"$HEDDLE" run wide.lua --once --dir wide.d >/dev/null 2>&1
"$HEDDLE" set wide a_long_name_of_a_state_1 5 --dir wide.d >/dev/null
"$HEDDLE" log --dir wide.d >wide.txt
check "log: the start of a wide piece is whole" grep -q "a_long_name_of_a_state_40" wide.txt
check "log: a short row stays short" sh -c 'test "$(grep "an external edit" wide.txt | wc -c)" -lt 200'

finish
