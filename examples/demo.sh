#!/bin/sh
# What the command does today, in a minute: each step prints the command, then
# what it said, and is compared with what it should have said. The exit code is
# 0 only if all of them were right.
#
# HEDDLE is the command to show; `./dev demo` builds it and comes here.

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
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cd "$folder" || exit 1

# The name in the commands below, as a reader would type it.
heddle() {
    "$HEDDLE" "$@"
}

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

say "A document. Numbers are numbers: 4.0 is 4."
step "echo '{\"name\": \"loom\", \"size\": [3, 4.0], \"yarn\": {\"red\": 2}}' > loom.json" 0 ""
step "heddle value parse loom.json" 0 '{"name":"loom","size":[3,4],"yarn":{"red":2}}'
step "heddle value get loom.json /yarn/red" 0 "2"

say "A patch changes it: all of its operations, or none."
cat >patch.json <<'JSON'
[{"op": "increment", "path": "/yarn/red", "by": 5},
 {"op": "append", "path": "/tags", "values": ["new"]},
 {"op": "remove", "path": "/size"}]
JSON
step "cat patch.json" 0 "$(cat patch.json)"
step "heddle value patch loom.json patch.json > patched.json" 0 ""
step "cat patched.json" 0 '{"name":"loom","yarn":{"red":7},"tags":["new"]}'

say "What changed, and the way back: a difference is a patch, too."
step "heddle value paths loom.json patched.json" 0 "/size
/tags
/yarn/red"
step "heddle value diff patched.json loom.json > undo.json" 0 ""
step "cat undo.json" 0 \
    '[{"op":"replace","path":"/yarn/red","value":2},{"op":"remove","path":"/tags"},{"op":"add","path":"/size","value":[3,4]}]'
step "heddle value patch patched.json undo.json | heddle value equal - loom.json" 0 "equal"

say "A digest names the content, whatever the order of keys and the spelling of numbers."
step "heddle value digest --text '{\"a\": 1, \"b\": [2]}'" 0 "75JckwdH70YA6zrRdC14mLEx3vRhcK3nQuKV1cLmyvM"
step "heddle value digest --text '{\"b\": [2.0], \"a\": 1e0}'" 0 "75JckwdH70YA6zrRdC14mLEx3vRhcK3nQuKV1cLmyvM"
step "heddle value digest --text '{\"a\": 1, \"b\": [3]}'" 0 "UYOYsecSKO5koj4V6A4Ijgrx9xKfl8_8qWlU8sCaZd4"

say "An error says where; a script gets it as JSON."
step "printf '{\"a\": 1,\n \"b\": tru}\n' > broken.json" 0 ""
step "heddle value parse broken.json" 2 "heddle: broken.json: line 2, column 7: expected a value, found 't'"
where='"source":"broken.json","line":2,"column":7'
what="line 2, column 7: expected a value, found 't'"
step "heddle value parse --json broken.json" 2 "{\"status\":\"SYNTAX\",\"class\":\"terminal\",$where,\"message\":\"$what\"}"
step "heddle value get loom.json /size/9" 1 "heddle: loom.json: there is nothing at /size/9: /size has only 2 elements"

say "A space is a file with the whole history. A commit says what it read."
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

say "Somebody else had read the same, and is too late: nothing is lost silently."
step "heddle store commit space.db other.json | heddle value get - /error/message" 0 \
    '"stale confirmed read: of:loom at seq 1 conflicted with seq 2"'

say "The same commit again, as after a lost connection, gets the same answer."
step "heddle store commit space.db second.json" 0 '{"seq":2,"replayed":true}'
step "heddle store log space.db" 0 "     1  me #1  set of:loom
     2  me #2  patch of:loom"
step "heddle store show space.db of:loom --at 1" 0 '{"value":{"red":2}}'
step "heddle store show space.db of:loom" 0 '{"value":{"red":7}}'
step "heddle store check space.db" 0 "2 commits, 1 documents, 0 snapshots: 0 differences"

echo
if [ "$wrong" -ne 0 ]; then
    echo "demo: $wrong of $steps steps went wrong"
    exit 1
fi
echo "demo: all $steps steps went as expected"
