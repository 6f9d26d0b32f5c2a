/* Reducing a list to one value, from its beginning to its end. */

#include "base/mem.h"
#include "runtime/cell.h"
#include "runtime/keyed_list.h"
#include "runtime/list.h"
#include "value/array.h"

struct reduce {
    struct runtime *runtime;
    struct place *list;
    struct value initial;
    reduce_fn *run;
    void *ctx;
    void (*release)(void *ctx);
};

static void reduce_release(void *ctx)
{
    struct reduce *reduce = ctx;
    if (reduce->release != NULL) {
        reduce->release(reduce->ctx);
    }
    place_unref(reduce->list);
    value_unref(reduce->initial);
    mem_free(reduce, sizeof *reduce);
}

/* The element of that index, behind links; new. */
static enum err follow(const struct cell_access *access,
                       struct place *list,
                       uint32_t index,
                       struct value *out,
                       struct err_detail *detail)
{
    struct path_segment segment = path_segment_of_index(index);
    struct place *element = place_child(list, segment.key);
    path_segment_release(&segment);
    const enum err err =
        cell_read(access, element, READ_DEEP, READ_FOR_BOTH, out, NULL, detail);
    place_unref(element);
    return err;
}

static enum run_result step_adopt(struct run *run,
                                  const struct reduce *reduce,
                                  struct value element,
                                  struct value *accumulator)
{
    struct value next = VALUE_NONE;
    const enum run_result ended =
        reduce->run(run, reduce->ctx, *accumulator, element, &next);
    value_unref(element);
    if (ended == RUN_DONE) {
        value_unref(*accumulator);
        *accumulator = next;
    } else {
        value_unref(next);
    }
    return ended;
}

static enum run_result fold(struct run *run,
                            const struct reduce *reduce,
                            struct place *at,
                            struct value list,
                            struct value *accumulator)
{
    const struct cell_access access = {reduce->runtime, run, run->transaction};
    struct err_detail detail = {0};
    struct array_iter iter = array_iter(list);
    struct value item;
    enum run_result ended = RUN_DONE;
    for (uint32_t i = 0; ended == RUN_DONE && array_next(&iter, &item); i++) {
        struct value element = VALUE_NONE;
        enum err err = ERR_OK;
        if (value_kind(item) == VALUE_LINK) {
            err = follow(&access, at, i, &element, &detail);
        } else {
            element = value_ref(item);
        }
        if (err != ERR_OK) {
            return err == ERR_STALE ? RUN_AGAIN : run_fail(run, &detail);
        }
        ended = step_adopt(run, reduce, element, accumulator);
    }
    return ended;
}

static enum run_result run_reduce(struct run *run,
                                  void *ctx,
                                  struct value *result)
{
    const struct reduce *reduce = ctx;
    const struct cell_access access = {reduce->runtime, run, run->transaction};
    struct err_detail detail = {0};
    struct value list;
    struct place *at;
    const enum err err = cell_read(&access,
                                   reduce->list,
                                   READ_DEEP,
                                   READ_FOR_BOTH,
                                   &list,
                                   &at,
                                   &detail);
    if (err != ERR_OK) {
        return err == ERR_STALE ? RUN_AGAIN : run_fail(run, &detail);
    }
    struct value accumulator = value_ref(reduce->initial);
    enum run_result ended = RUN_DONE;
    const enum value_kind kind = value_kind(list);
    if (kind == VALUE_ARRAY) {
        ended = fold(run, reduce, at, list, &accumulator);
    } else if (kind != VALUE_ABSENT && kind != VALUE_NULL) {
        (void)err_set(&detail,
                      ERR_TYPE,
                      "cannot reduce a value that is not a list: %s",
                      value_kind_name(kind));
        ended = run_fail(run, &detail);
    }
    if (ended == RUN_DONE) {
        *result = accumulator;
    } else {
        value_unref(accumulator);
    }
    value_unref(list);
    place_unref(at);
    return ended;
}

/* Of the body, of what it begins with, and of the list. */
static struct digest fingerprint_of(const struct builder_reduce *given)
{
    struct digest parts[2] = {*given->fingerprint,
                              value_digest(given->initial)};
    const struct digest both =
        digest_of_bytes("heddle reduce from 1", parts, sizeof parts);
    return keyed_list_fingerprint("heddle reduce 1", &given->list, 1, &both);
}

enum err builder_reduce(struct builder *builder,
                        const struct builder_reduce *given,
                        struct place **out,
                        struct err_detail *detail)
{
    struct reduce *reduce = mem_alloc_zero(sizeof *reduce);
    reduce->runtime = builder_runtime(builder);
    reduce->list = place_ref(given->list);
    reduce->initial = value_ref(given->initial);
    reduce->run = given->run;
    reduce->ctx = given->ctx;
    reduce->release = given->release;
    if (value_is_absent(given->initial)) {
        reduce_release(reduce);
        return err_set(detail, ERR_ARGUMENT, "the initial value is missing");
    }
    const bool kept = given->fingerprint != NULL;
    const struct digest fingerprint =
        kept ? fingerprint_of(given) : (struct digest){{0}};
    const struct builder_node node = {
        .name = given->name,
        .body = {run_reduce,
                 reduce,
                 reduce_release,
                 kept ? &fingerprint : NULL},
        .reads = &given->list,
        .read_count = 1,
    };
    return builder_computed(builder, &node, out, detail);
}
