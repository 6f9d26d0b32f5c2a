/* The side of the store: parameters, calls of the engine, and answers. */

#include "base/limits.h"
#include "host/questions.h"
#include "host/session_lock.h"
#include "proto/event.h"
#include "proto/fields.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

struct asking {
    struct engine *engine;
    const struct questions_context *context;
    struct value question;
    struct fields fields;
    struct err_detail *detail;
};

static enum err bad(const struct asking *asking,
                    const char *field,
                    const char *what)
{
    return fields_bad(&asking->fields, field, what);
}

/* A string, borrowed. */
static enum err get_name(const struct asking *asking,
                         const char *field,
                         bool may_be_empty,
                         struct value *out)
{
    *out = object_field(asking->question, field);
    if (!value_is_string(*out)) {
        return bad(asking, field, "must be a string");
    }
    const size_t length = value_text(out).length;
    if (length == 0 && !may_be_empty) {
        return bad(asking, field, "must not be empty");
    }
    return length <= LIMIT_ID_BYTES ? ERR_OK
                                    : bad(asking, field, "is too long");
}

static enum err get_number(const struct asking *asking,
                           const char *field,
                           uint64_t *out)
{
    return field_number(&asking->fields, asking->question, field, out);
}

/* From 1 to `most`. */
static enum err get_limit(const struct asking *asking,
                          uint64_t most,
                          uint64_t *out)
{
    enum err err = get_number(asking, "limit", out);
    if (err == ERR_OK && *out == 0) {
        err = bad(asking, "limit", "must not be 0");
    }
    *out = *out < most ? *out : most;
    return err;
}

static enum err get_list(const struct asking *asking,
                         const char *field,
                         uint32_t most,
                         struct value *out)
{
    return field_list(&asking->fields,
                      asking->question,
                      field,
                      most,
                      ERR_LIMIT_COMMIT,
                      out);
}

static enum err check_writing(const struct asking *asking)
{
    return asking->context->may_write
               ? ERR_OK
               : err_set(asking->detail,
                         ERR_ACCESS,
                         "this needs the right to write to the space");
}

/* -- Pieces -------------------------------------------------------------- */

static enum err get_query(const struct asking *asking,
                          struct resume_query *query)
{
    uint64_t limit = 0;
    bool is_shared = false;
    *query = (struct resume_query){0};
    enum err err = get_name(asking, "branch", true, &query->branch);
    if (err == ERR_OK) {
        err = get_name(asking, "piece", false, &query->piece);
    }
    if (err == ERR_OK) {
        err = get_number(asking, "generation", &query->generation);
    }
    if (err == ERR_OK) {
        err = get_number(asking, "after", &query->after);
    }
    if (err == ERR_OK) {
        err = get_number(asking, "seq", &query->seq);
    }
    if (err == ERR_OK) {
        err = get_limit(asking, QUESTIONS_ACTIONS_MAX, &limit);
    }
    if (err == ERR_OK) {
        err =
            field_flag(&asking->fields, asking->question, "shared", &is_shared);
    }
    query->limit = (uint32_t)limit;
    if (!is_shared) {
        query->identity = asking->context->identity;
    }
    return err;
}

static enum err answer_resume(const struct asking *asking, struct value *answer)
{
    struct resume_query query;
    struct resume_page page;
    enum err err = get_query(asking, &query);
    if (err == ERR_OK) {
        err = engine_resume(asking->engine, &query, &page, asking->detail);
    }
    if (err == ERR_OK) {
        value_unref(*answer);
        *answer = resume_page_write(&page);
        resume_page_release(&page);
    }
    return err;
}

static enum err answer_resume_count(const struct asking *asking,
                                    struct value *answer)
{
    struct resume_query query;
    uint64_t count = 0;
    enum err err = get_query(asking, &query);
    if (err == ERR_OK) {
        err =
            engine_resume_count(asking->engine, &query, &count, asking->detail);
    }
    object_put_number(answer, "count", count);
    return err;
}

/* -- Reads --------------------------------------------------------------- */

typedef VEC(struct changed_read) read_list;

static void release_reads(read_list *reads)
{
    VEC_FOREACH (reads, read) {
        value_unref(read->scope_key);
        path_unref(read->path);
    }
    vec_release(reads);
}

/* [id, number, pointer]: the number is that of a scope or of a kind. Each read
 * is added with its scope key absent, and the number in `changed`. */
static enum err add_read(const struct asking *asking,
                         struct value row,
                         unsigned last,
                         read_list *reads)
{
    const bool is_row = value_is_array(row) && array_count(row) == 3;
    const struct value id = is_row ? array_at(row, 0) : VALUE_NONE;
    const struct value number = is_row ? array_at(row, 1) : VALUE_NONE;
    const struct value pointer = is_row ? array_at(row, 2) : VALUE_NONE;
    struct changed_read read = {.id = id};
    if (!value_is_string(id) || document_id_check(id, NULL) != ERR_OK ||
        value_kind(number) != VALUE_INT || value_integer(number) < 0 ||
        value_integer(number) > (int64_t)last || !value_is_string(pointer)) {
        return bad(asking, "reads", "has an invalid row");
    }
    const struct text text = value_text(&pointer);
    const enum err err = path_read_stored(&asking->engine->paths,
                                          text.at,
                                          text.length,
                                          &read.path,
                                          asking->detail);
    if (err == ERR_OK) {
        read.changed = (uint64_t)value_integer(number);
        vec_push(reads, read);
    }
    return err;
}

static enum err get_reads(const struct asking *asking,
                          unsigned last,
                          read_list *reads)
{
    struct value list = VALUE_NONE;
    enum err err = get_list(asking, "reads", QUESTIONS_READS_MAX, &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        err = add_read(asking, array_at(list, i), last, reads);
    }
    return err;
}

static enum err set_scope(const struct asking *asking,
                          enum scope scope,
                          struct changed_read *read)
{
    return scope_key_new(scope,
                         asking->context->identity,
                         &read->scope_key,
                         asking->detail);
}

/* Each place is asked for twice: deep, and its shape. */
static enum err make_pairs(const struct asking *asking,
                           const read_list *places,
                           read_list *pairs)
{
    enum err err = ERR_OK;
    VEC_FOREACH (places, place) {
        for (unsigned kind = READ_DEEP; err == ERR_OK && kind <= READ_SHAPE;
             kind++) {
            struct changed_read read = {
                .id = place->id,
                .path = path_ref(place->path),
                .kind = (enum read_kind)kind,
            };
            err = set_scope(asking, (enum scope)place->changed, &read);
            vec_push(pairs, read);
        }
    }
    return err;
}

static struct value write_pairs(const read_list *pairs)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i + 1 < pairs->count; i += 2) {
        const struct value pair[] = {
            value_int((int64_t)pairs->at[i].changed),
            value_int((int64_t)pairs->at[i + 1].changed),
        };
        list = array_push_adopt(list, array_new_adopt(pair, COUNT_OF(pair)));
    }
    return list;
}

static enum err answer_changed(const struct asking *asking,
                               struct value *answer)
{
    struct value branch = VALUE_NONE;
    uint64_t above = 0;
    read_list places = {0};
    read_list pairs = {0};
    enum err err = get_name(asking, "branch", true, &branch);
    if (err == ERR_OK) {
        err = get_number(asking, "above", &above);
    }
    if (err == ERR_OK) {
        err = get_reads(asking, SCOPE_SESSION, &places);
    }
    if (err == ERR_OK) {
        err = make_pairs(asking, &places, &pairs);
    }
    if (err == ERR_OK) {
        err = engine_changed_above(asking->engine,
                                   branch,
                                   above,
                                   pairs.at,
                                   pairs.count,
                                   asking->detail);
    }
    if (err == ERR_OK) {
        object_put_number(answer, "seq", asking->engine->seq);
        object_put_adopt(answer, "changed", write_pairs(&pairs));
    }
    release_reads(&places);
    release_reads(&pairs);
    return err;
}

static enum err get_mirror(const struct asking *asking, struct mirror *mirror)
{
    enum err err = get_name(asking, "space", false, &mirror->space);
    if (err == ERR_OK) {
        err = get_name(asking, "branch", true, &mirror->branch);
    }
    if (err == ERR_OK) {
        err = get_name(asking, "piece", false, &mirror->piece);
    }
    if (err == ERR_OK) {
        err = get_name(asking, "here", true, &mirror->here);
    }
    mirror->seq = asking->engine->seq;
    if (err == ERR_OK &&
        !value_is_absent(object_field(asking->question, "seq"))) {
        err = get_number(asking, "seq", &mirror->seq);
    }
    return err;
}

static enum err answer_mirror(const struct asking *asking, struct value *answer)
{
    (void)answer;
    struct mirror mirror = {0};
    read_list reads = {0};
    enum err err = check_writing(asking);
    if (err == ERR_OK) {
        err = get_mirror(asking, &mirror);
    }
    if (err == ERR_OK) {
        err = get_reads(asking, READ_SHAPE, &reads);
    }
    VEC_FOREACH (&reads, read) {
        read->kind = (enum read_kind)read->changed;
        read->changed = 0;
        if (err == ERR_OK) {
            err = set_scope(asking, SCOPE_SPACE, read);
        }
    }
    if (err == ERR_OK) {
        err = engine_mirror_put(asking->engine,
                                &mirror,
                                reads.at,
                                reads.count,
                                asking->detail);
    }
    release_reads(&reads);
    return err;
}

/* -- Forgetting ---------------------------------------------------------- */

static enum err answer_forget_piece(const struct asking *asking,
                                    struct value *answer)
{
    (void)answer;
    struct value branch = VALUE_NONE;
    struct value piece = VALUE_NONE;
    enum err err = check_writing(asking);
    if (err == ERR_OK) {
        err = get_name(asking, "branch", true, &branch);
    }
    if (err == ERR_OK) {
        err = get_name(asking, "piece", false, &piece);
    }
    return err == ERR_OK ? engine_piece_forget(asking->engine,
                                               branch,
                                               piece,
                                               asking->detail)
                         : err;
}

static enum err get_digests(const struct asking *asking,
                            struct value list,
                            struct digest *out)
{
    for (uint32_t i = 0; i < array_count(list); i++) {
        if (!digest_read(array_at(list, i), &out[i])) {
            return bad(asking, "actions", "must hold digests");
        }
    }
    return ERR_OK;
}

static enum err answer_forget_actions(const struct asking *asking,
                                      struct value *answer)
{
    (void)answer;
    struct value branch = VALUE_NONE;
    struct value piece = VALUE_NONE;
    struct value list = VALUE_NONE;
    enum err err = check_writing(asking);
    if (err == ERR_OK) {
        err = get_name(asking, "branch", true, &branch);
    }
    if (err == ERR_OK) {
        err = get_name(asking, "piece", false, &piece);
    }
    if (err == ERR_OK) {
        err = get_list(asking, "actions", QUESTIONS_READS_MAX, &list);
    }
    if (err != ERR_OK) {
        return err;
    }
    const size_t size =
        mem_array_size(array_count(list) + 1, sizeof(struct digest));
    struct digest *names = mem_alloc(size);
    err = get_digests(asking, list, names);
    if (err == ERR_OK) {
        err = engine_actions_forget(asking->engine,
                                    branch,
                                    piece,
                                    names,
                                    array_count(list),
                                    asking->detail);
    }
    mem_free(names, size);
    return err;
}

/* -- Events -------------------------------------------------------------- */

struct listing {
    struct value events;
    size_t left; /* of QUESTIONS_NAMED_MAX, where the engine has no limit */
};

static void on_event(void *ctx, const struct waiting_event *event)
{
    struct listing *listing = ctx;
    const struct value row[] = {
        value_int((int64_t)event->number),
        value_ref(event->id),
        value_ref(event->document),
    };
    if (listing->left == 0) {
        value_unref(row[1]);
        value_unref(row[2]);
        return;
    }
    listing->left--;
    listing->events =
        array_push_adopt(listing->events, array_new_adopt(row, COUNT_OF(row)));
}

static bool has(struct value list, struct value name)
{
    struct array_iter iter = array_iter(list);
    struct value item;
    while (array_next(&iter, &item)) {
        if (key_equal(item, name)) {
            return true;
        }
    }
    return false;
}

/* Of the senders of these events, those that are alive; each is looked up
 * once. */
static struct value find_at_work(const struct asking *asking,
                                 struct value events)
{
    struct value at_work = value_empty_array();
    struct value gone = value_empty_array();
    struct array_iter iter = array_iter(events);
    struct value row;
    while (asking->context->leases != NULL && array_next(&iter, &row)) {
        const struct value instance =
            object_field(object_field(array_at(row, 2), "event"), "instance");
        if (!value_is_string(instance) || has(at_work, instance) ||
            has(gone, instance)) {
            continue;
        }
        struct value *to = client_leases_is_held(asking->context->leases,
                                                 LEASE_SENDER,
                                                 instance)
                               ? &at_work
                               : &gone;
        *to = array_push_adopt(*to, value_ref(instance));
    }
    value_unref(gone);
    return at_work;
}

static enum err answer_events(const struct asking *asking, struct value *answer)
{
    struct listing listing = {value_empty_array(), SIZE_MAX};
    struct value branch = VALUE_NONE;
    uint64_t after = 0;
    uint64_t limit = 0;
    enum err err = get_name(asking, "branch", true, &branch);
    if (err == ERR_OK) {
        err = get_number(asking, "after", &after);
    }
    if (err == ERR_OK) {
        err = get_limit(asking, QUESTIONS_EVENTS_MAX, &limit);
    }
    if (err == ERR_OK) {
        err = engine_read_begin(asking->engine, asking->detail);
    }
    if (err == ERR_OK) {
        err = engine_waiting(asking->engine,
                             branch,
                             after,
                             limit,
                             on_event,
                             &listing,
                             asking->detail);
        engine_read_end(asking->engine);
    }
    if (err == ERR_OK && asking->context->follows != NULL) {
        *asking->context->follows = true;
    }
    object_put_adopt(answer, "atWork", find_at_work(asking, listing.events));
    object_put_adopt(answer, "events", listing.events);
    return err;
}

static enum err list_timers(const struct asking *asking,
                            struct value branch,
                            struct timer_mark after,
                            uint64_t until,
                            uint64_t limit,
                            struct value *answer)
{
    struct listing listing = {value_empty_array(), SIZE_MAX};
    uint64_t next = TIMER_NONE;
    enum err err = engine_read_begin(asking->engine, asking->detail);
    if (err == ERR_OK) {
        err = engine_timers(asking->engine,
                            branch,
                            after,
                            until,
                            limit,
                            on_event,
                            &listing,
                            asking->detail);
        if (err == ERR_OK) {
            err = engine_timer_next(asking->engine,
                                    branch,
                                    until,
                                    &next,
                                    asking->detail);
        }
        engine_read_end(asking->engine);
    }
    object_put_adopt(answer, "events", listing.events);
    if (next != TIMER_NONE) {
        object_put_number(answer, "next", next);
    }
    return err;
}

static enum err answer_timers(const struct asking *asking, struct value *answer)
{
    struct value branch = VALUE_NONE;
    struct timer_mark after = {0};
    uint64_t until = 0;
    uint64_t limit = 0;
    enum err err = get_name(asking, "branch", true, &branch);
    if (err == ERR_OK) {
        err = get_number(asking, "due", &after.due);
    }
    if (err == ERR_OK) {
        err = get_number(asking, "number", &after.number);
    }
    if (err == ERR_OK) {
        err = get_number(asking, "until", &until);
    }
    if (err == ERR_OK) {
        err = get_limit(asking, QUESTIONS_EVENTS_MAX, &limit);
    }
    return err == ERR_OK
               ? list_timers(asking, branch, after, until, limit, answer)
               : err;
}

static enum err answer_timers_named(const struct asking *asking,
                                    struct value *answer)
{
    struct listing listing = {value_empty_array(), QUESTIONS_NAMED_MAX};
    struct value branch = VALUE_NONE;
    struct value prefix = VALUE_NONE;
    enum err err = get_name(asking, "branch", true, &branch);
    if (err == ERR_OK) {
        err = get_name(asking, "prefix", false, &prefix);
    }
    if (err == ERR_OK) {
        err = engine_read_begin(asking->engine, asking->detail);
    }
    if (err == ERR_OK) {
        err = engine_timers_named(asking->engine,
                                  branch,
                                  prefix,
                                  on_event,
                                  &listing,
                                  asking->detail);
        engine_read_end(asking->engine);
    }
    object_put_adopt(answer, "events", listing.events);
    return err;
}

/* -- Claims -------------------------------------------------------------- */

/* The kind, and the name: of a session it is that of the one that asks
 * (questions-1). *name is new. */
static enum err get_claim(const struct asking *asking,
                          enum lease_kind *kind,
                          struct value *name)
{
    const struct identity identity = asking->context->identity;
    *name = VALUE_NONE;
    if (asking->context->leases == NULL) {
        return err_set(asking->detail,
                       ERR_ARGUMENT,
                       "this space has no data directory, so nothing can be "
                       "claimed");
    }
    if (!lease_kind_read(object_field(asking->question, "claim"), kind)) {
        return bad(asking,
                   "claim",
                   "must be 'sender', 'task', 'session' or 'presence'");
    }
    if (*kind == LEASE_SESSION || *kind == LEASE_PRESENCE) {
        if (value_is_absent(identity.session)) {
            return err_set(asking->detail,
                           ERR_ARGUMENT,
                           "a channel without a session cannot claim one");
        }
        return session_lock_name(identity, name, asking->detail);
    }
    const enum err err = get_name(asking, "name", false, name);
    value_ref(*name);
    return err;
}

/* What others see of the holder. */
static enum err get_about(const struct asking *asking,
                          enum lease_kind kind,
                          struct value *out)
{
    const struct identity identity = asking->context->identity;
    const struct value about = object_field(asking->question, "about");
    struct buf text = {0};
    *out = value_empty_object();
    if (!value_is_absent(about)) {
        const bool fits =
            value_is_object(about) && json_write_within(&text,
                                                        about,
                                                        JSON_AS_GIVEN,
                                                        0,
                                                        LEASE_ABOUT_BYTES);
        buf_release(&text);
        if (!fits) {
            return bad(asking, "about", "must be an object of 48 KiB or less");
        }
        *out = value_ref(about);
    }
    if (kind == LEASE_SESSION || kind == LEASE_PRESENCE) {
        object_put_adopt(out, "session", value_ref(identity.session));
    }
    if (!value_is_absent(identity.principal)) {
        object_put_adopt(out, "user", value_ref(identity.principal));
    }
    return ERR_OK;
}

/* The runtime of the channel. */
static struct value instance_of(const struct questions_context *context)
{
    return value_is_absent(context->instance) ? context->identity.session
                                              : context->instance;
}

/* A claim of a task keeps others from running it, and that of a sender from
 * handling its events: both need the right to write. A runtime is no sender but
 * itself. */
static enum err check_claim(const struct asking *asking,
                            enum lease_kind kind,
                            struct value name)
{
    const struct value instance = instance_of(asking->context);
    if (value_is_absent(instance)) {
        return bad(asking, "claim", "needs a session or an instance");
    }
    if (kind == LEASE_SENDER && !key_equal(name, instance)) {
        return bad(asking, "name", "must be the instance that asks");
    }
    return kind == LEASE_SENDER || kind == LEASE_TASK ? check_writing(asking)
                                                      : ERR_OK;
}

static enum err answer_claim(const struct asking *asking, struct value *answer)
{
    const struct questions_context *context = asking->context;
    enum lease_kind kind = LEASE_SENDER;
    struct value name = VALUE_NONE;
    struct value about = VALUE_NONE;
    struct value other = VALUE_NONE;
    enum err err = get_claim(asking, &kind, &name);
    if (err == ERR_OK) {
        err = check_claim(asking, kind, name);
    }
    if (err == ERR_OK) {
        err = get_about(asking, kind, &about);
    }
    if (err == ERR_OK) {
        const struct lease_wanted wanted = {
            .kind = kind,
            .name = name,
            .instance = instance_of(context),
            .principal = context->identity.principal,
            .about = about,
        };
        err = client_leases_take(context->leases,
                                 context->holder,
                                 &wanted,
                                 &other,
                                 asking->detail);
    }
    if (err == ERR_BUSY && kind == LEASE_SESSION) {
        err = session_lock_refuse(context->identity, other, asking->detail);
    }
    object_put_adopt(answer, "held", value_bool(err == ERR_OK));
    value_unref(other);
    value_unref(about);
    value_unref(name);
    return err == ERR_BUSY ? ERR_OK : err;
}

static enum err answer_release(const struct asking *asking,
                               struct value *answer)
{
    (void)answer;
    enum lease_kind kind;
    struct value name;
    const enum err err = get_claim(asking, &kind, &name);
    if (err == ERR_OK) {
        client_leases_give_back(asking->context->leases,
                                asking->context->holder,
                                kind,
                                name);
    }
    value_unref(name);
    return err;
}

static enum err answer_is_held(const struct asking *asking,
                               struct value *answer)
{
    enum lease_kind kind;
    struct value name;
    const enum err err = get_claim(asking, &kind, &name);
    if (err == ERR_OK) {
        const bool is_held =
            client_leases_is_held(asking->context->leases, kind, name);
        object_put_adopt(answer, "held", value_bool(is_held));
    }
    value_unref(name);
    return err;
}

static enum err answer_seq(const struct asking *asking, struct value *answer)
{
    object_put_number(answer, "seq", asking->engine->seq);
    return ERR_OK;
}

/* ------------------------------------------------------------------------ */

typedef enum err answer_fn(const struct asking *asking, struct value *answer);

static answer_fn *find_answer(struct value name)
{
    static const struct {
        const char *name;
        answer_fn *answer;
    } rows[] = {
        {"resume", answer_resume},
        {"resumeCount", answer_resume_count},
        {"changed", answer_changed},
        {"events", answer_events},
        {"timers", answer_timers},
        {"timersNamed", answer_timers_named},
        {"forgetPiece", answer_forget_piece},
        {"forgetActions", answer_forget_actions},
        {"mirror", answer_mirror},
        {"claim", answer_claim},
        {"release", answer_release},
        {"isHeld", answer_is_held},
        {"seq", answer_seq},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (value_is_text(name, rows[i].name)) {
            return rows[i].answer;
        }
    }
    return NULL;
}

enum err questions_answer(struct engine *engine,
                          const struct questions_context *context,
                          struct value question,
                          struct value *answer,
                          struct err_detail *detail)
{
    struct err_detail own = {0};
    const struct asking asking = {
        .engine = engine,
        .context = context,
        .question = question,
        .fields = {.paths = &engine->paths, .detail = detail},
        .detail = detail != NULL ? detail : &own,
    };
    answer_fn *find = find_answer(object_field(question, "question"));
    *answer = VALUE_NONE;
    if (find == NULL) {
        return err_set(detail,
                       ERR_NOT_FOUND,
                       "the store does not know this question: update the "
                       "server or the client");
    }
    struct value found = value_empty_object();
    const enum err err = find(&asking, &found);
    if (err == ERR_OK) {
        *answer = found;
    } else {
        value_unref(found);
    }
    return err;
}
