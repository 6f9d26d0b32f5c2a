/* Running a file of tests: the module "heddle.test", and one test case per
 * test.
 *
 *   testing-1  A file runs in a state of its own. The functions that it passes
 *              to test() run after the file itself has ended, in the order of
 *              the calls, each in a world of its own.
 *   testing-2  Nothing here reads a file or writes to a terminal: the caller
 *              passes the text and receives the results.
 *
 * No header of Lua is included here, so that every program can include it. */

#ifndef LUATEST_TESTING_H
#define LUATEST_TESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct script; /* script/vm.h */

enum {
    TESTING_SEED = 1, /* unless another is given */
};

/* How a test ended. All borrowed. */
struct testing_result {
    const char *name;
    bool passed;
    const char *message; /* failed: where and why, perhaps several lines */
};

/* A field that is zero means none or the default. */
struct testing_options {
    const char *filter; /* only tests whose names contain it */
    uint64_t seed;
    void *ctx;
    void (*report)(void *ctx, const struct testing_result *result);
    void (*print)(void *ctx, const char *line, size_t length);
    bool (*interrupted)(void *ctx);
    /* For engines on files: luatest/test_runtime.h. */
    bool (*folder)(void *ctx, const char *name, struct buf *path);
    /* script/vm.h */
    enum err (*module)(void *ctx,
                       const char *name,
                       struct buf *text,
                       struct buf *file,
                       struct err_detail *detail);
    /* Looks at the state of Lua when the tests have ended, before it goes. */
    void (*ended)(void *ctx, struct script *script);
};

struct testing_counts {
    size_t passed;
    size_t failed;
    size_t left_out; /* by the filter */
};

/* Runs the tests of a file and adds to the counts. False: the file itself
 * cannot be run, and `fault` says why. */
bool testing_run(const char *file,
                 const struct buf *text,
                 const struct testing_options *options,
                 struct testing_counts *counts,
                 struct buf *fault);

#endif
