# For the scripts that run pieces: processes in the background, and commands
# whose output, standard error and exit code are compared. After lib/tap.sh:
#
#   . test/e2e/lib/pieces.sh
#
# The script continues in the scratch folder.
#
# What `until_true` is given to run, shellcheck takes for unreachable:
# shellcheck disable=SC2317

cd "$scratch" || exit 1

# Whatever ends this script ends what it has started.
started=""
stop_all() {
    for pid in $started; do
        kill -9 "$pid" 2>/dev/null
    done
}
trap 'stop_all; rm -rf "$scratch"' EXIT

# until_true COMMAND...: tries again and again, for ten seconds.
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || return 1
        sleep 0.05
    done
}

# start NAME ARGUMENT...: in the background; its id is in $pid, what it says in
# NAME.out and NAME.err.
start() {
    name=$1
    shift
    : >"$name.out"
    : >"$name.err"
    "$HEDDLE" "$@" >"$name.out" 2>"$name.err" &
    pid=$!
    started="$started $pid"
}

# says NAME TEXT: whether the text has been printed.
says() {
    grep -qF -- "$2" "$1.out" "$1.err"
}

# stop NUMBER SIGNAL: what it ended with is in $code.
stop() {
    kill "-$2" "$1"
    wait "$1"
    code=$?
}

# run ARGUMENT...: out, err and code are what came of it.
run() {
    "$HEDDLE" "$@" >out.txt 2>err.txt
    code=$?
    out=$(cat out.txt)
    err=$(cat err.txt)
}

# try NAME CODE OUT ERR ARGUMENT...: ERR may end in '*', for its beginning.
try() {
    name=$1 want_code=$2 want_out=$3 want_err=$4
    shift 4
    run "$@"
    fine=yes
    case "$want_err" in
    *'*') case "$err" in "${want_err%\*}"*) ;; *) fine=no ;; esac ;;
    *) [ "$err" = "$want_err" ] || fine=no ;;
    esac
    if [ "$code" -ne "$want_code" ] || [ "$out" != "$want_out" ] || [ "$fine" = no ]; then
        not_ok "$name" "exit code $code, expected $want_code" "stdout:   $out" "expected: $want_out" \
            "stderr:   $err" "expected: $want_err"
    else
        ok "$name"
    fi
}
