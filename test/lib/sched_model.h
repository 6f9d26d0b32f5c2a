/* Random programs for nodes, and what they mean.
 *
 * A program says what a node reads and what it writes, as data: so the same
 * program can be run by the scheduler, through transactions, and by the model,
 * on plain documents. The model has no index, no order and no state: it
 * computes what a node would do now, and to bring everything up to date it
 * does so for all nodes until nothing changes.
 *
 * Documents and paths are numbers into two tables:
 *
 *   inputs     written by nobody but the test
 *   shared     one object, a field for each of several writers
 *   envelopes  objects into which a materializer writes some key
 *   outputs    two a node
 *
 * What a program reads: a value or a shape, at any path of any document; one
 * of two places, by what is at a third (a condition); the document whose
 * number another one holds (a link). */

#ifndef TEST_LIB_SCHED_MODEL_H
#define TEST_LIB_SCHED_MODEL_H

#include "base/random.h"
#include "base/vec.h"
#include "value/difference.h"
#include "value/path.h"

enum {
    MODEL_SLOTS = 64, /* nodes at a time */
    MODEL_LOW = 8,    /* slots up to here write to shared documents, the
                         others may read them */
    MODEL_INPUTS = 8,
    MODEL_SHARED = 2,
    MODEL_ENVELOPES = 2,
    MODEL_FIRST_SHARED = MODEL_INPUTS,
    MODEL_FIRST_ENVELOPE = MODEL_FIRST_SHARED + MODEL_SHARED,
    MODEL_FIRST_OUTPUT = MODEL_FIRST_ENVELOPE + MODEL_ENVELOPES,
    MODEL_DOCUMENTS = MODEL_FIRST_OUTPUT + 2 * MODEL_SLOTS,
    MODEL_STEPS_MAX = 4,
    MODEL_NEVER_FAILS = 7,
    MODEL_CHILDREN_MAX = 3,
};

/* The paths that there are. */
enum model_path {
    PATH_ROOT,
    PATH_PAYLOAD,
    PATH_N, /* /value/n, and so on */
    PATH_P,
    PATH_P_X,
    PATH_L,
    PATH_L_1,
    PATH_META, /* beside the payload */
    PATH_FIELD_0,
    PATH_FIELD_1,
    PATH_FIELD_2,
    PATH_FIELD_3,
    MODEL_PATHS,
};

extern const char *const model_paths[MODEL_PATHS];

struct model_place {
    uint16_t document;
    uint8_t path; /* enum model_path */
    uint8_t kind; /* enum read_kind */
};

/* -- Programs ------------------------------------------------------------ */

enum model_op {
    OP_READ,
    OP_SELECT, /* places[0] decides between places[1] and places[2] */
    OP_FOLLOW, /* places[0] holds the number of what is read then */
};

struct model_step {
    enum model_op op;
    struct model_place places[3];
};

enum model_body {
    BODY_NUMBER, /* a small number into its first document */
    BODY_NESTED, /* an object with objects and arrays in it */
    BODY_FIELD,  /* a number into a field of a shared document */
    BODY_TWO,    /* numbers into two documents */
    BODY_CYCLE,  /* a number that grows less than what was read */
    BODY_PARENT, /* has children, as many as it has read */
    BODY_MATERIALIZER,
    BODY_EFFECT,
};

struct model_program {
    enum model_body body;
    struct model_step steps[MODEL_STEPS_MAX];
    size_t count;
    uint16_t slot;
    uint16_t below;      /* reads what slots below this one write */
    uint8_t modulus;     /* of what is written: equal results are common */
    uint8_t field;       /* of BODY_FIELD: the place in a shared document */
    uint8_t fails_at;    /* fails if what was read is this modulo
                            MODEL_NEVER_FAILS */
    bool samples;        /* BODY_PARENT: reads what its children write */
    uint16_t first_slot; /* BODY_PARENT: of its children */
};

/* What it writes, for the registration: outputs or, of a materializer, its
 * envelope. */
size_t model_surface(const struct model_program *program,
                     struct model_place out[2]);

/* -- Doing what a program says ------------------------------------------- */

/* Who reads: a transaction, or the model. False: cannot be read now. */
struct model_eyes {
    void *ctx;
    bool (*read)(void *ctx, const struct model_place *place, struct value *out);
    /* BODY_PARENT: has that many children from now on. */
    void (*have_children)(void *ctx, size_t count);
};

struct model_write {
    struct model_place place;
    struct value value; /* a reference */
};

struct model_outcome {
    bool stopped; /* a read could not be done */
    bool failed;
    size_t children;
    struct model_write writes[2];
    size_t count;
};

void model_run(const struct model_program *program,
               const struct model_eyes *eyes,
               struct model_outcome *out);
void model_outcome_release(struct model_outcome *outcome);

/* -- Plain documents ----------------------------------------------------- */

struct model_documents {
    struct path_table *paths; /* borrowed */
    struct path *at[MODEL_PATHS];
    struct value documents[MODEL_DOCUMENTS]; /* whole; absent: none */
};

void model_documents_init(struct model_documents *documents,
                          struct path_table *paths);
void model_documents_release(struct model_documents *documents);

/* What is at a place, borrowed. */
struct value model_look(const struct model_documents *documents,
                        const struct model_place *place);

/* Whether the write changes anything; it is done if `apply`. */
bool model_put(struct model_documents *documents,
               const struct model_write *write,
               bool apply);

/* What a program would do with the documents as they are. */
void model_evaluate(const struct model_documents *documents,
                    const struct model_program *program,
                    struct model_outcome *out);

/* Whether a read sees what a write at `to` can change (graph-2 of
 * sched/graph.h). */
bool model_overlaps(const struct model_documents *documents,
                    const struct model_place *read,
                    const struct model_place *to);

/* -- Random ones --------------------------------------------------------- */

/* A payload for an input. */
struct value model_random_payload(struct random *random);

/* A program for a slot that reads inputs and what lower slots write. */
void model_random_program(struct random *random,
                          uint16_t slot,
                          enum model_body body,
                          struct model_program *out);

#endif
