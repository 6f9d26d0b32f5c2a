/* The lines of a server: reading them, and what each of them means. */

#include "base/text.h"
#include "host/remote_internal.h"
#include "value/json.h"
#include "value/object.h"

enum {
    CHANNEL_DIGITS_MAX = 10,
    MESSAGE_BYTES_LEAST = 64 * 1024, /* a smaller limit is not believed */
    RETRY_MS_MAX = 60000,
};

/* -- Parts --------------------------------------------------------------- */

static struct remote_channel *find_channel(const struct remote *remote,
                                           uint64_t number)
{
    return number >= 1 && number <= remote->channels.count
               ? remote->channels.at[number - 1]
               : NULL;
}

/* "code", "class" and "message" of a refusal. */
static void read_error(struct value object, struct err_detail *out)
{
    const struct value code = object_field(object, "code");
    const struct value message = object_field(object, "message");
    enum err err = ERR_STORE;
    if (value_is_string(code)) {
        const struct text text = value_text(&code);
        err = err_of_name(text.at, text.length);
    }
    if (err == ERR_OK) {
        err = ERR_PROTOCOL; /* a refusal is never a success */
    }
    *out = (struct err_detail){0};
    if (value_is_string(message)) {
        const struct text text = value_text(&message);
        (void)err_set(out,
                      err,
                      "%.*s",
                      text_shown(text.at, text.length, ERR_TEXT_SIZE - 1),
                      text.at);
    } else {
        (void)err_set(out, err, "%s", err_text(err));
    }
}

static bool is_final(enum err err)
{
    const enum err_class class = err_class_of(err);
    return class == ERR_CLASS_TERMINAL || class == ERR_CLASS_PERMANENT;
}

static void take_challenge(struct remote *remote, struct value object)
{
    const struct value challenge = object_field(object, "challenge");
    if (value_is_string(challenge)) {
        value_unref(remote->challenge);
        remote->challenge = value_ref(challenge);
    }
}

static mono_ms retry_of(struct value object)
{
    const uint64_t ms = object_number(object, "retryMs");
    return ms < RETRY_MS_MAX ? ms : RETRY_MS_MAX;
}

/* -- Channel 0 ----------------------------------------------------------- */

static void take_welcome(struct remote *remote, struct value object)
{
    const struct value audience = object_field(object, "audience");
    const uint64_t bytes =
        object_number(object_field(object, "limits"), "messageBytes");
    if (remote->stage != REMOTE_GREETING) {
        return;
    }
    if (object_number(object, "version") != REMOTE_VERSION) {
        remote_lose(remote,
                    ERR_PROTOCOL,
                    "it speaks another version of the protocol; update it or "
                    "this program");
        return;
    }
    value_unref(remote->audience);
    remote->audience =
        value_is_string(audience) ? value_ref(audience) : VALUE_NONE;
    take_challenge(remote, object);
    remote->message_bytes =
        bytes >= MESSAGE_BYTES_LEAST ? bytes : REMOTE_MESSAGE_BYTES;
    remote->stage = REMOTE_READY;
    remote->trouble = (struct err_detail){0};
    remote_attach_all(remote);
}

static void take_attached(struct remote *remote, struct value object)
{
    struct remote_channel *channel =
        find_channel(remote, object_number(object, "channel"));
    take_challenge(remote, object);
    if (channel == NULL || channel->state != CHANNEL_ATTACHING ||
        !channel->is_sent) {
        return;
    }
    const struct value principal = object_field(object, "principal");
    const uint64_t next = object_number(object, "nextLocalSeq");
    channel->state = CHANNEL_ATTACHED;
    channel->trouble = (struct err_detail){0};
    if (channel->attachments++ == 0) {
        channel->attached.principal =
            value_is_string(principal) ? value_ref(principal) : VALUE_NONE;
        channel->attached.next_local_seq = next > 0 ? next : 1;
    }
    channel->attached.may_write =
        !value_is_text(object_field(object, "capability"), "READ");
    channel->heard_seq = object_number(object, "seq");
    channel->own_commits = 0;
    channel->landed++; /* there may be something new */
    if (channel->is_wanted) {
        channel->is_wanted = false;
        channel->is_used = true;
        channel_deliver(channel, DELIVER_CONNECTED);
    }
}

/* A proof may fail because its challenge has expired meanwhile: it is made once
 * more, for the next one. */
static bool may_retry(const struct remote_channel *channel, enum err err)
{
    return err == ERR_UNAUTHENTICATED && channel->remote->prove != NULL &&
           !channel->was_retried &&
           !value_is_absent(channel->remote->challenge);
}

static void take_refused(struct remote *remote, struct value object)
{
    struct err_detail why;
    struct remote_channel *channel =
        find_channel(remote, object_number(object, "channel"));
    take_challenge(remote, object);
    if (channel == NULL || channel->state != CHANNEL_ATTACHING ||
        !channel->is_sent) {
        return;
    }
    read_error(object, &why);
    if (may_retry(channel, why.err)) {
        channel->was_retried = true;
        channel->is_sent = false;
        return;
    }
    if (is_final(why.err)) {
        channel_refuse(channel, &why);
        return;
    }
    channel->state = CHANNEL_IDLE;
    channel->trouble = why;
    channel_lose(channel);
}

static void take_detached(struct remote *remote, struct value object)
{
    struct err_detail why;
    struct remote_channel *channel =
        find_channel(remote, object_number(object, "channel"));
    if (channel == NULL) {
        return;
    }
    if (channel->detaches > 0) {
        channel->detaches--;
        return;
    }
    if (channel->state != CHANNEL_ATTACHED) {
        return;
    }
    channel->state = CHANNEL_IDLE;
    if (value_is_absent(object_field(object, "code"))) {
        channel_lose(channel);
        return;
    }
    read_error(object, &why);
    if (is_final(why.err)) {
        channel_refuse(channel, &why);
    } else {
        channel->trouble = why;
        channel_lose(channel);
    }
}

/* Before the welcome it is about the connection. */
static void take_error(struct remote *remote, struct value object)
{
    struct err_detail why;
    read_error(object, &why);
    log_write(remote->log,
              LOG_LEVEL_WARNING,
              "the server refused a message: %s",
              why.text);
    if (remote->stage == REMOTE_GREETING) {
        remote_lose(remote, why.err, why.text);
    }
}

static void take_control(struct remote *remote, struct value object)
{
    const struct value kind = object_field(object, "kind");
    if (value_is_text(kind, "welcome")) {
        take_welcome(remote, object);
    } else if (value_is_text(kind, "attached")) {
        take_attached(remote, object);
        remote_attach_all(remote);
    } else if (value_is_text(kind, "refused")) {
        take_refused(remote, object);
        remote_attach_all(remote);
    } else if (value_is_text(kind, "detached")) {
        take_detached(remote, object);
    } else if (value_is_text(kind, "closing")) {
        remote->not_before = remote->now + retry_of(object);
    } else if (value_is_text(kind, "error")) {
        take_error(remote, object);
    }
    /* Other kinds are of later versions. */
}

/* -- Other channels ------------------------------------------------------ */

static void take_answer(struct remote *remote, struct value object)
{
    const uint64_t number = object_number(object, "id");
    VEC_FOREACH (&remote->questions, question) {
        if (question->number != number || question->is_over) {
            continue;
        }
        const struct value error = object_field(object, "error");
        question->is_over = true;
        if (value_is_absent(error)) {
            question->answer = value_ref(object_field(object, "answer"));
        } else {
            read_error(error, &question->detail);
        }
    }
}

/* Each seq is one commit: if all of them are this session's own, there is
 * nothing to hear of. */
static void take_landed(struct remote_channel *channel, uint64_t seq)
{
    if (seq > channel->heard_seq) {
        if (seq - channel->heard_seq > channel->own_commits) {
            channel->landed++;
        }
        channel->heard_seq = seq;
        channel->own_commits = 0;
    }
}

/* Whether it is one, which is then forgotten. */
static bool take_batch(struct remote_channel *channel, uint64_t local_seq)
{
    VEC_FOREACH (&channel->batches, batch) {
        if (*batch == local_seq) {
            *batch = *vec_last(&channel->batches);
            channel->batches.count--;
            return true;
        }
    }
    return false;
}

static void count_own(struct remote_channel *channel,
                      const struct message *message)
{
    VEC_FOREACH (&message->verdicts, entry) {
        if (!take_batch(channel, entry->local_seq) &&
            entry->verdict.err == ERR_OK &&
            entry->verdict.seq > channel->heard_seq) {
            channel->own_commits++;
        }
    }
}

static void take_message(struct remote_channel *channel, struct value object)
{
    struct delivery delivery = {.kind = DELIVER_MESSAGE};
    if (!channel->is_used) {
        return;
    }
    if (message_read(object,
                     &channel->remote->paths,
                     &delivery.message,
                     NULL) != ERR_OK) {
        channel->remote->counters.bad_lines++;
        delivery.kind = DELIVER_GARBAGE;
    }
    count_own(channel, &delivery.message);
    vec_push(&channel->inbox, delivery);
}

static void take_line_of(struct remote_channel *channel, struct value object)
{
    const struct value kind = object_field(object, "kind");
    if (channel->state != CHANNEL_ATTACHED || channel->detaches > 0) {
        return; /* of an earlier attachment */
    }
    if (value_is_text(kind, "answer")) {
        take_answer(channel->remote, object);
    } else if (value_is_text(kind, "landed")) {
        take_landed(channel, object_number(object, "seq"));
    } else {
        take_message(channel, object);
    }
}

/* -- Lines --------------------------------------------------------------- */

/* The number before the blank; false if it is none. */
static bool read_number(const char *line,
                        size_t length,
                        uint64_t *number,
                        size_t *used)
{
    size_t i = 0;
    *number = 0;
    while (i < length && i < CHANNEL_DIGITS_MAX && line[i] >= '0' &&
           line[i] <= '9') {
        *number = *number * 10 + (uint64_t)(line[i] - '0');
        i++;
    }
    *used = i + 1;
    return i > 0 && i < length && line[i] == ' ';
}

static void take_line(struct remote *remote, const char *line, size_t length)
{
    const struct json_limits limits = JSON_LIMITS_STORED;
    uint64_t number = 0;
    size_t used = 0;
    struct value object = VALUE_NONE;
    if (!read_number(line, length, &number, &used)) {
        remote->counters.bad_lines++;
        return;
    }
    struct remote_channel *channel = find_channel(remote, number);
    if (json_read(line + used, length - used, &limits, &object, NULL) !=
            ERR_OK ||
        !value_is_object(object)) {
        remote->counters.bad_lines++;
        if (channel != NULL && channel->is_used) {
            channel_deliver(channel, DELIVER_GARBAGE);
        }
    } else if (number == 0) {
        take_control(remote, object);
    } else if (channel != NULL) {
        take_line_of(channel, object);
    }
    value_unref(object);
}

void remote_take_text(struct remote *remote, const char *text, size_t length)
{
    const char *at = text;
    const char *end = text + length;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        if (stop > at && remote->stage >= REMOTE_GREETING) {
            take_line(remote, at, (size_t)(stop - at));
        }
        at = stop + 1;
    }
}
