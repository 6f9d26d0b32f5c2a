/* Immutable values in a handle of 16 bytes.
 *
 * A `struct value` is passed by value, in two registers. Null, booleans,
 * integers, doubles, strings of up to 15 bytes and empty containers live in
 * the handle itself; longer strings, arrays, objects, links and tagged leaves
 * are counted nodes on the heap. docs/values.md has the measurement behind
 * the 16 bytes.
 *
 *   value-1  For everything that is not on the heap, one content has one
 *            handle: two such values are equal iff their two words are.
 *   value-2  A number that is integral and fits into int64_t is an INT, however
 *            it was written; so 1.0 is 1. -0 is a DOUBLE and differs from 0.
 *            There is one NaN, and it equals itself.
 *   value-3  A string is valid UTF-8 (zero bytes are allowed).
 *   value-4  An object of the form {"/":{"name@1":state}} does not exist: that
 *            text is always a LINK or a TAGGED leaf.
 *   value-5  A shared value never changes. Functions named _adopt take over the
 *            caller's reference and change the value in place iff that
 *            reference was the only one.
 *
 * Counts are not atomic: a value and everything that shares structure with it
 * belong to one thread at a time.
 *
 * Ownership: the caller releases a `struct value` from a function named _adopt,
 * _new, _take or value_ref with value_unref. From a query (array_at,
 * object_get, ...) it is borrowed until the next change of the owner or the end
 * of the transaction. A plain parameter is borrowed for the call; one of an
 * _adopt function is given away. */

#ifndef VALUE_VALUE_H
#define VALUE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum value_kind {
    VALUE_ABSENT, /* no value; all zero. Never inside a container */
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_DOUBLE,
    VALUE_STRING,
    VALUE_ARRAY,
    VALUE_OBJECT,
    VALUE_LINK,   /* value/doc_link.h */
    VALUE_TAGGED, /* {"/":{"name@1":state}}, opaque: no path goes through it */
};

enum {
    VALUE_INLINE_MAX = 15
};

struct buf;  /* base/buf.h */
struct heap; /* value/node.h */

/* Two words and nothing else, so that compilers keep it in two registers: as a
 * union of its possible members, every passed value went through memory. The
 * first word is an integer, the bits of a double, 0 or 1, or the address of a
 * node; the second is zero but for its last byte, the tag (enum value_tag). The
 * bytes of a string in the handle begin with the first word and end before the
 * tag, which also has their number. */
struct value {
    uint64_t word[2];
};

_Static_assert(sizeof(struct value) == 16, "two registers");

/* How a kind is represented: the low half of the tag. */
enum value_tag {
    TAG_ABSENT,
    TAG_NULL,
    TAG_BOOL,
    TAG_INT,
    TAG_DOUBLE,
    TAG_SHORT, /* string in the handle; its length in the high half */
    TAG_EMPTY_ARRAY,
    TAG_EMPTY_OBJECT,
    TAG_HEAP = 8, /* from here on, `heap` is counted */
    TAG_LONG = TAG_HEAP,
    TAG_ARRAY,
    TAG_OBJECT,
    TAG_LINK,
    TAG_TAGGED,
    /* Parts of a large object, never the tag of a handle. */
    TAG_ENTRIES,
    TAG_INDEX,
};

enum {
    VALUE_TAG_SHIFT = 56,   /* the tag is the last byte of the second word, */
    VALUE_LENGTH_SHIFT = 60 /* and its high half the length of a SHORT */
};

static inline enum value_tag value_tag(struct value value)
{
    return (enum value_tag)(value.word[1] >> VALUE_TAG_SHIFT & 15U);
}

enum value_kind value_kind(struct value value);

/* "null", "integer", "array": for messages. */
const char *value_kind_name(enum value_kind kind);

/* -- Creation ------------------------------------------------------------ */

#define VALUE_NONE ((struct value){{0, 0}})

static inline struct value value_tagged_word(uint64_t word, enum value_tag tag)
{
    return (struct value){{word, (uint64_t)tag << VALUE_TAG_SHIFT}};
}

static inline struct value value_null(void)
{
    return value_tagged_word(0, TAG_NULL);
}

static inline struct value value_bool(bool boolean)
{
    return value_tagged_word(boolean ? 1 : 0, TAG_BOOL);
}

static inline struct value value_int(int64_t integer)
{
    return value_tagged_word((uint64_t)integer, TAG_INT);
}

/* value-2 decides between INT and DOUBLE. */
struct value value_fraction(double real); /* of one that is no int64_t */
static inline struct value value_double(double real)
{
    /* The bounds are exact doubles; 2^63 itself does not fit. NaN fails both
     * comparisons. */
    if (real >= -0x1p63 && real < 0x1p63) {
        const int64_t integer = (int64_t)real;
        const double back = (double)integer;
        uint64_t bits[2]; /* -0 is none */
        memcpy(&bits[0], &back, sizeof back);
        memcpy(&bits[1], &real, sizeof real);
        if (bits[0] == bits[1]) {
            return value_int(integer);
        }
    }
    return value_fraction(real);
}

static inline struct value value_empty_array(void)
{
    return value_tagged_word(0, TAG_EMPTY_ARRAY);
}

static inline struct value value_empty_object(void)
{
    return value_tagged_word(0, TAG_EMPTY_OBJECT);
}

/* Copies the bytes, which are valid UTF-8 (value-3); `length` is bounded by
 * LIMIT_STRING_BYTES at the edge. */
struct value value_string_new(const char *bytes, size_t length);
struct value value_text_new(const char *text); /* up to its zero byte */

/* A string with the content of the buffer, which is released. */
struct value value_string_adopt(struct buf *text);

/* The leaf {"/":{type:state}}: a DOUBLE for the well-formed "number@1" (NaN
 * and the infinities, which JSON lacks), a LINK for a well-formed "link@1",
 * TAGGED otherwise. `type` satisfies value_is_type_name. */
struct value value_tagged_adopt(struct value type, struct value state);

/* A name, '@' and a version: "[a-z][a-z0-9-]*@[1-9][0-9]*". */
bool value_is_type_name(struct value string);

/* Whether an object has the form of an envelope. */
bool value_is_envelope(struct value value);

/* value-4: turns an object that is an envelope into the leaf that it means;
 * returns any other value unchanged. */
struct value value_normalise_adopt(struct value value);

/* Whether a change of one entry could turn this object into an envelope, on the
 * way to a result that is not one: it has a key "/". Code that changes values
 * step by step replaces such an object as a whole. */
bool value_is_near_envelope(struct value value);

/* *to = value, word by word. Storing a value in two registers as one unit goes
 * through the stack and stalls there; this does not, for hot paths. */
static inline void value_store(struct value *to, struct value value)
{
    to->word[0] = value.word[0];
    to->word[1] = value.word[1];
}

/* The reverse: two words that were just stored one by one cannot be loaded as
 * one unit until they have left the store buffer. */
static inline struct value value_load(const struct value *from)
{
    struct value value;
    value.word[0] = from->word[0];
    value.word[1] = from->word[1];
    return value;
}

/* -- Counting ------------------------------------------------------------ */

static inline bool value_is_heap(struct value value)
{
    return (value.word[1] >> VALUE_TAG_SHIFT & TAG_HEAP) != 0;
}

static inline struct heap *value_heap(struct value value)
{
    return (struct heap *)(uintptr_t)value.word[0];
}

static inline struct value value_of_heap(struct heap *heap, enum value_tag tag)
{
    return value_tagged_word((uint64_t)(uintptr_t)heap, tag);
}

static inline struct value value_ref(struct value value)
{
    if (value_is_heap(value)) {
        ++*(uint32_t *)(void *)value_heap(value); /* refs: the first member */
    }
    return value;
}

/* The last reference is gone: frees the node and everything that only it held,
 * without recursion and without allocation. */
void value_free(struct heap *heap);

static inline void value_unref(struct value value)
{
    if (value_is_heap(value) && --*(uint32_t *)(void *)value_heap(value) == 0) {
        value_free(value_heap(value));
    }
}

/* -- Queries ------------------------------------------------------------- */

static inline bool value_is_absent(struct value value)
{
    return value.word[1] >> VALUE_TAG_SHIFT == TAG_ABSENT;
}

static inline bool value_is_string(struct value value)
{
    return value_tag(value) == TAG_SHORT || value_tag(value) == TAG_LONG;
}

static inline bool value_is_array(struct value value)
{
    return value_tag(value) == TAG_ARRAY || value_tag(value) == TAG_EMPTY_ARRAY;
}

static inline bool value_is_object(struct value value)
{
    return value_tag(value) == TAG_OBJECT ||
           value_tag(value) == TAG_EMPTY_OBJECT;
}

/* Arrays and objects: what a path can go through. */
static inline bool value_is_container(struct value value)
{
    return value_is_array(value) || value_is_object(value);
}

static inline bool value_is_number(struct value value)
{
    return value_tag(value) == TAG_INT || value_tag(value) == TAG_DOUBLE;
}

/* The same handle: certainly equal, at no cost. False says nothing about heap
 * values. */
static inline bool value_is_same(struct value a, struct value b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

/* `value` is a BOOL, an INT, a number. */
bool value_boolean(struct value value);
int64_t value_integer(struct value value);
double value_real(struct value value); /* the nearest double of an INT */

/* The same for a DOUBLE, if the caller has checked its tag. */
static inline double value_fraction_of(struct value value)
{
    double real;
    memcpy(&real, &value.word[0], sizeof real);
    return real;
}

/* The bytes of a string, with a zero byte after them unless it is in the handle
 * and 15 bytes long. Borrowed while *string itself exists unchanged: a short
 * string is inside it. */
struct text {
    const char *at;
    size_t length;
};
struct text value_text(const struct value *string);

/* Whether `value` is a string, and this one. */
bool value_is_text(struct value value, const char *want);

/* Whether it is a string that begins with a text. */
bool value_begins_with(struct value value, const char *text);

/* The type name and the state of a LINK or TAGGED leaf, borrowed. */
struct value value_tagged_type(struct value tagged);
struct value value_tagged_state(struct value tagged);

/* All invariants of `value` and everything below it, for CHECK_DEEP. */
bool value_check(struct value value);

#endif
