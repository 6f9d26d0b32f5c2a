/* Patterns and the names by which a runtime knows them. */

#include "runtime/pattern.h"

#include "base/mem.h"
#include "runtime/runtime.h"
#include "value/object.h"

struct pattern *pattern_new(const struct pattern_spec *spec)
{
    CHECK(value_is_string(spec->name));
    CHECK(spec->build != NULL);
    struct pattern *pattern = mem_alloc_zero(sizeof *pattern);
    pattern->refs = 1;
    pattern->name = value_ref(spec->name);
    pattern->build = spec->build;
    pattern->ctx = spec->ctx;
    pattern->release = spec->release;
    return pattern;
}

struct pattern *pattern_ref(struct pattern *pattern)
{
    pattern->refs++;
    return pattern;
}

void pattern_unref(struct pattern *pattern)
{
    if (pattern == NULL || --pattern->refs > 0) {
        return;
    }
    if (pattern->release != NULL) {
        pattern->release(pattern->ctx);
    }
    value_unref(pattern->name);
    mem_free(pattern, sizeof *pattern);
}

void runtime_add_pattern(struct runtime *runtime, struct pattern *pattern)
{
    VEC_FOREACH (&runtime->patterns, known) {
        if (key_equal((*known)->name, pattern->name)) {
            struct pattern *before = *known;
            *known = pattern_ref(pattern);
            pattern_unref(before);
            return;
        }
    }
    vec_push(&runtime->patterns, pattern_ref(pattern));
}

struct pattern *runtime_pattern(const struct runtime *runtime,
                                struct value name)
{
    VEC_FOREACH (&runtime->patterns, known) {
        if (key_equal((*known)->name, name)) {
            return *known;
        }
    }
    return NULL;
}
