#!/bin/sh
# heddle store, as a person uses it: what it prints, its exit codes, and that
# nothing it refuses changes the file.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
cd "$scratch" || exit 1

# run CODE EXPECTED NAME ARGUMENT...: standard output and the exit code.
run() {
    code=$1 expected=$2 name=$3
    shift 3
    got=$("$HEDDLE" store "$@" 2>stderr)
    was=$?
    if [ "$was" -eq "$code" ] && [ "$got" = "$expected" ]; then
        ok "$name"
    else
        not_ok "$name" "exit code $was" "$got" "$(cat stderr)"
    fi
}

# says NAME PATTERN: of the run before, one line on standard error.
says() {
    if [ "$(wc -l <stderr)" -eq 1 ] && grep -q "$2" stderr; then
        ok "$1"
    else
        not_ok "$1" "$(cat stderr)"
    fi
}

set_a='{"session":"s","localSeq":1,"operations":[{"op":"set","id":"of:a","value":{"value":{"n":1,"l":[]}}}]}'
append='[{"op":"append","path":"/value/l","values":[1]}]'
add_a='{"session":"s","localSeq":2,"operations":[{"op":"patch","id":"of:a","patches":'$append'}]}'
reads='{"confirmed":[{"id":"of:a","path":["value"],"seq":1}]}'
late='{"session":"t","localSeq":1,"reads":'$reads',"operations":[{"op":"delete","id":"of:a"}]}'

# ---- commit ----

run 0 '{"seq":1}' "a commit creates the space and lands" commit a.db --text "$set_a"
run 0 '{"seq":2}' "the next one lands behind it" commit a.db --text "$add_a"
run 0 '{"seq":2,"replayed":true}' "the same again gets the same answer" commit a.db --text "$add_a"
got=$("$HEDDLE" store commit a.db --text "$late")
same "a stale commit is refused with 1" "$?" 1
check "and the verdict names the class" sh -c "printf '%s' '$got' | grep -q '\"class\":\"retry\"'"
run 2 "" "a commit without a number is refused with 2" commit a.db --text '{"session":"s"}'
says "and the field is named" "localSeq"
run 2 "" "a commit that is not JSON is refused with 2" commit a.db --text '{"session":'
printf '%s' "$set_a" | "$HEDDLE" store commit b.db - >out
same "a commit comes from standard input, too" "$(cat out)" '{"seq":1}'

# ---- looking ----

run 0 "of:a" "show without an id lists them" show a.db
run 0 '{"value":{"l":[1],"n":1}}' "show prints a document" show a.db of:a --canonical
run 0 '{"value":{"l":[],"n":1}}' "show prints it as it was" show a.db of:a --at 1 --canonical
run 1 "" "a document that is not there is 1" show a.db of:nope
says "with a sentence" "document not found"
run 2 "" "a sequence number beyond the head is 2" show a.db of:a --at 9
run 2 "" "what is no number is 2" show a.db of:a --at x
run 2 "" "an unknown branch is 2" show a.db of:a --branch b
run 0 "     1  s #1  set of:a" "log can be limited" log a.db --limit 1
check "log prints whole records as JSON" sh -c '"$HEDDLE" store log a.db --json | "$HEDDLE" value parse - >/dev/null ||
    "$HEDDLE" store log a.db --json --limit 1 | "$HEDDLE" value get - /writes/0/id | grep -q of:a'
check "info counts" sh -c '"$HEDDLE" store info a.db --json | "$HEDDLE" value get - /seq | grep -qx 2'
check "info is a table, too" sh -c '"$HEDDLE" store info a.db | grep -q "^documents  *1$"'

# ---- check, backup, compact ----

run 0 "2 commits, 1 document, 0 snapshots: 0 differences" "a sound space passes" check a.db
run 0 "" "backup makes a copy" backup a.db copy.db
run 0 "2 commits, 1 document, 0 snapshots: 0 differences" "which is sound" check copy.db
run 2 "" "backup never overwrites" backup a.db copy.db
says "and says so" "exists"
run 3 "" "a copy that cannot be written is 3" backup a.db no/such/folder/copy.db
"$HEDDLE" store compact a.db >out
same "compact folds" "$? $(sed 's/the file has [0-9]*/the file has some/' out)" "0 history begins at seq 2
removed: 1 revisions, 0 snapshots, 0 receipts, 0 commits, 0 sessions, 0 actions
returned 0 KiB to the file system; the file has some KiB"
run 2 "" "and what was before cannot be read" show a.db of:a --at 1
run 0 '{"value":{"l":[1],"n":1}}' "while the present is as it was" show a.db of:a --canonical
run 0 "0 commits, 1 document, 0 snapshots: 0 differences" "and the space is sound" check a.db

# A byte of a document changes behind the engine's back.
if command -v python3 >/dev/null; then
    python3 - <<'PY'
import sqlite3
db = sqlite3.connect("copy.db")
db.execute("UPDATE revision SET data = replace(data, '1', '2') WHERE seq = 1")
db.commit()
PY
    "$HEDDLE" store check copy.db >out
    same "a changed byte is found" "$?" 1
    check "and the place is named" grep -q "the digest chain breaks at record 1" out
    check "also as JSON" sh -c '"$HEDDLE" store check --json copy.db | "$HEDDLE" value get - /differences/0 | grep -q chain'
else
    skip "a changed byte is found" "there is no python3"
fi

# ---- what is remembered of runs ----

cat >seen.json <<'JSON'
{"session":"s","localSeq":1,"operations":[{"op":"set","id":"of:out","value":{"value":1}}],
 "observation":{
  "piece":"of:p",
  "generation":3,
  "action":"YwsfWsb3e0buJqGpQuhxLWKWn3Ei7zLceQa1Y9hwN2U",
  "kind":"computation",
  "implementation":"u1wZAEbxm4IFK5HUXYjN73BIHaid9dPD92mOW_s8yzg",
  "runtime":"cleFRNoMLYcZlszVGzELcTVjmQwZLUUxXDJU1i_CrVQ",
  "schema":"QMusFR5NLuzjYckuXCbI4-2xV6lr0qDRphyVEQdA1j8",
  "surface":"fZNbEHLbwma645PddIE4pVQoe-FjCkD8cRliv66s3LQ",
  "readSet":"OfB6HgdpU685FIOckSuP-QmKjlxvKuw5XHzNFfX1wec",
  "reads":[{"id":"of:a","path":["value","n"]},{"id":"of:b","path":["value"],"nonRecursive":true}],
  "writes":[{"id":"of:out","path":["value"]}]}}
JSON
run 0 '{"seq":1}' "a commit may say what its run saw" commit seen.db seen.json
run 0 "1 commit, 1 document, 0 snapshots, 1 action: 0 differences" "which is checked" check seen.db
if command -v python3 >/dev/null; then
    python3 - <<'PY'
import sqlite3
db = sqlite3.connect("seen.db")
db.execute("DELETE FROM edge WHERE edge = (SELECT min(edge) FROM edge)")
db.commit()
PY
    "$HEDDLE" store check seen.db >out
    same "a missing row is found" "$?" 1
    check "and the action is named" grep -q "action 1 of piece 1: its rows are inconsistent" out
    "$HEDDLE" store check --repair seen.db >out
    same "what can be had again can be removed" "$?" 0
    check "and is gone" grep -q "^1 commit, 1 document, 0 snapshots: 0 differences$" out
    for n in 1 2; do
        "$HEDDLE" store commit seen.db >/dev/null \
            --text "{\"session\":\"s2\",\"localSeq\":$n,\"operations\":[{\"op\":\"set\",\"id\":\"of:a\",\"value\":{\"value\":$n}}]}"
    done
    python3 - <<'PY'
import sqlite3
db = sqlite3.connect("seen.db")
db.execute("UPDATE document SET head_seq = 2, op = 'delete' WHERE id = 'of:a'")
db.commit()
PY
    "$HEDDLE" store check seen.db >out
    same "a head that the history contradicts is found" "$?" 1
    check "and named" grep -q "of:a: its row does not match its last revision" out
    same "and is still there: nothing was changed" "$("$HEDDLE" store check seen.db)" "$(cat out)"
    "$HEDDLE" store check --repair seen.db >out
    same "it is rebuilt from the history" "$?" 0
    check "which is counted" grep -q "^0 rows removed, 1 rebuilt$" out
    same "and is what it was" "$("$HEDDLE" store show seen.db of:a)" '{"value":2}'
    run 0 "3 commits, 2 documents, 0 snapshots: 0 differences" "all is well again" check seen.db
    cp seen.db broken.db
    python3 - <<'PY'
import sqlite3
db = sqlite3.connect("broken.db")
db.execute("UPDATE revision SET data = '{\"value\":7}' WHERE seq = 3")
db.execute("UPDATE document SET head_seq = 2 WHERE id = 'of:a'")
db.commit()
PY
    "$HEDDLE" store check --repair broken.db >out
    same "from a history that was changed nothing is rebuilt" "$?" 1
    check "and the break is named" grep -q "the digest chain breaks at record 3" out
    check "and so is the row" grep -q "of:a: its row does not match" out
else
    skip "a missing row is found" "there is no python3"
fi
run 2 "" "only the check repairs" info seen.db --repair
run 0 '{"seq":1}' "a generation of two actions" commit kept.db seen.json
sed 's/"localSeq":1/"localSeq":2/; s/YwsfWsb/ZwsfWsb/' seen.json >more.json
run 0 '{"seq":2}' "the second one" commit kept.db more.json
sed 's/"localSeq":1/"localSeq":3/; s/"generation":3/"generation":4/' seen.json >later.json
run 0 '{"seq":3}' "and a later one with the first" commit kept.db later.json
run 0 "3 commits, 1 document, 0 snapshots, 2 actions: 0 differences" "both are there" check kept.db
same "what is of the generation before goes with a compaction" \
    "$("$HEDDLE" store compact kept.db --json | "$HEDDLE" value get - /actionsRemoved)" 1
check "and the rest stays" sh -c "'$HEDDLE' store check kept.db | grep -q ', 1 action: 0 differences$'"

# ---- files that are no spaces ----

run 3 "" "a file that is not there is 3" info nope.db
check "and is not created" test ! -e nope.db
head -c 8192 /dev/urandom >noise.db
run 2 "" "noise is refused with 2" check noise.db
cp b.db short.db
truncate -s 5000 short.db
"$HEDDLE" store check short.db >out 2>stderr
check "a truncated file is refused or named" test "$?" -ne 0
run 2 "" "operands are counted" backup a.db
run 2 "" "options are known" info a.db --at 3
run 2 "" "an option is given once" show a.db --at 1 --at 2

# ---- list ----

mkdir folder folder/inner
run 0 "" "an empty folder has no spaces" list folder/inner
"$HEDDLE" store commit folder/old.db --text "$set_a" >/dev/null
"$HEDDLE" store commit folder/new.db --text "$set_a" >/dev/null
touch -d 2001-02-03T04:05:06Z folder/old.db
echo letter >folder/letter.txt
: >folder/empty
"$HEDDLE" store list folder >out 2>stderr
same "a folder with other files is no error" "$?" 0
same "spaces come first, the latest changed before the others" \
    "$(awk '{ print $NF }' out | head -n 2 | tr '\n' ' ')" "new.db old.db "
check "with the time of the change" grep -q '^2001-02-03T04:05:06Z .* old.db$' out
check "a file that is no store is named as such" grep -qx 'not a space: it is not a database: letter.txt' out
check "so is an empty one" grep -qx 'not a space: it is empty: empty' out
same "locks and folders are left out" "$(wc -l <out)" 4
check "also as JSON" sh -c '"$HEDDLE" store list folder --json | "$HEDDLE" value get - /spaces/1/file | grep -qx "\"old.db\""'
check "with the others apart" sh -c '"$HEDDLE" store list folder --json | "$HEDDLE" value get - /others/0/why | grep -q "^\"it is"'
run 3 "" "a folder that is not there is 3" list no/such/folder
says "with a sentence" "cannot read the directory"

# ---- outside ----

"$HEDDLE" store show b.db of:a >/dev/full 2>stderr
same "a full device is 3" "$?" 3

finish
