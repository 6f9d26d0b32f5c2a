#!/bin/sh
# Durable events: what a handler or an effect sends, and what is queued, is
# handled once, in order, whatever becomes of the process that sent it.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

cd "$scratch" || exit 1

# "go" sends 60 events.
cat >many.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("many", function(p)
  local log = p:state("log", heddle.array{})
  local note = p:state("note", "")
  local pad = p:state("pad", "")
  local one = p:handler("one", function(event)
    log:append(event.i)
    pad:set(string.rep(event.i .. " ", 10000))
    note:get() -- which has to be fetched: meanwhile the commit of "go" is stored
    return { i = event.i }
  end)
  p:handler("go", function(event)
    for i = 1, 60 do heddle.send(one, { i = i }) end
    return { sent = 60 }
  end)
  return { log = log, note = note }
end)
LUA

# wait_for WANT COMMAND...: until its output is WANT. A minute is only for a
# machine that does nothing at all.
wait_for() {
    want=$1
    shift
    tries=0
    while [ "$("$@" 2>/dev/null)" != "$want" ] && [ "$tries" -lt 1200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}

stored() {
    "$HEDDLE" events --json "$@" | sed 's/"\(id\|at\)":[^,}]*,//g'
}

count_stored() {
    "$HEDDLE" events --json "$@" | grep -o '"id":' | wc -l | tr -d ' '
}

# stuck COMMAND...: runs the command in the background, with files that cannot
# grow beyond 900 KiB: there is room for the commit of "go" with its 60 events,
# and for the commits of some of them, or none if they are stored together: each
# writes 20 KiB and more. It tries to store the others until it is killed.
stuck() {
    (
        trap '' XFSZ
        ulimit -f 900
        exec "$HEDDLE" --timeout 600000 "$@"
    ) >sender.out 2>sender.err &
    sender=$!
    wait_for yes sh -c 'grep -q "retrying" sender.err && echo yes'
}

begin() {
    rm -rf heddle-data
    "$HEDDLE" run many.lua --once >/dev/null 2>&1
    stuck send many go "$@"
    check "some events are not handled" until_some_wait
}

# The sender tries again: what it stores then may be more than at first.
until_some_wait() {
    wait_for yes sh -c '"$HEDDLE" events --json many | grep -q "\"id\":" && echo yes'
    [ "$(count_stored many)" -gt 0 ]
}

# Those that were sent first are handled, and the others wait.
none_is_lost() {
    waiting=$(count_stored)
    [ "$waiting" -gt 0 ] && [ "$("$HEDDLE" get many log)" = "$(log_of $((60 - waiting)))" ]
}

until_none_is_lost() {
    tries=0
    until none_is_lost || [ "$tries" -ge 100 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    none_is_lost
}

kill_sender() {
    kill -9 "$sender"
    wait "$sender" 2>/dev/null
}

# The log with the numbers from 1 to N, and others.
log_of() {
    last=$1
    shift
    printf '[%s]\n' "$({ seq 1 "$last"; [ $# -eq 0 ] || printf '%s\n' "$@"; } | paste -sd, -)"
}

# ---- a process that is killed ----

begin --id first --session me
check "it is said that the sender has them" sh -c '"$HEDDLE" events many | grep -q "the process that sent it"'
kill_sender
check "a kill loses none of them" none_is_lost
waiting=$(count_stored)
same "they are listed with what they wait for" "$(stored | sed 's/"i":[0-9]*/"i":N/' | cut -d, -f1-6)" \
    '{"events":[{"piece":"many","handler":"one","payload":{"i":N},"from":{"piece":"many","handler":"go"},"state":"waiting"}'
check "a table says so, too" sh -c '"$HEDDLE" events many | grep -q "one of many.*go of many.*a process that runs many"'
same "a look handles nothing" "$("$HEDDLE" get many log)" "$(log_of $((60 - waiting)))"
"$HEDDLE" set many note '"x"' >/dev/null 2>&1
same "an edit handles nothing" "$(count_stored)" "$waiting"
"$HEDDLE" run many.lua --once >out 2>err
same "the next process that runs the piece handles all of them, in order" "$("$HEDDLE" get many log)" "$(log_of 60)"
same "none is left" "$(count_stored)" 0
same "the event that sent them has its receipt" "$("$HEDDLE" send many go --id first --session me)" '{"sent":60}'
same "and sends nothing again" "$("$HEDDLE" get many log)" "$(log_of 60)"
check "the history is sound" "$HEDDLE" check

begin
kill_sender
same "a send handles what waited before it" "$("$HEDDLE" send many one '{"i": 999}')" '{"i":999}'
same "in the order of sending" "$("$HEDDLE" get many log)" "$(log_of 60 999)"

# ---- a process that is at work ----

begin
"$HEDDLE" run many.lua --once >/dev/null 2>&1
check "another process leaves them to a sender that is there" until_none_is_lost
"$HEDDLE" run many.lua >runner.out 2>&1 &
runner=$!
wait_for yes sh -c 'grep -q log runner.out && echo yes'
kill_sender
wait_for "$(log_of 60)" "$HEDDLE" get many log
same "a process that runs the piece takes them up when the sender is gone" "$("$HEDDLE" get many log)" "$(log_of 60)"

# ---- queued events ----

id=$("$HEDDLE" send many one '{"i": 6}' --queue)
check "the id of a queued event is printed" test "${id#\"receipt:}" != "$id"
wait_for "$(log_of 60 6)" "$HEDDLE" get many log
same "a process that runs the piece handles a queued event" "$("$HEDDLE" get many log)" "$(log_of 60 6)"
kill "$runner"
wait "$runner" 2>/dev/null
one=$("$HEDDLE" send many one '{"i": 7}' --queue --id seven --session me)
same "queued again, it has the same id" "$("$HEDDLE" send many one '{"i": 7}' --queue --id seven --session me)" "$one"
same "and waits once" "$(count_stored many)" 1
same "it is handled later" "$("$HEDDLE" get many log)" "$(log_of 60 6)"
"$HEDDLE" send many one '{"i": 8}' --queue --id seven --session me >out 2>err
same "with another payload it is refused" "$? $(sed 's/(.*//' err)" \
    '1 heddle: many/one: an event with this session and id was sent before with another payload '
same "who waits for it gets the receipt" "$("$HEDDLE" send many one '{"i": 7}' --id seven --session me)" '{"i":7}'
same "it is handled once" "$("$HEDDLE" get many log)" "$(log_of 60 6 7)"
same "and has its receipt when it is queued again" "$("$HEDDLE" send many one '{"i": 7}' --queue --id seven --session me)" '{"i":7}'
"$HEDDLE" send many nothing --queue >out 2>err
same "a stream that is not there is refused" "$?" 1

# ---- the rows that list them follow from the history ----

"$HEDDLE" send many one '{"i": 8}' --queue >/dev/null
sqlite3 heddle-data/main.db 'DELETE FROM waiting'
"$HEDDLE" check >out 2>err
same "an event that is not listed is found" "$? $(cat out err | grep -c 'its event is not listed as waiting')" '1 1'
"$HEDDLE" check --repair >/dev/null 2>&1
check "and listed again" "$HEDDLE" check
sqlite3 heddle-data/main.db 'INSERT INTO waiting VALUES(1, 1), (99999, 2)'
"$HEDDLE" check >out 2>err
same "rows for nothing are found" "$? $(cat out err | grep -c 'listed as waiting')" '1 2'
"$HEDDLE" check --repair >/dev/null 2>&1
check "and removed" "$HEDDLE" check
sqlite3 heddle-data/main.db 'UPDATE waiting SET number = number + 1'
"$HEDDLE" check >out 2>err
same "an event in a wrong place is found" "$? $(cat out err | grep -c 'listed as waiting, or not in its place')" '1 1'
"$HEDDLE" check --repair >/dev/null 2>&1
check "and put right" "$HEDDLE" check
"$HEDDLE" run many.lua --once >/dev/null 2>&1
same "the event is handled after that" "$("$HEDDLE" get many log)" "$(log_of 60 6 7 8)"

# ---- a handler that fails is not called again ----

cat >fails.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("fails", function(p)
  local n = p:state("n", 0)
  local bad = p:handler("bad", function(event) error("no such luck") end)
  local good = p:handler("good", function(event) n:increment(1) end)
  p:handler("go", function(event)
    heddle.send(bad, 1)
    heddle.send(good, 1)
  end)
  return { n = n }
end)
LUA
"$HEDDLE" run fails.lua --once >/dev/null 2>&1
"$HEDDLE" send fails go --queue >/dev/null
"$HEDDLE" run fails.lua --once >out 2>err
check "a failure of a stored event is told" grep -q 'no such luck' err
same "the event behind it is handled" "$("$HEDDLE" get fails n)" 1
"$HEDDLE" run fails.lua --once >out 2>err
same "the next process does not call the handler again" "$(count_stored) $(grep -c 'no such luck' err)" '0 0'

# ---- what has become of an event ----

failed() {
    "$HEDDLE" events --failed --json "$@" | sed 's/"\(id\|at\|seq\)":[^,}]*,//g'
}

same "an event whose handler failed is listed, with its payload and the reason" "$(failed fails)" \
    '{"failed":[{"state":"failed","piece":"fails","handler":"bad","payload":1,"code":"GIVEN_UP","message":"fails.lua:4: no such luck"}]}'
check "a table says so, too" sh -c '"$HEDDLE" events fails --failed | grep -q "bad of fails  1 .*fails.lua:4: no such luck"'
id=$("$HEDDLE" send fails bad 2 --queue | tr -d '"')
check "an event is found by the id that was printed: it waits" "$HEDDLE" events --id "$id"
check "also with the quotes that it was printed with" "$HEDDLE" events --id "\"$id\""
same "as JSON" "$("$HEDDLE" events --id "$id" --json)" \
    "{\"id\":\"$id\",\"state\":\"waiting\",\"piece\":\"fails\",\"handler\":\"bad\",\"payload\":2}"
"$HEDDLE" run fails.lua --once >out 2>err
"$HEDDLE" events --id "$id" >out 2>err
same "it has failed" "$? $(cat out err)" "1 heddle: the event for bad of fails was not handled: fails.lua:4: no such luck"
"$HEDDLE" events --id "$id" --json >out 2>err
same "as JSON" "$? $(cat out err)" \
    "1 {\"id\":\"$id\",\"state\":\"failed\",\"piece\":\"fails\",\"handler\":\"bad\",\
\"code\":\"GIVEN_UP\",\"message\":\"fails.lua:4: no such luck\"}"
same "both failures are listed, in their order" "$(failed fails | grep -o '"payload":[0-9]*' | paste -sd' ' -)" '"payload":1 "payload":2'
same "or the last one" "$(failed fails --limit 1 | grep -o '"payload":[0-9]*')" '"payload":2'
id=$("$HEDDLE" send fails good 1 --queue | tr -d '"')
"$HEDDLE" run fails.lua --once >out 2>err
same "one that was handled has its receipt" "$("$HEDDLE" events --id "$id" --json)" \
    "{\"id\":\"$id\",\"state\":\"done\",\"piece\":\"fails\",\"handler\":\"good\",\"receipt\":{}}"
id=$("$HEDDLE" send fails good 1 --queue | tr -d '"')
"$HEDDLE" events fails --cancel "$id"
"$HEDDLE" events --id "$id" >out 2>err
same "one that was cancelled has none" "$? $(cat out err)" '1 heddle: the event for good of fails was not handled: it was cancelled'
"$HEDDLE" events --id receipt:none >out 2>err
same "an id that is not known is an error" "$? $(cut -c 1-41 err)" "1 heddle: there is no event 'receipt:none':"
"$HEDDLE" events --failed --id x 2>err
same "one question at a time" "$? $(head -1 err)" "2 heddle: give one of --failed, --id and --cancel; see 'heddle events --help'"

# ---- between pieces ----

cat >to.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("to", function(p)
  local log = p:state("log", heddle.array{})
  local pad, note = p:state("pad", ""), p:state("note", "")
  local add = p:handler("add", function(event)
    log:append(event)
    pad:set(string.rep(event .. " ", 10000))
    note:get()
  end)
  return { log = log, add = add }
end)
LUA
cat >from.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("from", function(p)
  local target = p:arg("target")
  p:handler("go", function(event)
    for i = 1, 60 do heddle.send(target:key("add"), i) end
  end)
  return { go = 1 }
end)
LUA
rm -rf heddle-data
"$HEDDLE" run to.lua --once >/dev/null 2>&1
"$HEDDLE" run from.lua --once --args '{"target": {"/": {"link@1": {"id": "piece:to", "path": ["value"]}}}}' >/dev/null 2>err || cat err
stuck send from go
wait_for yes sh -c '"$HEDDLE" events --json to | grep -q "\"id\":" && echo yes'
kill_sender
check "events to another piece are stored" test "$(count_stored to)" -gt 0
"$HEDDLE" run from.lua --once >/dev/null 2>&1
same "the piece that sent them sees to it that they are handled" "$("$HEDDLE" get to log)" "$(log_of 60)"
same "all of them" "$(count_stored)" 0

# ---- renamed, removed, compacted ----

rm -rf heddle-data
"$HEDDLE" run many.lua --once >/dev/null 2>&1
"$HEDDLE" send many one '{"i": 1}' --queue >/dev/null
"$HEDDLE" send many one '{"i": 2}' --queue --id two --session me >/dev/null
"$HEDDLE" store compact heddle-data/main.db --keep-commits 0 --keep-age 0 >out 2>err
same "a compaction keeps events that wait" "$? $(count_stored many)" '0 2'
"$HEDDLE" rename many six >/dev/null 2>&1
same "events follow the name of their piece" "$(count_stored six)" 2
"$HEDDLE" run many.lua --name six --once >/dev/null 2>&1
same "and are handled under it" "$("$HEDDLE" get six log) $(count_stored)" '[1,2] 0'
"$HEDDLE" send six one '{"i": 3}' --queue >/dev/null
"$HEDDLE" rm six --yes >/dev/null 2>&1
same "events go with their piece" "$(count_stored)" 0
check "the history is sound after that" "$HEDDLE" check

# ---- an id whose event was not handled is free ----

cat >even.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("even", function(p)
  local sum = p:state("sum", 0)
  local add = p:handler("add", function(n)
    if n % 2 == 1 then error("odd") end
    sum:increment(n)
    return { sum = sum:get() }
  end)
  return { sum = sum, add = add }
end)
END
"$HEDDLE" run even.lua --once >/dev/null 2>&1
add() { "$HEDDLE" send even add "$1" --session me --id "$2" $3 2>/dev/null; }
for id in a b; do
    add 1 $id --queue >/dev/null
    "$HEDDLE" run even.lua --once >/dev/null 2>&1
done
add 2 a --queue >/dev/null
"$HEDDLE" run even.lua --once >/dev/null 2>&1
same "an event that failed can be queued again under its id" "$("$HEDDLE" get even sum)" 2
same "and sent again" "$(add 4 b)" '{"sum":6}'
same "from then on the id is taken" "$(add 4 b)" '{"sum":6}'
add 8 c --queue | tr -d '"' >id.txt
"$HEDDLE" events even --cancel "$(cat id.txt)" >/dev/null
same "so is that of an event that was cancelled" "$(add 8 c)" '{"sum":14}'
same "each was handled once" "$("$HEDDLE" get even sum)" 14
check "and the history is sound" "$HEDDLE" check

# -- What is said of a handler that failed ----------------------------------------

add 1 d --queue >/dev/null
"$HEDDLE" run even.lua --once >/dev/null 2>err.txt
same "run --once names the handler that failed" "$? $(grep 'up to date' err.txt)" "1 heddle: up to date after 0 runs: even/add failed"
add 1 e --queue >/dev/null
"$HEDDLE" run even.lua --once --json >/dev/null 2>err.txt
check "also as JSON" grep -qx '{"runs":0,"failed":\["even/add"\]}' err.txt

# ---- what an effect sends ----

# The effect sends 60 events for each order. "runs" is told how often it ran.
cat >effect.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("many", function(p)
  local log = p:state("log", heddle.array{})
  local order = p:state("order", 0)
  local note = p:state("note", "")
  local pad = p:state("pad", "")
  local one = p:handler("one", function(event)
    log:append(event.i)
    pad:set(string.rep(event.i .. " ", 10000))
    note:get()
  end)
  p:effect("ship", function()
    local first = order:get()
    if first > 0 then for i = first, first + 59 do one:send{ i = i } end end
  end)
  return { log = log, order = order, note = note }
end)
LUA

begin_effect() {
    rm -rf heddle-data
    "$HEDDLE" run effect.lua --name many --once >/dev/null 2>&1
    "$HEDDLE" set many order 1 >/dev/null
}

begin_effect
stuck run effect.lua --name many
check "some events of an effect are not handled" until_some_wait
kill_sender
check "a kill loses none of them" none_is_lost
same "they are listed with the effect that sent them" "$(stored | sed 's/"i":[0-9]*/"i":N/' | cut -d, -f1-6)" \
    '{"events":[{"piece":"many","handler":"one","payload":{"i":N},"from":{"piece":"many","handler":"ship"},"state":"waiting"}'
"$HEDDLE" run effect.lua --name many --once >/dev/null 2>err
same "the next process that runs the piece handles all of them, in order" "$("$HEDDLE" get many log)" "$(log_of 60)"
"$HEDDLE" run effect.lua --name many --once >/dev/null 2>err
same "once: the effect does not run again" "$("$HEDDLE" get many log)" "$(log_of 60)"
check "the history is sound" "$HEDDLE" check

# Killed at any moment: after the kill the effect has run, and its events are
# stored, or it runs again, and none is.
for round in 1 2 3 4 5 6 7 8; do
    begin_effect
    "$HEDDLE" run effect.lua --name many >/dev/null 2>&1 &
    sender=$!
    sleep "0.0$round"
    kill_sender
    "$HEDDLE" run effect.lua --name many --once >/dev/null 2>err
    same "a kill after ${round}0 ms: each is handled once" "$("$HEDDLE" get many log)" "$(log_of 60)"
done

finish
