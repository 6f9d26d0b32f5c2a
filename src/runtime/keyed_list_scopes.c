/* The scope of a list (keyed-list-5 of runtime/keyed_list.h). */

#include "base/check.h"
#include "runtime/keyed_list.h"
#include "sched/scopes.h"

enum err keyed_use_instances(struct keyed_list *keyed,
                             enum scope scope,
                             struct err_detail *detail)
{
    const struct entity *const documents[] = {keyed->order->entity,
                                              keyed->elements->entity};
    struct place **const used[] = {&keyed->order_at, &keyed->elements_at};
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
    keyed->elements_at->entity->copies = true;
    return ERR_OK;
}

enum err keyed_list_choose_scope(struct keyed_list *keyed,
                                 struct run *run,
                                 struct err_detail *detail)
{
    const enum scope scope = run->transaction->scope;
    enum err err = ERR_OK;
    if (run->view != NULL) {
        return ERR_OK; /* an evaluation replaces what readers are led to */
    }
    if (UNLIKELY(scope != keyed->order_at->entity->scope)) {
        keyed_list_drop_children(keyed);
        err = keyed_use_instances(keyed, scope, detail);
    }
    struct place *const documents[] = {keyed->order, keyed->elements};
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
