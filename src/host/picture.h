/* Pictures of a survey (host/survey.h), as values: the pieces with their
 * nodes, the graph of one, the commits. For people and programs alike; the
 * commands `heddle ps`, `graph` and `log` print them, and so can a program.
 *
 * All answers are new, and say what the survey has; nothing is changed. */

#ifndef HOST_PICTURE_H
#define HOST_PICTURE_H

#include "host/survey.h"

/* {"seq":12,"pieces":[
 *   {"piece":P,"pattern":T,"started":true,"sessions":[...],
 *    "nodes":[{"node":N,"kind":K,"status":S,"live":true,"wanted":true,
 *              "runs":3,"seq":12,"at":MS,"reason":"change","cause":{...},
 *              "debounceMs":100,"throttleMs":100,"task":{...}}],
 *    "waiting":{"events":2,"timers":1,"next":MS}}]}
 *
 * "task" is there for tasks, as survey_task has it. "seq" and what follows is
 * there if the node has a recorded run; "reason" and
 * "cause" are as in host/explain.h, the nearest cause alone; gates only where
 * there are some. "waiting" is there if events or timers of the piece wait in
 * the store; "next" is when the first of the timers is due. */
MUST_CHECK enum err picture_pieces(struct survey *survey,
                                   struct value *out,
                                   struct err_detail *detail);

/* {"piece":P,
 *  "nodes":[{"id":"n0","name":N,"kind":K,"status":S,"live":true,
 *            "wanted":true,"runs":3},
 *           {"id":"i0","name":D,"kind":"input","document":ID}],
 *  "edges":[{"from":"i0","to":"n0","document":ID},
 *           {"from":"n1","to":"i0","document":ID,"kind":"writes"}]}
 *
 * An input is a document that is read and that no node of the piece writes. An
 * edge goes from what is read to its reader, and from a handler to what it
 * wrote in the last 1,000 commits of the space. */
struct value picture_graph(struct survey *survey,
                           const struct survey_piece *piece);

/* Which commits. */
struct picture_span {
    const char *piece; /* that write to it; NULL: all */
    uint64_t after;
    uint64_t to; /* UINT64_MAX: the newest */
    uint64_t limit;
};

/* {"commits":[...]}: the newest of them, in their order, each as
 * explain_commit. */
MUST_CHECK enum err picture_log(struct survey *survey,
                                const struct picture_span *span,
                                struct value *out,
                                struct err_detail *detail);

/* {"events":[{"id":ID,"piece":P,"handler":H,"payload":...,"at":MS,
 *             "from":{"piece":P,"handler":H},"queued":true,
 *             "state":"waiting","space":S,"user":U}]}
 *
 * The stored events (proto/event.h) in the order of their sending; those for
 * streams of one piece, or all if `piece` is NULL. "state" is "sender-at-work"
 * while the runtime that sent the event is there to handle it, and "waiting"
 * otherwise. "space" and "user" are there if they are not the own space and not
 * any user; "stream" replaces "piece" and "handler" if it is of no piece. */
MUST_CHECK enum err picture_events(struct survey *survey,
                                   const char *folder,
                                   const char *piece,
                                   struct value *out,
                                   struct err_detail *detail);

/* {"failed":[{"id":ID,"state":"failed","piece":P,"handler":H,"payload":...,
 *             "at":MS,"seq":N,"code":C,"message":M}]}
 *
 * The stored events whose handler failed, in the order of their failures: the
 * last `limit` ones that the last RETENTION_COMMITS commits ended. "payload" is
 * left out if it was compacted away. */
MUST_CHECK enum err picture_failed(struct survey *survey,
                                   const char *piece,
                                   uint64_t limit,
                                   struct value *out,
                                   struct err_detail *detail);

/* What has become of the stored event or timer with that id: {"id":ID,
 * "state":S,"piece":P,"handler":H}, where S is "waiting" (with "payload"),
 * "done" (with "receipt", or "delivered", the id of a receipt in another
 * document), "failed" (with "code" and "message") or "cancelled". Absent: the
 * store does not know it. */
MUST_CHECK enum err picture_event(struct survey *survey,
                                  const char *id,
                                  struct value *out,
                                  struct err_detail *detail);

/* Whether the object of an event says that it is of a piece, of a child
 * ("kanban/cards/3") or of a stream. */
bool picture_is_of(struct value object, const char *address);

/* {"timers":[{"id":ID,"document":ID,"piece":P,"handler":H,"payload":...,
 *             "due":MS,"late":MS,"every":MS,"cron":C,"zone":Z,"missed":M,
 *             "at":MS,"from":{...},"user":U}]}
 *
 * The timers by their due times. "id" is the name of the timer, or the id of
 * its document if it has none; "late" is there if it is overdue at `now`; the
 * rest as above. */
/* What waits, by the name of the piece: {P:{"events":2,"timers":1,"next":MS}}.
 */
MUST_CHECK enum err picture_waiting(struct survey *survey,
                                    struct value *out,
                                    struct err_detail *detail);

MUST_CHECK enum err picture_timers(struct survey *survey,
                                   const char *piece,
                                   uint64_t now,
                                   struct value *out,
                                   struct err_detail *detail);

#endif
