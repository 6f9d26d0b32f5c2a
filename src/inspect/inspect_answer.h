/* Questions about a space that its file answers: what `heddle ps`, `graph`,
 * `log`, `show`, `events`, `timers`, `why` and `why-not` print. A command asks
 * the file, or a server that has it; both answer with this function.
 *
 * A question has the key "question", "inspect", and
 *
 *   "about"      "pieces", "graph", "log", "show", "events", "failed", "event",
 *                "timers", "why" or "whyNot"
 *   "piece"      the address of a piece or a child, "kanban/cards/3"; lists are
 *                of all pieces without it
 *   "node"       of "why" and "whyNot"
 *   "user"       whose run of the node; left out: that of all, or any
 *   "event"      of "event": its id
 *   "path"       of "show": an array of keys
 *   "at"         of "show": a seq; left out: the head
 *   "limit"      of "log" and "failed"
 *   "now"        of "timers": the wall clock in ms
 *   "branch"     left out: the main one
 *   "unchecked"  true: a piece that does not exist has no timers, which is no
 *                error
 *
 * The answer is that of inspect/graph_json.h for lists and graphs, {"event"},
 * {"why"}, {"whyNot","piece","node","note"?}, or {"value"?,"stale":[node,...]}
 * for "show", where "stale" names nodes that would have to run first.
 *
 *   inspect-answer-1  An answer is of one state of the file, and nothing is
 *                     changed.
 *   inspect-answer-2  A viewer does not see what concerns documents of another
 *                     user or of a session: writes to them, nodes that ran for
 *                     them, and events of other users; nor which processes
 *                     there are, but for their commands. */

#ifndef INSPECT_INSPECT_ANSWER_H
#define INSPECT_INSPECT_ANSWER_H

#include "base/err.h"
#include "value/address.h"

/* Who asks. All borrowed. */
struct inspect_viewer {
    bool sees_all;          /* the owner of the files */
    struct value principal; /* otherwise: a string, or absent */
};

/* The answer, new. PROTOCOL: a parameter is invalid; NOT_FOUND: there is no
 * such piece, node, event, or space, with what there is instead; what folder.h
 * and the engine say. */
MUST_CHECK enum err inspect_answer(const char *folder,
                                   const char *space,
                                   const struct inspect_viewer *viewer,
                                   struct value question,
                                   struct value *answer,
                                   struct err_detail *detail);

#endif
