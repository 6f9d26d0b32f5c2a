#!/bin/sh
# Branches through the command: created, worked on, compared, merged, closed.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. test/e2e/lib/pieces.sh

cat >pair.lua <<'END'
local heddle = require "heddle"
return heddle.pattern("pair", function(p)
  local a = p:state("a", 1)
  local b = p:state("b", 1)
  local list = p:state("list", heddle.array{ 1 })
  return {
    a = a, b = b, sum = p:computed("sum", function() return a:get() + b:get() end),
    all = p:map(list, function(item) return item:get() + a:get() end),
    add = p:handler("add", function(event) a:increment(event) return a:get() end),
  }
end)
END
try "a piece" 0 '{"a":1,"all":[2],"b":1,"sum":2}' '*' run pair.lua --once
try "a branch that is not there" 2 '' "heddle: there is no branch draft: *" get pair --branch draft
try "it is created" 0 '' 'heddle: draft created' branch create draft
try "the same again is no error" 0 '' 'heddle: draft created' branch create draft
try "main is taken" 2 '' "heddle: a new branch cannot be named main*" branch create main
try "a command that there is not" 2 '' "heddle: there is no command 'branch lst'; did you mean 'list'? *" branch lst
try "an event on the branch" 0 11 '' send pair add 10 --branch draft
try "the branch has it" 0 '{"a":11,"all":[12],"b":1,"sum":12}' '' get pair --branch draft
try "main has not" 0 '{"a":1,"all":[2],"b":1,"sum":2}' '' get pair
try "and goes its own way" 0 '' '' set pair b 5
try "with results of its own" 0 '{"a":1,"all":[2],"b":5,"sum":6}' '' get pair --branch main
run branch diff draft
same "a difference" "$code $(printf '%s\n' "$out" | grep 'pair/a ')" '0 piece:pair/a [{"op":"replace","path":"/value","value":11}]'
run branch diff draft main --exit-code --json
same "as an exit code" "$code" 1
run branch diff main main --exit-code
same "of a branch and itself" "$code $out" "0 "
run branch list
same "both are listed" "$(printf '%s\n' "$out" | sed 's/  */ /g; s/[0-9][0-9]*/N/g')" 'BRANCH FROM AT HEAD STATUS
main N active
draft main N N active'

# ---- merging ----

start runs run pair.lua
runner=$pid
check "a process runs main" until_true says runs "heddle: up to date"
try "merge" 0 '' 'heddle: draft merged into main, 2 documents' branch merge draft
check "it sees what was merged" until_true says runs '{"a":11,"all":[12],"b":5,"sum":16}'
stop "$runner" TERM
try "what both changed is computed from both" 0 '{"a":11,"all":[12],"b":5,"sum":16}' '' get pair
try "again there is nothing to do" 0 '' 'heddle: draft has nothing to merge' branch merge draft
try "for programs" 0 '{"branch":"draft","documents":0}' '' branch merge draft --json
try "the other way" 0 '' 'heddle: main merged into draft, 1 document' branch merge main draft
try "the branch has all of it, too" 0 '{"a":11,"all":[12],"b":5,"sum":16}' '' get pair --branch draft
"$HEDDLE" set pair a 20
"$HEDDLE" set pair a 30 --branch draft
try "what both changed differently is a conflict" 1 'conflict: piece:pair/a "/value"' \
    'heddle: not merged: both branches changed the documents that are listed' branch merge draft
try "for programs as well" 1 '{"conflicts":[{"id":"piece:pair/a","path":"/value"}]}' '' branch merge draft --json
try "nothing has changed" 0 20 '' get pair a

# ---- the past, and the end ----

try "a branch from the past" 0 '' 'heddle: old created' branch create old --at 1
try "begins there" 0 '{"a":1,"all":[2],"b":1,"sum":2}' '*' run pair.lua --once --branch old
try "a branch of a branch" 0 '' 'heddle: twig created' branch create twig --branch draft
try "has what it had" 0 30 '' get pair a --branch twig
try "a branch is closed" 0 '' 'heddle: draft closed; it can still be read' branch rm draft
try "nothing is written to it" 2 '' "heddle: the branch draft is closed: *" send pair add 1 --branch draft
try "it can be read" 0 30 '' get pair a --stored --branch draft
try "main cannot be closed" 2 '' 'heddle: *' branch rm main
check "the file fits together" "$HEDDLE" check

# -- Timers and events that wait ------------------------------------------------

cat >bell.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("bell", function(p)
  local log = p:state("log", heddle.array{})
  p:handler("ring", function(event) log:append(event) end)
  return { log = log }
end)
LUA
bell() {
    "$HEDDLE" "$@" --dir bells
}
listed() { # COMMAND [OPTION...]: the payloads of what waits
    bell "$@" --json | grep -o '"payload":"[a-z]*"' | cut -d'"' -f4 | tr '\n' ' '
}
bell run bell.lua --once >/dev/null 2>&1
bell send bell ring '"tea"' --after 1h --id tea >/dev/null
bell send bell ring '"now"' --queue >/dev/null
bell branch create draft >/dev/null 2>&1
bell send bell ring '"cake"' --after 1h --id cake --branch draft >/dev/null
bell send bell ring '"soon"' --queue --branch draft >/dev/null
same "timers of main" "$(listed timers)" "tea "
same "timers of a branch: those that were set there" "$(listed timers --branch draft)" "cake "
same "main by its name" "$(listed timers --branch main)" "tea "
same "events of main" "$(listed events)" "now "
same "events of a branch" "$(listed events bell --branch draft)" "soon "
same "what waited when the branch was made is handled on main only" \
    "$(bell run bell.lua --once --branch draft 2>/dev/null) $(bell run bell.lua --once 2>/dev/null)" '{"log":["soon"]} {"log":["now"]}'
bell timers bell --cancel cake --branch draft
same "a timer of a branch is cancelled there" "$? $(listed timers --branch draft)$(listed timers)" "0 tea "
bell timers --branch none >out 2>err
same "a branch that there is not" "$? $(cat err)" "2 heddle: unknown branch: none"
bell branch create plan >/dev/null 2>&1
bell send bell ring '"plan"' --after 1h --id plan --branch plan >/dev/null
bell branch merge plan >/dev/null 2>&1
same "a merge brings the timers that were set on the branch" "$(listed timers)" "tea plan "
check "the directory is sound" "$HEDDLE" check --dir bells

finish
