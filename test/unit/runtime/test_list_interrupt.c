/* A long list is built in one run. The host can interrupt it: how much is done
 * between two questions for that is counted here, never timed (settle-6 of
 * sched/settle.h). */

#include "runtime/list.h"

#include "lib/list_kit.h"
#include "lib/test.h"
#include "sched/core.h"
#include "sched/settle.h"
#include "value/array.h"

enum {
    ELEMENTS = 2 * SCHED_GLANCE + 11,
};

struct watch {
    struct list_kit kit;
    uint64_t asked;      /* questions since it began */
    uint64_t interrupts; /* the question that is answered with yes, from 1 */
    size_t nodes;        /* at the last question */
    size_t most;         /* nodes that came between two of them */
};

static bool ask(void *ctx)
{
    struct watch *watch = ctx;
    const size_t nodes = list_kit_nodes(&watch->kit);
    const size_t came = nodes > watch->nodes ? nodes - watch->nodes : 0;
    watch->most = came > watch->most ? came : watch->most;
    watch->nodes = nodes;
    return ++watch->asked == watch->interrupts;
}

static void watch_begin(struct watch *watch, uint64_t interrupts)
{
    *watch = (struct watch){.interrupts = interrupts};
    list_kit_begin(&watch->kit, LIST_KIT_MAP);
    list_kit_start(&watch->kit);
    struct sched *sched = watch->kit.one->runtime.sched;
    watch->nodes = list_kit_nodes(&watch->kit);
    sched->interrupted = ask;
    sched->interrupted_ctx = watch;
}

static void fill(struct watch *watch, uint32_t count)
{
    struct value list = value_empty_array();
    for (uint32_t i = 0; i < count; i++) {
        list = array_push_adopt(list, value_int(i));
    }
    list_kit_put_adopt(&watch->kit, "piece:p/items", "", list);
}

static void expect_built(struct watch *watch, uint32_t count)
{
    struct list_kit *kit = &watch->kit;
    EXPECT_EQ(array_count(kit->shown), count);
    for (uint32_t i = 0; i < count && i < array_count(kit->shown); i++) {
        const struct value item = array_at(kit->shown, i);
        if (!EXPECT(value_is_array(item) && array_count(item) == 1 &&
                    value_integer(array_at(item, 0)) == (int64_t)i)) {
            break;
        }
    }
    EXPECT_EQ(kit->errors, 0);
    EXPECT(sched_check(kit->one->runtime.sched));
}

TEST(p6_the_run_that_builds_a_long_list_asks_every_so_many_children)
{
    static struct watch watch;
    watch_begin(&watch, 0);
    fill(&watch, ELEMENTS);
    expect_built(&watch, ELEMENTS);
    EXPECT_EQ(list_kit_runs(&watch.kit), ELEMENTS);
    EXPECT(watch.most <= SCHED_GLANCE);
    list_kit_end(&watch.kit);
}

/* Wherever it is given up, while children are added, written or linked: the
 * next pass builds the same list, and each element runs once. */
TEST(p6_a_list_that_gave_way_is_built_by_the_next_pass)
{
    static struct watch watch;
    for (uint64_t at = 1; at <= 8; at++) {
        watch_begin(&watch, at);
        const size_t nodes = list_kit_nodes(&watch.kit);
        fill(&watch, ELEMENTS);
        EXPECT(watch.asked >= at);
        expect_built(&watch, ELEMENTS);
        EXPECT_EQ(list_kit_runs(&watch.kit), ELEMENTS);
        EXPECT_EQ(list_kit_nodes(&watch.kit), nodes + ELEMENTS);

        /* Nothing that was given up is left to be deleted. */
        watch.asked = 0;
        watch.interrupts = 2;
        fill(&watch, 2 * ELEMENTS);
        expect_built(&watch, 2 * ELEMENTS);
        fill(&watch, 3);
        expect_built(&watch, 3);
        EXPECT_EQ(list_kit_nodes(&watch.kit), nodes + 3);
        list_kit_crash(&watch.kit);
        list_kit_start(&watch.kit);
        bool stale = false;
        struct value out =
            list_kit_read(&watch.kit, NULL, watch.kit.out, &stale);
        EXPECT_EQ(array_count(out), 3);
        value_unref(out);
        list_kit_end(&watch.kit);
    }
}
