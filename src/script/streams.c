/* Streams, their handlers, and the tickets of what is sent to them. */

#include "script/streams.h"

#include <string.h>

#include "base/mem.h"
#include "front/event_ticket.h"
#include "runtime/timer.h"
#include "sched/durable.h"
#include "sched/handling.h"
#include "sched/timers.h"
#include "script/bodies.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/nodes.h"
#include "script/reads.h"
#include "script/transactions.h"
#include "value/compare.h"

/* -- Streams ------------------------------------------------------------- */

struct stream_object {
    struct binding binding;
    struct stream *stream;
    struct place *place; /* a reference while it is bound */
    struct value id;
};

static void stream_cut(struct binding *binding)
{
    struct stream_object *stream =
        CONTAINER_OF(binding, struct stream_object, binding);
    stream->stream = NULL;
    place_unref(stream->place);
    stream->place = NULL;
}

static void stream_release(void *object)
{
    struct stream_object *stream = object;
    if (stream->binding.lua != NULL) {
        binding_untie(&stream->binding);
        stream_cut(&stream->binding);
    }
    value_unref(stream->id);
    stream->id = VALUE_NONE;
}

static const struct script_class stream_class;

static struct stream_object *check_stream(lua_State *L, int argument)
{
    struct stream_object *stream =
        script_object_check(L, argument, &stream_class);
    if (stream->binding.lua == NULL) {
        (void)luaL_error(L, "the runtime of this stream has ended");
    }
    return stream;
}

void streams_push(lua_State *L, struct lua_runtime *lua, struct place *place)
{
    struct stream_object *object =
        script_object_push(L, &stream_class, sizeof *object);
    object->stream = events_stream(lua_runtime_sched(lua), place);
    object->place = place_ref(place);
    object->id = value_ref(place->entity->id);
    binding_tie(&object->binding, lua, stream_cut);
}

struct place *streams_test(lua_State *L, int index, struct lua_runtime **lua)
{
    const struct stream_object *object =
        script_object_test(L, index, &stream_class);
    if (object == NULL || object->binding.lua == NULL) {
        return NULL;
    }
    *lua = object->binding.lua;
    return object->place;
}

int streams_new(lua_State *L, struct lua_runtime *lua)
{
    lua_settop(L, 3);
    streams_push(L, lua, cells_push_named(L, lua, 2, 3));
    return 1;
}

/* -- Tickets ------------------------------------------------------------- */

/* Held by its event, as long as that has not ended, and by Lua. */
struct ticket {
    uint32_t refs;
    struct event_ticket inside;
};

struct ticket_object {
    struct ticket *ticket;
};

static void ticket_unref(struct ticket *ticket)
{
    if (--ticket->refs == 0) {
        event_ticket_release(&ticket->inside);
        mem_free(ticket, sizeof *ticket);
    }
}

static void ticket_release(void *object)
{
    struct ticket_object *handle = object;
    if (handle->ticket != NULL) {
        ticket_unref(handle->ticket);
        handle->ticket = NULL;
    }
}

static void on_end(struct event_ticket *ticket)
{
    ticket_unref(CONTAINER_OF(ticket, struct ticket, inside));
}

static const struct script_class ticket_class;

static const struct event_ticket *check_ticket(lua_State *L)
{
    const struct ticket_object *handle =
        script_object_check(L, 1, &ticket_class);
    return &handle->ticket->inside;
}

static int ticket_state(lua_State *L)
{
    const struct event_ticket *ticket = check_ticket(L);
    lua_pushstring(L,
                   !ticket->ended                     ? "queued"
                   : ticket->outcome == EVENT_QUEUED  ? "stored"
                   : ticket->outcome == EVENT_DONE    ? "done"
                   : ticket->outcome == EVENT_DROPPED ? "dropped"
                                                      : "failed");
    return 1;
}

static int ticket_receipt(lua_State *L)
{
    convert_push(L, check_ticket(L)->receipt);
    return 1;
}

static int ticket_error(lua_State *L)
{
    const struct event_ticket *ticket = check_ticket(L);
    const struct heddle_source *source = &heddle_of(L)->source;
    if (source->asked != NULL && ticket->error.err != ERR_OK) {
        const bool is_said = ticket->error.text[0] != '\0';
        source->asked(source->ctx,
                      is_said ? ticket->error.text
                              : err_text(ticket->error.err));
    }
    transactions_push_error(L, &ticket->error);
    return 1;
}

static const luaL_Reg ticket_methods[] = {
    {"state", ticket_state},
    {"receipt", ticket_receipt},
    {"error", ticket_error},
    {NULL, NULL},
};

static const struct script_class ticket_class = {
    .name = "ticket",
    .methods = ticket_methods,
    .release = ticket_release,
};

/* -- Sending ------------------------------------------------------------- */

/* What may have to be released if something raises: in the hands of Lua. */
struct letter {
    struct value payload;
    struct value id;
    struct value session;
    struct value cron;
    struct value zone;
    struct value missed;
    struct timer_request request; /* borrows them */
    struct event_timer timer;
};

static void letter_release(void *object)
{
    struct letter *letter = object;
    value_unref(letter->payload);
    value_unref(letter->id);
    value_unref(letter->session);
    value_unref(letter->cron);
    value_unref(letter->zone);
    value_unref(letter->missed);
    event_timer_release(&letter->timer);
    *letter = (struct letter){0};
}

static const struct script_class letter_class = {
    .name = "letter",
    .release = letter_release,
};

/* A number of ms at the top of the stack; or a text that is one. */
static uint64_t check_ms(lua_State *L, const char *name)
{
    int is_number = 0;
    const lua_Number number = lua_tonumberx(L, -1, &is_number);
    if (lua_type(L, -1) != LUA_TNUMBER || !is_number || !(number >= 0) ||
        number > (lua_Number)TIMER_TIME_MOST) {
        (void)luaL_error(L,
                         "'%s' must be a number of milliseconds from 0 on",
                         name);
    }
    return (uint64_t)number;
}

/* The options of a timer, in the table at 3. */
static void read_times(lua_State *L, struct letter *letter)
{
    struct timer_request *request = &letter->request;
    request->has_after = lua_getfield(L, 3, "after") != LUA_TNIL;
    if (request->has_after) {
        request->after = check_ms(L, "after");
    }
    request->has_at = lua_getfield(L, 3, "at") != LUA_TNIL;
    if (request->has_at && lua_type(L, -1) == LUA_TSTRING) {
        if (!timer_read_time(lua_tostring(L, -1), &request->at)) {
            (void)luaL_error(L,
                             "'at' must be a number of milliseconds, or a time "
                             "such as \"2026-11-18T09:00:00Z\"");
        }
    } else if (request->has_at) {
        request->at = check_ms(L, "at");
    }
    const int every = lua_getfield(L, 3, "every");
    if (every == LUA_TSTRING) {
        value_unref(letter->cron);
        letter->cron = convert_check(L, -1, "every");
    } else if (every != LUA_TNIL) {
        request->every = check_ms(L, "every");
        luaL_argcheck(L,
                      request->every > 0,
                      3,
                      "'every' must be greater than "
                      "0");
    }
    lua_pop(L, 3);
}

/* Whether the table has only options that there are. */
static void check_names(lua_State *L)
{
    static const char *const known[] = {"id",
                                        "session",
                                        "after",
                                        "at",
                                        "every",
                                        "cron",
                                        "tz",
                                        "zone",
                                        "missed"};
    lua_pushnil(L);
    while (lua_next(L, 3) != 0) {
        lua_pop(L, 1);
        const char *name =
            lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        bool is_known = false;
        for (size_t i = 0; i < COUNT_OF(known); i++) {
            is_known = is_known || strcmp(name, known[i]) == 0;
        }
        if (!is_known) {
            (void)luaL_error(L,
                             "send has no option '%s': its options are id, "
                             "session, after, at, every, cron, tz and missed",
                             name);
        }
    }
}

/* The payload at 2 and the options at 3. */
static struct letter *push_letter(lua_State *L)
{
    lua_settop(L, 3);
    struct letter *letter =
        script_object_push(L, &letter_class, sizeof *letter);
    letter->payload = convert_check(L, 2, "the payload");
    if (lua_isnil(L, 3)) {
        return letter;
    }
    luaL_checktype(L, 3, LUA_TTABLE);
    check_names(L);
    static const char *const names[] =
        {"id", "session", "cron", "tz", "zone", "missed"};
    struct value *const to[] = {
        &letter->id,
        &letter->session,
        &letter->cron,
        &letter->zone,
        &letter->zone, /* another name of tz */
        &letter->missed,
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const int type = lua_getfield(L, 3, names[i]);
        if (type == LUA_TSTRING) {
            value_unref(*to[i]);
            *to[i] = convert_check(L, -1, names[i]);
        } else if (type != LUA_TNIL) {
            (void)luaL_error(L, "%s must be a string", names[i]);
        }
        lua_pop(L, 1);
    }
    read_times(L, letter);
    letter->request.cron = letter->cron;
    letter->request.zone = letter->zone;
    letter->request.missed = letter->missed;
    return letter;
}

/* Whether it is to be a timer, and when it is due then. What a handler sends
 * with an id, and without the session that would make the id a caller's, can be
 * replaced and cancelled by that id as timers can: it is one that is due at
 * once. */
static bool plan_letter(lua_State *L,
                        struct lua_runtime *lua,
                        struct letter *letter)
{
    struct err_detail detail = {0};
    if (!timer_is_asked(&letter->request)) {
        if (lua->frame->call.handling == NULL || value_is_absent(letter->id) ||
            !value_is_absent(letter->session)) {
            return false;
        }
        letter->request.has_after = true;
    }
    if (!value_is_absent(letter->session)) {
        (void)luaL_error(L,
                         "the id of a timer is its name in the piece: leave "
                         "out 'session'");
    }
    letter->request.id = letter->id;
    const enum err err = timer_plan(lua->runtime,
                                    &letter->request,
                                    lua_runtime_wall(lua),
                                    &letter->timer,
                                    &detail);
    reads_raise(L, err, &detail);
    return true;
}

static struct ticket *push_ticket(lua_State *L)
{
    struct ticket_object *handle =
        script_object_push(L, &ticket_class, sizeof *handle);
    handle->ticket = mem_alloc_zero(sizeof *handle->ticket);
    handle->ticket->refs = 1;
    handle->ticket->inside.on_end = on_end;
    return handle->ticket;
}

int streams_send_to(lua_State *L,
                    struct lua_runtime *lua,
                    struct stream *stream)
{
    struct letter *letter = push_letter(L);
    const bool is_timer = plan_letter(L, lua, letter);
    struct ticket *ticket = push_ticket(L);
    struct event_spec spec = {
        .payload = letter->payload,
        .id = is_timer ? VALUE_NONE : letter->id,
        .session = letter->session,
        .timer = is_timer ? &letter->timer : NULL,
        .time = lua_runtime_wall(lua),
    };
    ticket->refs++;
    struct err_detail detail = {0};
    const enum err err = event_ticket_send(&ticket->inside,
                                           &lua->tickets,
                                           &lua->frame->call,
                                           stream,
                                           &spec,
                                           &detail);
    if (err != ERR_OK) {
        ticket_unref(ticket);
        reads_raise(L, err, &detail);
    }
    return 1;
}

static void refuse_building(lua_State *L, const struct lua_runtime *lua)
{
    if (lua->frame->call.kind == FRAME_BUILD) {
        (void)luaL_error(L,
                         "a pattern is built, not run: send in a function that "
                         "is given to p:handler");
    }
    if (lua->frame->call.kind == FRAME_TASK) {
        (void)luaL_error(L,
                         "a task cannot send events: return its value, which "
                         "an effect or a computation reads");
    }
    if (lua->frame->call.kind == FRAME_MIGRATION) {
        (void)luaL_error(L,
                         "a migration cannot send events: send in a "
                         "handler");
    }
}

static int stream_send(lua_State *L)
{
    const struct stream_object *stream = check_stream(L, 1);
    refuse_building(L, stream->binding.lua);
    return streams_send_to(L, stream->binding.lua, stream->stream);
}

/* The stream at an argument: one, or a cell with a link to one. */
static struct stream *check_target(lua_State *L,
                                   int argument,
                                   struct lua_runtime **lua)
{
    struct place *place = cells_test(L, argument, lua);
    if (place == NULL && lua_isnoneornil(L, argument)) {
        (void)luaL_argerror(
            L,
            argument,
            "a stream is expected, not nil; in a handler "
            "'child.add' reads a value: use child:key(\"add\")");
    }
    if (place == NULL) {
        const struct stream_object *stream = check_stream(L, argument);
        *lua = stream->binding.lua;
        return stream->stream;
    }
    refuse_building(L, *lua);
    struct stream *stream = NULL;
    struct err_detail detail = {0};
    const enum err err =
        cell_stream(&(*lua)->frame->call.access, place, &stream, &detail);
    reads_raise(L, call_frame_note(&(*lua)->frame->call, err), &detail);
    return stream;
}

/* Pushes what heddle.cancel takes for the event that the handler has just sent:
 * the id of a timer in the options at 3, or that of its document, also of an
 * event whose id belongs to a session; nil, if it is not stored. */
static void push_id(lua_State *L, struct lua_runtime *lua)
{
    if (lua_istable(L, 3) && lua_getfield(L, 3, "session") == LUA_TNIL &&
        lua_getfield(L, 3, "id") != LUA_TNIL) {
        return;
    }
    struct view_found *held = view_hold(&lua->frame->views);
    held->value = durable_last_sent(lua_runtime_sched(lua),
                                    lua->frame->call.access.transaction);
    convert_push(L, held->value);
}

int streams_follow_up(lua_State *L)
{
    struct lua_runtime *lua = NULL;
    struct stream *stream = check_target(L, 1, &lua);
    if (lua->frame->call.handling == NULL) {
        return luaL_error(L,
                          "heddle.send is only for handlers: "
                          "elsewhere use stream:send(payload)");
    }
    (void)streams_send_to(L, lua, stream);
    push_id(L, lua);
    return 1;
}

/* -- Cancelling timers --------------------------------------------------- */

/* What a cancel outside of runs has come to; it may end after the call. */
struct cancelled {
    bool ended;
    bool left; /* by the call */
    bool was;
    struct err_detail said;
};

static void on_cancelled(void *ctx, bool was, const struct err_detail *said)
{
    struct cancelled *cancelled = ctx;
    if (cancelled->left) {
        mem_free(cancelled, sizeof *cancelled);
        return;
    }
    cancelled->ended = true;
    cancelled->was = was;
    cancelled->said = *said;
}

/* Outside of runs: what the store says is waited for, as far as it comes at
 * this time. */
static enum err cancel_outside(struct lua_runtime *lua,
                               const struct timer_target *target,
                               bool *was,
                               struct err_detail *detail)
{
    struct cancelled *cancelled = mem_alloc_zero(sizeof *cancelled);
    const struct timer_cancelling asked = {on_cancelled, cancelled};
    enum err err = timer_cancel(lua->runtime, target, &asked, NULL, detail);
    if (err == ERR_OK && !cancelled->ended && lua->host->settle != NULL) {
        lua->host->settle(lua->host->ctx);
    }
    if (err == ERR_OK && !cancelled->ended) {
        cancelled->left = true;
        return err_set(detail,
                       ERR_BUSY,
                       "the store has not answered yet: the timer may or may "
                       "not be cancelled");
    }
    *was = cancelled->was;
    if (err == ERR_OK && cancelled->said.err != ERR_OK) {
        *detail = cancelled->said;
        err = cancelled->said.err;
    }
    mem_free(cancelled, sizeof *cancelled);
    return err;
}

int streams_cancel_at(lua_State *L,
                      struct lua_runtime *lua,
                      struct timer_target target,
                      int argument)
{
    const struct frame *frame = lua->frame;
    struct err_detail detail = {0};
    bool was = false;
    struct letter *held = script_object_push(L, &letter_class, sizeof *held);
    held->session = target.owner; /* released with it */
    held->id = convert_check(L, argument, "the id");
    target.name = held->id;
    enum err err = ERR_OK;
    if (frame_is_toplevel(frame)) {
        err = cancel_outside(lua, &target, &was, &detail);
    } else if (frame->call.access.run != NULL && frame->call.handling == NULL) {
        return luaL_error(L, "only a handler or an edit can cancel a timer");
    } else {
        err = timer_cancel_in(lua->runtime,
                              frame->call.access.transaction,
                              &target,
                              &was,
                              &detail);
    }
    reads_raise(L, call_frame_note(&lua->frame->call, err), &detail);
    lua_pushboolean(L, was);
    return 1;
}

/* On one stream. */
static int cancel_on(lua_State *L,
                     struct lua_runtime *lua,
                     const struct entity *stream,
                     int argument)
{
    const struct timer_target target = {.space = stream->space,
                                        .stream = stream->id};
    struct err_detail detail = {0};
    const enum err err =
        call_frame_check_cancel(&lua->frame->call, stream->space, &detail);
    reads_raise(L, err, &detail);
    return streams_cancel_at(L, lua, target, argument);
}

static int stream_cancel(lua_State *L)
{
    const struct stream_object *stream = check_stream(L, 1);
    refuse_building(L, stream->binding.lua);
    luaL_checktype(L, 2, LUA_TSTRING);
    return cancel_on(L, stream->binding.lua, stream->place->entity, 2);
}

int streams_cancel(lua_State *L)
{
    const struct frame *frame = heddle_of(L)->frame;
    if (frame == NULL || frame->call.handling == NULL) {
        return luaL_error(L,
                          "heddle.cancel is only for handlers: "
                          "elsewhere use stream:cancel(id)");
    }
    lua_settop(L, 2);
    luaL_checktype(L, 1, LUA_TSTRING);
    if (!lua_isnil(L, 2)) {
        struct lua_runtime *lua = NULL;
        const struct stream *stream = check_target(L, 2, &lua);
        return cancel_on(L, lua, events_place(stream)->entity, 1);
    }
    const struct entity *own = handling_stream(frame->call.handling)->entity;
    const struct timer_target target = {.space = own->space,
                                        .owner = event_timer_owner(own->id)};
    return streams_cancel_at(L, frame->lua, target, 1);
}

static const luaL_Reg stream_methods[] = {
    {"send", stream_send},
    {"cancel", stream_cancel},
    {NULL, NULL},
};

static struct value stream_identity(void *object)
{
    const struct stream_object *stream = object;
    return stream->place != NULL ? lua_runtime_place_value(stream->place)
                                 : value_ref(stream->id);
}

/* Its link, so that others can be given it. */
static enum err stream_as_value(void *object,
                                struct value *out,
                                struct err_detail *detail)
{
    const struct stream_object *stream = object;
    if (stream->place == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the runtime of this stream has ended");
    }
    *out = cell_link(stream->place, NULL);
    return ERR_OK;
}

static const struct script_class stream_class = {
    .name = "stream",
    .methods = stream_methods,
    .release = stream_release,
    .value = stream_as_value,
    .identity = stream_identity,
};

/* -- Handlers ------------------------------------------------------------ */

/* Held by the scheduler and by Lua. */
struct listener {
    uint32_t refs;
    struct lua_runtime *lua; /* NULL: nothing calls it any more */
    struct handler *handler;
    struct script_function function;
};

struct listener_object {
    struct binding binding;
    struct listener *listener;
};

static void listener_unref(struct listener *listener)
{
    if (--listener->refs == 0) {
        mem_free(listener, sizeof *listener);
    }
}

static void listener_gone(void *ctx)
{
    struct listener *listener = ctx;
    script_function_release(listener->lua->script, &listener->function);
    listener->lua = NULL;
    listener_unref(listener);
}

static void listener_cut(struct binding *binding)
{
    CONTAINER_OF(binding, struct listener_object, binding)->listener->handler =
        NULL;
}

static void listener_release(void *object)
{
    struct listener_object *handle = object;
    binding_untie(&handle->binding);
    if (handle->listener != NULL) {
        listener_unref(handle->listener);
        handle->listener = NULL;
    }
}

static const struct script_class listener_class;

static int listener_cancel(lua_State *L)
{
    const struct listener_object *handle =
        script_object_check(L, 1, &listener_class);
    struct listener *listener = handle->listener;
    struct handler *handler = listener->handler;
    if (handle->binding.lua != NULL && handler != NULL) {
        listener->handler = NULL;
        events_cancel(lua_runtime_sched(handle->binding.lua), handler);
    }
    return 0;
}

static const luaL_Reg listener_methods[] = {
    {"cancel", listener_cancel},
    {NULL, NULL},
};

static const struct script_class listener_class = {
    .name = "handler",
    .methods = listener_methods,
    .release = listener_release,
};

static enum run_result run_listener(struct handling *handling, void *ctx)
{
    const struct listener *listener = ctx;
    struct value result = VALUE_NONE;
    struct body_call call = {
        .lua = listener->lua,
        .function = listener->function,
        .push = bodies_push_event,
        .result = &result,
    };
    const enum run_result ended = bodies_call(handling->run, handling, &call);
    if (!value_is_absent(result)) {
        handling_return_adopt(handling, result);
    }
    return ended;
}

size_t streams_check_reads(lua_State *L,
                           const struct lua_runtime *lua,
                           const struct declared_read **out)
{
    *out = NULL;
    if (lua_isnil(L, 4)) {
        return 0;
    }
    luaL_checktype(L, 4, LUA_TTABLE);
    struct place *const *places;
    const size_t count = nodes_check_places(L, lua, 4, "reads", &places);
    struct buf *reads = script_buffer_push(L);
    for (size_t i = 0; i < count; i++) {
        const struct declared_read read = {places[i], READ_DEEP};
        buf_append(reads, &read, sizeof read);
    }
    *out = (const struct declared_read *)(const void *)reads->at;
    return count;
}

bool streams_check_collapse(lua_State *L)
{
    return !lua_isnil(L, 4) && nodes_field_flag(L, 4, "collapse");
}

int streams_on(lua_State *L, struct lua_runtime *lua)
{
    lua_settop(L, 4);
    const struct stream_object *stream = check_stream(L, 2);
    luaL_argcheck(L,
                  stream->binding.lua == lua,
                  2,
                  "the stream belongs to another runtime");
    luaL_checktype(L, 3, LUA_TFUNCTION);
    const struct declared_read *reads;
    const size_t read_count = streams_check_reads(L, lua, &reads);
    struct listener_object *handle =
        script_object_push(L, &listener_class, sizeof *handle);
    const struct script_function function = script_function_keep(L, 3);
    struct listener *listener = mem_alloc_zero(sizeof *listener);
    listener->refs = 2;
    listener->lua = lua;
    listener->function = function;
    handle->listener = listener;
    binding_tie(&handle->binding, lua, listener_cut);
    const struct handler_spec spec = {
        .run = run_listener,
        .ctx = listener,
        .release = listener_gone,
        .name = stream->id,
        .reads = reads,
        .read_count = read_count,
        .pure = true,
        .several_spaces = true,
        .collapses = streams_check_collapse(L),
    };
    struct err_detail detail = {0};
    const enum err err = events_handle(lua_runtime_sched(lua),
                                       stream->stream,
                                       &spec,
                                       &listener->handler,
                                       &detail);
    if (err != ERR_OK) {
        listener_gone(listener);
        reads_raise(L, err, &detail);
    }
    return 1;
}
