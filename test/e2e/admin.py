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

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE / "lib"))
from tap import expect, expect_equal, expect_in, main, test
from wire import Server

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


main()
