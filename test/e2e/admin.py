#!/usr/bin/env python3
"""Operation of a running server: `heddle admin`, and what `heddle doctor` says about a server."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE / "lib"))
from tap import expect, expect_equal, expect_in, main, test
from wire import Server, Wire, put

HEDDLE = os.path.abspath(os.environ.get("HEDDLE", "build/gcc-release/heddle"))


def heddle(*words, env=None):
    """(code, standard output, standard error)"""
    done = subprocess.run([HEDDLE, *words], capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False)
    return done.returncode, done.stdout, done.stderr


@contextlib.contextmanager
def serving(*words, insecure=True):
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        server = Server(HEDDLE, data, *words, insecure=insecure)
        server.folder, server.data = folder, data
        try:
            yield server
        finally:
            code = server.stop()
            with open(server.log, encoding="utf-8") as log:
                expect(code in (0, -signal.SIGKILL), f"the server ended with {code}\n{log.read()}")


# ---- one server per directory ----


@test
def a_second_server_of_a_directory_is_refused_with_the_process_and_the_address_of_the_first():
    with serving() as server:
        code, _, said = heddle("serve", "--dir", server.data, "--listen", "127.0.0.1:0", "--insecure-local")
        expect(code != 0, "a second server began")
        expect_in(f"process {server.process.pid} at {server.url}", said)
        server.kill()
        server.start()  # a killed one leaves no claim behind


@test
def doctor_shows_the_server_of_a_directory_and_warns_of_one_without_authentication():
    with serving() as server:
        code, text, _ = heddle("doctor", "--dir", server.data)
        expect_equal(code, 1)
        expect_in(f"serving: {server.url} (pid {server.process.pid})", text)
        expect_in("--insecure-local", text)
        about = json.loads(heddle("doctor", "--dir", server.data, "--json")[1])
        expect_equal((about["server"]["pid"], about["server"]["insecureLocal"]), (server.process.pid, True))
        expect_equal(about["sessions"], [])
        server.kill()
        expect("server" not in json.loads(heddle("doctor", "--dir", server.data, "--json")[1]), "a killed server is shown")
    with serving(insecure=False) as server:
        code, text, _ = heddle("doctor", "--dir", server.data)
        expect_equal(code, 0)
        expect_in(f"serving: {server.url}", text)
        expect("--insecure-local" not in text, text)


# ---- heddle admin ----


class Realm:
    """A server that asks for identity, and people with keys: "root" is an owner of the server."""

    def __init__(self, server):
        self.server = server
        self.names = {}

    def key(self, name):
        return os.path.join(self.server.data, "server.key") if name == "root" else os.path.join(self.server.folder, f"{name}.key")

    def did(self, name):
        if name not in self.names:
            words = ("show",) if name == "root" else ("new",)
            self.names[name] = heddle("key", *words, self.key(name))[1].strip()
        return self.names[name]

    def admin(self, name, *words):
        """`heddle admin` as that person."""
        self.did(name)
        return heddle("admin", *words, "--server", self.server.url, "--key", self.key(name))

    def tell(self, name, *words):
        code, text, said = self.admin(name, *words, "--json")
        expect_equal((words, code, said), (words, 0, ""))
        return json.loads(text)

    def token(self, name, *words):
        self.did(name)
        code, text, said = heddle("token", "--key", self.key(name), "--audience", self.server.audience, "--for", "1h",
                                  *(words or ("--space", "*", "--cap", "owner")))
        expect_equal((code, said), (0, ""))
        return text.strip()

    def wire(self, name, space="main", session=None):
        wire = Wire(self.server.port)
        session = session or f"session-{name}"
        answer = wire.open(1, session, space, token=self.token(name))
        wire.session, wire.count = session, 0
        return wire, answer


def commit(wire, *operations):
    wire.count += 1
    wire.commit(1, wire.session, wire.count, *operations)
    return wire.verdict(1)


@contextlib.contextmanager
def realm(*words):
    with serving(*words, insecure=False) as server:
        yield Realm(server)


@test
def grant_creates_the_access_document_of_a_fresh_space_and_changes_it():
    with realm() as one:
        expect_equal(one.tell("root", "grant", "main", one.did("ann"), "owner")["access"],
                     {one.did("root"): "OWNER", one.did("ann"): "OWNER"})
        one.tell("ann", "grant", "main", one.did("bob"), "write")
        one.tell("ann", "grant", "main", "*", "read")
        one.tell("ann", "grant", "main", one.did("root"), "none")
        want = {one.did("ann"): "OWNER", one.did("bob"): "WRITE", "*": "READ"}
        for name in ("ann", "bob", "cat"):
            expect_equal(one.tell(name, "access", "main")["access"], want)
        code, text, _ = one.admin("ann", "access", "main")
        expect_equal(code, 0)
        expect_in("WRITE", text)


@test
def the_last_owner_cannot_be_removed():
    with realm() as one:
        one.tell("root", "grant", "main", one.did("ann"), "owner")
        one.tell("ann", "grant", "main", one.did("root"), "none")
        for words in (("grant", "main", one.did("ann"), "none"), ("grant", "main", one.did("ann"), "write"),
                      ("revoke", "main", one.did("ann"))):
            code, _, said = one.admin("ann", *words)
            expect(code != 0, f"{words} left no owner")
            expect_in("OWNER", said)
        expect_equal(one.tell("ann", "access", "main")["access"], {one.did("ann"): "OWNER"})


@test
def a_stranger_a_reader_and_a_writer_are_refused():
    with realm() as one:
        one.tell("root", "grant", "main", one.did("ann"), "owner")
        one.tell("root", "grant", "main", one.did("bob"), "write")
        one.tell("root", "grant", "main", one.did("cat"), "read")
        target = os.path.join(one.server.folder, "stolen.db")
        rows = [(("sessions", "main"), "ann"), (("access", "main"), "ann bob cat"),
                (("grant", "main", "x@example.com", "read"), "ann"), (("revoke", "main", "x@example.com"), "ann"),
                (("compact", "main"), "ann"), (("drain",), ""), (("grant", "fresh", "x@example.com", "owner"), "")]
        for words, allowed in rows:
            for name in ("ann", "bob", "cat", "dan"):
                code, _, said = one.admin(name, *words)
                expect_equal((words, name, "may" if code == 0 else "may not", said if code == 0 else ""),
                             (words, name, "may" if name in allowed.split() else "may not", ""))
        for name in ("bob", "cat", "dan"):
            expect(one.admin(name, "backup", "main", target)[0] != 0, f"{name} has made a backup")
        expect_equal([os.path.exists(target + tail) for tail in ("", ".part")], [False, False])
        expect(not os.path.exists(os.path.join(one.server.data, "fresh.db")), "a stranger created a space")
        code, _, said = heddle("admin", "spaces", "--server", one.server.url, env={"HOME": one.server.folder})
        expect(code != 0 and "token or a proof" in said, f"without identity: {code} {said}")


@test
def spaces_are_listed_for_those_who_may_read_them():
    with realm() as one:
        one.tell("root", "grant", "red", one.did("ann"), "owner")
        one.tell("root", "grant", "blue", one.did("bob"), "owner")
        heddle("store", "commit", os.path.join(one.server.data, "old.db"), "--text", json.dumps(
            {"session": "outside", "localSeq": 1, "branch": "", "operations": [put("of:a", 1)]}))
        wire, _ = one.wire("ann", "red")
        commit(wire, put("of:a", 1))
        names = {name: [row["space"] for row in one.tell(name, "spaces")] for name in ("root", "ann", "bob", "dan")}
        expect_equal(names, {"root": ["blue", "old", "red"], "ann": ["red"], "bob": ["blue"], "dan": []})
        rows = {row["space"]: row for row in one.tell("root", "spaces")}
        expect_equal((rows["red"]["seq"], rows["red"]["open"], rows["red"]["channels"]), (2, True, 1))
        expect_equal((rows["old"]["seq"], rows["old"]["open"], rows["old"]["channels"]), (1, False, 0))
        expect(rows["red"]["bytes"] > 4096, f"a space of {rows['red']['bytes']} bytes")
        code, text, _ = one.admin("root", "spaces")
        expect_equal(code, 0)
        expect_in("CHANNELS", text)


@test
def nobody_writes_to_the_space_that_has_no_file():
    with realm() as one:
        wire, opened = one.wire("root", "server:")
        expect_equal(opened["kind"], "opened")
        expect_equal(commit(wire, put("of:a", 1))["error"]["name"], "ACCESS")
    with serving() as server:
        wire = Wire(server.port)
        wire.open(1, "s1", "server:")
        wire.commit(1, "s1", 1, put("of:a", 1))
        expect_equal(wire.verdict(1)["error"]["name"], "ACCESS")
        expect(not os.path.exists(os.path.join(server.data, "server:.db")), "it has a file")


@test
def sessions_show_who_is_connected():
    with realm() as one:
        one.tell("root", "grant", "main", one.did("ann"), "owner")
        wire, _ = one.wire("ann")
        wire.send(1, "watch", targets=[{"id": "of:a"}, {"id": "of:b"}])
        wire.find(1, "sync")
        sessions = {row["session"]: row for row in one.tell("ann", "sessions", "main")}
        ann = sessions["session-ann"]
        expect_equal((ann["principal"], ann["connected"], ann["watches"], ann["capability"]),
                     (one.did("ann"), True, 2, "OWNER"))
        expect(ann["since"] > 1600000000000, f"since {ann['since']}")
        wire.close()
        while one.tell("ann", "sessions", "main") and any(
                row["session"] == "session-ann" and row["connected"] for row in one.tell("ann", "sessions", "main")):
            pass
        expect_in("session-ann", one.admin("ann", "sessions", "main")[1])


@test
def revoke_ends_the_channels_of_a_principal_at_once_and_for_good():
    with realm() as one:
        one.tell("root", "grant", "main", one.did("ann"), "owner")
        one.tell("ann", "grant", "main", one.did("bob"), "write")
        bob, opened = one.wire("bob")
        expect_equal(opened["kind"], "opened")
        expect_equal(one.tell("ann", "revoke", "main", one.did("bob"))["ended"], 1)
        expect_equal(bob.find(0, "detached")["code"], "ACCESS")
        expect_equal(one.wire("bob", session="again")[1]["code"], "ACCESS")
        one.tell("ann", "grant", "main", one.did("bob"), "read")
        bob, opened = one.wire("bob", session="a reader")
        expect_equal(commit(bob, put("of:a", 1))["error"]["name"], "ACCESS")
        one.tell("ann", "grant", "main", one.did("bob"), "none")
        expect_equal(bob.find(0, "detached")["code"], "ACCESS")


@test
def revoke_also_ends_the_channels_of_a_token_that_grants():
    with realm() as one:
        one.tell("root", "grant", "main", one.did("ann"), "owner")
        guest = Wire(one.server.port, bearer=one.token("root", "--space", "main", "--cap", "read", "--to", "guest@example.com"))
        expect_equal(guest.attach(1, session="guest")["kind"], "attached")
        expect_equal(one.tell("ann", "revoke", "main", "guest@example.com")["ended"], 1)
        expect_equal(guest.find(0, "detached")["code"], "ACCESS")


@test
def a_token_is_an_identity_too_and_one_for_a_space_does_not_concern_the_server():
    with realm() as one:
        one.tell("root", "grant", "main", one.did("ann"), "owner")

        def code_of(token, *words):
            return heddle("admin", *words, "--server", one.server.url, env={"HEDDLE_TOKEN": token})[0]

        for words, want in ((("--space", "*", "--cap", "owner"), (0, 0)), (("--space", "main", "--cap", "owner"), (0, 3)),
                            (("--space", "main", "--cap", "write"), (3, 3))):
            token = one.token("root", *words)
            expect_equal((words, code_of(token, "sessions", "main"), code_of(token, "spaces")), (words, *want))
        narrow = one.token("root", "--space", "main", "--cap", "owner")
        expect(code_of(narrow, "drain") != 0, "a token for one space has ended the server")
        expect_equal(one.tell("root", "access", "main")["access"][one.did("ann")], "OWNER")


@test
def a_backup_under_writes_is_a_consistent_prefix_with_all_that_was_acknowledged_before():
    with realm() as one:
        one.tell("root", "grant", "main", one.did("ann"), "owner")
        wire, _ = one.wire("ann")
        text = "x" * 2000
        for number in range(300):
            wire.count += 1
            wire.commit(1, wire.session, wire.count, put(f"of:{number}", text))
        acknowledged = 0
        while wire.count > 0 and acknowledged < 300:
            acknowledged += len(wire.find(1, "verdicts")["verdicts"])
        over = threading.Event()
        last = [0]

        def write():
            writer, _ = one.wire("root", session="writer")
            while not over.is_set():
                last[0] = commit(writer, put("of:counter", writer.count), put("of:twin", writer.count))["seq"]

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for attempt in range(3):
                while last[0] == 0:
                    pass
                before = last[0]
                target = os.path.join(one.server.folder, f"copy-{attempt}.db")
                about = one.tell("ann", "backup", "main", target)
                expect(before <= about["seq"], f"acknowledged {before}, in the backup {about['seq']}")
                expect_equal(os.path.getsize(target), about["bytes"])
                code, said, _ = heddle("store", "check", target)
                expect_equal((code, said if code else ""), (0, ""))
                counter, twin, whole = [json.loads(heddle("store", "show", target, f"of:{name}")[1])
                                        for name in ("counter", "twin", "299")]
                expect(counter["value"] > 0, f"the counter is {counter}")
                expect_equal(counter, twin)  # one commit sets both
                expect_equal(whole["value"], text)
        finally:
            over.set()
            thread.join()
        again = one.admin("ann", "backup", "main", target)
        expect(again[0] != 0, "an existing file was replaced")
        plain = subprocess.run([HEDDLE, "admin", "backup", "main", "-", "--server", one.server.url, "--key", one.key("ann")],
                               capture_output=True, check=True).stdout
        expect(plain.startswith(b"SQLite format 3"), "standard output has no backup")
        expect_equal(os.listdir(os.path.join(one.server.data, "backups")), [])
        expect_equal([name for name in os.listdir(one.server.folder) if ".part" in name], [])


@test
def compact_removes_history_while_the_space_is_served():
    with realm() as one:
        one.tell("root", "grant", "main", one.did("ann"), "owner")
        wire, _ = one.wire("ann")
        for number in range(200):
            commit(wire, put("of:a", number))
        kept = one.tell("ann", "compact", "main", "--keep-from", "100")
        expect_equal(kept["horizon"], 100)
        done = one.tell("ann", "compact", "main", "--keep-commits", "0", "--keep-age", "0")
        expect_equal((done["horizon"], done["interrupted"]), (201, False))
        expect(done["revisionsRemoved"] > 90, f"removed {done}")
        expect_equal(commit(wire, put("of:a", "after"))["seq"], 202)
        code, text, _ = one.admin("ann", "compact", "main")
        expect_equal(code, 0)
        expect_in("history begins at seq 202", text)
        code, said, _ = heddle("check", "--dir", one.server.data)
        expect_equal((code, said if code else ""), (0, ""))


@test
def drain_answers_and_ends_the_server():
    with realm() as one:
        wire, _ = one.wire("root")
        one.tell("root", "drain")
        wire.find(0, "closing")
        expect_equal(one.server.process.wait(20), 0)


@test
def everything_works_without_authentication_too():
    with serving() as server:
        def tell(*words):
            code, text, said = heddle("admin", *words, "--server", server.url, "--user", "ann", "--json")
            expect_equal((words, code, said), (words, 0, ""))
            return json.loads(text)

        expect_equal(tell("grant", "main", "bob", "write")["access"], {"ann": "OWNER", "bob": "WRITE"})
        wire = Wire(server.port)
        wire.open(1, "s1", user="bob")
        expect_in("s1", [row["session"] for row in tell("sessions", "main")])
        expect_equal([row["space"] for row in tell("spaces")], ["main"])
        expect_equal(tell("revoke", "main", "bob")["ended"], 1)
        wire.find(0, "detached")
        tell("backup", "main", os.path.join(server.folder, "copy.db"))
        tell("compact", "main")
        code, _, said = heddle("admin", "sessions", "none", "--server", server.url)
        expect(code != 0 and "none" in said, f"a space that does not exist: {code} {said}")
        tell("drain")
        expect_equal(server.process.wait(20), 0)


@test
def mistakes_on_the_command_line_are_explained():
    code, _, said = heddle("admin", "spaces", env={"HEDDLE_SERVER": ""})
    expect_equal(code, 2)
    expect_in("--server", said)
    code, _, said = heddle("admin", "grant", "main", "ann", "admin", "--server", "ws://127.0.0.1:1")
    expect_equal(code, 2)
    expect_in("read, write, owner or none", said)
    code, _, said = heddle("admin", "spaces", "--server", "ws://127.0.0.1:1")
    expect(code not in (0, 2), f"an unreachable server: {code}")
    expect_in("127.0.0.1:1", said)


main()
