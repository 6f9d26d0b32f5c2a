/* Patterns of the program, and what is kept while one builds.
 *
 * A pattern of the program belongs to no runtime. Inside a runtime there is
 * one that stands for it, a wrap, made when it is first used there.
 *
 *   api-pattern-1  A wrap is there until its runtime ends, and keeps the
 *                  pattern.
 *   api-pattern-2  A scope has the cells that one call of a build function was
 *                  given. It is there as long as the call, or one of the
 *                  functions that were declared in it. */

#ifndef API_PATTERN_H
#define API_PATTERN_H

#include "api/cell.h"
#include "api/node.h"
#include "runtime/builder.h"
#include "runtime/pattern.h"

struct hd_pattern {
    struct object object; /* of no runtime */
    thrd_t thread;
    uint32_t refs;
    struct value name;
    struct value version; /* or absent */
    hd_build_fn *build;
    void *context;
    void (*release)(void *context);
};

struct wrap {
    struct list_node node; /* in the runtime's wraps */
    hd_runtime *runtime;
    hd_pattern *pattern;    /* a reference */
    struct pattern *inside; /* likewise */
};

struct build_scope {
    uint32_t refs;
    VEC(hd_cell *) cells;
};

void build_scope_unref(struct build_scope *scope);

/* A call of a build function; borrowed for that, and then used again. */
struct hd_builder {
    struct object object; /* of kind OBJECT_BUILDER while it is under way */
    struct builder *inside;
    const struct wrap *wrap;
    struct build_scope *scope;
    struct hd_run *outer;      /* of the runtime, before the call; or NULL */
    struct err_detail failure; /* of the last call that failed */
};

/* OK, ARGUMENT, MISUSE (something else, or another thread). */
MUST_CHECK enum err pattern_check(const hd_pattern *pattern,
                                  struct err_detail *detail);

/* What stands for it in a runtime; borrowed. */
struct pattern *pattern_in(hd_runtime *runtime, hd_pattern *pattern);

/* The runtime has ended: api-pattern-1. */
void patterns_end(hd_runtime *runtime);

/* Called inside for a wrap, which is its `ctx`. */
enum err build_with(struct builder *inside,
                    void *ctx,
                    struct err_detail *detail);
void builders_release(hd_runtime *runtime);

#endif
