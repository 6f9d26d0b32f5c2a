#!/bin/sh
# Commands on a server: the same pieces, events and timers as on a directory,
# by several clients, while clients and the server are killed.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

HOME=$scratch
export HOME
unset HEDDLE_TOKEN HEDDLE_KEY

cat >cart.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("cart", function(p)
  local items = p:state("items", heddle.array{})
  local name = p:state("name", "cart")
  local count = p:computed("count", function() return #items:get() end)
  local add = p:handler("add", function(event)
    items:append(event.n)
    return { n = event.n }
  end)
  p:handler("later", function(event) heddle.send(add, { n = event.n }, { after = event.after }) end)
  return { items = items, count = count, name = name, add = add }
end)
LUA

# Each run of the program is a line in the file.
cat >work.lua <<'LUA'
local heddle = require("heddle")
return heddle.pattern("work", function(p)
  local n = p:state("n", 1)
  local out = p:task("out", function()
    return { program = "sh", args = { "-c", "echo " .. n:get() .. " >>ran.txt; echo 7" } }
  end, { kind = "exec" })
  return { n = n, out = out }
end)
LUA

# must NAME COMMAND...: as `check`, but in this shell, so that variables stay.
must() {
    must_name=$1
    shift
    if "$@" >must.txt 2>&1; then
        ok "$must_name"
    else
        not_ok "$must_name" "$(cat must.txt)"
    fi
}

# The address stays the same when the server is started again.
serve() {
    start server serve --insecure-local --listen "${address:-127.0.0.1:0}" --dir data "$@"
    server=$pid
    until_true says server "serving data at " || return 1
    HEDDLE_SERVER=$(sed -n 's/^serving data at //p' server.out server.err | head -n 1)
    export HEDDLE_SERVER
    address=${HEDDLE_SERVER#ws://}
}

must "the server starts" serve

# -- The usual commands ----------------------------------------------------

try "a piece is created on the server" 0 '{"count":0,"items":[],"name":"cart"}' \
    "heddle: cart is new
heddle: up to date after 1 run" run cart.lua --once
try "it is resumed with no run" 0 '{"count":0,"items":[],"name":"cart"}' \
    "heddle: cart resumed: 1 node restored, 0 dirty, 0 unknown
heddle: up to date after 0 runs" run cart.lua --once
try "an event is sent" 0 '{"n":1}' "" send cart add '{"n":1}'
try "its effect is read" 0 '{"count":1,"items":[1],"name":"cart"}' "" get cart
try "a state is set" 0 "" "" set cart name '"basket"'
try "a path is read" 0 '"basket"' "" get cart name
try "a stored value is read without a run" 0 '[1]' "" get cart items --stored
try "an event with an id is handled once" 0 '{"n":2}' "" send cart add '{"n":2}' --id e1 --session s
try "also if it is sent again" 0 '{"n":2}' "" send cart add '{"n":2}' --id e1 --session s
try "which is seen in the data" 0 '[1,2]' "" get cart items

same_as_on_files() {
    ours=$("$HEDDLE" get cart)
    theirs=$(HEDDLE_SERVER='' "$HEDDLE" get cart --dir data)
    [ "$ours" = "$theirs" ] || { echo "server: $ours"; echo "files: $theirs"; return 1; }
}
must "a process on the directory sees the same" same_as_on_files

run get cart --space nothing
if [ "$code" -ne 0 ] && [ ! -e data/nothing.db ]; then
    ok "a space that does not exist is not created by a reader"
else
    not_ok "a space that does not exist is not created by a reader" "$err"
fi

# -- Inspection ------------------------------------------------------------

# Each command prints the same on the server and on its files. What the files
# know of processes and of time is left out.
"$HEDDLE" send cart add '{"n":1}' --after 1h >/dev/null
same_output() {
    "$HEDDLE" "$@" >there.txt 2>there.err
    there=$?
    HEDDLE_SERVER='' "$HEDDLE" "$@" --dir data >here.txt 2>here.err
    here=$?
    sed -i 's/"sessions":\[[^]]*\],//; s/ [0-9]*m\?s \( *- \)/ \1/' here.txt there.txt
    [ "$here" -eq "$there" ] && cmp here.txt there.txt && cmp here.err there.err || {
        diff here.txt there.txt
        diff here.err there.err
        return 1
    }
}
for command in "ps" "ps --json" "log" "log cart --limit 3 --json" "graph cart" "graph cart --mermaid" "why cart count" \
    "why cart count --json" "why-not cart count" "show cart" "show cart items --at 3" "timers --json" "events" \
    "events cart --failed" "events --id receipt:none" "why cart nothing" "graph nothing" "show cart nothing" "log nothing"; do
    # shellcheck disable=SC2086
    must "$command is the same on the server" same_output $command
done
try "an unknown timer is not cancelled" 1 "" "heddle: cart has no pending timer 'nothing'*" timers cart --cancel nothing
"$HEDDLE" timers cart --json | sed 's/.*"id":"\([^"]*\)".*/\1/' >timer.txt
run timers cart --cancel "$(cat timer.txt)"
try "and is gone" 0 '{"timers":[]}' "" timers cart --json

# -- Two clients -----------------------------------------------------------

start runner run cart.lua
runner=$pid
until_true says runner '"count":2' || not_ok "the runner prints its result"
start watcher watch cart count
watcher=$pid
until_true says watcher '2' || not_ok "the watcher prints the value"

two_clients() {
    "$HEDDLE" send cart add '{"n":3}' >/dev/null &&
        until_true says runner '"count":3' && until_true says watcher '3'
}
must "one client sees what another one does" two_clients
run ps
case "$out" in
*"started by run"*) ok "ps says that a client runs the piece" ;;
*) not_ok "ps says that a client runs the piece" "$out" ;;
esac

queued() {
    "$HEDDLE" send cart add '{"n":4}' --queue >/dev/null && until_true says runner '"count":4'
}
must "a queued event is taken up by the client that runs the piece" queued

timer() {
    "$HEDDLE" send cart add '{"n":5}' --after 1s >/dev/null
    until_true says runner '"count":5'
}
must "a timer fires in the client that runs the piece" timer

# -- Kills -----------------------------------------------------------------

# The session of the client continues; what was not confirmed is sent again.
server_killed() {
    kill -9 "$server"
    wait "$server" 2>/dev/null
    serve || return 1
    "$HEDDLE" send cart add '{"n":6}' >/dev/null && until_true says runner '"count":6' &&
        until_true says watcher '6'
}
must "o02_a_killed_server_comes_back_and_its_clients_continue" server_killed

client_killed() {
    kill -9 "$runner"
    wait "$runner" 2>/dev/null
    start runner run cart.lua
    runner=$pid
    until_true says runner "restored" || return 1
    until_true says runner '"count":6'
}
must "o01_a_killed_client_resumes" client_killed

# Every send that was answered is there once, whatever was killed meanwhile.
exactly_once() {
    before=$("$HEDDLE" get cart count)
    (
        i=0
        while [ "$i" -lt 12 ]; do
            i=$((i + 1))
            until "$HEDDLE" send cart add "{\"n\":\"k$i\"}" --id "k$i" --session kill >/dev/null 2>&1; do
                sleep 0.05
            done
        done
    ) &
    sender=$!
    started="$started $sender"
    for _ in 1 2 3; do
        sleep 0.3
        kill -9 "$server"
        wait "$server" 2>/dev/null
        serve || return 1
    done
    wait "$sender"
    after=$("$HEDDLE" get cart count)
    [ "$after" -eq $((before + 12)) ] || { echo "before $before, after $after"; "$HEDDLE" get cart items; return 1; }
}
must "events with ids are handled once while the server is killed" exactly_once

unreachable() {
    kill -9 "$server"
    wait "$server" 2>/dev/null
    run get cart --timeout 1500
    [ "$code" -ne 0 ] && grep -q "the server ws://$address: " err.txt || { cat err.txt; return 1; }
    until_true says runner "retrying" || { cat runner.err; return 1; }
    serve && until_true says runner "the problem is resolved"
}
must "a server that cannot be reached is reported once and found again" unreachable
stop "$runner" TERM
stop "$watcher" TERM

# -- Tasks -----------------------------------------------------------------

one_task() {
    start first run work.lua --allow-exec sh
    first=$pid
    start second run work.lua --allow-exec sh
    second=$pid
    until_true says first '"value":7' && until_true says second '"value":7' || {
        cat first.out first.err second.out second.err
        return 1
    }
    [ "$(wc -l <ran.txt)" -eq 1 ] || { cat ran.txt; return 1; }
}
must "a task is done by one of two clients" one_task
stop "$first" TERM
stop "$second" TERM

# -- What works on files only ----------------------------------------------

try "check works on files" 2 "" \
    "heddle: 'heddle check' works on files: run it where the server's data directory is, with --dir*" check
try "two places exclude each other" 2 "" \
    "heddle: --dir and --server exclude each other: the server has its own directory*" get cart --dir data --server "$HEDDLE_SERVER"
try "a URL must be one" 2 "" "heddle: 'server' is not the address of a server*" get cart --server server

stop "$server" TERM
finish
