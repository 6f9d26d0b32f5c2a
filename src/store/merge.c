/* Three-way merge and difference of branches. */

#include "store/merge.h"

#include "store/documents.h"
#include "value/array.h"
#include "value/collection_id.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Where two branches parted ------------------------------------------- */

/* How much of a branch is visible from another one: all of itself, the parent
 * up to the fork, and so on. 0: nothing, unless it is visible. */
static bool sees(const struct branch *from,
                 const struct branch *ancestor,
                 uint64_t *up_to)
{
    *up_to = INT64_MAX;
    while (from != NULL && from != ancestor) {
        *up_to = from->fork_seq < *up_to ? from->fork_seq : *up_to;
        from = from->parent;
    }
    return from != NULL;
}

struct meeting {
    struct branch *branch; /* the nearest that both see */
    uint64_t seq;          /* as far as both see it */
};

static struct meeting find_meeting(struct branch *source, struct branch *target)
{
    for (struct branch *branch = source;; branch = branch->parent) {
        uint64_t from_source = 0;
        uint64_t from_target = 0;
        CHECK(branch != NULL); /* every branch sees the main one */
        if (sees(target, branch, &from_target) &&
            sees(source, branch, &from_source)) {
            const uint64_t seq =
                from_source < from_target ? from_source : from_target;
            return (struct meeting){branch,
                                    seq < branch->head_seq ? seq
                                                           : branch->head_seq};
        }
    }
}

/* -- Which documents ----------------------------------------------------- */

/* Adds the ids with a row on that branch, in space scope. */
static void add_ids(const document_names *names,
                    uint64_t branch,
                    struct value *ids)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct document_name *name = &names->at[i];
        if (name->branch == branch && value_is_text(name->scope_key, "space")) {
            *ids =
                object_set_adopt(*ids, value_ref(name->id), value_bool(true));
        }
    }
}

/* Ids that may differ between a branch and its state at the meeting point:
 * those with rows on it or between the two. As the keys of an object. */
static enum err find_ids(struct engine *engine,
                         const struct branch *from,
                         const struct branch *meeting,
                         struct value *ids,
                         struct err_detail *detail)
{
    document_names names = {0};
    const enum err err = documents_list(engine, 0, INT64_MAX, &names, detail);
    for (const struct branch *branch = from; err == ERR_OK && branch != NULL;
         branch = branch->parent) {
        add_ids(&names, branch->number, ids);
        if (branch == meeting) {
            break;
        }
    }
    document_names_release(&names);
    return err;
}

/* -- One document -------------------------------------------------------- */

struct merge {
    struct engine *engine;
    const struct merge_request *request;
    struct branch *source;
    struct branch *target;
    struct meeting meeting;
    struct value scope_key; /* "space" */
    struct commit *commit;
    struct value collections; /* those that they changed: by the id of the root,
                                 an integer of COLLECTION_ bits */
    struct value *conflicts;
    struct err_detail *detail;
};

struct three_way {
    struct merge *merge;
    struct value id;
    struct value base;
    struct value ours;
    struct value theirs;
    struct patch patch;
    bool is_structure; /* of a collection: merge-2 decides, not the document */
};

static void add_conflict(struct merge *merge,
                         struct value id,
                         const struct path_segment *path,
                         size_t length)
{
    struct value conflict = value_empty_object();
    struct buf pointer = {0};
    path_write_segments(&pointer, path, length);
    object_put_adopt(&conflict, "id", value_ref(id));
    object_put_adopt(&conflict,
                     "path",
                     value_string_new(buf_text(&pointer), pointer.length));
    buf_release(&pointer);
    *merge->conflicts = array_push_adopt(*merge->conflicts, conflict);
}

static void report_conflict(const struct three_way *three,
                            const struct path_segment *path,
                            size_t length)
{
    if (!three->is_structure) {
        add_conflict(three->merge, three->id, path, length);
    }
}

/* Whether a step down means the same in both: keys of objects do, and indices
 * of arrays of equal length. */
static bool steps_alike(struct value base, struct value ours)
{
    return value_is_array(base)
               ? value_is_array(ours) && array_count(ours) == array_count(base)
               : value_is_object(ours) && !value_is_near_envelope(ours);
}

/* A difference between base and theirs, compared with ours. If something on the
 * path has changed in ours, both sides changed that. */
static void weigh(void *ctx, const struct difference *difference)
{
    struct three_way *three = ctx;
    struct value base = three->base;
    struct value ours = three->ours;
    bool alike = true;
    for (size_t i = 0; alike && i < difference->length; i++) {
        alike = steps_alike(base, ours);
        base = value_child(base, &difference->path[i]);
        ours = alike ? value_child(ours, &difference->path[i]) : ours;
    }
    if (alike && value_equal(ours, difference->after)) {
        return;
    }
    if (!alike || !value_equal(ours, difference->before)) {
        report_conflict(three, difference->path, difference->length);
        return;
    }
    patch_push_adopt(
        &three->patch,
        patch_op_of_difference(difference, &three->merge->engine->paths));
}

static enum err read_at(struct merge *merge,
                        struct branch *branch,
                        struct value id,
                        uint64_t seq,
                        struct value *out)
{
    struct document *document = NULL;
    const enum err err = document_find(merge->engine,
                                       branch,
                                       merge->scope_key,
                                       id,
                                       &document,
                                       merge->detail);
    return err == ERR_OK ? document_at(merge->engine,
                                       document,
                                       seq,
                                       FOLD_FAST,
                                       out,
                                       merge->detail)
                         : err;
}

static void push_op(struct merge *merge,
                    struct value id,
                    enum commit_op_kind kind,
                    struct value document,
                    struct patch patch)
{
    const struct commit_op op = {
        .kind = kind,
        .target = {value_ref(id), SCOPE_SPACE},
        .document = value_ref(document),
        .patch = patch,
    };
    vec_push(&merge->commit->ops, op);
}

/* The merge depends on the whole document, on both branches. */
static void push_read(struct merge *merge,
                      struct value id,
                      const struct branch *branch)
{
    const struct commit_read read = {
        .kind = READ_DEEP,
        .target = {value_ref(id), SCOPE_SPACE},
        .path = path_new(&merge->engine->paths, NULL, 0),
        .branch = value_ref(branch->name),
        .seq = merge->engine->seq,
    };
    vec_push(&merge->commit->reads, read);
}

/* All three exist, or the whole document is merged as one. */
static void decide(struct three_way *three)
{
    struct merge *merge = three->merge;
    const struct patch none = {0};
    if (value_is_object(three->base) && value_is_object(three->ours) &&
        value_is_object(three->theirs)) {
        difference_walk(three->base,
                        three->theirs,
                        DIFFERENCE_BY_STEPS,
                        weigh,
                        three);
        if (three->patch.ops.count > 0) {
            push_op(merge, three->id, COMMIT_PATCH, VALUE_NONE, three->patch);
            three->patch = none; /* the commit owns it now */
        }
    } else if (!value_equal(three->ours, three->base)) {
        if (!value_equal(three->ours, three->theirs)) {
            report_conflict(three, NULL, 0);
        }
    } else if (value_is_absent(three->theirs)) {
        push_op(merge, three->id, COMMIT_DELETE, VALUE_NONE, none);
    } else {
        push_op(merge, three->id, COMMIT_SET, three->theirs, none);
    }
}

/* -- Collections --------------------------------------------------------- */

/* What a side changed of a collection, and whether something of what they
 * changed is not here. */
enum {
    COLLECTION_ROWS = 1,
    COLLECTION_STRUCTURE = 2, /* the root or a page */
    COLLECTION_DEFINITION = 4,
    COLLECTION_OURS = 3, /* the bits of ours are shifted by this many */
    COLLECTION_DIFFERS = 1 << 6,
};

/* The root of the collection that a document belongs to, new; or absent. A root
 * is recognised by its content. */
static struct value collection_of(struct value id,
                                  struct value before,
                                  struct value after)
{
    const struct text text = value_text(&id);
    size_t length;
    if (collection_part_of(text, &length) != COLLECTION_NO_PART) {
        return value_string_new(text.at, length);
    }
    const bool is_root =
        (value_is_object(before) &&
         value_is_object(object_field(before, "collection"))) ||
        (value_is_object(after) &&
         value_is_object(object_field(after, "collection")));
    return is_root ? value_ref(id) : VALUE_NONE;
}

static struct value definition_in(struct value document)
{
    const struct value about = object_field(document, "collection");
    return object_field(about, "definition");
}

static int64_t collection_bits(const struct merge *merge, struct value root)
{
    const struct value bits = object_get(merge->collections, root);
    return value_is_absent(bits) ? 0 : value_integer(bits);
}

static void add_collection_bits(struct merge *merge,
                                struct value root,
                                int64_t bits)
{
    const int64_t all = collection_bits(merge, root) | bits;
    merge->collections =
        object_set_adopt(merge->collections, value_ref(root), value_int(all));
}

/* For a document that one side changed. */
static int64_t bits_of_change(struct value id,
                              struct value before,
                              struct value after)
{
    size_t length;
    if (collection_part_of(value_text(&id), &length) == COLLECTION_ROW) {
        return COLLECTION_ROWS;
    }
    return value_equal(definition_in(before), definition_in(after))
               ? COLLECTION_STRUCTURE
               : COLLECTION_STRUCTURE | COLLECTION_DEFINITION;
}

/* They changed the document. */
static void note_theirs(struct three_way *three)
{
    const struct value root =
        collection_of(three->id, three->base, three->theirs);
    if (value_is_absent(root)) {
        return;
    }
    const int64_t bits = bits_of_change(three->id, three->base, three->theirs);
    const bool differs = !value_equal(three->ours, three->theirs);
    three->is_structure = (bits & COLLECTION_STRUCTURE) != 0;
    add_collection_bits(three->merge,
                        root,
                        bits | (differs ? COLLECTION_DIFFERS : 0));
    value_unref(root);
}

/* Whether our change of a document of the target can matter: for a collection
 * that they changed, the root and the pages, and the rows if they changed its
 * definition. */
static bool can_matter(const struct merge *merge, struct value id)
{
    const struct text text = value_text(&id);
    size_t length;
    const enum collection_part part = collection_part_of(text, &length);
    if (part == COLLECTION_NO_PART) {
        return collection_bits(merge, id) != 0;
    }
    const struct value root = value_string_new(text.at, length);
    const int64_t bits = collection_bits(merge, root);
    value_unref(root);
    return part == COLLECTION_PAGE ? bits != 0
                                   : (bits & COLLECTION_DEFINITION) != 0;
}

/* merge-2 depends on the document whether or not we changed it. */
static enum err note_ours(struct merge *merge, struct value id)
{
    struct value base = VALUE_NONE;
    struct value ours = VALUE_NONE;
    enum err err =
        read_at(merge, merge->meeting.branch, id, merge->meeting.seq, &base);
    if (err == ERR_OK) {
        err = read_at(merge, merge->target, id, ENGINE_HEAD, &ours);
    }
    if (err == ERR_OK) {
        push_read(merge, id, merge->target);
    }
    if (err == ERR_OK && !value_equal(base, ours)) {
        const struct value root = collection_of(id, base, ours);
        if (!value_is_absent(root)) {
            add_collection_bits(merge,
                                root,
                                bits_of_change(id, base, ours)
                                    << COLLECTION_OURS);
        }
        value_unref(root);
    }
    value_unref(base);
    value_unref(ours);
    return err;
}

/* merge-2. */
static bool collection_conflicts(int64_t bits)
{
    const int64_t theirs = bits & (((int64_t)1 << COLLECTION_OURS) - 1);
    const int64_t ours =
        (bits & ~(int64_t)COLLECTION_DIFFERS) >> COLLECTION_OURS;
    const bool both = (ours & COLLECTION_STRUCTURE) != 0 &&
                      (theirs & COLLECTION_STRUCTURE) != 0;
    const bool redefined = ours != 0 && theirs != 0 &&
                           ((ours | theirs) & COLLECTION_DEFINITION) != 0;
    return (bits & COLLECTION_DIFFERS) != 0 && (both || redefined);
}

static enum err judge_collections(struct merge *merge)
{
    if (object_count(merge->collections) == 0) {
        return ERR_OK;
    }
    struct value ids = value_empty_object();
    enum err err = find_ids(merge->engine,
                            merge->target,
                            merge->meeting.branch,
                            &ids,
                            merge->detail);
    struct object_iter iter = object_iter(ids);
    struct value id;
    struct value mark;
    while (err == ERR_OK && object_next(&iter, &id, &mark)) {
        if (can_matter(merge, id)) {
            err = note_ours(merge, id);
        }
    }
    value_unref(ids);
    iter = object_iter(merge->collections);
    while (err == ERR_OK && object_next(&iter, &id, &mark)) {
        if (collection_conflicts(value_integer(mark))) {
            add_conflict(merge, id, NULL, 0);
        }
    }
    return err;
}

/* -- All documents ------------------------------------------------------- */

static enum err merge_document(struct merge *merge, struct value id)
{
    struct three_way three = {.merge = merge, .id = id};
    enum err err = read_at(merge,
                           merge->meeting.branch,
                           id,
                           merge->meeting.seq,
                           &three.base);
    if (err == ERR_OK) {
        err = read_at(merge, merge->target, id, ENGINE_HEAD, &three.ours);
    }
    if (err == ERR_OK) {
        err = read_at(merge, merge->source, id, ENGINE_HEAD, &three.theirs);
    }
    if (err == ERR_OK && !value_equal(three.base, three.theirs)) {
        push_read(merge, id, merge->target);
        push_read(merge, id, merge->source);
        note_theirs(&three);
        decide(&three);
    }
    patch_release(&three.patch);
    value_unref(three.base);
    value_unref(three.ours);
    value_unref(three.theirs);
    return err;
}

static void describe_merge(struct merge *merge)
{
    struct commit *commit = merge->commit;
    struct value origin = value_empty_object();
    object_put_adopt(&origin, "sourceBranch", value_ref(merge->source->name));
    object_put_number(&origin, "sourceSeq", merge->source->head_seq);
    object_put_adopt(&origin,
                     "baseBranch",
                     value_ref(merge->meeting.branch->name));
    object_put_number(&origin, "baseSeq", merge->meeting.seq);
    commit->session = value_ref(merge->request->session);
    commit->local_seq = merge->request->local_seq;
    commit->branch = value_ref(merge->target->name);
    commit->merge = origin;
}

static enum err merge_documents(struct merge *merge)
{
    struct value ids = value_empty_object();
    enum err err = find_ids(merge->engine,
                            merge->source,
                            merge->meeting.branch,
                            &ids,
                            merge->detail);
    struct object_iter iter = object_iter(ids);
    struct value id;
    struct value mark;
    const struct merge_request *request = merge->request;
    while (err == ERR_OK && object_next(&iter, &id, &mark)) {
        if (request->is_derived == NULL ||
            !request->is_derived(request->ctx, id)) {
            err = merge_document(merge, id);
        }
    }
    value_unref(ids);
    return err == ERR_OK ? judge_collections(merge) : err;
}

static enum err find_branch(struct engine *engine,
                            struct value name,
                            struct branch **out,
                            struct err_detail *detail)
{
    *out = engine_branch(engine, name);
    return *out != NULL ? ERR_OK : engine_unknown_branch(name, detail);
}

static enum err merge_in_transaction(struct merge *merge)
{
    const struct merge_request *request = merge->request;
    enum err err = find_branch(merge->engine,
                               request->source,
                               &merge->source,
                               merge->detail);
    if (err == ERR_OK) {
        err = find_branch(merge->engine,
                          request->target,
                          &merge->target,
                          merge->detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    merge->meeting = find_meeting(merge->source, merge->target);
    describe_merge(merge);
    return merge_documents(merge);
}

enum err engine_merge(struct engine *engine,
                      const struct merge_request *request,
                      struct commit *commit,
                      struct value *conflicts,
                      struct err_detail *detail)
{
    struct err_detail why = {0};
    struct merge merge = {
        .engine = engine,
        .request = request,
        .scope_key = value_text_new("space"),
        .commit = commit,
        .collections = value_empty_object(),
        .conflicts = conflicts,
        .detail = &why,
    };
    *commit = (struct commit){0};
    *conflicts = value_empty_array();
    enum err err = engine_read_begin(engine, &why);
    if (err == ERR_OK) {
        err = merge_in_transaction(&merge);
        engine_read_end(engine);
    }
    value_unref(merge.collections);
    if (err != ERR_OK || array_count(*conflicts) > 0) {
        commit_release(commit);
    }
    if (err != ERR_OK) {
        value_unref(*conflicts);
        *conflicts = VALUE_NONE;
        if (detail != NULL) {
            *detail = why;
        }
    }
    return err;
}

/* -- Difference of branches ---------------------------------------------- */

static void push_difference(struct merge *merge,
                            struct value id,
                            struct value before,
                            struct value after)
{
    struct value entry = value_empty_object();
    object_put_adopt(&entry, "id", value_ref(id));
    if (value_is_absent(before)) {
        object_put_adopt(&entry, "before", value_null());
    } else if (value_is_absent(after)) {
        object_put_adopt(&entry, "after", value_null());
    } else {
        struct patch patch = {0};
        patch_diff(before, after, &merge->engine->paths, &patch);
        object_put_adopt(&entry, "patch", patch_write(&patch));
        patch_release(&patch);
    }
    *merge->conflicts = array_push_adopt(*merge->conflicts, entry);
}

static enum err diff_document(struct merge *merge, struct value id)
{
    struct value before = VALUE_NONE;
    struct value after = VALUE_NONE;
    enum err err = read_at(merge, merge->source, id, ENGINE_HEAD, &before);
    if (err == ERR_OK) {
        err = read_at(merge, merge->target, id, ENGINE_HEAD, &after);
    }
    if (err == ERR_OK && !value_equal(before, after)) {
        push_difference(merge, id, before, after);
    }
    value_unref(before);
    value_unref(after);
    return err;
}

static enum err diff_in_transaction(struct merge *merge,
                                    struct value from,
                                    struct value to)
{
    struct value ids = value_empty_object();
    enum err err =
        find_branch(merge->engine, from, &merge->source, merge->detail);
    if (err == ERR_OK) {
        err = find_branch(merge->engine, to, &merge->target, merge->detail);
    }
    if (err == ERR_OK) {
        const struct branch *meeting =
            find_meeting(merge->source, merge->target).branch;
        err = find_ids(merge->engine,
                       merge->source,
                       meeting,
                       &ids,
                       merge->detail);
        if (err == ERR_OK) {
            err = find_ids(merge->engine,
                           merge->target,
                           meeting,
                           &ids,
                           merge->detail);
        }
    }
    VEC(struct value) sorted = {0};
    struct object_iter iter = object_iter(ids);
    struct value id;
    struct value mark;
    while (err == ERR_OK && object_next(&iter, &id, &mark)) {
        size_t at = sorted.count;
        vec_push(&sorted, id);
        while (at > 0 && value_compare_strings(sorted.at[at - 1], id) > 0) {
            sorted.at[at] = sorted.at[at - 1];
            at--;
        }
        sorted.at[at] = id;
    }
    for (size_t i = 0; err == ERR_OK && i < sorted.count; i++) {
        err = diff_document(merge, sorted.at[i]);
    }
    vec_release(&sorted);
    value_unref(ids);
    return err;
}

enum err engine_branch_diff(struct engine *engine,
                            struct value from,
                            struct value to,
                            struct value *out,
                            struct err_detail *detail)
{
    struct err_detail why = {0};
    struct merge merge = {
        .engine = engine,
        .scope_key = value_text_new("space"),
        .conflicts = out, /* here it collects differences */
        .detail = &why,
    };
    *out = value_empty_array();
    enum err err = engine_read_begin(engine, &why);
    if (err == ERR_OK) {
        err = diff_in_transaction(&merge, from, to);
        engine_read_end(engine);
    }
    if (err != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
        if (detail != NULL) {
            *detail = why;
        }
    }
    return err;
}
