/* A stage: one runtime, and everything of Lua that refers into it.
 *
 * A script (script/vm.h) may have several stages, each for a runtime: those of
 * a test, or the one of a process that runs pieces. What Lua code reads, writes
 * and registers goes through a stage; the stage knows the host only by the few
 * functions below, so the same code runs on the clock of a test and on that of
 * the world.
 *
 *   struct stage stage;
 *   stage_set_up(&stage, &options);
 *   ... cells (script/cells.h), nodes (script/nodes.h), patterns ...
 *   stage_cut(&stage);
 *   ... the end of the runtime ...
 *   stage_clear_away(&stage);
 *
 *   G1  Objects of Lua may outlive the runtime. Each that holds something there
 *       is bound, and its binding is cut before the runtime ends: it lets go of
 *       what it holds, and every use of it afterwards is an error.
 *   G2  A frame is what Lua code of a stage runs in: a run, the handling of an
 *       event, an edit, the building of a pattern, or none of these (the
 *       ground). Cells work on behalf of the innermost frame of their stage.
 *   G3  A stage is cut only when the ground is its one frame.
 *   G4  heddle.now() and heddle.random() are values of the frame: an attempt
 *       that is made again sees what the first one saw. While a pattern is
 *       built there is neither (N1 of runtime/pattern.h).
 *
 * Not here: what the objects are and do (script/cells.h and its like). */

#ifndef SCRIPT_STAGE_H
#define SCRIPT_STAGE_H

#include "base/random.h"
#include "front/frame.h"
#include "script/heddle.h"
#include "script/view.h"
#include "script/vm.h"

struct attempt;
struct piece;
struct stage;
struct stage_node;

/* What the code needs of who drives the runtime. All but `now` may be NULL. */
struct stage_host {
    void *ctx;

    /* The time: what runtime_step is called with. */
    mono_ms (*now)(void *ctx);

    /* The time for people and for events, in milliseconds; NULL: `now`. */
    uint64_t (*wall)(void *ctx);

    /* What went wrong and has nobody to be raised to. `source` is a name or
     * absent, `place` may be NULL; all borrowed. */
    void (*report)(void *ctx,
                   struct value source,
                   const struct place *place,
                   const char *message);

    /* A host function was called for an effect that has landed: after the
     * function itself (script/outside.h). */
    void (*called)(void *ctx, const char *name, struct value arguments);

    /* A sentence for people, which is no error. */
    void (*notice)(void *ctx, const char *text);

    /* Brings a document here, for code on the ground that is about to look at
     * it. */
    void (*load)(void *ctx, struct entity *entity);

    /* Pushes the call under way of a task, or nil: for tests
     * (luatest/test_tasks.h). */
    void (*push_task)(lua_State *L,
                      void *ctx,
                      const struct piece *piece,
                      struct value name);

    /* Goes on until nothing can be done at this time: what is demanded has run
     * then. For reads on the ground that want what is up to date. */
    void (*settle)(void *ctx);
};

/* -- Frames -------------------------------------------------------------- */

/* Time and chance of a run, kept so that a repetition sees the same (G4). */
struct recorded {
    uint64_t now;
    uint64_t seed;
    uint64_t count; /* of draws */
    bool drawn;
    bool again; /* the attempt was given up: the next one is the same run */
};

struct frame {
    struct frame *outer; /* of the same stage; NULL: this is the ground */
    struct frame *below; /* the innermost of all before it */
    struct stage *stage;
    struct call_frame call;
    struct stage_node *node; /* whose run it is; or NULL */
    struct attempt *attempt; /* its `tx`, or NULL: script/attempts.h */
    struct view_source source;
    struct view_run views;
    uint64_t now;         /* for heddle.now() */
    struct random random; /* for heddle.random() */
    bool aborted;         /* tx:abort() */
};

/* The frame stays where it is until its end; they end in reverse order. */
void frame_begin(struct frame *frame,
                 struct stage *stage,
                 enum frame_kind kind,
                 struct transaction *transaction);
void frame_begin_run(struct frame *frame,
                     struct stage *stage,
                     struct run *run,
                     struct handling *handling);
void frame_end(struct frame *frame);

/* Time and chance of a run of the node, drawn or as they were recorded (G4). */
void frame_draw(struct frame *frame,
                const struct run *run,
                struct recorded *recorded);

/* The same for the handling of an event: those of the event. */
void frame_draw_event(struct frame *frame);

static inline bool frame_is_ground(const struct frame *frame)
{
    return frame->outer == NULL;
}

/* -- Stages -------------------------------------------------------------- */

/* Something that has to go before its runtime; in the stage's `bindings`. */
struct binding {
    struct list_node node;
    struct stage *stage; /* NULL: was cut, or never bound */
    void (*cut)(struct binding *binding);
};

void binding_tie(struct binding *binding,
                 struct stage *stage,
                 void (*cut)(struct binding *binding));
void binding_untie(struct binding *binding); /* harmless if it was cut */

/* All of it is borrowed as long as the stage is there. */
struct stage_options {
    struct heddle *heddle; /* the module of the script */
    struct runtime *runtime;
    const struct stage_host *host;
    uint64_t seed; /* of heddle.random() */
    bool forget;   /* nodes are fresh at every start: no fingerprints */
};

/* What is known of a node. */
struct stage_count {
    uint64_t runs; /* that were committed */
    bool is_lua;   /* code of Lua has run in it */
};

/* Runs inside reads. Lua allows two hundred calls of C inside each other, and
 * a run takes four to six of them. */
enum {
    STAGE_NESTING = 24
};

struct stage {
    struct list_node node; /* in the module's stages */
    struct heddle *heddle;
    struct script *script;
    struct runtime *runtime;
    const struct stage_host *host;
    uint64_t seed;
    bool forget;
    struct list bindings;
    struct list tickets;        /* struct ticket: events that have not ended */
    VEC(struct value *) groups; /* names */
    VEC(struct stage_count) counts; /* by the ordinal of a node */
    struct frame ground;
    struct frame *frame; /* the innermost */
    uint64_t registered; /* nodes by hand */
    uint64_t reads;      /* of data, by runs and handlers */
    uint64_t glances;    /* runs that only looked, for piece:get(): nobody's */
    bool told;           /* that a node has no fingerprint */
};

/* A new one; it stays where it is. Patterns of the script that are known are
 * made known to the runtime. */
void stage_set_up(struct stage *stage, const struct stage_options *options);

/* Before the end of the runtime (G1), and after it. */
void stage_cut(struct stage *stage);
void stage_clear_away(struct stage *stage);

static inline struct sched *stage_sched(const struct stage *stage)
{
    return stage->runtime->sched;
}

static inline mono_ms stage_now(const struct stage *stage)
{
    return stage->host->now(stage->host->ctx);
}

static inline void stage_load(const struct stage *stage, struct entity *entity)
{
    if (stage->host->load != NULL) {
        stage->host->load(stage->host->ctx, entity);
    }
}

uint64_t stage_wall(const struct stage *stage);

/* Tells the host what somebody has to be told. */
void stage_report(struct stage *stage,
                  struct value source,
                  const struct place *place,
                  const char *message);

/* A run of the node was committed: for the hooks of the runtime's host. */
void stage_note_run(struct stage *stage, const struct node *node);

/* How many of those there were, by the ordinal of the node; and whether it is
 * code of Lua, or a node of the library. */
uint64_t stage_runs(const struct stage *stage, uint32_t ordinal);
bool stage_is_lua(const struct stage *stage, uint32_t ordinal);

/* A place for Lua: {doc=, space=, path=}, new. Paths begin at the payload; one
 * outside of it begins with "..". A scope other than the space's own is said,
 * too. */
struct value stage_place_value(const struct place *place);

/* What the name of a change group is to the scheduler: the same for the same
 * name; borrowed from the stage. */
const void *stage_group(struct stage *stage, struct value name);

#endif
