/* ORD: which node runs before which (ordering-1 to ordering-3 of
 * docs/spec/scheduler.md).
 *
 *   T14     a parent that has nothing to do does not delay its child
 *   T17     inside a cycle registration decides, then edges: A B D C
 *
 * Nodes of one height run in the order in which they became runnable. */

#include <stdio.h>
#include <string.h>

#include "lib/sched_kit.h"
#include "lib/test.h"

/* -- Graphs in one line -------------------------------------------------- */

/* Registers nodes "A B C" with edges "A>B B>C": B reads what A writes. Node X
 * writes document x, which is always 1, and an effect looks at all of them. */
struct graph_case {
    const char *nodes;
    const char *edges;
};

static char lower(char name)
{
    return (char)(name - 'A' + 'a');
}

static void build(struct sched_kit *kit, const struct graph_case *graph)
{
    struct buf everything = {0};
    struct buf surface = {0};
    for (const char *at = graph->nodes; *at != '\0'; at++) {
        if (*at == ' ') {
            continue;
        }
        buf_clear(&surface);
        for (const char *edge = graph->edges; *edge != '\0'; edge++) {
            if (*edge == '>' && edge[1] == *at) {
                buf_printf(&surface, "%c ", lower(edge[-1]));
            }
        }
        buf_printf(&surface, "-> %c", lower(*at));
        const char name[2] = {*at, '\0'};
        (void)
            kit_computation(kit, name, buf_text(&surface), kit_fn_constant, 1);
        buf_printf(&everything, "%c ", lower(*at));
    }
    (void)kit_see(kit, "Z", buf_text(&everything));
    buf_release(&everything);
    buf_release(&surface);
}

/* The nodes by height, then by registration. */
static const char *by_height(struct sched_kit *kit)
{
    static char text[100];
    text[0] = '\0';
    for (uint32_t height = 0; height < 20; height++) {
        VEC_FOREACH (&kit->nodes, node) {
            if ((*node)->node->height == height && (*node)->name[0] != 'Z') {
                const size_t length = strlen(text);
                (void)snprintf(text + length,
                               sizeof text - length,
                               "%s%s",
                               length > 0 ? " " : "",
                               (*node)->name);
            }
        }
    }
    return text;
}

static void expect_order(const char *nodes,
                         const char *edges,
                         const char *want,
                         bool acyclic)
{
    struct sched_kit kit;
    kit_begin(&kit);
    const struct graph_case graph = {nodes, edges};
    build(&kit, &graph);
    EXPECT_TEXT(by_height(&kit), want);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(by_height(&kit), want);
    if (acyclic) {
        const char *ran = kit_ran(&kit);
        EXPECT(strncmp(ran, want, strlen(want)) == 0);
        EXPECT_EQ(kit.sched->counters.sweeps, 1);
    }
    EXPECT_EQ(kit.sched->counters.not_settling, 0);
    kit_end(&kit);
}

TEST(ord_01_two_writers_of_one_place)
{
    struct sched_kit kit;
    kit_begin(&kit);
    (void)kit_computation(&kit, "A", "-> x", kit_fn_constant, 1);
    (void)kit_computation(&kit, "B", "-> x", kit_fn_constant, 2);
    (void)kit_see(&kit, "E", "x");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "A B E");
    EXPECT_GET(&kit, "x", "2");
    kit_end(&kit);
}

TEST(ord_02_one_edge_and_a_bystander)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    (void)kit_sum(&kit, "U", "s -> u", 0);
    (void)kit_effect(&kit, "N", "u", kit_fn_see, 0);
    (void)kit_effect(&kit, "R", "s", kit_fn_see, 0);
    EXPECT_IDLE(&kit);
    const char *ran = kit_ran(&kit);
    EXPECT(strstr(ran, "U") < strstr(ran, "N"));
    kit_end(&kit);
}

TEST(ord_07_golden_vectors)
{
    expect_order("C B A", "A>B B>C", "A B C", true);              /* T2 */
    expect_order("D B C A", "A>B A>C B>D C>D", "A B C D", true);  /* T3 */
    expect_order("A B", "A>B B>A", "A B", false);                 /* T5 */
    expect_order("B C A", "A>B B>C C>A", "B C A", false);         /* T6 */
    expect_order("A B C X", "A>B B>C C>A X>A", "X A B C", false); /* T7 */
    /* T17, by D3. */
    expect_order("A B C D", "B>A C>A A>B A>D D>C", "A B D C", false);
}

TEST(ord_08_what_reads_from_a_cycle_comes_after_it)
{
    expect_order("E A B", "A>B B>A B>E", "A B E", false);
    expect_order("E A B", "A>B B>A A>E", "A B E", false);
}

/* P creates K in its first run, and reads from it, directly or through X. */
static enum run_result create_k(struct run *run, struct kit_node *node)
{
    if (node->kids == NULL) {
        node->kids = kit_computation(node->kit, "K", "s -> k", kit_fn_copy, 0);
    }
    return kit_fn_sum(run, node);
}

TEST(ord_07_t9_a_child_without_edges_runs_after_its_parent)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *p = kit_effect(&kit, "P", "s", create_k, 0);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "P K");
    struct kit_node *e = kit_see(&kit, "E", "k");
    EXPECT_IDLE(&kit);
    (void)kit_ran(&kit);
    kit_set(&kit, "s", "2"); /* both are invalid */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(p->kids->runs, 2);
    EXPECT_SEEN(e, "1 2");
    const char *ran = kit_ran(&kit);
    EXPECT(strstr(ran, "P") < strstr(ran, "K"));
    kit_end(&kit);
}

TEST(ord_07_t10_data_wins_over_parenthood)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *p = kit_effect(&kit, "P", "s k", create_k, 0);
    EXPECT_IDLE(&kit);
    EXPECT(p->kids->node->height < p->node->height);
    (void)kit_ran(&kit);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "K P");
    EXPECT_EQ(p->runs, 3);
    kit_end(&kit);
}

/* T11: K and P read each other. */
static enum run_result create_partner(struct run *run, struct kit_node *node)
{
    if (node->kids == NULL) {
        node->kids =
            kit_computation(node->kit, "K", "p -> k", kit_fn_constant, 1);
    }
    return kit_fn_constant(run, node);
}

TEST(ord_07_t11_in_a_cycle_the_parent_goes_first)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *p =
        kit_computation(&kit, "P", "k -> p", create_partner, 1);
    (void)kit_see(&kit, "E", "p k");
    EXPECT_IDLE(&kit);
    EXPECT(p->node->component != NULL);
    EXPECT(p->node->component == p->kids->node->component);
    EXPECT(p->node->height < p->kids->node->height);
    kit_end(&kit);
}

/* T13: a chain of creation. */
static enum run_result create_grandchild(struct run *run, struct kit_node *node)
{
    (void)run;
    node->kids = kit_computation(node->kit, "C", "", kit_fn_constant, 1);
    return RUN_DONE;
}

static enum run_result create_two(struct run *run, struct kit_node *node)
{
    (void)run;
    node->kids = kit_computation(node->kit, "P", "", create_grandchild, 1);
    return RUN_DONE;
}

TEST(ord_07_t13_a_chain_of_creation)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *g = kit_effect(&kit, "G", "", create_two, 0);
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "G P C");
    EXPECT(g->kids->kids->node->parent == g->kids->node);
    kit_end(&kit);
}

TEST(ord_07_t14_a_parent_that_is_clean_is_not_waited_for)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "s=1 t=1");
    struct kit_node *p = kit_effect(&kit, "P", "t", create_k, 0);
    struct kit_node *e = kit_see(&kit, "E", "k");
    EXPECT_IDLE(&kit);
    (void)kit_ran(&kit);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "K E");
    EXPECT_SEEN(e, "1 2");
    EXPECT_EQ(p->runs, 1);
    kit_end(&kit);
}

TEST(ord_09_a_parent_that_reads_through_another_comes_last)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "s", "1");
    struct kit_node *p = kit_effect(&kit, "P", "s x", create_k, 0);
    struct kit_node *x = kit_sum(&kit, "X", "k -> x", 0);
    EXPECT_IDLE(&kit);
    EXPECT(p->kids->node->height < x->node->height);
    EXPECT(x->node->height < p->node->height);
    (void)kit_ran(&kit);
    kit_set(&kit, "s", "2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "K X P");
    kit_end(&kit);
}

/* -- Diamonds ------------------------------------------------------------ */

enum {
    ARM_MAX = 32
};

/* s -> a1 -> a2 ... -> aL; M = s * 1000 + aL; E sees m. With `declared`, what
 * is read is known before the first run. */
static void expect_diamond(unsigned length, bool declared)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "a0", "1");
    char surface[60];
    struct kit_node *arm[ARM_MAX + 1];
    const char *const mark = declared ? "" : "-";
    struct kit_node *e = kit_see(&kit, "E", declared ? "m" : "-m");
    (void)snprintf(surface,
                   sizeof surface,
                   "%sa0 %sa%u -> m",
                   mark,
                   mark,
                   length);
    struct kit_node *m = kit_sum(&kit, "M", surface, 0);
    for (unsigned i = length; i > 0; i--) {
        (void)snprintf(surface, sizeof surface, "%sa%u -> a%u", mark, i - 1, i);
        arm[i] = kit_sum(&kit, "A", surface, 0);
    }
    EXPECT_IDLE(&kit);
    kit_set(&kit, "a0", "2");
    EXPECT_IDLE(&kit);
    for (unsigned i = 1; i <= length; i++) {
        EXPECT_EQ(arm[i]->runs, 2);
    }
    EXPECT_EQ(m->runs, 2);
    EXPECT_SEEN(e, "2 4"); /* 3 would be torn */
    kit_end(&kit);
}

TEST(ord_11_an_uneven_diamond_runs_once_and_never_shows_a_torn_value)
{
    for (unsigned length = 1; length <= ARM_MAX; length++) {
        expect_diamond(length, true);
        expect_diamond(length, false);
    }
}

/* A read that was never made before leads to a long way that is invalid. */
TEST(ord_11_a_new_read_of_something_stale_is_not_torn)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set_all(&kit, "a0=1 sel=0 no=0");
    for (unsigned i = 1; i <= 10; i++) {
        char surface[40];
        (void)snprintf(surface, sizeof surface, "a%u -> a%u", i - 1, i);
        (void)kit_sum(&kit, "A", surface, 0);
    }
    struct kit_node *m =
        kit_computation(&kit, "M", "sel -a10 -no -> m", kit_fn_select, 0);
    struct kit_node *e = kit_see(&kit, "E", "m");
    EXPECT_IDLE(&kit);
    kit_set_all(&kit, "sel=1 a0=7");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "0 7");
    EXPECT_EQ(m->runs, 2);
    EXPECT_EQ(e->runs, 2);
    kit_end(&kit);
}

/* Deeper than runs may nest: they are given up, and run again in order. */
TEST(ord_11_a_new_read_of_something_very_deep)
{
    struct sched_kit kit;
    kit_begin(&kit);
    enum {
        DEPTH = 3 * SCHED_NESTING_MAX
    };
    kit_set_all(&kit, "a0=1");
    struct kit_node *arm[DEPTH + 1];
    for (unsigned i = 1; i <= DEPTH; i++) {
        char surface[40];
        (void)snprintf(surface, sizeof surface, "-a%u -> a%u", i - 1, i);
        arm[i] = kit_sum(&kit, "A", surface, 0);
    }
    char surface[20];
    (void)snprintf(surface, sizeof surface, "-a%d", DEPTH);
    struct kit_node *e = kit_see(&kit, "E", surface);
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1");
    EXPECT(kit.sched->counters.discarded_runs > 0);
    (void)kit_ran(&kit);
    uint64_t runs[DEPTH + 1];
    for (unsigned i = 1; i <= DEPTH; i++) {
        runs[i] = arm[i]->runs;
    }
    kit_set(&kit, "a0", "5");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(e, "1 5");
    for (unsigned i = 1; i <= DEPTH; i++) {
        EXPECT_EQ(arm[i]->runs, runs[i] + 1);
    }
    EXPECT_EQ(kit.sched->counters.not_settling, 0);
    kit_end(&kit);
}
