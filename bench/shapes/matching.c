/* Who is told of a change: the matching part of B33. One document, effects that
 * read places in it, one write a round; the counters say that those run whose
 * place has changed, and nobody else. */

#include <stdio.h>
#include <string.h>

#include "shapes/shape.h"
#include "shapes/shapes.h"
#include "value/json.h"
#include "value/object.h"

/* -- Documents ----------------------------------------------------------- */

static double look(struct calc_run *at, const struct calc *calc)
{
    double all = 0;
    for (uint32_t i = 0; i < calc->count; i++) {
        all += kit_read(at, calc->in[i]);
    }
    return all;
}

static void put_document(struct kit *kit, struct value value)
{
    struct err_detail detail;
    struct transaction *transaction = transaction_begin(&kit->replica, NULL);
    kit_put(kit, transaction, kit_document(kit), value);
    CHECK(transaction_commit(transaction, &detail) == ERR_OK);
    transaction_release(transaction);
}

/* Keys k0, k1 and so on, each with a number. */
static void put_record(struct kit *kit, uint32_t keys)
{
    struct value record = value_empty_object();
    for (uint32_t i = 0; i < keys; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%u", i);
        record = object_set_adopt(record, value_text_new(key), value_int(i));
    }
    put_document(kit, record);
}

/* The place below the document that `keys` names, with a space between two;
 * places[0] is the document. */
static struct place *below(struct kit *kit, const char *keys)
{
    struct place *place = kit->places[0];
    while (*keys != '\0') {
        char key[16];
        const size_t length = strcspn(keys, " ");
        CHECK(length < sizeof key);
        (void)snprintf(key, sizeof key, "%.*s", (int)length, keys);
        place = kit_below(kit, place, key);
        keys += length + (keys[length] == ' ' ? 1 : 0);
    }
    return place;
}

static void watch(struct kit *kit, const char *keys)
{
    struct place *place = below(kit, keys);
    (void)kit_effect(kit, look, 0, 1, &place, NULL);
}

/* The last place that was made is the one that is written. */
static void write_last(struct kit *kit, uint32_t size)
{
    (void)size;
    kit_write(kit, kit->places[kit->place_count - 1], ++kit->round + 1);
    kit_idle(kit);
}

/* -- Shapes -------------------------------------------------------------- */

static void build_one(struct kit *kit, uint32_t size)
{
    (void)size;
    put_record(kit, 2);
    watch(kit, "k0");
}

static void build_other(struct kit *kit, uint32_t size)
{
    build_one(kit, size);
    (void)below(kit, "k1");
}

static void build_many(struct kit *kit, uint32_t size)
{
    put_record(kit, size);
    for (uint32_t i = 0; i < size; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%u", i);
        watch(kit, key);
    }
}

static void build_deep(struct kit *kit, uint32_t size)
{
    char keys[64] = "k";
    struct value value = value_int(0);
    for (uint32_t i = 0; i < size; i++) {
        value =
            object_set_adopt(value_empty_object(), value_text_new("k"), value);
    }
    for (uint32_t i = 1; i < size; i++) {
        (void)strncat(keys, " k", sizeof keys - strlen(keys) - 1);
    }
    put_document(kit, value);
    watch(kit, keys);
}

static void build_wide_reader(struct kit *kit, uint32_t size)
{
    struct place *places[32];
    CHECK(size <= COUNT_OF(places));
    put_record(kit, size);
    for (uint32_t i = 0; i < size; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%u", i);
        places[i] = below(kit, key);
    }
    (void)kit_effect(kit, look, 0, size, places, NULL);
}

/* What an application keeps: the whole of it, the list and one field of one
 * item are looked at, and four other places that a change of that field does
 * not reach. */
static void build_application(struct kit *kit, uint32_t size)
{
    static const char text[] =
        "{\"user\":{\"name\":\"Ada\",\"mail\":\"ada@example.org\"},"
        "\"settings\":{\"theme\":\"dark\",\"language\":\"en\"},\"filter\":0,"
        "\"items\":[{\"title\":\"warp\",\"done\":0},{\"title\":\"weft\","
        "\"done\":0},{\"title\":\"heddle\",\"done\":0}]}";
    static const char *const others[] =
        {"user", "user name", "settings theme", "filter", "", "items"};
    (void)size;
    struct value value;
    struct json_fault fault;
    CHECK(json_read(text, sizeof text - 1, NULL, &value, &fault) == ERR_OK);
    put_document(kit, value);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        watch(kit, others[i]);
    }
    watch(kit, "items 1 done");
}

static const struct shape shapes[] = {
    {"B33 match, 1 reader", build_one, write_last, 0, 1, 1, 0},
    {"B33 match, no reader", build_other, write_last, 0, 0, 0, 0},
    {"B33 match, 1 of 100 readers", build_many, write_last, 100, 1, 1, 0},
    {"B33 match, path of 10", build_deep, write_last, 10, 1, 1, 0},
    {"B33 match, 1 of 20 places of a reader",
     build_wide_reader,
     write_last,
     20,
     1,
     1,
     0},
    {"B33 match, 3 of 7 readers of an application's document",
     build_application,
     write_last,
     0,
     3,
     1,
     0},
};

void bench_matching(struct bench *bench)
{
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        bench_shape(bench, &shapes[i], false);
    }
}
