/* Records of runs and commits, to explain why something ran.
 *
 * The rows of observations.h say for each action what it read and wrote, up to
 * which seq its reads are proved (`seq`), up to which those of the run before
 * were (`before`), and which commit the last run made (`landed`). With the
 * revisions this is enough to say what changed between the last two runs of
 * anything, without the process that ran it: even after it was killed.
 *
 *   run-history-1  Nothing is changed: a file that is opened read-only will do.
 *   run-history-2  All queries between engine_read_begin and engine_read_end
 *                  see one state.
 *   run-history-3  Compacted history cannot be told apart: no answer goes below
 *                  the horizon. */

#ifndef STORE_RUN_HISTORY_H
#define STORE_RUN_HISTORY_H

#include "store/conflict.h"
#include "store/observations.h"

/* -- Actions ------------------------------------------------------------- */

/* A place that an action reads or writes. */
struct run_place {
    struct value space; /* absent: this one */
    struct value scope_key;
    struct value id;
    struct path *path;
    enum place_kind kind;
};

/* An action and its last run. All references are owned. */
struct run_action {
    uint64_t number;
    struct digest name;
    struct value scope_key; /* of its row: the space, a user or a session */
    enum action_kind kind;
    enum resume_state state;
    bool failed; /* of the last run, whatever has changed since */
    struct gate_config gates;
    uint64_t seq;     /* up to here its reads are proved */
    uint64_t before;  /* and those of the run before; 0: none, or not known */
    uint64_t landed;  /* the commit of its last run; 0: it made none */
    uint64_t runs;    /* that were recorded */
    uint64_t changed; /* DIRTY: the newest change of what it reads */
    VEC(struct run_place) places;
};

struct run_list {
    uint64_t generation;
    VEC(struct run_action)
    at; /* in the order of their numbers, grouped by scope key */
};

/* The actions of a piece, in all scopes; none without observations. Inside a
 * read transaction. */
MUST_CHECK enum err run_history_of_piece(struct engine *engine,
                                         struct value branch,
                                         struct value piece,
                                         struct run_list *out,
                                         struct err_detail *detail);
void run_list_release(struct run_list *list);

/* The names of the pieces with rows: an array, new. Inside a read
 * transaction. */
MUST_CHECK enum err run_history_pieces(struct engine *engine,
                                       struct value branch,
                                       struct value *out,
                                       struct err_detail *detail);

/* -- Commits ------------------------------------------------------------- */

/* One operation of a commit. */
struct commit_write {
    struct value scope_key;
    struct value id;
    enum commit_op_kind op;
    struct value data; /* set: the document; patch: its operations */
};

struct commit_info {
    uint64_t seq;
    struct value session; /* key */
    struct value branch;  /* name */
    uint64_t at_ms;       /* 0: not known */
    struct value effect;  /* {"piece":..., "action":...}, or absent: the run
                             that made it (commit_write_context) */
    VEC(struct commit_write) writes;
};

void commit_info_release(struct commit_info *commit);

/* The commits above `after` and up to `to`, newest first, as long as `visit`
 * returns true. Borrowed for the call. Inside a read transaction. */
typedef bool commit_info_fn(void *ctx, const struct commit_info *commit);
MUST_CHECK enum err commits_visit(struct engine *engine,
                                  uint64_t after,
                                  uint64_t to,
                                  commit_info_fn *visit,
                                  void *ctx,
                                  struct err_detail *detail);

/* One commit; NOT_FOUND: compacted, or never existed. */
MUST_CHECK enum err commit_at(struct engine *engine,
                              uint64_t seq,
                              struct commit_info *out,
                              struct err_detail *detail);

/* -- Values -------------------------------------------------------------- */

/* The value at an address at `seq`, new; absent if there is none. Inside a read
 * transaction. */
MUST_CHECK enum err run_value_at(struct engine *engine,
                                 struct value branch,
                                 const struct run_place *place,
                                 uint64_t seq,
                                 struct value *out,
                                 struct err_detail *detail);

#endif
