#!/bin/sh
# The demonstration works, and would say so if it did not.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"

output=$(examples/demo.sh 2>&1)
code=$?
if [ "$code" -eq 0 ]; then
    ok "the demonstration succeeds"
else
    not_ok "the demonstration succeeds" "exit code $code" "$output"
fi
steps=$(printf '%s\n' "$output" | grep -c '^\$ ')
same "its last line counts its steps" "$(printf '%s\n' "$output" | tail -n 1)" "demo: all $steps steps went as expected"
check "there are some ($steps)" test "$steps" -ge 12

# A command that is wrong in one small thing.
cat >"$scratch/heddle" <<SH
#!/bin/sh
[ "\$1" != run ] || exec "$HEDDLE" "\$@"
"$HEDDLE" "\$@" | sed 's/75Jckw/75Jckx/'
SH
chmod +x "$scratch/heddle"
HEDDLE=$scratch/heddle examples/demo.sh >"$scratch/output" 2>&1
same "a wrong answer is noticed" "$?" 1
check "and counted" grep -q '^demo: [0-9]* of [0-9]* steps went wrong$' "$scratch/output"
HEDDLE=$scratch/none examples/demo.sh >/dev/null 2>&1
same "so is a command that is missing" "$?" 1

left=$(TMPDIR=$scratch sh -c 'mkdir -p "$TMPDIR/inside"; TMPDIR=$TMPDIR/inside examples/demo.sh >/dev/null; ls "$TMPDIR/inside"')
same "nothing is left behind" "$left" ""

finish
