#!/bin/sh
# The command as its users meet it: every result, every exit code, and one
# clear line for everything that can be wrong.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

cd "$scratch" || exit 1

# ---- how a call is tried ----

# run ARGUMENT...: calls the command; out, err and code are what came of it.
# The command's standard input is that of run.
run() {
    "$HEDDLE" "$@" >out.txt 2>err.txt
    code=$?
    out=$(cat out.txt)
    err=$(cat err.txt)
}

# verdict NAME CODE OUT ERR: compares what the last run gave. ERR may end in
# '*', for the beginning of a line.
verdict() {
    case "$4" in
    *'*')
        case "$err" in
        "${4%\*}"*) err_is_right=yes ;;
        *) err_is_right=no ;;
        esac
        ;;
    *) [ "$err" = "$4" ] && err_is_right=yes || err_is_right=no ;;
    esac
    if [ "$code" -ne "$2" ] || [ "$out" != "$3" ] || [ "$err_is_right" = no ]; then
        not_ok "$1" "exit code $code, expected $2" "stdout:   $out" "expected: $3" "stderr:   $err" "expected: $4"
    elif [ "$(wc -l <err.txt)" -gt 1 ]; then
        not_ok "$1" "more than one line on stderr:" "$err"
    else
        ok "$1"
    fi
}

# try NAME CODE OUT ERR ARGUMENT...
try() {
    name=$1 want_code=$2 want_out=$3 want_err=$4
    shift 4
    run "$@"
    verdict "$name" "$want_code" "$want_out" "$want_err"
}

# try_input NAME INPUT CODE OUT ERR ARGUMENT...: with something to read.
try_input() {
    name=$1
    printf "%b" "$2" >in.txt
    want_code=$3 want_out=$4 want_err=$5
    shift 5
    run "$@" <in.txt
    verdict "$name" "$want_code" "$want_out" "$want_err"
}

# refuse NAME SENTENCE ARGUMENT...: a wrong command line.
refuse() {
    name=$1 sentence=$2
    shift 2
    try "$name" 2 '' "heddle: $sentence" "$@"
}

printf '{"b": [1, 2.0, {"x": "y"}], "a": "caf\303\251"}\n' >doc.json
printf '{"a": "caf\303\251", "b": [1, 3, {"x": "y"}]}\n' >other.json
one_line='{"b":[1,2,{"x":"y"}],"a":"café"}'

# ---- results ----

try "parse prints one line" 0 "$one_line" '' value parse doc.json
try "parse sorts keys" 0 '{"a":"café","b":[1,2,{"x":"y"}]}' '' value parse --canonical doc.json
try "parse indents" 0 '[
  1,
  {}
]' '' value parse --pretty --text '[1,{}]'
try "indent and order go together" 0 '{
  "a": 2,
  "b": 1
}' '' value parse --canonical --pretty --text '{"b":1,"a":2}'
try_input "a hyphen is standard input" '[1]\n' 0 '[1]' '' value parse -
try "a document may be given as text" 0 '1' '' value parse --text 1
try "an option's value may stand after an equals sign" 0 '1' '' value parse --text=1
try "options may stand after operands" 0 "$one_line" '' value parse doc.json --json
cp doc.json ./--pretty
try "two hyphens end the options" 0 "$one_line" '' value parse -- --pretty

try "get prints a value" 0 '{"x":"y"}' '' value get doc.json /b/2
try "get prints the whole" 0 "$one_line" '' value get doc.json ''
try "get prints a string with its quotes" 0 '"café"' '' value get doc.json /a
try "get prints a string without its quotes" 0 'café' '' value get --raw doc.json /a
try "get prints other values as they are" 0 '2' '' value get --raw doc.json /b/1
try "get of a missing key answers 1" 1 '' \
    "heddle: doc.json: no value at /z: the value has no key 'z'" value get doc.json /z
try "get past the end answers 1" 1 '' \
    'heddle: doc.json: no value at /b/3: /b has only 3 elements' value get doc.json /b/3
try "get with a bad pointer is an error" 2 '' "heddle: b: a pointer must be empty or begin with '/'" value get doc.json b

try "set creates what is missing" 0 '{"a":{"b":5}}' '' value set --text '{}' /a/b 5
try "set inserts into an array" 0 '[1,-5,2]' '' value set --text '[1,2]' /1 -5
try_input "set takes its value from standard input" '"x"' 0 '["x"]' '' value set --text '[]' /- -
try "set through a leaf is an error" 2 '' 'heddle: doc.json: path is not traversable at /a/b' value set doc.json /a/b 1
try "set with a word that is not JSON is an error" 2 '' \
    "heddle: VALUE: line 1, column 1: expected a value, found 'h'" value set doc.json /a hello
same "no file is changed" "$(cat doc.json)" "$(printf '{"b": [1, 2.0, {"x": "y"}], "a": "caf\303\251"}')"

echo '[{"op": "remove", "path": "/b"}]' >patch.json
try "patch applies operations" 0 '{"a":"café"}' '' value patch doc.json patch.json
try "a patch that fails is an error" 2 '' 'heddle: patch.json: operation 0 (remove): missing path /b' \
    value patch --text '{}' patch.json
try "a patch that is none is an error" 2 '' 'heddle: doc.json: a patch must be an array of operations' \
    value patch doc.json doc.json

the_diff='[{"op":"replace","path":"/b/1","value":3}]'
try "diff prints a patch" 0 "$the_diff" '' value diff doc.json other.json
try "diff of equal documents is empty" 0 '[]' '' value diff doc.json doc.json
try "diff answers with its exit code if asked" 1 "$the_diff" '' value diff --exit-code doc.json other.json
try "diff of equal documents answers 0" 0 '[]' '' value diff --exit-code doc.json doc.json
"$HEDDLE" value diff doc.json other.json >made.json
try_input "a diff applied gives the other document" '' 0 "$("$HEDDLE" value parse --canonical other.json)" '' \
    value patch --canonical doc.json made.json

try "paths prints one pointer a line" 0 '/a
/b' '' value paths --text '{"a":1,"b":2}' --text '{"a":2}'
try "paths of equal documents prints nothing" 0 '' '' value paths doc.json doc.json
try "paths answers with its exit code if asked" 1 '/b/1' '' value paths --exit-code doc.json other.json
try "paths are an array for programs" 0 '["","/0"]' '' value paths --json --text '[1]' --text '[2,3]'
try "a newline in a key does not make two lines" 0 '/a\x0ab' '' value paths --text '{"a\nb":1}' --text '{}'
try "equal documents are equal" 0 'equal' '' value equal --text '{"a":1,"b":2}' --text '{"b":2.0,"a":1}'
try "different documents answer 1" 1 'different' '' value equal doc.json other.json
try "equality for programs" 0 '{"equal":true}' '' value equal --json doc.json doc.json
try "difference for programs" 1 '{"equal":false}' '' value equal --json doc.json other.json
digest=6f_MxupBw1pnnzeTwwmimtZsMlYJTtbybiUp0uUIlC0
try "a digest does not depend on the order of keys" 0 "$digest" '' value digest --text '{"b":2,"a":1}'
try "a digest for programs" 0 "{\"digest\":\"$digest\"}" '' value digest --json --text '{"a":1.0,"b":2}'
id=of:NV_Rs1CuxFL_QThaRlNqtNm3D89ufjWQSkF_JWfuRQI
try "an id follows from its cause" 0 "$id" '' value id of: --text '["order",17]'
try "an id for programs" 0 "{\"id\":\"$id\"}" '' value id --json of: --text '["order",17]'

version=$(sed -n 's/^#define HD_VERSION_TEXT *"\(.*\)"/\1/p' "$ROOT/include/heddle/heddle.h")
try "the version, as an option" 0 "heddle $version" '' --version
try "the version, as a command" 0 "heddle $version" '' version
try "the version for programs" 0 "{\"version\":\"$version\"}" '' --version --json

# ---- help ----

try "help lists the commands" 0 "$("$HEDDLE" help)" '' --help
for command in $("$HEDDLE" help value | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    run value "$command" --help
    case "$out" in
    "usage: heddle value $command "*Options:*--json*Example:*"$ heddle value $command"*) shows=yes ;;
    *) shows=no ;;
    esac
    same "help for $command has a usage, options and an example" "$code $shows" "0 yes"
    try "the command help explains $command, too" 0 "$out" '' help value "$command"
done
same "there are nine commands" "$("$HEDDLE" value -h | sed -n '/^Commands:/,/^$/s/^  [a-z]* .*/x/p' | wc -l | tr -d ' ')" 9
refuse "help for nothing is an error" "there is no command 'value fly'; see 'heddle value --help'" help value fly
refuse "an unknown command has no help" "there is no command 'fly'; see 'heddle --help'" fly --help

# ---- wrong command lines ----

refuse "a command is needed" "'heddle' needs a command; see 'heddle --help'"
refuse "a group needs a command" "'heddle value' needs a command; see 'heddle value --help'" value
refuse "an unknown command" "there is no command 'vlaue'; did you mean 'value'? See 'heddle --help'" vlaue parse
refuse "an unknown option" "unknown option --fast; see 'heddle value parse --help'" value parse --fast doc.json
refuse "an option of another command" "'value parse' has no option --exit-code; see 'heddle value parse --help'" \
    value parse --exit-code doc.json
refuse "a missing operand" "'value get' takes FILE POINTER; see 'heddle value get --help'" value get doc.json
refuse "an operand too many" "'value parse' takes FILE; see 'heddle value parse --help'" value parse doc.json doc.json
refuse "an operand where there is none" "'version' takes no operands; see 'heddle version --help'" version 1
# shellcheck disable=SC2046
refuse "many operands too many" "too many operands from 255; see 'heddle value parse --help'" value parse $(seq 260)
refuse "a text that is missing" "a value is missing after --text; see 'heddle value parse --help'" value parse --text
refuse "a value for an option that has none" "the option does not take a value: --pretty=2; see 'heddle value parse --help'" \
    value parse --pretty=2 doc.json
refuse "standard input twice" "standard input can be read only once; see 'heddle value equal --help'" value equal - -
refuse "a prefix with other characters" "PREFIX must be 1 to 16 letters, digits and ':'; see 'heddle value id --help'" \
    value id a-b --text 1
refuse "a prefix that is too long" "PREFIX must be 1 to 16 letters, digits and ':'; see 'heddle value id --help'" \
    value id abcdefghijklmnopq --text 1

# ---- bad input ----

# bad NAME INPUT SENTENCE: a document that is refused, from a file and by name.
bad() {
    printf "%b" "$2" >bad.json
    try "$1" 2 '' "heddle: bad.json: $3" value parse bad.json
}
bad "an empty file" '' 'line 1, column 1: expected a value, found the end of the text'
bad "only white space" ' \n\n' 'line 3, column 1: expected a value, found the end of the text'
bad "a cut document" '{"a": [1,\n "x' 'line 2, column 4: expected the closing quote of a string, found the end of the text'
bad "a zero byte" '\0' 'line 1, column 1: expected a value, found the byte 0x00'
bad "a byte order mark" '\357\273\277{}' 'line 1, column 1: expected a value, found the byte 0xEF'
bad "bytes that are not UTF-8" '["a\377"]' 'line 1, column 4: expected UTF-8, found the byte 0xFF'
bad "two documents" '1\n2\n' "line 2, column 1: expected the end of the text, found '2'"
bad "a trailing comma" '[1,\n2,]' "line 2, column 3: expected a value, found ']'"
bad "a number that is too large" '[1e999]' 'line 1, column 2: the number is beyond the range of a double'
head -c 4096 "$HEDDLE" >bad.json
try "a program instead of a document" 2 '' 'heddle: bad.json: line 1, column 1: expected a value, *' value parse bad.json
awk 'BEGIN { for (i = 0; i < 1001; i++) printf "["; for (i = 0; i < 1001; i++) printf "]" }' >bad.json
try "a document that is too deep" 2 '' 'heddle: bad.json: line 1, column 1001: nested more than 1000 levels deep' \
    value parse bad.json

head -c 67108864 /dev/zero | tr '\0' ' ' >huge.json
try "64 MiB of blanks are read" 2 '' 'heddle: huge.json: line 1, column 67108865: expected a value, *' value parse huge.json
printf 1 >>huge.json
try "one byte more is too large" 2 '' 'heddle: huge.json: the text has more than 67108864 bytes' value parse huge.json
rm huge.json
yes '[' | "$HEDDLE" value parse - >out.txt 2>err.txt
code=$? out=$(cat out.txt) err=$(cat err.txt)
verdict "an input without an end is given up" 2 '' 'heddle: standard input: the text has more than 67108864 bytes'

awk 'BEGIN { printf "[0"
    for (n = 0; n < 80; n++) {
        printf ","; for (i = 0; i < 999; i++) printf "["; for (i = 0; i < 999; i++) printf "]"
    }
    printf "]" }' >deep.json
try "a text that indentation makes too large" 2 '' 'heddle: the result: the text is too large' \
    value parse --pretty deep.json

# ---- reading and writing ----

try "a missing file" 3 '' 'heddle: none.json: No such file or directory' value parse none.json
mkdir folder
try "a folder" 3 '' 'heddle: folder: Is a directory' value parse folder
run value parse - <folder
verdict "a folder as standard input" 3 '' 'heddle: standard input: Is a directory'
run value parse - <&-
verdict "no standard input" 3 '' 'heddle: standard input: Bad file descriptor'
cp doc.json secret.json
chmod 000 secret.json
if [ -r secret.json ]; then
    skip "a file that may not be read" "root may read everything"
else
    try "a file that may not be read" 3 '' 'heddle: secret.json: Permission denied' value parse secret.json
fi
try "the second document is missing" 3 '' 'heddle: none.json: No such file or directory' value equal doc.json none.json

# full NAME ARGUMENT...: onto a device that is always full.
full() {
    name=$1
    shift
    "$HEDDLE" "$@" >/dev/full 2>err.txt
    code=$? out='' err=$(cat err.txt)
    verdict "$name" 3 '' 'heddle: standard output: No space left on device'
}
awk 'BEGIN { printf "[0"; for (i = 0; i < 200000; i++) printf ",%d", i; print "]" }' >long.json
if [ -c /dev/full ]; then
    full "a full disk" value parse doc.json
    full "a full disk, and much to write" value parse long.json
    full "a full disk, and a word to write" value equal doc.json other.json
    full "a full disk, and help to write" help
else
    skip "a full disk" "there is no /dev/full"
fi
"$HEDDLE" value parse doc.json >&- 2>err.txt
code=$? out='' err=$(cat err.txt)
verdict "no standard output" 3 '' 'heddle: standard output: Bad file descriptor'

(
    trap '' PIPE
    "$HEDDLE" value parse long.json 2>err.txt
    echo $? >code.txt
) | true
same "a reader that goes away is no news" "$(cat code.txt err.txt)" 3
"$HEDDLE" value parse long.json 2>err.txt | head -c 10 >out.txt
same "nor is one that has seen enough" "$(cat out.txt err.txt)" '[0,0,1,2,3'

# ---- text of others ----

strange=$(printf 'a\nb\033[31m\377')
try "a file name does nothing to the terminal" 3 '' \
    'heddle: a\x0ab\x1b[31m\xff: No such file or directory' value parse "$strange"
turned=$(printf 'a\342\200\256b\302\205c\303\251\177')
try "nor do marks that hide in UTF-8" 3 '' 'heddle: a\u202eb\u0085cé\x7f: No such file or directory' value parse "$turned"
try "nor does a key" 1 '' 'heddle: --text: no value at /a\x07: the value has no key '"'a\\x07'" \
    value get --text '{}' "$(printf '/a\007')"
try "nor does a command" 2 '' "heddle: there is no command 'a\\x1bb'; see 'heddle --help'" "$(printf 'a\033b')"
long=$(awk 'BEGIN { for (i = 0; i < 200; i++) printf "\342\202\254" }')
run "$long"
case "$err" in
*€"; see 'heddle --help'") cut=between ;;
*) cut=inside ;;
esac
same "a long word is cut between characters" "$code $cut" "2 between"

# ---- errors for programs ----

# json_error NAME CODE EXPECTED ARGUMENT...: one object on stderr; EXPECTED are
# its status, class, source, line and column.
json_error() {
    name=$1 want_code=$2 want=$3
    shift 3
    run "$@"
    got=
    for key in status class source line column; do
        got="$got $("$HEDDLE" value get --raw err.txt "/$key" 2>&1)"
    done
    message=$("$HEDDLE" value get --raw err.txt /message 2>&1)
    same "$name" "$code $(wc -l <err.txt | tr -d ' ')$got ${message:+text}" "$want_code 1 $want text"
}
printf '[1,\n x]' >bad.json
json_error "a syntax error, for programs" 2 "SYNTAX terminal bad.json 2 2" value parse bad.json --json
json_error "a missing value, for programs" 1 "NOT_FOUND terminal doc.json null null" value get doc.json /z --json
json_error "a missing file, for programs" 3 "IO fault none.json null null" --json value parse none.json
json_error "a bad patch, for programs" 2 "PATCH_MISSING terminal patch.json null null" \
    value patch --json --text '{}' patch.json
json_error "a wrong command line, for programs" 2 "ARGUMENT terminal null null null" value parse --fast --json
json_error "raw JSON" 2 "ARGUMENT terminal null null null" value get --raw doc.json /a --json
json_error "a strange name, for programs" 3 'IO fault a\x0ab\x1b[31m\xff null null' value parse "$strange" --json

finish
