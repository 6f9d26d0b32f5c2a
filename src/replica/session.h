/* A session: the connection of one space to its store, across reconnects.
 *
 * Commits are sent in local order and stay outstanding until there is a
 * verdict. A lost connection is replaced after a growing delay. The session
 * then identifies itself, says what it has seen, and sends everything
 * outstanding again, in order. The store answers a commit that it knows with
 * the same verdict, so resending is harmless.
 *
 *   session-1  There is at most one connection, with its own number. Messages
 *              that are not the next one on it are ignored or break it
 *              (proto/message.h).
 *   session-2  Outstanding are exactly the pending commits of the space without
 *              a verdict; a commit is in flight at most once per connection.
 *   session-3  The inbox is not read while a transaction is open, or while a
 *              notification is being delivered.
 *   session-4  A sync may include a commit of ours whose verdict was lost; with
 *              its layer on top it would be applied twice. So the sync waits
 *              until everything that was sent again has a verdict.
 *
 * The first message to send opens the session. */

#ifndef REPLICA_SESSION_H
#define REPLICA_SESSION_H

#include "base/random.h"
#include "replica/space.h"
#include "replica/transport.h"

enum session_state {
    SESSION_IDLE,       /* nothing to send so far */
    SESSION_CONNECTING, /* the transport was asked */
    SESSION_OPENING,    /* `open` was sent */
    SESSION_OPEN,
    SESSION_WAITING, /* for the next attempt */
    SESSION_REVOKED, /* the store has ended it, permanently */
    SESSION_CLOSED,  /* permanently */
};

enum {
    SESSION_BACKOFF_MS = 25,        /* doubled per failure in a row, */
    SESSION_BACKOFF_MAX_MS = 30000, /* up to this; plus up to a fifth */
    SESSION_ANSWER_MS = 10000, /* without an expected answer for so long, the
                                  connection is considered dead */
    SESSION_BATCH_MAX = 1000,  /* commits per message */
    SESSION_WATCH_MAX = 5000,  /* documents that one message asks for */
};

struct session {
    struct space *space;
    struct transport *transport;
    enum session_state state;
    struct value id;    /* string, or absent until the store has chosen */
    struct value token; /* that the store gave, to be shown when it is opened
                           again; or absent */
    struct random random;
    mono_ms backoff_max; /* the longest wait, without the fifth */
    uint64_t client;     /* distinguishes sessions of the same name; 0 without a
                            seed */

    uint64_t connection; /* the number of this or the last one */
    uint64_t sent;       /* messages on it */
    uint64_t sent_seq;   /* commits up to this local seq were sent on it, or
                            never will be */
    struct message_order order;
    uint32_t failures; /* in a row */
    mono_ms now;       /* of the last step */
    mono_ms wake;      /* waiting: the next attempt; open: the deadline of an
                          answer; else never */
    uint64_t seen_seq; /* everything up to here is integrated */
    uint64_t acked_seq;
    VEC(struct message) inbox;
    size_t inbox_read;
    VEC(struct message) held; /* syncs that wait (session-4) */
    bool unsure;              /* a pending commit is `unsure` (space.h) */
    uint32_t pulls_owed;      /* unanswered watches on this connection, */
    VEC(struct entity *)
    followed;              /* the unloaded entities in them, in
                              order, */
    VEC(uint32_t) follows; /* and how many in each */
    VEC(struct space_request *)
    requests; /* likewise, the selector of each, or NULL */
    bool draining;
    bool flushing;
    bool deltas;             /* the store may send them */
    struct message outgoing; /* commits; kept for its memory */
    size_t batch_max;        /* commits per message; a transport whose messages
                                have a limit may lower it */

    struct session_counters {
        uint64_t connections;
        uint64_t resumed;
        uint64_t sent_commits; /* including repeats */
        uint64_t looked_at;    /* commits visited to find some to send */
        uint64_t acks;
        uint64_t dropped_messages; /* stale or undecodable */
        uint64_t useless_deltas;   /* for a state that is not here */
    } counters;
};

struct session *session_new(struct space *space,
                            const struct space_options *options);
void session_free(struct session *session);

/* Gives the connection up permanently. */
void session_close(struct session *session);

/* Whether it can still send: CLOSED, SESSION_LOST. */
MUST_CHECK enum err session_check(const struct session *session,
                                  struct err_detail *detail);

/* Whether the next flush would send commits, unless they are held. */
bool session_has_commits(const struct session *session);

/* Sends what is queued: documents to watch, commits, an ack. Connects if there
 * is something to send and no connection. */
void session_flush(struct session *session);
void session_flush_group(struct session *session); /* one message of each */

void session_step(struct session *session, mono_ms now);
mono_ms session_next_wake(const struct session *session);

/* Handles the inbox, if allowed (session-3). */
void session_drain(struct session *session);

/* Gives the connection up and forgets what it has seen. */
void session_restart(struct session *session);

/* Whether a message waits, or something could be sent now. */
bool session_needs_step(const struct session *session);

/* -- For the transport --------------------------------------------------- */

void session_connected(struct session *session);

/* Takes over the content of `message` and leaves it empty. */
void session_receive(struct session *session, struct message *message);

/* The transport received something that is not a message. Gives the connection
 * up. */
void session_receive_garbage(struct session *session);

void session_disconnected(struct session *session);

#endif
