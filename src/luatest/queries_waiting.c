/* rt:events() and rt:timers(): what waits in the stores, as lists. */

#include <string.h>

#include "luatest/queries.h"
#include "proto/event.h"
#include "sched/timers.h"
#include "script/convert.h"
#include "value/array.h"
#include "value/object.h"

struct waiting {
    struct test_runtime *rt;
    struct value list;
    uint64_t last; /* the number of the last one, */
    uint64_t due;  /* and its time */
    size_t count;  /* in this answer */
    bool timers;
};

/* The piece and the handler of a stream, or its id. */
static void put_stream(struct value *to, struct value stream)
{
    const struct text id = value_text(&stream);
    const size_t front = strlen("piece:");
    const char *slash = value_begins_with(stream, "piece:")
                            ? memchr(id.at, '/', id.length)
                            : NULL;
    if (slash == NULL) {
        object_put_adopt(to, "stream", value_ref(stream));
        return;
    }
    const size_t end = (size_t)(slash - id.at);
    object_put_adopt(to, "piece", value_string_new(id.at + front, end - front));
    object_put_adopt(to,
                     "stream",
                     value_string_new(slash + 1, id.length - end - 1));
}

static void on_found(void *ctx,
                     uint64_t number,
                     struct value id,
                     struct value document)
{
    struct waiting *waiting = ctx;
    struct stored_event event;
    struct err_detail detail = {0};
    waiting->count++;
    waiting->last = number;
    if (stored_event_read(document,
                          &waiting->rt->one->runtime.replica.paths,
                          &event,
                          &detail) != ERR_OK) {
        return;
    }
    struct value object = value_empty_object();
    const bool is_named = event.is_timer && !value_is_absent(event.timer.id);
    object_put_adopt(&object, "id", value_ref(is_named ? event.timer.id : id));
    put_stream(&object, event.stream);
    if (event.is_timer) {
        waiting->due = event.timer.due;
        object_put_adopt(&object, "due", value_int((int64_t)event.timer.due));
    }
    if (!value_is_absent(event.payload)) {
        object_put_adopt(&object, "payload", value_ref(event.payload));
    }
    stored_event_release(&event);
    waiting->list = array_push_adopt(waiting->list, object);
}

/* All of a space, page by page. */
static void list_space(struct waiting *waiting, struct space *space)
{
    const struct stored_events_source *source =
        &waiting->rt->one->runtime.stored_events.source;
    bool more = true;
    waiting->last = 0;
    waiting->due = 0;
    while (more) {
        uint64_t next = 0;
        const struct timer_position after = {waiting->due, waiting->last};
        waiting->count = 0;
        more = waiting->timers ? source->timers(source->ctx,
                                                space,
                                                after,
                                                TIMERS_NEVER - 1,
                                                on_found,
                                                waiting,
                                                &next)
                               : source->list(source->ctx,
                                              space,
                                              waiting->last,
                                              on_found,
                                              waiting);
        more = more && waiting->count == STORED_PAGE;
    }
}

static int push_list(lua_State *L, struct test_runtime *rt, bool timers)
{
    struct waiting waiting = {
        .rt = rt,
        .list = value_empty_array(),
        .timers = timers,
    };
    world_exchange(rt->one);
    VEC_FOREACH (&rt->one->runtime.spaces, space) {
        list_space(&waiting, *space);
    }
    return queries_push_adopt(L, rt, waiting.list);
}

int queries_events(lua_State *L, struct test_runtime *rt)
{
    return push_list(L, rt, false);
}

int queries_timers(lua_State *L, struct test_runtime *rt)
{
    return push_list(L, rt, true);
}
