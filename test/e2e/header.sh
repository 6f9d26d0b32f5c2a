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

# ---- initialisers ----

# Every public structure, set to HD_INIT, in the languages and with the warnings
# that programs use.
WARNINGS="$STRICT -Wmissing-field-initializers -Wmissing-braces"
{
    printf '#include <heddle/heddle.h>\nint main(void)\n{\n'
    for structure in $(sed -n 's/^typedef struct \(hd_[a-z_]*\) {$/\1/p' include/heddle/*.h); do
        printf '    %s a_%s = HD_INIT;\n    (void)a_%s;\n' "$structure" "$structure" "$structure"
    done
    printf '    return 0;\n}\n'
} >"$scratch/init.c"
cp "$scratch/init.c" "$scratch/init.cpp"
check "there are structures to initialise" test "$(grep -c HD_INIT "$scratch/init.c")" -ge 10

# initialises COMPILER STANDARD FILE
initialises() {
    if command -v "$1" >/dev/null; then
        # shellcheck disable=SC2086
        check "HD_INIT draws no warning as $2 with $1" "$1" -std="$2" $WARNINGS -Iinclude -fsyntax-only "$3"
    else
        skip "HD_INIT draws no warning as $2 with $1" "there is no $1"
    fi
}

for standard in c99 c17; do
    initialises gcc "$standard" "$scratch/init.c"
    initialises clang "$standard" "$scratch/init.c"
done
for standard in c++11 c++17; do
    initialises g++ "$standard" "$scratch/init.cpp"
    initialises clang++ "$standard" "$scratch/init.cpp"
done
same "the headers, the examples and the documentation use it" \
    "$(grep -nE '^[ *]*hd_[a-z_]+ [a-z_]+ = \{0?\};' include/heddle/*.h examples/*.c docs/*.md README.md)" ""

# ---- the programs in the headers and in the documentation ----

ln -s "$BUILD/libheddle.so" "$scratch/libheddle.so"
ln -s "$BUILD/libheddle.so" "$scratch/$(objdump -p "$BUILD/libheddle.so" | sed -n 's/^ *SONAME *//p')"

# runs NAME FILE EXPECTED: compiles a program, and runs it in a new directory.
runs() {
    # shellcheck disable=SC2086
    check "$1 compiles" gcc -std=c17 $WARNINGS -Iinclude "$2" -L"$scratch" -lheddle -o "$scratch/program"
    rm -rf "$scratch/fresh"
    mkdir "$scratch/fresh"
    got=$(cd "$scratch/fresh" && LD_LIBRARY_PATH="$scratch" "$scratch/program" 2>&1)
    same "and works in a new directory" "$? $got" "0 $3"
}

# program_of HEADER: the code that its opening comment shows, each status
# looked at.
program_of() {
    sed -n '2,/^ \* [A-Z]/s/^ \*   \([^.].*\)$/    \1/p' "$1" | sed 's/^ *\(hd_.*&error)\);$/    must(\1, \&error);/'
}

{
    cat <<'C'
#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>
static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        printf("%s: %s\n", hd_status_name(status), error->text);
        exit(1);
    }
}
int main(void)
{
    hd_error error;
    hd_runtime *runtime = NULL;
    hd_runtime_options options = HD_INIT;
    int64_t cents = 0;
    options.directory = "data";
    must(hd_runtime_open(&options, &runtime, &error), &error);
C
    program_of include/heddle/cell.h
    cat <<'C'
    must(hd_runtime_close(runtime, HD_NEVER, &error), &error);
    hd_runtime_free(runtime);
    printf("%d\n", (int)cents);
    return 0;
}
C
} >"$scratch/cell.c"
check "heddle/cell.h begins with a program" test "$(program_of include/heddle/cell.h | grep -c 'must(')" -ge 3
runs "the program in heddle/cell.h" "$scratch/cell.c" 12

sed -n '/^```c$/,/^```$/p' docs/c-api.md | awk '/^```/ { if (seen++ == 1) exit; next } { print }' >"$scratch/docs.c"
runs "the first program of docs/c-api.md" "$scratch/docs.c" "the price is 12"

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
    # shellcheck disable=SC2086
    check "a C++ program links" g++ -std=c++17 $STRICT -Iinclude "$scratch/links.cpp" -L"$scratch" -lheddle -o "$scratch/links"
    check "and runs" env LD_LIBRARY_PATH="$scratch" "$scratch/links"
else
    skip "a C++ program links" "there is no g++"
fi

finish
