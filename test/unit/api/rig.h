/* A runtime for tests of the public functions, on a clock that stands still
 * unless somebody waits or moves it, and what tests of all kinds need.
 *
 * What a program sees is the same with a store and without one, as long as the
 * runtime lives: with API_STORED in the environment, runtimes that would be in
 * memory are in a directory of their own, and everything has to hold again. */

#ifndef TEST_UNIT_API_RIG_H
#define TEST_UNIT_API_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "unit/api/values.h"

struct rig {
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

static inline uint64_t rig_now(void *context)
{
    return ((struct rig *)context)->now;
}

static inline void rig_wait(void *context, uint64_t until)
{
    struct rig *rig = context;
    rig->waits++;
    if (until != HD_NEVER && until > rig->now) {
        rig->now = until;
    }
}

static inline uint64_t rig_random(void *context)
{
    return ((struct rig *)context)->random += 0x9e3779b97f4a7c15;
}

static inline void rig_report(void *context, const hd_error *error)
{
    struct rig *rig = context;
    rig->reports++;
    rig->reported = *error;
}

static inline hd_runtime_options rig_options(struct rig *rig)
{
    return (hd_runtime_options){
        .now = rig_now,
        .wait = rig_wait,
        .clock_context = rig,
        .random = rig_random,
        .random_context = rig,
        .report = rig_report,
        .report_context = rig,
    };
}

/* Just so, whatever the environment says. */
static inline void rig_open_as(struct rig *rig,
                               const hd_runtime_options *options)
{
    hd_error error;
    EXPECT_INT(hd_runtime_open(options, &rig->runtime, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
}

static inline void rig_open_with(struct rig *rig,
                                 const hd_runtime_options *options)
{
    hd_runtime_options stored = *options;
    if (options->directory == NULL && getenv("API_STORED") != NULL) {
        kit_folder_new(rig->folder, sizeof rig->folder);
        stored.directory = rig->folder;
    }
    rig_open_as(rig, &stored);
}

/* In memory, or in a directory. `number` tells those of one test apart. */
static inline void rig_open(struct rig *rig,
                            const char *directory,
                            unsigned number)
{
    *rig = (struct rig){.now = 1000, .random = number * 77};
    hd_runtime_options options = rig_options(rig);
    options.directory = directory;
    rig_open_with(rig, &options);
}

static inline void rig_close(struct rig *rig)
{
    hd_runtime_free(rig->runtime);
    if (rig->folder[0] != '\0') {
        kit_folder_remove(rig->folder);
        rig->folder[0] = '\0';
    }
}

static inline void rig_settle(struct rig *rig)
{
    hd_error error;
    EXPECT_INT(hd_runtime_settled(rig->runtime, rig->now + 100000, &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
}

static inline hd_cell *cell_of(struct rig *rig,
                               const char *document,
                               const char *path)
{
    hd_cell *cell = NULL;
    hd_error error;
    EXPECT_INT(hd_cell_new(rig->runtime, document, path, &cell, &error), HD_OK);
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
