/* The turns of a shard. */

#include "server/shard.h"

#include <string.h>

#include "host/wake.h"
#include "server/routes.h"
#include "server/shard_internal.h"

/* -- Ports --------------------------------------------------------------- */

static bool is_port(const void *item, const void *id)
{
    const struct shard_port *port = item;
    return port->port->id == *(const net_id *)id;
}

static struct shard_port *find_port(const struct shard *shard, net_id id)
{
    return map_find(&shard->ports, id, is_port, &id);
}

static struct shard_port *take_port(struct shard *shard, struct port *from)
{
    struct shard_port *port = find_port(shard, from->id);
    if (port == NULL) {
        port = mem_alloc_zero(sizeof *port);
        port->port = port_ref(from);
        list_node_init(&port->in_touched);
        map_insert(&shard->ports, from->id, port);
    }
    return port;
}

static void free_port(struct shard *shard, struct shard_port *port)
{
    const net_id id = port->port->id;
    for (uint32_t i = 0; i < port->channels.count; i++) {
        if (port->channels.at[i] != NULL) {
            channel_free(port->channels.at[i]);
        }
    }
    list_remove(&port->in_touched);
    (void)map_remove(&shard->ports, id, is_port, &id);
    buf_release(&port->out);
    vec_release(&port->channels);
    port_unref(port->port);
    mem_free(port, sizeof *port);
}

struct buf *port_line(struct shard *shard, struct shard_port *port)
{
    if (!list_node_is_linked(&port->in_touched)) {
        list_push_back(&shard->touched_ports, &port->in_touched);
    }
    if (port->out.length > 0) {
        buf_append_char(&port->out, '\n');
    }
    return &port->out;
}

/* shard-5. A connection that waits keeps no memory for it. */
void shard_send_outgoing(struct shard *shard)
{
    const struct shard_options *options = &shard->options;
    if (shard->outgoing.count > 0) {
        options->send(options->ctx, shard->outgoing.at, shard->outgoing.count);
        vec_clear(&shard->outgoing);
    }
}

static void send_ports(struct shard *shard)
{
    LIST_FOREACH (&shard->touched_ports, node) {
        struct shard_port *port =
            CONTAINER_OF(node, struct shard_port, in_touched);
        const struct net_outgoing outgoing = {
            .id = port->port->id,
            .head = net_bytes_new(port->out.at, port->out.length),
        };
        vec_push(&shard->outgoing, outgoing);
        buf_release(&port->out);
        port->out = (struct buf){0};
        list_remove(&port->in_touched);
    }
    shard_send_outgoing(shard);
}

/* -- Items --------------------------------------------------------------- */

static struct channel *find_channel(const struct shard_port *port,
                                    uint64_t number)
{
    return number < port->channels.count ? port->channels.at[number] : NULL;
}

/* The I/O thread has checked the number. A line of a channel that was refused,
 * or has ended, is what the client sent before it knew. */
static void take_line(struct shard_port *port, const char *text, size_t length)
{
    uint64_t number = 0;
    size_t i = 0;
    for (; i < length && text[i] != ' '; i++) {
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    struct channel *channel = find_channel(port, number);
    if (channel != NULL) {
        channel_receive(channel, text + i + 1, length - i - 1);
    }
}

/* The I/O thread reads on when half of what it waited for is done. */
static void count_off(struct shard *shard, const struct item *item)
{
    struct port *port = item->port;
    const uint32_t before =
        atomic_fetch_sub(&port->queued, (uint32_t)item->length);
    const uint32_t left = before - (uint32_t)item->length;
    if (left <= shard->options.limits.inbox_bytes / 2 &&
        atomic_load(&port->is_paused) &&
        atomic_exchange(&port->is_paused, false)) {
        shard->options.resume(shard->options.ctx, port->id);
    }
}

static void take_lines(struct shard *shard, const struct item *item)
{
    struct shard_port *port = find_port(shard, item->port->id);
    const char *end = item->text + item->length;
    for (const char *at = item->text; port != NULL && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop != NULL ? stop : end) - at);
        if (length > 0) {
            take_line(port, at, length);
        }
        at += length + 1;
    }
    count_off(shard, item);
}

static void take_detach(struct shard *shard, const struct item *item)
{
    struct shard_port *port = find_port(shard, item->port->id);
    struct channel *channel =
        port != NULL ? find_channel(port, item->channel) : NULL;
    if (channel != NULL) {
        channel_end(channel, ERR_OK, "%s", "");
    }
}

static void take_answer(struct shard *shard, struct item *item)
{
    struct shard_port *port = find_port(shard, item->port->id);
    struct channel *channel =
        port != NULL ? find_channel(port, item->channel) : NULL;
    if (channel != NULL && channel->job == item->serial) {
        channel_answered(channel, item);
    }
}

static void take_closed(struct shard *shard, const struct item *item)
{
    struct shard_port *port = find_port(shard, item->port->id);
    if (port != NULL) {
        free_port(shard, port);
    }
}

static void take_item(struct shard *shard, struct item *item)
{
    switch (item->kind) {
    case ITEM_LINES:
        take_lines(shard, item);
        break;
    case ITEM_ATTACH:
        (void)atomic_fetch_sub(&item->port->attaching, 1);
        channel_attach(shard, take_port(shard, item->port), item);
        break;
    case ITEM_DETACH:
        take_detach(shard, item);
        break;
    case ITEM_CLOSED:
        take_closed(shard, item);
        break;
    case ITEM_REQUEST:
        request_begin(shard, item);
        break;
    case ITEM_ENDED:
        request_ended(shard, item->id);
        break;
    case ITEM_ANSWER:
        take_answer(shard, item);
        break;
    }
    item_free(item);
}

struct proof_clock shard_clock(const struct shard *shard)
{
    return (struct proof_clock){
        .wall_ms = shard->options.wall_ms(shard->options.ctx),
        .mono = shard->now,
    };
}

/* -- Turns --------------------------------------------------------------- */

/* shard-5: answers do not wait for the disk of other spaces. */
static void settle_spaces(struct shard *shard)
{
    for (struct list_node *node = list_first(&shard->touched_spaces);
         node != NULL;
         node = list_first(&shard->touched_spaces)) {
        shard_space_settle(CONTAINER_OF(node, struct shard_space, in_touched));
        channels_collect(shard);
        send_ports(shard);
    }
}

/* After a reload, those who are no longer owners lose what they have open. */
static void begin_turn(struct shard *shard, mono_ms now)
{
    const struct authenticator *with =
        atomic_load(shard->options.authenticator);
    shard->now = now;
    if (UNLIKELY(with != shard->authenticator)) {
        shard->authenticator = with;
        MAP_FOREACH (&shard->spaces, slot) {
            struct shard_space *space = slot->item;
            if (!space->is_server) {
                space->access_is_stale = true;
                shard_space_touch(space);
            }
        }
    }
}

static void end_turn(struct shard *shard)
{
    settle_spaces(shard);
    channels_collect(shard);
    send_ports(shard);
}

void shard_turn(struct shard *shard, struct item *items, mono_ms now)
{
    begin_turn(shard, now);
    while (items != NULL) {
        struct item *next = items->next;
        take_item(shard, items);
        items = next;
    }
    end_turn(shard);
}

static bool is_watched(const void *item, const void *number)
{
    const struct shard_space *space = item;
    return space->watch == *(const int *)number;
}

void shard_unwatch(struct shard_space *space)
{
    const int number = space->watch;
    if (number != WAKE_UNWATCHED) {
        (void)map_remove(&space->shard->watched,
                         (uint64_t)number,
                         is_watched,
                         &number);
        space->watch = WAKE_UNWATCHED;
    }
}

static void note_written(void *ctx, int number, bool gone)
{
    struct shard *shard = ctx;
    struct shard_space *space =
        map_find(&shard->watched, (uint64_t)number, is_watched, &number);
    if (space == NULL) {
        return;
    }
    if (!list_node_is_linked(&space->in_written)) {
        list_push_back(&shard->written, &space->in_written);
    }
    if (gone) {
        shard_unwatch(space);
    }
}

/* Its own commits write to the lock file, too. */
static bool is_written_by_others(const struct shard_space *space)
{
    return space->hub.changes == 0 ||
           space->hub.changes != database_changes(&space->engine.database);
}

void shard_notice_writes(struct shard *shard)
{
    wake_take_writes(shard->options.wake, note_written, shard);
    LIST_FOREACH (&shard->written, node) {
        struct shard_space *space =
            CONTAINER_OF(node, struct shard_space, in_written);
        list_remove(&space->in_written);
        if (is_written_by_others(space)) {
            const uint64_t before = space->hub.seq;
            shard_space_touch(space);
            hub_poll(&space->hub);
            if (space->hub.seq != before) {
                space->has_new_events = space->followers > 0;
            }
        }
    }
    end_turn(shard);
}

/* Its sessions have ended, too: a client that comes back continues. */
static bool is_idle(const struct shard_space *space)
{
    return list_is_empty(&space->channels) && list_is_empty(&space->hub.idle) &&
           route_space_waiting(space->routes) == 0 &&
           space->shard->now >= space->used + space->shard->options.idle_ms;
}

static struct shard_space *find_idle(const struct shard *shard)
{
    MAP_FOREACH (&shard->spaces, slot) {
        if (is_idle(slot->item)) {
            return slot->item;
        }
    }
    return NULL;
}

/* Credentials end, and with them what was opened with them. */
static void end_expired(struct shard *shard)
{
    const uint64_t wall_ms = shard->options.wall_ms(shard->options.ctx);
    MAP_FOREACH (&shard->spaces, slot) {
        struct shard_space *space = slot->item;
        LIST_FOREACH (&space->channels, node) {
            struct channel *channel =
                CONTAINER_OF(node, struct channel, in_space);
            if (channel->credential.expires_ms != 0 &&
                channel->credential.expires_ms <= wall_ms) {
                channel_end(channel,
                            ERR_UNAUTHENTICATED,
                            "the token has expired; attach with a new one");
            }
        }
    }
}

void shard_tick(struct shard *shard, mono_ms now)
{
    begin_turn(shard, now);
    MAP_FOREACH (&shard->spaces, slot) {
        struct shard_space *space = slot->item;
        if (space->hub.now + SHARD_TICK_MS <= now ||
            hub_next_wake(&space->hub) <= now) {
            shard_space_touch(space);
            hub_step(&space->hub, now);
        }
    }
    end_expired(shard);
    end_turn(shard);
    struct shard_space *idle = find_idle(shard);
    for (unsigned i = 0; i < SHARD_CLOSES && idle != NULL; i++) {
        shard_space_close(idle);
        idle = find_idle(shard);
    }
}

void shard_wake(struct shard *shard, mono_ms now)
{
    begin_turn(shard, now);
    LIST_FOREACH (&shard->waiting, node) {
        struct shard_space *space =
            CONTAINER_OF(node, struct shard_space, in_waiting);
        if (route_space_next_wake(space->routes) <= now) {
            shard_space_touch(space);
        }
    }
    end_turn(shard);
}

void shard_drain(struct shard *shard, mono_ms now)
{
    begin_turn(shard, now);
    MAP_FOREACH (&shard->spaces, slot) {
        requests_end(slot->item);
    }
    end_turn(shard);
}

uint64_t shard_us(const struct shard *shard)
{
    return shard->options.now_us != NULL
               ? shard->options.now_us(shard->options.ctx)
               : 0;
}

mono_ms shard_next_wake(const struct shard *shard)
{
    mono_ms wake = MONO_NEVER;
    LIST_FOREACH (&shard->waiting, node) {
        const struct shard_space *space =
            CONTAINER_OF(node, struct shard_space, in_waiting);
        const mono_ms next = route_space_next_wake(space->routes);
        wake = next < wake ? next : wake;
    }
    return wake;
}

/* -- Life ---------------------------------------------------------------- */

void shard_init(struct shard *shard,
                const struct shard_options *options,
                mono_ms now)
{
    *shard = (struct shard){
        .options = *options,
        .authenticator = atomic_load(options->authenticator),
        .now = now,
    };
    list_init(&shard->written);
    list_init(&shard->waiting);
    list_init(&shard->touched_spaces);
    list_init(&shard->touched_ports);
    list_init(&shard->over);
    path_table_init(&shard->paths);
}

void shard_release(struct shard *shard)
{
    for (struct map_slot *slot = map_next(&shard->ports, NULL); slot != NULL;
         slot = map_next(&shard->ports, NULL)) {
        free_port(shard, slot->item);
    }
    for (struct map_slot *slot = map_next(&shard->spaces, NULL); slot != NULL;
         slot = map_next(&shard->spaces, NULL)) {
        shard_space_close(slot->item);
    }
    map_release(&shard->ports);
    map_release(&shard->spaces);
    map_release(&shard->watched);
    vec_release(&shard->outgoing);
    path_table_release(&shard->paths);
}
