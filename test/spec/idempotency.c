/* IDEM: computations may run any number of times (sched/validator.h). The
 * second run is one on top of the first; the replica tells what it would
 * change. */

#include "lib/sched_kit.h"
#include "lib/test.h"

struct heard {
    struct sched_kit *kit;
    unsigned count;
    char name[KIT_NAME_MAX];
    int64_t before;
    int64_t after;
};

static void on_violation(void *ctx, const struct violation *violation)
{
    struct heard *heard = ctx;
    const struct value string = node_name(violation->node);
    const struct text name = value_text(&string);
    heard->count++;
    CHECK(name.length < sizeof heard->name);
    for (size_t i = 0; i < name.length; i++) {
        heard->name[i] = name.at[i];
    }
    heard->name[name.length] = '\0';
    heard->before = value_tag(violation->before) == TAG_INT
                        ? value_integer(violation->before)
                        : -1;
    heard->after = value_tag(violation->after) == TAG_INT
                       ? value_integer(violation->after)
                       : -1;
}

static void validate(struct sched_kit *kit, struct heard *heard)
{
    *heard = (struct heard){.kit = kit};
    kit->sched->hooks.ctx = heard;
    kit->sched->hooks.error = NULL;
    kit->sched->hooks.not_settling = NULL;
    kit->sched->hooks.not_idempotent = on_violation;
    validator_enable(kit->sched, true);
}

/* Something else each time. */
static enum run_result different(struct run *run, struct kit_node *node)
{
    (void)kit_number(run, node, 0);
    kit_output_adopt(run, node, 0, value_int(++node->k));
    return RUN_DONE;
}

/* One more than there was. */
static enum run_result accumulate(struct run *run, struct kit_node *node)
{
    const struct value old = kit_look(run, node, "sum");
    const int64_t sum = value_tag(old) == TAG_INT ? value_integer(old) : 0;
    value_unref(old);
    kit_output_adopt(run, node, 0, value_int(sum + kit_number(run, node, 0)));
    return RUN_DONE;
}

static enum run_result accumulate_twice(struct run *run, struct kit_node *node)
{
    const enum run_result result = accumulate(run, node);
    kit_output_adopt(run, node, 1, value_int(1)); /* the last version */
    return result;
}

static struct kit_node *begin(struct sched_kit *kit,
                              struct heard *heard,
                              kit_fn *fn,
                              int64_t k)
{
    kit_begin(kit);
    kit_set_all(kit, "s=5 sum=0");
    validate(kit, heard);
    struct kit_node *c = kit_computation(kit, "C", "s -> sum", fn, k);
    kit_see(kit, "E", "sum");
    EXPECT_IDLE(kit);
    return c;
}

TEST(idem_01_something_else_each_time)
{
    struct sched_kit kit;
    struct heard heard;
    struct kit_node *c = begin(&kit, &heard, different, 0);
    EXPECT_EQ(heard.count, 1);
    EXPECT_TEXT(heard.name, "C");
    EXPECT_INT(heard.before, 1);
    EXPECT_INT(heard.after, 2);
    EXPECT_GET(&kit, "sum", "1"); /* nothing of the second run stays */
    EXPECT_EQ(c->node->runs, 1);
    EXPECT_EQ(kit.sched->counters.runs, 2);
    kit_set(&kit, "s", "6"); /* and it is told once */
    EXPECT_IDLE(&kit);
    EXPECT_EQ(heard.count, 1);
    kit_end(&kit);
}

TEST(idem_03_the_same_each_time)
{
    struct sched_kit kit;
    struct heard heard;
    begin(&kit, &heard, kit_fn_times, 2);
    EXPECT_EQ(heard.count, 0);
    EXPECT_EQ(kit.sched->counters.validations, 1);
    EXPECT_GET(&kit, "sum", "10");
    kit_end(&kit);
}

/* Another's change arrives while the run goes on, and lands when it has
 * committed: between the run and the second look. */
static enum run_result told_meanwhile(struct run *run, struct kit_node *node)
{
    const int64_t sum = kit_number(run, node, 0) * 2;
    if (node->k == 1) {
        node->k = 0;
        kit_elsewhere(node->kit, "set s 99");
        kit_pump(node->kit);
    }
    kit_output_adopt(run, node, 0, value_int(sum));
    return RUN_DONE;
}

static void move_meanwhile(const char *surface)
{
    struct sched_kit kit;
    struct heard heard;
    kit_begin_with_store(&kit, true);
    kit_set_all(&kit, "s=5 r=0");
    kit_pump(&kit);
    validate(&kit, &heard);
    struct kit_node *c = kit_computation(&kit, "C", surface, told_meanwhile, 1);
    kit_see(&kit, "E", "r");
    kit_step(&kit);
    EXPECT_GET(&kit, "s", "99");
    kit_pump(&kit); /* its commit came too late: again */
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_EQ(heard.count, 0);
    EXPECT(c->node->runs >= 2);
    EXPECT(kit.sched->counters.validations < c->node->runs);
    EXPECT_GET(&kit, "r", "198");
    kit_end(&kit);
}

TEST(idem_04_an_input_that_somebody_else_has_moved)
{
    move_meanwhile("s -> r");
}

/* It wakes nobody, so the node stays up to date. */
TEST(idem_04_an_input_that_is_not_for_scheduling)
{
    move_meanwhile("?s -> r");
}

TEST(idem_05_a_sum_of_its_own_output)
{
    struct sched_kit kit;
    struct heard heard;
    begin(&kit, &heard, accumulate, 0);
    EXPECT_EQ(heard.count, 1);
    EXPECT_INT(heard.before, 5);
    EXPECT_INT(heard.after, 10);
    EXPECT_GET(&kit, "sum", "5");
    kit_end(&kit);
}

/* And with a commit to two spaces: it is all its own. */
TEST(idem_05_in_two_spaces)
{
    struct sched_kit kit;
    struct heard heard;
    kit_begin(&kit);
    kit_set_all(&kit, "s=5 sum=0");
    validate(&kit, &heard);
    const struct space_options options = {.id = value_text_new("other")};
    struct space *other = NULL;
    CHECK(space_open(&kit.replica, &options, &other, NULL) == ERR_OK);
    struct entity *entity = NULL;
    CHECK(entity_of(other, SCOPE_SPACE, options.id, &entity, NULL) == ERR_OK);
    struct kit_node *c =
        kit_computation(&kit, "C", "s -> sum", accumulate_twice, 0);
    c->writes[c->write_count++].place = place_payload(entity);
    kit_see(&kit, "E", "sum");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(heard.count, 1);
    EXPECT_GET(&kit, "sum", "5");
    value_unref(options.id);
    kit_end(&kit);
}

/* Takes away the second time what it put there the first time. */
static enum run_result now_and_then(struct run *run, struct kit_node *node)
{
    (void)kit_number(run, node, 0);
    const bool there = node->k++ % 2 == 0;
    kit_output_adopt(run, node, 0, there ? value_int(1) : VALUE_NONE);
    return RUN_DONE;
}

TEST(idem_06_what_is_taken_away_differs)
{
    struct sched_kit kit;
    struct heard heard;
    begin(&kit, &heard, now_and_then, 0);
    EXPECT_EQ(heard.count, 1);
    EXPECT_INT(heard.before, 1);
    EXPECT_INT(heard.after, -1);
    kit_end(&kit);
}

/* Writes, and takes it back: the log has it, the document has not. */
static enum run_result there_and_back(struct run *run, struct kit_node *node)
{
    const int64_t number = kit_number(run, node, 0);
    kit_output_adopt(run, node, 0, value_int(++node->k + 1000));
    kit_output_adopt(run, node, 0, value_int(number));
    return RUN_DONE;
}

TEST(idem_07_a_write_that_changes_nothing_is_none)
{
    struct sched_kit kit;
    struct heard heard;
    begin(&kit, &heard, there_and_back, 0);
    EXPECT_EQ(heard.count, 0);
    kit_end(&kit);
}

TEST(idem_08_all_of_them_at_once)
{
    struct sched_kit kit;
    struct heard heard;
    kit_begin(&kit);
    kit_set_all(&kit, "s=5 d=0 sum=0 x=0");
    validate(&kit, &heard);
    validator_enable(kit.sched, false);
    struct kit_node *d = kit_computation(&kit, "D", "s -> d", kit_fn_times, 2);
    struct kit_node *a = kit_computation(&kit, "A", "s -> sum", accumulate, 0);
    struct kit_node *x = kit_computation(&kit, "X", "s -> x", different, 0);
    struct kit_node *e = kit_see(&kit, "E", "d");
    EXPECT_IDLE(&kit);
    const uint64_t runs = d->runs;
    EXPECT_EQ(validator_check_all(kit.sched), 2);
    EXPECT_EQ(heard.count, 2);
    EXPECT(a->node->violation && x->node->violation && !d->node->violation);
    EXPECT_EQ(d->runs, runs + 2);
    /* Whether anybody looks or not; and nothing has come of it. */
    EXPECT_EQ(a->node->status, NODE_NEVER_RAN);
    EXPECT_GET(&kit, "sum", "0");
    EXPECT_GET(&kit, "x", "0");
    EXPECT_EQ(e->runs, 1);
    EXPECT_EQ(validator_check_all(kit.sched), 2);
    EXPECT_EQ(heard.count, 2); /* each is told once */
    EXPECT(kit_check(&kit));
    kit_end(&kit);
}

/* Less than the first time is no difference: what was there is still there. */
static enum run_result once(struct run *run, struct kit_node *node)
{
    (void)kit_number(run, node, 0);
    if (node->k++ == 0) {
        kit_output_adopt(run, node, 0, value_int(1));
    }
    return RUN_DONE;
}

TEST(idem_09_what_only_the_first_run_wrote_does_not_count)
{
    struct sched_kit kit;
    struct heard heard;
    begin(&kit, &heard, once, 0);
    EXPECT_EQ(heard.count, 0);
    kit_end(&kit);
}

/* -- What is left out ---------------------------------------------------- */

static enum run_result with_child(struct run *run, struct kit_node *node)
{
    node->k++;
    if (node->kids == NULL) {
        node->kids = kit_sum(node->kit, "K", "s -> k", 0);
    }
    kit_output_adopt(run, node, 0, value_int(node->k));
    return RUN_DONE;
}

TEST(idem_11_nodes_that_have_created_others)
{
    struct sched_kit kit;
    struct heard heard;
    struct kit_node *c = begin(&kit, &heard, with_child, 0);
    EXPECT_EQ(heard.count, 0);
    EXPECT_EQ(c->runs, 1);
    kit_remove(c->kids);
    kit_end(&kit);
}

/* Registers a node the second time only. */
static enum run_result late_child(struct run *run, struct kit_node *node)
{
    if (node->k++ == 1) {
        node->kids = kit_see(node->kit, "K", "s");
        (void)kit_see(node->kit, "L", "sum");
    }
    kit_output_adopt(run, node, 0, value_int(kit_number(run, node, 0)));
    return RUN_DONE;
}

TEST(idem_12_nodes_of_the_second_run_do_not_stay)
{
    struct sched_kit kit;
    struct heard heard;
    struct kit_node *c = begin(&kit, &heard, late_child, 0);
    EXPECT_EQ(heard.count, 0);
    EXPECT_EQ(c->runs, 2);
    EXPECT(c->kids != NULL && c->kids->node == NULL);
    EXPECT_EQ(c->kids->runs, 0);
    EXPECT_EQ(kit.sched->effects, 1);
    EXPECT(c->node->children.first == NULL);
    EXPECT(kit_check(&kit));
    kit_end(&kit);
}

TEST(idem_13_effects_are_left_out)
{
    struct sched_kit kit;
    struct heard heard;
    kit_begin(&kit);
    kit_set_all(&kit, "s=5 x=0");
    validate(&kit, &heard);
    kit_effect(&kit, "E", "s -> x", different, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(heard.count, 0);
    EXPECT_EQ(kit.sched->counters.validations, 0);
    kit_end(&kit);
}

static enum run_result remove_itself(struct run *run, struct kit_node *node)
{
    if (node->k++ == 1) {
        kit_remove(node);
    }
    (void)run;
    return RUN_DONE;
}

TEST(idem_16_a_function_may_remove_its_node)
{
    struct sched_kit kit;
    struct heard heard;
    kit_begin(&kit);
    validate(&kit, &heard);
    kit_computation(&kit, "A", "s -> x", remove_itself, 0);
    kit_computation(&kit, "B", "s -> y", kit_fn_sum, 0);
    EXPECT_EQ(validator_check_all(kit.sched), 0);
    EXPECT_EQ(kit.sched->computations, 1);
    EXPECT_EQ(kit.sched->counters.validations, 2);
    struct kit_node *c = kit_computation(&kit, "C", "s -> z", remove_itself, 0);
    kit_see(&kit, "E", "z");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(c->runs, 2);
    EXPECT_EQ(kit.sched->computations, 1);
    kit_end(&kit);
}
