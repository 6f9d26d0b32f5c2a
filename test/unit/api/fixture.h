/* A runtime for tests of the public functions, on a clock that stands still
 * unless somebody waits or moves it, and what tests of all kinds need.
 *
 * What a program sees is the same with a store and without one, as long as the
 * runtime lives: with API_STORED in the environment, runtimes that would be in
 * memory are in a directory of their own, and everything has to hold again. */

#ifndef TEST_UNIT_API_FIXTURE_H
#define TEST_UNIT_API_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "unit/api/values.h"

struct fixture {
    hd_runtime *runtime;
    uint64_t now;
    uint64_t random;
    unsigned waits;
    unsigned reports;
    hd_error reported; /* the last one */
    unsigned lines;
    unsigned asked; /* for progress */
    unsigned let;   /* how often it may go on; 0: always */
    hd_progress progress;
    char folder[256]; /* of its own; "": none */
};

static inline uint64_t fixture_now(void *context)
{
    return ((struct fixture *)context)->now;
}

static inline void fixture_wait(void *context, uint64_t until)
{
    struct fixture *fixture = context;
    fixture->waits++;
    if (until != HD_NEVER && until > fixture->now) {
        fixture->now = until;
    }
}

static inline uint64_t fixture_random(void *context)
{
    return ((struct fixture *)context)->random += 0x9e3779b97f4a7c15;
}

static inline void fixture_report(void *context, const hd_error *error)
{
    struct fixture *fixture = context;
    fixture->reports++;
    fixture->reported = *error;
}

static inline hd_runtime_options fixture_options(struct fixture *fixture)
{
    return (hd_runtime_options){
        .now = fixture_now,
        .wait = fixture_wait,
        .clock_context = fixture,
        .random = fixture_random,
        .random_context = fixture,
        .report = fixture_report,
        .report_context = fixture,
    };
}

/* Just so, whatever the environment says. */
static inline void fixture_open_as(struct fixture *fixture,
                                   const hd_runtime_options *options)
{
    hd_error error;
    EXPECT_INT(hd_runtime_open(options, &fixture->runtime, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
}

static inline void fixture_open_with(struct fixture *fixture,
                                     const hd_runtime_options *options)
{
    hd_runtime_options stored = *options;
    if (options->directory == NULL && getenv("API_STORED") != NULL) {
        kit_folder_new(fixture->folder, sizeof fixture->folder);
        stored.directory = fixture->folder;
    }
    fixture_open_as(fixture, &stored);
}

/* In memory, or in a directory. `number` tells those of one test apart. */
static inline void fixture_open(struct fixture *fixture,
                                const char *directory,
                                unsigned number)
{
    *fixture = (struct fixture){.now = 1000, .random = number * 77};
    hd_runtime_options options = fixture_options(fixture);
    options.directory = directory;
    fixture_open_with(fixture, &options);
}

static inline void fixture_close(struct fixture *fixture)
{
    hd_runtime_free(fixture->runtime);
    if (fixture->folder[0] != '\0') {
        kit_folder_remove(fixture->folder);
        fixture->folder[0] = '\0';
    }
}

static inline void fixture_settle(struct fixture *fixture)
{
    hd_error error;
    EXPECT_INT(
        hd_runtime_settled(fixture->runtime, fixture->now + 100000, &error),
        HD_OK);
    EXPECT_TEXT(error.text, "");
}

static inline hd_cell *cell_of(struct fixture *fixture,
                               const char *document,
                               const char *path)
{
    hd_cell *cell = NULL;
    hd_error error;
    EXPECT_INT(hd_cell_new(fixture->runtime, document, path, &cell, &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    return cell;
}

static inline void set_json(hd_cell *cell, const char *json)
{
    hd_value *value = value_of(json);
    hd_error error;
    EXPECT_INT(hd_cell_set(cell, value, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    hd_value_unref(value);
}

/* Compares canonical texts; NULL: there is nothing. */
static inline void expect_value(hd_value *value, const char *json)
{
    char *text = NULL;
    if (json == NULL) {
        EXPECT(value == NULL);
        return;
    }
    if (EXPECT(value != NULL)) {
        EXPECT_INT(hd_value_write(value, HD_CANONICAL, 0, &text, NULL), HD_OK);
        EXPECT_TEXT(text, json);
        hd_text_free(text);
    }
}

static inline void expect_json(hd_cell *cell, const char *json)
{
    hd_value *value = NULL;
    EXPECT_INT(hd_cell_get(cell, &value, NULL),
               json != NULL ? HD_OK : HD_NOT_FOUND);
    expect_value(value, json);
    hd_value_unref(value);
}

#endif
