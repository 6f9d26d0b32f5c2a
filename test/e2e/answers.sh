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
try "get sees through a debounce" 0 '2' '' get slow calm
try "and through a debounce and a throttle behind a computation" 0 '404' '' get slow rare
try "with everything else" 0 '{"calm":2,"n":1,"rare":404}' '' get slow
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

finish
