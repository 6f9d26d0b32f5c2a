#!/bin/sh
# Each example compiles as C99 with all warnings against the sealed library,
# runs, and prints what test/data/examples says.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

LIBS=$(sed -n 's/^LIBS *:= *//p' Makefile)
CC=${CC:-gcc}

count=0
for source in examples/*.c; do
    example=$(basename "$source" .c)
    count=$((count + 1))
    # $LIBS is a list of words.
    # shellcheck disable=SC2086
    check "$example compiles" "$CC" -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
        -Iinclude "$source" "$BUILD/libheddle.a" $LIBS -o "$scratch/$example"
    set --
    if grep -q "Usage: $example DIRECTORY" "$source"; then
        mkdir "$scratch/$example.data"
        set -- "$scratch/$example.data"
    fi
    "$scratch/$example" "$@" >"$scratch/$example.txt" 2>&1
    same "$example succeeds" "$?" 0
    same "$example prints what it should" "$(diff "test/data/examples/$example.txt" "$scratch/$example.txt" 2>&1)" ""
done
same "each of them has an output to compare with" "$(find test/data/examples -name '*.txt' | wc -l)" "$count"
check "there are some ($count)" test "$count" -ge 8

finish
