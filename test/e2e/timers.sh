#!/bin/sh
# Timers: events that are due later are handled once, by whichever process is
# there, also if none was there at the time.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

TZDIR=$ROOT/test/data/zoneinfo
export TZDIR
cd "$scratch" || exit 1

# "ring" notes its payload, "tick" the time at which it was due.
cat >bell.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("bell", function(p)
  local log = p:state("log", heddle.array{})
  local ticks = p:state("ticks", heddle.array{})
  local ring = p:handler("ring", function(event) log:append(event); return { rang = event } end)
  p:handler("tick", function() ticks:append(heddle.now()) end)
  p:handler("later", function(event)
    heddle.send(ring, event.what, { after = event.after, id = event.id })
    if event.fail then error("no") end
    return { id = event.id }
  end)
  p:handler("stop", function(event) return { was = heddle.cancel(event) } end)
  p:handler("stop_ring", function(event) return { was = heddle.cancel(event, ring) } end)
  return { log = log, ticks = ticks }
end)
LUA

wait_for() { # WANT COMMAND...: until its output is WANT
    want=$1
    shift
    tries=0
    while [ "$("$@" 2>/dev/null)" != "$want" ] && [ "$tries" -lt 1200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}

begin() {
    rm -rf heddle-data
    "$HEDDLE" run bell.lua --once >/dev/null 2>&1
}

# Two of them may be there at once: runner and other.
start_runner() {
    "$HEDDLE" run bell.lua >runner.out 2>&1 &
    runner=$!
}

end_process() { # SIGNAL PROCESS
    kill "-$1" "$2"
    wait "$2" 2>/dev/null
}

run_once() {
    "$HEDDLE" run bell.lua --once >/dev/null 2>&1
}

log_now() {
    "$HEDDLE" get bell log --stored
}

run_and_log() {
    run_once
    log_now
}

# What is set, without what differs from run to run.
set_now() {
    "$HEDDLE" timers --json "$@" | sed 's/"\(at\|due\|late\|document\)":[^,}]*,\{0,1\}//g; s/,}/}/g'
}

# How many ticks there are; and whether each is due one step after the one
# before it: none is left out, and none is there twice.
count_ticks() {
    "$HEDDLE" get bell ticks --stored | tr ',' '\n' | grep -c '[0-9]'
}

has_ticks() {
    [ "$(count_ticks)" -ge "$1" ] && echo yes
}

ticks_in_steps() { # MS
    "$HEDDLE" get bell ticks --stored | tr -d '[]' | tr ',' '\n' |
        awk -v step="$1" 'NR > 1 && $1 - before != step { bad++ } { before = $1 } END { print bad + 0 }'
}

# ---- one event ----

begin
same "a timer is stored, and its id printed" "$("$HEDDLE" send bell ring '"tea"' --after 1d --id kettle)" '"kettle"'
same "timers lists it" "$(set_now)" '{"timers":[{"id":"kettle","piece":"bell","handler":"ring","payload":"tea"}]}'
same "also those of one piece" "$(set_now bell)" "$(set_now)"
check "a table says when it is due" sh -c '"$HEDDLE" timers | grep -q "Z  ring of bell  \"tea\" .*kettle"'
same "it is no event that waits to be handled" "$("$HEDDLE" events --json)" '{"events":[]}'
run_once
same "it is not handled before its time" "$(log_now)" '[]'
same "the same id again takes its place" "$("$HEDDLE" send bell ring '"coffee"' --at 2020-01-01T00:00:00Z --id kettle)" '"kettle"'
check "a timer that is overdue is shown as such" sh -c '"$HEDDLE" timers bell | grep -q "2020-01-01 00:00:00Z (overdue)"'
same "a look handles nothing" "$("$HEDDLE" get bell log)" '[]'
same "the next process that runs the piece handles what was due" "$(run_and_log)" '["coffee"]'
same "once" "$(run_and_log)" '["coffee"]'
same "and it is gone" "$(set_now)" '{"timers":[]}'
"$HEDDLE" send bell ring '"late"' --at 2020-01-01T00:00:00Z >/dev/null
same "a send to the piece handles what was due before it" "$("$HEDDLE" send bell later '{"what":"x","after":86400000}'; log_now)" \
    '{}
["coffee","late"]'
check "the history is sound" "$HEDDLE" check

begin
start_runner
"$HEDDLE" send bell ring '"soon"' --after 100ms >/dev/null
wait_for '["soon"]' log_now
same "a process that runs the piece handles it when it is due" "$(log_now)" '["soon"]'
"$HEDDLE" send bell later '{"what":"own","after":50}' >/dev/null
wait_for '["soon","own"]' log_now
same "also what a handler has set in another process" "$(log_now)" '["soon","own"]'
"$HEDDLE" send bell ring '"past"' --at 2020-01-01T00:00:00Z >/dev/null
wait_for '["soon","own","past"]' log_now
same "also what was due before others that it has handled" "$(log_now)" '["soon","own","past"]'
end_process TERM "$runner"

# ---- handlers ----

begin
"$HEDDLE" send bell later '{"what":"never","after":0,"fail":true}' >/dev/null 2>&1
same "a handler that fails sets none" "$(set_now)" '{"timers":[]}'
"$HEDDLE" send bell later '{"what":"x","after":86400000,"id":"a"}' >/dev/null
same "a handler cancels by the id" "$("$HEDDLE" send bell stop '"a"')" '{"was":true}'
same "and is told if there is none" "$("$HEDDLE" send bell stop '"a"')" '{"was":false}'
same "none is left" "$(set_now)" '{"timers":[]}'

# ---- cancelling ----

id=$("$HEDDLE" send bell ring '"x"' --after 1d)
"$HEDDLE" send bell ring '"y"' --after 1d --id named >/dev/null
check "a timer without a name is cancelled by what was printed" "$HEDDLE" timers bell --cancel "$(echo "$id" | tr -d '"')"
check "one with a name by that" "$HEDDLE" timers bell --cancel named
same "both are gone" "$(set_now)" '{"timers":[]}'
"$HEDDLE" timers bell --cancel named 2>err
same "another cancel says so" "$? $(cat err)" "1 heddle: bell has no pending timer 'named': it was handled or cancelled already, \
or has another id ('heddle timers bell')"
"$HEDDLE" send bell ring '"queued"' --queue >id
check "an event that is queued is cancelled, too" "$HEDDLE" events bell --cancel "$(tr -d '"' <id)"
same "and not handled" "$(run_and_log)" '[]'

# ---- one id on two streams ----

set_both() {
    "$HEDDLE" send bell ring '"x"' --after 1d --id both >/dev/null
    "$HEDDLE" send bell tick --after 1d --id both >/dev/null
}

handlers_now() {
    set_now bell | grep -o '"handler":"[a-z]*"' | cut -d '"' -f 4 | sort | tr '\n' ' '
}

set_both
same "an id on two streams is two timers" "$(handlers_now)" 'ring tick '
same "a handler cancels that of one stream" "$("$HEDDLE" send bell stop_ring '"both"') $(handlers_now)" '{"was":true} tick '
set_both
same "or all of the piece" "$("$HEDDLE" send bell stop '"both"') $(handlers_now)" '{"was":true} '
set_both
check "so does the command, by the address of a stream" "$HEDDLE" timers bell/ring --cancel both
same "the other one is left" "$(handlers_now)" 'tick '
set_both
check "and all of a piece, by its name" "$HEDDLE" timers bell --cancel both
same "none of them is left" "$(handlers_now)" ''
set_both
"$HEDDLE" rename bell gong 2>/dev/null
"$HEDDLE" rename gong bell 2>/dev/null
check "both follow a piece that is renamed, with their names" "$HEDDLE" timers bell/tick --cancel both
check "each" "$HEDDLE" timers bell/ring --cancel both

# ---- names of pieces ----

"$HEDDLE" send bell ring '"x"' --after 1d --id named >/dev/null
"$HEDDLE" rename bell gong 2>/dev/null
same "timers follow a piece that is renamed" "$(set_now gong)" '{"timers":[{"id":"named","piece":"gong","handler":"ring","payload":"x"}]}'
check "with their names" "$HEDDLE" timers gong --cancel named
"$HEDDLE" send gong ring '"x"' --every 1h >/dev/null
"$HEDDLE" rm gong --yes 2>/dev/null
same "and go with one that is removed" "$(set_now)" '{"timers":[]}'
check "the history is sound" "$HEDDLE" check

# ---- what waits for an element of a list that has gone ----

cat >desk.lua <<'LUA'
local heddle = require("heddle")
local card = heddle.pattern("card", function(p)
  p:arg("about")
  local late = p:state("late", 0)
  local remind = p:handler("remind", function() late:increment() end)
  local start = p:handler("start", function(event) heddle.send(remind, nil, event) end)
  return { late = late, start = start, remind = remind }
end)
return heddle.pattern("desk", function(p)
  local list = p:state("list", heddle.array{ { id = 1 }, { id = 2 } })
  local total = p:computed("total", function() return #list:get() end)
  local cards = p:map(list, function(item) return p:piece(card, { about = item }) end, { name = "cards", key = "id" })
  p:handler("add", function(event)
    list:append(event)
    heddle.send(cards:key(#list:get(), "start"), 1)
  end)
  p:handler("wrong", function() heddle.send(total, 1) end)
  return { list = list, cards = cards, total = total }
end)
LUA

begin_desk() {
    rm -rf heddle-data
    "$HEDDLE" run desk.lua --once >/dev/null 2>&1
}

# What was told beside the result, once per sentence.
run_desk() {
    "$HEDDLE" run desk.lua --once 2>&1 >/dev/null | grep 'dropped\|not handled\|is gone'
}

waiting() {
    echo "$("$HEDDLE" timers 2>/dev/null | grep -c cards) $("$HEDDLE" events --json)"
}

# Two timers that are due and an event for the first card, and a timer of the
# second one; then the first card is removed from the list.
remove_card() { # MISSED
    begin_desk
    for options in '--at 2020-01-01T00:00:00Z' "--every 1h --missed $1 --at 2020-01-01T00:00:00Z" --queue; do
        # shellcheck disable=SC2086 # several words
        "$HEDDLE" send desk/cards/0 remind $options >/dev/null
    done
    "$HEDDLE" send desk/cards/1 remind --after 1d --id other >/dev/null
    "$HEDDLE" set desk list '[{"id":2}]'
}

gone="the piece desk has no stream 'cards/0/card1/remind': its element was removed from the list"

remove_card none
"$HEDDLE" get desk cards >/dev/null
same "what waits for an element that has gone is listed" "$(waiting | cut -c 1-13)" '3 {"events":['
same "a process that runs the piece says once that it ends" "$(run_desk)" \
    "heddle: desk: an event was dropped from the queue: $gone
heddle: desk: a timer was dropped from the queue: $gone
heddle: desk: a timer was dropped from the queue: $gone"
same "and it is gone, but for what waits for another element" "$(waiting)" '1 {"events":[]}'
same "nothing is said again" "$(run_desk)" ''
check "the history is sound" "$HEDDLE" check

remove_card all
run_desk >/dev/null
same "also if the list had not been brought up to date" "$(waiting)" '1 {"events":[]}'

begin_desk
"$HEDDLE" send desk add '{"id":9}' 2>err
same "an event to an element that the same handler adds ends, and the reason is said" "$? $(cat err)" \
    "1 heddle: desk/add: an event for the stream piece:desk/cards/2 was not handled: the piece desk has no stream 'cards/2': \
this is the address of an element of a list"
"$HEDDLE" send desk wrong 2>err
same "so does one to what is declared as something else" "$? $(cat err)" \
    "1 heddle: desk/wrong: an event for the stream piece:desk/total was not handled: the piece desk has no stream 'total': \
it is not a handler"
same "nothing of them waits" "$(waiting)" '0 {"events":[]}'
same "and nothing is said again" "$(run_desk)" ''

# ---- cancelling timers of children ----

begin_desk
for card in 0 1; do
    "$HEDDLE" send "desk/cards/$card" start '{"after":86400000,"id":"r"}' >/dev/null
done
"$HEDDLE" timers desk --cancel r 2>err
same "an id that several children have is refused" "$? $(cat err)" \
    "2 heddle: several children of desk have a timer 'r': give one of desk/cards/0/card1, desk/cards/1/card1"
check "the address of an element is enough" "$HEDDLE" timers desk/cards/1 --cancel r
same "that timer is gone" "$("$HEDDLE" timers | grep -o 'cards/.*remind')" 'cards/0/card1/remind'
"$HEDDLE" set desk list '[]'
"$HEDDLE" get desk cards >/dev/null
check "also that of an element that has gone" "$HEDDLE" timers desk/cards/0 --cancel r
same "none is left" "$(set_now)" '{"timers":[]}'
"$HEDDLE" timers desk/cards/0 --cancel r 2>err
same "then there is no such child" "$? $(cut -d ' ' -f 1-6 err)" '1 heddle: there is no piece desk/cards/0'

# ---- users ----

begin
"$HEDDLE" send bell ring '"hers"' --at 2020-01-01T00:00:00Z --id u --user ana >/dev/null
same "a timer of a user waits for a process of that user" "$(run_and_log)" '[]'
check "timers says so" sh -c '"$HEDDLE" timers bell | grep -q "(overdue)  ring of bell for the user ana  "'
"$HEDDLE" run bell.lua --once --user ana >/dev/null 2>&1
same "which handles it" "$(log_now)" '["hers"]'

# ---- a timer that repeats, and processes that are killed ----

begin
"$HEDDLE" send bell tick --every 100ms --missed all --id clock >/dev/null
for ticks in 2 4 6 8; do
    start_runner
    wait_for yes has_ticks "$ticks"
    end_process KILL "$runner"
done
start_runner
other=$runner
start_runner
wait_for yes has_ticks 16
"$HEDDLE" timers bell --cancel clock
end_process KILL "$other"
end_process TERM "$runner"
check "ticks were handled" has_ticks 16
same "each once, whichever process was killed, and by two at once" "$(ticks_in_steps 100)" 0
same "the timer is gone" "$(set_now)" '{"timers":[]}'
check "the history is sound" "$HEDDLE" check

begin
"$HEDDLE" send bell tick --every 1h --at 2020-01-01T00:00:00Z >/dev/null
run_once
same "of the ticks that were missed one is handled" "$(count_ticks)" 1
same "the next tick is in the schedule" \
    "$("$HEDDLE" timers --json | grep -o '"due":[0-9]*' | tr -dc '0-9' | awk '{ print $1 % 3600000 }')" 0
check "and ahead" sh -c '! "$HEDDLE" timers | grep -q overdue'

begin
"$HEDDLE" send bell tick --every 1h --at "$(date -u -d '-90 minutes' +%Y-%m-%dT%H:%M:%SZ)" --missed none >/dev/null
run_once
same "or none of them" "$(count_ticks)" 0
check "and the next one is ahead" sh -c '! "$HEDDLE" timers | grep -q overdue'

begin
"$HEDDLE" send bell tick --every '0 9 * * 1-5' --zone Europe/Berlin --id work >/dev/null
same "cron fields have a time zone" "$(set_now)" \
    '{"timers":[{"id":"work","piece":"bell","handler":"tick","payload":null,"cron":"0 9 * * 1-5","zone":"Europe/Berlin"}]}'
due=$("$HEDDLE" timers --json | grep -o '"due":[0-9]*' | tr -dc '0-9')
same "and name a time of it" "$(TZ=Europe/Berlin date -d "@$((due / 1000))" '+%H:%M')" '09:00'

for every in 1500ms 30s 5m 1h 2d; do
    "$HEDDLE" send bell tick --every $every --missed none --id "each $every" >/dev/null
    same "an interval of $every is listed, with what becomes of missed ticks" \
        "$("$HEDDLE" timers bell | grep -c "every $every, missed none  *each $every\$")" 1
done

# ---- what is refused ----

refused() { # NAME SENTENCE OPTION...
    name=$1 sentence=$2
    shift 2
    "$HEDDLE" send bell ring 1 "$@" >out 2>err
    same "$name" "$? $(cat err)" "2 heddle: $sentence; see 'heddle send --help'"
}
refused "a time that is none" "--after takes a time such as 500ms, 30s, 5m, 2h or 1d, not 'soon'" --after soon
refused "a date that there is not" \
    "--at takes a time such as 2026-11-18T09:00:00Z or 2026-11-18T10:00:00+01:00, not '2026-02-30T00:00:00Z'" --at 2026-02-30T00:00:00Z
refused "a repetition that is none" \
    "--every takes a time such as 30s or 1h, or five cron fields such as '0 9 * * 1-5', not 'daily'" --every daily
refused "cron fields without a day" "the cron fields '0 0 31 2 *' name a day that its month does not have" --every '0 0 31 2 *'
refused "a zone that there is not" \
    "there is no time zone 'Mars/Base' on this system: names are those of the tz database, such as Europe/Berlin" \
    --every '0 0 * * *' --zone Mars/Base
refused "two times" "'after' and 'at' exclude each other" --after 1s --at 2026-01-01T00:00:00Z
refused "a session" "the id of a timer is its name in the piece: leave out --session" --after 1s --id a --session b

# ---- what ps says ----

begin
same "nothing waits" "$("$HEDDLE" ps | head -n 1)" 'bell  asleep: no process runs it'
"$HEDDLE" send bell ring 1 --queue >/dev/null
same "ps says that an event waits" "$("$HEDDLE" ps | head -n 1)" 'bell  asleep: no process runs it; 1 event waits'
"$HEDDLE" send bell ring 2 --queue >/dev/null
"$HEDDLE" send bell ring 3 --at 2200-01-01T00:00:00Z --id far >/dev/null
same "and when the next timer is due" "$("$HEDDLE" ps --json | sed 's/.*"waiting"/"waiting"/')" \
    '"waiting":{"events":2,"timers":1,"next":7258118400000}}]}'

# ---- damage ----

sqlite3 heddle-data/main.db 'UPDATE timer SET due = due + 1'
"$HEDDLE" check >out 2>&1
same "a time that differs from the history is found" "$? $(grep -c 'its event is not listed as waiting' out)" '1 1'
"$HEDDLE" check --repair >/dev/null 2>&1
check "and repaired" "$HEDDLE" check

finish
