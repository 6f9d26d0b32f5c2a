/* What the kinds of tasks/host_tasks.h share: one descriptor for everything
 * that they wait for, and deadlines. */

#ifndef TASKS_LOOP_H
#define TASKS_LOOP_H

#include <stdint.h>

#include "base/list.h"
#include "runtime/task_kind.h"
#include "tasks/host_tasks.h"

/* A descriptor that is waited for. */
struct loop_watch {
    int fd; /* -1: none */
    void (*ready)(struct loop_watch *watch);
};

/* A deadline. Only a step knows the time: one that is set begins with it. */
struct loop_timer {
    struct list_node node;
    mono_ms after;
    mono_ms due; /* 0: not known yet */
    void (*ran_out)(struct loop_timer *timer);
};

struct loop {
    int epoll_fd;
    struct list timers;
    mono_ms next; /* of them */
};

/* False: the process has no descriptor left. */
bool loop_watch(struct loop *loop, struct loop_watch *watch, bool writing);

/* Closes the descriptor. */
void loop_close(struct loop *loop, struct loop_watch *watch);

void loop_set_timer(struct loop *loop, struct loop_timer *timer, mono_ms after);
void loop_stop_timer(struct loop_timer *timer);

/* What a DENIED ends with: to allow it is not enough (task-3). */
#define DENIED_STAYS \
    " (a task that has failed stays so until its inputs change)"

/* Whether a word is in a list with commas. */
bool loop_is_listed(const char *list, const char *word);

/* A text as JSON, new; absent: it is none. */
struct value loop_read_json(const struct buf *text, struct buf *why);

/* -- The kinds ----------------------------------------------------------- */

struct exec_tasks {
    struct loop *loop;
    const char *allowed;
    struct task_kind kind;
    struct list programs;
};

void exec_tasks_begin(struct exec_tasks *exec, struct loop *loop);
void exec_tasks_end(struct exec_tasks *exec);

struct http_tasks {
    struct loop *loop;
    const char *allowed;
    struct task_kind kind;
    struct loop_watch sockets; /* of all requests */
    struct loop_timer timer;
    void *multi; /* NULL: there was no request yet */
    struct list requests;
};

void http_tasks_begin(struct http_tasks *http, struct loop *loop);
void http_tasks_end(struct http_tasks *http);

#endif
