/* From the scope of what was read to that of what is written. */

#include "sched/scopes.h"

#include "replica/draft.h"
#include "replica/payload_write.h"
#include "sched/graph.h"
#include "value/doc_link.h"

/* -- Scope links --------------------------------------------------------- */

/* A link to the instance in `scope` of the document that holds it; new. */
static struct value link_to(enum scope scope)
{
    const struct value name = value_text_new(scope_name(scope));
    const struct value link = doc_link_new(&(struct doc_link){.scope = name});
    value_unref(name);
    return link;
}

bool scopes_is_link(struct value value)
{
    if (value_kind(value) != VALUE_LINK) {
        return false;
    }
    const struct doc_link link = doc_link_of(value);
    return value_is_absent(link.id) && value_is_absent(link.space) &&
           value_is_absent(link.path) && !value_is_absent(link.scope);
}

enum err scopes_lead(struct transaction *transaction,
                     struct entity *entity,
                     enum scope scope,
                     struct place **out,
                     struct err_detail *detail)
{
    enum err err = ERR_OK;
    while (entity->scope < scope && err == ERR_OK) {
        const enum scope next = (enum scope)(entity->scope + 1);
        struct place *payload = place_payload(entity);
        err =
            transaction_put_adopt(transaction, payload, link_to(next), detail);
        place_unref(payload);
        if (err == ERR_OK) {
            err = entity_of(entity->space, next, entity->id, &entity, detail);
        }
    }
    *out = err == ERR_OK ? place_payload(entity) : NULL;
    return err;
}

/* The instance that a scope link in a document leads to; NULL: it is not a
 * scope link, or leads nowhere. */
static struct entity *next_instance(const struct entity *entity,
                                    struct value link)
{
    enum scope scope = SCOPE_SPACE;
    struct entity *next = NULL;
    if (!scopes_is_link(link) || !scope_read(doc_link_of(link).scope, &scope) ||
        scope <= entity->scope ||
        entity_of(entity->space, scope, entity->id, &next, NULL) != ERR_OK) {
        return NULL;
    }
    return next;
}

struct entity *scopes_instance(struct entity *entity)
{
    struct entity *next = next_instance(entity, entity->visible.payload);
    while (next != NULL) {
        entity = next;
        next = next_instance(entity, entity->visible.payload);
    }
    return entity;
}

enum err scopes_own(const struct transaction *transaction,
                    const struct entity *entity,
                    struct place **out,
                    struct err_detail *detail)
{
    struct entity *own = NULL;
    const enum scope scope =
        transaction->scope > entity->scope ? transaction->scope : entity->scope;
    const enum err err =
        entity_of(entity->space, scope, entity->id, &own, detail);
    *out = err == ERR_OK ? place_payload(own) : NULL;
    return err;
}

enum err scopes_read(struct run *run,
                     struct place *place,
                     struct value *out,
                     struct place **at)
{
    *at = place_ref(place);
    enum err err = run_read(run, place, READ_DEEP, READ_FOR_BOTH, out);
    struct entity *next = next_instance(place->entity, *out);
    while (err != ERR_STALE && next != NULL) {
        value_unref(*out);
        place_unref(*at);
        *at = place_payload(next);
        err = run_read(run, *at, READ_DEEP, READ_FOR_BOTH, out);
        next = next_instance(next, *out);
    }
    return err;
}

/* -- Writes -------------------------------------------------------------- */

static bool is_output(const struct node *node, const struct entity *entity)
{
    for (uint32_t i = 0; i < node->write_count; i++) {
        if (node->writes[i].place == entity->payload &&
            !graph_is_envelope(&node->writes[i])) {
            return true;
        }
    }
    return false;
}

/* Whether the payload was written as a whole, and nothing else. */
static bool is_whole(const struct draft *draft)
{
    VEC_FOREACH (&draft->writes, write) {
        if (write->place != draft->entity->payload &&
            write->place != draft->entity->root) {
            return false;
        }
        if (write->kind != WRITE_PUT && write->kind != WRITE_DELETE) {
            return false;
        }
    }
    return true;
}

static enum run_result refuse(struct run *run, const struct entity *entity)
{
    const struct text id = value_text(&entity->id);
    struct err_detail detail = {0};
    (void)err_set(&detail,
                  ERR_ARGUMENT,
                  "cannot write to %.*s: it is shared, and this run has read "
                  "data of one %s; return the value, write it in a handler or "
                  "an effect, or give the state the scope '%s'",
                  (int)(id.length < 80 ? id.length : 80),
                  id.at,
                  scope_name(run->transaction->scope),
                  scope_name(run->transaction->scope));
    return run_fail(run, &detail);
}

/* scopes-1 for one document. */
static enum run_result move(struct run *run, struct entity *entity)
{
    struct transaction *transaction = run->transaction;
    const struct value value = transaction_withdraw(transaction, entity);
    struct err_detail detail = {0};
    struct place *place = NULL;
    enum err err =
        scopes_lead(transaction, entity, transaction->scope, &place, &detail);
    if (err != ERR_OK) {
        value_unref(value);
        return run_fail(run, &detail);
    }
    err = value_is_absent(value)
              ? transaction_delete(transaction, place, &detail)
              : transaction_put_adopt(transaction, place, value, &detail);
    place_unref(place);
    return err == ERR_OK ? RUN_DONE : run_fail(run, &detail);
}

/* -- Reads --------------------------------------------------------------- */

/* scopes-4. */
static enum err keep_narrow(struct run *run, struct err_detail *detail)
{
    struct transaction *transaction = run->transaction;
    transaction_unfollow(transaction);
    VEC_FOREACH (&transaction->reads, read) {
        if (read->place->entity->scope == transaction->scope &&
            (read->flags & READ_NOT_FOR_SCHEDULING) == 0) {
            return ERR_OK;
        }
    }
    if (run->node->write_count == 0) {
        return ERR_OK;
    }
    struct place *payload = NULL;
    const enum err err = scopes_own(transaction,
                                    run->node->writes[0].place->entity,
                                    &payload,
                                    detail);
    if (err == ERR_OK) {
        struct value value;
        (void)transaction_read(transaction,
                               payload,
                               READ_DEEP,
                               READ_NOT_FOR_COMMIT,
                               &value);
        value_unref(value);
        place_unref(payload);
    }
    return err;
}

enum run_result scopes_flow(struct run *run)
{
    struct transaction *transaction = run->transaction;
    struct err_detail detail = {0};
    if (transaction->scope == SCOPE_SPACE) {
        return RUN_DONE;
    }
    payload_write_expand(transaction);
    if (keep_narrow(run, &detail) != ERR_OK) {
        return run_fail(run, &detail);
    }
    /* A moved write leaves drafts of scope links behind. */
    for (size_t i = 0; i < transaction->drafts_used;) {
        const struct draft *draft = transaction->drafts.at[i];
        struct entity *entity = draft->entity;
        if (entity->scope >= transaction->scope ||
            scopes_is_link(draft->work.payload)) {
            i++;
            continue;
        }
        if (!is_output(run->node, entity) || !is_whole(draft)) {
            return refuse(run, entity);
        }
        const enum run_result moved = move(run, entity);
        if (moved != RUN_DONE) {
            return moved;
        }
    }
    return RUN_DONE;
}
