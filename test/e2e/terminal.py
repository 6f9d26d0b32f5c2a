#!/usr/bin/env python3
"""The command at a terminal: a pseudo-terminal of this test is its screen and
its keyboard. Colours, the width of tables, a watch that draws anew, the prompt
of the repl, Ctrl-C and Ctrl-D.

Nothing here waits for a time: a text is awaited, or the end of the process.
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
from tap import expect, expect_equal, expect_in, expect_not_in, main, test

HEDDLE = os.path.abspath(os.environ.get("HEDDLE", "build/gcc-release/heddle"))
LONGEST_WAIT = 120  # seconds until a test gives up; nothing is measured by it

PATTERN = """
local heddle = require "heddle"
return heddle.pattern("tally", function(p)
  local count = p:state("count", 0)
  local double = p:computed("double", function() return count:get() * 2 end)
  local more = p:handler("more", function(event) count:set(count:get() + event.by) end)
  return { count = count, double = double, more = more }
end)
"""


class Terminal:
    """A process with a terminal of its own."""

    def __init__(self, folder, *words, columns=80, **environment):
        variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        variables.update({"TERM": "xterm", "HOME": str(folder), **environment})
        self.text = ""
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(HEDDLE, [HEDDLE, *words], variables)
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.screen)

    def _more(self):
        ready, _, _ = select.select([self.screen], [], [], LONGEST_WAIT)
        expect(ready, f"nothing came after\n{self.text!r}")
        try:
            part = os.read(self.screen, 65536)
        except OSError:  # how a terminal says that nobody is there any more
            part = b""
        self.text += part.decode("utf-8", "replace")
        return bool(part)

    def wait_for(self, pattern):
        """Until the screen has it; returns what came up to there, and forgets it."""
        while not (found := re.search(pattern, self.text)):
            expect(self._more(), f"it ended without {pattern!r}:\n{self.text!r}")
        before, self.text = self.text[:found.end()], self.text[found.end():]
        return before

    def type(self, text):
        os.write(self.screen, text.encode())

    def end(self):
        """All the rest of the screen, and the exit code."""
        while self._more():
            pass
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        return self.text, os.waitstatus_to_exitcode(status)


class Folder:
    """A scratch folder with a piece that has been run."""

    def __enter__(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.path = self.scratch.name
        pathlib.Path(self.path, "tally.lua").write_text(PATTERN, encoding="utf-8")
        self.heddle("run", "tally.lua", "--once")
        return self

    def __exit__(self, *_):
        self.scratch.cleanup()

    def heddle(self, *words, **environment):
        return subprocess.run([HEDDLE, *words], cwd=self.path, env={**os.environ, **environment},
                              check=True, capture_output=True, text=True).stdout


def screen_of(folder, *words, **options):
    with Terminal(folder.path, *words, **options) as terminal:
        return terminal.end()


# -- Colours and widths -------------------------------------------------------

@test
def a_terminal_gets_colours():
    with Folder() as folder:
        text, code = screen_of(folder, "ps")
        expect_equal(code, 0)
        expect_in("\033[", text)
        expect_in("tally", text)


@test
def nobody_else_gets_them():
    with Folder() as folder:
        expect_not_in("\033[", folder.heddle("ps"))
        expect_in("tally", folder.heddle("ps"))


@test
def who_wants_no_colours_gets_none():
    with Folder() as folder:
        expect_not_in("\033[", screen_of(folder, "ps", NO_COLOR="1")[0])
        expect_not_in("\033[", screen_of(folder, "ps", TERM="dumb")[0])
        expect_in("\033[", screen_of(folder, "ps", NO_COLOR="")[0])


@test
def json_has_no_colours_at_a_terminal_either():
    with Folder() as folder:
        text, code = screen_of(folder, "ps", "--json")
        expect_equal(code, 0)
        expect_not_in("\033[", text)


@test
def a_table_is_as_wide_as_the_terminal_at_most():
    with Folder() as folder:
        for columns in (70, 100):
            text, _ = screen_of(folder, "ps", columns=columns, NO_COLOR="1")
            widest = max(len(line) for line in text.splitlines())
            expect(widest <= columns, f"{widest} of {columns} columns:\n{text}")


LONG = """
local heddle = require "heddle"
return heddle.pattern("long", function(p)
  local count = p:state("a_name_that_is_much_too_long_for_a_narrow_screen_count", 0)
  local sum = p:computed("a_name_that_is_much_too_long_for_a_narrow_screen_sum", function() return count:get() end)
  local add = p:handler("add", function() count:increment(1) end)
  return { count = count, sum = sum, add = add }
end)
"""


@test
def long_names_keep_their_ends_and_pipes_get_everything():
    with Folder() as folder:
        pathlib.Path(folder.path, "long.lua").write_text(LONG, encoding="utf-8")
        folder.heddle("run", "long.lua", "--once")
        folder.heddle("send", "long", "add")
        for columns in (40, 60, 80, 120):
            for words in (["ps"], ["log"]):
                text, code = screen_of(folder, *words, columns=columns, NO_COLOR="1")
                expect_equal(code, 0)
                widest = max(len(line) for line in text.splitlines())
                expect(widest <= columns, f"{widest} of {columns} columns:\n{text}")
        expect(re.search(r"^  a_[a-z_]*…[a-z_]*_sum ", screen_of(folder, "ps", NO_COLOR="1")[0], re.M), "the end is cut")
        expect(re.search(r"…[a-z_]*_count#/value", screen_of(folder, "log", columns=120, NO_COLOR="1")[0], re.M),
               screen_of(folder, "log", columns=120, NO_COLOR="1")[0])
        expect_in("  a_name_that_is_much_too_long_for_a_narrow_screen_sum  computed", folder.heddle("ps"))
        expect_not_in("…", folder.heddle("log"))


# -- Watching -----------------------------------------------------------------

@test
def ps_watch_draws_anew_when_something_has_changed():
    with Folder() as folder, Terminal(folder.path, "ps", "--watch", NO_COLOR="1") as terminal:
        terminal.wait_for(r"\033\[H\033\[J[^\033]*tally")
        folder.heddle("send", "tally", "more", '{"by":1}')
        terminal.wait_for(r"\033\[H\033\[J[^\033]*tally")
        terminal.type("\x03")
        _, code = terminal.end()
        expect_equal(code, -signal.SIGINT)


# -- Questions ----------------------------------------------------------------

@test
def rm_asks_at_a_terminal():
    with Folder() as folder:
        for answer, code in (("n\n", 1), ("\n", 1), ("y\n", 0)):
            expect_in("tally", folder.heddle("ps"))
            with Terminal(folder.path, "rm", "tally") as terminal:
                terminal.wait_for(r"remove tally, \d+ documents\? \[y/N\] $")
                terminal.type(answer)
                expect_equal(terminal.end()[1], code)
        expect_not_in("tally", folder.heddle("ps"))


# -- The repl -----------------------------------------------------------------

@test
def the_repl_prompts_at_a_terminal():
    with Folder() as folder, Terminal(folder.path, "repl") as terminal:
        terminal.wait_for(r"> $")
        terminal.type("1 + 41\n")
        terminal.wait_for(r"42\r\n> $")
        terminal.type("\x04")
        _, code = terminal.end()
        expect_equal(code, 0)


@test
def a_line_that_goes_on_has_another_prompt():
    with Folder() as folder, Terminal(folder.path, "repl") as terminal:
        terminal.wait_for(r"> $")
        terminal.type("for i = 1, 2 do\n")
        terminal.wait_for(r">> $")
        terminal.type("print(i) end\n")
        terminal.wait_for(r"1\r\n2\r\n> $")
        terminal.type("\x04")
        expect_equal(terminal.end()[1], 0)


@test
def a_mistake_is_told_and_the_repl_goes_on():
    with Folder() as folder, Terminal(folder.path, "repl") as terminal:
        terminal.wait_for(r"> $")
        terminal.type("nothing.here\n")
        terminal.wait_for(r"unknown global 'nothing'[^>]*> $")
        terminal.type("'still here'\n")
        terminal.wait_for(r"still here[^>]*> $")
        terminal.type("\x04")
        expect_equal(terminal.end()[1], 0)


@test
def the_repl_explains_itself():
    with Folder() as folder, Terminal(folder.path, "repl") as terminal:
        terminal.wait_for(r"> $")
        terminal.type("help\n")
        terminal.wait_for(r"Tab completes[^>]*> $")
        terminal.type("\x04")
        expect_equal(terminal.end()[1], 0)


@test
def a_tab_completes_variables_and_methods():
    with Folder() as folder, Terminal(folder.path, "repl") as terminal:
        terminal.wait_for(r"> $")
        terminal.type("tal\t")
        terminal.wait_for(r"ly$")
        terminal.type(":\t")
        terminal.wait_for(r"get  cell  send[^>]*> tally:$")
        terminal.type('ge\t("count") + 5\n')
        terminal.wait_for(r"\n5\r\n> $")
        terminal.type("\x04")
        expect_equal(terminal.end()[1], 0)


@test
def lines_are_edited():
    with Folder() as folder, Terminal(folder.path, "repl") as terminal:
        terminal.wait_for(r"> $")
        terminal.type("1 * 6\x017\n")  # Ctrl-A: to the beginning, where the 7 goes
        terminal.wait_for(r"\n426\r\n> $")
        terminal.type("\x04")
        expect_equal(terminal.end()[1], 0)


@test
def lines_come_back_also_in_the_next_conversation():
    with Folder() as folder:
        with Terminal(folder.path, "repl") as terminal:
            terminal.wait_for(r"> $")
            terminal.type("7 * 6\n")
            terminal.wait_for(r"\n42\r\n> $")
            terminal.type("\x1b[A\n")
            terminal.wait_for(r"\n42\r\n> $")
            terminal.type("\x04")
            expect_equal(terminal.end()[1], 0)
        with Terminal(folder.path, "repl") as terminal:
            terminal.wait_for(r"> $")
            terminal.type("\x1b[A\n")
            terminal.wait_for(r"\n42\r\n> $")
            terminal.type("\x04")
            expect_equal(terminal.end()[1], 0)
        expect_equal(pathlib.Path(folder.path, ".heddle_history").stat().st_mode & 0o077, 0)


@test
def control_c_ends_the_repl_and_loses_nothing():
    with Folder() as folder:
        with Terminal(folder.path, "repl") as terminal:
            terminal.wait_for(r"> $")
            terminal.type("\x03")
            _, code = terminal.end()
            expect_equal(code, 0)
        expect_in("0", folder.heddle("get", "tally", "count"))
        folder.heddle("check")


@test
def control_c_ends_a_run_that_waits():
    with Folder() as folder:
        with Terminal(folder.path, "run", "tally.lua") as terminal:
            terminal.wait_for(r"tally")
            terminal.type("\x03")
            _, code = terminal.end()
            expect_equal(code, 0)
        folder.heddle("check")


def waits_in(pid):
    """The first argument of the system call that a process waits in, or None."""
    words = pathlib.Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()
    return int(words[1], 16) if len(words) > 3 else None


def catches(pid, number):
    """Whether a process has a handler for a signal; it has none once that has run."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    caught = re.search(r"SigCgt:\s*(\w+)", status)
    return bool(int(caught[1], 16) >> (number - 1) & 1)


@test
def a_signal_does_not_cut_what_is_written():
    """Standard output is a pipe that is full, so the command waits in its write
    when the signal comes."""
    with Folder() as folder:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        filled = 0
        try:
            while True:
                filled += os.write(writer, b" " * 4096)
        except BlockingIOError:
            os.set_blocking(writer, True)
        process = subprocess.Popen([HEDDLE, "get", "tally", "count"], cwd=folder.path,
                                   stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        while waits_in(process.pid) != 1:
            pass
        process.send_signal(signal.SIGTERM)
        while catches(process.pid, signal.SIGTERM):
            pass
        with os.fdopen(reader, "rb") as pipe:
            written = pipe.read()
        problems = process.stderr.read()
        process.stderr.close()
        expect_equal(process.wait(), 0)
        expect_equal(problems, b"")
        expect_equal(written[filled:], b"0\n")


if __name__ == "__main__":
    main()
