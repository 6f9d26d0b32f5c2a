/* Heddle: an embeddable durable reactive runtime.
 *
 * Include this header only. It needs C99 or C++11 and nothing else. It declares
 * the version, status codes, errors, the allocator hook and values: the
 * immutable JSON data that cells hold. It includes the other headers, best read
 * in this order:
 *
 *   heddle/runtime.h  runtimes: open, step, wait, close
 *   heddle/cell.h     cells: read and write documents; links, edits
 *   heddle/node.h     computations, effects, handlers, events
 *   heddle/pattern.h  named graphs that persist across restarts
 *   heddle/inspect.h  which nodes exist, what ran, and why
 *
 * Conventions
 *
 *   Status     A function that can fail returns hd_status; 0 is success. A
 *              function that fails changes nothing and sets its results to
 *              NULL or 0. Invalid arguments return HD_ARGUMENT. Calls at the
 *              wrong time or from the wrong thread return HD_MISUSE. Calls on
 *              a closed runtime return HD_CLOSED. None of these crashes.
 *              A released handle returns HD_MISUSE for as long as its runtime
 *              or another handle of that runtime exists. Using a released
 *              value is undefined, as is passing a pointer to memory of
 *              another type; the library detects most of the latter and
 *              returns HD_MISUSE.
 *   Errors     The last parameter, `error`, may be NULL. Otherwise a failure
 *              fills it with a sentence that says what happened and what to
 *              do, and success clears it.
 *   Ownership  "New": the caller owns the result and releases it with the
 *              function that its type names. "Borrowed": the result is valid
 *              for as long as the object that it came from, or as stated.
 *              Arguments remain the caller's; the library copies or
 *              references what it keeps.
 *   Strings    UTF-8. A string with a length in bytes may contain zero bytes;
 *              the length HD_TERMINATED means "up to the zero byte". A string
 *              without a length ends at the zero byte.
 *   Threads    A runtime, its handles and the values that came from it belong
 *              to the thread that opened the runtime. Calls from any other
 *              thread return HD_MISUSE. Any other value, together with all
 *              values made from it, may be used by one thread at a time.
 *              Functions that take neither may be called from any thread, as
 *              may those that say so. The library starts no threads, prints
 *              nothing, and shares no state between runtimes except the
 *              allocator.
 *   Callbacks  A callback runs in the thread of the call that invokes it. It
 *              must return normally: no longjmp, no exception.
 *   Options    Initialise option structures with HD_INIT, which sets every
 *              field to zero. A zero field means "none" or the default. */

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

/* Initialises a structure with every field zero, without a warning in C or C++:
 *
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

/* Returns the version of the linked library, in the form of HD_VERSION_TEXT. */
HD_API const char *hd_version(void);

/* -- Status --------------------------------------------------------------- */

/* The numbers are stable: a later version may add codes, but never changes one.
 */
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
    HD_LIMIT_REACH = 43,    /* a selector reaches too much */

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

    HD_IO = 96,               /* a read or write failed */
    HD_STORE = 97,            /* SQLite reported an error */
    HD_CORRUPT = 98,          /* the file is damaged */
    HD_BUSY = 99,             /* another process holds the file: retry */
    HD_FULL = 100,            /* the disk is full */
    HD_FENCED = 101,          /* another writer took over */
    HD_NO_MEMORY = 102,       /* out of memory */
    HD_READ_ONLY = 103,       /* opened read-only */
    HD_UNAUTHENTICATED = 104, /* identity not proven */
    HD_ACCESS = 105,          /* access denied */
    HD_OVERLOADED = 106,      /* a limit of the server was reached */
    HD_UNREACHABLE = 107      /* the server cannot be reached */
} hd_status;

/* What the caller can do after a failure. Retrying with the same input is
 * useful only for HD_CLASS_RETRY. */
typedef enum hd_class {
    HD_CLASS_NONE = 0,      /* no failure */
    HD_CLASS_RETRY = 1,     /* the state has changed: read again */
    HD_CLASS_PERMANENT = 2, /* the answer will not change: drop the work */
    HD_CLASS_TERMINAL = 3,  /* the request broke a rule: change it */
    HD_CLASS_FAULT = 4      /* disk, memory, network: it may have happened */
} hd_class;

/* Return the name, the text and the class of a status: "SYNTAX", "malformed
 * text", HD_CLASS_TERMINAL. For an unknown number they return "unknown", a
 * sentence and HD_CLASS_FAULT. The strings are static. */
HD_API const char *hd_status_name(hd_status status);
HD_API const char *hd_status_text(hd_status status);
HD_API hd_class hd_status_class(hd_status status);

/* Describes a failure, for people and for programs. All fields are zero on
 * success. */
typedef struct hd_error {
    hd_status status;
    hd_class class_of; /* hd_status_class(status) */
    size_t line;       /* in the rejected text, from 1; 0: no position */
    size_t column;     /* in characters, from 1 */
    size_t offset;     /* in bytes, from 0 */
    uint64_t limit;    /* HD_LIMIT_* and HD_BACKLOG: the limit; 0: unknown */
    uint32_t attempts; /* of an edit or an event; 0: not applicable */
    bool may_have_happened; /* the outcome is unknown */
    char text[256];         /* a sentence; "" on success */
    char address[256];      /* the subject: a path ("main/cart#/total"), the
                               name of a node or of a piece, or "" */
} hd_error;

/* -- Memory --------------------------------------------------------------- */

/* Replaces malloc, realloc and free. `resize` and `release` receive the size of
 * the block. A hook must not return NULL: the library then stops the process.
 * Input is checked against the limits before memory is allocated for it. Any
 * thread that calls the library may call the hooks. */
typedef struct hd_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size);
    void *(*resize)(void *context, void *block, size_t old_size, size_t size);
    void (*release)(void *context, void *block, size_t size);
} hd_allocator;

/* Sets the allocator of the whole process. Call it before any other function,
 * or after everything has been released. NULL restores the allocator of the C
 * library. Returns HD_ARGUMENT if a hook is NULL. */
HD_API hd_status hd_set_allocator(const hd_allocator *allocator);

/* Releases a text that was returned as new. NULL is allowed. */
HD_API void hd_text_free(char *text);

/* -- Values --------------------------------------------------------------- */

/* An immutable value: null, boolean, integer, number, string, array, object,
 * link or tagged leaf. Functions that change a value return a new one, which
 * shares its unchanged parts with the old one. Release with hd_value_unref.
 *
 *   hd_value *list = NULL, *first = NULL;
 *   hd_value_parse("[1, 2]", HD_TERMINATED, &list, &error);
 *   hd_value_get(list, "/0", HD_TERMINATED, &first, &error);
 *   hd_value_unref(first);
 *   hd_value_unref(list); */
typedef struct hd_value hd_value;

typedef enum hd_kind {
    HD_NULL = 1,
    HD_BOOL = 2,
    HD_INT = 3,    /* a 64-bit integer; 1.0 is an integer, too */
    HD_DOUBLE = 4, /* any other number, including NaN and infinities */
    HD_STRING = 5,
    HD_ARRAY = 6,
    HD_OBJECT = 7,
    HD_LINK = 8,  /* {"/":{"link@1":{...}}}: refers to a path in a document */
    HD_TAGGED = 9 /* {"/":{"name@1":...}}: a leaf of another type */
} hd_kind;

#define HD_TERMINATED ((size_t)-1)

/* -- Values: create */

/* Parses a JSON text strictly (RFC 8259). The value is new. Returns HD_SYNTAX,
 * HD_RANGE or HD_LIMIT_*; `error` then holds the position. */
HD_API hd_status hd_value_parse(const char *text,
                                size_t length,
                                hd_value **value,
                                hd_error *error);

/* Create a value. All results are new. hd_value_new_string copies the bytes. It
 * returns HD_SYNTAX if they are not UTF-8, and HD_LIMIT_STRING for more than 16
 * MiB. */
HD_API hd_status hd_value_new_null(hd_value **value);
HD_API hd_status hd_value_new_bool(bool boolean, hd_value **value);
HD_API hd_status hd_value_new_int(int64_t integer, hd_value **value);
HD_API hd_status hd_value_new_double(double number, hd_value **value);
HD_API hd_status hd_value_new_string(const char *bytes,
                                     size_t length,
                                     hd_value **value);
HD_API hd_status hd_value_new_array(hd_value **value);  /* empty */
HD_API hd_status hd_value_new_object(hd_value **value); /* empty */

/* Add and drop a reference. hd_value_ref returns its argument. Both accept
 * NULL. */
HD_API hd_value *hd_value_ref(hd_value *value);
HD_API void hd_value_unref(hd_value *value);

/* -- Values: inspect */

HD_API hd_status hd_value_kind(const hd_value *value, hd_kind *kind);

/* Return HD_TYPE if the value has another kind. hd_value_get_double also
 * accepts an integer and returns the nearest double. */
HD_API hd_status hd_value_get_bool(const hd_value *value, bool *boolean);
HD_API hd_status hd_value_get_int(const hd_value *value, int64_t *integer);
HD_API hd_status hd_value_get_double(const hd_value *value, double *number);

/* Returns the bytes of a string, borrowed and followed by a zero byte. The
 * pointer stays valid for as long as this handle. `length` may be NULL. */
HD_API hd_status hd_value_get_string(const hd_value *value,
                                     const char **bytes,
                                     size_t *length);

/* Returns the number of elements of an array or entries of an object; HD_TYPE
 * for any other kind. */
HD_API hd_status hd_value_count(const hd_value *value, size_t *count);

/* Returns the element at `index`, new. HD_NOT_FOUND past the end; HD_TYPE if
 * the value is not an array. */
HD_API hd_status hd_value_at(const hd_value *array,
                             size_t index,
                             hd_value **element);

/* Iterates over an object in insertion order. Start with *cursor = 0. Each call
 * returns one entry and advances the cursor; HD_NOT_FOUND at the end. Key and
 * item are new. Pass NULL for either one if it is not needed. */
HD_API hd_status hd_value_next(const hd_value *object,
                               size_t *cursor,
                               hd_value **key,
                               hd_value **item);

/* Returns the value at a JSON Pointer, new. "" is the value itself; "/a/0" is
 * the first element of the array at key a. HD_NOT_FOUND if there is no value.
 */
HD_API hd_status hd_value_get(const hd_value *value,
                              const char *pointer,
                              size_t length,
                              hd_value **found,
                              hd_error *error);

/* Compares by content. Key order is ignored, 1 equals 1.0, NaN equals NaN, and
 * -0 differs from 0. */
HD_API hd_status hd_value_equal(const hd_value *a,
                                const hd_value *b,
                                bool *equal);

/* -- Values: serialise */

typedef enum hd_form {
    HD_AS_GIVEN = 0, /* keys in insertion order */
    HD_CANONICAL = 1 /* keys sorted: equal values have equal texts */
} hd_form;

/* Returns the JSON text, new (hd_text_free) and followed by a zero byte. With
 * `indent` 0 the text is one line; otherwise each level is indented by that
 * many spaces, at most 16. `length` may be NULL. HD_LIMIT_SIZE if the text
 * would exceed the 64 MiB that hd_value_parse accepts. */
HD_API hd_status hd_value_write(const hd_value *value,
                                hd_form form,
                                unsigned indent,
                                char **text,
                                size_t *length);

/* -- Values: change */

/* Returns `value` with `item` at a JSON Pointer, like the patch operation
 * "add": missing keys are created, and in an array the item is inserted. New.
 * Returns HD_SYNTAX or HD_LIMIT_PATH for the pointer, HD_PATCH_* or HD_LIMIT_*
 * otherwise. */
HD_API hd_status hd_value_set(const hd_value *value,
                              const char *pointer,
                              size_t length,
                              const hd_value *item,
                              hd_value **changed,
                              hd_error *error);

/* Applies a patch: an array of the operations replace, add, remove, move,
 * splice, append, add-unique, remove-by-value and increment. Either all
 * operations apply or none. The result is new. */
HD_API hd_status hd_value_patch(const hd_value *value,
                                const hd_value *patch,
                                hd_value **patched,
                                hd_error *error);

/* Returns a patch that turns `before` into a value equal to `after`, new. It is
 * empty if they are equal. If the differences exceed what a patch can hold, it
 * replaces the whole value. HD_LIMIT_DEPTH if `after` is nested too deeply for
 * a patch. */
HD_API hd_status hd_value_diff(const hd_value *before,
                               const hd_value *after,
                               hd_value **patch);

/* Returns the JSON Pointers at which two values differ, as a new array of
 * strings sorted by bytes. An added or removed key is reported as itself. An
 * array whose length changed is reported together with its indexes that differ.
 * `before` or `after` may be NULL, which means "no value". HD_LIMIT_* if the
 * pointers together exceed 64 MiB. */
HD_API hd_status hd_value_changed_paths(const hd_value *before,
                                        const hd_value *after,
                                        hd_value **pointers);

/* -- Values: identify */

#define HD_DIGEST_LENGTH 43

/* Computes a digest of the content: BLAKE2b-256 of the canonical text, as 43
 * letters, digits, '-' and '_', and a zero byte. It is the same on every
 * machine and in every version. HD_LIMIT_SIZE as for hd_value_write. */
HD_API hd_status hd_value_digest(const hd_value *value,
                                 char digest[HD_DIGEST_LENGTH + 1]);

/* Derives an id from a cause: a string of the prefix and a digest, new. Equal
 * causes have equal ids, everywhere. The prefix has 1 to 16 letters, digits and
 * ':'; HD_ARGUMENT otherwise, HD_LIMIT_ID if it is longer. HD_LIMIT_SIZE as for
 * hd_value_write. */
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
