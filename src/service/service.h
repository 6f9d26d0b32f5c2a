/* The service of threads and environments, for people, a daemon and sweeps.
 *
 * People create threads, give them turns, stop and delete them. A daemon
 * (service/daemon.h) does the work and reports its results, at any time. Sweeps
 * recover what was lost. All of them report events to one writer
 * (store/lifecycle.h), and the consequences of an event happen in the same
 * transaction as the change of status.
 *
 *   service-1  One call is one transaction: its changes are stored whole or not
 *              at all, and a request goes to the daemon only after the commit.
 *   service-2  A request in flight is claimed by id and token
 *              (lifecycle/guard.h), so it is not sent twice; an answer to an
 *              older one releases nothing.
 *   service-3  What must survive a restart is in the rows: a wish is a status,
 *              and a sweep or the next session leads out of each status that is
 *              not resting.
 *   service-4  Every call has an outcome; the log explains what did not apply.
 *   service-5  Time is an argument. Ids come from the caller, tokens from the
 *              sequence of the store: the same calls give the same rows.
 *
 * One thread. A fault of the store (other than OK) leaves everything unchanged;
 * the call can be repeated. Not here: the network, people's rights. */

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
    SERVICE_ACCEPTED, /* done, or under way */
    SERVICE_NOTHING,  /* it already was so */
    SERVICE_REFUSED,  /* not possible, and nothing has changed */
    SERVICE_KIND_COUNT,
};

enum service_reason {
    SERVICE_NO_REASON, /* not refused */
    SERVICE_INVALID,   /* a name or a text */
    SERVICE_NOT_FOUND,
    SERVICE_EXISTS,
    SERVICE_OFFLINE, /* no daemon is connected */
    SERVICE_BUSY,    /* a run is under way */
    SERVICE_STOPPING,
    SERVICE_ARCHIVED,
    SERVICE_DELETED,
    SERVICE_GONE,        /* the environment is destroyed, or is being */
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

/* A request that is sent when the transaction has committed. */
struct service_mail;

struct service {
    struct registry registry;
    struct guard guard;
    struct daemon *daemon;
    const struct log *log;
    bool is_busy; /* a call is in progress: neither a listener nor the daemon
                     may call from inside (daemon-1) */
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
    /* As in the registry, but it must not call the service: it may record a
     * call, and make it when this one has returned. */
    void (*on_change)(void *ctx, const struct registry_change *change);
    void *ctx;
};

/* After a restart nothing is in flight: unfinished provisioning has failed, a
 * destroy is lost. */
MUST_CHECK enum err service_open(struct service *service,
                                 const struct service_options *options,
                                 uint64_t now,
                                 struct err_detail *detail);
void service_close(struct service *service);

/* -- Calls of people ----------------------------------------------------- */

struct service_thread {
    const char *id;
    const char *parent;      /* or NULL */
    const char *environment; /* created if there is none with that id */
    bool is_managed;         /* then: the service may destroy it */
    const char *input;       /* of its first turn */
};

MUST_CHECK enum err service_create(struct service *service,
                                   const struct service_thread *thread,
                                   uint64_t now,
                                   struct service_outcome *outcome,
                                   struct err_detail *detail);

/* A turn now, or a refusal. */
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

/* Operations on a thread, or an environment, by its id. */
typedef enum err service_fn(struct service *service,
                            const char *id,
                            uint64_t now,
                            struct service_outcome *outcome,
                            struct err_detail *detail);

MUST_CHECK service_fn service_stop;
MUST_CHECK service_fn service_delete;
MUST_CHECK service_fn service_archive;
MUST_CHECK service_fn service_unarchive;
/* Ends a stop whose answer is lost. */
MUST_CHECK service_fn service_finalize;
/* Creates a managed environment without a thread. It is kept until it is
 * destroyed explicitly, or its last thread has left. */
MUST_CHECK service_fn service_provision;
MUST_CHECK service_fn service_reprovision;
MUST_CHECK service_fn service_destroy;

/* -- Calls of the daemon ------------------------------------------------- */

MUST_CHECK enum err service_answer(struct service *service,
                                   const struct daemon_answer *answer,
                                   uint64_t now,
                                   struct err_detail *detail);
MUST_CHECK enum err service_event(struct service *service,
                                  const struct daemon_event *event,
                                  uint64_t now,
                                  struct err_detail *detail);

/* A daemon has connected, with its running turns. `instance` is new for each of
 * its processes. A session that is still open is replaced. */
MUST_CHECK enum err service_session_open(struct service *service,
                                         const char *instance,
                                         const struct daemon_run *runs,
                                         size_t count,
                                         uint64_t now,
                                         struct err_detail *detail);
void service_session_close(struct service *service, uint64_t now);

/* -- Time ---------------------------------------------------------------- */

/* Due schedules, waiting messages, stops and destroys to be resent, lost
 * requests. Call it every few seconds. */
MUST_CHECK enum err service_sweep(struct service *service,
                                  uint64_t now,
                                  struct err_detail *detail);

#endif
