#!/usr/bin/env python3
"""The load generator of the server benchmark, against the floor: what it prints,
and that it notices what must not happen."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave no __pycache__ in the tree
from tap import expect, expect_equal, expect_in, main, test

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build/gcc-release")))


class Floor:
    """A floor with storage, on a free port, ended by its process id."""
    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()
        return self

    def start(self):
        self.process = subprocess.Popen([os.path.join(BUILD, "bin/server_floor"), str(self.port), "sqlite",
                                         os.path.join(self.folder.name, "floor.db")])
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                expect_equal(self.process.poll(), None)
                time.sleep(0.005)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()

    def load(self, *words, **how):
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True, **how}
        return subprocess.Popen([os.path.join(BUILD, "bin/server_load"), "floor", str(self.port), *words], **how)

    def run(self, *words):
        with self.load(*words) as load:
            text = load.stdout.read()
        expect_equal(load.returncode, 0)
        return json.loads(text)


@test
def a_counter_has_what_was_acknowledged():
    with Floor() as floor:
        got = floor.run("increment", "clients=4", "seconds=0.2")
        expect(got["acked"] > 0 and got["per_s"] > 0, "nothing was written")
        expect_equal(got["landed"], got["acked"])


@test
def writes_of_all_reach_all():
    with Floor() as floor:
        got = floor.run("share", "clients=4", "seconds=0.2")
        expect(0 < got["p50_ns"] <= got["p99_ns"] <= got["max_ns"], f"latencies are out of order: {got}")


@test
def a_write_is_over_when_every_watcher_has_it():
    with Floor() as floor:
        for window in (1, 8):
            got = floor.run("fan", "clients=10", "seconds=0.2", f"window={window}")
            expect_equal(got["messages"], 10 * got["writes"])


@test
def all_documents_arrive_with_a_join():
    with Floor() as floor:
        expect_equal(floor.run("seed", "documents=250"), {"documents": 250})
        got = floor.run("join", "documents=250")
        expect(got["bytes"] > 250 * 100, f"too few bytes: {got}")


@test
def a_join_that_lacks_documents_fails():
    with Floor() as floor:
        floor.run("seed", "documents=100")
        with floor.load("join", "documents=101", stderr=subprocess.PIPE) as load:
            expect_in("100 of 101 documents arrived", load.stderr.read())
        expect_equal(load.returncode, 1)


@test
def clients_are_current_again_after_a_restart():
    with Floor() as floor:
        with floor.load("reconnect", "clients=20") as load:
            expect_equal(load.stdout.readline(), "ready\n")
            floor.stop(signal.SIGKILL)
            floor.start()
            got = json.loads(load.stdout.read())
        expect(got["current_at_ns"] > got["lost_at_ns"] > 0, f"times are out of order: {got}")
        expect(got["disconnected"] >= 20, f"too few were disconnected: {got}")


@test
def idle_clients_stay_until_the_input_ends():
    with Floor() as floor:
        with floor.load("idle", "clients=2") as load:
            expect_equal(load.stdout.read(), 'ready\n{"connections":2}\n')
        expect_equal(load.returncode, 0)


@test
def a_lost_connection_is_a_failure():
    with Floor() as floor:
        with floor.load("idle", "clients=2", stdin=subprocess.PIPE, stderr=subprocess.PIPE) as load:
            expect_equal(load.stdout.readline(), "ready\n")
            floor.stop(signal.SIGKILL)
            expect_in("lost its connection", load.stderr.read())
        expect_equal(load.returncode, 1)
        floor.start()


@test
def unknown_options_are_errors():
    for words in (("nothing",), ("put", "clients"), ("put", "color=1")):
        done = subprocess.run([os.path.join(BUILD, "bin/server_load"), "floor", "1", *words],
                              capture_output=True, text=True, check=False)
        expect_equal(done.returncode, 2)
        expect_in("usage: server_load", done.stderr)


main()
