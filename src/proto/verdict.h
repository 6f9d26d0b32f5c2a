/* The store's answer to a commit.
 *
 * Landed: at which sequence number, and those of the author's own earlier
 * commits that it had read from. Not landed: why, by class (base/err.h), with
 * what a person or a retry needs to know. A commit that did not land left no
 * trace.
 *
 *   landed    {"seq":12,"resolvedPendingReads":[{"localSeq":5,"seq":11}],
 *              "elidedOpIndexes":[0],"replayed":true,
 *              "droppedObservations":[[3,"stale"]]}
 *   refused   {"error":{"name":"CONFLICT","class":"retry","message":"stale
 *              confirmed read: of:a at seq 3 conflicted with seq 9",
 *              "id":"of:a","path":"/value/n","readSeq":3,"conflictSeq":9,
 *              "by":"s2","retryAfterSeq":11}} */

#ifndef PROTO_VERDICT_H
#define PROTO_VERDICT_H

#include "base/err.h"
#include "base/vec.h"
#include "proto/observation.h"
#include "value/value.h"

struct resolved_layer {
    uint64_t local_seq;
    uint64_t seq;
};

/* An observation that was not kept; its author's commit has landed. */
struct dropped_observation {
    uint32_t index; /* in its batch; 0 if it came with a commit */
    enum observation_outcome outcome;
};

struct verdict {
    enum err err;  /* OK: landed */
    bool replayed; /* landed before; this is the same answer again */
    uint64_t seq;  /* landed; of a batch: the head */
    VEC(struct resolved_layer) resolved; /* landed; ascending */
    VEC(uint32_t)
    elided; /* landed; operations that changed nothing: a
               content-addressed document that already existed */
    VEC(struct dropped_observation)
    dropped; /* landed; ascending. Not repeated
                in a replay */

    /* Refused. */
    struct err_detail detail;
    struct value id;       /* the document in question, or absent */
    uint64_t read_seq;     /* conflict: the state that was read, */
    struct value path;     /* where, a JSON Pointer; absent: irrelevant */
    uint64_t conflict_seq; /* the commit that overwrote it, */
    struct value by;       /* the session of that commit; or absent */
    uint64_t head_seq;     /* and the head at the refusal */
};

void verdict_release(struct verdict *verdict);

/* As a value, in the form above. */
struct value verdict_write(const struct verdict *verdict);

/* The reverse. PROTOCOL, with the field's name, for any other shape. */
MUST_CHECK enum err verdict_read(struct value value,
                                 struct verdict *out,
                                 struct err_detail *detail);

#endif
