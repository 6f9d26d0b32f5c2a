/* What every handle but that of a value begins with: which kind it is, and
 * whose.
 *
 *   api-object-1  `kind` is one of the odd numbers below as long as the handle
 *                 is there, and one of the last two afterwards. So a handle of
 *                 another kind, and most of what is no handle at all, is
 *                 refused before anything of it is used.
 *   api-object-2  An object keeps the record of its runtime, which is not the
 *                 open runtime: that may end first. Then the object is cut: it
 *                 lets go of everything inside, and answers CLOSED.
 *   api-object-3  What belongs to a runtime is used in the runtime's thread.
 *   api-object-4  The memory of a handle that was released stays with the
 *                 record of its runtime. It is used again for a handle of the
 *                 same kind only, and only after OBJECT_KEPT others of that
 *                 kind were released. So the use of a released handle never
 *                 touches memory of something else, as long as the record is
 *                 there, and is told apart within that distance. */

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
    OBJECT_INSPECTION = 0x48445355,

    OBJECT_RELEASED = 0x48445821, /* by its owner */
    OBJECT_OVER = 0x48445823,     /* the call that it was for has ended */
};

enum {
    OBJECT_KEPT = 64, /* api-object-4; of each kind */
};

struct object {
    uint32_t kind;         /* api-object-1 */
    hd_runtime *runtime;   /* api-object-2; NULL: of none */
    struct list_node node; /* in the runtime's objects, until it is cut */
    void (*cut)(struct object *object); /* or NULL: nothing to let go of */
};

/* Those of one kind that were released, the oldest first (api-object-4). */
struct object_shelf {
    struct list kept;
    size_t count;
    size_t size; /* of each */
};

/* The kinds of which a runtime has objects. */
enum {
    OBJECT_SHELVES = 6,
};

/* A new object of an open runtime; `size` bytes, all else zero. */
void *object_new(hd_runtime *runtime,
                 enum object_kind kind,
                 size_t size,
                 void (*cut)(struct object *object));

/* Its end; it is cut before. The record of the runtime may go with it. */
void object_free(struct object *object, size_t size);

/* The same, of one that the program has never seen: nothing is kept. */
void object_drop(struct object *object, size_t size);

/* Of a record that begins and ends (api-object-4). */
void object_shelves_init(hd_runtime *runtime);
void object_shelves_release(hd_runtime *runtime);

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
