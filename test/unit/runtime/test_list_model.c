/* Lists beside a naive model: random edits, moves, splices, sorts, duplicates,
 * links and restarts. The model knows what must come out, and how many bodies
 * must have run: as many as there are elements that were not there before. */

#include <stdio.h>
#include <stdlib.h>

#include "lib/list_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    DOCUMENTS = 4,
    STEPS = 14,
    LENGTH_MAX = 40,
};

struct model {
    struct list_kit kit;
    VEC(struct value) items; /* what the list is */
    VEC(struct value) before;
    struct value documents[DOCUMENTS];
};

/* -- Elements ------------------------------------------------------------ */

static struct value link_to(unsigned document)
{
    struct buf text = {0};
    buf_printf(&text, "{'/':{'link@1':{'id':'doc:%u'}}}", document);
    const struct value link = from_quoted(text.at);
    buf_release(&text);
    return link;
}

/* Few different ones, so that there are duplicates. */
static struct value random_item(struct random *random)
{
    switch (random_below(random, 4)) {
    case 0:
        return link_to((unsigned)random_below(random, DOCUMENTS));
    case 1: {
        struct value item = value_empty_object();
        object_put_adopt(&item, "n", value_int(random_between(random, 0, 4)));
        object_put_adopt(&item, "x", value_int(random_between(random, 0, 1)));
        return item;
    }
    default:
        return value_int(random_between(random, 0, 9));
    }
}

/* What an element is, behind a link; borrowed. */
static struct value meaning(const struct model *model, struct value item)
{
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        const struct value link = link_to(i);
        const bool is = value_equal(item, link);
        value_unref(link);
        if (is) {
            return model->documents[i];
        }
    }
    return item;
}

static bool is_odd(struct value value)
{
    const struct value number =
        value_is_object(value) ? object_field(value, "n") : value;
    return value_kind(number) == VALUE_INT && value_integer(number) % 2 != 0;
}

/* -- What must be -------------------------------------------------------- */

static struct value expected(const struct model *model)
{
    struct value out = value_empty_array();
    int64_t sum = 0;
    VEC_FOREACH (&model->items, item) {
        const struct value value = meaning(model, *item);
        const bool odd = is_odd(value);
        switch (model->kit.what) {
        case LIST_KIT_MAP:
            out = array_push_adopt(
                out,
                array_push_adopt(value_empty_array(), value_ref(value)));
            break;
        case LIST_KIT_FILTER:
            if (odd) {
                out = array_push_adopt(out, value_ref(value));
            }
            break;
        case LIST_KIT_FLAT_MAP:
            out = array_push_adopt(out, value_ref(value));
            if (!odd) {
                out = array_push_adopt(out, value_ref(value));
            }
            break;
        case LIST_KIT_REDUCE:
            sum += odd ? value_integer(value_is_object(value)
                                           ? object_field(value, "n")
                                           : value)
                       : 0;
            break;
        }
    }
    if (model->kit.what == LIST_KIT_REDUCE) {
        value_unref(out);
        return value_int(sum);
    }
    return out;
}

/* Elements of the list that are not among those of before, one by one. */
static uint64_t count_new(struct model *model)
{
    uint64_t new = 0;
    VEC_FOREACH (&model->items, item) {
        bool found = false;
        for (size_t i = 0; i < model->before.count && !found; i++) {
            if (value_equal(model->before.at[i], *item)) {
                value_unref(model->before.at[i]);
                model->before.at[i] = *vec_last(&model->before);
                model->before.count--;
                found = true;
            }
        }
        new += !found;
    }
    return new;
}

static void remember(struct model *model)
{
    VEC_FOREACH (&model->before, item) {
        value_unref(*item);
    }
    vec_clear(&model->before);
    VEC_FOREACH (&model->items, item) {
        vec_push(&model->before, value_ref(*item));
    }
}

static void check(struct model *model, uint64_t runs)
{
    struct list_kit *kit = &model->kit;
    const struct value want = expected(model);
    bool stale = false;
    const struct value shown = list_kit_read(kit, NULL, kit->out, &stale);
    EXPECT_VALUE(shown, want);
    if (!value_is_absent(kit->shown)) { /* it need not have run */
        EXPECT_VALUE(kit->shown, want);
    }
    value_unref(shown);
    value_unref(want);
    if (kit->what == LIST_KIT_REDUCE) {
        (void)list_kit_runs(kit);
        return;
    }
    EXPECT_EQ(list_kit_runs(kit), runs);
    EXPECT_EQ(list_kit_nodes(kit),
              model->items.count + (kit->what == LIST_KIT_MAP ? 2 : 3));
    const struct value elements =
        list_kit_document(kit, "piece:p/out/elements");
    EXPECT_EQ(object_count(elements), model->items.count);
    value_unref(elements);
    EXPECT_EQ(kit->one->runtime.sched->counters.surface_violations, 0);
    EXPECT_EQ(kit->errors, 0);
}

/* -- Steps --------------------------------------------------------------- */

static void write(struct model *model)
{
    struct value list = value_empty_array();
    VEC_FOREACH (&model->items, item) {
        list = array_push_adopt(list, value_ref(*item));
    }
    list_kit_put_adopt(&model->kit, "piece:p/items", "", list);
}

static void splice(struct model *model, struct random *random)
{
    const size_t at = (size_t)random_below(random, model->items.count + 1);
    size_t removed = (size_t)random_below(random, 4);
    size_t added = (size_t)random_below(random, 4);
    while (removed > 0 && at < model->items.count) {
        value_unref(model->items.at[at]);
        for (size_t i = at + 1; i < model->items.count; i++) {
            model->items.at[i - 1] = model->items.at[i];
        }
        model->items.count--;
        removed--;
    }
    while (added > 0 && model->items.count < LENGTH_MAX) {
        vec_push(&model->items, VALUE_NONE);
        for (size_t i = model->items.count - 1; i > at; i--) {
            model->items.at[i] = model->items.at[i - 1];
        }
        model->items.at[at] = random_item(random);
        added--;
    }
}

static void swap(struct model *model, size_t a, size_t b)
{
    const struct value kept = model->items.at[a];
    model->items.at[a] = model->items.at[b];
    model->items.at[b] = kept;
}

static void shuffle(struct model *model, struct random *random)
{
    for (size_t i = model->items.count; i > 1; i--) {
        swap(model, i - 1, (size_t)random_below(random, i));
    }
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t x = value_hash(*(const struct value *)a);
    const uint64_t y = value_hash(*(const struct value *)b);
    return (x > y) - (x < y);
}

static void change_list(struct model *model, struct random *random)
{
    const size_t count = model->items.count;
    switch (random_below(random, 7)) {
    case 0:
        shuffle(model, random);
        break;
    case 1:
        if (count > 1) {
            qsort(model->items.at, count, sizeof *model->items.at, by_hash);
        }
        break;
    case 2:
        if (count > 1) {
            swap(model,
                 (size_t)random_below(random, count),
                 (size_t)random_below(random, count));
        }
        break;
    case 3:
    case 4:
        if (count > 0) {
            struct value *item = &model->items.at[random_below(random, count)];
            value_unref(*item);
            *item = random_item(random);
        }
        break;
    default:
        splice(model, random);
        break;
    }
}

/* How many elements are that document. */
static uint64_t count_links(const struct model *model, unsigned document)
{
    const struct value link = link_to(document);
    uint64_t count = 0;
    VEC_FOREACH (&model->items, item) {
        count += value_equal(*item, link);
    }
    value_unref(link);
    return count;
}

static uint64_t change_document(struct model *model, struct random *random)
{
    const unsigned which = (unsigned)random_below(random, DOCUMENTS);
    const struct value value = value_int(random_between(random, 0, 5));
    const bool same = value_equal(model->documents[which], value);
    model->documents[which] = value;
    char id[16];
    (void)snprintf(id, sizeof id, "doc:%u", which);
    list_kit_put_adopt(&model->kit, id, "", value);
    return same ? 0 : count_links(model, which);
}

static void step(struct model *model, struct random *random)
{
    remember(model);
    const uint64_t what = random_below(random, 8);
    if (what == 0) {
        check(model, change_document(model, random));
        return;
    }
    if (what == 1) {
        list_kit_crash(&model->kit);
        list_kit_start(&model->kit);
        EXPECT_EQ(model->kit.one->runtime.sched->counters.runs, 0);
        check(model, 0);
        return;
    }
    change_list(model, random);
    if (random_one_in(random, 3)) {
        change_list(model, random);
    }
    if (what == 2) { /* while the piece is nobody's */
        list_kit_crash(&model->kit);
        write(model);
        list_kit_crash(&model->kit);
        list_kit_start(&model->kit);
    } else {
        write(model);
    }
    check(model, count_new(model));
}

static void play(struct random *random, enum list_kit_what what)
{
    struct model model = {0};
    list_kit_begin(&model.kit, what);
    list_kit_start(&model.kit);
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        model.documents[i] = value_int(-1);
        (void)change_document(&model, random);
    }
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        if (value_integer(model.documents[i]) < 0) {
            char id[16];
            (void)snprintf(id, sizeof id, "doc:%u", i);
            model.documents[i] = value_int(7);
            list_kit_put_adopt(&model.kit, id, "", value_int(7));
        }
    }
    for (unsigned i = 0; i < STEPS; i++) {
        step(&model, random);
    }
    VEC_FOREACH (&model.items, item) {
        value_unref(*item);
    }
    VEC_FOREACH (&model.before, item) {
        value_unref(*item);
    }
    vec_release(&model.items);
    vec_release(&model.before);
    list_kit_end(&model.kit);
}

PROPERTY(a_map_is_what_the_model_says, 20)
{
    play(random, LIST_KIT_MAP);
}

PROPERTY(a_filter_is_what_the_model_says, 12)
{
    play(random, LIST_KIT_FILTER);
}

PROPERTY(a_flat_map_is_what_the_model_says, 12)
{
    play(random, LIST_KIT_FLAT_MAP);
}

PROPERTY(a_reduction_is_what_the_model_says, 8)
{
    play(random, LIST_KIT_REDUCE);
}
