/* From the declarations of patterns to the document of a piece, and from there
 * to the places and streams of every runtime. */

#include "runtime/piece_schemas.h"

#include <string.h>

#include "base/mem.h"
#include "runtime/piece_parts.h"
#include "runtime/schemas.h"
#include "value/compare.h"
#include "value/object.h"

/* A place that has a schema because of what a pattern says. */
struct ruled_place {
    struct place *place;   /* a reference */
    struct schema *schema; /* likewise */
    bool is_stream;
};

/* A piece whose document this runtime follows. */
struct followed_piece {
    struct place *root; /* of the document; a reference */
    struct value rest;  /* of the document, when it was looked at last */
    VEC(struct ruled_place) rules;
};

struct followed_pieces {
    struct map by_document; /* struct followed_piece by entity */
    uint64_t version;       /* of the replica, when all were looked at last */
    bool built;             /* one was built since */
};

/* -- Declaring ----------------------------------------------------------- */

static enum err refuse_schema(const struct schema_fault *fault,
                              struct value name,
                              struct err_detail *detail)
{
    const struct text text = value_text(&name);
    struct buf what = {0};
    buf_printf(&what, "the schema of '%.*s'", (int)text.length, text.at);
    const enum err err = schema_fault_tell(fault, buf_text(&what), detail);
    buf_release(&what);
    return err;
}

enum err piece_schemas_declare(struct builder *builder,
                               struct value name,
                               struct value source,
                               struct err_detail *detail)
{
    struct schema_fault fault = {0};
    struct schema *schema = NULL;
    if (schema_new(source, &schema, &fault) != ERR_OK) {
        return refuse_schema(&fault, name, detail);
    }
    const struct declared_schema declared = {value_ref(name), schema};
    vec_push(&builder_root(builder)->schemas, declared);
    return ERR_OK;
}

/* Names are declared in the order of their schemas, most often: the search
 * begins at `hint`. The last of several counts. */
static struct schema *schema_of(const struct builder *root,
                                struct value name,
                                size_t hint)
{
    const size_t count = root->schemas.count;
    if (hint < count && key_equal(root->schemas.at[hint].name, name)) {
        return root->schemas.at[hint].schema;
    }
    for (size_t i = count; i-- > 0;) {
        if (key_equal(root->schemas.at[i].name, name)) {
            return root->schemas.at[i].schema;
        }
    }
    return NULL;
}

struct schema *piece_schemas_of(struct builder *builder,
                                const struct part *part)
{
    const struct builder *root = builder_root(builder);
    return schema_of(root, part->name, root->schemas.count - 1);
}

struct value piece_schemas_stored(const struct builder *builder)
{
    struct value all = value_empty_object();
    VEC_FOREACH (&builder->schemas, declared) {
        all = object_set_adopt(all,
                               value_ref(declared->name),
                               value_ref(schema_source(declared->schema)));
    }
    return all;
}

void piece_schemas_release(struct builder *builder)
{
    VEC_FOREACH (&builder->schemas, declared) {
        value_unref(declared->name);
        schema_unref(declared->schema);
    }
    vec_release(&builder->schemas);
    buf_release(&builder->misfits);
}

enum err piece_schemas_check(const struct builder *builder,
                             struct err_detail *detail)
{
    VEC_FOREACH (&builder->schemas, declared) {
        const struct value kind = object_get(builder->cells, declared->name);
        if (!value_is_text(kind, part_kind_name(PART_STATE)) &&
            !value_is_text(kind, part_kind_name(PART_ARGUMENT)) &&
            !value_is_text(kind, part_kind_name(PART_HANDLER))) {
            const struct text name = value_text(&declared->name);
            return err_set(detail,
                           ERR_ARGUMENT,
                           "a schema was given for '%.*s', but the pattern "
                           "declares no such state, argument or stream",
                           (int)name.length,
                           name.at);
        }
    }
    return ERR_OK;
}

enum err piece_schemas_fill(const struct schema *schema,
                            const char *what,
                            struct value name,
                            struct value *value,
                            struct err_detail *detail)
{
    if (schema == NULL) {
        return ERR_OK;
    }
    *value = schema_fill_adopt(schema, *value);
    struct schema_fault fault = {0};
    if (value_is_absent(*value) ||
        schema_check(schema, *value, &fault) == ERR_OK) {
        return ERR_OK;
    }
    const struct text text = value_text(&name);
    struct buf whole = {0};
    buf_printf(&whole, "%s '%.*s'", what, (int)text.length, text.at);
    const enum err err = schema_fault_tell(&fault, buf_text(&whole), detail);
    buf_release(&whole);
    return err;
}

/* -- Data that does not fit ---------------------------------------------- */

static struct value stored_schema(struct value about, struct value name)
{
    const struct value schemas = object_field(about, "schemas");
    return value_is_object(schemas) ? object_get(schemas, name) : VALUE_NONE;
}

static void note_misfit(struct builder *builder,
                        const struct part *part,
                        const struct schema_fault *fault)
{
    struct buf *to = &builder_root(builder)->misfits;
    const struct text name = value_text(&part->name);
    buf_printf(to,
               "the %s '%.*s' does not match its schema%s%s: %s; its data is "
               "kept, and writes that change this part must make it match",
               part_kind_name(part->kind),
               (int)name.length,
               name.at,
               fault->pointer[0] != '\0' ? " at " : "",
               fault->pointer,
               fault->text);
    buf_append_char(to, '\0');
}

void piece_schemas_compare(struct builder *builder,
                           const struct part *part,
                           const struct schema *schema)
{
    struct piece *piece = builder->piece;
    struct entity *entity = part->place->entity;
    const struct value before = stored_schema(piece->about, part->name);
    if (schema == NULL || piece->assumed ||
        (!value_is_absent(before) &&
         value_equal(before, schema_source(schema)))) {
        return;
    }
    if (!entity->loaded) {
        vec_push(&piece->needs, entity);
        return;
    }
    struct schema_fault fault = {0};
    const struct value data = entity->visible.payload;
    if (!value_is_absent(data) &&
        schema_check(schema, data, &fault) != ERR_OK) {
        note_misfit(builder, part, &fault);
    }
}

void piece_schemas_tell(const struct builder *builder)
{
    const struct runtime *runtime = builder->piece->runtime;
    const struct buf *all = &builder->misfits;
    size_t at = 0;
    while (runtime->notice != NULL && at < all->length) {
        runtime->notice(runtime->notice_ctx, builder->piece, all->at + at);
        at += strlen(all->at + at) + 1;
    }
}

/* -- Which piece --------------------------------------------------------- */

/* Whether the id before the slash at `slash` can be the document of a piece, or
 * of an element that is one (runtime/element.h): that ends with a key. */
static bool can_be_piece(struct text id, size_t begin, size_t slash)
{
    size_t at = slash;
    while (at > begin && id.at[at - 1] >= '0' && id.at[at - 1] <= '9') {
        at--;
    }
    return memchr(id.at + begin, '/', slash - begin) == NULL ||
           (at < slash && id.at[at - 1] == '/');
}

/* The document of the piece to which the entity belongs, by its id, innermost
 * first: with a length of at most *length, which becomes its own. NULL: the
 * entity belongs to no piece. */
static struct entity *document_of(const struct entity *entity, size_t *length)
{
    static const char prefix[] = "piece:";
    const size_t begin = sizeof prefix - 1;
    const struct text id = value_text(&entity->id);
    if (id.length <= begin || memcmp(id.at, prefix, begin) != 0) {
        return NULL;
    }
    size_t slash = *length < id.length ? *length : id.length - 1;
    while (slash > begin &&
           (id.at[slash] != '/' || !can_be_piece(id, begin, slash))) {
        slash--;
    }
    if (slash == begin) {
        return NULL;
    }
    *length = slash - 1;
    struct entity *document = NULL;
    const struct value name = value_string_new(id.at, slash);
    const enum err err =
        entity_of(entity->space, SCOPE_SPACE, name, &document, NULL);
    value_unref(name);
    return err == ERR_OK ? document : NULL;
}

/* The name of a piece, by its document; new. */
static struct value piece_name(const struct entity *document)
{
    const size_t begin = strlen("piece:");
    const struct text id = value_text(&document->id);
    return value_string_new(id.at + begin, id.length - begin);
}

/* What a document says of its piece; or absent. */
static struct value about_of(const struct entity *document)
{
    const struct value rest = document->visible.rest;
    const struct value about = object_field(rest, "piece");
    return value_is_object(about) ? about : VALUE_NONE;
}

/* -- Following ----------------------------------------------------------- */

static uint64_t document_hash(const struct entity *document)
{
    return (uint64_t)(uintptr_t)document;
}

static bool is_followed(const void *item, const void *key)
{
    const struct followed_piece *followed = item;
    return followed->root->entity == key;
}

/* NULL: it is not followed. */
static struct followed_piece *find(const struct runtime *runtime,
                                   const struct entity *document)
{
    return runtime->followed == NULL ? NULL
                                     : map_find(&runtime->followed->by_document,
                                                document_hash(document),
                                                is_followed,
                                                document);
}

static struct followed_piece *add(struct runtime *runtime,
                                  struct entity *document)
{
    if (runtime->followed == NULL) {
        runtime->followed = mem_alloc_zero(sizeof *runtime->followed);
    }
    struct followed_piece *followed = mem_alloc_zero(sizeof *followed);
    followed->root = place_root(document);
    map_insert(&runtime->followed->by_document,
               document_hash(document),
               followed);
    return followed;
}

/* -- Rules --------------------------------------------------------------- */

/* The rules that are to be those of a piece. */
struct next_rules {
    const struct followed_piece *followed;
    VEC(struct ruled_place) rules;
};

/* The rule of a place among those that hold; most often it is the one at
 * `hint`. NULL: it has none. */
static struct ruled_place *rule_of(const struct followed_piece *followed,
                                   const struct place *place,
                                   size_t hint)
{
    const size_t count = followed->rules.count;
    for (size_t i = 0; i < count; i++) {
        const size_t at = hint + i < count ? hint + i : hint + i - count;
        if (at < count && followed->rules.at[at].place == place) {
            return &followed->rules.at[at];
        }
    }
    return NULL;
}

/* Adopts the place. A schema that cannot be compiled is of another version of
 * this program, and does not hold. */
static void add_rule_adopt(struct next_rules *next,
                           struct place *place,
                           struct value source,
                           bool is_stream)
{
    const struct ruled_place *before =
        rule_of(next->followed, place, next->rules.count);
    struct schema *schema = NULL;
    if (before != NULL && value_equal(schema_source(before->schema), source)) {
        schema = schema_ref(before->schema);
    } else if (schema_new(source, &schema, NULL) != ERR_OK) {
        place_unref(place);
        return;
    }
    vec_push(&next->rules, ((struct ruled_place){place, schema, is_stream}));
}

static void set_rule(struct runtime *runtime,
                     const struct ruled_place *rule,
                     struct schema *schema)
{
    if (rule->is_stream) {
        events_set_schema(events_stream(runtime->sched, rule->place),
                          schema,
                          true);
        return;
    }
    const struct schemas_option option = {
        .place = rule->place,
        .schema = schema,
        .fills = true,
    };
    schemas_set(runtime, &option);
}

static void unset_all(struct runtime *runtime, struct followed_piece *followed)
{
    VEC_FOREACH (&followed->rules, rule) {
        set_rule(runtime, rule, NULL);
        place_unref(rule->place);
        schema_unref(rule->schema);
    }
    vec_release(&followed->rules);
}

/* From now on the next rules hold, and no others. */
static void end_rules(struct runtime *runtime,
                      struct followed_piece *followed,
                      struct next_rules *next)
{
    unset_all(runtime, followed);
    VEC_FOREACH (&next->rules, rule) {
        set_rule(runtime, rule, rule->schema);
        vec_push(&followed->rules, *rule);
    }
    vec_release(&next->rules);
}

/* -- Following ----------------------------------------------------------- */

/* The document of a name, in each scope that states of the piece have. */
static void add_named(struct next_rules *next,
                      struct value about,
                      struct value name,
                      struct value source)
{
    const struct entity *document = next->followed->root->entity;
    const struct value piece = piece_name(document);
    const struct value id = piece_part_document(piece, about, name);
    const struct value kind = object_get(object_field(about, "cells"), name);
    const bool is_stream = value_is_text(kind, part_kind_name(PART_HANDLER));
    for (unsigned i = SCOPE_SPACE; i <= SCOPE_SESSION; i++) {
        const enum scope scope = (enum scope)i;
        const bool has = scope == SCOPE_SPACE ||
                         (!is_stream && scopes_of_about(about, scope));
        struct entity *entity = NULL;
        if (has && value_is_string(id) &&
            entity_of(document->space, scope, id, &entity, NULL) == ERR_OK) {
            add_rule_adopt(next, place_payload(entity), source, is_stream);
        }
    }
    value_unref(id);
    value_unref(piece);
}

/* Checks again what was classified before the piece declared it. */
static void guard_parts(const struct entity *document, struct value about)
{
    const struct value cells = object_field(about, "cells");
    const struct value piece = piece_name(document);
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        const struct value id = piece_part_document(piece, about, name);
        struct entity *entity =
            value_is_string(id) ? entity_find(document->space, SCOPE_SPACE, id)
                                : NULL;
        if (entity != NULL && entity->followed) {
            part_guard(entity, document);
        }
        value_unref(id);
    }
    value_unref(piece);
}

static void follow(struct runtime *runtime, struct followed_piece *followed)
{
    const struct entity *document = followed->root->entity;
    if (value_is_same(document->visible.rest, followed->rest)) {
        return;
    }
    value_unref(followed->rest);
    followed->rest = value_ref(document->visible.rest);
    const struct value about = about_of(document);
    const struct value schemas =
        value_is_absent(about) ? VALUE_NONE : object_field(about, "schemas");
    struct next_rules next = {.followed = followed};
    if (value_is_object(schemas) &&
        value_is_object(object_field(about, "cells"))) {
        struct object_iter iter = object_iter(schemas);
        struct value name;
        struct value source;
        while (object_next(&iter, &name, &source)) {
            add_named(&next, about, name, source);
        }
    }
    end_rules(runtime, followed, &next);
    if (!value_is_absent(about)) {
        guard_parts(document, about);
    }
}

bool piece_schemas_look_up(const struct cell_access *access,
                           struct entity *entity)
{
    size_t length = SIZE_MAX;
    struct entity *document = document_of(entity, &length);
    while (document != NULL) {
        if (access->transaction == NULL) {
            cell_fetch(access->runtime, document);
        } else if (!transaction_knows(access->transaction, document)) {
            transaction_await(access->transaction, document);
            return false;
        }
        if (!document->loaded) {
            return true; /* it is this transaction that makes the piece */
        }
        struct entity *above = document_of(entity, &length);
        if (above == NULL || !value_is_absent(about_of(document))) {
            break;
        }
        document = above; /* a key that is none, or only an output */
    }
    entity->row = collection_is_row(entity->id);
    part_guard(entity, document);
    if (document == NULL) {
        entity->followed = true;
        return true;
    }
    if (find(access->runtime, document) == NULL) {
        follow(access->runtime, add(access->runtime, document));
    }
    entity->followed = true;
    return true;
}

void piece_schemas_apply(struct piece *piece, const struct builder *builder)
{
    struct runtime *runtime = piece->runtime;
    struct followed_piece *followed = find(runtime, piece->document);
    if (followed == NULL && builder->schemas.count == 0) {
        return;
    }
    if (followed == NULL) {
        followed = add(runtime, piece->document);
    }
    struct next_rules next = {.followed = followed};
    VEC_FOREACH (&piece->parts, part) {
        struct schema *schema =
            schema_of(builder, part->name, next.rules.count);
        if (schema != NULL) {
            vec_push(&next.rules,
                     ((struct ruled_place){place_ref(part->place),
                                           schema_ref(schema),
                                           part->kind == PART_HANDLER}));
        }
    }
    end_rules(runtime, followed, &next);
    /* If the start comes to nothing, what is stored holds again. */
    value_unref(followed->rest);
    followed->rest = VALUE_NONE;
    runtime->followed->built = true;
}

void piece_schemas_step(struct runtime *runtime)
{
    struct followed_pieces *all = runtime->followed;
    if (all == NULL ||
        (all->version == runtime->replica.version && !all->built)) {
        return;
    }
    all->version = runtime->replica.version;
    all->built = false;
    MAP_FOREACH (&all->by_document, slot) {
        follow(runtime, slot->item);
    }
}

void piece_schemas_free(struct runtime *runtime)
{
    struct followed_pieces *all = runtime->followed;
    if (all == NULL) {
        return;
    }
    MAP_FOREACH (&all->by_document, slot) {
        struct followed_piece *followed = slot->item;
        unset_all(runtime, followed);
        value_unref(followed->rest);
        place_unref(followed->root);
        mem_free(followed, sizeof *followed);
    }
    map_release(&all->by_document);
    mem_free(all, sizeof *all);
    runtime->followed = NULL;
}
