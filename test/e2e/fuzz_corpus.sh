#!/bin/sh
# Replays every input of fuzz/corpus through its target: what a fuzzer found
# once must not come back. BUILD is the build folder whose programs to use.
#
# A target without a program or without inputs fails: a check that looks at
# nothing must not pass. SEED and COMMAND_LINES are those of the random command
# lines at the end.

BUILD=${BUILD:-build/gcc-debug}
cd "$(dirname "$0")/../.." || exit 1

# replay NAME: says why, and is false, if it failed.
replay() {
    program=$BUILD/bin/replay_$1
    set -- fuzz/corpus/"$1"/*
    if [ ! -x "$program" ]; then
        echo "there is no $program"
        return 1
    fi
    if [ ! -e "$1" ]; then
        echo "there is no input in $(dirname "$1")"
        return 1
    fi
    "$program" "$@" 2>&1
}

set -- fuzz/fuzz_*.c
if [ ! -e "$1" ]; then
    echo "1..0 # SKIP no fuzz target"
    exit 0
fi

echo "1..$(($# + 1))"
number=0
failed=0
for source in "$@"; do
    name=${source#fuzz/fuzz_}
    name=${name%.c}
    number=$((number + 1))
    if output=$(replay "$name"); then
        echo "ok $number - the corpus of $name replays"
    else
        echo "$output" | sed 's/^/# /'
        echo "not ok $number - the corpus of $name replays"
        failed=1
    fi
done

# Command lines that nobody wrote down: fuzz/command_lines.py.
lines=$(mktemp -d) || exit 1
trap 'rm -rf "$lines"' EXIT
number=$((number + 1))
if output=$(fuzz/command_lines.py "${SEED:-1}" "${COMMAND_LINES:-40}" "$lines" &&
    "$BUILD/bin/replay_command" "$lines" 2>&1); then
    echo "ok $number - random command lines end by themselves, seed ${SEED:-1}"
else
    echo "$output" | sed 's/^/# /'
    echo "not ok $number - random command lines end by themselves, seed ${SEED:-1}"
    failed=1
fi
exit "$failed"
