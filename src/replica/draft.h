/* Drafts: what one transaction writes to one entity.
 *
 * A draft is the state before the first write, the state with all writes, and
 * the writes themselves. From these it makes the operation that goes to the
 * store:
 *
 *   W1  A document that is new, that goes away, or whose root was written is
 *       set or deleted as a whole; but for a new one to which all writes
 *       merge: somebody else may be creating it, too.
 *   W2  Otherwise it is a patch with one step a written path that differs;
 *       a path below another written one has no step of its own.
 *   W3  Arrays are compared: elements are replaced by index, and where the
 *       length differs there is a splice. No step ever adds or removes by
 *       array index, because that would move elements that nobody touched.
 *   W4  A step that merges (append, ...) is sent as such, unless another
 *       write of the transaction touches the same path, above or below; then
 *       the comparison speaks for all of them. */

#ifndef REPLICA_DRAFT_H
#define REPLICA_DRAFT_H

#include "proto/commit.h"
#include "replica/transaction.h"

struct draft {
    struct transaction *transaction;
    struct draft *beneath; /* of the same entity, by another transaction */
    struct entity *entity; /* NULL: spare */
    struct entity_state base;
    struct entity_state work;
    uint64_t version; /* of the entity at `base` */
    bool effective;   /* after draft_finish: something has changed */
    VEC(struct write_entry) writes;
};

/* The draft of the transaction for that entity; NULL if it wrote nothing
 * there. */
struct draft *draft_find(const struct transaction *transaction,
                         const struct entity *entity);

/* The same, new if there is none. */
struct draft *draft_of(struct transaction *transaction, struct entity *entity);

/* Back to a spare one. */
void draft_clear(struct draft *draft);
void draft_free(struct draft *draft);

/* Applies a write to `work` and notes it. Adopts `value`. */
MUST_CHECK enum err draft_write_adopt(struct draft *draft,
                                      enum write_kind kind,
                                      struct place *place,
                                      struct value value,
                                      struct err_detail *detail);

/* What the entity would be after one more write, new, or why it cannot be
 * written; nothing is. For who judges a write before it is one. */
MUST_CHECK enum err draft_preview(struct transaction *transaction,
                                  enum write_kind kind,
                                  struct place *place,
                                  struct value value,
                                  struct entity_state *out,
                                  struct err_detail *detail);

/* The same writes on top of the entity's state of now (T2). */
MUST_CHECK enum err draft_rebase(struct draft *draft,
                                 struct err_detail *detail);

/* Whether a read at `path` would see nothing but this draft's own writes. */
bool draft_covers(const struct draft *draft, const struct path *path);

/* The array above `path` in which a write has moved elements, borrowed, or
 * NULL: what is at `path` now was elsewhere in it before. */
struct path *draft_moved(const struct draft *draft, const struct path *path);

/* Marks the writes behind which there is a change, and tells if any is. */
bool draft_finish(struct draft *draft);

/* The patch operation that a write is, if it is one of its own. */
enum patch_kind draft_patch_kind(enum write_kind kind);

/* The operation, into `op`, which is clear (commit_add_op). */
void draft_operation(const struct draft *draft, struct commit_op *op);

#endif
