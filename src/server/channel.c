/* Channels: the connection of one session to one space. */

#include <stdarg.h>
#include <stdio.h>

#include "host/fanout.h"
#include "host/questions.h"
#include "inspect/inspect_answer.h"
#include "server/admin.h"
#include "server/maintenance.h"
#include "server/shard_internal.h"
#include "store/engine.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

/* -- Accounts ------------------------------------------------------------ */

static bool is_account(const void *item, const void *key)
{
    const struct value a = ((const struct account *)item)->principal;
    const struct value b = *(const struct value *)key;
    return value_is_absent(a) || value_is_absent(b)
               ? value_is_absent(a) && value_is_absent(b)
               : key_equal(a, b);
}

static uint64_t hash_principal(struct value principal)
{
    return value_is_absent(principal) ? 0 : value_hash(principal);
}

static struct account *take_account(struct shard_space *space,
                                    struct value principal)
{
    struct account *account = map_find(&space->accounts,
                                       hash_principal(principal),
                                       is_account,
                                       &principal);
    if (account == NULL) {
        account = mem_alloc_zero(sizeof *account);
        account->principal = value_ref(principal);
        map_insert(&space->accounts, hash_principal(principal), account);
    }
    account->channels++;
    return account;
}

static void drop_account(struct shard_space *space, struct account *account)
{
    if (--account->channels > 0) {
        return;
    }
    (void)map_remove(&space->accounts,
                     hash_principal(account->principal),
                     is_account,
                     &account->principal);
    value_unref(account->principal);
    mem_free(account, sizeof *account);
}

/* Whether the principal may send one more message in this second. */
static bool spend(struct channel *channel)
{
    const struct shard *shard = channel->space->shard;
    struct account *account = channel->account;
    const uint32_t most = shard->options.limits.messages_per_second;
    if (most == 0) {
        return true;
    }
    if (account->since == 0 || shard->now >= account->since + 1000) {
        account->since = shard->now;
        account->budget = most;
    }
    return account->budget > 0 && account->budget-- > 0;
}

/* -- Sending ------------------------------------------------------------- */

/* Adopts the object. */
static void say(struct shard *shard,
                struct shard_port *port,
                uint32_t number,
                struct value object)
{
    struct buf *line = port_line(shard, port);
    buf_printf(line, "%u ", number);
    json_write(line, object, JSON_AS_GIVEN, 0);
    value_unref(object);
}

static struct value new_answer(const char *kind, uint32_t channel)
{
    struct value object = object_new_adopt(NULL, 0);
    object_put_text(&object, "kind", kind);
    object_put_number(&object, "channel", channel);
    return object;
}

static void put_error(struct value *object, enum err err, const char *text)
{
    object_put_text(object, "code", err_name(err));
    object_put_text(object, "class", err_class_name(err_class_of(err)));
    object_put_text(object, "message", text);
    if (err == ERR_OVERLOADED) {
        object_put_number(object, "retryMs", SHARD_BUSY_RETRY_MS);
    }
}

static void count_message(struct shard *shard,
                          const struct message *message,
                          size_t bytes)
{
    struct metrics *metrics = shard->options.metrics;
    if (message->kind == MESSAGE_SYNC) {
        metrics_count(metrics, METRICS_FANOUT_MESSAGES, 1);
        metrics_count(metrics, METRICS_FANOUT_BYTES, bytes);
    } else if (message->kind == MESSAGE_VERDICTS) {
        VEC_FOREACH (&message->verdicts, one) {
            metrics_commit(metrics, one->verdict.err);
        }
    }
}

static void on_send(void *ctx, struct message *message)
{
    struct channel *channel = ctx;
    if (!channel->is_over) {
        struct shard *shard = channel->space->shard;
        struct buf *line = port_line(shard, channel->port);
        const size_t before = line->length;
        buf_printf(line, "%u ", channel->number);
        message_append(line, message);
        count_message(shard, message, line->length - before);
    }
    message_release(message);
}

const struct channel *channel_of_peer(const struct hub_peer *peer)
{
    return peer->send == on_send ? peer->ctx : NULL;
}

static void on_broken(void *ctx)
{
    struct channel *channel = ctx;
    channel_end(channel,
                ERR_STORE,
                "the space could not be read or written; attach again");
}

/* -- Ending -------------------------------------------------------------- */

void channel_end(struct channel *channel,
                 enum err reason,
                 const char *format,
                 ...)
{
    va_list arguments;
    if (channel->is_over) {
        return;
    }
    channel->is_over = true;
    channel->reason = reason;
    va_start(arguments, format);
    (void)vsnprintf(channel->why, sizeof channel->why, format, arguments);
    va_end(arguments);
    list_push_back(&channel->space->shard->over, &channel->in_over);
}

void channel_free(struct channel *channel)
{
    struct shard_space *space = channel->space;
    metrics_add(space->shard->options.metrics, METRICS_NOW_CHANNELS, -1);
    if (space->entry != NULL) {
        (void)atomic_fetch_sub(&space->entry->channels, 1);
    }
    list_remove(&channel->in_over);
    channel->port->channels.at[channel->number] = NULL;
    list_remove(&channel->in_space);
    hub_detach(channel->peer);
    client_leases_end(&space->leases, &channel->holder);
    space->followers -= channel->follows ? 1 : 0;
    drop_account(space, channel->account);
    value_unref(channel->principal);
    value_unref(channel->session);
    value_unref(channel->instance);
    backup_file_free(channel->backup);
    space->used = space->shard->now;
    mem_free(channel, sizeof *channel);
}

void channels_collect(struct shard *shard)
{
    for (struct list_node *node = list_first(&shard->over); node != NULL;
         node = list_first(&shard->over)) {
        struct channel *channel = CONTAINER_OF(node, struct channel, in_over);
        struct value detached = new_answer("detached", channel->number);
        if (channel->reason != ERR_OK) {
            put_error(&detached, channel->reason, channel->why);
            metrics_error(shard->options.metrics, channel->reason);
        }
        say(shard, channel->port, 0, detached);
        channel_free(channel);
    }
}

/* -- Attaching ----------------------------------------------------------- */

enum capability channel_capability(const struct channel *channel)
{
    return shard_capability(channel->space, &channel->credential);
}

static struct value copy_name(struct value message, const char *field)
{
    const struct value name = object_field(message, field);
    return value_is_string(name) ? value_ref(name) : VALUE_NONE;
}

static struct channel *new_channel(struct shard_space *space,
                                   struct shard_port *port,
                                   uint32_t number,
                                   const struct credential *credential,
                                   struct value message)
{
    struct channel *channel = mem_alloc_zero(sizeof *channel);
    channel->space = space;
    channel->port = port;
    channel->number = number;
    channel->credential = *credential;
    channel->principal = credential->principal[0] != '\0'
                             ? value_text_new(credential->principal)
                             : VALUE_NONE;
    channel->session = copy_name(message, "session");
    channel->instance = copy_name(message, "instance");
    channel->since_ms =
        space->shard->options.wall_ms(space->shard->options.ctx);
    list_node_init(&channel->in_space);
    list_node_init(&channel->in_over);
    lease_holder_init(&channel->holder);
    list_push_back(&space->channels, &channel->in_space);
    while (port->channels.count <= number) {
        vec_push(&port->channels, NULL);
    }
    port->channels.at[number] = channel;
    channel->account = take_account(space, channel->principal);
    channel->peer = hub_attach(&space->hub,
                               channel->principal,
                               on_send,
                               on_broken,
                               channel);
    metrics_add(space->shard->options.metrics, METRICS_NOW_CHANNELS, 1);
    if (space->entry != NULL) {
        (void)atomic_fetch_add(&space->entry->channels, 1);
    }
    return channel;
}

/* Which commit of the session comes next, if it has a name. */
static enum err find_next(struct channel *channel,
                          uint64_t *next,
                          struct err_detail *detail)
{
    const struct identity identity = {channel->principal, channel->session};
    *next = 1;
    return value_is_absent(channel->session)
               ? ERR_OK
               : engine_session_next(&channel->space->engine,
                                     identity,
                                     next,
                                     detail);
}

static enum err check_channel(struct channel *channel,
                              uint64_t *next,
                              struct err_detail *detail)
{
    const struct server_limits *limits = &channel->space->shard->options.limits;
    channel->capability = channel_capability(channel);
    if (channel->capability < CAPABILITY_READ) {
        return err_set(detail, ERR_ACCESS, SHARD_NO_ACCESS);
    }
    if (channel->account->channels > limits->sessions_per_principal) {
        return err_set(detail,
                       ERR_OVERLOADED,
                       "%u sessions of this principal are open in the space, "
                       "which is the limit",
                       limits->sessions_per_principal);
    }
    return find_next(channel, next, detail);
}

static void say_attached(const struct channel *channel,
                         const struct item_attach *facts,
                         uint64_t next)
{
    struct shard *shard = channel->space->shard;
    struct value attached = new_answer("attached", channel->number);
    object_put_adopt(&attached, "space", value_ref(channel->space->name));
    object_put_number(&attached, "seq", channel->space->engine.seq);
    object_put_number(&attached, "nextLocalSeq", next);
    if (!value_is_absent(channel->principal)) {
        object_put_adopt(&attached, "principal", value_ref(channel->principal));
    }
    object_put_text(&attached,
                    "capability",
                    capability_name(channel->capability));
    object_put_text(&attached, "challenge", facts->next);
    say(shard, channel->port, 0, attached);
    metrics_count(shard->options.metrics, METRICS_CHANNELS_ATTACHED, 1);
}

static void say_refused(struct shard *shard,
                        struct shard_port *port,
                        const struct item *item,
                        const struct err_detail *detail)
{
    struct value refused = new_answer("refused", item->channel);
    put_error(&refused, detail->err, detail->text);
    if (item->attach->may_retry) {
        object_put_text(&refused, "class", err_class_name(ERR_CLASS_RETRY));
    }
    object_put_text(&refused, "challenge", item->attach->next);
    say(shard, port, 0, refused);
    metrics_count(shard->options.metrics, METRICS_CHANNELS_REFUSED, 1);
    metrics_error(shard->options.metrics, detail->err);
}

static bool is_flag(struct value message, const char *name, bool want)
{
    return value_is_same(object_field(message, name), value_bool(want));
}

static enum err admit(struct shard *shard,
                      struct shard_port *port,
                      const struct item *item,
                      struct value message,
                      struct err_detail *detail)
{
    struct credential credential = {0};
    const struct value name = object_field(message, "space");
    struct shard_space *space = NULL;
    enum err err = authenticate_attach(shard->authenticator,
                                       item->attach,
                                       message,
                                       shard_clock(shard),
                                       &credential,
                                       detail);
    if (err == ERR_OK) {
        const bool is_operator =
            authenticator_may_create(shard->authenticator, &credential);
        const bool create = is_operator && !is_flag(message, "create", false);
        err = shard_space_open(shard, name, create, &space, detail);
        if (err == ERR_NOT_FOUND && !is_operator) {
            /* Strangers do not learn which spaces exist. */
            err = err_set(detail, ERR_ACCESS, SHARD_NO_ACCESS);
        }
    }
    if (err != ERR_OK) {
        return err;
    }
    if (is_flag(message, "readOnly", true)) {
        credential.ceiling =
            capability_least(credential.ceiling, CAPABILITY_READ);
    }
    uint64_t next = 1;
    struct channel *channel =
        new_channel(space, port, item->channel, &credential, message);
    err = check_channel(channel, &next, detail);
    if (err != ERR_OK) {
        channel_free(channel);
        return err;
    }
    say_attached(channel, item->attach, next);
    return ERR_OK;
}

void channel_attach(struct shard *shard,
                    struct shard_port *port,
                    const struct item *item)
{
    struct value message;
    struct err_detail detail = {0};
    struct json_fault fault;
    enum err err = json_read(item->text, item->length, NULL, &message, &fault);
    CHECK(err == ERR_OK); /* the I/O thread has read it */
    err = item->channel < port->channels.count &&
                  port->channels.at[item->channel] != NULL
              ? err_set(&detail,
                        ERR_PROTOCOL,
                        "the channel is in use; detach it first")
              : admit(shard, port, item, message, &detail);
    if (err != ERR_OK) {
        detail.err = err;
        say_refused(shard, port, item, &detail);
    }
    value_unref(message);
}

/* -- Receiving ----------------------------------------------------------- */

void channels_tell_landed(struct shard_space *space)
{
    LIST_FOREACH (&space->channels, node) {
        struct channel *channel = CONTAINER_OF(node, struct channel, in_space);
        if (channel->follows && !channel->is_over) {
            struct value landed = object_new_adopt(NULL, 0);
            object_put_text(&landed, "kind", "landed");
            object_put_number(&landed, "seq", space->hub.seq);
            say(space->shard, channel->port, channel->number, landed);
        }
    }
}

/* What the file says about pieces, events and history, as far as the principal
 * may see it. */
static enum err inspect(const struct channel *channel,
                        struct value question,
                        struct value *answer,
                        struct err_detail *detail)
{
    if (channel->space->is_server) {
        return err_set(detail, ERR_NOT_FOUND, "there is no data in this space");
    }
    const struct inspect_viewer viewer = {.principal = channel->principal};
    const struct text name = value_text(&channel->space->name);
    struct buf space = {0};
    buf_append(&space, name.at, name.length);
    const enum err err = inspect_answer(channel->space->shard->options.folder,
                                        buf_text(&space),
                                        &viewer,
                                        question,
                                        answer,
                                        detail);
    buf_release(&space);
    return err;
}

static void answer_question(struct channel *channel, struct value question)
{
    struct shard *shard = channel->space->shard;
    const bool has_followed = channel->follows;
    const struct questions_context context = {
        .identity = {channel->principal, channel->session},
        .instance = channel->instance,
        .leases = channel->space->is_server ? NULL : &channel->space->leases,
        .holder = &channel->holder,
        .follows = &channel->follows,
        .may_write = channel->capability >= CAPABILITY_WRITE,
    };
    struct value content = VALUE_NONE;
    struct err_detail detail = {0};
    bool later = false;
    const enum err err =
        admin_is_question(question)
            ? admin_answer(channel, question, &content, &later, &detail)
        : value_is_text(object_field(question, "question"), "inspect")
            ? inspect(channel, question, &content, &detail)
            : questions_answer(&channel->space->engine,
                               &context,
                               question,
                               &content,
                               &detail);
    channel->space->followers += channel->follows && !has_followed ? 1 : 0;
    if (later) {
        return;
    }
    struct value answer = object_new_adopt(NULL, 0);
    object_put_text(&answer, "kind", "answer");
    object_put_number(&answer, "id", object_number(question, "id"));
    if (err == ERR_OK) {
        object_put_adopt(&answer, "answer", content);
    } else {
        struct value error = object_new_adopt(NULL, 0);
        put_error(&error, err, detail.text);
        object_put_adopt(&answer, "error", error);
        metrics_error(shard->options.metrics, err);
    }
    say(shard, channel->port, channel->number, answer);
}

void channel_answered(struct channel *channel, struct item *item)
{
    channel->job = 0;
    if (!channel->is_over) {
        struct buf *line = port_line(channel->space->shard, channel->port);
        buf_printf(line, "%u ", channel->number);
        buf_append(line, item->text, item->length);
    }
    if (item->backup != NULL) {
        backup_file_free(channel->backup);
        channel->backup = item->backup;
        item->backup = NULL;
    }
}

/* A session is opened under the name that its channel was attached for: that is
 * what the credential was checked for. */
static bool opens_another(const struct channel *channel,
                          const struct message *message)
{
    return message->kind == MESSAGE_OPEN &&
           !value_is_absent(channel->session) &&
           (!value_is_string(message->session) ||
            !key_equal(message->session, channel->session));
}

static bool watches_too_much(const struct channel *channel,
                             const struct message *message)
{
    const struct hub_session *session = channel->peer->session;
    const size_t now = session != NULL ? session->watch_by_document.count : 0;
    return message->kind == MESSAGE_WATCH &&
           now + message->targets.count >
               channel->space->shard->options.limits.watches;
}

static void pass_message(struct channel *channel, struct message *message)
{
    if (opens_another(channel, message)) {
        channel_end(channel,
                    ERR_PROTOCOL,
                    "'open' names another session than 'attach'");
    } else if (channel->space->is_server && message->kind == MESSAGE_WATCH) {
        channel_end(channel, ERR_PROTOCOL, "there is no data in this space");
    } else if (watches_too_much(channel, message)) {
        channel_end(channel,
                    ERR_OVERLOADED,
                    "a channel watches at most %u documents",
                    channel->space->shard->options.limits.watches);
    } else {
        channel->space->used = channel->space->shard->now;
        shard_space_touch(channel->space);
        hub_receive(channel->peer, message);
    }
}

void channel_receive(struct channel *channel, const char *text, size_t length)
{
    struct shard *shard = channel->space->shard;
    struct value value;
    struct json_fault fault;
    if (channel->is_over) {
        return;
    }
    if (!spend(channel)) {
        channel_end(channel,
                    ERR_OVERLOADED,
                    "a principal sends at most %u messages per second",
                    shard->options.limits.messages_per_second);
        return;
    }
    if (channel->port->out.length > shard->options.limits.queue_bytes) {
        /* More than may wait for a reader, and it asks for more. */
        channel_end(channel,
                    ERR_OVERLOADED,
                    "over %u bytes of answers wait for this connection: read "
                    "them before you ask for more",
                    shard->options.limits.queue_bytes);
        return;
    }
    if (json_read(text, length, NULL, &value, &fault) != ERR_OK) {
        channel_end(channel, ERR_PROTOCOL, "%s", fault.text);
        return;
    }
    if (value_is_text(object_field(value, "kind"), "ask")) {
        shard_space_touch(channel->space);
        answer_question(channel, value);
    } else {
        struct message message;
        struct err_detail detail = {0};
        if (message_read(value, &shard->paths, &message, &detail) == ERR_OK) {
            pass_message(channel, &message);
            message_release(&message);
        } else {
            channel_end(channel, ERR_PROTOCOL, "%s", detail.text);
        }
    }
    value_unref(value);
}
