#!/bin/sh
# Pieces as their users run them: one process that runs, others that send, set,
# ask and watch; stopped, killed, twice at once; broken files, directories that
# cannot be written, a disk that is full. Nothing is lost, and every refusal is
# a sentence.
#
# What `until_true` is given to run, shellcheck takes for unreachable:
# shellcheck disable=SC2317

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

cp "$ROOT/examples/shopping.lua" .

# last NAME: the last line of its output.
last() {
    tail -n 1 "$1.out"
}

# sees NAME: whether that is $final.
sees() {
    [ "$(last "$1")" = "$final" ]
}

yarn='{"name": "yarn", "price": 4, "qty": 3}'
loom='{"name": "loom", "price": 30}'

# ---- one runs, others talk to it ----

start first run shopping.lua
runner=$pid
check "a new piece says so" until_true says first "heddle: shopping is new"
check "and prints its result" until_true says first '"total":0'
try "an event has a receipt" 0 '{"count":1}' '' send shopping add "$yarn"
check "who runs sees it" until_true says first '"total":15'
try "a second one" 0 '{"count":2}' '' send shopping add "$loom"
check "the effect runs, once it has landed" until_true says first "notify: this is too much: 52.5"
try "set changes a state" 0 '' '' set shopping rate 0.5
check "who runs sees that, too" until_true says first '"total":63'
try "get is up to date" 0 '63' '' get shopping total
try "a path goes through links" 0 'yarn' '' get shopping /items/0/name --raw
try "with dots as well" 0 '"loom"' '' get shopping items.1.name
try "what is filtered follows" 0 '{"bought":"yarn"}' '' send shopping buy '{"name": "yarn"}'
try "and only that" 0 '[{"bought":false,"name":"loom","price":30,"qty":1}]' '' get shopping open
same "effects run in no other process" "$(cat out.txt err.txt | grep -c notify)" 0

start watcher watch shopping net
watcher=$pid
check "watch begins with what is there" until_true says watcher 42
try "a third event" 0 '{"count":3}' '' send shopping add '{"name": "comb", "price": 1}'
check "watch follows" until_true says watcher 43
stop "$watcher" INT
same "Ctrl-C ends watch with 0" "$code" 0
same "it has printed each change once" "$(tr '\n' ' ' <watcher.out)" "42 43 "

# ---- the same event again ----

try "an event with an id" 0 '{"count":4}' '' send shopping add '{"name": "dye", "price": 2}' --id 7 --session me
try "the same again, the same receipt" 0 '{"count":4}' '' send shopping add '{"name": "dye", "price": 2}' --id 7 --session me
try "with another payload it is refused" 1 '' "heddle: shopping/add: an event with this session and id was sent before with*" \
    send shopping add '{}' --id 7 --session me
try "and nothing was added" 0 '45' '' get shopping net
try "another session's id is another one" 0 '{"count":5}' '' send shopping add '{"name": "pin", "price": 1}' --id 7 --session you
try "an id alone is refused" 2 '' "heddle: --id requires --session*" send shopping add '{}' --id 7

# ---- what is refused ----

try "a handler's error is told, with its line" 1 '' "heddle: shopping/buy: *" send shopping buy '{"name": "milk"}'
check "with its file" grep -q 'shopping.lua:[0-9]*: there is no milk on the list' err.txt
try "nobody has that stream" 1 '' "heddle: shopping: the piece has no stream 'sell'" send shopping sell '{}'
try "nobody has that piece" 1 '' \
    "heddle: there is no piece shoping in ./heddle-data; did you mean 'shopping'?" get shoping
try "nothing is there" 1 '' "heddle: no value at 'items/9' of shopping" get shopping items/9
try "what is computed cannot be set" 2 '' "heddle: 'total' is computed: set one of its inputs instead" set shopping total 3
try "a stream cannot be set" 2 '' "heddle: 'add' is a stream: 'heddle send shopping add JSON'" set shopping add 3
try "JSON that is none" 2 '' "heddle: JSON: line 1, column 1:*" set shopping rate high
try "two ways at once" 2 '' "heddle: --append, --add-unique,*" set shopping items 1 --append --remove
try "a directory that is not there" 1 '' "heddle: *" get shopping --dir nowhere
check "says what to do" grep -q "nowhere" err.txt
try "an error as JSON" 1 '' '{"status":"NOT_FOUND",*' get shopping nothing --json

# ---- ways of setting ----

try "increment" 0 '' '' set shopping limit 5 --increment
try "adds" 0 '45' '' get shopping limit
try "append" 0 '' '' set shopping items '{"name": "bag", "price": 1, "qty": 1}' --append
try "appends" 0 '"bag"' '' get shopping items/5/name
try "delete" 0 '' '' set shopping items/5/qty --delete
try "deletes" 1 '' "heddle: no value at 'items/5/qty' of shopping" get shopping items/5/qty --stored
try "and back again" 0 '' '' set shopping items/5/qty 1
try "what is stored is up to date after a look" 0 "$("$HEDDLE" get shopping)" '' get shopping --stored

# ---- the end, and the beginning after it ----

stop "$runner" TERM
same "SIGTERM ends run with 0" "$code" 0
start second run shopping.lua
check "it goes on with what it had" until_true says second "heddle: shopping resumed: "
check "and says that it is at rest" until_true says second "heddle: up to date after "
stop "$pid" INT
same "Ctrl-C ends run with 0" "$code" 0

start third run shopping.lua
check "nothing has changed, so nothing runs" until_true says third "heddle: up to date after 0 runs"
check "no node is dirty or unknown" says third " 0 dirty, 0 unknown"
stop "$pid" KILL
same "SIGKILL ends it" "$code" 137
before=$("$HEDDLE" get shopping --stored)
start fourth run shopping.lua
check "after a kill nothing runs either" until_true says fourth "heddle: up to date after 0 runs"
same "and nothing is lost" "$(last fourth)" "$before"
stop "$pid" KILL

# What was changed while nobody ran it.
try "an event without a runner" 0 '{"count":7}' '' send shopping add '{"name": "rug", "price": 10}'
start fifth run shopping.lua
check "the effect runs when somebody runs it" until_true says fifth "notify: this is too much: "
final=$("$HEDDLE" get shopping)
check "as it is then" until_true sees fifth
stop "$pid" TERM

# ---- killed while it works ----

start victim run shopping.lua
victim=$pid
check "somebody runs" until_true says victim "up to date"
count=7
for kill in 1 2 3 4 5; do
    "$HEDDLE" send shopping add '{"name": "n'$kill'", "price": 1}' >receipt.txt 2>&1 &
    sender=$!
    started="$started $sender"
    kill -9 "$victim"
    wait "$victim" 2>/dev/null
    wait "$sender"
    start victim run shopping.lua
    victim=$pid
    count=$((count + 1))
    same "an acknowledged event is there (kill $kill)" "$(cat receipt.txt)" "{\"count\":$count}"
done
until_true says victim "up to date"
stop "$victim" TERM
same "all of them are" "$("$HEDDLE" get shopping items --stored | grep -o '"name"' | wc -l)" "$count"

# ---- two at once ----

start left run shopping.lua
left=$pid
start right run shopping.lua
right=$pid
check "two may run the same piece" until_true says left "up to date"
check "both of them" until_true says right "up to date"
for number in 1 2 3 4 5 6 7 8; do
    "$HEDDLE" send shopping add '{"name": "m'$number'", "price": 1}' >"send.$number" 2>&1 &
    started="$started $!"
    senders="$senders $!"
done
for sender in $senders; do
    wait "$sender"
done
count=$((count + 8))
same "eight send at once, and each has its receipt" "$(cat send.? | sort | uniq | wc -l)" 8
same "nothing is lost" "$("$HEDDLE" get shopping items --stored | grep -o '"name"' | wc -l)" "$count"
final=$("$HEDDLE" get shopping)
check "one runner has the result" until_true sees left
check "and so has the other" until_true sees right
stop "$left" TERM
stop "$right" TERM

# ---- a file that changes ----

cat >rate.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("rate", function(p)
  local n = p:state("n", 5)
  local twice = p:computed("twice", function() return n:get() * 2 end)
  local label = p:computed("label", function() return "n is " .. n:get() end)
  return { n = n, twice = twice, label = label }
end)
LUA
start reload run rate.lua --watch
check "it runs" until_true says reload '"twice":10'
sed 's/\* 2/* 3/' rate.lua >rate.new && mv rate.new rate.lua
check "a changed file is taken" until_true says reload '"twice":15'
check "who has not changed keeps its state" says reload "restarted: 1 node restored, 0 dirty, 1 unknown"
sed 's/return n:get/return n;get/' rate.lua >rate.new && mv rate.new rate.lua
check "a broken file is told" until_true says reload "the previous version keeps running"
try "and what ran before does go on" 0 '' '' set rate n 7
check "as it was" until_true says reload '"twice":21'
sed 's/return n;get/return n:get/; s/\* 3/* 4/' rate.lua >rate.new && mv rate.new rate.lua
check "until it is mended" until_true says reload '"twice":28'
stop "$pid" INT
same "with 0 at the end" "$code" 0

# ---- files that are wrong ----

try "a file that is not there" 3 '' "heddle: none.lua: No such file or directory" run none.lua
echo 'return {' >syntax.lua
try "one that is not Lua" 2 '' "heddle: syntax.lua:*" run syntax.lua
echo 'local x = 1' >nothing.lua
try "one that returns nothing" 2 '' "heddle: nothing.lua: a pattern file must return the result of heddle.pattern*" run nothing.lua
cat >fails.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("fails", function(p) p:state("n", 1); error("I do not want to") end)
LUA
try "one that fails to build" 2 '' "heddle: fails.lua:2: I do not want to" run fails.lua
try "nothing of it is there" 1 '' "heddle: there is no piece fails*" get fails --stored
cat >loops.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("loops", function(p)
  local n = p:state("n", 1)
  return { n = n, c = p:computed("c", function()
    local busy = n:get() > 0
    while busy do end
    return 1
  end) }
end)
LUA
try "an endless loop is ended" 1 '{"n":1}' "heddle: loops is new*" run loops.lua --once
check "with a sentence" grep -q "^heddle: loops/c: loops.lua:6: the step budget is used up" err.txt
try "and the piece is well" 0 '' '' set loops n 0
try "as it shows" 0 '1' '' get loops c
mv rate.lua gone.lua
try "a pattern that has gone" 1 '' "heddle: the pattern of rate was in *" get rate
check "and what can be done" grep -q "heddle run FILE --name rate" err.txt
try "what is stored can be read" 0 '28' '' get rate twice --stored
try "it goes on with its new file" 0 '{"label":"n is 7","n":7,"twice":28}' "heddle: rate resumed: 2 nodes restored*" \
    run gone.lua --name rate --once
try "which is the one from now on" 0 '28' '' get rate twice

# ---- what effects may do ----

check "the tests of the examples pass" "$HEDDLE" test "$ROOT/examples/shopping_test.lua" "$ROOT/examples/invoice_test.lua" \
    "$ROOT/examples/contacts_test.lua"

cat >effects.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("effects", function(p)
  local n = p:state("n", 1)
  p:effect("say", function() heddle.write_line("n is", n:get()) end)
  p:effect("start", function() heddle.exec("touch", "made-" .. n:get()) end)
  return { n = n }
end)
LUA
run run effects.lua --once
same "write_line writes to standard output" "$(grep -c '^n is 1$' out.txt)" 1
check "exec has to be allowed" grep -q "start: effects.lua:5: heddle.exec is not allowed here: heddle run --allow exec" err.txt
same "and did nothing" "$(echo made-*)" "made-*"
run run effects.lua --once --allow exec
check "then it starts a program" until_true test -e made-1
try "only what is known can be allowed" 2 '' "heddle: --allow takes only exec, not 'all'*" run effects.lua --allow all

# ---- a place that cannot be written ----

if [ "$(id -u)" -eq 0 ]; then
    skip "a directory that cannot be written" "root writes everywhere"
else
    cp -r heddle-data locked
    chmod -R a-w locked
    run run gone.lua --name rate --dir locked --once
    same "a directory that cannot be written" "$code" 3
    check "is told" grep -q locked err.txt
    try "what is stored can be read there" 0 '28' '' get rate twice --stored --dir locked
    chmod -R u+w locked
fi
echo "not a directory" >plain
run run gone.lua --dir plain --once
same "a file is no data directory" "$code" 2
check "and the sentence says which" grep -q plain err.txt

# ---- a disk that is full ----

# As far as the process can tell: no file may grow beyond so many blocks.
cat >fill.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("fill", function(p)
  local items = p:state("items", heddle.array{})
  local add = p:handler("add", function(event)
    items:append(event)
    return #items:get()
  end)
  return { items = items, add = add }
end)
LUA
"$HEDDLE" run fill.lua --once >/dev/null 2>&1
try "there is room" 0 '1' '' send fill add '"first"'
size=$(($(stat -c %s heddle-data/main.db-wal 2>/dev/null || echo 0) / 512 + 8))
big=$(head -c 200000 /dev/zero | tr '\0' x)
(
    trap '' XFSZ
    ulimit -f "$size"
    echo "\"$big\"" | "$HEDDLE" send fill add - --timeout 1500 >full.out 2>full.err
    echo $? >full.code
)
same "a full disk is an error" "$(cat full.code)" 3
check "that says so" grep -qi "full\|too large\|disk" full.err
same "and no receipt" "$(cat full.out)" ""
try "what was there is there" 0 '["first"]' '' get fill items
try "and goes on when there is room" 0 '2' '' send fill add '"second"'
try "the space is sound" 0 "$("$HEDDLE" store check heddle-data/main.db)" '' store check heddle-data/main.db
check "without a difference" grep -q ": 0 differences" out.txt

# ---- a disk that is full when the handler of a second event writes ----

cat >chain.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("chain", function(p)
  local sizes = p:state("sizes", heddle.array {})
  local text = p:state("text", "")
  local write = p:handler("write", function(size) text:set(string.rep("x", size)) end)
  local add = p:handler("add", function(size)
    sizes:append(size)
    write:send(size)
    return { count = #sizes:get() }
  end)
  return { sizes = sizes, text = text, add = add, write = write }
end)
LUA
"$HEDDLE" run chain.lua --once >/dev/null 2>&1
try "both events fit" 0 '{"count":1}' '' send chain add 3
size=$(($(stat -c %s heddle-data/main.db-wal 2>/dev/null || echo 0) / 512 + 200))
(
    trap '' XFSZ
    ulimit -f "$size"
    "$HEDDLE" send chain add 300000 --id 1 --session me --timeout 1500 >full.out 2>full.err
    echo $? >full.code
    "$HEDDLE" send chain write 300000 --timeout 1500 >alone.out 2>alone.err
    echo $? >alone.code
)
same "a second event that does not fit is an error" "$(cat full.code)" 3
same "with the receipt of the first" "$(cat full.out)" '{"count":2}'
check "it says that the first is stored" grep -qF "the event was handled and committed" full.err
check "and which one is handled later" \
    grep -qF "1 change could not be stored (1 event of chain/write); the events are stored, and the next process" full.err
try "the first is there" 0 '[3,300000]' '' get chain sizes
try "the second is not" 0 '"xxx"' '' get chain text
try "the first is not handled again" 0 '{"count":2}' '' send chain add 300000 --id 1 --session me
try "so it is there once" 0 '[3,300000]' '' get chain sizes
same "an event that does not fit itself has no receipt" "$(cat alone.code alone.out)" 3
check "and is told as lost, unlike the one that waited" grep -qF "1 event was not handled, and is lost" alone.err
check "and not said to be stored" sh -c '! grep -q "is stored" alone.err'

# ---- a handler that reads a computation after writing its input ----

cat >view.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("view", function(p)
  local n, rate = p:state("n", 1), p:state("rate", 3)
  local list = p:state("list", { 1, 2 })
  local total = p:computed("total", function() return n:get() * rate:get() end)
  local doubled = p:map(list, function(e) return e:get() * 2 end)
  local sum = p:reduce(doubled, 0, function(a, e) return a + e end)
  return { total = total, sum = sum,
    go = p:handler("go", function(event) n:set(event); return total:get() end),
    put = p:handler("put", function(event) list:set(event); return sum:get() end) }
end)
LUA
"$HEDDLE" run view.lua --once >/dev/null 2>&1
try "a computation with what the handler wrote" 0 '21' '' send view go 7
try "also for a list" 0 '36' '' send view put '[1,2,5,10]'
try "which is what is computed afterwards" 0 '{"sum":36,"total":21}' '' get view

finish
