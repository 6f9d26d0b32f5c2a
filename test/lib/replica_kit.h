/* A replica on a fixture: transactions in one line, a store that says what the
 * test tells it to say, and a subscriber that writes everything down.
 *
 * A transaction is what it does, between bars:
 *
 *   "read A.x | put A.n 5 | inc B 1"
 *
 *   read A.x         deep, of ["value","x"]
 *   shape A.x        what a shape read sees
 *   loose A.x        deep, not for the commit
 *   still A.x        deep, not for scheduling
 *   peek A.x         untracked
 *   put A.x 5        delete A.x
 *   append A [1]     unique A [1]     remove A 1     inc A 1
 *   new A            the document must never have existed
 *   needs 3          commit 3 must have landed
 *
 * A! is the root of the document instead of "value", A~user another scope, and
 * >A is in the second space. What the store says, with one word a part:
 *
 *   opened s1 resumed caught=3 [plain]      plain: without markers
 *   verdict 1 @5                            landed
 *   verdict 1 CONFLICT A read=1 by=3        refused
 *   sync 0-5 mark=1 pull A@5=7 B@4=() -C    documents, whole or removed
 *   sync 5-6 A@6+5=[...]                    a patch of what is there at 5
 *   revoked taken-over
 *   open                                    what no store says
 *
 * In all texts ' stands for ": in what is given, and in what comes back. */

#ifndef TEST_LIB_REPLICA_KIT_H
#define TEST_LIB_REPLICA_KIT_H

#include "base/buf.h"
#include "replica/draft.h"
#include "replica/overlay.h"
#include "replica/pending.h"
#include "replica/replica.h"
#include "replica/session.h"
#include "replica/space.h"
#include "replica/transaction.h"

enum {
    FIXTURE_TEXTS = 4,
};

/* The store's side of the connection, as the test wants it. */
struct script {
    struct transport transport;
    struct session *session; /* whose connection there is, or NULL */
    bool slow;               /* `connect` is not answered */
    bool mute;               /* `open` is not answered */
    bool plain;              /* no markers */
    bool forgets;            /* answers every `open` as a new session */
    bool accepts;            /* answers commits at once */
    bool quiet;              /* writes nothing down */
    const char *names;       /* what it calls a session without a name */
    const char *token;       /* in its next `opened`; or NULL */
    uint64_t connection;     /* of the last `open` */
    uint64_t number;         /* of the last message to the replica */
    uint64_t seq;            /* of the last commit that it accepted */
    uint64_t opens;
    struct buf said; /* by the replica, since the last look */
    struct buf last; /* the last commit, as canonical JSON */
};

/* What the notifications say that a document is. */
struct fixture_folded {
    struct entity *entity;
    struct entity_state state;
};

struct fixture_watch {
    struct fixture *fixture;
    uint64_t local_seq;
};

struct fixture {
    struct replica replica;
    struct space *space;
    struct space *second; /* or NULL */
    struct script script; /* of `space` */
    struct subscriber subscriber;
    VEC(struct fixture_folded) folded;
    VEC(struct fixture_watch *) watches;
    struct buf heard;    /* notifications, since the last look */
    struct buf outcomes; /* verdicts and settlements, likewise */
    struct buf texts[FIXTURE_TEXTS];
    unsigned next_text;
    struct err_detail detail; /* of the last commit */
    uint64_t local_seq;
    const char *source;     /* of the transactions from now on */
    const char *on_settled; /* committed once, from inside `settled` */
    const char *on_verdict; /* likewise, from inside `verdict` */
    bool several;           /* transactions may write to both spaces */
    bool deaf;              /* nothing is written down */
    uint64_t last_version;  /* of the last notification with changes */
};

/* -- Life ---------------------------------------------------------------- */

/* A local space; one whose session is `session` ("" lets the store choose);
 * and the second one, local, at any time after. */
void fixture_open_local(struct fixture *fixture);
void fixture_open(struct fixture *fixture, const char *session);
void fixture_open_second(struct fixture *fixture);
void fixture_close(struct fixture *fixture);

/* Closes the first space, at once. */
void fixture_close_space(struct fixture *fixture);

/* -- Transactions -------------------------------------------------------- */

struct transaction *fixture_begin(struct fixture *fixture);

/* One line in an open transaction; the first error. */
enum err fixture_do(struct fixture *fixture,
                    struct transaction *transaction,
                    const char *line);

/* Ends it, and releases it. */
enum err fixture_end(struct fixture *fixture, struct transaction *transaction);

/* All of it; the first error of what it did aborts it. */
enum err fixture_commit(struct fixture *fixture, const char *line);

/* What a transaction would read there: a value as text, "()" if there is
 * nothing, or an error's name. */
const char *fixture_read(struct fixture *fixture,
                         struct transaction *transaction,
                         const char *name);

bool fixture_expect_commit(const char *file,
                           int line,
                           struct fixture *fixture,
                           enum err want,
                           const char *what);
#define EXPECT_COMMIT(fixture, line) \
    fixture_expect_commit(__FILE__, __LINE__, (fixture), ERR_OK, (line))
#define EXPECT_NO_COMMIT(fixture, err, line) \
    fixture_expect_commit(__FILE__, __LINE__, (fixture), (err), (line))

/* -- The store ----------------------------------------------------------- */

/* The store says something, in the form above. */
void fixture_say(struct fixture *fixture, const char *line);

/* The connection is lost; the transport has connected. */
void fixture_lose(struct fixture *fixture);
void fixture_connected(struct fixture *fixture);

/* Time passes; up to the next wake that there is. */
void fixture_step(struct fixture *fixture, mono_ms more);
void fixture_wake(struct fixture *fixture);

/* What the replica said since the last look:
 * "connect; open s1 seen=0; watch A; commits 1 2; ack 5; disconnect". */
const char *fixture_said(struct fixture *fixture);

/* -- Looking -------------------------------------------------------------
 *
 * The texts are borrowed until FIXTURE_TEXTS more of them were asked for. */

struct entity *fixture_entity(struct fixture *fixture, const char *name);
struct place *fixture_place(struct fixture *fixture, const char *name);

/* What is visible, and what is confirmed: the payload, "()" if there is no
 * document, or the document after a ! if it has more than a payload. */
const char *fixture_see(struct fixture *fixture, const char *name);
const char *fixture_confirmed(struct fixture *fixture, const char *name);

/* Notifications since the last look: "commit #1 by x A ()->1; pull". */
const char *fixture_heard(struct fixture *fixture);

/* "verdict #1 @5; settled #1 @5; settled #2 CONFLICT: ..." */
const char *fixture_outcomes(struct fixture *fixture);

/* A pending commit as canonical JSON, or "()". */
const char *fixture_pending(struct fixture *fixture, uint64_t local_seq);

/* Everything that the headers promise: channel-1, entity-1 to entity-3,
 * overlay-1, space-2, place-1 to place-3. */
bool fixture_check(const char *file, int line, struct fixture *fixture);
#define EXPECT_STAGE(fixture) fixture_check(__FILE__, __LINE__, (fixture))

#endif
