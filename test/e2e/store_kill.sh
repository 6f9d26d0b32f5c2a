#!/bin/sh
# What is acknowledged is in the file: writers are killed in the middle of
# their work, again and again, and several of them write to one file at once.
#
# What `try` is given to run, shellcheck takes for unreachable:
# shellcheck disable=SC2317
#
# KILLS is how often (20), SECONDS_TOGETHER how long each crowd writes (2), SEED
# where the moments come from (1).

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

WRITER=$BUILD/bin/programs/store_writer
KILLS=${KILLS:-20}
SECONDS_TOGETHER=${SECONDS_TOGETHER:-2}
SEED=${SEED:-1}

if [ ! -x "$WRITER" ]; then
    not_ok "the writer is built" "there is no $WRITER: make programs"
    finish
fi
cd "$scratch" || exit 1

# Whatever ends this script ends the writers that it started.
writers=""
stop_writers() {
    for pid in $writers; do
        kill -9 "$pid" 2>/dev/null
    done
}
trap 'stop_writers; rm -rf "$scratch"' EXIT

# start FILE NUMBER LEVEL: a writer in the background, whose id is in $started.
# What it prints is added to FILE.acks.NUMBER.
start() {
    "$WRITER" write "$1" "$2" "$3" >>"$1.acks.$2" 2>>"$1.log" &
    started=$!
    writers="$writers $started"
}

# inspect FILE: every acknowledgement is in it, and nothing is wrong.
inspect() {
    cat "$1".acks.* | "$WRITER" check "$1"
}

acknowledged() {
    cat "$1".acks.* | wc -l
}

# ---- killed ----

# moments COUNT: so many pauses from 5 to 105 ms, in seconds.
moments() {
    awk -v seed="$SEED" -v count="$1" 'BEGIN {
        srand(seed)
        for (i = 0; i < count; i++) printf "%.3f\n", 0.005 + rand() * 0.1
    }'
}

# kill_often FILE LEVEL: one writer at a time, killed after each pause; every
# fifth time the file is inspected.
kill_often() {
    "$WRITER" init "$1" >"$1.acks.init" || return 1
    killed=0
    for pause in $(moments "$KILLS"); do
        start "$1" 0 "$2"
        sleep "$pause"
        kill -9 "$started" || return 1
        wait "$started" 2>/dev/null
        killed=$((killed + 1))
        if [ $((killed % 5)) -eq 0 ]; then
            inspect "$1" >"$1.result" || return 1
        fi
    done
    inspect "$1" || return 1
    echo "$killed times killed"
    [ "$(acknowledged "$1")" -gt "$KILLS" ] || {
        echo "hardly anything was written"
        return 1
    }
}

# kill_among FILE: the same while three others go on.
kill_among() {
    "$WRITER" init "$1" >"$1.acks.init" || return 1
    others=""
    for number in 1 2 3; do
        start "$1" "$number" normal
        others="$others $started"
    done
    for pause in $(moments "$((KILLS / 2))"); do
        start "$1" 0 normal
        sleep "$pause"
        kill -9 "$started" || return 1
        wait "$started" 2>/dev/null
    done
    stop_gently "$others" || return 1
    inspect "$1"
}

# ---- together ----

# stop_gently PIDS: each finishes what it is at, and must say that all was well.
stop_gently() {
    result=0
    for pid in $1; do
        kill -TERM "$pid" || result=1
    done
    for pid in $1; do
        wait "$pid" || result=1
    done
    return "$result"
}

# crowd FILE COUNT LEVEL
crowd() {
    "$WRITER" init "$1" >"$1.acks.init" || return 1
    number=0
    together=""
    while [ "$number" -lt "$2" ]; do
        start "$1" "$number" "$3"
        together="$together $started"
        number=$((number + 1))
    done
    sleep "$SECONDS_TOGETHER"
    stop_gently "$together" || {
        cat "$1.log"
        return 1
    }
    inspect "$1" || return 1
    cat "$1.log"
    awk '$1 == "writer" { if (!n++ || $3 < least) least = $3; if ($3 > most) most = $3 }
        END { exit !(least > 0 && least * 10 >= most) }' "$1.log" || {
        echo "a writer hardly had a turn"
        return 1
    }
    # All share one counter: who never met anybody proves nothing.
    grep -q ' [1-9][0-9]* conflicts' "$1.log" || {
        echo "nobody met a conflict"
        return 1
    }
}

# try NAME COMMAND...: like check, and shows what it says when it is well, too.
try() {
    name=$1
    shift
    if output=$("$@" 2>&1); then
        printf '%s\n' "$output" | sed 's/^/# /'
        ok "$name"
    else
        not_ok "$name" "$output"
    fi
}

try "full: killed, every acknowledgement is there" kill_often full.db full
try "normal: killed, every acknowledgement is there" kill_often normal.db normal
try "killed among others, who go on" kill_among among.db
try "two at once" crowd two.db 2 normal
try "four at once" crowd four.db 4 normal
try "four at once at full" crowd sync.db 4 full
finish
