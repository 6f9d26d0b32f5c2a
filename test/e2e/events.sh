#!/bin/sh
# Events as their senders name and count them: sent again, from several
# processes at once, with another payload, and more of them than a stream takes.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

cd "$scratch" || exit 1
cat >counter.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("counter", function(p)
  local n = p:state("n", 0)
  p:handler("add", function(event)
    n:increment(event.by)
    return { by = event.by }
  end)
  return { n = n }
end)
LUA
"$HEDDLE" run counter.lua --once >/dev/null 2>&1

# ---- the session of an event is a name, and claims nothing ----

# send_some LETTER: twenty events, all with the session "me".
send_some() {
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        "$HEDDLE" send counter add '{"by": 1}' --id "$1$i" --session me || echo "failed: $1$i"
    done
}
send_some a >a.out 2>&1 &
one=$!
send_some b >b.out 2>&1 &
two=$!
wait "$one" "$two"
same "two processes send as one session, and all is told done" "$(sort -u a.out b.out)" '{"by":1}'
same "all of it is there" "$("$HEDDLE" get counter n)" 40
send_some a >a.out 2>&1
same "sent again, they get their receipts" "$(sort -u a.out)" '{"by":1}'
same "and nothing happens twice" "$("$HEDDLE" get counter n)" 40

# ---- an id stands for one payload ----

# try NAME CODE OUT ERR ARGUMENT...: the exit code and what is printed; ERR is a
# pattern.
try() {
    name=$1
    want=$2
    out=$3
    err=$4
    shift 4
    "$HEDDLE" "$@" >out.txt 2>err.txt
    code=$?
    # shellcheck disable=SC2254
    case "$(cat err.txt)" in
    $err) [ "$code/$(cat out.txt)" = "$want/$out" ] && ok "$name" && return ;;
    esac
    not_ok "$name" "exit code $code" "$(cat out.txt err.txt)"
}

try "an event with an id" 0 '{"by":2}' '' send counter add '{"by": 2}' --id pay --session me
try "the same payload again gets the receipt" 0 '{"by":2}' '' send counter add '{ "by" : 2 }' --id pay --session me
try "another payload with the id is refused" 1 '' \
    'heddle: add: an event with this session and id was handled before with another payload (digest *, now *): send it*' \
    send counter add '{"by": 5}' --id pay --session me
same "with two digests" "$(grep -o 'digest [A-Za-z0-9_-]\{43\}, now [A-Za-z0-9_-]\{43\}' err.txt | wc -l)" 1
try "and is counted nowhere" 0 42 '' get counter n
try "the receipt is still there" 0 '{"by":2}' '' send counter add '{"by": 2}' --id pay --session me
try "another session has its own ids" 0 '{"by":5}' '' send counter add '{"by": 5}' --id pay --session you

finish
