/* Drafts: what one transaction writes to one entity.
 *
 * A draft is the state before the first write, the state with all writes, and
 * the writes themselves. From these it makes the operation that goes to the
 * store:
 *
 *   W1  A document that goes away, or whose root was written, is set or deleted
 *       as a whole.
 *   W2  Otherwise it is a patch. A path that was put or deleted is sent as
 *       the value that is there in the end, whatever else was written below.
 *       If a position of an array below was written before that, the commit
 *       claims to have read what was there: on a shorter array that write
 *       would have failed, and the transaction with it.
 *   W3  Other writes that touch the same path, above or below, are sent as
 *       they were made, in their order: they are replayed on whatever is there
 *       when they land.
 *   W4  What can be neither is sent as the difference between before and
 *       after, and so is a long array that is put in the place of one that is
 *       much like it. The commit then claims to have read what was there: a
 *       difference is right for nothing else. No array is ever merged with
 *       another one by position. */

#ifndef REPLICA_DRAFT_H
#define REPLICA_DRAFT_H

#include "proto/commit.h"
#include "replica/transaction.h"
#include "value/path_set.h"

struct draft {
    struct transaction *transaction;
    struct draft *beneath; /* of the same entity, by another transaction */
    struct entity *entity; /* NULL: spare */
    struct entity_state base;
    struct entity_state work;
    uint64_t version; /* of the entity at `base` */
    bool effective;   /* after draft_finish: something has changed */
    VEC(struct write_entry) writes;
    VEC(struct path *)
    claims; /* after draft_operation: what has to be as it
               was for the operation to be right */

    /* Of the first `indexed` writes, for the questions that reads ask of
     * drafts with many (draft_covers, draft_moved). */
    size_t indexed;
    struct path_set covering; /* paths that were put or deleted */
    VEC(struct path *)
    moving;             /* arrays in which elements moved, each
                                 once; borrowed from the writes */
    uint64_t looked_at; /* writes, by those questions */
};

/* The draft of the transaction for that entity; NULL if it wrote nothing
 * there. */
struct draft *draft_find(const struct transaction *transaction,
                         const struct entity *entity);

/* The same, new if there is none. */
struct draft *draft_of(struct transaction *transaction, struct entity *entity);

/* No operation was made of it yet. */
void draft_drop_claims(struct draft *draft);

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
bool draft_covers(struct draft *draft, const struct path *path);

/* The array above `path` in which a write has moved elements, borrowed, or
 * NULL: what is at `path` now was elsewhere in it before. */
struct path *draft_moved(struct draft *draft, const struct path *path);

/* Marks the writes behind which there is a change, and tells if any is. */
bool draft_finish(struct draft *draft);

/* Of a draft that changes nothing: that what was there is what it would have
 * written is what it has read (T3). */
void draft_claim(struct draft *draft);

/* The patch operation that a write is, if it is one of its own. */
enum patch_kind draft_patch_kind(enum write_kind kind);

/* The operation, into `op`, which is clear (commit_add_op). */
void draft_operation(struct draft *draft, struct commit_op *op);

#endif
