#!/usr/bin/env python3
"""Who may do what at a server that asks for identity: tokens, the access document and its changes, over the wire and over
HTTP, with the scenarios L by their ids. Where ours is stricter than the scenario (a space without an access document is
closed to everyone but the owners of the server), the test says so.
"""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE / "lib"))
from tap import expect, expect_equal, expect_in, main, test
from wire import Server, Wire, increment, put

HEDDLE = os.path.abspath(os.environ.get("HEDDLE", "build/gcc-release/heddle"))
ACCESS = "access:document"


def run(*words):
    return subprocess.run([HEDDLE, *words], check=True, capture_output=True, text=True).stdout.strip()


class Realm:
    """A server with authentication, and people with keys."""

    def __init__(self, folder, *words):
        self.folder = folder
        self.data = os.path.join(folder, "data")
        self.server = Server(HEDDLE, self.data, *words, insecure=False)
        self.names = {}

    def person(self, name):
        """The did:key of a person."""
        if name not in self.names:
            self.names[name] = run("key", "new", os.path.join(self.folder, f"{name}.key"))
        return self.names[name]

    def token(self, name, cap="owner", space="*", time="1h"):
        """Signed with the key of that person; "server": that of the server, which grants."""
        if name == "server":
            key = os.path.join(self.data, "server.key")
        else:
            self.person(name)
            key = os.path.join(self.folder, f"{name}.key")
        return run("token", "--key", key, "--audience", self.server.audience, "--space", space, "--cap", cap, "--for", time)

    def wire(self, name, space="main", cap="owner", session=None):
        wire = Wire(self.server.port)
        session = session or f"session-{name}"
        answer = wire.open(1, session, space, token=self.token(name, cap))
        wire.session = session
        wire.count = 0
        return wire, answer

    def grant(self, wire, **people):
        """Sets the access document, as the bearer of the wire."""
        entries = {self.person(name) if name != "everyone" else "*": cap for name, cap in people.items()}
        return commit(wire, put(ACCESS, entries))


def commit(wire, *operations):
    wire.count += 1
    wire.commit(1, wire.session, wire.count, *operations)
    return wire.verdict(1)


def state(wire, document):
    wire.send(1, "watch", targets=[{"id": document}])
    while not (sync := wire.find(1, "sync")).get("pull"):
        pass
    return sync["upserts"][0]


def code_of(verdict):
    return verdict["error"]["name"] if "error" in verdict else "OK"


@contextlib.contextmanager
def realm(*words):
    with tempfile.TemporaryDirectory() as folder:
        one = Realm(folder, *words)
        try:
            yield one
        finally:
            code = one.server.stop()
            with open(one.server.log, encoding="utf-8") as log:
                expect(code in (0, -signal.SIGKILL), f"the server ended with {code}\n{log.read()}")


@test
def nobody_attaches_without_a_credential():
    with realm() as one:
        wire = Wire(one.server.port)
        refused = wire.attach(1)
        expect_equal((refused["code"], refused["class"]), ("UNAUTHENTICATED", "terminal"))
        for number, token in enumerate(("", "x", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290In0.")):
            expect_equal(wire.attach(2 + number, token=token)["code"], "UNAUTHENTICATED")
        expect_equal(wire.attach(50, user="root")["code"], "UNAUTHENTICATED")
        expect(not os.path.exists(os.path.join(one.data, "main.db")), "a stranger created a space")


@test
def k05_a_token_for_another_server_or_an_expired_one_is_refused():
    with realm() as one:
        wire = Wire(one.server.port)
        key = os.path.join(one.data, "server.key")
        other = run("token", "--key", key, "--audience", "heddle:other", "--space", "*", "--cap", "owner", "--for", "1h")
        expect_equal(wire.attach(1, token=other)["code"], "UNAUTHENTICATED")
        expect_equal(wire.attach(2, token=one.token("server"))["kind"], "attached")


@test
def l01_a_fresh_space_is_created_and_claimed_by_an_owner_of_the_server_only():
    with realm() as one:
        _, refused = one.wire("ann")
        expect_equal((refused["kind"], refused["code"]), ("refused", "ACCESS"))
        owner, opened = one.wire("server")
        expect_equal(opened["kind"], "opened")
        expect_equal(code_of(one.grant(owner, ann="OWNER")), "OK")
        ann, opened = one.wire("ann")
        expect_equal(opened["kind"], "opened")
        expect_equal(code_of(commit(ann, put("of:a", 1))), "OK")


@test
def l02_write_does_not_include_access_and_read_does_not_include_write():
    with realm() as one:
        owner, _ = one.wire("server")
        one.grant(owner, ann="OWNER", bob="WRITE", cat="READ")
        bob, _ = one.wire("bob")
        expect_equal(code_of(commit(bob, put("of:a", 1))), "OK")
        expect_equal(code_of(one.grant(bob, bob="OWNER")), "ACCESS")
        cat, _ = one.wire("cat")
        expect_equal(code_of(commit(cat, put("of:a", 2))), "ACCESS")
        expect_equal(state(cat, "of:a")["document"]["value"], 1)
        _, dan = one.wire("dan")
        expect_equal(dan["code"], "ACCESS")
        ann, _ = one.wire("ann")
        expect_equal(code_of(one.grant(ann, ann="OWNER", everyone="READ")), "OK")
        dan, opened = one.wire("dan")
        expect_equal(opened["kind"], "opened")
        expect_equal(code_of(commit(dan, put("of:a", 3))), "ACCESS")


@test
def l03_only_a_whole_and_valid_access_document_in_a_commit_of_its_own_is_accepted():
    with realm() as one:
        owner, _ = one.wire("server")
        one.grant(owner, ann="OWNER")
        ann, _ = one.wire("ann")
        name = one.person("ann")
        bad = [[{"op": "delete", "id": ACCESS}],
               [{"op": "patch", "id": ACCESS, "patches": [{"op": "replace", "path": "/value/x", "value": "READ"}]}],
               [{**put(ACCESS, {name: "OWNER"}), "scope": "user"}],
               [put(ACCESS, {})], [put(ACCESS, {"*": "OWNER"})], [put(ACCESS, {name: "WRITE"})],
               [put(ACCESS, {name: "OWNER", "x": "ADMIN"})], [put(ACCESS, {name: "OWNER", "x": 1})], [put(ACCESS, "OWNER")],
               [put(ACCESS, {name: "OWNER"}), put("of:smuggled", 1)], [put("of:smuggled", 1), put(ACCESS, {name: "OWNER"})]]
        for operations in bad:
            expect_equal(code_of(commit(ann, *operations)), "PROTOCOL")
        expect_equal(state(ann, "of:smuggled")["seq"], 0)
        expect_equal(code_of(commit(ann, put("of:a", 1))), "OK")


@test
def l04_a_malformed_access_document_closes_the_space_and_an_owner_of_the_server_repairs_it():
    with realm() as one:
        owner, _ = one.wire("server")
        one.grant(owner, ann="OWNER")
        ann, _ = one.wire("ann")
        file = os.path.join(one.data, "main.db")
        verdict = run("store", "commit", file, "--text", json.dumps(
            {"session": "outside", "localSeq": 1, "branch": "", "operations": [put(ACCESS, {"ann": 5})]}))
        expect_in("seq", verdict)
        expect_equal(ann.find(0, "detached")["code"], "ACCESS")
        _, refused = one.wire("ann", session="again")
        expect_equal(refused["code"], "ACCESS")
        expect_equal(code_of(one.grant(owner, ann="OWNER")), "OK")
        _, opened = one.wire("ann", session="at last")
        expect_equal(opened["kind"], "opened")


@test
def l05_a_populated_space_without_an_access_document_is_closed_to_everyone_but_owners_of_the_server():
    with realm() as one:
        run("store", "commit", os.path.join(one.data, "main.db"), "--text", json.dumps(
            {"session": "outside", "localSeq": 1, "branch": "", "operations": [put("of:a", 1)]}))
        _, refused = one.wire("ann")
        expect_equal(refused["code"], "ACCESS")
        owner, opened = one.wire("server")
        expect_equal(opened["kind"], "opened")
        expect_equal(code_of(one.grant(owner, ann="READ", bob="OWNER")), "OK")


@test
def l06_a_revocation_ends_the_connection_at_once_and_the_next_attach_is_refused():
    with realm() as one:
        owner, _ = one.wire("server")
        one.grant(owner, ann="OWNER", bob="WRITE")
        bob, _ = one.wire("bob")
        bob.send(1, "watch", targets=[{"id": "of:secret"}])
        bob.find(1, "sync")
        ann, _ = one.wire("ann")
        expect_equal(code_of(one.grant(ann, ann="OWNER")), "OK")
        expect_equal(code_of(commit(ann, put("of:secret", "for ann only"))), "OK")
        seen = []
        while True:
            channel, line = bob.next()
            seen.append(line)
            if channel == 0 and line["kind"] == "detached":
                expect_equal(line["code"], "ACCESS")
                break
        expect("for ann only" not in json.dumps(seen), f"a leak: {seen}")
        refused = bob.attach(2, token=one.token("bob"))
        expect_equal(refused["code"], "ACCESS")
        bob.commit(1, "session-bob", 1, put("of:a", "too late"))
        expect_equal(state(ann, "of:a")["seq"], 0)


@test
def l07_commits_that_arrive_with_the_revocation_are_judged_by_it():
    with realm("--set", "workers=1") as one:
        owner, _ = one.wire("server")
        one.grant(owner, ann="OWNER", bob="WRITE")
        wire = Wire(one.server.port)
        wire.open(1, "s-ann", token=one.token("ann"))
        wire.open(2, "s-bob", token=one.token("bob"))
        lines = []
        grant = {"session": "s-ann", "localSeq": 1, "branch": "", "operations": [put(ACCESS, {one.person("ann"): "OWNER"})]}
        late = {"session": "s-bob", "localSeq": 1, "branch": "", "operations": [put("of:a", "too late")]}
        lines.append("1 " + json.dumps({"kind": "commits", "connection": 1, "number": 2, "commits": [grant]}))
        lines.append("2 " + json.dumps({"kind": "commits", "connection": 1, "number": 2, "commits": [late]}))
        wire.text("\n".join(lines))  # one message: one turn, one group
        verdicts = {}
        detached = False
        while not detached:
            channel, line = wire.next()
            if line["kind"] == "verdicts":
                verdicts[channel] = code_of(line["verdicts"][0])
            detached = channel == 0 and line["kind"] == "detached"
        expect_equal((verdicts[1], verdicts.get(2, "ACCESS")), ("OK", "ACCESS"))


@test
def a_token_of_the_server_grants_its_capability_in_its_space_only():
    with realm() as one:
        owner, _ = one.wire("server")
        one.grant(owner, ann="OWNER")
        reader = run("token", "--key", os.path.join(one.data, "server.key"), "--audience", one.server.audience, "--space",
                     "main", "--cap", "read", "--for", "1h", "--to", "guest@example.com")
        wire = Wire(one.server.port, bearer=reader)
        attached = wire.attach(1, session="guest")
        expect_equal((attached["principal"], attached["capability"]), ("guest@example.com", "READ"))
        expect_equal(wire.attach(2, "other")["code"], "ACCESS")
        wire.send(1, "open", session="guest", seenSeq=0)
        wire.find(1, "opened")
        wire.commit(1, "guest", 1, increment("of:n"))
        expect_equal(code_of(wire.verdict(1)), "ACCESS")


@test
def m16_documents_of_a_user_are_reachable_by_that_user_only():
    with realm() as one:
        owner, _ = one.wire("server")
        one.grant(owner, ann="OWNER", bob="WRITE")
        ann, _ = one.wire("ann")
        phone, _ = one.wire("ann", session="phone")
        bob, _ = one.wire("bob")
        for wire in (phone, bob):
            wire.send(1, "watch", targets=[{"id": "of:mine", "scope": "user"}])
            wire.find(1, "sync")
        expect_equal(code_of(commit(ann, {**put("of:mine", "hers"), "scope": "user"})), "OK")
        while not (sync := phone.find(1, "sync")).get("upserts"):
            pass
        expect_equal(sync["upserts"][0]["document"]["value"], "hers")
        expect_equal(code_of(commit(bob, {**put("of:mine", "his"), "scope": "user"})), "OK")
        while "caughtUpLocalSeq" not in (sync := bob.find(1, "sync")):
            expect("hers" not in json.dumps(sync), f"a leak: {sync}")


# ---- HTTP ----


def ask(port, method, path, token=None, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


@test
def every_route_asks_for_its_right():
    with realm() as one:
        owner, _ = one.wire("server")
        one.grant(owner, ann="OWNER", bob="WRITE", cat="READ")
        commit(owner, put("of:a", 1))
        place = "/v1/spaces/main"
        document = json.dumps({"value": 2})
        access = json.dumps({"value": {one.person("ann"): "OWNER", one.person("bob"): "WRITE", one.person("cat"): "READ"}})
        bearers = {name: one.token(name) for name in ("ann", "bob", "cat", "dan")}
        rows = [("GET", f"{place}/docs/of:a", None, "ann bob cat"), ("PUT", f"{place}/docs/of:a", document, "ann bob"),
                ("DELETE", f"{place}/docs/of:gone", None, "ann bob"), ("GET", f"{place}/log", None, "ann bob cat"),
                ("GET", f"{place}/graph", None, "ann bob cat"), ("GET", f"{place}/pieces", None, "ann bob cat"),
                ("GET", f"{place}/timers", None, "ann bob cat"), ("GET", f"{place}/events", None, "ann bob cat"),
                ("PUT", f"{place}/docs/access:document", access, "ann"), ("GET", "/metrics", None, "")]
        for method, path, body, allowed in rows:
            for name, token in bearers.items():
                status, text = ask(one.server.port, method, path, token, body)
                got = "refused" if status in (401, 403) else "allowed"
                want = "allowed" if name in allowed.split() else "refused"
                expect_equal((method, path, name, got, text if got != want else ""), (method, path, name, want, ""))
            status, text = ask(one.server.port, method, path, None, body)
            expect_equal((path, status, json.loads(text)["code"]), (path, 401, "UNAUTHENTICATED"))


@test
def a_token_for_one_space_does_not_show_what_concerns_the_whole_server():
    with realm() as one:
        for space, cap, want in (("*", "owner", 200), ("*", "write", 403), ("main", "owner", 403)):
            status, _ = ask(one.server.port, "GET", "/metrics", one.token("server", cap, space))
            expect_equal((space, cap, status), (space, cap, want))
        for path in ("/healthz", "/readyz"):
            expect_equal(ask(one.server.port, "GET", path)[0], 200)


@test
def a_stranger_cannot_tell_which_spaces_exist():
    with realm() as one:
        owner, _ = one.wire("server")
        one.grant(owner, ann="OWNER")
        dan = one.token("dan")
        answers = {space: ask(one.server.port, "GET", f"/v1/spaces/{space}/docs/of:a", dan) for space in ("main", "none")}
        expect_equal(answers["main"], answers["none"])
        expect_equal(json.loads(ask(one.server.port, "GET", "/v1/spaces", dan)[1])["spaces"], [])
        expect_equal([space["space"] for space in json.loads(ask(one.server.port, "GET", "/v1/spaces", one.token("ann"))[1])
                      ["spaces"]], ["main"])
        wire = Wire(one.server.port)
        refusals = [wire.attach(number, space, token=dan) for number, space in ((1, "main"), (2, "none"))]
        expect_equal(*[(one["code"], one["message"]) for one in refusals])


@test
def sighup_reads_owners_again_and_keeps_everything_if_one_is_invalid():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "heddle.conf")
        path.write_text("workers = 1\n", encoding="utf-8")
        with realm("--config", str(path)) as one:
            _, refused = one.wire("ann")
            expect_equal(refused["code"], "ACCESS")
            path.write_text(f"workers = 1\nowner = {one.person('ann')}\n", encoding="utf-8")
            one.server.process.send_signal(signal.SIGHUP)
            wait_for_log(one, "reloaded", 1)
            _, opened = one.wire("ann")
            expect_equal(opened["kind"], "opened")
            path.write_text("owner = somebody\n", encoding="utf-8")
            one.server.process.send_signal(signal.SIGHUP)
            wait_for_log(one, "not reloaded", 1)
            _, opened = one.wire("ann", session="again")
            expect_equal(opened["kind"], "opened")


@test
def a_stranger_claims_and_watches_nothing_in_the_space_of_the_server():
    with realm() as one:
        wire, opened = one.wire("dan", "server:")
        expect_equal(opened["kind"], "opened")
        for question in ({"question": "claim", "claim": "presence"}, {"question": "claim", "claim": "session"},
                         {"question": "inspect", "about": "log"}):
            wire.say(1, {"kind": "ask", "id": 1, **question})
            expect(one.folder not in str(error := wire.find(1, "answer")["error"]), f"{error} names the directory")
        expect(not os.path.exists(os.path.join(one.data, "run")), "a stranger has written into the directory")
        wire.send(1, "watch", targets=[{"id": "of:a"}])
        expect_equal(wire.expect(0, "detached")["code"], "PROTOCOL")


@test
def an_owner_that_a_reload_leaves_out_loses_its_open_channels():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "heddle.conf")
        path.write_text("workers = 1\n", encoding="utf-8")
        with realm("--config", str(path)) as one:
            path.write_text(f"workers = 1\nowner = {one.person('ann')}\nowner = {one.person('bob')}\n", encoding="utf-8")
            one.server.process.send_signal(signal.SIGHUP)
            wait_for_log(one, "reloaded", 1)
            ann, _ = one.wire("ann")
            bob, _ = one.wire("bob")
            path.write_text(f"workers = 1\nowner = {one.person('bob')}\n", encoding="utf-8")
            one.server.process.send_signal(signal.SIGHUP)
            detached = ann.expect(0, "detached")
            expect_equal((detached["channel"], detached["code"]), (1, "ACCESS"))
            expect_equal(code_of(commit(bob, put("of:a", 1))), "OK")


def wait_for_log(one, words, count):
    while open(one.server.log, encoding="utf-8").read().count(words) < count:
        expect(one.server.process.poll() is None, "the server has ended")


main()
