/* Client leases: locked files that a server holds for its clients.
 *
 * A client claims a name by asking for a lease (host/questions.h), and has it
 * until it gives the lease back or its channel ends. The files are those that a
 * runtime on the data directory would lock itself (host/claims.h,
 * host/session_lock.h, host/presence.h), so the clients of the server and the
 * processes beside it exclude and see each other.
 *
 *   struct client_leases leases;                      one per hub, on its
 * thread client_leases_init(&leases, folder); struct lease_holder holder; one
 * per channel lease_holder_init(&holder); err = client_leases_take(&leases,
 * &holder, &lease, &detail); client_leases_end(&leases, &holder); the channel
 * has ended client_leases_release(&leases);                   after all holders
 *
 *   client-leases-1  A lease belongs to one instance of a runtime, and to its
 *                    principal: others can read the name of an instance. If
 *                    that instance asks on another channel, because its
 *                    connection was replaced, the lease moves there.
 *   client-leases-2  A holder has at most LEASES_MAX.
 *   client-leases-3  Leases leave a quarter of the descriptors of the process
 *                    to connections and spaces. */

#ifndef HOST_CLIENT_LEASES_H
#define HOST_CLIENT_LEASES_H

#include "base/list.h"
#include "host/locked_file.h"

enum lease_kind {
    LEASE_SENDER,
    LEASE_TASK,
    LEASE_SESSION,
    LEASE_PRESENCE,
};

enum {
    LEASES_MAX = 10 * 1000,        /* of one holder */
    LEASE_ABOUT_BYTES = 48 * 1024, /* of what is written into a file */
};

/* The name of a kind in questions, and the kind of a name; false: none. */
const char *lease_kind_name(enum lease_kind kind);
bool lease_kind_read(struct value name, enum lease_kind *out);

struct client_leases {
    const char *folder; /* borrowed */
    struct list all;    /* struct lease: client_leases.c */
};

struct lease_holder {
    struct list leases;
    size_t count;
};

/* What is asked for; all borrowed. */
struct lease_wanted {
    enum lease_kind kind;
    struct value name;      /* string */
    struct value instance;  /* string: of the runtime that asks */
    struct value principal; /* string: whom it acts for; or absent */
    struct value about;     /* object, for people */
};

void client_leases_init(struct client_leases *leases, const char *folder);
void client_leases_release(struct client_leases *leases);
void lease_holder_init(struct lease_holder *holder);

/* BUSY: another runtime has it; then *other is what its file says, new, or
 * absent. OVERLOADED: client-leases-2 and -3. IO, FULL. `other` may be NULL. */
MUST_CHECK enum err client_leases_take(struct client_leases *leases,
                                       struct lease_holder *holder,
                                       const struct lease_wanted *wanted,
                                       struct value *other,
                                       struct err_detail *detail);

/* Harmless if the holder does not have it. */
void client_leases_give_back(struct client_leases *leases,
                             struct lease_holder *holder,
                             enum lease_kind kind,
                             struct value name);

/* Whether any runtime has it, also one that is no client of the server. */
bool client_leases_is_held(const struct client_leases *leases,
                           enum lease_kind kind,
                           struct value name);

/* Gives back everything that the holder has. */
void client_leases_end(struct client_leases *leases,
                       struct lease_holder *holder);

#endif
