/* Why something ran, and why something does not, from the file alone.
 *
 * Between the last two runs of a node some of what it read has changed; a
 * commit has changed it; a node, an event or somebody from outside has made
 * that commit; and a node had its own reasons, and so on back to the origin.
 * All of it follows from what a survey has (host/survey.h) and the revisions.
 *
 *   X1  A cause is an address that the node reads and that was changed, by the
 *       rules of its read: as in the scheduler's own account
 *       (sched/introspection.h). What was changed and changed back counts.
 *   X2  Only the last run of each node is recorded. Of an earlier one of its
 *       commits the reasons are looked for between that and the one before:
 *       it is marked with "earlier".
 *   X3  A run is explained once: where it is met again, it is marked with
 *       "above".
 *   X4  After EXPLAIN_CAUSES causes of a run the rest of its reads is not
 *       examined; "moreReads" is how many these are.
 *
 * Answers are values, for people and programs alike. All are new. */

#ifndef HOST_EXPLAIN_H
#define HOST_EXPLAIN_H

#include "host/survey.h"

enum {
    EXPLAIN_DEPTH = 64,   /* runs behind each other */
    EXPLAIN_CHANGES = 8,  /* shown of one cause */
    EXPLAIN_CAUSES = 100, /* of one run */
};

/* {"piece":P,"node":N,"kind":K,"status":S,"runs":3,"seq":12,"landed":12,
 *  "reason":"change",
 *  "causes":[{"address":"piece:P/items#/value","read":"deep","seq":10,
 *             "commits":1,"session":S,"at":MS,
 *             "changes":[{"path":"/value/0","old":1,"new":2}],"more":0,
 *             "by":{"type":"event",...}}]}
 *
 * Of a task there is also "task" (survey_task of host/survey.h).
 * "reason" is "change", "first" (with "by", a start), "again" (nothing that it
 * read is different: other code, or a run that had failed), "elsewhere" (the
 * same, but it has also read another space, "space", whose history is not
 * looked at), "folded" (its history is gone) or "never". "by" is one of
 *
 *   {"type":"node","piece":P,"node":N,"run":{... as above ...}}
 *   {"type":"event","piece":P,"handler":H,"receipt":ID,"result":...}
 *   {"type":"start","piece":P}
 *   {"type":"clock"}
 *   {"type":"edit"}
 *   {"type":"folded"}
 *
 * "run" is there only `to_the_origin`: otherwise the nearest causes are
 * enough. */
MUST_CHECK enum err explain_why(struct survey *survey,
                                const struct survey_node *node,
                                bool to_the_origin,
                                struct value *out,
                                struct err_detail *detail);

/* {"piece":P,"node":N,"kind":K,"status":S,"condition":C,"sentence":...,
 *  "needs":...,"reads":[address, ...],"changed":SEQ}
 *
 * "condition" is the first one that is missing: "event" (a handler), "failed",
 * "clean", "nobody-looks", "not-started", "gated"; or "none". */
struct value explain_why_not(struct survey *survey,
                             const struct survey_node *node);

/* Of whoever writes to a place of this space:
 *
 * {"address":"cart#/value/total","commit":{... explain_commit ...},
 *  "writers":[{... explain_why ...}]}
 *
 * "commit" is the last one that wrote there, also from outside; it is not there
 * if there is none, or it was folded. */
MUST_CHECK enum err explain_place(struct survey *survey,
                                  const struct run_place *place,
                                  bool to_the_origin,
                                  struct value *out,
                                  struct err_detail *detail);

/* The same with explain_why_not, and without the commit. */
struct value explain_place_not(struct survey *survey,
                               const struct run_place *place);

/* A commit: {"seq":N,"session":S,"at":MS,"by":{...},
 *            "writes":[{"document":ID,"op":"patch","paths":[...]}]}, with "by"
 * as above, but without the run of a node. */
struct value explain_commit(const struct survey *survey,
                            const struct commit_seen *commit);

/* "piece:P/items#/value"; "...@user:U" for another scope than the space. */
struct value explain_address(const struct run_place *place);

#endif
