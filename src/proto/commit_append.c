/* The text of a commit, without a value in between (append-1). */

#include "proto/append.h"
#include "proto/commit.h"

static void append_read(struct buf *out, const struct commit_read *read)
{
    buf_append_char(out, '{');
    append_target(out, &read->target);
    APPEND(out, ",\"path\":");
    append_path(out, read->path);
    if (read->pending) {
        APPEND(out, ",\"localSeq\":");
        append_layers(out, &read->layers);
        APPEND(out, ",\"basisSeq\":");
    } else {
        if (!value_is_absent(read->branch)) {
            APPEND(out, ",\"branch\":");
            append_string(out, read->branch);
        }
        APPEND(out, ",\"seq\":");
    }
    append_number(out, read->seq);
    if (read->kind == READ_SHAPE) {
        APPEND(out, ",\"nonRecursive\":true");
    }
    buf_append_char(out, '}');
}

/* The reads of one of the two lists. */
static void append_some_reads(struct buf *out,
                              const struct commit *commit,
                              bool pending)
{
    buf_append_char(out, '[');
    size_t count = 0;
    for (size_t i = 0; i < commit->reads.count; i++) {
        if (commit->reads.at[i].pending == pending) {
            append_comma(out, count++);
            append_read(out, &commit->reads.at[i]);
        }
    }
    buf_append_char(out, ']');
}

static void append_reads(struct buf *out, const struct commit *commit)
{
    size_t pending = 0;
    for (size_t i = 0; i < commit->reads.count; i++) {
        pending += commit->reads.at[i].pending ? 1 : 0;
    }
    if (commit->reads.count == 0) {
        return;
    }
    APPEND(out, ",\"reads\":{");
    if (pending < commit->reads.count) {
        APPEND(out, "\"confirmed\":");
        append_some_reads(out, commit, false);
    }
    if (pending > 0) {
        append_comma(out, commit->reads.count - pending);
        APPEND(out, "\"pending\":");
        append_some_reads(out, commit, true);
    }
    buf_append_char(out, '}');
}

static void append_precondition(struct buf *out,
                                const struct commit_precondition *one)
{
    APPEND(out, "{\"kind\":");
    append_name(out, precondition_name(one->kind));
    if (one->kind == PRECONDITION_ORIGIN_COMMITTED) {
        APPEND(out, ",\"originLocalSeq\":");
        append_number(out, one->origin_local_seq);
        buf_append_char(out, '}');
        return;
    }
    buf_append_char(out, ',');
    append_target(out, &one->target);
    if (one->kind == PRECONDITION_VALUE_HASH) {
        APPEND(out, ",\"valueHash\":");
        append_value(out, one->hash);
    } else if (one->kind == PRECONDITION_EVENT_WAITING &&
               !value_is_absent(one->hash)) {
        APPEND(out, ",\"eventHash\":");
        append_value(out, one->hash);
    }
    buf_append_char(out, '}');
}

static void append_context(struct buf *out, const struct commit *commit)
{
    append_reads(out, commit);
    for (size_t i = 0; i < commit->preconditions.count; i++) {
        if (i == 0) {
            APPEND(out, ",\"preconditions\":[");
        }
        append_comma(out, i);
        append_precondition(out, &commit->preconditions.at[i]);
    }
    if (commit->preconditions.count > 0) {
        buf_append_char(out, ']');
    }
    if (!value_is_absent(commit->merge)) {
        APPEND(out, ",\"merge\":");
        append_value(out, commit->merge);
    }
}

static void append_op(struct buf *out, const struct commit_op *op)
{
    APPEND(out, "{\"op\":");
    append_name(out, commit_op_name(op->kind));
    buf_append_char(out, ',');
    append_target(out, &op->target);
    if (op->kind == COMMIT_SET) {
        APPEND(out, ",\"value\":");
        append_value(out, op->document);
    } else if (op->kind == COMMIT_PATCH) {
        APPEND(out, ",\"patches\":");
        patch_append(out, &op->patch);
    }
    buf_append_char(out, '}');
}

static void append_ops(struct buf *out, const struct commit *commit)
{
    if (commit->ops.count == 0) {
        return;
    }
    APPEND(out, ",\"operations\":[");
    for (size_t i = 0; i < commit->ops.count; i++) {
        append_comma(out, i);
        append_op(out, &commit->ops.at[i]);
    }
    buf_append_char(out, ']');
}

static void append_view(struct buf *out, const struct commit_view *view)
{
    if (!view->given) {
        return;
    }
    APPEND(out, ",\"view\":{\"seq\":");
    append_number(out, view->seq);
    if (view->commits > 0) {
        APPEND(out, ",\"commits\":");
        append_number(out, view->commits);
    }
    buf_append_char(out, '}');
}

static void append_observations(struct buf *out, const struct commit *commit)
{
    if (commit->observation != NULL) {
        APPEND(out, ",\"observation\":");
        observation_append(out, commit->observation);
    }
    if (commit->batch.count == 0) {
        return;
    }
    APPEND(out, ",\"observations\":[");
    for (size_t i = 0; i < commit->batch.count; i++) {
        append_comma(out, i);
        observation_append(out, commit->batch.at[i]);
    }
    buf_append_char(out, ']');
}

void commit_append(struct buf *out, const struct commit *commit)
{
    APPEND(out, "{\"session\":");
    append_string(out, commit->session);
    APPEND(out, ",\"localSeq\":");
    append_number(out, commit->local_seq);
    if (value_text(&commit->branch).length > 0) {
        APPEND(out, ",\"branch\":");
        append_string(out, commit->branch);
    }
    append_context(out, commit);
    append_ops(out, commit);
    append_view(out, &commit->view);
    append_observations(out, commit);
    buf_append_char(out, '}');
}
