/* A scheduler on a stage: documents and places by name, nodes in one line, a
 * clock that moves when the test says so, and everything that runs written
 * down.
 *
 *   struct sched_kit kit;
 *   kit_begin(&kit);
 *   kit_set_all(&kit, "a=1 b=2");
 *   struct kit_node *c = kit_sum(&kit, "C", "a b -> c", 0);
 *   struct kit_node *e = kit_see(&kit, "E", "c");
 *   kit_idle(&kit);                     c->runs is 1, e->seen is "3"
 *   EXPECT_TEXT(kit_ran(&kit), "C E");
 *   kit_end(&kit);
 *
 * A place is written a.x.0: what is below the payload of document a; a! is the
 * root of the document, a!.slug a key beside the payload, a~user another
 * scope, and >a is in the second space. A node says what it reads and writes as
 * "a ^b ?c -> d": it declares the reads before the arrow and reads them in that
 * order, deep; ^b is a shape read, ?c one that is not for scheduling, and -c is
 * read without having been declared. In all JSON ' stands for ", and () for
 * nothing.
 *
 * In builds with deep checks everything that the scheduler promises is
 * compared with its definition after each step from outside, unless `unchecked`
 * is set (for graphs that are too large). */

#ifndef TEST_LIB_SCHED_KIT_H
#define TEST_LIB_SCHED_KIT_H

#include "base/buf.h"
#include "lib/sim_host.h"
#include "replica/replica.h"
#include "replica/space.h"
#include "sched/sched.h"

enum {
    KIT_PLACES_MAX = 40,  /* that one node reads or writes */
    KIT_WAKES_MAX = 2000, /* of kit_idle */
    KIT_NAME_MAX = 24,
    KIT_ANSWERS = 8,
};

struct kit_node;
struct kit_store;
struct hub_link;
struct store_kit;

/* What a node does; see kit_add. */
typedef enum run_result kit_fn(struct run *run, struct kit_node *node);

struct sched_kit {
    struct replica replica;
    struct space *space;
    struct space *second; /* or NULL */
    struct sched *sched;
    struct sim_host sim;     /* the clock is sim.now */
    struct kit_store *store; /* or NULL: the space is its own authority */
    struct hub_link *beside; /* to the store of another kit; or NULL */
    VEC(struct kit_node *) nodes;
    struct buf order;     /* names of what ran, since the last look */
    struct buf triggers;  /* kit_trace: decisions, likewise */
    struct buf records;   /* kit_trace: runs, likewise */
    struct buf errors;    /* sentences, likewise */
    struct buf unsettled; /* names of the last report */
    uint64_t error_count;
    uint64_t unsettled_count; /* reports */
    bool unchecked;
    bool waits; /* nodes wait for documents that have not come; such a run is
                   none */
    const char *piece;   /* nodes have an identity: their name, in this piece */
    const char *code;    /* their implementation; NULL: "code" */
    uint64_t generation; /* of the piece */
    unsigned lives;      /* restarts */
    struct buf texts[KIT_ANSWERS];
    unsigned next_text;
};

struct kit_place {
    struct place *place;
    enum read_kind kind;
    unsigned flags;
    bool declared;
};

struct kit_node {
    struct sched_kit *kit;
    struct node *node; /* NULL: removed */
    char name[KIT_NAME_MAX];
    kit_fn *fn;
    void *ctx;
    int64_t k;
    struct kit_place reads[KIT_PLACES_MAX];
    size_t read_count;
    struct kit_place writes[KIT_PLACES_MAX];
    size_t write_count;
    uint64_t runs;
    struct buf seen;       /* what kit_see and kit_note wrote: "1 2,3" */
    struct kit_node *kids; /* for the test's own use */
    const char *meanwhile; /* kit_fn_meanwhile; or NULL */
};

/* -- Life ---------------------------------------------------------------- */

void kit_begin(struct sched_kit *kit);

/* The space has a store in memory behind a link. Held: what is sent waits for
 * kit_pump; otherwise it is answered at once. */
void kit_begin_with_store(struct sched_kit *kit, bool held);

/* The same in a file, which every process after a restart opens anew. */
void kit_begin_with_file(struct sched_kit *kit, bool held);

/* The space is behind a transport that is not the kit's; `session` is who
 * commits, and `seed` tells two of one name from each other. */
void kit_begin_behind(struct sched_kit *kit,
                      struct transport *transport,
                      const char *session,
                      uint64_t seed);

/* Another process at the store of `other`, which outlives it; everything is
 * answered at once. */
void kit_begin_beside(struct sched_kit *kit,
                      struct sched_kit *other,
                      const char *session);
void kit_end(struct sched_kit *kit);

/* Another process on the same store: nothing of the nodes, the scheduler and
 * the replica is left. With a crash, nor is what was on its way. */
void kit_restart(struct sched_kit *kit, bool crash);

/* The engine behind the link. */
struct store_kit *kit_store_of(struct sched_kit *kit);

/* Everything that waits on the link is delivered, in both directions. */
void kit_pump(struct sched_kit *kit);

/* Somebody else's commit lands at the store: "set A 5", "patch ..." as in
 * lib/store_kit.h. It is told of at once, or with the next kit_pump. */
void kit_elsewhere(struct sched_kit *kit, const char *operation);

/* The store refuses the next commit of the kit with this. */
void kit_refuse_next(struct sched_kit *kit, enum err err);

/* What the store holds: the document as canonical JSON. */
const char *kit_stored(struct sched_kit *kit, const char *name);

/* Triggers and runs are written down from now on, or no longer. */
void kit_trace(struct sched_kit *kit, bool on);

/* Looks, and forgets. "C E E"; "mark-invalid C a by (nobody);" */
const char *kit_ran(struct sched_kit *kit);
const char *kit_triggers(struct sched_kit *kit);
const char *kit_records(struct sched_kit *kit);
const char *kit_errors(struct sched_kit *kit);

/* Everything that the scheduler promises (see above). */
bool kit_check(struct sched_kit *kit);

/* The same in builds with deep checks only, between two runs. */
void kit_check_step(struct sched_kit *kit);

/* -- Documents ----------------------------------------------------------- */

/* A new reference. */
struct place *kit_place(struct sched_kit *kit, const char *name);

/* The places of a line of words, each with its mark; each is a reference. */
size_t kit_places(struct sched_kit *kit,
                  const char *line,
                  size_t length,
                  struct kit_place *out);

/* A value as text, with ' for ". */
void kit_put_value(struct buf *to, struct value value);

/* From outside, each in one transaction; they must succeed. kit_set_all takes
 * "a=1 b={'x':2}" without blanks in the JSON. */
void kit_set(struct sched_kit *kit, const char *name, const char *json);
void kit_set_all(struct sched_kit *kit, const char *line);
void kit_set_number(struct sched_kit *kit, const char *name, int64_t number);
void kit_set_in_group(struct sched_kit *kit,
                      const char *name,
                      const char *json,
                      const void *group);

/* What is visible, as a text that is borrowed until KIT_ANSWERS more of them
 * were asked for; kit_pull brings it up to date first. */
const char *kit_get(struct sched_kit *kit, const char *name);
const char *kit_pull(struct sched_kit *kit, const char *name);
int64_t kit_get_number(struct sched_kit *kit, const char *name);

/* -- Time ---------------------------------------------------------------- */

void kit_step(struct sched_kit *kit);               /* now */
void kit_tick(struct sched_kit *kit, mono_ms more); /* later */

/* Steps, and moves the clock to the next wake, until the scheduler is idle.
 * False if it cannot become so: it takes for ever. */
bool kit_idle(struct sched_kit *kit);

/* -- Nodes --------------------------------------------------------------- */

struct kit_spec {
    const char *surface; /* "a b -> c" */
    const char *writes;  /* what it really writes; NULL: what it says */
    const char *envelopes;
    bool effect; /* writes but declares none of it */
    kit_fn *fn;
    void *ctx;
    int64_t k;
    const void *group;
    mono_ms debounce;
    mono_ms throttle;
    bool no_auto_debounce;
    bool immediate;
    struct value clearance; /* borrowed; or absent */
};

/* The node belongs to the kit and is there until kit_end; `node` in it is
 * NULL once it was removed. */
struct kit_node *kit_add(struct sched_kit *kit,
                         const char *name,
                         const struct kit_spec *spec);
void kit_remove(struct kit_node *node);

/* Computations in one line. */
struct kit_node *kit_computation(struct sched_kit *kit,
                                 const char *name,
                                 const char *surface,
                                 kit_fn *fn,
                                 int64_t k);
struct kit_node *kit_sum(struct sched_kit *kit,
                         const char *name,
                         const char *surface,
                         int64_t k);

/* An effect that writes down what it reads; and one that does something. */
struct kit_node *kit_see(struct sched_kit *kit,
                         const char *name,
                         const char *surface);
struct kit_node *kit_effect(struct sched_kit *kit,
                            const char *name,
                            const char *surface,
                            kit_fn *fn,
                            int64_t k);

/* Ready-made. Numbers that are not there are 0. */
enum run_result kit_fn_sum(struct run *run, struct kit_node *node);
enum run_result kit_fn_times(struct run *run, struct kit_node *node);
enum run_result kit_fn_copy(struct run *run, struct kit_node *node);
enum run_result kit_fn_constant(struct run *run, struct kit_node *node);
enum run_result kit_fn_modulo(struct run *run, struct kit_node *node);
enum run_result kit_fn_divide(struct run *run, struct kit_node *node);
/* The second input if the first one is neither 0, false nor absent, else the
 * third; only that one is read. */
enum run_result kit_fn_select(struct run *run, struct kit_node *node);
enum run_result kit_fn_see(struct run *run, struct kit_node *node);
/* Sum; between its reads and its writes, the next run finds that `meanwhile`
 * was set by others. */
enum run_result kit_fn_meanwhile(struct run *run, struct kit_node *node);
/* Fails always, after it has read and written. */
enum run_result kit_fn_fail(struct run *run, struct kit_node *node);

/* For functions: one input, new; one as a number; and one output, adopted. */
struct value kit_input(struct run *run, struct kit_node *node, size_t index);
int64_t kit_number(struct run *run, struct kit_node *node, size_t index);
void kit_output_adopt(struct run *run,
                      struct kit_node *node,
                      size_t index,
                      struct value value);
/* Any place by name, read deep; written, adopted. */
struct value kit_look(struct run *run, struct kit_node *node, const char *name);
void kit_write_adopt(struct run *run,
                     struct kit_node *node,
                     const char *name,
                     struct value value);
/* A word in `seen`. */
void kit_note(struct kit_node *node, struct value value);

/* Whether its reads and writes make one node a direct reader of the other. */
bool kit_is_reader(const struct kit_node *reader,
                   const struct kit_node *writer);

bool kit_expect(const char *file,
                int line,
                struct sched_kit *kit,
                const char *name,
                const char *want);
#define EXPECT_GET(kit, name, want) \
    kit_expect(__FILE__, __LINE__, (kit), (name), (want))
#define EXPECT_SEEN(node, want) EXPECT_TEXT(buf_text(&(node)->seen), (want))
#define EXPECT_IDLE(kit)        EXPECT(kit_idle(kit))

#endif
