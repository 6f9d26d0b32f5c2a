/* Patterns of the program, and their wraps. */

#include "api/pattern.h"

#include "base/mem.h"

/* -- Patterns ------------------------------------------------------------ */

static void let_go(hd_pattern *pattern)
{
    if (--pattern->refs > 0) {
        return;
    }
    if (pattern->release != NULL) {
        pattern->release(pattern->context);
    }
    value_unref(pattern->name);
    value_unref(pattern->version);
    mem_free(pattern, sizeof *pattern);
}

enum err pattern_check(const hd_pattern *pattern, struct err_detail *detail)
{
    const enum err err =
        object_check(pattern, OBJECT_PATTERN, "pattern", detail);
    if (err == ERR_OK && thrd_equal(pattern->thread, thrd_current()) == 0) {
        return err_set(detail,
                       ERR_MISUSE,
                       "'pattern' belongs to another thread");
    }
    return err;
}

static enum err check_new(const char *name,
                          const char *version,
                          hd_build_fn *build,
                          struct value *names,
                          struct err_detail *detail)
{
    names[0] = VALUE_NONE;
    names[1] = VALUE_NONE;
    if (build == NULL) {
        return err_set(detail, ERR_ARGUMENT, "'build' must not be NULL");
    }
    const enum err err = edge_name(name, "name", &names[0], detail);
    return err != ERR_OK || version == NULL
               ? err
               : edge_name(version, "version", &names[1], detail);
}

hd_status hd_pattern_new(const char *name,
                         const char *version,
                         hd_build_fn *build,
                         void *context,
                         void (*release)(void *context),
                         hd_pattern **pattern,
                         hd_error *error)
{
    struct err_detail detail = {0};
    struct value names[2] = {VALUE_NONE, VALUE_NONE};
    enum err err = ERR_OK;
    if (pattern == NULL) {
        err = err_set(&detail, ERR_ARGUMENT, "'pattern' must not be NULL");
    } else {
        *pattern = NULL;
        err = check_new(name, version, build, names, &detail);
    }
    if (err != ERR_OK) {
        value_unref(names[0]);
        value_unref(names[1]);
        if (release != NULL) {
            release(context);
        }
        return error_report(error, err, &detail);
    }
    hd_pattern *made = mem_alloc_zero(sizeof *made);
    made->object.kind = OBJECT_PATTERN;
    list_node_init(&made->object.node);
    made->thread = thrd_current();
    made->refs = 1;
    made->name = names[0];
    made->version = names[1];
    made->build = build;
    made->context = context;
    made->release = release;
    *pattern = made;
    return error_report(error, ERR_OK, &detail);
}

void hd_pattern_free(hd_pattern *pattern)
{
    if (pattern_check(pattern, NULL) == ERR_OK) {
        pattern->object.kind = OBJECT_RELEASED;
        let_go(pattern);
    }
}

/* -- Inside a runtime ---------------------------------------------------- */

/* Nothing inside refers to it any more. */
static void wrap_gone(void *ctx)
{
    struct wrap *wrap = ctx;
    list_remove(&wrap->node);
    let_go(wrap->pattern);
    mem_free(wrap, sizeof *wrap);
}

struct pattern *pattern_in(hd_runtime *runtime, hd_pattern *pattern)
{
    LIST_FOREACH (&runtime->wraps, at) {
        const struct wrap *wrap = CONTAINER_OF(at, struct wrap, node);
        if (wrap->pattern == pattern) {
            return wrap->inside;
        }
    }
    struct wrap *wrap = mem_alloc_zero(sizeof *wrap);
    wrap->runtime = runtime;
    wrap->pattern = pattern;
    pattern->refs++;
    list_node_init(&wrap->node);
    list_push_back(&runtime->wraps, &wrap->node);
    const struct pattern_spec spec = {
        .name = pattern->name,
        .build = build_with,
        .ctx = wrap,
        .release = wrap_gone,
    };
    wrap->inside = pattern_new(&spec);
    return wrap->inside;
}

void patterns_end(hd_runtime *runtime)
{
    while (!list_is_empty(&runtime->wraps)) {
        const struct wrap *wrap =
            CONTAINER_OF(list_first(&runtime->wraps), struct wrap, node);
        pattern_unref(wrap->inside); /* the last one: wrap_gone */
    }
}

hd_status hd_runtime_add_pattern(hd_runtime *runtime,
                                 hd_pattern *pattern,
                                 hd_error *error)
{
    struct err_detail detail = {0};
    enum err err = runtime_check_toplevel(runtime, &detail);
    if (err == ERR_OK) {
        err = pattern_check(pattern, &detail);
    }
    if (err == ERR_OK) {
        runtime_add_pattern(runtime_core(runtime),
                            pattern_in(runtime, pattern));
    }
    return error_report(error, err, &detail);
}
