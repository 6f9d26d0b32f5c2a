#!/bin/sh
# The documentation is true: man pages without faults that describe every
# command, and examples that print what they say, in the pages, in --help and
# in README.md.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

# The examples call the command by its name, and may write files.
mkdir "$scratch/bin" "$scratch/work"
ln -s "$HEDDLE" "$scratch/bin/heddle"
PATH=$scratch/bin:$PATH
export PATH

# ---- examples ----

# compare COMMAND EXPECTED: runs one example, in the folder of the transcript.
compare() {
    got=$(cd "$scratch/$place" && sh -c "$1" 2>"$scratch/stderr")
    if [ -s "$scratch/stderr" ]; then
        got="$got$(cat "$scratch/stderr")"
    fi
    if [ "$got" != "$2" ]; then
        printf '$ %s\nprints:\n%s\nnot:\n%s\n' "$1" "$got" "$2"
        wrong=$((wrong + 1))
    fi
    compared=$((compared + 1))
}

# transcript FILE [FOLDER]: in the folder of work, unless told otherwise,
# "$ command", after a backslash more of it, then its output,
# up to the next one. False if one was different, or there was none.
transcript() {
    wrong=0 compared=0 place=${2:-work} command='' expected='' goes_on=no
    while IFS= read -r line; do
        if [ "$goes_on" = yes ]; then
            command="$command
$line"
        elif [ "${line#\$ }" != "$line" ]; then
            [ -z "$command" ] || compare "$command" "$expected"
            command=${line#\$ } expected=''
        else
            expected="$expected${expected:+
}$line"
            continue
        fi
        case "$line" in *\\) goes_on=yes ;; *) goes_on=no ;; esac
    done <"$1"
    [ -z "$command" ] || compare "$command" "$expected"
    echo "$compared examples, $wrong wrong"
    [ "$compared" -gt 0 ] && [ "$wrong" -eq 0 ]
}

# examples_of PAGE: the displays of its EXAMPLES, as a reader sees them: text
# is indented by 5, displays by 11. The lines between displays are prose.
examples_of() {
    mandoc -T ascii -O width=200 "$1" | sed 's/.'"$(printf '\b')"'//g' |
        sed -n '/^EXAMPLES/,/^[A-Z]/{/^ \{11\}/s/^ \{11\}//p;}'
}

# ---- man pages ----

if command -v mandoc >/dev/null; then
    for page in man/*.1; do
        check "$page has no faults" mandoc -T lint -W warning "$page"
        examples_of "$page" >"$scratch/examples"
        check "the examples of $page are true" transcript "$scratch/examples"
    done
else
    skip "the man pages" "there is no mandoc"
fi

# commands WORD...: those that help lists.
commands() {
    "$HEDDLE" help "$@" | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# described COMMAND PAGE: in its list of commands, or in the synopsis.
described() {
    grep -Eq "^\.(It Cm|Cm) $1( |$)" "$2"
}

# The help of most commands of the store begins with a file that is there.
make_space() {
    (
        cd "$scratch/work" || exit 1
        rm -f space.db* monday.db*
        for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
            heddle store commit space.db --text '{"session":"me","localSeq":'$number',
                "operations":[{"op":"set","id":"of:settings","value":{"value":'$number'}}]}' >/dev/null || exit 1
        done
    )
}

for command in $(commands); do
    check "heddle(1) describes $command" described "$command" man/heddle.1
done
for group in value store lifecycle branch key admin; do
    page=man/heddle-$group.1
    for command in $(commands "$group"); do
        check "$page describes $command" described "$command" "$page"
        check "and has it in its synopsis" grep -q "^\.Nm heddle $group $command\$" "$page"
        for option in $("$HEDDLE" "$group" "$command" --help | sed -n '/^Options:/,/^$/s/^  --\([a-z-]*\).*/\1/p'); do
            check "a page describes --$option of $command" grep -q "^\.It Fl -$option" man/heddle.1 "$page"
        done
    done
done
for group in value lifecycle key; do
    for command in $(commands "$group"); do
        "$HEDDLE" "$group" "$command" --help | sed -n '/^Example:/,$s/^  //p' >"$scratch/examples"
        check "the example in the help for $command is true" transcript "$scratch/examples"
    done
done
for command in $(commands store); do
    example=$("$HEDDLE" store "$command" --help | sed -n '/^Example:/,$s/^  \$ //p')
    if [ "$command" = commit ]; then
        "$HEDDLE" store commit --help | sed -n '/^Example:/,$s/^  //p' >"$scratch/examples"
        check "the example in the help for commit is true" transcript "$scratch/examples"
    else
        check "a space can be made for the example of $command" make_space
        check "the example in the help for $command works" sh -c "cd '$scratch/work' && $example"
    fi
done

# Those of the commands that run pieces tell one story, in the order of the
# help.
mkdir "$scratch/story"
for command in run send get set watch repl new token serve; do
    page=man/heddle-$command.1
    for option in $("$HEDDLE" "$command" --help | sed -n '/^Options:/,/^$/s/^  --\([a-z-]*\).*/\1/p'); do
        check "a page describes --$option of $command" grep -Eq "^\.It Fl -([a-z]* Ar [a-z]* , Fl -)?$option" man/heddle.1 "$page"
    done
    "$HEDDLE" "$command" --help | sed -n '/^Example:/,$s/^  //p' >>"$scratch/story.txt"
done
check "the examples in the help of those that run pieces are true" transcript "$scratch/story.txt" story

# Each exit code that the tests know is in both pages; 4 in those of commands
# that may meet a circle of computations.
for page in man/*.1; do
    case "$page" in
    man/heddle.1 | man/heddle-get.1 | man/heddle-run.1 | man/heddle-send.1) want="0 1 2 3 4 " ;;
    *) want="0 1 2 3 " ;;
    esac
    codes=$(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh EXAMPLES/s/^\.It \([0-9]\)$/\1/p' "$page" | tr '\n' ' ')
    same "$page lists the exit codes" "$codes" "$want"
done

# ---- README.md, and other pages with examples ----

# files_of PAGE FOLDER: blocks with a file name are files.
files_of() {
    mkdir "$2"
    awk -v folder="$2" '
        /^```[a-z]+ [^ ]/ { file = folder "/" $2; next }
        /^```/ { file = "" }
        file != "" { print > file }' "$1"
}

for page in README.md docs/tutorial.md docs/recipes.md docs/values.md docs/store.md; do
    folder=$(basename "$page" .md)
    files_of "$page" "$scratch/$folder"
    sed -n '/^```sh$/,/^```$/p' "$page" | grep -v '^```' >"$scratch/examples"
    check "the examples of $page are true" transcript "$scratch/examples" "$folder"
    [ ! -e "$scratch/$folder/pid" ] || kill -9 "$(cat "$scratch/$folder/pid")" 2>/dev/null
done
# serve_page NAME ARGUMENT...: a server for the examples of that page of docs, in
# their folder; its address is $HEDDLE_SERVER, and for curl $URL.
serve_page() {
    name=$1
    shift
    files_of "docs/$name.md" "$scratch/$name"
    cd "$scratch/$name" || return 1
    "$HEDDLE" serve --insecure-local --listen 127.0.0.1:0 "$@" >out 2>err &
    echo $! >pid
    tries=0
    until grep -q serving out; do
        tries=$((tries + 1))
        [ "$tries" -lt 400 ] || return 1
        sleep 0.05
    done
    HEDDLE_SERVER=$(sed -n 's/.* at //p' out)
    URL=http${HEDDLE_SERVER#ws}
    cd "$ROOT" || return 1
    export URL HEDDLE_SERVER
}

# check_page NAME: and the end of its server.
check_page() {
    sed -n '/^```sh$/,/^```$/p' "docs/$1.md" | grep -v '^```' >"$scratch/examples"
    check "the examples of docs/$1.md are true" transcript "$scratch/examples" "$1"
    kill "$(cat "$scratch/$1/pid")"
    wait "$(cat "$scratch/$1/pid")"
    unset HEDDLE_SERVER URL
}

# piece_runs NAME: the pattern beside the server has started it.
piece_runs() {
    tries=0
    until curl -s -f "$URL/v1/spaces/main/pieces/$1" >/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 400 ] || return 1
        sleep 0.05
    done
}

check "there is curl for the examples of docs/http.md" command -v curl
if serve_page http --run shop.lua && piece_runs shop; then
    check_page http
else
    not_ok "a server for the examples of docs/http.md" "$(cat "$scratch/http/err")"
fi
if serve_page server; then
    check_page server
else
    not_ok "a server for the examples of docs/server.md" "$(cat "$scratch/server/err")"
fi
for word in $(sed -n 's/^ *\.\/dev \([a-z]*\).*/\1/p' README.md); do
    check "README.md names a command of ./dev: $word" grep -Eq "^  $word( |\$)" dev
done

finish
