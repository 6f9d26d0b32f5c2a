/* Messages as data: names, release, and the check of their order. */

#include "proto/message.h"

const char *message_kind_name(enum message_kind kind)
{
    static const char *const names[] = {
        [MESSAGE_OPEN] = "open",
        [MESSAGE_COMMITS] = "commits",
        [MESSAGE_WATCH] = "watch",
        [MESSAGE_UNWATCH] = "unwatch",
        [MESSAGE_ACK] = "ack",
        [MESSAGE_OPENED] = "opened",
        [MESSAGE_VERDICTS] = "verdicts",
        [MESSAGE_SYNC] = "sync",
        [MESSAGE_REVOKED] = "revoked",
    };
    return names[kind];
}

struct upsert_text *upsert_text_new(void)
{
    struct upsert_text *text = mem_alloc_zero(sizeof *text);
    text->refs = 1;
    return text;
}

struct upsert_text *upsert_text_ref(struct upsert_text *text)
{
    text->refs++;
    return text;
}

void upsert_text_unref(struct upsert_text *text)
{
    if (text != NULL && --text->refs == 0) {
        buf_release(&text->text);
        mem_free(text, sizeof *text);
    }
}

static void free_commit(const struct commit *borrowed)
{
    /* Owned here, although the vector declares its elements const. */
    struct commit *commit = (struct commit *)(uintptr_t)borrowed;
    commit_release(commit);
    mem_free(commit, sizeof *commit);
}

void message_release(struct message *message)
{
    if (message->owned) {
        VEC_FOREACH (&message->commits, commit) {
            free_commit(*commit);
        }
    }
    VEC_FOREACH (&message->targets, target) {
        value_unref(target->id);
    }
    VEC_FOREACH (&message->upserts, upsert) {
        value_unref(upsert->target.id);
        value_unref(upsert->document);
        value_unref(upsert->before);
        value_unref(upsert->patch);
        upsert_text_unref(upsert->shared);
    }
    VEC_FOREACH (&message->selectors, selector) {
        selector_release(selector);
    }
    VEC_FOREACH (&message->refused, one) {
        value_unref(one->id);
    }
    VEC_FOREACH (&message->told, one) {
        observation_unref(one->observation);
    }
    VEC_FOREACH (&message->verdicts, one) {
        verdict_release(&one->verdict);
    }
    vec_release(&message->commits);
    vec_release(&message->targets);
    vec_release(&message->since);
    vec_release(&message->upserts);
    vec_release(&message->selectors);
    vec_release(&message->refused);
    vec_release(&message->told);
    vec_release(&message->verdicts);
    value_unref(message->session);
    value_unref(message->token);
    value_unref(message->branch);
    value_unref(message->reason);
    *message = (struct message){0};
}

enum message_turn message_take(struct message_order *order,
                               const struct message *message)
{
    if (message->connection != order->connection ||
        message->number <= order->received) {
        return MESSAGE_STALE;
    }
    if (message->number != order->received + 1) {
        return MESSAGE_GAP;
    }
    order->received++;
    return MESSAGE_NEXT;
}
