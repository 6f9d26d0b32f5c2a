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
says "many rows divide pages" '{}' send crm fill '{"from":1,"to":2000}'
says "a range after a restart" '[{"age":20,"id":500},{"age":21,"id":501}]' send crm ask '{"from":[500],"limit":2}'
says "a range by an index" '[{"age":59,"id":1979},{"age":59,"id":1919}]' \
    send crm ask '{"index":"by_age","to":[59],"limit":2,"reverse":true}'
says "a count" 34 send crm count '{"index":"by_age","from":[7],"to":[7]}'

# ---- setting ----

says "a collection cannot be set" "heddle: 'people' is a collection: send an event that changes it, or set a field of a row below \
a range that a computation returns" set crm people 7
says "a row can" '' set crm old/0/age 61
says "and its index is kept" '[{"age":61,"id":"ann"}]' send crm ask '{"index":"by_age","from":[60]}'
says "its key cannot" "heddle: old/0/id: the key 'id' of a row cannot change: remove the row, and insert it with the other key" \
    set crm old/0/id '"x"'

# ---- the piece as a whole ----

"$HEDDLE" rename crm shop >/dev/null 2>&1
says "a renamed piece has its rows" '[{"age":61,"id":"ann"}]' get shop old
says "and its indexes" 34 send shop count '{"index":"by_age","from":[7],"to":[7]}'
"$HEDDLE" export shop shop.jsonl >/dev/null 2>&1
"$HEDDLE" rm shop --yes >/dev/null 2>&1
same "nothing is left of a removed piece" "$("$HEDDLE" export --all - 2>/dev/null | grep -c '"id":"piece:shop/')" 0
"$HEDDLE" import shop.jsonl >/dev/null 2>&1
says "an imported piece has its rows" 2002 get shop people/count
says "a row is removed" '{"existed":true}' send shop drop '{"id":"ann"}'
says "which its readers see" '[]' get shop old
check "the files are sound" "$HEDDLE" check
check "also the collections, which are counted" sh -c '"$HEDDLE" check --json | grep -q "\"collections\":1,\"rows\":2001"'

# ---- orderings that differ from the rows ----

number=0

# harm OPERATION...: writes to documents of the collection by hand.
harm() {
    number=$((number + 1))
    "$HEDDLE" store commit heddle-data/main.db \
        --text '{"session":"hand","localSeq":'$number',"operations":['"$(IFS=,; echo "$*")"']}' >/dev/null
}

# found NAME WANT: what a check says, without the last line; and that it fails.
found() {
    "$HEDDLE" check >out 2>&1
    same "$1" "$? $(sed '$d; s/^main.db: the collection //' out)" "1 $2"
}

# repaired: what a repair says; and that nothing is left to say after it.
repaired() {
    "$HEDDLE" check --repair >out 2>&1
    same "a repair rebuilds it" "$? $(grep -o ': [0-9]* part.* rebuilt' out)" "0 : $1 of collections rebuilt"
    says "and the collection is as it was" 34 send shop count '{"index":"by_age","from":[7],"to":[7]}'
    says "in all its parts" '[{"age":20,"id":500},{"age":21,"id":501}]' send shop ask '{"from":[500],"limit":2}'
    says "with its count" 2001 get shop people/count
    check "and the files are sound" "$HEDDLE" check
}

root=piece:shop/people
leaf=$("$HEDDLE" export --all - 2>/dev/null | grep -o "$root//order/by_age/L0/[^\"]*" | tail -1)

harm '{"op":"delete","id":"'"$root"'//row/=7"}' \
    '{"op":"patch","id":"'"$root"'//row/=8","patches":[{"op":"replace","path":"/value/age","value":7}]}'
found "a row that has gone, and one that was changed beside the collection, are found" \
    "$root: the ordering by key has 0 missing and 1 extra entries, and 0 in the wrong page
$root: the index 'by_age' has 1 missing and 2 extra entries, and 0 in the wrong page
$root has 2000 rows, and its count says 2001"
harm '{"op":"set","id":"'"$root"'//row/=7","value":{"value":{"id":7,"age":7}}}' \
    '{"op":"patch","id":"'"$root"'//row/=8","patches":[{"op":"replace","path":"/value/age","value":8}]}'
check "and are right again if the rows are" "$HEDDLE" check

harm '{"op":"delete","id":"'"$leaf"'"}'
"$HEDDLE" check >out 2>&1
same "a page that is missing is found" \
    "$? $(grep -c "by_age.* missing and 0 extra entries, and 0 in the wrong page; a page is missing" out)" '1 1'
repaired '1 part'

harm '{"op":"patch","id":"'"$root"'//order/by_age/L0/.","patches":[{"op":"replace","path":"/value/fence","value":{"":1}}]}'
timeout 20 "$HEDDLE" send shop ask '{"index":"by_age","from":[7],"limit":2}' >out 2>err
same "a page that leads back is an error, not a circle" \
    "$? $(grep -c "a page of the collection is damaged, 'heddle check --repair' rebuilds it" err)" '1 1'
repaired '1 part'

harm '{"op":"patch","id":"'"$root"'","patches":[{"op":"replace","path":"/value/count","value":3}]}'
found "a count is compared" "$root has 2001 rows, and its count says 3"
repaired '1 part'

first="$root//order//L0/."
harm '{"op":"patch","id":"'"$first"'","patches":[{"op":"add","path":"/value/entries/~1~1","value":9}]}'
check "an entry in the wrong page is found" \
    sh -c '"$HEDDLE" check | grep -q "by key has 0 missing and 1 extra entries, and [01] in the wrong"'
repaired '1 part'
says "readers see what was repaired" '{"count":2002}' send shop add '{"id":"zoe","age":90}'
says "also in an index" '[{"age":90,"id":"zoe"}]' get shop old
says "it is removed again" '{"existed":true}' send shop drop '{"id":"zoe"}'

harm '{"op":"set","id":"'"$root"'//row/=5","value":{"value":{"id":6,"age":1}}}'
check "a row with the key of another one is found" sh -c '"$HEDDLE" check | grep -q "row/=5 does not have the key that its id names"'
harm '{"op":"set","id":"'"$root"'//row/=5","value":{"value":{"id":5,"age":5}}}'
check "the files are sound" "$HEDDLE" check

# ---- migrations ----

cat >crm.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("crm", function(p)
  local by_name = p:collection("by_name", { key = "name", index = { by_age = { "age" } } })
  p:migrate(2, function(old)
    for _, row in ipairs(old:get("people")) do by_name:insert{ name = "n" .. row.id, age = row.age } end
    old:drop("people")
  end)
  p:handler("count", function(range) return by_name:count(range) end)
  return { by_name = by_name }
end)
LUA
"$HEDDLE" run crm.lua --name shop --once >/dev/null 2>&1
says "a migration copies the rows to another collection" 2001 get shop by_name/count
says "with its indexes" 34 send shop count '{"index":"by_age","from":[7],"to":[7]}'
same "and drops the one that was" "$("$HEDDLE" export --all - 2>/dev/null | grep -c '^{"scope":"space","id":"piece:shop/people')" 0
check "the files are sound" "$HEDDLE" check

# ---- branches ----

cat >merge.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("merge", function(p)
  local rows = p:collection("rows", { key = "id", index = { by_a = { "a", "b" } } })
  p:handler("put", function(event) for _, row in ipairs(event) do rows:put(row) end end)
  p:handler("fill", function(event) for i = event.from, event.to do rows:put{ id = i, a = i, b = 0 } end end)
  p:handler("update", function(event) rows:update(event.id, event.fields) end)
  p:handler("remove", function(event) rows:remove(event) end)
  p:handler("look", function()
    local text = {}
    for i, row in ipairs(rows:range{ index = "by_a", limit = 5 }) do
      text[i] = row.id .. ":" .. row.a .. "," .. row.b .. (row.note and "," .. row.note or "")
    end
    return rows:count() .. " " .. #rows:range{} .. " " .. rows:count{ index = "by_a" } .. " " .. table.concat(text, " ")
  end)
  return { rows = rows }
end)
LUA

# merged NAME WANT DIRECTORY: both sides are sent what $ours and $theirs say, and the merge says WANT.
merged() {
    name=$1 want=$2 data=$3
    "$HEDDLE" run merge.lua --once --dir "$data" >/dev/null 2>&1
    "$HEDDLE" send merge put '[{"id":1,"a":1,"b":1},{"id":2,"a":2,"b":2}]' --dir "$data" >/dev/null 2>&1
    "$HEDDLE" branch create draft --dir "$data" >/dev/null 2>&1
    "$HEDDLE" send merge "${ours%% *}" "${ours#* }" --dir "$data" >/dev/null 2>&1
    "$HEDDLE" send merge "${theirs%% *}" "${theirs#* }" --dir "$data" --branch draft >/dev/null 2>&1
    before=$("$HEDDLE" send merge look null --dir "$data" 2>&1)
    got=$("$HEDDLE" branch merge draft --dir "$data" 2>/dev/null)
    same "$name" "$got $?" "$want"
}

# after NAME WANT DIRECTORY: what the target has.
after() {
    same "$1" "$("$HEDDLE" send merge look null --dir "$3" 2>&1)" "$2"
}

conflict='conflict: piece:merge/rows "" 1'

ours='put [{"id":3,"a":3,"b":3}]' theirs='put [{"id":4,"a":4,"b":4}]'
merged "inserts on both branches are a conflict of the collection" "$conflict" both
after "and nothing is merged" "$before" both

ours='update {"id":1,"fields":{"a":7}}' theirs='update {"id":1,"fields":{"b":7}}'
merged "so are two indexed fields of one row" "$conflict" fields
after "whose index stays as it was" "$before" fields

ours='update {"id":1,"fields":{"a":900}}' theirs='fill {"from":3,"to":1200}'
merged "so is a row that moves while its page is divided" "$conflict" divided
after "and no row is lost" "$before" divided

ours='update {"id":1,"fields":{"note":"x"}}' theirs='fill {"from":3,"to":1200}'
merged "a field that no index uses is merged with new rows" ' 0' free
after "all of which are there" '"1200 1200 1200 1:1,1,x 2:2,2 3:3,0 4:4,0 5:5,0"' free
says "a second merge has nothing to do" 'heddle: draft has nothing to merge' branch merge draft --dir free

ours='remove 2' theirs='update {"id":2,"fields":{"note":"x"}}'
merged "a row that one branch removes and the other changes is a conflict" \
    'conflict: piece:merge/rows//row/=2 "" 1' removed

ours='update {"id":1,"fields":{"note":"x"}}' theirs='update {"id":2,"fields":{"a":9}}'
merged "an index that one branch changes is merged" ' 0' index
after "with both changes" '"2 2 2 1:1,1,x 2:9,2"' index

# A definition that one branch changes, and rows that the other one does.
sed 's/by_a = { "a", "b" }/by_a = { "a", "b" }, by_note = { "note" }/' merge.lua >new.lua
"$HEDDLE" run merge.lua --once --dir defined >/dev/null 2>&1
"$HEDDLE" send merge put '[{"id":1,"a":1,"b":1}]' --dir defined >/dev/null 2>&1
"$HEDDLE" branch create draft --dir defined >/dev/null 2>&1
"$HEDDLE" run new.lua --name merge --once --dir defined --branch draft >/dev/null 2>&1
"$HEDDLE" send merge update '{"id":1,"fields":{"note":"x"}}' --dir defined >/dev/null 2>&1
same "a new index and a field that it uses are a conflict" \
    "$("$HEDDLE" branch merge draft --dir defined 2>&1 | grep rows)" 'conflict: piece:merge/rows ""'

finish
