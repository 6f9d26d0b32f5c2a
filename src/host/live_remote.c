/* The spaces of a live host that are on a server: opening them, questions, and
 * waiting for answers (live-11). */

#include "base/text.h"
#include "host/live_internal.h"
#include "host/presence.h"
#include "host/remote.h"
#include "replica/session.h"
#include "runtime/stored_events.h"
#include "sched/events.h"
#include "value/object.h"

/* -- Waiting ------------------------------------------------------------- */

/* Until when a caller that is not interrupted waits: for the server, and for an
 * answer of one that is there. */
static mono_ms connect_deadline(const struct live *live)
{
    const mono_ms latest = live_now(live) + live->connect_ms;
    return live->deadline < latest ? live->deadline : latest;
}

static mono_ms answer_deadline(const struct live *live)
{
    const mono_ms latest = live_now(live) + LIVE_ANSWER_MS;
    const mono_ms connect = connect_deadline(live);
    return connect < latest ? connect : latest;
}

/* Also by a signal while the host is being opened. */
static bool is_stopped(const struct live *live)
{
    return live_is_due(live) || (live->options.interrupted != NULL &&
                                 live->options.interrupted(live->options.ctx));
}

/* Sends, and sleeps until something arrives. False: the deadline has come, or
 * an interrupt is pending. */
static bool wait_for_answer(struct live *live, mono_ms deadline)
{
    remote_flush(live->remote);
    const mono_ms now = live_now(live);
    const mono_ms own = remote_next_wake(live->remote);
    const mono_ms until = own < deadline ? own : deadline;
    if (now >= deadline || is_stopped(live)) {
        return false;
    }
    wake_sleep_for_answer(&live->wake, until > now ? until - now : 0);
    remote_receive(live->remote, live_now(live));
    return true;
}

/* The pause before the next attempt of a caller that waits for the server. */
static void pause_before_attempt(struct live *live, mono_ms deadline)
{
    const mono_ms now = live_now(live);
    const mono_ms left = deadline > now ? deadline - now : 0;
    wake_sleep_for_answer(&live->wake,
                          left < LIVE_ATTEMPT_MS ? left : LIVE_ATTEMPT_MS);
}

static enum err explain(struct live *live,
                        const struct remote_channel *channel,
                        struct err_detail *detail)
{
    const struct err_detail *trouble = remote_trouble(channel);
    if (is_stopped(live) && live_now(live) < live->deadline) {
        return err_set(detail, ERR_INTERRUPTED, "interrupted");
    }
    return trouble != NULL
               ? err_set(detail, trouble->err, "%s", trouble->text)
               : err_set(detail,
                         ERR_UNREACHABLE,
                         "the server did not answer in time: retry, or allow "
                         "more time");
}

static bool will_not_change(const struct err_detail *trouble)
{
    return trouble != NULL && err_class_of(trouble->err) == ERR_CLASS_TERMINAL;
}

/* Until the channel is attached, or the deadline. A server that is not there
 * may come. */
static enum err wait_attached(struct live *live,
                              struct remote_channel *channel,
                              mono_ms deadline,
                              struct err_detail *detail)
{
    remote_receive(live->remote, live_now(live));
    while (remote_state(channel) != CHANNEL_ATTACHED) {
        if (remote_state(channel) == CHANNEL_REFUSED) {
            return explain(live, channel, detail);
        }
        if (remote_state(channel) == CHANNEL_IDLE) {
            if (live_now(live) >= deadline || is_stopped(live) ||
                will_not_change(remote_trouble(channel))) {
                return explain(live, channel, detail);
            }
            if (remote_trouble(channel) != NULL) {
                pause_before_attempt(live, deadline);
            }
            remote_attach(channel, live_now(live));
        }
        if (!wait_for_answer(live, deadline)) {
            return explain(live, channel, detail);
        }
    }
    return ERR_OK;
}

/* -- Questions ----------------------------------------------------------- */

/* What cannot be put off: what it is for would be done without the answer. */
static bool is_patient(struct value question)
{
    const struct value name = object_field(question, "question");
    return value_is_text(name, "resume") ||
           value_is_text(name, "resumeCount") ||
           value_is_text(name, "changed") || value_is_text(name, "timersNamed");
}

enum err live_remote_ask(void *ctx,
                         struct value question,
                         struct value *answer,
                         struct err_detail *detail)
{
    struct live_space *at = ctx;
    struct live *live = at->live;
    struct remote_channel *channel = at->channel;
    enum err err = ERR_OK;
    *answer = VALUE_NONE;
    if (remote_state(channel) != CHANNEL_ATTACHED) {
        err = is_patient(question)
                  ? wait_attached(live, channel, connect_deadline(live), detail)
                  : explain(live, channel, detail);
    }
    const uint64_t number = err == ERR_OK ? remote_ask(channel, question) : 0;
    if (number == 0) {
        return err;
    }
    if (value_is_text(object_field(question, "question"), "release")) {
        remote_drop_question(channel, number); /* its end is enough */
        return ERR_OK;
    }
    const mono_ms deadline = answer_deadline(live);
    while (!remote_take_answer(channel, number, &err, answer, detail)) {
        if (!wait_for_answer(live, deadline)) {
            remote_drop_question(channel, number);
            return explain(live, channel, detail);
        }
    }
    return err;
}

/* -- Opening ------------------------------------------------------------- */

/* The server decides whom this client acts for. */
static void take_principal(struct live *live, struct value principal)
{
    value_unref(live->user);
    live->user = value_ref(principal);
    if (!value_is_absent(principal)) {
        events_set_user(live->runtime.sched, principal);
    }
}

enum err live_remote_open(struct live *live,
                          struct live_space *at,
                          enum data_dir_access access,
                          struct err_detail *detail)
{
    const bool is_first = live->spaces.count == 0;
    struct value branch = is_first && live->options.branch != NULL
                              ? value_text_new(live->options.branch)
                              : VALUE_NONE;
    const struct remote_opening opening = {
        .space = at->name,
        .branch = branch,
        .session = live->session,
        .instance = live->instance,
        .create = access == DATA_DIR_CREATE,
        .read_only = live->options.access == DATA_DIR_READ_ONLY,
    };
    at->channel = remote_open(live->remote, &opening, live_now(live));
    value_unref(branch);
    enum err err =
        wait_attached(live, at->channel, connect_deadline(live), detail);
    if (err == ERR_OK) {
        asked_store_init(&at->asked, live_remote_ask, at, &live->asked_claims);
        at->store = &at->asked.store;
        at->attachments = remote_attachments(at->channel);
        at->landed = remote_landed(at->channel);
    }
    if (err == ERR_OK && is_first) {
        live->asked_claims.ctx = at;
        take_principal(live, remote_attached(at->channel)->principal);
        if (!live->new_session && !opening.read_only) {
            err = questions_claim_session(live_remote_ask, at, detail);
        }
    }
    return err;
}

void live_remote_close(struct live_space *at)
{
    if (at->store != NULL) {
        asked_store_release(&at->asked);
    }
    remote_close(at->channel);
}

/* -- Receiving ----------------------------------------------------------- */

/* The claims of this runtime ended with the connection that was lost. */
static void renew_claims(struct live *live, struct live_space *at)
{
    struct err_detail detail = {0};
    if (at != live->spaces.at[0]) {
        return;
    }
    if (!live->new_session && live->options.access != DATA_DIR_READ_ONLY &&
        questions_claim_session(live_remote_ask, at, &detail) != ERR_OK) {
        log_write(live->options.log,
                  LOG_LEVEL_WARNING,
                  "the session could not be claimed again: %s",
                  detail.text);
    }
    asked_claims_renew(&live->asked_claims);
    if (!value_is_absent(live->about) &&
        questions_begin_presence(live_remote_ask, at, live->about, &detail) !=
            ERR_OK) {
        log_write(live->options.log,
                  LOG_LEVEL_WARNING,
                  "other processes do not see this one: %s",
                  detail.text);
    }
}

static void notice(struct live *live, struct live_space *at)
{
    const uint64_t attachments = remote_attachments(at->channel);
    const uint64_t landed = remote_landed(at->channel);
    if (attachments != at->attachments &&
        remote_state(at->channel) == CHANNEL_ATTACHED) {
        at->attachments = attachments;
        renew_claims(live, at);
    }
    if (landed != at->landed) {
        at->landed = landed;
        stored_events_notice(&live->runtime, at->space);
    }
}

bool live_remote_exchange(struct live *live)
{
    bool any = false;
    remote_flush(live->remote);
    remote_receive(live->remote, live_now(live));
    while (remote_deliver(live->remote)) {
        replica_pump(&live->runtime.replica);
        any = true;
    }
    VEC_FOREACH (&live->spaces, at) {
        notice(live, *at);
    }
    return any;
}

mono_ms live_remote_next_wake(const struct live *live)
{
    if (live->remote == NULL) {
        return MONO_NEVER;
    }
    return remote_has_deliveries(live->remote) ? live_now(live)
                                               : remote_next_wake(live->remote);
}

bool live_remote_wait(struct live *live, mono_ms deadline)
{
    if (remote_has_deliveries(live->remote)) {
        return true;
    }
    const mono_ms session = replica_next_wake(&live->runtime.replica);
    const bool goes_on =
        wait_for_answer(live, session < deadline ? session : deadline);
    replica_step(&live->runtime.replica, live_now(live));
    return goes_on || (session < deadline && !is_stopped(live));
}

mono_ms live_remote_deadline(const struct live *live)
{
    return connect_deadline(live);
}

/* A question is answered behind everything that was sent before. */
void live_remote_refresh(struct live *live)
{
    VEC_FOREACH (&live->spaces, at) {
        struct value question = question_new("seq");
        struct value answer = VALUE_NONE;
        const enum err err = live_remote_ask(*at, question, &answer, NULL);
        (void)err; /* then it is as current as it can be */
        value_unref(question);
        value_unref(answer);
    }
    (void)live_remote_exchange(live);
}

/* -- Troubles ------------------------------------------------------------ */

/* A short break is none: sessions reconnect. */
const struct err_detail *live_remote_trouble(struct live_space *at, mono_ms now)
{
    const struct err_detail *trouble = remote_trouble(at->channel);
    if (trouble == NULL) {
        at->lost_since = 0;
        return NULL;
    }
    if (remote_state(at->channel) == CHANNEL_REFUSED) {
        return trouble;
    }
    if (at->lost_since == 0) {
        at->lost_since = now > 0 ? now : 1;
    }
    return now >= at->lost_since + LIVE_BUSY_MS ? trouble : NULL;
}

/* -- Presence, and questions ---------------------------------------------- */

enum err live_begin_presence(struct live *live,
                             struct value about,
                             struct err_detail *detail)
{
    presence_end(live->presence);
    live->presence = NULL;
    value_unref(live->about);
    live->about = value_ref(about);
    if (live->remote != NULL) {
        return questions_begin_presence(live_remote_ask,
                                        live->spaces.at[0],
                                        about,
                                        detail);
    }
    return live->folder.length == 0 ? ERR_OK
                                    : presence_begin(buf_text(&live->folder),
                                                     live->session,
                                                     about,
                                                     &live->presence,
                                                     detail);
}

enum err live_ask(struct live *live,
                  struct value question,
                  struct value *answer,
                  struct err_detail *detail)
{
    *answer = VALUE_NONE;
    return live->remote != NULL
               ? live_remote_ask(live->spaces.at[0], question, answer, detail)
               : err_set(detail,
                         ERR_ARGUMENT,
                         "this runtime works on files, not on a server");
}
