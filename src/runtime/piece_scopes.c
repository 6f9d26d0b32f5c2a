/* States of a user or a session: each gets its initial value when a user or a
 * session starts the piece for the first time.
 *
 * The user's instance of the result document records what was created:
 *
 *   {"piece": {"generation": 1, "cells": {"theme": "state"}}}
 *
 * This record and the initial values are written in one transaction, which
 * depends on the record: two processes of one user write them once. A record of
 * another generation is of a removed piece: its states are created again. A
 * state without a record was created by an earlier version of this file, and is
 * kept. */

#include "base/check.h"
#include "replica/space.h"
#include "runtime/building.h"
#include "runtime/change.h"
#include "value/array.h"
#include "value/object.h"

/* -- Documents ----------------------------------------------------------- */

static enum err record_of(const struct piece *piece,
                          enum scope scope,
                          struct entity **out,
                          struct err_detail *detail)
{
    return entity_of(piece->space, scope, piece->document->id, out, detail);
}

/* What the record says, borrowed; or absent. */
static struct value record_about(const struct entity *record)
{
    const struct value rest = record->visible.rest;
    const struct value about = object_field(rest, "piece");
    return value_is_object(about) ? about : VALUE_NONE;
}

static bool is_of_generation(const struct piece *piece, struct value about)
{
    const struct value generation = object_field(about, "generation");
    return value_kind(generation) == VALUE_INT &&
           value_integer(generation) == (int64_t)piece->generation;
}

/* The cells that were made for the user in this generation, borrowed; or
 * absent. */
static struct value made_before(const struct piece *piece,
                                const struct entity *record)
{
    const struct value about = record_about(record);
    const struct value cells =
        value_is_absent(about) || !is_of_generation(piece, about)
            ? VALUE_NONE
            : object_field(about, "cells");
    return value_is_object(cells) ? cells : VALUE_NONE;
}

/* -- Loading ------------------------------------------------------------- */

/* Whether a document is here; if not, the build is repeated when it is. */
static bool is_here_or_awaited(struct piece *piece, struct entity *entity)
{
    if (!entity->loaded) {
        vec_push(&piece->needs, entity);
    }
    return entity->loaded;
}

bool scopes_of_about(struct value about, enum scope scope)
{
    const struct value scopes = object_field(about, "scopes");
    if (!value_is_array(scopes)) {
        return false;
    }
    struct array_iter iter = array_iter(scopes);
    struct value name;
    while (array_next(&iter, &name)) {
        if (value_is_text(name, scope_name(scope))) {
            return true;
        }
    }
    return false;
}

/* -- States -------------------------------------------------------------- */

/* Whether the user's instance has to be written. As long as that is not known,
 * it does not: the build will be repeated. */
static enum err is_missing(struct builder *builder,
                           const struct part *part,
                           bool *out,
                           struct err_detail *detail)
{
    struct piece *piece = builder->piece;
    struct entity *instance = part->place->entity;
    struct entity *record;
    enum err err = record_of(piece, instance->scope, &record, detail);
    if (err != ERR_OK) {
        return err;
    }
    *out = false;
    if (!is_here_or_awaited(piece, record)) {
        return ERR_OK;
    }
    const struct value made = made_before(piece, record);
    *out =
        value_is_absent(made) || value_is_absent(object_get(made, part->name));
    if (*out && value_is_absent(record_about(record)) &&
        change_had(piece->about, part->name, part->kind)) {
        *out = is_here_or_awaited(piece, instance) &&
               !entity_state_exists(&instance->visible);
    }
    return ERR_OK;
}

enum err building_scoped(struct builder *builder,
                         const struct part *part,
                         struct value initial,
                         bool anew,
                         struct err_detail *detail)
{
    struct builder *root = builder_root(builder);
    const enum scope scope = part->place->entity->scope;
    root->scopes |= 1U << scope;
    if (value_is_absent(initial)) {
        return ERR_OK;
    }
    bool missing = false;
    enum err err = is_missing(builder, part, &missing, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (value_is_absent(root->made[scope])) {
        root->made[scope] = value_empty_object();
    }
    root->made[scope] =
        object_set_adopt(root->made[scope],
                         value_ref(part->name),
                         value_text_new(part_kind_name(part->kind)));
    if (missing || anew) {
        err = transaction_put_adopt(builder->transaction,
                                    part->place,
                                    value_ref(initial),
                                    detail);
    }
    return err;
}

/* -- Records ------------------------------------------------------------- */

/* The cells that are new to the record, and those that it has; new. Absent if
 * there is nothing new. */
static struct value cells_now(const struct piece *piece,
                              const struct entity *record,
                              struct value made)
{
    const struct value before = made_before(piece, record);
    struct value cells =
        value_is_absent(before) ? value_empty_object() : value_ref(before);
    bool other = value_is_absent(before);
    struct object_iter iter = object_iter(made);
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        other = other || value_is_absent(object_get(cells, name));
        cells = object_set_adopt(cells, value_ref(name), value_ref(kind));
    }
    if (!other) {
        value_unref(cells);
        return VALUE_NONE;
    }
    return cells;
}

static enum err write_record(const struct builder *builder,
                             enum scope scope,
                             struct err_detail *detail)
{
    const struct piece *piece = builder->piece;
    struct entity *record;
    enum err err = record_of(piece, scope, &record, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct value cells = cells_now(piece, record, builder->made[scope]);
    if (value_is_absent(cells)) {
        return ERR_OK;
    }
    struct value about = value_empty_object();
    object_put_adopt(&about,
                     "generation",
                     value_int((int64_t)piece->generation));
    object_put_adopt(&about, "cells", cells);
    struct value document = value_empty_object();
    object_put_adopt(&document, "piece", about);
    struct place *root = place_root(record);
    struct value seen;
    (void)transaction_read(builder->transaction,
                           root,
                           READ_DEEP,
                           READ_FOR_BOTH,
                           &seen);
    value_unref(seen);
    err = transaction_put_adopt(builder->transaction, root, document, detail);
    place_unref(root);
    return err;
}

enum err building_write_records(const struct builder *builder,
                                struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (unsigned i = SCOPE_USER; i <= SCOPE_SESSION && err == ERR_OK; i++) {
        if (!value_is_absent(builder->made[i])) {
            err = write_record(builder, (enum scope)i, detail);
        }
    }
    return err;
}
