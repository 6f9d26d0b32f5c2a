/* The reach of selectors, computed from scratch: what host/reach.h and the hub
 * are compared with. Written without regard to cost, and without their code. */

#ifndef TEST_LIB_REACH_MODEL_H
#define TEST_LIB_REACH_MODEL_H

#include "base/vec.h"
#include "proto/target.h"

/* A place that was visited: [id, scope, path, schema], and at which level. */
struct reach_visit {
    struct value place;
    uint64_t level;
};

struct reach_model {
    /* The document, borrowed, or absent. */
    struct value (*document)(void *ctx, const struct target *target);
    void *ctx;
    uint64_t depth; /* of the selector being walked */
    VEC(struct reach_visit) visits;
    VEC(struct target) reached; /* each once; by all selectors so far */
};

/* `path` is an array of keys in the document, with "value". */
void reach_model_add(struct reach_model *model,
                     const struct target *root,
                     struct value path,
                     struct value schema,
                     uint64_t depth);

bool reach_model_has(const struct reach_model *model,
                     const struct target *target);

/* Forgets what was reached. */
void reach_model_clear(struct reach_model *model);
void reach_model_release(struct reach_model *model);

#endif
