/* An offline graph (inspect/offline_graph.h) as JSON: its pieces with their
 * nodes, the graph of one piece, the commits, the events and timers that wait.
 * `heddle ps`, `graph`, `log`, `events` and `timers` print these values, and
 * the public header returns them.
 *
 * All answers are new. Nothing is changed. */

#ifndef INSPECT_GRAPH_JSON_H
#define INSPECT_GRAPH_JSON_H

#include "inspect/offline_graph.h"

/* {"seq":12,"pieces":[
 *   {"piece":P,"pattern":T,"started":true,"sessions":[...],
 *    "nodes":[{"node":N,"kind":K,"status":S,"live":true,"wanted":true,
 *              "runs":3,"seq":12,"at":MS,"reason":"change","cause":{...},
 *              "debounceMs":100,"throttleMs":100,"task":{...}}],
 *    "waiting":{"events":2,"timers":1,"next":MS}}]}
 *
 * "task" is there for tasks, as offline_task has it. "seq" and what follows is
 * there if the node has a recorded run; "reason" and
 * "cause" are as in inspect/offline_why.h, the nearest cause alone; gates only
 * where there are some. "waiting" is there if events or timers of the piece
 * wait in the store; "next" is when the first of the timers is due. */
MUST_CHECK enum err graph_json_pieces(struct offline_graph *graph,
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
struct value graph_json(struct offline_graph *graph,
                        const struct offline_piece *piece);

/* The nodes that are chosen, of an array of nodes. */
struct value graph_json_choose_adopt(struct value nodes,
                                     bool (*is_chosen)(struct value node,
                                                       const void *ctx),
                                     const void *ctx);

/* Of a graph with "nodes" and "edges", the nodes that are chosen, the edges to
 * them, and if `both` also those from them, and behind the chosen nodes what is
 * at the other ends. */
struct value graph_json_part_adopt(struct value graph,
                                   bool (*is_chosen)(struct value node,
                                                     const void *ctx),
                                   const void *ctx,
                                   bool both);

/* Which commits. */
struct graph_json_span {
    const char *piece; /* that write to it; NULL: all */
    uint64_t after;
    uint64_t to; /* UINT64_MAX: the newest */
    uint64_t limit;
};

/* {"commits":[...]}: the newest of them, in their order, each as
 * offline_commit. */
MUST_CHECK enum err graph_json_log(struct offline_graph *graph,
                                   const struct graph_json_span *span,
                                   struct value *out,
                                   struct err_detail *detail);

/* {"events":[{"id":ID,"piece":P,"handler":H,"payload":...,"at":MS,
 *             "from":{"piece":P,"handler":H},"queued":true,
 *             "state":"waiting","space":S,"user":U}]}
 *
 * The stored events (proto/event.h) in the order of their sending; those for
 * streams of one piece, and those that it sent to another space; or all if
 * `piece` is NULL. "state" is "sender-at-work"
 * while the runtime that sent the event is there to handle it, and "waiting"
 * otherwise. "space" and "user" are there if they are not the own space and not
 * any user; "stream" replaces "piece" and "handler" if it is of no piece. */
MUST_CHECK enum err graph_json_events(struct offline_graph *graph,
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
MUST_CHECK enum err graph_json_failed(struct offline_graph *graph,
                                      const char *piece,
                                      uint64_t limit,
                                      struct value *out,
                                      struct err_detail *detail);

/* The state of the stored event or timer with that id: {"id":ID,"state":S,
 * "piece":P,"handler":H}, where S is "waiting" (with "payload"), "done" (with
 * "receipt", or "delivered", the id of a receipt in another document), "failed"
 * (with "code" and "message") or "cancelled". Absent: the store does not know
 * it. */
MUST_CHECK enum err graph_json_event(struct offline_graph *graph,
                                     const char *id,
                                     struct value *out,
                                     struct err_detail *detail);

/* Whether the object of an event names a piece, a child ("kanban/cards/3") or a
 * stream with that address. */
bool graph_json_is_of(struct value object, const char *address);

/* What waits, by the name of the piece: {P:{"events":2,"timers":1,"next":MS}}.
 */
MUST_CHECK enum err graph_json_waiting(struct offline_graph *graph,
                                       struct value *out,
                                       struct err_detail *detail);

/* {"timers":[{"id":ID,"document":ID,"piece":P,"handler":H,"payload":...,
 *             "due":MS,"late":MS,"every":MS,"cron":C,"zone":Z,"missed":M,
 *             "at":MS,"from":{...},"user":U}]}
 *
 * The timers by their due times. "id" is the name of the timer, or the id of
 * its document if it has none; "late" is there if it is overdue at `now`; the
 * rest as above. */
MUST_CHECK enum err graph_json_timers(struct offline_graph *graph,
                                      const char *piece,
                                      uint64_t now,
                                      struct value *out,
                                      struct err_detail *detail);

#endif
