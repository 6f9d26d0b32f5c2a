/* A survey: the pieces of a space as its file has them, without any process
 * that runs them.
 *
 * The file remembers what each node read and wrote (store/runs.h) under the
 * digest of its name; the result document of a piece has the names
 * (runtime/piece.h). Together they are the graph as it was last.
 *
 *   struct survey *survey;
 *   err = survey_open(folder, "main", NULL, &survey, &detail);
 *   VEC_FOREACH (&survey->pieces, piece) ...
 *   survey_close(survey);
 *
 *   Y1  It is of one state of the space, `survey->engine.seq`, and nothing is
 *       changed.
 *   Y2  A node is *wanted* if an effect reads what it writes, directly or
 *       through others; it is *live* if a process that runs effects has the
 *       piece of such an effect started, and its own. Who looks at a result is
 *       an effect, too, which is not in the file: it is known as long as the
 *       process is there.
 *   Y3  A node that never ran, or has no fingerprint, has no row: of it only
 *       the name and the kind are known. */

#ifndef HOST_SURVEY_H
#define HOST_SURVEY_H

#include "store/runs.h"

struct survey_piece;

struct survey_node {
    struct survey_piece *piece;
    struct value name; /* "total"; of a row without a name "#" and a digest */
    struct value kind; /* "computed", "effect", "handler", "list", "child",
                          "task" */
    const struct run_action *run; /* or NULL (Y3) */
    bool wanted;                  /* Y2 */
    bool live;
};

struct survey_piece {
    struct value name;
    struct value about; /* what is at "piece" of its result; or absent */
    struct run_list runs;
    VEC(struct survey_node) nodes;
    struct value sessions; /* of those that have it started: an array of
                              presence objects (host/presence.h) */
    bool started;          /* by one that runs effects */
    bool looked_at;        /* and that looks at its result */
};

/* A document that nodes write, and who. */
struct survey_output {
    struct survey_node *node;
    const struct run_place *place;
};

struct survey_document {
    struct value scope_key; /* borrowed */
    struct value id;
    VEC(struct survey_output) outputs;
};

struct survey {
    struct engine engine;
    struct value space; /* its name */
    bool reading; /* inside a read transaction, from the opening on (Y1) */
    struct value branch;
    struct value present; /* of host/presence.h */
    VEC(struct survey_piece *) pieces;
    struct map names;     /* of them: struct survey_piece by name */
    struct map documents; /* struct survey_document */
    struct map landed;    /* struct survey_node by the commit of its run */
};

/* What folder.h says, and faults. The file is opened for reading only. `branch`
 * may be NULL: the first one. */
MUST_CHECK enum err survey_open(const char *folder,
                                const char *space,
                                const char *branch,
                                struct survey **out,
                                struct err_detail *detail);
void survey_close(struct survey *survey);

/* By name, or NULL. */
struct survey_piece *survey_piece(const struct survey *survey,
                                  const char *name);
struct survey_piece *survey_piece_named(const struct survey *survey,
                                        struct value name);
struct survey_node *survey_node(const struct survey_piece *piece,
                                const char *name);

/* The node of that name whose last run was that of a user, or of all; NULL: it
 * has run for others only, or there is none. */
struct survey_node *survey_node_of_user(const struct survey_piece *piece,
                                        const char *name,
                                        const char *user);

/* The scope key of a node that has run for a user or a session, borrowed;
 * absent: it has run for all, or not at all. */
struct value survey_scope(const struct survey_node *node);

/* The document with its writers, or NULL. */
const struct survey_document *survey_document(const struct survey *survey,
                                              struct value scope_key,
                                              struct value id);

/* Whether a read sees what is written at an output. */
static inline bool survey_reads(const struct run_place *read,
                                const struct survey_output *output)
{
    return path_overlaps(read->path, output->place->path);
}

/* Whether a node can read what another one has written: not if they have run
 * for different users. */
bool survey_is_shared(const struct survey_node *reader,
                      const struct survey_node *writer);

/* The node whose last run made this commit, or NULL. */
struct survey_node *survey_landed(const struct survey *survey, uint64_t seq);

/* How far a task is, new: {"state":"failed","attempts":3,"error":{...}}, as its
 * output says (runtime/task.h), and with "waitsFor": "inputs" if it is idle,
 * or, while it is running, "outcome", or "process" if no process has the piece
 * started. Empty: it never ran. Absent: the node is no task. */
struct value survey_task(struct survey *survey, const struct survey_node *node);

/* Whether its runs are recorded. Those of a handler are not: its events are in
 * the log. */
bool survey_has_runs(const struct survey_node *node);

/* "clean", "dirty", "failed", "unknown"; "never-ran" without a row. For nodes
 * that have runs. */
const char *survey_status(const struct survey_node *node);

#endif
