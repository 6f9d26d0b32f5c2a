"""The driver for the `heddle` command: one process per operation."""

import json
import os
import subprocess


class Answer:
    """What a caller was told: `outcome` is "ok", "refused" or "unknown"."""

    def __init__(self, outcome, value=None, text=""):
        self.outcome = outcome
        self.value = value
        self.text = text
        self.warned = None  # done; whether the caller was told that an event that it sent failed
        self.lost = False  # done; but changes of events that it sent could not be stored

    def __repr__(self):
        return "%s %s %s" % (self.outcome, json.dumps(self.value), self.text.strip())


class Command:
    def __init__(self, heddle, directory):
        self.heddle = heddle
        self.directory = directory
        self.data = os.path.join(directory, "data")
        self.user = None  # of the next commands

    def arguments(self, *words):
        user = ["--user", self.user] if self.user and words[0] in ("run", "send", "get", "set") else []
        return [self.heddle, words[0], "--dir", self.data] + user + list(words[1:])

    def start(self, *words, stdin=None):
        """A process in the background; `finish` tells what it answered."""
        return subprocess.Popen(self.arguments(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.directory, text=True)

    @staticmethod
    def finish(process, timeout=60):
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Answer("unknown", None, "no answer within %d s" % timeout)
        if process.returncode < 0:
            return Answer("unknown", None, "killed by signal %d" % -process.returncode)
        lines = out.splitlines()
        if process.returncode in (1, 3) and "send" in process.args and lines:
            answer = Answer("ok", json.loads(lines[-1]), err)
            answer.warned = True
            answer.lost = process.returncode == 3
            return answer
        if process.returncode != 0:
            return Answer("refused", process.returncode, err)
        try:
            answer = Answer("ok", json.loads(lines[-1]) if lines else None, err)
        except ValueError:
            answer = Answer("ok", out, err)
        answer.warned = False
        return answer

    def call(self, *words):
        return self.finish(self.start(*words))

    def call_plain(self, *words):
        """A command that takes a file instead of a directory; its whole output."""
        done = subprocess.run([self.heddle] + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.directory, text=True, timeout=60)
        if done.returncode != 0:
            return Answer("refused", done.returncode, done.stderr)
        try:
            return Answer("ok", json.loads(done.stdout))
        except ValueError:
            return Answer("ok", done.stdout)

    # ---- what callers do ----

    def run(self, piece, args=None):
        words = ["run", piece + ".lua", "--once"]
        if args:
            words += ["--args", json.dumps(args)]
        return self.call(*words)

    def send(self, piece, stream, payload, name=None):
        return self.call(*self.send_words(piece, stream, payload, name))

    @staticmethod
    def send_words(piece, stream, payload, name=None):
        words = ["send", piece, stream, json.dumps(payload)]
        if name:
            words += ["--session", name[0], "--id", name[1]]
        return words

    def get(self, piece, path=None):
        return self.call(*(["get", piece] + ([path] if path else [])))

    def set(self, piece, operation, cell, operand):
        return self.call(*self.set_words(piece, operation, cell, operand))

    @staticmethod
    def set_words(piece, operation, cell, operand):
        words = ["set", piece, "/" + "/".join(str(key) for name in cell[:1] for key in name.split("."))]
        words[-1] += "".join("/" + str(key) for key in cell[1:])
        if operation == "delete":
            return words + ["--delete"]
        words.append(json.dumps(operand))
        if operation != "set":
            words.append("--" + operation.replace("_", "-"))
        return words
