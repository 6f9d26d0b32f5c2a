/* The replica as a whole. */

#include "replica/replica.h"

#include "base/mem.h"
#include "proto/observation.h"
#include "replica/overlay.h"
#include "replica/session.h"
#include "replica/space.h"
#include "replica/transaction.h"

#define SPACE_OF(list_node) CONTAINER_OF((list_node), struct space, node)

void replica_init(struct replica *replica, const struct log *log)
{
    *replica = (struct replica){.log = log};
    path_table_init(&replica->paths);
    list_init(&replica->spaces);
    list_init(&replica->subscribers);
    replica->root_path = path_new(&replica->paths, NULL, 0);
    const struct path_segment payload = path_segment(value_text_new("value"));
    replica->payload_path = path_new(&replica->paths, &payload, 1);
}

void replica_release(struct replica *replica)
{
    CHECK(replica->open == 0);
    while (!list_is_empty(&replica->spaces)) {
        space_close(SPACE_OF(list_first(&replica->spaces)));
    }
    while (replica->idle_transactions != NULL) {
        struct transaction *transaction = replica->idle_transactions;
        replica->idle_transactions = transaction->next_idle;
        transaction_free(transaction);
    }
    VEC_FOREACH (&replica->idle_pendings, pending) {
        pending_free(*pending);
    }
    VEC_FOREACH (&replica->idle_overlays, overlay) {
        overlay_free(*overlay);
    }
    VEC_FOREACH (&replica->idle_observations, observation) {
        observation_unref(*observation);
    }
    vec_release(&replica->idle_observations);
    vec_release(&replica->idle_pendings);
    vec_release(&replica->idle_overlays);
    vec_release(&replica->changes.at);
    vec_release(&replica->clocks);
    CHECK(replica->places.count == 0);
    map_release(&replica->places);
    pool_release(&replica->place_pool);
    pool_release(&replica->entity_pool);
    path_unref(replica->root_path);
    path_unref(replica->payload_path);
    path_table_release(&replica->paths);
}

void replica_pump(struct replica *replica)
{
    /* One call handles everything: nested calls find it busy. */
    while (replica->needs_step && replica->open == 0 && !replica->delivering &&
           !replica->pumping) {
        replica->pumping = true;
        replica->needs_step = false;
        LIST_FOREACH (&replica->spaces, node) {
            struct space *space = SPACE_OF(node);
            if (space->session != NULL) {
                session_drain(space->session);
                if (!space->batch) {
                    session_flush(space->session);
                }
                replica->needs_step =
                    replica->needs_step || session_needs_step(space->session);
            }
        }
        replica->pumping = false;
    }
}

bool replica_has_questions(const struct replica *replica)
{
    LIST_FOREACH (&replica->spaces, node) {
        const struct space *space = SPACE_OF(node);
        if (space->wanted.count > 0 && space->session != NULL &&
            space->session->state == SESSION_OPEN) {
            return true;
        }
    }
    return false;
}

void replica_step(struct replica *replica, mono_ms now)
{
    LIST_FOREACH (&replica->spaces, node) {
        space_step(SPACE_OF(node), now);
    }
    replica_pump(replica);
}

mono_ms replica_next_wake(const struct replica *replica)
{
    mono_ms wake = MONO_NEVER;
    LIST_FOREACH (&replica->spaces, node) {
        const mono_ms space_wake = space_next_wake(SPACE_OF(node));
        wake = space_wake < wake ? space_wake : wake;
    }
    return wake;
}
