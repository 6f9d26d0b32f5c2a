/* Inspection: which nodes there are, what has run, and why.
 * Part of heddle/heddle.h, which is the header to include.
 *
 * There are two who can be asked.
 *
 *   an open runtime   knows what it has in memory: every node of it, its last
 *                     runs with their causes, and why a node does not run now.
 *   a survey          is what the file of a space says about its pieces, all of
 *                     it of one state, whoever runs them or has run them: also
 *                     after a crash, and for a runtime that only reads.
 *
 *   hd_survey *survey = NULL;
 *   hd_runtime_options options = HD_INIT;
 *   options.directory = "data";
 *   options.read_only = true;
 *   hd_runtime_open(&options, &runtime, &error);
 *   hd_survey_new(runtime, NULL, &survey, &error);
 *   hd_question question = HD_INIT;
 *   question.piece = "shopping";
 *   question.node = "total";
 *   hd_survey_why(survey, &question, &account, &error);
 *
 * Asking changes nothing, and runs nothing. It is for people: it costs as much
 * as there is, and belongs on no hot path. Answers are values, new, with the
 * fields that are listed here; later versions add some. What does not apply is
 * left out. Only from the ground: HD_MISUSE from inside a run, an edit or a
 * callback. */

#ifndef HEDDLE_INSPECT_H
#define HEDDLE_INSPECT_H

#ifndef HEDDLE_HEDDLE_H
#error "include <heddle/heddle.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- An open runtime ------------------------------------------------------- */

/* All its computations and effects, those of started pieces included: an array
 * of
 *
 *   {"id":"n3", "name":"shopping/total", "type":"computation",
 *    "status":"clean", "live":true, "queued":false, "height":1,
 *    "parent":"n1",
 *    "stats":{"runs":4,"totalMs":2,"averageMs":0.5,"lastMs":1,"endedAt":9},
 *    "reads":["main/piece:shopping/items#/value"], "shapeReads":[],
 *    "writes":["main/piece:shopping/total#/value"], "envelopes":[],
 *    "debounceMs":100, "throttleMs":100, "gate":"debounce", "eligibleInMs":7}
 *
 * "type" is "computation", "effect" or "materializer"; "status" is "clean",
 * "invalid" or "never-ran". With `piece`, those of that piece; NULL: all. */
HD_API hd_status hd_runtime_nodes(hd_runtime *runtime,
                                  const char *piece,
                                  hd_value **nodes,
                                  hd_error *error);

/* The nodes, the documents that they read and none of them writes
 * ({"id":"input:main/cart","type":"input"}), and who reads from whom:
 *
 *   {"at":1000, "nodes":[...],
 *    "edges":[{"from":"n1","to":"n3","documents":["main/cart"]},
 *             {"from":"n1","to":"n4","type":"parent"}]}
 *
 * With `piece`, the nodes of that piece and what they read from. */
HD_API hd_status hd_runtime_graph(hd_runtime *runtime,
                                  const char *piece,
                                  hd_value **graph,
                                  hd_error *error);

/* {"at":1000, "computations":3, "effects":1, "pieces":1, "outstanding":0,
 *  "counters":{"runs":12,"passes":4,...}}
 *
 * "outstanding" are commits without an answer of their store; the counters
 * count from the opening on. */
HD_API hd_status hd_runtime_statistics(hd_runtime *runtime,
                                       hd_value **statistics,
                                       hd_error *error);

/* Why it ran the last time:
 *
 *   {"piece":"shopping", "node":"total", "kind":"computation",
 *    "status":"clean", "runs":4, "reason":"change", "pass":12, "sweep":1,
 *    "at":1000, "ms":1, "outcome":"committed",
 *    "causes":[{"address":"main/cart#/value/price", "commit":7,
 *               "by":{"type":"node","piece":"shopping","node":"discount"}}],
 *    "more":0, "sentence":"total ran in pass 12, sweep 1, because ..."}
 *
 * Accounts of a runtime and of a survey have the same form and the same words;
 * each has what it knows. A node outside of pieces has no "piece".
 *
 * "reason" is "change", "first", "again" (nothing that it read was different),
 * "event" (a handler; then "event" is its number), "never", or "forgotten": the
 * last thousand runs of the runtime are remembered. "outcome" is "committed",
 * "refused", "failed", "given-up" or "dropped". "by" is one of
 * {"type":"node","piece":P,"node":N},
 * {"type":"event","piece":P,"handler":N,"event":4} and
 * {"type":"outside","kind":K}: K is "commit" for a write of this program, and
 * "integrate" for one of another runtime. HD_CLOSED if the node was removed. */
HD_API hd_status hd_node_why(hd_node *node,
                             hd_value **account,
                             hd_error *error);

/* Why it does not run now, and what would make it:
 *
 *   {"piece":"shopping", "node":"total", "kind":"computation",
 *    "status":"invalid", "gate":"debounce", "inMs":40, "condition":"gated",
 *    "sentence":"total is dirty and waits for its debounce: ...",
 *    "needs":"time"}
 *
 * "condition" is the first one that is not met: "event" (a handler: one to
 * handle), "running", "clean", "nobody-looks", "gated", "waits" (for the
 * node in "waitsFor", which must run first); or "none": it runs in the next
 * step. */
HD_API hd_status hd_node_why_not(hd_node *node,
                                 hd_value **account,
                                 hd_error *error);

/* Of whoever writes what is at the cell, or a part of it, links followed:
 *
 *   {"address":"main/cart#/total",
 *    "writers":[{"why":{...},"whyNot":{...}}]}
 *
 * with the accounts of both functions above. */
HD_API hd_status hd_cell_why(hd_cell *cell,
                             hd_value **account,
                             hd_error *error);

/* -- Surveys --------------------------------------------------------------- */

/* The pieces of a space as its file has them now. Release with
 * hd_survey_free. */
typedef struct hd_survey hd_survey;

/* Of a space of the runtime (NULL: the first one), which is in a directory:
 * HD_ARGUMENT if it is in memory. What this runtime has not brought to its
 * store yet is not in it: hd_runtime_settled comes before. It does not change
 * any more, and as long as it is there the file keeps what it needs: it is for
 * some questions, not to be kept. */
HD_API hd_status hd_survey_new(hd_runtime *runtime,
                               const char *space,
                               hd_survey **survey,
                               hd_error *error);

/* NULL is harmless. From another thread it does nothing. */
HD_API void hd_survey_free(hd_survey *survey);

/* What `heddle ps` knows:
 *
 *   {"seq":12,
 *    "pieces":[{"piece":P,"pattern":T,"started":true,"sessions":[...],
 *               "nodes":[{"node":N,"kind":"computed","status":"clean",
 *                         "live":true,"wanted":true,"runs":3,"seq":12,"at":MS,
 *                         "reason":"change","cause":{...}}]}]}
 *
 * "status" is "clean", "dirty", "failed", "unknown" or "never-ran". A handler
 * has no "status", "live", "wanted" and "runs": the log has its events. A task
 * has "task": {"state", "attempts", "error", "waitsFor"}. "sessions", and with
 * them "started" and "live", are of the processes that tell they are
 * there: those of the command `heddle` do. */
HD_API hd_status hd_survey_pieces(hd_survey *survey,
                                  hd_value **pieces,
                                  hd_error *error);

/* What `heddle graph` knows of a piece:
 *
 *   {"piece":P, "nodes":[{"id":"n0","name":N,"kind":K,"status":S,...},
 *                        {"id":"i0","name":D,"kind":"input","document":ID}],
 *    "edges":[{"from":"i0","to":"n0","document":ID},
 *             {"from":"n1","to":"i0","document":ID,"kind":"writes"}]}
 *
 * An edge goes from what is read to its reader, and from a handler to what it
 * wrote in the last 1,000 commits of the space. */
HD_API hd_status hd_survey_graph(hd_survey *survey,
                                 const char *piece,
                                 hd_value **graph,
                                 hd_error *error);

/* About what: a node of a piece, or else a place in a document. */
typedef struct hd_question {
    const char *piece;
    const char *node;

    const char *document;
    const char *path; /* a JSON Pointer into its value; NULL: all of it */

    bool to_the_origin; /* also why whoever is behind a cause ran, and so on */
} hd_question;

/* What `heddle why` knows of a node:
 *
 *   {"piece":P,"node":N,"kind":K,"status":S,"runs":3,"seq":12,"landed":12,
 *    "reason":"change",
 *    "causes":[{"address":"piece:P/items#/value","read":"deep","seq":10,
 *               "commits":1,"session":S,"at":MS,
 *               "changes":[{"path":"/value/0","old":1,"new":2}],"more":0,
 *               "by":{"type":"event",...}}],
 *    "sentence":"N ran, because ..."}
 *
 * "reason" is "change", "first", "again" (nothing that it read is different),
 * "folded" (that history is gone) or "never". "by" has a "type": "node" (with
 * its "run", as above, to the origin), "event", "start", "edit" or "folded".
 * Of a place:
 *
 *   {"address":"cart#/value/total", "commit":{...}, "writers":[{...}]}
 *
 * "commit" is the last one that wrote there, as in the log; "writers" are
 * accounts as above of the nodes that write there. */
HD_API hd_status hd_survey_why(hd_survey *survey,
                               const hd_question *question,
                               hd_value **account,
                               hd_error *error);

/* What `heddle why-not` knows of a node:
 *
 *   {"piece":P,"node":N,"kind":K,"status":S,"condition":"nobody-looks",
 *    "sentence":"...","needs":"...","reads":["cart#/value"],"seq":12,
 *    "changed":13,"debounceMs":0,"throttleMs":0}
 *
 * "condition" is "event", "failed", "waits", "clean", "nobody-looks",
 * "not-started", "gated" or "none"; "waits" has "waitsFor", the "piece" and
 * "node" that has to run first. Of a place: {"address":A,"writers":[{...}]}. */
HD_API hd_status hd_survey_why_not(hd_survey *survey,
                                   const hd_question *question,
                                   hd_value **account,
                                   hd_error *error);

/* Which commits; every field may be zero. */
typedef struct hd_log_options {
    const char *piece; /* that write to it; NULL: all */
    uint64_t after;    /* above this number, */
    uint64_t to;       /* and up to this one; 0: the newest */
    uint32_t limit;    /* the newest of those, so many; 0: 100 */
} hd_log_options;

/* What `heddle log` knows, in the order of the commits:
 *
 *   {"commits":[{"seq":10,"session":S,"at":MS,"by":{"type":"edit"},
 *                "writes":[{"document":ID,"op":"patch","paths":["/value"]}]}]}
 *
 * `options` may be NULL. */
HD_API hd_status hd_survey_log(hd_survey *survey,
                               const hd_log_options *options,
                               hd_value **log,
                               hd_error *error);

/* What `heddle show` knows: what was at a JSON Pointer of the result of a piece
 * (NULL: all of it) after the commit with that number (0: the newest), with
 * what the links in it led to then. The piece may have been removed since.
 * HD_NOT_FOUND: nothing; HD_SEQUENCE: there is no such commit, or it was
 * folded. */
HD_API hd_status hd_survey_show(hd_survey *survey,
                                const char *piece,
                                const char *path,
                                uint64_t seq,
                                hd_value **value,
                                hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
