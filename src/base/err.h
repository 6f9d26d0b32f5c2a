/* Every result of an operation, in one table.
 *
 * The number is public (include/heddle/heddle.h repeats it as hd_status) and
 * never changes. The class says what a caller may do next, and alone decides
 * about a retry: only ERR_CLASS_RETRY is ever retried.
 *
 * Expected results are not errors: a gated node, a parked event, a late
 * lifecycle event are outcomes, in separate enums. */

#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

enum err_class {
    ERR_CLASS_NONE,
    ERR_CLASS_RETRY,     /* the data has changed: read again, run again */
    ERR_CLASS_PERMANENT, /* the answer will not change: drop the work */
    ERR_CLASS_TERMINAL,  /* a rule was broken: report it to the author */
    ERR_CLASS_FAULT,     /* disk, memory, network: it may have happened */
};

/* clang-format off */
#define ERR_TABLE(X)                                                          \
    X(OK,                0, NONE,     "no error")                             \
    X(ARGUMENT,          1, TERMINAL, "invalid argument")                     \
    X(SYNTAX,            2, TERMINAL, "malformed text")                       \
    X(TYPE,              3, TERMINAL, "the value has the wrong type")         \
    X(NOT_FOUND,         4, TERMINAL, "no value at this path")                \
    X(RANGE,             5, TERMINAL, "number out of range")                  \
    X(SCHEMA,            6, TERMINAL, "the value does not match its schema")  \
    X(SCHEMA_MALFORMED,  7, TERMINAL, "the schema is invalid")                \
    X(MISUSE,            8, TERMINAL, "not allowed in this context")          \
    X(PATCH_MALFORMED,  10, TERMINAL, "the patch operation is malformed")     \
    X(PATCH_MISSING,    11, TERMINAL, "the patch names a missing path")       \
    X(PATCH_TRAVERSAL,  12, TERMINAL, "the patch path crosses a scalar")      \
    X(PATCH_INDEX,      13, TERMINAL, "the patch has an invalid array index") \
    X(PATCH_TARGET,     14, TERMINAL, "wrong type of patch target")           \
    X(PATCH_ROOT,       15, TERMINAL, "the result is not an entity document") \
    X(LIMIT_SIZE,       32, TERMINAL, "the text is too large")                \
    X(LIMIT_DEPTH,      33, TERMINAL, "the value is nested too deeply")       \
    X(LIMIT_KEYS,       34, TERMINAL, "an object has too many keys")          \
    X(LIMIT_ELEMENTS,   35, TERMINAL, "an array has too many elements")       \
    X(LIMIT_STRING,     36, TERMINAL, "a string is too long")                 \
    X(LIMIT_PATH,       37, TERMINAL, "a path is too long")                   \
    X(LIMIT_PATCH,      38, TERMINAL, "a patch has too many operations")      \
    X(LIMIT_ID,         39, TERMINAL, "an identifier is too long")            \
    X(LIMIT_COMMIT,     40, TERMINAL, "a commit has too many parts")          \
    X(LIMIT_SCHEMA,     41, TERMINAL, "a schema is too large")                \
    X(LIMIT_HOPS,       42, TERMINAL, "too many events in a causal chain")    \
    X(LIMIT_REACH,      43, TERMINAL, "a selector reaches too much")          \
    X(PROTOCOL,         64, TERMINAL, "malformed message")                    \
    X(CONFLICT,         65, RETRY,    "conflict: a read value has changed")   \
    X(ORIGIN_FAILED,    66, PERMANENT, "the originating commit failed")       \
    X(RECEIPT_EXISTS,   67, PERMANENT, "the document already exists")         \
    X(REPLAY_MISMATCH,  68, TERMINAL, "commit number already used")           \
    X(BRANCH_UNKNOWN,   69, TERMINAL, "branch not found")                     \
    X(BRANCH_CLOSED,    70, TERMINAL, "the branch is not active")             \
    X(SEQUENCE,         71, TERMINAL, "the sequence number is out of range")  \
    X(IMMUTABLE,        72, TERMINAL, "the document is immutable")            \
    X(LISTING_MOVED,    73, RETRY,    "the listing changed between two pages")\
    X(IDEMPOTENCY_MISMATCH, 74, TERMINAL, "event id had a different payload") \
    X(STALE,            80, RETRY,    "stale read")                           \
    X(SESSION_LOST,     81, PERMANENT, "the session was replaced")            \
    X(CLOSED,           82, PERMANENT, "the space was closed")                \
    X(BACKLOG,          83, RETRY,    "the event backlog is full")            \
    X(NO_HANDLER,       84, PERMANENT, "no handler for the stream")           \
    X(HANDLER_EXISTS,   85, TERMINAL, "the stream already has a handler")     \
    X(NOT_CONVERGED,    86, TERMINAL, "gave up after repeated conflicts")     \
    X(NOT_SETTLED,      87, TERMINAL, "the inputs do not settle")             \
    X(GIVEN_UP,         88, TERMINAL, "the attempt was aborted")              \
    X(CLEARANCE,        89, TERMINAL, "not cleared to read this data")        \
    X(TIMEOUT,          90, RETRY,    "deadline exceeded")                    \
    X(INTERRUPTED,      91, RETRY,    "interrupted")                          \
    X(SESSION_IN_USE,   92, TERMINAL, "session in use by another process")    \
    X(IO,               96, FAULT,    "read or write error")                  \
    X(STORE,            97, FAULT,    "database error")                       \
    X(CORRUPT,          98, FAULT,    "the file is damaged")                  \
    X(BUSY,             99, RETRY,    "the file is locked")                   \
    X(FULL,            100, FAULT,    "the disk is full")                     \
    X(FENCED,          101, PERMANENT, "another writer took over")            \
    X(NO_MEMORY,       102, FAULT,    "out of memory")                        \
    X(READ_ONLY,       103, TERMINAL, "opened read-only")                     \
    X(UNAUTHENTICATED, 104, TERMINAL, "identity not proven")                  \
    X(ACCESS,          105, TERMINAL, "access denied")                        \
    X(OVERLOADED,      106, RETRY,    "a limit of the server was reached")    \
    X(UNREACHABLE,     107, FAULT,    "the server cannot be reached")
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

/* "retry", "permanent", ...: for messages and people. */
const char *err_class_name(enum err_class class);

/* The row with that name; ERR_STORE if this version does not know it, so that a
 * refusal is never mistaken for a success. */
enum err err_of_name(const char *name, size_t length);

/* Detail for people: what exactly was wrong. Owned by the caller; all zero is
 * "no error". */
enum {
    ERR_TEXT_SIZE = 256
};

struct err_detail {
    enum err err;
    char text[ERR_TEXT_SIZE]; /* a sentence, always terminated */
};

/* No error, and no sentence. The rest of the text is undefined: clearing all of
 * it would cost a successful call more than its work. */
static inline void err_clear(struct err_detail *detail)
{
    detail->err = ERR_OK;
    detail->text[0] = '\0';
}

/* Fills `detail`, which may be NULL, and returns `err`. A sentence that is too
 * long is cut at a character, not inside one. */
__attribute__((format(printf, 3, 4))) enum err err_set(
    struct err_detail *detail,
    enum err err,
    const char *format,
    ...);

#define MUST_CHECK __attribute__((warn_unused_result))

#endif
