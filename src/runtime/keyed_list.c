/* The coordinator of a list. */

#include "runtime/keyed_list.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "runtime/cell.h"
#include "runtime/element.h"
#include "runtime/relink.h"
#include "sched/scopes.h"
#include "sched/settle.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    BULK_CHANGES = 10000, /* more writes than this, and most of the elements: in
                             one */
};

/* One run of the coordinator. */
struct pass {
    struct keyed_list *keyed;
    struct run *run;
    struct entity *holder; /* of the list */
    struct value now;      /* the list */
    bool resolved;         /* its links say what they mean already */
    bool bulk;             /* elements are written in one */
    struct value elements; /* then: all of them */
    struct value record; /* keyed-list-6, as it is in the document; or absent */
    struct err_detail detail;
    enum err err;
};

/* -- What there was ------------------------------------------------------ */

static void forget(struct keyed_list *keyed)
{
    keyed->known = false;
    value_unref(keyed->seen);
    value_unref(keyed->order_seen);
    value_unref(keyed->elements_seen);
    keyed->seen = VALUE_NONE;
    keyed->order_seen = VALUE_NONE;
    keyed->elements_seen = VALUE_NONE;
}

/* The keys in the document, each once; none if it is not what a coordinator
 * writes. */
void keyed_list_read_keys(struct keyed_list *keyed, struct value order)
{
    vec_clear(&keyed->keys);
    if (!value_is_array(order)) {
        return;
    }
    VEC(bool) taken = {0};
    struct array_iter iter = array_iter(order);
    struct value link;
    while (array_next(&iter, &link)) {
        uint32_t key = 0;
        bool usable = keyed_list_key_of_link(keyed, link, &key);
        while (usable && taken.count <= key) {
            vec_push(&taken, false);
        }
        if (!usable || taken.at[key]) {
            vec_clear(&keyed->keys);
            break;
        }
        taken.at[key] = true;
        vec_push(&keyed->keys, key);
    }
    vec_release(&taken);
}

/* A child that the documents have: it was there, so it can be. Where the body
 * declares, what it declares has to be what is in the documents, or those have
 * to be here. */
static void add_former(struct pass *pass, uint32_t key)
{
    struct keyed_adding adding = {
        .origin = ELEMENT_ASSUMED,
        .transaction = pass->run->transaction,
        .detail = &pass->detail,
    };
    if (pass->err != ERR_OK) {
        return;
    }
    if (pass->keyed->body.declare != NULL) {
        pass->err = keyed_list_origin_in_run(pass->keyed,
                                             pass->run,
                                             pass->record,
                                             key,
                                             &adding);
    }
    if (pass->err == ERR_OK && !run_is_waiting(pass->run)) {
        pass->err = keyed_child_add(pass->keyed, key, &adding);
    }
}

/* keyed-list-2: just those of the keys. */
static void match_children(struct pass *pass)
{
    struct keyed_list *keyed = pass->keyed;
    VEC(bool) wanted = {0};
    VEC_FOREACH (&keyed->keys, key) {
        while (wanted.count <= *key) {
            vec_push(&wanted, false);
        }
        wanted.at[*key] = true;
    }
    for (uint32_t key = 0; key < keyed->children.count; key++) {
        if (keyed->children.at[key] != NULL &&
            (key >= wanted.count || !wanted.at[key])) {
            keyed_child_remove(keyed, key);
        }
    }
    VEC_FOREACH (&keyed->keys, key) {
        if (*key >= keyed->children.count || keyed->children.at[*key] == NULL) {
            add_former(pass, *key);
        }
    }
    vec_release(&wanted);
}

/* The list that the documents are about: absent if they do not fit together.
 * New. */
static struct value former_list(const struct keyed_list *keyed,
                                struct value elements)
{
    VEC(struct value) items = {0};
    bool whole = value_is_object(elements);
    for (size_t i = 0; whole && i < keyed->keys.count; i++) {
        const struct value number = keyed_list_key_name(keyed->keys.at[i]);
        const struct value item = object_get(elements, number);
        value_unref(number);
        whole = !value_is_absent(item);
        if (whole) {
            vec_push(&items, value_ref(item));
        }
    }
    if (!whole) {
        VEC_FOREACH (&items, item) {
            value_unref(*item);
        }
        vec_clear(&items);
    }
    const struct value list =
        whole ? array_new_adopt(items.at, items.count) : VALUE_NONE;
    vec_release(&items);
    return list;
}

/* What is in the documents becomes what is known. */
static void take_documents(struct pass *pass,
                           struct value order,
                           struct value elements)
{
    struct keyed_list *keyed = pass->keyed;
    forget(keyed);
    keyed_list_read_keys(keyed, order);
    struct value list = former_list(keyed, elements);
    if (value_is_absent(list)) {
        vec_clear(&keyed->keys);
        list = value_empty_array();
    }
    match_children(pass);
    keyed->seen = list;
}

/* -- Writing ------------------------------------------------------------- */

static struct value own_copy(const struct pass *pass, struct value value)
{
    return pass->resolved ? value_ref(value)
                          : relink_adopt(value_ref(value),
                                         pass->holder,
                                         pass->keyed->elements_at->entity);
}

static void put_adopt(struct pass *pass,
                      struct place *place,
                      struct value value)
{
    if (pass->err != ERR_OK) {
        value_unref(value);
        return;
    }
    pass->err = building_write_adopt(pass->run->transaction,
                                     place,
                                     value,
                                     &pass->detail);
}

struct edit {
    struct pass *pass;
    struct place *element;
};

static void put_difference(void *ctx, const struct difference *difference)
{
    const struct edit *edit = ctx;
    struct place *at = place_ref(edit->element);
    for (size_t i = 0; i < difference->length; i++) {
        struct place *child = place_child(at, difference->path[i].key);
        place_unref(at);
        at = child;
    }
    put_adopt(edit->pass, at, own_copy(edit->pass, difference->after));
    place_unref(at);
}

static void write_element(struct pass *pass,
                          uint32_t key,
                          struct value before,
                          struct value after)
{
    struct keyed_child *child = pass->keyed->children.at[key];
    if (pass->bulk) {
        pass->elements = object_set_adopt(pass->elements,
                                          keyed_list_key_name(key),
                                          own_copy(pass, after));
    } else if (child->stored->child_count > 0 && value_is_object(before) &&
               value_is_object(after)) {
        struct edit edit = {pass, child->stored}; /* somebody reads a part */
        difference_walk(before,
                        after,
                        DIFFERENCE_BY_STEPS,
                        put_difference,
                        &edit);
    } else {
        put_adopt(pass, child->stored, own_copy(pass, after));
    }
}

static void remove_element(struct pass *pass, uint32_t key)
{
    const struct value number = keyed_list_key_name(key);
    if (pass->bulk) {
        pass->elements = object_remove_adopt(pass->elements, number);
    } else {
        struct place *element = place_child(pass->keyed->elements_at, number);
        put_adopt(pass, element, VALUE_NONE);
        place_unref(element);
    }
    value_unref(number);
}

/* Whether the document is what it is, and not still to come. */
static bool is_here(const struct entity *entity)
{
    return entity->loaded || entity_state_exists(&entity->visible);
}

/* What has gone for good is deleted, and forgotten when it is seen to be. */
static void delete_doomed(struct pass *pass)
{
    struct keyed_list *keyed = pass->keyed;
    size_t kept = 0;
    VEC_FOREACH (&keyed->doomed, at) {
        struct entity *entity = (*at)->entity;
        if (!is_here(entity)) {
            /* Nobody has waited for it: the next run finds it. */
            space_want(entity->space, entity);
        } else if (!entity_state_exists(&entity->visible)) {
            place_unref(*at);
            continue;
        } else if (pass->err == ERR_OK) {
            struct place *root = place_root(entity);
            run_vouch(pass->run);
            pass->err =
                transaction_delete(pass->run->transaction, root, &pass->detail);
            place_unref(root);
        }
        keyed->doomed.at[kept++] = *at;
    }
    keyed->doomed.count = kept;
}

/* -- One run ------------------------------------------------------------- */

static void add_new(struct pass *pass, uint32_t key)
{
    const struct keyed_adding adding = {
        .origin = ELEMENT_NEW,
        .transaction = pass->run->transaction,
        .detail = &pass->detail,
    };
    if (pass->err == ERR_OK) {
        pass->err = keyed_child_add(pass->keyed, key, &adding);
    }
}

/* settle-6 of sched/settle.h. Who has gone is not brought back for that, so it
 * is only where nobody has. */
static void give_way(struct pass *pass)
{
    if (pass->err == ERR_OK && pass->keyed->match.gone.count == 0 &&
        settle_gives_way(pass->run)) {
        pass->err = err_set(&pass->detail, ERR_INTERRUPTED, "interrupted");
    }
}

/* What a run that has given way had added. It has no documents. */
static void drop_unfinished(struct keyed_list *keyed)
{
    for (size_t i = 0; keyed->unfinished && i < keyed->moved.count; i++) {
        const uint32_t key = keyed->moved.at[i];
        if (keyed->match.moves.at[i].from == LIST_NEW) {
            keyed_child_stop(keyed_child_take(keyed, key));
        }
    }
    keyed->unfinished = false;
}

/* The keys of what the match has moved; new ones get a child. */
static void find_keys(struct pass *pass)
{
    struct keyed_list *keyed = pass->keyed;
    vec_clear(&keyed->moved);
    VEC_FOREACH (&keyed->match.gone, index) {
        const uint32_t key = keyed->keys.at[*index];
        remove_element(pass, key);
        keyed_child_remove(keyed, key);
    }
    for (size_t i = 0; pass->err == ERR_OK && i < keyed->match.moves.count;
         i++) {
        const struct list_move *move = &keyed->match.moves.at[i];
        const bool is_new = move->from == LIST_NEW;
        const uint32_t key =
            is_new ? keyed_list_free_key(keyed) : keyed->keys.at[move->from];
        if (is_new) {
            add_new(pass, key);
        }
        if (pass->err == ERR_OK) {
            vec_push(&keyed->moved, key);
            give_way(pass);
        }
    }
}

static void write_elements(struct pass *pass)
{
    struct keyed_list *keyed = pass->keyed;
    for (size_t i = 0; i < keyed->match.moves.count; i++) {
        const struct list_move *move = &keyed->match.moves.at[i];
        if (pass->err == ERR_OK && !move->same) {
            write_element(pass,
                          keyed->moved.at[i],
                          move->from == LIST_NEW
                              ? VALUE_NONE
                              : array_at(keyed->seen, move->from),
                          array_at(pass->now, move->to));
            give_way(pass);
        }
    }
}

static struct value link_of_child(struct keyed_list *keyed, uint32_t key)
{
    struct keyed_child *child =
        key < keyed->children.count ? keyed->children.at[key] : NULL;
    if (child != NULL) {
        return cell_link(child->output, keyed->piece->space);
    }
    struct value name; /* one that is only imagined: evaluate */
    child = keyed_child_new(keyed, key, &name);
    value_unref(name);
    if (child == NULL) {
        return value_null();
    }
    const struct value link = cell_link(child->output, keyed->piece->space);
    keyed_child_free(child);
    return link;
}

/* Keys and links, where they are others now; `order` is adopted. */
static struct value change_order_adopt(struct pass *pass, struct value order)
{
    struct keyed_list *keyed = pass->keyed;
    const struct list_match *match = &keyed->match;
    if (match->before == match->after) {
        for (size_t i = 0; i < match->moves.count; i++) {
            const uint32_t to = match->moves.at[i].to;
            const uint32_t key = keyed->moved.at[i];
            if (keyed->keys.at[to] != key) {
                keyed->keys.at[to] = key;
                order = array_set_adopt(order, to, link_of_child(keyed, key));
            }
        }
        return order;
    }
    VEC(struct value) links = {0};
    VEC_FOREACH (&keyed->moved, key) {
        vec_push(&links, link_of_child(keyed, *key));
        give_way(pass);
    }
    order = array_splice_adopt(order,
                               match->start,
                               match->before,
                               links.at,
                               links.count);
    vec_release(&links);
    const size_t tail = keyed->keys.count - match->start - match->before;
    if (match->after > match->before) {
        vec_reserve(&keyed->keys,
                    keyed->keys.count + match->after - match->before);
    }
    uint32_t *middle = keyed->keys.at + match->start;
    if (tail > 0) {
        memmove(middle + match->after,
                middle + match->before,
                tail * sizeof *middle);
    }
    if (match->after > 0) {
        memcpy(middle, keyed->moved.at, match->after * sizeof *middle);
    }
    keyed->keys.count = match->start + match->after + tail;
    return order;
}

/* Requests the documents of a child that are not here; one of them is returned,
 * or NULL. They are not read: the coordinator would then depend on what its
 * children compute, and they depend on it. */
static struct entity *request_documents(const struct keyed_child *child)
{
    struct entity *missing = NULL;
    element_documents_list documents = {0};
    element_documents(child, &documents);
    VEC_FOREACH (&documents, entity) {
        if (!is_here(*entity)) {
            space_want((*entity)->space, *entity);
            missing = *entity;
        }
    }
    vec_release(&documents);
    return missing;
}

/* Only what is here can be deleted. False: it has to be waited for. */
static bool can_go(struct pass *pass)
{
    const struct keyed_list *keyed = pass->keyed;
    struct entity *missing = NULL;
    VEC_FOREACH (&keyed->match.gone, index) {
        const uint32_t key = keyed->keys.at[*index];
        struct entity *one = request_documents(keyed->children.at[key]);
        missing = one != NULL ? one : missing;
    }
    if (missing != NULL) {
        transaction_await(pass->run->transaction, missing);
    }
    return missing == NULL;
}

/* From what is known to `now`; *order is what the links are then. */
static void go_over(struct pass *pass, struct value *order, bool first)
{
    struct keyed_list *keyed = pass->keyed;
    const size_t changes = keyed->match.moves.count + keyed->match.gone.count;
    pass->bulk = first || (changes > BULK_CHANGES &&
                           changes > array_count(pass->now) / 2);
    find_keys(pass);
    if (pass->err == ERR_OK) {
        write_elements(pass);
    }
    if (pass->err == ERR_OK) {
        *order = change_order_adopt(pass, *order);
    }
}

/* The state of the documents, as this transaction leaves it. */
static void note(struct pass *pass, struct value list, struct value order)
{
    struct keyed_list *keyed = pass->keyed;
    value_unref(keyed->seen);
    value_unref(keyed->order_seen);
    value_unref(keyed->elements_seen);
    keyed->seen = value_ref(list);
    keyed->order_seen = value_ref(order);
    (void)transaction_read(pass->run->transaction,
                           keyed->elements_at,
                           READ_DEEP,
                           READ_UNTRACKED,
                           &keyed->elements_seen);
    keyed->known = pass->err == ERR_OK;
}

/* The store refuses what is too much for one commit, and does not know why it
 * is. */
static void check_size(struct pass *pass)
{
    const struct keyed_list *keyed = pass->keyed;
    const size_t documents = pass->run->transaction->drafts_used;
    if (UNLIKELY(documents > LIMIT_COMMIT_OPERATIONS) && pass->err == ERR_OK &&
        keyed->runtime->replica.sessions > 0) {
        pass->err = err_set(&pass->detail,
                            ERR_LIMIT_COMMIT,
                            "this change of the list writes %zu documents of "
                            "its elements, and a commit has at most %d: change "
                            "the list in several steps",
                            documents,
                            LIMIT_COMMIT_OPERATIONS);
    }
}

static void change(struct pass *pass, struct value order, struct value elements)
{
    struct keyed_list *keyed = pass->keyed;
    const struct value list = pass->now;
    const bool first = !value_is_object(elements) || !value_is_array(order);
    struct value resolved = VALUE_NONE;
    if (!keyed->known || keyed->holder != pass->holder ||
        !value_equal(order, keyed->order_seen) ||
        !value_equal(elements, keyed->elements_seen)) {
        /* What is in the documents has links that say what they mean. */
        take_documents(pass, order, elements);
        resolved = relink_adopt(value_ref(list),
                                pass->holder,
                                keyed->elements_at->entity);
        pass->now = resolved;
        pass->resolved = true;
    }
    if (pass->err != ERR_OK || run_is_waiting(pass->run)) {
        forget(keyed);
        value_unref(resolved);
        return;
    }
    keyed->holder = pass->holder;
    list_match(&keyed->match, keyed->seen, pass->now);
    if (!can_go(pass)) {
        forget(keyed);
        value_unref(resolved);
        return;
    }
    const bool whole = keyed->keys.count == 0;
    struct value links = whole ? value_empty_array() : value_ref(order);
    pass->elements =
        first || whole ? value_empty_object() : value_ref(elements);
    go_over(pass, &links, first);
    if (pass->bulk) {
        put_adopt(pass, keyed->elements_at, value_ref(pass->elements));
    }
    if (!value_is_same(links, order)) {
        put_adopt(pass, keyed->order_at, value_ref(links));
    }
    if (keyed->body.declare != NULL && pass->err == ERR_OK) {
        run_vouch_all(pass->run);
        pass->err = keyed_list_write_record(keyed,
                                            pass->run->transaction,
                                            pass->record,
                                            whole,
                                            &pass->detail);
    }
    delete_doomed(pass);
    check_size(pass);
    keyed_list_forget_actions(keyed, pass->run->transaction);
    note(pass, list, links);
    value_unref(pass->elements);
    value_unref(links);
    value_unref(resolved);
}

/* -- On the view of a transaction (sched/evaluation.h) ------------------- */

/* The keys of what the match has moved. What is new has one without a child. */
static void imagine_keys(struct keyed_list *keyed)
{
    uint32_t fresh = keyed->body.declare != NULL
                         ? keyed->next
                         : (uint32_t)keyed->children.count;
    vec_clear(&keyed->moved);
    VEC_FOREACH (&keyed->match.moves, move) {
        vec_push(&keyed->moved,
                 move->from == LIST_NEW ? fresh++ : keyed->keys.at[move->from]);
    }
}

static void put_elements(struct pass *pass)
{
    const struct keyed_list *keyed = pass->keyed;
    struct value all = value_empty_object();
    for (uint32_t i = 0; i < keyed->keys.count; i++) {
        all = object_set_adopt(all,
                               keyed_list_key_name(keyed->keys.at[i]),
                               value_ref(array_at(pass->now, i)));
    }
    put_adopt(pass, keyed->elements_at, all);
}

/* What is new has no node that could be evaluated. */
static enum run_result evaluate_new(struct pass *pass)
{
    struct keyed_list *keyed = pass->keyed;
    enum run_result ended = RUN_DONE;
    for (size_t i = 0; ended == RUN_DONE && i < keyed->moved.count; i++) {
        const uint32_t key = keyed->moved.at[i];
        if (keyed->match.moves.at[i].from == LIST_NEW) {
            struct value name;
            struct keyed_child *child = keyed_child_new(keyed, key, &name);
            value_unref(name);
            ended = child != NULL ? keyed_list_run_child(pass->run, child)
                                  : RUN_FAILED;
            if (child != NULL) {
                keyed_child_free(child);
            }
        }
    }
    return ended;
}

/* Writes the documents as the list is on the view. The children stay what they
 * are: those of former elements are evaluated by who reads their outputs. */
static enum run_result evaluate(struct pass *pass,
                                struct value order,
                                struct value elements)
{
    struct keyed_list *keyed = pass->keyed;
    forget(keyed); /* the next run takes what it needs from the documents */
    keyed_list_read_keys(keyed, order);
    struct value former = former_list(keyed, elements);
    if (value_is_absent(former)) {
        vec_clear(&keyed->keys);
        former = value_empty_array();
    }
    const struct value resolved = relink_adopt(value_ref(pass->now),
                                               pass->holder,
                                               keyed->elements_at->entity);
    pass->now = resolved;
    list_match(&keyed->match, former, resolved);
    imagine_keys(keyed);
    const bool whole = keyed->keys.count == 0;
    put_adopt(
        pass,
        keyed->order_at,
        change_order_adopt(pass,
                           whole ? value_empty_array() : value_ref(order)));
    put_elements(pass);
    const bool runs = pass->err == ERR_OK && keyed->body.declare == NULL;
    const enum run_result ended = runs ? evaluate_new(pass) : RUN_DONE;
    value_unref(former);
    value_unref(resolved);
    return ended;
}

/* -- One run, and what goes before it ------------------------------------ */

void keyed_list_drop_children(struct keyed_list *keyed)
{
    for (uint32_t key = 0; key < keyed->children.count; key++) {
        if (keyed->children.at[key] != NULL) {
            keyed_child_remove(keyed, key);
        }
    }
    VEC_FOREACH (&keyed->doomed, place) {
        place_unref(*place);
    }
    vec_clear(&keyed->doomed);
    vec_clear(&keyed->keys);
    forget(keyed);
}

static enum run_result run_on(struct pass *pass)
{
    struct keyed_list *keyed = pass->keyed;
    struct value order = VALUE_NONE;
    struct value elements = VALUE_NONE;
    drop_unfinished(keyed);
    pass->err = keyed_list_choose_scope(keyed, pass->run, &pass->detail);
    const bool stale = run_read(pass->run,
                                keyed->order_at,
                                READ_DEEP,
                                READ_FOR_BOTH,
                                &order) == ERR_STALE ||
                       run_read(pass->run,
                                keyed->elements_at,
                                READ_DEEP,
                                READ_FOR_BOTH,
                                &elements) == ERR_STALE;
    if (keyed->body.declare != NULL && pass->err == ERR_OK && !stale) {
        pass->err = keyed_list_read_record(keyed,
                                           pass->run,
                                           &pass->record,
                                           &pass->detail);
    }
    enum run_result ended = RUN_DONE;
    if (!stale && !run_is_waiting(pass->run) && pass->run->node->registered &&
        pass->err == ERR_OK) {
        if (pass->run->view != NULL) {
            ended = evaluate(pass, order, elements);
        } else {
            change(pass, order, elements);
        }
    }
    value_unref(order);
    value_unref(elements);
    value_unref(pass->record);
    if (stale) {
        return RUN_AGAIN;
    }
    if (pass->err != ERR_OK) {
        forget(keyed);
        keyed->unfinished = pass->err == ERR_INTERRUPTED;
        return keyed->unfinished ? RUN_AGAIN
                                 : run_fail(pass->run, &pass->detail);
    }
    return ended;
}

static enum err no_list(const struct pass *pass,
                        struct value value,
                        struct err_detail *detail)
{
    const struct text id = value_text(&pass->holder->id);
    return err_set(detail,
                   ERR_TYPE,
                   "%.*s must hold a list, but holds another type: %s",
                   (int)id.length,
                   id.at,
                   value_kind_name(value_kind(value)));
}

static enum run_result run_spread(struct run *run,
                                  void *ctx,
                                  struct value *result)
{
    (void)result;
    struct keyed_list *keyed = ctx;
    const struct cell_access access = {keyed->runtime, run, run->transaction};
    struct pass pass = {.keyed = keyed, .run = run};
    struct place *at = NULL;
    const enum err err = cell_read(&access,
                                   keyed->list,
                                   READ_DEEP,
                                   READ_FOR_BOTH,
                                   &pass.now,
                                   &at,
                                   &pass.detail);
    if (err != ERR_OK) {
        return err == ERR_STALE ? RUN_AGAIN : run_fail(run, &pass.detail);
    }
    pass.holder = at->entity;
    const struct value list = pass.now;
    enum run_result ended = RUN_DONE;
    if (run_is_waiting(run)) {
        /* It is on its way: this one runs again then. */
    } else if (value_is_array(list)) {
        ended = run_on(&pass);
    } else if (value_is_absent(list) || value_kind(list) == VALUE_NULL) {
        pass.now = value_empty_array();
        ended = run_on(&pass);
    } else {
        (void)no_list(&pass, list, &pass.detail);
        ended = run_fail(run, &pass.detail);
    }
    value_unref(list);
    place_unref(at);
    return ended;
}

/* -- Its life ------------------------------------------------------------ */

void keyed_list_unref(struct keyed_list *keyed)
{
    if (--keyed->refs > 0) {
        return;
    }
    forget(keyed);
    if (keyed->body.release != NULL) {
        keyed->body.release(keyed->body.ctx);
    }
    VEC_FOREACH (&keyed->doomed, place) {
        place_unref(*place);
    }
    if (keyed->elements_at != NULL) {
        keyed->elements_at->entity->copies = false;
    }
    struct place *const places[] = {keyed->list,
                                    keyed->order,
                                    keyed->elements,
                                    keyed->order_at,
                                    keyed->elements_at};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (places[i] != NULL) {
            place_unref(places[i]);
        }
    }
    value_unref(keyed->prefix);
    value_unref(keyed->shape);
    value_unref(keyed->key);
    vec_release(&keyed->keys);
    vec_release(&keyed->children);
    vec_release(&keyed->doomed);
    vec_release(&keyed->gone);
    vec_release(&keyed->moved);
    list_match_release(&keyed->match);
    mem_free(keyed, sizeof *keyed);
}

/* The coordinator has gone, and so do the children. */
static void keyed_list_release(void *ctx)
{
    struct keyed_list *keyed = ctx;
    keyed->node = NULL;
    VEC_FOREACH (&keyed->children, child) {
        if (*child != NULL) {
            struct keyed_child *gone = *child;
            *child = NULL;
            keyed_child_stop(gone);
        }
    }
    if (keyed->keeper != NULL) {
        sched_remove(keyed->sched, keyed->keeper);
    }
    keyed_list_unref(keyed);
}

static struct keyed_list *keyed_list_new(struct builder *builder,
                                         const struct builder_list *list,
                                         bool truth)
{
    struct keyed_list *keyed = mem_alloc_zero(sizeof *keyed);
    keyed->refs = 1;
    keyed->piece = builder->piece;
    keyed->runtime = builder->piece->runtime;
    keyed->sched = builder->piece->runtime->sched;
    keyed->list = place_ref(list->list);
    keyed->body = list->body;
    keyed->body.fingerprint = NULL;
    keyed->truth = truth;
    keyed->key = value_ref(list->key);
    keyed->match.key = keyed->key;
    keyed->match.strict = list->body.declare != NULL;
    if (list->body.fingerprint != NULL &&
        builder->piece->space->session != NULL) {
        keyed->persistent = true;
        keyed->fingerprint = keyed_list_fingerprint(truth ? "heddle accept 1"
                                                          : "heddle element 1",
                                                    NULL,
                                                    0,
                                                    list->body.fingerprint);
    }
    return keyed;
}

/* The documents of a list that is new: who comes back and does not find them
 * knows that they are still to come. */
static enum err write_first(struct builder *builder,
                            const struct keyed_list *keyed,
                            struct err_detail *detail)
{
    const enum err err = transaction_put_adopt(builder->transaction,
                                               keyed->elements,
                                               value_empty_object(),
                                               detail);
    return err == ERR_OK ? transaction_put_adopt(builder->transaction,
                                                 keyed->order,
                                                 value_empty_array(),
                                                 detail)
                         : err;
}

/* The children of before, for a piece that is resumed. There may be very many,
 * so the start of the piece can be interrupted here, as in the rest of its
 * body. */
enum err keyed_list_restore_children(struct keyed_list *keyed,
                                     struct value order,
                                     const struct keyed_adding *adding)
{
    keyed_list_read_keys(keyed, order);
    for (size_t i = 0; i < keyed->keys.count; i++) {
        const uint32_t key = keyed->keys.at[i];
        if (key >= keyed->children.count || keyed->children.at[key] == NULL) {
            const enum err err = keyed_child_add(keyed, key, adding);
            if (err != ERR_OK) {
                return err;
            }
        }
        if (settle_glance(keyed->runtime->sched)) {
            return err_set(adding->detail, ERR_INTERRUPTED, "interrupted");
        }
    }
    return ERR_OK;
}

static enum err declare_in(struct builder *builder,
                           struct keyed_list *keyed,
                           struct builder *below,
                           struct value order_name,
                           struct err_detail *detail)
{
    const bool known = builder_is_known(builder, order_name, PART_LIST);
    const struct value name = value_text_new("elements");
    struct place *elements = NULL;
    enum err err = builder_document(below, name, false, &elements, detail);
    value_unref(name);
    if (err != ERR_OK) {
        keyed_list_release(keyed);
        return err;
    }
    keyed->elements = place_ref(elements);
    const struct digest fingerprint =
        keyed_list_fingerprint("heddle spread 1", &keyed->list, 1, NULL);
    const struct builder_node node = {
        .name = order_name,
        .body = {run_spread, keyed, keyed_list_release, &fingerprint},
        .reads = &keyed->list,
        .read_count = 1,
        .writes = &elements,
        .write_count = 1,
        .coordinates = true,
    };
    struct place *order;
    err = builder_computed(builder, &node, &order, detail);
    if (err != ERR_OK) {
        return err;
    }
    keyed->order = place_ref(order);
    struct part *part = vec_last(&builder->piece->parts);
    keyed->node = part->node;
    const struct entity *instance = scopes_instance(order->entity);
    err = keyed_use_instances(keyed,
                              known ? instance->scope : SCOPE_SPACE,
                              detail);
    if (err == ERR_OK && keyed->body.declare != NULL) {
        part->list = keyed;
        keyed_list_keep(builder, keyed);
    }
    if (err == ERR_OK && !known) {
        return write_first(builder, keyed, detail);
    }
    if (err == ERR_OK && keyed->body.declare != NULL) {
        return keyed_list_restore_pieces(builder, keyed, detail);
    }
    const struct keyed_adding adding = {.detail = detail};
    return err == ERR_OK
               ? keyed_list_restore_children(keyed,
                                             instance->visible.payload,
                                             &adding)
               : err;
}

enum err keyed_list_declare(struct builder *builder,
                            const struct builder_list *list,
                            struct value order_name,
                            bool truth,
                            struct keyed_list **out,
                            struct err_detail *detail)
{
    struct keyed_list *keyed = keyed_list_new(builder, list, truth);
    if (!value_is_string(list->name)) {
        keyed_list_release(keyed);
        return err_set(detail, ERR_ARGUMENT, "a name must be a string");
    }
    struct builder below = keyed_list_below(builder, list->name);
    keyed->prefix = value_ref(below.prefix);
    struct builder *holder =
        value_is_same(order_name, list->name) ? builder : &below;
    const enum err err = declare_in(holder, keyed, &below, order_name, detail);
    value_unref(below.prefix);
    *out = keyed;
    return err;
}
