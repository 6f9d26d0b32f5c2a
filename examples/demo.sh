#!/bin/sh
# A demonstration of Heddle in one minute. Each step prints a command and its
# output, and compares the output with the expected one. The exit code is 0 only
# if all are equal. You can type each line after a '$' yourself, in a directory
# with a copy of examples/shopping.lua.
#
# HEDDLE is the command to use; `./dev demo` builds it and runs this script.

HEDDLE=${HEDDLE:-build/gcc-release/heddle}
case "$HEDDLE" in
*/*)
    # The steps run in a folder of their own.
    HEDDLE=$(cd "$(dirname "$HEDDLE")" && pwd)/${HEDDLE##*/}
    ;;
esac
if ! command -v "$HEDDLE" >/dev/null; then
    echo "demo: there is no $HEDDLE; build it with 'make release'" >&2
    exit 1
fi
examples=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 1
runner="" server="" watcher=""
trap 'for one in $runner $watcher $server; do kill -9 "$one" 2>/dev/null; done; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# The name in the commands below, as a reader would type it.
mkdir "$folder/bin" "$folder/work"
ln -s "$(command -v "$HEDDLE")" "$folder/bin/heddle"
PATH=$folder/bin:$PATH
cp "$examples/shopping.lua" "$folder/work/"
cd "$folder/work" || exit 1

steps=0
wrong=0

say() {
    printf '\n# %s\n' "$*"
}

# step COMMAND CODE OUTPUT: runs a command line of this script, never one from
# outside, and compares.
step() {
    printf '$ %s\n' "$1"
    output=$(eval "$1" 2>&1)
    code=$?
    [ -z "$output" ] || printf '%s\n' "$output"
    steps=$((steps + 1))
    if [ "$code" -ne "$2" ] || [ "$output" != "$3" ]; then
        wrong=$((wrong + 1))
        printf 'demo: expected exit code %s, was %s, and the output:\n%s\n' "$2" "$code" "$3"
    fi
}

# shows COMMAND TEXT...: the same for output with times and names in it, which
# must contain each text.
shows() {
    printf '$ %s\n' "$1"
    output=$(eval "$1" 2>&1)
    printf '%s\n' "$output"
    steps=$((steps + 1))
    shift
    for text in "$@"; do
        case "$output" in
        *"$text"*) ;;
        *)
            wrong=$((wrong + 1))
            printf 'demo: expected to see: %s\n' "$text"
            ;;
        esac
    done
}

# start COMMAND: runs it in the background. What an earlier one has written is
# removed first, so that no step takes it for the new output.
start() {
    printf '$ %s\n' "$1"
    rm -f results.txt messages.txt
    eval "$1"
    runner=$!
    steps=$((steps + 1))
}

# wait_for TEXT FILE: waits up to ten seconds; the next step checks the text.
wait_for() {
    tries=0
    until grep -qF -- "$1" "$2" 2>/dev/null || [ "$tries" -ge 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}

say "A pattern: a shopping list with totals, a filter, and a warning (shopping.lua)."
step "sed -n '/^return/,/^  end)/p' shopping.lua" 0 "$(sed -n '/^return/,/^  end)/p' shopping.lua)"

say "Run it: it prints its result whenever that changes."
start "heddle run shopping.lua > results.txt 2> messages.txt &"
wait_for "up to date" messages.txt
wait_for total results.txt
step "cat messages.txt" 0 "heddle: shopping is new
heddle: up to date after 5 runs"
step "cat results.txt" 0 '{"items":[],"limit":40,"net":0,"open":[],"rate":0.25,"total":0}'

say "Other processes send events. Each event commits once; the receipt is what its handler returned."
step "heddle send shopping add '{\"name\": \"yarn\", \"price\": 4, \"qty\": 3}'" 0 '{"count":1}'
step "heddle send shopping add '{\"name\": \"loom\", \"price\": 30}' --id 1 --session me" 0 '{"count":2}'
step "heddle send shopping add '{\"name\": \"loom\", \"price\": 30}' --id 1 --session me" 0 '{"count":2}'
step "heddle send shopping buy '{\"name\": \"yarn\"}'" 0 '{"bought":"yarn"}'
wait_for '"bought":true' results.txt
step "tail -n 1 results.txt | heddle value get - /total" 0 "52.5"
step "heddle get shopping total" 0 "52.5"
step "heddle get shopping open" 0 '[{"bought":false,"name":"loom","price":30,"qty":1}]'
wait_for notify messages.txt
step "tail -n 1 messages.txt" 0 "notify: this is too much: 52.5"

say "Kill the process. The store also has the records of its runs, so the next process runs nothing."
step "kill -9 $runner" 0 ""
wait "$runner" 2>/dev/null
runner=""
start "heddle run shopping.lua > results.txt 2> messages.txt &"
wait_for "up to date" messages.txt
wait_for total results.txt
step "cat messages.txt" 0 "heddle: shopping resumed: 7 nodes restored, 0 dirty, 0 unknown
heddle: up to date after 0 runs"
step "tail -n 1 results.txt | heddle value get - /total" 0 "52.5"

say "A second process changes a value: the first one runs what depends on it."
step "heddle set shopping rate 0.5" 0 ""
wait_for '"total":63' results.txt
step "tail -n 1 results.txt | heddle value get - /total" 0 "63"
step "tail -n 1 messages.txt" 0 "notify: this is too much: 63"
say "Why is it 63? And which nodes ran, and how often?"
shows "heddle why shopping total" "piece:shopping/rate#/value: 0.25 -> 0.5" "by an external edit"
shows "heddle ps" "total " "net "
step "heddle set shopping total 1" 2 "heddle: 'total' is computed: set one of its inputs instead"
kill -9 "$runner"
wait "$runner" 2>/dev/null
runner=""

say "No process runs the piece now, and commands still get up-to-date values."
step "heddle send shopping add '{\"name\": \"comb\", \"price\": 2}'" 0 '{"count":3}'
step "heddle get shopping total" 0 "66"

say "A server: spaces over the network. Its own key may do everything; a stranger may do nothing."
start "heddle serve --dir shared --listen 127.0.0.1:0 > address.txt 2> server.txt &"
server=$runner runner=""
wait_for serving address.txt
HEDDLE_SERVER=$(sed 's/.* at //' address.txt)
export HEDDLE_SERVER
shows "heddle get shopping total" "this server asks for a token or a proof with a key"
step 'heddle token --key shared/server.key --cap owner --for 1h > owner.txt' 0 ""
step 'heddle token --key shared/server.key --cap read --for 1h --to ann > ann.txt' 0 ""

say "Two clients: one runs the list, one watches. A change here is seen there."
HEDDLE_TOKEN=$(cat owner.txt)
export HEDDLE_TOKEN
start "heddle run shopping.lua > results.txt 2> messages.txt &"
wait_for "up to date" messages.txt
printf '$ %s\n' 'HEDDLE_TOKEN=$(cat ann.txt) heddle watch shopping total > watched.txt &'
HEDDLE_TOKEN=$(cat ann.txt) heddle watch shopping total >watched.txt 2>watching.txt &
watcher=$!
steps=$((steps + 1))
wait_for 0 watched.txt
step "heddle send shopping add '{\"name\": \"yarn\", \"price\": 4, \"qty\": 3}'" 0 '{"count":1}'
wait_for 15 watched.txt
step "tail -n 1 watched.txt" 0 "15"
shows 'HEDDLE_TOKEN=$(cat ann.txt) heddle set shopping rate 1' "WRITE"

say "Kill the first client. It resumes over the network, and runs nothing."
step "kill -9 $runner" 0 ""
wait "$runner" 2>/dev/null
runner=""
start "heddle run shopping.lua > results.txt 2> messages.txt &"
wait_for "up to date" messages.txt
step "cat messages.txt" 0 "heddle: shopping resumed: 6 nodes restored, 0 dirty, 0 unknown
heddle: up to date after 0 runs"
for one in $runner $watcher; do
    kill -9 "$one"
    wait "$one" 2>/dev/null
done
runner="" watcher=""
kill "$server"
wait "$server" 2>/dev/null
server=""
unset HEDDLE_SERVER HEDDLE_TOKEN

say "An error message says what happened, and where."
step "heddle send shopping buy '{\"name\": \"milk\"}'" 1 "heddle: shopping/buy: $folder/work/shopping.lua:49: there is no milk on the list"

say "A JSON document: 4.0 equals 4."
step "echo '{\"name\": \"loom\", \"size\": [3, 4.0], \"yarn\": {\"red\": 2}}' > loom.json" 0 ""
step "heddle value parse loom.json" 0 '{"name":"loom","size":[3,4],"yarn":{"red":2}}'
step "heddle value get loom.json /yarn/red" 0 "2"

say "Apply a patch: all of its operations, or none."
cat >patch.json <<'JSON'
[{"op": "increment", "path": "/yarn/red", "by": 5},
 {"op": "append", "path": "/tags", "values": ["new"]},
 {"op": "remove", "path": "/size"}]
JSON
step "cat patch.json" 0 "$(cat patch.json)"
step "heddle value patch loom.json patch.json > patched.json" 0 ""
step "cat patched.json" 0 '{"name":"loom","yarn":{"red":7},"tags":["new"]}'

say "What changed, and how to undo it: a difference is also a patch."
step "heddle value paths loom.json patched.json" 0 "/size
/tags
/yarn/red"
step "heddle value diff patched.json loom.json > undo.json" 0 ""
step "cat undo.json" 0 \
    '[{"op":"replace","path":"/yarn/red","value":2},{"op":"remove","path":"/tags"},{"op":"add","path":"/size","value":[3,4]}]'
step "heddle value patch patched.json undo.json | heddle value equal - loom.json" 0 "equal"

say "A digest identifies the content, regardless of key order and number format."
step "heddle value digest --text '{\"a\": 1, \"b\": [2]}'" 0 "75JckwdH70YA6zrRdC14mLEx3vRhcK3nQuKV1cLmyvM"
step "heddle value digest --text '{\"b\": [2.0], \"a\": 1e0}'" 0 "75JckwdH70YA6zrRdC14mLEx3vRhcK3nQuKV1cLmyvM"
step "heddle value digest --text '{\"a\": 1, \"b\": [3]}'" 0 "UYOYsecSKO5koj4V6A4Ijgrx9xKfl8_8qWlU8sCaZd4"

say "An error has a position; a script gets it as JSON."
step "printf '{\"a\": 1,\n \"b\": tru}\n' > broken.json" 0 ""
step "heddle value parse broken.json" 2 "heddle: broken.json: line 2, column 7: expected a value, found 't'"
where='"source":"broken.json","line":2,"column":7'
what="line 2, column 7: expected a value, found 't'"
step "heddle value parse --json broken.json" 2 "{\"status\":\"SYNTAX\",\"class\":\"terminal\",$where,\"message\":\"$what\"}"
step "heddle value get loom.json /size/9" 1 "heddle: loom.json: no value at /size/9: /size has only 2 elements"

say "A space is a file with the whole history. A commit lists what it read."
cat >first.json <<'JSON'
{"session": "me", "localSeq": 1,
 "operations": [{"op": "set", "id": "of:loom", "value": {"value": {"red": 2}}}]}
JSON
cat >second.json <<'JSON'
{"session": "me", "localSeq": 2,
 "reads": {"confirmed": [{"id": "of:loom", "path": ["value", "red"], "seq": 1}]},
 "operations": [{"op": "patch", "id": "of:loom",
                 "patches": [{"op": "increment", "path": "/value/red", "by": 5}]}]}
JSON
sed 's/"me"/"you"/' second.json >other.json
step "heddle store commit space.db first.json" 0 '{"seq":1}'
step "heddle store commit space.db second.json" 0 '{"seq":2}'

say "Another session read the same value and commits later: it gets a conflict, and nothing is lost."
step "heddle store commit space.db other.json | heddle value get - /error/message" 0 \
    '"stale confirmed read: of:loom at seq 1 conflicted with seq 2"'

say "The same commit, sent again after a lost connection, gets the same answer."
step "heddle store commit space.db second.json" 0 '{"seq":2,"replayed":true}'
step "heddle store log space.db" 0 "     1  me #1  set of:loom
     2  me #2  patch of:loom"
step "heddle store show space.db of:loom --at 1" 0 '{"value":{"red":2}}'
step "heddle store show space.db of:loom" 0 '{"value":{"red":7}}'
step "heddle store check space.db" 0 "2 commits, 1 document, 0 snapshots: 0 differences"

echo
if [ "$wrong" -ne 0 ]; then
    echo "demo: $wrong of $steps steps went wrong"
    exit 1
fi
echo "demo: all $steps steps went as expected"
