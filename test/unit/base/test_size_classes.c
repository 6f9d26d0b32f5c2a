/* size_classes: records of all sizes keep what was written into them. */

#include "base/size_classes.h"

#include <stdint.h>
#include <string.h>

#include "base/random.h"
#include "lib/test.h"

enum {
    RECORDS = 500,
    STEPS = 20000,
};

struct record {
    unsigned char *at;
    size_t size;
    unsigned char mark;
};

static bool is_whole(const struct record *record)
{
    for (size_t i = 0; i < record->size; i++) {
        if (record->at[i] != record->mark) {
            return false;
        }
    }
    return true;
}

static size_t any_size(struct random *random)
{
    return 1 + random_below(random, random_below(random, 8) == 0 ? 5000 : 400);
}

/* Takes, resizes or releases one record, and checks it first. */
static bool step(const struct mem_hooks *hooks,
                 struct random *random,
                 struct record *record)
{
    const size_t size = any_size(random);
    if (record->at == NULL) {
        record->at = hooks->alloc(hooks->ctx, size);
    } else if (!is_whole(record)) {
        return false;
    } else if (random_below(random, 2) == 0) {
        hooks->free(hooks->ctx, record->at, record->size);
        *record = (struct record){0};
        return true;
    } else {
        record->at = hooks->resize(hooks->ctx, record->at, record->size, size);
        record->size = size < record->size ? size : record->size;
        if (!is_whole(record)) {
            return false;
        }
    }
    record->size = size;
    record->mark = (unsigned char)random_below(random, 256);
    memset(record->at, record->mark, size);
    return (uintptr_t)record->at % SIZE_CLASS_STEP == 0;
}

TEST(records_keep_their_contents)
{
    struct size_classes classes = {0};
    const struct mem_hooks hooks = size_classes_hooks(&classes);
    struct random random;
    random_init(&random, 7);
    struct record records[RECORDS] = {0};
    bool whole = true;
    for (unsigned i = 0; i < STEPS && whole; i++) {
        whole = step(&hooks, &random, &records[random_below(&random, RECORDS)]);
    }
    EXPECT(whole);
    for (size_t i = 0; i < RECORDS; i++) {
        if (records[i].at != NULL) {
            EXPECT(is_whole(&records[i]));
            hooks.free(hooks.ctx, records[i].at, records[i].size);
        }
    }
    size_classes_release(&classes);
}
