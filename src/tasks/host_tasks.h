/* The tasks that a host does by itself: programs ("exec") and requests
 * ("http"), each only as far as it was allowed.
 *
 *   struct host_tasks *tasks = host_tasks_new(&options);
 *   host_tasks_attach(tasks, runtime);         its kinds are known there
 *   ... wait until host_tasks_fd is readable or host_tasks_next_wake has come,
 *       then host_tasks_step(tasks, now); and step the runtime ...
 *   host_tasks_free(tasks);                    after the runtime's pieces
 *
 *   host-task-1  Nothing is allowed unless the options name it: the call fails
 *                with DENIED, and a sentence that names the option.
 *   host-task-2  No call blocks the process: pipes, sockets and children are
 *                waited for by one descriptor.
 *   host-task-3  A program runs without a shell, as a process group of its own,
 *                which is killed when the call is cancelled, takes too long or
 *                prints too much, and when the host ends. A process that is
 *                itself killed cannot do that.
 *   host-task-4  What comes back is bounded in size and time.
 *
 * For hosts, not for the library: a program that embeds Heddle and does not
 * make requests does not need libcurl. */

#ifndef TASKS_HOST_TASKS_H
#define TASKS_HOST_TASKS_H

#include "base/host.h"
#include "base/vec.h"

struct runtime;
struct host_tasks;

enum {
    HOST_TASKS_BYTES = 1024 * 1024,          /* of an answer, unless told; */
    HOST_TASKS_BYTES_MAX = 16 * 1024 * 1024, /* and at most */
    HOST_TASKS_EXEC_MS = 60000,              /* unless told */
    HOST_TASKS_HTTP_MS = 30000,              /* likewise */
    HOST_TASKS_REDIRECTS = 5,                /* likewise */
    HOST_TASKS_HTTP_RETRIES = 3,             /* likewise */
    HOST_TASKS_ARGUMENTS_MAX = 256,          /* of a program */
};

/* Lists with commas; NULL: nothing. Borrowed. */
struct host_tasks_options {
    const char *allow_exec; /* programs, as the requests name them */
    const char *allow_net;  /* "example.com" or "example.com:8080" */
};

struct host_tasks *host_tasks_new(const struct host_tasks_options *options);

/* Ends what is under way, without telling anyone. NULL is harmless. */
void host_tasks_free(struct host_tasks *tasks);

void host_tasks_attach(struct host_tasks *tasks, struct runtime *runtime);

int host_tasks_fd(const struct host_tasks *tasks);
void host_tasks_step(struct host_tasks *tasks, mono_ms now);
mono_ms host_tasks_next_wake(const struct host_tasks *tasks);

#endif
