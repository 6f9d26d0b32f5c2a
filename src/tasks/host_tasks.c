/* The loop that programs and requests share, and its life. */

#include "tasks/host_tasks.h"

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "tasks/loop.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

enum {
    EVENTS_MAX = 32
};

struct host_tasks {
    struct loop loop;
    struct exec_tasks exec;
    struct http_tasks http;
};

/* -- What the kinds share ------------------------------------------------ */

bool loop_watch(struct loop *loop, struct loop_watch *watch, bool writing)
{
    struct epoll_event event = {
        .events = writing ? EPOLLOUT : EPOLLIN,
        .data = {.ptr = watch},
    };
    return watch->fd >= 0 && loop->epoll_fd >= 0 &&
           epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) == 0;
}

/* A child may hold a copy of what is behind it, so closing is not enough. */
void loop_close(struct loop *loop, struct loop_watch *watch)
{
    if (watch->fd >= 0) {
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
        (void)close(watch->fd);
        watch->fd = -1;
    }
}

void loop_set_timer(struct loop *loop, struct loop_timer *timer, mono_ms after)
{
    loop_stop_timer(timer);
    timer->after = after;
    timer->due = 0;
    list_node_init(&timer->node);
    list_push_back(&loop->timers, &timer->node);
    loop->next = 0;
}

void loop_stop_timer(struct loop_timer *timer)
{
    if (timer->node.next != NULL && list_node_is_linked(&timer->node)) {
        list_remove(&timer->node);
    }
}

bool loop_is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    while (list != NULL && *list != '\0') {
        const size_t part = strcspn(list, ",");
        if (part == length && memcmp(list, word, length) == 0) {
            return true;
        }
        list += part + (list[part] == ',');
    }
    return false;
}

/* A link is followed by what reads it, and written through: nothing outside
 * may choose what it points at. Values are at most LIMIT_DEPTH deep. */
static bool has_link(struct value value)
{
    const enum value_kind kind = value_kind(value);
    bool found = kind == VALUE_LINK || kind == VALUE_TAGGED;
    if (kind == VALUE_ARRAY) {
        struct array_iter iter = array_iter(value);
        struct value item;
        while (!found && array_next(&iter, &item)) {
            found = has_link(item);
        }
    } else if (kind == VALUE_OBJECT) {
        struct object_iter iter = object_iter(value);
        struct value key;
        struct value item;
        while (!found && object_next(&iter, &key, &item)) {
            found = has_link(item);
        }
    }
    return found;
}

struct value loop_read_json(const struct buf *text, struct buf *why)
{
    struct value value = VALUE_NONE;
    struct json_fault fault = {0};
    const enum err err =
        json_read(buf_text(text), text->length, NULL, &value, &fault);
    if (err != ERR_OK) {
        buf_append_text(why, err_text(err));
        return VALUE_NONE;
    }
    if (has_link(value)) {
        buf_append_text(why, "it has the form of a link to a document");
        value_unref(value);
        return VALUE_NONE;
    }
    return value;
}

/* -- The loop ------------------------------------------------------------ */

/* One that has run out, or NULL: then loop->next is right. */
static struct loop_timer *find_due(struct loop *loop, mono_ms now)
{
    loop->next = MONO_NEVER;
    LIST_FOREACH (&loop->timers, at) {
        struct loop_timer *timer = CONTAINER_OF(at, struct loop_timer, node);
        timer->due = timer->due == 0 ? now + timer->after : timer->due;
        if (timer->due <= now) {
            return timer;
        }
        loop->next = timer->due < loop->next ? timer->due : loop->next;
    }
    return NULL;
}

/* One event at a time: what is done for one may end what another is about. */
static bool take_event(struct loop *loop)
{
    struct epoll_event event;
    if (epoll_wait(loop->epoll_fd, &event, 1, 0) != 1) {
        return false;
    }
    struct loop_watch *watch = event.data.ptr;
    watch->ready(watch);
    return true;
}

void host_tasks_step(struct host_tasks *tasks, mono_ms now)
{
    struct loop *loop = &tasks->loop;
    for (unsigned i = 0; i < EVENTS_MAX && take_event(loop); i++) {
    }
    if (now < loop->next) {
        return;
    }
    for (struct loop_timer *timer = find_due(loop, now); timer != NULL;
         timer = find_due(loop, now)) {
        loop_stop_timer(timer);
        timer->ran_out(timer);
    }
}

mono_ms host_tasks_next_wake(const struct host_tasks *tasks)
{
    return tasks->loop.next;
}

int host_tasks_fd(const struct host_tasks *tasks)
{
    return tasks->loop.epoll_fd;
}

/* -- Life ---------------------------------------------------------------- */

struct host_tasks *host_tasks_new(const struct host_tasks_options *options)
{
    struct host_tasks *tasks = mem_alloc_zero(sizeof *tasks);
    tasks->loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    tasks->loop.next = MONO_NEVER;
    list_init(&tasks->loop.timers);
    tasks->exec.allowed = options->allow_exec;
    tasks->http.allowed = options->allow_net;
    exec_tasks_begin(&tasks->exec, &tasks->loop);
    http_tasks_begin(&tasks->http, &tasks->loop);
    return tasks;
}

void host_tasks_free(struct host_tasks *tasks)
{
    if (tasks == NULL) {
        return;
    }
    exec_tasks_end(&tasks->exec);
    http_tasks_end(&tasks->http);
    if (tasks->loop.epoll_fd >= 0) {
        (void)close(tasks->loop.epoll_fd);
    }
    mem_free(tasks, sizeof *tasks);
}

void host_tasks_attach(struct host_tasks *tasks, struct runtime *runtime)
{
    task_kinds_add(runtime, &tasks->exec.kind);
    task_kinds_add(runtime, &tasks->http.kind);
}
