/* Versions of pieces, and the functions between them. */

#include "runtime/migration.h"

#include "collection/collection.h"
#include "runtime/cell.h"
#include "runtime/change.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* What a function gets: the piece as it was. */
struct migration {
    struct piece *piece;
    struct builder *builder;
    struct value prefix; /* of the names that it means */
};

/* -- Declaring ----------------------------------------------------------- */

enum err builder_migration(struct builder *builder,
                           const struct builder_migration *migration,
                           struct err_detail *detail)
{
    struct builder *root = builder_root(builder);
    enum err err = ERR_OK;
    if (migration->version < 2 || migration->version > MIGRATION_VERSION_MAX) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "a migration must lead to version 2 or later: a piece "
                      "begins with version 1");
    }
    VEC_FOREACH (&root->migrations, known) {
        if (err == ERR_OK && known->migration.version == migration->version &&
            value_equal(known->prefix, builder->prefix)) {
            err = err_set(detail,
                          ERR_ARGUMENT,
                          "a migration to version %u is already declared",
                          (unsigned)migration->version);
        }
    }
    if (err != ERR_OK) {
        if (migration->release != NULL) {
            migration->release(migration->ctx);
        }
        return err;
    }
    const struct declared_migration declared = {
        .prefix = value_ref(builder->prefix),
        .migration = *migration,
    };
    vec_push(&root->migrations, declared);
    return ERR_OK;
}

void migrations_release(struct builder *builder)
{
    VEC_FOREACH (&builder->migrations, declared) {
        value_unref(declared->prefix);
        if (declared->migration.release != NULL) {
            declared->migration.release(declared->migration.ctx);
        }
    }
    vec_release(&builder->migrations);
}

/* -- Versions ------------------------------------------------------------ */

uint32_t migration_version_in(struct value versions, struct value prefix)
{
    const struct value version =
        value_is_object(versions) ? object_get(versions, prefix) : VALUE_NONE;
    return value_kind(version) == VALUE_INT && value_integer(version) > 1 &&
                   value_integer(version) <= MIGRATION_VERSION_MAX
               ? (uint32_t)value_integer(version)
               : 1;
}

static uint32_t highest(const struct builder *builder, struct value prefix)
{
    uint32_t version = 1;
    VEC_FOREACH (&builder->migrations, declared) {
        if (value_equal(declared->prefix, prefix) &&
            declared->migration.version > version) {
            version = declared->migration.version;
        }
    }
    return version;
}

/* The name of the child that a prefix is of, new; absent: the piece itself. */
static struct value child_of(struct value prefix)
{
    const struct text text = value_text(&prefix);
    return text.length == 0 ? VALUE_NONE
                            : value_string_new(text.at, text.length - 1);
}

static bool was_there(const struct piece *piece,
                      const struct builder *builder,
                      struct value prefix)
{
    const struct value child = child_of(prefix);
    const bool known =
        !builder->other || value_is_object(builder->before_versions);
    const bool was =
        piece->resumed && known &&
        (value_is_absent(child) || change_had(piece->about, child, PART_PIECE));
    value_unref(child);
    return was;
}

static bool is_declared(const struct builder *builder, struct value prefix)
{
    const struct value child = child_of(prefix);
    const bool is = value_is_absent(child) ||
                    !value_is_absent(object_get(builder->cells, child));
    value_unref(child);
    return is;
}

/* The piece, or a child of it, for a sentence. */
static void append_whole(struct buf *to,
                         const struct piece *piece,
                         struct value prefix)
{
    const struct value child = child_of(prefix);
    const struct text name = value_text(&piece->name);
    buf_append(to, name.at, name.length);
    if (!value_is_absent(child)) {
        const struct text part = value_text(&child);
        buf_append_char(to, '/');
        buf_append(to, part.at, part.length);
    }
    value_unref(child);
}

/* migration-6. Absent: the piece has not been one of this pattern. */
static struct value versions_before(const struct piece *piece,
                                    const struct builder *builder)
{
    const struct value versions = object_field(piece->about, "versions");
    if (!builder->other) {
        return versions;
    }
    const struct value replaced = object_field(piece->about, "replaced");
    return value_is_object(replaced)
               ? object_get(replaced, piece->pattern->name)
               : VALUE_NONE;
}

struct value migrations_replaced(const struct piece *piece,
                                 const struct builder *builder)
{
    const struct value before = object_field(piece->about, "replaced");
    struct value replaced =
        value_is_object(before) ? value_ref(before) : value_empty_object();
    const struct value was = object_field(piece->about, "pattern");
    if (builder->other && value_is_string(was)) {
        const struct value versions = object_field(piece->about, "versions");
        replaced =
            object_set_adopt(replaced,
                             value_ref(was),
                             value_is_object(versions) ? value_ref(versions)
                                                       : value_empty_object());
    }
    return replaced;
}

/* migration-5, and the versions of children that are not declared now, which
 * stay. */
static enum err check_versions(const struct piece *piece,
                               struct builder *builder,
                               struct err_detail *detail)
{
    const struct value before = builder->before_versions;
    struct object_iter iter =
        object_iter(value_is_object(before) ? before : value_empty_object());
    struct value prefix;
    struct value version;
    while (object_next(&iter, &prefix, &version)) {
        const uint32_t has = migration_version_in(before, prefix);
        if (!is_declared(builder, prefix)) {
            builder->versions = object_set_adopt(builder->versions,
                                                 value_ref(prefix),
                                                 value_ref(version));
            continue;
        }
        const uint32_t knows = highest(builder, prefix);
        if (knows < has) {
            struct buf name = {0};
            append_whole(&name, piece, prefix);
            const enum err err =
                err_set(detail,
                        ERR_ARGUMENT,
                        "%s has version %u, but this pattern has version %u: "
                        "use the newer file that migrated it",
                        buf_text(&name),
                        (unsigned)has,
                        (unsigned)knows);
            buf_release(&name);
            return err;
        }
    }
    return ERR_OK;
}

static void set_versions(struct builder *builder)
{
    VEC_FOREACH (&builder->migrations, declared) {
        builder->versions = object_set_adopt(
            builder->versions,
            value_ref(declared->prefix),
            value_int((int64_t)highest(builder, declared->prefix)));
    }
}

/* -- Loading ------------------------------------------------------------- */

static void need(struct piece *piece, struct entity *entity)
{
    if (!entity->loaded) {
        vec_push(&piece->needs, entity);
    }
}

/* migration-3: former data, and data that is declared now. */
static void find_needs(struct piece *piece)
{
    const struct value cells = object_field(piece->about, "cells");
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    struct value name;
    struct value ignored;
    while (object_next(&iter, &name, &ignored)) {
        const struct value kinds = change_kinds_of(piece->about, name);
        struct array_iter each = array_iter(kinds);
        struct value kind;
        while (array_next(&each, &kind)) {
            const struct value id =
                change_document_id(piece->name, piece->about, name, kind);
            struct entity *entity;
            if (change_is_data(kind) &&
                entity_of(piece->space, SCOPE_SPACE, id, &entity, NULL) ==
                    ERR_OK) {
                need(piece, entity);
            }
            value_unref(id);
        }
        value_unref(kinds);
    }
    VEC_FOREACH (&piece->parts, part) {
        if (part->kind == PART_STATE || part->kind == PART_ARGUMENT) {
            need(piece, part->place->entity);
        }
    }
}

/* What a run has asked for and was not here: documents of collections. */
static void need_awaited(struct piece *piece,
                         const struct transaction *transaction)
{
    VEC_FOREACH (&transaction->awaited, entity) {
        need(piece, *entity);
    }
}

/* -- Running ------------------------------------------------------------- */

/* The migration to run next: the lowest above a version. */
static const struct builder_migration *next_above(const struct builder *builder,
                                                  struct value prefix,
                                                  uint32_t version)
{
    const struct builder_migration *next = NULL;
    VEC_FOREACH (&builder->migrations, declared) {
        const struct builder_migration *one = &declared->migration;
        if (value_equal(declared->prefix, prefix) && one->version > version &&
            (next == NULL || one->version < next->version)) {
            next = one;
        }
    }
    return next;
}

static enum err say_failed(const struct piece *piece,
                           struct value prefix,
                           uint32_t version,
                           enum err err,
                           struct err_detail *detail)
{
    const struct err_detail why = *detail;
    struct buf name = {0};
    append_whole(&name, piece, prefix);
    (void)err_set(detail,
                  err,
                  "the migration of %s to version %u failed, and nothing was "
                  "changed: %s",
                  buf_text(&name),
                  (unsigned)version,
                  why.text);
    buf_release(&name);
    return err;
}

/* All that a piece or a child lacks. */
static enum err run_all(struct piece *piece,
                        struct builder *builder,
                        struct value prefix,
                        struct err_detail *detail)
{
    struct migration migration = {piece, builder, prefix};
    uint32_t version = migration_version_in(builder->before_versions, prefix);
    const struct builder_migration *next = next_above(builder, prefix, version);
    while (next != NULL) {
        const enum err err = next->run(&migration, next->ctx, detail);
        if (err == ERR_STALE || transaction_is_awaiting(builder->transaction)) {
            need_awaited(piece, builder->transaction);
            return err_set(detail, ERR_STALE, "its data is not loaded yet");
        }
        if (err != ERR_OK) {
            return say_failed(piece, prefix, next->version, err, detail);
        }
        version = next->version;
        next = next_above(builder, prefix, version);
    }
    return ERR_OK;
}

/* Whether a declared migration is the first of its prefix, and has something to
 * do. */
static bool is_due(const struct piece *piece,
                   const struct builder *builder,
                   size_t index)
{
    const struct value prefix = builder->migrations.at[index].prefix;
    for (size_t i = 0; i < index; i++) {
        if (value_equal(builder->migrations.at[i].prefix, prefix)) {
            return false;
        }
    }
    return was_there(piece, builder, prefix) &&
           highest(builder, prefix) >
               migration_version_in(builder->before_versions, prefix);
}

enum err migrations_run(struct piece *piece,
                        struct builder *builder,
                        struct err_detail *detail)
{
    builder->before_versions = versions_before(piece, builder);
    enum err err = check_versions(piece, builder, detail);
    if (err != ERR_OK) {
        return err;
    }
    set_versions(builder);
    for (size_t i = 0; err == ERR_OK && i < builder->migrations.count; i++) {
        if (!is_due(piece, builder, i)) {
            continue;
        }
        find_needs(piece);
        if (piece->needs.count > 0) {
            return err_set(detail, ERR_STALE, "its data is not loaded yet");
        }
        builder->migrated = true;
        err = run_all(piece, builder, builder->migrations.at[i].prefix, detail);
    }
    return err;
}

/* -- For the functions --------------------------------------------------- */

/* The name from the piece on, new. */
static struct value full_name(const struct migration *migration,
                              struct value name)
{
    struct buf text = {0};
    const struct text first = value_text(&migration->prefix);
    const struct text last = value_text(&name);
    buf_append(&text, first.at, first.length);
    buf_append(&text, last.at, last.length);
    const struct value full = value_string_new(text.at, text.length);
    buf_release(&text);
    return full;
}

/* The document with the data of a name. */
static enum err find_data(const struct migration *migration,
                          struct value full,
                          struct entity **out,
                          struct err_detail *detail)
{
    const struct piece *piece = migration->piece;
    const struct value kinds = change_kinds_of(piece->about, full);
    struct array_iter iter = array_iter(kinds);
    struct value kind = VALUE_NONE;
    bool found = false;
    while (!found && array_next(&iter, &kind)) {
        found = change_is_data(kind);
    }
    enum err err = ERR_OK;
    if (found) {
        const struct value id =
            change_document_id(piece->name, piece->about, full, kind);
        err = entity_of(piece->space, SCOPE_SPACE, id, out, detail);
        value_unref(id);
    } else {
        const struct text name = value_text(&full);
        err = err_set(detail,
                      ERR_NOT_FOUND,
                      array_count(kinds) > 0
                          ? "'%.*s' was computed, not a state or an argument: "
                            "a migration cannot use it"
                          : "there was no state or argument '%.*s'",
                      (int)name.length,
                      name.at);
    }
    value_unref(kinds);
    return err;
}

static enum err await_more(struct err_detail *detail)
{
    return err_set(detail, ERR_STALE, "the collection is not loaded yet");
}

/* The rows with these keys, by key: an array, new. *missing: one is not here;
 * all of those are loaded. */
static enum err read_found(struct migration *migration,
                           struct collection *collection,
                           const struct pages_found *found,
                           bool *missing,
                           struct value *out,
                           struct err_detail *detail)
{
    struct transaction *transaction = migration->builder->transaction;
    struct value rows = value_empty_array();
    enum err err = ERR_OK;
    VEC_FOREACH (&found->row_keys, key) {
        struct entity *row;
        err = collection_row(collection, *key, &row, detail);
        if (err != ERR_OK) {
            break;
        }
        if (!transaction_knows(transaction, row)) {
            need(migration->piece, row);
            *missing = true;
            continue;
        }
        struct value data = VALUE_NONE;
        struct place *payload = place_payload(row);
        (void)transaction_read(transaction,
                               payload,
                               READ_DEEP,
                               READ_FOR_BOTH,
                               &data);
        place_unref(payload);
        rows =
            array_push_adopt(rows, value_is_absent(data) ? value_null() : data);
    }
    *out = rows;
    return err;
}

/* All rows of a collection. STALE: some are not here, and are loaded. */
static enum err read_rows(struct migration *migration,
                          struct entity *root,
                          struct value *out,
                          struct err_detail *detail)
{
    struct transaction *transaction = migration->builder->transaction;
    const struct collection_access access = {.transaction = transaction};
    struct place *payload = place_payload(root);
    struct collection *collection =
        collections_of(&migration->piece->runtime->collections, payload);
    struct pages_found found = {0};
    bool missing = false;
    enum err err = collection_find(collection,
                                   &access,
                                   &(struct collection_range){0},
                                   &found,
                                   detail);
    if (err == ERR_OK || err == ERR_STALE) {
        const enum err read =
            read_found(migration, collection, &found, &missing, out, detail);
        err = read != ERR_OK ? read : err;
    }
    if (err == ERR_OK && missing) {
        err = await_more(detail);
    }
    if (err != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
    }
    pages_found_release(&found);
    place_unref(payload);
    return err;
}

typedef VEC(struct entity *) document_list;

static void note_document(void *ctx, struct entity *document)
{
    document_list *documents = ctx;
    vec_push(documents, document);
}

/* The pages and rows of a collection. STALE: a page is awaited. */
static enum err drop_parts(struct migration *migration,
                           struct entity *root,
                           struct err_detail *detail)
{
    struct transaction *transaction = migration->builder->transaction;
    struct place *payload = place_payload(root);
    document_list documents = {0};
    const bool all = collection_visit(payload, note_document, &documents);
    enum err err = all ? ERR_OK : await_more(detail);
    VEC_FOREACH (&documents, document) {
        if (!all && !collection_is_row((*document)->id) &&
            !transaction_knows(transaction, *document)) {
            transaction_await(transaction, *document);
        } else if (all && err == ERR_OK) {
            struct place *place = place_root(*document);
            err = transaction_delete(transaction, place, detail);
            place_unref(place);
        }
    }
    vec_release(&documents);
    place_unref(payload);
    return err;
}

enum err migration_read(struct migration *migration,
                        struct value name,
                        struct value *out,
                        struct err_detail *detail)
{
    *out = VALUE_NONE;
    const struct value full = full_name(migration, name);
    struct entity *entity = NULL;
    enum err err = find_data(migration, full, &entity, detail);
    value_unref(full);
    if (err == ERR_OK && collection_is_root(entity)) {
        err = read_rows(migration, entity, out, detail);
    } else if (err == ERR_OK) {
        struct place *payload = place_payload(entity);
        const enum err read = transaction_read(migration->builder->transaction,
                                               payload,
                                               READ_DEEP,
                                               READ_FOR_BOTH,
                                               out);
        (void)read; /* that there is nothing is an answer */
        place_unref(payload);
    }
    return err;
}

enum err migration_drop(struct migration *migration,
                        struct value name,
                        struct err_detail *detail)
{
    struct builder *builder = migration->builder;
    const struct value full = full_name(migration, name);
    struct entity *entity = NULL;
    enum err err = find_data(migration, full, &entity, detail);
    if (err == ERR_OK && !value_is_absent(object_get(builder->cells, full))) {
        const struct text text = value_text(&full);
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "'%.*s' is declared by the pattern and cannot be dropped",
                      (int)text.length,
                      text.at);
    }
    if (err == ERR_OK && collection_is_root(entity)) {
        err = drop_parts(migration, entity, detail);
    }
    if (err == ERR_OK) {
        struct place *root = place_root(entity);
        err = transaction_delete(builder->transaction, root, detail);
        place_unref(root);
        builder->dropped = object_set_adopt(builder->dropped,
                                            value_ref(full),
                                            value_bool(true));
    }
    value_unref(full);
    return err;
}

uint32_t migration_version(const struct migration *migration)
{
    return migration_version_in(migration->builder->before_versions,
                                migration->prefix);
}

struct transaction *migration_transaction(const struct migration *migration)
{
    return migration->builder->transaction;
}

struct runtime *migration_runtime(const struct migration *migration)
{
    return migration->piece->runtime;
}

/* -- Others -------------------------------------------------------------- */

void migration_check_running(struct piece *piece)
{
    const struct value rest = piece->document->visible.rest;
    if (LIKELY(value_is_same(rest, piece->checked))) {
        return;
    }
    value_unref(piece->checked);
    piece->checked = value_ref(rest);
    const struct value about = object_field(rest, "piece");
    const struct value now = object_field(about, "versions");
    const struct value own = object_field(piece->about, "versions");
    struct object_iter iter =
        object_iter(value_is_object(now) ? now : value_empty_object());
    struct value prefix;
    struct value version;
    while (object_next(&iter, &prefix, &version)) {
        const uint32_t has = migration_version_in(now, prefix);
        if (has > migration_version_in(own, prefix)) {
            struct err_detail why = {0};
            struct buf name = {0};
            append_whole(&name, piece, prefix);
            (void)err_set(&why,
                          ERR_ARGUMENT,
                          "another process migrated %s to version %u: start it "
                          "with the file that has that version",
                          buf_text(&name),
                          (unsigned)has);
            buf_release(&name);
            piece_fail(piece, &why);
            return;
        }
    }
}
