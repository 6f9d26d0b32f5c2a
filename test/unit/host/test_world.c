/* Runtimes in a world, and cells on them. */

#include "host/world.h"
#include "lib/test.h"
#include "lib/values.h"
#include "runtime/cell.h"

struct scene {
    struct world *world;
    struct world_store *store;
};

static void begin(struct scene *scene)
{
    scene->world = world_new(1);
    EXPECT_EQ(world_store_new(scene->world, NULL, &scene->store, NULL), ERR_OK);
}

static struct world_runtime *add(struct scene *scene)
{
    struct world_runtime *one = NULL;
    const struct world_runtime_options options = {0};
    EXPECT_EQ(world_runtime_new(scene->store, &options, &one, NULL), ERR_OK);
    return one;
}

/* The payload of a document, loaded; new. */
static struct place *at(struct world_runtime *one, const char *id)
{
    struct entity *entity;
    struct value name = value_text_new(id);
    EXPECT_EQ(
        entity_of(one->runtime.spaces.at[0], SCOPE_SPACE, name, &entity, NULL),
        ERR_OK);
    value_unref(name);
    world_load(one, entity);
    EXPECT(entity->loaded);
    return place_payload(entity);
}

static void put(struct world_runtime *one,
                struct place *place,
                struct value value)
{
    const struct cell_access access = {.runtime = &one->runtime};
    EXPECT_EQ(cell_put_adopt(&access, place, value, NULL), ERR_OK);
}

static int64_t number_at(struct world_runtime *one, struct place *place)
{
    const struct cell_access access = {.runtime = &one->runtime};
    struct value value;
    EXPECT_EQ(
        cell_read(&access, place, READ_DEEP, READ_FOR_BOTH, &value, NULL, NULL),
        ERR_OK);
    return value_kind(value) == VALUE_INT ? value_integer(value) : -1;
}

TEST(what_one_runtime_commits_the_other_sees_when_it_steps)
{
    struct scene scene;
    begin(&scene);
    struct world_runtime *one = add(&scene);
    struct world_runtime *two = add(&scene);
    struct place *here = at(one, "a");
    struct place *there = at(two, "a");
    put(one, here, value_int(5));
    EXPECT_EQ(number_at(one, here), 5);
    EXPECT_EQ(world_idle(one, true), WORLD_AT_REST);
    EXPECT_EQ(number_at(two, there), -1);
    (void)world_step(two);
    EXPECT_EQ(number_at(two, there), 5);
    place_unref(here);
    place_unref(there);
    world_free(scene.world);
}

TEST(what_is_held_is_not_confirmed)
{
    struct scene scene;
    begin(&scene);
    struct world_runtime *one = add(&scene);
    struct place *here = at(one, "a");
    world_hold(one, true);
    put(one, here, value_int(5));
    EXPECT_EQ(world_idle(one, false), WORLD_AT_REST);
    EXPECT_EQ(world_idle(one, true), WORLD_HELD);
    struct place *other = at(one, "b"); /* loads go on */
    place_unref(other);
    world_hold(one, false);
    EXPECT_EQ(world_idle(one, true), WORLD_AT_REST);
    place_unref(here);
    world_free(scene.world);
}

static enum err refuse_once(void *ctx,
                            const struct commit *commit,
                            struct err_detail *detail)
{
    bool *refused = ctx;
    (void)commit;
    if (*refused) {
        return ERR_OK;
    }
    *refused = true;
    return err_set(detail, ERR_CONFLICT, "by order");
}

TEST(a_commit_that_is_judged_does_not_land)
{
    struct scene scene;
    begin(&scene);
    struct world_runtime *one = add(&scene);
    struct place *here = at(one, "a");
    bool refused = false;
    one->judge = refuse_once;
    one->judge_ctx = &refused;
    put(one, here, value_int(5));
    EXPECT_EQ(world_idle(one, true), WORLD_AT_REST);
    EXPECT(refused);
    EXPECT_EQ(number_at(one, here), -1);
    put(one, here, value_int(6));
    EXPECT_EQ(world_idle(one, true), WORLD_AT_REST);
    EXPECT_EQ(number_at(one, here), 6);
    place_unref(here);
    world_free(scene.world);
}

TEST(a_link_is_followed_when_read_and_written)
{
    struct scene scene;
    begin(&scene);
    struct world_runtime *one = add(&scene);
    struct place *target = at(one, "target");
    struct place *pointer = at(one, "pointer");
    put(one, target, from_quoted("{'n':1}"));
    put(one, pointer, cell_link(target, one->runtime.spaces.at[0]));
    struct value key = value_text_new("n");
    struct place *through = place_child(pointer, key);
    struct place *direct = place_child(target, key);
    EXPECT_EQ(number_at(one, through), 1);
    put(one, through, value_int(2));
    EXPECT_EQ(number_at(one, direct), 2);
    /* The link itself is still there. */
    EXPECT_EQ(value_kind(pointer->entity->visible.payload), VALUE_LINK);
    value_unref(key);
    place_unref(through);
    place_unref(direct);
    place_unref(target);
    place_unref(pointer);
    world_free(scene.world);
}

TEST(a_cycle_of_links_is_an_error)
{
    struct scene scene;
    begin(&scene);
    struct world_runtime *one = add(&scene);
    struct place *a = at(one, "a");
    struct place *b = at(one, "b");
    put(one, a, cell_link(b, one->runtime.spaces.at[0]));
    const struct cell_access access = {.runtime = &one->runtime};
    struct transaction *transaction =
        transaction_begin(&one->runtime.replica, NULL);
    EXPECT_EQ(transaction_put_adopt(transaction,
                                    b,
                                    cell_link(a, one->runtime.spaces.at[0]),
                                    NULL),
              ERR_OK);
    EXPECT_EQ(transaction_commit(transaction, NULL), ERR_OK);
    transaction_release(transaction);
    struct value value;
    struct err_detail detail = {0};
    EXPECT_EQ(
        cell_read(&access, a, READ_DEEP, READ_FOR_BOTH, &value, NULL, &detail),
        ERR_ARGUMENT);
    EXPECT_CONTAINS(detail.text, "a cycle");
    place_unref(a);
    place_unref(b);
    world_free(scene.world);
}
