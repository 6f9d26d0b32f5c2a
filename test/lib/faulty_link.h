/* A transport between a session and a hub that does everything a network may
 * do, by a seed: it loses, delays, repeats, reorders and damages messages,
 * breaks connections, and lets each side learn of that at a moment of its own.
 *
 * Messages travel as text, so that what is written is what is read. Time is
 * the host's: an event is delivered when faulty_link_step is called at or
 * after its moment. Events of one moment keep their order.
 *
 * A connection that the session has given up may still deliver to the hub what
 * was under way: the hub cannot know better. */

#ifndef TEST_LIB_FAULTY_LINK_H
#define TEST_LIB_FAULTY_LINK_H

#include "base/buf.h"
#include "host/hub.h"
#include "replica/transport.h"

/* One in so many; 0: never. */
struct faulty_rates {
    uint64_t lose;
    uint64_t repeat;
    uint64_t delay; /* beyond those behind it */
    uint64_t damage;
    uint64_t end;    /* the connection, at a message */
    uint64_t refuse; /* a connection from the beginning */
};

struct faulty_link;

/* One connection, from its attempt until both sides know of its end. */
struct faulty_connection {
    struct faulty_link *link;
    uint64_t number;
    struct hub_peer *peer; /* NULL: the hub does not know it, or no more */
    bool up;               /* the session uses it */
};

enum faulty_event_kind {
    FAULTY_CONNECTED,
    FAULTY_TO_HUB,
    FAULTY_TO_SESSION,
    FAULTY_END_AT_HUB,
    FAULTY_END_AT_SESSION,
};

struct faulty_event {
    mono_ms at;
    uint64_t order;
    enum faulty_event_kind kind;
    struct faulty_connection *connection;
    struct buf text;
};

struct faulty_link {
    struct transport transport;
    struct hub **hub; /* the host's; NULL in there: it is down */
    struct value principal;
    struct random random;
    struct faulty_rates rates;
    struct session *session;
    struct path_table paths;
    mono_ms now;
    uint64_t order;
    uint64_t numbers;
    VEC(struct faulty_connection *) connections;
    VEC(struct faulty_event) events;
    uint64_t digest; /* over all that was delivered, in order */
    struct faulty_counters {
        uint64_t delivered;
        uint64_t lost;
        uint64_t repeated;
        uint64_t delayed;
        uint64_t damaged;
        uint64_t ended;
    } counters;
};

void faulty_link_init(struct faulty_link *link,
                      struct hub **hub,
                      struct value principal,
                      uint64_t seed,
                      const struct faulty_rates *rates);

/* Its session is gone. */
void faulty_link_release(struct faulty_link *link);

/* Delivers one event that is due at `now`; false if there is none. */
bool faulty_link_step(struct faulty_link *link, mono_ms now);
mono_ms faulty_link_next_wake(const struct faulty_link *link);

/* Ends the connection that is in use, if any; both sides learn of it later. */
void faulty_link_end(struct faulty_link *link);

/* The hub goes away with all its peers: it is not told of any end. */
void faulty_link_hub_down(struct faulty_link *link);

#endif
