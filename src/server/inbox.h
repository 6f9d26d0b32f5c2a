/* An inbox: what the I/O thread hands to a worker.
 *
 * The I/O thread collects the items of one turn of its loop in a batch per
 * worker, without a lock, and posts each batch at the end of the turn. The
 * worker takes everything that is there. So one lock and one wake-up serve all
 * messages that arrived together, and they are committed as one group.
 *
 *   inbox-1  Items of one connection are taken in the order of their arrival.
 *   inbox-2  What a connection has in the inbox is counted in its port; over
 *            the limit, the I/O thread stops reading from it. So the inbox is
 *            bounded by the number of connections.
 *   inbox-3  An item owns everything in it, and belongs to one thread at a
 *            time. It holds bytes, no values.
 *
 * An item is released on another thread than the one that makes it: the hooks
 * of base/mem.h must be those of the C library, or safe for threads. */

#ifndef SERVER_INBOX_H
#define SERVER_INBOX_H

#include <pthread.h>
#include <stdatomic.h>

#include "auth/proof.h"
#include "net/net.h"

struct backup_file;

/* A connection, as both sides know it. */
struct port {
    _Atomic uint32_t references;
    _Atomic uint32_t queued;    /* bytes in an inbox (inbox-2) */
    _Atomic uint32_t attaching; /* attaches in an inbox */
    _Atomic bool is_paused;     /* the I/O thread waits until there are fewer */
    net_id id;
};

struct port *port_new(net_id id);
struct port *port_ref(struct port *port);
void port_unref(struct port *port); /* NULL is harmless */

enum item_kind {
    ITEM_LINES,   /* of channels of this worker: "1 {...}\n1 {...}" */
    ITEM_ATTACH,  /* the JSON of an attach */
    ITEM_DETACH,  /* of `channel` */
    ITEM_CLOSED,  /* the connection has ended */
    ITEM_REQUEST, /* an HTTP request */
    ITEM_ENDED,   /* the connection of a request has ended */
    ITEM_ANSWER,  /* to a question of `channel`: its JSON (maintenance.h) */
};

/* What the I/O thread knows about an attach that the client does not say. */
struct item_attach {
    struct challenge challenge;      /* that was valid, */
    char next[CHALLENGE_LENGTH + 1]; /* and is valid from now on */
    char *bearer;                    /* of the upgrade; NULL: none */
    bool may_retry; /* refused, but a proof with `next` can succeed */
};

struct item {
    struct item *next;
    enum item_kind kind;
    uint32_t channel;
    struct port *port;           /* a reference; NULL for a request */
    net_id id;                   /* ENDED */
    struct net_request *request; /* REQUEST */
    struct item_attach *attach;  /* ATTACH */
    uint64_t serial;             /* ANSWER: of the job */
    struct backup_file *backup;  /* ANSWER, or NULL; owned */
    size_t length;
    char text[]; /* terminated */
};

/* `text` is copied; it may be NULL. Takes a reference of the port. */
struct item *item_new(enum item_kind kind,
                      struct port *port,
                      uint32_t channel,
                      const char *text,
                      size_t length);
void item_free(struct item *item);

/* A list of items in order; all zero is empty. */
struct batch {
    struct item *first;
    struct item *last;
    size_t count;
};

void batch_add(struct batch *batch, struct item *item);

struct inbox {
    pthread_mutex_t mutex;
    struct batch waiting;
};

void inbox_init(struct inbox *inbox);
void inbox_release(struct inbox *inbox);

/* Moves the batch into the inbox and leaves it empty. Whether the inbox was
 * empty: then the worker must be woken. */
bool inbox_post(struct inbox *inbox, struct batch *batch);

/* Everything, in order; NULL: nothing. */
struct item *inbox_take(struct inbox *inbox);

bool inbox_is_empty(struct inbox *inbox);

#endif
