/* Patterns: named builders of graphs.
 *
 * A pattern is a name and a function that builds a graph (runtime/builder.h).
 * A piece (runtime/piece.h) is an instance of it, with documents of its own.
 *
 *   struct pattern *pattern = pattern_new(&spec);
 *   runtime_add_pattern(runtime, pattern);
 *   piece_start(runtime, &options, &piece, &detail);
 *   pattern_unref(pattern);
 *
 *   pattern-1  Building is not running: the function declares documents and
 *              nodes, and neither reads nor writes cells. It may be called
 *              again at any time, and must then declare the same under the same
 *              names.
 *   pattern-2  After a restart, a piece is built by the pattern of the name
 *              that it was started with. The fingerprint of each node decides
 *              whether that node is still the same. */

#ifndef RUNTIME_PATTERN_H
#define RUNTIME_PATTERN_H

#include "base/err.h"
#include "value/id.h"

struct builder;
struct runtime;

/* Declares the graph. Any result but OK fails the start of the piece, and
 * nothing of it stays. */
typedef enum err pattern_build_fn(struct builder *builder,
                                  void *ctx,
                                  struct err_detail *detail);

struct pattern {
    uint32_t refs;
    struct value name; /* string, not empty */
    pattern_build_fn *build;
    void *ctx;
    void (*release)(void *ctx); /* or NULL */
};

struct pattern_spec {
    struct value name; /* borrowed */
    pattern_build_fn *build;
    void *ctx;
    void (*release)(void *ctx); /* with the last reference; or NULL */
};

struct pattern *pattern_new(const struct pattern_spec *spec);
struct pattern *pattern_ref(struct pattern *pattern);
void pattern_unref(struct pattern *pattern); /* NULL is fine */

/* Registers the pattern under its name, replacing any former one; the runtime
 * takes a reference. Running pieces are unaffected. */
void runtime_add_pattern(struct runtime *runtime, struct pattern *pattern);

/* Borrowed, or NULL. */
struct pattern *runtime_pattern(const struct runtime *runtime,
                                struct value name);

#endif
