#!/bin/sh
# HTTP as a script meets it: curl against a server, without and with tokens.
# docs/http.md has the ordinary use, which docs.sh tries.
#
# What `until_true` is given to run, shellcheck takes for unreachable:
# shellcheck disable=SC2317

# shellcheck source-path=SCRIPTDIR source=lib/tap.sh
. "$(dirname "$0")/lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/pieces.sh
. "$ROOT/test/e2e/lib/pieces.sh"

if ! command -v curl >/dev/null; then
    skip "HTTP" "there is no curl"
    finish
fi
HOME=$scratch/home
export HOME
unset HEDDLE_KEY
mkdir "$HOME"

# serve NAME ARGUMENT...: a server on a free port; url is its address.
serve() {
    name=$1
    shift
    start "$name" serve --listen 127.0.0.1:0 "$@"
    server=$pid
    until_true says "$name" serving || cat "$name.err"
    url=$(sed -n 's/.* at ws/http/p' "$name.out")
}

# ask ARGUMENT... PATH: code, body and the file headers are the answer.
ask() {
    : >body
    code=$(curl -s -o body -D headers -w '%{http_code}' --max-time 30 "$@")
    body=$(cat body)
}

# header NAME: of the last answer.
header() {
    tr -d '\r' <headers | sed -n "s/^$1: //p"
}

json='Content-Type: application/json'

cat >shop.lua <<'LUA'
local heddle = require "heddle"
return heddle.pattern("shop", function(p)
  local orders = p:state("orders", heddle.array{})
  local sold = p:computed("sold", function() return #orders:get() end)
  local sell = p:handler("sell", function(order)
    orders:append(order)
    return { sold = sold:get() }
  end)
  return { sold = sold, sell = sell }
end)
LUA

# ---- documents ----

serve first --insecure-local
first=$server first_url=$url
ask -X PUT "$url/v1/spaces/notes/docs/a%2Fb%20%C3%A9" -H "$json" -d '{"value":1}'
same "PUT creates a space and a document" "$code $body" '200 {"seq":1}'
same "the answer has its seq" "$(header etag)" '"1"'
ask "$url/v1/spaces/notes/docs/a/b%20%C3%A9"
same "an encoded slash is a part of the name" "$code $body" '200 {"value":1}'
ask -I "$url/v1/spaces/notes/docs/a/b%20%C3%A9"
same "HEAD has the headers" "$code $(header etag) $(header content-length)" '200 "1" 12'
same "an answer is kept by its reader only, and asked for again" "$(header cache-control)" "private, no-cache"
ask "$url/v1/spaces/notes/docs/a/b%20%C3%A9" -H 'If-None-Match: W/"1", "7"'
same "what the client has is not sent again" "$code $(header etag) $(header cache-control)$body" '304 "1" private, no-cache'
ask -X PUT "$url/v1/spaces/notes/docs/a%2Fb%20%C3%A9" -H 'If-None-Match: *' -H "$json" -d '{"value":2}'
same "nor is it created again" "$code $(header etag)" '412 "1"'
ask "$url/v1/openapi.json"
tag=$(header etag)
ask "$url/v1/openapi.json" -H "If-None-Match: $tag"
same "the description has a tag, too" "$code $(header etag)" "304 $tag"
ask "$url/v1/spaces/notes/docs/a/b%20%C3%A9?pth=/value"
same "an unknown parameter is refused" "$code" 400
ask "$url/v1/spaces/notes/docs/none"
same "no document" "$code $(header etag)" '404 "0"'
ask "$url/v1/spaces/none/docs/a"
same "no space" "$code" 404
ask -X POST "$url/v1/spaces/notes/docs/a" -H "$json" -d 1
same "another method" "$code $(header allow)" '405 GET, HEAD, PUT, PATCH, DELETE'
ask "$url/nothing"
same "no route" "$code" 404
ask -X PUT "$url/v1/spaces/notes/docs/a" -H "$json" -d '{"value":'
same "a malformed body" "$code" 400
ask "$url/v1/openapi.json"
check "the description is that of the file" cmp body "$ROOT/docs/openapi.json"

# 40 writers at the same time, each with the state that it has read: every
# increment lands once.
ask -X PUT "$url/v1/spaces/notes/docs/n" -H "$json" -d '{"value":0}'
add_one() {
    while :; do
        state=$(curl -s -D "h$1" "$url/v1/spaces/notes/docs/n?path=/value")
        tag=$(tr -d '\r' <"h$1" | sed -n 's/^etag: //p')
        answer=$(curl -s -o /dev/null -w '%{http_code}' -X PUT "$url/v1/spaces/notes/docs/n?path=/value" \
            -H "If-Match: $tag" -H "$json" -d "$((state + 1))")
        [ "$answer" = 412 ] || break
    done
    echo "$answer" >"answer$1"
}
writers=""
for i in 1 2 3 4 5 6 7 8; do
    (for j in 1 2 3 4 5; do add_one "$i$j"; done) &
    writers="$writers $!"
done
for pid in $writers; do
    wait "$pid"
done
ask "$url/v1/spaces/notes/docs/n?path=/value"
same "of writers with If-Match none overwrites another" "$body" 40
same "and each is told so" "$(cat answer* | sort | uniq -c | tr -s ' ')" " 40 200"

# ---- streams ----

curl -s -N "$url/v1/spaces/notes/watch?id=n&id=w" >stream 2>/dev/null &
watcher=$!
started="$started $watcher"
check "a stream begins with the state" until_true grep -q '^data: {"id":"n","seq":[0-9]*,"document":{"value":40}}' stream
ask -X PUT "$url/v1/spaces/notes/docs/w" -H "$json" -d '{"value":"told"}'
seq=$(header etag | tr -d '"')
check "and tells of changes" until_true grep -q "^id: $seq" stream
kill "$watcher"
wait "$watcher" 2>/dev/null
ask -X DELETE "$url/v1/spaces/notes/docs/w"
ask --max-time 2 -N "$url/v1/spaces/notes/watch?id=n&id=w" -H "Last-Event-ID: $seq"
same "one that continues has only what is new" "$(grep -c '^event' body) $(grep '^data' body)" \
    "1 data: {\"id\":\"w\",\"seq\":$((seq + 1)),\"document\":null}"

# ---- origins ----

page="Origin: https://app.example.com"
ask -X OPTIONS "$url/v1/spaces/notes/docs/n" -H "$page" -H 'Access-Control-Request-Method: PUT'
same "by default no page of another origin may send a request" "$code $(header access-control-allow-origin)" "403 "
ask -X PUT "$url/v1/spaces/notes/docs/n" -H "$page" -H "$json" -d '{"value":"evil"}'
same "also one that a browser does not ask for" "$code" 403
ask "$url/v1/spaces/notes/docs/n?path=/value" -H "Origin: $url"
same "the server's own pages may, and nothing was written" "$code $body" "200 40"
ask "$url/v1/spaces/notes/docs/n" -H "Host: rebound.example.com"
same "a name that a stranger may have made is not this machine" "$code" 403
cat >origins.conf <<'CONF'
allow-origin = https://app.example.com:443
allow-origin = http://localhost:3000
CONF
HEDDLE_SERVE_ALLOW_ORIGIN='https://one.example.com https://two.example.com' \
    serve origins --insecure-local --dir origins --config origins.conf --allow-origin app://local
origins=$server
for origin in https://app.example.com http://localhost:3000 https://one.example.com https://two.example.com app://local; do
    ask -X OPTIONS "$url/v1/spaces/notes/docs/n" -H "Origin: $origin" -H 'Access-Control-Request-Method: PUT' \
        -H 'Access-Control-Request-Headers: content-type, if-match'
    same "a browser may ask for $origin" "$code $(header access-control-allow-origin) $(header vary)" "204 $origin origin"
done
same "with these methods" "$(header access-control-allow-methods)" "GET, HEAD, POST, PUT, PATCH, DELETE"
same "and headers" "$(header access-control-allow-headers)" \
    "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, prefer"
same "with credentials" "$(header access-control-allow-credentials)" true
ask -X PUT "$url/v1/spaces/notes/docs/n" -H "$page" -H "$json" -d '{"value":1}'
same "its page writes" "$code $(header access-control-allow-origin)" "200 https://app.example.com"
same "and may read these headers" "$(header access-control-expose-headers)" "allow, etag, heddle-seq, location, retry-after"
ask "$url/v1/spaces/notes/docs/n" -H "$page" -H 'If-None-Match: "1"'
same "a 304 has them, too" "$code $(header access-control-allow-origin)" "304 https://app.example.com"
ask "$url/v1/spaces/notes/docs/none" -H "$page"
same "and an error" "$code $(header access-control-allow-origin)" "404 https://app.example.com"
ask --max-time 2 -N "$url/v1/spaces/notes/watch?id=n" -H "$page"
same "and a stream" "$(header access-control-allow-origin) $(grep -c '^event: document' body)" "https://app.example.com 1"
for origin in https://app.example.com.evil.org http://app.example.com https://app.example.com:444 null '*'; do
    ask "$url/v1/spaces/notes/docs/n" -H "Origin: $origin"
    same "$origin is another one" "$code $(header access-control-allow-origin) $(header vary)" "403  origin"
done
# shake_hands ORIGIN: code is that of the handshake of a WebSocket.
shake_hands() {
    ask --max-time 1 "$url/v1/socket" -H 'Upgrade: websocket' -H 'Connection: Upgrade' -H 'Sec-WebSocket-Version: 13' \
        -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' -H 'Sec-WebSocket-Protocol: heddle.1' "$@"
}
shake_hands -H "$page"
same "a page of the origin opens a WebSocket" "$code" 101
shake_hands -H "Origin: https://evil.example.com"
same "and no other" "$code $body" "403 $(printf '%s%s' \
    '{"code":"ACCESS","class":"terminal","message":"web pages of the origin '"'https://evil.example.com'"' may not use this server: ' \
    'its operator can allow them with the setting allow-origin"}')"
shake_hands
same "what is not a browser does" "$code" 101
shake_hands -H "Host: rebound.example.com"
same "not by any name" "$code" 403
sed -i 's/app\.example/new.example/' origins.conf
kill -HUP "$origins"
reloaded() {
    ask "$url/healthz" -H "Origin: https://new.example.com"
    [ "$code" = 200 ]
}
check "SIGHUP reads the origins again" until_true reloaded
ask "$url/healthz" -H "$page"
same "and forgets those that are gone" "$code" 403
stop "$origins" TERM
refuses() {
    "$HEDDLE" serve --check --dir origins "$@" >check.out 2>&1
    [ $? -eq 2 ]
}
for origin in https://app.example.com/ app.example.com '' 'https://' 'https://a b/c' 'https://a,b' null; do
    check "'$origin' is not an origin" refuses --allow-origin "$origin"
    check "and the sentence says what is" grep -q 'such as https://app.example.com' check.out
done
check "every origin is not for a server without authentication" refuses --insecure-local --allow-origin '*'
check "the sentence says what to do" grep -q 'name the origins' check.out
serve any --dir origins --allow-origin '*'
ask "$url/healthz" -H "$page"
same "every origin is allowed, without credentials" \
    "$code $(header access-control-allow-origin) $(header access-control-allow-credentials)" "200 * "
shake_hands -H "Origin: null"
same "also for a WebSocket" "$code" 101
stop "$server" TERM
server=$first url=$first_url

# ---- events ----

"$HEDDLE" run shop.lua --once >/dev/null 2>&1
ask -X POST "$url/v1/spaces/main/pieces/shop/streams/sell?timeout=0" -H "$json" -H 'Idempotency-Key: k1' -d '{"n":1}'
same "an event that no runtime handles is stored" "$code" 202
place=$(header location)
ask "$url$place"
check "its place says that it waits" grep -q '"state":"waiting"' body
curl -s -N "$url/v1/spaces/notes/watch?id=n" >stream 2>/dev/null &
watcher=$!
started="$started $watcher"
check "a stream is open" until_true grep -q '^id:' stream
curl -s -o waited -w '%{http_code}' -X POST "$url/v1/spaces/main/pieces/shop/streams/sell?timeout=60000" \
    -H "$json" -H 'Idempotency-Key: k0' -d '{"n":0}' >status &
sender=$!
started="$started $sender"
# stored ID: whether that many events wait.
stored() {
    ask "$url/v1/spaces/main/events"
    [ "$(grep -o '"state":"waiting"' body | wc -l)" -eq "$1" ]
}
check "and an event waits" until_true stored 2
stop "$server" TERM
same "the server ends" "$code" 0
wait "$watcher"
same "the stream was told why" "$(grep -A1 '^event: error' stream)" 'event: error
data: {"code":"OVERLOADED","class":"retry","message":"the server closes the space; retry"}'
wait "$sender"
same "and the sender of the event that it is stored" "$(cat status)" 202
serve second --insecure-local --run shop.lua
ask -X POST "$url/v1/spaces/main/pieces/shop/streams/sell?timeout=30000" -H "$json" -H 'Idempotency-Key: k1' -d '{"n":1}'
same "the next server handles it once, for the same key" "$code $body" '200 {"sold":1}'
ask -X POST "$url/v1/spaces/main/pieces/shop/streams/sell" -H "$json" -H 'Idempotency-Key: k1' -d '{"n":2}'
same "and refuses another payload" "$code" 409
ask "$url$place"
check "the place has the receipt" grep -q '"state":"done".*"receipt":{"sold":1}' body
senders=""
for i in 1 2 3 4 5 6 7 8 9 10; do
    curl -s -X POST "$url/v1/spaces/main/pieces/shop/streams/sell?timeout=30000" -H "$json" -H 'Idempotency-Key: k2' \
        -d '{"n":2}' >"sent$i" &
    senders="$senders $!"
done
for pid in $senders; do
    wait "$pid"
done
same "ten requests with one key at a time are one event" "$(cat sent* | sort -u)" '{"sold":3}'
# asked PATH TEXT: whether the answer has the text.
asked() {
    ask "$url$1"
    grep -q "$2" body
}
check "the result of the piece follows" until_true asked /v1/spaces/main/pieces/shop '{"sold":3}'
check "why it is so names the handler" until_true asked /v1/spaces/main/why/shop/sold '"handler":"sell"'
ask "$url/metrics"
check "the version" grep -q '^heddle_build_info{version="[0-9.]*"} 1' body
check "metrics" grep -q '^heddle_commits_total{verdict="OK"} ' body
stop "$server" TERM

# ---- identity ----

serve third
token() {
    "$HEDDLE" token "$@" --for 1h --key heddle-data/server.key
}
owner=$(token --cap owner --space notes --to ann)
writer=$(token --cap write --space notes --to bob)
reader=$(token --cap read --space notes --to cid)
docs=$url/v1/spaces/notes/docs
ask "$docs/a/b%20%C3%A9"
same "without a token" "$code $(header www-authenticate)" "401 Bearer"
ask "$docs/a/b%20%C3%A9" -H "Authorization: Bearer nonsense"
same "with one that is none" "$code" 401
ask "$docs/a/b%20%C3%A9" -H "Authorization: Bearer $reader"
same "READ reads" "$code" 200
for method in PUT PATCH; do
    ask -X $method "$docs/x" -H "Authorization: Bearer $reader" -H "$json" -d '{}'
    same "READ does not $method" "$code" 403
done
ask -X DELETE "$docs/n" -H "Authorization: Bearer $reader"
same "READ does not DELETE" "$code" 403
ask -X PUT "$docs/x" -H "Authorization: Bearer $writer" -H "$json" -d '{}'
same "WRITE writes" "$code" 200
ask -X PUT "$docs/access:document" -H "Authorization: Bearer $writer" -H "$json" -d '{"value":{"bob":"OWNER"}}'
same "WRITE does not change access" "$code" 403
ask "$url/v1/spaces/main/pieces" -H "Authorization: Bearer $owner"
same "a token of one space is not for another" "$code" 403
ask "$url/v1/spaces/none/pieces" -H "Authorization: Bearer $owner"
same "whether that exists or not" "$code" 403
ask "$url/v1/spaces" -H "Authorization: Bearer $reader"
same "the list has what the caller may read" "$body" '{"spaces":[{"space":"notes"}]}'
ask "$url/metrics" -H "Authorization: Bearer $reader"
same "metrics are the operator's" "$code" 403
ask -X PUT "$docs/access:document" -H "Authorization: Bearer $owner" -H "$json" -d '{"value":{"ann":"OWNER"}}'
same "OWNER changes access" "$code" 200
stop "$server" TERM
same "the last server ends" "$code" 0

finish
