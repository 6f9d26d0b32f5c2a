/* What the I/O thread hands to a worker. */

#include "server/inbox.h"

#include <string.h>

#include "base/mem.h"
#include "server/maintenance.h"

/* -- Ports --------------------------------------------------------------- */

struct port *port_new(net_id id)
{
    struct port *port = mem_alloc_zero(sizeof *port);
    atomic_init(&port->references, 1);
    port->id = id;
    return port;
}

struct port *port_ref(struct port *port)
{
    (void)atomic_fetch_add_explicit(&port->references, 1, memory_order_relaxed);
    return port;
}

void port_unref(struct port *port)
{
    if (port != NULL &&
        atomic_fetch_sub_explicit(&port->references, 1, memory_order_acq_rel) ==
            1) {
        mem_free(port, sizeof *port);
    }
}

/* -- Items --------------------------------------------------------------- */

struct item *item_new(enum item_kind kind,
                      struct port *port,
                      uint32_t channel,
                      const char *text,
                      size_t length)
{
    struct item *item = mem_alloc(sizeof *item + length + 1);
    *item = (struct item){
        .kind = kind,
        .channel = channel,
        .port = port != NULL ? port_ref(port) : NULL,
        .length = length,
    };
    if (length > 0) {
        memcpy(item->text, text, length);
    }
    item->text[length] = '\0';
    return item;
}

void item_free(struct item *item)
{
    if (item->request != NULL) {
        net_request_free(item->request);
    }
    if (item->attach != NULL) {
        if (item->attach->bearer != NULL) {
            mem_free(item->attach->bearer, strlen(item->attach->bearer) + 1);
        }
        mem_free(item->attach, sizeof *item->attach);
    }
    backup_file_free(item->backup);
    port_unref(item->port);
    mem_free(item, sizeof *item + item->length + 1);
}

/* -- Batches and inboxes ------------------------------------------------- */

void batch_add(struct batch *batch, struct item *item)
{
    item->next = NULL;
    if (batch->first == NULL) {
        batch->first = item;
    } else {
        batch->last->next = item;
    }
    batch->last = item;
    batch->count++;
}

static void free_all(struct item *first)
{
    while (first != NULL) {
        struct item *next = first->next;
        item_free(first);
        first = next;
    }
}

void inbox_init(struct inbox *inbox)
{
    *inbox = (struct inbox){0};
    CHECK(pthread_mutex_init(&inbox->mutex, NULL) == 0);
}

void inbox_release(struct inbox *inbox)
{
    free_all(inbox->waiting.first);
    (void)pthread_mutex_destroy(&inbox->mutex);
}

bool inbox_post(struct inbox *inbox, struct batch *batch)
{
    CHECK(pthread_mutex_lock(&inbox->mutex) == 0);
    const bool was_empty = inbox->waiting.first == NULL;
    if (was_empty) {
        inbox->waiting = *batch;
    } else if (batch->first != NULL) {
        inbox->waiting.last->next = batch->first;
        inbox->waiting.last = batch->last;
        inbox->waiting.count += batch->count;
    }
    CHECK(pthread_mutex_unlock(&inbox->mutex) == 0);
    *batch = (struct batch){0};
    return was_empty;
}

struct item *inbox_take(struct inbox *inbox)
{
    CHECK(pthread_mutex_lock(&inbox->mutex) == 0);
    struct item *first = inbox->waiting.first;
    inbox->waiting = (struct batch){0};
    CHECK(pthread_mutex_unlock(&inbox->mutex) == 0);
    return first;
}

bool inbox_is_empty(struct inbox *inbox)
{
    CHECK(pthread_mutex_lock(&inbox->mutex) == 0);
    const bool is_empty = inbox->waiting.first == NULL;
    CHECK(pthread_mutex_unlock(&inbox->mutex) == 0);
    return is_empty;
}
