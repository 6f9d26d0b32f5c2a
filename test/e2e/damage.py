#!/usr/bin/env python3
"""Damaged files: no command aborts, hangs or answers wrongly without a word.

A data directory is made through the command, with pieces, lists, events and
history; once it is left closed, once with a write-ahead log of a process that
was killed. Each round damages a copy: bytes, blocks, pages, lengths, rows
through SQL. Then commands are run on it, and for each of them:

  - it ends by itself, not by a signal, and no check or sanitizer complains;
  - an exit code other than 0 comes with a sentence;
  - if `check` reports no error, every answer is the one from before the
    damage; but for a write-ahead log that was cut short, which looks like one
    of a process that wrote less.

DAMAGE_FILES is the number of rounds, DAMAGE_SEED their seed; HEDDLE the
command. A failure names its round: DAMAGE_ROUND plays that one alone.
"""
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
from tap import add_test, expect, expect_equal, main

HEDDLE = os.path.abspath(os.environ.get("HEDDLE", "build/gcc-release/heddle"))
FILES = int(os.environ.get("DAMAGE_FILES", "24"))
SEED = int(os.environ.get("DAMAGE_SEED", "1"))
ONLY = os.environ.get("DAMAGE_ROUND")
# Nothing here depends on a disk; where there is a file system in memory, it is faster.
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
LONGEST = 120  # seconds after which a command is taken to hang

PATTERN = """
local heddle = require "heddle"
return heddle.pattern("shop", function(p)
  local items = p:state("items", { 1, 2, 3 })
  local total = p:state("total", 0)
  local note = p:state("note", { a = { b = "text" }, c = { 1, 2 } })
  local doubles = p:map(items, function(item) return item:get() * 2 end)
  local sum = p:computed("sum", function()
    local all = 0
    for _, one in ipairs(items:get()) do all = all + one end
    return all
  end)
  local seen = p:state("seen", 0)
  local more = p:handler("more", function(event)
    items:append(event.n)
    total:set(total:get() + event.n)
    note:key("last"):set("event " .. event.n)
  end)
  p:effect("watch", function() return sum:get() end)
  return { items = items, total = total, note = note, doubles = doubles, sum = sum, more = more }
end)
"""

# What is asked of each damaged copy, in this order; a word that begins with @
# is an answer that has to be right if all is well.
QUESTIONS = (
    ("check",),
    ("@get", "shop", "items"),
    ("@get", "shop", "sum"),
    ("@get", "shop", "note"),
    ("@get", "shop", "doubles"),
    ("ps",),
    ("log",),
    ("why", "shop", "sum"),
    ("graph", "shop"),
    ("doctor",),
    ("show", "shop"),
    ("send", "shop", "more", '{"n": 7}'),
    ("run", "shop.lua", "--once"),
    ("check", "--repair"),
    ("get", "shop", "items"),
    ("store", "compact", "heddle-data/main.db", "--keep-commits", "0", "--keep-age", "0"),
    ("store", "stats", "heddle-data/main.db"),
    ("check",),
)


def run(folder, *words):
    return subprocess.run([HEDDLE, *words], cwd=folder, capture_output=True, timeout=LONGEST,
                          check=False, stdin=subprocess.DEVNULL)


def well(folder, *words):
    answer = run(folder, *words)
    expect_equal((words, answer.returncode, answer.stderr[-500:] if answer.returncode else b""),
                 (words, 0, b""))
    return answer.stdout


def make_base(folder, leaves_log):
    """A directory with history; `leaves_log`: its last process was killed."""
    pathlib.Path(folder, "shop.lua").write_text(PATTERN, encoding="utf-8")
    well(folder, "run", "shop.lua", "--once")
    for n in range(12):
        well(folder, "send", "shop", "more", json.dumps({"n": n}))
    if leaves_log:
        with subprocess.Popen([HEDDLE, "run", "shop.lua"], cwd=folder, stderr=subprocess.PIPE) as runner:
            while b"up to date" not in runner.stderr.readline():
                pass
            for n in range(12, 24):
                well(folder, "send", "shop", "more", json.dumps({"n": n}))
            runner.send_signal(signal.SIGKILL)
        expect(any(name.endswith("-wal") for name in os.listdir(pathlib.Path(folder, "heddle-data"))),
               "the killed process left no write-ahead log")


# -- Damage -------------------------------------------------------------------


def flip(data, dice):
    for _ in range(dice.choice((1, 1, 2, 8, 64))):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def block(data, dice):
    size = dice.choice((16, 512, 4096))
    at = dice.randrange(max(1, len(data) - size))
    data[at:at + size] = dice.choice((bytes(size), dice.randbytes(size), b"\xff" * size))


def shorten(data, dice):
    at = dice.randrange(len(data))
    del data[at - at % dice.choice((1, 512, 4096)):]


def lengthen(data, dice):
    data += dice.randbytes(dice.choice((1, 100, 4096, 40960)))


def swap(data, dice):
    pages = len(data) // 4096
    if pages >= 2:
        one, other = (dice.randrange(pages) * 4096 for _ in range(2))
        data[one:one + 4096], data[other:other + 4096] = \
            data[other:other + 4096], data[one:one + 4096]


def double(data, dice):
    pages = len(data) // 4096
    if pages >= 2:
        one, other = (dice.randrange(pages) * 4096 for _ in range(2))
        data[one:one + 4096] = data[other:other + 4096]


UNSEEN = ("shorten in main.db-wal",)
BYTES = (flip, flip, flip, block, shorten, lengthen, swap, double)


def other_value(value, dice):
    if isinstance(value, int):
        return dice.choice((value + 1, value - 1, -value, 0, 2**62, -2**63, "text", None))
    if isinstance(value, bytes):
        return dice.choice((value[:-1], value + b"\0", b"", dice.randbytes(len(value)), 7, None))
    if isinstance(value, str):
        return dice.choice((value[:-1], value + "x", "", '{"value":', "[" * 2000, b"\xff\xfe", 7, None,
                            value.replace("value", "valu"), value.replace("1", "2")))
    return dice.choice((0, 1, "text", b"blob"))


def change_rows(path, dice):
    """Rows changed through SQL, so that the file is sound and its content is not."""
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
                  if database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] > 0]
        for _ in range(dice.choice((1, 1, 2, 5))):
            table = dice.choice(tables)
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            rows = database.execute(f'SELECT * FROM "{table}"').fetchall()
            if not rows:
                continue
            row = dice.choice(rows)
            where = " AND ".join(f'"{column}" IS ?' for column in columns)
            column = dice.randrange(len(columns))
            try:
                what = dice.randrange(4)
                if what == 0:
                    database.execute(f'DELETE FROM "{table}" WHERE {where}', row)
                elif what == 1:
                    twin = list(row)
                    twin[column] = other_value(row[column], dice)
                    database.execute(f'INSERT INTO "{table}" VALUES({",".join("?" * len(twin))})', twin)
                else:
                    database.execute(f'UPDATE "{table}" SET "{columns[column]}" = ? WHERE {where}',
                                     (other_value(row[column], dice), *row))
            except (sqlite3.Error, OverflowError):
                pass  # a rule of the schema: the row stays as it is
    finally:
        database.close()


def damage(folder, dice):
    """Damages one file, and says how."""
    data = pathlib.Path(folder, "heddle-data")
    files = sorted(path for path in data.rglob("*") if path.is_file() and path.stat().st_size > 0)
    databases = [path for path in files if path.suffix == ".db"]
    if dice.randrange(3) == 0:
        path = dice.choice(databases)
        change_rows(path, dice)
        return f"rows of {path.name}"
    path = dice.choice(databases + [file for file in files if file.name.endswith("-wal")] * 2 + files)
    how = dice.choice(BYTES)
    content = bytearray(path.read_bytes())
    how(content, dice)
    path.write_bytes(content)
    return f"{how.__name__} in {path.name}"


# -- Rounds -------------------------------------------------------------------


def complaint(answer):
    """What is wrong with how a command ended, or None."""
    errors = answer.stderr.decode("utf-8", "replace")
    if answer.returncode < 0:
        return f"ended by signal {-answer.returncode}"
    for word in ("Sanitizer", "runtime error", "check failed", "CHECK"):
        if word in errors:
            return f"complains: {word}"
    if answer.returncode > 5:
        return f"exit code {answer.returncode}"
    if answer.returncode != 0 and not errors.strip() and not answer.stdout.strip():
        return f"exit code {answer.returncode} without a sentence"
    return None


class Round:
    def __init__(self, base, expected, number):
        self.base, self.expected = base, expected
        self.number = number

    def __call__(self):
        dice = random.Random(f"{SEED}/{self.number}")
        with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
            folder = os.path.join(scratch, "copy")
            shutil.copytree(self.base, folder)
            self.how = damage(folder, dice)
            all_is_well = False
            for words in QUESTIONS:
                answer = run(folder, words[0].lstrip("@"), *words[1:])
                wrong = complaint(answer)
                if words == QUESTIONS[0]:
                    all_is_well = self.how not in UNSEEN and answer.returncode == 0 and b"write-ahead log" not in answer.stdout
                elif words[0][0] == "@" and all_is_well and answer.returncode == 0 \
                        and answer.stdout != self.expected[words]:
                    wrong = f"is {answer.stdout!r}, was {self.expected[words]!r}, and check finds nothing"
                expect(wrong is None, f"{self.how}: {' '.join(words)}: {wrong}\n"
                       f"DAMAGE_SEED={SEED} DAMAGE_ROUND={self.number}\n{answer.stdout.decode('utf-8', 'replace')[-1500:]}\n"
                       f"{answer.stderr.decode('utf-8', 'replace')[-3000:]}")


def all_rounds():
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
        bases, expected = [], []
        for leaves_log in (False, True):
            folder = os.path.join(scratch, f"base{int(leaves_log)}")
            os.mkdir(folder)
            make_base(folder, leaves_log)
            copy = os.path.join(scratch, "answers")
            shutil.copytree(folder, copy)
            bases.append(folder)
            expected.append({words: well(copy, words[0][1:], *words[1:])
                             for words in QUESTIONS if words[0][0] == "@"})
            shutil.rmtree(copy)
        for number in range(FILES) if ONLY is None else (int(ONLY),):
            add_test(f"damage_{number}", Round(bases[number % 2], expected[number % 2], number))
        main()


if __name__ == "__main__":
    all_rounds()
