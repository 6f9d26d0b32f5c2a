/* Hubs in tests: a fixture is a store with a hub and scripted peers, who send
 * messages as texts and write down what comes back, one word or group of words
 * a message:
 *
 *   opened s1 resumed seq=4 marker=2
 *   verdicts 1@3 2!CONFLICT
 *   sync 2-4 marker=2 pull A@3={'value':1} B@0=- C@4={'value':2}<{'value':1}
 *   sync 4-4 pull +D@3={'value':1} -E !list=LIMIT_REACH   reached, removed, and
 *                                                         a refused selector
 *   sync 4-5 A@5+3=[{'op':'increment','path':'/value','by':1}]   from 3 on
 *   revoked taken-over
 *   broken
 *
 * What is sent to a peer must be numbered without a gap, and come one at a
 * time: the peer looks. */

#ifndef TEST_LIB_HUB_KIT_H
#define TEST_LIB_HUB_KIT_H

#include "host/hub.h"
#include "lib/store_kit.h"

enum {
    RAW_MAX = 4
};

struct raw {
    struct hub *hub;
    struct hub_peer *peer;
    const char *principal;
    bool deltas;         /* asks for them when it opens */
    uint64_t connection; /* of the last one */
    uint64_t number;
    struct message_order order;
    struct buf heard;
    struct buf shown;
    struct path_table paths;
    char id[64];
    char token[64]; /* of the last `opened`, shown when it opens; or "" */
    uint64_t seen;
    uint64_t encoded;  /* upserts that were written for this peer, and not for
                          an earlier one */
    const char *reply; /* a commit to send from inside the next delivery */
    bool inside;       /* a delivery: there is one at a time */
};

struct hub_fixture {
    struct store_kit kit;
    struct hub hub;
    struct raw peers[RAW_MAX];
};

/* -- Lua runtimes -------------------------------------------------------- */

/* In memory, in a file, or on the file of another; without peers. */
void hub_fixture_begin(struct hub_fixture *fixture,
                       const struct store_kit *beside,
                       bool in_file,
                       bool immediate);
void hub_fixture_end(struct hub_fixture *fixture);

/* In memory, flushed by hand, with sessions s1 and s2 open; and both watch
 * these. */
void hub_fixture_two(struct hub_fixture *fixture);
void hub_fixture_watching(struct hub_fixture *fixture, const char *names);

/* -- Peers --------------------------------------------------------------- */

/* Everything that was heard since the last time, with "; " between. Borrowed
 * until the next call. */
const char *heard(struct raw *raw);

/* A new connection, which says nothing yet; the one before is dropped. */
void raw_attach(struct raw *raw);
void raw_detach(struct raw *raw);

/* A new connection that is opened; NULL is no name. It has seen what the
 * syncs so far have come to. */
void raw_open(struct raw *raw, const char *session);

/* "A B~user C<3": ids, each with a scope, or from where on it is wanted, or
 * neither. */
void raw_watch(struct raw *raw, const char *names);

/* Selectors, each as an object with apostrophes for quotes, separated by
 * commas; and "x y": the ids of selectors. */
void raw_select(struct raw *raw, const char *selectors);
void raw_unselect(struct raw *raw, const char *ids);

/* Commits in the form of lib/store_kit.h, in one message. */
void raw_commits(struct raw *raw, const char *const *lines, size_t count);
void raw_commit(struct raw *raw, const char *line);

/* An object with the fields of a message, which is adopted: as the next one of
 * the connection, or as any. */
void raw_send(struct raw *raw, const char *kind, struct value object);
void raw_send_as(struct raw *raw,
                 const char *kind,
                 uint64_t connection,
                 uint64_t number,
                 struct value object);

#endif
