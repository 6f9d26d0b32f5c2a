"""The kinds of rounds, how frequent each is, and the floors.

A whole run counts what its rounds contained; below a floor it fails, so that
a change of the generator cannot make the rounds empty.
"""

import rounds_command
import rounds_library
import rounds_lua
import rounds_process


class Kind:
    def __init__(self, name, weight, play):
        self.name = name
        self.weight = weight
        self.play = play
        self.title = " ".join(play.__doc__.split()).rstrip(".")


KINDS = [
    Kind("values", 8, rounds_command.values),
    Kind("links", 4, rounds_command.links),
    Kind("children", 4, rounds_command.children),
    Kind("pieces", 3, rounds_command.pieces),
    Kind("resend", 2, rounds_command.resend),
    Kind("reload", 2, rounds_command.reload),
    Kind("debounce", 1, rounds_command.debounce),
    Kind("backlog", 1, rounds_command.backlog),
    Kind("library", 10, rounds_library.library),
    Kind("overlap", 8, rounds_library.overlap),
    Kind("processes", 6, rounds_library.processes),
    Kind("sessions", 2, rounds_library.sessions),
    Kind("together", 6, rounds_process.together),
    Kind("runners", 3, rounds_process.runners),
    Kind("full", 2, rounds_process.full_disk),
    Kind("launch", 1, rounds_process.launch),
    Kind("held", 6, rounds_lua.held),
    Kind("users", 3, rounds_lua.users),
]

# What 300 rounds contain at least.
FLOOR_ROUNDS = 300
FLOORS = {
}


def below_floors(counts, rounds):
    missing = []
    for name, floor in sorted(FLOORS.items()):
        if counts[name] < floor * rounds // FLOOR_ROUNDS:
            missing.append("%s: %d, the floor is %d" % (name, counts[name], floor * rounds // FLOOR_ROUNDS))
    return "\n".join(missing)
