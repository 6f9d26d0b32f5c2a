/* The whole test framework.
 *
 *   TEST(name) { ... }              one behaviour; the name is the sentence
 *   PROPERTY(name, rounds) { ... }  the body once a round, with a seeded
 *                                   `struct random *random` of its own
 *   EXPECT...(...)                  compares and prints both sides; true if
 *                                   it held, and the test goes on either way
 *   test_allocations()              to prove "allocates nothing"
 *
 * Each file below test/unit is one program for one module. A program prints
 * TAP and ends with the line "N passed, N failed". Arguments: words that select
 * tests by a part of their name, --list, --seed=N, --rounds=N, --rounds-max=N
 * (for properties; the failing round's seed is printed and --seed=N --rounds=1
 * repeats it).
 *
 * Every test is also a leak check: as many blocks of base/mem.h must be alive
 * after it as before. */

#ifndef TEST_LIB_TEST_H
#define TEST_LIB_TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

struct test {
    const char *name;
    void (*run)(void);                    /* of a TEST */
    void (*round)(struct random *random); /* of a PROPERTY */
    uint64_t rounds;
    struct test *next;
};

void test_register(struct test *test);

/* A failure of the running test, with a printf sentence. Returns false. */
__attribute__((format(printf, 3, 4))) bool test_fail(const char *file,
                                                     int line,
                                                     const char *format,
                                                     ...);

/* A call and not an operator: gcc takes a bare `a || b` for a mistake. */
static inline bool test_that(const char *file,
                             int line,
                             const char *expr,
                             bool held)
{
    return held || test_fail(file, line, "expected: %s", expr);
}

bool test_eq_u64(const char *file,
                 int line,
                 const char *expr,
                 uint64_t got,
                 uint64_t want);
bool test_eq_i64(const char *file,
                 int line,
                 const char *expr,
                 int64_t got,
                 int64_t want);
bool test_eq_text(const char *file,
                  int line,
                  const char *expr,
                  const char *got,
                  const char *want);
bool test_contains(const char *file,
                   int line,
                   const char *expr,
                   const char *got,
                   const char *part);

/* Allocations (new blocks and resizes) through base/mem.h since the program
 * started; and blocks alive now. */
uint64_t test_allocations(void);
uint64_t test_blocks_alive(void);

/* True under valgrind, where everything takes thirty times as long. What is
 * large to show that a cost does not grow with the size, and has been that
 * large in the other builds, may be smaller there: valgrind looks for misused
 * memory, and finds it at any size. */
bool test_is_slow(void);

/* The path of a file of test data: `relative` below the directory that the
 * environment variable HEDDLE_TEST_DATA names, or below test/data. Borrowed
 * until the next call. */
const char *test_data_path(const char *relative);

/* The whole content of a file, with a zero byte after it; NULL, and a failure
 * of the test, if it cannot be read. Release with test_release_file. */
char *test_read_file(const char *path, size_t *length);
void test_release_file(char *content, size_t length);

#define TEST_DEFINE(id, ...)                                          \
    __attribute__((constructor)) static void test_register_##id(void) \
    {                                                                 \
        static struct test self = {.name = #id, __VA_ARGS__};         \
        test_register(&self);                                         \
    }

#define TEST(id)                      \
    static void test_##id(void);      \
    TEST_DEFINE(id, .run = test_##id) \
    static void test_##id(void)

#define PROPERTY(id, round_count)                                \
    static void test_##id(struct random *random);                \
    TEST_DEFINE(id, .round = test_##id, .rounds = (round_count)) \
    static void test_##id(struct random *random)

#define EXPECT(expr) test_that(__FILE__, __LINE__, #expr, (expr))
#define EXPECT_EQ(got, want) \
    test_eq_u64(__FILE__, __LINE__, #got, (uint64_t)(got), (uint64_t)(want))
#define EXPECT_INT(got, want) \
    test_eq_i64(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
#define EXPECT_TEXT(got, want) \
    test_eq_text(__FILE__, __LINE__, #got, (got), (want))
#define EXPECT_CONTAINS(got, part) \
    test_contains(__FILE__, __LINE__, #got, (got), (part))

#endif
