/* Values in tests: made from text, compared with both sides shown, and proof
 * of what an algorithm did not look at. */

#ifndef TEST_LIB_VALUES_H
#define TEST_LIB_VALUES_H

#include "base/buf.h"
#include "value/path.h"
#include "value/value.h"

/* The value of a text that is known to be good: yours to release. */
struct value from_json(const char *json);

/* The same from a text that has an apostrophe for each quote. */
struct value from_quoted(const char *json);

/* The string of a name and a number: yours to release. */
struct value numbered(const char *name, uint64_t number);

/* The path of a pointer that is known to be good: yours to release. */
struct path *from_pointer(struct path_table *paths, const char *pointer);

/* Equal, with the texts of both shown if not. Absent values have the text
 * "(absent)". */
bool values_expect(const char *file,
                   int line,
                   const char *expr,
                   struct value got,
                   struct value want);

/* Written as given, `got` is exactly this text. */
bool values_expect_json(const char *file,
                        int line,
                        const char *expr,
                        struct value got,
                        const char *json);

/* The same with an apostrophe for each quote of the text. */
bool values_expect_quoted(const char *file,
                          int line,
                          const char *expr,
                          struct value got,
                          const char *json);

/* A value obeys all its invariants. */
bool values_expect_check(const char *file,
                         int line,
                         const char *expr,
                         struct value value);

#define EXPECT_VALUE(got, want) \
    values_expect(__FILE__, __LINE__, #got, (got), (want))
#define EXPECT_JSON(got, json) \
    values_expect_json(__FILE__, __LINE__, #got, (got), (json))
#define EXPECT_QUOTED(got, json) \
    values_expect_quoted(__FILE__, __LINE__, #got, (got), (json))
#define EXPECT_CHECK(value) \
    values_expect_check(__FILE__, __LINE__, #value, (value))

/* Text that an encoder wrote directly is the text of `value`, with keys in the
 * order given. Releases the text. */
bool values_expect_text(const char *file,
                        int line,
                        struct buf *text,
                        struct value value);

#define EXPECT_TEXT_OF(text, value) \
    values_expect_text(__FILE__, __LINE__, (text), (value))

/* -- What is not looked at -------------------------------------------------
 *
 * In a build with AddressSanitizer a hidden node stops the program at the
 * first look into it; in other builds hiding does nothing, and the test proves
 * less. Only the tree of an array or a large object itself is hidden, not what
 * its elements hold. */

/* True if hiding works in this build. */
bool values_can_hide(void);

/* Hides the inside of every tree node that `a` shares with `b`, and returns
 * how many those were. The two differ by replaced elements only. */
size_t values_hide_shared(struct value a, struct value b);

/* Makes all nodes of `value` visible again. */
void values_show(struct value value);

/* Tree nodes of an array or a large object, of all levels; and its height:
 * 0 if it has one leaf. */
size_t values_nodes(struct value value);
unsigned values_height(struct value value);

#endif
