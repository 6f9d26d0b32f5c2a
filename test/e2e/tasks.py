#!/usr/bin/env python3
"""Tasks of `heddle run`: programs, and requests to an HTTP server of this test
that answers as each test says, wrongly, too.

Nothing here waits for a time: an outcome is awaited, or the end of a process.
"""
import contextlib
import http.server
import json
import os
import pathlib
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
from tap import expect, expect_equal, expect_in, main, test

HEDDLE = os.path.abspath(os.environ.get("HEDDLE", "build/gcc-release/heddle"))
LONGEST_WAIT = 120  # seconds until a test gives up; nothing is measured by it

PATTERN = """
local heddle = require "heddle"
return heddle.pattern("one", function(p)
  local request = p:state("request", heddle.null)
  local out = p:task("out", function()
    local value = request:value()
    if value ~= heddle.null then return value end
  end, { kind = "KIND", backoff = 1, backoff_max = 2 OPTIONS })
  return { request = request, out = out }
end)
"""


def wait_until(what, condition):
    end = time.monotonic() + LONGEST_WAIT
    while not (found := condition()):
        expect(time.monotonic() < end, f"{what} did not happen")
        time.sleep(0.005)
    return found


# ---- the server ----

class Server:
    """Answers each request with the next of `answers` (the last one stays)."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.closed = threading.Event()  # a client has left before its answer
        self.gate = threading.Event()
        self.lock = threading.Lock()

    def __enter__(self):
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                with server.lock:
                    server.requests.append((self.command, self.path, dict(self.headers), body))
                    answer = server.answers[0]
                    if len(server.answers) > 1:
                        server.answers.pop(0)
                with contextlib.suppress(OSError):
                    answer(server, self)
                self.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do

            def log_message(self, *_):
                pass

        self.inside = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.inside.daemon_threads = True
        self.port = self.inside.server_address[1]
        self.thread = threading.Thread(target=self.inside.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.gate.set()
        self.inside.shutdown()
        self.inside.server_close()
        self.thread.join()

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def keys(self):
        return [headers.get("Idempotency-Key") for _, _, headers, _ in self.requests]

    def wait_for_requests(self, count):
        wait_until(f"request {count}", lambda: len(self.requests) >= count)


def answer(status=200, body=b"{}", kind="application/json", **headers):
    def send(_, request):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(text)))
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(text)
    return send


def cut(_, request):
    """Promises more than it sends."""
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b'{"half":')


def wrong_length(_, request):
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}")


def hang_up(_, request):
    request.connection.shutdown(socket.SHUT_RDWR)


def endless(_, request):
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        request.wfile.write(b"x" * 65536)


def held(then):
    """Answers when the gate opens; notes a client that leaves before."""
    def send(server, request):
        while not server.gate.is_set():
            ready, _, _ = select.select([request.connection], [], [], 0.01)
            if ready:
                server.closed.set()
                return
        then(server, request)
    return send


# ---- the command ----

class Piece:
    """A piece "one" with a task "out" in a directory of its own."""

    def __init__(self, kind, options="", **words):
        self.allowed = [word for name, value in words.items() for word in (f"--{name.replace('_', '-')}", value)]
        self.pattern = PATTERN.replace("KIND", kind).replace("OPTIONS", options)
        self.processes = []

    def __enter__(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        (self.folder / "one.lua").write_text(self.pattern)
        (self.folder / "bin").mkdir()
        self.environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        self.environment["PATH"] = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        self.heddle("run", "one.lua", "--once")
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.communicate()
        self.scratch.cleanup()

    def heddle(self, *words, code=0, given=""):
        done = subprocess.run([HEDDLE, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=LONGEST_WAIT, check=False, input=given)
        expect_equal((done.returncode, done.stderr if done.returncode != code else ""), (code, ""))
        return done.stdout

    def ask(self, request):
        self.heddle("set", "one", "request", "-", given=json.dumps(request))

    def once(self, request):
        """The output of the task for that request."""
        self.ask(request)
        lines = self.heddle("run", "one.lua", "--once", *self.allowed).splitlines()
        return json.loads(lines[-1])["out"]

    def begin(self, *words):
        """A process that runs the piece."""
        process = subprocess.Popen([HEDDLE, "run", "one.lua", *words, *self.allowed], cwd=self.folder, env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def get(self):
        return json.loads(self.heddle("get", "one", "out"))

    def program(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def until(process, condition):
    """The first output of the task, as the process prints it, that fulfils it."""
    for line in process.stdout:
        out = json.loads(line).get("out")
        if out is not None and condition(out):
            return out
    expect(False, f"it ended before: {process.stderr.read()}")


def is_done(out):
    return out["state"] == "done"


def failure(out):
    expect_equal(out["state"], "failed")
    return out["error"]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


LOOPBACK = {"allow_net": "127.0.0.1"}
STAYS = " (a task that has failed stays so until its inputs change)"


# ---- http ----

@test
def a_get_with_json():
    with Server(answer(body={"sun": 21})) as server, Piece("http", **LOOPBACK) as piece:
        out = piece.once({"url": server.url("/weather"), "headers": {"X-Mine": "yes"}})
        expect_equal((out["state"], out["attempts"]), ("done", 1))
        expect_equal((out["value"]["status"], out["value"]["body"]), (200, {"sun": 21}))
        expect_equal(out["value"]["headers"]["content-type"], "application/json")
        method, path, headers, _ = server.requests[0]
        expect_equal((method, path, headers["X-Mine"]), ("GET", "/weather", "yes"))
        expect_equal(piece.get(), out)
        expect_equal(json.loads(piece.heddle("run", "one.lua", "--once"))["out"], out)
        expect_equal(len(server.requests), 1)


@test
def a_post_sends_json_and_its_key():
    with Server(answer(201, b"made", "text/plain")) as server, Piece("http", **LOOPBACK) as piece:
        out = piece.once({"url": server.url(), "json": {"n": [1, 2.5, None]}})
        expect_equal((out["value"]["status"], out["value"]["body"]), (201, "made"))
        method, _, headers, body = server.requests[0]
        expect_equal((method, headers["Content-Type"], json.loads(body)), ("POST", "application/json", {"n": [1, 2.5, None]}))
        expect_equal(len(server.keys()[0]), 43)
        piece.once({"url": server.url(), "method": "PUT", "body": "text"})
        method, _, headers, body = server.requests[1]
        expect_equal((method, headers["Content-Type"], body), ("PUT", "text/plain; charset=utf-8", b"text"))
        expect(server.keys()[0] != server.keys()[1], "two inputs have one key")


@test
def nothing_is_allowed_unless_it_is_named():
    with Server(answer()) as server:
        for words in ({}, {"allow_net": "localhost"}, {"allow_net": f"127.0.0.1:{server.port + 1}"}):
            with Piece("http", **words) as piece:
                error = failure(piece.once({"url": server.url()}))
                expect_equal(error["code"], "DENIED")
                address = f"127.0.0.1:{server.port}"
                expect_equal(error["text"], f"the host {address} is not allowed: run with --allow-net {address}{STAYS}")
        with Piece("http") as piece:
            expect_equal(failure(piece.once({"url": "http://127.0.0.1/"}))["text"],
                         f"the host 127.0.0.1 is not allowed: run with --allow-net 127.0.0.1{STAYS}")
        with Piece("http", allow_net=f"example.com,127.0.0.1:{server.port}") as piece:
            expect_equal(piece.once({"url": server.url()})["state"], "done")
        expect_equal(len(server.requests), 1)


@test
def a_wrong_request_says_what_is_wrong():
    with Piece("http", **LOOPBACK) as piece:
        for request, words in (
                ({}, 'an http task needs url = "http://..."'),
                ({"url": "file:///etc/passwd"}, "is not an http or https URL"),
                ({"url": "http://127.0.0.1/", "method": "get it"}, "method must be a word"),
                ({"url": "http://127.0.0.1/", "headers": {"a": "b\r\nc: d"}}, "without line breaks"),
                ({"url": "http://127.0.0.1/", "json": 1, "body": "x"}, "not both"),
                ({"url": "http://127.0.0.1/", "timeout": "soon"}, "timeout must be an integer")):
            error = failure(piece.once(request))
            expect_equal(error["code"], "ARGUMENT")
            expect_in(words, error["text"])


@test
def a_host_that_refuses_is_asked_again():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Piece("http", **LOOPBACK) as piece:
        out = piece.once({"url": f"http://127.0.0.1:{port}/"})
        expect_equal((failure(out)["code"], out["attempts"]), ("CONNECT", 4))


@test
def a_slow_answer_ends_with_the_timeout():
    with Server(held(answer())) as server, Piece("http", ", retries = 1", **LOOPBACK) as piece:
        out = piece.once({"url": server.url(), "timeout": 50})
        expect_equal((failure(out)["code"], out["attempts"]), ("TIMEOUT", 2))


@test
def an_answer_that_is_cut_is_asked_for_again():
    for fault in (cut, hang_up):
        with Server(fault, answer(body={"whole": True})) as server, Piece("http", **LOOPBACK) as piece:
            out = piece.once({"url": server.url()})
            expect_equal((out["state"], out["attempts"]), ("done", 2))
            expect_equal(out["value"]["body"], {"whole": True})
    with Server(hang_up) as server, Piece("http", **LOOPBACK) as piece:
        out = piece.once({"url": server.url(), "json": 1})  # it may have been done
        expect_equal((failure(out)["code"], out["attempts"]), ("CUT", 1))
        out = piece.once({"url": server.url(), "json": 2, "idempotency_key": True})
        expect_equal((failure(out)["code"], out["attempts"]), ("CUT", 4))
        expect_equal(len(set(server.keys()[1:])), 1)


@test
def an_answer_with_a_wrong_length_is_a_failure():
    with Server(wrong_length) as server, Piece("http", **LOOPBACK) as piece:
        expect_in(failure(piece.once({"url": server.url()}))["code"], ("PROTOCOL", "CUT"))


@test
def a_huge_answer_is_refused():
    with Server(endless) as server, Piece("http", **LOOPBACK) as piece:
        error = failure(piece.once({"url": server.url(), "max_bytes": 100000}))
        expect_equal(error["code"], "TOO_LARGE")
        expect_in("the answer has more than 100000 bytes", error["text"])
    with Server(answer(body="x" * 2000)) as server, Piece("http", ", max_bytes = 1000", **LOOPBACK) as piece:
        expect_equal(failure(piece.once({"url": server.url()}))["code"], "TOO_LARGE")
        expect_equal(len(server.requests), 1)


@test
def an_answer_that_is_not_json_is_a_failure():
    with Server(answer(body=b'{"a": ')) as server, Piece("http", **LOOPBACK) as piece:
        expect_equal(failure(piece.once({"url": server.url()}))["code"], "SYNTAX")
        server.answers = [answer(body=b"\xff\xfe", kind="text/plain")]
        error = failure(piece.once({"url": server.url("/b")}))
        expect_in("neither JSON nor UTF-8 text", error["text"])
        server.answers = [answer(204, b"")]
        expect_equal(piece.once({"url": server.url("/c")})["value"]["body"], None)


@test
def an_answer_cannot_be_a_link():
    body = b'{"user": [{"/": {"link@1": {"id": "piece:p/secret", "path": ["value"]}}}]}'
    with Server(answer(body=body)) as server, Piece("http", **LOOPBACK) as piece:
        error = failure(piece.once({"url": server.url()}))
        expect_equal(error["code"], "SYNTAX")
        expect_in("has the form of a link", error["text"])


@test
def what_may_be_repeated_is():
    with Server(answer(500), answer(503), answer()) as server, Piece("http", **LOOPBACK) as piece:
        out = piece.once({"url": server.url()})
        expect_equal((out["state"], out["attempts"], len(server.requests)), ("done", 3, 3))
    with Server(answer(500, {"why": "full"})) as server, Piece("http", **LOOPBACK) as piece:
        out = piece.once({"url": server.url("/pay"), "json": 1})
        expect_equal((out["attempts"], len(server.requests)), (1, 1))
        expect_equal(failure(out), {"code": "STATUS", "status": 500, "body": {"why": "full"},
                                    "text": f"POST {server.url('/pay')} answered 500"})
        out = piece.once({"url": server.url("/pay"), "json": 2, "idempotency_key": True})
        expect_equal(out["attempts"], 4)
        expect_equal(len(set(server.keys()[1:])), 1)
    with Server(answer(404)) as server, Piece("http", **LOOPBACK) as piece:
        expect_equal(failure(piece.once({"url": server.url()}))["status"], 404)
        expect_equal(len(server.requests), 1)


@test
def a_server_that_asks_for_time_gets_it():
    with Server(answer(429, Retry_After="0"), answer()) as server, Piece("http", **LOOPBACK) as piece:
        out = piece.once({"url": server.url(), "json": 1})  # it says that it did nothing
        expect_equal((out["state"], out["attempts"]), ("done", 2))
    with Server(answer(429)) as server, Piece("http", **LOOPBACK) as piece:
        expect_equal(piece.once({"url": server.url(), "json": 1})["attempts"], 1)


@test
def redirects_lead_to_allowed_hosts_only():
    with Server(answer(body={"end": True})) as last, Server() as first:
        first.answers = [answer(302, Location=last.url("/end"))]
        with Piece("http", allow_net=f"127.0.0.1:{first.port},127.0.0.1:{last.port}") as piece:
            out = piece.once({"url": first.url(), "json": 1, "headers": {"Authorization": "secret", "X-Mine": "1"}})
            expect_equal(out["value"]["body"], {"end": True})
            method, path, headers, body = last.requests[0]
            expect_equal((method, path, body, headers.get("Authorization"), headers.get("X-Mine")),
                         ("GET", "/end", b"", None, "1"))
            first.answers = [answer(307, Location=last.url("/again"))]
            piece.once({"url": first.url(), "json": 2})
            expect_equal((last.requests[1][0], last.requests[1][3]), ("POST", b"2"))
            first.answers = [answer(302, Location="/")]
            error = failure(piece.once({"url": first.url("/round")}))
            expect_equal(error["code"], "REDIRECT")
            first.answers = [answer(302, Location="file:///etc/passwd")]
            expect_equal(failure(piece.once({"url": first.url("/file")}))["code"], "REDIRECT")
        first.answers = [answer(302, Location=last.url("/end"))]
        with Piece("http", allow_net=f"127.0.0.1:{first.port}") as piece:
            error = failure(piece.once({"url": first.url()}))
            expect_equal(error["code"], "DENIED")
            address = f"127.0.0.1:{last.port}"
            expect_equal(error["text"], f"the redirect to {address} is not allowed: run with --allow-net {address}{STAYS}")
        expect_equal(len(last.requests), 2)


@test
def other_inputs_close_the_first_request():
    with Server(held(answer(body={"first": True})), answer(body={"second": True})) as server, \
            Piece("http", **LOOPBACK) as piece:
        process = piece.begin()
        piece.ask({"url": server.url("/1")})
        server.wait_for_requests(1)
        piece.ask({"url": server.url("/2")})
        expect_equal(until(process, is_done)["value"]["body"], {"second": True})
        expect(server.closed.wait(LONGEST_WAIT), "the first request was not closed")
        expect_equal([path for _, path, _, _ in server.requests], ["/1", "/2"])


# ---- one runner ----

@test
def a_killed_process_leaves_it_to_the_next():
    with Server(held(answer()), answer(body={"paid": 1})) as server, Piece("http", **LOOPBACK) as piece:
        process = piece.begin()
        piece.ask({"url": server.url(), "json": {"pay": 5}})
        server.wait_for_requests(1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        expect_equal(piece.get()["state"], "running")
        out = json.loads(piece.heddle("run", "one.lua", "--once", *piece.allowed).splitlines()[-1])["out"]
        expect_equal((out["state"], out["value"]["body"]), ("done", {"paid": 1}))
        expect_equal(len(server.requests), 2)
        expect_equal(server.keys()[0], server.keys()[1])
        expect_equal(list((piece.folder / "heddle-data" / "tasks").iterdir()), [])


@test
def of_two_processes_one_does_it_and_the_other_takes_over():
    with Server(held(answer(body="late")), answer(body="soon")) as server, Piece("http", **LOOPBACK) as piece:
        first = piece.begin()
        piece.ask({"url": server.url()})
        server.wait_for_requests(1)
        second = piece.begin()
        until(second, lambda out: out["state"] == "running")
        expect_equal(piece.get()["state"], "running")  # and asking begins nothing
        expect_equal(len(server.requests), 1)
        first.send_signal(signal.SIGKILL)
        first.wait()
        expect_equal(until(second, is_done)["value"]["body"], "soon")
        expect_equal(len(server.requests), 2)
        piece.ask({"url": server.url("/b")})
        third = piece.begin()
        until(second, lambda out: is_done(out) and out["value"]["body"] == "soon")
        until(third, is_done)
        wait_until("/b", lambda: piece.get()["state"] == "done")
        expect_equal([path for _, path, _, _ in server.requests], ["/", "/", "/b"])


def expect_once(piece, begun, let_go):
    """Three processes run the piece. Each ends when its task has ended."""
    words = ("--once", "--timeout", str(LONGEST_WAIT * 1000))
    processes = [piece.begin(*words)]
    wait_until("the beginning", begun)
    processes += [piece.begin(*words), piece.begin(*words)]
    for process in processes[1:]:
        expect_in("one resumed", process.stderr.readline())  # it has the piece, whose task is pending
    let_go()
    for process in processes:
        out, errors = process.communicate(timeout=LONGEST_WAIT)
        expect_equal((process.returncode, errors if process.returncode else ""), (0, ""))
        expect_equal(json.loads(out.splitlines()[-1])["out"]["state"], "done")


@test
def of_three_processes_that_wait_for_one_task_one_does_it():
    with exec_piece() as piece:
        starts, gate = piece.folder / "starts", piece.folder / "gate"
        piece.program("work", "#!/bin/sh\necho $HEDDLE_IDEMPOTENCY_KEY >>starts\n"
                              "while [ ! -e gate ]; do sleep 0.01; done\necho 1\n")
        piece.ask({"program": "work"})
        expect_once(piece, starts.exists, gate.touch)
        expect_equal(len(starts.read_text().split()), 1)
    with Server(held(answer())) as server, Piece("http", **LOOPBACK) as piece:
        piece.ask({"url": server.url(), "json": {"pay": 5}})
        expect_once(piece, lambda: server.requests, server.gate.set)
        expect_equal(len(server.requests), 1)


@test
def who_asks_or_sends_begins_nothing():
    with Server(answer()) as server, Piece("http", **LOOPBACK) as piece:
        piece.ask({"url": server.url()})
        expect_equal(piece.get()["state"], "running")
        expect_equal(piece.get()["state"], "running")
        expect_equal(server.requests, [])
        process = piece.begin()
        expect_equal(until(process, is_done)["attempts"], 1)
        expect_equal(len(server.requests), 1)


@test
def once_gives_up_after_its_timeout():
    with Server(held(answer())) as server, Piece("http", **LOOPBACK) as piece:
        piece.ask({"url": server.url()})
        done = subprocess.run([HEDDLE, "run", "one.lua", "--once", "--timeout", "300", *piece.allowed], cwd=piece.folder,
                              env=piece.environment, capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
        expect_equal(done.returncode, 1)
        expect_in("a task did not finish within 300 ms", done.stderr)
        expect_equal(piece.get()["state"], "running")


# ---- exec ----

def exec_piece(options="", allow="work"):
    return Piece("exec", options, allow_exec=allow)


@test
def a_program_gets_json_and_gives_json():
    with exec_piece() as piece:
        piece.program("work", "#!/bin/sh\nread line\n"
                              "printf '{\"in\":%s,\"args\":\"%s\",\"key\":\"%s\"}' \"$line\" \"$*\" \"$HEDDLE_IDEMPOTENCY_KEY\"\n")
        out = piece.once({"program": "work", "args": ["-a", "$HOME; ls", 3], "stdin": {"n": [1, "ä"]}})
        expect_equal((out["state"], out["attempts"]), ("done", 1))
        expect_equal((out["value"]["in"], out["value"]["args"]), ({"n": [1, "ä"]}, "-a $HOME; ls 3"))
        expect_equal(len(out["value"]["key"]), 43)


@test
def programs_are_not_allowed_unless_named():
    with exec_piece(allow="other,wor") as piece:
        piece.program("work", "#!/bin/sh\necho 1\n")
        error = failure(piece.once({"program": "work"}))
        expect_equal(error, {"code": "DENIED",
                             "text": f"the program 'work' is not allowed: run with --allow-exec work{STAYS}"})
    with exec_piece() as piece:
        expect_equal(failure(piece.once({"program": "work"}))["code"], "NOT_FOUND")
        expect_in('an exec task needs program = "NAME"', failure(piece.once({}))["text"])
        piece.program("work", "#!/bin/sh\necho 1\n")
        expect_equal(failure(piece.once({"program": "work\0x"}))["code"], "ARGUMENT")
        for word in ("a\0b", None, True, ["a"], {"a": 1}):
            expect_equal(failure(piece.once({"program": "work", "args": [word]}))["code"], "ARGUMENT")
        expect_equal(piece.once({"program": "work", "args": ["a", 1, 2.5]})["value"], 1)
        expect_in("args must be a list", failure(piece.once({"program": "work", "args": "x"}))["text"])


@test
def the_end_of_a_program_is_told():
    with exec_piece() as piece:
        piece.program("work", "#!/bin/sh\necho 'no paper' >&2\n[ \"$1\" = kill ] && kill -TERM $$\nexit 3\n")
        out = piece.once({"program": "work"})
        expect_equal(failure(out), {"code": "EXIT", "exit": 3, "text": "'work' exited with 3: no paper"})
        expect_equal(out["attempts"], 1)
        error = failure(piece.once({"program": "work", "args": ["kill"]}))
        expect_equal((error["code"], error["signal"]), ("SIGNAL", signal.SIGTERM))
    with exec_piece(", retries = 2") as piece:
        piece.program("work", "#!/bin/sh\necho x >>tries\n[ $(wc -l <tries) = 3 ] && echo '\"well\"' || exit 1\n")
        out = piece.once({"program": "work"})
        expect_equal((out["state"], out.get("value"), out["attempts"]), ("done", "well", 3))


@test
def what_a_program_prints_is_bounded_and_checked():
    with exec_piece(", max_bytes = 1000") as piece:
        piece.program("work", "#!/bin/sh\ncase $1 in\nmuch) yes ;;\nbad) echo '{' ;;\nnone) ;;\n"
                              "text) printf 'a\\nb' ;;\nquick) head -c 5000 /dev/zero ;;\nesac\n")
        expect_equal(failure(piece.once({"program": "work", "args": ["much"]}))["code"], "TOO_LARGE")
        expect_equal(failure(piece.once({"program": "work", "args": ["quick"]}))["code"], "TOO_LARGE")
        expect_equal(failure(piece.once({"program": "work", "args": ["bad"]}))["code"], "SYNTAX")
        expect_equal(piece.once({"program": "work", "args": ["none"]})["value"], None)
        expect_equal(piece.once({"program": "work", "args": ["text"], "output": "text"})["value"], "a\nb")


@test
def a_program_need_not_read_its_input():
    with exec_piece() as piece:
        piece.program("work", "#!/bin/sh\nexec <&-\necho 7\n")
        expect_equal(piece.once({"program": "work", "stdin": "x" * 500000})["value"], 7)
        piece.program("work", "#!/bin/sh\nwc -c\n")
        expect_equal(piece.once({"program": "work", "stdin": "x" * 500000, "again": 1})["value"], 500002)


def wait_for_pids(piece):
    """Of the program and of what it has started."""
    path = piece.folder / "pids"
    return wait_until("the program", lambda: path.exists() and len(path.read_text().split()) == 2 and
                      [int(word) for word in path.read_text().split()])


SLEEPER = "#!/bin/sh\nif [ \"$1\" = quick ]; then echo 1; exit; fi\nsleep 1000 &\necho $$ $! >pids\nwait\n"


@test
def a_program_that_takes_too_long_is_killed():
    with exec_piece() as piece:
        piece.program("work", SLEEPER)
        error = failure(piece.once({"program": "work", "timeout": 300}))
        expect_equal(error["code"], "TIMEOUT")
        if (piece.folder / "pids").exists():
            for pid in wait_for_pids(piece):
                wait_until(f"the end of {pid}", lambda pid=pid: not is_alive(pid))


@test
def a_cancelled_program_is_gone():
    with exec_piece() as piece:
        piece.program("work", SLEEPER)
        process = piece.begin()
        piece.ask({"program": "work"})
        pids = wait_for_pids(piece)
        piece.ask({"program": "work", "args": ["quick"]})
        expect_equal(until(process, is_done)["value"], 1)
        for pid in pids:
            wait_until(f"the end of {pid}", lambda pid=pid: not is_alive(pid))


@test
def programs_end_with_the_command():
    with exec_piece() as piece:
        piece.program("work", SLEEPER)
        process = piece.begin()
        piece.ask({"program": "work"})
        pids = wait_for_pids(piece)
        process.send_signal(signal.SIGTERM)
        process.communicate()
        for pid in pids:
            wait_until(f"the end of {pid}", lambda pid=pid: not is_alive(pid))
        expect_equal(piece.get()["state"], "running")


# ---- bodies ----

BODY = """
local heddle = require "heddle"
return heddle.pattern("one", function(p)
  local request = p:state("request", heddle.null)
  local out = p:task("out", request, { run = function(input, task)
    if input == heddle.null then return nil end
    local first, problem = task:http{ url = input.url .. "first" }
    if first == nil then error(problem.text) end
    local second = task:http{ url = input.url .. first.body.next, json = { from = first.body.next } }
    task:sleep(1)
    return { first = first.body, second = second.body, sum = task:exec{ program = "work", stdin = 4 } }
  end })
  return { request = request, out = out }
end)
"""


@test
def a_body_makes_several_calls():
    with Server(answer(body={"next": "second"}), answer(body=[2])) as server, \
            Piece("http", allow_net="127.0.0.1", allow_exec="work") as piece:
        (piece.folder / "one.lua").write_text(BODY)
        piece.program("work", "#!/bin/sh\nread n\necho $((n + 1))\n")
        out = piece.once({"url": server.url("/")})
        expect_equal(out.get("value"), {"first": {"next": "second"}, "second": [2], "sum": 5})
        expect_equal([path for _, path, _, _ in server.requests], ["/first", "/second"])
        expect(server.keys()[1].endswith("-2"), server.keys()[1])


@test
def unknown_kinds_and_options_are_refused():
    with Piece("http") as piece:
        (piece.folder / "one.lua").write_text(PATTERN.replace("KIND", "htpp").replace("OPTIONS", ""))
        done = subprocess.run([HEDDLE, "run", "one.lua", "--once"], cwd=piece.folder, capture_output=True, text=True,
                              timeout=LONGEST_WAIT, check=False)
        expect(done.returncode != 0, done.stdout)
        expect_in("one.lua:5: unknown kind of task 'htpp'; did you mean 'http'?", done.stderr)


main()
