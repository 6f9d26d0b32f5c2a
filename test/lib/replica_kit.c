/* A replica on a fixture (lib/replica_kit.h is the manual). */

#include "lib/replica_kit.h"

#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lib/values.h"
#include "value/compare.h"
#include "value/json.h"

/* -- Texts --------------------------------------------------------------- */

static struct buf *next_text(struct fixture *fixture)
{
    struct buf *text = &fixture->texts[fixture->next_text++ % FIXTURE_TEXTS];
    buf_clear(text);
    return text;
}

static void put_value(struct buf *to, struct value value)
{
    if (value_is_absent(value)) {
        buf_append_text(to, "()");
        return;
    }
    const size_t from = to->length;
    json_write(to, value, JSON_CANONICAL, 0);
    for (size_t i = from; i < to->length; i++) {
        if (to->at[i] == '"') {
            to->at[i] = '\'';
        }
    }
}

static void put_state(struct buf *to, const struct entity_state *state)
{
    const struct value document = entity_state_document(state);
    if (!value_is_absent(document) &&
        (value_is_absent(state->payload) ||
         !value_equal(state->rest, value_empty_object()))) {
        buf_append_char(to, '!');
        put_value(to, document);
    } else {
        put_value(to, state->payload);
    }
    value_unref(document);
}

static void put_entity(struct buf *to, const struct entity *entity)
{
    const struct text id = value_text(&entity->id);
    buf_printf(to, "%.*s", (int)id.length, id.at);
    if (entity->scope != SCOPE_SPACE) {
        buf_printf(to, "~%s", scope_name(entity->scope));
    }
}

static void separate(struct buf *to)
{
    if (to->length > 0) {
        buf_append_text(to, "; ");
    }
}

/* The next word of *at, and the blanks behind it. */
static struct text next_word(const char **at)
{
    const char *from = *at;
    while (**at != '\0' && **at != ' ') {
        (*at)++;
    }
    const struct text word = {from, (size_t)(*at - from)};
    while (**at == ' ') {
        (*at)++;
    }
    return word;
}

static bool is_word(struct text word, const char *want)
{
    return word.length == strlen(want) &&
           memcmp(word.at, want, word.length) == 0;
}

/* The number behind "name=" in a word; false if it is another word. */
static bool is_number(struct text word, const char *name, uint64_t *out)
{
    const size_t length = strlen(name);
    if (word.length <= length || memcmp(word.at, name, length) != 0) {
        return false;
    }
    *out = strtoull(word.at + length, NULL, 10);
    return true;
}

static struct value value_of(struct text text)
{
    struct buf copy = {0};
    buf_append(&copy, text.at, text.length);
    const struct value value = from_quoted(buf_text(&copy));
    buf_release(&copy);
    return value;
}

/* -- Listening ----------------------------------------------------------- */

static struct entity_state *folded_of(struct fixture *fixture,
                                      struct entity *entity)
{
    VEC_FOREACH (&fixture->folded, folded) {
        if (folded->entity == entity) {
            return &folded->state;
        }
    }
    const struct fixture_folded folded = {.entity = entity};
    vec_push(&fixture->folded, folded);
    return &vec_last(&fixture->folded)->state;
}

static void forget_folded(struct fixture *fixture, const struct space *space)
{
    VEC_FOREACH (&fixture->folded, folded) {
        if (folded->entity->space == space) {
            entity_state_release(&folded->state);
            folded->state = (struct entity_state){VALUE_NONE, VALUE_NONE};
        }
    }
}

static void fold(struct fixture *fixture, const struct notification *what)
{
    if (what->kind == NOTIFY_RESET) {
        forget_folded(fixture, what->space);
    }
    if (what->count > 0) {
        EXPECT(what->version > fixture->last_version);
        fixture->last_version = what->version;
    }
    for (size_t i = 0; i < what->count; i++) {
        const struct change *change = &what->changes[i];
        struct entity_state *state = folded_of(fixture, change->entity);
        EXPECT(entity_state_equal(state, &change->before));
        EXPECT(!entity_state_equal(&change->before, &change->after));
        EXPECT_EQ(change->entity->version, what->version);
        entity_state_release(state);
        *state = entity_state_ref(&change->after);
        EXPECT(entity_state_equal(state, &change->entity->visible));
    }
}

static enum channel_answer listen(void *ctx, const struct notification *what)
{
    struct fixture *fixture = ctx;
    if (fixture->deaf) {
        return CHANNEL_MORE;
    }
    fold(fixture, what);
    struct buf *to = &fixture->heard;
    separate(to);
    buf_append_text(to, notification_name(what->kind));
    if (what->local_seq > 0) {
        buf_printf(to, " #%" PRIu64, what->local_seq);
    }
    if (what->source != NULL) {
        buf_printf(to, " by %s", (const char *)what->source);
    }
    if (what->reason != NULL) {
        buf_printf(to, " %s", err_name(what->reason->err));
    }
    for (size_t i = 0; i < what->count; i++) {
        buf_append_char(to, ' ');
        put_entity(to, what->changes[i].entity);
        buf_append_char(to, ' ');
        put_state(to, &what->changes[i].before);
        buf_append_text(to, "->");
        put_state(to, &what->changes[i].after);
    }
    return CHANNEL_MORE;
}

static void put_outcome(struct fixture_watch *watch,
                        const char *what,
                        const struct verdict *verdict)
{
    struct buf *to = &watch->fixture->outcomes;
    separate(to);
    buf_printf(to, "%s #%" PRIu64, what, watch->local_seq);
    if (verdict->err == ERR_OK) {
        buf_printf(to, " @%" PRIu64, verdict->seq);
    } else {
        buf_printf(to, " %s: %s", err_name(verdict->err), verdict->detail.text);
    }
}

static void commit_once(struct fixture *fixture, const char **line)
{
    const char *what = *line;
    *line = NULL;
    if (what != NULL) {
        EXPECT_COMMIT(fixture, what);
    }
}

static void on_verdict(void *ctx, const struct verdict *verdict)
{
    struct fixture_watch *watch = ctx;
    put_outcome(watch, "verdict", verdict);
    commit_once(watch->fixture, &watch->fixture->on_verdict);
}

static void on_settled(void *ctx, const struct verdict *verdict)
{
    struct fixture_watch *watch = ctx;
    put_outcome(watch, "settled", verdict);
    commit_once(watch->fixture, &watch->fixture->on_settled);
}

/* -- The script ---------------------------------------------------------- */

static struct script *script_of(struct transport *transport)
{
    return CONTAINER_OF(transport, struct script, transport);
}

static void note(struct script *script, const char *what)
{
    if (!script->quiet) {
        separate(&script->said);
        buf_append_text(&script->said, what);
    }
}

static void script_connect(struct transport *transport, struct session *session)
{
    struct script *script = script_of(transport);
    note(script, "connect");
    script->session = session;
    if (!script->slow) {
        session_connected(session);
    }
}

static void script_disconnect(struct transport *transport)
{
    struct script *script = script_of(transport);
    note(script, "disconnect");
    script->session = NULL;
}

/* Numbers a message and hands it over. */
static void reply(struct script *script, struct message *message)
{
    CHECK(script->session != NULL);
    message->connection = script->connection;
    message->number = ++script->number;
    session_receive(script->session, message);
}

static void answer_open(struct script *script, const struct message *message)
{
    script->connection = message->connection;
    script->number = 0;
    script->opens++;
    if (script->mute) {
        return;
    }
    struct message answer = {
        .kind = MESSAGE_OPENED,
        .session = value_is_absent(message->session)
                       ? value_text_new(script->names)
                       : value_ref(message->session),
        .resumed = script->opens > 1 && !script->forgets,
        .markers = !script->plain,
        .server_seq = script->seq,
        .caught_up = 0,
        .token =
            script->token != NULL ? value_text_new(script->token) : VALUE_NONE,
    };
    reply(script, &answer);
}

static void answer_commits(struct script *script, const struct message *message)
{
    struct message verdicts = {.kind = MESSAGE_VERDICTS};
    struct message marker = {
        .kind = MESSAGE_SYNC,
        .from_seq = script->seq,
    };
    VEC_FOREACH (&message->commits, commit) {
        const struct message_verdict entry = {
            .local_seq = (*commit)->local_seq,
            .verdict = {.seq = ++script->seq},
        };
        vec_push(&verdicts.verdicts, entry);
        marker.caught_up = (*commit)->local_seq;
    }
    marker.to_seq = script->seq;
    reply(script, &verdicts);
    reply(script, &marker);
}

static void note_commits(struct script *script, const struct message *message)
{
    VEC_FOREACH (&message->commits, commit) {
        buf_printf(&script->said, " %" PRIu64, (*commit)->local_seq);
        const struct value written = commit_write(*commit);
        buf_clear(&script->last);
        put_value(&script->last, written);
        value_unref(written);
    }
}

static void note_message(struct script *script, const struct message *message)
{
    note(script, message_kind_name(message->kind));
    struct buf *to = &script->said;
    if (message->kind == MESSAGE_OPEN) {
        if (!value_is_absent(message->session)) {
            const struct text id = value_text(&message->session);
            buf_printf(to, " %.*s", (int)id.length, id.at);
        }
        buf_printf(to, " seen=%" PRIu64, message->seen_seq);
        if (!value_is_absent(message->token)) {
            const struct text token = value_text(&message->token);
            buf_printf(to, " token=%.*s", (int)token.length, token.at);
        }
    } else if (message->kind == MESSAGE_COMMITS) {
        note_commits(script, message);
    } else if (message->kind == MESSAGE_WATCH) {
        VEC_FOREACH (&message->targets, target) {
            const struct text id = value_text(&target->id);
            buf_printf(to, " %.*s", (int)id.length, id.at);
        }
    } else {
        buf_printf(to, " %" PRIu64, message->seen_seq);
    }
}

static void script_send(struct transport *transport,
                        const struct message *message)
{
    struct script *script = script_of(transport);
    CHECK(script->session != NULL);
    if (!script->quiet) {
        note_message(script, message);
    }
    if (message->kind == MESSAGE_OPEN) {
        answer_open(script, message);
    } else if (message->kind == MESSAGE_COMMITS && script->accepts) {
        answer_commits(script, message);
    }
}

static const struct transport_methods script_methods = {
    .connect = script_connect,
    .send = script_send,
    .disconnect = script_disconnect,
};

/* -- What the store says ------------------------------------------------- */

static struct target target_of(struct text name)
{
    const char *tilde = memchr(name.at, '~', name.length);
    const size_t length =
        tilde != NULL ? (size_t)(tilde - name.at) : name.length;
    struct target target = {
        .id = value_string_new(name.at, length),
    };
    if (tilde != NULL) {
        const struct value scope =
            value_string_new(tilde + 1, name.length - length - 1);
        CHECK(scope_read(scope, &target.scope));
        value_unref(scope);
    }
    return target;
}

/* A@5=7, A!@5={'m':1}, A@5=(), A@5+4=[...] */
static void put_upsert(struct message *message, struct text word)
{
    const char *at = memchr(word.at, '@', word.length);
    CHECK(at != NULL);
    const char *equals = strchr(at, '=');
    CHECK(equals != NULL);
    const bool whole = at[-1] == '!';
    const struct text json = {equals + 1,
                              (size_t)(word.at + word.length - equals - 1)};
    struct upsert upsert = {
        .target = target_of((struct text){
            word.at,
            (size_t)(at - word.at) - whole,
        }),
        .seq = strtoull(at + 1, NULL, 10),
    };
    const char *plus = strchr(at, '+');
    if (plus != NULL && plus < equals) {
        upsert.from = strtoull(plus + 1, NULL, 10);
        upsert.patch = value_of(json);
    } else if (!is_word(json, "()")) {
        const struct value value = value_of(json);
        const struct entity_state state = {value, value_empty_object()};
        upsert.document = whole ? value : entity_state_document(&state);
        if (!whole) {
            value_unref(value);
        }
    }
    vec_push(&message->upserts, upsert);
}

static void say_sync(struct message *message, const char *at)
{
    message->kind = MESSAGE_SYNC;
    const struct text range = next_word(&at);
    message->from_seq = strtoull(range.at, NULL, 10);
    message->to_seq = strtoull(strchr(range.at, '-') + 1, NULL, 10);
    while (*at != '\0') {
        const struct text word = next_word(&at);
        if (is_word(word, "pull")) {
            message->pull = true;
        } else if (word.at[0] == '-') {
            const struct target target =
                target_of((struct text){word.at + 1, word.length - 1});
            vec_push(&message->targets, target);
        } else if (!is_number(word, "mark=", &message->caught_up)) {
            put_upsert(message, word);
        }
    }
}

static void say_verdict(struct message *message, const char *at)
{
    message->kind = MESSAGE_VERDICTS;
    struct message_verdict entry = {.local_seq = strtoull(at, NULL, 10)};
    (void)next_word(&at);
    const struct text answer = next_word(&at);
    if (answer.at[0] == '@') {
        entry.verdict.seq = strtoull(answer.at + 1, NULL, 10);
    } else {
        entry.verdict.err = err_of_name(answer.at, answer.length);
        entry.verdict.detail.err = entry.verdict.err;
        (void)err_set(&entry.verdict.detail, entry.verdict.err, "as scripted");
    }
    while (*at != '\0') {
        const struct text word = next_word(&at);
        if (!is_number(word, "read=", &entry.verdict.read_seq) &&
            !is_number(word, "by=", &entry.verdict.conflict_seq)) {
            entry.verdict.id = value_string_new(word.at, word.length);
        }
    }
    vec_push(&message->verdicts, entry);
}

static void say_opened(struct message *message, const char *at)
{
    message->kind = MESSAGE_OPENED;
    message->markers = true;
    const struct text name = next_word(&at);
    message->session = value_string_new(name.at, name.length);
    while (*at != '\0') {
        const struct text word = next_word(&at);
        if (is_word(word, "resumed")) {
            message->resumed = true;
        } else if (is_word(word, "plain")) {
            message->markers = false;
        } else {
            CHECK(is_number(word, "caught=", &message->caught_up));
        }
    }
}

void fixture_say(struct fixture *fixture, const char *line)
{
    const char *at = line;
    const struct text what = next_word(&at);
    struct message message = {0};
    if (is_word(what, "sync")) {
        say_sync(&message, at);
    } else if (is_word(what, "verdict")) {
        say_verdict(&message, at);
    } else if (is_word(what, "opened")) {
        say_opened(&message, at);
    } else if (is_word(what, "revoked")) {
        message.kind = MESSAGE_REVOKED;
        message.reason = value_text_new(at);
    } else {
        CHECK(is_word(what, "open"));
        message.kind = MESSAGE_OPEN;
    }
    reply(&fixture->script, &message);
}

void fixture_lose(struct fixture *fixture)
{
    struct session *session = fixture->script.session;
    CHECK(session != NULL);
    fixture->script.session = NULL;
    session_disconnected(session);
}

void fixture_connected(struct fixture *fixture)
{
    CHECK(fixture->script.session != NULL);
    session_connected(fixture->script.session);
}

void fixture_step(struct fixture *fixture, mono_ms more)
{
    const mono_ms now = fixture->space->session->now;
    replica_step(&fixture->replica, now + more);
}

void fixture_wake(struct fixture *fixture)
{
    const mono_ms wake = replica_next_wake(&fixture->replica);
    if (EXPECT(wake != MONO_NEVER)) {
        replica_step(&fixture->replica, wake);
    }
}

const char *fixture_said(struct fixture *fixture)
{
    struct buf *text = next_text(fixture);
    buf_append_text(text, buf_text(&fixture->script.said));
    buf_clear(&fixture->script.said);
    return buf_text(text);
}

/* -- Life ---------------------------------------------------------------- */

static void open_space(struct fixture *fixture,
                       const struct space_options *options,
                       struct space **out)
{
    const enum err err =
        space_open(&fixture->replica, options, out, &fixture->detail);
    CHECK(err == ERR_OK);
}

static void set_up(struct fixture *fixture)
{
    *fixture = (struct fixture){
        .script = {.transport = {&script_methods}, .names = "chosen"},
        .subscriber = {.fn = listen, .ctx = fixture},
    };
    replica_init(&fixture->replica, NULL);
    channel_subscribe(&fixture->replica, &fixture->subscriber);
}

void fixture_open_local(struct fixture *fixture)
{
    set_up(fixture);
    const struct space_options options = {.id = value_text_new("s")};
    open_space(fixture, &options, &fixture->space);
}

void fixture_open(struct fixture *fixture, const char *session)
{
    set_up(fixture);
    const struct space_options options = {
        .id = value_text_new("s"),
        .transport = &fixture->script.transport,
        .session = value_text_new(session),
        .seed = 1,
    };
    open_space(fixture, &options, &fixture->space);
    value_unref(options.session);
}

void fixture_open_second(struct fixture *fixture)
{
    const struct space_options options = {.id = value_text_new("t")};
    open_space(fixture, &options, &fixture->second);
}

static void release_folded(struct fixture *fixture)
{
    VEC_FOREACH (&fixture->folded, folded) {
        entity_state_release(&folded->state);
    }
    vec_release(&fixture->folded);
}

void fixture_close_space(struct fixture *fixture)
{
    space_close(fixture->space);
    fixture->space = NULL;
    release_folded(fixture);
}

void fixture_close(struct fixture *fixture)
{
    replica_release(&fixture->replica);
    release_folded(fixture);
    VEC_FOREACH (&fixture->watches, watch) {
        mem_free(*watch, sizeof **watch);
    }
    vec_release(&fixture->watches);
    buf_release(&fixture->heard);
    buf_release(&fixture->outcomes);
    buf_release(&fixture->script.said);
    buf_release(&fixture->script.last);
    for (size_t i = 0; i < FIXTURE_TEXTS; i++) {
        buf_release(&fixture->texts[i]);
    }
}

/* -- Names --------------------------------------------------------------- */

static struct entity *entity_named(struct fixture *fixture, struct text name)
{
    struct space *space = fixture->space;
    if (name.at[0] == '>') {
        space = fixture->second;
        name = (struct text){name.at + 1, name.length - 1};
    }
    const struct target target = target_of(name);
    struct entity *entity;
    const enum err err =
        entity_of(space, target.scope, target.id, &entity, &fixture->detail);
    CHECK(err == ERR_OK);
    value_unref(target.id);
    return entity;
}

static struct place *place_named(struct fixture *fixture, struct text name)
{
    const char *dot = memchr(name.at, '.', name.length);
    size_t length = dot != NULL ? (size_t)(dot - name.at) : name.length;
    const bool root = name.at[length - 1] == '!';
    struct entity *entity =
        entity_named(fixture, (struct text){name.at, length - root});
    struct buf pointer = {0};
    buf_append_text(&pointer, root ? "" : "/value");
    for (; length < name.length; length++) {
        const char c = name.at[length];
        buf_append(&pointer, c == '.' ? "/" : &c, 1);
    }
    struct path *path =
        from_pointer(&fixture->replica.paths, buf_text(&pointer));
    buf_release(&pointer);
    struct place *place = place_of(entity, path);
    path_unref(path);
    return place;
}

struct entity *fixture_entity(struct fixture *fixture, const char *name)
{
    return entity_named(fixture, (struct text){name, strlen(name)});
}

struct place *fixture_place(struct fixture *fixture, const char *name)
{
    return place_named(fixture, (struct text){name, strlen(name)});
}

/* -- Transactions -------------------------------------------------------- */

struct transaction *fixture_begin(struct fixture *fixture)
{
    struct fixture_watch *watch = mem_alloc(sizeof *watch);
    *watch = (struct fixture_watch){
        .fixture = fixture,
        .local_seq =
            fixture->space->session == NULL ? 0 : fixture->space->local_seq + 1,
    };
    vec_push(&fixture->watches, watch);
    const struct transaction_options options = {
        .source = fixture->source,
        .several_spaces = fixture->several,
        .watch = {on_verdict, on_settled, watch},
    };
    return transaction_begin(&fixture->replica, &options);
}

static const struct {
    const char *verb;
    enum read_kind kind;
    unsigned flags;
} read_verbs[] = {
    {"read", READ_DEEP, READ_FOR_BOTH},
    {"shape", READ_SHAPE, READ_FOR_BOTH},
    {"loose", READ_DEEP, READ_NOT_FOR_COMMIT},
    {"still", READ_DEEP, READ_NOT_FOR_SCHEDULING},
    {"peek", READ_DEEP, READ_UNTRACKED},
};

static const struct {
    const char *verb;
    enum write_kind kind;
} write_verbs[] = {
    {"put", WRITE_PUT},
    {"delete", WRITE_DELETE},
    {"append", WRITE_APPEND},
    {"unique", WRITE_ADD_UNIQUE},
    {"remove", WRITE_REMOVE_VALUE},
    {"inc", WRITE_INCREMENT},
};

static bool do_read(struct transaction *transaction,
                    struct text verb,
                    struct place *place)
{
    for (size_t i = 0; i < COUNT_OF(read_verbs); i++) {
        if (is_word(verb, read_verbs[i].verb)) {
            struct value value;
            (void)transaction_read(transaction,
                                   place,
                                   read_verbs[i].kind,
                                   read_verbs[i].flags,
                                   &value);
            value_unref(value);
            return true;
        }
    }
    return false;
}

static enum err do_write(struct fixture *fixture,
                         struct transaction *transaction,
                         struct text verb,
                         struct place *place,
                         const char *json)
{
    for (size_t i = 0; i < COUNT_OF(write_verbs); i++) {
        const enum write_kind kind = write_verbs[i].kind;
        if (!is_word(verb, write_verbs[i].verb)) {
            continue;
        }
        if (kind == WRITE_DELETE) {
            return transaction_delete(transaction, place, &fixture->detail);
        }
        const struct value value = from_quoted(json);
        return kind == WRITE_PUT ? transaction_put_adopt(transaction,
                                                         place,
                                                         value,
                                                         &fixture->detail)
                                 : transaction_merge_adopt(transaction,
                                                           place,
                                                           kind,
                                                           value,
                                                           &fixture->detail);
    }
    (void)test_fail(__FILE__, __LINE__, "unknown verb: %s", verb.at);
    return ERR_ARGUMENT;
}

static enum err do_part(struct fixture *fixture,
                        struct transaction *transaction,
                        const char *part)
{
    const char *at = part;
    const struct text verb = next_word(&at);
    const struct text name = next_word(&at);
    if (is_word(verb, "needs")) {
        transaction_needs(transaction,
                          fixture->space,
                          strtoull(name.at, NULL, 10));
        return ERR_OK;
    }
    if (is_word(verb, "new")) {
        transaction_create_only(transaction, entity_named(fixture, name));
        return ERR_OK;
    }
    struct place *place = place_named(fixture, name);
    const enum err err = do_read(transaction, verb, place)
                             ? ERR_OK
                             : do_write(fixture, transaction, verb, place, at);
    place_unref(place);
    return err;
}

enum err fixture_do(struct fixture *fixture,
                    struct transaction *transaction,
                    const char *line)
{
    enum err err = ERR_OK;
    const char *at = line;
    while (at != NULL && err == ERR_OK) {
        const char *bar = strstr(at, " | ");
        struct buf part = {0};
        buf_append(&part, at, bar != NULL ? (size_t)(bar - at) : strlen(at));
        err = do_part(fixture, transaction, buf_text(&part));
        buf_release(&part);
        at = bar != NULL ? bar + strlen(" | ") : NULL;
    }
    return err;
}

enum err fixture_end(struct fixture *fixture, struct transaction *transaction)
{
    const enum err err = transaction_commit(transaction, &fixture->detail);
    fixture->local_seq = transaction->local_seq;
    transaction_release(transaction);
    return err;
}

enum err fixture_commit(struct fixture *fixture, const char *line)
{
    struct transaction *transaction = fixture_begin(fixture);
    const enum err err = fixture_do(fixture, transaction, line);
    if (err != ERR_OK) {
        transaction_release(transaction);
        return err;
    }
    return fixture_end(fixture, transaction);
}

bool fixture_expect_commit(const char *file,
                           int line,
                           struct fixture *fixture,
                           enum err want,
                           const char *what)
{
    fixture->detail = (struct err_detail){0};
    const enum err got = fixture_commit(fixture, what);
    return got == want || test_fail(file,
                                    line,
                                    "\"%s\" is %s (%s), not %s",
                                    what,
                                    err_name(got),
                                    fixture->detail.text,
                                    err_name(want));
}

const char *fixture_read(struct fixture *fixture,
                         struct transaction *transaction,
                         const char *name)
{
    struct place *place = fixture_place(fixture, name);
    struct value value;
    const enum err err =
        transaction_read(transaction, place, READ_DEEP, READ_UNTRACKED, &value);
    place_unref(place);
    struct buf *text = next_text(fixture);
    if (err != ERR_OK) {
        buf_append_text(text, err_name(err));
    } else {
        put_value(text, value);
    }
    value_unref(value);
    return buf_text(text);
}

/* -- Looking ------------------------------------------------------------- */

const char *fixture_see(struct fixture *fixture, const char *name)
{
    struct buf *text = next_text(fixture);
    put_state(text, &fixture_entity(fixture, name)->visible);
    return buf_text(text);
}

const char *fixture_confirmed(struct fixture *fixture, const char *name)
{
    struct buf *text = next_text(fixture);
    put_state(text, overlay_confirmed(fixture_entity(fixture, name)));
    return buf_text(text);
}

const char *fixture_heard(struct fixture *fixture)
{
    struct buf *text = next_text(fixture);
    buf_append_text(text, buf_text(&fixture->heard));
    buf_clear(&fixture->heard);
    return buf_text(text);
}

const char *fixture_outcomes(struct fixture *fixture)
{
    struct buf *text = next_text(fixture);
    buf_append_text(text, buf_text(&fixture->outcomes));
    buf_clear(&fixture->outcomes);
    return buf_text(text);
}

const char *fixture_pending(struct fixture *fixture, uint64_t local_seq)
{
    struct buf *text = next_text(fixture);
    struct value written = VALUE_NONE;
    LIST_FOREACH (&fixture->space->pending, node) {
        const struct pending *pending =
            CONTAINER_OF(node, struct pending, node);
        if (pending->commit.local_seq == local_seq) {
            written = commit_write(&pending->commit);
        }
    }
    put_value(text, written);
    value_unref(written);
    return buf_text(text);
}

static bool check_space(struct fixture *fixture, const struct space *space)
{
    bool held = true;
    MAP_FOREACH (&space->entities, slot) {
        struct entity *entity = slot->item;
        held =
            held && overlay_check(entity) && place_check(entity) &&
            entity_state_equal(folded_of(fixture, entity), &entity->visible) &&
            entity->version <= fixture->replica.version;
    }
    uint64_t last = 0;
    size_t dead = 0;
    LIST_FOREACH (&space->pending, node) {
        const struct pending *pending =
            CONTAINER_OF(node, struct pending, node);
        held = held && pending->commit.local_seq > last;
        last = pending->commit.local_seq;
        dead += pending->doomed || pending->state == PENDING_REFUSED;
    }
    return held && dead == space->dead;
}

bool fixture_check(const char *file, int line, struct fixture *fixture)
{
    const bool held =
        (fixture->space == NULL || check_space(fixture, fixture->space)) &&
        (fixture->second == NULL || check_space(fixture, fixture->second));
    return held || test_fail(file, line, "an invariant does not hold");
}
