/* Who watches what, and who is to be told: the inside of the hub.
 *
 *   F1  A document is indexed exactly while somebody watches it.
 *   F2  A watch is in its session's `dirty` exactly if its document must be
 *       in the session's next sync. While it is not, and the session has a
 *       peer, the session holds the document's last revision, or derives it
 *       when it gets its verdict, or, if the watch is `hollow`, knows it
 *       without having it: it is what it was at `known`.
 *   F3  A session with something in `dirty`, or with a marker or observations
 *       owed, is in the hub's `owing`.
 *   F4  A session is in `listening` exactly if it has a peer that asked for
 *       observations. What it has not been told when that one is gone is
 *       forgotten: it is news, and helps who gets it in time. */

#ifndef HOST_FANOUT_H
#define HOST_FANOUT_H

#include "host/hub.h"

enum {
    SCOPE_COUNT = SCOPE_SESSION + 1
};

struct hub_document {
    struct value branch;
    struct value scope_key;
    struct value id;
    uint64_t seq; /* of the last revision that was noticed */
    struct list watches;
};

struct hub_watch {
    struct list_node in_document;
    struct list_node in_session;
    struct list_node in_dirty; /* F2 */
    struct hub_session *session;
    struct hub_document *document;
    struct target target;
    uint64_t since; /* a session that has seen more than this has got the
                       answer to its `watch`, or what it did not know of a
                       hollow one */
    uint64_t known; /* up to which the session knew it without having it; 0: it
                       did not */
    bool hollow;    /* and it was told nothing else since */
};

struct hub_session {
    struct hub *hub;
    struct value id;
    struct value branch;
    struct value principal;
    struct value scope_keys[SCOPE_COUNT]; /* absent: not for this one */
    struct hub_peer *peer;                /* NULL: it is in `idle` */
    uint64_t client;                      /* who opened it last, or 0, */
    uint64_t connection;                  /* and by which connection */
    struct list_node in_idle;
    struct list_node in_owing; /* F3 */
    mono_ms ends;              /* without a peer */
    bool heard_of; /* the other side has got `opened`, and knows that its
                      watches are what they are here */
    struct list watches;
    struct map watch_by_document;
    struct list dirty;
    struct list_node in_listening; /* wants to know what others' runs saw */
    VEC(struct told_observation) observations; /* for its next sync */
    uint64_t told;      /* the syncs have come to here (H2) */
    uint64_t caught_up; /* the highest local seq that has its verdict */
    bool marker_owed;
};

/* -- Watches ------------------------------------------------------------- */

/* The session watches the document from now on, and is about to be told of
 * it at `seq`. */
void fanout_watch(struct hub_session *session,
                  const struct target *target,
                  uint64_t seq);

/* The session watches the document from now on, and knows what it was at
 * `known`. */
void fanout_follow(struct hub_session *session,
                   const struct target *target,
                   uint64_t known);

/* What has landed above `known` of documents that the session has just begun to
 * follow: marks what is another one now. Everything up to hub->seq has been
 * noticed. Between engine_read_begin and _end, and so the next one. */
MUST_CHECK enum err fanout_catch_up(struct hub_session *session,
                                    uint64_t known,
                                    struct err_detail *detail);

/* If the document is marked: it goes with this message. Once that is queued,
 * fanout_told. */
MUST_CHECK enum err fanout_answer(struct hub_session *session,
                                  const struct target *target,
                                  struct message *answer,
                                  struct err_detail *detail);
void fanout_told(struct hub_session *session, const struct target *target);

/* What the session knew of a document, for an upsert of it, if that is now
 * another one. Likewise between the two. */
MUST_CHECK enum err fanout_add_before(const struct hub_session *session,
                                      struct upsert *upsert,
                                      struct err_detail *detail);

/* The session does not watch the document any more; harmless if it never
 * did. */
void fanout_unwatch(struct hub_session *session, const struct target *target);

/* Forgets all watches. */
void fanout_unwatch_all(struct hub_session *session);

/* A connection that has seen everything up to `seen`, and what was sent after
 * that perhaps not: marks what it may lack. */
void fanout_resume(struct hub_session *session, uint64_t seen);

/* -- What happened ------------------------------------------------------- */

/* The session's own commit landed at `seq`, directly behind hub->seq. */
void fanout_landed(struct hub_session *session,
                   const struct commit *commit,
                   const struct verdict *verdict);

/* It was refused because of what it read: the author sees all of it again. */
void fanout_conflicted(struct hub_session *session,
                       const struct commit *commit);

/* What the session's runs saw, with a commit or in a batch, and was kept: for
 * everybody else on its branch who listens. */
void fanout_observed(struct hub_session *session,
                     const struct commit *commit,
                     const struct verdict *verdict);

/* From now on, or no longer. */
void fanout_listen(struct hub_session *session, bool listen);

/* The session has a verdict for this one. */
void fanout_owe_marker(struct hub_session *session, uint64_t local_seq);

/* Notices what landed above hub->seq and up to `to`, whoever committed it, and
 * what others on the file have run. Between engine_read_begin and _end. */
MUST_CHECK enum err fanout_feed(struct hub *hub,
                                uint64_t to,
                                struct err_detail *detail);

/* -- Telling ------------------------------------------------------------- */

/* Queues a sync for every session that is owed one. What fails stays owed. */
void fanout_flush(struct hub *hub);

/* The same for one session. */
void fanout_tell(struct hub_session *session);

/* -- From hub.c ---------------------------------------------------------- */

/* Numbers the message, and puts it into the outbox. Takes its content over. */
void hub_queue(struct hub_peer *peer, struct message *message);

/* How it went with the engine. */
void hub_fault(struct hub *hub,
               enum hub_work work,
               const char *what,
               const struct err_detail *detail);
void hub_worked(struct hub *hub, enum hub_work work);

#endif
