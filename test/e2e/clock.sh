#!/bin/sh
# Clocks: cells that hold the start of the current interval. Each process uses
# the interval of its own time, and `heddle run` wakes up for the next one.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

# An hour is long enough for what must not change, 10 ms short enough to wait
# for. "inline" declares no clock when the piece is built.
cat >tick.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("tick", function(p)
  local hour = heddle.clock(3600000)
  local days = p:computed("days", function() return hour:get() // 86400000 end)
  local inline = p:computed("inline", function() return heddle.clock(10):get() end)
  local ask = p:handler("ask", function() return { hour = hour:get(), inline = inline:get() } end)
  return { hour = hour, days = days, inline = inline, ask = ask }
end)
LUA

now() {
    date +%s%3N
}

# Whether a time is the start of an interval that began between two others.
is_current() { # VALUE LENGTH BEFORE AFTER
    [ $(($1 % $2)) -eq 0 ] && [ "$1" -gt $(($3 - $2)) ] && [ "$1" -le "$4" ]
}

wait_for_other() { # VALUE COMMAND...: until it prints something else
    old=$1
    shift
    tries=0
    while new=$("$@") && [ "$new" = "$old" ] && [ "$tries" -lt 1200 ]; do
        tries=$((tries + 1))
        sleep 0.01
    done
}

"$HEDDLE" run tick.lua --once >/dev/null 2>&1
before=$(now)
hour=$("$HEDDLE" get tick hour)
inline=$("$HEDDLE" get tick inline)
after=$(now)
check "get gives the current hour" is_current "$hour" 3600000 "$before" "$after"
check "get gives the current interval of a clock in a computation" is_current "$inline" 10 "$before" "$after"

wait_for_other "$inline" "$HEDDLE" get tick inline
check "a later get gives a later interval" test "$new" -gt "$inline"

stored=$("$HEDDLE" get tick inline --stored)
same "get --stored computes nothing" "$("$HEDDLE" get tick inline --stored)" "$stored"

before=$(now)
receipt=$("$HEDDLE" send tick ask)
after=$(now)
check "a handler reads the current interval" is_current "$(echo "$receipt" | sed 's/.*"inline":\([0-9]*\).*/\1/')" 10 "$before" "$after"
check "and what is computed from it" is_current "$(echo "$receipt" | sed 's/.*"hour":\([0-9]*\).*/\1/')" 3600000 "$before" "$after"

# -- A process that runs -------------------------------------------------------

start runner run tick.lua
has_printed() { # COUNT
    [ "$(grep -c inline runner.out)" -ge "$1" ]
}
check "a process that runs is woken by each interval, and prints it" until_true has_printed 4
stop "$pid" TERM

# -- What is shown -------------------------------------------------------------

"$HEDDLE" get tick inline >/dev/null
has() { # TEXT ARGUMENT...: whether it is printed
    text=$1
    shift
    run "$@"
    grep -qF -- "$text" out.txt err.txt
}
check "why names the clock" has "by a clock" why tick inline
check "the log names the clock" has " a clock " log --limit 2
try "a clock cannot be set" 2 '' "heddle: 'hour' is a clock: it cannot be set" set tick hour 5
sed 's/(10)/(9)/' tick.lua >short.lua
check "the shortest interval" has "from 10 on, not 9" run short.lua --once --name short
check "the directory is well" "$HEDDLE" check

finish
