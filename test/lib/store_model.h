/* A naive model of the store: a list of the commits that landed, and nothing
 * else. Every question is answered by replaying the list from its beginning;
 * there is no index, no snapshot and no cache.
 *
 * Whether a commit may land is decided from values, not from what operations
 * say they touch: the documents before and after each commit are compared as
 * the reader saw them (value/difference.h). A store may be stricter than that
 * where the model says so, and never laxer:
 *
 *   store-model-1  A read is stale if a commit that its author did not have in
 *                  view changed what is seen at its path, or if what was in
 *                  view is not what is there now. In view is the state at the
 *                  read's seq, with the named layers on top of it in the order
 *                  of their numbers.
 *   store-model-2  A read may be refused only if such a commit wrote the
 *                  document whole, or has an operation that is not apart from
 *                  the read's path: on the same way down, or in an array or a
 *                  container that it made itself. Or if the layers did not land
 *                  in order, or one of them may have carried something from one
 *                  place to another.
 *   store-model-3  What compaction folded is forgotten in parts: a read from
 *                  before the horizon may be refused if anything was written to
 *                  the document since then, up to the horizon.
 *   store-model-4  A document whose id is that of its content is written by the
 *                  first who sets it on a branch; to set it again there does
 *                  nothing.
 *   store-model-5  A view is stale if what landed above its seq is not as many
 *                  commits as it says, all of its author. It may be refused if
 *                  anything landed above its seq.
 *
 * The horizon is only a number here: the list keeps everything. */

#ifndef TEST_LIB_STORE_MODEL_H
#define TEST_LIB_STORE_MODEL_H

#include "proto/commit.h"
#include "proto/verdict.h"

/* A document: the parts of the identity that its scope does not need are
 * absent. All borrowed. */
struct model_name {
    struct value id;
    enum scope scope;
    struct value principal;
    struct value session;
};

/* Borrowed: whoever made the commits keeps them. */
struct model_entry {
    const struct commit *commit;
    struct value principal; /* absent: nobody */
    size_t branch;
};

struct model_branch {
    struct value name; /* borrowed */
    size_t parent;     /* of the main one: itself */
    uint64_t fork_seq;
    bool active;
};

struct store_model {
    uint64_t before;  /* the seq before the first entry */
    uint64_t horizon; /* what is before it cannot be read */
    VEC(struct model_entry) log;
    VEC(struct model_branch) branches;
};

/* With the main branch, whose name is "". */
void store_model_init(struct store_model *model, uint64_t before);
void store_model_release(struct store_model *model);

/* -- Asking -------------------------------------------------------------- */

enum {
    MODEL_NO_BRANCH = -1
};

/* The index of a branch, or MODEL_NO_BRANCH. */
int store_model_branch(const struct store_model *model, struct value name);

/* The last seq of all, and the last one of a branch. */
uint64_t store_model_seq(const struct store_model *model);
uint64_t store_model_head(const struct store_model *model, size_t branch);

/* The first seq at which a branch can be read. */
uint64_t store_model_first(const struct store_model *model, size_t branch);

/* False if the scope needs somebody who is not there. */
bool model_name_of(const struct target *target,
                   struct value principal,
                   struct value session,
                   struct model_name *out);

/* The document at a seq, new; absent if there is none. */
struct value store_model_read(const struct store_model *model,
                              size_t branch,
                              const struct model_name *name,
                              uint64_t seq);

/* Whether any commit that the branch sees wrote it; and whether this branch
 * itself has it and it is alive. */
bool store_model_ever_existed(const struct store_model *model,
                              size_t branch,
                              const struct model_name *name);
bool store_model_is_listed(const struct store_model *model,
                           size_t branch,
                           const struct model_name *name);

/* Whether the commit at `seq` wrote the document, as seen from the branch. */
bool store_model_wrote(const struct store_model *model,
                       size_t branch,
                       const struct model_name *name,
                       uint64_t seq);

/* -- Committing ---------------------------------------------------------- */

struct model_answer {
    enum err err;      /* OK: it lands, or did */
    bool may_conflict; /* CONFLICT is right as well (store-model-2) */
    bool replayed;
    uint64_t seq;
    VEC(struct resolved_layer) resolved; /* ascending */
    VEC(uint32_t)
    elided; /* lands: operations that do nothing
               (store-model-4) */
};

/* What must become of the commit now. Release with model_answer_release. */
void store_model_ask(const struct store_model *model,
                     const struct commit *commit,
                     struct value principal,
                     struct model_answer *answer);

void model_answer_release(struct model_answer *answer);

/* It landed. */
void store_model_land(struct store_model *model,
                      const struct commit *commit,
                      struct value principal);

enum err store_model_fork(struct store_model *model,
                          struct value name,
                          struct value parent,
                          uint64_t fork_seq);
enum err store_model_close(struct store_model *model, struct value name);

/* Moves the horizon; not back, and not beyond a fork. */
void store_model_compact(struct store_model *model, uint64_t keep_from);

/* -- Merging ------------------------------------------------------------- */

/* What both branches see of a document, new: replayed from the commits that
 * are in view of both. */
struct value store_model_common(const struct store_model *model,
                                size_t one,
                                size_t other,
                                const struct model_name *name);

/* A document of the target with what the source did to it since they parted,
 * new. Where both did something, and not the same, there is a conflict: an
 * object {"id","path"} more in the array *conflicts. */
struct value store_model_merge(const struct store_model *model,
                               size_t source,
                               size_t target,
                               const struct model_name *name,
                               struct value *conflicts);

#endif
