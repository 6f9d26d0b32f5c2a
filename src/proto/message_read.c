/* Decoding a message. Nothing is trusted (message-1). */

#include "base/limits.h"
#include "proto/fields.h"
#include "proto/message.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Parts --------------------------------------------------------------- */

/* The list in a field that must be there; its elements are objects. */
static enum err read_list(struct fields *fields,
                          struct value object,
                          const char *field,
                          uint32_t most,
                          struct value *out)
{
    if (value_is_absent(object_field(object, field))) {
        return fields_bad(fields, field, "must be an array");
    }
    return field_list(fields, object, field, most, ERR_LIMIT_ELEMENTS, out);
}

/* A number that is 0 if it is left out. */
static enum err read_caught_up(struct fields *fields,
                               struct value object,
                               struct message *out)
{
    static const char field[] = "caughtUpLocalSeq";
    return value_is_absent(object_field(object, field))
               ? ERR_OK
               : field_number(fields, object, field, &out->caught_up);
}

/* "field[index].", whose element must be an object. */
static enum err enter_element(struct fields *fields,
                              const char *field,
                              uint32_t index,
                              struct value element)
{
    fields_enter_element(fields, "", field, index);
    return value_is_object(element)
               ? ERR_OK
               : fields_bad(fields, "", "must be an object");
}

static enum err read_targets(struct fields *fields,
                             struct value list,
                             const char *field,
                             struct message *out)
{
    enum err err = ERR_OK;
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value element = array_at(list, i);
        err = enter_element(fields, field, i, element);
        if (err == ERR_OK) {
            vec_push(&out->targets, (struct target){.scope = SCOPE_SPACE});
            err = field_target(fields, element, vec_last(&out->targets));
        }
    }
    return err;
}

/* A document in a field that may be left out. */
static enum err read_document(struct fields *fields,
                              struct value object,
                              const char *field,
                              struct value *out)
{
    const struct value document = object_field(object, field);
    if (value_is_absent(document)) {
        return ERR_OK;
    }
    if (!value_is_object(document)) {
        return fields_bad(fields, field, "must be an object");
    }
    if (value_depth(document) > LIMIT_DEPTH) {
        char where[FIELDS_WHERE_SIZE];
        return err_set(fields->detail,
                       ERR_LIMIT_DEPTH,
                       "%s%s is nested too deeply",
                       fields_where(fields, where),
                       field);
    }
    *out = value_ref(document);
    return ERR_OK;
}

/* A delta has nothing else. Its operations are checked when they are applied.
 */
static enum err read_delta(struct fields *fields,
                           struct value object,
                           struct upsert *out)
{
    const struct value patch = object_field(object, "patch");
    const enum err err = field_number(fields, object, "from", &out->from);
    if (err != ERR_OK) {
        return err;
    }
    if (out->from == 0 || out->from >= out->seq) {
        return fields_bad(fields, "from", "must be from 1 on and below seq");
    }
    if (!value_is_array(patch)) {
        return fields_bad(fields, "patch", "must be an array");
    }
    if (!value_is_absent(object_field(object, "document")) ||
        !value_is_absent(object_field(object, "before"))) {
        return fields_bad(fields, "patch", "must stand alone");
    }
    out->patch = value_ref(patch);
    return ERR_OK;
}

static enum err read_upsert(struct fields *fields,
                            struct value object,
                            struct upsert *out)
{
    enum err err = field_target(fields, object, &out->target);
    if (err == ERR_OK) {
        err = field_number(fields, object, "seq", &out->seq);
    }
    if (err == ERR_OK && !value_is_absent(object_field(object, "from"))) {
        return read_delta(fields, object, out);
    }
    if (err == ERR_OK) {
        err = read_document(fields, object, "document", &out->document);
    }
    const struct value before = object_field(object, "before");
    out->has_before = !value_is_absent(before);
    return err == ERR_OK && out->has_before && value_kind(before) != VALUE_NULL
               ? read_document(fields, object, "before", &out->before)
               : err;
}

static enum err read_upserts(struct fields *fields,
                             struct value list,
                             struct message *out)
{
    enum err err = ERR_OK;
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value element = array_at(list, i);
        err = enter_element(fields, "upserts", i, element);
        if (err == ERR_OK) {
            vec_push(&out->upserts, (struct upsert){.seq = 0});
            err = read_upsert(fields, element, vec_last(&out->upserts));
        }
    }
    return err;
}

/* -- Kinds --------------------------------------------------------------- */

static enum err read_token(struct fields *fields,
                           struct value object,
                           struct message *out)
{
    return value_is_absent(object_field(object, "token"))
               ? ERR_OK
               : field_name(fields, object, "token", NULL, &out->token);
}

static enum err read_open(struct fields *fields,
                          struct value object,
                          struct message *out)
{
    enum err err = ERR_OK;
    if (!value_is_absent(object_field(object, "session"))) {
        err = field_name(fields, object, "session", NULL, &out->session);
        if (err == ERR_OK && value_text(&out->session).length == 0) {
            return fields_bad(fields, "session", "must not be empty");
        }
    }
    if (err == ERR_OK) {
        err = field_name(fields, object, "branch", "", &out->branch);
    }
    if (err == ERR_OK) {
        err = field_number(fields, object, "seenSeq", &out->seen_seq);
    }
    if (err == ERR_OK && !value_is_absent(object_field(object, "client"))) {
        err = field_number(fields, object, "client", &out->client);
    }
    if (err == ERR_OK) {
        err = field_flag(fields, object, "observations", &out->observations);
    }
    if (err == ERR_OK) {
        err = field_flag(fields, object, "deltas", &out->deltas);
    }
    return err == ERR_OK ? read_token(fields, object, out) : err;
}

static enum err read_commits(struct fields *fields,
                             struct value object,
                             struct message *out)
{
    struct value list;
    enum err err =
        read_list(fields, object, "commits", LIMIT_MESSAGE_COMMITS, &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        struct err_detail why = {0};
        struct commit *commit = mem_alloc_zero(sizeof *commit);
        vec_push(&out->commits, commit);
        out->owned = true;
        err = commit_read(array_at(list, i), fields->paths, commit, &why);
        if (err != ERR_OK) {
            return err_set(fields->detail, err, "commits[%u]: %s", i, why.text);
        }
    }
    return err;
}

/* From where on each target is wanted, if any of them says so. */
static enum err read_since(struct fields *fields,
                           struct value list,
                           struct message *out)
{
    enum err err = ERR_OK;
    bool any = false;
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value element = array_at(list, i);
        uint64_t since = 0;
        if (!value_is_absent(object_field(element, "since"))) {
            fields_enter_element(fields, "", "targets", i);
            err = field_number(fields, element, "since", &since);
            if (err == ERR_OK && since == 0) {
                return fields_bad(fields,
                                  "since",
                                  "must be an integer from 1 on");
            }
            any = true;
        }
        vec_push(&out->since, since);
    }
    if (!any) {
        vec_release(&out->since);
    }
    return err;
}

/* The targets of a message that can have selectors instead. */
static enum err read_asked(struct fields *fields,
                           struct value object,
                           struct message *out,
                           struct value *list)
{
    const bool needed = value_is_absent(object_field(object, "selectors"));
    *list = value_empty_array();
    if (!needed && value_is_absent(object_field(object, "targets"))) {
        return ERR_OK;
    }
    const enum err err =
        read_list(fields, object, "targets", LIMIT_MESSAGE_DOCUMENTS, list);
    return err == ERR_OK ? read_targets(fields, *list, "targets", out) : err;
}

static enum err read_selectors(struct fields *fields,
                               struct value object,
                               struct message *out)
{
    static const char field[] = "selectors";
    struct value list;
    enum err err = field_list(fields,
                              object,
                              field,
                              LIMIT_REACH_SELECTORS,
                              ERR_LIMIT_ELEMENTS,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value element = array_at(list, i);
        err = enter_element(fields, field, i, element);
        if (err == ERR_OK) {
            vec_push(&out->selectors, (struct selector){.has_depth = false});
            err = selector_read(fields, element, vec_last(&out->selectors));
        }
    }
    return err;
}

static enum err read_watch(struct fields *fields,
                           struct value object,
                           struct message *out)
{
    struct value list;
    enum err err = read_asked(fields, object, out, &list);
    if (err == ERR_OK) {
        err = read_since(fields, list, out);
    }
    return err == ERR_OK ? read_selectors(fields, object, out) : err;
}

/* The ids of selectors. */
static enum err read_selector_ids(struct fields *fields,
                                  struct value object,
                                  struct message *out)
{
    struct value list;
    enum err err = field_list(fields,
                              object,
                              "selectors",
                              LIMIT_REACH_SELECTORS,
                              ERR_LIMIT_ELEMENTS,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value id = array_at(list, i);
        if (!value_is_string(id) || value_text(&id).length == 0 ||
            value_text(&id).length > LIMIT_ID_BYTES) {
            return fields_bad(fields, "selectors", "must be an array of ids");
        }
        vec_push(&out->selectors, (struct selector){.id = value_ref(id)});
    }
    return err;
}

static enum err read_unwatch(struct fields *fields,
                             struct value object,
                             struct message *out)
{
    struct value list;
    const enum err err = read_asked(fields, object, out, &list);
    return err == ERR_OK ? read_selector_ids(fields, object, out) : err;
}

static enum err read_ack(struct fields *fields,
                         struct value object,
                         struct message *out)
{
    return field_number(fields, object, "seenSeq", &out->seen_seq);
}

static enum err read_opened(struct fields *fields,
                            struct value object,
                            struct message *out)
{
    enum err err = field_name(fields, object, "session", NULL, &out->session);
    if (err == ERR_OK && value_text(&out->session).length == 0) {
        return fields_bad(fields, "session", "must not be empty");
    }
    if (err == ERR_OK) {
        err = field_flag(fields, object, "resumed", &out->resumed);
    }
    if (err == ERR_OK) {
        err = field_flag(fields, object, "markers", &out->markers);
    }
    if (err == ERR_OK) {
        err = field_flag(fields, object, "observations", &out->observations);
    }
    if (err == ERR_OK) {
        err = field_number(fields, object, "serverSeq", &out->server_seq);
    }
    if (err == ERR_OK) {
        err = read_token(fields, object, out);
    }
    return err == ERR_OK ? read_caught_up(fields, object, out) : err;
}

static enum err read_verdicts(struct fields *fields,
                              struct value object,
                              struct message *out)
{
    struct value list;
    enum err err =
        read_list(fields, object, "verdicts", LIMIT_MESSAGE_COMMITS, &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value element = array_at(list, i);
        err = enter_element(fields, "verdicts", i, element);
        if (err != ERR_OK) {
            break;
        }
        vec_push(&out->verdicts, (struct message_verdict){.local_seq = 0});
        struct message_verdict *one = vec_last(&out->verdicts);
        err = field_number(fields, element, "localSeq", &one->local_seq);
        struct err_detail why = {0};
        if (err == ERR_OK) {
            err = verdict_read(element, &one->verdict, &why);
            if (err != ERR_OK) {
                err = err_set(fields->detail,
                              err,
                              "verdicts[%u]: %s",
                              i,
                              why.text);
            }
        }
    }
    return err;
}

static enum err read_told(struct fields *fields,
                          struct value object,
                          struct message *out)
{
    static const char field[] = "observations";
    struct value list;
    enum err err = field_list(fields,
                              object,
                              field,
                              LIMIT_MESSAGE_DOCUMENTS,
                              ERR_LIMIT_ELEMENTS,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value element = array_at(list, i);
        struct told_observation one = {0};
        struct err_detail why = {0};
        err = enter_element(fields, field, i, element);
        if (err == ERR_OK) {
            err = field_number(fields, element, "seq", &one.seq);
        }
        if (err == ERR_OK) {
            err = observation_read(object_field(element, "observation"),
                                   fields->paths,
                                   &one.observation,
                                   &why);
            if (err != ERR_OK) {
                return err_set(fields->detail,
                               err,
                               "observations[%u]: %s",
                               i,
                               why.text);
            }
            vec_push(&out->told, one);
        }
    }
    return err;
}

static enum err read_refused(struct fields *fields,
                             struct value object,
                             struct message *out)
{
    static const char field[] = "refused";
    struct value list;
    enum err err = field_list(fields,
                              object,
                              field,
                              LIMIT_REACH_SELECTORS,
                              ERR_LIMIT_ELEMENTS,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value element = array_at(list, i);
        err = enter_element(fields, field, i, element);
        if (err == ERR_OK) {
            struct selector_refusal one;
            err = selector_refusal_read(fields, element, &one);
            vec_push(&out->refused, one);
        }
    }
    return err;
}

/* What only concerns selectors. */
static enum err read_reached(struct fields *fields,
                             struct value object,
                             struct message *out)
{
    if (!value_is_absent(object_field(object, "reached"))) {
        const enum err err =
            field_number(fields, object, "reached", &out->reached);
        if (err != ERR_OK) {
            return err;
        }
        if (out->reached > out->upserts.count) {
            return fields_bad(fields,
                              "reached",
                              "must be at most the number of upserts");
        }
    }
    return read_refused(fields, object, out);
}

static enum err read_sync(struct fields *fields,
                          struct value object,
                          struct message *out)
{
    struct value upserts = VALUE_NONE;
    struct value removes = VALUE_NONE;
    enum err err = field_number(fields, object, "fromSeq", &out->from_seq);
    if (err == ERR_OK) {
        err = field_number(fields, object, "toSeq", &out->to_seq);
    }
    if (err == ERR_OK && out->to_seq < out->from_seq) {
        return fields_bad(fields, "toSeq", "must not be before fromSeq");
    }
    if (err == ERR_OK) {
        err = read_caught_up(fields, object, out);
    }
    if (err == ERR_OK) {
        err = field_flag(fields, object, "pull", &out->pull);
    }
    if (err == ERR_OK) {
        err = field_list(fields,
                         object,
                         "upserts",
                         LIMIT_MESSAGE_DOCUMENTS,
                         ERR_LIMIT_ELEMENTS,
                         &upserts);
    }
    if (err == ERR_OK) {
        err = field_list(fields,
                         object,
                         "removes",
                         LIMIT_MESSAGE_DOCUMENTS,
                         ERR_LIMIT_ELEMENTS,
                         &removes);
    }
    if (err == ERR_OK) {
        err = read_upserts(fields, upserts, out);
    }
    if (err == ERR_OK) {
        err = read_targets(fields, removes, "removes", out);
    }
    fields_enter(fields, "");
    if (err == ERR_OK) {
        err = read_reached(fields, object, out);
    }
    return err == ERR_OK ? read_told(fields, object, out) : err;
}

static enum err read_revoked(struct fields *fields,
                             struct value object,
                             struct message *out)
{
    return field_name(fields, object, "reason", NULL, &out->reason);
}

/* -- The whole ----------------------------------------------------------- */

typedef enum err read_kind_fn(struct fields *fields,
                              struct value object,
                              struct message *out);

static read_kind_fn *const readers[] = {
    [MESSAGE_OPEN] = read_open,
    [MESSAGE_COMMITS] = read_commits,
    [MESSAGE_WATCH] = read_watch,
    [MESSAGE_UNWATCH] = read_unwatch,
    [MESSAGE_ACK] = read_ack,
    [MESSAGE_OPENED] = read_opened,
    [MESSAGE_VERDICTS] = read_verdicts,
    [MESSAGE_SYNC] = read_sync,
    [MESSAGE_REVOKED] = read_revoked,
};

static enum err read_head(struct fields *fields,
                          struct value object,
                          struct message *out)
{
    const struct value name = object_field(object, "kind");
    unsigned kind = MESSAGE_OPEN;
    while (kind <= MESSAGE_REVOKED &&
           !value_is_text(name, message_kind_name((enum message_kind)kind))) {
        kind++;
    }
    if (kind > MESSAGE_REVOKED) {
        return fields_bad(fields, "kind", "must be a kind of message");
    }
    out->kind = (enum message_kind)kind;
    enum err err = field_number(fields, object, "connection", &out->connection);
    if (err == ERR_OK) {
        err = field_number(fields, object, "number", &out->number);
    }
    if (err == ERR_OK && out->number == 0) {
        return fields_bad(fields, "number", "must be an integer from 1 on");
    }
    return err;
}

enum err message_read(struct value value,
                      struct path_table *paths,
                      struct message *out,
                      struct err_detail *detail)
{
    struct fields fields = {.paths = paths, .detail = detail};
    *out = (struct message){0};
    if (!value_is_object(value)) {
        return err_set(detail, ERR_PROTOCOL, "a message must be an object");
    }
    enum err err = read_head(&fields, value, out);
    if (err == ERR_OK) {
        err = readers[out->kind](&fields, value, out);
    }
    if (err != ERR_OK) {
        message_release(out);
    }
    return err;
}
