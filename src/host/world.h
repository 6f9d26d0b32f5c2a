/* A world: stores and runtimes in one process, on a clock that advances only
 * when told to. For tests of all kinds, above all `heddle test`.
 *
 *   struct world *world = world_new(seed);
 *   struct world_store *store = world_store_new(world, NULL, &detail);
 *   struct world_runtime *one = world_runtime_new(store, &options, &detail);
 *   ... nodes on one->runtime ...
 *   world_idle(one);
 *   world_free(world);
 *
 *   world-1  Nothing sleeps, there are no threads, and the same seed gives the
 *            same bytes.
 *   world-2  A store has one engine and one hub per space, created on demand,
 *            in memory or in a folder.
 *   world-3  A runtime's commits reach its store when it steps, unless they are
 *            held; commits of other runtimes arrive when it steps. */

#ifndef HOST_WORLD_H
#define HOST_WORLD_H

#include "base/host.h"
#include "host/hub.h"
#include "host/hub_link.h"
#include "runtime/runtime.h"

struct world;
struct world_store;

enum {
    WORLD_WAKES_MAX = 10000, /* after which world_idle gives up */
};

struct world *world_new(uint64_t seed);
void world_free(struct world *world); /* with everything in it */

mono_ms world_now(const struct world *world);
void world_advance(struct world *world, mono_ms by);
struct random *world_random(struct world *world);

/* `folder` has the files of the spaces; NULL: in memory. */
MUST_CHECK enum err world_store_new(struct world *world,
                                    const char *folder,
                                    struct world_store **out,
                                    struct err_detail *detail);

/* The engine of a space, created if there is none. */
MUST_CHECK enum err world_engine(struct world_store *store,
                                 const char *space,
                                 struct engine **out,
                                 struct err_detail *detail);

/* Judges a commit before the store sees it: ERR_OK passes it on, anything else
 * is its verdict. */
typedef enum err world_judge_fn(void *ctx,
                                const struct commit *commit,
                                struct err_detail *detail);

struct world_runtime {
    struct runtime runtime;
    struct world *world;
    struct world_store *store;
    bool held;
    world_judge_fn *judge; /* of its commits; or NULL: the store decides */
    void *judge_ctx;
    uint32_t page_limit; /* of runtime.resume: actions per page; 0: default */
    struct world_runtime_rest *rest; /* links and names: world.c */
};

/* A zero field means the default. */
struct world_runtime_options {
    const char *const *spaces; /* names; the first is the default one */
    size_t space_count;        /* 0: one, "main" */
    const char *user;          /* NULL: anonymous */
    struct sched_hooks hooks;
    const struct events_policy *policy;
};

/* Owned by the world. Its spaces are open, its clock is the world's (a call of
 * world_advance inside a run is the run's duration), and it can resume pieces
 * (runtime.resume). */
MUST_CHECK enum err world_runtime_new(
    struct world_store *store,
    const struct world_runtime_options *options,
    struct world_runtime **out,
    struct err_detail *detail);

/* Ends it as in a crash (U of runtime/runtime.h). */
void world_runtime_end(struct world_runtime *one);

/* Sends and receives pending messages. Nothing runs. */
void world_exchange(struct world_runtime *one);

/* One pass, with pending messages sent and received. Whether anything ran. */
bool world_step(struct world_runtime *one);

enum world_rest {
    WORLD_AT_REST,
    WORLD_HELD,          /* waits only for a withheld confirmation */
    WORLD_NOT_CONVERGED, /* not idle after WORLD_WAKES_MAX */
};

/* Steps until it is idle, and advances the clock to whatever delays that; then,
 * with `settled`, until every commit is confirmed and the outbox empty. */
enum world_rest world_idle(struct world_runtime *one, bool settled);

/* Withholds commits, unconfirmed; or sends them in order from now on. */
void world_hold(struct world_runtime *one, bool held);

/* Loads a document, unless it is loaded: sends, and processes the answer. */
void world_load(struct world_runtime *one, struct entity *entity);

#endif
