/* TRIG-32: who is woken by a change. The walk of sched/invalidation goes only
 * where a reader and a difference are; the rule itself (difference_is_seen)
 * looks at the whole document before and after, once a reader. Both must say
 * the same about random documents, paths and kinds of read. */

#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "replica/space.h"
#include "sched/sched.h"
#include "value/array.h"
#include "value/doc_link.h"
#include "value/object.h"

enum {
    READERS_MAX = 48,
    READS_MAX = 4,
    CHANGES = 10,
};

/* -- A document and its readers ------------------------------------------ */

struct reader {
    struct node *node;
    struct place *places[READS_MAX];
    enum read_kind kinds[READS_MAX];
    size_t count;
    struct place *output; /* of one that is not an effect; or NULL */
    uint64_t runs;
    bool seen; /* by the rule, since its last run */
};

struct arena_of_readers {
    struct replica replica;
    struct space *space;
    struct entity *entity;
    struct place *root;
    struct sched *sched;
    struct reader readers[READERS_MAX];
    size_t count;
    struct place *all; /* what the one who watches the outputs reads */
    struct node *watcher;
};

static struct entity *entity_named(struct space *space, struct value name)
{
    struct entity *entity = NULL;
    struct err_detail detail = {0};
    CHECK(entity_of(space, SCOPE_SPACE, name, &entity, &detail) == ERR_OK);
    value_unref(name);
    return entity;
}

static void begin(struct arena_of_readers *arena)
{
    *arena = (struct arena_of_readers){0};
    replica_init(&arena->replica, NULL);
    const struct value id = from_json("\"did:key:s\"");
    const struct space_options options = {.id = id};
    struct err_detail detail = {0};
    CHECK(space_open(&arena->replica, &options, &arena->space, &detail) ==
          ERR_OK);
    value_unref(id);
    arena->entity = entity_named(arena->space, from_json("\"of:d\""));
    arena->root = place_root(arena->entity);
    arena->sched = sched_new(&arena->replica, NULL);
}

static void end(struct arena_of_readers *arena)
{
    sched_free(arena->sched);
    for (size_t i = 0; i < arena->count; i++) {
        struct reader *reader = &arena->readers[i];
        for (size_t j = 0; j < reader->count; j++) {
            place_unref(reader->places[j]);
        }
        if (reader->output != NULL) {
            place_unref(reader->output);
        }
    }
    place_unref(arena->root);
    replica_release(&arena->replica);
}

static enum run_result read_all(struct run *run, void *ctx)
{
    struct reader *reader = ctx;
    reader->runs++;
    for (size_t i = 0; i < reader->count; i++) {
        struct value value;
        (void)run_read(run,
                       reader->places[i],
                       reader->kinds[i],
                       READ_FOR_BOTH,
                       &value);
        value_unref(value);
    }
    if (reader->output != NULL) {
        struct err_detail detail = {0};
        EXPECT_EQ(transaction_put_adopt(run->transaction,
                                        reader->output,
                                        value_int((int64_t)reader->runs),
                                        &detail),
                  ERR_OK);
    }
    return RUN_DONE;
}

static enum run_result watch_outputs(struct run *run, void *ctx)
{
    const struct arena_of_readers *arena = ctx;
    for (size_t i = 0; i < arena->count; i++) {
        if (arena->readers[i].output != NULL) {
            struct value value;
            (void)run_read(run,
                           arena->readers[i].output,
                           READ_DEEP,
                           READ_FOR_BOTH,
                           &value);
            value_unref(value);
        }
    }
    return RUN_DONE;
}

/* -- Random documents ---------------------------------------------------- */

/* Keys that are indexes as well, so that what is below an array is below an
 * object, too. */
static struct value random_key(struct random *random)
{
    if (random_one_in(random, 4)) {
        return from_json(random_one_in(random, 2) ? "\"a\"" : "\"b\"");
    }
    return numbered("", random_below(random, 14));
}

static struct value random_leaf(struct random *random)
{
    const struct value id = from_json("\"of:x\"");
    const struct doc_link to = {.id = id};
    struct value leaf;
    switch (random_below(random, 8)) {
    case 0:
        leaf = value_null();
        break;
    case 1:
        leaf = doc_link_new(&to);
        break;
    case 2:
        leaf = from_json("\"text\"");
        break;
    case 3:
        leaf = value_empty_array();
        break;
    case 4:
        leaf = value_empty_object();
        break;
    default:
        leaf = value_int(random_between(random, 0, 2));
        break;
    }
    value_unref(id);
    return leaf;
}

static struct value random_value(struct random *random, unsigned depth)
{
    if (depth == 0 || random_one_in(random, 3)) {
        return random_leaf(random);
    }
    const bool array = random_one_in(random, 2);
    const uint64_t count = random_below(random, 15);
    struct value value = array ? value_empty_array() : value_empty_object();
    for (uint64_t i = 0; i < count; i++) {
        const struct value item = random_value(random, depth - 1);
        if (array) {
            value = array_push_adopt(value, item);
        } else {
            const struct value key = random_key(random);
            value = object_set_adopt(value, key, item);
            value_unref(key);
        }
    }
    return value;
}

/* A document: mostly with a payload, sometimes with keys beside it. */
static struct value random_document(struct random *random)
{
    struct value document = value_empty_object();
    if (!random_one_in(random, 8)) {
        object_put_adopt(&document, "value", random_value(random, 3));
    }
    if (random_one_in(random, 3)) {
        object_put_adopt(&document, "meta", random_value(random, 2));
    }
    return document;
}

/* -- Random readers ------------------------------------------------------ */

static struct path *random_path(struct random *random,
                                struct arena_of_readers *arena)
{
    struct path *path = path_ref(arena->replica.root_path);
    const uint64_t length = random_below(random, 5);
    for (uint64_t i = 0; i < length; i++) {
        struct value key = random_key(random);
        if (i == 0) {
            value_unref(key);
            key =
                from_json(random_one_in(random, 5) ? "\"meta\"" : "\"value\"");
        }
        struct path *longer = path_child(path, key);
        value_unref(key);
        path_unref(path);
        path = longer;
    }
    return path;
}

static void add_reader(struct random *random, struct arena_of_readers *arena)
{
    struct reader *reader = &arena->readers[arena->count];
    reader->count = 1 + random_below(random, READS_MAX);
    for (size_t i = 0; i < reader->count; i++) {
        struct path *path = random_path(random, arena);
        reader->places[i] = place_of(arena->entity, path);
        reader->kinds[i] = random_one_in(random, 2) ? READ_DEEP : READ_SHAPE;
        path_unref(path);
    }
    struct node_spec spec = {.run = read_all, .ctx = reader};
    if (random_one_in(random, 3)) {
        struct entity *entity =
            entity_named(arena->space, numbered("of:o", arena->count));
        reader->output = place_payload(entity);
        spec.outputs = &reader->output;
        spec.output_count = 1;
    } else {
        spec.kind = NODE_EFFECT;
    }
    reader->node = sched_register(arena->sched, &spec);
    arena->count++;
}

/* -- Changes ------------------------------------------------------------- */

static void change_document(struct random *random,
                            struct arena_of_readers *arena)
{
    struct transaction *transaction = transaction_begin(&arena->replica, NULL);
    struct err_detail detail = {0};
    struct value now = entity_state_document(&arena->entity->visible);
    enum err err = ERR_OK;
    const uint64_t what = random_below(random, 8);
    if (value_is_absent(now) || what == 0) {
        err = transaction_put_adopt(transaction,
                                    arena->root,
                                    random_document(random),
                                    &detail);
    } else if (what == 1) {
        err = transaction_delete(transaction, arena->root, &detail);
    } else if (what < 5) {
        const struct gen gen = {.random = random, .depth = 2, .width = 12};
        const struct value edited = gen_edit_adopt(&gen, value_ref(now));
        if (value_is_object(edited)) {
            err = transaction_put_adopt(transaction,
                                        arena->root,
                                        edited,
                                        &detail);
        } else {
            value_unref(edited);
        }
    } else { /* may well be refused: then nothing changes */
        struct path *path = random_path(random, arena);
        struct place *place = place_of(arena->entity, path);
        err = path->length == 0 ? ERR_OK
                                : transaction_put_adopt(transaction,
                                                        place,
                                                        random_value(random, 2),
                                                        &detail);
        place_unref(place);
        path_unref(path);
    }
    if (err == ERR_OK) {
        EXPECT_EQ(transaction_commit(transaction, &detail), ERR_OK);
    }
    transaction_release(transaction);
    value_unref(now);
}

/* -- The comparison ------------------------------------------------------ */

static uint64_t compared;
static uint64_t seen_count;
static uint64_t asleep_seen;

static void apply_rule(struct arena_of_readers *arena,
                       struct value before,
                       struct value after)
{
    for (size_t i = 0; i < arena->count; i++) {
        struct reader *reader = &arena->readers[i];
        for (size_t j = 0; j < reader->count; j++) {
            reader->seen =
                reader->seen || difference_is_seen(before,
                                                   after,
                                                   reader->places[j]->path,
                                                   reader->kinds[j]);
        }
    }
}

static bool agree(const struct arena_of_readers *arena)
{
    bool all = true;
    for (size_t i = 0; i < arena->count; i++) {
        const struct reader *reader = &arena->readers[i];
        compared++;
        seen_count += reader->seen;
        asleep_seen += reader->seen && reader->output != NULL;
        all = EXPECT_EQ(node_is_stale(reader->node), reader->seen) && all;
    }
    return all;
}

static void settle(struct arena_of_readers *arena, uint64_t now)
{
    uint64_t runs[READERS_MAX];
    for (size_t i = 0; i < arena->count; i++) {
        runs[i] = arena->readers[i].runs;
    }
    sched_step(arena->sched, now);
    for (size_t i = 0; i < arena->count; i++) {
        struct reader *reader = &arena->readers[i];
        if (reader->output == NULL) {
            EXPECT_EQ(reader->runs - runs[i], reader->seen);
            reader->seen = false;
        } else { /* nobody looks */
            EXPECT_EQ(reader->runs, runs[i]);
        }
    }
}

/* Everybody has run once; those that are not effects sleep from then on. */
static void start(struct arena_of_readers *arena)
{
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = watch_outputs,
        .ctx = arena,
    };
    struct node *watcher = sched_register(arena->sched, &spec);
    sched_step(arena->sched, 1);
    sched_remove(arena->sched, watcher);
    for (size_t i = 0; i < arena->count; i++) {
        EXPECT_EQ(arena->readers[i].runs, 1);
    }
}

PROPERTY(trig_32_the_walk_wakes_whom_the_rule_wakes, 3000)
{
    struct arena_of_readers arena;
    begin(&arena);
    change_document(random, &arena);
    const size_t readers = 1 + random_below(random, READERS_MAX);
    while (arena.count < readers) {
        add_reader(random, &arena);
    }
    start(&arena);
    bool good = true;
    for (uint64_t i = 0; i < CHANGES && good; i++) {
        const struct value before =
            entity_state_document(&arena.entity->visible);
        change_document(random, &arena);
        const struct value after =
            entity_state_document(&arena.entity->visible);
        apply_rule(&arena, before, after);
        value_unref(before);
        value_unref(after);
        good = agree(&arena);
        if (random_one_in(random, 2)) {
            settle(&arena, 2 + i);
        }
        good = EXPECT(sched_check(arena.sched)) && good;
    }
    end(&arena);
}

/* What the property above met, after all its rounds. */
TEST(trig_32_zz_the_random_changes_were_worth_it)
{
    if (compared > 0) {
        EXPECT(seen_count * 10 > compared);
        EXPECT(seen_count * 10 < compared * 9);
        EXPECT(asleep_seen > 0);
    }
}
