/* What live.c and live_lock.c share: a live host, and its spaces. */

#ifndef HOST_LIVE_INTERNAL_H
#define HOST_LIVE_INTERNAL_H

#include "host/claims.h"
#include "host/engine_access.h"
#include "host/event_source.h"
#include "host/hub.h"
#include "host/hub_link.h"
#include "host/live.h"
#include "host/mirrors.h"
#include "host/wake.h"

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
    struct event_source event_source;
    bool more;        /* the last step was cut short */
    mono_ms deadline; /* of the caller that waits, or MONO_NEVER */
    bool postponed;   /* it ran nothing: other processes go first */
    struct mirrors mirrors;
    VEC(struct live_space *) spaces;
};

/* -- The write lock (live_lock.c) ---------------------------------------- */

/* Finds the process that has the write lock, as a sentence. Reads /proc. */
void live_find_holder(struct live_space *at, mono_ms now);

/* The lock was requested and is unavailable; it was acquired, or is no longer
 * wanted (live-8). */
void live_begin_wait(struct live_space *at, mono_ms now);
void live_end_wait(struct live_space *at);

#endif
