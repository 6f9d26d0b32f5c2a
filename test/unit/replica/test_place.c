/* src/replica/place: a document and a path, interned (place-1 to place-3). */

#include "lib/gen.h"
#include "lib/replica_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/object.h"

TEST(p1_equal_places_are_the_same_pointer)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct place *one = fixture_place(&fixture, "A.x.y");
    struct place *two = fixture_place(&fixture, "A.x.y");
    struct place *other = fixture_place(&fixture, "B.x.y");
    EXPECT(one == two);
    EXPECT(one != other);
    EXPECT(place_find(one->entity, one->path) == one);
    EXPECT(place_find(other->entity, one->path) == other);
    EXPECT(place_check(one->entity));
    place_unref(one);
    place_unref(two);
    place_unref(other);
    EXPECT_EQ(fixture.replica.places.count, 0);
    fixture_close(&fixture);
}

TEST(p1_a_child_is_the_same_whichever_way_it_was_reached)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct place *root = fixture_place(&fixture, "A!");
    struct place *deep = fixture_place(&fixture, "A.x.0");
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
    fixture_close(&fixture);
}

/* place-2: a document that holds one number has one place. */
TEST(p2_the_payload_needs_no_other_place)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct place *payload = fixture_place(&fixture, "A");
    EXPECT(payload->parent == NULL);
    EXPECT(payload->entity->root == NULL);
    EXPECT(place_parent(payload) == NULL);
    EXPECT_EQ(fixture.replica.places.count, 0);
    place_unref(payload);
    fixture_close(&fixture);
}

TEST(p3_a_place_goes_with_its_last_reference_and_takes_its_parents_along)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct place *deep = fixture_place(&fixture, "A.a.b.c.d");
    struct entity *entity = deep->entity;
    struct place *middle = fixture_place(&fixture, "A.a.b");
    EXPECT_EQ(fixture.replica.places.count, 4);
    place_unref(deep);
    EXPECT_EQ(fixture.replica.places.count, 2);
    EXPECT(place_find(entity, middle->path) == middle);
    place_unref(middle);
    EXPECT_EQ(fixture.replica.places.count, 0);
    EXPECT(entity->payload == NULL);
    fixture_close(&fixture);
}

/* What was logged holds its place until the log is gone. */
TEST(p3_a_log_holds_its_places)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture, transaction, "read A.x.y | put A {}") ==
           ERR_OK);
    EXPECT_EQ(fixture.replica.places.count, 2);
    EXPECT(transaction_commit(transaction, NULL) == ERR_OK);
    EXPECT_EQ(fixture.replica.places.count, 2);
    transaction_release(transaction);
    EXPECT_EQ(fixture.replica.places.count, 0);
    fixture_close(&fixture);
}

TEST(nothing_is_found_that_nobody_made)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct entity *entity = fixture_entity(&fixture, "A");
    struct path *path = from_pointer(&fixture.replica.paths, "/value/x/y");
    EXPECT(place_find(entity, path) == NULL);
    struct place *x = fixture_place(&fixture, "A.x");
    EXPECT(place_find(entity, path) == NULL);
    EXPECT(place_find(entity, fixture.replica.root_path) == NULL);
    EXPECT(place_find(entity, fixture.replica.payload_path) == entity->payload);
    EXPECT(place_find_child(x, value_text_new("y")) == NULL);
    place_unref(x);
    path_unref(path);
    fixture_close(&fixture);
}

PROPERTY(places_agree_with_a_plain_list, 200)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
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
        struct place *place = fixture_place(&fixture, buf_text(&name));
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
    EXPECT_EQ(fixture.replica.places.count, 0);
    fixture_close(&fixture);
}
