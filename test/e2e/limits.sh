#!/bin/sh
# Limits at every door of the command: just below, at and just above each one.
# What is accepted comes back, from every command that reads, also from a copy;
# what is not is refused with the name of the limit, and nothing of it is there.
#
# The limits are those of docs/limits.md: each row of "What comes from outside"
# is tried here, or is named with the test that tries it where no command comes
# near it. A row without either fails.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

# tries NAME NUMBER: what follows tries this limit. elsewhere NAME NUMBER FILE:
# no command reaches it, and FILE does.
tries() {
    echo "$1" >>tried
    same "docs/limits.md says $2 of $1" "$(sed -n "s/^| \`$1\` | \([0-9]*\) |.*/\1/p" "$ROOT/docs/limits.md")" "$2"
}
elsewhere() {
    tries "$1" "$2"
    check "$1 is tried in $3" grep -q "$1" "$ROOT/$3"
}

cat >box.lua <<'LUA'
local heddle = require "heddle"
local function nest(n)
  local v = 1
  for _ = 1, n do v = { a = v } end
  return v
end
return heddle.pattern("box", function(p)
  local v = p:state("v", {})
  local n = p:state("n", 1)
  local m = p:state("m", 0)
  local list = p:state("list", heddle.array {})
  local function below(count)
    local at = v
    for _ = 1, count do at = at:key("a") end
    return at
  end
  return {
    v = v, n = n, m = m, list = list, a = p:arg("a", 1),
    computed = p:computed("computed", function() return nest(n:get()) end),
    mapped = p:map(list, function(e) return e:get() end),
    put = p:handler("put", function(e) v:set(e) end),
    make = p:handler("make", function(e) v:set(nest(e)) end),
    add = p:handler("add", function(e) list:append(nest(e)) end),
    give = p:handler("give", function(e) return nest(e) end),
    at = p:handler("at", function(e) below(e):set(1) end),
    both = p:handler("both", function(e) below(e[1]):set(nest(e[2])) end),
    look = p:handler("look", function(e) return below(e):get() == nil end),
    key = p:handler("key", function(e) v:key(("k"):rep(e)):set(1) end),
    read = p:handler("read", function(e) return v:key(("k"):rep(e)):get() end),
    text = p:handler("text", function(e) v:set(("x"):rep(e)) end),
    fill = p:handler("fill", function(e)
      local t = {}
      for i = 1, e do t["k" .. i] = 1 end
      v:set(t)
    end),
    writes = p:handler("writes", function(e) for i = 1, e do v:key("k" .. i):set(i) end end),
    reads = p:handler("reads", function(e)
      local sum = 0
      for i = 1, e do sum = sum + v:key("k" .. i):get() end
      m:set(sum)
    end),
    seen = p:computed("seen", function()
      local sum = 0
      for i = 1, m:get() do sum = sum + (v:key("k" .. i):get() or 0) end
      return sum
    end),
  }
end)
LUA
"$HEDDLE" run box.lua --once --dir fresh >/dev/null 2>&1

# nested COUNT: JSON; path COUNT: a path of so many keys below v.
nested() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "{\"a\":"; printf 1; for (i = 0; i < n; i++) printf "}" }'
}
path() {
    awk -v n="$1" 'BEGIN { printf "v"; for (i = 0; i < n; i++) printf "/a" }'
}

begin() {
    rm -rf heddle-data copy.db
    cp -r fresh heddle-data
}

# readable NAME: whatever is there can be read. Of what is very large, `few`
# looks are enough.
few=""
readable() {
    wrong=""
    rm -f copy.db
    for command in check "get box --stored" ${few:-"get box" log ps "show box" \
        "store backup heddle-data/main.db copy.db" "store check copy.db"}; do
        # shellcheck disable=SC2086
        "$HEDDLE" $command >readable.out 2>&1 || wrong="$wrong; $command: $(head -c 300 readable.out)"
    done
    same "$1: everything can be read" "$wrong" ""
}

# accepted NAME ARGUMENT..., refused NAME LIMIT ARGUMENT...: with what is in
# in.json as standard input.
accepted() {
    name=$1
    shift
    "$HEDDLE" "$@" --json <in.json >door.out 2>&1
    same "$name is accepted" "$? $(grep -o '"status":.*' door.out | head -c 200)" "0 "
    readable "$name"
}
refused() {
    name=$1 limit=$2
    shift 2
    "$HEDDLE" "$@" --json <in.json >door.out 2>&1
    code=$?
    [ "$code" -eq 1 ] || [ "$code" -eq 2 ] && code=refused
    same "$name: refused" "$code" refused
    check "$name: the limit is named" grep -q "$limit" door.out
    same "$name: nothing of it is there" "$("$HEDDLE" get box v) $("$HEDDLE" get box list)" "{} []"
    check "$name: the space is sound" "$HEDDLE" check
}

# door NAME LIMIT LAST ARGUMENT...: N stands for the number: LAST is accepted
# and the next is refused. JSON for it and PATH are made of it.
door() {
    door=$1 limit=$2 last=$3
    shift 3
    for number in $((last - 1)) "$last" $((last + 1)); do
        begin
        nested "$number" >in.json
        words=""
        for word in "$@"; do
            case "$word" in
            N) word=$number ;;
            HALVES) word="[$((number / 2)),$((number - number / 2))]" ;;
            PATH) word=$(path "$number") ;;
            esac
            words="$words $word"
        done
        # shellcheck disable=SC2086
        if [ "$number" -le "$last" ]; then
            accepted "$door, $number" $words
        else
            refused "$door, $number" "$limit" $words
        fi
    done
}

# ---- depth: 1000 of a document, which is {"value": ...} ----

tries LIMIT_DEPTH 1000
elsewhere LIMIT_WRAPPING 16 test/e2e/limits.sh # the patches, the history and the copies of the deepest value

door "a value that is set" LIMIT_DEPTH 999 set box v -
begin
nested 999 >in.json
"$HEDDLE" set box v - <in.json
same "the deepest value comes back" "$("$HEDDLE" get box v)" "$(cat in.json)"
same "also as it is stored" "$("$HEDDLE" get box v --stored)" "$(cat in.json)"
same "and from the past" "$("$HEDDLE" show box v)" "$(cat in.json)"
door "a value below another" LIMIT_DEPTH 997 set box v/b/c -
door "a value at the end of a list" LIMIT_DEPTH 998 set box list - --append
door "a value that is an event" "LIMIT_DEPTH\|nested too deeply" 999 send box put -
door "a value of a handler" "LIMIT_DEPTH\|nested too deeply" 999 send box make N
door "an element of a handler" "LIMIT_DEPTH\|nested too deeply" 998 send box add N
door "a receipt" "LIMIT_DEPTH\|nested too deeply" 999 send box give N --id 1 --session s
door "a value and the path to it" "LIMIT_DEPTH\|nested too deeply" 999 send box both HALVES

# ---- paths: 1000 segments, "value" included ----

tries LIMIT_PATH_SEGMENTS 1000

door "a path of a handler" "LIMIT_PATH\|at most 1000 segments" 999 send box at N
door "a path that a handler reads" "LIMIT_PATH\|at most 1000 segments" 999 send box look N
for number in 997 998; do
    begin
    "$HEDDLE" set box "$(path "$number")" 1
    same "a path that is set, $number" "$("$HEDDLE" get box "$(path "$number")")" 1
    readable "a path that is set, $number"
done
for number in 999 1000 5000; do
    begin
    try "a path of $number keys and a name is refused" 2 '' 'heddle: a path can have at most 1000 segments' set box "$(path "$number")" 1
    try "also where it is read" 2 '' 'heddle: a path can have at most 1000 segments' get box "$(path "$number")"
    try "and watched" 2 '' 'heddle: a path can have at most 1000 segments' watch box "$(path "$number")"
    try "and where a stored one is shown" 2 '' 'heddle: a path can have at most 1000 segments' show box "$(path "$number")"
done
begin
try "the longest path can be shown" 1 '' 'heddle: no value at this path' show box "$(path 998)"

# ---- what a computation gives ----

for number in 998 999 1000 1001; do
    begin
    "$HEDDLE" set box n "$number"
    run get box computed
    if [ "$number" -le 999 ]; then
        same "a computation, $number" "$code $out" "0 $(nested "$number")"
        readable "a computation, $number"
    else
        check "a computation, $number: refused" grep -q "nested too deeply" err.txt
        check "a computation, $number: the space is sound" "$HEDDLE" check
    fi
done

# ---- arguments ----

for number in 900 998 999 1000 1001; do
    begin
    "$HEDDLE" run box.lua --name other --once --args "{\"a\":$(nested $((number - 1)))}" >door.out 2>&1
    echo $? >code
    case $(cat code) in 0) readable "arguments, $number" ;; *)
        check "arguments, $number: refused" grep -q "nested" door.out
        readable "arguments, $number"
        ;;
    esac
done

# ---- keys: any length that a string has; pointers of people 64 KiB ----

tries LIMIT_POINTER_BYTES 65536
echo '{}' >empty.json
for number in 65535 65536 65537; do
    "$HEDDLE" value set empty.json "/$(head -c $((number - 1)) /dev/zero | tr '\0' k)" --text 1 >door.out 2>&1
    code=$?
    if [ "$number" -le 65536 ]; then
        same "a pointer of $number bytes" "$code $(wc -c <door.out)" "0 $((number + 6))"
    else
        same "a pointer of $number bytes is refused" "$code" 2
        check "and the limit is named" grep -q "at most 65536 bytes" door.out
    fi
done

for number in 65528 65536 70000 1000000; do
    begin
    "$HEDDLE" send box key "$number" >/dev/null
    readable "a key of $number bytes"
    same "a key of $number bytes comes back" "$("$HEDDLE" send box read "$number")" 1
    readable "a key of $number bytes that was read"
done

# ---- strings: 16 MiB ----

tries LIMIT_STRING_BYTES 16777216
few=log
for number in 16777215 16777216 16777217; do
    begin
    head -c "$number" /dev/zero | tr '\0' x | sed 's/^/"/; s/$/"/' >in.json
    if [ "$number" -le 16777216 ]; then
        accepted "a string of $number bytes that is set" set box v -
        same "a string of $number bytes comes back" "$("$HEDDLE" get box v --raw | wc -c)" "$((number + 1))"
    else
        refused "a string of $number bytes that is set" LIMIT_STRING set box v -
    fi
done

for number in 16777215 16777216 16777217; do
    begin
    run send box text "$number"
    if [ "$number" -le 16777216 ]; then
        same "a string of $number bytes" "$code $("$HEDDLE" get box v --raw | wc -c)" "0 $((number + 1))"
        readable "a string of $number bytes"
    else
        same "a string of $number bytes is refused" "$code" 1
        check "and nothing of it is there" grep -q '{}' <<END
$("$HEDDLE" get box v)
END
    fi
done

# ---- a document: 64 MiB; what the store refuses is said ----

# What is stored is the patch, which is 43 bytes more than the value:
# [A,A,A,A,B] with four strings of 15,000,000 bytes.
tries LIMIT_TEXT_BYTES 67108864
for number in 67108863 67108864 67108865; do
    begin
    head -c 15000000 /dev/zero | tr '\0' x | sed 's/^/"/; s/$/"/' >part
    head -c $((number - 43 - 60000016)) /dev/zero | tr '\0' x | sed 's/^/"/; s/$/"/' >rest
    (printf '[' && cat part && printf , && cat part && printf , && cat part && printf , && cat part && printf , && cat rest && printf ']') |
        tr -d '\n' >in.json
    if [ "$number" -le 67108864 ]; then
        accepted "a document of $number bytes" set box v -
        same "a document of $number bytes comes back" "$("$HEDDLE" get box v | wc -c)" "$((number - 43 + 1))"
    else
        refused "a document of $number bytes" LIMIT_SIZE set box v -
    fi
done

# ---- keys of an object, elements of an array ----

tries LIMIT_ARRAY_ELEMENTS 16000000
awk 'BEGIN { printf "[0"; for (i = 2; i <= 16000001; i++) printf ",0"; printf "]" }' >in.json
begin
refused "an array of one element more" LIMIT_ELEMENTS set box list -
tries LIMIT_OBJECT_KEYS 4000000
keys() {
    awk -v n="$1" 'BEGIN {
        printf "{"
        for (i = 1; i < n; i++) { k = sprintf("%x", i); gsub(/0/, "g", k); printf "\"%s\":0,", k }
        printf "\"z\":0}"
    }'
}
keys 4000001 >in.json
begin
refused "an object of one key more" LIMIT_KEYS set box list -
rm -f in.json part rest

# ---- the last ones and the next through the public header, and the documents of one commit ----

header=$BUILD/bin/programs/header_limits
same "elements through the header" "$("$header" elements elements.d)" "OK LIMIT_ELEMENTS 16000000"
check "and the space is sound" "$HEDDLE" check --dir elements.d
same "keys through the header" "$("$header" keys keys.d)" "OK LIMIT_KEYS 4000000"
check "and the space is sound" "$HEDDLE" check --dir keys.d
tries LIMIT_COMMIT_OPERATIONS 100000
same "documents of a commit through the header" "$("$header" documents documents.d)" "OK LIMIT_COMMIT 50"
check "and the space is sound" "$HEDDLE" check --dir documents.d
rm -rf elements.d keys.d documents.d

few=""

# ---- patches: 100,000 operations ----

tries LIMIT_PATCH_OPERATIONS 100000
for number in 99999 100000 100001; do
    awk -v n="$number" 'BEGIN { printf "["; for (i = 1; i <= n; i++)
        printf "%s{\"op\":\"add\",\"path\":\"/a\",\"value\":%d}", (i > 1 ? "," : ""), i; printf "]" }' >patch.json
    run value patch empty.json patch.json
    if [ "$number" -le 100000 ]; then
        same "a patch of $number operations" "$code $out" "0 {\"a\":$number}"
    else
        same "a patch of $number operations is refused" "$code" 2
        check "and the limit is named" grep -q "at most 100000 operations" err.txt
    fi
    begin
    "$HEDDLE" send box writes "$number" >/dev/null
    same "a handler that writes $number keys" "$? $("$HEDDLE" get box "v/k$number")" "0 $number"
    readable "a handler that writes $number keys"
done

# ---- commits: 200,000 reads of one; 100,000 places of a run that is remembered ----

tries LIMIT_COMMIT_READS 200000
tries LIMIT_OBSERVATION_PLACES 100000
begin
"$HEDDLE" send box fill 210000 >/dev/null
for number in 199999 200000 200001; do
    run send box reads "$number"
    if [ "$number" -le 200000 ]; then
        same "a handler that reads $number keys" "$code $("$HEDDLE" get box m)" "0 $number"
    else
        same "a handler that reads $number keys is refused" "$code $("$HEDDLE" get box m)" "1 200000"
        check "and the limit is named" grep -q "more than 200000 reads" err.txt
    fi
done
run get box seen
same "a computation that reads 200001 places is refused" "$code" 1
check "with the same sentence" grep -q "more than 200000 reads" err.txt
for number in 99997 99998 99999 100000 199999; do
    "$HEDDLE" set box m "$number"
    same "a computation that reads $number keys and their number" "$("$HEDDLE" get box seen)" "$number"
    same "and the next time" "$("$HEDDLE" get box seen)" "$number"
done
readable "what has read so much"

# ---- labels: 256 bytes, 4096 of a runtime ----

tries LIMIT_LABELS 4096
tries LIMIT_LABEL_BYTES 256
cat >label.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("label", function(p)
  local n = p:state("n", 1)
  return {
    short = p:computed("short", function() return n:get() end, { label = ("l"):rep(255) }),
    longest = p:computed("longest", function() return n:get() end, { label = ("l"):rep(256) }),
  }
end)
LUA
begin
run run label.lua --once
check "labels of 255 and 256 bytes are labels" grep -q "not cleared for" err.txt
check "and no error" sh -c '! grep -q "1 to 256 bytes" err.txt'
sed 's/rep(256)/rep(257)/' label.lua >longer.lua
run run longer.lua --once --name longer
same "a label of 257 bytes is refused" "$code" 1
check "and the limit is named" grep -q "longer/longest: labels must be an array of strings of 1 to 256 bytes" err.txt
cat >labels.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("labels", function(p)
  local n = p:state("n", 1)
  local many = {}
  for i = 1, 4097 do many[i] = "l" .. i end
  return { n = n, seen = p:computed("seen", function() return n:get() end, { label = many }) }
end)
LUA
run run labels.lua --once
check "what has 4097 labels is unreadable" grep -q 'not cleared for "unreadable"' err.txt
same "and the rest is not" "$("$HEDDLE" get labels n)" 1
readable "4097 labels"

# ---- what no command reaches ----

elsewhere LIMIT_REACH_SELECTORS 1000 test/unit/host/test_selectors.c
elsewhere LIMIT_REACH_DOCUMENTS 100000 test/unit/host/test_selectors.c
elsewhere LIMIT_REACH_DEPTH 1000 test/unit/host/test_selectors.c
elsewhere LIMIT_REACH_PLACES 1000000 test/unit/host/test_selectors.c
elsewhere LIMIT_SCHEMA_DEPTH 64 test/unit/api/test_api_limits.c
elsewhere LIMIT_SCHEMA_NODES 10000 test/unit/api/test_api_limits.c
elsewhere LIMIT_COMMIT_LAYERS 10000 test/unit/store/test_limits.c
elsewhere LIMIT_COMMIT_PRECONDITIONS 100000 test/unit/store/test_limits.c
elsewhere LIMIT_COMMIT_OBSERVATIONS 10000 test/unit/proto/test_commit.c
elsewhere LIMIT_OBSERVATION_SPACES 1000 test/unit/proto/test_observation.c
elsewhere LIMIT_MESSAGE_COMMITS 10000 test/unit/proto/test_message.c
elsewhere LIMIT_MESSAGE_DOCUMENTS 1000000 test/unit/proto/test_message.c

# ---- names: 256 bytes of a piece, 1024 of an id ----

tries PIECE_NAME_BYTES_MAX 256
tries LIMIT_ID_BYTES 1024

for number in 255 256 257 1024 1025 70000; do
    begin
    name=$(head -c "$number" /dev/zero | tr '\0' n)
    run run box.lua --name "$name" --once
    if [ "$code" -eq 0 ]; then
        same "a name of $number bytes" "$("$HEDDLE" get "$name" n)" 1
    else
        same "a name of $number bytes is refused" "$code" 2
        check "with a sentence" grep -q "1 to 256 bytes" err.txt
    fi
    readable "a name of $number bytes"
    run send box give 1 --id "$name" --session "$name"
    if [ "$code" -eq 0 ]; then
        try "an event's id of $number bytes" 0 '{"a":1}' '' send box give 1 --id "$name" --session "$name"
    else
        check "an event's id of $number bytes is refused" grep -q "1024" err.txt
    fi
    readable "an event's id of $number bytes"
    run get box v --user "$name"
    [ "$code" -eq 0 ] && code=2
    same "a user of $number bytes" "$code" 2
    readable "a user of $number bytes"
done

# ---- nothing is forgotten ----

sed -n '/^## External input/,/^## The scheduler/s/^| `\([A-Z_]*\)` |.*/\1/p' "$ROOT/docs/limits.md" | sort >rows
sort -u tried >tried.sorted
check "there are limits" test "$(wc -l <rows)" -gt 20
same "every limit of docs/limits.md has a test" "$(comm -23 rows tried.sorted)" ""

finish
