#!/bin/sh
# heddle key and heddle token: files, names, and tokens that another
# implementation can read.

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
cd "$scratch" || exit 1
HOME=$scratch/home
export HOME
unset HEDDLE_KEY
mkdir "$HOME"

# run WORD...: the command; sets out, err and code.
run() {
    out=$("$HEDDLE" "$@" 2>"$scratch/err")
    code=$?
    err=$(cat "$scratch/err")
}

# refuses CODE NAME PART WORD...: it ends with that code, prints no result, and
# has PART in its message.
refuses() {
    want=$1 name=$2 part=$3
    shift 3
    run "$@"
    case "$err" in
    *"$part"*) found=yes ;;
    *) found=no ;;
    esac
    if [ "$code" -eq "$want" ] && [ -z "$out" ] && [ "$found" = yes ]; then
        ok "$name"
    else
        not_ok "$name" "exit code $code" "stdout: $out" "stderr: $err" "expected: $want, $part"
    fi
}

# ---- keys ----

refuses 1 "without a key there is nothing to show" "heddle key new" key show
run key new
first_key=$out
same "a key is created at its default place" "$code" 0
check "its name is a did:key" expr "$first_key" : 'did:key:z6Mk[1-9A-HJ-NP-Za-km-z]\{44\}$'
same "its file is private" "$(stat -c %a "$HOME/.config/heddle/key")" 600
same "and so is its directory" "$(stat -c %a "$HOME/.config/heddle")" 700
run key show
same "show prints the same name" "$out" "$first_key"
refuses 2 "a key is not overwritten" "--force" key new
run key show
same "it is still the same" "$out" "$first_key"
run key new --force
same "--force replaces it" "$code" 0
check "with another" test "$out" != "$first_key"
run key new mine.key --json
same "--json names the file" "$(printf '%s' "$out" | sed 's/z6Mk[^"]*/z6Mk/')" '{"key":"did:key:z6Mk","file":"mine.key"}'
mine=$("$HEDDLE" key show mine.key)
same "HEDDLE_KEY names another default" "$(HEDDLE_KEY=mine.key "$HEDDLE" key show)" "$mine"
chmod 644 mine.key
refuses 3 "a key that others can read is refused" "chmod 600" key show mine.key
refuses 3 "also for signing" "chmod 600" token --cap read --for 1h --key mine.key
chmod 600 mine.key
echo text >text.key && chmod 600 text.key
refuses 2 "a file that is no key is refused" "not a key file" key show text.key
refuses 3 "a directory that does not exist is not created" "missing" key new missing/dir/key
refuses 2 "one file at a time" "one FILE" key new a b
HOME='' refuses 2 "without a home directory, the file must be named" "HEDDLE_KEY" key show
same "and nothing else is left behind" "$(find . -name '*.key*' | sort | tr '\n' ' ')" "./mine.key ./text.key "

# ---- tokens ----

# claim NAME: of the token in $out.
claim() {
    python3 -c '
import base64, json, sys
part = sys.argv[1].split(".")[1]
print(json.dumps(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))[sys.argv[2]]))' "$out" "$1"
}

run token --space team --cap write --for 1h --key mine.key
same "a token is printed" "$code" 0
same "its issuer is the key" "$(claim iss)" "\"$mine\""
same "its subject is the key" "$(claim sub)" "\"$mine\""
same "its audience is a server with that key" "$(claim aud)" "\"heddle:$mine\""
same "its space" "$(claim space)" '"team"'
same "its capability" "$(claim cap)" '"WRITE"'
same "its life" "$(($(claim exp) - $(claim iat)))" 3600
first=$(claim jti)
run token --space team --cap write --for 1h --key mine.key
check "each has another id" test "$(claim jti)" != "$first"
run token --cap owner --for 7d --to 'ann@example.com' --audience heddle:here --key mine.key
same "--to" "$(claim sub)" '"ann@example.com"'
same "--audience" "$(claim aud)" '"heddle:here"'
same "the default space" "$(claim space)" '"main"'
same "--for 7d" "$(($(claim exp) - $(claim iat)))" 604800
run token --space '*' --cap read --for 30s --to robot --key mine.key --json
same "--json says what the token says" "$(printf '%s' "$out" | sed -e 's/"token":"[^"]*"/"token":"T"/' -e 's/[0-9]*}$/N}/')" \
    "{\"token\":\"T\",\"principal\":\"robot\",\"space\":\"*\",\"capability\":\"READ\",\"audience\":\"heddle:$mine\",\"expires\":N}"
same "the default key signs" "$(run token --cap read --for 1h && claim iss)" "\"$("$HEDDLE" key show)\""

if python3 -c 'import cryptography' 2>/dev/null; then
    run token --cap read --for 1h --key mine.key
    check "another implementation verifies the signature" python3 -c '
import base64, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
token, name = sys.argv[1:]
value = 0
for digit in name[len("did:key:z"):]:
    value = value * 58 + "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".index(digit)
key = value.to_bytes(34, "big")
assert key[:2] == b"\xed\x01"
content, signature = token.rsplit(".", 1)
Ed25519PublicKey.from_public_bytes(key[2:]).verify(
    base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4)), content.encode())' "$out" "$mine"
else
    skip "another implementation verifies the signature" "there is no python3-cryptography"
fi

refuses 2 "a capability is needed" "--cap is missing" token --for 1h --key mine.key
refuses 2 "one of three" "'admin'" token --cap admin --for 1h --key mine.key
refuses 2 "in small letters" "'READ'" token --cap READ --for 1h --key mine.key
refuses 2 "an end is needed" "--for is missing" token --cap read --key mine.key
refuses 2 "a time is needed" "'soon'" token --cap read --for soon --key mine.key
refuses 2 "at least a second" "'10ms'" token --cap read --for 10ms --key mine.key
refuses 2 "not in the far future" "must expire" token --cap read --for 200000000000d --key mine.key
refuses 2 "'*' is not a principal" "all principals" token --cap read --for 1h --to '*' --key mine.key
refuses 2 "a space is a name" "space" token --cap read --for 1h --space a/b --key mine.key
refuses 2 "an audience is not empty" "audience" token --cap read --for 1h --audience '' --key mine.key
refuses 2 "names are UTF-8" "UTF-8" token --cap read --for 1h --to "$(printf 'a\377')" --key mine.key
refuses 1 "the key must exist" "heddle key new" token --cap read --for 1h --key other.key

finish
