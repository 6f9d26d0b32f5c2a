/* From the log of a transaction to the reads and preconditions of a commit.
 *
 * The store must know what the commit depends on, and no more. A read below
 * another deep one adds nothing, and content-addressed or inline documents
 * cannot change. A document with pending layers was read through all of them,
 * so all of them are named, with the confirmed seq below. */

#include "replica/commit_reads.h"

#include <stdlib.h>

#include "base/mem.h"
#include "replica/draft.h"
#include "replica/overlay.h"
#include "value/compare.h"

/* -- Reads that matter --------------------------------------------------- */

static bool is_for_commit(const struct space *space,
                          const struct read_entry *read)
{
    const struct entity *entity = read->place->entity;
    return entity->space == space && !entity->pinned && !read->own &&
           (read->flags & READ_NOT_FOR_COMMIT) == 0;
}

/* Whether `by` makes `read` redundant; of two equal reads, the first stays. */
static bool absorbs(const struct read_entry *by, const struct read_entry *read)
{
    if (by->place->entity != read->place->entity) {
        return false;
    }
    if (by->place == read->place) {
        return by->kind == read->kind ? by < read : by->kind == READ_DEEP;
    }
    return by->kind == READ_DEEP &&
           path_is_prefix(by->place->path, read->place->path);
}

static void add_read(struct commit *commit,
                     const struct entity *entity,
                     struct path *path,
                     enum read_kind kind)
{
    struct commit_read *read = commit_add_read(commit);
    read->kind = kind;
    read->target.id = value_ref(entity->id);
    read->target.scope = entity->scope;
    read->path = path_ref(path);
    /* A unloaded document has not changed since it was known (entity-4). */
    read->seq = UNLIKELY(entity->unloaded) ? entity->known : entity->seq;
    if (entity->overlay != NULL) {
        read->pending = true;
        VEC_FOREACH (&entity->overlay->layers, layer) {
            vec_push(&read->layers.at, layer->local_seq);
        }
    }
}

/* Few reads: each is compared with all, in the order in which they were
 * made. */
enum {
    FEW_READS = 16
};

static void add_few(struct commit *commit,
                    const struct space *space,
                    const struct transaction *transaction)
{
    VEC_FOREACH (&transaction->reads, read) {
        bool needed = is_for_commit(space, read);
        VEC_FOREACH (&transaction->reads, by) {
            needed = needed && (by == read || !is_for_commit(space, by) ||
                                !absorbs(by, read));
        }
        if (needed) {
            add_read(commit,
                     read->place->entity,
                     read->place->path,
                     read->kind);
        }
    }
}

/* By document and path, so that a read comes after the one that absorbs it. */
static int compare_reads(const void *a, const void *b)
{
    const struct read_entry *left = *(const struct read_entry *const *)a;
    const struct read_entry *right = *(const struct read_entry *const *)b;
    const struct entity *x = left->place->entity;
    const struct entity *y = right->place->entity;
    if (x != y) {
        const int order = value_compare_strings(x->id, y->id);
        return order != 0 ? order : (int)x->scope - (int)y->scope;
    }
    const int order = path_compare(left->place->path, right->place->path);
    if (order != 0) {
        return order;
    }
    return left->kind != right->kind ? (int)left->kind - (int)right->kind
                                     : (left > right) - (left < right);
}

static void add_many(struct commit *commit,
                     const struct space *space,
                     const struct transaction *transaction)
{
    const size_t room = transaction->reads.count + transaction->inputs.count;
    const struct read_entry **sorted =
        mem_alloc(mem_array_size(room, sizeof *sorted));
    size_t count = 0;
    VEC_FOREACH (&transaction->reads, read) {
        if (is_for_commit(space, read)) {
            sorted[count++] = read;
        }
    }
    VEC_FOREACH (&transaction->inputs, input) {
        if (is_for_commit(space, input)) {
            sorted[count++] = input;
        }
    }
    qsort(sorted, count, sizeof *sorted, compare_reads);
    /* The last deep read that was kept absorbs what is below it. Only shape
     * reads of the same place can come between the two. */
    const struct read_entry *deep = NULL;
    const struct read_entry *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct read_entry *read = sorted[i];
        if ((deep != NULL && absorbs(deep, read)) ||
            (last != NULL && absorbs(last, read))) {
            continue;
        }
        add_read(commit, read->place->entity, read->place->path, read->kind);
        last = read;
        deep = read->kind == READ_DEEP ? read : deep;
    }
    mem_free(sorted, mem_array_size(room, sizeof *sorted));
}

/* -- Reads that were excluded -------------------------------------------- */

static bool was_ignored(const struct transaction *transaction,
                        const struct entity *entity)
{
    VEC_FOREACH (&transaction->reads, read) {
        if (read->place->entity == entity &&
            (read->flags & READ_NOT_FOR_COMMIT) != 0) {
            return true;
        }
    }
    return false;
}

/* A write that depends on reads which the store is not told of still depends on
 * its container: the parent must have the same keys. */
static void add_parents(struct commit *commit,
                        const struct space *space,
                        const struct transaction *transaction)
{
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        const struct draft *draft = transaction->drafts.at[i];
        if (!draft->effective || draft->entity->space != space ||
            !was_ignored(transaction, draft->entity)) {
            continue;
        }
        VEC_FOREACH (&draft->writes, write) {
            if (write->kind <= WRITE_DELETE && write->step->length > 0) {
                struct path *parent =
                    path_prefix(write->step, write->step->length - 1);
                add_read(commit, draft->entity, parent, READ_SHAPE);
                path_unref(parent);
            }
        }
    }
}

/* The reads of the document that the commit has anyway. */
static void collect_reads(const struct space *space,
                          const struct transaction *transaction,
                          const struct entity *entity,
                          struct path_set *out)
{
    VEC_FOREACH (&transaction->reads, read) {
        if (read->place->entity == entity && read->kind == READ_DEEP &&
            is_for_commit(space, read)) {
            path_set_add(out, read->place->path);
        }
    }
}

/* What must be unchanged for the operations to be right (draft-4 of
 * replica/draft.h). */
static void add_claims(struct commit *commit,
                       const struct space *space,
                       const struct transaction *transaction)
{
    for (size_t i = 0; i < transaction->drafts_used; i++) {
        const struct draft *draft = transaction->drafts.at[i];
        if (draft->entity->space != space || draft->entity->pinned) {
            continue;
        }
        if (draft->claims.count == 0) {
            continue;
        }
        struct path_set read = {0};
        collect_reads(space, transaction, draft->entity, &read);
        VEC_FOREACH (&draft->claims, path) {
            if (!path_set_covers(&read, *path)) {
                add_read(commit, draft->entity, *path, READ_DEEP);
            }
        }
        path_set_release(&read);
    }
}

/* -- The whole commit ---------------------------------------------------- */

void commit_reads_add(struct commit *commit,
                      const struct space *space,
                      const struct transaction *transaction)
{
    if (transaction->reads.count <= FEW_READS &&
        LIKELY(transaction->inputs.count == 0)) {
        add_few(commit, space, transaction);
    } else {
        add_many(commit, space, transaction);
    }
    add_parents(commit, space, transaction);
    add_claims(commit, space, transaction);
    VEC_FOREACH (&transaction->conditions, condition) {
        const struct entity *entity = condition->entity;
        if (entity->space == space) {
            struct commit_precondition *precondition =
                commit_add_precondition(commit);
            precondition->kind = condition->kind;
            precondition->target.id = value_ref(entity->id);
            precondition->target.scope = entity->scope;
            if (UNLIKELY(condition->has_digest)) {
                char text[DIGEST_TEXT_LENGTH + 1];
                digest_write(condition->digest, text);
                precondition->hash = value_text_new(text);
            }
        }
    }
    VEC_FOREACH (&transaction->origins, origin) {
        if (origin->space == space) {
            struct commit_precondition *precondition =
                commit_add_precondition(commit);
            precondition->kind = PRECONDITION_ORIGIN_COMMITTED;
            precondition->origin_local_seq = origin->local_seq;
        }
    }
}
