/* The text of a message and of verdicts, without a value in between (append-1).
 * Only selectors, which are few, go through one. */

#include "proto/append.h"
#include "proto/message.h"

/* -- Verdicts ------------------------------------------------------------ */

static void append_resolved(struct buf *out, const struct verdict *verdict)
{
    if (verdict->resolved.count == 0) {
        return;
    }
    APPEND(out, ",\"resolvedPendingReads\":[");
    for (size_t i = 0; i < verdict->resolved.count; i++) {
        append_comma(out, i);
        APPEND(out, "{\"localSeq\":");
        append_number(out, verdict->resolved.at[i].local_seq);
        APPEND(out, ",\"seq\":");
        append_number(out, verdict->resolved.at[i].seq);
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

static void append_elided(struct buf *out, const struct verdict *verdict)
{
    if (verdict->elided.count == 0) {
        return;
    }
    APPEND(out, ",\"elidedOpIndexes\":[");
    for (size_t i = 0; i < verdict->elided.count; i++) {
        append_comma(out, i);
        append_number(out, verdict->elided.at[i]);
    }
    buf_append_char(out, ']');
}

static void append_dropped(struct buf *out, const struct verdict *verdict)
{
    if (verdict->dropped.count == 0) {
        return;
    }
    APPEND(out, ",\"droppedObservations\":[");
    for (size_t i = 0; i < verdict->dropped.count; i++) {
        const struct dropped_observation *one = &verdict->dropped.at[i];
        append_comma(out, i);
        buf_append_char(out, '[');
        append_number(out, one->index);
        buf_append_char(out, ',');
        append_name(out, observation_outcome_name(one->outcome));
        buf_append_char(out, ']');
    }
    buf_append_char(out, ']');
}

static void append_landed(struct buf *out, const struct verdict *verdict)
{
    APPEND(out, "{\"seq\":");
    append_number(out, verdict->seq);
    append_resolved(out, verdict);
    append_elided(out, verdict);
    if (verdict->replayed) {
        APPEND(out, ",\"replayed\":true");
    }
    append_dropped(out, verdict);
}

/* ,"path":"/value" unless it is absent; `name` has its comma and colon. */
static void append_text(struct buf *out, const char *name, struct value text)
{
    if (!value_is_absent(text)) {
        buf_append_text(out, name);
        append_string(out, text);
    }
}

static void append_refused(struct buf *out, const struct verdict *verdict)
{
    const struct text sentence = {
        verdict->detail.text,
        strlen(verdict->detail.text),
    };
    APPEND(out, "{\"error\":{\"name\":");
    append_name(out, err_name(verdict->err));
    APPEND(out, ",\"class\":");
    append_name(out, err_class_name(err_class_of(verdict->err)));
    APPEND(out, ",\"message\":");
    json_write_string(out, sentence);
    append_text(out, ",\"id\":", verdict->id);
    if (verdict->err == ERR_CONFLICT) {
        APPEND(out, ",\"readSeq\":");
        append_number(out, verdict->read_seq);
        APPEND(out, ",\"conflictSeq\":");
        append_number(out, verdict->conflict_seq);
        append_text(out, ",\"path\":", verdict->path);
        append_text(out, ",\"by\":", verdict->by);
        APPEND(out, ",\"retryAfterSeq\":");
        append_number(out, verdict->head_seq);
    }
    buf_append_char(out, '}');
}

static void append_verdicts(struct buf *out, const struct message *message)
{
    APPEND(out, ",\"verdicts\":[");
    for (size_t i = 0; i < message->verdicts.count; i++) {
        const struct message_verdict *one = &message->verdicts.at[i];
        append_comma(out, i);
        if (one->verdict.err == ERR_OK) {
            append_landed(out, &one->verdict);
        } else {
            append_refused(out, &one->verdict);
        }
        APPEND(out, ",\"localSeq\":");
        append_number(out, one->local_seq);
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

/* -- Other kinds --------------------------------------------------------- */

static void append_caught_up(struct buf *out, const struct message *message)
{
    if (message->caught_up != 0) {
        APPEND(out, ",\"caughtUpLocalSeq\":");
        append_number(out, message->caught_up);
    }
}

static void append_open(struct buf *out, const struct message *message)
{
    append_text(out, ",\"session\":", message->session);
    if (value_is_string(message->branch) &&
        value_text(&message->branch).length > 0) {
        append_text(out, ",\"branch\":", message->branch);
    }
    APPEND(out, ",\"seenSeq\":");
    append_number(out, message->seen_seq);
    if (message->client != 0) {
        APPEND(out, ",\"client\":");
        append_number(out, message->client);
    }
    if (message->observations) {
        APPEND(out, ",\"observations\":true");
    }
    if (message->deltas) {
        APPEND(out, ",\"deltas\":true");
    }
    append_text(out, ",\"token\":", message->token);
}

static void append_opened(struct buf *out, const struct message *message)
{
    append_text(out, ",\"session\":", message->session);
    if (message->resumed) {
        APPEND(out, ",\"resumed\":true");
    }
    APPEND(out, ",\"serverSeq\":");
    append_number(out, message->server_seq);
    append_caught_up(out, message);
    if (message->markers) {
        APPEND(out, ",\"markers\":true");
    }
    if (message->observations) {
        APPEND(out, ",\"observations\":true");
    }
    append_text(out, ",\"token\":", message->token);
}

/* `name` has its comma, colon and bracket. */
static void append_targets(struct buf *out,
                           const char *name,
                           const struct message *message)
{
    buf_append_text(out, name);
    for (size_t i = 0; i < message->targets.count; i++) {
        append_comma(out, i);
        buf_append_char(out, '{');
        append_target(out, &message->targets.at[i]);
        if (i < message->since.count && message->since.at[i] > 0) {
            APPEND(out, ",\"since\":");
            append_number(out, message->since.at[i]);
        }
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

/* Adopts the value. */
static void append_value_adopt(struct buf *out, struct value value)
{
    append_value(out, value);
    value_unref(value);
}

/* Of a watch or an unwatch: targets, selectors, or both. */
static void append_asked(struct buf *out, const struct message *message)
{
    if (message->targets.count > 0 || message->selectors.count == 0) {
        append_targets(out, ",\"targets\":[", message);
    }
    if (message->selectors.count == 0) {
        return;
    }
    APPEND(out, ",\"selectors\":[");
    for (size_t i = 0; i < message->selectors.count; i++) {
        const struct selector *one = &message->selectors.at[i];
        append_comma(out, i);
        append_value_adopt(out,
                           message->kind == MESSAGE_WATCH ? selector_write(one)
                                                          : value_ref(one->id));
    }
    buf_append_char(out, ']');
}

static void append_commits(struct buf *out, const struct message *message)
{
    APPEND(out, ",\"commits\":[");
    for (size_t i = 0; i < message->commits.count; i++) {
        append_comma(out, i);
        commit_append(out, message->commits.at[i]);
    }
    buf_append_char(out, ']');
}

/* -- Syncs --------------------------------------------------------------- */

static void append_upsert(struct buf *out, const struct upsert *upsert)
{
    buf_append_char(out, '{');
    append_target(out, &upsert->target);
    APPEND(out, ",\"seq\":");
    append_number(out, upsert->seq);
    if (upsert->from > 0) {
        APPEND(out, ",\"from\":");
        append_number(out, upsert->from);
        APPEND(out, ",\"patch\":");
        append_value(out, upsert->patch);
    }
    if (!value_is_absent(upsert->document)) {
        APPEND(out, ",\"document\":");
        append_value(out, upsert->document);
    }
    if (upsert->has_before) {
        APPEND(out, ",\"before\":");
        append_value(out,
                     value_is_absent(upsert->before) ? value_null()
                                                     : upsert->before);
    }
    buf_append_char(out, '}');
}

/* An upsert that goes to several sessions is encoded for the first of them. */
static void append_shared(struct buf *out, const struct upsert *upsert)
{
    struct buf *text = &upsert->shared->text;
    if (text->length == 0) {
        append_upsert(text, upsert);
    }
    buf_append(out, text->at, text->length);
}

static void append_upserts(struct buf *out, const struct message *message)
{
    if (message->upserts.count == 0) {
        return;
    }
    APPEND(out, ",\"upserts\":[");
    for (size_t i = 0; i < message->upserts.count; i++) {
        const struct upsert *upsert = &message->upserts.at[i];
        append_comma(out, i);
        if (upsert->shared != NULL) {
            append_shared(out, upsert);
        } else {
            append_upsert(out, upsert);
        }
    }
    buf_append_char(out, ']');
}

static void append_refusals(struct buf *out, const struct message *message)
{
    if (message->refused.count == 0) {
        return;
    }
    APPEND(out, ",\"refused\":[");
    for (size_t i = 0; i < message->refused.count; i++) {
        append_comma(out, i);
        append_value_adopt(out,
                           selector_refusal_write(&message->refused.at[i]));
    }
    buf_append_char(out, ']');
}

static void append_told(struct buf *out, const struct message *message)
{
    if (message->told.count == 0) {
        return;
    }
    APPEND(out, ",\"observations\":[");
    for (size_t i = 0; i < message->told.count; i++) {
        append_comma(out, i);
        APPEND(out, "{\"seq\":");
        append_number(out, message->told.at[i].seq);
        APPEND(out, ",\"observation\":");
        observation_append(out, message->told.at[i].observation);
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

static void append_sync(struct buf *out, const struct message *message)
{
    APPEND(out, ",\"fromSeq\":");
    append_number(out, message->from_seq);
    APPEND(out, ",\"toSeq\":");
    append_number(out, message->to_seq);
    append_caught_up(out, message);
    if (message->pull) {
        APPEND(out, ",\"pull\":true");
    }
    append_upserts(out, message);
    if (message->reached > 0) {
        APPEND(out, ",\"reached\":");
        append_number(out, message->reached);
    }
    if (message->targets.count > 0) {
        append_targets(out, ",\"removes\":[", message);
    }
    append_refusals(out, message);
    append_told(out, message);
}

/* -- The whole ----------------------------------------------------------- */

void message_append(struct buf *out, const struct message *message)
{
    APPEND(out, "{\"kind\":");
    append_name(out, message_kind_name(message->kind));
    APPEND(out, ",\"connection\":");
    append_number(out, message->connection);
    APPEND(out, ",\"number\":");
    append_number(out, message->number);
    switch (message->kind) {
    case MESSAGE_OPEN:
        append_open(out, message);
        break;
    case MESSAGE_COMMITS:
        append_commits(out, message);
        break;
    case MESSAGE_WATCH:
    case MESSAGE_UNWATCH:
        append_asked(out, message);
        break;
    case MESSAGE_ACK:
        APPEND(out, ",\"seenSeq\":");
        append_number(out, message->seen_seq);
        break;
    case MESSAGE_OPENED:
        append_opened(out, message);
        break;
    case MESSAGE_VERDICTS:
        append_verdicts(out, message);
        break;
    case MESSAGE_SYNC:
        append_sync(out, message);
        break;
    case MESSAGE_REVOKED:
        append_text(out, ",\"reason\":", message->reason);
        break;
    }
    buf_append_char(out, '}');
}
