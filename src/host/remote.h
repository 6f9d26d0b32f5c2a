/* A remote: the spaces of a server, for one runtime.
 *
 * One wire (host/wire.h) carries all spaces of a runtime, each on its own
 * channel: the messages of a session (proto/message.h), and questions
 * (host/questions.h).
 *
 *   remote = remote_new(&options);                 no connection yet
 *   channel = remote_open(remote, &opening);       begins to attach
 *   while (remote_state(channel) == CHANNEL_ATTACHING) {
 *       ... wait until remote_fd is readable ...
 *       remote_receive(remote, now);
 *   }
 *   ... a space with the transport remote_transport(channel) ...
 *   remote_receive(remote, now); remote_deliver(remote); remote_flush(remote);
 *   remote_free(remote);
 *
 *   remote-1  Sessions are called by remote_deliver only. So a caller can wait
 *             for the answer to a question while nothing else happens.
 *   remote-2  A lost connection is dialed again when a session, or a question,
 *             needs one: the session decides how long to wait. Channels are
 *             attached again under the same number.
 *   remote-3  A refusal that will not change (class terminal or permanent) ends
 *             a channel: CHANNEL_REFUSED, with the server's sentence. Its
 *             session is revoked.
 *   remote-4  Nothing that the server sends is trusted: a line that cannot be
 *             read is counted and breaks the session of its channel.
 *   remote-5  What is sent waits until remote_flush: one message on the wire
 *             for everything, unless it becomes too large. */

#ifndef HOST_REMOTE_H
#define HOST_REMOTE_H

#include "base/host.h"
#include "base/log.h"
#include "host/wire.h"
#include "replica/transport.h"

struct remote;
struct remote_channel;

enum {
    REMOTE_VERSION = 1,              /* of the protocol */
    REMOTE_SEND_BYTES = 256 * 1024,  /* of one message of several lines */
    REMOTE_MESSAGE_BYTES = 16 << 20, /* of any, unless the server says */
    REMOTE_CONNECT_MS = 10000,       /* until the server has greeted */
};

/* What a client proves to be, for an attach: all borrowed. */
struct remote_challenge {
    struct value audience;
    struct value challenge;
    struct value space;
    struct value branch;  /* "": the main one */
    struct value session; /* or absent */
};

struct remote_options {
    struct wire *wire; /* taken over */
    const char *url;   /* for messages */
    const char *token; /* NULL: none */
    const char *user;  /* for a server without keys; NULL: none */
    const struct log *log;

    /* The proof for a challenge, an object, new (auth/proof.h). NULL: none. */
    enum err (*prove)(void *ctx,
                      const struct remote_challenge *challenge,
                      struct value *proof,
                      struct err_detail *detail);
    void *ctx;
};

struct remote *remote_new(const struct remote_options *options);
void remote_free(struct remote *remote); /* and its wire; NULL is harmless */

int remote_fd(const struct remote *remote);

/* -- Spaces -------------------------------------------------------------- */

/* All borrowed. */
struct remote_opening {
    struct value space;
    struct value branch; /* or absent: the main one */
    struct value session;
    struct value instance; /* of the runtime */
    bool create;           /* if it does not exist; else NOT_FOUND */
    bool read_only;
};

enum channel_state {
    CHANNEL_IDLE,      /* not attached; a session or a question changes that */
    CHANNEL_ATTACHING, /* also while the wire is dialed */
    CHANNEL_ATTACHED,
    CHANNEL_REFUSED, /* permanently: remote_trouble says why (remote-3) */
};

/* Begins to attach. The channel lives until the remote is freed. */
struct remote_channel *remote_open(struct remote *remote,
                                   const struct remote_opening *opening,
                                   mono_ms now);

/* Ends a channel that no session uses any more. */
void remote_close(struct remote_channel *channel);

enum channel_state remote_state(const struct remote_channel *channel);

/* Begins to attach again, if it is idle. */
void remote_attach(struct remote_channel *channel, mono_ms now);

struct transport *remote_transport(struct remote_channel *channel);

/* What the server said when it was attached first. */
struct remote_attached {
    struct value principal; /* of this client: a string, or absent; borrowed */
    uint64_t next_local_seq;
    bool may_write;
};
const struct remote_attached *remote_attached(
    const struct remote_channel *channel);

/* How often it was attached, and how often the server has reported that another
 * session may have committed: for a caller that compares. */
uint64_t remote_attachments(const struct remote_channel *channel);
uint64_t remote_landed(const struct remote_channel *channel);

/* Why the channel is not attached: a refusal, or what the wire said. NULL: it
 * is, or nothing is known yet. */
const struct err_detail *remote_trouble(const struct remote_channel *channel);

/* -- Questions ----------------------------------------------------------- */

/* Sends a question with the next flush: its number, for remote_take_answer;
 * 0: the channel is not attached. */
uint64_t remote_ask(struct remote_channel *channel, struct value question);

/* Whether the question has ended; *err is then its result, and *answer the
 * answer, new. UNREACHABLE: the connection was lost first. */
bool remote_take_answer(struct remote_channel *channel,
                        uint64_t number,
                        enum err *err,
                        struct value *answer,
                        struct err_detail *detail);

/* The answer is no longer wanted. */
void remote_drop_question(struct remote_channel *channel, uint64_t number);

/* -- Moving -------------------------------------------------------------- */

/* Takes in what has arrived: answers, attachments, the state of the wire. */
void remote_receive(struct remote *remote, mono_ms now);

/* Hands received messages and changes of connections to the sessions. Whether
 * there were any. */
bool remote_deliver(struct remote *remote);

/* Whether it would. What was received while a caller waited for an answer is
 * not announced again by the descriptor. */
bool remote_has_deliveries(const struct remote *remote);

void remote_flush(struct remote *remote);

/* When to call remote_receive again, if the descriptor is not readable. */
mono_ms remote_next_wake(const struct remote *remote);

struct remote_counters {
    uint64_t dials;
    uint64_t sent_messages;
    uint64_t sent_bytes;
    uint64_t received_messages;
    uint64_t received_bytes;
    uint64_t bad_lines;
};
const struct remote_counters *remote_counters(const struct remote *remote);

#endif
