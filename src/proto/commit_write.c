/* Encoding a commit. Fields that have their default value are left out, so a
 * commit has one canonical text (commit-2). */

#include "proto/commit.h"

#include "base/stack.h"
#include "proto/fields.h"
#include "value/array.h"
#include "value/object.h"

/* There may be many of them, in each of many commits on their way. */
static struct value write_layers(const struct layer_list *layers)
{
    STACK(struct value, 64) numbers;
    stack_init(&numbers);
    for (size_t i = 0; i < layers->at.count; i++) {
        stack_push(&numbers, value_int((int64_t)layers->at.at[i]));
    }
    const struct value array = array_new_adopt(numbers.at, numbers.count);
    stack_release(&numbers);
    return array;
}

static struct value write_read(const struct commit_read *read)
{
    struct value object = value_empty_object();
    put_target(&object, &read->target);
    put_path(&object, read->path);
    if (read->pending) {
        object_put_adopt(&object, "localSeq", write_layers(&read->layers));
    } else if (!value_is_absent(read->branch)) {
        object_put_adopt(&object, "branch", value_ref(read->branch));
    }
    put_number(&object, read->pending ? "basisSeq" : "seq", read->seq);
    if (read->kind == READ_SHAPE) {
        object_put_adopt(&object, "nonRecursive", value_bool(true));
    }
    return object;
}

static void put_reads(struct value *object, const struct commit *commit)
{
    struct value lists[2] = {value_empty_array(), value_empty_array()};
    for (size_t i = 0; i < commit->reads.count; i++) {
        const struct commit_read *read = &commit->reads.at[i];
        struct value *list = &lists[read->pending ? 1 : 0];
        *list = array_push_adopt(*list, write_read(read));
    }
    struct value reads = value_empty_object();
    if (array_count(lists[0]) > 0) {
        object_put_adopt(&reads, "confirmed", lists[0]);
    }
    if (array_count(lists[1]) > 0) {
        object_put_adopt(&reads, "pending", lists[1]);
    }
    if (object_count(reads) > 0) {
        object_put_adopt(object, "reads", reads);
    }
}

static struct value write_op(const struct commit_op *op)
{
    struct value object = value_empty_object();
    object_put_adopt(&object, "op", value_text_new(commit_op_name(op->kind)));
    put_target(&object, &op->target);
    if (op->kind == COMMIT_SET) {
        object_put_adopt(&object, "value", value_ref(op->document));
    } else if (op->kind == COMMIT_PATCH) {
        object_put_adopt(&object, "patches", patch_write(&op->patch));
    }
    return object;
}

static struct value write_precondition(const struct commit_precondition *one)
{
    struct value object = value_empty_object();
    object_put_adopt(&object,
                     "kind",
                     value_text_new(precondition_name(one->kind)));
    if (one->kind == PRECONDITION_ORIGIN_COMMITTED) {
        put_number(&object, "originLocalSeq", one->origin_local_seq);
        return object;
    }
    put_target(&object, &one->target);
    if (one->kind == PRECONDITION_VALUE_HASH) {
        object_put_adopt(&object, "valueHash", value_ref(one->hash));
    } else if (one->kind == PRECONDITION_EVENT_WAITING &&
               !value_is_absent(one->hash)) {
        object_put_adopt(&object, "eventHash", value_ref(one->hash));
    }
    return object;
}

static void put_preconditions(struct value *object, const struct commit *commit)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < commit->preconditions.count; i++) {
        list =
            array_push_adopt(list,
                             write_precondition(&commit->preconditions.at[i]));
    }
    if (array_count(list) > 0) {
        object_put_adopt(object, "preconditions", list);
    }
}

static void put_context(struct value *object, const struct commit *commit)
{
    put_reads(object, commit);
    put_preconditions(object, commit);
    if (!value_is_absent(commit->merge)) {
        object_put_adopt(object, "merge", value_ref(commit->merge));
    }
}

/* Whose run it was, if that cannot be told from what was written: an effect
 * writes where others write as well. */
static void put_effect(struct value *context, const struct commit *commit)
{
    const struct observation *observation = commit->observation;
    if (observation == NULL || observation->kind != ACTION_EFFECT) {
        return;
    }
    char action[DIGEST_TEXT_LENGTH + 1];
    struct value effect = value_empty_object();
    digest_write(observation->action, action);
    object_put_adopt(&effect, "piece", value_ref(observation->piece));
    object_put_adopt(&effect, "action", value_text_new(action));
    object_put_adopt(context, "effect", effect);
}

struct value commit_write_context(const struct commit *commit)
{
    struct value context = value_empty_object();
    put_context(&context, commit);
    put_effect(&context, commit);
    return object_count(context) > 0 ? context : VALUE_NONE;
}

static void put_view(struct value *object, const struct commit_view *view)
{
    if (!view->given) {
        return;
    }
    struct value written = value_empty_object();
    put_number(&written, "seq", view->seq);
    if (view->commits > 0) {
        put_number(&written, "commits", view->commits);
    }
    object_put_adopt(object, "view", written);
}

static void put_observations(struct value *object, const struct commit *commit)
{
    if (commit->observation != NULL) {
        object_put_adopt(object,
                         "observation",
                         observation_write(commit->observation));
    }
    struct value list = value_empty_array();
    for (size_t i = 0; i < commit->batch.count; i++) {
        list = array_push_adopt(list, observation_write(commit->batch.at[i]));
    }
    if (array_count(list) > 0) {
        object_put_adopt(object, "observations", list);
    }
}

struct value commit_write(const struct commit *commit)
{
    struct value object = value_empty_object();
    object_put_adopt(&object, "session", value_ref(commit->session));
    put_number(&object, "localSeq", commit->local_seq);
    if (value_text(&commit->branch).length > 0) {
        object_put_adopt(&object, "branch", value_ref(commit->branch));
    }
    put_context(&object, commit);
    struct value list = value_empty_array();
    for (size_t i = 0; i < commit->ops.count; i++) {
        list = array_push_adopt(list, write_op(&commit->ops.at[i]));
    }
    if (array_count(list) > 0) {
        object_put_adopt(&object, "operations", list);
    }
    put_view(&object, &commit->view);
    put_observations(&object, commit);
    return object;
}
