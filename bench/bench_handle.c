/* How wide should a handle be? Two small representations of the same data,
 * built and measured side by side.
 *
 *   16 bytes   a word and a tag. Integers of 64 bits, doubles and strings of
 *              up to 15 bytes are in the handle. This is what value/value.h
 *              does; in the table it is "ours".
 *   8 bytes    NaN-boxing: a double, or one of the bit patterns that no
 *              double needs. Integers of 51 bits and strings of up to 5 bytes
 *              are in the handle, a 48-bit pointer otherwise; larger integers
 *              and longer strings are boxes on the heap. In the table it is
 *              the peer.
 *
 * The data are the leaves and containers of the generated documents, an object
 * being the sequence of its keys and items. Nodes have the same header of 24
 * bytes in both, as our real ones do (the box of an integer needs only 16);
 * keys that do not fit into the handle are shared in both, as our reader
 * shares them.
 *
 * Not modelled: lookup by key, trees for large containers and hashes, which
 * would cost the same in both; the branches of a larger program, of which
 * NaN-boxing has more; and integers beyond 51 bits, which the documents do not
 * have. A program that makes its own keys does not share them: then the 8
 * bytes need a box for each key of more than 5. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/bench.h"
#include "lib/count.h"
#include "lib/document.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

/* -- What to build: a document in pre-order ------------------------------ */

enum item_kind {
    ITEM_LIST, /* `count` items follow */
    ITEM_NULL,
    ITEM_BOOL,
    ITEM_INT,
    ITEM_REAL,
    ITEM_TEXT,
    ITEM_KEY, /* a text that repeats */
};

struct item {
    enum item_kind kind;
    uint32_t count;
    uint32_t key; /* of a KEY: its number among the different ones */
    int64_t integer;
    double real;
    struct text text;
};

/* The node of a long string or of a list; both representations use it. */
struct node {
    uint32_t refs;
    uint32_t count; /* bytes or handles */
    uint64_t more[2];
};

struct wide {
    union {
        uint64_t word[2];
        struct {
            union {
                int64_t integer;
                double real;
                struct node *node;
            };
            uint8_t unused[7];
            uint8_t tag; /* of a short string, the length in the high half */
        };
        char text[15];
    };
};

struct narrow {
    uint64_t bits;
};

struct plan {
    VEC(struct item) items;
    VEC(struct value) keys; /* the different keys */
    struct value document;
    struct node **long_keys; /* one a key: the node that is shared */
    struct wide wide[2];
    struct narrow narrow[2];
    const struct item *next; /* while building */
};

static uint32_t key_number(struct plan *plan, struct value key)
{
    for (size_t i = 0; i < plan->keys.count; i++) {
        if (key_equal(plan->keys.at[i], key)) {
            return (uint32_t)i;
        }
    }
    vec_push(&plan->keys, key);
    return (uint32_t)(plan->keys.count - 1);
}

static void plan_add(struct plan *plan, const struct value *value);

static void plan_add_object(struct plan *plan, struct value object)
{
    /* The keys' texts must stay where they are: they are borrowed from the
     * document's own nodes, by way of object_chunk. */
    const uint32_t slots = object_slots(object);
    uint32_t run = 0;
    for (uint32_t slot = 0; slot < slots; slot += 2) {
        const struct value *at = object_chunk(object, slot, &run);
        const struct item key = {
            .kind = ITEM_KEY,
            .key = key_number(plan, at[0]),
            .text = value_text(&at[0]),
        };
        vec_push(&plan->items, key);
        plan_add(plan, &at[1]);
    }
}

/* Recursion is fine here: the generator decides how deep documents are. */
static void plan_add(struct plan *plan, const struct value *value)
{
    struct item item = {.kind = ITEM_NULL};
    uint32_t run = 0;
    if (value_is_container(*value)) {
        const bool is_array = value_is_array(*value);
        item.kind = ITEM_LIST;
        item.count = is_array ? array_count(*value) : 2 * object_count(*value);
        vec_push(&plan->items, item);
        if (!is_array) {
            plan_add_object(plan, *value);
        }
        for (uint32_t i = 0; is_array && i < item.count; i++) {
            plan_add(plan, array_chunk(*value, i, &run));
        }
        return;
    }
    if (value_is_string(*value)) {
        item.kind = ITEM_TEXT;
        item.text = value_text(value);
    } else if (value_tag(*value) == TAG_INT) {
        item.kind = ITEM_INT;
        item.integer = value_integer(*value);
    } else if (value_tag(*value) == TAG_DOUBLE) {
        item.kind = ITEM_REAL;
        item.real = value_real(*value);
    } else if (value_tag(*value) == TAG_BOOL) {
        item.kind = ITEM_BOOL;
        item.integer = value_boolean(*value);
    }
    vec_push(&plan->items, item);
}

/* -- Nodes --------------------------------------------------------------- */

static struct node *node_alloc(uint32_t count, size_t bytes)
{
    struct node *node = mem_alloc(sizeof *node + bytes);
    node->refs = 1;
    node->count = count;
    node->more[0] = node->more[1] = 0;
    return node;
}

static char *node_text(struct node *node)
{
    return (char *)(node + 1);
}

static struct node *string_alloc(struct text text)
{
    struct node *node = node_alloc((uint32_t)text.length, text.length + 1);
    memcpy(node_text(node), text.at, text.length);
    node_text(node)[text.length] = '\0';
    return node;
}

static void string_unref(struct node *node)
{
    if (--node->refs == 0) {
        mem_free(node, sizeof *node + node->count + 1);
    }
}

/* The node of a string that may be a shared key. */
static struct node *string_for(const struct plan *plan, const struct item *item)
{
    if (item->kind != ITEM_KEY) {
        return string_alloc(item->text);
    }
    plan->long_keys[item->key]->refs++;
    return plan->long_keys[item->key];
}

static bool string_equal(struct node *a, struct node *b)
{
    return a == b || (a->count == b->count &&
                      memcmp(node_text(a), node_text(b), a->count) == 0);
}

/* -- 16 bytes ------------------------------------------------------------ */

enum wide_tag {
    WIDE_NULL,
    WIDE_BOOL,
    WIDE_INT,
    WIDE_REAL,
    WIDE_SHORT,
    WIDE_HEAP = 8,
    WIDE_LONG = WIDE_HEAP,
    WIDE_LIST,
};

static struct wide *wide_items(struct node *node)
{
    return (struct wide *)(void *)(node + 1);
}

static struct wide wide_of(enum wide_tag tag, int64_t integer)
{
    struct wide wide = {{{(uint64_t)integer, 0}}};
    wide.tag = (uint8_t)tag;
    return wide;
}

static struct wide wide_text(const struct plan *plan, const struct item *item)
{
    struct wide wide = wide_of(WIDE_LONG, 0);
    if (item->text.length > sizeof wide.text) {
        wide.node = string_for(plan, item);
        return wide;
    }
    wide.tag = 0;
    memcpy(wide.text, item->text.at, item->text.length);
    wide.tag = (uint8_t)(WIDE_SHORT | item->text.length << 4);
    return wide;
}

static struct wide wide_build(struct plan *plan)
{
    const struct item *item = plan->next++;
    struct wide wide = wide_of(WIDE_NULL, 0);
    switch (item->kind) {
    case ITEM_LIST:
        wide = wide_of(WIDE_LIST, 0);
        wide.node = node_alloc(item->count, item->count * sizeof wide);
        for (uint32_t i = 0; i < item->count; i++) {
            wide_items(wide.node)[i] = wide_build(plan);
        }
        break;
    case ITEM_TEXT:
    case ITEM_KEY:
        return wide_text(plan, item);
    case ITEM_INT:
        return wide_of(WIDE_INT, item->integer);
    case ITEM_BOOL:
        return wide_of(WIDE_BOOL, item->integer);
    case ITEM_REAL:
        wide = wide_of(WIDE_REAL, 0);
        wide.real = item->real;
        break;
    case ITEM_NULL:
        break;
    }
    return wide;
}

static void wide_unref(struct wide wide)
{
    if ((wide.tag & WIDE_HEAP) == 0) {
        return;
    }
    if (wide.tag == WIDE_LONG) {
        string_unref(wide.node);
    } else if (--wide.node->refs == 0) {
        for (uint32_t i = 0; i < wide.node->count; i++) {
            wide_unref(wide_items(wide.node)[i]);
        }
        mem_free(wide.node, sizeof *wide.node + wide.node->count * sizeof wide);
    }
}

/* Copies every list, one level each: what an update does to its spine. */
static void wide_copy(struct wide wide)
{
    if (wide.tag != WIDE_LIST) {
        return;
    }
    const uint32_t count = wide.node->count;
    struct wide copy = wide;
    copy.node = node_alloc(count, count * sizeof wide);
    for (uint32_t i = 0; i < count; i++) {
        const struct wide item = wide_items(wide.node)[i];
        wide_items(copy.node)[i] = item;
        if ((item.tag & WIDE_HEAP) != 0) {
            item.node->refs++;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        wide_copy(wide_items(wide.node)[i]);
    }
    wide_unref(copy);
}

static bool wide_equal(struct wide a, struct wide b)
{
    if (a.word[0] == b.word[0] && a.word[1] == b.word[1]) {
        return true;
    }
    if (a.tag != b.tag || (a.tag & WIDE_HEAP) == 0) {
        return false;
    }
    if (a.tag == WIDE_LONG) {
        return string_equal(a.node, b.node);
    }
    bool equal = a.node->count == b.node->count;
    for (uint32_t i = 0; equal && i < a.node->count; i++) {
        equal = wide_equal(wide_items(a.node)[i], wide_items(b.node)[i]);
    }
    return equal;
}

/* Reads everything: numbers, and of texts the length and a byte. */
static double wide_sum(const struct wide *wide)
{
    double sum = 0;
    switch (wide->tag & 15U) {
    case WIDE_INT:
        return (double)wide->integer;
    case WIDE_REAL:
        return wide->real;
    case WIDE_SHORT:
        return wide->text[0] + (wide->tag >> 4);
    case WIDE_LONG:
        return node_text(wide->node)[0] + (double)wide->node->count;
    case WIDE_LIST:
        for (uint32_t i = 0; i < wide->node->count; i++) {
            sum += wide_sum(&wide_items(wide->node)[i]);
        }
        return sum;
    default:
        return 0;
    }
}

/* -- 8 bytes ------------------------------------------------------------- */

/* Above NARROW_INT: 51 bits of an integer. From NARROW_BOXED on: three bits of
 * a tag, 48 of a payload. Everything else is a double. */
#define NARROW_INT     UINT64_C(0xFFF8000000000000)
#define NARROW_BOXED   UINT64_C(0x7FF8000000000000)
#define NARROW_PAYLOAD UINT64_C(0x0000FFFFFFFFFFFF)

enum narrow_tag {
    NARROW_NAN,
    NARROW_NULL,
    NARROW_BOOL,
    NARROW_SHORT, /* length in the lowest byte, then up to 5 bytes */
    NARROW_HEAP,
    NARROW_LONG = NARROW_HEAP,
    NARROW_LIST,
    NARROW_BIG, /* an integer in a box */
};

struct big {
    uint32_t refs;
    uint32_t unused;
    int64_t integer;
};

static bool narrow_is_int(struct narrow narrow)
{
    return narrow.bits >= NARROW_INT;
}

static bool narrow_is_boxed(struct narrow narrow)
{
    return (narrow.bits & NARROW_INT) == NARROW_BOXED;
}

static enum narrow_tag narrow_tag(struct narrow narrow)
{
    return (enum narrow_tag)((narrow.bits >> 48) & 7U);
}

static bool narrow_is_heap(struct narrow narrow)
{
    return narrow_is_boxed(narrow) && narrow_tag(narrow) >= NARROW_HEAP;
}

static void *narrow_pointer(struct narrow narrow)
{
    return (void *)(uintptr_t)(narrow.bits & NARROW_PAYLOAD);
}

static struct narrow narrow_box(enum narrow_tag tag, uint64_t payload)
{
    return (struct narrow){NARROW_BOXED | (uint64_t)tag << 48 | payload};
}

static struct narrow *narrow_items(struct node *node)
{
    return (struct narrow *)(void *)(node + 1);
}

static struct narrow narrow_int(int64_t integer)
{
    if (integer >= -(INT64_C(1) << 50) && integer < INT64_C(1) << 50) {
        return (struct narrow){NARROW_INT | ((uint64_t)integer & ~NARROW_INT)};
    }
    struct big *big = mem_alloc(sizeof *big);
    *big = (struct big){.refs = 1, .integer = integer};
    return narrow_box(NARROW_BIG, (uintptr_t)big);
}

static struct narrow narrow_text(const struct plan *plan,
                                 const struct item *item)
{
    if (item->text.length > 5) {
        return narrow_box(NARROW_LONG, (uintptr_t)string_for(plan, item));
    }
    uint64_t payload = item->text.length;
    for (size_t i = 0; i < item->text.length; i++) {
        payload |= (uint64_t)(unsigned char)item->text.at[i] << (8 * i + 8);
    }
    return narrow_box(NARROW_SHORT, payload);
}

static struct narrow narrow_build(struct plan *plan)
{
    const struct item *item = plan->next++;
    struct narrow narrow = narrow_box(NARROW_NULL, 0);
    switch (item->kind) {
    case ITEM_LIST: {
        struct node *node =
            node_alloc(item->count, item->count * sizeof narrow);
        for (uint32_t i = 0; i < item->count; i++) {
            narrow_items(node)[i] = narrow_build(plan);
        }
        return narrow_box(NARROW_LIST, (uintptr_t)node);
    }
    case ITEM_TEXT:
    case ITEM_KEY:
        return narrow_text(plan, item);
    case ITEM_INT:
        return narrow_int(item->integer);
    case ITEM_BOOL:
        return narrow_box(NARROW_BOOL, (uint64_t)item->integer);
    case ITEM_REAL:
        memcpy(&narrow.bits, &item->real, sizeof narrow.bits);
        break;
    case ITEM_NULL:
        break;
    }
    return narrow;
}

static void narrow_unref(struct narrow narrow)
{
    if (!narrow_is_heap(narrow)) {
        return;
    }
    if (narrow_tag(narrow) == NARROW_LONG) {
        string_unref(narrow_pointer(narrow));
    } else if (narrow_tag(narrow) == NARROW_BIG) {
        struct big *big = narrow_pointer(narrow);
        if (--big->refs == 0) {
            mem_free(big, sizeof *big);
        }
    } else {
        struct node *node = narrow_pointer(narrow);
        if (--node->refs == 0) {
            for (uint32_t i = 0; i < node->count; i++) {
                narrow_unref(narrow_items(node)[i]);
            }
            mem_free(node, sizeof *node + node->count * sizeof narrow);
        }
    }
}

static void narrow_copy(struct narrow narrow)
{
    if (!narrow_is_boxed(narrow) || narrow_tag(narrow) != NARROW_LIST) {
        return;
    }
    struct node *node = narrow_pointer(narrow);
    struct node *copy = node_alloc(node->count, node->count * sizeof narrow);
    for (uint32_t i = 0; i < node->count; i++) {
        const struct narrow item = narrow_items(node)[i];
        narrow_items(copy)[i] = item;
        if (narrow_is_heap(item)) {
            ++*(uint32_t *)narrow_pointer(item); /* refs comes first */
        }
    }
    for (uint32_t i = 0; i < node->count; i++) {
        narrow_copy(narrow_items(node)[i]);
    }
    narrow_unref(narrow_box(NARROW_LIST, (uintptr_t)copy));
}

static bool narrow_equal(struct narrow a, struct narrow b)
{
    if (a.bits == b.bits) {
        return true;
    }
    if (!narrow_is_heap(a) || !narrow_is_heap(b) ||
        narrow_tag(a) != narrow_tag(b)) {
        return false;
    }
    if (narrow_tag(a) == NARROW_LONG) {
        return string_equal(narrow_pointer(a), narrow_pointer(b));
    }
    if (narrow_tag(a) == NARROW_BIG) {
        const struct big *x = narrow_pointer(a);
        const struct big *y = narrow_pointer(b);
        return x->integer == y->integer;
    }
    struct node *x = narrow_pointer(a);
    struct node *y = narrow_pointer(b);
    bool equal = x->count == y->count;
    for (uint32_t i = 0; equal && i < x->count; i++) {
        equal = narrow_equal(narrow_items(x)[i], narrow_items(y)[i]);
    }
    return equal;
}

static double narrow_sum_boxed(struct narrow narrow);

static double narrow_sum(struct narrow narrow)
{
    if (narrow_is_int(narrow)) {
        return (double)((int64_t)(narrow.bits << 13) >> 13);
    }
    if (narrow_is_boxed(narrow)) {
        return narrow_sum_boxed(narrow);
    }
    double real;
    memcpy(&real, &narrow.bits, sizeof real);
    return real;
}

static double narrow_sum_boxed(struct narrow narrow)
{
    double sum = 0;
    struct node *node = narrow_pointer(narrow);
    switch (narrow_tag(narrow)) {
    case NARROW_SHORT:
        return (char)(narrow.bits >> 8) + (double)(narrow.bits & 255U);
    case NARROW_LONG:
        return node_text(node)[0] + (double)node->count;
    case NARROW_BIG:
        return (double)((const struct big *)narrow_pointer(narrow))->integer;
    case NARROW_LIST:
        for (uint32_t i = 0; i < node->count; i++) {
            sum += narrow_sum(narrow_items(node)[i]);
        }
        return sum;
    case NARROW_NAN:
    case NARROW_NULL:
    case NARROW_BOOL:
        break;
    }
    return 0;
}

/* -- Measuring ----------------------------------------------------------- */

static struct wide plan_build_wide(struct plan *plan)
{
    plan->next = plan->items.at;
    return wide_build(plan);
}

static struct narrow plan_build_narrow(struct plan *plan)
{
    plan->next = plan->items.at;
    return narrow_build(plan);
}

static void run_build_wide(void *ctx, uint64_t times)
{
    while (times-- > 0) {
        wide_unref(plan_build_wide(ctx));
    }
}

static void run_build_narrow(void *ctx, uint64_t times)
{
    while (times-- > 0) {
        narrow_unref(plan_build_narrow(ctx));
    }
}

static void run_copy_wide(void *ctx, uint64_t times)
{
    const struct plan *plan = ctx;
    while (times-- > 0) {
        wide_copy(plan->wide[0]);
    }
}

static void run_copy_narrow(void *ctx, uint64_t times)
{
    const struct plan *plan = ctx;
    while (times-- > 0) {
        narrow_copy(plan->narrow[0]);
    }
}

static void run_equal_wide(void *ctx, uint64_t times)
{
    const struct plan *plan = ctx;
    while (times-- > 0) {
        CHECK(wide_equal(plan->wide[0], plan->wide[1]));
    }
}

static void run_equal_narrow(void *ctx, uint64_t times)
{
    const struct plan *plan = ctx;
    while (times-- > 0) {
        CHECK(narrow_equal(plan->narrow[0], plan->narrow[1]));
    }
}

static void run_sum_wide(void *ctx, uint64_t times)
{
    const struct plan *plan = ctx;
    while (times-- > 0) {
        bench_keep((uint64_t)(int64_t)wide_sum(&plan->wide[0]));
    }
}

static void run_sum_narrow(void *ctx, uint64_t times)
{
    const struct plan *plan = ctx;
    while (times-- > 0) {
        bench_keep((uint64_t)(int64_t)narrow_sum(plan->narrow[0]));
    }
}

static void plan_init(struct plan *plan, enum document_kind kind, size_t size)
{
    struct buf text = {0};
    *plan = (struct plan){0};
    document_generate(&text, kind, size);
    const enum err err =
        json_read(text.at, text.length, NULL, &plan->document, NULL);
    CHECK(err == ERR_OK);
    buf_release(&text);
    plan_add(plan, &plan->document);

    plan->long_keys = malloc(plan->keys.count * sizeof(struct node *));
    CHECK(plan->long_keys != NULL);
    for (size_t i = 0; i < plan->keys.count; i++) {
        plan->long_keys[i] = string_alloc(value_text(&plan->keys.at[i]));
    }
    for (unsigned i = 0; i < 2; i++) {
        plan->wide[i] = plan_build_wide(plan);
        plan->narrow[i] = plan_build_narrow(plan);
    }
    const double difference =
        wide_sum(&plan->wide[0]) - narrow_sum(plan->narrow[1]);
    CHECK(difference >= 0 && difference <= 0); /* the same data in both */
}

static void plan_release(struct plan *plan)
{
    for (unsigned i = 0; i < 2; i++) {
        wide_unref(plan->wide[i]);
        narrow_unref(plan->narrow[i]);
    }
    for (size_t i = 0; i < plan->keys.count; i++) {
        string_unref(plan->long_keys[i]);
    }
    free(plan->long_keys);
    vec_release(&plan->keys);
    vec_release(&plan->items);
    value_unref(plan->document);
}

/* Bytes and allocations a value, the handle itself included. */
static void bench_space(struct bench *bench,
                        struct plan *plan,
                        const char *title)
{
    const double values = (double)plan->items.count;
    char name[64];
    count_begin();
    const struct wide wide = plan_build_wide(plan);
    const struct count ours = count_now();
    wide_unref(wide);
    count_end();
    count_begin();
    const struct narrow narrow = plan_build_narrow(plan);
    const struct count peer = count_now();
    narrow_unref(narrow);
    count_end();
    (void)snprintf(name, sizeof name, "%s, memory per value", title);
    bench_figure(bench,
                 name,
                 "bytes",
                 (double)ours.usable / values,
                 (double)peer.usable / values,
                 (struct bench_bar){0});
    (void)snprintf(name, sizeof name, "%s, allocations per value", title);
    bench_figure(bench,
                 name,
                 "calls",
                 (double)ours.calls / values,
                 (double)peer.calls / values,
                 (struct bench_bar){0});
}

static void bench_plan(struct bench *bench,
                       const char *title,
                       enum document_kind kind,
                       size_t size)
{
    static const struct {
        const char *name;
        bench_fn *ours;
        bench_fn *peer;
    } rows[] = {
        {"build and free", run_build_wide, run_build_narrow},
        {"copy lists and free", run_copy_wide, run_copy_narrow},
        {"compare", run_equal_wide, run_equal_narrow},
        {"read all", run_sum_wide, run_sum_narrow},
    };
    struct plan plan;
    plan_init(&plan, kind, size);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s, %s", title, rows[i].name);
        (void)bench_run(bench,
                        &(struct bench_case){
                            .name = name,
                            .ours = rows[i].ours,
                            .peer = rows[i].peer,
                            .ctx = &plan,
                            .units = plan.items.count,
                        });
    }
    bench_space(bench, &plan, title);
    plan_release(&plan);
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code = 0;
    if (!bench_begin(&bench, "handle", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "8 bytes";
    bench_plan(&bench, "10 KiB", DOCUMENT_MIXED, 10 * 1024);
    bench_plan(&bench, "10 MiB", DOCUMENT_MIXED, 10 * 1024 * 1024);
    bench_plan(&bench, "10 MiB of numbers", DOCUMENT_NUMBERS, 10 * 1024 * 1024);
    bench_plan(&bench, "10 MiB of strings", DOCUMENT_STRINGS, 10 * 1024 * 1024);
    return bench_end(&bench);
}
