/* if_else and when: only what was chosen runs (runtime/choice.h). */

#include "runtime/choice.h"

#include "host/world.h"
#include "lib/test.h"
#include "lib/values.h"
#include "runtime/cell.h"
#include "runtime/piece.h"

struct fork {
    struct world *world;
    struct world_store *store;
    struct world_runtime *one;
    struct pattern *pattern;
    struct place *condition;
    struct place *sources[2];
    struct place *branches[2];
    struct place *chosen;
    struct digest digest;
    bool when;
    unsigned runs[2];
    unsigned looks;
    struct value seen;
};

static enum run_result copy(struct fork *fork,
                            struct run *run,
                            unsigned which,
                            struct value *result)
{
    fork->runs[which]++;
    return run_read(run,
                    fork->sources[which],
                    READ_DEEP,
                    READ_FOR_BOTH,
                    result) == ERR_STALE
               ? RUN_AGAIN
               : RUN_DONE;
}

static enum run_result first(struct run *run, void *ctx, struct value *result)
{
    return copy(ctx, run, 0, result);
}

static enum run_result second(struct run *run, void *ctx, struct value *result)
{
    return copy(ctx, run, 1, result);
}

static enum run_result look(struct run *run, void *ctx, struct value *result)
{
    struct fork *fork = ctx;
    (void)result;
    const struct cell_access access = {&fork->one->runtime,
                                       run,
                                       run->transaction};
    struct err_detail detail = {0};
    struct value value;
    if (cell_read(&access,
                  fork->chosen,
                  READ_DEEP,
                  READ_FOR_BOTH,
                  &value,
                  NULL,
                  &detail) != ERR_OK) {
        return RUN_AGAIN;
    }
    value_unref(fork->seen);
    fork->seen = value;
    fork->looks++;
    return RUN_DONE;
}

static enum err build(struct builder *builder,
                      void *ctx,
                      struct err_detail *detail)
{
    struct fork *fork = ctx;
    static const char *const names[2][2] = {{"a", "A"}, {"b", "B"}};
    body_fn *const bodies[2] = {first, second};
    const struct builder_cell cell = {.name = value_text_new("condition")};
    enum err err = builder_state(builder, &cell, &fork->condition, detail);
    for (unsigned i = 0; i < 2 && err == ERR_OK; i++) {
        const struct builder_cell source = {
            .name = value_text_new(names[i][0]),
            .initial = value_int(i),
        };
        err = builder_state(builder, &source, &fork->sources[i], detail);
        const struct builder_node node = {
            .name = value_text_new(names[i][1]),
            .body = {bodies[i], fork, NULL, &fork->digest},
        };
        if (err == ERR_OK) {
            err = builder_computed(builder, &node, &fork->branches[i], detail);
        }
    }
    if (err != ERR_OK) {
        return err;
    }
    const struct builder_choice choice = {
        .name = value_text_new("choice"),
        .condition = fork->condition,
        .then = fork->branches[0],
        .otherwise = fork->branches[1],
    };
    err = fork->when ? builder_when(builder, &choice, &fork->chosen, detail)
                     : builder_if_else(builder, &choice, &fork->chosen, detail);
    if (err == ERR_OK) {
        const struct builder_node node = {
            .name = value_text_new("look"),
            .body = {look, fork, NULL, &fork->digest},
        };
        err = builder_effect(builder, &node, detail);
    }
    return err;
}

static void start(struct fork *fork)
{
    struct err_detail detail = {0};
    const struct world_runtime_options options = {0};
    EXPECT(world_runtime_new(fork->store, &options, &fork->one, &detail) ==
           ERR_OK);
    struct piece *piece;
    const struct piece_options given = {.name = value_text_new("p"),
                                        .pattern = fork->pattern};
    EXPECT(piece_start(&fork->one->runtime, &given, &piece, &detail) == ERR_OK);
    EXPECT(world_idle(fork->one, true) == WORLD_AT_REST);
}

static void begin(struct fork *fork, bool when)
{
    struct err_detail detail = {0};
    *fork = (struct fork){.when = when};
    fork->world = world_new(1);
    EXPECT(world_store_new(fork->world, NULL, &fork->store, &detail) == ERR_OK);
    fork->digest = digest_of_bytes("test", "choice", 6);
    fork->pattern =
        pattern_new(&(struct pattern_spec){.name = value_text_new("fork"),
                                           .build = build,
                                           .ctx = fork});
    start(fork);
}

static void end(struct fork *fork)
{
    world_free(fork->world);
    pattern_unref(fork->pattern);
    value_unref(fork->seen);
}

static void set(struct fork *fork, struct place *place, const char *json)
{
    struct err_detail detail = {0};
    const struct cell_access access = {.runtime = &fork->one->runtime};
    EXPECT(cell_put_adopt(&access, place, from_quoted(json), &detail) ==
           ERR_OK);
    EXPECT(world_idle(fork->one, true) == WORLD_AT_REST);
    EXPECT(sched_check(fork->one->runtime.sched));
}

TEST(only_the_branch_that_was_chosen_runs)
{
    struct fork fork;
    begin(&fork, false);
    EXPECT_EQ(fork.runs[0], 0);
    EXPECT_EQ(fork.runs[1], 1);
    EXPECT_QUOTED(fork.seen, "1");
    set(&fork, fork.sources[0], "5"); /* nobody looks */
    EXPECT_EQ(fork.runs[0], 0);
    set(&fork, fork.condition, "true");
    EXPECT_EQ(fork.runs[0], 1);
    EXPECT_QUOTED(fork.seen, "5");
    set(&fork, fork.sources[1], "6"); /* nobody looks any more */
    EXPECT_EQ(fork.runs[1], 1);
    set(&fork, fork.condition, "null");
    EXPECT_EQ(fork.runs[1], 2);
    EXPECT_QUOTED(fork.seen, "6");
    end(&fork);
}

TEST(v1_what_is_true)
{
    static const struct {
        const char *json;
        bool truth;
    } cases[] = {
        {"true", true},
        {"false", false},
        {"null", false},
        {"0", true},
        {"''", true},
        {"[]", true},
        {"{}", true},
    };
    EXPECT(!choice_is_true(VALUE_NONE));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct value value = from_quoted(cases[i].json);
        EXPECT(choice_is_true(value) == cases[i].truth);
        value_unref(value);
    }
}

/* Another value that means the same changes nothing behind it. */
TEST(a_condition_that_stays_true_runs_nobody_else)
{
    struct fork fork;
    begin(&fork, false);
    set(&fork, fork.condition, "1");
    const unsigned looks = fork.looks;
    set(&fork, fork.condition, "2");
    EXPECT_EQ(fork.looks, looks);
    end(&fork);
}

TEST(when_gives_nothing_otherwise)
{
    struct fork fork;
    begin(&fork, true);
    EXPECT(value_is_absent(fork.seen));
    EXPECT_EQ(fork.runs[0] + fork.runs[1], 0);
    set(&fork, fork.condition, "true");
    EXPECT_QUOTED(fork.seen, "0");
    set(&fork, fork.condition, "false");
    EXPECT(value_is_absent(fork.seen));
    EXPECT_EQ(fork.runs[1], 0);
    end(&fork);
}

TEST(a_choice_runs_nothing_after_a_restart)
{
    struct fork fork;
    begin(&fork, false);
    set(&fork, fork.condition, "true");
    world_runtime_end(fork.one);
    start(&fork);
    EXPECT_EQ(fork.one->runtime.sched->counters.runs, 0);
    set(&fork, fork.sources[0], "7");
    EXPECT_QUOTED(fork.seen, "7");
    end(&fork);
}

TEST(there_must_be_something_to_choose_from)
{
    struct err_detail detail = {0};
    struct place *out;
    const struct builder_choice choice = {.name = value_text_new("x")};
    EXPECT(builder_if_else(NULL, &choice, &out, &detail) == ERR_ARGUMENT);
}
