# What the scripts of test/e2e share: TAP, a scratch folder, and where things
# are. Each begins with
#
#   . "$(dirname "$0")/lib/tap.sh"
#
# and ends with `finish`. The plan comes last, so a script that ends early has
# none and counts as failed.
#
# HEDDLE is the command under test and BUILD the folder of a release build;
# both have defaults. The script continues in the root of the tree.

cd "$(dirname "$0")/../.." || exit 1
ROOT=$PWD

# absolute PATH: so that a script may change its folder.
absolute() {
    case "$1" in
    /*) echo "$1" ;;
    *) echo "$ROOT/$1" ;;
    esac
}

BUILD=$(absolute "${BUILD:-build/gcc-release}")
HEDDLE=$(absolute "${HEDDLE:-$BUILD/heddle}")
export BUILD HEDDLE

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

test_count=0
test_failed=0

# ok NAME, not_ok NAME [SENTENCE...]: one result each. A sentence may have many
# lines.
ok() {
    test_count=$((test_count + 1))
    printf 'ok %d - %s\n' "$test_count" "$1"
}

not_ok() {
    test_count=$((test_count + 1))
    test_failed=$((test_failed + 1))
    name=$1
    shift
    for sentence in "$@"; do
        printf '%s\n' "$sentence" | sed 's/^/# /'
    done
    printf 'not ok %d - %s\n' "$test_count" "$name"
}

# skip NAME WHY: what cannot be tried here, and why.
skip() {
    test_count=$((test_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$test_count" "$1" "$2"
}

# check NAME COMMAND...: the command must succeed; otherwise its output says
# why it did not.
check() {
    name=$1
    shift
    if output=$("$@" 2>&1); then
        ok "$name"
    else
        not_ok "$name" "exit code $?: $*" "$output"
    fi
}

# same NAME GOT WANT: two texts.
same() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        not_ok "$1" "is:       $2" "expected: $3"
    fi
}

finish() {
    echo "1..$test_count"
    [ "$test_failed" -eq 0 ] || exit 1
    exit 0
}
