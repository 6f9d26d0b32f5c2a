"""The kinds of rounds, how frequent each is, and the floors.

A whole run counts what its rounds contained; below a floor it fails, so that
a change of the generator cannot make the rounds empty.
"""

import rounds_children
import rounds_collections
import rounds_command
import rounds_library
import rounds_look
import rounds_lua
import rounds_network
import rounds_process
import rounds_spaces
import rounds_tasks
import rounds_timers


class Kind:
    def __init__(self, name, weight, play):
        self.name = name
        self.weight = weight
        self.play = play
        self.title = " ".join(play.__doc__.split()).rstrip(".")


KINDS = [
    Kind("values", 10, rounds_command.values),
    Kind("links", 4, rounds_command.links),
    Kind("children", 4, rounds_command.children),
    Kind("pieces", 3, rounds_command.pieces),
    Kind("resend", 4, rounds_command.resend),
    Kind("reload", 2, rounds_command.reload),
    Kind("hide", 2, rounds_command.hide),
    Kind("people", 2, rounds_command.people),
    Kind("schemas", 5, rounds_command.schemas),
    Kind("debounce", 2, rounds_command.debounce),
    Kind("backlog", 1, rounds_command.backlog),
    Kind("library", 10, rounds_library.library),
    Kind("turns", 6, rounds_library.turns),
    Kind("overlap", 8, rounds_library.overlap),
    Kind("processes", 8, rounds_library.processes),
    Kind("sessions", 2, rounds_library.sessions),
    Kind("together", 6, rounds_process.together),
    Kind("queued", 4, rounds_process.queued),
    Kind("cut", 3, rounds_process.cut),
    Kind("crossing", 2, rounds_process.crossing),
    Kind("retry", 3, rounds_process.retry),
    Kind("runners", 6, rounds_process.runners),
    Kind("full", 2, rounds_process.full_disk),
    Kind("launch", 2, rounds_process.launch),
    Kind("cards", 4, rounds_children.cards),
    Kind("timers", 4, rounds_timers.timers),
    Kind("spaces", 3, rounds_spaces.spaces),
    Kind("collections", 4, rounds_collections.collections),
    Kind("tasks", 3, rounds_tasks.tasks),
    Kind("explain", 3, rounds_look.explain),
    Kind("circle", 1, rounds_look.circle),
    Kind("broken", 2, rounds_look.broken),
    Kind("held", 7, rounds_lua.held),
    Kind("users", 3, rounds_lua.users),
    Kind("asked", 3, rounds_lua.asked),
    Kind("dormant", 1, rounds_lua.dormant),
    Kind("network", 42, rounds_network.network),
    Kind("served", 4, rounds_network.served),
]

# What 400 rounds contain at least; a quarter of them is over the network.
FLOOR_ROUNDS = 400
FLOORS = {
    # operations in the bodies of handlers
    "body set": 200, "body delete": 100, "body append": 100, "body add_unique": 70, "body remove": 70,
    "body increment": 100, "body mixed on one place": 120, "body link": 8, "body send": 40, "body repeat": 8,
    "body return": 120, "body if": 50, "body fail_if": 10,
    # lists
    "list map": 50, "list filter": 20, "list flat_map": 25, "list reduce": 20,
    "choice": 20,
    # what callers do
    "run": 100, "send": 250, "get": 200, "set": 80, "check": 10,
    "set set": 20, "set append": 5, "set add_unique": 5, "set remove": 2, "set increment": 2, "set delete": 2,
    "library send": 80, "library edit": 50, "library write": 10, "library restart": 30, "library get": 80,
    "library set": 100, "library append": 25, "library add_unique": 25, "library remove": 25,
    "library increment": 20, "library delete": 15, "edit mixed on one place": 15,
    "lua send": 60, "lua edit": 30, "lua restart": 4, "lua edit that follows nothing": 10,
    "resend": 5, "resend with another payload": 1, "send to a child": 5, "send to another piece": 3,
    # several at once
    "concurrent send": 80, "concurrent edit": 30, "concurrent set": 15, "unsettled write": 60, "turn": 60,
    "overlap on one list": 8, "processes at once": 25, "runner": 2, "runners": 2, "runner followed": 5,
    "shared session name": 3,
    # features
    "children": 6, "links that turn": 4, "pieces that read each other": 4, "user-scoped states": 6,
    "hot reload": 3, "hidden state": 2, "state that becomes a computation": 3, "takeover refused": 3,
    "pieces at once": 4, "debounce": 4, "backlog": 4, "backlog refused": 2, "long list": 8, "launch": 2,
    "ps of a launched piece": 4, "circle": 2, "broken file": 2, "explained piece": 4, "ps": 25, "why-not": 25,
    "graph": 4, "why": 2, "test with errors or without": 4, "dormant computation": 3,
    "timer": 10, "timer cancelled": 3, "kill beside timers": 2,
    "event between spaces": 15, "launch in another space": 3, "kill beside a child elsewhere": 4,
    "row insert": 8, "row put": 4, "row update": 8, "row cell": 1, "row remove": 4, "range of rows": 8, "rows counted": 3,
    "rows at once": 8, "rows in several pages": 1, "kill beside rows": 1,
    "input of a task": 10, "runner of tasks": 3, "kill beside tasks": 1,
    "card added": 6, "card removed": 1, "call to a card": 2,
    "schema": 30, "refused by a schema": 3, "judged by a schema": 20, "queued for a schema": 3, "set without the file": 3,
    # faults
    "queued event": 10, "kill beside queued events": 4, "ended between the events of a handler": 1,
    "sent again after a kill": 3, "kill -9": 8, "SIGSTOP": 6, "unknown answer": 1, "full disk": 4,
    "full disk refused": 1, "held confirmations": 5, "refused commits": 2, "clock that moves": 3, "compact": 15, "compact killed": 1,
    "compact beside a stopped process": 2,
    # the network
    "network landed": 3000, "network replayed": 60, "network conflict": 30, "network cell landed": 200,
    "network view": 5000, "session resumed": 60, "session new": 500, "network pipelined": 200,
    "network server killed": 40, "network server drained": 10, "network server stopped": 10,
    "network client killed": 10, "network fault": 150, "network cut": 40, "network half": 8, "network delay": 8,
    "network trickle": 8, "network stall": 8, "network drop": 10, "network repeat": 15, "network swap": 15,
    "network header": 5, "network channel": 5, "network syntax": 5, "network text": 5, "network lines": 5,
    "channel opened again": 4, "channel closed by the server": 10, "network delta": 100, "network victim": 8,
    "network command named": 3, "network request with a key": 3, "network program": 3, "network edit": 5,
    "network runner beside the server": 2,
}


def below_floors(counts, rounds):
    missing = []
    for name, floor in sorted(FLOORS.items()):
        if counts[name] < floor * rounds // FLOOR_ROUNDS:
            missing.append("%s: %d, the floor is %d" % (name, counts[name], floor * rounds // FLOOR_ROUNDS))
    # A history with too many orders is not judged; there must be few.
    if counts["given up"] > max(2, rounds // 200):
        missing.append("given up: %d of %d rounds" % (counts["given up"], rounds))
    return "\n".join(missing)
