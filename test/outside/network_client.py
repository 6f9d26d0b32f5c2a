"""A client of the wire protocol, as docs/protocol.md tells its author to write it.

It sends commits in order without waiting, connects again when the connection
ends or is silent, continues its sessions, and sends everything that has no
verdict again. It fails the round at once where the server breaks a rule that
can be seen from here; what it was told, the judge (network_model.py) compares
with what is stored.
"""

import asyncio
import base64
import collections
import json
import os

from network_frames import CLOSE, PING, PONG, Frames, client_frame
from network_model import Commit, applied
from network_proxy import CORRUPT, MESSAGES, TRANSPORT, Fault

SILENCE = 0.4  # seconds without an answer after which a client connects again; grows while that does not help
SILENCE_MAX = 8


class Broken(Exception):
    """The connection is of no more use."""


class Session:
    """One session in one space, over any number of connections."""

    def __init__(self, client, channel, space, name, documents):
        self.client = client
        self.round = client.round
        self.channel = channel
        self.space = space
        self.name = name
        self.watched = documents
        self.commits = []
        self.pending = []  # no verdict yet
        self.connection = 0
        self.state = "idle"  # attaching, opening, open, leaving
        self.sent = self.received = 0
        self.watch_answered = False
        self.synced = 0
        self.marker = 0
        self.token = None
        self.view = {}  # document -> (seq, value)
        self.shown = []  # (seq, view) after each sync
        self.upserts = []  # (document, seq, value)
        self.own = []  # landed, not covered by a sync
        self.changed = asyncio.Event()
        self.waits_for = None  # a document that must appear
        self.unique = client.random.getrandbits(48) + 1

    def __repr__(self):
        return "%s in %s: %s, synced %d, marker %d of %d, watching %s, end %s, pending %s" % (
            self.name, self.space, self.state, self.synced, self.marker, len(self.commits), self.watch_answered,
            self.view.get(self.waits_for), self.pending)

    def fail(self, text):
        self.client.fail("session %s in %s: %s" % (self.name, self.space, text))

    @property
    def awaits(self):
        return (self.state != "open" or bool(self.pending) or not self.watch_answered
                or (self.commits and self.marker < len(self.commits))
                or (self.waits_for is not None and self.view.get(self.waits_for, (0, None))[1] is None))

    async def until(self, true):
        while not true():
            self.changed.clear()
            await self.changed.wait()

    # ---- sending ----

    def line(self, kind, **fields):
        self.sent += 1
        return self.channel, {"kind": kind, "connection": self.connection, "number": self.sent, **fields}

    def attach(self):
        self.state = "attaching"
        user = {"user": self.client.user} if self.client.user else {}
        return 0, {"kind": "attach", "channel": self.channel, "space": self.space, "session": self.name, **user}

    def open_line(self):
        """Follows the attach. Everything else waits for `opened`, which says whether the session continues."""
        self.state = "opening"
        self.connection = self.client.next_connection()
        self.sent = self.received = 0
        more = {"token": self.token} if self.token else {}
        more.update({"deltas": True} if self.client.random.random() < 0.5 else {})
        return self.line("open", session=self.name, seenSeq=self.synced, client=self.unique, **more)

    def resend_lines(self):
        """Everything without a verdict, in order, and the watch, if it has no answer, somewhere among it."""
        chance = self.client.random
        parts = [self.pending] if chance.random() < 0.5 else [[one] for one in self.pending]
        parts = [part for part in parts if part]
        self._note_sent(self.pending)
        if not self.watch_answered:
            parts.insert(chance.randrange(len(parts) + 1), None)
        return [self.watch_line() if part is None else self.line("commits", commits=[one.wire() for one in part])
                for part in parts]

    def watch_line(self):
        return self.line("watch", targets=[{"id": one} for one in self.watched])

    def _note_sent(self, commits):
        for one in commits:
            if one.first_sent is None:
                one.first_sent = self.connection

    def new_commit(self, *operations, **options):
        commit = Commit(self.name, len(self.commits) + 1, list(operations), **options)
        self.commits.append(commit)
        self.pending.append(commit)
        return commit

    def submit(self, commits):
        """Sends new commits, if there is a connection; otherwise the next one does."""
        if self.state == "open":
            self._note_sent(commits)
            self.client.say(self.line("commits", commits=[one.wire() for one in commits]))
        else:
            for one in commits:
                one.first_sent = 0  # some later one, and perhaps several

    # ---- receiving ----

    def receive_control(self, line):
        kind = line["kind"]
        if kind == "attached":
            if self.state == "attaching":
                self._check_next(line)
                self.client.say(self.open_line())
            elif self.state == "opening":  # pipelined
                self._check_next(line)
        elif kind == "refused" and self.state in ("attaching", "opening"):
            self._refused(line)
        elif kind == "detached" and self.state == "leaving":
            self.client.say(self.attach())
        elif kind == "detached":
            if line.get("class") not in ("retry", "fault") and not self.client.fault.dirty:
                self.fail("the channel was closed: %s" % json.dumps(line))
            self.round.count("channel closed by the server")
            self.client.say(self.attach())

    def _check_next(self, line):
        landed = max([one.local_seq for one in self.commits if one.seq is not None], default=0)
        if not landed < line["nextLocalSeq"] <= len(self.commits) + 1:
            self.fail("nextLocalSeq is %d: %d has landed, %d were made" % (
                line["nextLocalSeq"], landed, len(self.commits)))

    def _refused(self, line):
        if line["class"] not in ("retry", "fault") and not self.client.fault.dirty:
            self.fail("refused: %s" % json.dumps(line))
        raise Broken("refused: %s" % line["message"])

    def leave_channel(self):
        """Closes the channel and opens it again, on the same connection."""
        self.round.count("channel opened again")
        self.state = "leaving"
        self.client.say((0, {"kind": "detach", "channel": self.channel}))

    def receive(self, line):
        if self.state not in ("opening", "open") or line.get("connection") != self.connection:
            return
        if line["number"] <= self.received:
            return
        if line["number"] > self.received + 1:
            if not self.client.fault.dirty:
                self.fail("a message is missing before %s" % json.dumps(line))
            self.leave_channel()
            return
        self.received += 1
        if self.state == "opening" and line["kind"] not in ("opened", "revoked"):
            self.fail("%s before opened" % line["kind"])
        getattr(self, "_receive_" + line["kind"])(line)
        self.client.progress()
        self.changed.set()

    def _receive_opened(self, line):
        known = max([self.synced] + [one.seq for one in self.commits if one.seq is not None])
        if line["serverSeq"] < known:
            self.fail("the server is at seq %d, and has told of %d" % (line["serverSeq"], known))
        self.state = "open"
        self.token = line.get("token", self.token)
        self.marker = max(self.marker, line.get("caughtUpLocalSeq", 0))
        self.round.count("session resumed" if line.get("resumed") else "session new")
        if not line.get("resumed"):
            self.synced, self.view, self.own, self.watch_answered = 0, {}, [], False
        lines = self.resend_lines()
        if lines:
            self.client.say(*lines)

    def _receive_revoked(self, line):
        if not self.client.fault.dirty:
            self.fail("revoked: %s" % line.get("reason"))
        raise Broken("revoked")

    def _receive_verdicts(self, line):
        for verdict in line["verdicts"]:
            if not 0 < verdict["localSeq"] <= len(self.commits):
                self.fail("a verdict of no commit: %s" % json.dumps(verdict))
            self._decide(self.commits[verdict["localSeq"] - 1], verdict)

    def _decide(self, commit, verdict):
        error = verdict.get("error")
        if commit.decided:
            if verdict.get("seq") != commit.seq:
                self.fail("%r, and later: %s" % (commit, json.dumps(verdict)))
            return
        if error is not None and self.client.fault.dirty and error["name"] == "PROTOCOL":
            raise Broken("a commit was damaged on its way")
        self.pending.remove(commit)
        commit.seq, commit.error = verdict.get("seq"), error
        if error is not None:
            self.round.count("network refused " + error["name"])
            return
        self.round.count("network replayed" if verdict.get("replayed") else "network landed")
        if commit.first_sent == self.connection and not verdict.get("replayed") and commit.seq <= self.synced:
            self.fail("%r after a sync to %d" % (commit, self.synced))
        if commit.seq > self.synced:
            self.own.append(commit)

    def _receive_sync(self, line):
        start, end = line["fromSeq"], line["toSeq"]
        if start != self.synced or end < start:
            self.fail("a sync from %d to %d after one to %d" % (start, end, self.synced))
        told = set()
        for upsert in line.get("upserts", ()):
            document, seq, value = upsert["id"], upsert["seq"], upsert.get("document")
            if "patch" in upsert and document in self.watched:
                value = self._patched(document, upsert)
            if document not in self.watched:
                if not self.client.fault.dirty:
                    self.fail("%s was not asked for" % document)
                continue
            if seq < self.view.get(document, (0, None))[0]:
                self.fail("%s goes back to seq %d from %r" % (document, seq, self.view[document]))
            told.add(document)
            self.upserts.append((document, seq, value))
            self.view[document] = (seq, value)
        self._show_own(end, told)
        self.synced = end
        self.marker = max(self.marker, line.get("caughtUpLocalSeq", 0))
        if line.get("pull"):
            if set(self.view) == set(self.watched):
                self.watch_answered = True
        elif self.watch_answered:
            self.shown.append((end, dict(self.view)))

    def _patched(self, document, upsert):
        held, value = self.view.get(document, (0, None))
        if held != upsert["from"]:
            self.fail("a patch from seq %d of %s, which the session holds at %d" % (upsert["from"], document, held))
        self.round.count("network delta")
        try:
            return applied(value, {"op": "patch", "patches": upsert["patch"]})
        except (KeyError, TypeError, IndexError) as error:
            self.fail("%s does not fit %r: %r" % (json.dumps(upsert), value, error))

    def _show_own(self, end, told):
        """A sync leaves out documents that result from the session's own commits."""
        covered = sorted((one for one in self.own if one.seq <= end), key=lambda one: one.seq)
        self.own = [one for one in self.own if one.seq > end]
        for commit in covered:
            # A document that came later than its sync's seq may contain the commit already.
            fresh = {document for document, (seq, _) in self.view.items() if seq >= commit.seq} | told
            for operation in commit.operations:
                document = operation["id"]
                if document in self.view and document not in fresh:
                    try:
                        value = applied(self.view[document][1], operation)
                    except (KeyError, TypeError) as error:
                        self.fail("%r does not fit %r: %r" % (commit, self.view[document], error))
                    self.view[document] = (commit.seq, value)


class Client:
    """A process that talks to the server: one connection at a time, several sessions."""

    def __init__(self, network, name, random, proxy, fault_count=0, kinds=()):
        self.network = network
        self.round = network.round
        self.name = name
        self.random = random
        self.user = random.choice([None, "ann", "bob"])
        self.proxy = proxy
        self.faults_left = fault_count
        self.fault_kinds = kinds
        self.sessions = []
        self.writer = None
        self.fault = Fault()
        self.connections = 0
        self.numbers = 0
        self.silence = SILENCE
        self.trace = collections.deque(maxlen=1000)
        self.dead = False
        self.task = None

    def add(self, space, name, documents):
        session = Session(self, len(self.sessions) + 1, space, name, documents)
        self.sessions.append(session)
        return session

    def fail(self, text):
        self.network.failed(self, "client %s (%r): %s" % (self.name, self.fault, text))

    def progress(self):
        self.silence = SILENCE

    def next_connection(self):
        """No two sessions have the same number, so that no line of another channel is taken for the next one."""
        self.numbers += 1
        return self.numbers

    # ---- bytes ----

    def say(self, *lines):
        """Lines as one message, or as one each."""
        if self.writer is None:
            return
        texts = ["%d %s" % (channel, json.dumps(one)) for channel, one in lines]
        for one in texts:
            self.trace.append("> " + one)
        if self.random.random() < 0.5:
            texts = ["\n".join(texts)]
        for one in texts:
            self.writer.write(client_frame(one.encode()))

    def _draw_fault(self):
        self.connections += 1
        kind = "none"
        if self.faults_left > 0 and self.fault_kinds:
            self.faults_left -= 1
            kind = self.random.choice(self.fault_kinds)
        self.fault = Fault(kind, "%s/%s/%d" % (self.network.seed, self.name, self.connections))
        self.proxy.fault = self.fault
        self.trace.append("-- connection %d: %r" % (self.connections, self.fault))

    async def live(self):
        """Connects again and again, until it is cancelled."""
        while not self.dead:
            self._draw_fault()
            try:
                await self._connection()
            except (OSError, Broken, asyncio.TimeoutError, asyncio.IncompleteReadError,
                    asyncio.LimitOverrunError) as error:
                self.trace.append("-- ended: %r" % error)
            finally:
                self._end()
                if self.fault.kind != "none":
                    self.round.count("network fault" if self.fault.applied else "network fault that came too late",
                                     "network " + self.fault.kind)
            await asyncio.sleep(0.002 + self.random.random() * 0.02)

    def _end(self):
        for session in self.sessions:
            session.state = "idle"
        if self.writer is not None:
            # Not always told: the server may learn late that a connection is gone.
            self.writer.transport.abort() if self.random.random() < 0.5 else self.writer.close()
            self.writer = None

    async def _connection(self):
        reader, self.writer = await asyncio.open_connection("127.0.0.1", self.proxy.port)
        key = base64.b64encode(os.urandom(16)).decode()
        self.writer.write(("GET /v1/socket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n"
                           "Sec-WebSocket-Protocol: heddle.1\r\n\r\n" % key).encode())
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), self.silence)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise Broken("the handshake was refused: %r" % head.split(b"\r\n")[0])
        self.say((0, {"kind": "hello", "version": 1}))
        for session in self.sessions:
            lines = [session.attach()]
            if self.random.random() < 0.3:
                lines.append(session.open_line())
                self.round.count("network pipelined")
            self.say(*lines)
        frames = Frames()
        while True:
            try:
                data = await asyncio.wait_for(reader.read(65536), self.silence)
            except asyncio.TimeoutError:
                if not any(session.awaits for session in self.sessions):
                    continue
                self.silence = min(self.silence * 1.5, SILENCE_MAX)
                self.round.count("network silence")
                raise
            if not data:
                raise Broken("closed")
            for frame in frames.feed(data):
                self._receive(frame)

    def _receive(self, frame):
        if frame.opcode == CLOSE:
            raise Broken("closed with %r" % frame.payload)
        if frame.opcode == PING:
            self.writer.write(client_frame(frame.payload, PONG))
        if frame.opcode >= CLOSE:
            return  # a pong: a damaged header can have made a ping of a message
        try:
            lines = [line.partition(" ") for line in frame.payload.decode().split("\n")]
            lines = [(int(channel), json.loads(rest)) for channel, _, rest in lines]
            for channel, line in lines:
                self.trace.append("< %d %s" % (channel, json.dumps(line)))
                self._dispatch(channel, line)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            if not self.fault.dirty:
                raise
            raise Broken("not understood: %r" % error) from error

    def _dispatch(self, channel, line):
        if channel == 0:
            kind = line["kind"]
            if kind == "closing":
                raise Broken("the server shuts down")
            if kind == "error" and not self.fault.dirty:
                self.fail("error: %s" % json.dumps(line))
            if kind in ("attached", "refused", "detached"):
                self._session(line["channel"]).receive_control(line)
        else:
            self._session(channel).receive(line)

    def _session(self, channel):
        if not 0 < channel <= len(self.sessions):
            if not self.fault.dirty:
                self.fail("a line for channel %r" % channel)
            raise Broken("an unknown channel")
        return self.sessions[channel - 1]


class Victim(Client):
    """A client whose bytes change at random: what it is told, and what it stores, means nothing."""

    def fail(self, text):
        raise Broken(text)


FAULTS = {
    "clean": (),
    "transport": TRANSPORT,
    "messages": MESSAGES + ("cut",),
    "corrupt": CORRUPT,
    "all": TRANSPORT + MESSAGES + CORRUPT,
    "raw": ("raw",),
}
