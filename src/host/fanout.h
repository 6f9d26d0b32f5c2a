/* Watches, and which session must be told what: the inside of the hub.
 *
 *   fanout-1  A document is indexed exactly while a session watches it.
 *   fanout-2  A watch is in its session's `dirty` exactly if its document must
 *             be in the session's next sync. Otherwise, if the session has a
 *             peer, the session holds the document's last revision, or derives
 *             it from its verdict, or, if the watch is `unloaded`, knows it
 *             without holding it: the document is unchanged since `known`.
 *   fanout-3  A session with something in `dirty`, or with a marker or
 *             observations owed, is in the hub's `owing`.
 *   fanout-4  A session is in `listening` exactly if it has a peer that asked
 *             for observations. Observations that the peer has not received
 *             when it disconnects are dropped: they are hints.
 *   fanout-5  A document is read once per flush, and encoded at most once for
 *             all sessions that get the same bytes. Nothing of it is kept after
 *             the flush.
 *   fanout-6  `steps` of a document are patches that lead from its state at
 *             `steps_from`, one after the other, to its last revision that was
 *             seen. They are kept while a session that takes deltas may be
 *             sent them.
 *   fanout-7  `held` of a watch is 0, or the seq that the replica has for the
 *             document once it has everything that was sent to it: of the last
 *             upsert, or of its own last commit that a marker covers. */

#ifndef HOST_FANOUT_H
#define HOST_FANOUT_H

#include "host/hub.h"

struct selectors;

enum {
    SCOPE_COUNT = SCOPE_SESSION + 1
};

/* One operation of a commit, as a patch in its wire form. */
struct hub_step {
    uint64_t seq;
    struct value patch;
};

/* What leads from one state of a document to its head. */
struct hub_delta {
    uint64_t from;
    struct value patch; /* absent: longer than the document */
    struct upsert_text *text;
};

struct hub_document {
    struct value branch;
    struct value scope_key;
    struct value id;
    uint64_t seq; /* of the last revision that was seen */
    struct list watches;

    uint64_t steps_from;
    VEC(struct hub_step) steps; /* fanout-6 */

    /* During a flush (fanout-5). */
    bool read;                /* these are valid, and it is in hub->read */
    struct value head;        /* or absent: there is none */
    uint64_t head_seq;        /* also after it, of the last one */
    struct upsert_text *text; /* of its upsert; NULL: it has one watch */
    VEC(struct hub_delta) deltas;
};

struct hub_watch {
    struct list_node in_document;
    struct list_node in_session;
    struct list_node in_dirty; /* fanout-2 */
    struct hub_session *session;
    struct hub_document *document;
    struct target target;
    uint64_t since; /* a session that has seen more than this has the answer to
                       its `watch`, or what it lacked of an unloaded one */
    uint64_t known; /* up to which the session knew it without holding it; 0:
                       it did not */
    bool unloaded;  /* and it was told nothing else since */
    bool asked;     /* by name; */
    uint32_t reached; /* and by how many graphs of selectors; one of them */

    uint64_t held;   /* fanout-7 */
    uint64_t own;    /* the last revision, which the session derives from its
                        verdict; 0: it is not its own */
    uint64_t marked; /* markers of the session then */
};

struct hub_session {
    struct hub *hub;
    struct value id;
    struct value branch;
    struct value principal;
    struct value scope_keys[SCOPE_COUNT]; /* absent: not available to it */
    struct hub_peer *peer;                /* NULL: it is in `idle` */
    uint64_t client;                      /* that opened it last, or 0, */
    uint64_t connection;                  /* and by which connection */
    struct value token;                   /* hub-7; or absent */
    struct value shown; /* by the last `open`, while it is good; or absent */
    struct list_node in_idle;
    struct list_node in_owing; /* fanout-3 */
    mono_ms ends;              /* without a peer */
    bool heard_of; /* the other side has received `opened`, and knows that its
                      watches are the same as here */
    struct list watches;
    struct map watch_by_document;
    struct list dirty;
    struct list_node in_listening; /* wants observations of other sessions */
    VEC(struct told_observation) observations; /* for its next sync */
    struct selectors *selectors; /* host/selectors.h; NULL: it has none */
    uint64_t told;               /* its syncs have reached this seq (hub-2) */
    uint64_t caught_up; /* the highest local seq that has its verdict */
    bool marker_owed;
    uint64_t markers; /* syncs with one so far */
    bool deltas;      /* its peer takes them */
};

/* -- Watches ------------------------------------------------------------- */

/* The session watches the document from now on, and is about to be sent its
 * state at `seq`, whole. */
void fanout_watch(struct hub_session *session,
                  const struct target *target,
                  uint64_t seq);

/* The session watches the document from now on, and knows its state at `known`.
 */
void fanout_follow(struct hub_session *session,
                   const struct target *target,
                   uint64_t known);

/* Marks documents that the session has just begun to follow and that changed
 * above `known`. Everything up to hub->seq has been seen. Between
 * engine_read_begin and _end, as is the next function. */
MUST_CHECK enum err fanout_catch_up(struct hub_session *session,
                                    uint64_t known,
                                    struct err_detail *detail);

/* If the document is marked, this message carries it. Call fanout_told once the
 * message is queued. */
MUST_CHECK enum err fanout_answer(struct hub_session *session,
                                  const struct target *target,
                                  struct message *answer,
                                  struct err_detail *detail);
void fanout_told(struct hub_session *session, const struct target *target);

/* For an upsert of a document that has changed: the state that the session
 * knew. Likewise between the two. */
MUST_CHECK enum err fanout_add_before(const struct hub_session *session,
                                      struct upsert *upsert,
                                      struct err_detail *detail);

/* The session no longer watches the document by name; harmless if it never did.
 * If selectors reach it, it is sent again: the session has dropped it. */
void fanout_unwatch(struct hub_session *session, const struct target *target);

/* A graph of selectors reaches the document, whose last revision is at `seq`.
 * True: the session does not hold it. */
bool fanout_reach(struct hub_session *session,
                  const struct target *target,
                  uint64_t seq);

/* The session is about to be sent the document, whole, as of `seq`. */
void fanout_holds(struct hub_session *session,
                  const struct target *target,
                  uint64_t seq);

/* It does not any more. True: the session no longer watches the document. */
bool fanout_unreach(struct hub_session *session, const struct target *target);

/* The next sync has the document, if the session watches it. */
void fanout_mark(struct hub_session *session, const struct target *target);
bool fanout_watches(const struct hub_session *session,
                    const struct target *target);

/* Forgets all watches. */
void fanout_unwatch_all(struct hub_session *session);

/* A connection has received everything up to `seen`, and possibly more: marks
 * what it may lack. */
void fanout_resume(struct hub_session *session, uint64_t seen);

/* -- Events -------------------------------------------------------------- */

/* The session's own commit landed at `seq`, directly behind hub->seq. */
void fanout_landed(struct hub_session *session,
                   const struct commit *commit,
                   const struct verdict *verdict);

/* It was refused because of its reads: the author is sent all of them again. */
void fanout_conflicted(struct hub_session *session,
                       const struct commit *commit);

/* The store kept an observation of the session's runs, with a commit or in a
 * batch: for every other session on its branch that listens. */
void fanout_observed(struct hub_session *session,
                     const struct commit *commit,
                     const struct verdict *verdict);

/* Starts or stops listening. */
void fanout_listen(struct hub_session *session, bool listen);

/* The session has the verdict of this commit. */
void fanout_owe_marker(struct hub_session *session, uint64_t local_seq);

/* Processes all commits above hub->seq and up to `to`, of any process, and the
 * runs of other hubs on the file. Between engine_read_begin and _end. */
MUST_CHECK enum err fanout_feed(struct hub *hub,
                                uint64_t to,
                                struct err_detail *detail);

/* -- Sending ------------------------------------------------------------- */

/* Queues a sync for every session that is owed one. On failure it stays owed.
 */
void fanout_flush(struct hub *hub);

/* The same for one session. */
void fanout_tell(struct hub_session *session);

/* -- From hub.c ---------------------------------------------------------- */

/* Numbers the message and queues it in the outbox. Takes its content over. */
void hub_queue(struct hub_peer *peer, struct message *message);

/* The peer's session continues without it; the host is told to drop it. */
void hub_break_peer(struct hub_peer *peer);

/* Marks changes of other processes; the sessions are told later. */
void hub_notice_others(struct hub *hub);

/* The result of an engine call. */
void hub_fault(struct hub *hub,
               enum hub_work work,
               const char *what,
               const struct err_detail *detail);
void hub_worked(struct hub *hub, enum hub_work work);

/* -- From hub_commits.c -------------------------------------------------- */

/* Commits of a peer whose session is open. Takes the message over if it is
 * deferred, and leaves it empty. */
void hub_receive_commits(struct hub_peer *peer, struct message *message);

/* Whether commits of the peer are deferred. */
bool hub_has_deferred(const struct hub_peer *peer);

/* Decides about all deferred commits and queues the verdicts. A fault breaks
 * their peers. */
void hub_decide_deferred(struct hub *hub);

#endif
