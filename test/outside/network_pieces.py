"""A piece on a server: events and edits by commands, by programs in C and by HTTP, over faulty connections, while the
server, its runner and the callers are killed.

Each caller keeps what it was told. An event or an edit that was acknowledged took effect once; one whose caller was
told nothing, or was told of a failure, at most once. A caller that names its event sends it again until it is told.
"""

import asyncio
import http.client
import json
import os
import random

from library import Library
from network_client import FAULTS
from network_proxy import TRANSPORT, Fault, Proxy

PIECE = '''local heddle = require "heddle"
return heddle.pattern("p", function(p)
  local got = p:state("got", heddle.array{})
  local n = p:state("n", 0)
  local count = p:computed("count", function() return #got:get() end)
  p:handler("add", function(event)
    got:append(event.name)
    return { name = event.name }
  end)
  return { got = got, n = n, count = count }
end)
'''
REQUEST_SECONDS = 2
ATTEMPTS = 2000  # more than a round has time for


class Ledger:
    """What callers were told: "ok" or "maybe", by the name of the event; and of edits."""

    def __init__(self, round):
        self.round = round
        self.events = {}
        self.done = 0
        self.maybe = 0

    def edit(self, is_done, text):
        self.round.note(text)
        self.round.count("network edit" if is_done else "network edit, not told")
        if is_done:
            self.done += 1
        else:
            self.maybe += 1

    def judge(self, result):
        got = result["got"]
        for name in got:
            if name not in self.events:
                self.round.fail("nobody sent %s" % name)
        for name, told in self.events.items():
            if got.count(name) > 1 or (told == "ok" and got.count(name) == 0):
                self.round.fail("%s was told %s, and came %d times" % (name, told, got.count(name)))
        if result["count"] != len(got):
            self.round.fail("the count is %d, of %d" % (result["count"], len(got)))
        if not self.done <= result["n"] <= self.done + self.maybe:
            self.round.fail("n is %d: %d increments were acknowledged, of %d nothing was told" % (
                result["n"], self.done, self.maybe))


class Caller:
    """One who sends and edits, through a proxy of its own."""

    def __init__(self, network, ledger, name, kinds):
        self.network = network
        self.round = network.round
        self.ledger = ledger
        self.name = name
        self.random = random.Random("%s/%s" % (network.seed, name))
        self.proxy = Proxy(lambda: network.server.port)
        self.proxy.draw = self._draw
        self.kinds = kinds
        self.faults_left = self.random.randrange(1, 6)
        self.drawn = 0
        self.patience = 1000  # milliseconds of a command

    def _draw(self):
        self.drawn += 1
        kind = "none"
        if self.faults_left > 0 and self.kinds:
            self.faults_left -= 1
            kind = self.random.choice(self.kinds)
            self.round.count("piece " + kind)
        fault = Fault(kind, "%s/%s/%d" % (self.network.seed, self.name, self.drawn))
        fault.pause = min(fault.pause, 0.4)
        return fault

    @property
    def url(self):
        return "ws://127.0.0.1:%d" % self.proxy.port

    async def run(self, steps):
        await self.proxy.start()
        try:
            for step in range(steps):
                await self._step("%s.%d" % (self.name, step))
        finally:
            await self.proxy.stop()

    async def command(self, *words, killable=True):
        """(exit code, output, errors) of a command; it may be killed."""
        process = await asyncio.create_subprocess_exec(
            self.round.settings.heddle, words[0], "--server", self.url, "--timeout", "%d" % self.patience, *words[1:],
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            cwd=self.round.directory)
        talk = asyncio.ensure_future(process.communicate())
        if killable and self.random.random() < 0.2:
            await asyncio.wait({talk}, timeout=self.random.random() * 0.05)
            if process.returncode is None:
                process.kill()
                self.round.count("network command killed")
        try:
            out, err = await asyncio.wait_for(asyncio.shield(talk), 90)
        except asyncio.TimeoutError:
            process.kill()
            out, err = await talk
            self.round.fail("%s does not end: %s %s" % (list(words), out, err))
        finally:
            if process.returncode is None:
                process.kill()
        return process.returncode, out.decode().strip(), err.decode().strip()


class CommandCaller(Caller):
    """The `heddle` command."""

    async def _step(self, name):
        kind = self.random.choice(["named", "named", "plain", "edit"])
        self.round.count("network command " + kind)
        await getattr(self, "_" + kind)(name)

    async def _named(self, name):
        self.ledger.events[name] = "maybe"
        for _ in range(ATTEMPTS):
            code, out, err = await self.command("send", "p", "add", json.dumps({"name": name}), "--session", self.name,
                                                "--id", name)
            self.round.note("send %s -> %r %s %s" % (name, code, out, err[:200]))
            if code == 0:
                if json.loads(out) != {"name": name}:
                    self.round.fail("the receipt of %s is %s" % (name, out))
                self.ledger.events[name] = "ok"
                return
            self.faults_left -= 1
            self.patience = min(self.patience * 1.5, 20000)
            await asyncio.sleep(0.02)
        self.round.fail("%s cannot be sent: %s" % (name, err))

    async def _plain(self, name):
        self.ledger.events[name] = "maybe"
        code, out, err = await self.command("send", "p", "add", json.dumps({"name": name}))
        self.round.note("send %s -> %r %s %s" % (name, code, out, err[:200]))
        if code == 0:
            self.ledger.events[name] = "ok"

    async def _edit(self, name):
        code, out, err = await self.command("set", "p", "/n", "1", "--increment")
        self.ledger.edit(code == 0, "set %s -> %r %s %s" % (name, code, out, err[:200]))


class HttpCaller(Caller):
    """Events by POST, with and without a key."""

    def _post(self, name, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=REQUEST_SECONDS)
        try:
            connection.request("POST", "/v1/spaces/main/pieces/p/streams/add?timeout=2000",
                               json.dumps({"name": name}), {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, repr(error)
        finally:
            connection.close()

    async def _step(self, name):
        named = self.random.random() < 0.7
        headers = {"Idempotency-Key": name} if named else {}
        if self.random.random() < 0.3:
            headers["Prefer"] = "respond-async"
        self.round.count("network request with a key" if named else "network request")
        self.ledger.events[name] = "maybe"
        for _ in range(ATTEMPTS):
            status, text = await asyncio.get_running_loop().run_in_executor(None, self._post, name, headers)
            self.round.note("POST %s %s -> %d %s" % (name, headers, status, text[:200]))
            if status == 200 and json.loads(text) != {"name": name}:
                self.round.fail("the receipt of %s is %s" % (name, text))
            if status in (200, 202):
                self.ledger.events[name] = "ok"
                return
            if status in (400, 403, 404, 409, 410, 413, 415, 422):
                self.round.fail("POST %s: %d %s" % (name, status, text))
            if not named:
                return
            self.faults_left -= 1
            await asyncio.sleep(0.02)
        self.round.fail("%s cannot be posted: %d %s" % (name, status, text))


class LibraryCaller(Caller):
    """A program that is linked to the library; its runtime stays open."""

    library = None

    async def _ask(self, word, **fields):
        return await asyncio.get_running_loop().run_in_executor(None, lambda: self.library.ask(word, **fields))

    async def _open(self):
        self.library = self.round.started(Library(self.round.settings.driver, self.round.directory))
        answer = await self._ask("open", directory=self.url)
        self.round.note("%s: open -> %r" % (self.name, answer))
        if answer.outcome != "ok":
            self.library.kill()
            self.library = None

    async def _step(self, name):
        for _ in range(ATTEMPTS):
            if self.library is not None:
                break
            await self._open()
            self.faults_left -= 1
        else:
            self.round.fail("%s cannot open a runtime" % self.name)
        self.round.count("network program")
        if self.random.random() < 0.1:
            killing = self.library
            asyncio.get_running_loop().call_later(self.random.random() * 0.02, killing.kill)
            self.round.count("network program killed")
        answer = await self._ask("edit", operations=[["increment", "piece:p/n", "", 1]])
        self.ledger.edit(answer.outcome == "ok", "%s: increment -> %r" % (name, answer))
        if self.library.was_killed or answer.outcome != "ok":
            self.library.kill()
            self.library = None

    async def run(self, steps):
        try:
            await super().run(steps)
        finally:
            if self.library is not None:
                self.library.kill()


class Runner(Caller):
    """`heddle run` as a client of the server, started again when it ends."""

    async def run(self, steps):
        await self.proxy.start()
        try:
            while True:
                process = await asyncio.create_subprocess_exec(
                    self.round.settings.heddle, "run", "p.lua", "--server", self.url, stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, cwd=self.round.directory)
                self.round.count("network runner")
                try:
                    ending = asyncio.ensure_future(process.wait())
                    await asyncio.wait({ending}, timeout=self.random.choice([0.1, 0.5, 60]))
                finally:
                    if process.returncode is None:
                        process.kill()
                await ending
        finally:
            await self.proxy.stop()


CALLERS = {"command": CommandCaller, "http": HttpCaller, "library": LibraryCaller}


async def settle(network, caller):
    """Runs the piece until no event waits."""
    for _ in range(ATTEMPTS):
        code, out, err = await caller.command("run", "p.lua", "--once", killable=False)
        network.round.note("run --once -> %r %s %s" % (code, out, err[-200:]))
        status, waiting = network.server.get("/v1/spaces/main/events")
        if code == 0 and status == 200 and not waiting["events"]:
            return json.loads(out)
        await asyncio.sleep(0.02)
    network.round.fail("events wait that nobody handles: %r" % waiting)


async def play_piece(network, disturb):
    """One round."""
    round, chance = network.round, network.random
    with open(os.path.join(round.directory, "p.lua"), "w") as file:
        file.write(PIECE)
    beside = chance.random() < 0.6
    if beside:
        network.server.words = ("--run", "p.lua")
        round.count("network runner beside the server")
    network.server.start()
    ledger = Ledger(round)
    first = Caller(network, ledger, "first", ())
    first.patience = 20000
    await first.proxy.start()
    code, out, err = await first.command("run", "p.lua", "--once", killable=False)
    if code != 0:
        round.fail("run: %d %s %s" % (code, out, err))
    faults = chance.choice(["clean", "transport", "transport", "messages", "corrupt", "all"])
    kinds = [chance.choice(sorted(CALLERS)) for _ in range(chance.randrange(1, 4))]
    round.note("callers %s, faults %s, %s" % (kinds, faults, "beside" if beside else "a runner that is a client"))
    callers = [CALLERS[kind](network, ledger, "%s%d" % (kind, index), TRANSPORT if kind == "http" else FAULTS[faults])
               for index, kind in enumerate(kinds)]
    runner = None
    if not beside:
        runner = asyncio.ensure_future(Runner(network, ledger, "runner", FAULTS[faults]).run(0))
        network.tasks.append(runner)
    tasks = [asyncio.ensure_future(one.run(chance.randrange(2, 7))) for one in callers]
    await network.wait(tasks + [asyncio.ensure_future(disturb(network, {}))], "callers", 150)
    network.server.check()
    result = await settle(network, first)
    if runner is not None:
        while not runner.done():
            runner.cancel()
            await asyncio.wait({runner}, timeout=0.1)
    round.note("result %s" % json.dumps(result))
    ledger.judge(result)
    code, out, err = await first.command("get", "p", killable=False)
    if code != 0 or json.loads(out) != result:
        round.fail("get: %d %s %s; run said %s" % (code, out, err, json.dumps(result)))
    status, answer = network.server.get("/v1/spaces/main/pieces/p")
    if status != 200 or answer.get("result", answer) != result:
        round.fail("GET /v1/spaces/main/pieces/p: %d %s; run said %s" % (status, json.dumps(answer), json.dumps(result)))
    await first.proxy.stop()
    return result
