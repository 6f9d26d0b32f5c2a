/* Map, filter and flat map over the children of a list. */

#include "runtime/list.h"

#include "base/mem.h"
#include "runtime/cell.h"
#include "runtime/choice.h"
#include "runtime/keyed_list.h"
#include "runtime/relink.h"
#include "sched/scopes.h"
#include "value/array.h"

/* -- Map ----------------------------------------------------------------- */

enum err builder_map(struct builder *builder,
                     const struct builder_list *list,
                     struct place **out,
                     struct err_detail *detail)
{
    struct keyed_list *keyed;
    const enum err err =
        keyed_list_declare(builder, list, list->name, false, &keyed, detail);
    if (err == ERR_OK) {
        *out = keyed->order;
    }
    return err;
}

/* -- Gathering ----------------------------------------------------------- */

/* A node that iterates over the outputs of all children, in order. */

typedef VEC(struct value) value_list;

/* Adds the contribution of one output. */
typedef void gather_fn(struct keyed_child *child,
                       struct value output,
                       const struct entity *from,
                       const struct entity *to,
                       value_list *items);

struct gather {
    struct keyed_list *keyed;
    gather_fn *add;
    struct place *output; /* borrowed from the piece */
};

static void add_accepted(struct keyed_child *child,
                         struct value output,
                         const struct entity *from,
                         const struct entity *to,
                         value_list *items)
{
    (void)from;
    (void)to;
    if (choice_is_true(output)) {
        vec_push(items, value_ref(keyed_list_element_link(child)));
    }
}

static void add_all(struct keyed_child *child,
                    struct value output,
                    const struct entity *from,
                    const struct entity *to,
                    value_list *items)
{
    (void)child;
    if (value_is_absent(output)) {
        return;
    }
    const struct value own = relink_adopt(value_ref(output), from, to);
    if (!value_is_array(own)) {
        vec_push(items, own);
        return;
    }
    struct array_iter iter = array_iter(own);
    struct value item;
    while (array_next(&iter, &item)) {
        vec_push(items, value_ref(item));
    }
    value_unref(own);
}

static void gather_release(void *ctx)
{
    struct gather *gather = ctx;
    keyed_list_unref(gather->keyed);
    mem_free(gather, sizeof *gather);
}

/* The child behind a link of the order. NULL: it is not registered yet, and the
 * order will be read again. */
static struct keyed_child *find_child(const struct run *run,
                                      const struct gather *gather,
                                      struct value link)
{
    struct keyed_child *child = keyed_child_of(gather->keyed, link);
    return child == NULL && run->view != NULL
               ? keyed_child_apart(gather->keyed, link)
               : child;
}

static void let_go(struct keyed_child *child)
{
    if (child != NULL && child->node == NULL) {
        keyed_child_free(child); /* it is apart */
    }
}

/* Adds what a child has given. False: this cannot be known now. */
static bool gather_one(struct run *run,
                       const struct gather *gather,
                       struct value link,
                       value_list *items)
{
    struct keyed_child *child = find_child(run, gather, link);
    if (child == NULL) {
        return true;
    }
    struct place *place = place_ref(child->output);
    let_go(child);
    struct value output;
    struct place *at;
    const enum err err = scopes_read(run, place, &output, &at);
    place_unref(place);
    if (err == ERR_STALE) {
        place_unref(at);
        return false;
    }
    /* That read may have run the coordinator, and the child be gone. */
    child = find_child(run, gather, link);
    if (child != NULL) {
        gather->add(child, output, at->entity, gather->output->entity, items);
    }
    let_go(child);
    value_unref(output);
    place_unref(at);
    return true;
}

/* False: this cannot be known now. The rest is read all the same: a run that is
 * given up says what else it needs, and all of it runs before the next
 * attempt. */
static bool gather_from(struct run *run,
                        const struct gather *gather,
                        struct value order,
                        value_list *items)
{
    struct array_iter iter = array_iter(order);
    struct value link;
    bool known = true;
    while (array_next(&iter, &link)) {
        known = gather_one(run, gather, link, items) && known;
    }
    return known;
}

static enum run_result run_gather(struct run *run,
                                  void *ctx,
                                  struct value *result)
{
    const struct gather *gather = ctx;
    struct value order;
    struct place *at;
    const enum err err = scopes_read(run, gather->keyed->order, &order, &at);
    place_unref(at);
    if (err == ERR_STALE) {
        return RUN_AGAIN;
    }
    value_list items = {0};
    const bool known =
        !value_is_array(order) || gather_from(run, gather, order, &items);
    value_unref(order);
    if (known) {
        *result = array_new_adopt(items.at, items.count);
    } else {
        VEC_FOREACH (&items, item) {
            value_unref(*item);
        }
    }
    vec_release(&items);
    return known ? RUN_DONE : RUN_AGAIN;
}

static enum err declare(struct builder *builder,
                        const struct builder_list *list,
                        gather_fn *add,
                        const char *purpose,
                        struct place **out,
                        struct err_detail *detail)
{
    struct keyed_list *keyed;
    const struct value order = value_text_new("order");
    const enum err err = keyed_list_declare(builder,
                                            list,
                                            order,
                                            add == add_accepted,
                                            &keyed,
                                            detail);
    value_unref(order);
    if (err != ERR_OK) {
        return err;
    }
    struct gather *gather = mem_alloc_zero(sizeof *gather);
    gather->keyed = keyed_list_ref(keyed);
    gather->add = add;
    const struct digest fingerprint =
        keyed_list_fingerprint(purpose, &keyed->order, 1, NULL);
    const struct builder_node node = {
        .name = list->name,
        .body = {run_gather, gather, gather_release, &fingerprint},
        .reads = &keyed->order,
        .read_count = 1,
    };
    const enum err declared = builder_computed(builder, &node, out, detail);
    if (declared == ERR_OK) {
        gather->output = *out;
    }
    return declared;
}

enum err builder_filter(struct builder *builder,
                        const struct builder_list *list,
                        struct place **out,
                        struct err_detail *detail)
{
    return declare(builder, list, add_accepted, "heddle filter 1", out, detail);
}

enum err builder_flat_map(struct builder *builder,
                          const struct builder_list *list,
                          struct place **out,
                          struct err_detail *detail)
{
    return declare(builder, list, add_all, "heddle flat_map 1", out, detail);
}
