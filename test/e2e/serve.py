#!/usr/bin/env python3
"""`heddle serve` as a stranger meets it: over raw sockets, with the scenarios K (connection, session) and N (fan-out,
markers, echo) by their ids. The client is test/e2e/lib/wire.py.

Nothing here waits for a time: an answer is awaited, or the end of a process.
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
from wire import Closed, Server, Wire, increment, put

HEDDLE = os.path.abspath(os.environ.get("HEDDLE", "build/gcc-release/heddle"))


@contextlib.contextmanager
def serving(*words, **options):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(HEDDLE, os.path.join(folder, "data"), *words, **options)
        try:
            yield server
        finally:
            code = server.stop()
            with open(server.log, encoding="utf-8") as log:
                expect(code in (0, -signal.SIGKILL), f"the server ended with {code}\n{log.read()}")


def changes(wire, channel):
    """The documents of the next sync that has any."""
    while True:
        sync = wire.find(channel, "sync")
        if sync.get("upserts"):
            return {one["id"]: one.get("document", {}).get("value") for one in sync["upserts"]}


def watch(wire, channel, *ids):
    wire.send(channel, "watch", targets=[{"id": one} for one in ids])
    return wire.find(channel, "sync")


# ---- K: connection and session ----


@test
def k01_a_line_before_hello_and_a_second_hello_are_errors_and_the_connection_stays():
    with serving() as server:
        wire = Wire(server.port, hello=False)
        wire.say(0, {"kind": "attach", "channel": 1, "space": "main"})
        expect_equal(wire.expect(0, "error")["code"], "PROTOCOL")
        wire.say(0, {"kind": "hello", "version": 1})
        wire.expect(0, "welcome")
        wire.say(0, {"kind": "hello", "version": 1})
        expect_equal(wire.expect(0, "error")["code"], "PROTOCOL")
        expect_equal(wire.open(1, "s1")["kind"], "opened")


@test
def k02_another_version_is_refused_and_the_connection_is_not_ready():
    with serving() as server:
        wire = Wire(server.port, hello=False)
        wire.say(0, {"kind": "hello", "version": 2})
        expect_in("version 1", wire.expect(0, "error")["message"])
        wire.say(0, {"kind": "attach", "channel": 1, "space": "main"})
        expect_in("hello", wire.expect(0, "error")["message"])


@test
def k03_a_flag_that_is_not_boolean_is_refused_and_unknown_flags_are_ignored():
    with serving() as server:
        wire = Wire(server.port, hello=False)
        wire.say(0, {"kind": "hello", "version": 1, "flags": {"deltas": "yes"}})
        wire.expect(0, "error")
        wire.say(0, {"kind": "hello", "version": 1, "flags": []})
        wire.expect(0, "error")
        wire.say(0, {"kind": "hello", "version": 1, "flags": {"neverHeardOf": True}})
        wire.expect(0, "welcome")


@test
def k04_garbage_gets_an_error_each_and_then_the_connection_works():
    with serving() as server:
        wire = Wire(server.port, hello=False)
        garbage = ["x", "0", "0 ", "0 {", "0 []", "0 null", "-1 {}", "99999999999999999999 {}", "1 {}", "0  {}", "\u00ff",
                   "0 {\"kind\":5}", "0 {\"kind\":\"hello\"}", "1", " 0 {}"]
        for text in garbage:
            wire.text(text)
            expect_equal(wire.expect(0, "error")["code"], "PROTOCOL")
        wire.text("\n\n0 {\"kind\":\"hello\",\"version\":1}\n\n")
        wire.expect(0, "welcome")
        expect_equal(wire.open(1, "s1")["kind"], "opened")


@test
def a_channel_that_sends_garbage_ends_and_others_live():
    with serving() as server:
        wire = Wire(server.port)
        wire.open(1, "s1")
        wire.open(2, "s2")
        wire.text("1 {\"kind\":\"commits\"")
        detached = wire.find(0, "detached")
        expect_equal((detached["channel"], detached["code"]), (1, "PROTOCOL"))
        wire.commit(2, "s2", 1, put("of:a", 1))
        expect_equal(wire.verdict(2)["seq"], 1)


@test
def k09_a_session_that_another_connection_takes_over_is_revoked_there():
    with serving() as server:
        one, two = Wire(server.port), Wire(server.port)
        opened = one.open(1, "s1")
        one.commit(1, "s1", 1, put("of:a", 1))
        one.verdict(1)
        two.attach(1, session="s1")
        two.send(1, "open", 2, session="s1", seenSeq=0, **({"token": opened["token"]} if "token" in opened else {}))
        expect_equal(two.find(1, "opened")["resumed"], True)
        expect_equal(one.find(1, "revoked")["reason"], "taken-over")


@test
def k08_another_user_does_not_get_the_session():
    with serving() as server:
        one, two = Wire(server.port), Wire(server.port)
        one.open(1, "s1", user="ann")
        two.attach(1, session="s1", user="bob")
        two.send(1, "open", session="s1", seenSeq=0)
        two.find(1, "revoked")
        one.commit(1, "s1", 1, put("of:a", 1))
        expect_equal(one.verdict(1)["seq"], 1)


@test
def k10_one_session_name_in_two_spaces_is_two_sessions():
    with serving() as server:
        wire = Wire(server.port)
        wire.open(1, "s1", "red")
        wire.open(2, "s1", "blue")
        watch(wire, 1, "of:a")
        watch(wire, 2, "of:a")
        other = Wire(server.port)
        other.open(1, "s2", "red")
        other.commit(1, "s2", 1, put("of:a", "red"))
        other.verdict(1)
        expect_equal(changes(wire, 1), {"of:a": "red"})
        wire.commit(2, "s1", 1, put("of:b", "blue"))
        while True:  # nothing but the answer comes on the channel of the other space
            channel, line = wire.next()
            expect_equal(channel, 2)
            if line["kind"] == "verdicts":
                break


@test
def k16_a_session_that_reconnects_resumes_and_gets_what_it_missed():
    with serving() as server:
        one, two = Wire(server.port), Wire(server.port)
        one.open(1, "s1")
        seen = watch(one, 1, "of:a")["toSeq"]
        two.open(1, "s2")
        one.close()
        two.commit(1, "s2", 1, put("of:a", "later"))
        two.verdict(1)
        again = Wire(server.port)
        again.attach(1, session="s1")
        again.send(1, "open", 2, session="s1", seenSeq=seen)
        opened = again.find(1, "opened")
        if not opened.get("resumed"):
            again.send(1, "watch", 2, targets=[{"id": "of:a"}])
        expect_equal(changes(again, 1), {"of:a": "later"})


@test
def a_commit_that_is_sent_again_after_a_restart_gets_the_same_verdict_and_is_applied_once():
    with serving() as server:
        wire = Wire(server.port)
        wire.open(1, "s1")
        wire.commit(1, "s1", 1, increment("of:n"))
        first = wire.verdict(1)
        server.kill()
        server.start()
        wire = Wire(server.port)
        expect_equal(wire.attach(1, session="s1")["nextLocalSeq"], 2)
        wire.send(1, "open", 2, session="s1", seenSeq=0)
        wire.find(1, "opened")
        wire.commit(1, "s1", 1, increment("of:n"), connection=2)
        again = wire.verdict(1)
        expect_equal((again["seq"], again["replayed"]), (first["seq"], True))
        wire.send(1, "watch", 2, targets=[{"id": "of:n"}])
        expect_equal(changes(wire, 1), {"of:n": 1})


@test
def a_channel_number_is_free_again_after_its_detach():
    with serving() as server:
        wire = Wire(server.port)
        wire.open(1, "s1", "red")
        expect_in("in use", wire.attach(1, "blue")["message"])
        wire.say(0, {"kind": "detach", "channel": 1})
        expect_equal(wire.find(0, "detached").get("code"), None)
        expect_equal(wire.open(1, "s1", "blue")["kind"], "opened")
        wire.say(0, {"kind": "detach", "channel": 7})
        expect_equal(wire.expect(0, "error")["code"], "PROTOCOL")


@test
def invalid_attaches_are_refused_with_a_reason():
    with serving("--set", "channels=10") as server:
        wire = Wire(server.port)
        rows = [({"channel": 0, "space": "main"}, "channel"), ({"channel": 11, "space": "main"}, "limit"),
                ({"channel": 1}, "space"), ({"channel": 1, "space": "../x"}, "space"),
                ({"channel": 1, "space": ""}, "space"), ({"channel": 1, "space": 7}, "space"),
                ({"channel": 1, "space": "main", "user": "*"}, "")]
        for fields, words in rows:
            wire.say(0, {"kind": "attach", **fields})
            refused = wire.expect(0, "refused")
            expect_in(words, refused["message"])
            expect_equal(len(refused["challenge"]), 64)
        expect_equal(wire.open(10, "s1")["kind"], "opened")


# ---- N: fan-out, markers, echo ----


@test
def n02_a_commit_outside_of_all_watches_gets_an_empty_sync_with_its_marker():
    with serving() as server:
        wire = Wire(server.port)
        wire.open(1, "s1")
        wire.commit(1, "s1", 1, put("of:z", 1))
        wire.verdict(1)
        sync = wire.expect(1, "sync")
        expect_equal((sync["caughtUpLocalSeq"], sync.get("upserts")), (1, None))


@test
def n03_a_conflict_brings_what_won_and_the_marker():
    with serving() as server:
        one, two = Wire(server.port), Wire(server.port)
        one.open(1, "s1")
        two.open(1, "s2")
        watch(one, 1, "of:b")
        two.commit(1, "s2", 1, put("of:b", "won"))
        two.verdict(1)
        one.commit(1, "s1", 1, put("of:b", "lost"), reads=[{"id": "of:b", "path": [], "seq": 0}])
        while True:
            channel, line = one.next()
            if line["kind"] == "verdicts":
                expect_equal(line["verdicts"][0]["error"]["name"], "CONFLICT")
            elif line.get("caughtUpLocalSeq") == 1:
                expect_equal([up["document"]["value"] for up in line["upserts"]], ["won"])
                return


@test
def n06_the_last_of_two_writes_reaches_both():
    with serving() as server:
        one, two = Wire(server.port), Wire(server.port)
        for wire, name in ((one, "s1"), (two, "s2")):
            wire.open(1, name)
            watch(wire, 1, "of:a")
        one.commit(1, "s1", 1, put("of:a", "first"))
        one.verdict(1)
        two.commit(1, "s2", 1, put("of:a", "second"))
        two.verdict(1)
        while changes(one, 1) != {"of:a": "second"}:
            pass
        three = Wire(server.port)
        three.open(1, "s3")
        expect_equal(watch(three, 1, "of:a")["upserts"][0]["document"]["value"], "second")


@test
def n12_the_verdict_of_a_commit_comes_before_a_sync_that_covers_it():
    with serving() as server:
        wires = [Wire(server.port) for _ in range(8)]
        for number, wire in enumerate(wires):
            wire.open(1, f"s{number}")
            watch(wire, 1, "of:n")
        for turn in range(1, 21):
            for number, wire in enumerate(wires):
                wire.commit(1, f"s{number}", turn, increment("of:n"))
        for wire in wires:
            landed = {}
            covered = 0
            while len(landed) < 20 or covered < 160:
                _, line = wire.next()
                if line["kind"] == "verdicts":
                    for verdict in line["verdicts"]:
                        expect(verdict["seq"] > covered, "a sync covered a commit before its verdict")
                        landed[verdict["localSeq"]] = verdict["seq"]
                elif line["kind"] == "sync":
                    expect_equal(line["fromSeq"], max(covered, line["fromSeq"]))
                    covered = line["toSeq"]
        reader = Wire(server.port)
        reader.open(1, "reader")
        expect_equal(watch(reader, 1, "of:n")["upserts"][0]["document"]["value"], 160)


# ---- the server as a process ----


@test
def sigterm_answers_what_is_in_flight_and_tells_the_clients():
    with serving() as server:
        wire = Wire(server.port)
        wire.open(1, "s1")
        for turn in range(1, 201):
            wire.commit(1, "s1", turn, increment("of:n"))
        server.process.send_signal(signal.SIGTERM)
        lines, _ = wire.end()
        kinds = [line["kind"] for _, line in lines]
        expect_in("closing", kinds)
        landed = sum(len(line["verdicts"]) for _, line in lines if line["kind"] == "verdicts")
        expect_equal(server.process.wait(), 0)
        server.start()
        wire = Wire(server.port)
        wire.open(1, "s2")
        value = watch(wire, 1, "of:n")["upserts"][0]["document"]["value"]
        expect(landed <= value <= 200, f"{landed} were acknowledged, {value} are stored")


@test
def the_same_directory_can_be_used_beside_the_server():
    with serving() as server:
        folder = server.command[3]
        wire = Wire(server.port)
        wire.open(1, "s1")
        watch(wire, 1, "of:note")
        done = subprocess.run([HEDDLE, "store", "commit", os.path.join(folder, "main.db"), "--text",
                               json.dumps({"session": "x", "localSeq": 1, "branch": "",
                                           "operations": [put("of:note", "from outside")]})],
                              capture_output=True, text=True, check=False)
        expect_equal((done.returncode, done.stderr), (0, ""))
        expect_equal(changes(wire, 1), {"of:note": "from outside"})


def is_running(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@test
def a_process_beside_the_server_ends_with_it_also_if_the_server_is_killed():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "p.lua").write_text('local heddle = require "heddle"\n'
                                                 'return heddle.pattern("p", function(p) return { n = p:state("n", 1) } end)\n',
                                                 encoding="utf-8")
        server = Server(HEDDLE, os.path.join(folder, "data"), "--run", os.path.join(folder, "p.lua"))
        tasks = f"/proc/{server.process.pid}/task/{server.process.pid}/children"
        children = []
        while not children:
            children = pathlib.Path(tasks).read_text(encoding="utf-8").split()
        server.kill()
        while any(is_running(child) for child in children):
            pass


@test
def insecure_local_refuses_other_addresses():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([HEDDLE, "serve", "--dir", folder, "--insecure-local", "--listen", "0.0.0.0:0"],
                              capture_output=True, text=True, check=False)
        expect_equal(done.returncode, 2)
        expect_in("loopback only", done.stderr)


@test
def settings_are_checked_with_the_file_and_the_line():
    with tempfile.TemporaryDirectory() as folder:
        rows = [("lisen = 127.0.0.1:0", "did you mean 'listen'?"), ("workers = many", "a whole number"),
                ("listen = 127.0.0.1", "ADDRESS:PORT"), ("compress = yes", "true or false"),
                ("owner = ann", "did:key"), ("what", "NAME = VALUE"), ("workers = 1000", "at most 64 workers"),
                ("durability = none", "full or normal"), ("certificate = a.pem", "private key")]
        for line, words in rows:
            path = pathlib.Path(folder, "heddle.conf")
            path.write_text(f"# settings\n\n{line}\n", encoding="utf-8")
            done = subprocess.run([HEDDLE, "serve", "--check", "--dir", folder, "--config", str(path)],
                                  capture_output=True, text=True, check=False)
            expect_equal(done.returncode, 2)
            expect_in(words, done.stderr)
        path.write_text("listen = 127.0.0.1:0\nworkers = 2\n", encoding="utf-8")
        subprocess.run([HEDDLE, "serve", "--check", "--dir", folder, "--config", str(path)], check=True,
                       capture_output=True)


@test
def the_settings_of_the_example_are_valid():
    example = HERE.parents[1] / "examples" / "server" / "heddle.conf"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([HEDDLE, "serve", "--check", "--dir", folder, "--config", str(example)],
                              capture_output=True, text=True, check=False)
        expect_equal((done.returncode, done.stderr), (0, ""))


@test
def a_pattern_beside_the_server_handles_events_and_is_restarted():
    with tempfile.TemporaryDirectory() as folder:
        pattern = pathlib.Path(folder, "count.lua")
        pattern.write_text("""
            local heddle = require "heddle"
            return heddle.pattern("count", function(p)
              local n = p:state("n", 0)
              p:handler("add", function() n:increment(1) return n:value() end)
              return { n = n }
            end)""", encoding="utf-8")
        with serving("--run", str(pattern)) as server:
            handled(server, "one", 1)
            handled(server, "one", 1)  # the same receipt: handled once
            handled(server, "two", 2)
            for child in children(server.process.pid):
                os.kill(child, signal.SIGKILL)
            handled(server, "three", 3)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]


def handled(server, key, value):
    """The receipt of an event that is sent until the pattern beside the server runs."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("POST", "/v1/spaces/main/pieces/count/streams/add", "null",
                           {"Content-Type": "application/json", "Idempotency-Key": key})
        response = connection.getresponse()
        body = json.loads(response.read())
        connection.close()
        if response.status == 200:
            expect_equal(body, value)
            return body
        expect(response.status in (202, 404, 504), f"{response.status}: {body}")


@test
def a_message_over_the_limit_closes_the_connection_and_harms_no_other():
    with serving("--set", "message-bytes=65536") as server:
        good = Wire(server.port)
        good.open(1, "s1")
        bad = Wire(server.port)
        bad.open(1, "s2")
        try:
            bad.text("1 " + "x" * 200000)
            bad.end()
        except (Closed, OSError):
            pass
        good.commit(1, "s1", 1, put("of:a", 1))
        expect_equal(good.verdict(1)["seq"], 1)


@test
def open_spaces_are_bounded_and_idle_ones_make_room():
    with serving("--set", "open-spaces=4", "--set", "workers=1") as server:
        wire = Wire(server.port)
        for number in range(1, 5):
            expect_equal(wire.attach(number, f"space{number}")["kind"], "attached")
        refused = wire.attach(5, "space5")
        expect_equal((refused["code"], refused["class"]), ("OVERLOADED", "retry"))
        wire.say(0, {"kind": "detach", "channel": 2})
        wire.find(0, "detached")
        expect_equal(wire.attach(6, "space5")["kind"], "attached")


main()
