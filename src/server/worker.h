/* A worker: a thread that runs a shard.
 *
 * It sleeps until something is in its inbox, a file of a space was written by
 * another process, or a tick is due. */

#ifndef SERVER_WORKER_H
#define SERVER_WORKER_H

#include "host/wake.h"
#include "server/shard.h"

struct worker {
    pthread_t thread;
    struct inbox inbox;
    struct wake wake;
    struct shard shard;
    _Atomic bool must_stop;
    _Atomic bool is_busy; /* has items that are not handled */
    _Atomic bool has_drained;
    mono_ms next_tick;
};

/* Starts the thread. IO: the process is out of descriptors or threads. */
MUST_CHECK enum err worker_start(struct worker *worker,
                                 const struct shard_options *options,
                                 struct err_detail *detail);

/* From any thread; leaves the batch empty. */
void worker_post(struct worker *worker, struct batch *batch);

/* The server drains: wakes the worker. */
void worker_drain(struct worker *worker);

/* Whether everything that was posted is handled, and, while the server drains,
 * nothing waits. */
bool worker_is_idle(struct worker *worker);

/* Handles what is in the inbox, closes the spaces, and ends the thread. What is
 * posted later is dropped by worker_release. */
void worker_stop(struct worker *worker);
void worker_release(struct worker *worker);

#endif
