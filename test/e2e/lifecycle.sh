#!/bin/sh
# heddle lifecycle, as a person uses it: what it prints, its exit codes, and a
# sentence with the right names for every wrong one.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

# run CODE EXPECTED NAME ARGUMENT...: standard output and the exit code.
run() {
    code=$1 expected=$2 name=$3
    shift 3
    got=$("$HEDDLE" lifecycle "$@" 2>"$scratch/stderr")
    was=$?
    if [ "$was" -eq "$code" ] && [ "$got" = "$expected" ]; then
        ok "$name"
    else
        not_ok "$name" "exit code $was" "$got" "$(cat "$scratch/stderr")"
    fi
}

# refuse NAME SENTENCE ARGUMENT...: exit code 2, nothing but one line.
refuse() {
    name=$1 sentence=$2
    shift 2
    run 2 "" "$name" "$@"
    same "with a sentence" "$(cat "$scratch/stderr")" "heddle: $sentence"
}

# ---- explain ----

run 0 "applied: run.succeeded goes from active to idle
Predicates that hold: currentRun.
raise-attention: the time of attention is now.
clear-run: the row has no run any more." "what is applied, with its effects" explain thread active run.succeeded
run 0 "applied: run.succeeded goes from active to idle
Predicates that hold: currentRun.
clear-run: the row has no run any more." "a fact may silence an effect" explain thread active run.succeeded --fact child
run 1 "illegal: no edge for run.started from stopping
Events with an edge from stopping: run.succeeded, run.failed, stop.settled.
run.started has an edge from: idle, starting, error." "what is illegal, and what is not" explain thread stopping run.started
run 1 "illegal: no edge for destroy.lost from destroyed
Events with an edge from destroyed: none; it is final.
destroy.lost has an edge from: destroying." "the end is called so" explain environment destroyed destroy.lost
run 1 "superseded: the row is deleted (notDeleted)" "the first predicate that fails is named" \
    explain thread idle run.started --fact archived --fact deleted
run 1 "superseded: the environment is not managed (managed)" "a fact that is missing, too" \
    explain environment ready retire.requested
run 1 "unchanged: started has nothing to do in stopped
Predicates that hold: notDeleted, currentRun." "a late report changes nothing" explain piece stopped started
run 0 "applied: provision.cancelled goes from provisioning to ready
The target depends on the row: ready if workspace, else destroying." "a target that depends on the row" \
    explain environment provisioning provision.cancelled --fact=workspace
run 0 "applied: turn.failed goes from idle to error
Predicates that hold: notStopRequested.
Questionable: an error although no turn runs." "what is questionable is called so" \
    explain thread idle turn.failed --profile observed
run 1 '{"machine":"thread","profile":"observed","status":"active","event":"turn.started","facts":["deleted","stop-requested"],'\
'"outcome":"superseded","to":"active","predicate":"notStopRequested","effects":[],"questionable":null,"detail":"a stop is requested"}' \
    "an answer for programs" explain thread active turn.started --profile=observed --fact stop-requested --fact deleted --json

# ---- diagram, page ----

run 0 "stateDiagram-v2
    [*] --> starting
    idle --> starting : run.preparing ⟨notDeleted, notArchived⟩
    idle --> active : run.started ⟨notDeleted, notArchived, currentRun⟩
    starting --> active : run.started ⟨notDeleted, notArchived, currentRun⟩
    starting --> idle : run.succeeded ⟨currentRun⟩
    starting --> error : run.failed ⟨notDeleted, currentRun⟩
    starting --> stopping : stop.requested
    active --> idle : run.succeeded ⟨currentRun⟩
    active --> error : run.failed ⟨notDeleted, currentRun⟩
    active --> stopping : stop.requested
    stopping --> idle : run.succeeded ⟨currentRun⟩
    stopping --> error : run.failed ⟨notDeleted, currentRun⟩
    stopping --> idle : stop.settled ⟨currentRun⟩
    error --> starting : run.preparing ⟨notDeleted, notArchived⟩
    error --> active : run.started ⟨notDeleted, notArchived, currentRun⟩" "a diagram is strict unless told otherwise" diagram thread
same "strict can be said" "$("$HEDDLE" lifecycle diagram thread --profile strict)" "$("$HEDDLE" lifecycle diagram thread)"
same "the observed one is another" "$("$HEDDLE" lifecycle diagram thread --profile observed | wc -l)" 52
same "that of an environment, too" "$("$HEDDLE" lifecycle diagram environment --profile observed | wc -l)" 24
same "without a machine there are all" "$("$HEDDLE" lifecycle diagram | grep '^## ' | tr '\n' ';')" \
    "## thread, strict;## environment, strict;## piece, strict;"
same "and all of the other profile" "$("$HEDDLE" lifecycle diagram --profile observed | grep -c '^stateDiagram-v2$')" 2
same "a diagram in JSON is a string" "$("$HEDDLE" lifecycle diagram piece --json | "$HEDDLE" value get --raw - /mermaid)" \
    "$("$HEDDLE" lifecycle diagram piece)"
"$HEDDLE" lifecycle page >"$scratch/page"
check "docs/lifecycles.md is the page" cmp "$scratch/page" docs/lifecycles.md

# ---- names that are not there ----

refuse "an unknown machine" "there is no machine 'loom' in the profile strict; there are thread, environment, piece" diagram loom
refuse "a machine of one profile" "there is no machine 'piece' in the profile observed; there are thread, environment" \
    diagram piece --profile observed
refuse "an unknown profile" "there is no profile 'lax'; there are strict, observed" diagram thread --profile lax
refuse "an unknown profile of all" "there is no profile 'lax'; there are strict, observed" diagram --profile lax
refuse "an unknown status" "thread (strict) has no status 'asleep'; its statuses are idle, starting, active, stopping, error" \
    explain thread asleep run.started
refuse "a status of the other profile" \
    "thread (strict) has no status 'created'; its statuses are idle, starting, active, stopping, error; --profile observed has it" \
    explain thread created run.started
observed_events="turn.started, turn.completed, turn.failed, turn.interrupted, runtime.exited, turn.dispatched, reprovision.started, \
start.succeeded, command.failed, provision.failed, workspace.lost, stop.completed, session.lost, runtime.observed-active"
refuse "an unknown event, and a long list" "thread (observed) has no event 'turn.lost'; its events are $observed_events" \
    explain thread idle turn.lost --profile observed
refuse "an unknown fact" "piece (strict) asks for no fact 'tired'; its facts are deleted, stale-run" \
    explain piece running stop --fact tired
refuse "a fact that the machine does not ask for" "piece (strict) asks for no fact 'managed'; its facts are deleted, stale-run" \
    explain piece running stop --fact managed
"$HEDDLE" lifecycle explain thread idle fly --json 2>"$scratch/error" >"$scratch/out"
same "with --json a refusal is an object" "$("$HEDDLE" value get --raw "$scratch/error" /status)" "ARGUMENT"

# ---- the command line ----

refuse "operands are counted" "'lifecycle explain' takes MACHINE STATUS EVENT; see 'heddle lifecycle explain --help'" explain thread
refuse "one machine at most" "'lifecycle diagram' takes one MACHINE at most; see 'heddle lifecycle diagram --help'" diagram thread piece
refuse "a profile is given once" "the option was given twice: --profile; see 'heddle lifecycle diagram --help'" \
    diagram --profile strict --profile strict
refuse "options are known" "'lifecycle page' has no option --fact; see 'heddle lifecycle page --help'" page --fact deleted
many=$(seq 17 | sed 's/.*/--fact deleted/')
# shellcheck disable=SC2086
refuse "facts are counted" "too many facts from deleted; see 'heddle lifecycle explain --help'" explain piece running stop $many
if [ -w /dev/full ]; then
    "$HEDDLE" lifecycle page >/dev/full 2>"$scratch/stderr"
    same "a full device is 3" "$?" 3
else
    skip "a full device is 3" "there is no /dev/full"
fi

finish
