/* Deltas: steps, what is held, and the patches of a flush. */

#include "host/deltas.h"

#include "value/array.h"
#include "value/json.h"

enum {
    /* Commits to one document between two flushes. With more of them, the
     * document is sent. */
    STEPS_MAX = 64
};

/* -- Steps --------------------------------------------------------------- */

void deltas_forget_steps(struct hub_document *document)
{
    VEC_FOREACH (&document->steps, step) {
        value_unref(step->patch);
    }
    vec_clear(&document->steps);
}

void deltas_add_step(struct hub_document *document,
                     uint64_t seq,
                     const struct commit_op *op,
                     bool wanted)
{
    if (!wanted || op == NULL || op->kind != COMMIT_PATCH ||
        document->steps.count == STEPS_MAX) {
        deltas_forget_steps(document);
        return;
    }
    if (document->steps.count == 0) {
        document->steps_from = document->seq;
    }
    const struct hub_step step = {.seq = seq, .patch = patch_write(&op->patch)};
    vec_push(&document->steps, step);
}

/* -- Patches of a flush -------------------------------------------------- */

uint64_t deltas_held(struct hub_watch *watch)
{
    if (watch->own > watch->held && watch->marked < watch->session->markers) {
        watch->held = watch->own;
        watch->own = 0;
    }
    return watch->held;
}

/* The first of the steps behind the state at `from`; or their count: they do
 * not lead from there to the head. */
static size_t first_step(const struct hub_document *document, uint64_t from)
{
    const size_t count = document->steps.count;
    size_t first = 0;
    while (first < count && document->steps.at[first].seq <= from) {
        first++;
    }
    const uint64_t before =
        first == 0 ? document->steps_from : document->steps.at[first - 1].seq;
    return first < count && before == from &&
                   document->steps.at[count - 1].seq == document->head_seq
               ? first
               : count;
}

/* Whether the text of the patch is shorter than that of the document. */
static bool is_shorter(const struct hub *hub,
                       const struct hub_document *document,
                       struct value patch)
{
    struct buf text = {0};
    if (value_is_absent(document->head) || hub->options.long_deltas) {
        return hub->options.long_deltas;
    }
    json_write(&text, patch, JSON_AS_GIVEN, 0);
    const size_t length = text.length;
    buf_clear(&text);
    const bool longer =
        json_write_within(&text, document->head, JSON_AS_GIVEN, 0, length);
    buf_release(&text);
    return !longer;
}

/* The patch from the state at `from` to the head, for all watches that hold
 * that state; NULL: there is none that is worth it. */
static const struct hub_delta *delta_from(const struct hub *hub,
                                          struct hub_document *document,
                                          uint64_t from)
{
    VEC_FOREACH (&document->deltas, delta) {
        if (delta->from == from) {
            return value_is_absent(delta->patch) ? NULL : delta;
        }
    }
    size_t i = first_step(document, from);
    if (i == document->steps.count) {
        return NULL;
    }
    struct hub_delta delta = {
        .from = from,
        .patch = value_ref(document->steps.at[i].patch),
        .text = upsert_text_new(),
    };
    for (i++; i < document->steps.count; i++) {
        const struct value more = document->steps.at[i].patch;
        for (uint32_t j = 0; j < array_count(more); j++) {
            delta.patch =
                array_push_adopt(delta.patch, value_ref(array_at(more, j)));
        }
    }
    if (!is_shorter(hub, document, delta.patch)) {
        value_unref(delta.patch);
        delta.patch = VALUE_NONE;
    }
    vec_push(&document->deltas, delta);
    return value_is_absent(delta.patch) ? NULL : vec_last(&document->deltas);
}

bool deltas_add(struct hub_watch *watch, struct message *message)
{
    struct hub_document *document = watch->document;
    if (!watch->session->deltas || watch->unloaded) {
        return false;
    }
    const uint64_t held = deltas_held(watch);
    const struct hub_delta *delta =
        held > 0 && held < document->head_seq
            ? delta_from(watch->session->hub, document, held)
            : NULL;
    if (delta == NULL) {
        return false;
    }
    const struct upsert upsert = {
        .target = {value_ref(watch->target.id), watch->target.scope},
        .seq = document->head_seq,
        .from = held,
        .patch = value_ref(delta->patch),
        .shared = upsert_text_ref(delta->text),
    };
    vec_push(&message->upserts, upsert);
    watch->session->hub->counters.deltas++;
    return true;
}

void deltas_forget(struct hub_document *document)
{
    VEC_FOREACH (&document->deltas, delta) {
        value_unref(delta->patch);
        upsert_text_unref(delta->text);
    }
    vec_clear(&document->deltas);
}

void deltas_release(struct hub_document *document)
{
    deltas_forget(document);
    deltas_forget_steps(document);
    vec_release(&document->steps);
    vec_release(&document->deltas);
}
