/* Why something ran, and why something does not, from the file alone.
 *
 * Between the last two runs of a node some of what it read has changed; a
 * commit has changed it; a node, an event or an edit from outside has made
 * that commit; and a node had its own reasons, and so on back to the origin.
 * All of it follows from the offline graph (inspect/offline_graph.h) and the
 * revisions.
 *
 *   offline-why-1  A cause is an address that the node reads and that was
 *       changed, by the rules of its read, as in the scheduler's own records
 *       (sched/introspection.h). What was changed and changed back counts.
 *   offline-why-2  Only the last run of each node is recorded. The reasons of
 *       an earlier commit of the node are looked for between that commit and
 *       the one before it; the answer is marked with "earlier".
 *   offline-why-3  A run is explained once: where it occurs again, it is
 *       marked with "above".
 *   offline-why-4  After WHY_CAUSES causes of a run the rest of its reads is
 *       not examined; "moreReads" is how many these are.
 *
 * Answers are values, for people and programs alike. All are new. */

#ifndef INSPECT_OFFLINE_WHY_H
#define INSPECT_OFFLINE_WHY_H

#include "inspect/account.h"
#include "inspect/offline_graph.h"

enum {
    WHY_DEPTH = 64,   /* runs behind each other */
    WHY_CHANGES = 8,  /* shown of one cause */
    WHY_CAUSES = 100, /* of one run */
};

/* An account with what else the file knows:
 *
 *   {...,"task":{...},"seq":12,"landed":12,
 *    "causes":[{"address":"piece:P/items#/value","read":"deep","seq":10,
 *               "commits":1,"session":S,"at":MS,
 *               "changes":[{"path":"/value/0","old":1,"new":2}],"more":0,
 *               "by":{"type":"event",...,"receipt":ID,"result":...}}]}
 *
 * "task" is that of offline_task. A first run has "by", a start. With
 * `to_the_origin` the "by" of a node also has its "run", and so on. */
MUST_CHECK enum err offline_why(struct offline_graph *graph,
                                const struct offline_node *node,
                                bool to_the_origin,
                                struct value *out,
                                struct err_detail *detail);

/* An account with {...,"reads":[address, ...],"seq":12,"changed":13,
 * "debounceMs":0,"throttleMs":0}. */
struct value offline_why_not(struct offline_graph *graph,
                             const struct offline_node *node);

/* Of each node that writes to a place of this space:
 *
 * {"address":"cart#/value/total","commit":{... offline_commit ...},
 *  "writers":[{... offline_why ...}]}
 *
 * "commit" is the last one that wrote there, also from outside; it is not there
 * if there is none, or it was folded. */
MUST_CHECK enum err offline_why_place(struct offline_graph *graph,
                                      const struct run_place *place,
                                      bool to_the_origin,
                                      struct value *out,
                                      struct err_detail *detail);

/* The same with offline_why_not, and without the commit. */
MUST_CHECK enum err offline_why_not_place(struct offline_graph *graph,
                                          const struct run_place *place,
                                          struct value *out,
                                          struct err_detail *detail);

/* A commit: {"seq":N,"session":S,"at":MS,"by":{...},
 *            "writes":[{"document":ID,"op":"patch","paths":[...]}]}, with "by"
 * as above, but without the run of a node. */
struct value offline_commit(const struct offline_graph *graph,
                            const struct commit_info *commit);

/* "piece:P/items#/value"; "...@user:U" for another scope than the space. */
struct value offline_address(const struct run_place *place);

#endif
