/* The children of a list: creation, removal, lookup. */

#include "base/limits.h"
#include "base/mem.h"
#include "runtime/cell.h"
#include "runtime/choice.h"
#include "runtime/element.h"
#include "sched/lineage.h"

struct keyed_list *keyed_list_ref(struct keyed_list *keyed)
{
    keyed->refs++;
    return keyed;
}

static void child_release(void *ctx)
{
    struct keyed_child *child = ctx;
    place_unref(child->element);
    place_unref(child->stored);
    place_unref(child->output);
    value_unref(child->link);
    keyed_list_unref(child->keyed);
    mem_free(child, sizeof *child);
}

void keyed_child_free(struct keyed_child *child)
{
    child_release(child);
}

enum run_result keyed_list_run_child(struct run *run, void *ctx)
{
    const struct keyed_child *child = ctx;
    const struct element_body *body = &child->keyed->body;
    struct value result = VALUE_NONE;
    const enum run_result ended =
        body->run(run, body->ctx, child->element, &result);
    if (run_is_waiting(run)) {
        value_unref(result);
        return RUN_WAITING;
    }
    if (ended != RUN_DONE) {
        value_unref(result);
        return ended;
    }
    if (child->keyed->truth) {
        const bool truth = choice_is_true(result);
        value_unref(result);
        result = value_bool(truth);
    }
    struct err_detail detail = {0};
    const enum err err =
        building_write_adopt(run->transaction, child->output, result, &detail);
    return err == ERR_OK ? RUN_DONE : run_fail(run, &detail);
}

static void child_register(struct keyed_child *child, struct value name)
{
    struct keyed_list *keyed = child->keyed;
    struct node_spec spec = {
        .kind = NODE_COMPUTATION,
        .run = keyed_list_run_child,
        .ctx = child,
        .release = child_release,
        .name = building_label(keyed->piece, name),
        .parent = keyed->node,
        .outputs = &child->output,
        .output_count = 1,
        .reads = &child->element,
        .read_count = 1,
    };
    struct node_identity identity;
    if (keyed->persistent) {
        identity = building_identity(keyed->piece, name, &keyed->fingerprint);
        spec.identity = &identity;
    }
    child->node = sched_register(keyed->sched, &spec);
    value_unref(spec.name);
}

/* Its output need not go any more. */
static void spare(struct keyed_list *keyed, const struct place *output)
{
    for (size_t i = 0; i < keyed->doomed.count; i++) {
        if (keyed->doomed.at[i] == output) {
            place_unref(keyed->doomed.at[i]);
            keyed->doomed.at[i] = *vec_last(&keyed->doomed);
            keyed->doomed.count--;
            return;
        }
    }
}

/* Without a node; *name is that of its node and document, new. NULL if there
 * can be no document of that name. */
struct keyed_child *keyed_child_new(struct keyed_list *keyed,
                                    uint32_t key,
                                    struct value *name)
{
    const struct value number = keyed_list_key_name(key);
    *name = keyed_joined(keyed->prefix, number);
    const struct value id = piece_document_id(keyed->piece->name, *name);
    struct entity *entity = NULL;
    struct keyed_child *child = NULL;
    if (entity_of(keyed->piece->space,
                  keyed->order_at->entity->scope,
                  id,
                  &entity,
                  NULL) == ERR_OK) {
        child = mem_alloc_zero(sizeof *child);
        child->keyed = keyed_list_ref(keyed);
        child->key = key;
        child->element = place_child(keyed->elements, number);
        child->stored = place_child(keyed->elements_at, number);
        child->output = place_payload(entity);
    }
    value_unref(id);
    value_unref(number);
    return child;
}

/* What it has need not go any more. */
static void spare_all(struct keyed_list *keyed, const struct keyed_child *child)
{
    element_documents_list documents = {0};
    if (keyed->doomed.count == 0) {
        return;
    }
    element_documents(child, &documents);
    VEC_FOREACH (&documents, entity) {
        struct place *place = place_payload(*entity);
        spare(keyed, place);
        place_unref(place);
    }
    vec_release(&documents);
}

static enum err say_too_long(struct err_detail *detail)
{
    return err_set(detail,
                   ERR_ARGUMENT,
                   "the name of the list is too long for the documents of its "
                   "elements");
}

/* What it declares, or its node. */
static enum err child_begin(struct keyed_child *child,
                            struct value name,
                            const struct keyed_adding *adding)
{
    struct keyed_list *keyed = child->keyed;
    if (keyed->body.declare == NULL) {
        child_register(child, name);
        return ERR_OK;
    }
    const enum err err = element_start(child,
                                       adding->origin,
                                       adding->transaction,
                                       &child->piece,
                                       adding->detail);
    if (err == ERR_OK && value_is_absent(keyed->shape) &&
        !element_has_former(child->piece)) {
        keyed->shape = element_shape(child);
    }
    return err;
}

enum err keyed_child_add(struct keyed_list *keyed,
                         uint32_t key,
                         const struct keyed_adding *adding)
{
    struct value name;
    if (key >= LIMIT_ARRAY_ELEMENTS) {
        return err_set(adding->detail,
                       ERR_LIMIT_SIZE,
                       "a list can have at most %d elements over its lifetime",
                       (int)LIMIT_ARRAY_ELEMENTS);
    }
    struct keyed_child *child = keyed_child_new(keyed, key, &name);
    if (child == NULL) {
        value_unref(name);
        return say_too_long(adding->detail);
    }
    const enum err err = child_begin(child, name, adding);
    value_unref(name);
    if (err != ERR_OK) {
        keyed_child_free(child);
        return err;
    }
    while (keyed->children.count <= key) {
        vec_push(&keyed->children, NULL);
    }
    keyed->children.at[key] = child;
    spare_all(keyed, child);
    return ERR_OK;
}

void keyed_child_stop(struct keyed_child *child)
{
    if (child->node != NULL) {
        sched_remove(child->keyed->sched, child->node);
        return;
    }
    if (child->piece != NULL) {
        element_stop(child->piece);
    }
    keyed_child_free(child);
}

static void doom_all(struct keyed_list *keyed, const struct keyed_child *child)
{
    element_documents_list documents = {0};
    element_documents(child, &documents);
    VEC_FOREACH (&documents, entity) {
        vec_push(&keyed->doomed, place_payload(*entity));
    }
    vec_release(&documents);
    if (keyed->runtime->forget_nodes != NULL) {
        element_actions(child, &keyed->gone);
    }
}

struct keyed_child *keyed_child_take(struct keyed_list *keyed, uint32_t key)
{
    struct keyed_child *child = keyed->children.at[key];
    keyed->children.at[key] = NULL;
    keyed->lowest = key < keyed->lowest ? key : keyed->lowest;
    return child;
}

/* What it has goes, and its documents will. */
void keyed_child_remove(struct keyed_list *keyed, uint32_t key)
{
    struct keyed_child *child = keyed_child_take(keyed, key);
    if (child->piece == NULL) {
        vec_push(&keyed->doomed, place_ref(child->output));
    } else {
        doom_all(keyed, child);
    }
    keyed_child_stop(child);
}

/* keyed-list-1. */
uint32_t keyed_list_free_key(struct keyed_list *keyed)
{
    if (keyed->body.declare != NULL) {
        return keyed->next++; /* keyed-list-6 */
    }
    while (keyed->lowest < keyed->children.count &&
           keyed->children.at[keyed->lowest] != NULL) {
        keyed->lowest++;
    }
    return keyed->lowest;
}

struct keyed_child *keyed_child_of(const struct keyed_list *keyed,
                                   struct value link)
{
    uint32_t key;
    return keyed_list_key_of_link(keyed, link, &key) &&
                   key < keyed->children.count
               ? keyed->children.at[key]
               : NULL;
}

struct keyed_child *keyed_child_apart(struct keyed_list *keyed,
                                      struct value link)
{
    uint32_t key;
    if (!keyed_list_key_of_link(keyed, link, &key)) {
        return NULL;
    }
    struct value name;
    struct keyed_child *child = keyed_child_new(keyed, key, &name);
    value_unref(name);
    return child;
}

struct value keyed_list_element_link(struct keyed_child *child)
{
    if (value_is_absent(child->link)) {
        child->link = cell_link(child->element, child->keyed->piece->space);
    }
    return child->link;
}

/* -- Forgetting ---------------------------------------------------------- */

/* Between the commit and the answer of the store. Keys are not used again
 * (keyed-list-6), so nothing that comes later has such a name. */
struct forgetting {
    struct list_node node; /* in the runtime's */
    struct runtime *runtime;
    struct space *space;
    struct value piece;
    VEC(struct digest) names;
};

static void forgetting_free(void *ctx)
{
    struct forgetting *forgetting = ctx;
    list_remove(&forgetting->node);
    value_unref(forgetting->piece);
    vec_release(&forgetting->names);
    mem_free(forgetting, sizeof *forgetting);
}

void keyed_lists_release(struct runtime *runtime)
{
    while (!list_is_empty(&runtime->forgettings)) {
        forgetting_free(CONTAINER_OF(list_first(&runtime->forgettings),
                                     struct forgetting,
                                     node));
    }
}

static void on_landed(void *ctx)
{
    const struct forgetting *forgetting = ctx;
    const struct runtime *runtime = forgetting->runtime;
    runtime->forget_nodes(runtime->resume_ctx,
                          forgetting->space,
                          forgetting->piece,
                          forgetting->names.at,
                          forgetting->names.count);
    forgetting_free(ctx);
}

void keyed_list_forget_actions(struct keyed_list *keyed,
                               struct transaction *transaction)
{
    if (keyed->gone.count == 0) {
        return;
    }
    struct forgetting *forgetting = mem_alloc_zero(sizeof *forgetting);
    forgetting->runtime = keyed->runtime;
    forgetting->space = keyed->piece->space;
    forgetting->piece = value_ref(piece_whole(keyed->piece)->name);
    VEC_FOREACH (&keyed->gone, name) {
        vec_push(&forgetting->names, *name);
    }
    vec_clear(&keyed->gone);
    list_node_init(&forgetting->node);
    list_push_back(&keyed->runtime->forgettings, &forgetting->node);
    lineage_stop_unless_landed(keyed->sched,
                               transaction,
                               forgetting_free,
                               forgetting);
    lineage_after_landing(keyed->sched, transaction, on_landed, forgetting);
}
