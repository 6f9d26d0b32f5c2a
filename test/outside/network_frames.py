"""WebSocket frames, from both sides: what clients send, and what a proxy takes apart.

Written from RFC 6455; shares nothing with src/net.
"""

import os
import struct

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def masked(payload, mask):
    pattern = (mask * (len(payload) // 4 + 1))[:len(payload)]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(pattern, "little")).to_bytes(len(payload), "little")


def frame(payload, opcode=TEXT, mask=b"", final=True):
    """The bytes of one frame; clients mask theirs."""
    size = len(payload)
    bit = 0x80 if mask else 0
    head = bytes([(0x80 if final else 0) | opcode])
    if size < 126:
        head += bytes([bit | size])
    elif size < 65536:
        head += bytes([bit | 126]) + struct.pack("!H", size)
    else:
        head += bytes([bit | 127]) + struct.pack("!Q", size)
    return head + mask + (masked(payload, mask) if mask else payload)


def client_frame(payload, opcode=TEXT, final=True):
    return frame(payload, opcode, os.urandom(4), final)


class Frame:
    def __init__(self, first, payload, mask):
        self.first = first
        self.payload = payload
        self.mask = mask

    @property
    def opcode(self):
        return self.first & 0x0F

    @property
    def final(self):
        return bool(self.first & 0x80)

    def bytes(self):
        return frame(self.payload, self.opcode, self.mask, self.final)


class Frames:
    """Takes bytes as they come, and gives whole frames."""

    def __init__(self):
        self.bytes = b""

    def feed(self, more):
        self.bytes += more
        found = []
        while True:
            one, size = self._first()
            if one is None:
                return found
            found.append(one)
            self.bytes = self.bytes[size:]

    def _first(self):
        data = self.bytes
        if len(data) < 2:
            return None, 0
        size, at = data[1] & 0x7F, 2
        if size == 126:
            if len(data) < 4:
                return None, 0
            size, at = struct.unpack("!H", data[2:4])[0], 4
        elif size == 127:
            if len(data) < 10:
                return None, 0
            size, at = struct.unpack("!Q", data[2:10])[0], 10
        mask = b""
        if data[1] & 0x80:
            mask = data[at:at + 4]
            at += 4
        if len(data) < at + size:
            return None, 0
        payload = data[at:at + size]
        return Frame(data[0], masked(payload, mask) if mask else payload, mask), at + size
