/* A commit as it travels from a replica to a store.
 *
 * A commit lists what its author read, what it writes, and what else must hold.
 * The store decides: it lands whole at one sequence number, or not at all
 * (proto/verdict.h).
 *
 *   {"session":"s1","localSeq":7,"branch":"",
 *    "reads":{"confirmed":[{"id":"of:a","path":["value","n"],"seq":3}],
 *             "pending":[{"id":"of:b","path":[],"localSeq":[5,6],
 *                         "basisSeq":3,"nonRecursive":true}]},
 *    "operations":[{"op":"set","id":"of:a","value":{"value":1}},
 *                  {"op":"patch","id":"of:b","patches":[...]},
 *                  {"op":"delete","id":"of:c","scope":"user"}],
 *    "preconditions":[{"kind":"entity-absent","id":"of:r"}],
 *    "view":{"seq":3,"commits":2},
 *    "observation":{...}}
 *
 * A *confirmed* read saw the store's state at `seq`. A *pending* read saw the
 * author's own commits `localSeq` that had no verdict yet, on top of the
 * store's state at `basisSeq`; it names all of them. Paths are document paths:
 * they begin at the envelope, so the payload is below "value".
 *
 * A commit that depends on computations may claim its *view* instead of listing
 * all their inputs: everything that has landed is the store's state at `seq`
 * and, on top of it, exactly `commits` commits of this session.
 *
 * A commit may carry the observation of its run (proto/observation.h), which is
 * kept iff the commit lands. Runs that wrote nothing are sent in a *batch*,
 * which has a separate form:
 *
 *   {"session":"s1","localSeq":8,"branch":"","observations":[{...},{...}]}
 *
 * It contains nothing else. It takes no seq and leaves no commit; each of its
 * observations is kept or dropped independently, by its basis. A repeated batch
 * is decided again: it is idempotent.
 *
 *   commit-1  commit_read trusts nothing: a field that is missing, of another
 *             type or out of range is ERR_PROTOCOL, or a limit, with the
 *             field's name.
 *   commit-2  commit_write(commit_read(x)) is canonical: two commits are the
 *             same iff their canonical texts are. Fields with their default are
 *             left out.
 */

#ifndef PROTO_COMMIT_H
#define PROTO_COMMIT_H

#include "base/vec.h"
#include "proto/observation.h"
#include "proto/target.h"
#include "value/address.h"
#include "value/difference.h"
#include "value/patch.h"

struct commit_read {
    bool pending;
    enum read_kind kind;
    struct target target;
    struct path *path;
    struct value branch; /* confirmed: another branch than the commit's, or
                            absent */
    uint64_t seq;        /* confirmed: the state that was read; pending: the
                            basis below the layers */
    struct layer_list layers; /* pending */
};

enum commit_op_kind {
    COMMIT_SET,
    COMMIT_PATCH,
    COMMIT_DELETE,
};

struct commit_op {
    enum commit_op_kind kind;
    struct target target;
    struct value document; /* set: an object */
    struct patch patch;
};

enum precondition_kind {
    PRECONDITION_ORIGIN_COMMITTED, /* this session's commit has landed */
    PRECONDITION_ENTITY_ABSENT,    /* the document never existed */
    PRECONDITION_VALUE_HASH,       /* its `value` has this digest */
    PRECONDITION_EVENT_WAITING,    /* the document holds an unhandled event
                                      (proto/event.h); with a hash, the one with
                                      that digest */
};

struct commit_precondition {
    enum precondition_kind kind;
    uint64_t origin_local_seq;
    struct target target;
    struct value hash; /* a digest as text; null: no document or no value; for
                          EVENT_WAITING also absent: any event */
};

struct commit_view {
    bool given;
    uint64_t seq;
    uint64_t commits; /* of this session, above it */
};

struct commit {
    struct value session; /* string */
    uint64_t local_seq;
    struct value branch;           /* string; "" is the main one */
    VEC(struct commit_read) reads; /* confirmed first, as they came */
    VEC(struct commit_op) ops;
    VEC(struct commit_precondition) preconditions;
    struct commit_view view;
    struct value merge; /* carried for people, never interpreted; or absent */
    struct observation *observation; /* of this run, or NULL; a reference */
    VEC(struct observation *) batch; /* or of other runs; references */

    /* Elements created so far, including those behind the count: each is all
     * zero there, except for the memory of its own lists (commit_clear). */
    size_t reads_made;
    size_t ops_made;
};

const char *commit_op_name(enum commit_op_kind kind);
const char *precondition_name(enum precondition_kind kind);

/* All zero is an empty commit, to be filled in by its author. */
void commit_release(struct commit *commit);

/* -- Building ------------------------------------------------------------ */

/* A new last element, all zero, borrowed until the next one of its kind. The
 * author fills it in, with its own references; lists inside it may already have
 * memory and are pushed to as usual.
 *
 * After commit_clear, reads and operations must be added by these functions: a
 * push of a whole element would leak the memory of the one that it replaces. */
struct commit_read *commit_add_read(struct commit *commit);
struct commit_op *commit_add_op(struct commit *commit);
struct commit_precondition *commit_add_precondition(struct commit *commit);

/* Empties it and keeps all memory, including the layers of each read and the
 * patch of each operation: a commit of the same shape is then built without an
 * allocation. */
void commit_clear(struct commit *commit);

/* Whether it is a batch of observations and nothing else. */
static inline bool commit_is_batch(const struct commit *commit)
{
    return commit->batch.count > 0;
}

/* -- As a value ---------------------------------------------------------- */

/* From a value. On an error *out is empty and `detail` names the field. */
MUST_CHECK enum err commit_read(struct value value,
                                struct path_table *paths,
                                struct commit *out,
                                struct err_detail *detail);

/* The same as a value (commit-2), and its JSON text. */
struct value commit_write(const struct commit *commit);
void commit_append(struct buf *out, const struct commit *commit);

/* Whether every number in it can be written: at most INT64_MAX. Always true
 * after commit_read, and a precondition of commit_write. */
bool commit_numbers_fit(const struct commit *commit);

/* The parts that no row repeats: reads, preconditions and the source of a
 * merge; absent if there are none. */
struct value commit_write_context(const struct commit *commit);

/* What commit_read checks of a whole commit beyond its form: something to do,
 * valid ids, documents that are objects, limits. For authors inside the
 * process. */
MUST_CHECK enum err commit_check(const struct commit *commit,
                                 struct err_detail *detail);

#endif
