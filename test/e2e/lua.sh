#!/bin/sh
# heddle test, as a person uses it: the files of test/lua, what it prints, its
# exit codes, and a sentence for what is wrong. LUA_WITHOUT names a file that is
# not run.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

TZDIR=$ROOT/test/data/zoneinfo
export TZDIR

# ---- the files ----

for file in test/lua/*.lua; do
    if [ "$file" = "test/lua/${LUA_WITHOUT:-}.lua" ]; then
        continue
    fi
    "$HEDDLE" test --tap "$file" >"$scratch/out" 2>"$scratch/stderr"
    code=$?
    if [ "$code" -eq 0 ]; then
        ok "$file: $(grep -c '^ok ' "$scratch/out") tests"
    else
        not_ok "$file" "exit code $code" "$(grep -v '^ok ' "$scratch/out")" "$(cat "$scratch/stderr")"
    fi
done

# ---- what it prints ----

# run CODE EXPECTED NAME ARGUMENT...: standard output and the exit code.
run() {
    code=$1 expected=$2 name=$3
    shift 3
    got=$(cd "$scratch" && "$HEDDLE" test "$@" 2>"$scratch/stderr")
    was=$?
    if [ "$was" -eq "$code" ] && [ "$got" = "$expected" ]; then
        ok "$name"
    else
        not_ok "$name" "exit code $was" "$got" "$(cat "$scratch/stderr")"
    fi
}

# refuse NAME SENTENCE ARGUMENT...: exit code 2 and one line.
refuse() {
    name=$1 sentence=$2
    shift 2
    (cd "$scratch" && "$HEDDLE" test "$@" >/dev/null 2>"$scratch/stderr")
    same "$name" "$? $(cat "$scratch/stderr")" "2 heddle: $sentence"
}

cat >"$scratch/mixed.lua" <<'END'
local test = require "heddle.test"
local words = require "lib.words"
test("adds up", function(t) print(words.greeting) t:eq(1 + 1, 2) end)
test("does not", function(t) t:eq({ a = 1 }, { a = 2 }, "the table") end)
END
mkdir "$scratch/lib"
echo 'return { greeting = "hello" }' >"$scratch/lib/words.lua"
run 1 "hello
ok    adds up
FAIL  does not
      mixed.lua:4: the table: is {\"a\":1}, expected {\"a\":2}
1 passed, 1 failed" "a line a test, and why one failed" mixed.lua
run 0 "hello
ok    adds up
1 passed, 0 failed, 1 filtered out" "a filter" mixed.lua --filter adds
run 1 "# hello
ok 1 - adds up
not ok 2 - does not
# mixed.lua:4: the table: is {\"a\":1}, expected {\"a\":2}
1..2" "TAP" --tap mixed.lua
run 1 "{\"tests\":[{\"file\":\"mixed.lua\",\"name\":\"adds up\",\"passed\":true,\"message\":null},\
{\"file\":\"mixed.lua\",\"name\":\"does not\",\"passed\":false,\
\"message\":\"mixed.lua:4: the table: is {\\\"a\\\":1}, expected {\\\"a\\\":2}\"}],\"passed\":1,\"failed\":1,\"leftOut\":0}" \
    "JSON" --json mixed.lua

cat >"$scratch/seeds.lua" <<'END'
require "heddle.test"("seeds", function(t)
  t:seeds(10, function(seed, random) t:ok(seed ~= 7, random(1000)) end)
end)
END
"$HEDDLE" test "$scratch/seeds.lua" >"$scratch/out"
check "a failure names its seed" grep -q 'seed 7: .*seeds.lua:2: ' "$scratch/out"
tail -n 2 "$scratch/out" | head -n 1 >"$scratch/first"
"$HEDDLE" test --seed 7 "$scratch/seeds.lua" | tail -n 2 | head -n 1 >"$scratch/second"
check "with that seed it is the same, at once" cmp "$scratch/first" "$scratch/second"

cat >"$scratch/violation.lua" <<'END'
require "heddle.test"("counts itself up", function(t)
  local rt = t:runtime()
  local o = rt:doc("o", 0)
  rt:computation{ name = "up", writes = { o }, fn = function() o:set(o:sample() + 1) end }
  rt:computation{ writes = { o:key("x") }, fn = function() rt:doc("p"):set((rt:doc("p"):sample() or 0) + 1) end }
  rt:pull(o)
end)
END
run 1 "a computation without a name writes outside its declared surface: at p
FAIL  counts itself up
      up is not idempotent: at o a run left 1 and a second one 2
      a computation without a name is not idempotent: at p a run left 1 and a second one 2
0 passed, 1 failed" "what is not idempotent fails its test" violation.lua
sed 's/^  rt:pull(o)/  rt:pull(o) rt = rt:restart()/' "$scratch/violation.lua" >"$scratch/restarted.lua"
"$HEDDLE" test "$scratch/restarted.lua" >/dev/null
same "also before a restart" "$?" 1

# ---- errors that the test did not ask for ----

cat >"$scratch/reported.lua" <<'END'
local test = require "heddle.test"
local heddle = require "heddle"

local function effect(t)
  local rt = t:runtime()
  local s = rt:doc("s", 1)
  rt:effect{ name = "watch", fn = function() s:get(); error("lost") end }
  rt:settled()
  return rt
end
local function handler(t)
  local rt = t:runtime()
  local stream = rt:stream("in")
  rt:on(stream, function() error("refused") end)
  stream:send(1); rt:settled()
  return rt
end
local box = heddle.pattern("box", function(p)
  local n = p:state("n", 1)
  return { n = n, bad = p:computed("bad", function() return n:get() .. {} end),
           add = p:handler("add", function() n:increment("x") end) }
end)

test("an effect", effect)
test("a handler", handler)
test("a handler of a piece", function(t)
  local rt = t:runtime()
  local piece = rt:run(box)
  piece:send("add"); rt:settled()
end)
test("a computation", function(t)
  local rt = t:runtime()
  rt:run(box):get("bad")
end)
test("before a restart", function(t) effect(t):restart() end)
test("after the last look", function(t)
  local rt = t:runtime()
  local s = rt:doc("s", 1)
  rt:effect{ name = "watch", fn = function() if s:get() > 1 then error("two") end end }
  rt:settled()
  t:eq(#rt:errors(), 0)
  s:set(2); rt:settled()
end)
test("beside a failed check", function(t) effect(t); t:ok(false) end)
test("in a round", function(t) t:seeds(2, function() handler(t) end) end)

test("asked for: an effect", function(t) t:eq(#effect(t):errors(), 1) end)
test("asked for: a handler", function(t) t:eq(handler(t):errors()[1].source, "in") end)
test("asked for: a computation", function(t)
  local rt = t:runtime()
  rt:run(box):get("bad")
  t:ok(#rt:errors() > 0)
end)
END
"$HEDDLE" test "$scratch/reported.lua" >"$scratch/out"
same "an error that was not asked for fails its test" "$? $(tail -n 1 "$scratch/out")" "1 3 passed, 8 failed"
check "it says what reported it, and where" \
    grep -q 'watch reported an error: .*reported.lua:7: lost' "$scratch/out"
check "and how a test asks for it" grep -q 'call rt:errors() after' "$scratch/out"
check "a failed check is shown beside it" \
    sh -c 'grep -A2 "beside a failed" "$1" | grep -q "is false" && grep -A2 "beside a failed" "$1" | grep -q lost' - "$scratch/out"
check "a round names its seed" grep -q 'seed 1: .*refused' "$scratch/out"

# ---- host functions ----

cat >"$scratch/notify.lua" <<'END'
local heddle = require "heddle"
require "heddle.test"("notifies", function(t)
  local rt = t:runtime()
  local box = heddle.pattern("box", function(p)
    local n = p:state("n", 1)
    p:effect("tell", function() heddle.notify("n is " .. n:get()) end)
    return { n = n }
  end)
  rt:run(box)
  rt:settled()
  t:eq(rt:calls("notify")[1].arguments, { "n is 1" })
end)
END
run 0 "notify: n is 1
ok    notifies
1 passed, 0 failed" "heddle.notify works in a test" notify.lua

# ---- what is wrong ----

echo 'local = 1' >"$scratch/syntax.lua"
refuse "a file that is not Lua" "syntax.lua:1: <name> expected near '='" syntax.lua
echo 'error("no")' >"$scratch/error.lua"
refuse "a file that fails" "error.lua:1: no" error.lua
refuse "no file" "'test' takes FILE...; see 'heddle test --help'"
refuse "a seed that is none" "--seed takes a number from 1 on; see 'heddle test --help'" --seed x mixed.lua
"$HEDDLE" test --tap --json "$scratch/mixed.lua" >/dev/null 2>"$scratch/stderr"
same "two forms" "$? $("$HEDDLE" value get --raw "$scratch/stderr" /message)" \
    "2 --tap and --json exclude each other; see 'heddle test --help'"
(cd "$scratch" && "$HEDDLE" test missing.lua mixed.lua --filter adds >/dev/null 2>&1)
same "a file that is missing is 3" "$?" 3
TMPDIR="$scratch/lib" "$HEDDLE" test test/lua/runtimes.lua --filter file >/dev/null
same "folders of engines are removed" "$(ls "$scratch/lib")" "words.lua"
echo 'require "heddle.test"("loop", function() while true do end end)' >"$scratch/loop.lua"
run 1 "FAIL  loop
      loop.lua:1: the step budget is used up
0 passed, 1 failed" "an endless loop ends" loop.lua

finish
