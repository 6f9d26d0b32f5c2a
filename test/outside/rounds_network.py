"""Rounds over the network: a real `heddle serve`, clients with several sessions
each, faulty proxies between them (network_proxy.py), and a server that is
killed, drained and started again, while clients die, too.

The judge (network_model.py) decides, from what each client was told and from
the log and the documents of each space:

  - an acknowledged commit is in the log once, at its seq, and a refused one is
    not; one without a verdict is there at most once;
  - the stored documents are what the commits give in the order of the log, so
    a counter is the number of landed increments;
  - nothing that a landed commit read had changed, and a conflict names a commit
    that did change it;
  - the syncs of a session are contiguous, and after each of them the session
    shows the documents of one seq;
  - no client is refused for good: when the faults end, everything is decided,
    and every session sees the last commit.
"""

import asyncio
import json
import os
import random
import signal
import subprocess

from network_client import FAULTS, Client, Victim
from network_model import Space
from network_pieces import play_piece
from network_proxy import Proxy

PATIENCE = 30  # seconds until a round is given up as stuck; nothing is measured with it
SHARED = ["of:count", "of:cell", "of:keys", "of:list", "of:left", "of:right", "of:claim", "of:end"]


class Server:
    """`heddle serve` on a data directory, on the same port each time it starts."""

    def __init__(self, round, *words):
        self.round = round
        self.words = words
        self.port = 0
        self.process = None
        self.log = os.path.join(round.directory, "server.log")
        self.stopping = False

    def command(self, port):
        return [self.round.settings.heddle, "serve", "--dir", self.round.command.data, "--json", "--insecure-local",
                "--listen", "127.0.0.1:%d" % port, *self.words]

    def start(self):
        for port in [self.port] * 20 + [0]:  # another process may have the port for a while
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(self.command(port), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                stderr=log, cwd=self.round.directory, text=True)
            self.round.started(self.process)
            line = self.process.stdout.readline()
            if line:
                self.port = int(json.loads(line)["url"].rsplit(":", 1)[1])
                return
            self.process.wait()
        self.round.fail("the server does not start: %s" % self.told())

    def told(self, lines=30):
        with open(self.log) as log:
            return "".join(log.readlines()[-lines:])

    def check(self):
        if self.process.poll() is not None:
            self.round.fail("the server ended by itself with %d: %s" % (self.process.returncode, self.told()))

    async def end(self, number):
        """Ends the process, by a signal, while everything else goes on."""
        self.check()
        process = self.process
        process.send_signal(number)
        while process.poll() is None:
            await asyncio.sleep(0.001)
        if process.returncode != (0 if number == signal.SIGTERM else -number):
            self.round.fail("signal %d ended the server with %d: %s" % (number, process.returncode, self.told()))
        if "Sanitizer" in self.told(1000000):
            self.round.fail("a sanitizer: %s" % self.told(200))

    def get(self, path):
        """(status, object) of a request."""
        import http.client
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


class Failed(Exception):
    pass


class Network:
    """Everything that takes part in a round."""

    def __init__(self, round):
        self.round = round
        self.seed = "%s/%d" % (round.settings.seed, round.number)
        self.random = round.random
        self.server = Server(round)
        self.clients = []
        self.victims = []
        self.retired = []  # sessions of clients that died
        self.tasks = []
        self.failure = None

    def tell(self, client, most=400):
        """What a client said and was told goes to the history."""
        for line in list(client.trace)[-most:]:
            self.round.note("%s %s" % (client.name, line[:600]))

    def failed(self, client, text):
        if self.failure is None:
            self.failure = text
            self.tell(client)
        client.dead = True
        raise Failed(text)

    async def new_client(self, name, faults="clean", fault_count=0):
        proxy = Proxy(lambda: self.server.port)
        await proxy.start()
        make = Victim if faults == "raw" else Client
        client = make(self, name, random.Random("%s/%s" % (self.seed, name)), proxy, fault_count, FAULTS[faults])
        (self.victims if faults == "raw" else self.clients).append(client)
        return client

    def begin(self, client):
        client.task = asyncio.ensure_future(client.live())
        self.tasks.append(client.task)

    def sessions(self, space=None):
        found = [session for client in self.clients for session in client.sessions] + self.retired
        return [session for session in found if space is None or session.space == space]

    async def wait(self, tasks, what, patience=PATIENCE):
        """Waits for all of them, unless something fails meanwhile."""
        waiting = set(tasks)
        end = asyncio.get_running_loop().time() + patience
        while waiting:
            done, _ = await asyncio.wait(waiting | set(self.tasks), timeout=1, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if not task.cancelled() and task.exception() is not None:
                    raise task.exception()
            waiting -= done
            self.tasks = [task for task in self.tasks if task not in done]
            if asyncio.get_running_loop().time() > end:
                stuck = [session for session in self.sessions() if session.awaits]
                for client in {session.client for session in stuck}:
                    self.tell(client)
                self.round.fail("%s: stuck: %s" % (what, stuck))

    def check_files(self):
        folder = self.round.command.data
        for name in sorted(os.listdir(folder)):
            if name.endswith(".db") and self.round.generator.chance(30):
                answer = self.round.command.call_plain("store", "check", os.path.join(folder, name))
                if answer.outcome != "ok":
                    self.round.fail("store check %s: %r" % (name, answer))

    async def kill_client(self, client):
        """The process is gone, with what it knew."""
        client.dead = True
        while not client.task.done():  # a cancellation can be lost where something else happens at that moment
            client.task.cancel()
            await asyncio.wait({client.task}, timeout=0.1)
        self.tasks = [task for task in self.tasks if task is not client.task]
        if client.writer is not None:
            client.writer.transport.abort()
        if client in self.clients:
            self.clients.remove(client)
            self.retired += client.sessions
        await client.proxy.stop()


# ---- what sessions do ----

def put(document, value):
    return {"op": "set", "id": document, "value": {"value": value}}


def patch(document, operation, path="/value", **fields):
    return {"op": "patch", "id": document, "patches": [{"op": operation, "path": path, **fields}]}


MIXED = ["own", "own", "count", "count", "count", "cell", "cell", "key", "list", "list", "move", "invalid", "claim"]
WORKLOADS = {"mixed": MIXED, "cell": ["cell"] * 5 + ["count"], "count": ["count"] * 8 + ["move", "own"],
             "key": ["key"] * 4 + ["cell"], "list": ["list"] * 6 + ["own"], "claim": ["claim"] * 4 + ["own"]}


class Work:
    """What one session does: a number of commits of all kinds."""

    def __init__(self, session, steps, kinds):
        self.kinds = kinds
        self.session = session
        self.random = session.client.random
        self.round = session.round
        self.steps = steps
        self.key = session.name.replace("-", "")
        self.waiting = []

    async def run(self):
        await self.session.until(lambda: self.session.watch_answered)
        for step in range(self.steps):
            kind = self.random.choice(self.kinds)
            self.round.count("network " + kind)
            await getattr(self, "_" + kind)(step)
            if self.random.random() < 0.3:
                self._flush()
                await asyncio.sleep(self.random.random() * 0.02)
            elif self.random.random() < 0.5:
                self._flush()
        self._flush()
        await self.session.until(lambda: not self.session.pending)

    def _flush(self):
        if self.waiting:
            waiting, self.waiting = self.waiting, []
            self.session.submit(waiting)

    def _commit(self, *operations, **options):
        commit = self.session.new_commit(*operations, **options)
        self.waiting.append(commit)
        return commit

    async def _own(self, step):
        self._commit(put("of:own-" + self.session.name, {"step": step, "text": "x" * self.random.randrange(200)}),
                     purpose="own")

    async def _count(self, step):
        by = self.random.choice([1, 1, 2, -1])
        self._commit(patch("of:count", "increment", by=by), purpose="count")

    async def _move(self, step):
        amount = self.random.randrange(1, 9)
        self._commit(patch("of:left", "increment", by=-amount), patch("of:right", "increment", by=amount),
                     purpose="move")

    async def _invalid(self, step):
        self._commit(patch("of:count", "increment", by=1000), patch("of:keys", "remove", "/value/nothing"),
                     purpose="invalid")

    async def _claim(self, step):
        document = "of:claim" if step % 2 else "of:claim-%d" % step
        self._commit(put(document, self.session.name), preconditions=[{"kind": "entity-absent", "id": document}],
                     purpose="claim")

    async def _list(self, step):
        name = "%s%d" % (self.key, step)
        kind = self.random.choice(["append", "append", "add-unique", "remove-by-value", "set", "delete"])
        if kind in ("append", "add-unique"):
            operation = patch("of:list", kind, values=[name, self.random.randrange(3)])
        elif kind == "remove-by-value":
            # The list may have been deleted meanwhile: then there is one to remove from.
            operation = {"op": "patch", "id": "of:list", "patches": [
                {"op": "append", "path": "/value", "values": [0]},
                {"op": kind, "path": "/value", "value": self.random.randrange(3)}]}
        elif kind == "set":
            operation = put("of:list", [name])
        else:
            operation = {"op": "delete", "id": "of:list"}
        self._commit(operation, purpose="list " + kind)

    def _read(self, document, path):
        seq, value = self.session.view.get(document, (0, None))
        seqs = [seq, self.session.synced] if self.session.synced > seq else [seq]
        return {"id": document, "path": path, "seq": self.random.choice(seqs)}, value

    async def _settled(self):
        """Everything that the session has done is decided, and shown to it."""
        self._flush()
        session = self.session
        await session.until(lambda: not session.pending and session.marker >= len(session.commits)
                            and session.watch_answered and not session.own)

    async def _cell(self, step):
        """Reads, adds one, and writes; again, until it lands."""
        while True:
            await self._settled()
            read, value = self._read("of:cell", ["value"])
            old = value["value"] if value else 0
            commit = self._commit(put("of:cell", old + 1), reads=[read], purpose="cell")
            self._flush()
            await self.session.until(lambda: commit.decided)
            if commit.seq is not None:
                self.round.count("network cell landed")
                return
            if commit.error["name"] != "CONFLICT":
                return  # for the judge
            self.round.count("network conflict")

    async def _key(self, step):
        """A key of its own in the document of all: it never conflicts."""
        await self._settled()
        read, value = self._read("of:keys", ["value", self.key])
        old = value["value"].get(self.key, 0) if value else 0
        commit = self._commit(patch("of:keys", "add", "/value/" + self.key, value=old + 1), reads=[read], purpose="key")
        self._flush()
        await self.session.until(lambda: commit.decided)
        if commit.error is not None:
            self.session.fail("nobody else writes this key: %r" % commit)


# ---- faults of the server and the clients ----

async def torment(network):
    """A client whose bytes change at random, in a space of its own."""
    victim = await network.new_client("victim", "raw", 1000000)
    session = victim.add("zzzzzzzzzz", "zzzzzzzz", ["of:zzz"])
    network.begin(victim)
    network.round.count("network victim")
    for _ in range(network.random.randrange(10, 60)):
        session.submit([session.new_commit(patch("of:zzz", "increment", by=1), purpose="victim")])
        await asyncio.sleep(0.005)
    await network.kill_client(victim)


async def disturb(network, works):
    """Kills and restarts the server, and kills clients, a few times."""
    chance = network.random
    for _ in range(chance.choice([0, 1, 1, 2, 3, 4])):
        await asyncio.sleep(chance.random() * 0.15)
        kind = chance.choice(["kill", "kill", "kill", "drain", "stop", "client"])
        network.round.note("fault: " + kind)
        if kind == "kill":
            network.round.count("network server killed")
            await network.server.end(signal.SIGKILL)
            await asyncio.sleep(chance.random() * 0.03)
            network.server.start()
        elif kind == "drain":
            network.round.count("network server drained")
            await network.server.end(signal.SIGTERM)
            network.server.start()
        elif kind == "stop":
            network.round.count("network server stopped")
            network.server.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(chance.random() * 0.2)
            network.server.process.send_signal(signal.SIGCONT)
        elif len(network.clients) > 2:
            network.round.count("network client killed")
            victim = chance.choice(network.clients[1:])
            for session in victim.sessions:
                for task in works.pop(session, ()):
                    task.cancel()
            await network.kill_client(victim)


# ---- the round ----

async def begin(network):
    """The server, the spaces and the clients; the first client has no faults."""
    chance = network.random
    network.server.start()
    spaces = ["red", "blue", "green"][:chance.choice([1, 1, 2, 3])]
    faults = chance.choice(["clean", "transport", "transport", "messages", "corrupt", "all"])
    network.round.note("spaces %s, faults %s" % (spaces, faults))
    network.round.count("network faults: " + faults)
    first = await network.new_client("first")
    for space in spaces:
        session = first.add(space, "first-" + space, SHARED)
        session.new_commit(put("of:keys", {}), purpose="begin")
    for index in range(chance.randrange(2, 5)):
        client = await network.new_client("c%d" % index, faults, chance.randrange(1, 6))
        for place in range(chance.choice([1, 1, 2, 3])):
            name = "c%d-%d" % (index, place)
            client.add(chance.choice(spaces), name, SHARED + ["of:own-" + name])
    network.begin(first)
    await network.wait([asyncio.ensure_future(session.until(lambda session=session: session.commits[0].decided))
                        for session in first.sessions], "the first commit")
    return spaces


async def play(network):
    round = network.round
    spaces = await begin(network)
    works = {}
    workload = round.random.choice(["mixed"] * 5 + sorted(WORKLOADS))
    round.note("workload " + workload)
    round.count("workload " + workload)
    for client in network.clients[1:]:
        network.begin(client)
        for session in client.sessions:
            steps = round.random.randrange(3, 25)
            works[session] = [asyncio.ensure_future(Work(session, steps, WORKLOADS[workload]).run())]
    disturbing = asyncio.ensure_future(disturb(network, works))
    tormenting = [asyncio.ensure_future(torment(network))] if round.generator.chance(25) else []
    await network.wait([disturbing, *tormenting], "faults")
    await network.wait([task for tasks in works.values() for task in tasks], "work")
    for client in network.clients:
        client.faults_left = 0
    for session in network.clients[0].sessions:
        session.submit([session.new_commit(put("of:end", True), purpose="end")])
    for session in network.sessions():
        session.waits_for = "of:end"
    alive = [session for client in network.clients for session in client.sessions]
    await network.wait([asyncio.ensure_future(session.until(lambda session=session: not session.awaits))
                        for session in alive], "the end")
    network.server.check()
    return spaces


def read_log(round, space):
    done = subprocess.run([round.settings.heddle, "store", "log", os.path.join(round.command.data, space + ".db"), "--json",
                           "--limit", "1000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        round.fail("store log: %s" % done.stderr)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted((one for one in records if one["kind"] == "commit"), key=lambda one: one["seq"])


def judge(network, name):
    round = network.round
    sessions = network.sessions(name)
    commits = [commit for session in sessions for commit in session.commits]
    for commit in commits:
        round.note("%s: %r" % (name, commit))
    space = Space(round, name, commits, read_log(round, name))
    space.judge()
    for session in sessions:
        for seq, view in session.shown:
            space.check_view(session, seq, view)
            round.count("network view")
        for document, seq, value in session.upserts:
            if seq >= len(space.states) or value != space.value(document, seq):
                round.fail("session %s was sent %s at seq %d as %s; the commits give %s" % (
                    session.name, document, seq, json.dumps(value), json.dumps(space.value(document, min(
                        seq, len(space.states) - 1)))))
    for session in sessions:
        if session not in network.retired:
            space.check_view(session, session.synced, session.view)
    return space


def check_stored(network, space):
    """The documents as HTTP gives them: now, and some of them at an earlier seq."""
    round = network.round
    seen = sorted({document for state in space.states for document in state})
    for document in seen:
        at = round.random.randrange(1, len(space.states)) if round.generator.chance(30) else None
        path = "/v1/spaces/%s/docs/%s" % (space.name, document) + ("?at=%d" % at if at else "")
        status, answer = network.server.get(path)
        want = space.value(document, at if at else -1)
        got = answer.get("value") if status == 200 else None
        if (want is None) != (status == 404) or (want is not None and got != want["value"]):
            round.fail("GET %s: %d %s; the commits give %s" % (path, status, json.dumps(answer), json.dumps(want)))


def quiet(loop, context):
    """A task of a proxy that is cancelled before it began is no news."""
    if not isinstance(context.get("exception"), asyncio.CancelledError):
        loop.default_exception_handler(context)


async def piece_round(network):
    """The piece, as processes on the same directory see it when the server is gone."""
    round = network.round
    result = await play_piece(network, disturb)
    await network.server.end(signal.SIGTERM)
    answer = round.command.get("p")
    if answer.outcome != "ok" or answer.value != result:
        round.fail("get after the server: %r; it said %s" % (answer, json.dumps(result)))


async def space_round(network):
    spaces = await play(network)
    judged = [judge(network, name) for name in spaces]
    for space in judged:
        check_stored(network, space)
    await network.server.end(signal.SIGTERM)
    network.check_files()
    for space in judged:
        if len(read_log(network.round, space.name)) != len(space.log):
            network.round.fail("the log of %s has changed" % space.name)


async def whole(network, play_round):
    asyncio.get_running_loop().set_exception_handler(quiet)
    try:
        await play_round(network)
    except Failed as error:
        network.round.fail(str(error))
    finally:
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                task.cancel()
        for client in network.clients + network.victims:
            await client.proxy.stop()


def network(round):
    """Clients of a server over faulty connections, while it is killed: what was acknowledged is there, once."""
    asyncio.run(whole(Network(round), space_round))


def served(round):
    """A piece on a server: events and edits by commands, programs and HTTP, beside faults: each takes effect once."""
    asyncio.run(whole(Network(round), piece_round))
