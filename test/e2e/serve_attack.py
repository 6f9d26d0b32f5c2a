#!/usr/bin/env python3
"""`heddle serve` and clients that know the protocol and use it against the server or against others: what one message may cost,
and what a reader may claim.

Nothing here is timed: an answer is awaited, or the end of a connection."""
import contextlib
import json
import os
import pathlib
import resource
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE / "lib"))
from tap import expect, expect_equal, main, test
from wire import Server, Wire, put

HEDDLE = os.path.abspath(os.environ.get("HEDDLE", "build/gcc-release/heddle"))
MEMORY_KIB = 512 * 1024  # the sanitizers keep what is freed


@contextlib.contextmanager
def serving(*words):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(HEDDLE, os.path.join(folder, "data"), *words)
        server.folder = os.path.join(folder, "data")
        try:
            yield server
        finally:
            code = server.stop()
            with open(server.log, encoding="utf-8") as log:
                expect_equal((code, "Sanitizer" in log.read()), (0, False))


def peak(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


# ---- what one message may cost ----


@test
def a_message_of_nothing_but_errors_costs_no_more_than_a_slow_reader():
    with serving() as server:
        wire = Wire(server.port)
        wire.text("x\n" * 4000000)
        wire.end()
        expect(peak(server) < MEMORY_KIB, f"the server had {peak(server)} KiB of memory")
        Wire(server.port).open(1, "after")


@test
def attaches_that_wait_for_their_worker_are_limited():
    with serving("--set", "channels=10") as server:
        wire = Wire(server.port)
        wire.say(0, *[{"kind": "attach", "channel": 1, "space": "main"}] * 100)
        answers = [wire.next()[1] for _ in range(100)]
        expect_equal(sum(one.get("code") == "OVERLOADED" for one in answers), 90)
        expect_equal(sum(one["kind"] == "attached" for one in answers), 1)
        wire.say(0, {"kind": "attach", "channel": 2, "space": "main"})
        expect_equal(wire.next()[1]["kind"], "attached")


@test
def a_reader_cannot_ask_for_more_than_may_wait_for_it_in_one_message():
    with serving("--set", "queue-bytes=1048576") as server:
        writer = Wire(server.port)
        writer.open(1, "writer")
        writer.commit(1, "writer", 1, put("of:large", "x" * 100000))
        expect("seq" in writer.verdict(1), "the commit did not land")
        reader = Wire(server.port)
        reader.open(1, "reader", readOnly=True)
        lines = []
        for turn in range(1000):
            for kind in ("watch", "unwatch"):
                lines.append({"kind": kind, "connection": 1, "number": len(lines) + 2, "targets": [{"id": "of:large"}]})
        reader.say(1, *lines)
        count = 0
        while (line := reader.next())[1]["kind"] == "sync":
            count += 1
        expect_equal((line[0], line[1]["kind"], line[1]["code"]), (0, "detached", "OVERLOADED"))
        expect(count < 20, f"{count} answers")
        writer.commit(1, "writer", 2, put("of:large", "y"))
        expect("seq" in writer.verdict(1), "the commit did not land")


# ---- what a client may claim ----


def claim(wire, kind, name=None, question="claim"):
    wire.say(1, {"kind": "ask", "id": 1, "question": question, "claim": kind, **({"name": name} if name else {})})
    answer = wire.find(1, "answer")
    return answer["answer"]["held"] if "answer" in answer else answer["error"]["code"]


def runtime(server, user, instance, **more):
    wire = Wire(server.port)
    expect_equal(wire.attach(1, user=user, session=f"of-{instance}", instance=instance, **more)["kind"], "attached")
    return wire


@test
def a_claim_is_not_taken_over_by_another_principal_that_knows_the_instance():
    with serving() as server:
        ann = runtime(server, "ann", "i1")
        expect_equal([claim(ann, "sender", "i1"), claim(ann, "task", "t1")], [True, True])
        bob = runtime(server, "bob", "i1")
        expect_equal([claim(bob, "sender", "i1"), claim(bob, "task", "t1")], [False, False])
        bob.say(0, {"kind": "detach", "channel": 1})
        bob.expect(0, "detached")
        other = runtime(server, "cat", "i3")
        expect_equal([claim(other, kind, name, "isHeld") for kind, name in (("sender", "i1"), ("task", "t1"))], [True, True])
        again = runtime(server, "ann", "i1")
        expect_equal([claim(again, "sender", "i1"), claim(again, "task", "t1")], [True, True])


@test
def a_reader_claims_neither_tasks_nor_senders_and_a_writer_no_sender_but_itself():
    with serving() as server:
        reader = runtime(server, "ann", "i1", readOnly=True)
        expect_equal([claim(reader, "sender", "i1"), claim(reader, "task", "t1")], ["ACCESS", "ACCESS"])
        writer = runtime(server, "bob", "i2")
        expect_equal([claim(writer, "sender", "i1"), claim(writer, "sender", "i2")], ["PROTOCOL", True])
        expect_equal(os.listdir(os.path.join(server.folder, "senders")), ["i2"])


@test
def claims_leave_descriptors_for_connections():
    with serving() as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (200, 200))
        ann = runtime(server, "ann", "i1")
        held = [claim(ann, "task", f"t{number}") for number in range(200)]
        expect_equal((held[0], held[-1]), (True, "OVERLOADED"))
        wires = [Wire(server.port) for _ in range(10)]
        expect_equal(wires[-1].open(1, "more", "another")["kind"], "opened")


main()
