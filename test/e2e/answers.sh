#!/bin/sh
# A command that answers a question brings what it prints up to date, or says
# that it is not: a debounce or a throttle is no reason for a wrong answer, in a
# process of its own, while another one runs the piece, and after restarts.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

# ---- a debounce and a throttle, each far longer than this script ----

cat >slow.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("slow", function(p)
  local n = p:state("n", 0)
  local above = p:computed("above", function() return n:get() + 100 end)
  local calm = p:computed("calm", function() return n:get() * 2 end, { debounce = 600000, debounce_max = 600000 })
  local twice = p:computed("twice", function() return above:get() * 2 end, { debounce = 600000, debounce_max = 600000 })
  local rare = p:computed("rare", function() return twice:get() * 2 end, { throttle = 600000 })
  local bump = p:handler("bump", function() n:increment(1) end)
  local ask = p:handler("ask", function() return rare:get() end)
  return { n = n, calm = calm, rare = rare, bump = bump, ask = ask }
end)
END

try "the first result is complete" 0 '{"calm":0,"n":0,"rare":400}' '*' run slow.lua --once
try "an event" 0 '{}' '' send slow bump
try "show runs nothing, and says so" 0 0 "heddle: stale: above, calm must run first; 'heddle get' runs it" \
    show slow calm
try "get sees through a debounce" 0 '2' '' get slow calm
try "and through a debounce and a throttle behind a computation" 0 '404' '' get slow rare
try "with everything else" 0 '{"calm":2,"n":1,"rare":404}' '' get slow
try "then show has nothing to say" 0 2 '' show slow calm
run send slow bump
try "a handler that reads them gets the value of now" 0 '408' '' send slow ask
run send slow bump
try "run --once brings them up to date" 0 '{"calm":6,"n":3,"rare":412}' '*' run slow.lua --once
check "and says how many runs that took" grep -qx "heddle: up to date after 4 runs" err.txt
try "which are not done again" 0 '{"calm":6,"n":3,"rare":412}' '*' run slow.lua --once
check "because nothing has changed" grep -qx "heddle: up to date after 0 runs" err.txt
try "a state that was set by hand counts as well" 0 '' '' set slow n 10
try "for get" 0 '{"calm":20,"n":10,"rare":440}' '' get slow

# ---- while another process runs the piece, at its own pace ----

start runner run slow.lua
runner=$pid
check "a piece that is taken up is complete at once" until_true says runner '{"calm":20,"n":10,"rare":440}'
run send slow bump
try "get does not wait for the process that runs it" 0 '{"calm":22,"n":11,"rare":444}' '' get slow
check "which takes the result over" until_true says runner '{"calm":22,"n":11,"rare":444}'
run send slow bump
check "a process that is killed while a debounce waits" until_true says runner '"n":12'
stop "$runner" KILL
start runner run slow.lua
runner=$pid
check "leaves none behind" until_true says runner '{"calm":24,"n":12,"rare":448}'
stop "$runner" TERM

# ---- a handler that reads what depends on its own writes, each in a process
# ---- that has loaded nothing yet ----

cat >switch.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("switch", function(p)
  local n, on = p:state("n", -2), p:state("on", "yes")
  local chosen = p:when(on, n, { name = "chosen" })
  local value = p:computed("value", function() return chosen:get() or 0 end)
  local checked = p:computed("checked", function()
    if n:get() > 9 then error("too much") end
    return n:get()
  end)
  local double = p:computed("double", function() return checked:get() * 2 end)
  local off = p:handler("off", function() on:delete() return { value = value:get() } end)
  local back = p:handler("back", function() on:set(1) return { value = value:get() } end)
  local set = p:handler("set", function(event) n:set(event.n) return { double = double:get() } end)
  return { value = value, double = double, off = off, back = back, set = set }
end)
END

try "a piece with a choice" 0 '{"double":-4,"value":-2}' '*' run switch.lua --once
try "a choice that the handler has turned off" 0 '{"value":0}' '' send switch off
try "is off" 0 '{"double":-4,"value":0}' '' get switch
try "and on again" 0 '{"value":-2}' '' send switch back
try "a computation over one that fails on the written value" 1 '' '*' send switch set '{"n":10}'
check "is an error that names it" grep -q "switch/checked cannot be computed .*too much" err.txt
try "and nothing is written" 0 '{"double":-4,"value":-2}' '' get switch
try "unlike with a value that is fine" 0 '{"double":18}' '' send switch set '{"n":9}'

# ---- circles ----

# pattern NAME LINES: a file with that pattern.
pattern() {
    {
        echo 'local heddle = require "heddle"'
        echo "return heddle.pattern(\"$1\", function(p)"
        echo "$2"
        echo 'end)'
    } >"$1.lua"
}

# circles: how often one was told.
circles() {
    grep -c "form a cycle" err.txt
}

pattern round 'local a, b
  a = p:computed("a", function() return (b:get() or 0) + 1 end)
  b = p:computed("b", function() return (a:get() or 0) + 1 end)
  local calm = p:computed("calm", function() return 1 end)
  local ask = p:handler("ask", function() return a:get() end)
  local other = p:handler("other", function() return calm:get() end)
  return { a = a, b = b, calm = calm, ask = ask, other = other }'
run run round.lua --once
same "a circle has an exit code of its own" "$code" 4
same "is told once" "$(circles)" 1
check "with its nodes" grep -q "round/a and round/b form a cycle that does not settle\|round/b and round/a form" err.txt
check "and its documents" grep -q "round/a reads piece:round/b.*\|round/b reads piece:round/a.*" err.txt
check "and how to break it" grep -q "to break it, let one of them read a state instead" err.txt
check "nobody calls it up to date" grep -q "^heddle: not up to date after [0-9]* runs" err.txt
check "what there is, is printed" grep -q '"calm":1' out.txt
run run round.lua --once --json
same "the same as JSON" "$code $(grep -c '"status":"NOT_SETTLED"' err.txt) $(grep -c '"settled":false' err.txt)" "4 1 1"
run get round
same "get says so as well" "$code $(circles)" "4 1"
try "but not of what is beside it" 0 1 '' get round calm
run send round ask
same "send says so if the handler reads it" "$code $(circles)" "4 1"
try "and not otherwise" 0 1 '' send round other
start circle run round.lua
circle=$pid
check "run tells it" until_true says circle "form a cycle"
run set round calm 2
check "and goes on" kill -0 "$circle"
stop "$circle" TERM
same "once" "$(grep -c "form a cycle" circle.err)" 1

pattern far 'local one, two, three, four, five
  local fifth = p:state("fifth")
  one = p:computed("one", function() return (fifth:get() or 0) + 1 end)
  two = p:computed("two", function() return one:get() + 1 end)
  three = p:computed("three", function() return two:get() end)
  four = p:computed("four", function() return three:get() + 1 end)
  five = p:computed("five", function() return four:get() end)
  local close = p:handler("close", function() fifth:set(five:link()) end)
  return { five = five, close = close }'
try "no circle yet" 0 '{"five":3}' '*' run far.lua --once
try "a link closes one" 0 '{}' '' send far close
run get far
same "through a link, and five documents" "$code $(circles)" "4 1"
for name in one two three four five; do
    check "$name is named" grep -q "far/$name" err.txt
done

pattern fixed 'local a, b
  a = p:computed("a", function() return math.min(20, (b:get() or 0) + 1) end)
  b = p:computed("b", function() return a:get() end)
  return { a = a, b = b }'
try "a circle that comes to a fixed point is up to date" 0 '{"a":20,"b":20}' '*' run fixed.lua --once
same "and not told" "$(circles)" 0
try "nor later" 0 '{"a":20,"b":20}' '' get fixed

pattern empty 'local a, b
  a = p:computed("a", function() return b:get() + 1 end)
  b = p:computed("b", function() return a:get() + 1 end)
  return { a = a, b = b }'
run run empty.lua --once
same "of a circle without a value, the failure is told" "$code $(grep -c "attempt to perform arithmetic" err.txt)" "1 2"
check "and what it comes from" grep -q "form a cycle without an initial value" err.txt
same "nobody calls that up to date" "$(grep -c "heddle: up to date" err.txt)" 0

cat >family.lua <<'END'
local heddle = require "heddle"
local child = heddle.pattern("child", function(p)
  local from = p:arg("from", 0)
  return { out = p:computed("out", function() return (from:get() or 0) + 1 end) }
end)
return heddle.pattern("family", function(p)
  local seam = p:state("seam")
  local first = p:piece(child, { from = seam }, { name = "first" })
  local second = p:piece(child, { from = first.out }, { name = "second" })
  local close = p:handler("close", function() seam:set(second:key("out"):link()) end)
  return { out = second.out, close = close }
end)
END
try "two children" 0 '{"out":2}' '*' run family.lua --once
run send family close
run get family
same "a circle through pieces" "$code $(circles)" "4 1"
check "has the names of both" grep -q "first/out.*second/out\|second/out.*first/out" err.txt

finish
