#!/bin/sh
# The public header stands alone, in the languages that it promises, and its
# list of status codes is that of the error table. The headers behind it cannot
# be included by themselves, and say so.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

STRICT="-Wall -Wextra -Wpedantic -Werror"
HEADER=include/heddle/heddle.h

# Twice, to try the guard; and nothing before it, to try that it includes what
# it needs.
printf '#include <heddle/heddle.h>\n#include <heddle/heddle.h>\nint main(void) { return (int)HD_OK; }\n' >"$scratch/alone.c"
cp "$scratch/alone.c" "$scratch/alone.cpp"

# compiles COMPILER STANDARD FILE
compiles() {
    if command -v "$1" >/dev/null; then
        # shellcheck disable=SC2086
        check "the header compiles alone as $2 with $1" "$1" -std="$2" $STRICT -Iinclude -fsyntax-only "$3"
    else
        skip "the header compiles alone as $2 with $1" "there is no $1"
    fi
}

for compiler in gcc clang; do
    for standard in c99 c11 c17; do
        compiles "$compiler" "$standard" "$scratch/alone.c"
    done
done
for compiler in g++ clang++; do
    for standard in c++11 c++17; do
        compiles "$compiler" "$standard" "$scratch/alone.cpp"
    done
done

same "it includes only headers of the C standard, and those behind it" \
    "$(sed -n 's/^ *# *include *//p' include/heddle/*.h | sort | tr '\n' ' ')" \
    "$(cd include && printf '<%s>\n' heddle/*.h stdbool.h stddef.h stdint.h | grep -v heddle/heddle.h | sort | tr '\n' ' ')"

for header in include/heddle/*.h; do
    [ "$header" = "$HEADER" ] && continue
    printf '#include <%s>\n' "${header#include/}" >"$scratch/part.c"
    gcc -Iinclude -fsyntax-only "$scratch/part.c" 2>"$scratch/part.log"
    check "${header#include/} says which header to include" grep -q 'error "include <heddle/heddle.h>"' "$scratch/part.log"
done

# "NAME number" of each status, from the header and from the table.
sed -n '/^typedef enum hd_status/,/^}/s/^ *HD_\([A-Z_]*\) = \([0-9]*\).*/\1 \2/p' "$HEADER" | sort >"$scratch/public"
sed -n '/^#define ERR_TABLE/,/^enum err/s/^ *X(\([A-Z_]*\), *\([0-9]*\),.*/\1 \2/p' src/base/err.h | sort >"$scratch/table"
count=$(wc -l <"$scratch/table")
check "the table has rows ($count)" test "$count" -ge 20
same "each status is a row, and each row a status" "$(diff "$scratch/public" "$scratch/table")" ""

# With a C++ linker, because extern "C" is about linking.
cat >"$scratch/links.cpp" <<'CPP'
#include <heddle/heddle.h>
int main()
{
    hd_value *value = nullptr;
    hd_error error;
    const hd_status status = hd_value_parse("[1]", HD_TERMINATED, &value, &error);
    hd_value_unref(value);
    return status == HD_OK ? 0 : 1;
}
CPP
if command -v g++ >/dev/null; then
    ln -s "$BUILD/libheddle.so" "$scratch/libheddle.so"
    ln -s "$BUILD/libheddle.so" "$scratch/$(objdump -p "$BUILD/libheddle.so" | sed -n 's/^ *SONAME *//p')"
    # shellcheck disable=SC2086
    check "a C++ program links" g++ -std=c++17 $STRICT -Iinclude "$scratch/links.cpp" -L"$scratch" -lheddle -o "$scratch/links"
    check "and runs" env LD_LIBRARY_PATH="$scratch" "$scratch/links"
else
    skip "a C++ program links" "there is no g++"
fi

finish
