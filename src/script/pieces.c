/* Piece objects, and reads on the ground that are up to date. */

#include "script/pieces.h"

#include <string.h>

#include "runtime/piece.h"
#include "runtime/resolve.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/nodes.h"
#include "script/reads.h"
#include "script/streams.h"
#include "value/array.h"

/* -- Looking for a moment ------------------------------------------------ */

struct glance {
    struct runtime *runtime;
    struct place *place;
    struct value seen;
    enum err err;
    struct err_detail detail;
    bool done;
    uint64_t runs; /* that count */
};

static enum run_result run_glance(struct run *run, void *ctx)
{
    struct glance *glance = ctx;
    const struct cell_access access = {glance->runtime, run, run->transaction};
    struct value seen = VALUE_NONE;
    glance->detail = (struct err_detail){0};
    glance->err = resolve_read(&access, glance->place, &seen, &glance->detail);
    if (glance->err == ERR_STALE) {
        return RUN_AGAIN;
    }
    value_unref(glance->seen);
    glance->seen = seen;
    glance->done = true;
    glance->runs += !run->sched->unwinding;
    return RUN_DONE;
}

enum err pieces_read(struct stage *stage,
                     struct place *place,
                     struct value *out,
                     struct err_detail *detail)
{
    struct frame *frame = stage->frame;
    if (!frame_is_ground(frame) || stage->host->settle == NULL) {
        return call_frame_note(
            &frame->call,
            resolve_read(&frame->call.access, place, out, detail));
    }
    struct glance glance = {.runtime = stage->runtime, .place = place};
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = run_glance,
        .ctx = &glance,
        .clearance = value_bool(true), /* it is the host that looks */
        .immediate = true,
    };
    struct node *node = scheduler_register(stage_sched(stage), &spec);
    stage->host->settle(stage->host->ctx);
    stage->glances += glance.runs;
    scheduler_remove(stage_sched(stage), node);
    if (!glance.done) { /* somebody is still busy: what is there now */
        value_unref(glance.seen);
        return resolve_read(&frame->call.access, place, out, detail);
    }
    *out = glance.seen;
    *detail = glance.detail;
    return glance.err;
}

/* -- Objects ------------------------------------------------------------- */

struct piece_object {
    struct binding binding;
    struct piece *piece;
};

static void object_cut(struct binding *binding)
{
    struct piece_object *object =
        CONTAINER_OF(binding, struct piece_object, binding);
    if (object->piece != NULL) {
        piece_unref(object->piece);
        object->piece = NULL;
    }
}

static void object_release(void *ctx)
{
    struct piece_object *object = ctx;
    binding_untie(&object->binding);
    object_cut(&object->binding);
}

static const struct script_class piece_class;

static struct piece *check_piece(lua_State *L, struct stage **stage)
{
    struct piece_object *object = script_object_check(L, 1, &piece_class);
    if (object->binding.stage == NULL) {
        (void)luaL_error(L, "the runtime of this piece has ended");
    }
    *stage = object->binding.stage;
    return object->piece;
}

/* The same for what needs one that runs. */
static struct piece *check_running(lua_State *L, struct stage **stage)
{
    struct piece *piece = check_piece(L, stage);
    if (piece->state == PIECE_FAILED) {
        (void)luaL_error(L, "the piece has failed: %s", piece->error.text);
    }
    if (piece->runtime == NULL) {
        (void)luaL_error(L, "the piece was stopped");
    }
    return piece;
}

/* -- Paths --------------------------------------------------------------- */

/* Whether the text is a number that could be a position. */
static bool read_position(const char *at, size_t length, lua_Integer *out)
{
    lua_Integer number = 0;
    for (size_t i = 0; i < length; i++) {
        if (at[i] < '0' || at[i] > '9' || length > 9) {
            return false;
        }
        number = number * 10 + (at[i] - '0');
    }
    *out = number;
    return length > 0;
}

static bool is_object(struct stage *stage, struct place *place)
{
    struct value value = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err = reads_whole(stage->frame,
                                     place,
                                     READ_SHAPE,
                                     READ_UNTRACKED,
                                     &value,
                                     &detail);
    const bool is = err == ERR_OK && value_is_object(value);
    value_unref(value);
    return is;
}

/* Replaces the cell on top by the one below, at the key on top of it. */
static struct place *step_below(lua_State *L,
                                struct stage *stage,
                                struct place *place)
{
    struct place *below =
        cells_push_below(L, &cell_class, stage, place, lua_gettop(L));
    lua_replace(L, -3);
    lua_pop(L, 1);
    return below;
}

/* The same for a part of a path in text. `first` is the number of the first
 * position. */
static struct place *step_by_text(lua_State *L,
                                  struct stage *stage,
                                  struct place *place,
                                  const struct text *part,
                                  lua_Integer first)
{
    lua_Integer position = 0;
    if (read_position(part->at, part->length, &position) && position >= first &&
        !is_object(stage, place)) {
        lua_pushinteger(L, position - first + 1);
    } else {
        lua_pushlstring(L, part->at, part->length);
    }
    return step_below(L, stage, place);
}

static struct place *go_by_text(lua_State *L,
                                struct stage *stage,
                                struct place *place,
                                int index)
{
    size_t length = 0;
    const char *at = lua_tolstring(L, index, &length);
    const bool slashes = memchr(at, '/', length) != NULL;
    const char *end = at + length;
    at += slashes && at[0] == '/' ? 1 : 0;
    while (length > 0 && at <= end) {
        const char *next = memchr(at, slashes ? '/' : '.', (size_t)(end - at));
        const char *stop = next != NULL ? next : end;
        const struct text part = {at, (size_t)(stop - at)};
        place = step_by_text(L, stage, place, &part, slashes ? 0 : 1);
        at = stop + 1;
    }
    return place;
}

/* Pushes the cell at the path that is the argument `index`; its place. */
static struct place *push_cell_at(lua_State *L,
                                  struct stage *stage,
                                  const struct piece *piece,
                                  int index)
{
    struct place *place = cells_push_document(L, stage, piece->document);
    if (lua_isnoneornil(L, index)) {
        return place;
    }
    if (lua_type(L, index) == LUA_TSTRING) {
        return go_by_text(L, stage, place, index);
    }
    luaL_checktype(L, index, LUA_TTABLE);
    const lua_Integer count = (lua_Integer)lua_rawlen(L, index);
    for (lua_Integer i = 1; i <= count; i++) {
        (void)lua_rawgeti(L, index, i);
        place = step_below(L, stage, place);
    }
    return place;
}

/* -- Methods ------------------------------------------------------------- */

static int piece_get(lua_State *L)
{
    lua_settop(L, 2);
    struct stage *stage;
    struct piece *piece = check_running(L, &stage);
    struct place *place = push_cell_at(L, stage, piece, 2);
    struct view_found *held = view_hold(&stage->frame->views);
    struct err_detail detail = {0};
    const enum err err = pieces_read(stage, place, &held->value, &detail);
    script_pass_stop(L);
    reads_raise(L, err, &detail);
    convert_push(L, held->value);
    return 1;
}

static int piece_cell(lua_State *L)
{
    lua_settop(L, 2);
    struct stage *stage;
    struct piece *piece = check_running(L, &stage);
    (void)push_cell_at(L, stage, piece, 2);
    return 1;
}

static int piece_send(lua_State *L)
{
    lua_settop(L, 4);
    struct stage *stage;
    struct piece *piece = check_running(L, &stage);
    luaL_checktype(L, 2, LUA_TSTRING);
    struct view_found *held = view_hold(&stage->frame->views);
    held->value = convert_check(L, 2, "the name of the stream");
    struct stream *stream = NULL;
    struct err_detail detail = {0};
    const enum err err = piece_stream(piece, held->value, &stream, &detail);
    reads_raise(L, err, &detail);
    lua_remove(L, 1); /* the stream's name is where the stream would be */
    return streams_send_to(L, stage, stream);
}

static int piece_cancel(lua_State *L)
{
    lua_settop(L, 2);
    struct stage *stage;
    struct piece *piece = check_running(L, &stage);
    luaL_checktype(L, 2, LUA_TSTRING);
    return streams_cancel_at(L,
                             stage,
                             piece->space,
                             value_ref(piece->document->id),
                             2);
}

static int piece_node_method(lua_State *L)
{
    struct stage *stage;
    struct piece *piece = check_running(L, &stage);
    luaL_checktype(L, 2, LUA_TSTRING);
    struct view_found *held = view_hold(&stage->frame->views);
    held->value = convert_check(L, 2, "the name of the node");
    if (!nodes_push_part(L, stage, piece, held->value)) {
        lua_pushnil(L);
    }
    return 1;
}

static int piece_task(lua_State *L)
{
    struct stage *stage;
    const struct piece *piece = check_running(L, &stage);
    luaL_checktype(L, 2, LUA_TSTRING);
    if (stage->host->push_task == NULL) {
        return luaL_error(L, "tasks can be answered only in tests");
    }
    struct view_found *held = view_hold(&stage->frame->views);
    held->value = convert_check(L, 2, "the name of the task");
    stage->host->push_task(L, stage->host->ctx, piece, held->value);
    return 1;
}

static const char *state_name(const struct piece *piece)
{
    switch (piece->state) {
    case PIECE_LOADING:
        return "loading";
    case PIECE_RUNNING:
        return "running";
    case PIECE_REMOVING:
        return "removing";
    case PIECE_FAILED:
        return "failed";
    case PIECE_STOPPED:
        break;
    }
    return "stopped";
}

static int piece_state_method(lua_State *L)
{
    struct stage *stage;
    lua_pushstring(L, state_name(check_piece(L, &stage)));
    return 1;
}

static int piece_name_method(lua_State *L)
{
    struct stage *stage;
    convert_push(L, check_piece(L, &stage)->name);
    return 1;
}

static struct piece *check_ground(lua_State *L, const char *method)
{
    struct stage *stage;
    struct piece *piece = check_piece(L, &stage);
    if (!frame_is_ground(stage->frame)) {
        (void)luaL_error(L, "%s() cannot be called inside a run", method);
    }
    return piece;
}

static int piece_stop_method(lua_State *L)
{
    piece_stop(check_ground(L, "stop"));
    return 0;
}

static int piece_remove_method(lua_State *L)
{
    piece_remove(check_ground(L, "remove"));
    return 0;
}

static const luaL_Reg piece_methods[] = {
    {"get", piece_get},
    {"cell", piece_cell},
    {"send", piece_send},
    {"cancel", piece_cancel},
    {"node", piece_node_method},
    {"task", piece_task},
    {"state", piece_state_method},
    {"name", piece_name_method},
    {"stop", piece_stop_method},
    {"remove", piece_remove_method},
    {NULL, NULL},
};

/* A piece is its result, for who stores it. */
static enum err object_as_value(void *ctx,
                                struct value *out,
                                struct err_detail *detail)
{
    const struct piece_object *object = ctx;
    if (object->piece == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the runtime of this piece has ended");
    }
    struct place *result = piece_result(object->piece);
    *out = cell_link(result, NULL);
    place_unref(result);
    return ERR_OK;
}

static struct value object_identity(void *ctx)
{
    const struct piece_object *object = ctx;
    return object->piece != NULL ? value_ref(object->piece->name)
                                 : value_null();
}

static const struct script_class piece_class = {
    .name = "piece",
    .methods = piece_methods,
    .release = object_release,
    .value = object_as_value,
    .identity = object_identity,
};

void pieces_push(lua_State *L, struct stage *stage, struct piece *piece)
{
    struct piece_object *object =
        script_object_push(L, &piece_class, sizeof *object);
    object->piece = piece_ref(piece);
    binding_tie(&object->binding, stage, object_cut);
}
