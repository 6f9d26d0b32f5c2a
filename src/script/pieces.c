/* Piece objects, and reads at the top level that are up to date. */

#include "script/pieces.h"

#include <string.h>

#include "front/pull.h"
#include "runtime/piece.h"
#include "runtime/resolve.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/nodes.h"
#include "script/reads.h"
#include "script/streams.h"
#include "value/array.h"

/* -- Looking for a moment ------------------------------------------------ */

enum err pieces_read(struct lua_runtime *lua,
                     struct place *place,
                     struct value *out,
                     struct err_detail *detail)
{
    struct frame *frame = lua->frame;
    if (!frame_is_toplevel(frame) || lua->host->settle == NULL) {
        return call_frame_note(
            &frame->call,
            resolve_read(&frame->call.access, place, out, detail));
    }
    struct pull pull = {
        .runtime = lua->runtime,
        .place = place,
        .read = resolve_read,
        .clearance = value_bool(true), /* it is the host that looks */
    };
    pull_begin(&pull);
    lua->host->settle(lua->host->ctx);
    pull_end(&pull);
    lua->glances += pull.runs;
    if (!pull.is_done) { /* a node is still busy: what is there now */
        value_unref(pull.seen);
        return resolve_read(&frame->call.access, place, out, detail);
    }
    *out = pull.seen;
    *detail = pull.detail;
    return pull.err;
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

static struct piece *check_piece(lua_State *L, struct lua_runtime **lua)
{
    struct piece_object *object = script_object_check(L, 1, &piece_class);
    if (object->binding.lua == NULL) {
        (void)luaL_error(L, "the runtime of this piece has ended");
    }
    *lua = object->binding.lua;
    return object->piece;
}

/* The same for what needs one that runs. */
static struct piece *check_running(lua_State *L, struct lua_runtime **lua)
{
    struct piece *piece = check_piece(L, lua);
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

static bool is_object(struct lua_runtime *lua, struct place *place)
{
    struct value value = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err = reads_whole(lua->frame,
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
                                struct lua_runtime *lua,
                                struct place *place)
{
    struct place *below =
        cells_push_below(L, &cell_class, lua, place, lua_gettop(L));
    lua_replace(L, -3);
    lua_pop(L, 1);
    return below;
}

/* The same for a part of a path in text. `first` is the number of the first
 * position. */
static struct place *step_by_text(lua_State *L,
                                  struct lua_runtime *lua,
                                  struct place *place,
                                  const struct text *part,
                                  lua_Integer first)
{
    lua_Integer position = 0;
    if (read_position(part->at, part->length, &position) && position >= first &&
        !is_object(lua, place)) {
        lua_pushinteger(L, position - first + 1);
    } else {
        lua_pushlstring(L, part->at, part->length);
    }
    return step_below(L, lua, place);
}

static struct place *go_by_text(lua_State *L,
                                struct lua_runtime *lua,
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
        place = step_by_text(L, lua, place, &part, slashes ? 0 : 1);
        at = stop + 1;
    }
    return place;
}

/* Pushes the cell at the path that is the argument `index`; its place. */
static struct place *push_cell_at(lua_State *L,
                                  struct lua_runtime *lua,
                                  const struct piece *piece,
                                  int index)
{
    struct place *place = cells_push_document(L, lua, piece->document);
    if (lua_isnoneornil(L, index)) {
        return place;
    }
    if (lua_type(L, index) == LUA_TSTRING) {
        return go_by_text(L, lua, place, index);
    }
    luaL_checktype(L, index, LUA_TTABLE);
    const lua_Integer count = (lua_Integer)lua_rawlen(L, index);
    for (lua_Integer i = 1; i <= count; i++) {
        (void)lua_rawgeti(L, index, i);
        place = step_below(L, lua, place);
    }
    return place;
}

/* -- Methods ------------------------------------------------------------- */

static int piece_get(lua_State *L)
{
    lua_settop(L, 2);
    struct lua_runtime *lua;
    struct piece *piece = check_running(L, &lua);
    struct place *place = push_cell_at(L, lua, piece, 2);
    struct view_found *held = view_hold(&lua->frame->views);
    struct err_detail detail = {0};
    const enum err err = pieces_read(lua, place, &held->value, &detail);
    script_pass_stop(L);
    reads_raise(L, err, &detail);
    convert_push(L, held->value);
    return 1;
}

static int piece_cell(lua_State *L)
{
    lua_settop(L, 2);
    struct lua_runtime *lua;
    struct piece *piece = check_running(L, &lua);
    (void)push_cell_at(L, lua, piece, 2);
    return 1;
}

static int piece_send(lua_State *L)
{
    lua_settop(L, 4);
    struct lua_runtime *lua;
    struct piece *piece = check_running(L, &lua);
    luaL_checktype(L, 2, LUA_TSTRING);
    struct view_found *held = view_hold(&lua->frame->views);
    held->value = convert_check(L, 2, "the name of the stream");
    struct stream *stream = NULL;
    struct err_detail detail = {0};
    const enum err err = piece_stream(piece, held->value, &stream, &detail);
    reads_raise(L, err, &detail);
    lua_remove(L, 1); /* the stream's name is where the stream would be */
    return streams_send_to(L, lua, stream);
}

static int piece_cancel(lua_State *L)
{
    lua_settop(L, 2);
    struct lua_runtime *lua;
    struct piece *piece = check_running(L, &lua);
    luaL_checktype(L, 2, LUA_TSTRING);
    const struct timer_target target = {
        .space = piece->space,
        .owner = value_ref(piece->document->id),
    };
    return streams_cancel_at(L, lua, target, 2);
}

static int piece_node_method(lua_State *L)
{
    struct lua_runtime *lua;
    struct piece *piece = check_running(L, &lua);
    luaL_checktype(L, 2, LUA_TSTRING);
    struct view_found *held = view_hold(&lua->frame->views);
    held->value = convert_check(L, 2, "the name of the node");
    if (!nodes_push_part(L, lua, piece, held->value)) {
        lua_pushnil(L);
    }
    return 1;
}

static int piece_task(lua_State *L)
{
    struct lua_runtime *lua;
    const struct piece *piece = check_running(L, &lua);
    luaL_checktype(L, 2, LUA_TSTRING);
    if (lua->host->push_task == NULL) {
        return luaL_error(L, "tasks can be answered only in tests");
    }
    struct view_found *held = view_hold(&lua->frame->views);
    held->value = convert_check(L, 2, "the name of the task");
    lua->host->push_task(L, lua->host->ctx, piece, held->value);
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
    struct lua_runtime *lua;
    lua_pushstring(L, state_name(check_piece(L, &lua)));
    return 1;
}

static int piece_name_method(lua_State *L)
{
    struct lua_runtime *lua;
    convert_push(L, check_piece(L, &lua)->name);
    return 1;
}

static struct piece *check_toplevel(lua_State *L, const char *method)
{
    struct lua_runtime *lua;
    struct piece *piece = check_piece(L, &lua);
    if (!frame_is_toplevel(lua->frame)) {
        (void)luaL_error(L, "%s() cannot be called inside a run", method);
    }
    return piece;
}

static int piece_stop_method(lua_State *L)
{
    piece_stop(check_toplevel(L, "stop"));
    return 0;
}

static int piece_remove_method(lua_State *L)
{
    piece_remove(check_toplevel(L, "remove"));
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

void pieces_push(lua_State *L, struct lua_runtime *lua, struct piece *piece)
{
    struct piece_object *object =
        script_object_push(L, &piece_class, sizeof *object);
    object->piece = piece_ref(piece);
    binding_tie(&object->binding, lua, object_cut);
}
