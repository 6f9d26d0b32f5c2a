#!/bin/sh
# Writes by a process that has loaded nothing: every value operation, in a
# handler and by hand, to states, below keys and through links. Each event is
# sent by a fresh process, so no document is there when the handler begins.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

cd "$scratch" || exit 1

cat >writes.lua <<'END'
local heddle = require "heddle"

local child = heddle.pattern("child", function(p)
  local target = p:arg("target", 0)
  local bump = p:handler("bump", function() target:increment(1) end)
  local assign = p:handler("assign", function(value) target:set(value) end)
  return { target = target, bump = bump, assign = assign }
end)

return heddle.pattern("writes", function(p)
  local l = p:state("l", { "s", "t", "u" })
  local o = p:state("o", { a = { 1, 2 }, b = 7 })
  local n = p:state("n", 5)
  local to_n = p:state("to_n", n)
  local to_l = p:state("to_l", l)
  local double = p:computed("double", function() return n:get() * 2 end)
  local made = p:piece(child, { target = n }, { name = "made" })
  p:handler("append_remove", function() l:append("m") l:remove("u") end)
  p:handler("unique_remove", function() l:add_unique("q", "s") l:remove("t") end)
  p:handler("remove_append", function() l:remove("s") l:append("s") end)
  p:handler("append", function() l:append("x") end)
  p:handler("remove", function() l:remove("t") end)
  p:handler("put_element", function() l:key(1):set("S") l:append("v") end)
  p:handler("delete_element", function() l:append("v") l:key(1):delete() end)
  p:handler("increment", function() o:key("b"):increment(1) end)
  p:handler("set_key", function() o:key("c"):set(9) end)
  p:handler("delete_key", function() o:key("a"):delete() end)
  p:handler("increment_and_set", function() o:key("b"):increment(1) o:key("c"):set(9) end)
  p:handler("set_through", function() to_n:set(42) end)
  p:handler("increment_through", function() to_n:increment(2) end)
  p:handler("append_through", function() to_l:append("z") end)
  p:handler("child_bumps", function() heddle.send(made:key("bump"), {}) end)
  p:handler("child_assigns", function() heddle.send(made:key("assign"), 11) end)
  return { l = l, o = o, n = n, to_n = to_n, double = double, made = made }
end)
END

# after NAME EXPECTED COMMAND...: the piece, new, after a command of a process
# of its own.
after() {
    name=$1 expected=$2
    shift 2
    rm -rf heddle-data
    "$HEDDLE" run writes.lua --once >/dev/null 2>&1
    said=$("$HEDDLE" "$@" 2>&1)
    code=$?
    got=$("$HEDDLE" get writes l; "$HEDDLE" get writes o; "$HEDDLE" get writes n; "$HEDDLE" get writes double)
    same "$name" "$code $(echo "$got" | tr '\n' ' ')" "0 $expected " "$said"
}

start='["s","t","u"] {"a":[1,2],"b":7} 5 10'
after "append and remove in one handling" \
    '["s","t","m"] {"a":[1,2],"b":7} 5 10' send writes append_remove
after "add_unique and remove in one handling" \
    '["s","u","q"] {"a":[1,2],"b":7} 5 10' send writes unique_remove
after "remove and append of one value" \
    '["t","u","s"] {"a":[1,2],"b":7} 5 10' send writes remove_append
after "append" '["s","t","u","x"] {"a":[1,2],"b":7} 5 10' send writes append
after "remove" '["s","u"] {"a":[1,2],"b":7} 5 10' send writes remove
after "an element that is set, and append" \
    '["S","t","u","v"] {"a":[1,2],"b":7} 5 10' send writes put_element
after "append, and an element that is deleted" \
    '["t","u","v"] {"a":[1,2],"b":7} 5 10' send writes delete_element
after "increment below a key" \
    '["s","t","u"] {"a":[1,2],"b":8} 5 10' send writes increment
after "set of a new key" \
    '["s","t","u"] {"a":[1,2],"b":7,"c":9} 5 10' send writes set_key
after "delete of a key" '["s","t","u"] {"b":7} 5 10' send writes delete_key
after "increment and set below keys" \
    '["s","t","u"] {"a":[1,2],"b":8,"c":9} 5 10' send writes increment_and_set
after "set through a link" \
    '["s","t","u"] {"a":[1,2],"b":7} 42 84' send writes set_through
after "increment through a link" \
    '["s","t","u"] {"a":[1,2],"b":7} 7 14' send writes increment_through
after "append through a link" \
    '["s","t","u","z"] {"a":[1,2],"b":7} 5 10' send writes append_through
after "a child increments through its argument" \
    '["s","t","u"] {"a":[1,2],"b":7} 6 12' send writes child_bumps
after "a child sets through its argument" \
    '["s","t","u"] {"a":[1,2],"b":7} 11 22' send writes child_assigns
after "set by hand below a key" \
    '["s","t","u"] {"a":[1,2],"b":99} 5 10' set writes o/b 99
after "delete by hand" '["s","t","u"] {"b":7} 5 10' set writes o/a --delete
after "append by hand" '["s","t","u","w"] {"a":[1,2],"b":7} 5 10' set writes l '"w"' --append
after "remove by hand" '["s","t"] {"a":[1,2],"b":7} 5 10' set writes l '"u"' --remove
after "set by hand through a link" '["s","t","u"] {"a":[1,2],"b":7} 6 12' set writes to_n 6
after "nothing was done" "$start" get writes n

# ---- the link is still one ----

rm -rf heddle-data
"$HEDDLE" run writes.lua --once >/dev/null 2>&1
"$HEDDLE" send writes set_through >/dev/null
"$HEDDLE" set writes n 8
same "a write through a link leaves the link" "$("$HEDDLE" get writes to_n)" 8

# ---- many processes at once ----

rm -rf heddle-data
"$HEDDLE" run writes.lua --once >/dev/null 2>&1
for _ in 1 2 3 4 5; do
    "$HEDDLE" send writes append_remove >/dev/null 2>>err.txt &
    "$HEDDLE" send writes increment_and_set >/dev/null 2>>err.txt &
done
wait
same "fresh processes beside each other lose nothing" \
    "$("$HEDDLE" get writes l) $("$HEDDLE" get writes o)" \
    '["s","t","m","m","m","m","m"] {"a":[1,2],"b":12,"c":9}' "$(cat err.txt)"

# ---- a write that is refused because another process was faster ----

# Both make the object on the way, so one of them conflicts and is made again.
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$HEDDLE" set writes o '{}'
    "$HEDDLE" set writes o/c/d 1 --timeout 20000 2>>again.txt &
    "$HEDDLE" set writes o/c/e 2 --timeout 20000 2>>again.txt &
    wait
done
same "it is made again" "$("$HEDDLE" get writes o --canonical) $(cat again.txt)" '{"c":{"d":1,"e":2}} '

finish
