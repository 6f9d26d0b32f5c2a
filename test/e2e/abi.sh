#!/bin/sh
# What a program that was compiled once relies on: the functions and their
# parameters, the numbers of the constants, the sizes of the structures. All of
# it is in test/data/abi/heddle.txt. `test/e2e/abi.sh --print` prints what the
# headers say now: a change is made there on purpose, and told in CHANGELOG.md.

print_abi() {
    # A declaration in one line each.
    cat include/heddle/*.h | awk '/^HD_API/ { on = 1 } on { line = line $0 " " } on && /;/ { print line; line = ""; on = 0 }' |
        sed 's/HD_API //; s/  */ /g; s/ *$//' | sort
    sed -n 's/^ *\(HD_[A-Z0-9_]*\) = \([0-9]*\).*/\1 = \2/p' include/heddle/*.h | sort
    sed -n 's/^} \(hd_[a-z_]*\);$/\1/p' include/heddle/*.h | sort -u |
        sed 's/.*/    printf("sizeof &: %d\\n", (int)sizeof(&));/' >"$1/sizes"
    {
        printf '#include <heddle/heddle.h>\n#include <stdio.h>\nint main(void)\n{\n'
        cat "$1/sizes"
        printf '    return 0;\n}\n'
    } >"$1/sizes.c"
    gcc -Iinclude "$1/sizes.c" -o "$1/sizes.out" && "$1/sizes.out"
}

if [ "${1:-}" = --print ]; then
    cd "$(dirname "$0")/../.." || exit 1
    folder=$(mktemp -d) || exit 1
    print_abi "$folder"
    rm -rf "$folder"
    exit 0
fi

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

print_abi "$scratch" >"$scratch/abi"
check "it has functions" test "$(grep -c '(.*);$' "$scratch/abi")" -ge 90
check "it has constants" test "$(grep -c '^HD_[A-Z_0-9]* = ' "$scratch/abi")" -ge 60
check "it has structures" test "$(grep -c '^sizeof' "$scratch/abi")" -ge 10
same "it is what test/data/abi/heddle.txt says" "$(diff test/data/abi/heddle.txt "$scratch/abi")" ""

# Each function is called by a test, and each that takes a handle in the table
# of wrong calls, but for those that release one.
cat test/unit/api/*.c >"$scratch/tests"
sed -n 's/^.*\b\(hd_[a-z0-9_]*\)(.*);$/\1/p' "$scratch/abi" | sort -u >"$scratch/functions"
missing=""
while read -r function; do
    grep -q "\b$function\b" "$scratch/tests" || missing="$missing $function"
done <"$scratch/functions"
same "each function is called by a test" "$missing" ""
missing=""
while read -r function; do
    case "$function" in
    hd_value_* | hd_status_* | hd_version | hd_set_allocator | hd_text_free | hd_runtime_open | hd_pattern_new) continue ;;
    esac
    grep -q "\b$function\b" test/unit/api/test_api_misuse.c || missing="$missing $function"
done <"$scratch/functions"
same "each function with a handle is called wrongly by a test" "$missing" ""

finish
