/* The children of a list: creation, removal, lookup. */

#include "base/limits.h"
#include "base/mem.h"
#include "runtime/cell.h"
#include "runtime/choice.h"
#include "runtime/element.h"
#include "sched/lineage.h"

struct spread *spread_ref(struct spread *spread)
{
    spread->refs++;
    return spread;
}

static void child_release(void *ctx)
{
    struct spread_child *child = ctx;
    place_unref(child->element);
    place_unref(child->stored);
    place_unref(child->output);
    value_unref(child->link);
    spread_unref(child->spread);
    mem_free(child, sizeof *child);
}

void spread_child_free(struct spread_child *child)
{
    child_release(child);
}

enum run_result spread_run_child(struct run *run, void *ctx)
{
    const struct spread_child *child = ctx;
    const struct element_body *body = &child->spread->body;
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
    if (child->spread->truth) {
        const bool truth = choice_is_true(result);
        value_unref(result);
        result = value_bool(truth);
    }
    struct err_detail detail = {0};
    const enum err err =
        building_write_adopt(run->transaction, child->output, result, &detail);
    return err == ERR_OK ? RUN_DONE : run_fail(run, &detail);
}

static void child_register(struct spread_child *child, struct value name)
{
    struct spread *spread = child->spread;
    struct node_spec spec = {
        .kind = NODE_COMPUTATION,
        .run = spread_run_child,
        .ctx = child,
        .release = child_release,
        .name = building_label(spread->piece, name),
        .parent = spread->node,
        .outputs = &child->output,
        .output_count = 1,
        .reads = &child->element,
        .read_count = 1,
    };
    struct node_identity identity;
    if (spread->persistent) {
        identity = building_identity(spread->piece, name, &spread->fingerprint);
        spec.identity = &identity;
    }
    child->node = scheduler_register(spread->sched, &spec);
    value_unref(spec.name);
}

/* Its output need not go any more. */
static void spare(struct spread *spread, const struct place *output)
{
    for (size_t i = 0; i < spread->doomed.count; i++) {
        if (spread->doomed.at[i] == output) {
            place_unref(spread->doomed.at[i]);
            spread->doomed.at[i] = *vec_last(&spread->doomed);
            spread->doomed.count--;
            return;
        }
    }
}

/* Without a node; *name is that of its node and document, new. NULL if there
 * can be no document of that name. */
struct spread_child *spread_child_new(struct spread *spread,
                                      uint32_t key,
                                      struct value *name)
{
    const struct value number = spread_key_name(key);
    *name = spread_joined(spread->prefix, number);
    const struct value id = piece_document_id(spread->piece->name, *name);
    struct entity *entity = NULL;
    struct spread_child *child = NULL;
    if (entity_of(spread->piece->space,
                  spread->order_at->entity->scope,
                  id,
                  &entity,
                  NULL) == ERR_OK) {
        child = mem_alloc_zero(sizeof *child);
        child->spread = spread_ref(spread);
        child->key = key;
        child->element = place_child(spread->elements, number);
        child->stored = place_child(spread->elements_at, number);
        child->output = place_payload(entity);
    }
    value_unref(id);
    value_unref(number);
    return child;
}

/* What it has need not go any more. */
static void spare_all(struct spread *spread, const struct spread_child *child)
{
    element_documents_list documents = {0};
    if (spread->doomed.count == 0) {
        return;
    }
    element_documents(child, &documents);
    VEC_FOREACH (&documents, entity) {
        struct place *place = place_payload(*entity);
        spare(spread, place);
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
static enum err child_begin(struct spread_child *child,
                            struct value name,
                            const struct spread_adding *adding)
{
    struct spread *spread = child->spread;
    if (spread->body.declare == NULL) {
        child_register(child, name);
        return ERR_OK;
    }
    const enum err err = element_start(child,
                                       adding->origin,
                                       adding->transaction,
                                       &child->piece,
                                       adding->detail);
    if (err == ERR_OK && value_is_absent(spread->shape) &&
        !element_has_former(child->piece)) {
        spread->shape = element_shape(child);
    }
    return err;
}

enum err spread_child_add(struct spread *spread,
                          uint32_t key,
                          const struct spread_adding *adding)
{
    struct value name;
    if (key >= LIMIT_ARRAY_ELEMENTS) {
        return err_set(adding->detail,
                       ERR_LIMIT_SIZE,
                       "a list can have at most %d elements over its lifetime",
                       (int)LIMIT_ARRAY_ELEMENTS);
    }
    struct spread_child *child = spread_child_new(spread, key, &name);
    if (child == NULL) {
        value_unref(name);
        return say_too_long(adding->detail);
    }
    const enum err err = child_begin(child, name, adding);
    value_unref(name);
    if (err != ERR_OK) {
        spread_child_free(child);
        return err;
    }
    while (spread->children.count <= key) {
        vec_push(&spread->children, NULL);
    }
    spread->children.at[key] = child;
    spare_all(spread, child);
    return ERR_OK;
}

void spread_child_stop(struct spread_child *child)
{
    if (child->node != NULL) {
        scheduler_remove(child->spread->sched, child->node);
        return;
    }
    if (child->piece != NULL) {
        element_stop(child->piece);
    }
    spread_child_free(child);
}

static void doom_all(struct spread *spread, const struct spread_child *child)
{
    element_documents_list documents = {0};
    element_documents(child, &documents);
    VEC_FOREACH (&documents, entity) {
        vec_push(&spread->doomed, place_payload(*entity));
    }
    vec_release(&documents);
    if (spread->runtime->forget_nodes != NULL) {
        element_actions(child, &spread->gone);
    }
}

struct spread_child *spread_child_take(struct spread *spread, uint32_t key)
{
    struct spread_child *child = spread->children.at[key];
    spread->children.at[key] = NULL;
    spread->lowest = key < spread->lowest ? key : spread->lowest;
    return child;
}

/* What it has goes, and its documents will. */
void spread_child_remove(struct spread *spread, uint32_t key)
{
    struct spread_child *child = spread_child_take(spread, key);
    if (child->piece == NULL) {
        vec_push(&spread->doomed, place_ref(child->output));
    } else {
        doom_all(spread, child);
    }
    spread_child_stop(child);
}

/* S1. */
uint32_t spread_free_key(struct spread *spread)
{
    if (spread->body.declare != NULL) {
        return spread->next++; /* S6 */
    }
    while (spread->lowest < spread->children.count &&
           spread->children.at[spread->lowest] != NULL) {
        spread->lowest++;
    }
    return spread->lowest;
}

struct spread_child *spread_child_of(const struct spread *spread,
                                     struct value link)
{
    uint32_t key;
    return spread_key_of_link(spread, link, &key) &&
                   key < spread->children.count
               ? spread->children.at[key]
               : NULL;
}

struct spread_child *spread_child_apart(struct spread *spread,
                                        struct value link)
{
    uint32_t key;
    if (!spread_key_of_link(spread, link, &key)) {
        return NULL;
    }
    struct value name;
    struct spread_child *child = spread_child_new(spread, key, &name);
    value_unref(name);
    return child;
}

struct value spread_element_link(struct spread_child *child)
{
    if (value_is_absent(child->link)) {
        child->link = cell_link(child->element, child->spread->piece->space);
    }
    return child->link;
}

/* -- Forgetting ---------------------------------------------------------- */

/* Between the commit and the answer of the store. Keys are not used again (S6),
 * so nothing that comes later has such a name. */
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

void spreads_release(struct runtime *runtime)
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

void spread_forget_actions(struct spread *spread,
                           struct transaction *transaction)
{
    if (spread->gone.count == 0) {
        return;
    }
    struct forgetting *forgetting = mem_alloc_zero(sizeof *forgetting);
    forgetting->runtime = spread->runtime;
    forgetting->space = spread->piece->space;
    forgetting->piece = value_ref(piece_whole(spread->piece)->name);
    VEC_FOREACH (&spread->gone, name) {
        vec_push(&forgetting->names, *name);
    }
    vec_clear(&spread->gone);
    list_node_init(&forgetting->node);
    list_push_back(&spread->runtime->forgettings, &forgetting->node);
    lineage_stop_unless_landed(spread->sched,
                               transaction,
                               forgetting_free,
                               forgetting);
    lineage_after_landing(spread->sched, transaction, on_landed, forgetting);
}
