/* A session: the connection of one space to its store, through losses.
 *
 * What was committed is sent in local order and stays outstanding until there
 * is a verdict. When a connection is lost, another one is made, after a while
 * that grows; the session says who it is and what it has seen, and sends
 * everything that is outstanding again, in order. The store answers what it
 * has seen before with the same verdict, so a repetition is harmless.
 *
 *   I1  At most one connection, with a number of its own; messages that are
 *       not the next of it are ignored or break it (proto/message.h).
 *   I2  What is outstanding is exactly the pending commits of the space that
 *       have no verdict; a commit is at most once in flight on a connection.
 *   I3  Nothing is taken from the inbox while a transaction is open, or while
 *       somebody is being told of a change.
 *   I4  What the store tells may hold a commit of ours whose answer was lost;
 *       with its layer on top it would be seen twice. So it waits until all
 *       that was sent again is answered.
 *
 * It is opened by the first thing to send, and not before. */

#ifndef REPLICA_SESSION_H
#define REPLICA_SESSION_H

#include "base/random.h"
#include "replica/space.h"
#include "replica/transport.h"

enum session_state {
    SESSION_IDLE,       /* nothing was to be sent so far */
    SESSION_CONNECTING, /* the transport has been asked */
    SESSION_OPENING,    /* `open` was sent */
    SESSION_OPEN,
    SESSION_WAITING, /* for the next attempt */
    SESSION_REVOKED, /* the store does not want it any more; for good */
    SESSION_CLOSED,  /* for good, too */
};

enum {
    SESSION_BACKOFF_MS = 25,        /* doubled at each failure in a row, */
    SESSION_BACKOFF_MAX_MS = 30000, /* up to this; plus up to a fifth */
    SESSION_ANSWER_MS = 10000, /* silence on a connection that owes something:
                                  it is taken for dead */
    SESSION_BATCH_MAX = 1000,  /* commits a message */
    SESSION_WATCH_MAX = 5000,  /* documents that one asks for */
};

struct session {
    struct space *space;
    struct transport *transport;
    enum session_state state;
    struct value id; /* string, or absent until the store has chosen */
    struct random random;
    mono_ms backoff_max; /* the longest wait, without the fifth */
    uint64_t client; /* tells this one from others of the same name; 0 if there
                        is no seed */

    uint64_t connection; /* the number of this or the last one */
    uint64_t sent;       /* messages on it */
    uint64_t sent_seq;   /* commits up to this local seq were sent on it, or
                            never will be */
    struct message_order order;
    uint32_t failures; /* in a row */
    mono_ms now;       /* of the last step */
    mono_ms wake;      /* waiting: the next attempt; open: the last moment
                          for an answer; else never */
    uint64_t seen_seq; /* everything up to here has been integrated */
    uint64_t acked_seq;
    VEC(struct message) inbox;
    size_t inbox_read;
    VEC(struct message) held; /* syncs that wait (I4) */
    bool unsure;              /* a pending commit may be (space.h) */
    uint32_t pulls_owed;      /* watches on this connection without answer, */
    VEC(struct entity *) followed; /* and who was hollow in them, in order, */
    VEC(uint32_t) follows;         /* and how many of each */
    bool draining;
    bool flushing;
    struct message outgoing; /* commits; kept for its room */

    struct session_counters {
        uint64_t connections;
        uint64_t resumed;
        uint64_t sent_commits; /* repetitions included */
        uint64_t looked_at;    /* commits, for some that can be sent */
        uint64_t acks;
        uint64_t dropped_messages; /* stale or undecodable */
    } counters;
};

struct session *session_new(struct space *space,
                            const struct space_options *options);
void session_free(struct session *session);

/* Gives the connection up, for good. */
void session_close(struct session *session);

/* Whether it will ever send again: CLOSED, SESSION_LOST. */
MUST_CHECK enum err session_check(const struct session *session,
                                  struct err_detail *detail);

/* Whether the next flush would send commits, if none is held back. */
bool session_has_commits(const struct session *session);

/* Sends what waits: documents to watch, commits, an ack. Connects if there is
 * something to send and no connection. */
void session_flush(struct session *session);
void session_flush_group(struct session *session); /* one message of each */

void session_step(struct session *session, mono_ms now);
mono_ms session_next_wake(const struct session *session);

/* Handles the inbox, if it may be (I3). */
void session_drain(struct session *session);

/* Gives the connection up and forgets what it has seen. */
void session_restart(struct session *session);

/* Whether a message waits, or something could be sent now. */
bool session_is_restless(const struct session *session);

/* -- For the transport --------------------------------------------------- */

void session_connected(struct session *session);

/* Takes the content of `message` over and leaves it empty. */
void session_receive(struct session *session, struct message *message);

/* Something came that is no message. The connection is given up. */
void session_receive_garbage(struct session *session);

void session_disconnected(struct session *session);

#endif
