/* What the files of a live host share: the host, and its spaces. */

#ifndef HOST_LIVE_INTERNAL_H
#define HOST_LIVE_INTERNAL_H

#include "host/claims.h"
#include "host/engine_access.h"
#include "host/event_source.h"
#include "host/hub.h"
#include "host/hub_link.h"
#include "host/live.h"
#include "host/mirrors.h"
#include "host/questions.h"
#include "host/wake.h"

struct presence;
struct remote;
struct remote_channel;
struct session_lock;

struct live_space {
    struct live *live;
    struct value name;
    bool stored; /* has a store (live-7): the next five, and the watch */
    struct engine engine;
    struct engine_access access;
    struct store_access *store; /* or NULL: it has none */
    struct hub hub;
    struct hub_link link;
    struct space *space;

    struct remote_channel *channel; /* of a space on a server (live-11), whose
                                       store is `asked`; or NULL */
    struct asked_store asked;
    uint64_t attachments; /* of the channel, that were seen */
    uint64_t landed;      /* likewise */
    mono_ms lost_since;   /* the server cannot be reached; 0: it can */

    int watch;                 /* of its lock file (host/wake.h) */
    bool written;              /* by a process, since the last step */
    mono_ms busy_since;        /* since when the write lock is requested and
                                  unavailable (live-8); 0: not waiting */
    mono_ms ask_again;         /* at the latest */
    mono_ms pause;             /* until then */
    struct err_detail busy;    /* the process that has it, once it is known;
                                  OK: not yet */
    bool busy_long;            /* to be reported */
    struct err_detail trouble; /* as reported; OK: none */
};

struct live {
    struct live_options options; /* without the parts borrowed for the call */
    struct runtime runtime;
    struct host *host;
    struct wake wake;
    struct buf folder; /* empty: in memory */
    struct value user; /* or absent */
    struct value session;
    struct value instance;
    bool new_session;
    struct session_lock *session_lock; /* NULL: the session needs none
                                          (live-4) */
    struct folder_claims folder_claims;
    struct remote *remote; /* the server (live-11); or NULL */
    mono_ms connect_ms;    /* to wait for it */
    struct asked_claims asked_claims;
    struct presence *presence; /* in the folder; or NULL */
    struct value about;        /* what other processes see; or absent */
    struct event_source event_source;
    bool more;        /* the last step was cut short */
    mono_ms deadline; /* of the caller that waits, or MONO_NEVER */
    bool postponed;   /* it ran nothing: other processes go first */
    struct mirrors mirrors;
    VEC(struct live_space *) spaces;
};

/* -- Spaces on a server (live_remote.c) ---------------------------------- */

/* Attaches the space, which has its name only, and waits for that. */
MUST_CHECK enum err live_remote_open(struct live *live,
                                     struct live_space *at,
                                     enum data_dir_access access,
                                     struct err_detail *detail);
void live_remote_close(struct live_space *at);

/* Asks the store of a space: questions_ask_fn, its context is the space. */
enum err live_remote_ask(void *ctx,
                         struct value question,
                         struct value *answer,
                         struct err_detail *detail);

/* Sends what is to be sent, and hands over what has arrived. Whether anything
 * has: then there may be more to send. */
bool live_remote_exchange(struct live *live);

/* Waits until something arrives. False: the deadline has come, or an interrupt
 * is pending. And the deadline of a caller that has none. */
bool live_remote_wait(struct live *live, mono_ms deadline);
mono_ms live_remote_deadline(const struct live *live);

/* When to step again because of the server. */
mono_ms live_remote_next_wake(const struct live *live);

/* Takes in everything that has landed up to now. */
void live_remote_refresh(struct live *live);

/* Why the space cannot be used, if that has lasted; or NULL. */
const struct err_detail *live_remote_trouble(struct live_space *at,
                                             mono_ms now);

/* -- Troubles (live_trouble.c) -------------------------------------------- */

/* Reports those that have begun, and those that are over. */
void live_report_troubles(struct live *live);

/* -- The write lock (live_lock.c) ---------------------------------------- */

/* Finds the process that has the write lock, as a sentence. Reads /proc. */
void live_find_holder(struct live_space *at, mono_ms now);

/* The lock was requested and is unavailable; it was acquired, or is no longer
 * wanted (live-8). */
void live_begin_wait(struct live_space *at, mono_ms now);
void live_end_wait(struct live_space *at);

#endif
