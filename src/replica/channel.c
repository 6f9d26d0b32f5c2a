/* Collects changes, and notifies subscribers. */

#include "replica/channel.h"

#include "replica/channel_deliver.h"
#include "replica/transaction.h"

const char *notification_name(enum notification_kind kind)
{
    switch (kind) {
    case NOTIFY_COMMIT:
        return "commit";
    case NOTIFY_REVERT:
        return "revert";
    case NOTIFY_PULL:
        return "pull";
    case NOTIFY_INTEGRATE:
        return "integrate";
    case NOTIFY_RESET:
        return "reset";
    }
    UNREACHABLE("all kinds are above");
}

void channel_subscribe(struct replica *replica, struct subscriber *subscriber)
{
    list_node_init(&subscriber->node);
    list_push_back(&replica->subscribers, &subscriber->node);
}

void channel_unsubscribe(struct subscriber *subscriber)
{
    list_remove(&subscriber->node);
}

void change_list_touch(struct change_list *list, struct entity *entity)
{
    if (entity->listed) {
        return;
    }
    entity->listed = true;
    struct change *change = vec_add(&list->at);
    change->entity = entity;
    change->before.payload = value_ref(entity->visible.payload);
    change->before.rest = value_ref(entity->visible.rest);
}

/* Keeps what changed visibly, in order; and whether more than payloads did. */
static void keep_changed(struct change_list *list,
                         uint64_t version,
                         bool all_differ,
                         bool *beside)
{
    size_t kept = 0;
    VEC_FOREACH (&list->at, change) {
        struct entity *entity = change->entity;
        entity->listed = false;
        if (!all_differ &&
            entity_state_equal(&change->before, &entity->visible)) {
            entity_state_release(&change->before);
            continue;
        }
        change->after.payload = value_ref(entity->visible.payload);
        change->after.rest = value_ref(entity->visible.rest);
        entity->version = version;
        if (value_is_heap(change->before.rest) ||
            value_is_heap(change->after.rest)) {
            *beside = *beside ||
                      !value_is_same(change->before.rest, change->after.rest);
        }
        if (UNLIKELY(change != &list->at.at[kept])) {
            list->at.at[kept] = *change;
        }
        kept++;
    }
    list->at.count = kept;
}

void channel_deliver_answer(const struct replica *replica,
                            struct subscriber *subscriber,
                            const struct notification *what,
                            enum channel_answer answer)
{
    if (answer == CHANNEL_DONE) {
        channel_unsubscribe(subscriber);
        return;
    }
    log_write(replica->log,
              LOG_LEVEL_ERROR,
              "a subscriber failed on a %s",
              notification_name(what->kind));
}

/* Two list nodes of our own mark the position and the end: a subscriber may
 * remove others, and a new subscriber is behind the end (channel-4). */
COLD static void tell_between(struct replica *replica,
                              const struct notification *what,
                              struct list_node *at,
                              struct list_node *end)
{
    list_push_front(&replica->subscribers, at);
    list_push_back(&replica->subscribers, end);
    while (at->next != end) {
        struct subscriber *subscriber =
            CONTAINER_OF(at->next, struct subscriber, node);
        list_remove(at);
        list_insert_after(at, &subscriber->node);
        channel_deliver_one(replica, subscriber, what);
    }
    list_remove(at);
    list_remove(end);
}

void channel_deliver_many(struct replica *replica,
                          const struct notification *what)
{
    struct list_node at;
    struct list_node end;
    list_node_init(&at);
    list_node_init(&end);
    tell_between(replica, what, &at, &end);
}

static void release_changes(struct change_list *list)
{
    VEC_FOREACH (&list->at, change) {
        entity_state_release(&change->before);
        entity_state_release(&change->after);
    }
    vec_clear(&list->at);
}

void channel_publish(struct replica *replica,
                     struct change_list *list,
                     struct notification *notification)
{
    const enum notification_kind kind = notification->kind;
    notification->more = kind == NOTIFY_RESET;
    keep_changed(list,
                 replica->version + 1,
                 kind == NOTIFY_COMMIT,
                 &notification->more);
    const bool empty = list->at.count == 0;
    if (!empty) {
        replica->version++;
    }
    /* A commit always has an effect, and a revert is published even if it has
     * none: exactly one each. */
    if (!empty || kind != NOTIFY_INTEGRATE) {
        notification->changes = list->at.at;
        notification->count = list->at.count;
        notification->version = replica->version;
        channel_deliver_all(replica, notification);
    }
    release_changes(list);
}
