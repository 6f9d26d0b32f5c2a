/* Handles: making, asking, and the death of values. */

#include "value/value.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "value/array.h"
#include "value/doc_link.h"
#include "value/node.h"
#include "value/object.h"

/* clang-format off */
static const uint8_t kind_of_tag[16] = {
    [TAG_ABSENT] = VALUE_ABSENT,      [TAG_NULL] = VALUE_NULL,
    [TAG_BOOL] = VALUE_BOOL,          [TAG_INT] = VALUE_INT,
    [TAG_DOUBLE] = VALUE_DOUBLE,      [TAG_SHORT] = VALUE_STRING,
    [TAG_EMPTY_ARRAY] = VALUE_ARRAY,  [TAG_EMPTY_OBJECT] = VALUE_OBJECT,
    [TAG_LONG] = VALUE_STRING,        [TAG_ARRAY] = VALUE_ARRAY,
    [TAG_OBJECT] = VALUE_OBJECT,      [TAG_LINK] = VALUE_LINK,
    [TAG_TAGGED] = VALUE_TAGGED,
};
/* clang-format on */

enum value_kind value_kind(struct value value)
{
    return (enum value_kind)kind_of_tag[value_tag(value)];
}

const char *value_kind_name(enum value_kind kind)
{
    static const char *const names[] = {
        [VALUE_ABSENT] = "nothing",
        [VALUE_NULL] = "null",
        [VALUE_BOOL] = "boolean",
        [VALUE_INT] = "integer",
        [VALUE_DOUBLE] = "number",
        [VALUE_STRING] = "string",
        [VALUE_ARRAY] = "array",
        [VALUE_OBJECT] = "object",
        [VALUE_LINK] = "link",
        [VALUE_TAGGED] = "tagged value",
    };
    return names[kind];
}

/* -- Nodes --------------------------------------------------------------- */

/* Bytes of a node of that shape. The one place that knows all of them. */
static size_t size_of(enum value_tag tag, unsigned height, size_t slots)
{
    switch (tag) {
    case TAG_LONG:
        return sizeof(struct string_node) + slots + 1;
    case TAG_ARRAY:
    case TAG_ENTRIES:
        return height > 0
                   ? sizeof(struct inner_node)
                   : sizeof(struct leaf_node) + slots * sizeof(struct value);
    case TAG_OBJECT:
        return height > 0
                   ? sizeof(struct large_node)
                   : sizeof(struct flat_node) + slots * sizeof(struct entry);
    case TAG_INDEX:
        return sizeof(struct index_node) + slots * sizeof(union index_slot);
    case TAG_LINK:
    case TAG_TAGGED:
        return sizeof(struct tagged_node);
    case TAG_ABSENT:
    case TAG_NULL:
    case TAG_BOOL:
    case TAG_INT:
    case TAG_DOUBLE:
    case TAG_SHORT:
    case TAG_EMPTY_ARRAY:
    case TAG_EMPTY_OBJECT:
        break;
    }
    UNREACHABLE("only tags of the heap have nodes");
}

struct heap *node_new(enum value_tag tag, unsigned height, size_t slots)
{
    struct heap *heap = mem_alloc(size_of(tag, height, slots));
    *heap = (struct heap){
        .refs = 1,
        .tag = (uint8_t)tag,
        .height = (uint8_t)height,
    };
    if (tag == TAG_LONG) {
        heap->count = (uint32_t)slots;
    } else {
        CHECK(slots <= UINT16_MAX);
        heap->capacity = (uint16_t)slots;
    }
    return heap;
}

size_t node_size(const struct heap *heap)
{
    return size_of((enum value_tag)heap->tag,
                   heap->height,
                   heap->tag == TAG_LONG ? heap->count : heap->capacity);
}

/* -- Death --------------------------------------------------------------- */

/* The dead wait in a list through their hash field, so that a value of any
 * depth is released with no stack and no memory. */
struct dying {
    struct heap *first;
};

static void dying_push(struct dying *dying, struct heap *heap)
{
    heap->hash = (uint64_t)(uintptr_t)dying->first;
    dying->first = heap;
}

static void drop_node(struct dying *dying, struct heap *heap)
{
    if (--heap->refs == 0) {
        dying_push(dying, heap);
    }
}

static void drop_values(struct dying *dying,
                        const struct value *values,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (value_is_heap(values[i])) {
            drop_node(dying, value_heap(values[i]));
        }
    }
}

static void drop_children(struct dying *dying, struct heap *heap)
{
    switch ((enum value_tag)heap->tag) {
    case TAG_ARRAY:
    case TAG_ENTRIES:
        if (heap->height == 0) {
            drop_values(dying, leaf_node(heap)->at, heap->width);
            break;
        }
        for (unsigned i = 0; i < heap->width; i++) {
            drop_node(dying, inner_node(heap)->child[i]);
        }
        break;
    case TAG_OBJECT:
        if (object_is_large(heap)) {
            drop_node(dying, large_node(heap)->entries);
            drop_node(dying, large_node(heap)->index);
        } else {
            drop_values(dying, &flat_node(heap)->at->key, 2U * heap->width);
        }
        break;
    case TAG_INDEX:
        for (unsigned i = index_branches_from(heap); i < heap->width; i++) {
            drop_node(dying, index_node(heap)->at[i].branch);
        }
        break;
    case TAG_LINK:
    case TAG_TAGGED:
        drop_values(dying, &tagged_node(heap)->type, 1);
        drop_values(dying, &tagged_node(heap)->state, 1);
        break;
    case TAG_LONG:
    case TAG_ABSENT:
    case TAG_NULL:
    case TAG_BOOL:
    case TAG_INT:
    case TAG_DOUBLE:
    case TAG_SHORT:
    case TAG_EMPTY_ARRAY:
    case TAG_EMPTY_OBJECT:
        break;
    }
}

void value_free(struct heap *heap)
{
    struct dying dying = {NULL};
    dying_push(&dying, heap);
    while (dying.first != NULL) {
        struct heap *dead = dying.first;
        dying.first = (struct heap *)(uintptr_t)dead->hash;
        drop_children(&dying, dead);
        mem_free(dead, node_size(dead));
    }
}

/* -- Copies -------------------------------------------------------------- */

static void ref_values(const struct value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)value_ref(values[i]);
    }
}

/* The copy holds its own references to what it shares with the original. */
static void ref_children(struct heap *heap)
{
    if (heap->tag == TAG_OBJECT) {
        if (object_is_large(heap)) {
            (void)node_ref(large_node(heap)->entries);
            (void)node_ref(large_node(heap)->index);
        } else {
            ref_values(&flat_node(heap)->at->key, 2U * heap->width);
        }
    } else if (heap->tag == TAG_INDEX) {
        for (unsigned i = index_branches_from(heap); i < heap->width; i++) {
            (void)node_ref(index_node(heap)->at[i].branch);
        }
    } else if (heap->height == 0) {
        ref_values(leaf_node(heap)->at, heap->width);
    } else {
        for (unsigned i = 0; i < heap->width; i++) {
            (void)node_ref(inner_node(heap)->child[i]);
        }
    }
}

static struct heap *clone(const struct heap *from, size_t slots)
{
    struct heap *to = node_new((enum value_tag)from->tag, from->height, slots);
    const uint16_t capacity = to->capacity;
    const size_t from_size =
        size_of((enum value_tag)from->tag, from->height, from->width);
    memcpy(to, from, from_size);
    to->refs = 1;
    to->capacity = capacity;
    ref_children(to);
    return to;
}

struct heap *node_own(struct heap **slot, size_t slots)
{
    struct heap *heap = *slot;
    CHECK(heap->tag != TAG_LONG);
    if (slots < heap->width) {
        slots = heap->width;
    }
    if (heap->refs > 1) {
        struct heap *copy = clone(heap, slots);
        heap->refs--;
        *slot = heap = copy;
    } else if (slots > heap->capacity) {
        const size_t size =
            size_of((enum value_tag)heap->tag, heap->height, slots);
        heap = mem_resize(heap, node_size(heap), size);
        heap->capacity = (uint16_t)slots;
        *slot = heap;
    }
    heap->cached = 0;
    return heap;
}

/* -- Making -------------------------------------------------------------- */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "short strings are put together in little-endian words");

struct value value_fraction(double real)
{
    uint64_t bits;
    const double one = isnan(real) ? (double)NAN : real; /* value-2 */
    memcpy(&bits, &one, sizeof bits);
    return value_tagged_word(bits, TAG_DOUBLE);
}

/* At most 15 bytes, by two overlapping copies of a fixed size: the bytes go
 * through registers, not through a call. */
static struct value short_string(const char *bytes, size_t length)
{
    uint64_t low = 0;
    uint64_t high = 0;
    if (length >= 8) {
        memcpy(&low, bytes, 8);
        memcpy(&high, bytes + length - 8, 8);
    } else if (length >= 4) {
        uint32_t first;
        uint32_t last;
        memcpy(&first, bytes, 4);
        memcpy(&last, bytes + length - 4, 4);
        low = first | (uint64_t)last << (8 * (length - 4));
    } else if (length > 0) {
        low = (unsigned char)bytes[0] |
              (uint64_t)(unsigned char)bytes[length / 2] << (8 * (length / 2)) |
              (uint64_t)(unsigned char)bytes[length - 1] << (8 * (length - 1));
    }
    high = length > 8 ? high >> (8 * (16 - length)) : 0;
    return (struct value){{low,
                           high | (uint64_t)TAG_SHORT << VALUE_TAG_SHIFT |
                               (uint64_t)length << VALUE_LENGTH_SHIFT}};
}

struct value value_string_new(const char *bytes, size_t length)
{
    if (length <= VALUE_INLINE_MAX) {
        return short_string(bytes, length);
    }
    CHECK(length < UINT32_MAX);
    struct heap *heap = node_new(TAG_LONG, 0, length);
    memcpy(string_node(heap)->at, bytes, length);
    string_node(heap)->at[length] = '\0';
    return value_of_heap(heap, TAG_LONG);
}

struct value value_text_new(const char *text)
{
    return value_string_new(text, strlen(text));
}

struct value value_string_adopt(struct buf *text)
{
    const struct value string = value_string_new(buf_text(text), text->length);
    buf_release(text);
    return string;
}

bool value_is_type_name(struct value string)
{
    if (!value_is_string(string)) {
        return false;
    }
    const struct text name = value_text(&string);
    size_t i = 0;
    while (i < name.length &&
           (name.at[i] == '-' || (name.at[i] >= 'a' && name.at[i] <= 'z') ||
            (name.at[i] >= '0' && name.at[i] <= '9'))) {
        i++;
    }
    if (i == 0 || name.at[0] < 'a' || i + 1 >= name.length ||
        name.at[i] != '@' || name.at[i + 1] == '0') {
        return false;
    }
    for (i++; i < name.length; i++) {
        if (name.at[i] < '0' || name.at[i] > '9') {
            return false;
        }
    }
    return true;
}

/* The numbers that JSON has no text for. */
static struct value special_number(struct value state)
{
    if (value_is_text(state, "NaN")) {
        return value_double((double)NAN);
    }
    if (value_is_text(state, "Infinity")) {
        return value_double((double)INFINITY);
    }
    if (value_is_text(state, "-Infinity")) {
        return value_double(-(double)INFINITY);
    }
    return VALUE_NONE;
}

struct value value_tagged_adopt(struct value type, struct value state)
{
    CHECK(value_is_type_name(type));
    enum value_tag tag = TAG_TAGGED;
    if (value_is_text(type, "number@1")) {
        struct value number = special_number(state);
        if (!value_is_absent(number)) {
            value_unref(state);
            return number;
        }
    } else if (value_is_text(type, "link@1") &&
               doc_link_state_is_valid(state)) {
        tag = TAG_LINK;
    }
    struct heap *heap = node_new(tag, 0, 0);
    tagged_node(heap)->type = type;
    tagged_node(heap)->state = state;
    return value_of_heap(heap, tag);
}

bool value_is_envelope(struct value value)
{
    if (value_tag(value) != TAG_OBJECT || object_count(value) != 1) {
        return false;
    }
    const struct value body = object_get_text(value, "/", 1);
    return value_tag(body) == TAG_OBJECT && object_count(body) == 1 &&
           value_is_type_name(flat_node(value_heap(body))->at->key);
}

struct value value_normalise_adopt(struct value value)
{
    if (!value_is_envelope(value)) {
        return value;
    }
    const struct value body = object_get_text(value, "/", 1);
    const struct entry *only = flat_node(value_heap(body))->at;
    struct value leaf =
        value_tagged_adopt(value_ref(only->key), value_ref(only->item));
    value_unref(value);
    return leaf;
}

bool value_is_near_envelope(struct value value)
{
    return value_tag(value) == TAG_OBJECT &&
           !value_is_absent(object_get_text(value, "/", 1));
}

/* -- Asking -------------------------------------------------------------- */

bool value_boolean(struct value value)
{
    CHECK(value_tag(value) == TAG_BOOL);
    return value.word[0] != 0;
}

int64_t value_integer(struct value value)
{
    CHECK(value_tag(value) == TAG_INT);
    return (int64_t)value.word[0];
}

double value_real(struct value value)
{
    CHECK(value_is_number(value));
    return value_tag(value) == TAG_INT ? (double)(int64_t)value.word[0]
                                       : value_fraction_of(value);
}

struct text value_text(const struct value *string)
{
    if (value_tag(*string) == TAG_SHORT) {
        return (struct text){(const char *)string->word,
                             (size_t)(string->word[1] >> VALUE_LENGTH_SHIFT)};
    }
    CHECK(value_tag(*string) == TAG_LONG);
    return (struct text){string_node(value_heap(*string))->at,
                         value_heap(*string)->count};
}

bool value_is_text(struct value value, const char *want)
{
    if (!value_is_string(value)) {
        return false;
    }
    const struct text text = value_text(&value);
    return text.length == strlen(want) &&
           memcmp(text.at, want, text.length) == 0;
}

bool value_begins_with(struct value value, const char *text)
{
    const size_t length = strlen(text);
    return value_is_string(value) && value_text(&value).length >= length &&
           memcmp(value_text(&value).at, text, length) == 0;
}

struct value value_tagged_type(struct value tagged)
{
    CHECK(value_tag(tagged) == TAG_LINK || value_tag(tagged) == TAG_TAGGED);
    return tagged_node(value_heap(tagged))->type;
}

struct value value_tagged_state(struct value tagged)
{
    CHECK(value_tag(tagged) == TAG_LINK || value_tag(tagged) == TAG_TAGGED);
    return tagged_node(value_heap(tagged))->state;
}
