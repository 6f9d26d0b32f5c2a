#!/bin/sh
# Where a write goes: heddle set through links and in place of them, below what
# does not exist yet, and the same writes of handlers in processes that begin
# anew for each.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

cd "$scratch" || exit 1

cat >box.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("box", function(p)
  local a, b = p:state("a", 1), p:state("b", 2)
  local to = p:state("to", a)
  local settings = p:state("settings", {})
  return {
    a = a, b = b, to = to, settings = settings,
    turn = p:handler("turn", function() to:set(b:link()) end),
    configure = p:handler("configure", function(e) settings:key(e[1], e[2]):set(e[3]) end),
  }
end)
END
"$HEDDLE" run box.lua --once >/dev/null 2>&1

# gets NAME PATH JSON: what a path holds.
gets() {
    same "$1" "$("$HEDDLE" get box "$2" 2>&1)" "$3"
}

# ---- links ----

link='{"/":{"link@1":{"id":"piece:box/b","path":["value"]}}}'
"$HEDDLE" set box to 10
gets "a value that is set where a link is goes to its target" a 10
check "a link that is set there" "$HEDDLE" set box to "$link"
gets "replaces the link" to 2
gets "and leaves its target alone" a 10
"$HEDDLE" set box to 20
gets "values go to the new target from then on" b 20

"$HEDDLE" set box to '{"/":{"link@1":{"id":"piece:box/a","path":["value"]}}}'
"$HEDDLE" send box turn >/dev/null
gets "the same by a handler" to 20
gets "which leaves the target alone, too" a 10

# ---- below something absent ----

check "set below something absent" "$HEDDLE" set box settings/colours/text '"red"'
gets "creates the objects on the way" settings '{"colours":{"text":"red"}}'
check "also two levels, beside what is there" "$HEDDLE" set box settings/colours/dark/text '"white"'
gets "and keeps it" settings '{"colours":{"text":"red","dark":{"text":"white"}}}'
"$HEDDLE" send box configure '["size","width",3]' >/dev/null
gets "the same by a handler" settings/size '{"width":3}'
"$HEDDLE" set box settings --delete
check "also if the document was deleted" "$HEDDLE" set box settings/size/height 4
gets "it exists again" settings '{"size":{"height":4}}'
"$HEDDLE" set box settings/size/height/unit '"px"' >out 2>&1
same "below a number it is refused" "$?" 2
"$HEDDLE" set box settings/list/0 1 >out 2>&1
same "an array or an object above a number: the author decides" "$? $(cat out)" \
    "1 heddle: settings/list/0: 'list' does not exist, and '0' below it can be a position or a key: set it to an array or an object first"

finish
