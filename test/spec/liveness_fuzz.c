/* LIVE-13 and LIVE-14: demand, heights and cycles after every mutation of a
 * random graph, against what follows from scratch.
 *
 * Edges are what they are in the scheduler: a node reads what another one
 * writes, or what is above or below it in the same document. The mutations are
 * those that the scheduler's own files make (a read delta, a root won or lost,
 * a node that becomes stale, or clean, or goes), without any run, so that
 * every state between two of them can be looked at. */

#include <stdio.h>

#include "lib/test.h"
#include "lib/values.h"
#include "replica/space.h"
#include "sched/graph.h"
#include "sched/liveness.h"
#include "sched/order.h"
#include "sched/queue.h"
#include "sched/sched.h"

enum {
    NODES_MAX = 10,
    DOCUMENTS = 8,
    PLACES = DOCUMENTS * 4,
    READS_MAX = 4,
    OUTPUTS_MAX = 2,
};

enum mix {
    MIX_EFFECTS, /* a quarter of the nodes; and provisional demand */
    MIX_PROVISIONAL,
    MIX_MATERIALIZERS,
};

struct wanted_read {
    size_t place;
    enum read_kind kind;
};

/* What the test itself knows of a node. */
struct member {
    struct node *node; /* NULL: not registered now */
    enum node_kind kind;
    size_t outputs[OUTPUTS_MAX];
    size_t output_count;
    struct wanted_read reads[READS_MAX];
    size_t read_count;
};

struct fuzz {
    struct random *random;
    struct replica replica;
    struct sched *sched;
    struct place *places[PLACES];
    struct member members[NODES_MAX];
    size_t count;
    enum mix mix;
};

/* -- From scratch -------------------------------------------------------- */

/* Floors for what the random graphs have met. */
static struct {
    uint64_t checks;
    uint64_t live;
    uint64_t dormant;
    uint64_t in_cycles;
    uint64_t dormant_in_cycles;
    uint64_t detached;
} met;

static bool overlaps(const struct fuzz *fuzz,
                     const struct wanted_read *read,
                     size_t output)
{
    const struct place *from = fuzz->places[read->place];
    const struct place *to = fuzz->places[output];
    return from->entity == to->entity && path_overlaps(from->path, to->path) &&
           (read->kind == READ_DEEP ||
            to->path->length <= from->path->length + 1);
}

/* A transaction does not log a shape read after a deep one: it says nothing
 * new. */
static bool is_logged(const struct member *reader, size_t read)
{
    for (size_t i = 0; i < read; i++) {
        if (reader->reads[i].place == reader->reads[read].place &&
            reader->reads[i].kind == READ_DEEP) {
            return false;
        }
    }
    return true;
}

/* How many reads of `reader` meet outputs of `writer`. */
static uint32_t edges(const struct fuzz *fuzz,
                      const struct member *writer,
                      const struct member *reader)
{
    uint32_t count = 0;
    if (writer == reader || writer->node == NULL || reader->node == NULL ||
        !reader->node->attached) {
        return 0;
    }
    for (size_t i = 0; i < reader->read_count; i++) {
        for (size_t j = 0; j < writer->output_count; j++) {
            count += is_logged(reader, i) &&
                     overlaps(fuzz, &reader->reads[i], writer->outputs[j]);
        }
    }
    return count;
}

struct scratch {
    bool reaches[NODES_MAX][NODES_MAX]; /* along edges, in any steps */
    bool live[NODES_MAX];
};

static void close_over_edges(const struct fuzz *fuzz, struct scratch *scratch)
{
    const size_t n = fuzz->count;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            scratch->reaches[i][j] =
                edges(fuzz, &fuzz->members[i], &fuzz->members[j]) > 0;
        }
    }
    for (size_t via = 0; via < n; via++) {
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                scratch->reaches[i][j] =
                    scratch->reaches[i][j] ||
                    (scratch->reaches[i][via] && scratch->reaches[via][j]);
            }
        }
    }
}

static void compute(const struct fuzz *fuzz, struct scratch *scratch)
{
    close_over_edges(fuzz, scratch);
    for (size_t i = 0; i < fuzz->count; i++) {
        const struct node *node = fuzz->members[i].node;
        scratch->live[i] = node != NULL && node_is_root(node);
        for (size_t j = 0; j < fuzz->count && node != NULL; j++) {
            const struct node *other = fuzz->members[j].node;
            scratch->live[i] =
                scratch->live[i] || (scratch->reaches[i][j] && other != NULL &&
                                     node_is_root(other));
        }
    }
}

/* L1 and L2. */
static bool check_demand(const struct fuzz *fuzz, const struct scratch *scratch)
{
    bool good = true;
    for (size_t i = 0; i < fuzz->count; i++) {
        const struct node *node = fuzz->members[i].node;
        if (node == NULL) {
            continue;
        }
        uint32_t refs = 0;
        for (size_t j = 0; j < fuzz->count; j++) {
            if (scratch->live[j]) {
                refs += edges(fuzz, &fuzz->members[i], &fuzz->members[j]);
            }
        }
        good = EXPECT_EQ(node->counted, scratch->live[i]) && good;
        good = EXPECT_EQ(node->live_refs, refs) && good;
        met.live += scratch->live[i];
        met.dormant += !scratch->live[i];
        met.detached += !node->attached;
    }
    return good;
}

/* H1 to H3 for a pair along an edge; and the components for any pair. */
static bool check_pair(const struct fuzz *fuzz,
                       const struct scratch *scratch,
                       size_t i,
                       size_t j)
{
    const struct node *from = fuzz->members[i].node;
    const struct node *to = fuzz->members[j].node;
    const bool together = scratch->reaches[i][j] && scratch->reaches[j][i];
    const bool same =
        from->component != NULL && from->component == to->component;
    bool good = EXPECT_EQ(same, together);
    if (together) {
        good = EXPECT(from->height != to->height) && good;
        good = EXPECT(from->component->top >= from->height) && good;
    } else if (edges(fuzz, &fuzz->members[i], &fuzz->members[j]) > 0) {
        good = EXPECT(to->height > order_top(from)) && good;
    }
    return good;
}

static bool check_order(const struct fuzz *fuzz, const struct scratch *scratch)
{
    bool good = true;
    for (size_t i = 0; i < fuzz->count; i++) {
        const struct node *node = fuzz->members[i].node;
        if (node == NULL) {
            continue;
        }
        const bool cyclic = scratch->reaches[i][i];
        good = EXPECT_EQ(node->component != NULL, cyclic) && good;
        met.in_cycles += cyclic;
        met.dormant_in_cycles += cyclic && !scratch->live[i];
        for (size_t j = 0; j < fuzz->count; j++) {
            if (i != j && fuzz->members[j].node != NULL) {
                good = check_pair(fuzz, scratch, i, j) && good;
            }
        }
    }
    return good;
}

static bool check(const struct fuzz *fuzz)
{
    struct scratch scratch;
    compute(fuzz, &scratch);
    met.checks++;
    const bool own = EXPECT(sched_check(fuzz->sched));
    const bool demand = check_demand(fuzz, &scratch);
    const bool order = check_order(fuzz, &scratch);
    return own && demand && order;
}

/* -- Life ---------------------------------------------------------------- */

static void begin(struct fuzz *fuzz, struct random *random, size_t count)
{
    static const char *const paths[] = {"", "/value", "/value/a", "/value/a/b"};
    *fuzz = (struct fuzz){.random = random, .count = count};
    replica_init(&fuzz->replica, NULL);
    const struct value id = from_json("\"did:key:s\"");
    const struct space_options options = {.id = id};
    struct space *space = NULL;
    struct err_detail detail = {0};
    CHECK(space_open(&fuzz->replica, &options, &space, &detail) == ERR_OK);
    value_unref(id);
    for (size_t i = 0; i < PLACES; i++) {
        const struct value name = numbered("of:d", i / COUNT_OF(paths));
        struct entity *entity = NULL;
        CHECK(entity_of(space, SCOPE_SPACE, name, &entity, &detail) == ERR_OK);
        struct path *path =
            from_pointer(&fuzz->replica.paths, paths[i % COUNT_OF(paths)]);
        fuzz->places[i] = place_of(entity, path);
        path_unref(path);
        value_unref(name);
    }
    fuzz->sched = sched_new(&fuzz->replica, NULL);
}

static void end(struct fuzz *fuzz)
{
    sched_free(fuzz->sched);
    for (size_t i = 0; i < PLACES; i++) {
        place_unref(fuzz->places[i]);
    }
    replica_release(&fuzz->replica);
}

static enum run_result never(struct run *run, void *ctx)
{
    (void)run;
    (void)ctx;
    return RUN_FAILED;
}

/* A node is as if it had run and read nothing. */
static void enter(struct fuzz *fuzz, struct member *member)
{
    struct place *outputs[OUTPUTS_MAX];
    for (size_t i = 0; i < member->output_count; i++) {
        outputs[i] = fuzz->places[member->outputs[i]];
    }
    const struct node_spec spec = {
        .kind = member->kind,
        .run = never,
        .outputs = outputs,
        .output_count = member->output_count,
    };
    member->read_count = 0;
    member->node = sched_register(fuzz->sched, &spec);
    member->node->status = NODE_CLEAN;
    graph_attach(fuzz->sched, member->node);
}

static void draw_member(struct fuzz *fuzz, struct member *member)
{
    member->kind = NODE_COMPUTATION;
    member->output_count = 1 + random_below(fuzz->random, OUTPUTS_MAX);
    for (size_t i = 0; i < member->output_count; i++) {
        member->outputs[i] = random_below(fuzz->random, PLACES);
    }
    if (fuzz->mix == MIX_EFFECTS && random_one_in(fuzz->random, 4)) {
        member->kind = NODE_EFFECT;
        member->output_count = 0;
    }
}

/* -- Mutations ----------------------------------------------------------- */

static void apply_reads(struct fuzz *fuzz, struct member *member)
{
    struct transaction *transaction = transaction_begin(&fuzz->replica, NULL);
    for (size_t i = 0; i < member->read_count; i++) {
        struct value value;
        (void)transaction_read(transaction,
                               fuzz->places[member->reads[i].place],
                               member->reads[i].kind,
                               READ_FOR_BOTH,
                               &value);
        value_unref(value);
    }
    graph_apply_reads(fuzz->sched, member->node, transaction, READS_KEPT_NONE);
    transaction_release(transaction);
}

static void draw_read(struct fuzz *fuzz, struct member *member)
{
    const struct wanted_read read = {
        random_below(fuzz->random, PLACES),
        random_one_in(fuzz->random, 3) ? READ_SHAPE : READ_DEEP,
    };
    if (member->read_count == READS_MAX) {
        return;
    }
    for (size_t i = 0; i < member->read_count; i++) {
        if (member->reads[i].place == read.place &&
            member->reads[i].kind == read.kind) {
            return;
        }
    }
    /* Anywhere: the order of reads is the run's business. */
    const size_t at = random_below(fuzz->random, member->read_count + 1);
    for (size_t i = member->read_count; i > at; i--) {
        member->reads[i] = member->reads[i - 1];
    }
    member->reads[at] = read;
    member->read_count++;
}

static void add_read(struct fuzz *fuzz, struct member *member)
{
    draw_read(fuzz, member);
    apply_reads(fuzz, member);
}

static void drop_read(struct fuzz *fuzz, struct member *member)
{
    if (member->read_count == 0) {
        return;
    }
    const size_t at = random_below(fuzz->random, member->read_count);
    member->read_count--;
    for (size_t i = at; i < member->read_count; i++) {
        member->reads[i] = member->reads[i + 1];
    }
    apply_reads(fuzz, member);
}

/* Other reads, all at once: a run that took another branch. */
static void redraw_reads(struct fuzz *fuzz, struct member *member)
{
    member->read_count = 0;
    const uint64_t count = random_below(fuzz->random, READS_MAX + 1);
    for (uint64_t i = 0; i < count; i++) {
        draw_read(fuzz, member);
    }
    apply_reads(fuzz, member);
}

static void after_root(struct fuzz *fuzz, struct node *node, bool gained)
{
    if (gained) {
        liveness_root_gained(fuzz->sched, node);
    } else {
        liveness_root_lost(fuzz->sched, node);
    }
}

static void toggle_provisional(struct fuzz *fuzz, struct node *node)
{
    if (node->kind == NODE_COMPUTATION) {
        node->provisional = node->provisional == 0;
        after_root(fuzz, node, node->provisional != 0);
    }
}

static void toggle_materializer(struct fuzz *fuzz, struct node *node)
{
    if (node->kind == NODE_COMPUTATION) {
        queue_remove(fuzz->sched, node);
        node->materializer = !node->materializer;
        queue_consider(fuzz->sched, node);
        after_root(fuzz, node, node->materializer);
    }
}

static void toggle_root(struct fuzz *fuzz, struct node *node)
{
    if (!node_is_root(node) && !random_one_in(fuzz->random, 3)) {
        return; /* else nearly everything would be live nearly always */
    }
    if (random_one_in(fuzz->random, 8)) {
        node->demands = node->demands == 0;
        after_root(fuzz, node, node->demands != 0);
    } else if (fuzz->mix == MIX_MATERIALIZERS) {
        toggle_materializer(fuzz, node);
    } else {
        toggle_provisional(fuzz, node);
    }
}

/* Stale, or clean again: dormant nodes leave the places, and come back. */
static void toggle_stale(struct fuzz *fuzz, struct node *node)
{
    if (node->status == NODE_CLEAN) {
        node->status = NODE_INVALID;
        if (node->counted) {
            queue_consider(fuzz->sched, node);
        } else {
            graph_detach(fuzz->sched, node);
        }
    } else {
        queue_remove(fuzz->sched, node);
        node->status = NODE_CLEAN;
        graph_attach(fuzz->sched, node);
    }
}

static void leave(struct fuzz *fuzz, struct member *member)
{
    sched_remove(fuzz->sched, member->node);
    member->node = NULL;
}

static void mutate(struct fuzz *fuzz, bool come_and_go)
{
    struct member *member =
        &fuzz->members[random_below(fuzz->random, fuzz->count)];
    if (member->node == NULL) {
        if (random_one_in(fuzz->random, 2)) {
            draw_member(fuzz, member);
        }
        enter(fuzz, member);
        return;
    }
    const uint64_t dice = random_below(fuzz->random, 100);
    if (dice < 34) {
        add_read(fuzz, member);
    } else if (dice < 60) {
        drop_read(fuzz, member);
    } else if (dice < 68) {
        redraw_reads(fuzz, member);
    } else if (dice < 84) {
        toggle_root(fuzz, member->node);
    } else if (dice < 94 || !come_and_go) {
        toggle_stale(fuzz, member->node);
    } else {
        leave(fuzz, member);
    }
}

/* -- Found by them ------------------------------------------------------- */

/* Places by document and depth in it: 0 is the root, 1 the payload, ... */
static size_t place_at(size_t document, size_t depth)
{
    return document * 4 + depth;
}

static struct member *put_in(struct fuzz *fuzz, size_t output)
{
    struct member *member = &fuzz->members[fuzz->count++];
    *member = (struct member){.outputs = {output}, .output_count = 1};
    enter(fuzz, member);
    return member;
}

static void read_more(struct fuzz *fuzz, struct member *member, size_t place)
{
    member->reads[member->read_count++] =
        (struct wanted_read){place, READ_DEEP};
    apply_reads(fuzz, member);
}

/* Lifting the reader above the one writer must not follow the edge from the
 * other one, which closes a cycle: the heights would grow for ever. */
TEST(h2_a_read_of_two_writers_of_which_one_depends_on_the_reader)
{
    struct random random;
    random_init(&random, 1);
    struct fuzz fuzz;
    begin(&fuzz, &random, 0);
    struct member *reader = put_in(&fuzz, place_at(0, 1));
    struct member *depends = put_in(&fuzz, place_at(1, 3));
    struct member *high = put_in(&fuzz, place_at(1, 2));
    (void)put_in(&fuzz, place_at(2, 1));
    read_more(&fuzz, depends, place_at(0, 1));
    read_more(&fuzz, high, place_at(2, 1));
    read_more(&fuzz, reader, place_at(1, 1));
    EXPECT(check(&fuzz));
    EXPECT(reader->node->component == depends->node->component);
    EXPECT(high->node->component == NULL);
    end(&fuzz);
}

/* Of two new edges into `reader`, the first closes a small cycle; the second
 * a larger one, through a node that is higher than the first one's writer. The
 * higher one must not be forgotten. */
TEST(h2_the_second_edge_of_a_read_closes_a_larger_cycle)
{
    struct random random;
    random_init(&random, 1);
    struct fuzz fuzz;
    begin(&fuzz, &random, 0);
    struct member *reader = put_in(&fuzz, place_at(0, 1));
    struct member *far = put_in(&fuzz, place_at(1, 3));
    struct member *near = put_in(&fuzz, place_at(1, 2));
    struct member *high = put_in(&fuzz, place_at(2, 1));
    struct member *pair = put_in(&fuzz, place_at(3, 1));
    (void)put_in(&fuzz, place_at(4, 1));
    read_more(&fuzz, near, place_at(0, 1));
    read_more(&fuzz, far, place_at(0, 1));
    read_more(&fuzz, far, place_at(3, 1));
    read_more(&fuzz, pair, place_at(1, 3));
    read_more(&fuzz, high, place_at(0, 1));
    read_more(&fuzz, high, place_at(4, 1));
    read_more(&fuzz, pair, place_at(2, 1));
    read_more(&fuzz, reader, place_at(1, 1));
    EXPECT(check(&fuzz));
    EXPECT(high->node->component == reader->node->component);
    end(&fuzz);
}

/* -- The properties ------------------------------------------------------ */

PROPERTY(live_13_demand_and_order_equal_a_rebuild_whatever_the_roots, 300)
{
    struct fuzz fuzz;
    begin(&fuzz, random, NODES_MAX);
    fuzz.mix = (enum mix)random_below(random, 3);
    for (size_t i = 0; i < fuzz.count; i++) {
        draw_member(&fuzz, &fuzz.members[i]);
        enter(&fuzz, &fuzz.members[i]);
    }
    bool good = true;
    for (unsigned step = 0; step < 300 && good; step++) {
        mutate(&fuzz, step % 4 == 0);
        good = check(&fuzz);
    }
    end(&fuzz);
}

PROPERTY(live_14_reads_may_be_there_before_their_writers, 150)
{
    struct fuzz fuzz;
    begin(&fuzz, random, 8);
    fuzz.mix = MIX_PROVISIONAL;
    struct member *effect = &fuzz.members[0];
    effect->kind = NODE_EFFECT;
    enter(&fuzz, effect);
    bool good = true;
    for (size_t i = 1; i < fuzz.count; i++) {
        draw_member(&fuzz, &fuzz.members[i]);
    }
    for (unsigned step = 0; step < 200 && good; step++) {
        add_read(&fuzz, effect);
        mutate(&fuzz, true);
        good = check(&fuzz);
        if (effect->node == NULL) {
            effect->kind = NODE_EFFECT;
            effect->output_count = 0;
            enter(&fuzz, effect);
        }
    }
    end(&fuzz);
}

/* Runs last: the tests of a file run in their order. */
TEST(live_13_the_random_graphs_were_worth_it)
{
    if (met.checks < 20000) {
        return; /* a few rounds prove nothing here */
    }
    (void)printf("# %" PRIu64 " states, nodes live %" PRIu64
                 ", dormant %" PRIu64 ", in cycles %" PRIu64
                 ", dormant ones %" PRIu64 ", detached %" PRIu64 "\n",
                 met.checks,
                 met.live,
                 met.dormant,
                 met.in_cycles,
                 met.dormant_in_cycles,
                 met.detached);
    EXPECT(met.live > met.checks);
    EXPECT(met.dormant > met.checks);
    EXPECT(met.in_cycles > met.checks);
    EXPECT(met.dormant_in_cycles > met.checks / 10);
    EXPECT(met.detached > met.checks / 4);
}
