/* What a replica tells a store about one run, and what a store tells a replica
 * about earlier runs.
 *
 * An *observation* says of an action (a computation, an effect, a handler of
 * one piece) that it ran, what it read, what it can write, and how it ended.
 * The store keeps the last one of each action, so that a process that resumes
 * the piece need not run everything (store/observations.h).
 *
 *   {"piece":"of:p","generation":3,"action":"<digest>","kind":"computation",
 *    "implementation":"<digest>","runtime":"<digest>","schema":"<digest>",
 *    "surface":"<digest>","readSet":"<digest>",
 *    "reads":[{"id":"of:a","path":["value","n"]},
 *             {"id":"of:b","path":["value"],"nonRecursive":true},
 *             {"space":"other","id":"of:c","path":["value"]}],
 *    "writes":[{"id":"of:out","path":["value"]},
 *              {"id":"of:list","path":["value"],"envelope":true}],
 *    "elsewhere":[{"space":"other","seq":41}],
 *    "error":"<digest>","debounceMs":50,"throttleMs":100,"noAutoDebounce":true,
 *    "scope":"user","basis":{"seq":12,"localSeq":[5,6]}}
 *
 * An action is identified by the owner space (the store's own), the branch
 * (that of the commit), piece, generation, action, and the scope, from which
 * the store makes a key with the author's identity. Everything else is about
 * its last run.
 *
 *   observation-1  The places are sorted (observation_seal) and unique;
 *                  `read_set` and `surface` are the digests of the two lists.
 *                  If the store already has both lists, an observation leaves
 *                  them out and carries only the digests ("the same as
 *                  before").
 *   observation-2  `scope` is the narrowest scope of its places: a run on a
 *                  user's own documents belongs to that user, and is clean for
 *                  that user only.
 *   observation-3  Every other space that was read has a watermark in
 *                  `elsewhere`: the last seq of that space that the runtime had
 *                  integrated when it read. The owner space has none: admission
 *                  decides about it (see `basis`).
 *   observation-4  observation_read trusts nothing, and refuses unknown fields.
 *                  observation_write(observation_read(x)) is canonical.
 *   observation-5  After observation_seal an observation never changes, and is
 *                  shared by reference. So its digests are right (`sealed`),
 *                  and checks inside the process do not compute them again.
 *
 * Not here: values, seqs of single reads, deadlines, history. */

#ifndef PROTO_OBSERVATION_H
#define PROTO_OBSERVATION_H

#include "base/vec.h"
#include "proto/target.h"
#include "value/address.h"
#include "value/difference.h"
#include "value/id.h"

enum action_kind {
    ACTION_COMPUTATION,
    ACTION_EFFECT,
    ACTION_HANDLER,
};

/* Reads first: a place is one iff its kind is at most PLACE_SHAPE. */
enum place_kind {
    PLACE_DEEP,     /* read, with everything below */
    PLACE_SHAPE,    /* read: keys, length, kind */
    PLACE_OUTPUT,   /* written, or known to be: an edge in the graph */
    PLACE_ENVELOPE, /* a materializer may write somewhere below it */
};

static inline bool place_is_read(enum place_kind kind)
{
    return kind <= PLACE_SHAPE;
}

/* A place that was read or can be written. */
struct observed_place {
    struct value space; /* string; absent: the owner space */
    struct target target;
    struct path *path;
    enum place_kind kind;
};

/* The watermark of another space that was read (observation-3). */
struct observed_space {
    struct value space;  /* string, not empty */
    struct value branch; /* string; "" is the main one */
    uint64_t seq;
};

/* What must match for an observation to be usable: an action with any
 * difference is unknown, never clean. */
struct fingerprints {
    struct digest implementation; /* the code */
    struct digest runtime;        /* the interpreter of the code */
    struct digest schema;         /* how its inputs are read */
    struct digest surface; /* of the places that it writes (observation-1) */
};

/* How an action is delayed. Configuration; a deadline does not survive. */
struct gate_config {
    uint64_t debounce_ms; /* 0: none */
    uint64_t throttle_ms; /* 0: none */
    bool no_auto_debounce;
};

/* The state that was read. */
struct observed_basis {
    bool given;
    uint64_t seq;             /* of the owner space, integrated whole */
    struct layer_list layers; /* the author's own commits without a verdict that
                                 were visible, ascending */
};

struct observation {
    uint32_t refs;

    struct value piece; /* string, not empty */
    uint64_t generation;
    struct digest action;
    enum action_kind kind;
    enum scope scope; /* observation-2 */

    struct fingerprints fingerprints;
    struct gate_config gates;
    bool failed;
    struct digest error; /* failed: of the error, for comparison */

    struct digest read_set;            /* observation-1 */
    bool has_places;                   /* false: the same as before */
    bool sealed;                       /* observation_seal made the digests */
    VEC(struct observed_place) places; /* observation-1; reads and writes */
    VEC(struct observed_space)
    elsewhere; /* observation-3; by space, none
                  twice */

    /* In a batch: what the store checks before it takes the observation (see
     * struct commit). With a commit: not given if the reads of the commit
     * include all reads of the owner space, so that its admission proves them
     * and its seq is the watermark. Otherwise the basis is given, and its seq
     * is the watermark. */
    struct observed_basis basis;
};

const char *action_kind_name(enum action_kind kind);

/* -- Creation ------------------------------------------------------------ */

/* Empty, with one reference. */
struct observation *observation_new(void);
struct observation *observation_ref(struct observation *observation);
void observation_unref(struct observation *observation); /* NULL is harmless */

/* Adds a place; takes its own references. `space` is absent for the owner
 * space. In any order; duplicates are allowed. */
void observation_add_place(struct observation *observation,
                           struct value space,
                           const struct target *target,
                           struct path *path,
                           enum place_kind kind);

/* Adds a space that was read, or raises its seq; as above. */
void observation_add_space(struct observation *observation,
                           struct value space,
                           struct value branch,
                           uint64_t seq);

/* Sorts, drops duplicates, and sets `read_set`, `surface`, `scope` and
 * has_places (observation-1, observation-2). From here on it is shared
 * (observation-5). */
void observation_seal(struct observation *observation);

/* Empties it and keeps its memory, for the holder of the only reference: the
 * next observation of that shape is made without an allocation. */
void observation_clear(struct observation *observation);

/* observation-1 to observation-3, names and limits, as observation_read checks
 * them. `in_batch`: the basis must be present. PROTOCOL, LIMIT_ID,
 * LIMIT_COMMIT; for authors inside the process. */
MUST_CHECK enum err observation_check(const struct observation *observation,
                                      bool in_batch,
                                      struct err_detail *detail);

/* The digest of the reads, or of the writes, among sorted places. */
struct digest observed_digest(const struct observed_place *places,
                              size_t count,
                              bool reads);

/* By space, id, scope, path, kind: the order of observation-1. */
int observed_place_compare(const struct observed_place *a,
                           const struct observed_place *b);

/* -- As a value ---------------------------------------------------------- */

/* New, or NULL with the error: PROTOCOL or a limit, with the field's name. */
MUST_CHECK enum err observation_read(struct value value,
                                     struct path_table *paths,
                                     struct observation **out,
                                     struct err_detail *detail);
struct value observation_write(const struct observation *observation);
void observation_append(struct buf *out, const struct observation *observation);

/* Whether every number in it can be written: at most INT64_MAX. */
bool observation_numbers_fit(const struct observation *observation);

/* -- The outcome of an observation --------------------------------------- */

/* Kept, or dropped with a reason. A drop is no error: the author's commit, if
 * there was one, has landed nevertheless, and the store knows as much about the
 * action as before, or less. */
enum observation_outcome {
    OBSERVATION_KEPT,
    OBSERVATION_STALE,         /* something it read has changed since */
    OBSERVATION_LAYER_MISSING, /* a commit that it had in view did not land */
    OBSERVATION_SET_UNKNOWN,   /* "the same as before", but the store does not
                                  have that: send the places */
    OBSERVATION_SUPERSEDED,    /* of an earlier generation */
};

const char *observation_outcome_name(enum observation_outcome outcome);

/* From a name; false for anything else. */
bool observation_outcome_read(struct value name, enum observation_outcome *out);

#endif
