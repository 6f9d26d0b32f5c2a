#!/bin/sh
# Typos are loud: a name that does not exist is refused with the file, the line
# and the nearest name, and an error keeps what it carries.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

# body NAME LINE...: a pattern file whose function has these lines, from 3 on.
body() {
    name=$1
    shift
    {
        echo 'local heddle = require "heddle"'
        echo "return heddle.pattern(\"$name\", function(p)"
        printf '%s\n' "$@"
        echo 'end)'
    } >"$name.lua"
}

# refused NAME LINE SENTENCE BODY...: the pattern is refused with that sentence.
refused() {
    title=$1 line=$2 sentence=$3
    shift 3
    body bad "$@"
    run run bad.lua --once
    if [ "$code" -ne 0 ] && printf '%s\n' "$err" | grep -qF "bad.lua:$line: $sentence"; then
        ok "$title"
    else
        not_ok "$title" "exit code $code" "stderr:   $err" "expected: bad.lua:$line: $sentence"
    fi
}

# ---- in a pattern ----

refused "a global that does not exist" 4 "unknown global 'cout'; did you mean 'count'?" \
    'local count = 1' 'return { n = cout }'
refused "of a library" 3 "unknown global 'tabel'; did you mean 'table'?" 'return { n = tabel.concat({}) }'
refused "with nothing near" 3 "unknown global 'zzzzzz'" 'return { n = zzzzzz }'
refused "an assignment to one" 3 "assignment to unknown global 'n': declare it with 'local'" 'n = 1' 'return {}'
refused "and a function" 3 "assignment to unknown global 'add'" 'function add() end' 'return {}'
refused "a function of heddle" 3 "'heddle' has no 'arry'; did you mean 'array'?" 'return { n = p:state("n", heddle.arry{}) }'
refused "a method of p" 3 "a builder has no method \"stat\"; did you mean 'state'?" 'return { n = p:stat("n", 1) }'
refused "an option of a state" 3 "unknown option 'scop'; did you mean 'scope'?" 'return { n = p:state("n", 1, { scop = "user" }) }'
refused "an option of a computation" 3 "unknown option 'debonce'; did you mean 'debounce'?" \
    'return { n = p:computed("n", function() end, { debonce = 5 }) }'
refused "an option of a handler" 3 "unknown option 'read'; did you mean 'reads'?" \
    'return { n = p:handler("n", function() end, { read = {} }) }'
refused "an argument of a child" 4 "the pattern child has no argument 'rats'; did you mean 'rate'?" \
    'local child = heddle.pattern("child", function(c) return { r = c:arg("rate", 1) } end)' \
    'return { c = p:piece(child, { rats = 2 }) }'
refused "a field of a cell" 4 'a cell has no field "a": use :key("a") for the cell there, or :get() for the value' \
    'local c = p:state("c", { a = 1 })' 'return { n = p:computed("n", function() return c.a end), z = c.a }'
refused "assigned" 4 'cannot assign "a" of a cell: use :key("a"):set(value)' 'local c = p:state("c", {})' 'c.a = 1' 'return {}'
refused "a method of a cell" 4 \
    'a cell has no field "gett": use :key("gett") for the cell there, or :get() for the value; did you mean '"'get'?" \
    'local c = p:state("c", {})' 'return { n = c:gett() }'
refused "an element of a cell" 4 'a cell has no field 1: use :key(1) for the cell there' \
    'local c = p:state("c", {})' 'return { n = c[1] }'

# ---- in runs ----

body runs 'local c = p:state("c", { a = 1 })' \
    'local n = p:computed("n", function() return cc end)' \
    'local f = p:computed("f", function() return c.a end)' \
    'local e = p:computed("e", function() error({ code = 5, list = { 1, 2 } }) end)' \
    'local fail = p:handler("fail", function() error({ code = 7, message = "no", why = { "x" } }) end)' \
    'local write = p:handler("write", function() c.a = 3 end)' \
    'local touch = p:handler("touch", function() c:key("a"):increment(1) return c:get().a end)' \
    'return { c = c, n = n, f = f, e = e, fail = fail, write = write, touch = touch }'
run run runs.lua --once
same "a computation that fails" "$code" 1
check "an unknown global, with piece, node, file and line" grep -qF "heddle: runs/n: runs.lua:4: unknown global 'cc'" err.txt
check "a field of a cell" grep -qF 'heddle: runs/f: runs.lua:5: a cell has no field "a": use :key("a")' err.txt
check "an error that is a table" grep -qF 'heddle: runs/e: runs.lua:6: {"code":5,"list":[1,2]}' err.txt
run get runs e --json
check "its content is a value" grep -qF '"value":{"code":5,"list":[1,2]}' err.txt
check "with the line, the file, the piece and the field" \
    sh -c 'grep -q "\"line\":6," err.txt && grep -qF "/runs.lua\"" err.txt && grep -qF "\"piece\":\"runs\",\"field\":\"e\"" err.txt'
try "a handler" 1 '' "heddle: runs/fail: $scratch/runs.lua:7: no {*" send runs fail
run send runs fail --json
check "keeps the content beside its message" grep -qF '"value":{' err.txt
check "all of it" sh -c 'grep -qF "\"code\":7" err.txt && grep -qF "\"why\":[\"x\"]" err.txt'
check "of its piece and stream" grep -qF '"line":7,' err.txt
check "which are named" grep -qF '"piece":"runs","field":"fail"' err.txt
try "an assignment in a handler" 1 '' "heddle: runs/write: $scratch/runs.lua:8: cannot assign \"a\" of a cell: use :key(\"a\"):set(value)" \
    send runs write

# ---- an event that was handled, beside a computation that fails ----

body beside 'local items = p:state("items", heddle.array{})' \
    'local bad = p:computed("bad", function() if #items:get() > 0 then error("bad") end return 0 end)' \
    'local add = p:handler("add", function(event) items:append(event) return #items:get() end)' \
    'local look = p:handler("look", function() return { bad = bad:get() } end)' \
    'return { items = items, bad = bad, add = add, look = look }'
try "a new piece" 0 '{"bad":0,"items":[]}' 'heddle: beside is new
heddle: up to date after 1 run' run beside.lua --once
try "an event" 0 1 '' send beside add 1
run get beside
same "a computation fails" "$code" 1
try "an event that was handled is no failure" 0 '{"bad":0}' "heddle: beside/bad: $scratch/beside.lua:4: bad" send beside look

# ---- on the command line ----

try "a command" 2 '' "heddle: there is no command 'snd'; did you mean 'send'? See 'heddle --help'" snd beside add
try "below another" 2 '' "heddle: there is no command 'store chek'; did you mean 'check'? See 'heddle store --help'" store chek x
try "an option" 2 '' "heddle: unknown option --rwa; did you mean '--raw'? See 'heddle get --help'" get beside --rwa
try "a piece" 1 '' "heddle: there is no piece besides in ./heddle-data; did you mean 'beside'?" get besides
try "of which nothing is near" 1 '' "heddle: there is no piece zzz in ./heddle-data; there are runs, beside" get zzz
try "a piece to look at" 1 '' "heddle: there is no piece 'besides'; did you mean 'beside'?" graph besides
try "a node" 1 '' "heddle: there is no node 'bed'; did you mean 'bad'?" why beside bed
try "a stream" 1 '' "heddle: beside: the piece has no stream 'ad'; did you mean 'add'?" send beside ad 1
try "a field" 1 '' "heddle: no value at 'itmes' of beside; did you mean 'items'?" get beside itmes --stored
try "a field to set" 1 '' "heddle: there is no 'itmes' in this piece; did you mean 'items'?" set beside itmes 1
body args 'return { rate = p:arg("rate", 1) }'
try "an argument" 2 '' "heddle: the pattern args has no argument 'rats'; did you mean 'rate'?" run args.lua --once --args '{"rats":2}'
try "one that is declared" 0 '{"rate":2}' '*' run args.lua --once --args '{"rate":2}'
try "and at the next start" 2 '' "heddle: the pattern args has no argument 'q'" run args.lua --once --args '{"q":2}'
try "which has changed nothing" 0 '{"rate":2}' '' get args

# ---- files that cannot be what they are given for ----

echo 'local x = 1' >empty.lua
run run empty.lua --once
same "a pattern file that returns nothing" "$code" 2
try "a test file without tests" 2 '0 passed, 0 failed' \
    'heddle: empty.lua has no tests: require "heddle.test" and call it with a name and a function' \
    test empty.lua
run repl nope
same "repl with a piece that does not exist" "$code" 1
run repl beside nope
same "or with another one that does" "$code" 1

# ---- options in tests ----

cat >options.lua <<'END'
local heddle = require "heddle"
local test = require "heddle.test"
test("options", function(t)
  t:fails(function() t:runtime{ spaecs = {} } end, "unknown option 'spaecs'; did you mean 'spaces'?")
  local rt = t:runtime()
  t:fails(function() rt:effect{ nam = "e", fn = function() end } end, "unknown option 'nam'; did you mean 'name'?")
  local pattern = heddle.pattern("p", function() return {} end)
  t:fails(function() rt:run(pattern, nil, { naem = "x" }) end, "unknown option 'naem'; did you mean 'name'?")
  t:fails(function() return rt:idel() end, "did you mean 'idle'?")
end)
END
try "they are known, too" 0 'ok    options
1 passed, 0 failed' '' test options.lua

# ---- types for the language server ----

mkdir typed && cd typed || exit 1
try "new writes a pattern" 0 'first.lua
first_test.lua' '' new first
check "and types" grep -q '^function builder:computed(name, fn, options) end$' .heddle/heddle.lua
check "of tests, too" grep -q '^---@meta heddle.test$' .heddle/test.lua
check "which are Lua" sh -c '"$1" test .heddle/test.lua 2>&1 | grep -q "has no tests"' sh "$HEDDLE"
check "with settings that are JSON" "$HEDDLE" value parse .luarc.json
echo '{"mine":true}' >.luarc.json
echo old >.heddle/heddle.lua
run new second
same "a second pattern beside it" "$code" 0
same "leaves settings alone" "$(cat .luarc.json)" '{"mine":true}'
check "and replaces old types" grep -q '^---@meta heddle$' .heddle/heddle.lua
cd ..

finish
