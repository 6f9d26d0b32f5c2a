#!/bin/sh
# Files of a data directory that are deleted, cut short or emptied while a
# process has them open: nothing that was acknowledged is lost, no process is
# killed by it, and what cannot go on says so.
#
# What `until_true` is given to run, shellcheck takes for unreachable:
# shellcheck disable=SC2317

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

cat >count.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("count", function(p)
  local n = p:state("n", 1)
  p:handler("add", function() n:set(n:get() + 1) end)
  return { n = n }
end)
END

# contains NAME TEXT PART
contains() {
    case "$2" in
    *"$3"*) ok "$1" ;;
    *) not_ok "$1" "text:     $2" "expected: ... $3 ..." ;;
    esac
}

# begin: a new directory, and a process that runs.
begin() {
    rm -rf heddle-data
    "$HEDDLE" run count.lua --once >/dev/null 2>&1
    start runner run count.lua
    runner=$pid
    until_true says runner '{"n":1}'
}

# survives NAME: five events by other processes, which the runner sees; and all
# is there when it has gone.
survives() {
    for _ in 1 2 3 4 5; do
        "$HEDDLE" send count add >/dev/null 2>&1
    done
    check "$1: the process that runs sees what others do" until_true says runner '{"n":6}'
    stop "$runner" TERM
    same "$1: it ends as ever" "$code" "0" "$(cat runner.err)"
    try "$1: and nothing is lost" 0 '6' '' get count n
    run check
    same "$1: and nothing is damaged" "$code" "0" "$out" "$err"
}

begin
rm heddle-data/main.db-shm
survives "the -shm file was deleted"

begin
: >heddle-data/main.db-shm
survives "the -shm file was cut short"

begin
truncate -s 100 heddle-data/main.db-shm
survives "the -shm file has 100 bytes"

# Nothing makes the file longer before the process that runs touches it.
begin
"$HEDDLE" send count add >/dev/null
until_true says runner '{"n":2}'
: >heddle-data/main.db-shm
stop "$runner" TERM
same "a process that ends without its -shm file is not killed" "$code" "0" "$(cat runner.err)"
try "and nothing is lost" 0 '2' '' get count n

# Again and again, while events are handled.
begin
for _ in 1 2 3 4 5 6; do
    for _ in 1 2 3 4 5; do "$HEDDLE" send count add >>sent 2>>send.err; done &
    for _ in 1 2 3 4 5 6 7 8 9 10; do : >heddle-data/main.db-shm; done
    wait $!
done
stop "$runner" TERM
same "a process that runs meanwhile is not killed" "$code" "0" "$(cat runner.err)"
check "nothing that was acknowledged is lost" [ "$("$HEDDLE" get count n)" -ge "$(($(wc -l <sent) + 1))" ]
check "no command was killed" sh -c '! grep -qi "bus error" send.err'
run check
same "and nothing is damaged" "$code" "0" "$out" "$err"

begin
cp heddle-data/main.db-wal heddle-data/other
mv heddle-data/other heddle-data/main.db-wal
"$HEDDLE" send count add >send.out 2>&1
check "a runner whose WAL was replaced says so, also if it only reads" \
    until_true grep -q "main.db-wal was replaced by another file" runner.err
stop "$runner" TERM 2>/dev/null

begin
rm heddle-data/main.db-lock
survives "the lock file was deleted"

begin
: >heddle-data/main.db-lock
survives "the lock file was cut short"

# ---- the database itself ----

begin
stop "$runner" TERM
: >heddle-data/main.db
run check
same "check finds that a database is empty" "$code" "1" "$out" "$err"
contains "and says what to do" "$out" "the file was truncated to 0 bytes"
run send count add
check "nothing is written to it" [ "$code" -ne 0 ]
contains "and the message says why" "$err" "the file was truncated to 0 bytes"
same "it is as it was" "$(wc -c <heddle-data/main.db)" "0"

rm -rf heddle-data
mkdir heddle-data
: >heddle-data/main.db
run run count.lua --once
same "an empty file that was never written to is a new space" "$code $out" '0 {"n":1}' "$err"

# ---- a write-ahead log whose first page was exchanged with another ----

begin
for _ in 1 2 3 4 5; do "$HEDDLE" send count add >/dev/null 2>&1; done
stop "$runner" KILL
wal=heddle-data/main.db-wal
dd if=$wal of=first bs=4096 count=1 2>/dev/null
dd if=$wal of=third bs=4096 count=1 skip=2 2>/dev/null
dd if=third of=$wal bs=4096 conv=notrunc 2>/dev/null
dd if=first of=$wal bs=4096 seek=2 conv=notrunc 2>/dev/null
run check
same "check finds a log without its header and first frame" "$code" "1" "$out" "$err"
contains "and says that transactions are not read" "$out" "the write-ahead log is damaged at byte 0"

finish
