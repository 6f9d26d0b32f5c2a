/* The list, its body, and who looks. */

#include "lib/list_kit.h"

#include <string.h>

#include "lib/test.h"
#include "lib/values.h"
#include "runtime/cell.h"
#include "value/array.h"
#include "value/object.h"

/* -- Reading ------------------------------------------------------------- */

static struct value read_through(const struct list_kit *kit,
                                 struct run *run,
                                 struct place *place,
                                 bool *stale)
{
    const struct cell_access access = {&kit->one->runtime,
                                       run,
                                       run != NULL ? run->transaction : NULL};
    struct value value = VALUE_NONE;
    struct err_detail detail = {0};
    if (run == NULL) {
        world_load(kit->one, place->entity);
    }
    const enum err err = cell_read(&access,
                                   place,
                                   READ_DEEP,
                                   READ_FOR_BOTH,
                                   &value,
                                   NULL,
                                   &detail);
    *stale = *stale || err == ERR_STALE;
    return value;
}

struct value list_kit_read(const struct list_kit *kit,
                           struct run *run,
                           struct place *place,
                           bool *stale)
{
    const struct value links = read_through(kit, run, place, stale);
    if (!value_is_array(links)) {
        return links;
    }
    struct value items = value_empty_array();
    for (uint32_t i = 0; i < array_count(links) && !*stale; i++) {
        struct path_segment index = path_segment_of_index(i);
        struct place *at = place_child(place, index.key);
        path_segment_release(&index);
        const struct value item = read_through(kit, run, at, stale);
        place_unref(at);
        items = array_push_adopt(items,
                                 value_is_absent(item) ? value_null() : item);
    }
    value_unref(links);
    return items;
}

static enum run_result look(struct run *run, void *ctx, struct value *result)
{
    struct list_kit *kit = ctx;
    (void)result;
    bool stale = false;
    const struct value shown = list_kit_read(kit, run, kit->out, &stale);
    if (stale || run_is_waiting(run)) {
        value_unref(shown);
        return stale ? RUN_AGAIN : RUN_DONE;
    }
    value_unref(kit->shown);
    kit->shown = shown;
    kit->looks++;
    return RUN_DONE;
}

/* -- Bodies -------------------------------------------------------------- */

static int64_t number_of(struct value value)
{
    const struct value number =
        value_is_object(value) ? object_field(value, "n") : value;
    return value_kind(number) == VALUE_INT ? value_integer(number) : 0;
}

static enum run_result body(struct run *run,
                            void *ctx,
                            struct place *element,
                            struct value *result)
{
    struct list_kit *kit = ctx;
    bool stale = false;
    struct place *at = place_ref(element);
    if (kit->partial) {
        const struct value key = value_text_new("n");
        place_unref(at);
        at = place_child(element, key);
        value_unref(key);
    }
    const struct value value = read_through(kit, run, at, &stale);
    place_unref(at);
    if (stale || run_is_waiting(run)) {
        value_unref(value);
        return stale ? RUN_AGAIN : RUN_DONE;
    }
    kit->runs++;
    const bool odd = number_of(value) % 2 != 0;
    const struct value own =
        value_is_absent(value) ? value_null() : value_ref(value);
    value_unref(value);
    if (kit->what == LIST_KIT_FILTER) {
        value_unref(own);
        *result = odd ? value_int(1) : value_null();
        return RUN_DONE;
    }
    *result = array_push_adopt(value_empty_array(), own);
    if (kit->what == LIST_KIT_FLAT_MAP && !odd) {
        *result = array_push_adopt(*result, value_ref(own));
    }
    return RUN_DONE;
}

static enum run_result add(struct run *run,
                           void *ctx,
                           struct value accumulator,
                           struct value element,
                           struct value *result)
{
    struct list_kit *kit = ctx;
    kit->runs += !run_is_waiting(run);
    const int64_t number = number_of(element);
    *result =
        value_int(value_integer(accumulator) + (number % 2 != 0 ? number : 0));
    return RUN_DONE;
}

/* -- The pattern --------------------------------------------------------- */

static enum err build_list(struct list_kit *kit,
                           struct builder *builder,
                           struct value name,
                           struct err_detail *detail)
{
    const struct digest *digest = kit->forgets ? NULL : &kit->digest;
    const struct builder_list list = {
        .name = name,
        .list = kit->items,
        .body = {.run = body, .ctx = kit, .fingerprint = digest},
    };
    const struct builder_reduce reduce = {
        .name = name,
        .list = kit->items,
        .initial = value_int(0),
        .run = add,
        .ctx = kit,
        .fingerprint = digest,
    };
    switch (kit->what) {
    case LIST_KIT_MAP:
        return builder_map(builder, &list, &kit->out, detail);
    case LIST_KIT_FILTER:
        return builder_filter(builder, &list, &kit->out, detail);
    case LIST_KIT_FLAT_MAP:
        return builder_flat_map(builder, &list, &kit->out, detail);
    case LIST_KIT_REDUCE:
        return builder_reduce(builder, &reduce, &kit->out, detail);
    }
    return ERR_ARGUMENT;
}

static enum err build(struct builder *builder,
                      void *ctx,
                      struct err_detail *detail)
{
    struct list_kit *kit = ctx;
    const struct value items = value_text_new("items");
    const struct value out = value_text_new("out");
    const struct value looks = value_text_new("look");
    const struct builder_cell cell = {.name = items,
                                      .initial = value_empty_array()};
    enum err err = builder_state(builder, &cell, &kit->items, detail);
    if (err == ERR_OK) {
        err = build_list(kit, builder, out, detail);
    }
    if (err == ERR_OK && !kit->blind) {
        const struct builder_node node = {
            .name = looks,
            .body = {look, kit, NULL, kit->forgets ? NULL : &kit->digest},
        };
        err = builder_effect(builder, &node, detail);
    }
    if (err == ERR_OK) {
        err = builder_result(builder, out, kit->out, detail);
    }
    value_unref(items);
    value_unref(out);
    value_unref(looks);
    return err;
}

/* -- Its life ------------------------------------------------------------ */

static void on_error(void *ctx,
                     const struct node *node,
                     const struct err_detail *detail)
{
    (void)node;
    (void)detail;
    struct list_kit *kit = ctx;
    kit->errors++;
}

static void open_runtime(struct list_kit *kit)
{
    const struct world_runtime_options options = {
        .hooks = {.ctx = kit, .error = on_error}};
    struct err_detail detail = {0};
    EXPECT(world_runtime_new(kit->store, &options, &kit->one, &detail) ==
           ERR_OK);
}

void list_kit_begin(struct list_kit *kit, enum list_kit_what what)
{
    *kit = (struct list_kit){.what = what};
    struct err_detail detail = {0};
    kit->world = world_new(1);
    EXPECT(world_store_new(kit->world, NULL, &kit->store, &detail) == ERR_OK);
    open_runtime(kit);
    kit->digest = digest_of_bytes("test", "list", 4);
    const struct value name = value_text_new("list");
    kit->pattern = pattern_new(
        &(struct pattern_spec){.name = name, .build = build, .ctx = kit});
    value_unref(name);
}

void list_kit_end(struct list_kit *kit)
{
    world_free(kit->world);
    pattern_unref(kit->pattern);
    value_unref(kit->shown);
}

void list_kit_idle(struct list_kit *kit)
{
    EXPECT(world_idle(kit->one, true) == WORLD_AT_REST);
}

void list_kit_start(struct list_kit *kit)
{
    const struct value name = value_text_new("p");
    const struct piece_options options = {.name = name,
                                          .pattern = kit->pattern};
    struct err_detail detail = {0};
    if (!EXPECT(
            piece_start(&kit->one->runtime, &options, &kit->piece, &detail) ==
            ERR_OK)) {
        EXPECT_TEXT(detail.text, "");
    }
    value_unref(name);
    list_kit_idle(kit);
    if (!EXPECT(kit->piece->state == PIECE_RUNNING)) {
        EXPECT_TEXT(kit->piece->error.text, "");
    }
    EXPECT(sched_check(kit->one->runtime.sched));
}

void list_kit_crash(struct list_kit *kit)
{
    world_runtime_end(kit->one);
    open_runtime(kit);
    kit->piece = NULL;
    value_unref(kit->shown);
    kit->shown = VALUE_NONE;
}

/* -- Writing ------------------------------------------------------------- */

static struct entity *entity_by(struct list_kit *kit, const char *id)
{
    struct entity *entity = NULL;
    const struct value name = value_text_new(id);
    EXPECT(entity_of(kit->one->runtime.spaces.at[0],
                     SCOPE_SPACE,
                     name,
                     &entity,
                     NULL) == ERR_OK);
    value_unref(name);
    world_load(kit->one, entity);
    return entity;
}

void list_kit_put_adopt(struct list_kit *kit,
                        const char *id,
                        const char *pointer,
                        struct value value)
{
    struct place *at = place_payload(entity_by(kit, id));
    struct path *path = from_pointer(&kit->one->runtime.replica.paths, pointer);
    for (uint32_t i = 0; i < path->length; i++) {
        struct place *child = place_child(at, path->at[i].key);
        place_unref(at);
        at = child;
    }
    path_unref(path);
    struct err_detail detail = {0};
    struct transaction *transaction =
        transaction_begin(&kit->one->runtime.replica, NULL);
    enum err err = value_is_absent(value)
                       ? transaction_delete(transaction, at, &detail)
                       : transaction_put_adopt(transaction, at, value, &detail);
    if (err == ERR_OK) {
        err = transaction_commit(transaction, &detail);
    }
    EXPECT_TEXT(detail.text, "");
    transaction_release(transaction);
    place_unref(at);
    list_kit_idle(kit);
    EXPECT(sched_check(kit->one->runtime.sched));
}

void list_kit_put(struct list_kit *kit,
                  const char *id,
                  const char *pointer,
                  const char *json)
{
    list_kit_put_adopt(kit,
                       id,
                       pointer,
                       json[0] == '\0' ? VALUE_NONE : from_quoted(json));
}

void list_kit_set(struct list_kit *kit, const char *json)
{
    list_kit_put(kit, "piece:p/items", "", json);
}

/* -- Asking -------------------------------------------------------------- */

uint64_t list_kit_runs(struct list_kit *kit)
{
    const uint64_t runs = kit->runs - kit->taken;
    kit->taken = kit->runs;
    return runs;
}

struct value list_kit_document(struct list_kit *kit, const char *id)
{
    const struct entity *entity = entity_by(kit, id);
    return value_ref(entity->visible.payload);
}

size_t list_kit_nodes(const struct list_kit *kit)
{
    const struct sched *sched = kit->one->runtime.sched;
    return sched->computations + sched->effects;
}

bool list_kit_expect_shown(const char *file,
                           int line,
                           const struct list_kit *kit,
                           const char *json)
{
    const struct value want = from_quoted(json);
    const bool held = values_expect(file, line, "shown", kit->shown, want);
    value_unref(want);
    return held;
}
