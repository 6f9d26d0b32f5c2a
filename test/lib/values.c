/* Values in tests (lib/values.h is the manual). */

#include "lib/values.h"

#include <string.h>

#include "lib/test.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/node.h"

#if defined(__SANITIZE_ADDRESS__)
#define CAN_HIDE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CAN_HIDE 1
#endif
#endif
#ifndef CAN_HIDE
#define CAN_HIDE 0
#endif

#if CAN_HIDE
#include <sanitizer/asan_interface.h>
#endif

/* -- Making and comparing ------------------------------------------------ */

struct value from_json(const char *json)
{
    struct value value;
    struct json_fault fault;
    if (json_read(json, strlen(json), NULL, &value, &fault) != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s in %s", fault.text, json);
        UNREACHABLE("the text is good");
    }
    return value;
}

static void append_quoted(struct buf *to, const char *json)
{
    for (const char *at = json; *at != '\0'; at++) {
        buf_append_char(to, *at);
        if (*at == '\'') {
            to->at[to->length - 1] = '"';
        }
    }
}

struct value from_quoted(const char *json)
{
    struct buf text = {0};
    append_quoted(&text, json);
    struct value value = from_json(buf_text(&text));
    buf_release(&text);
    return value;
}

struct value numbered(const char *name, uint64_t number)
{
    struct buf text = {0};
    buf_printf(&text, "%s%" PRIu64, name, number);
    struct value string = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    return string;
}

struct path *from_pointer(struct path_table *paths, const char *pointer)
{
    struct path *path = NULL;
    const enum err err =
        path_read(paths, pointer, strlen(pointer), &path, NULL);
    CHECK(err == ERR_OK);
    return path;
}

static void append_value(struct buf *to, struct value value)
{
    if (value_is_absent(value)) {
        buf_append_text(to, "(absent)");
    } else {
        json_write(to, value, JSON_AS_GIVEN, 0);
    }
}

bool values_expect(const char *file,
                   int line,
                   const char *expr,
                   struct value got,
                   struct value want)
{
    if (value_equal(got, want)) {
        return true;
    }
    struct buf is = {0};
    struct buf wanted = {0};
    append_value(&is, got);
    append_value(&wanted, want);
    (void)test_fail(file,
                    line,
                    "%s has another value\n  is       %.2000s\n  "
                    "expected %.2000s",
                    expr,
                    buf_text(&is),
                    buf_text(&wanted));
    buf_release(&is);
    buf_release(&wanted);
    return false;
}

bool values_expect_json(const char *file,
                        int line,
                        const char *expr,
                        struct value got,
                        const char *json)
{
    struct buf is = {0};
    append_value(&is, got);
    const bool held = test_eq_text(file, line, expr, buf_text(&is), json);
    buf_release(&is);
    return held;
}

bool values_expect_quoted(const char *file,
                          int line,
                          const char *expr,
                          struct value got,
                          const char *json)
{
    struct buf want = {0};
    append_quoted(&want, json);
    const bool held =
        values_expect_json(file, line, expr, got, buf_text(&want));
    buf_release(&want);
    return held;
}

bool values_expect_check(const char *file,
                         int line,
                         const char *expr,
                         struct value value)
{
    if (value_check(value)) {
        return true;
    }
    struct buf is = {0};
    append_value(&is, value);
    (void)test_fail(file,
                    line,
                    "%s breaks an invariant: %.2000s",
                    expr,
                    buf_text(&is));
    buf_release(&is);
    return false;
}

/* -- Hiding -------------------------------------------------------------- */

bool values_can_hide(void)
{
    return CAN_HIDE != 0;
}

static void hide_inside(struct heap *heap, bool hidden)
{
#if CAN_HIDE
    char *const inside = (char *)heap + sizeof *heap;
    const size_t size = node_size(heap) - sizeof *heap;
    if (hidden) {
        ASAN_POISON_MEMORY_REGION(inside, size);
    } else {
        ASAN_UNPOISON_MEMORY_REGION(inside, size);
    }
#else
    (void)heap;
    (void)hidden;
#endif
}

/* The tree of elements, or of entries; NULL if there is none. */
static struct heap *tree_of(struct value value)
{
    if (value_tag(value) == TAG_ARRAY) {
        return value_heap(value);
    }
    if (value_tag(value) == TAG_OBJECT && object_is_large(value_heap(value))) {
        return large_node(value_heap(value))->entries;
    }
    return NULL;
}

/* Trees are at most TREE_HEIGHT_MAX high, so these may recurse. */

static size_t hide_tree(struct heap *heap)
{
    size_t nodes = 1;
    for (unsigned i = 0; heap->height > 0 && i < heap->width; i++) {
        nodes += hide_tree(inner_node(heap)->child[i]);
    }
    hide_inside(heap, true);
    return nodes;
}

static size_t hide_common(struct heap *a, struct heap *b)
{
    if (a == b) {
        return hide_tree(a);
    }
    size_t nodes = 0;
    CHECK(a->height == b->height);
    CHECK(a->width == b->width);
    for (unsigned i = 0; a->height > 0 && i < a->width; i++) {
        nodes += hide_common(inner_node(a)->child[i], inner_node(b)->child[i]);
    }
    return nodes;
}

size_t values_hide_shared(struct value a, struct value b)
{
    struct heap *first = tree_of(a);
    struct heap *second = tree_of(b);
    CHECK(first != NULL && second != NULL);
    return hide_common(first, second);
}

static size_t show_tree(struct heap *heap)
{
    size_t nodes = 1;
    hide_inside(heap, false);
    for (unsigned i = 0; heap->height > 0 && i < heap->width; i++) {
        nodes += show_tree(inner_node(heap)->child[i]);
    }
    return nodes;
}

void values_show(struct value value)
{
    CHECK(tree_of(value) != NULL);
    (void)show_tree(tree_of(value));
}

size_t values_nodes(struct value value)
{
    return tree_of(value) != NULL ? show_tree(tree_of(value)) : 0;
}

unsigned values_height(struct value value)
{
    return tree_of(value) != NULL ? tree_of(value)->height : 0;
}
bool values_expect_text(const char *file,
                        int line,
                        struct buf *text,
                        struct value value)
{
    struct buf want = {0};
    json_write(&want, value, JSON_AS_GIVEN, 0);
    const bool same =
        test_eq_text(file, line, "the text", buf_text(text), buf_text(&want));
    buf_release(&want);
    buf_release(text);
    return same;
}
