/* What the documents of a piece are, as the piece declares them, and which of
 * them can be set from outside. No pattern is needed and nothing runs. */

#include <string.h>

#include "cli/visit.h"
#include "runtime/piece_parts.h"
#include "value/object.h"

static const char prefix[] = "piece:";

/* -- Parts --------------------------------------------------------------- */

/* Loads the document whose id is the first `length` bytes of that of
 * `entity`. */
static enum err load_front(struct visit *visit,
                           const struct entity *entity,
                           size_t length,
                           struct entity **out,
                           struct err_detail *detail)
{
    const struct text id = value_text(&entity->id);
    const struct value front = value_string_new(id.at, length);
    enum err err = entity_of(entity->space, SCOPE_SPACE, front, out, detail);
    value_unref(front);
    return err == ERR_OK ? live_load(visit->live, *out, detail) : err;
}

enum err visit_part_of(struct visit *visit,
                       struct entity *entity,
                       struct visit_part *out,
                       struct err_detail *detail)
{
    const size_t begin = sizeof prefix - 1;
    const struct text id = value_text(&entity->id);
    *out = (struct visit_part){0};
    if (id.length <= begin || memcmp(id.at, prefix, begin) != 0) {
        return ERR_OK;
    }
    for (size_t length = id.length; length > begin; length--) {
        struct entity *document = NULL;
        if ((length < id.length && id.at[length] != '/') ||
            id.at[length - 1] == '/') {
            continue;
        }
        const enum err err =
            load_front(visit, entity, length, &document, detail);
        if (err != ERR_OK) {
            return err;
        }
        out->about = part_about(document);
        if (!value_is_absent(out->about)) {
            out->owner = document;
            if (length < id.length) {
                part_read_name(out->about,
                               id.at + length + 1,
                               id.length - length - 1,
                               &out->name,
                               &out->kind);
            }
            return ERR_OK;
        }
    }
    return ERR_OK;
}

void visit_part_release(struct visit_part *part)
{
    value_unref(part->name);
    *part = (struct visit_part){0};
}

/* -- Setting ------------------------------------------------------------- */

/* The address of a part, "kanban/cards/0/card1/move", as text. */
static void append_address(struct buf *to, const struct visit_part *part)
{
    const struct text id = value_text(&part->owner->id);
    buf_append(to, id.at + sizeof prefix - 1, id.length - (sizeof prefix - 1));
    if (!value_is_absent(part->name)) {
        buf_append_char(to, '/');
        visit_append(to, part->name);
    }
}

/* For a command that is suggested. */
static void append_space(struct buf *to, const struct visit_part *part)
{
    const struct value space = part->owner->space->id;
    if (!value_is_text(space, "main")) {
        buf_append_text(to, " --space ");
        visit_append(to, space);
    }
}

static bool is_there(const struct place *place)
{
    struct value there = VALUE_NONE;
    (void)entity_state_at(&place->entity->visible, place->path, &there);
    const bool found = !value_is_absent(there);
    value_unref(there);
    return found;
}

static enum err refuse_missing(const struct entity *document,
                               const char *path,
                               struct err_detail *detail)
{
    struct nearest nearest;
    const char *last = path + strlen(path);
    while (last > path && last[-1] != '/' && last[-1] != '.') {
        last--;
    }
    const char *hint = visit_hint_field(document, last, &nearest);
    return err_set(detail,
                   ERR_NOT_FOUND,
                   "there is no '%s' in this piece%s",
                   path,
                   hint[0] != '\0' ? hint : ": 'heddle get' shows its fields");
}

static enum err refuse_piece(const struct visit_part *part,
                             const struct place *place,
                             const char *path,
                             struct err_detail *detail)
{
    if (place != place->entity->payload) {
        return is_there(place)
                   ? err_set(detail,
                             ERR_ARGUMENT,
                             "'%s' is part of a child's result, not of a "
                             "state: set a field of the state instead",
                             path)
                   : refuse_missing(place->entity, path, detail);
    }
    struct buf address = {0};
    append_address(&address, part);
    append_space(&address, part);
    const enum err err =
        err_set(detail,
                ERR_ARGUMENT,
                "'%s' is a piece: set one of its states ('heddle set %s "
                "--help' lists them)",
                path,
                buf_text(&address));
    buf_release(&address);
    return err;
}

static enum err refuse_stream(const struct visit_part *part,
                              const char *path,
                              struct err_detail *detail)
{
    struct buf address = {0};
    append_address(&address, part);
    const char *text = buf_text(&address);
    const char *last = strrchr(text, '/');
    struct buf space = {0};
    append_space(&space, part);
    const enum err err =
        err_set(detail,
                ERR_ARGUMENT,
                "'%s' is a stream: 'heddle send %.*s %s JSON%s'",
                path,
                (int)(last - text),
                text,
                last + 1,
                buf_text(&space));
    buf_release(&space);
    buf_release(&address);
    return err;
}

static enum err refuse_copy(const struct visit_part *part,
                            const char *path,
                            struct err_detail *detail)
{
    const struct text name = value_text(&part->name);
    const char *end = memrchr(name.at, '/', name.length);
    return err_set(detail,
                   ERR_ARGUMENT,
                   "'%s' is a copy of an element of the source list of '%.*s': "
                   "set it in that list",
                   path,
                   (int)(end != NULL ? (size_t)(end - name.at) : name.length),
                   name.at);
}

/* piece-part-1 of runtime/piece_parts.h, in the words of the command. */
static enum err refuse_part(enum part_access what,
                            const struct visit_part *part,
                            const struct place *place,
                            const char *path,
                            struct err_detail *detail)
{
    static const char *const why[] = {
        [PART_IS_TASK] =
            "is the output of a task: set one of its inputs instead",
        [PART_IS_COLLECTION] = "is a collection: send an event that changes "
                               "it, or set a field of a row below a range "
                               "that a computation returns",
        [PART_IS_COMPUTED] = "is computed: set one of its inputs instead",
        [PART_IS_CLOCK] = "is a clock: it cannot be set",
    };
    switch (what) {
    case PART_IS_DATA:
        return ERR_OK;
    case PART_IS_PIECE:
        return refuse_piece(part, place, path, detail);
    case PART_IS_STREAM:
        return refuse_stream(part, path, detail);
    case PART_IS_COPY:
        return refuse_copy(part, path, detail);
    case PART_IS_TASK:
    case PART_IS_COLLECTION:
    case PART_IS_COMPUTED:
    case PART_IS_CLOCK:
        break;
    }
    return err_set(detail, ERR_ARGUMENT, "'%s' %s", path, why[what]);
}

enum err visit_check_set(struct visit *visit,
                         const struct entity *document,
                         const struct place *place,
                         const char *path,
                         struct err_detail *detail)
{
    if (place->entity == document) {
        return is_there(place)
                   ? err_set(detail,
                             ERR_ARGUMENT,
                             "'%s' is part of the pattern's result, not of a "
                             "state: set a field of the state instead",
                             path)
                   : refuse_missing(document, path, detail);
    }
    struct visit_part part;
    enum err err = visit_part_of(visit, place->entity, &part, detail);
    if (err == ERR_OK) {
        const bool is_whole = part.owner != NULL && value_is_absent(part.name);
        const enum part_access what =
            is_whole ? PART_IS_PIECE : part_access_of(place->entity, part.kind);
        err = refuse_part(what, &part, place, path, detail);
    }
    visit_part_release(&part);
    return err;
}
