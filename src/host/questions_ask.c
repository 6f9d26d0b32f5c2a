/* The side of the runtime: questions, and what their answers say. */

#include "base/mem.h"
#include "host/questions.h"
#include "host/resume.h"
#include "proto/event.h"
#include "proto/fields.h"
#include "value/array.h"
#include "value/object.h"

struct value question_new(const char *name)
{
    struct value question = value_empty_object();
    object_put_text(&question, "question", name);
    return question;
}

static struct value question_about(const char *name, struct value branch)
{
    struct value question = question_new(name);
    object_put_adopt(&question, "branch", value_ref(branch));
    return question;
}

static enum err bad_answer(const char *what, struct err_detail *detail)
{
    return err_set(detail,
                   ERR_PROTOCOL,
                   "the server gave an invalid answer: %s",
                   what);
}

/* Adopts the question. */
static enum err ask(const struct asked_store *store,
                    struct value question,
                    struct value *answer,
                    struct err_detail *detail)
{
    *answer = VALUE_NONE;
    enum err err = store->ask(store->ctx, question, answer, detail);
    value_unref(question);
    if (err == ERR_OK && !value_is_object(*answer)) {
        value_unref(*answer);
        *answer = VALUE_NONE;
        err = bad_answer("it must be an object", detail);
    }
    return err;
}

/* For questions whose answer says nothing. */
static enum err tell(const struct asked_store *store,
                     struct value question,
                     struct err_detail *detail)
{
    struct value answer;
    const enum err err = ask(store, question, &answer, detail);
    value_unref(answer);
    return err;
}

static struct asked_store *asked(struct store_access *store)
{
    return CONTAINER_OF(store, struct asked_store, store);
}

/* -- Pieces -------------------------------------------------------------- */

static struct value query_question(const char *name,
                                   const struct resume_query *query)
{
    struct value question = question_about(name, query->branch);
    const uint64_t limit =
        query->limit > 0 && query->limit < QUESTIONS_ACTIONS_MAX
            ? query->limit
            : QUESTIONS_ACTIONS_MAX;
    object_put_adopt(&question, "piece", value_ref(query->piece));
    object_put_number(&question, "generation", query->generation);
    object_put_number(&question, "after", query->after);
    object_put_number(&question, "seq", query->seq);
    object_put_number(&question, "limit", limit);
    if (value_is_absent(query->identity.session)) {
        object_put_adopt(&question, "shared", value_bool(true));
    }
    return question;
}

/* A listing goes on behind its last action, so an answer that does not move on
 * would go on for ever. */
static bool moves_on(const struct resume_query *query,
                     const struct resume_page *page)
{
    uint64_t last = query->after;
    VEC_FOREACH (&page->actions, action) {
        if (action->number <= last) {
            return false;
        }
        last = action->number;
    }
    return true;
}

static enum err resume(struct store_access *store,
                       const struct resume_query *query,
                       struct resume_page *page,
                       struct err_detail *detail)
{
    struct value answer;
    *page = (struct resume_page){0};
    enum err err =
        ask(asked(store), query_question("resume", query), &answer, detail);
    if (err == ERR_OK) {
        err = resume_page_read(answer, &asked(store)->paths, page, detail);
    }
    if (err == ERR_OK && !moves_on(query, page)) {
        resume_page_release(page);
        err = bad_answer("actions must be in the order of numbers", detail);
    }
    value_unref(answer);
    return err;
}

static enum err number_of(struct value answer,
                          const char *field,
                          uint64_t *out,
                          struct err_detail *detail)
{
    const struct fields fields = {.detail = detail};
    return field_number(&fields, answer, field, out);
}

static enum err resume_count(struct store_access *store,
                             const struct resume_query *query,
                             uint64_t *count,
                             struct err_detail *detail)
{
    struct value answer;
    *count = 0;
    enum err err = ask(asked(store),
                       query_question("resumeCount", query),
                       &answer,
                       detail);
    if (err == ERR_OK) {
        err = number_of(answer, "count", count, detail);
    }
    value_unref(answer);
    return err;
}

static struct value read_row(struct value id,
                             unsigned number,
                             struct path *path)
{
    struct buf pointer = {0};
    path_write(&pointer, path);
    const struct value row[] = {
        value_ref(id),
        value_int(number),
        value_string_adopt(&pointer),
    };
    return array_new_adopt(row, COUNT_OF(row));
}

static bool is_of(const struct resume_asking *asking,
                  const struct resume_place *place)
{
    return !value_is_absent(place->space) &&
           key_equal(place->space, asking->space);
}

static struct value changed_question(const struct resume_asking *asking,
                                     const struct resume_page *page,
                                     uint64_t above)
{
    struct value question = question_about("changed", asking->branch);
    struct value reads = value_empty_array();
    VEC_FOREACH (&page->places, place) {
        if (is_of(asking, place)) {
            reads = array_push_adopt(
                reads,
                read_row(place->target.id, place->target.scope, place->path));
        }
    }
    object_put_number(&question, "above", above);
    object_put_adopt(&question, "reads", reads);
    return question;
}

static bool read_pair(struct value pair, uint64_t changed[2])
{
    if (!value_is_array(pair) || array_count(pair) != 2) {
        return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct value item = array_at(pair, i);
        if (value_kind(item) != VALUE_INT || value_integer(item) < 0) {
            return false;
        }
        changed[i] = (uint64_t)value_integer(item);
    }
    return true;
}

/* The page is unchanged unless the whole answer is valid. */
static enum err take_changed(const struct resume_asking *asking,
                             struct value list,
                             struct resume_page *page,
                             struct err_detail *detail)
{
    uint32_t next = 0;
    uint64_t changed[2];
    const uint32_t count = value_is_array(list) ? array_count(list) : 0;
    VEC_FOREACH (&page->places, place) {
        if (is_of(asking, place) &&
            (next >= count || !read_pair(array_at(list, next++), changed))) {
            return bad_answer("'changed' must have a pair per read", detail);
        }
    }
    next = 0;
    VEC_FOREACH (&page->places, place) {
        if (is_of(asking, place)) {
            (void)read_pair(array_at(list, next++), place->changed);
        }
    }
    return ERR_OK;
}

/* As resume_ask: with nothing seen there is nothing to compare. */
static enum err changed(struct store_access *store,
                        const struct resume_asking *asking,
                        struct resume_page *page,
                        uint64_t *head,
                        struct err_detail *detail)
{
    struct value answer;
    uint64_t above = UINT64_MAX;
    VEC_FOREACH (&page->elsewhere, seen) {
        if (key_equal(seen->space, asking->space) &&
            key_equal(seen->branch, asking->branch) && seen->seq < above) {
            above = seen->seq;
        }
    }
    if (above == UINT64_MAX) {
        above = 0;
    }
    enum err err = ask(asked(store),
                       changed_question(asking, page, above),
                       &answer,
                       detail);
    if (err == ERR_OK) {
        err = number_of(answer, "seq", head, detail);
    }
    if (err == ERR_OK) {
        err =
            take_changed(asking, object_field(answer, "changed"), page, detail);
    }
    value_unref(answer);
    return err;
}

/* -- Events -------------------------------------------------------------- */

static bool read_event(struct value row, struct waiting_event *event)
{
    if (!value_is_array(row) || array_count(row) != 3) {
        return false;
    }
    const struct value number = array_at(row, 0);
    event->id = array_at(row, 1);
    event->document = array_at(row, 2);
    if (value_kind(number) != VALUE_INT || value_integer(number) < 0 ||
        !value_is_string(event->id) || !value_is_object(event->document)) {
        return false;
    }
    event->number = (uint64_t)value_integer(number);
    event->due = 0;
    (void)event_timer_due(event->document, &event->due);
    return true;
}

static enum err visit_events(struct asked_store *store,
                             struct value answer,
                             uint64_t most,
                             waiting_fn *found,
                             void *ctx,
                             struct err_detail *detail)
{
    const struct value list = object_field(answer, "events");
    struct waiting_event event = {0};
    struct value row;
    if (!value_is_array(list) || array_count(list) > most) {
        return bad_answer("'events' must be a list within the limit", detail);
    }
    struct array_iter check = array_iter(list);
    while (array_next(&check, &row)) {
        if (!read_event(row, &event)) {
            return bad_answer("'events' has an invalid row", detail);
        }
    }
    const struct value at_work = object_field(answer, "atWork");
    if (store->claims != NULL && value_is_array(at_work)) {
        value_unref(store->claims->at_work);
        store->claims->at_work = value_ref(at_work);
    }
    struct array_iter iter = array_iter(list);
    while (array_next(&iter, &row)) {
        (void)read_event(row, &event);
        found(ctx, &event);
    }
    if (store->claims != NULL) {
        value_unref(store->claims->at_work);
        store->claims->at_work = VALUE_NONE;
    }
    return ERR_OK;
}

static enum err waiting(struct store_access *store,
                        struct value branch,
                        uint64_t after,
                        uint64_t limit,
                        waiting_fn *found,
                        void *ctx,
                        struct err_detail *detail)
{
    struct value question = question_about("events", branch);
    struct value answer;
    object_put_number(&question, "after", after);
    object_put_number(&question, "limit", limit);
    enum err err = ask(asked(store), question, &answer, detail);
    if (err == ERR_OK) {
        err = visit_events(asked(store), answer, limit, found, ctx, detail);
    }
    value_unref(answer);
    return err;
}

static enum err timers(struct store_access *store,
                       struct value branch,
                       struct timer_mark after,
                       uint64_t until,
                       uint64_t limit,
                       waiting_fn *found,
                       void *ctx,
                       uint64_t *next,
                       struct err_detail *detail)
{
    struct value question = question_about("timers", branch);
    struct value answer;
    object_put_number(&question, "due", after.due);
    object_put_number(&question, "number", after.number);
    object_put_number(&question, "until", until);
    object_put_number(&question, "limit", limit);
    enum err err = ask(asked(store), question, &answer, detail);
    *next = TIMER_NONE;
    if (err == ERR_OK && !value_is_absent(object_field(answer, "next"))) {
        err = number_of(answer, "next", next, detail);
    }
    if (err == ERR_OK) {
        err = visit_events(asked(store), answer, limit, found, ctx, detail);
    }
    value_unref(answer);
    return err;
}

static enum err timers_named(struct store_access *store,
                             struct value branch,
                             struct value prefix,
                             waiting_fn *found,
                             void *ctx,
                             struct err_detail *detail)
{
    struct value question = question_about("timersNamed", branch);
    struct value answer;
    object_put_adopt(&question, "prefix", value_ref(prefix));
    enum err err = ask(asked(store), question, &answer, detail);
    if (err == ERR_OK) {
        err = visit_events(asked(store),
                           answer,
                           QUESTIONS_NAMED_MAX,
                           found,
                           ctx,
                           detail);
    }
    value_unref(answer);
    return err;
}

/* -- Forgetting, and mirrors --------------------------------------------- */

static enum err forget_piece(struct store_access *store,
                             struct value branch,
                             struct value piece,
                             struct err_detail *detail)
{
    struct value question = question_about("forgetPiece", branch);
    object_put_adopt(&question, "piece", value_ref(piece));
    return tell(asked(store), question, detail);
}

static enum err forget_actions(struct store_access *store,
                               struct value branch,
                               struct value piece,
                               const struct digest *names,
                               size_t count,
                               struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t done = 0; err == ERR_OK && done < count;) {
        struct value question = question_about("forgetActions", branch);
        struct value list = value_empty_array();
        for (size_t i = 0; done < count && i < QUESTIONS_READS_MAX; i++) {
            char text[DIGEST_TEXT_LENGTH + 1];
            digest_write(names[done++], text);
            list = array_push_adopt(list, value_text_new(text));
        }
        object_put_adopt(&question, "piece", value_ref(piece));
        object_put_adopt(&question, "actions", list);
        err = tell(asked(store), question, detail);
    }
    return err;
}

static enum err put_mirror(struct store_access *store,
                           const struct mirror *mirror,
                           const struct changed_read *reads,
                           size_t count,
                           struct err_detail *detail)
{
    struct value question = question_about("mirror", mirror->branch);
    struct value list = value_empty_array();
    /* A mirror is a hint: what does not fit is left out. */
    for (size_t i = 0; i < count && i < QUESTIONS_READS_MAX; i++) {
        list = array_push_adopt(
            list,
            read_row(reads[i].id, reads[i].kind, reads[i].path));
    }
    object_put_adopt(&question, "space", value_ref(mirror->space));
    object_put_adopt(&question, "piece", value_ref(mirror->piece));
    object_put_adopt(&question, "here", value_ref(mirror->here));
    if (mirror->seq != STORE_ACCESS_HEAD) {
        object_put_number(&question, "seq", mirror->seq);
    }
    object_put_adopt(&question, "reads", list);
    return tell(asked(store), question, detail);
}

static const struct store_access_methods store_methods = {
    .resume = resume,
    .resume_count = resume_count,
    .changed = changed,
    .waiting = waiting,
    .timers = timers,
    .timers_named = timers_named,
    .forget_piece = forget_piece,
    .forget_actions = forget_actions,
    .put_mirror = put_mirror,
};

void asked_store_init(struct asked_store *store,
                      questions_ask_fn *ask_fn,
                      void *ctx,
                      struct asked_claims *claims)
{
    *store = (struct asked_store){
        .store = {&store_methods},
        .ask = ask_fn,
        .ctx = ctx,
        .claims = claims,
    };
    path_table_init(&store->paths);
}

void asked_store_release(struct asked_store *store)
{
    path_table_release(&store->paths);
}

/* -- Claims -------------------------------------------------------------- */

struct asked_claim {
    struct list_node node;
    enum claim_kind kind;
    struct value name;
};

static struct value claim_question(const char *name,
                                   enum lease_kind kind,
                                   struct value of)
{
    struct value question = question_new(name);
    object_put_text(&question, "claim", lease_kind_name(kind));
    if (!value_is_absent(of)) {
        object_put_adopt(&question, "name", value_ref(of));
    }
    return question;
}

static enum lease_kind lease_of(enum claim_kind kind)
{
    return kind == CLAIM_SENDER ? LEASE_SENDER : LEASE_TASK;
}

/* Adopts the question. False if it is not held, or was not answered; then
 * *err says why not. */
static bool ask_held(questions_ask_fn *ask_fn,
                     void *ctx,
                     struct value question,
                     enum err *err,
                     struct err_detail *detail)
{
    struct value answer = VALUE_NONE;
    *err = ask_fn(ctx, question, &answer, detail);
    value_unref(question);
    const struct value held = object_field(answer, "held");
    const bool is_held =
        *err == ERR_OK && value_kind(held) == VALUE_BOOL && value_boolean(held);
    value_unref(answer);
    return is_held;
}

static struct asked_claims *claims_of(struct claims *claims)
{
    return CONTAINER_OF(claims, struct asked_claims, claims);
}

static bool take_again(const struct asked_claims *claims,
                       enum claim_kind kind,
                       struct value name)
{
    enum err err;
    return ask_held(claims->ask,
                    claims->ctx,
                    claim_question("claim", lease_of(kind), name),
                    &err,
                    NULL);
}

static void *take(struct claims *claims,
                  enum claim_kind kind,
                  struct value name)
{
    if (!take_again(claims_of(claims), kind, name)) {
        return NULL;
    }
    struct asked_claim *claim = mem_alloc_zero(sizeof *claim);
    list_node_init(&claim->node);
    claim->kind = kind;
    claim->name = value_ref(name);
    list_push_back(&claims_of(claims)->taken, &claim->node);
    return claim;
}

static void claim_free(struct asked_claim *claim)
{
    list_remove(&claim->node);
    value_unref(claim->name);
    mem_free(claim, sizeof *claim);
}

static void give_back(struct claims *claims, void *claim)
{
    struct asked_claims *own = claims_of(claims);
    struct asked_claim *given = claim;
    struct value answer = VALUE_NONE;
    struct value question =
        claim_question("release", lease_of(given->kind), given->name);
    /* If the server cannot be reached, the end of the connection ends it. */
    const enum err err = own->ask(own->ctx, question, &answer, NULL);
    (void)err;
    value_unref(question);
    value_unref(answer);
    claim_free(given);
}

static bool is_held(struct claims *claims,
                    enum claim_kind kind,
                    struct value name)
{
    const struct asked_claims *own = claims_of(claims);
    if (kind == CLAIM_SENDER && !value_is_absent(own->at_work)) {
        struct array_iter iter = array_iter(own->at_work);
        struct value item;
        while (array_next(&iter, &item)) {
            if (value_is_string(item) && key_equal(item, name)) {
                return true;
            }
        }
        return false;
    }
    enum err err;
    return ask_held(own->ask,
                    own->ctx,
                    claim_question("isHeld", lease_of(kind), name),
                    &err,
                    NULL) ||
           err != ERR_OK;
}

static const struct claims_methods claims_methods = {
    .take = take,
    .give_back = give_back,
    .is_held = is_held,
};

void asked_claims_init(struct asked_claims *claims,
                       questions_ask_fn *ask_fn,
                       void *ctx)
{
    *claims = (struct asked_claims){
        .claims = {&claims_methods},
        .ask = ask_fn,
        .ctx = ctx,
    };
    list_init(&claims->taken);
}

void asked_claims_release(struct asked_claims *claims)
{
    struct list_node *node;
    while ((node = list_first(&claims->taken)) != NULL) {
        claim_free(CONTAINER_OF(node, struct asked_claim, node));
    }
    value_unref(claims->at_work);
    claims->at_work = VALUE_NONE;
}

void asked_claims_renew(struct asked_claims *claims)
{
    LIST_FOREACH (&claims->taken, node) {
        const struct asked_claim *claim =
            CONTAINER_OF(node, struct asked_claim, node);
        (void)take_again(claims, claim->kind, claim->name);
    }
}

enum err questions_claim_session(questions_ask_fn *ask_fn,
                                 void *ctx,
                                 struct err_detail *detail)
{
    enum err err;
    const bool is_held =
        ask_held(ask_fn,
                 ctx,
                 claim_question("claim", LEASE_SESSION, VALUE_NONE),
                 &err,
                 detail);
    return err != ERR_OK || is_held
               ? err
               : bad_answer("a session must be claimed or refused", detail);
}

enum err questions_begin_presence(questions_ask_fn *ask_fn,
                                  void *ctx,
                                  struct value about,
                                  struct err_detail *detail)
{
    struct value question = claim_question("claim", LEASE_PRESENCE, VALUE_NONE);
    enum err err;
    object_put_adopt(&question, "about", value_ref(about));
    (void)ask_held(ask_fn, ctx, question, &err, detail);
    return err;
}
