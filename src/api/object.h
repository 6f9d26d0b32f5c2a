/* What every handle but that of a value begins with: which kind it is, and
 * whose.
 *
 *   O1  `kind` is one of the odd numbers below as long as the handle is there,
 *       and none of them afterwards. So a handle of another kind, and most of
 *       what is no handle at all, is refused before anything of it is used.
 *   O2  An object keeps the record of its runtime, which is not the open
 *       runtime: that may end first. Then the object is cut: it lets go of
 *       everything inside, and answers CLOSED.
 *   O3  What belongs to a runtime is used in the runtime's thread. */

#ifndef API_OBJECT_H
#define API_OBJECT_H

#include "api/error.h"
#include "base/list.h"
#include "heddle/heddle.h"

enum object_kind {
    OBJECT_RUNTIME = 0x48445255,
    OBJECT_CELL = 0x48444345,
    OBJECT_NODE = 0x48444e4f,
    OBJECT_RUN = 0x4844524e,
    OBJECT_TICKET = 0x48445449,
    OBJECT_PATTERN = 0x48445041,
    OBJECT_BUILDER = 0x48444255,
    OBJECT_PIECE = 0x48445049,
    OBJECT_TASK = 0x48445441,
};

struct object {
    uint32_t kind;         /* O1 */
    hd_runtime *runtime;   /* O2; NULL: of none */
    struct list_node node; /* in the runtime's objects, until it is cut */
    void (*cut)(struct object *object); /* or NULL: nothing to let go of */
};

/* A new object of an open runtime; `size` bytes, all else zero. */
void *object_new(hd_runtime *runtime,
                 enum object_kind kind,
                 size_t size,
                 void (*cut)(struct object *object));

/* Its end; it is cut before. The record of the runtime may go with it. */
void object_free(struct object *object, size_t size);

/* Cuts all objects of a runtime that ends. */
void objects_cut(hd_runtime *runtime);

/* Whether it is one of that kind, in the thread of its runtime: OK, ARGUMENT
 * (it is NULL), MISUSE. `name` is that of the parameter. */
MUST_CHECK enum err object_check(const void *object,
                                 enum object_kind kind,
                                 const char *name,
                                 struct err_detail *detail);

/* The same, and the runtime is open: otherwise CLOSED. */
MUST_CHECK enum err object_check_open(const void *object,
                                      enum object_kind kind,
                                      const char *name,
                                      struct err_detail *detail);

/* For functions that release: false if nothing may be done with it, because it
 * is NULL, something else, or another thread's. */
bool object_may_go(const void *object, enum object_kind kind);

#endif
