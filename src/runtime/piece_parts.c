/* Which documents of a piece cells can write. */

#include "runtime/piece_parts.h"

#include <string.h>

#include "collection/collection.h"
#include "runtime/building.h"
#include "value/clock_id.h"
#include "value/object.h"

static const char prefix[] = "piece:";

/* -- Kinds --------------------------------------------------------------- */

static bool is_kind(struct value kind, enum part_kind wanted)
{
    return value_is_text(kind, part_kind_name(wanted));
}

enum part_access part_access_of(const struct entity *entity, struct value kind)
{
    if (clock_id_read(entity->id) > 0) {
        return PART_IS_CLOCK;
    }
    if (is_kind(kind, PART_COMPUTED) || is_kind(kind, PART_LIST)) {
        return PART_IS_COMPUTED;
    }
    if (is_kind(kind, PART_HANDLER)) {
        return PART_IS_STREAM;
    }
    if (is_kind(kind, PART_PRELOADED)) {
        return PART_IS_TASK;
    }
    if (is_kind(kind, PART_PIECE)) {
        return PART_IS_PIECE;
    }
    if (is_kind(kind, PART_DOCUMENT)) {
        return PART_IS_COPY;
    }
    return is_kind(kind, PART_COLLECTION) && !collection_is_row(entity->id)
               ? PART_IS_COLLECTION
               : PART_IS_DATA;
}

/* A name whose kind has changed has its document at "name//kind"
 * (runtime/change.h). Documents below a list belong to the list. */
void part_read_name(struct value about,
                    const char *text,
                    size_t length,
                    struct value *name,
                    struct value *kind)
{
    const struct value cells = object_field(about, "cells");
    for (size_t i = 0; i + 1 < length; i++) {
        if (text[i] == '/' && text[i + 1] == '/') {
            length = i;
        }
    }
    *kind = object_get_text(cells, text, length);
    for (size_t i = length; value_is_absent(*kind) && i > 0; i--) {
        const struct value above = text[i - 1] == '/'
                                       ? object_get_text(cells, text, i - 1)
                                       : VALUE_NONE;
        if (is_kind(above, PART_LIST)) {
            *kind = above;
            length = i - 1;
        }
    }
    *name = value_string_new(text, length);
}

/* -- Documents ----------------------------------------------------------- */

struct value part_about(const struct entity *document)
{
    const struct value rest = document->visible.rest;
    const struct value about = object_field(rest, "piece");
    return value_is_object(about) &&
                   value_is_object(object_field(about, "cells"))
               ? about
               : VALUE_NONE;
}

/* What the document of the piece says; *name is new, and absent for the
 * document of a piece itself. */
static enum part_access stored_access(const struct entity *entity,
                                      const struct entity *owner,
                                      struct value *name)
{
    struct value kind = VALUE_NONE;
    *name = VALUE_NONE;
    if (!value_is_absent(part_about(entity))) {
        return PART_IS_PIECE;
    }
    if (owner != NULL && !value_is_absent(part_about(owner))) {
        const struct text id = value_text(&entity->id);
        const size_t from = value_text(&owner->id).length + 1;
        part_read_name(part_about(owner),
                       id.at + from,
                       id.length - from,
                       name,
                       &kind);
    }
    return part_access_of(entity, kind);
}

void part_guard(struct entity *entity, const struct entity *owner)
{
    struct value name;
    entity->guarded = stored_access(entity, owner, &name) != PART_IS_DATA;
    value_unref(name);
}

/* The document of the piece of a classified entity: the nearest prefix of its
 * id that is the document of a piece; or NULL. */
static const struct entity *owner_of(const struct entity *entity)
{
    const struct text id = value_text(&entity->id);
    if (id.length < sizeof prefix ||
        memcmp(id.at, prefix, sizeof prefix - 1) != 0) {
        return NULL;
    }
    for (size_t length = id.length - 1; length >= sizeof prefix; length--) {
        if (id.at[length] == '/') {
            const struct value front = value_string_new(id.at, length);
            const struct entity *owner =
                entity_find(entity->space, SCOPE_SPACE, front);
            value_unref(front);
            if (owner != NULL && !value_is_absent(part_about(owner))) {
                return owner;
            }
        }
    }
    return NULL;
}

/* piece-part-2: the part of a piece that is started or built here; or NULL. */
static const struct part *part_here(const struct runtime *runtime,
                                    const struct entity *entity)
{
    const struct text id = value_text(&entity->id);
    LIST_FOREACH (&runtime->pieces, at) {
        const struct piece *piece = CONTAINER_OF(at, struct piece, node);
        const struct text name = value_text(&piece->name);
        const size_t from = sizeof prefix - 1 + name.length;
        if (id.length <= from + 1 || id.at[from] != '/' ||
            memcmp(id.at + sizeof prefix - 1, name.at, name.length) != 0) {
            continue;
        }
        size_t length = id.length - from - 1;
        const char *rest = id.at + from + 1;
        for (size_t i = 0; i + 1 < length; i++) {
            length = rest[i] == '/' && rest[i + 1] == '/' ? i : length;
        }
        const struct value key = value_string_new(rest, length);
        const struct part *part = piece_part(piece, key);
        value_unref(key);
        if (part != NULL && part->place != NULL &&
            part->place->entity == entity) {
            return part;
        }
    }
    return NULL;
}

/* -- Writes -------------------------------------------------------------- */

/* The node of the run writes there by declaration. */
static bool is_own(const struct run *run, const struct place *place)
{
    for (; run != NULL && place != NULL; place = place_parent(place)) {
        CHAIN_FOREACH(&place->writers, link)
        {
            if (CONTAINER_OF(link, struct write_link, in_place)->node ==
                run->node) {
                return true;
            }
        }
    }
    return false;
}

/* The name that people know the document of a piece by, new. */
static struct value whole_name(const struct entity *entity)
{
    const struct text id = value_text(&entity->id);
    const size_t skipped = id.length >= sizeof prefix &&
                                   memcmp(id.at, prefix, sizeof prefix - 1) == 0
                               ? sizeof prefix - 1
                               : 0;
    return value_string_new(id.at + skipped, id.length - skipped);
}

static enum err refuse(enum part_access access,
                       const struct entity *owner,
                       struct value name,
                       struct err_detail *detail)
{
    static const char *const why[] = {
        [PART_IS_PIECE] = "is a piece: set one of its states",
        [PART_IS_STREAM] = "is a stream: send an event to it",
        [PART_IS_COPY] = "has copies of the elements of a list: set them in "
                         "that list",
        [PART_IS_TASK] =
            "is the output of a task: set one of its inputs instead",
        [PART_IS_COLLECTION] = "is a collection: insert, update or remove rows",
        [PART_IS_COMPUTED] = "is computed: set one of its inputs instead",
        [PART_IS_CLOCK] = "is a clock: it cannot be set",
    };
    const struct text part = value_text(&name);
    const struct value whole = owner != NULL ? whole_name(owner) : VALUE_NONE;
    const struct text of =
        owner != NULL ? value_text(&whole) : (struct text){"", 0};
    const enum err err = err_set(detail,
                                 ERR_ARGUMENT,
                                 "'%.*s'%s%.*s%s %s",
                                 (int)part.length,
                                 part.at,
                                 owner != NULL ? " of the piece '" : "",
                                 (int)of.length,
                                 of.at,
                                 owner != NULL ? "'" : "",
                                 why[access]);
    value_unref(whole);
    return err;
}

enum err part_check_write(const struct cell_access *access,
                          struct place *at,
                          struct err_detail *detail)
{
    struct entity *entity = at->entity;
    if (is_own(access->run, at)) {
        return ERR_OK;
    }
    const struct entity *owner = owner_of(entity);
    struct value name;
    enum part_access what = stored_access(entity, owner, &name);
    const struct part *part = part_here(access->runtime, entity);
    if (part != NULL) {
        const struct value kind = value_text_new(part_kind_name(part->kind));
        what = part_access_of(entity, kind);
        value_unref(kind);
    }
    if (value_is_absent(name)) {
        name = whole_name(entity);
        owner = NULL;
    }
    const enum err err =
        what == PART_IS_DATA ? ERR_OK : refuse(what, owner, name, detail);
    value_unref(name);
    return err;
}
