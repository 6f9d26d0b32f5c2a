#!/bin/sh
# Limits at every door of the command: just below, at and just above each one.
# What is accepted comes back, from every command that reads, also from a copy;
# what is not is refused with the name of the limit, and nothing of it is there.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

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
  local list = p:state("list", heddle.array {})
  local function below(count)
    local at = v
    for _ = 1, count do at = at:key("a") end
    return at
  end
  return {
    v = v, n = n, list = list,
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

# readable NAME: whatever is there can be read.
readable() {
    wrong=""
    rm -f copy.db
    for command in check "get box" "get box --stored" log ps "show box" \
        "store backup heddle-data/main.db copy.db" "store check copy.db"; do
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
    try "a path of $number keys and a name is refused" 2 '' 'heddle: a path has at most 1000 segments' set box "$(path "$number")" 1
    try "also where it is read" 2 '' 'heddle: a path has at most 1000 segments' get box "$(path "$number")"
    try "and watched" 2 '' 'heddle: a path has at most 1000 segments' watch box "$(path "$number")"
    run show box "$(path "$number")"
    same "there was nothing" "$code" 1
done

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

for number in 65528 65536 70000 1000000; do
    begin
    "$HEDDLE" send box key "$number" >/dev/null
    readable "a key of $number bytes"
    same "a key of $number bytes comes back" "$("$HEDDLE" send box read "$number")" 1
    readable "a key of $number bytes that was read"
done

# ---- strings: 16 MiB ----

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

begin
head -c 15000000 /dev/zero | tr '\0' x | sed 's/^/"/; s/$/"/' >in.json
for number in 1 2 3 4; do
    "$HEDDLE" set box list - --append <in.json || not_ok "a part of a document, $number"
done
"$HEDDLE" set box list - --append --json <in.json >door.out 2>&1
same "a document of more than 64 MiB is refused" "$? $(grep -o LIMIT_SIZE door.out)" "2 LIMIT_SIZE"
same "and nothing of the last part is there" "$("$HEDDLE" get box list/4 2>&1)" "heddle: there is nothing at 'list/4' of box"
check "the space is sound" "$HEDDLE" check

# ---- names: 256 bytes of a piece, 1024 of an id ----

for number in 255 256 257 1024 1025 70000; do
    begin
    name=$(head -c "$number" /dev/zero | tr '\0' n)
    run run box.lua --name "$name" --once
    if [ "$code" -eq 0 ]; then
        same "a name of $number bytes" "$("$HEDDLE" get "$name" n)" 1
    else
        same "a name of $number bytes is refused" "$code" 2
        check "with a sentence" grep -q "has 1 to 256 bytes" err.txt
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

finish
