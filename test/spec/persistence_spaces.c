/* PERS and R18: what a restart finds, of pieces that read another space. */

#include <stdio.h>

#include "host/hub_link.h"
#include "lib/persist_kit.h"
#include "lib/test.h"
#include "replica/session.h"

static void begin(struct sched_kit *kit, const char *line)
{
    kit_begin_with_store(kit, false);
    kit->piece = "p";
    kit_set_all(kit, line);
}

enum {
    LIVES = 2
};

/* A second space, with a store of its own. */
struct beyond {
    struct store_kit kit;
    struct hub hub;
    struct hub_link links[LIVES];
    unsigned lives;
    uint64_t others;
};

static void beyond_begin(struct beyond *beyond)
{
    *beyond = (struct beyond){0};
    kit_open_memory(&beyond->kit, NULL);
    const struct hub_options options = {.immediate = true, .seed = 1};
    hub_init(&beyond->hub, &beyond->kit.engine, &options, 0);
}

/* Of a process. */
static void beyond_open(struct beyond *beyond, struct sched_kit *kit)
{
    struct hub_link *link = &beyond->links[beyond->lives];
    hub_link_init(link, &beyond->hub, HUB_LINK_DIRECT, VALUE_NONE);
    const struct space_options options = {
        .id = value_text_new("beyond"),
        .session = value_text_new(beyond->lives == 0 ? "one" : "two"),
        .transport = &link->transport,
        .seed = 7,
    };
    EXPECT_INT(space_open(&kit->replica, &options, &kit->second, NULL), ERR_OK);
    value_unref(options.id);
    value_unref(options.session);
    beyond->lives++;
}

static void beyond_set(struct beyond *beyond, const char *operation)
{
    char line[80];
    (void)snprintf(line,
                   sizeof line,
                   "someone %u | %s",
                   (unsigned)++beyond->others,
                   operation);
    kit_commit(&beyond->kit, line);
    EXPECT_INT(beyond->kit.verdicts[0].err, ERR_OK);
    hub_poll(&beyond->hub);
}

static void beyond_end(struct beyond *beyond)
{
    for (unsigned i = 0; i < beyond->lives; i++) {
        hub_link_release(&beyond->links[i]);
    }
    hub_release(&beyond->hub);
    kit_close(&beyond->kit);
}

/* C reads here and there, D only here; then the process ends. */
static void run_beyond(struct beyond *beyond, struct sched_kit *kit)
{
    beyond_begin(beyond);
    begin(kit, "a=1");
    beyond_open(beyond, kit);
    beyond_set(beyond, "set x {'u':10,'v':10}");
    kit_load(kit, "a b c >x");
    kit_sum(kit, "C", "a >x.u -> b", 0);
    kit_sum(kit, "D", "a -> c", 0);
    kit_see(kit, "E", "b c");
    EXPECT_IDLE(kit);
    EXPECT_GET(kit, "b", "11");
    kit_restart(kit, false);
    kit->second = NULL;
}

static const char *resume_beyond(struct beyond *beyond,
                                 struct sched_kit *kit,
                                 bool ask)
{
    static char text[80];
    beyond_open(beyond, kit);
    struct persist persist;
    persist_list(&persist, kit, 0);
    if (ask) {
        EXPECT_INT(persist_ask(&persist, &beyond->kit.engine, kit->second),
                   ERR_OK);
    }
    EXPECT_INT(persist_take(&persist), ERR_OK);
    kit_sum(kit, "C", "a >x.u -> b", 0);
    kit_sum(kit, "D", "a -> c", 0);
    kit_see(kit, "E", "b c");
    (void)snprintf(text, sizeof text, "%s", persist_end(&persist));
    kit_load(kit, "a b c >x");
    (void)kit_ran(kit);
    return text;
}

TEST(pers_13_what_is_read_in_another_space_is_asked_for_there)
{
    struct beyond beyond;
    struct sched_kit kit;
    run_beyond(&beyond, &kit);
    beyond_set(&beyond, "replace x.v 11"); /* nobody reads this */
    EXPECT_TEXT(resume_beyond(&beyond, &kit, true),
                "restored 3 dirty 0 unknown 0");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "");
    beyond_set(&beyond, "replace x.u 20");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    EXPECT_GET(&kit, "b", "21");
    kit_end(&kit);
    beyond_end(&beyond);
}

TEST(pers_13_a_change_in_another_space_is_a_cause)
{
    struct beyond beyond;
    struct sched_kit kit;
    run_beyond(&beyond, &kit);
    beyond_set(&beyond, "replace x.u 20");
    EXPECT_TEXT(resume_beyond(&beyond, &kit, true),
                "restored 2 dirty 1 unknown 0");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    EXPECT_GET(&kit, "b", "21");
    kit_end(&kit);
    beyond_end(&beyond);
}

/* Who reads what a dirty one writes is not marked, and is not up to date
 * either: whoever looks at it gets both, and it runs only if it sees another
 * value. */
TEST(r18_behind_a_change_in_another_space_the_next_one_waits_for_the_first)
{
    static const char *const values[][2] = {
        {"replace x.u 21", "C D E"},
        {"replace x.u 12", "C"}, /* the same for who reads it */
    };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct beyond beyond;
        struct sched_kit kit;
        struct persist persist;
        beyond_begin(&beyond);
        begin(&kit, "a=1");
        beyond_open(&beyond, &kit);
        beyond_set(&beyond, "set x {'u':10,'v':10}");
        kit_load(&kit, "a b c >x");
        kit_computation(&kit, "C", ">x.u -> b", kit_fn_modulo, 2);
        kit_sum(&kit, "D", "b -> c", 0);
        kit_see(&kit, "E", "c");
        EXPECT_IDLE(&kit);
        kit_restart(&kit, false);
        beyond_set(&beyond, values[i][0]);
        beyond_open(&beyond, &kit);
        persist_list(&persist, &kit, 0);
        EXPECT_INT(persist_ask(&persist, &beyond.kit.engine, kit.second),
                   ERR_OK);
        EXPECT_INT(persist_take(&persist), ERR_OK);
        const struct kit_node *d = kit_sum(&kit, "D", "b -> c", 0);
        kit_see(&kit, "E", "c");
        const struct kit_node *c =
            kit_computation(&kit, "C", ">x.u -> b", kit_fn_modulo, 2);
        EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 1 unknown 0");
        EXPECT(c->node->status == NODE_INVALID);
        EXPECT(d->node->status == NODE_CLEAN);
        kit_load(&kit, "a b c >x");
        (void)kit_ran(&kit);
        EXPECT_TEXT(kit_pull(&kit, "c"), i == 0 ? "1" : "0");
        EXPECT_TEXT(kit_ran(&kit), values[i][1]);
        kit_end(&kit);
        beyond_end(&beyond);
    }
}

TEST(pers_13_a_space_that_nobody_asked_leaves_its_readers_unknown)
{
    struct beyond beyond;
    struct sched_kit kit;
    run_beyond(&beyond, &kit);
    EXPECT_TEXT(resume_beyond(&beyond, &kit, false),
                "restored 2 dirty 0 unknown 1");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C");
    kit_end(&kit);
    beyond_end(&beyond);
}

/* The answer is older than what was seen: of a copy, or of another history. */
TEST(pers_13_a_space_that_has_less_than_was_seen_leaves_its_readers_unknown)
{
    struct beyond beyond;
    struct sched_kit kit;
    struct persist persist;
    run_beyond(&beyond, &kit);
    beyond_open(&beyond, &kit);
    persist_list(&persist, &kit, 0);
    EXPECT_INT(persist_ask(&persist, &beyond.kit.engine, kit.second), ERR_OK);
    persist.asked.seq--;
    EXPECT_INT(persist_take(&persist), ERR_OK);
    kit_sum(&kit, "C", "a >x.u -> b", 0);
    kit_sum(&kit, "D", "a -> c", 0);
    kit_see(&kit, "E", "b c");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 1");
    kit_end(&kit);
    beyond_end(&beyond);
}

/* Two runtimes that have both spaces. */
TEST(d10_a_run_that_has_read_another_space_is_adopted)
{
    struct beyond beyond;
    struct sched_kit kits[LIVES];
    struct kit_node *nodes[LIVES];
    beyond_begin(&beyond);
    begin(&kits[0], "a=1");
    kit_begin_beside(&kits[1], &kits[0], "other");
    kits[1].piece = "p";
    beyond_set(&beyond, "set x {'u':10,'v':10}");
    for (int i = 0; i < LIVES; i++) {
        beyond_open(&beyond, &kits[i]);
        kit_load(&kits[i], "a b >x");
        nodes[i] = kit_sum(&kits[i], "C", "a >x.u -> b", 0);
        kit_see(&kits[i], "E", "b");
    }
    EXPECT_IDLE(&kits[0]);
    EXPECT_IDLE(&kits[1]);
    EXPECT_EQ(nodes[1]->runs, 0);
    beyond_set(&beyond, "replace x.u 20");
    kit_step(&kits[1]); /* waits for who ran it last */
    EXPECT_IDLE(&kits[0]);
    EXPECT_IDLE(&kits[1]);
    EXPECT_EQ(nodes[0]->runs, 2);
    EXPECT_EQ(nodes[1]->runs, 0);
    EXPECT_EQ(kits[1].sched->counters.adopted, 2);
    EXPECT_GET(&kits[1], "b", "21");

    /* What is newer here than what was read there is not overridden. */
    kits[1].second->held = true;
    kit_set(&kits[1], ">x", "{'u':30,'v':10}");
    kit_set(&kits[0], "a", "2");
    EXPECT_IDLE(&kits[0]);
    EXPECT_GET(&kits[0], "b", "22");
    EXPECT_IDLE(&kits[1]);
    EXPECT_EQ(nodes[1]->runs, 1);
    EXPECT_GET(&kits[1], "b", "32");
    kits[1].second->held = false;
    kit_end(&kits[1]);
    kit_end(&kits[0]);
    beyond_end(&beyond);
}
