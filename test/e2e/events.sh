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

finish
