#!/bin/sh
# heddle store compact: what goes and what stays, the size of the file, and that
# nothing is lost or handled twice, also if other processes write meanwhile, and
# if it is interrupted, killed, or out of disk.
#
# What `until_true` is given to run, shellcheck takes for unreachable:
# shellcheck disable=SC2317

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

cat >counter.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("counter", function(p)
  local n = p:state("n", 0)
  local add = p:handler("add", function(event)
    n:increment(event.by)
    return { by = event.by }
  end)
  p:handler("burst", function(event)
    for _ = 1, event.count do add:send{ by = 1 } end
  end)
  p:effect("say", function() heddle.notify("n is " .. n:get()) end)
  return { n = n }
end)
LUA

file=heddle-data/main.db
gone="--keep-commits 0 --keep-age 0" # all that no process needs now

# ask SQL: what is in the file, one value per line.
ask() {
    python3 -c '
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print(row[0])' "$file" "$1"
}

bytes() { stat -c %s "$file"; }

# of NAME: a number of the report in out.txt.
of() { "$HEDDLE" value get out.txt "/$1"; }

named() { "$HEDDLE" send counter add '{"by": 1}' --id "$1" --session me; }

# compact ARGUMENT...: as JSON, in out.txt.
compact() { "$HEDDLE" store compact "$file" --json "$@" >out.txt 2>err.txt; }

# sound NAME WANT: the file, and the value of the counter.
sound() {
    "$HEDDLE" store check "$file" >check.txt 2>&1
    same "$1: the file is sound" "$? $(tail -n 1 check.txt | sed 's/.*: //')" "0 0 differences"
    same "$1: the value is right" "$("$HEDDLE" get counter n)" "$2"
}

# ---- what goes, and how large the file is ----

"$HEDDLE" run counter.lua --once >/dev/null 2>&1
"$HEDDLE" send counter burst '{"count": 4000}' >/dev/null
for id in 1 2 3 4 5 6 7 8 9 10; do
    named "$id" >/dev/null
done
before=$(bytes)
cp -r heddle-data fresh

compact
same "without options compact ends well" "$?" 0
same "and nothing of the last commits goes" "$(of receiptsRemoved) $(of commitsRemoved) $(of sessionsRemoved)" "0 0 0"
check "but old revisions do" [ "$(of revisionsRemoved)" -gt 4000 ]
sound "folded" 4010
same "an event that is sent again is recognised" "$(named 3)" '{"by":1}'
same "and not handled again" "$("$HEDDLE" get counter n)" 4010

"$HEDDLE" doctor --json --dir heddle-data >doctor.txt
same "doctor counts what no process needs" "$("$HEDDLE" value get doctor.txt /spaces/0/reclaimable/commits)" 0

compact --keep-commits 0
same "with a window of no commits it ends well" "$?" 0
check "receipts of events without an id go" [ "$(of receiptsRemoved)" -ge 4000 ]
check "rows of commits go" [ "$(of commitsRemoved)" -ge 4000 ]
check "and the sessions of those" [ "$(of sessionsRemoved)" -ge 9 ]
after=$(bytes)
check "the file is a fraction of what it was" [ "$after" -lt $((before / 4)) ]
same "and the report says so" "$(of bytes)" "$after"
check "with what was returned" [ "$(of bytesReturned)" -gt $((before / 3)) ]
sound "compacted" 4010
same "an event with an id is recognised for a week" "$(named 3)" '{"by":1}'
sound "sent again" 4010

compact --keep-commits 0 --keep-age 3600
same "and for an hour, if so told" "$(named 3) $("$HEDDLE" get counter n)" '{"by":1} 4010'
# shellcheck disable=SC2086
compact $gone
check "outside of the window its receipt goes" [ "$(of receiptsRemoved)" -ge 9 ]
same "and it is handled again" "$(named 3) $("$HEDDLE" get counter n)" '{"by":1} 4011'
same "which is recognised" "$(named 3) $("$HEDDLE" get counter n)" '{"by":1} 4011'
compact --keep-commits 5 --keep-age 0
same "the last commits keep their receipts" "$(named 3) $("$HEDDLE" get counter n)" '{"by":1} 4011'
sound "at last" 4011

run store compact "$file"
case "$out" in
"history begins at seq "*"
removed: 0 revisions, 0 snapshots, 0 receipts, 0 commits, 0 sessions, 0 actions
returned 0 KiB to the file system; the file has "*" KiB") ok "the report for people names rows, and no document" ;;
*) not_ok "the report for people names rows, and no document" "$out" ;;
esac
try "a window that is no number" 2 "" "heddle: --keep-age requires an integer, not 'x'*" store compact "$file" --keep-age x

# ---- doctor ----

rm -rf heddle-data && cp -r fresh heddle-data
"$HEDDLE" doctor --json >doctor.txt
free=$("$HEDDLE" value get doctor.txt /spaces/0/reclaimable/bytes)
check "doctor estimates what folding returns" [ "$free" -gt 100000 ]
same "doctor names the command" "$("$HEDDLE" doctor | grep -c "'heddle store compact' would return about")" 1
same "and changes nothing" "$(bytes)" "$before"

# ---- sessions that have ended, and one that is stopped ----

rm -rf heddle-data
start runner run counter.lua
runner=$pid
check "a process runs the piece" until_true says runner "n is 0"
is_stored() { "$HEDDLE" get counter n >/dev/null 2>&1; }
check "which is stored" until_true is_stored
for id in 1 2 3 4 5; do
    named "$id" >/dev/null
done
check "and sees what others do" until_true says runner "n is 5"
its=$(ask 'SELECT session FROM "commit" ORDER BY seq LIMIT 1')
kill -STOP "$runner"
for id in 6 7 8 9; do
    named "$id" >/dev/null
done
# The last commit, whose row stays, does not tell of the counter.
"$HEDDLE" run counter.lua --once --name other >/dev/null 2>&1
# shellcheck disable=SC2086
compact $gone
same "compact beside a process that is stopped" "$?" 0
same "sessions that have ended go" "$(of sessionsRemoved)" 9
same "the one of that process stays" "$(ask "SELECT count(*) FROM session WHERE session = $its")" 1
same "with its commits" "$(ask "SELECT count(*) > 0 FROM \"commit\" WHERE session = $its")" 1
kill -CONT "$runner"
check "it goes on, and learns what it has missed" until_true says runner "n is 9"
named 10 >/dev/null
check "and what comes" until_true says runner "n is 10"
# shellcheck disable=SC2086
compact $gone
check "also after another one" [ $? -eq 0 ]
named 11 >/dev/null
check "it works with the same rows" until_true says runner "n is 11"
stop "$runner" TERM
same "and ends well" "$code" 0
# shellcheck disable=SC2086
compact $gone
same "then its session goes" "$(ask "SELECT count(*) FROM session WHERE session = $its")" 0
sound "with processes" 11

# ---- events that wait ----

# Events that wait have the ids of their receipts, and are none.
"$HEDDLE" send counter add '{"by": 1}' --queue >/dev/null
"$HEDDLE" send counter add '{"by": 1}' --queue --id waits --session me >/dev/null
"$HEDDLE" set other n 1
# shellcheck disable=SC2086
compact $gone
same "events that wait are kept" "$("$HEDDLE" events --json | grep -o '"state":"waiting"' | wc -l)" 2
"$HEDDLE" run counter.lua --once >/dev/null 2>&1
same "and handled, once" "$("$HEDDLE" get counter n)" 13
# shellcheck disable=SC2086
compact $gone
"$HEDDLE" run counter.lua --once >/dev/null 2>&1
sound "without their receipts" 13

# ---- other processes that write ----

send_some() {
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        named "$1$i" || echo "failed: $1$i"
    done
}
send_some a >a.out 2>&1 &
one=$!
send_some b >b.out 2>&1 &
two=$!
bad=0
rounds=0
while kill -0 "$one" 2>/dev/null || kill -0 "$two" 2>/dev/null; do
    compact --keep-commits 0 || bad=$((bad + 1))
    rounds=$((rounds + 1))
done
wait "$one" "$two"
same "every compaction beside writers ends well" "$bad" 0
same "and every event is told done" "$(sort -u a.out b.out)" '{"by":1}'
sound "beside writers" 43
send_some a >a.out 2>&1
sound "all of them are recognised" 43

# ---- killed ----

# killed_after SECONDS: at some step.
killed_after() {
    rm -rf heddle-data && cp -r fresh heddle-data
    # shellcheck disable=SC2086
    "$HEDDLE" store compact "$file" $gone >/dev/null 2>&1 &
    victim=$!
    sleep "$1"
    kill -9 "$victim" 2>/dev/null
    wait "$victim" 2>/dev/null
    "$HEDDLE" store check "$file" >/dev/null 2>&1 || return 1
    [ "$("$HEDDLE" get counter n)" = 4010 ] || return 1
    # shellcheck disable=SC2086
    compact $gone || return 1
    [ "$(bytes)" -lt $((before / 4)) ] || return 1
    "$HEDDLE" store check "$file" >/dev/null 2>&1
}
for pause in 0.005 0.02 0.04 0.06 0.08 0.1 0.12 0.15 0.2; do
    check "killed after $pause s, the file is sound, and the next one goes on" killed_after "$pause"
done

# ---- interrupted ----

rm -rf heddle-data && cp -r fresh heddle-data
"$BUILD/bin/programs/store_writer" hold "$file" >hold.out 2>&1 &
holder=$!
started="$started $holder"
is_held() { grep -q held hold.out; }
check "a process holds the write lock" until_true is_held
for signal in INT TERM; do
    # A shell ignores SIGINT for what it starts in the background.
    python3 - "$HEDDLE" "$file" "$signal" >int.txt <<'PY'
import signal, subprocess, sys, time
def listen():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
process = subprocess.Popen([sys.argv[1], "store", "compact", sys.argv[2], "--json"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, preexec_fn=listen)
def handles():
    with open("/proc/%d/status" % process.pid) as status:
        caught = [line.split()[1] for line in status if line.startswith("SigCgt")][0]
    return int(caught, 16) >> (signal.SIGTERM - 1) & 1
while process.poll() is None and not handles():
    time.sleep(0.01)
process.send_signal(getattr(signal, "SIG" + sys.argv[3]))
out, err = process.communicate(timeout=60)
print(process.returncode, "\"interrupted\":true" in out.decode(), err.decode().strip())
PY
    same "SIG$signal ends it, also while it waits" "$(cat int.txt)" "1 True heddle: interrupted; run it again to continue"
done
kill -CONT "$holder"
wait "$holder"
sound "interrupted" 4010

# At some step, or after the last one.
for pause in 0.01 0.03 0.06 0.1; do
    rm -rf heddle-data && cp -r fresh heddle-data
    # shellcheck disable=SC2086
    "$HEDDLE" store compact "$file" $gone --json >out.txt 2>err.txt &
    victim=$!
    sleep "$pause"
    kill -TERM "$victim" 2>/dev/null
    wait "$victim"
    case $? in
    0) same "SIGTERM after $pause s came too late" "$(of interrupted)" false ;;
    1) same "SIGTERM after $pause s ends it after a step" "$(of interrupted)" true ;;
    143) ok "SIGTERM after $pause s came before it began" ;;
    *) not_ok "SIGTERM after $pause s" "$(cat out.txt err.txt)" ;;
    esac
    sound "SIGTERM after $pause s" 4010
done

# ---- a disk that is full ----

rm -rf heddle-data && cp -r fresh heddle-data
(
    trap '' XFSZ
    ulimit -f 64
    # shellcheck disable=SC2086
    "$HEDDLE" store compact "$file" $gone --json >out.txt 2>err.txt
    echo $? >full.code
)
same "a full disk is an error" "$(cat full.code)" 3
check "that says so" grep -qi "full\|too large\|disk" err.txt
check "the report says what was done" "$HEDDLE" value get out.txt /revisionsRemoved
sound "after a full disk" 4010
# shellcheck disable=SC2086
compact $gone
check "and it goes on when there is room" [ "$(bytes)" -lt $((before / 4)) ]
sound "with room again" 4010

# ---- a file of an earlier version ----

rm -rf heddle-data && cp -r fresh heddle-data
python3 - "$file" <<'PY'
import sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("PRAGMA auto_vacuum = NONE")
file.execute("VACUUM")
PY
start runner run counter.lua
runner=$pid
check "a process has the file open" until_true says runner "n is 4010"
# shellcheck disable=SC2086
run store compact "$file" $gone
same "it is compacted" "$code" 0
check "and says that it cannot shrink" [ "$(echo "$out" | grep -c -- '--full')" = 1 ]
check "it has its size" [ "$(bytes)" -gt $((before / 2)) ]
# shellcheck disable=SC2086
run store compact "$file" $gone --full
same "with --full it is written anew" "$code" 0
named late >/dev/null
check "the process that has it open goes on" until_true says runner "n is 4011"
stop "$runner" TERM
same "and ends well, too" "$code" 0
check "the file is small now" [ "$(bytes)" -lt $((before / 4)) ]
"$HEDDLE" send counter burst '{"count": 500}' >/dev/null
larger=$(bytes)
# shellcheck disable=SC2086
compact $gone
check "and shrinks without it from then on" [ "$(bytes)" -lt "$larger" ]
sound "written anew" 4511

finish
