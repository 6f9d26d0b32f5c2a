/* Every way in which an operation of ours can end, in one table.
 *
 * The number is public (include/heddle/heddle.h repeats it as hd_status) and
 * never changes. The class is what a caller may do next, and nothing else
 * decides about a retry: only ERR_CLASS_RETRY is ever tried again.
 *
 * What is expected is not an error: a gated node, a parked event, a late
 * lifecycle event are outcomes, in enums of their own. */

#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

enum err_class {
    ERR_CLASS_NONE,
    ERR_CLASS_RETRY,     /* the world moved on: read again, run again */
    ERR_CLASS_PERMANENT, /* the answer will not change: drop the work */
    ERR_CLASS_TERMINAL,  /* a rule was broken: report it to the author */
    ERR_CLASS_FAULT,     /* disk, memory, network: the state is as before */
};

/* clang-format off */
#define ERR_TABLE(X)                                                          \
    X(OK,                0, NONE,     "no error")                             \
    X(ARGUMENT,          1, TERMINAL, "an argument is not valid")             \
    X(SYNTAX,            2, TERMINAL, "the text is not well formed")          \
    X(TYPE,              3, TERMINAL, "the value has another type")           \
    X(NOT_FOUND,         4, TERMINAL, "there is nothing at that path")        \
    X(RANGE,             5, TERMINAL, "the number is out of range")           \
    X(PATCH_MALFORMED,  10, TERMINAL, "the patch operation is malformed")     \
    X(PATCH_MISSING,    11, TERMINAL, "the patch names a missing path")       \
    X(PATCH_TRAVERSAL,  12, TERMINAL, "the patch goes through a leaf")        \
    X(PATCH_INDEX,      13, TERMINAL, "the patch has an invalid array index") \
    X(PATCH_TARGET,     14, TERMINAL, "the patch target has another type")    \
    X(PATCH_ROOT,       15, TERMINAL, "the result is not an entity document") \
    X(LIMIT_SIZE,       32, TERMINAL, "the text is too large")                \
    X(LIMIT_DEPTH,      33, TERMINAL, "the value is nested too deeply")       \
    X(LIMIT_KEYS,       34, TERMINAL, "an object has too many keys")          \
    X(LIMIT_ELEMENTS,   35, TERMINAL, "an array has too many elements")       \
    X(LIMIT_STRING,     36, TERMINAL, "a string is too long")                 \
    X(LIMIT_PATH,       37, TERMINAL, "a path is too long")                   \
    X(LIMIT_PATCH,      38, TERMINAL, "a patch has too many operations")      \
    X(LIMIT_ID,         39, TERMINAL, "an identifier is too long")            \
    X(IO,               96, FAULT,    "reading or writing failed")
/* clang-format on */

enum err {
#define X(name, number, class, text) ERR_##name = (number),
    ERR_TABLE(X)
#undef X
};

/* The row of `err`. A number that is not in the table is a FAULT named
 * "unknown", so that a newer library's code can be shown by an older one. */
enum err_class err_class_of(enum err err);
const char *err_name(enum err err);
const char *err_text(enum err err);

/* Detail for people: what exactly was wrong. Belongs to the call; all zero is
 * "no error". */
enum {
    ERR_TEXT_SIZE = 256
};

struct err_detail {
    enum err err;
    char text[ERR_TEXT_SIZE]; /* a sentence, always terminated */
};

/* Fills `detail`, which may be NULL, and returns `err`. A sentence that is too
 * long is cut at a character, not inside one. */
__attribute__((format(printf, 3, 4))) enum err err_set(
    struct err_detail *detail,
    enum err err,
    const char *format,
    ...);

#define MUST_CHECK __attribute__((warn_unused_result))

#endif
