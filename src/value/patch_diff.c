/* From two values to a patch. */

#include "value/array.h"
#include "value/compare.h"
#include "value/difference.h"
#include "value/patch.h"

struct differ {
    struct path_table *paths;
    struct patch *out;
};

/* Two arrays of different length: one splice of what is between their common
 * beginning and their common end. */
static struct patch_op splice_between(struct value before, struct value after)
{
    const struct array_ends ends = array_common_ends(before, after);
    struct value added = value_empty_array();
    for (uint32_t i = ends.start; i < array_count(after) - ends.end; i++) {
        added = array_push_adopt(added, value_ref(array_at(after, i)));
    }
    return (struct patch_op){
        .kind = PATCH_SPLICE,
        .index = ends.start,
        .remove = array_count(before) - ends.end - ends.start,
        .value = added,
    };
}

struct patch_op patch_op_of_difference(const struct difference *difference,
                                       struct path_table *paths)
{
    struct patch_op op;
    if (value_is_absent(difference->before)) {
        op = (struct patch_op){.kind = PATCH_ADD,
                               .value = value_ref(difference->after)};
    } else if (value_is_absent(difference->after)) {
        op = (struct patch_op){.kind = PATCH_REMOVE};
    } else if (value_is_array(difference->before) &&
               value_is_array(difference->after)) {
        op = splice_between(difference->before, difference->after);
    } else {
        op = (struct patch_op){.kind = PATCH_REPLACE,
                               .value = value_ref(difference->after)};
    }
    op.path = path_new(paths, difference->path, difference->length);
    return op;
}

static void add_operation(void *ctx, const struct difference *difference)
{
    struct differ *differ = ctx;
    patch_push_adopt(differ->out,
                     patch_op_of_difference(difference, differ->paths));
}

void patch_diff(struct value before,
                struct value after,
                struct path_table *paths,
                struct patch *out)
{
    CHECK(!value_is_absent(before));
    CHECK(!value_is_absent(after));
    struct differ differ = {paths, out};
    difference_walk(before, after, DIFFERENCE_BY_STEPS, add_operation, &differ);
}
