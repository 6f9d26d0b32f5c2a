"""Rounds with tasks: a program and a server on loopback do the work, inputs
change, and runners are killed. The model is its own: what the inputs give, and
which attempts the other side has seen with which key."""

import http.server
import json
import os
import threading
import time

from rounds_command import check
from rounds_process import Runner

# %s: the address of the server.
PATTERN = '''local heddle = require "heddle"
return heddle.pattern("p", function(p)
  local n = p:state("n", 1)
  local function input(make)
    return function()
      local value = n:get()
      if value == 0 then return nil end
      return make(value)
    end
  end
  local double = p:task("double", input(function(value)
    return { program = "./work", args = { value } }
  end), { kind = "exec", retries = 3, backoff = 10, backoff_max = 20 })
  local square = p:task("square", input(function(value)
    return { url = "http://%s/square", json = { n = value }, idempotency_key = true }
  end), { kind = "http", retries = 50, backoff = 10, backoff_max = 50 })
  return { n = n, double = double, square = square }
end)
'''

# One line per attempt. The first attempt of some inputs fails.
WORK = '''#!/bin/sh
echo "$HEDDLE_IDEMPOTENCY_KEY $1" >>attempts
case "$1" in *7) mkdir "seen-$1" 2>/dev/null && exit 1 ;; esac
echo $(($1 * 2))
'''


class Server:
    """Squares numbers, and notes each attempt. Some fail, by chance."""

    def __init__(self, random):
        self.attempts = []  # (key, n)
        self.random = random
        self.lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                n = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["n"]
                with outer.lock:
                    outer.attempts.append((self.headers["Idempotency-Key"], n))
                    fault = outer.random.random()
                if fault < 0.15:
                    self.send_error(503)
                elif fault < 0.25:
                    self.close_connection = True  # without an answer
                else:
                    body = json.dumps({"square": n * n}).encode()
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.inside = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.inside.daemon_threads = True
        self.address = "127.0.0.1:%d" % self.inside.server_address[1]
        threading.Thread(target=self.inside.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self):
        self.inside.shutdown()
        self.inside.server_close()


def attempts_of_program(round):
    path = os.path.join(round.directory, "attempts")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [(key, int(n)) for key, n in (line.split() for line in file)]


def judge_keys(round, name, attempts):
    """A key stands for one input, and an input has one key."""
    inputs, keys = {}, {}
    for key, n in attempts:
        if len(key or "") != 43:
            round.fail("%s of %d has no key" % (name, n))
        if inputs.setdefault(key, n) != n or keys.setdefault(n, key) != key:
            round.fail("%s of %d has the key %s, which is not its own" % (name, n, key))


def settle(round, options):
    """Runs the piece until its tasks have ended."""
    answer = round.command.call("run", "p.lua", "--once", "--timeout", "60000", *options)
    round.note("run -> %r" % answer)
    if answer.outcome != "ok":
        round.fail("run: %r" % answer)
    return answer.value


def judge_result(round, result, n):
    for name, want in (("double", 2 * n), ("square", {"square": n * n})):
        task = result[name]
        if n == 0:
            if task != {"state": "idle"}:
                round.fail("%s has no inputs, and is %s" % (name, json.dumps(task)))
            continue
        value = task.get("value")
        if task["state"] != "done" or (value if name == "double" else value["body"]) != want:
            round.fail("%s of %d is %s" % (name, n, json.dumps(task)))


def change(round, n):
    round.count("input of a task")
    answer = round.command.set("p", "set", ["n"], n)
    round.note("set n %d -> %r" % (n, answer))
    if answer.outcome != "ok":
        round.fail("set: %r" % answer)


def play(round, server):
    random = round.random
    options = ["--allow-exec", "./work", "--allow-net", server.address]
    judge_result(round, settle(round, options), 1)
    n = 1
    seen = {1}
    runners = []
    for index in range(random.randrange(2, 5)):
        if len(runners) < 2 and round.generator.chance(70):
            runners.append(Runner(round, index, *options))
            round.count("runner of tasks")
        n = random.choice([n, 0, 7, random.randrange(1, 30)])
        seen.add(n)
        change(round, n)
        time.sleep(random.random() * 0.05)
        if runners and round.generator.chance(50):
            victim = random.choice(runners)
            runners.remove(victim)
            victim.process.kill()
            victim.process.wait()
            round.count("kill -9", "kill beside tasks")
    for runner in runners:
        runner.process.kill()
        runner.process.wait()
    judge_result(round, settle(round, options), n)
    for name, attempts in (("double", attempts_of_program(round)), ("square", list(server.attempts))):
        judge_keys(round, name, attempts)
        if n != 0 and n not in [input for _, input in attempts]:
            round.fail("%s of %d is there, and was not attempted" % (name, n))
        if not {input for _, input in attempts} <= seen:
            round.fail("%s was attempted with an input that was never set" % name)
    # What is done is not begun again for equal inputs: nothing is allowed now, so an attempt would fail.
    change(round, n)
    judge_result(round, settle(round, []), n)


def tasks(round):
    """Tasks of a program and of a server, beside runners that are killed: done for the last inputs, once they are."""
    server = Server(round.random.__class__(round.random.random()))
    try:
        with open(os.path.join(round.directory, "p.lua"), "w") as file:
            file.write(PATTERN % server.address)
        work = os.path.join(round.directory, "work")
        with open(work, "w") as file:
            file.write(WORK)
        os.chmod(work, 0o755)
        play(round, server)
        if round.generator.chance(35):
            check(round)
    finally:
        server.close()
