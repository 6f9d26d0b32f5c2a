#!/usr/bin/env python3
"""Writes random command lines for fuzz/fuzz_command.c, one input per file:

    fuzz/command_lines.py SEED COUNT FOLDER

The words are the commands, options and operands that there are, numbers and
texts at the limits, and bytes that are none of these."""

import random
import sys
from pathlib import Path

COMMANDS = ["run", "send", "get", "set", "watch", "repl", "new", "ps", "why", "why-not", "graph", "log", "show",
            "check", "doctor", "completion", "test", "version", "help", "value get", "value set", "value format",
            "value diff", "value patch", "value id", "store info", "store show", "store log", "store list",
            "store check", "store backup", "store compact", "store commit", "lifecycle diagram", "lifecycle why",
            "key new", "key show", "token"]
OPTIONS = ["--dir", "--name", "--pattern", "--watch", "--args", "--allow", "--once", "--replace", "--id", "--user",
           "--session", "--stored", "--append", "--add-unique", "--remove", "--increment", "--delete", "--text",
           "--pretty", "--canonical", "--raw", "--exit-code", "--at", "--branch", "--scope", "--limit",
           "--keep-from", "--profile", "--fact", "--repair", "--filter", "--seed", "--tap", "--mermaid", "--dot",
           "--json", "--help", "--version", "--timeout=500", "--", "--cap=read", "--for=1h", "--to", "--audience", "--key",
           "--force"]
WORDS = [b"list", b"list.lua", b"heddle-data", b"heddle-data/main.db", b"items", b"items/0", b"items/0/x", b"n",
         b"open", b"add", b"key", b"", b"-", b"/", b"//", b"~", b"~2", b"a.b", b"0", b"1", b"-1", b"1e999",
         b"18446744073709551616", b"{}", b"[]", b'"x"', b"null", b"[1,2]", b'{"a":1}', b'{"/":{"link@1":{}}}',
         b'{"/":{"link@1":{"id":"piece:list","path":["value"]}}}', b'{"/":1}', b"\xff", b"caf\xe9", b"\xed\xa0\x80",
         b"\xc3\xa9", b"%s%n", b"../x", b".", b"space", b"user:x", b"session:x:y", b"@999([)1@999(])",
         b"@1000([)1@1000(])", b"@998({\"a\":)1@998(})", b"v@999(/a)", b"n@997(/a)", b"n@998(/a)", b"n@999(/a)",
         b"n@1000(/a)", b"@1001(/a)", b"@1024(n)", b"@1025(n)", b"@256(n)", b"@257(n)", b"\"@4000(long)\"",
         b"{\"@5000(key)\":1}", b"@5000(/)", b"@100(a.)"]


def word(draw):
    kind = draw.random()
    if kind < 0.75:
        return draw.choice(WORDS)
    if kind < 0.9:
        return draw.choice(WORDS) + draw.choice(WORDS)
    return bytes(draw.randrange(1, 256) for _ in range(draw.randrange(1, 12))).replace(b"\n", b"x")


def likely(draw):
    """A command that gets further than the checks of its words."""
    path = draw.choice([b"n", b"items", b"items/0", b"n@997(/a)", b"n@998(/a)", b"n@999(/a)", word(draw)])
    json = draw.choice([b"1", b"@998([)1@998(])", b"@999([)1@999(])", b"{}", b"[[]]", word(draw)])
    return draw.choice([
        [b"set", b"list", path, json], [b"set", b"list", b"items", json, b"--append"], [b"get", b"list", path],
        [b"send", b"list", b"add", json], [b"send", b"list", b"key", json], [b"show", b"list", path],
        [b"set", b"list", path, b"--delete"], [b"run", b"list.lua", b"--once", b"--name", word(draw)],
        [b"run", b"list.lua", b"--once", b"--user", word(draw)], [b"watch", b"list", path],
        [b"store", b"compact", b"heddle-data/main.db"], [b"check", b"--repair"],
        [b"send", b"list", b"add", json, b"--id", word(draw), b"--session", word(draw)]])


def line(draw):
    if draw.random() < 0.6:
        words = likely(draw)
    else:
        words = [part.encode() for part in draw.choice(COMMANDS).split()]
        words += [word(draw) for _ in range(draw.randrange(5))]
    for _ in range(draw.choice([0, 0, 1, 2])):
        option = draw.choice(OPTIONS).encode()
        words.insert(draw.randrange(len(words) + 1), option)
        if draw.random() < 0.5:
            words.insert(words.index(option) + 1, word(draw))
    # An empty word would end the line.
    return b"\n".join(w if w else b"@0(x)" for w in words)


def main():
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    for number in range(count):
        draw = random.Random(seed * 1000003 + number)
        lines = [b"run\nlist.lua\n--once"] + [line(draw) for _ in range(3)]
        (folder / f"{seed}-{number:04}").write_bytes(b"\n\n".join(lines))


main()
