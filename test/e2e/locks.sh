#!/bin/sh
# Another process holds the write lock: reading goes on, a deadline holds, a
# signal ends the command, and each message names the process. The processes
# hold the lock until this script tells them to let go, so a command that ends
# has not waited for them; the time that `timeout` grants is far above every
# deadline here, and below what a wait for the lock would take.
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
  local twice = p:computed("twice", function() return n:get() * 2 end)
  p:handler("add", function() n:set(n:get() + 1) end)
  return { n = n, twice = twice }
end)
END

cat >hold.py <<'END'
import sqlite3, sys
connection = sqlite3.connect("heddle-data/main.db", isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
END

# in_time ARGUMENT...: out, err and code are what came of it; 124: too late.
in_time() {
    timeout 9 "$HEDDLE" "$@" >out.txt 2>err.txt
    code=$?
    out=$(cat out.txt)
    err=$(cat err.txt)
}

# names_holder TEXT: whether the text names the process that holds the lock.
names_holder() {
    case "$1" in *"process $holder ("*") holds the write lock"*) ;; *) false ;; esac
}

# contains NAME TEXT PART
contains() {
    case "$2" in
    *"$3"*) ok "$1" ;;
    *) not_ok "$1" "text:     $2" "expected: ... $3 ..." ;;
    esac
}

# has_ended PID: also if its code has not been taken.
has_ended() {
    [ ! -e "/proc/$1/status" ] || grep -q '^State:.Z' "/proc/$1/status"
}

is_held() { grep -q held hold.out; }

is_stopped() { grep -q '^State:.T' "/proc/$holder/status"; }

# everything_but_writes_works NAME WORDS: the commands beside a held lock, and
# what the messages say of its holder besides.
everything_but_writes_works() {
    in_time get count n
    same "$1: a value is read" "$code $out" "0 1" "$err"
    in_time get count twice
    same "$1: and one that is up to date is not computed again" "$code $out" "0 2" "$err"
    in_time ps
    same "$1: ps" "$code" "0" "$err"
    in_time log count
    same "$1: log" "$code" "0" "$err"
    in_time send count add --timeout 300
    check "$1: send fails" [ "$code" -ne 0 ]
    check "$1: at its deadline" [ "$code" -ne 124 ]
    check "$1: and names the process" names_holder "$err"
    contains "$1: and says what is to be done" "$err" "$2"
    in_time doctor
    same "$1: doctor has a hazard" "$code" "1" "$out"
    check "$1: which names the process" names_holder "$out"
    contains "$1: and says what is to be done about it" "$out" "$2"
}

"$HEDDLE" run count.lua --once >/dev/null 2>&1

# ---- a program that is not Heddle ----

mkfifo let_go
python3 hold.py >hold.out 2>&1 <let_go &
holder=$!
started="$started $holder"
exec 3>let_go
check "another program holds the file" until_true is_held
everything_but_writes_works "a foreign transaction" "end its transaction"

start waiting send count add --timeout 100000
waiting=$pid
check "a command that waits says for which process" until_true says waiting "process $holder ("
kill -TERM "$waiting"
check "and ends at a signal" until_true has_ended "$waiting"
wait "$waiting"
check "with the code of one" [ $? -ne 0 ]

start waiting send count add --timeout 100000
waiting=$pid
check "another one waits" until_true says waiting "process $holder ("
echo >&3
exec 3>&-
wait "$waiting"
same "it goes on when the lock is free" "$?" "0" "$(cat waiting.err)"
check "and says so" says waiting "the problem is resolved"
wait "$holder"
try "only that event was handled" 0 '2' '' get count n
"$HEDDLE" set count n 1
try "the computed value is up to date again" 0 '2' '' get count twice

# ---- a process of ours that was stopped inside of its transaction ----

: >hold.out
"$BUILD/bin/programs/store_writer" hold heddle-data/main.db >hold.out 2>&1 &
holder=$!
started="$started $holder"
check "a process is stopped inside of its transaction" until_true is_stopped
check "in which it holds the lock" is_held
everything_but_writes_works "a stopped process" "is stopped: resume it (kill -CONT $holder)"
contains "doctor says since when" "$out" " since 20"

start waiting send count add --timeout 100000
waiting=$pid
check "a command that waits says that the process is stopped" until_true says waiting "and is stopped"
kill -CONT "$holder"
wait "$waiting"
same "it goes on when the process does" "$?" "0" "$(cat waiting.err)"
wait "$holder"
try "the event was handled once" 0 '2' '' get count n
run check
same "and nothing is damaged" "$code" "0" "$out" "$err"

# ---- one that was killed there ----

: >hold.out
"$BUILD/bin/programs/store_writer" hold heddle-data/main.db >hold.out 2>&1 &
holder=$!
started="$started $holder"
check "a process is stopped once more" until_true is_stopped
start waiting send count add --timeout 100000
waiting=$pid
check "a command waits for it" until_true says waiting "and is stopped"
kill -KILL "$holder"
wait "$waiting"
same "and goes on when it was killed" "$?" "0" "$(cat waiting.err)"
try "with its event" 0 '3' '' get count n

# ---- one that was killed there, and whose parent does not ask for its code ----

cat >keep.py <<'END'
import subprocess, sys
holder = subprocess.Popen([sys.argv[1], "hold", "heddle-data/main.db"], stdout=subprocess.PIPE)
holder.stdout.readline()
holder.kill()
print(holder.pid, flush=True)
sys.stdin.readline()
END
mkfifo keep.in
python3 keep.py "$BUILD/bin/programs/store_writer" <keep.in >keep.out 2>&1 &
started="$started $!"
exec 9>keep.in
check "a process is killed inside of its transaction" until_true test -s keep.out
holder=$(cat keep.out)
check "and the system still knows it" until_true grep -q '^State:.Z' "/proc/$holder/status"
in_time send count add --timeout 5000
same "the next command does not wait for it" "$code" "0" "$out" "$err"
try "and its event is handled" 0 '4' '' get count n
exec 9>&-

finish
