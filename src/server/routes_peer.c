/* A connection to the hub without a network: messages go straight to it.
 *
 *   route-peer-1  The hub calls `received` inside its own calls; whoever gets
 *                 the message only takes notes.
 *   route-peer-2  A peer that the hub has broken or revoked stays attached
 *                 until its owner closes it, and says why. */

#include "server/routes_internal.h"

static void lose(struct route_peer *peer, enum err err, const char *why)
{
    peer->is_lost = true;
    if (peer->why.err == ERR_OK) {
        (void)err_set(&peer->why, err, "%s", why);
    }
}

static void on_send(void *ctx, struct message *message)
{
    struct route_peer *peer = ctx;
    if (message->kind == MESSAGE_REVOKED) {
        if (value_is_text(message->reason, "unauthorized")) {
            lose(peer, ERR_ACCESS, "access to the space was withdrawn");
        } else {
            lose(peer, ERR_SESSION_LOST, "the session was ended");
        }
    }
    peer->received(peer, message);
    message_release(message);
}

/* hub-5: the engine has failed, and the hub knows how. */
static void on_broken(void *ctx)
{
    struct route_peer *peer = ctx;
    const struct hub *hub = peer->space->hub;
    struct message none = {.kind = MESSAGE_REVOKED};
    for (size_t i = HUB_WORK_COUNT; i-- > 0;) {
        const struct err_detail *trouble = &hub->troubles[i];
        if (trouble->err != ERR_OK) {
            lose(peer, trouble->err, trouble->text);
        }
    }
    lose(peer, ERR_STORE, "the store has failed");
    peer->received(peer, &none);
}

struct route_peer *route_peer_of(const struct hub_peer *peer)
{
    return peer->send == on_send ? peer->ctx : NULL;
}

void route_peer_open(struct route_peer *peer,
                     struct route_space *space,
                     struct value principal,
                     struct value session)
{
    struct message open = {
        .kind = MESSAGE_OPEN,
        .session = value_ref(session),
    };
    peer->space = space;
    peer->peer = hub_attach(space->hub, principal, on_send, on_broken, peer);
    route_peer_send(peer, &open);
}

void route_peer_close(struct route_peer *peer)
{
    if (peer->peer != NULL) {
        hub_detach(peer->peer);
        peer->peer = NULL;
    }
}

void route_peer_send(struct route_peer *peer, struct message *message)
{
    message->connection = 1;
    message->number = ++peer->number;
    if (!peer->is_lost) {
        hub_receive(peer->peer, message);
    }
    message_release(message);
}
