#!/bin/sh
# The library is sealed: an embedder meets names that begin with hd_ and no
# others, so that his graph_init() and ours can live in one program.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

STATIC=$BUILD/libheddle.a
SHARED=$BUILD/libheddle.so
LIBS=$(sed -n 's/^LIBS *:= *//p' Makefile)
CC=${CC:-gcc}

# What the headers declare.
sed -n 's/^HD_API .*[ *]\(hd_[a-z0-9_]*\)(.*/\1/p' include/heddle/*.h | sort >"$scratch/declared"
declared=$(wc -l <"$scratch/declared")
check "the headers declare functions ($declared)" test "$declared" -ge 90
same "each HD_API is one of them" "$(cat include/heddle/*.h | grep -c '^HD_API')" "$declared"

# defined NM-OPTION... FILE: the names it gives to others.
defined() {
    nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort
}

defined --extern-only "$STATIC" >"$scratch/static"
defined --dynamic "$SHARED" >"$scratch/shared"
same "the static library defines what the header declares, and nothing else" \
    "$(diff "$scratch/declared" "$scratch/static")" ""
same "the shared library exports what the header declares, and nothing else" \
    "$(diff "$scratch/declared" "$scratch/shared")" ""

# The proof is worth nothing if there is nothing to hide.
inside=$(nm --defined-only "$STATIC" | grep -c ' t array_set_adopt$')
same "the library has a function that the example has, too" "$inside" 1

# Against each library; $LIBS is a list of words.
# shellcheck disable=SC2086
check "a program with names of ours links with the static library" \
    "$CC" -std=c99 -Wall -Wextra -Wpedantic -Werror -Iinclude examples/embed.c "$STATIC" $LIBS -o "$scratch/with_static"
check "and runs" "$scratch/with_static"

soname=$(objdump -p "$SHARED" | sed -n 's/^ *SONAME *//p')
major=$(sed -n 's/^#define HD_VERSION_MAJOR *//p' include/heddle/heddle.h)
same "the shared library has the name of its major version" "$soname" "libheddle.so.$major"
ln -s "$SHARED" "$scratch/$soname"
ln -s "$SHARED" "$scratch/libheddle.so"
check "a program with names of ours links with the shared library" \
    "$CC" -std=c99 -Wall -Wextra -Wpedantic -Werror -Iinclude examples/embed.c -L"$scratch" -lheddle -o "$scratch/with_shared"
check "and runs, too" env LD_LIBRARY_PATH="$scratch" "$scratch/with_shared"
same "both print the same" "$("$scratch/with_static")" "$(LD_LIBRARY_PATH=$scratch "$scratch/with_shared")"

finish
