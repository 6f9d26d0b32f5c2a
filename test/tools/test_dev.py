#!/usr/bin/env python3
"""./dev and packages: what it installs, and when it asks first.

dpkg-query, id and apt-get are scripts of this test, first in PATH: no package
is installed. `./dev format` is the shortest command that needs any; make is a
script as well, which writes down that it was called.
"""
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile

from tap import expect, expect_equal, expect_in, expect_not_in, main, test

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = {
    "dpkg-query": "case \"$*\" in *clang-format*) exit 1 ;; *) echo installed ;; esac",
    "id": "echo 0",
    "apt-get": "echo \"apt-get $*\" >>\"$LOG\"",
    "make": "echo make >>\"$LOG\"",
}


class Place:
    """A copy of ./dev in a folder of its own, where nothing is installed."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        shutil.copy(ROOT / "dev", self.folder / "dev")
        programs = self.folder / "programs"
        programs.mkdir()
        for name, text in SCRIPTS.items():
            script = programs / name
            script.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            script.chmod(0o755)
        self.log = self.folder / "log"
        self.environment = dict(os.environ, LOG=str(self.log), PATH=f"{programs}:{os.environ['PATH']}")

    def happened(self):
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def without_terminal(self, *words):
        return subprocess.run([str(self.folder / "dev"), *words], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)

    def on_terminal(self, keys, *words):
        """The exit code, and what the terminal shows."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(str(self.folder / "dev"), ["./dev", *words], self.environment)
        os.write(terminal, keys)
        shown = b""
        while True:
            try:
                more = os.read(terminal, 4096)
            except OSError:  # how a terminal says that no process has it any more
                more = b""
            if not more:
                break
            shown += more
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def in_place(function):
    def run():
        with tempfile.TemporaryDirectory() as folder:
            function(Place(folder))
    run.__name__ = function.__name__
    return test(run)


@in_place
def without_a_terminal_it_installs_what_is_missing_and_does_not_ask(place):
    done = place.without_terminal("format")
    expect_equal(done.returncode, 0)
    expect_not_in("continue?", done.stdout)
    expect_in("apt-get -qq install -y --no-install-recommends clang-format\n", place.happened())
    expect_in("make\n", place.happened())


@in_place
def on_a_terminal_it_lists_the_packages_and_a_no_installs_nothing(place):
    code, shown = place.on_terminal(b"n\n", "format")
    expect_in("apt-get will install: clang-format", shown)
    expect_in("nothing was installed", shown)
    expect(code != 0, "it should have failed")
    expect_equal(place.happened(), "")


@in_place
def on_a_terminal_an_empty_line_is_a_yes(place):
    code, shown = place.on_terminal(b"\n", "format")
    expect_in("continue? [Y/n]", shown)
    expect_equal(code, 0)
    expect_in("install -y --no-install-recommends clang-format", place.happened())


@in_place
def with_yes_it_does_not_ask(place):
    code, shown = place.on_terminal(b"", "--yes", "format")
    expect_not_in("continue?", shown)
    expect_equal(code, 0)
    expect_in("install -y --no-install-recommends clang-format", place.happened())


@in_place
def an_unknown_command_is_refused(place):
    done = place.without_terminal("fromat")
    expect_equal(done.returncode, 2)
    expect_in("fromat", done.stderr)
    expect_equal(place.happened(), "")


main()
