/* Observations: a text that is JSON is read as one, and refused with a
 * sentence, or it is one.
 *
 *   - What was read is written, and the same is read from that (observation-4).
 *   - What was read is sorted, and its digests are of its places
 *   (observation-1). - One that is refused leaves nothing behind.
 *
 * The digests of a text are hardly ever right by chance, so a text that has
 * everything else is also read with its digests set right. */

#include "fuzz.h"
#include "proto/observation.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

static void check_observation(struct observation *observation,
                              struct path_table *paths)
{
    struct value written = observation_write(observation);
    CHECK(value_check(written));
    struct observation *again = NULL;
    CHECK(observation_read(written, paths, &again, NULL) == ERR_OK);
    CHECK(again->places.count == observation->places.count);
    for (size_t i = 1; i < again->places.count; i++) {
        CHECK(observed_place_compare(&again->places.at[i - 1],
                                     &again->places.at[i]) < 0);
    }
    struct value twice = observation_write(again);
    CHECK(value_equal(written, twice));
    observation_unref(again);
    value_unref(written);
    value_unref(twice);
}

static void put_digest(struct value *object,
                       const char *name,
                       const struct digest *digest)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(*digest, text);
    object_put_adopt(object, name, value_text_new(text));
}

/* The object with digests that are digests: of nothing for those that stand for
 * something else, and of no places. */
static struct value with_digests(struct value value)
{
    static const char *const names[] = {"action",
                                        "implementation",
                                        "runtime",
                                        "schema"};
    const struct digest reads = observed_digest(NULL, 0, true);
    const struct digest writes = observed_digest(NULL, 0, false);
    struct value object = value_ref(value);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        put_digest(&object, names[i], &reads);
    }
    put_digest(&object, "readSet", &reads);
    put_digest(&object, "surface", &writes);
    return object;
}

static void try_read(struct value value, struct path_table *paths)
{
    struct observation *observation = NULL;
    struct err_detail detail = {0};
    const enum err err = observation_read(value, paths, &observation, &detail);
    if (err == ERR_OK) {
        check_observation(observation, paths);
    } else {
        fuzz_check_detail(err, &detail);
        CHECK(observation == NULL);
    }
    observation_unref(observation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    fuzz_begin(&memory);
    struct path_table paths;
    path_table_init(&paths);
    struct value value = VALUE_NONE;
    if (json_read((const char *)data, size, NULL, &value, NULL) == ERR_OK) {
        try_read(value, &paths);
        if (value_is_object(value)) {
            struct value set = with_digests(value);
            try_read(set, &paths);
            value_unref(set);
        }
        value_unref(value);
    }
    path_table_release(&paths);
    fuzz_end(&memory);
    return 0;
}
