/* Drafts: what one transaction writes to one entity.
 *
 * A draft consists of the state before the first write, the state with all
 * writes, and the writes themselves. From these it derives the operation for
 * the store:
 *
 *   draft-1  A document that is deleted, or whose root was written, is set or
 *            deleted as a whole.
 *   draft-2  Otherwise the operation is a patch. A path that was put or deleted
 *            is sent with its final value, whatever else was written below it.
 *            If a position of an array below was written before that, the
 *            commit claims to have read what was there: on a shorter array that
 *            write would have failed, and with it the transaction.
 *   draft-3  Other writes that touch the same path, above or below, are sent as
 *            they were made, in order: they are replayed on whatever is there
 *            when they land.
 *   draft-4  What fits neither is sent as the difference between before and
 *            after; so is a long array that replaces a very similar one. The
 *            commit then claims to have read what was there, because a
 *            difference is right for that base only. Arrays are never merged by
 *            position. */

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
    claims; /* after draft_operation: what must be unchanged for the operation
               to be right */

    /* Indexes over the first `indexed` writes, for drafts with many writes
     * (draft_covers, draft_moved). */
    size_t indexed;
    struct path_set covering; /* paths that were put or deleted */
    VEC(struct path *)
    moving;             /* arrays whose elements moved, each once; borrowed from
                           the writes */
    uint64_t looked_at; /* writes visited by these queries */
};

/* The draft of the transaction for that entity; NULL if it wrote nothing
 * there. */
struct draft *draft_find(const struct transaction *transaction,
                         const struct entity *entity);

/* The same, created if there is none. */
struct draft *draft_of(struct transaction *transaction, struct entity *entity);

/* Only while no operation was derived from it. */
void draft_drop_claims(struct draft *draft);

/* Makes it a spare one. */
void draft_clear(struct draft *draft);
void draft_free(struct draft *draft);

/* Applies a write to `work` and records it. Adopts `value`. */
MUST_CHECK enum err draft_write_adopt(struct draft *draft,
                                      enum write_kind kind,
                                      struct place *place,
                                      struct value value,
                                      struct err_detail *detail);

/* The entity as it would be after one more write, new, or why that is
 * impossible; writes nothing. For callers that validate a write first. */
MUST_CHECK enum err draft_preview(struct transaction *transaction,
                                  enum write_kind kind,
                                  struct place *place,
                                  struct value value,
                                  struct entity_state *out,
                                  struct err_detail *detail);

/* Replays the writes on the entity's present state (transaction-2). */
MUST_CHECK enum err draft_rebase(struct draft *draft,
                                 struct err_detail *detail);

/* Whether a read at `path` would see nothing but this draft's own writes. */
bool draft_covers(struct draft *draft, const struct path *path);

/* The array above `path` in which a write has moved elements, borrowed, or
 * NULL: what is at `path` now was elsewhere in it before. */
struct path *draft_moved(struct draft *draft, const struct path *path);

/* Marks the writes that change something, and returns whether there is one. */
bool draft_finish(struct draft *draft);

/* For a draft that changes nothing: claims to have read that its values were
 * there already (transaction-3). */
void draft_claim(struct draft *draft);

/* The patch operation that corresponds to a write, if there is one. */
enum patch_kind draft_patch_kind(enum write_kind kind);

/* Fills in `op`, which is clear (commit_add_op). */
void draft_operation(struct draft *draft, struct commit_op *op);

#endif
