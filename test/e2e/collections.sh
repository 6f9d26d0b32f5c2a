#!/bin/sh
# Collections through the command: rows outlive processes, and belong to their
# piece when it is shown, renamed, exported, imported and removed.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

cd "$scratch" || exit 1

cat >crm.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("crm", function(p)
  local people = p:collection("people", { key = "id", index = { by_age = { "age" } } })
  local old = p:computed("old", function() return people:range{ index = "by_age", from = { 60 }, limit = 3 } end)
  p:handler("add", function(event) people:insert(event) return { count = people:count() } end)
  p:handler("fill", function(event)
    for i = event.from, event.to do people:insert{ id = i, age = i % 60 } end
  end)
  p:handler("drop", function(event) return { existed = people:remove(event.id) } end)
  p:handler("ask", function(range) return people:range(range) end)
  p:handler("count", function(range) return people:count(range) end)
  return { people = people, old = old }
end)
LUA

# says NAME WANT ARGUMENT...: what the command prints.
says() {
    name=$1 want=$2
    shift 2
    same "$name" "$("$HEDDLE" "$@" 2>&1)" "$want"
}

# ---- rows of several processes ----

"$HEDDLE" run crm.lua --once >/dev/null 2>&1
says "a row is inserted" '{"count":1}' send crm add '{"id":"ann","age":70}'
says "and another one" '{"count":2}' send crm add '{"id":"bob","age":20}'
says "a key that exists is refused" "heddle: crm/add: $PWD/crm.lua:5: a row with the id 'bob' already exists: put() replaces it, \
and update() changes it" send crm add '{"id":"bob"}'
says "a collection is shown with its rows" '{"count":2,"rows":[{"age":70,"id":"ann"},{"age":20,"id":"bob"}]}' get crm people
says "a range is shown with its rows" '[{"age":70,"id":"ann"}]' get crm old
says "many rows divide pages" '{}' send crm fill '{"from":1,"to":1000}'
says "a range after a restart" '[{"age":20,"id":500},{"age":21,"id":501}]' send crm ask '{"from":[500],"limit":2}'
says "a range by an index" '[{"age":59,"id":959},{"age":59,"id":899}]' \
    send crm ask '{"index":"by_age","to":[59],"limit":2,"reverse":true}'
says "a count" 17 send crm count '{"index":"by_age","from":[7],"to":[7]}'

# ---- setting ----

says "a collection cannot be set" "heddle: 'people' is a collection: set a field of one of its rows, or send an event that changes it" \
    set crm people 7
says "a row can" '' set crm old/0/age 61
says "and its index is kept" '[{"age":61,"id":"ann"}]' send crm ask '{"index":"by_age","from":[60]}'
says "its key cannot" "heddle: old/0/id: the key 'id' of a row cannot change: remove the row, and insert it with the other key" \
    set crm old/0/id '"x"'

# ---- the piece as a whole ----

"$HEDDLE" rename crm shop >/dev/null 2>&1
says "a renamed piece has its rows" '[{"age":61,"id":"ann"}]' get shop old
says "and its indexes" 17 send shop count '{"index":"by_age","from":[7],"to":[7]}'
"$HEDDLE" export shop shop.jsonl >/dev/null 2>&1
"$HEDDLE" rm shop --yes >/dev/null 2>&1
same "nothing is left of a removed piece" "$("$HEDDLE" export --space - 2>/dev/null | grep -c '"id":"piece:shop/')" 0
"$HEDDLE" import shop.jsonl >/dev/null 2>&1
says "an imported piece has its rows" 1002 get shop people/count
says "a row is removed" '{"existed":true}' send shop drop '{"id":"ann"}'
says "which its readers see" '[]' get shop old
check "the files are sound" "$HEDDLE" check

finish
