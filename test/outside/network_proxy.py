"""A proxy between one client and the server that makes faults.

Faults of the transport, which every connection can have:

  cut      both directions end after some bytes, politely or with a reset
  half     one direction ends, the other one stays open
  delay    bytes arrive late
  trickle  bytes arrive a few at a time
  stall    one direction stands still for a while, or for good

Faults that TCP rules out, but a broken intermediary can make. `message` faults
are what the numbers of messages detect:

  drop, repeat, swap   whole WebSocket messages

and `corrupt` faults change bytes. Neither WebSocket nor JSON has a checksum: a
changed digit in a value is another valid message, and nothing can detect it.
What can be promised is that damage to the structure is detected, so these are
the bytes that a corrupting proxy changes:

  header   a bit of a frame's header, its length or its mask
  channel  the channel number of a line
  syntax   a structural character of the JSON
  text     a byte that is not UTF-8, anywhere
  lines    a line that is torn in two, or two that are joined

A `raw` proxy changes any bit. What its client stores is not judged: only that
the server and the other clients do not suffer.
"""

import asyncio
import random
import socket

from network_frames import Frames

TRANSPORT = ("cut", "cut", "cut", "half", "delay", "trickle", "stall")
MESSAGES = ("drop", "repeat", "swap")
CORRUPT = ("header", "channel", "syntax", "text", "lines")


class Fault:
    """What one connection suffers. `dirty`: more than TCP allows."""

    def __init__(self, kind="none", seed=""):
        self.kind = kind
        self.random = random.Random(seed)
        self.up = self.random.random() < 0.5  # the direction: to the server
        self.after = int(self.random.random() ** 2 * 6000)  # bytes; the handshake is the first few hundred
        self.rate = self.random.choice([0.05, 0.2, 0.5])
        self.reset = self.random.random() < 0.5
        self.pause = self.random.choice([0.02, 0.1, 0.4, 60])
        self.applied = False

    @property
    def dirty(self):
        return self.kind in MESSAGES or self.kind in CORRUPT or self.kind == "raw"

    def __repr__(self):
        return "%s %s after %d" % (self.kind, "up" if self.up else "down", self.after)


def outside_strings(text):
    """Where the structural characters of a JSON text are."""
    found, inside, escaped = [], False, False
    for index, char in enumerate(text):
        if inside:
            if escaped:
                escaped = False
            elif char == 0x5C:
                escaped = True
            elif char == 0x22:
                inside = False
                found.append(index)
        elif char == 0x22:
            inside = True
            found.append(index)
        elif char in b"{}[]:,":
            found.append(index)
    return found


def damage(fault, one):
    """The bytes of a frame, after the damage."""
    chance, payload = fault.random, bytearray(one.payload)
    if fault.kind == "header":
        data = bytearray(one.bytes())
        place = chance.randrange(len(data) - len(payload))
        data[place] ^= 1 << chance.randrange(8)
        return bytes(data)
    if fault.kind == "channel":
        end = payload.find(b" ")
        if end > 0:
            place = chance.randrange(end)
            digit = chance.choice(b"0123456789~")
            payload[place] = digit
    elif fault.kind == "syntax":
        places = outside_strings(payload)
        if places:
            payload[chance.choice(places)] = 0x7E
    elif fault.kind == "text":
        payload[chance.randrange(len(payload))] = chance.choice([0xFF, 0xC0, 0x80])
    elif chance.random() < 0.5 and b"\n" in payload:
        payload[payload.index(b"\n")] = 0x20
    else:
        payload.insert(chance.randrange(1, len(payload)), 0x0A)
    one.payload = bytes(payload)
    return one.bytes()


class Proxy:
    """Listens for one client. `fault` is what its next connection suffers, or what `draw` gives."""

    def __init__(self, target):
        self.target = target  # target() -> the port of the server
        self.fault = Fault()
        self.draw = None  # or a function that gives the fault of each connection
        self.port = 0
        self.listener = None
        self.tasks = set()
        self.writers = set()

    async def start(self):
        self.listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self.listener.sockets[0].getsockname()[1]

    async def stop(self):
        self.listener.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for writer in list(self.writers):
            writer.transport.abort()

    async def _accept(self, reader, writer):
        fault = self.draw() if self.draw is not None else self.fault
        self.tasks.add(asyncio.current_task())
        self.writers.add(writer)
        far = None
        try:
            there, far = await asyncio.open_connection("127.0.0.1", self.target())
            self.writers.add(far)
            for one in (writer, far):
                one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.gather(self._pump(reader, far, writer, fault, True), self._pump(there, writer, far, fault, False))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for one in (writer, far):
                if one is not None:
                    self.writers.discard(one)
                    one.transport.abort() if fault.kind == "cut" and fault.reset else one.close()
            self.tasks.discard(asyncio.current_task())

    async def _pump(self, reader, writer, back, fault, up):
        """One direction, until it ends; the end of one is the end of the other, except of a half."""
        change = self._change(fault) if up == fault.up else None
        while True:
            data = await reader.read(65536)
            if not data:
                break
            if change is None:
                writer.write(data)
            elif not await change(data, writer):
                break
            await writer.drain()
        if fault.kind == "half" and fault.applied and up == fault.up:
            writer.write_eof()
            return
        writer.close()
        back.close()

    # ---- what happens to the bytes: a function that says whether to go on ----

    def _change(self, fault):
        if fault.kind in MESSAGES or fault.kind in CORRUPT:
            return self._by_frame(fault)
        if fault.kind == "none":
            return None
        return getattr(self, "_" + fault.kind)(fault)

    @staticmethod
    def _cut(fault):
        passed = 0

        async def change(data, writer):
            nonlocal passed
            rest = fault.after - passed
            passed += len(data)
            if len(data) < rest:
                writer.write(data)
                return True
            fault.applied = True
            writer.write(data[:max(0, rest)])
            return False
        return change

    _half = _cut

    @staticmethod
    def _delay(fault):
        async def change(data, writer):
            fault.applied = True
            await asyncio.sleep(fault.random.random() * 0.03)
            writer.write(data)
            return True
        return change

    @staticmethod
    def _trickle(fault):
        async def change(data, writer):
            fault.applied = True
            while data:
                size = fault.random.randrange(1, 40)
                writer.write(data[:size])
                await writer.drain()
                data = data[size:]
                await asyncio.sleep(0)
            return True
        return change

    @staticmethod
    def _stall(fault):
        passed = 0

        async def change(data, writer):
            nonlocal passed
            passed += len(data)
            if passed >= fault.after and not fault.applied:
                fault.applied = True
                await asyncio.sleep(fault.pause)
            writer.write(data)
            return True
        return change

    @staticmethod
    def _raw(fault):
        async def change(data, writer):
            data = bytearray(data)
            while fault.random.random() < fault.rate:
                fault.applied = True
                data[fault.random.randrange(len(data))] ^= 1 << fault.random.randrange(8)
            writer.write(bytes(data))
            return True
        return change

    @staticmethod
    def _by_frame(fault):
        frames, head, held, past_head = Frames(), b"", [], False

        def passed_on(one):
            if one.opcode > 2 or not one.payload or fault.random.random() >= fault.rate:
                return one.bytes()
            fault.applied = True
            if fault.kind == "drop":
                return b""
            if fault.kind == "repeat":
                return one.bytes() * 2
            if fault.kind == "swap":
                held.append(one.bytes())
                return b""
            return damage(fault, one)

        async def change(data, writer):
            nonlocal head, past_head
            if not past_head:
                head += data
                if b"\r\n\r\n" not in head:
                    return True
                first, data = head.split(b"\r\n\r\n", 1)
                writer.write(first + b"\r\n\r\n")
                past_head = True
            for one in frames.feed(data):
                late, held[:] = held[:], []
                writer.write(passed_on(one))
                for other in late:
                    writer.write(other)
            return True
        return change
