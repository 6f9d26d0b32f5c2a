/* Starting the pieces that events wait for. */

#include "runtime/owner.h"

#include <string.h>

#include "base/mem.h"
#include "runtime/cell.h"
#include "runtime/piece.h"

/* One stream whose events wait; in the runtime's owners. */
struct owner {
    struct list_node node;
    struct stream *stream;
    struct space *space;
    struct value name; /* of the piece */
    bool started;      /* by owners_step */
};

/* owner-1: the name of the piece, new; absent if there is none. */
static struct value piece_of(const struct place *place)
{
    static const char prefix[] = "piece:";
    const size_t begin = sizeof prefix - 1;
    const struct entity *entity = place->entity;
    const struct text id = value_text(&entity->id);
    if (entity->scope != SCOPE_SPACE || id.length <= begin ||
        memcmp(id.at, prefix, begin) != 0) {
        return VALUE_NONE;
    }
    const char *name = id.at + begin;
    const char *slash = memchr(name, '/', id.length - begin);
    return value_string_new(name,
                            slash != NULL ? (size_t)(slash - name)
                                          : id.length - begin);
}

static void owner_free(struct owner *owner)
{
    list_remove(&owner->node);
    value_unref(owner->name);
    mem_free(owner, sizeof *owner);
}

/* In the middle of a pass: only a note is made. */
static bool on_missing(void *ctx, struct stream *stream)
{
    struct runtime *runtime = ctx;
    const struct place *place = events_place(stream);
    const struct value name = piece_of(place);
    if (value_is_absent(name)) {
        return false;
    }
    struct owner *owner = mem_alloc_zero(sizeof *owner);
    owner->stream = stream;
    owner->space = place->entity->space;
    owner->name = name;
    list_node_init(&owner->node);
    list_push_back(&runtime->owners, &owner->node);
    return true;
}

void owners_init(struct runtime *runtime)
{
    list_init(&runtime->owners);
    events_on_missing(runtime->sched, on_missing, runtime);
}

void owners_release(struct runtime *runtime)
{
    while (!list_is_empty(&runtime->owners)) {
        owner_free(
            CONTAINER_OF(list_first(&runtime->owners), struct owner, node));
    }
}

static enum err start(struct runtime *runtime,
                      const struct owner *owner,
                      struct err_detail *why)
{
    const struct piece_options options = {
        .name = owner->name,
        .space = owner->space,
        .must_exist = true,
        .taken_up = true,
    };
    struct piece *piece;
    return piece_start(runtime, &options, &piece, why);
}

static bool is_loading(const struct piece *piece)
{
    return piece->again || piece->state == PIECE_LOADING;
}

/* The name of a document from its piece on, new; "" is the piece's own. */
static struct value name_below(const struct piece *piece,
                               const struct entity *document)
{
    const struct text id = value_text(&document->id);
    const size_t front = sizeof "piece:/" - 1 + value_text(&piece->name).length;
    return id.length > front
               ? value_string_new(id.at + front, id.length - front)
               : value_text_new("");
}

/* Whether it can never be a stream (owner-4). */
static bool say_no_part(const struct piece *piece,
                        const struct entity *document,
                        struct err_detail *why)
{
    const struct value part = name_below(piece, document);
    const struct text name = value_text(&piece->name);
    const struct text below = value_text(&part);
    const char *reason = piece_no_stream(piece, part);
    (void)err_set(why,
                  ERR_NO_HANDLER,
                  "the piece %.*s has no stream '%.*s'%s%s",
                  (int)name.length,
                  name.at,
                  (int)below.length,
                  below.at,
                  reason != NULL ? ": " : "",
                  reason != NULL ? reason : "");
    value_unref(part);
    return reason != NULL;
}

struct stream *owner_stream(const struct runtime *runtime, struct place *place)
{
    const struct value name = piece_of(place);
    struct piece *piece = value_is_absent(name)
                              ? NULL
                              : piece_find(runtime, place->entity->space, name);
    value_unref(name);
    if (piece == NULL || piece->state != PIECE_RUNNING ||
        place->entity != piece->document) {
        return NULL;
    }
    const struct cell_access access = {.runtime = piece->runtime};
    struct place *to = NULL;
    if (cell_follow(&access, place, READ_FOR_BOTH, true, &to, NULL) != ERR_OK) {
        return NULL;
    }
    struct stream *stream = events_find(runtime->sched, to);
    place_unref(to);
    return stream != NULL && events_is_handled(stream) ? stream : NULL;
}

struct piece *owner_denies(const struct runtime *runtime,
                           const struct place *place,
                           struct err_detail *why)
{
    const struct value name = piece_of(place);
    struct piece *piece = value_is_absent(name)
                              ? NULL
                              : piece_find(runtime, place->entity->space, name);
    value_unref(name);
    return piece != NULL && piece->state == PIECE_RUNNING &&
                   say_no_part(piece, place->entity, why)
               ? piece
               : NULL;
}

/* owner-5: whether there is another stream that the events are for. */
static bool move_events(struct stream *stream, const struct runtime *runtime)
{
    struct stream *to = owner_stream(runtime, events_place(stream));
    if (to == NULL || to == stream) {
        return false;
    }
    events_move(stream, to);
    return true;
}

/* Whether it has been decided what becomes of the events. */
static bool advance(struct runtime *runtime, struct owner *owner)
{
    struct err_detail why = {0};
    bool is_none = false;
    struct piece *piece = piece_find(runtime, owner->space, owner->name);
    if (piece != NULL && !owner->started && piece->taken_up &&
        piece->state == PIECE_FAILED) { /* its file may have changed */
        piece_stop(piece);
        piece = NULL;
    }
    if (piece == NULL &&
        piece_is_launching(runtime, owner->space, owner->name)) {
        return false; /* it starts when its launch has landed */
    }
    if (piece == NULL && !owner->started) {
        owner->started = true;
        if (start(runtime, owner, &why) == ERR_OK) {
            piece = piece_find(runtime, owner->space, owner->name);
        }
    }
    if (piece != NULL && is_loading(piece)) {
        return false;
    }
    if (piece != NULL && piece->state == PIECE_FAILED) {
        why = piece->error;
        if (piece->taken_up) { /* owner-3 */
            piece_stop(piece);
        }
    } else if (piece != NULL && move_events(owner->stream, runtime)) {
        return true;
    } else if (piece != NULL && !events_is_handled(owner->stream)) {
        is_none = say_no_part(piece, events_place(owner->stream)->entity, &why);
    }
    events_no_owner(runtime->sched, owner->stream, &why, is_none);
    return true;
}

bool owners_step(struct runtime *runtime)
{
    bool did = false;
    LIST_FOREACH (&runtime->owners, at) {
        struct owner *owner = CONTAINER_OF(at, struct owner, node);
        if (advance(runtime, owner)) {
            owner_free(owner);
            did = true;
        }
    }
    return did;
}
