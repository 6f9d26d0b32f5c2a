/* The scheduler and the model side by side.
 *
 * A world has a local space, a scheduler, and nodes that do what random
 * programs say (lib/sched_model.h). It writes down what each run read, and
 * follows the change channel by the plain rule (difference_is_seen, once a
 * read), so that at every moment it knows by itself who has to run. What is
 * checked:
 *
 *   at the beginning of each run   something that the node had read is
 *       different (I3); it is live, or a run that is under way reads what it
 *       writes (I2)
 *   after each step                who is stale and who is live, from scratch;
 *       what every live node wrote is what it would write now (I1); outside of
 *       cycles and of what parents do with their children, no node ran twice,
 *       and none saw anything that is not there now (D2)
 *   when nothing waits for its time   all documents are what they would be if
 *       everything were computed anew, from the inputs (I1) */

#ifndef TEST_LIB_SCHED_WORLD_H
#define TEST_LIB_SCHED_WORLD_H

#include "lib/sched_model.h"
#include "replica/space.h"
#include "sched/sched.h"

struct world;

struct seen_read {
    struct model_place place;
    struct value value; /* a reference */
};

struct world_slot {
    struct world *world;
    struct model_program program;
    bool used;         /* has a program */
    bool is_child;     /* registered by its parent only */
    struct node *node; /* or NULL: not registered */
    struct model_place declared[MODEL_STEPS_MAX];
    size_t declared_count;

    VEC(struct model_place) reads; /* what wakes it, after its last run */
    VEC(struct seen_read)
    seen; /* in the run that is under way, or was
             the last one */
    bool ran;
    bool due;    /* something it read is different now */
    bool unsure; /* during its run, something that is not there went missing
                    at another point of the way to it: whether that is a
                    difference only a link can tell, and it had none yet */
    bool forced; /* has to run for another reason */
    bool failed; /* the last run did */
    bool running;
    struct model_place reading;
    unsigned step_runs;
    bool step_failed;
};

/* What occurred, over all rounds. */
struct world_tally {
    uint64_t runs;
    uint64_t nested;
    uint64_t failed;
    uint64_t given_up;
    uint64_t checks;
    uint64_t scratches; /* comparisons with everything computed anew */
    uint64_t born;
    uint64_t buried;
    uint64_t dormant_dues; /* who would have to run if somebody looked */
    uint64_t once;         /* nodes that ran and were checked for once */
    uint64_t gated;
    uint64_t pulls;
    uint64_t promoted;
    uint64_t unsettled;
    uint64_t materialized;
    uint64_t in_cycles; /* runs of members of one */
};

struct world {
    struct replica replica;
    struct space *space;
    struct sched *sched;
    struct subscriber subscriber;
    struct entity *entities[MODEL_DOCUMENTS];
    struct place *places[MODEL_DOCUMENTS][MODEL_PATHS];
    uint64_t versions[MODEL_DOCUMENTS]; /* of what is in `documents` */
    struct model_documents documents;
    struct world_slot slots[MODEL_SLOTS];
    size_t count;
    mono_ms now;
    bool silent; /* a failed check was reported: nothing more */
    struct world_tally *tally;
    /* Called at the beginning of each run, before anything is read; or
     * NULL. */
    void (*on_run)(struct world_slot *slot, const struct run *run);
    void *ctx; /* of that */
};

void world_open(struct world *world, struct world_tally *tally);
void world_close(struct world *world);

struct place *world_place(struct world *world, const struct model_place *place);

void world_register(struct world *world,
                    size_t slot,
                    mono_ms debounce,
                    mono_ms throttle);
void world_remove(struct world *world, size_t slot);

/* A value at a place, from outside, by itself; whether it could be put. */
bool world_put(struct world *world,
               const struct model_place *place,
               struct value value);

/* Steps the scheduler at world->now, with all the checks above. False after
 * the first one that does not hold. */
bool model_world_step(struct world *world);

/* Goes on in time until nothing waits; at most a number of wakes, if there are
 * cycles. */
bool world_settle(struct world *world);

/* -- Single questions, for the invariants -------------------------------- */

/* Run now, would the node change nothing? Everything it saw is there? */
bool world_is_consistent(struct world *world, size_t slot);

/* Whether the one reads what the other writes, as far as its last run tells. */
bool world_reads_from(const struct world *world, size_t reader, size_t writer);

/* All nodes go, and a new scheduler has none; the documents stay. */
void world_restart(struct world *world);

#endif
