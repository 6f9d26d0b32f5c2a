/* The scope of a list (S5 of runtime/spread.h). */

#include "base/check.h"
#include "runtime/spread.h"
#include "sched/scopes.h"

enum err spread_use_instances(struct spread *spread,
                              enum scope scope,
                              struct err_detail *detail)
{
    const struct entity *const documents[] = {spread->order->entity,
                                              spread->elements->entity};
    struct place **const used[] = {&spread->order_at, &spread->elements_at};
    for (size_t i = 0; i < COUNT_OF(used); i++) {
        struct entity *entity;
        const enum err err = entity_of(documents[i]->space,
                                       scope,
                                       documents[i]->id,
                                       &entity,
                                       detail);
        if (err != ERR_OK) {
            return err;
        }
        if (*used[i] != NULL) {
            place_unref(*used[i]);
        }
        *used[i] = place_payload(entity);
    }
    spread->elements_at->entity->copies = true;
    return ERR_OK;
}

enum err spread_choose_scope(struct spread *spread,
                             struct run *run,
                             struct err_detail *detail)
{
    const enum scope scope = run->transaction->scope;
    enum err err = ERR_OK;
    if (run->view != NULL) {
        return ERR_OK; /* an evaluation replaces what readers are led to */
    }
    if (UNLIKELY(scope != spread->order_at->entity->scope)) {
        spread_drop_children(spread);
        err = spread_use_instances(spread, scope, detail);
    }
    struct place *const documents[] = {spread->order, spread->elements};
    for (size_t i = 0;
         i < COUNT_OF(documents) && scope != SCOPE_SPACE && err == ERR_OK;
         i++) {
        struct place *at = NULL;
        err = scopes_lead(run->transaction,
                          documents[i]->entity,
                          scope,
                          &at,
                          detail);
        if (at != NULL) {
            place_unref(at);
        }
    }
    return err;
}
