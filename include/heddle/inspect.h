/* Inspection: which nodes exist, what ran, and why. Part of heddle/heddle.h,
 * which is the header to include.
 *
 * There are two sources:
 *
 *   an open runtime   knows the nodes that it has in memory, their last runs
 *                     with their causes, and why a node does not run now.
 *   an inspection reads from the file of a space what is stored about its
 *                     pieces, in one snapshot, whichever process ran them. It
 *                     also works after a crash and for a read-only runtime.
 *
 *   hd_inspection *inspection = NULL;
 *   hd_runtime_options options = HD_INIT;
 *   options.directory = "data";
 *   options.read_only = true;
 *   hd_runtime_open(&options, &runtime, &error);
 *   hd_inspection_new(runtime, NULL, &inspection, &error);
 *   hd_question question = HD_INIT;
 *   question.piece = "shopping";
 *   question.node = "total";
 *   hd_inspection_why(inspection, &question, &account, &error);
 *
 * Inspection changes nothing and runs nothing. Its cost grows with the number
 * of nodes or commits, so keep it off hot paths. Answers are new values with
 * the fields listed here; later versions may add fields. Fields that do not
 * apply are omitted. HD_MISUSE from inside a run, an edit or a callback. */

#ifndef HEDDLE_INSPECT_H
#define HEDDLE_INSPECT_H

#ifndef HEDDLE_HEDDLE_H
#error "include <heddle/heddle.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- An open runtime ------------------------------------------------------ */

/* Returns all computations and effects, including those of started pieces; with
 * `piece`, those of that piece. An array of
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
 * "invalid" or "never-ran". */
HD_API hd_status hd_runtime_nodes(hd_runtime *runtime,
                                  const char *piece,
                                  hd_value **nodes,
                                  hd_error *error);

/* Returns the dependency graph: the nodes, the documents that they read and
 * that none of them writes ({"id":"input:main/cart","type":"input"}), and the
 * edges from what is read to its readers:
 *
 *   {"at":1000, "nodes":[...],
 *    "edges":[{"from":"n1","to":"n3","documents":["main/cart"]},
 *             {"from":"n1","to":"n4","type":"parent"}]}
 *
 * With `piece`, only the nodes of that piece and what they read from. */
HD_API hd_status hd_runtime_graph(hd_runtime *runtime,
                                  const char *piece,
                                  hd_value **graph,
                                  hd_error *error);

/* Returns counts:
 *
 *   {"at":1000, "computations":3, "effects":1, "pieces":1, "outstanding":0,
 *    "counters":{"runs":12,"passes":4,...}}
 *
 * "outstanding" is the number of commits that their store has not answered. The
 * counters start when the runtime is opened. */
HD_API hd_status hd_runtime_statistics(hd_runtime *runtime,
                                       hd_value **statistics,
                                       hd_error *error);

/* Returns why the node last ran:
 *
 *   {"piece":"shopping", "node":"total", "kind":"computation",
 *    "status":"clean", "runs":4, "reason":"change", "pass":12, "sweep":1,
 *    "at":1000, "ms":1, "outcome":"committed",
 *    "causes":[{"address":"main/cart#/value/price", "commit":7,
 *               "by":{"type":"node","piece":"shopping","node":"discount"}}],
 *    "more":0, "sentence":"total ran in pass 12, sweep 1, because ..."}
 *
 *   "piece"    absent for a node outside of pieces
 *   "reason"   "change"; "first"; "again": nothing that it read had changed;
 *              "event": a handler, and "event" is the number of the event;
 *              "never"; "forgotten": the runtime remembers its last thousand
 *              runs
 *   "outcome"  "committed", "refused", "failed", "given-up" or "dropped"
 *   "by"       {"type":"node","piece":P,"node":N},
 *              {"type":"event","piece":P,"handler":N,"event":4} or
 *              {"type":"outside","kind":K}, where K is "commit" for a write
 *              of this program and "integrate" for one of another runtime
 *
 * hd_inspection_why gives an account of the same form, with what the file
 * knows. HD_CLOSED if the node was removed. */
HD_API hd_status hd_node_why(hd_node *node,
                             hd_value **account,
                             hd_error *error);

/* Returns why the node does not run now, and what would make it run:
 *
 *   {"piece":"shopping", "node":"total", "kind":"computation",
 *    "status":"invalid", "gate":"debounce", "inMs":40, "condition":"gated",
 *    "sentence":"total is dirty and waits for its debounce: ...",
 *    "needs":"time"}
 *
 * "condition" is the first unmet condition: "event" (a handler has no event),
 * "running", "clean", "nobody-looks" (not in demand), "gated", or "waits" (for
 * the node in "waitsFor", which must run first). "none": it runs in the next
 * step. */
HD_API hd_status hd_node_why_not(hd_node *node,
                                 hd_value **account,
                                 hd_error *error);

/* Returns the accounts of hd_node_why and hd_node_why_not for each node that
 * writes the value of the cell or a part of it; links are followed:
 *
 *   {"address":"main/cart#/total",
 *    "writers":[{"why":{...},"whyNot":{...}}]} */
HD_API hd_status hd_cell_why(hd_cell *cell,
                             hd_value **account,
                             hd_error *error);

/* -- Inspections --------------------------------------------------------- */

/* A snapshot of the stored pieces of a space. Release with
 * hd_inspection_free. */
typedef struct hd_inspection hd_inspection;

/* Takes an inspection of a space (NULL: the runtime's first). The runtime must
 * have a directory; HD_ARGUMENT if it is in memory. Commits that this runtime
 * has not yet sent to the store are not included: call hd_runtime_settled
 * first. An inspection does not change. While it exists, the file keeps the
 * data that it refers to, so release it soon. */
HD_API hd_status hd_inspection_new(hd_runtime *runtime,
                                   const char *space,
                                   hd_inspection **inspection,
                                   hd_error *error);

/* Releases an inspection. NULL is allowed. Does nothing when called from
 * another thread. */
HD_API void hd_inspection_free(hd_inspection *inspection);

/* Returns what `heddle ps` shows:
 *
 *   {"seq":12,
 *    "pieces":[{"piece":P,"pattern":T,"started":true,"sessions":[...],
 *               "nodes":[{"node":N,"kind":"computed","status":"clean",
 *                         "live":true,"wanted":true,"runs":3,"seq":12,"at":MS,
 *                         "reason":"change","cause":{...}}]}]}
 *
 * "status" is "clean", "dirty", "failed", "unknown" or "never-ran". A handler
 * has no "status", "live", "wanted" and "runs"; its events are in the log. A
 * task has "task": {"state", "attempts", "error", "waitsFor"}. "sessions",
 * "started" and "live" describe processes that announce themselves, as the
 * command `heddle` does. */
HD_API hd_status hd_inspection_pieces(hd_inspection *inspection,
                                      hd_value **pieces,
                                      hd_error *error);

/* Returns what `heddle graph` shows of a piece:
 *
 *   {"piece":P, "nodes":[{"id":"n0","name":N,"kind":K,"status":S,...},
 *                        {"id":"i0","name":D,"kind":"input","document":ID}],
 *    "edges":[{"from":"i0","to":"n0","document":ID},
 *             {"from":"n1","to":"i0","document":ID,"kind":"writes"}]}
 *
 * An edge leads from what is read to its reader, and from a handler to what it
 * wrote in the last 1,000 commits of the space. */
HD_API hd_status hd_inspection_graph(hd_inspection *inspection,
                                     const char *piece,
                                     hd_value **graph,
                                     hd_error *error);

/* The subject of a question: a node of a piece, or a path in a document. */
typedef struct hd_question {
    const char *piece;
    const char *node;

    const char *document;
    const char *path; /* a JSON Pointer into its value; NULL: all of it */

    bool to_the_origin; /* follow the causes back to the first one */
} hd_question;

/* Returns what `heddle why` shows. For a node:
 *
 *   {"piece":P,"node":N,"kind":K,"status":S,"runs":3,"seq":12,"landed":12,
 *    "reason":"change",
 *    "causes":[{"address":"piece:P/items#/value","read":"deep","seq":10,
 *               "commits":1,"session":S,"at":MS,
 *               "changes":[{"path":"/value/0","old":1,"new":2}],"more":0,
 *               "by":{"type":"event",...}}],
 *    "sentence":"N ran, because ..."}
 *
 * "reason" is "change", "first", "again" (nothing that it read had changed),
 * "folded" (that history was compacted) or "never". The "type" of "by" is
 * "node", "event", "start", "edit" or "folded"; with `to_the_origin`, a "node"
 * has a "run" with an account like this one. For a path:
 *
 *   {"address":"cart#/value/total", "commit":{...}, "writers":[{...}]}
 *
 * "commit" is the last commit that wrote the path, as in the log. "writers" are
 * the accounts of the nodes that write it. */
HD_API hd_status hd_inspection_why(hd_inspection *inspection,
                                   const hd_question *question,
                                   hd_value **account,
                                   hd_error *error);

/* Returns what `heddle why-not` shows. For a node:
 *
 *   {"piece":P,"node":N,"kind":K,"status":S,"condition":"nobody-looks",
 *    "sentence":"...","needs":"...","reads":["cart#/value"],"seq":12,
 *    "changed":13,"debounceMs":0,"throttleMs":0}
 *
 * "condition" is "event", "failed", "waits", "clean", "nobody-looks",
 * "not-started", "gated" or "none". With "waits", "waitsFor" is the "piece" and
 * "node" that must run first. For a path: {"address":A,"writers":[{...}]}. */
HD_API hd_status hd_inspection_why_not(hd_inspection *inspection,
                                       const hd_question *question,
                                       hd_value **account,
                                       hd_error *error);

/* Selects commits; every field may be zero. */
typedef struct hd_log_options {
    const char *piece; /* commits that write to this piece; NULL: all */
    uint64_t after;    /* after this sequence number, */
    uint64_t to;       /* up to this one; 0: the newest */
    uint32_t limit;    /* at most this many, the newest; 0: 100 */
} hd_log_options;

/* Returns what `heddle log` shows, in commit order:
 *
 *   {"commits":[{"seq":10,"session":S,"at":MS,"by":{"type":"edit"},
 *                "writes":[{"document":ID,"op":"patch","paths":["/value"]}]}]}
 *
 * `options` may be NULL. */
HD_API hd_status hd_inspection_log(hd_inspection *inspection,
                                   const hd_log_options *options,
                                   hd_value **log,
                                   hd_error *error);

/* Returns what `heddle show` shows: the value at a JSON Pointer in the result
 * of a piece (NULL: all of it) after commit `seq` (0: the newest), with the
 * values that its links led to at that time. The piece may have been removed
 * since. HD_NOT_FOUND: no value. HD_SEQUENCE: there is no such commit, or it
 * was compacted. */
HD_API hd_status hd_inspection_show(hd_inspection *inspection,
                                    const char *piece,
                                    const char *path,
                                    uint64_t seq,
                                    hd_value **value,
                                    hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
