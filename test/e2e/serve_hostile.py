#!/usr/bin/env python3
"""`heddle serve` and clients that mean no good, or are broken: floods, slow readers, handshakes that never end, frames and
texts that no client would send. In each test a client that behaves works all the while, and the memory of the server stays
within a generous bound.

Nothing here is timed: an answer is awaited, or the end of a connection."""
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE / "lib"))
from tap import expect, expect_equal, expect_in, main, test
from wire import PATIENCE, Closed, Server, Wire, increment, put

HEDDLE = os.path.abspath(os.environ.get("HEDDLE", "build/gcc-release/heddle"))
MEMORY_KIB = 512 * 1024  # the sanitizers keep what is freed
HANDSHAKE = (b"GET /v1/socket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
             b"Sec-WebSocket-Protocol: heddle.1\r\n\r\n")


class Good:
    """A client that behaves: whatever others do, its commits land and it is told."""

    def __init__(self, server, name="good"):
        self.server = server
        self.name = name
        self.wire = Wire(server.port)
        expect_equal(self.wire.open(1, name, user=name)["kind"], "opened")
        self.count = 0

    def works(self):
        self.count += 1
        self.wire.commit(1, self.name, self.count, increment("of:" + self.name))
        expect("seq" in self.wire.verdict(1), "a commit did not land")


@contextlib.contextmanager
def serving(*words):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(HEDDLE, os.path.join(folder, "data"), *words)
        good = Good(server)
        try:
            good.works()
            yield server, good
            good.works()
            expect(memory(server) < MEMORY_KIB, f"the server has {memory(server)} KiB of memory")
            again = Good(server, "again")
            again.works()
        finally:
            code = server.stop()
            with open(server.log, encoding="utf-8") as log:
                expect_equal((code, "Sanitizer" in log.read()), (0, False))


def memory(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def plain(server):
    return socket.create_connection(("127.0.0.1", server.port), PATIENCE)


def until_closed(one):
    """What comes until the other side ends the connection, or asks to, as a WebSocket does."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while b"\r\n\r\n\x88" not in got:
            more = one.recv(65536)
            if not more:
                break
            got += more
    one.close()
    return got


def send(one, data):
    """Sends what the other side takes; it may have closed."""
    with contextlib.suppress(ConnectionError):
        one.sendall(data)


# ---- connections ----


@test
def handshakes_that_never_end_are_closed():
    with serving("--set", "handshake-ms=300") as (server, good):
        parts = [b"", b"G", b"GET /v1/socket HTTP/1.1\r\n", HANDSHAKE[:-2], HANDSHAKE[:-1],
                 b"POST /v1/spaces/main/docs/of:a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"]
        slow = []
        for turn in range(60):
            one = plain(server)
            send(one, parts[turn % len(parts)])
            slow.append(one)
        good.works()
        for one in slow:
            until_closed(one)


@test
def two_thousand_connections_that_are_dropped_leave_nothing_behind():
    with serving() as (server, good):
        folder = f"/proc/{server.process.pid}/fd"
        before = len(os.listdir(folder))
        chance = random.Random(1)
        for turn in range(2000):
            one = plain(server)
            kind = turn % 5
            if kind == 1:
                send(one, HANDSHAKE[:chance.randrange(len(HANDSHAKE))])
            elif kind >= 2:
                send(one, HANDSHAKE)
            if kind == 3:
                one.recv(10)
            if kind == 4:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
            if turn % 200 == 0:
                good.works()
        while len(os.listdir(folder)) > before + 5:  # the timeout of the test ends it otherwise
            good.works()


@test
def sessions_whose_clients_vanish_do_not_disturb_others():
    with serving() as (server, good):
        for turn in range(300):
            wire = Wire(server.port)
            wire.open(1, f"gone{turn}")
            wire.send(1, "watch", targets=[{"id": "of:good"}])
            wire.commit(1, f"gone{turn}", 1, increment("of:gone"))
            if turn % 2:
                wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.close()
        good.works()


@test
def random_bytes_are_not_a_request():
    with serving("--set", "handshake-ms=500") as (server, good):
        chance = random.Random(2)
        for _ in range(200):
            one = plain(server)
            send(one, chance.randbytes(chance.randrange(1, 3000)))
            one.shutdown(socket.SHUT_WR)
            until_closed(one)
        for _ in range(200):  # after the handshake
            one = plain(server)
            send(one, HANDSHAKE + chance.randbytes(chance.randrange(1, 3000)))
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)
            until_closed(one)
        good.works()


@test
def invalid_frames_end_their_connection():
    def frame(first, second, rest=b""):
        return bytes([first, second]) + rest
    text = b"0 {\"kind\":\"hello\",\"version\":1}"
    zero = b"\0\0\0\0"
    with serving() as (server, good):
        rows = [frame(0xF1, 0x80 | len(text), zero + text),  # reserved bits
                frame(0x83, 0x80 | len(text), zero + text),  # an unknown opcode
                frame(0x89, 0x80 | 126, b"\x01\x00" + zero + b"x" * 256),  # a long ping
                frame(0x09, 0x80, zero),  # a ping in parts
                frame(0x80, 0x80 | len(text), zero + text),  # continues nothing
                frame(0x81, 0x80 | 127, b"\xff" * 8 + zero),  # longer than anything
                frame(0x81, 0x80 | 127, b"\x7f" + b"\xff" * 7 + zero) + b"x" * 20000000]
        for row in rows:
            one = plain(server)
            send(one, HANDSHAKE + row)
            until_closed(one)
            good.works()


# ---- readers ----


@test
def a_client_that_never_reads_is_disconnected_and_others_are_told_everything():
    with serving("--set", "queue-bytes=1048576") as (server, good):
        slow = Wire(server.port)
        opened = slow.open(1, "slow")
        slow.send(1, "watch", targets=[{"id": "of:big"}])
        reader = Wire(server.port)
        reader.open(1, "reader")
        reader.send(1, "watch", targets=[{"id": "of:big"}])
        reader.find(1, "sync")
        for turn in range(300):
            good.wire.commit(1, "good", good.count + 1, put("of:big", [turn, "x" * 100000]))
            good.count += 1
            good.wire.verdict(1)
            while reader.find(1, "sync").get("toSeq", 0) < good.count:
                pass
        lines, closed = [], None
        try:
            lines, closed = slow.end()
        except ConnectionError:
            pass  # reset, with what was not sent
        seen = [line["toSeq"] for at, line in lines if at == 1 and line["kind"] == "sync"]
        expect(not seen or seen[-1] < good.count, "a client that did not read was sent everything")
        expect(closed is None or closed.code in (0, 1013), f"closed with {closed}")
        again = Wire(server.port)
        again.attach(1, session="slow")
        again.send(1, "open", 2, session="slow", seenSeq=0, token=opened["token"])
        if not again.find(1, "opened").get("resumed"):
            again.send(1, "watch", 2, targets=[{"id": "of:big"}])
        while True:
            sync = again.find(1, "sync")
            if sync.get("upserts"):
                expect_equal(sync["upserts"][0]["document"]["value"][0], 299)
                break
        good.works()


@test
def many_clients_that_never_read_do_not_fill_the_memory():
    with serving("--set", "queue-bytes=1048576") as (server, good):
        slow = []
        for turn in range(50):
            wire = Wire(server.port)
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.open(1, f"slow{turn}")
            wire.send(1, "watch", targets=[{"id": "of:big"}])
            slow.append(wire)
        for turn in range(100):
            good.wire.commit(1, "good", good.count + 1, put("of:big", [turn, "x" * 200000]))
            good.count += 1
            good.wire.verdict(1)
        expect(memory(server) < MEMORY_KIB, f"the server has {memory(server)} KiB of memory")
        for wire in slow:
            wire.close()


@test
def a_client_that_asks_and_never_reads_the_answers_is_held_back():
    with serving("--set", "queue-bytes=1048576") as (server, good):
        good.wire.commit(1, "good", good.count + 1, put("of:big", "x" * 500000))
        good.count += 1
        good.wire.verdict(1)
        greedy = Wire(server.port)
        greedy.open(1, "greedy")
        greedy.socket.settimeout(2)  # it writes until it is stopped
        with contextlib.suppress(OSError):
            for _ in range(300):
                greedy.send(1, "watch", targets=[{"id": "of:big"}])
        expect(memory(server) < MEMORY_KIB, f"the server has {memory(server)} KiB of memory")
        good.works()
        greedy.close()


# ---- floods ----


@test
def ten_thousand_commits_in_one_burst_all_land_once():
    with serving() as (server, good):
        wire = Wire(server.port)
        wire.open(1, "burst")
        for message in range(10):
            commits = [{"session": "burst", "localSeq": message * 1000 + turn, "branch": "",
                        "operations": [increment("of:burst")]} for turn in range(1, 1001)]
            wire.send(1, "commits", commits=commits)
        good.works()
        landed = []
        while len(landed) < 10000:
            landed += [verdict["localSeq"] for verdict in wire.find(1, "verdicts")["verdicts"] if "seq" in verdict]
        expect_equal(landed, list(range(1, 10001)))
        reader = Wire(server.port)
        reader.open(1, "reader")
        reader.send(1, "watch", targets=[{"id": "of:burst"}])
        expect_equal(reader.find(1, "sync")["upserts"][0]["document"]["value"], 10000)


@test
def ten_thousand_messages_in_one_burst_all_get_their_verdicts():
    with serving("--set", "messages-per-second=0") as (server, good):
        wire = Wire(server.port)
        wire.open(1, "burst")
        lines = []
        for turn in range(1, 10001):
            commit = {"session": "burst", "localSeq": turn, "branch": "", "operations": [increment("of:burst")]}
            lines.append("1 " + json.dumps({"kind": "commits", "connection": 1, "number": turn + 1, "commits": [commit]}))
        for start in range(0, 10000, 100):
            wire.text("\n".join(lines[start:start + 100]))
        good.works()
        landed = []
        while len(landed) < 10000:
            landed += [verdict["localSeq"] for verdict in wire.find(1, "verdicts")["verdicts"] if "seq" in verdict]
        expect_equal(landed, list(range(1, 10001)))


@test
def too_many_messages_of_one_principal_close_its_channel_and_no_other():
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        server = Server(HEDDLE, data, "--set", "messages-per-second=50", insecure=False)
        wires = []
        for name in ("mallory", "ann"):
            words = ["token", "--key", os.path.join(data, "server.key"), "--space", "main", "--cap", "owner", "--to", name,
                     "--audience", server.audience, "--for", "1h"]
            token = subprocess.run([HEDDLE, *words], capture_output=True, text=True, check=True).stdout.strip()
            wire = Wire(server.port, bearer=token)
            expect_equal(wire.open(1, name)["kind"], "opened")
            wires.append(wire)
        for turn in range(1, 400):
            wires[0].commit(1, "mallory", turn, increment("of:flood"))
        while True:
            at, line = wires[0].next()
            if at == 0 and line["kind"] == "detached":
                expect_equal((line["code"], line["class"]), ("OVERLOADED", "retry"))
                expect_in("messages per second", line["message"])
                break
        wires[1].commit(1, "ann", 1, increment("of:flood"))
        expect("seq" in wires[1].verdict(1), "the commit of another principal did not land")
        expect_equal(server.stop(), 0)


@test
def more_commits_in_a_message_than_the_limit_are_refused():
    with serving() as (server, good):
        wire = Wire(server.port)
        wire.open(1, "many")
        commits = [{"session": "many", "localSeq": turn, "branch": "", "operations": [increment("of:many")]}
                   for turn in range(1, 10002)]
        wire.send(1, "commits", commits=commits)
        while True:
            at, line = wire.next()
            if at == 0 and line["kind"] == "detached":
                expect_equal(line["class"], "terminal")
                break
        wire.open(1, "many2")


@test
def pings_and_empty_messages_in_a_flood_are_harmless():
    with serving() as (server, good):
        wire = Wire(server.port)
        wire.open(1, "ping")
        for turn in range(3000):
            wire.frame(b"x" * (turn % 126), 9)
            wire.frame(b"", 1)
            wire.frame(b"\n\n\n", 1)
        wire.commit(1, "ping", 1, increment("of:ping"))
        expect("seq" in wire.verdict(1), "the commit behind the pings did not land")


# ---- texts ----


@test
def deep_wide_and_broken_json_is_refused_and_harms_nothing():
    with serving() as (server, good):
        for depth in (100, 1000, 100000, 1000000):
            wire = Wire(server.port)
            wire.text("0 " + "[" * depth)
            expect_equal(wire.expect(0, "error")["code"], "PROTOCOL")
            wire.text("0 " + "{\"kind\":" * min(depth, 5000))
            expect_equal(wire.expect(0, "error")["code"], "PROTOCOL")
            wire.open(1, "deep")
            wire.text("1 " + "[" * depth + "]" * depth)
            expect_equal(wire.find(0, "detached")["code"] in ("PROTOCOL", "LIMIT_DEPTH", "LIMIT"), True)
            wire.close()
        wire = Wire(server.port)
        wire.open(1, "deep")
        value = "[" * 5000 + "]" * 5000
        wire.text("1 {\"kind\":\"commits\",\"connection\":1,\"number\":2,\"commits\":[{\"session\":\"deep\",\"localSeq\":1,"
                  "\"branch\":\"\",\"operations\":[{\"op\":\"set\",\"id\":\"of:deep\",\"value\":{\"value\":" + value + "}}]}]}")
        while True:
            at, line = wire.next()
            if line["kind"] in ("detached", "verdicts"):
                break
        expect(line["kind"] == "detached" or "error" in line["verdicts"][0], "a value of depth 5000 was stored")
        wire.close()
        wire = Wire(server.port)
        wire.text("0 {" + ",".join(f"\"k{turn}\":{turn}" for turn in range(100000)) + "}")
        wire.expect(0, "error")
        wire.text("0 {\"kind\":\"hello\",\"version\":1e999}")
        wire.expect(0, "error")


@test
def invalid_utf8_is_not_stored():
    with serving() as (server, good):
        for text in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"):
            wire = Wire(server.port)
            wire.open(1, "bytes")
            commit = (b"1 {\"kind\":\"commits\",\"connection\":1,\"number\":2,\"commits\":[{\"session\":\"bytes\",\"localSeq\":1,"
                      b"\"branch\":\"\",\"operations\":[{\"op\":\"set\",\"id\":\"of:bytes\",\"value\":{\"value\":\"" + text +
                      b"\"}}]}]}")
            wire.frame(commit)
            try:
                while True:
                    at, line = wire.next()
                    expect(line["kind"] != "verdicts" or "error" in line["verdicts"][0], f"{text} was stored")
                    if line["kind"] in ("detached", "verdicts"):
                        break
            except (Closed, ConnectionError):
                pass
            wire.close()
        good.works()


# ---- channels and spaces ----


@test
def a_thousand_channels_of_one_connection():
    with serving() as (server, good):
        wire = Wire(server.port)
        for channel in range(1, 1001):
            wire.say(0, {"kind": "attach", "channel": channel, "space": "main", "session": f"s{channel}"})
        attached = 0
        while attached < 1000:
            at, line = wire.next()
            expect_equal(line["kind"], "attached")
            attached += 1
        wire.say(0, {"kind": "attach", "channel": 1001, "space": "main"})
        expect_equal(wire.expect(0, "refused")["channel"], 1001)
        for channel in range(1, 1001):
            wire.send(channel, "open", session=f"s{channel}", seenSeq=0)
            wire.send(channel, "watch", targets=[{"id": "of:all"}])
            wire.commit(channel, f"s{channel}", 1, increment("of:all"))
        landed = set()
        while len(landed) < 1000:
            at, line = wire.next()
            if line["kind"] == "verdicts":
                landed.add(line["verdicts"][0]["seq"])
        good.works()
        wire.close()


@test
def attaches_to_many_spaces_are_bounded():
    with serving("--set", "open-spaces=50") as (server, good):
        wire = Wire(server.port)
        for channel in range(1, 501):
            wire.say(0, {"kind": "attach", "channel": channel, "space": f"space{channel}"})
        kinds = {}
        for _ in range(500):
            at, line = wire.next()
            kinds.setdefault((line["kind"], line.get("code"), line.get("class")), []).append(line)
        expect(("attached", None, None) in kinds, f"no space was opened: {list(kinds)}")
        refused = [line for kind, lines in kinds.items() if kind[0] == "refused" for line in lines]
        expect(len(refused) >= 450, f"{500 - len(refused)} spaces are open, of 50")
        for line in refused:
            expect_equal((line["code"], line["class"]), ("OVERLOADED", "retry"))
            expect("retryMs" in line, "a refusal does not say when to come back")
        expect(len(os.listdir(f"/proc/{server.process.pid}/fd")) < 600, "too many open files")


@test
def more_watches_than_the_limit_close_the_channel():
    with serving("--set", "watches=1000") as (server, good):
        wire = Wire(server.port)
        wire.open(1, "watcher")
        wire.send(1, "watch", targets=[{"id": f"of:{turn}"} for turn in range(900)])
        expect_equal(len(wire.find(1, "sync")["upserts"]), 900)
        wire.send(1, "watch", targets=[{"id": f"of:more{turn}"} for turn in range(900)])
        while True:
            at, line = wire.next()
            if at == 0 and line["kind"] == "detached":
                expect_in("1000", line["message"])
                break


# ---- HTTP ----


@test
def large_requests_heads_and_addresses_are_refused():
    with serving("--set", "request-bytes=65536") as (server, good):
        rows = [b"PUT /v1/spaces/main/docs/of:a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 200000"
                b"\r\n\r\n" + b"1" * 200000,
                b"PUT /v1/spaces/main/docs/of:a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                b"PUT /v1/spaces/main/docs/of:a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
                b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + b"b" * 200000 + b"\r\n\r\n",
                b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % turn for turn in range(5000)) + b"\r\n",
                b"GET /v1/spaces/" + b"%2e%2e%2f" * 20 + b"/docs/of:a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                b"GET /v1/spaces/main/docs/%00%ff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"]
        for row in rows:
            one = plain(server)
            send(one, row)
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)
            answer = until_closed(one)
            expect(b" 200 " not in answer.split(b"\r\n")[0] and b" 201 " not in answer.split(b"\r\n")[0],
                   f"{row[:60]} was answered with {answer[:100]}")
            good.works()


main()
