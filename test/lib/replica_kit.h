/* A replica on a stage: transactions in one line, a store that says what the
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
 *   revoked taken-over
 *   open                                    what no store says
 *
 * In all texts ' stands for ": in what is given, and in what comes back. */

#ifndef TEST_LIB_REPLICA_KIT_H
#define TEST_LIB_REPLICA_KIT_H

#include "base/buf.h"
#include "replica/draft.h"
#include "replica/fate.h"
#include "replica/overlay.h"
#include "replica/replica.h"
#include "replica/session.h"
#include "replica/space.h"
#include "replica/transaction.h"

enum {
    STAGE_TEXTS = 4,
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
    uint64_t connection;     /* of the last `open` */
    uint64_t number;         /* of the last message to the replica */
    uint64_t seq;            /* of the last commit that it accepted */
    uint64_t opens;
    struct buf said; /* by the replica, since the last look */
    struct buf last; /* the last commit, as canonical JSON */
};

/* What the notifications say that a document is. */
struct stage_folded {
    struct entity *entity;
    struct entity_state state;
};

struct stage_watch {
    struct stage *stage;
    uint64_t local_seq;
};

struct stage {
    struct replica replica;
    struct space *space;
    struct space *second; /* or NULL */
    struct script script; /* of `space` */
    struct subscriber subscriber;
    VEC(struct stage_folded) folded;
    VEC(struct stage_watch *) watches;
    struct buf heard; /* notifications, since the last look */
    struct buf fates; /* verdicts and settlements, likewise */
    struct buf texts[STAGE_TEXTS];
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
void stage_open_local(struct stage *stage);
void stage_open(struct stage *stage, const char *session);
void stage_open_second(struct stage *stage);
void stage_close(struct stage *stage);

/* Closes the first space, at once. */
void stage_close_space(struct stage *stage);

/* -- Transactions -------------------------------------------------------- */

struct transaction *stage_begin(struct stage *stage);

/* One line in an open transaction; the first error. */
enum err stage_do(struct stage *stage,
                  struct transaction *transaction,
                  const char *line);

/* Ends it, and releases it. */
enum err stage_end(struct stage *stage, struct transaction *transaction);

/* All of it; the first error of what it did aborts it. */
enum err stage_commit(struct stage *stage, const char *line);

/* What a transaction would read there: a value as text, "()" if there is
 * nothing, or an error's name. */
const char *stage_read(struct stage *stage,
                       struct transaction *transaction,
                       const char *name);

bool stage_expect_commit(const char *file,
                         int line,
                         struct stage *stage,
                         enum err want,
                         const char *what);
#define EXPECT_COMMIT(stage, line) \
    stage_expect_commit(__FILE__, __LINE__, (stage), ERR_OK, (line))
#define EXPECT_NO_COMMIT(stage, err, line) \
    stage_expect_commit(__FILE__, __LINE__, (stage), (err), (line))

/* -- The store ----------------------------------------------------------- */

/* The store says something, in the form above. */
void stage_say(struct stage *stage, const char *line);

/* The connection is lost; the transport has connected. */
void stage_lose(struct stage *stage);
void stage_connected(struct stage *stage);

/* Time passes; up to the next wake that there is. */
void stage_step(struct stage *stage, mono_ms more);
void stage_wake(struct stage *stage);

/* What the replica said since the last look:
 * "connect; open s1 seen=0; watch A; commits 1 2; ack 5; disconnect". */
const char *stage_said(struct stage *stage);

/* -- Looking -------------------------------------------------------------
 *
 * The texts are borrowed until STAGE_TEXTS more of them were asked for. */

struct entity *stage_entity(struct stage *stage, const char *name);
struct place *stage_place(struct stage *stage, const char *name);

/* What is visible, and what is confirmed: the payload, "()" if there is no
 * document, or the document after a ! if it has more than a payload. */
const char *stage_see(struct stage *stage, const char *name);
const char *stage_confirmed(struct stage *stage, const char *name);

/* Notifications since the last look: "commit #1 by x A ()->1; pull". */
const char *stage_heard(struct stage *stage);

/* "verdict #1 @5; settled #1 @5; settled #2 CONFLICT: ..." */
const char *stage_fates(struct stage *stage);

/* A pending commit as canonical JSON, or "()". */
const char *stage_pending(struct stage *stage, uint64_t local_seq);

/* Everything that the headers promise: C1, N1 to N3, O1, S2, P1 to P3. */
bool stage_check(const char *file, int line, struct stage *stage);
#define EXPECT_STAGE(stage) stage_check(__FILE__, __LINE__, (stage))

#endif
