/* Handles: their kind, their runtime, and the end of both. */

#include "api/object.h"

#include <string.h>

#include "api/runtime.h"
#include "base/mem.h"

/* -- What was released --------------------------------------------------- */

void object_shelves_init(hd_runtime *runtime)
{
    for (size_t i = 0; i < OBJECT_SHELVES; i++) {
        list_init(&runtime->shelves[i].kept);
    }
}

static struct object *take(struct object_shelf *shelf)
{
    struct list_node *first = list_first(&shelf->kept);
    CHECK(first != NULL);
    list_remove(first);
    shelf->count--;
    return CONTAINER_OF(first, struct object, node);
}

void object_shelves_release(hd_runtime *runtime)
{
    for (size_t i = 0; i < OBJECT_SHELVES; i++) {
        struct object_shelf *shelf = &runtime->shelves[i];
        while (shelf->count > 0) {
            mem_free(take(shelf), shelf->size);
        }
    }
}

static struct object_shelf *shelf_of(hd_runtime *runtime, uint32_t kind)
{
    static const enum object_kind kinds[OBJECT_SHELVES] = {
        OBJECT_CELL,
        OBJECT_TICKET,
        OBJECT_NODE,
        OBJECT_TASK,
        OBJECT_PIECE,
        OBJECT_INSPECTION,
    };
    size_t at = 0;
    while (at < OBJECT_SHELVES && (uint32_t)kinds[at] != kind) {
        at++;
    }
    CHECK(at < OBJECT_SHELVES);
    return &runtime->shelves[at];
}

/* -- Their life ---------------------------------------------------------- */

void *object_new(hd_runtime *runtime,
                 enum object_kind kind,
                 size_t size,
                 void (*cut)(struct object *object))
{
    struct object_shelf *shelf = shelf_of(runtime, kind);
    struct object *object = NULL;
    if (shelf->count > OBJECT_KEPT) {
        CHECK(shelf->size == size);
        object = take(shelf);
        memset(object, 0, size);
    } else {
        object = mem_alloc_zero(size);
    }
    object->kind = kind;
    object->runtime = runtime;
    object->cut = cut;
    list_node_init(&object->node);
    list_push_back(&runtime->objects, &object->node);
    runtime_keep(runtime);
    return object;
}

static void cut(struct object *object)
{
    if (list_node_is_linked(&object->node)) {
        list_remove(&object->node);
        if (object->cut != NULL) {
            object->cut(object);
        }
    }
}

void object_free(struct object *object, size_t size)
{
    hd_runtime *runtime = object->runtime;
    cut(object);
    struct object_shelf *shelf = shelf_of(runtime, object->kind);
    object->kind = OBJECT_RELEASED;
    object->runtime = NULL;
    list_push_back(&shelf->kept, &object->node);
    shelf->count++;
    shelf->size = size;
    runtime_let_go(runtime);
}

void object_drop(struct object *object, size_t size)
{
    hd_runtime *runtime = object->runtime;
    cut(object);
    mem_free(object, size);
    runtime_let_go(runtime);
}

void objects_cut(hd_runtime *runtime)
{
    while (!list_is_empty(&runtime->objects)) {
        cut(CONTAINER_OF(list_first(&runtime->objects), struct object, node));
    }
}

enum err object_check(const void *object,
                      enum object_kind kind,
                      const char *name,
                      struct err_detail *detail)
{
    if (object == NULL) {
        return err_set(detail, ERR_ARGUMENT, "'%s' must not be NULL", name);
    }
    const struct object *at = object;
    if (at->kind != (uint32_t)kind) {
        return err_set(detail,
                       ERR_MISUSE,
                       at->kind == OBJECT_RELEASED ? "'%s' was released"
                       : at->kind == OBJECT_OVER
                           ? "'%s' was valid only during a call that has "
                             "returned"
                           : "'%s' is not a handle of this kind, or was "
                             "released",
                       name);
    }
    if (at->runtime != NULL && !runtime_is_mine(at->runtime)) {
        return err_set(detail,
                       ERR_MISUSE,
                       "'%s' belongs to a runtime that another thread opened",
                       name);
    }
    return ERR_OK;
}

enum err object_check_open(const void *object,
                           enum object_kind kind,
                           const char *name,
                           struct err_detail *detail)
{
    const enum err err = object_check(object, kind, name, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct object *at = object;
    if (at->runtime == NULL || at->runtime->api_host == NULL) {
        return err_set(detail,
                       ERR_CLOSED,
                       "the runtime of '%s' is closed",
                       name);
    }
    return ERR_OK;
}

bool object_may_go(const void *object, enum object_kind kind)
{
    return object_check(object, kind, "", NULL) == ERR_OK;
}
