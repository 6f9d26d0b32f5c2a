/* src/replica/place: a document and a path, interned (P1 to P3). */

#include "lib/gen.h"
#include "lib/replica_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/object.h"

TEST(p1_equal_places_are_the_same_pointer)
{
    struct stage stage;
    stage_open_local(&stage);
    struct place *one = stage_place(&stage, "A.x.y");
    struct place *two = stage_place(&stage, "A.x.y");
    struct place *other = stage_place(&stage, "B.x.y");
    EXPECT(one == two);
    EXPECT(one != other);
    EXPECT(place_find(one->entity, one->path) == one);
    EXPECT(place_find(other->entity, one->path) == other);
    EXPECT(place_check(one->entity));
    place_unref(one);
    place_unref(two);
    place_unref(other);
    EXPECT_EQ(stage.replica.places.count, 0);
    stage_close(&stage);
}

TEST(p1_a_child_is_the_same_whichever_way_it_was_reached)
{
    struct stage stage;
    stage_open_local(&stage);
    struct place *root = stage_place(&stage, "A!");
    struct place *deep = stage_place(&stage, "A.x.0");
    struct place *payload = place_child(root, value_text_new("value"));
    struct place *x = place_child(payload, value_text_new("x"));
    struct place *zero = place_child(x, value_text_new("0"));
    struct place *meta = place_child(root, value_text_new("meta"));
    EXPECT(zero == deep);
    EXPECT(payload == root->entity->payload);
    EXPECT(place_parent(zero) == x);
    EXPECT(place_parent(x) == payload);
    EXPECT(place_parent(payload) == root);
    EXPECT(place_parent(meta) == root);
    EXPECT(place_parent(root) == NULL);
    EXPECT(place_check(root->entity));
    place_unref(root);
    EXPECT(place_parent(payload) == payload->entity->root);
    place_unref(deep);
    place_unref(payload);
    place_unref(x);
    EXPECT(place_check(zero->entity));
    place_unref(zero);
    place_unref(meta);
    stage_close(&stage);
}

/* P2: a document that holds one number has one place. */
TEST(p2_the_payload_needs_no_other_place)
{
    struct stage stage;
    stage_open_local(&stage);
    struct place *payload = stage_place(&stage, "A");
    EXPECT(payload->parent == NULL);
    EXPECT(payload->entity->root == NULL);
    EXPECT(place_parent(payload) == NULL);
    EXPECT_EQ(stage.replica.places.count, 0);
    place_unref(payload);
    stage_close(&stage);
}

TEST(p3_a_place_goes_with_its_last_reference_and_takes_its_parents_along)
{
    struct stage stage;
    stage_open_local(&stage);
    struct place *deep = stage_place(&stage, "A.a.b.c.d");
    struct entity *entity = deep->entity;
    struct place *middle = stage_place(&stage, "A.a.b");
    EXPECT_EQ(stage.replica.places.count, 4);
    place_unref(deep);
    EXPECT_EQ(stage.replica.places.count, 2);
    EXPECT(place_find(entity, middle->path) == middle);
    place_unref(middle);
    EXPECT_EQ(stage.replica.places.count, 0);
    EXPECT(entity->payload == NULL);
    stage_close(&stage);
}

/* What was logged holds its place until the log is gone. */
TEST(p3_a_log_holds_its_places)
{
    struct stage stage;
    stage_open_local(&stage);
    struct transaction *transaction = stage_begin(&stage);
    EXPECT(stage_do(&stage, transaction, "read A.x.y | put A {}") == ERR_OK);
    EXPECT_EQ(stage.replica.places.count, 2);
    EXPECT(transaction_commit(transaction, NULL) == ERR_OK);
    EXPECT_EQ(stage.replica.places.count, 2);
    transaction_release(transaction);
    EXPECT_EQ(stage.replica.places.count, 0);
    stage_close(&stage);
}

TEST(nothing_is_found_that_nobody_made)
{
    struct stage stage;
    stage_open_local(&stage);
    struct entity *entity = stage_entity(&stage, "A");
    struct path *path = from_pointer(&stage.replica.paths, "/value/x/y");
    EXPECT(place_find(entity, path) == NULL);
    struct place *x = stage_place(&stage, "A.x");
    EXPECT(place_find(entity, path) == NULL);
    EXPECT(place_find(entity, stage.replica.root_path) == NULL);
    EXPECT(place_find(entity, stage.replica.payload_path) == entity->payload);
    EXPECT(place_find_child(x, value_text_new("y")) == NULL);
    place_unref(x);
    path_unref(path);
    stage_close(&stage);
}

PROPERTY(places_agree_with_a_plain_list, 200)
{
    struct stage stage;
    stage_open_local(&stage);
    struct place *held[60];
    size_t count = 0;
    for (int step = 0; step < 150; step++) {
        if (count == COUNT_OF(held) ||
            (count > 0 && random_one_in(random, 3))) {
            const size_t at = random_below(random, count);
            place_unref(held[at]);
            held[at] = held[--count];
            continue;
        }
        struct buf name = {0};
        buf_append_text(&name, random_one_in(random, 2) ? "A" : "B");
        buf_append_text(&name, random_one_in(random, 3) ? "!" : "");
        for (uint64_t more = random_below(random, 4); more > 0; more--) {
            static const char *const keys[] = {".a", ".b", ".0", ".value"};
            buf_append_text(&name, keys[random_below(random, 4)]);
        }
        struct place *place = stage_place(&stage, buf_text(&name));
        buf_release(&name);
        for (size_t i = 0; i < count; i++) {
            EXPECT((held[i] == place) == (held[i]->entity == place->entity &&
                                          held[i]->path == place->path));
        }
        held[count++] = place;
        EXPECT(place_check(place->entity));
    }
    while (count > 0) {
        place_unref(held[--count]);
    }
    EXPECT_EQ(stage.replica.places.count, 0);
    stage_close(&stage);
}
