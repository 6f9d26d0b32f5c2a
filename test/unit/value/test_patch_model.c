/* patch: random operations against the naive model, and the promises to the
 * conflict matcher: what an operation touches is reported, what it does not
 * touch keeps its identity. */

#include "lib/gen.h"
#include "lib/model.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/difference.h"
#include "value/object.h"
#include "value/patch.h"

static void op_unref(struct patch_op *op)
{
    path_unref(op->path);
    path_unref(op->from);
    value_unref(op->value);
}

/* A reference of its own to everything. */
static struct patch_op op_ref(const struct patch_op *op)
{
    struct patch_op copy = *op;
    (void)path_ref(copy.path);
    if (copy.from != NULL) {
        (void)path_ref(copy.from);
    }
    (void)value_ref(copy.value);
    return copy;
}

static enum err apply_one(const struct patch_op *op,
                          struct value base,
                          struct value *out,
                          struct patch_trace *trace)
{
    struct patch patch = {{0}};
    patch_push_adopt(&patch, op_ref(op));
    const enum err err =
        patch_apply(&patch, base, PATCH_ROOT_ANY, out, trace, NULL);
    EXPECT_EQ(value_is_absent(*out), err != ERR_OK);
    patch_release(&patch);
    return err;
}

/* The operation and what it was applied to, after a failure. */
static void explain(const struct patch_op *op, struct value base)
{
    struct patch patch = {{0}};
    patch_push_adopt(&patch, op_ref(op));
    struct value list = patch_write(&patch);
    struct value shown =
        array_new_adopt((struct value[2]){value_ref(base), value_ref(list)}, 2);
    (void)values_expect(__FILE__, __LINE__, "[base, patch]", shown, VALUE_NONE);
    value_unref(shown);
    value_unref(list);
    patch_release(&patch);
}

static struct gen any_gen(struct random *random)
{
    struct gen gen = {random, 4, 5, GEN_SPECIALS};
    if (random_one_in(random, 3)) {
        gen.flags |= GEN_ENVELOPES;
    }
    if (random_one_in(random, 20)) {
        gen.width = 600;
        gen.depth = 2;
    }
    return gen;
}

/* -- The model ----------------------------------------------------------- */

/* Both apply it, both fail alike, both have the same value afterwards. */
static bool step(const struct patch_op *op,
                 struct value *value,
                 struct model **model)
{
    struct value out;
    struct model *copy = model_copy(*model);
    const enum err want = model_apply(&copy, op);
    const enum err err = apply_one(op, *value, &out, NULL);
    struct value same = model_value(*model);
    bool held = EXPECT_VALUE(*value, same) && /* the base is never changed */
                EXPECT_TEXT(err_name(err), err_name(want));
    value_unref(same);
    if (err == ERR_OK && want == ERR_OK) {
        same = model_value(copy);
        held = EXPECT_VALUE(out, same) && EXPECT_CHECK(out) && held;
        value_unref(same);
    }
    if (!held) {
        explain(op, *value);
    }
    if (err == ERR_OK && held) {
        value_unref(*value);
        model_free(*model);
        *value = out;
        *model = copy;
    } else {
        value_unref(out);
        model_free(copy);
    }
    return held;
}

PROPERTY(any_operations_do_what_the_model_does, 800)
{
    const struct gen gen = any_gen(random);
    struct path_table paths;
    path_table_init(&paths);
    struct value value =
        random_one_in(random, 4) ? gen_value(&gen) : gen_object(&gen);
    struct model *model = model_of(value);
    bool held = true;
    for (int i = 0; i < 12 && held; i++) {
        struct patch_op op = gen_op(&gen, &paths, value);
        held = step(&op, &value, &model);
        op_unref(&op);
    }
    value_unref(value);
    model_free(model);
    path_table_release(&paths);
}

static struct value some_values(const struct gen *gen, uint64_t count)
{
    struct value values = value_empty_array();
    for (uint64_t i = 0; i < count; i++) {
        struct value item = random_one_in(gen->random, 4)
                                ? gen_value(gen)
                                : numbered("one of a few hundred ",
                                           random_below(gen->random, 300));
        values = array_push_adopt(values, item);
    }
    return values;
}

/* Many values in a long array: the same answer as one by one, and the very
 * same document where nothing is new. */
PROPERTY(add_unique_of_many_values_does_what_the_model_does, 25)
{
    const struct gen gen = {random, 2, 4, GEN_SPECIALS};
    struct path_table paths;
    path_table_init(&paths);
    struct value value = some_values(&gen, random_below(random, 400));
    struct model *model = model_of(value);
    struct patch_op op = {
        .kind = PATCH_ADD_UNIQUE,
        .path = from_pointer(&paths, ""),
        .value = some_values(&gen, random_below(random, 120)),
    };
    if (step(&op, &value, &model)) {
        struct value again;
        EXPECT_EQ(apply_one(&op, value, &again, NULL), ERR_OK);
        EXPECT(value_is_same(again, value));
        value_unref(again);
    }
    op_unref(&op);
    value_unref(value);
    model_free(model);
    path_table_release(&paths);
}

PROPERTY(a_list_is_its_operations_one_by_one, 300)
{
    const struct gen gen = any_gen(random);
    struct path_table paths;
    path_table_init(&paths);
    struct value base = gen_object(&gen);
    struct value last = value_ref(base);
    struct patch patch = {{0}};
    struct patch_op bad = {.kind = PATCH_KIND_COUNT};
    for (int i = 0; i < 8; i++) {
        struct patch_op op = gen_op(&gen, &paths, last);
        struct value next;
        if (apply_one(&op, last, &next, NULL) == ERR_OK) {
            patch_push_adopt(&patch, op);
            value_unref(last);
            last = next;
        } else if (bad.kind == PATCH_KIND_COUNT) {
            bad = op;
        } else {
            op_unref(&op);
        }
    }
    struct value out;
    EXPECT_EQ(patch_apply(&patch, base, PATCH_ROOT_ANY, &out, NULL, NULL),
              ERR_OK);
    EXPECT_VALUE(out, last);
    value_unref(out);

    struct model *kept = model_of(base);
    struct value again = VALUE_NONE;
    if (bad.kind != PATCH_KIND_COUNT &&
        apply_one(&bad, last, &again, NULL) != ERR_OK) {
        patch_push_adopt(&patch, op_ref(&bad));
        EXPECT(patch_apply(&patch, base, PATCH_ROOT_ANY, &out, NULL, NULL) !=
               ERR_OK);
        EXPECT(value_is_absent(out));
    }
    value_unref(again);
    struct value before = model_value(kept);
    EXPECT_VALUE(base, before);
    value_unref(before);
    model_free(kept);
    op_unref(&bad);
    patch_release(&patch);
    value_unref(last);
    value_unref(base);
    path_table_release(&paths);
}

PROPERTY(a_patch_that_was_written_reads_back, 300)
{
    const struct gen gen = any_gen(random);
    struct path_table paths;
    path_table_init(&paths);
    struct value value = gen_value(&gen);
    struct patch patch = {{0}};
    for (int i = 0; i < 6; i++) {
        struct patch_op op = gen_op(&gen, &paths, value);
        op.creates_key =
            (op.kind == PATCH_APPEND || op.kind == PATCH_ADD_UNIQUE ||
             op.kind == PATCH_INCREMENT) &&
            random_one_in(random, 2);
        patch_push_adopt(&patch, op);
    }
    struct value list = patch_write(&patch);
    struct buf text = {0};
    patch_append(&text, &patch);
    EXPECT_TEXT_OF(&text, list);
    struct patch back;
    EXPECT_EQ(patch_read(list, &paths, &back, NULL), ERR_OK);
    EXPECT_EQ(back.ops.count, patch.ops.count);
    for (size_t i = 0; i < back.ops.count; i++) {
        const struct patch_op *a = &patch.ops.at[i];
        const struct patch_op *b = &back.ops.at[i];
        EXPECT_EQ(a->kind, b->kind);
        EXPECT(a->path == b->path);
        EXPECT(a->from == b->from);
        EXPECT_EQ(a->index, b->index);
        EXPECT_EQ(a->remove, b->remove);
        EXPECT_EQ(a->creates_key, b->creates_key);
        EXPECT_VALUE(a->value, b->value);
    }
    patch_release(&back);
    patch_release(&patch);
    value_unref(list);
    value_unref(value);
    path_table_release(&paths);
}

/* -- Touches ------------------------------------------------------------- */

struct applied {
    struct value before;
    struct value after;
    struct patch_op op;
    struct patch_touch touches[PATCH_TOUCH_MAX];
    size_t count;
};

/* A random operation that applied, and what it says it touched. */
static bool applied_new(const struct gen *gen,
                        struct path_table *paths,
                        struct applied *applied)
{
    *applied = (struct applied){.before = gen_value(gen)};
    for (int i = 0; i < 4; i++) {
        struct patch_trace trace;
        applied->op = gen_op(gen, paths, applied->before);
        if (apply_one(&applied->op, applied->before, &applied->after, &trace) ==
            ERR_OK) {
            applied->count =
                patch_touches(&applied->op, &trace, applied->touches);
            return true;
        }
        op_unref(&applied->op);
    }
    value_unref(applied->before);
    return false;
}

static void applied_release(struct applied *applied)
{
    for (size_t i = 0; i < applied->count; i++) {
        path_unref(applied->touches[i].path);
    }
    op_unref(&applied->op);
    value_unref(applied->before);
    value_unref(applied->after);
}

static bool deep_read_is_touched(const struct applied *applied,
                                 const struct path *path)
{
    for (size_t i = 0; i < applied->count; i++) {
        if (applied->touches[i].kind == PATCH_TOUCH_VALUE &&
            path_overlaps(applied->touches[i].path, path)) {
            return true;
        }
    }
    return false;
}

static bool shape_read_is_touched(const struct applied *applied,
                                  const struct path *path)
{
    for (size_t i = 0; i < applied->count; i++) {
        if (applied->touches[i].kind == PATCH_TOUCH_VALUE
                ? path_is_prefix(applied->touches[i].path, path)
                : applied->touches[i].path == path) {
            return true;
        }
    }
    return false;
}

/* What a read sees is the scheduler's rule 2.3, so how far one gets counts. */
static void check_read(const struct applied *applied, const struct path *path)
{
    const struct value before = applied->before;
    const struct value after = applied->after;
    bool held = true;
    if (difference_is_seen(before, after, path, READ_DEEP)) {
        held = EXPECT(deep_read_is_touched(applied, path));
    }
    if (difference_is_seen(before, after, path, READ_SHAPE)) {
        held = EXPECT(shape_read_is_touched(applied, path)) && held;
    }
    if (!deep_read_is_touched(applied, path)) {
        held = EXPECT(value_is_same(value_at(before, path),
                                    value_at(after, path))) &&
               held;
    }
    if (!held) {
        struct buf text = {0};
        path_write(&text, path);
        (void)test_fail(__FILE__, __LINE__, "a read of '%s'", buf_text(&text));
        buf_release(&text);
        explain(&applied->op, applied->before);
    }
}

PROPERTY(what_a_read_sees_change_is_touched_and_the_rest_is_the_same, 3000)
{
    struct gen gen = any_gen(random);
    struct path_table paths;
    path_table_init(&paths);
    struct applied applied;
    if (applied_new(&gen, &paths, &applied)) {
        for (int i = 0; i < 12; i++) {
            struct path *path = gen_path(
                &gen,
                &paths,
                random_one_in(random, 2) ? applied.before : applied.after);
            check_read(&applied, path);
            path_unref(path);
        }
        check_read(&applied, applied.op.path);
        applied_release(&applied);
    }
    path_table_release(&paths);
}

/* Everything below one key, whatever it is, is nothing to another key. */
PROPERTY(disjoint_keys_never_touch_each_other, 400)
{
    const struct gen gen = any_gen(random);
    struct path_table paths;
    path_table_init(&paths);
    struct value left = gen_value(&gen);
    struct value right = gen_value(&gen);
    struct value base = value_empty_object();
    base = object_set_adopt(base, value_text_new("left"), value_ref(left));
    base = object_set_adopt(base, value_text_new("right"), value_ref(right));
    struct path *below = from_pointer(&paths, "/right");

    struct patch_op op = gen_op(&gen, &paths, base);
    for (int i = 0; i < 20 && (op.path->length < 1 || op.kind == PATCH_MOVE ||
                               path_overlaps(op.path, below));
         i++) {
        op_unref(&op);
        op = gen_op(&gen, &paths, base);
    }
    struct applied applied = {.before = base, .op = op};
    struct patch_trace trace;
    if (op.path->length > 0 && op.kind != PATCH_MOVE &&
        !path_overlaps(op.path, below) &&
        apply_one(&op, base, &applied.after, &trace) == ERR_OK) {
        applied.count = patch_touches(&op, &trace, applied.touches);
        EXPECT(!deep_read_is_touched(&applied, below));
        EXPECT(!shape_read_is_touched(&applied, below));
        EXPECT(value_is_same(value_at(applied.after, below), right));
        struct path *deeper = path_child(below, value_text_new("0"));
        EXPECT(!deep_read_is_touched(&applied, deeper));
        EXPECT(!shape_read_is_touched(&applied, deeper));
        path_unref(deeper);
    }
    applied_release(&applied);
    path_unref(below);
    value_unref(left);
    value_unref(right);
    path_table_release(&paths);
}
