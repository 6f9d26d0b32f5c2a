/* Heddle: a durable reactive runtime, to be embedded.
 *
 * This is the header to include; it needs C99 or C++11 and nothing else. It
 * has versions, status codes and errors, the allocator hook, and values, the
 * immutable JSON data that everything else is made of. The rest comes with it,
 * to be read in this order:
 *
 *   heddle/runtime.h  runtimes: opening, stepping, waiting, closing
 *   heddle/cell.h     cells: reading and writing documents, links, edits
 *   heddle/node.h     computations, effects, handlers, events
 *   heddle/pattern.h  graphs that have a name and outlive the process
 *   heddle/inspect.h  which nodes there are, what has run, and why
 *
 * Conventions
 *
 *   Status     A function that can fail returns hd_status; 0 is success. On a
 *              failure it has changed nothing and has set its results to NULL
 *              or 0. Every wrong argument is answered with a status
 *              (HD_ARGUMENT for NULL and the like), every call at a wrong time
 *              or from a wrong thread with HD_MISUSE, every one on something
 *              that has ended with HD_CLOSED; never with a crash. A handle
 *              that was released is HD_MISUSE as long as its runtime, or
 *              another handle of that, is there. Only a released value, and a
 *              pointer to memory that is not what its type says, is beyond
 *              that, and even most of the latter are HD_MISUSE.
 *   Errors     The last parameter `error` may be NULL. Otherwise it is filled
 *              on a failure with a sentence that a person can act on, and
 *              cleared on success.
 *   Ownership  "New": the result is yours, release it with the function that
 *              the type names. "Borrowed": valid as long as the object it came
 *              from is, or as is said. Functions take what they keep by
 *              themselves: arguments stay yours.
 *   Strings    UTF-8. With a length in bytes they may hold zero bytes, and
 *              HD_TERMINATED means "up to the zero byte"; without one, they
 *              end at the zero byte.
 *   Threads    A runtime and everything of it, handles and values included,
 *              belongs to the thread that opened it; another one gets
 *              HD_MISUSE. A value that came from no runtime, and every value
 *              that was made from it, belongs to one thread at a time.
 *              Functions without either, and those that say so, may be called
 *              from any thread. There are no hidden threads, and no state that
 *              runtimes share but the allocator; nothing is printed.
 *   Callbacks  A function that is called from here runs in the thread of the
 *              call that it is called from. It must return, and not by a jump
 *              or an exception.
 *   Options    A structure of options begins as HD_INIT, which sets every
 *              field to zero; a field that is zero means none, or the
 *              default. */

#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HD_API __attribute__((visibility("default")))
#else
#define HD_API
#endif

/* Sets every field of a structure to zero, without a warning in C and C++:
 *   hd_runtime_options options = HD_INIT; */
/* clang-format off */
#ifdef __cplusplus
#define HD_INIT {}
#else
#define HD_INIT {0}
#endif
/* clang-format on */

/* -- Version -------------------------------------------------------------- */

#define HD_VERSION_MAJOR 0
#define HD_VERSION_MINOR 1
#define HD_VERSION_PATCH 0
#define HD_VERSION_TEXT  "0.1.0"

/* The version of the library that is linked, as HD_VERSION_TEXT. */
HD_API const char *hd_version(void);

/* -- Status --------------------------------------------------------------- */

/* These numbers never change their meaning; new ones are added. */
typedef enum hd_status {
    HD_OK = 0,
    HD_ARGUMENT = 1,  /* an argument is invalid */
    HD_SYNTAX = 2,    /* a text is malformed */
    HD_TYPE = 3,      /* a value has the wrong type */
    HD_NOT_FOUND = 4, /* there is no value at this path */
    HD_RANGE = 5,     /* a number is out of range */

    HD_SCHEMA = 6,           /* a value does not match its schema */
    HD_SCHEMA_MALFORMED = 7, /* a schema is invalid */
    HD_MISUSE = 8,           /* not allowed in this context or thread */

    HD_PATCH_MALFORMED = 10, /* an operation lacks a field, or is unknown */
    HD_PATCH_MISSING = 11,   /* an operation names a missing path */
    HD_PATCH_TRAVERSAL = 12, /* a path crosses a scalar */
    HD_PATCH_INDEX = 13,     /* an array index is invalid */
    HD_PATCH_TARGET = 14,    /* the target has the wrong type */
    HD_PATCH_ROOT = 15,      /* the result is not a document */

    HD_LIMIT_SIZE = 32,     /* the text is too large */
    HD_LIMIT_DEPTH = 33,    /* nested too deeply */
    HD_LIMIT_KEYS = 34,     /* too many keys in an object */
    HD_LIMIT_ELEMENTS = 35, /* too many elements in an array */
    HD_LIMIT_STRING = 36,   /* a string is too long */
    HD_LIMIT_PATH = 37,     /* a path is too long */
    HD_LIMIT_PATCH = 38,    /* too many operations in a patch */
    HD_LIMIT_ID = 39,       /* an identifier is too long */
    HD_LIMIT_COMMIT = 40,   /* too many parts in a commit */
    HD_LIMIT_SCHEMA = 41,   /* a schema is too large */
    HD_LIMIT_HOPS = 42,     /* a causal chain of events is too long */

    HD_PROTOCOL = 64,             /* a message is malformed */
    HD_CONFLICT = 65,             /* a read value has changed: retry */
    HD_ORIGIN_FAILED = 66,        /* the originating commit was rejected */
    HD_RECEIPT_EXISTS = 67,       /* the document already exists */
    HD_REPLAY_MISMATCH = 68,      /* another commit has this number */
    HD_BRANCH_UNKNOWN = 69,       /* the branch does not exist */
    HD_BRANCH_CLOSED = 70,        /* the branch is not active */
    HD_SEQUENCE = 71,             /* a sequence number is out of range */
    HD_IMMUTABLE = 72,            /* the document is immutable */
    HD_LISTING_MOVED = 73,        /* the listing changed: restart it */
    HD_IDEMPOTENCY_MISMATCH = 74, /* the event id had another payload */
    HD_STALE = 80,                /* a value changed after it was read */
    HD_SESSION_LOST = 81,   /* the session was replaced: outcome unknown */
    HD_CLOSED = 82,         /* the space was closed: outcome unknown */
    HD_BACKLOG = 83,        /* the backlog is full: retry later */
    HD_NO_HANDLER = 84,     /* the stream has no handler */
    HD_HANDLER_EXISTS = 85, /* the stream already has a handler */
    HD_NOT_CONVERGED = 86,  /* gave up after repeated conflicts */
    HD_NOT_SETTLED = 87,    /* the inputs do not settle */
    HD_GIVEN_UP = 88,       /* the code aborted the attempt */
    HD_CLEARANCE = 89,      /* not cleared to read this data */
    HD_TIMEOUT = 90,        /* the deadline was exceeded */
    HD_INTERRUPTED = 91,    /* the call was interrupted */
    HD_SESSION_IN_USE = 92, /* another process uses the session */

    HD_IO = 96,         /* a read or write failed */
    HD_STORE = 97,      /* SQLite reported an error */
    HD_CORRUPT = 98,    /* the file is damaged */
    HD_BUSY = 99,       /* another process holds the file: retry */
    HD_FULL = 100,      /* the disk is full */
    HD_FENCED = 101,    /* another writer took over */
    HD_NO_MEMORY = 102, /* out of memory */
    HD_READ_ONLY = 103  /* opened read-only */
} hd_status;

/* What may be done after a failure. Only HD_CLASS_RETRY is worth another try
 * with the same input. */
typedef enum hd_class {
    HD_CLASS_NONE = 0,      /* no failure */
    HD_CLASS_RETRY = 1,     /* the state has changed: read again */
    HD_CLASS_PERMANENT = 2, /* the answer will not change: drop the work */
    HD_CLASS_TERMINAL = 3,  /* the request broke a rule: change it */
    HD_CLASS_FAULT = 4      /* disk, memory, network: it may have happened */
} hd_class;

/* "SYNTAX", "malformed text", HD_CLASS_TERMINAL. For a number
 * that is not in the list: "unknown", a sentence, HD_CLASS_FAULT. The strings
 * are static. */
HD_API const char *hd_status_name(hd_status status);
HD_API const char *hd_status_text(hd_status status);
HD_API hd_class hd_status_class(hd_status status);

/* What went wrong, for people and for programs; all zero on success. */
typedef struct hd_error {
    hd_status status;
    hd_class class_of; /* hd_status_class(status) */
    size_t line;       /* of a text that was refused, from 1; 0: no place */
    size_t column;     /* in characters, from 1 */
    size_t offset;     /* in bytes, from 0 */
    uint64_t limit;    /* of HD_LIMIT_* and HD_BACKLOG: what is allowed; 0: not
                          known */
    uint32_t attempts; /* of an edit or an event; 0: it has none */
    bool may_have_happened; /* nobody knows whether it was done */
    char text[256];         /* a sentence; "" on success */
    char address[256];      /* what it is about: the place ("main/cart#/total"),
                               or the name of a node or a piece; or "" */
} hd_error;

/* -- Memory --------------------------------------------------------------- */

/* What the library uses instead of malloc, realloc and free. The size of a
 * block is given back with it. A hook that cannot deliver must not return
 * NULL: the library would stop the process (everything from outside is bounded
 * before memory is asked for). The hooks may be called from every thread that
 * calls the library. */
typedef struct hd_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size);
    void *(*resize)(void *context, void *block, size_t old_size, size_t size);
    void (*release)(void *context, void *block, size_t size);
} hd_allocator;

/* Process-wide; call it before anything else, or after everything has been
 * released. NULL restores the C library's. HD_ARGUMENT if a hook is NULL. */
HD_API hd_status hd_set_allocator(const hd_allocator *allocator);

/* Releases a text that a function here returned as new. NULL is harmless. */
HD_API void hd_text_free(char *text);

/* -- Values --------------------------------------------------------------- */

/* An immutable value: null, boolean, integer, number, string, array, object,
 * link or tagged leaf. Changing one means making another, which shares all
 * that stayed the same. Release with hd_value_unref. */
typedef struct hd_value hd_value;

typedef enum hd_kind {
    HD_NULL = 1,
    HD_BOOL = 2,
    HD_INT = 3,    /* a whole number of 64 bits; 1.0 is one, too */
    HD_DOUBLE = 4, /* any other number, NaN and the infinities included */
    HD_STRING = 5,
    HD_ARRAY = 6,
    HD_OBJECT = 7,
    HD_LINK = 8,  /* {"/":{"link@1":{...}}}: points at a place in a document */
    HD_TAGGED = 9 /* {"/":{"name@1":...}}: a leaf of some other type */
} hd_kind;

#define HD_TERMINATED ((size_t)-1)

/* -- Values: making */

/* The value of a JSON text (RFC 8259, strictly). New. Fails with HD_SYNTAX,
 * HD_RANGE or HD_LIMIT_*; `error` then has the place. */
HD_API hd_status hd_value_parse(const char *text,
                                size_t length,
                                hd_value **value,
                                hd_error *error);

/* All new. hd_value_new_string copies the bytes, and refuses those that are not
 * UTF-8 (HD_SYNTAX) and more than 16 MiB of them (HD_LIMIT_STRING). */
HD_API hd_status hd_value_new_null(hd_value **value);
HD_API hd_status hd_value_new_bool(bool boolean, hd_value **value);
HD_API hd_status hd_value_new_int(int64_t integer, hd_value **value);
HD_API hd_status hd_value_new_double(double number, hd_value **value);
HD_API hd_status hd_value_new_string(const char *bytes,
                                     size_t length,
                                     hd_value **value);
HD_API hd_status hd_value_new_array(hd_value **value);  /* empty */
HD_API hd_status hd_value_new_object(hd_value **value); /* empty */

/* One more owner, and one less; the first returns its argument. NULL is
 * harmless to both. */
HD_API hd_value *hd_value_ref(hd_value *value);
HD_API void hd_value_unref(hd_value *value);

/* -- Values: asking */

HD_API hd_status hd_value_kind(const hd_value *value, hd_kind *kind);

/* HD_TYPE if the value is of another kind. hd_value_get_double also takes an
 * integer, and gives the nearest double. */
HD_API hd_status hd_value_get_bool(const hd_value *value, bool *boolean);
HD_API hd_status hd_value_get_int(const hd_value *value, int64_t *integer);
HD_API hd_status hd_value_get_double(const hd_value *value, double *number);

/* The bytes are borrowed, with a zero byte after them, and stay where they are
 * as long as this handle lives. `length` may be NULL. */
HD_API hd_status hd_value_get_string(const hd_value *value,
                                     const char **bytes,
                                     size_t *length);

/* Elements of an array, entries of an object; HD_TYPE otherwise. */
HD_API hd_status hd_value_count(const hd_value *value, size_t *count);

/* The element of an array at `index`, new; HD_NOT_FOUND past the end, HD_TYPE
 * if it is not an array. */
HD_API hd_status hd_value_at(const hd_value *array,
                             size_t index,
                             hd_value **element);

/* Walks an object in the order in which its keys came. Start with *cursor = 0;
 * each call gives one entry and moves the cursor on, HD_NOT_FOUND at the end.
 * Key and item are new; pass NULL for the one that is not wanted. */
HD_API hd_status hd_value_next(const hd_value *object,
                               size_t *cursor,
                               hd_value **key,
                               hd_value **item);

/* What is at a JSON Pointer ("" is the value itself, "/a/0" goes to a, then to
 * its first element), new. HD_NOT_FOUND if there is nothing. */
HD_API hd_status hd_value_get(const hd_value *value,
                              const char *pointer,
                              size_t length,
                              hd_value **found,
                              hd_error *error);

/* Equal by content: the order of keys does not count, 1 and 1.0 are the same
 * number, NaN equals itself, -0 differs from 0. */
HD_API hd_status hd_value_equal(const hd_value *a,
                                const hd_value *b,
                                bool *equal);

/* -- Values: writing */

typedef enum hd_form {
    HD_AS_GIVEN = 0, /* keys in the order in which they came */
    HD_CANONICAL = 1 /* sorted keys: equal values have the same text */
} hd_form;

/* The JSON text, new (hd_text_free), with a zero byte after it. An indent of
 * 0 gives one line; otherwise up to 16 spaces a level. `length` may be NULL.
 * HD_LIMIT_SIZE if it would have more than the 64 MiB that hd_value_parse
 * accepts. */
HD_API hd_status hd_value_write(const hd_value *value,
                                hd_form form,
                                unsigned indent,
                                char **text,
                                size_t *length);

/* -- Values: changing */

/* `value` with `item` at a JSON Pointer, as the patch operation "add": missing
 * keys are created, in an array the item is inserted. New. Fails with
 * HD_SYNTAX or HD_LIMIT_PATH (the pointer), HD_PATCH_* or HD_LIMIT_*. */
HD_API hd_status hd_value_set(const hd_value *value,
                              const char *pointer,
                              size_t length,
                              const hd_value *item,
                              hd_value **changed,
                              hd_error *error);

/* `value` after a patch: an array of operations (replace, add, remove, move,
 * splice, append, add-unique, remove-by-value, increment). All of them or
 * none. New. */
HD_API hd_status hd_value_patch(const hd_value *value,
                                const hd_value *patch,
                                hd_value **patched,
                                hd_error *error);

/* A patch that turns `before` into a value equal to `after`; empty if they are
 * equal. New. Where the differences are more than a patch can say, it replaces
 * the whole. HD_LIMIT_DEPTH if `after` is so deep that a patch cannot hold
 * it. */
HD_API hd_status hd_value_diff(const hd_value *before,
                               const hd_value *after,
                               hd_value **patch);

/* The JSON Pointers at which two values differ, as an array of strings in the
 * order of their bytes; new. A key that came or went is reported itself, an
 * array of another length with those of its indexes that differ. `before` or
 * `after` may be NULL, for "there was nothing". HD_LIMIT_* if the pointers
 * together have more than 64 MiB. */
HD_API hd_status hd_value_changed_paths(const hd_value *before,
                                        const hd_value *after,
                                        hd_value **pointers);

/* -- Values: names */

#define HD_DIGEST_LENGTH 43

/* A digest of the content: BLAKE2b-256 of the canonical text, as 43 letters,
 * digits, '-' and '_', and a zero byte. It is the same on every machine and in
 * every version. HD_LIMIT_SIZE as for hd_value_write. */
HD_API hd_status hd_value_digest(const hd_value *value,
                                 char digest[HD_DIGEST_LENGTH + 1]);

/* The id that follows from a cause: a string of the prefix and a digest. The
 * same cause has the same id, everywhere. The prefix is 1 to 16 letters,
 * digits and ':' (HD_ARGUMENT, or HD_LIMIT_ID if it is longer). HD_LIMIT_SIZE
 * as for hd_value_write. New. */
HD_API hd_status hd_value_id(const char *prefix,
                             const hd_value *cause,
                             hd_value **id);

#ifdef __cplusplus
}
#endif

#include <heddle/runtime.h>

#include <heddle/cell.h>

#include <heddle/node.h>

#include <heddle/pattern.h>

#include <heddle/inspect.h>

#endif
