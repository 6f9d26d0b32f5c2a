/* Pieces: made, taken up again with zero runs, stopped, removed, launched. The
 * pattern of these tests is a list with a sum, a doubled sum that somebody
 * looks at, and a handler that adds. */

#include <string.h>

#include "host/world.h"
#include "lib/test.h"
#include "runtime/cell.h"
#include "runtime/piece.h"
#include "store/observations.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

/* -- The pattern --------------------------------------------------------- */

struct shop {
    struct pattern *pattern;
    struct pattern *inner; /* a child; or NULL */
    struct piece *piece;   /* for the handler */
    struct place *items;
    struct place *sum;
    struct digest digest;
    unsigned sums;
    unsigned looks;
    unsigned builds;
    int64_t seen; /* by the effect */
    int64_t initial;
    bool launches;
    bool fails;
    const char *twice; /* declared a second time */
};

static int64_t read_int(struct run *run, struct place *place)
{
    struct value value = VALUE_NONE;
    const enum err err = run_read(run, place, READ_DEEP, READ_FOR_BOTH, &value);
    const int64_t number = err == ERR_OK && value_kind(value) == VALUE_INT
                               ? value_integer(value)
                               : -1;
    value_unref(value);
    return number;
}

static enum run_result sum(struct run *run, void *ctx, struct value *result)
{
    struct shop *shop = ctx;
    struct value list = VALUE_NONE;
    const enum err err =
        run_read(run, shop->items, READ_DEEP, READ_FOR_BOTH, &list);
    EXPECT(err == ERR_OK || run_is_waiting(run));
    int64_t total = 0;
    for (uint32_t i = 0; value_is_array(list) && i < array_count(list); i++) {
        total += value_integer(array_at(list, i));
    }
    value_unref(list);
    shop->sums += !run_is_waiting(run);
    *result = value_int(total);
    return RUN_DONE;
}

static enum run_result look(struct run *run, void *ctx, struct value *result)
{
    struct shop *shop = ctx;
    (void)result;
    const int64_t seen = read_int(run, shop->sum);
    if (!run_is_waiting(run)) {
        shop->seen = seen;
        shop->looks++;
    }
    return RUN_DONE;
}

static enum run_result add(struct run *run, void *ctx, struct value *result)
{
    struct shop *shop = ctx;
    struct err_detail detail = {0};
    const struct value payload = handling_payload(run->handling);
    const enum err err = transaction_merge_adopt(
        run->transaction,
        shop->items,
        WRITE_APPEND,
        array_push_adopt(value_empty_array(), value_ref(payload)),
        &detail);
    EXPECT(err == ERR_OK);
    if (shop->launches) {
        struct value arguments = value_empty_object();
        object_put_adopt(&arguments, "n", value_ref(payload));
        const struct piece_launch_options options = {
            .pattern = shop->inner,
            .arguments = arguments,
        };
        EXPECT(piece_launch(shop->piece,
                            run->handling,
                            &options,
                            result,
                            &detail) == ERR_OK);
        value_unref(arguments);
        return RUN_DONE;
    }
    *result = value_ref(payload);
    return RUN_DONE;
}

static struct value text(const char *name)
{
    return value_text_new(name);
}

static enum err build_shop(struct builder *builder,
                           void *ctx,
                           struct err_detail *detail)
{
    struct shop *shop = ctx;
    shop->builds++;
    shop->piece = builder_piece_of(builder);
    const struct value items = text("items");
    const struct value sums = text("sum");
    const struct value looks = text("look");
    const struct value adds = text("add");
    const struct value twice = text(shop->twice != NULL ? shop->twice : "");
    struct value initial =
        array_push_adopt(value_empty_array(), value_int(shop->initial));
    const struct builder_cell cell = {.name = items, .initial = initial};
    const struct builder_node summing = {
        .name = sums,
        .body = {sum, shop, NULL, &shop->digest},
        .reads = &shop->items,
        .read_count = 1,
    };
    const struct builder_node looking = {
        .name = looks,
        .body = {look, shop, NULL, &shop->digest},
        .reads = &shop->sum,
        .read_count = 1,
    };
    const struct builder_handler adding = {
        .name = adds,
        .body = {add, shop, NULL, NULL},
        .pure = true,
    };
    struct place *stream = NULL;
    enum err err = builder_state(builder, &cell, &shop->items, detail);
    if (err == ERR_OK) {
        err = builder_computed(builder, &summing, &shop->sum, detail);
    }
    if (err == ERR_OK) {
        err = builder_effect(builder, &looking, detail);
    }
    if (err == ERR_OK) {
        err = builder_handler(builder, &adding, &stream, detail);
    }
    if (err == ERR_OK) {
        err = builder_result(builder, items, shop->items, detail);
    }
    if (err == ERR_OK) {
        err = builder_result(builder, sums, shop->sum, detail);
    }
    if (err == ERR_OK) {
        err = builder_result(builder, adds, stream, detail);
    }
    if (err == ERR_OK && shop->twice != NULL) {
        const struct builder_cell again = {.name = twice};
        struct place *place;
        err = builder_state(builder, &again, &place, detail);
    }
    if (err == ERR_OK && shop->fails) {
        err = err_set(detail, ERR_ARGUMENT, "a pattern that fails");
    }
    value_unref(initial);
    value_unref(items);
    value_unref(sums);
    value_unref(looks);
    value_unref(adds);
    value_unref(twice);
    return err;
}

static void shop_init(struct shop *shop)
{
    const struct value name = text("shop");
    *shop = (struct shop){.initial = 1};
    shop->digest = digest_of_bytes("test", "sum", 3);
    shop->pattern = pattern_new(
        &(struct pattern_spec){.name = name, .build = build_shop, .ctx = shop});
    value_unref(name);
}

static void shop_release(struct shop *shop)
{
    pattern_unref(shop->pattern);
}

/* -- Worlds -------------------------------------------------------------- */

struct setting {
    struct world *world;
    struct world_store *store;
    struct world_runtime *one;
};

static struct world_runtime *runtime_on(struct setting *setting)
{
    struct world_runtime *one;
    struct err_detail detail = {0};
    const struct world_runtime_options options = {0};
    EXPECT(world_runtime_new(setting->store, &options, &one, &detail) ==
           ERR_OK);
    return one;
}

static void setting_begin(struct setting *setting)
{
    struct err_detail detail = {0};
    setting->world = world_new(1);
    EXPECT(world_store_new(setting->world, NULL, &setting->store, &detail) ==
           ERR_OK);
    setting->one = runtime_on(setting);
}

static void crash(struct setting *setting)
{
    world_runtime_end(setting->one);
    setting->one = runtime_on(setting);
}

static struct piece *start(struct world_runtime *one,
                           const char *name,
                           struct pattern *pattern)
{
    const struct value piece_name = text(name);
    const struct piece_options options = {.name = piece_name,
                                          .pattern = pattern};
    struct piece *piece = NULL;
    struct err_detail detail = {0};
    EXPECT(piece_start(&one->runtime, &options, &piece, &detail) == ERR_OK);
    value_unref(piece_name);
    EXPECT(world_idle(one, true) == WORLD_AT_REST);
    return piece;
}

static int64_t result_of(const struct piece *piece, const char *field)
{
    struct value path = array_push_adopt(value_empty_array(), text(field));
    struct place *place;
    struct err_detail detail = {0};
    EXPECT(piece_place(piece, path, &place, &detail) == ERR_OK);
    value_unref(path);
    struct value value = VALUE_NONE;
    (void)entity_state_at(&place->entity->visible, place->path, &value);
    place_unref(place);
    const int64_t number =
        value_kind(value) == VALUE_INT ? value_integer(value) : -1;
    value_unref(value);
    return number;
}

static void send(struct world_runtime *one,
                 struct piece *piece,
                 const char *stream_name,
                 int64_t number)
{
    const struct value name = text(stream_name);
    struct stream *stream;
    struct err_detail detail = {0};
    EXPECT(piece_stream(piece, name, &stream, &detail) == ERR_OK);
    value_unref(name);
    const struct event_spec spec = {.payload = value_int(number)};
    EXPECT(events_send(one->runtime.sched, stream, &spec, &detail) == ERR_OK);
    EXPECT(world_idle(one, true) == WORLD_AT_REST);
}

/* -- Tests --------------------------------------------------------------- */

TEST(a_piece_is_made_and_its_result_can_be_read)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    struct piece *piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->state == PIECE_RUNNING && !piece->resumed);
    EXPECT(shop.sums == 1 && shop.looks == 1 && shop.seen == 1);
    EXPECT(result_of(piece, "sum") == 1);
    send(setting.one, piece, "add", 5);
    EXPECT(shop.sums == 2 && shop.looks == 2 && shop.seen == 6);
    world_free(setting.world);
    shop_release(&shop);
}

TEST(a_piece_that_comes_back_runs_nothing)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    send(setting.one, start(setting.one, "s", shop.pattern), "add", 5);
    crash(&setting);
    shop.initial = 100; /* of no interest: the document is there */
    const uint64_t commits = shop.sums;
    struct piece *piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->state == PIECE_RUNNING && piece->resumed);
    EXPECT(piece->counts.restored == 2);
    EXPECT(piece->counts.dirty == 0 && piece->counts.unknown == 0);
    EXPECT(shop.sums == commits && shop.looks == 2);
    EXPECT(setting.one->runtime.sched->counters.runs == 0);
    send(setting.one, piece, "add", 4);
    EXPECT(shop.sums == 3 && shop.seen == 10);
    world_free(setting.world);
    shop_release(&shop);
}

TEST(who_does_without_effects_leaves_them_to_the_next_one)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    (void)start(setting.one, "s", shop.pattern);
    EXPECT(shop.looks == 1 && shop.seen == 1);
    crash(&setting);

    setting.one->runtime.without_effects = true;
    struct piece *piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->counts.restored == 1 && piece->counts.unknown == 0);
    send(setting.one, piece, "add", 5);
    EXPECT(shop.looks == 1 && shop.seen == 1);
    EXPECT(world_idle(setting.one, true) == WORLD_AT_REST);
    crash(&setting);

    piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->counts.unknown == 0);
    EXPECT(shop.looks == 2 && shop.seen == 6);
    world_free(setting.world);
    shop_release(&shop);
}

TEST(what_changed_meanwhile_runs_and_nothing_else)
{
    struct setting setting;
    struct shop shop;
    struct shop other;
    setting_begin(&setting);
    shop_init(&shop);
    shop_init(&other);
    (void)start(setting.one, "s", shop.pattern);
    (void)start(setting.one, "t", other.pattern);
    world_runtime_end(setting.one);

    struct world_runtime *two = runtime_on(&setting);
    const struct value id = text("piece:s/items");
    struct entity *entity;
    struct err_detail detail = {0};
    EXPECT(entity_of(two->runtime.spaces.at[0],
                     SCOPE_SPACE,
                     id,
                     &entity,
                     &detail) == ERR_OK);
    value_unref(id);
    world_load(two, entity);
    struct place *items = place_payload(entity);
    const struct cell_access access = {.runtime = &two->runtime};
    EXPECT(cell_put_adopt(&access,
                          items,
                          array_push_adopt(value_empty_array(), value_int(9)),
                          &detail) == ERR_OK);
    place_unref(items);
    EXPECT(world_idle(two, true) == WORLD_AT_REST);
    world_runtime_end(two);

    setting.one = runtime_on(&setting);
    const struct piece *piece = start(setting.one, "s", shop.pattern);
    (void)start(setting.one, "t", other.pattern);
    EXPECT(piece->counts.dirty == 1 && piece->counts.restored == 1);
    EXPECT(shop.sums == 2 && shop.seen == 9);
    EXPECT(other.sums == 1 && other.looks == 1);
    world_free(setting.world);
    shop_release(&shop);
    shop_release(&other);
}

TEST(a_node_with_another_fingerprint_runs_again)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    (void)start(setting.one, "s", shop.pattern);
    crash(&setting);
    shop.digest = digest_of_bytes("test", "other", 5);
    const struct piece *piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->counts.unknown == 2);
    EXPECT(shop.sums == 2 && shop.looks == 2);
    world_free(setting.world);
    shop_release(&shop);
}

TEST(a_stopped_piece_does_nothing_and_can_be_started_again)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    struct piece *piece = start(setting.one, "s", shop.pattern);
    piece_ref(piece);
    piece_stop(piece);
    EXPECT(piece->state == PIECE_STOPPED);
    struct place *place;
    struct err_detail detail = {0};
    EXPECT(piece_place(piece, value_empty_array(), &place, &detail) ==
           ERR_CLOSED);
    piece_unref(piece);
    piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->counts.restored == 2 && shop.sums == 1);
    world_free(setting.world);
    shop_release(&shop);
}

TEST(a_removed_piece_is_gone_and_the_next_one_is_another)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    struct piece *piece = start(setting.one, "s", shop.pattern);
    send(setting.one, piece, "add", 5);
    piece_remove(piece);
    EXPECT(world_idle(setting.one, true) == WORLD_AT_REST);
    const struct value name = text("s");
    EXPECT(piece_find(&setting.one->runtime, NULL, name) == NULL);
    value_unref(name);
    crash(&setting);
    piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->generation == 2 && !piece->resumed);
    EXPECT(shop.seen == 1); /* the initial value, not what was left */
    world_free(setting.world);
    shop_release(&shop);
}

/* A host that cannot ask. */
static enum err cannot_ask(void *ctx,
                           struct space *space,
                           struct value piece,
                           struct resume_set *out,
                           struct err_detail *detail)
{
    (void)ctx;
    (void)space;
    (void)piece;
    (void)out;
    return err_set(detail, ERR_IO, "no");
}

TEST(pers_33_r34_a_piece_whose_rows_cannot_be_listed_begins_anew)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    struct piece *piece = start(setting.one, "s", shop.pattern);
    send(setting.one, piece, "add", 5);
    crash(&setting);
    runtime_resume_fn *resume = setting.one->runtime.resume;
    setting.one->runtime.resume = cannot_ask;
    const unsigned sums = shop.sums;
    const unsigned looks = shop.looks;
    piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->state == PIECE_RUNNING && piece->resumed);
    EXPECT(piece->counts.restored + piece->counts.dirty == 0);
    EXPECT(shop.sums == sums + 1 && shop.looks == looks + 1);
    EXPECT(shop.seen == 6);
    piece_stop(piece); /* and the next time it is as ever */
    setting.one->runtime.resume = resume;
    piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->counts.restored == 2);
    EXPECT(shop.sums == sums + 1 && shop.looks == looks + 1);
    world_free(setting.world);
    shop_release(&shop);
}

/* How many actions of pieces that are gone the store finds to remove. */
static uint64_t collected(const struct setting *setting)
{
    struct collect_counts counts;
    struct engine *engine;
    EXPECT(world_engine(setting->store, "main", &engine, NULL) == ERR_OK);
    EXPECT(engine_collect(engine, NULL, NULL, &counts, NULL) == ERR_OK);
    return counts.actions;
}

TEST(what_was_remembered_of_a_removed_piece_is_collected)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    struct piece *piece = start(setting.one, "s", shop.pattern);
    send(setting.one, piece, "add", 5);
    EXPECT(collected(&setting) == 0);
    world_hold(setting.one, true);
    piece_remove(piece);
    EXPECT(world_idle(setting.one, false) == WORLD_AT_REST);
    EXPECT(collected(&setting) == 0); /* the store has not been told */
    world_hold(setting.one, false);
    EXPECT(world_idle(setting.one, true) == WORLD_AT_REST);
    EXPECT(collected(&setting) == 2);
    piece = start(setting.one, "s", shop.pattern); /* and it begins anew */
    crash(&setting);
    piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->counts.restored == 2);
    EXPECT(collected(&setting) == 0);
    world_free(setting.world);
    shop_release(&shop);
}

TEST(two_runtimes_that_make_the_same_piece_have_one)
{
    struct setting setting;
    struct shop shop;
    struct shop same;
    setting_begin(&setting);
    shop_init(&shop);
    shop_init(&same);
    same.initial = 7;
    struct world_runtime *two = runtime_on(&setting);
    world_hold(two, true);
    const struct value name = text("s");
    const struct piece_options options = {.name = name,
                                          .pattern = same.pattern};
    struct piece *second;
    struct err_detail detail = {0};
    EXPECT(piece_start(&two->runtime, &options, &second, &detail) == ERR_OK);
    (void)world_idle(two, false);
    value_unref(name);
    EXPECT(second->state == PIECE_RUNNING && same.seen == 7);
    struct piece *first = start(setting.one, "s", shop.pattern);
    world_hold(two, false);
    EXPECT(world_idle(two, true) == WORLD_AT_REST);
    EXPECT(second->state == PIECE_RUNNING && second->resumed);
    EXPECT_EQ(result_of(second, "sum"), 1);
    send(two, second, "add", 3);
    EXPECT(world_idle(setting.one, true) == WORLD_AT_REST);
    EXPECT(shop.seen == 4 && same.seen == 4);
    EXPECT(result_of(first, "sum") == 4);
    world_free(setting.world);
    shop_release(&shop);
    shop_release(&same);
}

TEST(a_pattern_that_fails_leaves_nothing)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    shop.fails = true;
    struct piece *piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->state == PIECE_FAILED);
    EXPECT_TEXT(piece->error.text, "a pattern that fails");
    EXPECT(shop.sums == 0);
    EXPECT(value_is_absent(piece->document->visible.rest));
    piece_stop(piece);
    shop.fails = false;
    piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->state == PIECE_RUNNING && !piece->resumed);
    world_free(setting.world);
    shop_release(&shop);
}

TEST(a_name_is_declared_once)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    shop.twice = "sum";
    struct piece *piece = start(setting.one, "s", shop.pattern);
    EXPECT(piece->state == PIECE_FAILED);
    EXPECT_TEXT(piece->error.text, "'sum' is already declared in this piece");
    piece_stop(piece);
    shop.twice = "a/b";
    piece = start(setting.one, "s", shop.pattern);
    EXPECT_TEXT(piece->error.text,
                "the name a/b must not contain '/' or a zero byte");
    world_free(setting.world);
    shop_release(&shop);
}

TEST(wrong_names_and_arguments_are_refused)
{
    struct setting setting;
    struct shop shop;
    setting_begin(&setting);
    shop_init(&shop);
    (void)start(setting.one, "s", shop.pattern);
    static const char *const names[] = {"", "a/b", "a\nb", "s"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct value name = text(names[i]);
        const struct piece_options options = {.name = name,
                                              .pattern = shop.pattern};
        struct piece *piece;
        struct err_detail detail = {0};
        EXPECT(piece_start(&setting.one->runtime, &options, &piece, &detail) ==
               ERR_ARGUMENT);
        value_unref(name);
    }
    const struct value name = text("t");
    const struct piece_options options = {.name = name,
                                          .pattern = shop.pattern,
                                          .arguments = value_int(1)};
    struct piece *piece;
    struct err_detail detail = {0};
    EXPECT(piece_start(&setting.one->runtime, &options, &piece, &detail) ==
           ERR_ARGUMENT);
    const struct piece_options missing = {.name = name, .must_exist = true};
    EXPECT(piece_start(&setting.one->runtime, &missing, &piece, &detail) ==
           ERR_OK);
    (void)world_idle(setting.one, true);
    EXPECT(piece->state == PIECE_FAILED && piece->error.err == ERR_NOT_FOUND);
    value_unref(name);
    world_free(setting.world);
    shop_release(&shop);
}

/* -- Children and launches ----------------------------------------------- */

struct inner {
    struct runtime *runtime;
    struct pattern *pattern;
    struct place *n;
    int64_t seen;
    unsigned looks;
    struct digest digest;
};

static enum run_result look_at_n(struct run *run,
                                 void *ctx,
                                 struct value *result)
{
    struct inner *inner = ctx;
    (void)result;
    const struct cell_access access = {inner->runtime, run, run->transaction};
    struct value value = VALUE_NONE;
    struct err_detail detail = {0};
    EXPECT_EQ(cell_read(&access,
                        inner->n,
                        READ_DEEP,
                        READ_FOR_BOTH,
                        &value,
                        NULL,
                        &detail),
              ERR_OK);
    inner->seen = value_kind(value) == VALUE_INT ? value_integer(value) : -1;
    value_unref(value);
    inner->looks += !run_is_waiting(run);
    return RUN_DONE;
}

static enum err build_inner(struct builder *builder,
                            void *ctx,
                            struct err_detail *detail)
{
    struct inner *inner = ctx;
    inner->runtime = builder_runtime(builder);
    const struct value n = text("n");
    const struct value looks = text("look");
    const struct builder_cell cell = {.name = n, .initial = value_int(42)};
    const struct builder_node looking = {
        .name = looks,
        .body = {look_at_n, inner, NULL, &inner->digest},
    };
    enum err err = builder_argument(builder, &cell, &inner->n, detail);
    if (err == ERR_OK) {
        err = builder_effect(builder, &looking, detail);
    }
    if (err == ERR_OK) {
        err = builder_result(builder, n, inner->n, detail);
    }
    value_unref(n);
    value_unref(looks);
    return err;
}

static void inner_init(struct inner *inner)
{
    const struct value name = text("inner");
    *inner = (struct inner){0};
    inner->digest = digest_of_bytes("test", "inner", 5);
    inner->pattern = pattern_new(&(
        struct pattern_spec){.name = name, .build = build_inner, .ctx = inner});
    value_unref(name);
}

TEST(an_argument_is_what_was_given_or_the_default)
{
    struct setting setting;
    struct inner inner;
    setting_begin(&setting);
    inner_init(&inner);
    struct piece *piece = start(setting.one, "i", inner.pattern);
    EXPECT_EQ(inner.seen, 42);
    piece_stop(piece);

    const struct value name = text("j");
    struct value arguments = value_empty_object();
    object_put_adopt(&arguments, "n", value_int(7));
    struct piece_options options = {.name = name,
                                    .pattern = inner.pattern,
                                    .arguments = arguments};
    struct err_detail detail = {0};
    EXPECT_EQ(piece_start(&setting.one->runtime, &options, &piece, &detail),
              ERR_OK);
    (void)world_idle(setting.one, true);
    EXPECT_EQ(inner.seen, 7);
    EXPECT_EQ(inner.looks, 2);

    /* The same again is nothing new; another one is. */
    crash(&setting);
    EXPECT_EQ(piece_start(&setting.one->runtime, &options, &piece, &detail),
              ERR_OK);
    (void)world_idle(setting.one, true);
    EXPECT_EQ(inner.looks, 2);
    crash(&setting);
    value_unref(arguments);
    arguments = value_empty_object();
    object_put_adopt(&arguments, "n", value_int(8));
    options.arguments = arguments;
    EXPECT_EQ(piece_start(&setting.one->runtime, &options, &piece, &detail),
              ERR_OK);
    (void)world_idle(setting.one, true);
    EXPECT_EQ(inner.seen, 8);
    value_unref(arguments);
    value_unref(name);
    world_free(setting.world);
    pattern_unref(inner.pattern);
}

/* A shop with a child that looks at its sum. */
static enum err build_parent(struct builder *builder,
                             void *ctx,
                             struct err_detail *detail)
{
    struct shop *shop = ctx;
    enum err err = build_shop(builder, shop, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct value name = text("child");
    struct value arguments = value_empty_object();
    object_put_adopt(&arguments,
                     "n",
                     cell_link(shop->sum, builder_space(builder)));
    const struct builder_child child = {
        .name = name,
        .pattern = shop->inner,
        .arguments = arguments,
    };
    struct place *place;
    err = builder_piece(builder, &child, &place, detail);
    if (err == ERR_OK) {
        err = builder_result(builder, name, place, detail);
    }
    value_unref(arguments);
    value_unref(name);
    return err;
}

TEST(a_child_is_part_of_its_piece_and_comes_back_with_it)
{
    struct setting setting;
    struct shop shop;
    struct inner inner;
    setting_begin(&setting);
    shop_init(&shop);
    inner_init(&inner);
    shop.inner = inner.pattern;
    shop.pattern->build = build_parent;
    struct piece *piece = start(setting.one, "s", shop.pattern);
    EXPECT_EQ(inner.seen, 1);
    send(setting.one, piece, "add", 2);
    EXPECT_EQ(inner.seen, 3);
    const struct value name = text("child/look");
    EXPECT(piece_node(piece, name) != NULL);
    value_unref(name);
    crash(&setting);
    piece = start(setting.one, "s", shop.pattern);
    EXPECT_EQ(piece->counts.restored, 3);
    EXPECT_EQ(inner.looks, 2);
    send(setting.one, piece, "add", 2);
    EXPECT_EQ(inner.seen, 5);
    world_free(setting.world);
    shop_release(&shop);
    pattern_unref(inner.pattern);
}

TEST(a_handler_launches_a_piece_that_comes_back_with_its_own)
{
    struct setting setting;
    struct shop shop;
    struct inner inner;
    setting_begin(&setting);
    shop_init(&shop);
    inner_init(&inner);
    shop.inner = inner.pattern;
    shop.launches = true;
    runtime_add_pattern(&setting.one->runtime, inner.pattern);
    struct piece *piece = start(setting.one, "s", shop.pattern);
    EXPECT_EQ(inner.looks, 0);
    send(setting.one, piece, "add", 11);
    EXPECT_EQ(inner.looks, 1);
    EXPECT_EQ(inner.seen, 11);
    crash(&setting);
    runtime_add_pattern(&setting.one->runtime, inner.pattern);
    (void)start(setting.one, "s", shop.pattern);
    size_t count = 0;
    LIST_FOREACH (&setting.one->runtime.pieces, node) {
        count++;
        const struct piece *each = CONTAINER_OF(node, struct piece, node);
        EXPECT(each->state == PIECE_RUNNING && each->resumed);
    }
    EXPECT_EQ(count, 2);
    EXPECT_EQ(inner.looks, 1);
    world_free(setting.world);
    shop_release(&shop);
    pattern_unref(inner.pattern);
}

static enum err refuse(void *ctx,
                       const struct commit *commit,
                       struct err_detail *detail)
{
    (void)commit;
    unsigned *left = ctx;
    if (*left == 0) {
        return ERR_OK;
    }
    (*left)--;
    return err_set(detail, ERR_IMMUTABLE, "refused for the test");
}

TEST(what_a_handler_launches_dies_with_its_commit)
{
    struct setting setting;
    struct shop shop;
    struct inner inner;
    setting_begin(&setting);
    shop_init(&shop);
    inner_init(&inner);
    shop.inner = inner.pattern;
    shop.launches = true;
    struct piece *piece = start(setting.one, "s", shop.pattern);
    unsigned left = 1;
    setting.one->judge = refuse;
    setting.one->judge_ctx = &left;
    send(setting.one, piece, "add", 11);
    EXPECT_EQ(left, 0);
    EXPECT_EQ(inner.looks, 0);
    EXPECT(list_first(&setting.one->runtime.pieces) ==
           list_last(&setting.one->runtime.pieces));
    world_free(setting.world);
    shop_release(&shop);
    pattern_unref(inner.pattern);
}
