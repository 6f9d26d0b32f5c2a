#!/bin/sh
# Durable events: what a handler sends, and what is queued, is handled once, in
# order, whatever becomes of the process that sent it.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

cd "$scratch" || exit 1

# "go" sends five events. The second one is slow while "held" is true, so that a
# process can be killed or stopped between the first commit and the last.
cat >five.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("five", function(p)
  local log = p:state("log", heddle.array{})
  local held = p:state("held", true)
  local slow = p:handler("slow", function(event)
    if event.i > 1 and held:get() then
      local sum = 0
      for i = 1, 10000000000 do sum = sum + i end
    end
    log:append(event.i)
    return { i = event.i }
  end)
  p:handler("go", function(event)
    for i = 1, 5 do heddle.send(slow, { i = i }) end
    return { sent = 5 }
  end)
  return { log = log, held = held }
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

# begin: a fresh piece, and a process that has handled "go" and the first event.
begin() {
    rm -rf heddle-data
    "$HEDDLE" run five.lua --once >/dev/null 2>&1
    "$HEDDLE" send five go '"a"' "$@" >sender.out 2>&1 &
    sender=$!
    wait_for '[1]' "$HEDDLE" get five log
}

# ---- a process that is killed ----

begin --id first --session me
same "four events wait while their sender is at work" "$(count_stored five)" 4
kill -9 "$sender"
wait "$sender" 2>/dev/null
same "a kill loses none of them" "$(count_stored)" 4
same "they are listed with what they wait for" "$(stored | cut -d, -f1-6)" \
    '{"events":[{"piece":"five","handler":"slow","payload":{"i":2},"from":{"piece":"five","handler":"go"},"state":"waiting"}'
check "a table says so, too" sh -c '"$HEDDLE" events five | grep -q "slow of five.*go of five.*a process that runs five"'
same "a look handles nothing" "$("$HEDDLE" get five log)" '[1]'
"$HEDDLE" set five held false >/dev/null 2>&1
same "an edit handles nothing" "$("$HEDDLE" get five log)" '[1]'
"$HEDDLE" run five.lua --once >out 2>err
same "the next process that runs the piece handles all of them, in order" "$("$HEDDLE" get five log)" '[1,2,3,4,5]'
same "none is left" "$(count_stored)" 0
same "nothing is left of the sender" "$(ls heddle-data/senders)" ''
same "the event that sent them has its receipt" "$("$HEDDLE" send five go '"a"' --id first --session me)" '{"sent":5}'
same "and sends nothing again" "$("$HEDDLE" get five log)" '[1,2,3,4,5]'
check "the history is sound" "$HEDDLE" check

begin
kill -9 "$sender"
wait "$sender" 2>/dev/null
"$HEDDLE" set five held false >/dev/null 2>&1
same "a send handles what waited before it" "$("$HEDDLE" send five slow '{"i": 9}')" '{"i":9}'
same "in the order of sending" "$("$HEDDLE" get five log)" '[1,2,3,4,5,9]'

# ---- a process that is at work ----

begin
kill -STOP "$sender"
check "it is said that the sender has them" sh -c '"$HEDDLE" events five | grep -q "the process that sent it"'
"$HEDDLE" set five held false >/dev/null 2>&1
"$HEDDLE" run five.lua --once >/dev/null 2>&1
same "another process leaves them to a sender that is there" "$("$HEDDLE" get five log)" '[1]'
"$HEDDLE" run five.lua >runner.out 2>&1 &
runner=$!
wait_for yes sh -c 'grep -q log runner.out && echo yes'
kill -9 "$sender"
wait "$sender" 2>/dev/null
wait_for '[1,2,3,4,5]' "$HEDDLE" get five log
same "a process that runs the piece takes them up when the sender is gone" "$("$HEDDLE" get five log)" '[1,2,3,4,5]'

# ---- queued events ----

id=$("$HEDDLE" send five slow '{"i": 6}' --queue)
check "the id of a queued event is printed" test "${id#\"receipt:}" != "$id"
wait_for '[1,2,3,4,5,6]' "$HEDDLE" get five log
same "a process that runs the piece handles a queued event" "$("$HEDDLE" get five log)" '[1,2,3,4,5,6]'
kill "$runner"
wait "$runner" 2>/dev/null
one=$("$HEDDLE" send five slow '{"i": 7}' --queue --id seven --session me)
same "queued again, it has the same id" "$("$HEDDLE" send five slow '{"i": 7}' --queue --id seven --session me)" "$one"
same "and waits once" "$(count_stored five)" 1
same "it is handled later" "$("$HEDDLE" get five log)" '[1,2,3,4,5,6]'
"$HEDDLE" send five slow '{"i": 8}' --queue --id seven --session me >out 2>err
same "with another payload it is refused" "$? $(sed 's/(.*//' err)" \
    '1 heddle: five/slow: an event with this session and id was sent before with another payload '
same "who waits for it gets the receipt" "$("$HEDDLE" send five slow '{"i": 7}' --id seven --session me)" '{"i":7}'
same "it is handled once" "$("$HEDDLE" get five log)" '[1,2,3,4,5,6,7]'
same "and has its receipt when it is queued again" "$("$HEDDLE" send five slow '{"i": 7}' --queue --id seven --session me)" '{"i":7}'
"$HEDDLE" send five nothing --queue >out 2>err
same "a stream that is not there is refused" "$?" 1

# ---- the rows that list them follow from the history ----

"$HEDDLE" send five slow '{"i": 8}' --queue >/dev/null
sqlite3 heddle-data/main.db 'DELETE FROM waiting'
"$HEDDLE" check >out 2>err
same "an event that is not listed is found" "$? $(cat out err | grep -c 'its event is not listed as waiting')" '1 1'
"$HEDDLE" check --repair >/dev/null 2>&1
check "and listed again" "$HEDDLE" check
sqlite3 heddle-data/main.db 'INSERT INTO waiting VALUES(1), (99999)'
"$HEDDLE" check >out 2>err
same "rows for nothing are found" "$? $(cat out err | grep -c 'listed as waiting')" '1 2'
"$HEDDLE" check --repair >/dev/null 2>&1
check "and removed" "$HEDDLE" check
"$HEDDLE" run five.lua --once >/dev/null 2>&1
same "the event is handled after that" "$("$HEDDLE" get five log)" '[1,2,3,4,5,6,7,8]'

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

# ---- between pieces ----

cat >to.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("to", function(p)
  local log = p:state("log", heddle.array{})
  local add = p:handler("add", function(event) log:append(event) end)
  return { log = log, add = add }
end)
LUA
cat >from.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("from", function(p)
  local target = p:arg("target")
  local held = p:state("held", true)
  local block = p:handler("block", function()
    if held:get() then
      local sum = 0
      for i = 1, 10000000000 do sum = sum + i end
    end
  end)
  local went = p:state("went", 0)
  p:handler("go", function(event)
    went:increment(1)
    heddle.send(block)
    heddle.send(target:key("add"), 1)
    heddle.send(target:key("add"), 2)
  end)
  return { went = went, held = held }
end)
LUA
rm -rf heddle-data
"$HEDDLE" run to.lua --once >/dev/null 2>&1
"$HEDDLE" run from.lua --once --args '{"target": {"/": {"link@1": {"id": "piece:to", "path": ["value"]}}}}' >/dev/null 2>err || cat err
"$HEDDLE" send from go >/dev/null 2>&1 &
sender=$!
wait_for 1 "$HEDDLE" get from went
kill -9 "$sender"
wait "$sender" 2>/dev/null
same "events to another piece are stored" "$(count_stored to)" 2
"$HEDDLE" set from held false >/dev/null 2>&1
"$HEDDLE" run from.lua --once >/dev/null 2>&1
same "the piece that sent them sees to it that they are handled" "$("$HEDDLE" get to log)" '[1,2]'
same "all of them" "$(count_stored)" 0

# ---- renamed, removed, compacted ----

rm -rf heddle-data
"$HEDDLE" run five.lua --once >/dev/null 2>&1
"$HEDDLE" set five held false >/dev/null 2>&1
"$HEDDLE" send five slow '{"i": 1}' --queue >/dev/null
"$HEDDLE" send five slow '{"i": 2}' --queue --id two --session me >/dev/null
"$HEDDLE" store compact heddle-data/main.db --keep-commits 0 --keep-age 0 >out 2>err
same "a compaction keeps events that wait" "$? $(count_stored five)" '0 2'
"$HEDDLE" rename five six >/dev/null 2>&1
same "events follow the name of their piece" "$(count_stored six)" 2
"$HEDDLE" run five.lua --name six --once >/dev/null 2>&1
same "and are handled under it" "$("$HEDDLE" get six log) $(count_stored)" '[1,2] 0'
"$HEDDLE" send six slow '{"i": 3}' --queue >/dev/null
"$HEDDLE" rm six --yes >/dev/null 2>&1
same "events go with their piece" "$(count_stored)" 0
check "the history is sound after that" "$HEDDLE" check

finish
