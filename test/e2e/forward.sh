#!/bin/sh
# Events that handlers send to other streams: of a child, of a piece that a
# handler launched, of another piece through a link in a state, in an argument
# or in a list. Each is handled once: in the process that started everything,
# after a restart, and while another process runs the target. What cannot be
# handled is said, and the exit code shows it.
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

# start NAME ARGUMENT...: in the background; its id is in $pid, what it says in
# NAME.out and NAME.err.
start() {
    name=$1
    shift
    : >"$name.out"
    : >"$name.err"
    "$HEDDLE" "$@" >"$name.out" 2>"$name.err" &
    pid=$!
    started="$started $pid"
}

# says NAME TEXT: whether the text has been printed.
says() {
    grep -qF -- "$2" "$1.out" "$1.err"
}

# stop NUMBER: ends a process that was started, and waits for it.
stop() {
    kill -INT "$1"
    wait "$1"
}

# send PIECE [JSON]: one event for "bump", which has to be accepted.
send() {
    "$HEDDLE" send "$1" bump "${2-null}" >out.txt 2>err.txt || not_ok "send $1" "$(cat out.txt err.txt)"
}

# value NAME WANT PIECE PATH: what is stored and up to date.
value() {
    same "$1" "$("$HEDDLE" get "$3" "$4" 2>&1)" "$2"
}

cat >counter.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("counter", function(p)
  local n = p:state("n", 0)
  local double = p:computed("double", function() return 2 * n:get() end)
  p:effect("say", function() heddle.notify("counted " .. n:get()) end)
  local bump = p:handler("bump", function() n:increment(1) end)
  return { n = n, double = double, bump = bump }
end)
LUA

cat >child.lua <<'LUA'
local heddle = require "heddle"
local counter = heddle.pattern("inner", function(p)
  local n = p:state("n", 0)
  local bump = p:handler("bump", function() n:increment(1) end)
  return { n = n, bump = bump }
end)
local middle = heddle.pattern("middle", function(p)
  local inner = p:piece(counter, {}, { name = "inner" })
  local pass = p:handler("pass", function() heddle.send(inner:key("bump")) end)
  return { inner = inner, pass = pass }
end)
return heddle.pattern("child", function(p)
  local one = p:piece(counter, {}, { name = "one" })
  local deep = p:piece(middle, {}, { name = "deep" })
  local pass = deep.pass
  local bump = p:handler("bump", function()
    heddle.send(one:key("bump"))
    heddle.send(pass)
    heddle.send(deep:key("inner", "bump"))
  end)
  return { one = one.n, deep = deep.inner.n, bump = bump }
end)
LUA

# ---- children ----

"$HEDDLE" run child.lua --once >/dev/null 2>&1
send child
value "an event to a child of a resumed piece is handled" 1 child one
value "those through a child's handler and to its child, too" 2 child deep
start child run child.lua
runner=$pid
check "a process runs it" until_true says child "up to date"
send child
check "who runs it sees that" until_true says child '"one":2'
value "each once, beside another process" 2 child one
value "also the inner ones" 4 child deep
stop "$runner"

cat >fresh.lua <<'LUA'
local heddle = require "heddle"
local test = require "heddle.test"
local counter = heddle.pattern("counter", function(p)
  local n = p:state("n", 0)
  return { n = n, bump = p:handler("bump", function() n:increment(1) end) }
end)
local outer = heddle.pattern("outer", function(p)
  local one = p:piece(counter, {}, { name = "one" })
  return { n = one.n, bump = p:handler("bump", function() heddle.send(one:key("bump")) end) }
end)
test("in the process that made it, and after a restart", function(t)
  local rt = t:runtime()
  rt:run(outer, {}, { name = "o" }):send("bump")
  rt:settled()
  t:eq(rt:run(outer, {}, { name = "p" }):get("n"), 0)
  rt = rt:restart()
  local o = rt:run(outer, {}, { name = "o" })
  t:eq(o:get("n"), 1)
  rt = rt:restart()
  o = rt:run(outer, {}, { name = "o" })
  o:send("bump")
  rt:settled()
  t:eq(o:get("n"), 2)
end)
LUA
check "the same in one process" "$HEDDLE" test fresh.lua

# ---- another piece, through a link ----

cat >sender.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("sender", function(p)
  local target = p:state("target")
  local given = p:arg("given")
  local all = p:state("all", heddle.array{})
  local counts = p:map(all, function(item) return item.n end)
  local bump = p:handler("bump", function(event)
    if event == "given" then
      heddle.send(given:key("bump"))
    elseif event == "all" then
      for i = 1, all:keys() do heddle.send(all:key(i, "bump")) end
    else
      heddle.send(target:key("bump"))
    end
  end)
  return { target = target, all = all, counts = counts, bump = bump }
end)
LUA

# link PIECE: a link to the result of a piece.
link() {
    printf '{"/":{"link@1":{"id":"piece:%s","path":["value"]}}}' "$1"
}

for name in counter second third; do
    "$HEDDLE" run counter.lua --name "$name" --once >/dev/null 2>&1
done
"$HEDDLE" run sender.lua --args "{\"given\": $(link second)}" --once >/dev/null 2>&1
"$HEDDLE" set sender target "$(link counter)"
"$HEDDLE" set sender all "[$(link third), $(link counter), $(link third)]"
send sender
value "an event through a link in a state reaches another piece" 1 counter n
send sender '"given"'
value "through an argument, too" 1 second n
send sender '"all"'
value "and through the links of a list" 2 third n
value "each of them" 2 counter n
value "what is computed there follows" 4 counter double
value "and what is computed of it here" '[2,2,2]' sender counts
same "no effect of the target runs where only an event was sent" "$(grep -c counted err.txt)" 0

start counter run counter.lua
target=$pid
check "a process runs the target" until_true says counter "up to date"
for _ in 1 2 3 4 5; do
    send sender
done
check "who runs the target sees the events" until_true says counter '"n":7'
value "each was handled once" 7 counter n

start sender run sender.lua
sender=$pid
check "a process runs the sender, too" until_true says sender "up to date"
send sender
check "the event reaches the target" until_true says counter '"n":8'
value "once" 8 counter n
check "the target's effect has run" until_true says counter "notify: counted 8"
same "and not in the sender's process" "$(grep -c counted sender.err)" 0
stop "$target"
send sender
value "without the target's process as well" 9 counter n
stop "$sender"

# The target is migrated while a process has taken it up.
cat >twice.lua <<'LUA'
local heddle = require "heddle"
local test = require "heddle.test"
local function counter(version)
  return heddle.pattern("counter", function(p)
    local n = p:state("n", 0)
    if version == 2 then p:migrate(2, function() n:set(100) end) end
    return { n = n, bump = p:handler("bump", function() n:increment(1) end) }
  end)
end
local sender = heddle.pattern("sender", function(p)
  local to = p:arg("to")
  return { bump = p:handler("bump", function() heddle.send(to:key("bump")) end) }
end)
test("a piece that was taken up is taken up again when it was migrated", function(t)
  local engine = t:engine()
  local first = counter(1)
  local one = t:runtime{ engine = engine }
  local made = one:run(first, {}, { name = "c" })
  one:settled()
  local to = made:cell()
  made:stop()
  local s = one:run(sender, { to = to }, { name = "s" })
  s:send("bump")
  one:settled()
  local two = t:runtime{ engine = engine }
  local c = two:run(counter(2), {}, { name = "c" })
  two:settled()
  t:eq(c:get("n"), 100)
  s:send("bump")
  one:settled()
  two:settled()
  t:eq(c:get("n"), 101)
end)
LUA
check "a target that was migrated meanwhile" "$HEDDLE" test twice.lua

# ---- a piece that a handler launched ----

cat >maker.lua <<'LUA'
local heddle = require "heddle"
local counter = heddle.pattern("launched", function(p)
  local n = p:state("n", 0)
  return { n = n, bump = p:handler("bump", function() n:increment(1) end) }
end)
return heddle.pattern("maker", function(p)
  local made = p:state("made")
  local count = p:computed("count", function() return made:key("n"):get() end)
  local make = p:handler("make", function() return heddle.launch(counter) end)
  local bump = p:handler("bump", function() heddle.send(made:key("bump")) end)
  return { made = made, count = count, make = make, bump = bump }
end)
LUA

"$HEDDLE" run maker.lua --once >/dev/null 2>&1
"$HEDDLE" send maker make >made.txt 2>&1
"$HEDDLE" set maker made "$(cat made.txt)"
send maker
value "an event reaches a piece that a handler launched" 1 maker count
"$HEDDLE" run sender.lua --name far --args "{\"given\": $(cat made.txt)}" --once >/dev/null 2>&1
send far '"given"'
value "also from a piece of another file" 2 maker count
start maker run maker.lua
maker=$pid
check "a process runs what launched it" until_true says maker "up to date"
send maker
send far '"given"'
check "it sees the events" until_true says maker '"count":4'
value "each once" 4 maker count
stop "$maker"

name=$(sed 's/.*"piece:\([^"]*\)".*/\1/' made.txt)
value "a launched piece is taken up with its own pattern" 4 "$name" n
send "$name"
value "and can be sent to" 5 maker count

# ---- what cannot be handled ----

# lost NAME SENTENCE ARGUMENT...: exit code 1, and the sentence.
lost() {
    name=$1 sentence=$2
    shift 2
    "$HEDDLE" "$@" >out.txt 2>err.txt
    code=$?
    if [ "$code" -eq 1 ] && grep -qF -- "$sentence" err.txt; then
        ok "$name"
    else
        not_ok "$name" "exit code $code, expected 1" "$(cat out.txt err.txt)" "expected: $sentence"
    fi
}

# aimed NAME ID: a sender whose argument is a link to a document.
aimed() {
    link="{\"/\":{\"link@1\":{\"id\":\"$2\",\"path\":[\"value\"]}}}"
    "$HEDDLE" run sender.lua --name "$1" --args "{\"given\": $link}" --once >/dev/null 2>&1
}
aimed lost1 piece:nowhere
lost "a target that does not exist is said" "there is no piece nowhere" send lost1 bump '"given"'
aimed lost2 other
lost "a stream without a handler, too" "the stream other was not handled" send lost2 bump '"given"'
cat >nil.lua <<'LUA'
local heddle = require "heddle"
local inner = heddle.pattern("inner", function(p) return { bump = p:handler("bump", function() end) } end)
return heddle.pattern("nil", function(p)
  local one = p:piece(inner, {}, { name = "one" })
  return { bump = p:handler("bump", function() heddle.send(one.bump) end) }
end)
LUA
"$HEDDLE" run nil.lua --once >/dev/null 2>&1
lost "what is no stream says what to write" 'use child:key("add")' send nil bump
mv counter.lua away.lua
lost "a target whose file is gone" "counter.lua: No such file" send sender bump
echo 'return {' >counter.lua
lost "a target whose file is broken" "counter.lua:2: unexpected symbol" send sender bump
cat >counter.lua <<'LUA'
return require("heddle").pattern("counter", function(p) return { n = p:state("n", 0) } end)
LUA
lost "a target that has no such stream any more" "the piece counter has no stream" send sender bump
mv away.lua counter.lua
value "nothing was counted meanwhile" 9 counter n
send sender
value "when it is back, the events that wait are handled, but for the one that was sent to no stream; and the next event is" 12 counter n
same "none waits for it any more" "$("$HEDDLE" events counter --json)" '{"events":[]}'

cat >chain.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("chain", function(p)
  local second = p:handler("second", function() error("the second one fails") end)
  return { second = second, bump = p:handler("bump", function() heddle.send(second) end) }
end)
LUA
"$HEDDLE" run chain.lua --once >/dev/null 2>&1
lost "a handler further on that fails is said" "the second one fails" send chain bump

finish
