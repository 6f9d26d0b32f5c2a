"""What commits mean, and the judge of a space.

The judge knows what each client sent and was told, the order in which the log
of the space has the commits, and the documents that are stored. It replays the
commits of the clients in that order on plain documents, and compares.
"""

import copy
import json


class Commit:
    """One commit of a session, and what its author was told of it."""

    def __init__(self, session, local_seq, operations, reads=(), preconditions=(), purpose=""):
        self.session = session
        self.local_seq = local_seq
        self.operations = operations
        self.reads = list(reads)
        self.preconditions = list(preconditions)
        self.purpose = purpose
        self.seq = None  # landed
        self.error = None  # refused
        self.first_sent = None  # on which connection of the session

    @property
    def decided(self):
        return self.seq is not None or self.error is not None

    def wire(self):
        message = {"session": self.session, "localSeq": self.local_seq, "branch": ""}
        if self.reads:
            message["reads"] = {"confirmed": self.reads}
        message["operations"] = self.operations
        if self.preconditions:
            message["preconditions"] = self.preconditions
        return message

    def __repr__(self):
        told = "seq %d" % self.seq if self.seq is not None else self.error["name"] if self.error else "nothing"
        return "%s/%d %s: %s" % (self.session, self.local_seq, self.purpose, told)


# ---- documents ----

def _parent(document, pointer, create):
    keys = pointer.split("/")[1:]
    for key in keys[:-1]:
        if create and isinstance(document, dict) and key not in document:
            document[key] = {}
        document = document[key]
    return document, keys[-1]


def _apply_patch(document, patch):
    operation = patch["op"]
    if operation in ("splice", "add", "replace", "remove", "move"):
        if _apply_to_list(document, patch):
            return
    parent, key = _parent(document, patch["path"], operation in ("add", "append", "add-unique", "increment"))
    if operation in ("add", "replace"):
        parent[key] = patch["value"]
    elif operation == "remove":
        del parent[key]
    elif operation == "increment":
        parent[key] = parent.get(key, 0) + patch["by"]
    elif operation == "append":
        parent[key] = parent.get(key, []) + patch["values"]
    elif operation == "add-unique":
        for one in patch["values"]:
            if one not in parent.get(key, []):
                parent[key] = parent.get(key, []) + [one]
    elif operation == "remove-by-value":
        parent[key] = [one for one in parent[key] if one != patch["value"]]
    else:
        raise ValueError(operation)


def _at(document, keys):
    for key in keys:
        document = document[int(key) if isinstance(document, list) else key]
    return document


def _apply_to_list(document, patch):
    """Operations on elements, which only deltas of the server have; False: it is not one."""
    operation, keys = patch["op"], patch["path"].split("/")[1:]
    if operation == "splice":
        items, index = _at(document, keys), patch["index"]
        items[index:index + patch.get("remove", 0)] = patch.get("add", [])
        return True
    try:
        parent = _at(document, keys[:-1])
    except (KeyError, IndexError):
        return False
    if not isinstance(parent, list):
        return False
    index = len(parent) if keys[-1] == "-" else int(keys[-1])
    if operation == "add":
        parent.insert(index, patch["value"])
    elif operation == "replace":
        parent[index] = patch["value"]
    elif operation == "remove":
        del parent[index]
    else:
        raise ValueError(operation)
    return True


def applied(document, operation):
    """The document after one operation of a commit; None: there is none. Raises KeyError where it does not fit."""
    if operation["op"] == "set":
        return operation["value"]
    if operation["op"] == "delete":
        return None
    document = copy.deepcopy(document) if document is not None else {}
    operation = copy.deepcopy(operation)
    for patch in operation["patches"]:
        _apply_patch(document, patch)
    return document


def at_path(document, path):
    for key in path:
        if not isinstance(document, dict) or key not in document:
            return None
        document = document[key]
    return document


def touches(operation, document, path):
    """Whether an operation can change what is at the path of the document."""
    if operation["id"] != document:
        return False
    if operation["op"] != "patch":
        return True
    for patch in operation["patches"]:
        keys = patch["path"].split("/")[1:]
        shared = min(len(keys), len(path))
        if keys[:shared] == path[:shared]:
            return True
    return False


# ---- the judge ----

class Space:
    """The history of a space: the state of every document after every commit."""

    def __init__(self, round, name, commits, log):
        self.round = round
        self.name = name
        self.commits = {(one.session, one.local_seq): one for one in commits}
        self.log = log  # records of `heddle store log --json`
        self.states = [{}]  # by seq: document -> (seq, value)
        self.landed = [None]  # by seq

    def fail(self, text):
        self.round.fail("space %s: %s" % (self.name, text))

    def judge(self):
        self._check_log()
        self._replay()
        for commit in self.commits.values():
            if commit.seq is not None and self.landed[commit.seq] is not commit:
                self.fail("%r is not at its seq, where the log has %r" % (commit, self.landed[commit.seq]))
            if commit.error is not None:
                self._check_refusal(commit)

    def _check_log(self):
        for place, record in enumerate(self.log):
            # A session of a user is that user's: the log has both names.
            commit = self.commits.get((record["session"].rpartition(":")[2], record["localSeq"]))
            if record["seq"] != place + 1:
                self.fail("seq %d of the log is at place %d" % (record["seq"], place + 1))
            if commit is None:
                self.fail("the log has a commit that no client sent: %s" % json.dumps(record))
            if commit.error is not None:
                self.fail("%r was refused, and the log has it at %d" % (commit, record["seq"]))
            if commit in self.landed:
                self.fail("%r landed twice: %d and %d" % (commit, self.landed.index(commit), record["seq"]))
            self.landed.append(commit)
        for commit in self.commits.values():
            if commit.seq is not None and commit.seq >= len(self.landed):
                self.fail("%r was acknowledged, and the log ends at %d" % (commit, len(self.landed) - 1))

    def _replay(self):
        last = {}
        for seq, commit in enumerate(self.landed[1:], 1):
            before, state = self.states[-1], dict(self.states[-1])
            for read in commit.reads:
                then = at_path(self.states[read["seq"]].get(read["id"], (0, None))[1], read["path"])
                now = at_path(before.get(read["id"], (0, None))[1], read["path"])
                if then != now:
                    self.fail("%r landed at %d, but what it read at %d has changed: %r, %r" % (
                        commit, seq, read["seq"], then, now))
            for condition in commit.preconditions:
                if condition["id"] in before:
                    self.fail("%r landed at %d, and %s was there" % (commit, seq, condition["id"]))
            if last.get(commit.session, 0) >= commit.local_seq:
                self.fail("%r landed at %d after commit %d of its session" % (commit, seq, last[commit.session]))
            last[commit.session] = commit.local_seq
            for operation in commit.operations:
                try:
                    value = applied(state.get(operation["id"], (0, None))[1], operation)
                except (KeyError, TypeError) as error:
                    self.fail("%r landed at %d, and does not fit what was there: %r" % (commit, seq, error))
                state[operation["id"]] = (seq, value)
            self.states.append(state)

    def _check_refusal(self, commit):
        error = commit.error
        if error["name"] == "CONFLICT":
            winner = self.landed[error["conflictSeq"]] if error.get("conflictSeq", 0) < len(self.landed) else None
            for read in commit.reads:
                if winner is not None and read["id"] == error["id"] and error["conflictSeq"] > read["seq"] and any(
                        touches(operation, read["id"], read["path"]) for operation in winner.operations):
                    return
            self.fail("%r was refused for a conflict that is none: %s" % (commit, json.dumps(error)))
        if commit.preconditions and any(condition["id"] in self.states[-1] for condition in commit.preconditions):
            return
        if commit.purpose != "invalid":
            self.fail("%r was refused: %s" % (commit, json.dumps(error)))

    def value(self, document, seq=-1):
        return self.states[seq].get(document, (0, None))[1]

    def check_view(self, session, seq, view):
        """What a session showed after a sync is the state of that seq."""
        for document, (_, value) in view.items():
            if value != self.value(document, seq):
                session.client.network.tell(session.client)
                self.fail("%s at seq %d showed %s as %s; the commits give %s" % (
                    session.name, seq, document, json.dumps(value), json.dumps(self.value(document, seq))))
