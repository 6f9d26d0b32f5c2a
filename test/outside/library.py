"""The driver for the public header: a process that is linked to the library.

`driver.c` reads one command per line and answers each with one line. Commands
can be given without waiting, so that several processes work at once.
"""

import json
import os
import signal
import subprocess

from command import Answer


class Library:
    def __init__(self, driver, directory, errors=subprocess.DEVNULL):
        self.was_killed = False
        self.data = os.path.join(directory, "data")
        self.process = subprocess.Popen([driver], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=errors, cwd=directory, text=True)

    # ---- commands ----

    def give(self, word, runtime=0, **fields):
        """Gives a command and does not wait."""
        line = json.dumps(dict(fields, do=word, runtime=runtime))
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def take(self):
        """The answer to the oldest command that has none."""
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            return Answer("unknown", None, "the process is gone (%s)" % self.process.wait())
        answer = json.loads(line)
        return Answer(answer["outcome"], answer["value"], answer["text"])

    def ask(self, word, runtime=0, **fields):
        self.give(word, runtime, **fields)
        return self.take()

    def open(self, runtime=0, **options):
        return self.ask("open", runtime, directory=self.data, **options)

    # ---- faults ----

    def kill(self):
        self.was_killed = True
        self.process.kill()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def poll(self):
        return self.process.poll()

    def communicate(self):
        return self.process.communicate()


def operation_of(piece, operation, cell, operand, scoped=()):
    """An operation on a cell of a piece, as the driver takes it. `scoped` are
    the states that each user has an instance of."""
    def place(cell):
        scope = "@user " if cell[0] in scoped else ""
        return ["%spiece:%s/%s" % (scope, piece, cell[0].replace(".", "/")),
                "".join("/" + str(key) for key in cell[1:])]
    if operation == "link":
        return [operation] + place(cell) + place(operand)
    return [operation] + place(cell) + [operand]
