#!/bin/sh
# Events as their senders name and count them: sent again, from several
# processes at once, with another payload, and more of them than a stream takes.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

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
    'heddle: counter/add: an event with this session and id was sent before with another payload (digest *, now *): send it*' \
    send counter add '{"by": 5}' --id pay --session me
same "with two digests" "$(grep -o 'digest [A-Za-z0-9_-]\{43\}, now [A-Za-z0-9_-]\{43\}' err.txt | wc -l)" 1
try "and is counted nowhere" 0 42 '' get counter n
try "the receipt is still there" 0 '{"by":2}' '' send counter add '{"by": 2}' --id pay --session me
try "an id that is empty" 2 '' "heddle: --id and --session must not be empty*" send counter add '{"by": 5}' --id "" --session ""
try "another user has his own ids" 0 '{"by":5}' '' send counter add '{"by": 5}' --id pay --session me --user bob
try "and gets the same receipt again" 0 '{"by":5}' '' send counter add '{"by": 5}' --id pay --session me --user bob
try "another session has its own ids" 0 '{"by":5}' '' send counter add '{"by": 5}' --id pay --session you

# ---- an id that is used again after a failure ----

cat >shop.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("shop", function(p)
  local sold = p:state("sold", heddle.array{})
  local open = p:state("open", false)
  p:handler("sell", function(item)
    if not open:get() then error("the shop is closed") end
    sold:append(item)
  end)
  p:handler("unlock", function() open:set(true) end)
  return { sold = sold }
end)
LUA

queue() {
    "$HEDDLE" send shop sell "$1" --queue --id "$2" --session me >/dev/null
}

has_failed() { [ "$("$HEDDLE" events shop --failed | grep -c "the shop is closed")" -eq 3 ]; }
has_sold() { [ "$("$HEDDLE" get shop sold | tr -cd , | wc -c)" -ge 2 ]; }

# use_again WHERE: while a process runs the piece, and other ones send; then in
# the order of sending, for a process that starts later.
use_again() {
    start shop run shop.lua
    until_true says shop '"sold"'
    queue '"bread"' a
    queue '"milk"' b
    queue '"salt"' c
    until_true has_failed
    "$HEDDLE" send shop unlock 1 >/dev/null
    queue '"salt"' c
    queue '"bread"' a
    queue '"milk"' b
    until_true has_sold
    same "$1: an id that failed is used again while the piece runs" "$("$HEDDLE" get shop sold)" '["salt","bread","milk"]'
    queue '"bread"' a
    same "$1: and then stands for its receipt" "$("$HEDDLE" get shop sold)" '["salt","bread","milk"]'
    kill "$pid"
    wait "$pid"
    queue '"oil"' d
    queue '"egg"' e
    cancel=$("$HEDDLE" events shop --json | grep -o 'receipt:[A-Za-z0-9_-]*' | head -n 1)
    "$HEDDLE" events shop --cancel "$cancel" >/dev/null
    queue '"oil"' d
    "$HEDDLE" run shop.lua --once >/dev/null 2>&1
    same "$1: and a cancelled one is sent when it is sent again" "$("$HEDDLE" get shop sold)" '["salt","bread","milk","egg","oil"]'
}
use_again "in a directory"
start server serve --insecure-local --listen 127.0.0.1:0 --dir served
server=$pid
until_true says server "serving served at "
HEDDLE_SERVER=$(sed -n 's/^serving served at //p' server.out server.err | head -n 1)
export HEDDLE_SERVER
use_again "on a server"
unset HEDDLE_SERVER
kill "$server"
wait "$server"

# ---- what one handler may send ----

cat >burst.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("burst", function(p)
  local n = p:state("n", 0)
  local bursts = p:state("bursts", 0)
  local one = p:handler("one", function() n:increment(1) end)
  p:handler("many", function(event)
    bursts:increment(1)
    for i = 1, event.count do
      if event.careless then pcall(one.send, one, i) else one:send(i) end
    end
  end)
  return { n = n, bursts = bursts }
end)
LUA
"$HEDDLE" run burst.lua --once >/dev/null 2>&1
try "a handler sends 300 events" 0 '{}' '' send burst many '{"count": 300}'
try "and all are handled" 0 300 '' get burst n
try "a handler sends 1000 events" 0 '{}' '' send burst many '{"count": 1000}'
try "and all are handled, too" 0 1300 '' get burst n
try "one more than the limit fails the handler" 1 '' \
    'heddle: burst/many: *burst.lua:9: the backlog of the stream *one is full: 10000 events wait, which is the limit*' \
    send burst many '{"count": 10001}'
try "nothing of it was sent" 0 1300 '' get burst n
try "nor written" 0 2 '' get burst bursts
try "also if it ignores that" 1 '' 'heddle: burst/many: the backlog of the stream *one is full: 10000 events wait*' \
    send burst many '{"count": 10001, "careless": true}'
try "nothing of that was sent" 0 1300 '' get burst n
try "nor was that written" 0 2 '' get burst bursts

# ---- handlers that send to themselves ----

cat >steps.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("steps", function(p)
  local n = p:state("n", 0)
  local down, ping, pong
  down = p:handler("down", function(count)
    n:increment(1)
    if count > 0 then down:send(count - 1) end
  end)
  ping = p:handler("ping", function() n:increment(1) pong:send(1) end)
  pong = p:handler("pong", function() n:increment(1) ping:send(1) end)
  return { n = n, down = down, ping = ping, pong = pong }
end)
LUA
"$HEDDLE" run steps.lua --once >/dev/null 2>&1
"$HEDDLE" send steps down 4 --hops 5 >/dev/null
same "a chain below the limit" "$? $("$HEDDLE" get steps n)" "0 5"
"$HEDDLE" send steps down 5 --hops 5 >/dev/null
same "a chain at the limit" "$? $("$HEDDLE" get steps n)" "0 11"
"$HEDDLE" send steps down 6 --hops 5 >out 2>err
same "a chain above it fails where it is too long, and what was before stays" "$? $("$HEDDLE" get steps n)" "1 16"
check "and says why" \
  grep -qF "handlers caused a chain of 5 events, and the next one, from the handler steps/down to the stream steps/down" err
"$HEDDLE" send steps ping 1 --hops 100 >out 2>err
same "handlers that send to each other come to an end" "$? $("$HEDDLE" get steps n)" "1 116"
check "with the same sentence" grep -qF "handlers caused a chain of 100 events" err
"$HEDDLE" send steps down 200 >/dev/null
same "unless told, longer chains are fine" "$? $("$HEDDLE" get steps n)" "0 317"
"$HEDDLE" send steps down 1 --hops none >out 2>err
same "a limit is a number" "$? $(cat err)" "2 heddle: --hops takes a number of events, not 'none'; see 'heddle send --help'"

# ---- effects that make each other run ----

cat >circle.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("circle", function(p)
  local a, b = p:state("a", 1), p:state("b", 1)
  p:effect("left", function() b:set(a:get() + 1) end)
  p:effect("right", function() a:set(b:get() + 1) end)
  return { a = a, b = b }
end)
LUA
"$HEDDLE" run circle.lua --once >out 2>err
same "a circle through effects does not settle" "$?" 4
same "and is told, once" "$(grep -c "form a cycle that does not settle" err)" 1
check "with what each of them reads" grep -qF "circle/left reads piece:circle/a" err

# ---- effects, events and handlers that make each other run ----

cat >round.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("round", function(p)
  local n, seen = p:state("n", 0), p:state("seen", 0)
  local bump = p:handler("bump", function() n:increment(1) end)
  local twice = p:computed("twice", function() return n:get() * 2 end)
  p:effect("copy", function() seen:set(twice:get()) end)
  p:effect("again", function() if seen:get() > 0 then bump:send(1) end end)
  return { n = n, bump = bump }
end)
LUA
"$HEDDLE" run round.lua --once >/dev/null 2>&1
"$HEDDLE" send round bump 1 >/dev/null
"$HEDDLE" run round.lua --once --hops 20 >out 2>err
same "an effect whose event makes it run again comes to an end" "$? $("$HEDDLE" get round n)" "1 22"
same "and is told, once, with its name and that of the stream" \
  "$(grep -c "caused a chain of 20 events, and the next one, from the effect round/again to the stream round/bump, is refused" err)" 1

# ---- work that takes long, without a circle ----

cat >slow.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("slow", function(p)
  local items = p:state("items", heddle.array {})
  p:handler("fill", function(n)
    local t = {}
    for i = 1, n do
      t[i] = i
    end
    items:set(heddle.array(t))
  end)
  return { doubled = p:map(items, function(x) return x * 2 end, { name = "doubled" }) }
end)
LUA
"$HEDDLE" run slow.lua --once >/dev/null 2>&1
"$HEDDLE" send slow fill 20000 >/dev/null
"$HEDDLE" get slow doubled --timeout 300000 >out 2>err &
build=$!
sleep 0.3
kill -STOP "$build"
sleep 5.2 # what the scheduler takes for not converging
kill -CONT "$build"
wait "$build"
same "many nodes that take long together are no circle" "$? $(tail -c 8 out)$(cat err)" "0 ,40000]"

# ---- a signal in the middle of a build ends the command, and nothing is lost ----

"$HEDDLE" run slow.lua --dir cut --once >/dev/null 2>&1
"$HEDDLE" send slow fill 30000 --dir cut >/dev/null
"$HEDDLE" get slow doubled --dir cut --timeout 300000 >out 2>err &
build=$!
until [ "$(stat -c %s cut/main.db)" -gt 6000000 ] || ! kill -0 "$build"; do sleep 0.01; done
kill -TERM "$build"
wait "$build"
same "a build that is stopped in the middle says nothing" "$? $(cat out err)" "130 "
"$HEDDLE" check --dir cut >out 2>&1
same "what it has written holds" "$?" 0
same "and the next command builds the rest" "$("$HEDDLE" get slow doubled --dir cut --timeout 300000 | tail -c 8)" ",60000]"
"$HEDDLE" run slow.lua --dir timed --once >/dev/null 2>&1
"$HEDDLE" send slow fill 30000 --dir timed >/dev/null
"$HEDDLE" get slow doubled --dir timed --timeout 300 >out 2>err
same "a deadline in the middle is told" "$? $(wc -c <out) $(grep -c "retry with a longer --timeout" err)" "1 0 1"
same "and the next command builds the rest, too" "$("$HEDDLE" get slow doubled --dir timed --timeout 300000 | tail -c 8)" ",60000]"

# ---- the start of a piece of very many nodes ends when it is told to ----

mkdir many
cat >many/many.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("many", function(p)
  local n = p:state("n", 1)
  for i = 1, 90000 do
    p:computed("c" .. i, function() return n:get() + i end)
  end
  return { n = n }
end)
LUA
"$HEDDLE" run many/many.lua --dir late --once --timeout 20 >out 2>err
same "a body that declares nodes ends at its deadline" "$? $(cat err)" \
    "1 heddle: the start of the piece did not finish within 20 ms: retry with a longer --timeout"
"$HEDDLE" run many/many.lua --dir stopped --once >out 2>err &
start=$!
until [ -e stopped/main.db ] || ! kill -0 "$start"; do sleep 0.01; done
kill -TERM "$start"
wait "$start"
same "and when it is stopped, without an error of its own" "$? $(cat err)" "130 "

finish
