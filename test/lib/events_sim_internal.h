/* The inside of the simulation of events: what is kept of a schedule, for the
 * three files that are lib/events_sim.h. One draws and checks the schedules
 * (events_sim.c), one is what runtimes do in them (events_sim_runtime.c), one
 * takes up what waits in the stores (events_sim_stored.c). */

#ifndef TEST_LIB_EVENTS_SIM_INTERNAL_H
#define TEST_LIB_EVENTS_SIM_INTERNAL_H

#include "host/hub.h"
#include "lib/events_sim.h"
#include "lib/faulty_link.h"
#include "lib/store_kit.h"
#include "replica/space.h"
#include "sched/events.h"
#include "sched/handling.h"
#include "sched/sched.h"

struct commit_record;
struct runtime;
struct sim;
struct attempt;

enum {
    RUNTIMES_MAX = 3,
    SPACES = 2,
    STREAMS = 2, /* a space: a pure handler's, and another's */
    CALLERS_MAX = 6,
    QUIET_ROUNDS = 20000,
    NAME_SIZE = 80,
};

/* -- What is kept -------------------------------------------------------- */

/* What was sent, until the end of the schedule. */
struct sending {
    struct runtime *runtime;
    uint32_t life;
    unsigned space;
    unsigned stream;
    int64_t code; /* the payload */
    const struct event *event;
    struct value id;
    struct value receipt_id;
    struct attempt *origin; /* that sent it, or NULL */
    uint64_t order;
    bool waits; /* in its lane */
    bool queue; /* left to any runtime */
    bool taken; /* from the store; `runtime` is the one that took it */
    unsigned told;
    enum event_outcome outcome;
    enum err err;
};

struct attempt {
    struct sending *sending;
    int64_t token; /* what it returns, and writes */
    uint64_t local_seq;
    struct value document; /* that it created; or absent */
    bool counts;           /* read a count, and wrote one more */
    bool again;            /* could not know what it read: is not over */
    bool landed;
    unsigned stops;
    unsigned calls;
};

/* A handler's context. */
struct desk {
    struct runtime *runtime;
    unsigned space;
    unsigned stream;
};

/* A runtime through its lives. */
struct runtime {
    struct sim *sim;
    unsigned number;
    uint32_t life;
    struct replica replica;
    struct space *spaces[SPACES];
    struct faulty_link links[SPACES];
    struct sched *sched;
    struct subscriber subscriber;
    struct stream *streams[SPACES][STREAMS];
    struct place *counts[SPACES]; /* read and written */
    struct place *sums[SPACES];   /* incremented */
    struct place *noises[SPACES]; /* written by somebody else */
    struct desk desks[SPACES][STREAMS];
    bool one_lane;
    struct sending *sending; /* being sent, or NULL */
    struct attempt *attempt; /* being made, or NULL */
};

/* An event of somebody outside. */
struct caller {
    unsigned space;
    unsigned stream;
    int64_t code;
};

struct events_stores {
    struct store_kit kits[SPACES];
    struct sim *sim; /* the schedule that runs, or NULL */
    uint64_t strange;
};

struct sim {
    uint64_t seed;
    struct random random;
    const struct events_profile *profile;
    struct events_stores *stores;
    struct hub hubs[SPACES];
    struct hub *up[SPACES]; /* NULL: it is down */
    mono_ms now;
    struct faulty_rates rates;
    unsigned runtimes_count;
    struct runtime runtimes[RUNTIMES_MAX];
    struct caller callers[CALLERS_MAX];
    VEC(struct sending *) sendings;
    VEC(struct attempt *) attempts;
    int64_t tokens;
    uint64_t digest;
    bool held; /* no failure so far */
    struct events_counts counts;
};

/* -- For both ------------------------------------------------------------ */

/* The first failure of a schedule is the one that is told. */
void sim_fail(struct sim *sim, const char *what);

static inline void expect(struct sim *sim, bool held, const char *what)
{
    if (!held) {
        sim_fail(sim, what);
    }
}

static inline void mix(struct sim *sim, uint64_t number)
{
    sim->digest = (sim->digest ^ number) * UINT64_C(0x100000001b3);
}

static inline bool chance(struct sim *sim, uint64_t one_in)
{
    return random_one_in(&sim->random, one_in);
}

/* The runtime is the one that sent it, not one that came after. */
static inline bool is_alive(const struct sending *sending)
{
    return sending->life == sending->runtime->life;
}

/* Nobody can know what became of it. */
static inline bool is_uncertain(enum err err)
{
    return err == ERR_CLOSED || err == ERR_SESSION_LOST;
}

/* -- From events_sim_runtime.c ------------------------------------------- */

/* A record of the engine of that space. */
void sim_record_lands(struct events_stores *stores,
                      unsigned space,
                      const struct commit_record *commit_record);

/* For a runtime's scheduler and its replica: ctx is the runtime. */
void sim_notice(void *ctx, const struct event_notice *notice);
enum channel_answer sim_change(void *ctx, const struct notification *what);

/* A handler's function: ctx is its desk. And the end of one that went on. */
enum run_result sim_handle(struct handling *handling, void *ctx);
enum run_result sim_give_up(struct run *run);

/* An event with anything in it, and one of a caller's. */
int64_t sim_draw_code(struct random *random, unsigned depth);
void sim_send_anything(struct runtime *runtime);
void sim_deliver_again(struct runtime *runtime);

/* Whether a commit landed for that event id. */
bool sim_has_landed(const struct sim *sim, struct value id);

/* A record of an event of the schedule, with nothing in it but what is given;
 * kept until the end. */
struct sending *sim_sending_new(struct runtime *runtime,
                                unsigned space,
                                unsigned stream,
                                int64_t code);

/* -- From events_sim_stored.c -------------------------------------------- */

/* The runtime takes up the events that wait in the stores, but for those of
 * runtimes that are at work; with `hasty` also those. */
void sim_take_up(struct runtime *runtime, bool hasty);

/* Whether a handler failed for that event id, in any runtime. */
bool sim_has_failed(const struct sim *sim, struct value id);

/* How many events of the schedule wait in the stores. */
size_t sim_waiting(struct sim *sim);

/* What was sent by an attempt that landed, or was queued, has been handled
 * once, or the store holds why it failed. */
void sim_compare_stored(struct sim *sim);

#endif
