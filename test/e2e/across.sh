#!/bin/sh
# Several processes that run the same piece on one directory do the work of one:
# what one of them has run the others adopt. How many runs there are is held
# exactly by test/unit/host/test_across.c, on a clock of its own; here are real
# processes and real time, so whoever is slow may run something that another one
# has run, and nothing here depends on that. One of them is killed.
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

# start NAME: a process that runs the piece; its id is in $pid.
start() {
    : >"$1.out"
    : >"$1.err"
    "$HEDDLE" run chain.lua --dir data >"$1.out" 2>"$1.err" &
    pid=$!
    started="$started $pid"
}

# says NAME TEXT, shows NAME VALUE: what it has printed, and last of all.
says() {
    grep -qF -- "$2" "$1.err"
}
shows() {
    [ "$(tail -n 1 "$1.out")" = "{\"last\":$2,\"start\":$(($2 - 50))}" ]
}

# runs: of all processes so far; each run of a node prints a line.
runs() {
    cat ./*.err | grep -c "ran "
}

cat >chain.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("chain", function(p)
  local start = p:state("start", 1)
  local last = start
  for i = 1, 50 do
    local before = last
    last = p:computed("n" .. i, function()
      print("ran n" .. i)
      return before:get() + 1
    end)
  end
  return { start = start, last = last }
end)
LUA

# edit N: and everybody has the value that follows from it.
edit() {
    "$HEDDLE" set chain start "$1" --dir data >/dev/null 2>&1
    for name in $alive; do
        check "$2: $name has what follows from $1" until_true shows "$name" $(($1 + 50))
    done
}

# ---- one ----

start one
first=$pid
alive="one"
check "one process runs the piece" until_true says one "up to date"
before=$(runs)
edit 10 alone
same "alone, an edit runs each node once" "$(($(runs) - before))" 50

# ---- two, four ----

start two
alive="one two"
check "a second one takes it up" until_true says two "50 nodes restored, 0 dirty, 0 unknown"
check "and runs nothing" until_true says two "up to date after 0 runs"
edit 20 "of two"
edit 30 "of two"

start three
start four
alive="one two three four"
check "a third one" until_true says three "up to date after 0 runs"
check "and a fourth" until_true says four "up to date after 0 runs"
for number in 40 50 60 70 80; do
    edit "$number" "of four"
done

# ---- killed ----

kill -9 "$first"
wait "$first" 2>/dev/null
alive="two three four"
edit 90 "after a kill"
edit 100 "after a kill"
same "the store has it, too" "$("$HEDDLE" get chain last --dir data --stored)" 150

start five
alive="two three four five"
check "another one takes its place" until_true says five "up to date after 0 runs"
edit 110 "again four"
check "nothing is wrong with the file" "$HEDDLE" check --dir data

# ---- a process that stands still while an input changes and changes back ----

cat >flip.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("flip", function(p)
  local n, other = p:state("n", 1), p:state("other", 0)
  return { n = n, other = other, twice = p:computed("twice", function() return 2 * n:get() end) }
end)
LUA

# flipped TEXT: what the runner shows last.
flipped() {
    [ "$(tail -n 1 flip.out)" = "$1" ]
}

"$HEDDLE" run flip.lua --dir flip >flip.out 2>flip.err &
flip=$!
started="$started $flip"
check "it runs" until_true flipped '{"n":1,"other":0,"twice":2}'
kill -STOP "$flip"
"$HEDDLE" set flip n 20 --dir flip
same "another one computes meanwhile" "$("$HEDDLE" get flip twice --dir flip)" 40
"$HEDDLE" set flip n 1 --dir flip
"$HEDDLE" set flip other 5 --dir flip
kill -CONT "$flip"
check "what was computed for an input that is no more does not stay" until_true flipped '{"n":1,"other":5,"twice":2}'
kill -TERM "$flip"
wait "$flip"

finish
