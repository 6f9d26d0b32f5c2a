/* Threads and environments, and everybody who wants something of them.
 *
 * People create threads, give them turns, stop and delete them; a daemon
 * (service/daemon.h) does the work and says what became of it, at any time;
 * sweeps look after what was lost. All of them report events to the one writer
 * (store/lifecycle.h), and what follows from an event happens in the same
 * transaction as the change of status.
 *
 *   S1  One call, one transaction: what it changed is in the file whole or not
 *       at all, and a request goes to the daemon only after the commit.
 *   S2  A request in flight is claimed by id and token (lifecycle/guard.h), so
 *       the same is not sent twice; an answer to an older one releases nothing.
 *   S3  What must survive a restart is in the rows: what is wanted is a status,
 *       and for each status that does not rest a sweep or the next session
 *       leads out of it.
 *   S4  Every call has an outcome; what did not apply is explained in the log.
 *   S5  Time is an argument. Ids come from the caller, tokens from the
 *       sequence of the store: the same calls give the same rows.
 *
 * One thread. A fault of the store (other than OK) leaves everything as it
 * was; the call can be made again. Not here: the network, people's rights. */

#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include "lifecycle/guard.h"
#include "service/daemon.h"
#include "store/registry.h"

enum {
    SERVICE_GRACE_MS = 30 * 1000,             /* for a daemon to come back */
    SERVICE_REQUEST_MS = 24 * 60 * 60 * 1000, /* then an answer is lost */
};

enum service_kind {
    SERVICE_ACCEPTED, /* it is done, or under way */
    SERVICE_NOTHING,  /* it was so already */
    SERVICE_REFUSED,  /* it cannot be, and nothing has changed */
    SERVICE_KIND_COUNT,
};

enum service_reason {
    SERVICE_NO_REASON, /* of what was not refused */
    SERVICE_INVALID,   /* a name or a text */
    SERVICE_NOT_FOUND,
    SERVICE_EXISTS,
    SERVICE_OFFLINE, /* no daemon is connected */
    SERVICE_BUSY,    /* a run is under way */
    SERVICE_STOPPING,
    SERVICE_ARCHIVED,
    SERVICE_DELETED,
    SERVICE_GONE,        /* the environment is destroyed, or being so */
    SERVICE_IN_USE,      /* the environment has live threads */
    SERVICE_NOT_MANAGED, /* the environment is not ours to destroy */
    SERVICE_REASON_COUNT,
};

struct service_outcome {
    enum service_kind kind;
    enum service_reason reason;
    char text[160]; /* a sentence */
};

/* "accepted", ..., "offline", ...: for programs and logs. */
const char *service_kind_name(enum service_kind kind);
const char *service_reason_name(enum service_reason reason);

/* A request that leaves when the transaction has committed. */
struct service_mail;

struct service {
    struct registry registry;
    struct guard guard;
    struct daemon *daemon;
    const struct log *log;
    bool is_busy; /* a call is under way: neither a listener nor the daemon
                     may call from inside (D1) */
    bool is_connected;
    char instance[REGISTRY_NAME_SIZE]; /* of the daemon's last session */
    uint64_t left_at;                  /* when it was last connected */
    uint64_t gave_up_at; /* when stops without an answer were last given up */
    VEC(struct service_mail) outbox;
};

struct service_options {
    struct engine *engine; /* outlives the service, as do the others */
    struct daemon *daemon;
    const struct log *log;
    /* As in the registry, but it does not call the service: it may note what
     * it wants to do, and do it when the call has returned. */
    void (*on_change)(void *ctx, const struct registry_change *change);
    void *ctx;
};

/* After a restart nothing is in flight: what was being made has failed, a
 * destroy is lost. */
MUST_CHECK enum err service_open(struct service *service,
                                 const struct service_options *options,
                                 uint64_t now,
                                 struct err_detail *detail);
void service_close(struct service *service);

/* -- What people want ---------------------------------------------------- */

struct service_thread {
    const char *id;
    const char *parent;      /* or NULL */
    const char *environment; /* made if there is none with that id */
    bool is_managed;         /* then: ours to destroy */
    const char *input;       /* of its first turn */
};

MUST_CHECK enum err service_create(struct service *service,
                                   const struct service_thread *thread,
                                   uint64_t now,
                                   struct service_outcome *outcome,
                                   struct err_detail *detail);

/* A turn now, or refused. */
MUST_CHECK enum err service_send(struct service *service,
                                 const char *thread,
                                 const char *input,
                                 uint64_t now,
                                 struct service_outcome *outcome,
                                 struct err_detail *detail);

/* A turn as soon as the thread rests. */
MUST_CHECK enum err service_queue(struct service *service,
                                  const char *thread,
                                  const char *input,
                                  uint64_t now,
                                  struct service_outcome *outcome,
                                  struct err_detail *detail);

/* A turn at `first_at` and then every `every_ms`, if the thread is idle then;
 * `name` is the thread's own, and can be used again to replace it. */
struct service_schedule {
    const char *thread;
    const char *name;
    uint64_t first_at;
    uint64_t every_ms; /* at least 1 */
    const char *input;
};

MUST_CHECK enum err service_schedule(struct service *service,
                                     const struct service_schedule *schedule,
                                     uint64_t now,
                                     struct service_outcome *outcome,
                                     struct err_detail *detail);

/* What people do with a thread, or with an environment, by its id. */
typedef enum err service_fn(struct service *service,
                            const char *id,
                            uint64_t now,
                            struct service_outcome *outcome,
                            struct err_detail *detail);

MUST_CHECK service_fn service_stop;
MUST_CHECK service_fn service_delete;
MUST_CHECK service_fn service_archive;
MUST_CHECK service_fn service_unarchive;
/* Ends a stop that nobody will answer. */
MUST_CHECK service_fn service_finalize;
/* An environment without a thread, managed. It is kept until somebody destroys
 * it, or the last thread that came to it has left. */
MUST_CHECK service_fn service_provision;
MUST_CHECK service_fn service_reprovision;
MUST_CHECK service_fn service_destroy;

/* -- What the daemon says ------------------------------------------------ */

MUST_CHECK enum err service_answer(struct service *service,
                                   const struct daemon_answer *answer,
                                   uint64_t now,
                                   struct err_detail *detail);
MUST_CHECK enum err service_event(struct service *service,
                                  const struct daemon_event *event,
                                  uint64_t now,
                                  struct err_detail *detail);

/* A daemon is here, with what it is running. `instance` is new for each of
 * its processes. A session that is still open is replaced. */
MUST_CHECK enum err service_session_open(struct service *service,
                                         const char *instance,
                                         const struct daemon_run *runs,
                                         size_t count,
                                         uint64_t now,
                                         struct err_detail *detail);
void service_session_close(struct service *service, uint64_t now);

/* -- What time brings ---------------------------------------------------- */

/* Due schedules, waiting messages, stops and destroys to be sent again, what
 * was lost. To be called every few seconds. */
MUST_CHECK enum err service_sweep(struct service *service,
                                  uint64_t now,
                                  struct err_detail *detail);

#endif
