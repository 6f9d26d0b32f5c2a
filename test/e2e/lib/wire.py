"""A client of the wire protocol (docs/protocol.md) on raw sockets: for tests that speak to a server as a stranger does.

It shares no code with the server: it frames and masks by itself, and sends whatever a test tells it to, valid or not."""

import base64
import collections
import json
import os
import signal
import socket
import struct
import subprocess

PATIENCE = 20  # seconds after which a test gives up; nothing is measured with it


class Closed(Exception):
    """The server has closed the connection; `code` is that of the WebSocket, or 0."""

    def __init__(self, code=0, reason=""):
        super().__init__(f"closed {code} {reason}")
        self.code = code
        self.reason = reason


class Server:
    """`heddle serve` as a child process, on a free port of the loopback address."""

    def __init__(self, heddle, folder, *words, env=None, insecure=True):
        self.command = [heddle, "serve", "--dir", folder, "--json"]
        self.words = [*words, *(["--insecure-local"] if insecure else [])]
        self.env = {**os.environ, **(env or {})}
        self.log = os.path.join(os.path.dirname(folder), "server.log")
        self.port = 0
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.command, "--listen", f"127.0.0.1:{self.port}", *self.words],
                stdout=subprocess.PIPE, stderr=log, env=self.env, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the server did not start: {open(self.log).read()}")
        about = json.loads(line)
        self.port = int(about["url"].rsplit(":", 1)[1])
        self.audience = about["audience"]
        return self

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code


class Wire:
    """One WebSocket. `expect` and `next` give the lines of the server as (channel, object)."""

    def __init__(self, port, bearer=None, hello=True):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.bytes = b""
        self.lines = collections.deque()
        self.numbers = collections.defaultdict(int)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ["GET /v1/socket HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: heddle.1"]
        if bearer:
            lines.append(f"Authorization: Bearer {bearer}")
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.bytes:
            self.read()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise Closed(0, head.split(b"\r\n")[0].decode())
        self.welcome = None
        if hello:
            self.say(0, {"kind": "hello", "version": 1})
            self.welcome = self.expect(0, "welcome")

    # -- bytes --

    def read(self):
        more = self.socket.recv(65536)
        if not more:
            raise Closed()
        self.bytes += more

    def take(self, count):
        while len(self.bytes) < count:
            self.read()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def frame(self, payload, opcode=1, final=True):
        mask = os.urandom(4)
        size = len(payload)
        head = bytes([(0x80 if final else 0) | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += bytes([0x80 | 126]) + struct.pack("!H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack("!Q", size)
        whole = int.from_bytes(payload, "little") if payload else 0
        pattern = (mask * (size // 4 + 1))[:size]
        masked = (whole ^ int.from_bytes(pattern, "little")).to_bytes(size, "little") if payload else b""
        self.socket.sendall(head + mask + masked)

    def receive(self):
        """One message of the server, as text; answers pings."""
        whole = b""
        while True:
            first, second = self.take(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack("!H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.take(8))[0]
            payload = self.take(size)
            opcode = first & 0x0F
            if opcode == 8:
                code = struct.unpack("!H", payload[:2])[0] if size >= 2 else 0
                raise Closed(code, payload[2:].decode("utf-8", "replace"))
            if opcode == 9:
                self.frame(payload, 10)
            elif opcode in (0, 1):
                whole += payload
                if first & 0x80:
                    return whole.decode()

    # -- lines --

    def text(self, text):
        self.frame(text.encode())

    def say(self, channel, *objects):
        self.text("\n".join(f"{channel} {json.dumps(one)}" for one in objects))

    def next(self):
        while not self.lines:
            for line in self.receive().split("\n"):
                channel, _, rest = line.partition(" ")
                self.lines.append((int(channel), json.loads(rest)))
        return self.lines.popleft()

    def expect(self, channel, kind):
        """The next line, which must be this one."""
        at, one = self.next()
        if at != channel or one.get("kind") != kind:
            raise AssertionError(f"expected {kind} on {channel}, got {at} {one}")
        return one

    def find(self, channel, kind):
        """The next line of that kind; others before it are dropped."""
        while True:
            at, one = self.next()
            if at == channel and one.get("kind") == kind:
                return one
            if at == 0 and one.get("kind") == "detached" and one.get("channel") == channel:
                raise AssertionError(f"waited for {kind}, got {one}")

    def end(self):
        """The lines until the server closes the connection."""
        seen = []
        try:
            while True:
                seen.append(self.next())
        except Closed as closed:
            return seen, closed

    def close(self):
        self.socket.close()

    # -- sessions --

    def attach(self, channel, space="main", **more):
        self.say(0, {"kind": "attach", "channel": channel, "space": space, **more})
        while True:
            at, one = self.next()
            if at == 0 and one["kind"] in ("attached", "refused") and one["channel"] == channel:
                return one

    def send(self, channel, kind, connection=1, **fields):
        self.numbers[channel] += 1
        self.say(channel, {"kind": kind, "connection": connection, "number": self.numbers[channel], **fields})

    def open(self, channel, session, space="main", connection=1, **more):
        """Attaches and opens a session."""
        attached = self.attach(channel, space, session=session, **more)
        if attached["kind"] != "attached":
            return attached
        self.numbers[channel] = 0
        self.send(channel, "open", connection, session=session, seenSeq=0)
        return self.find(channel, "opened")

    def commit(self, channel, session, local_seq, *operations, reads=None, connection=1):
        commit = {"session": session, "localSeq": local_seq, "branch": "", "operations": list(operations)}
        if reads:
            commit["reads"] = {"confirmed": reads}
        self.send(channel, "commits", connection, commits=[commit])

    def verdict(self, channel):
        return self.find(channel, "verdicts")["verdicts"][0]


def put(document, value):
    return {"op": "set", "id": document, "value": {"value": value}}


def increment(document, by=1):
    return {"op": "patch", "id": document, "patches": [{"op": "increment", "path": "/value", "by": by}]}
