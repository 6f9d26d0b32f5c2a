/* What a commit costs, counted: rows, parses, lookups and SQLite's own steps.
 * None of them grows with the history (scenario A14 and the benchmarks'
 * counters). How deep SQLite's trees are is not counted by any of them. */

#include <stdio.h>
#include <string.h>

#include "lib/store_kit.h"
#include "lib/test.h"

enum {
    DOCUMENTS = 20,
    INTERVAL = 20,
    FIRST = 10 * DOCUMENTS, /* each has more snapshots than are kept */
    LAST = 10000,
};

struct cost {
    struct engine_counters engine;
    uint64_t steps;
};

/* All that this engine has spent. */
static struct cost spent(const struct store_kit *kit)
{
    struct cost cost = {.engine = kit->engine.counters};
    for (unsigned i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_stmt *stmt = kit->engine.database.statement[i];
        if (stmt != NULL) {
            cost.steps +=
                (uint64_t)sqlite3_stmt_status(stmt,
                                              SQLITE_STMTSTATUS_VM_STEP,
                                              0);
        }
    }
    return cost;
}

static struct cost less(struct cost a, struct cost b)
{
    return (struct cost){
        .engine =
            {
                .rows = a.engine.rows - b.engine.rows,
                .decodes = a.engine.decodes - b.engine.decodes,
                .snapshots = a.engine.snapshots - b.engine.snapshots,
                .lookups = a.engine.lookups - b.engine.lookups,
            },
        .steps = a.steps - b.steps,
    };
}

static void expect_same(struct cost a, struct cost b)
{
    EXPECT_EQ(a.engine.rows, b.engine.rows);
    EXPECT_EQ(a.engine.decodes, b.engine.decodes);
    EXPECT_EQ(a.engine.snapshots, b.engine.snapshots);
    EXPECT_EQ(a.engine.lookups, b.engine.lookups);
    EXPECT_EQ(a.steps, b.steps);
    EXPECT(a.steps > 0);
}

/* -- Growing histories --------------------------------------------------- */

/* Commit number n, counted from 0; formatted into `to`. */
typedef void write_fn(char *to, size_t size, unsigned n);

static void write_set(char *to, size_t size, unsigned n)
{
    (void)snprintf(to,
                   size,
                   "s1 %u | set D%02u {'x':%u}",
                   n,
                   n % DOCUMENTS,
                   n % 7);
}

/* With a read, which is checked against what came since. */
static void write_patch(char *to, size_t size, unsigned n)
{
    (void)snprintf(to,
                   size,
                   n == 0 ? "s1 %u | set A {'x':%u}"
                          : "s1 %u | conf A.x @%u | replace A.x 1",
                   n,
                   n);
}

/* Makes the history `to` commits long. */
static void grow(struct store_kit *kit, write_fn *write, unsigned to)
{
    static char lines[KIT_GROUP_MAX][64];
    const char *group[KIT_GROUP_MAX];
    while (kit->engine.seq < to) {
        unsigned count = 0;
        while (count < KIT_GROUP_MAX && kit->engine.seq + count < to) {
            write(lines[count],
                  sizeof lines[count],
                  (unsigned)kit->engine.seq + count);
            group[count] = lines[count];
            count++;
        }
        const uint64_t before = kit->engine.seq;
        kit_group(kit, group, count);
        CHECK(kit->fault == ERR_OK && kit->engine.seq == before + count);
    }
}

/* What the next `count` commits cost. */
static struct cost cost_of(struct store_kit *kit,
                           write_fn *write,
                           unsigned count)
{
    const struct cost before = spent(kit);
    for (unsigned i = 0; i < count; i++) {
        char line[64];
        write(line, sizeof line, (unsigned)kit->engine.seq);
        EXPECT_LANDED(kit, kit->engine.seq + 1, line);
    }
    return less(spent(kit), before);
}

static void expect_flat(write_fn *write, unsigned window)
{
    const struct engine_options options = {.snapshot_patches = INTERVAL,
                                           .snapshot_bytes = UINT32_MAX};
    struct store_kit kit;
    kit_open_memory(&kit, &options);
    grow(&kit, write, FIRST);
    const struct cost early = cost_of(&kit, write, window);
    engine_forget(&kit.engine);
    const struct cost early_cold = cost_of(&kit, write, window);
    grow(&kit, write, LAST);
    const struct cost late = cost_of(&kit, write, window);
    engine_forget(&kit.engine);
    const struct cost late_cold = cost_of(&kit, write, window);
    expect_same(early, late);
    expect_same(early_cold, late_cold);
    /* What is in the caches is not asked for. */
    EXPECT_EQ(late.engine.rows, 0);
    EXPECT_EQ(late.engine.decodes, 0);
    EXPECT_EQ(late.engine.lookups, 0);
    kit_close(&kit);
}

TEST(a14_the_cost_of_a_commit_does_not_grow_with_the_number_of_commits)
{
    expect_flat(write_set, 2 * DOCUMENTS);
}

/* Also when nothing but the file is known, at the same distance from the last
 * snapshot. */
TEST(a14_the_cost_of_a_patch_does_not_grow_with_the_number_of_patches)
{
    expect_flat(write_patch, 2 * INTERVAL);
}

/* -- Replays ------------------------------------------------------------- */

static uint64_t lookups_of(struct store_kit *kit,
                           uint64_t seq,
                           const char *commit)
{
    const uint64_t before = kit->engine.counters.lookups;
    EXPECT_LANDED(kit, seq, commit);
    return kit->engine.counters.lookups - before;
}

TEST(a_local_seq_above_all_others_is_not_looked_for)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_EQ(lookups_of(&kit, 1, "s1 0 | set A 0"), 0);
    EXPECT_EQ(lookups_of(&kit, 2, "s1 5 | set A 1"), 0);
    EXPECT_EQ(lookups_of(&kit, 3, "s1 6 | set A 2"), 0);
    /* Another session has numbers of its own. */
    EXPECT_EQ(lookups_of(&kit, 4, "s2 1 | set A 3"), 0);
    /* One that is below may be there or not. */
    EXPECT_EQ(lookups_of(&kit, 5, "s1 3 | set A 4"), 1);
    EXPECT_EQ(lookups_of(&kit, 6, "s1 7 | set A 5"), 0);
    EXPECT_EQ(lookups_of(&kit, 1, "s1 0 | set A 0"), 1);
    EXPECT(kit.verdicts[0].replayed);
    kit_reopen(&kit);
    EXPECT_EQ(lookups_of(&kit, 6, "s1 7 | set A 5"), 1);
    EXPECT(kit.verdicts[0].replayed);
    EXPECT_EQ(lookups_of(&kit, 7, "s1 8 | set A 6"), 0);
    EXPECT_REFUSED(&kit, ERR_REPLAY_MISMATCH, "localSeq 8", "s1 8 | set A 7");
    kit_close(&kit);
}

/* The highest that this engine has seen is not the highest that there is. */
TEST(a_local_seq_that_another_engine_landed_is_a_replay)
{
    struct store_kit kit;
    struct store_kit other;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    kit_open_beside(&other, &kit);
    EXPECT_LANDED(&other, 2, "s1 9 | set A 2");
    EXPECT_LANDED(&kit, 2, "s1 9 | set A 2");
    EXPECT(kit.verdicts[0].replayed);
    EXPECT_REFUSED(&kit, ERR_REPLAY_MISMATCH, "localSeq 9", "s1 9 | set A 3");
    EXPECT_EQ(lookups_of(&kit, 3, "s1 10 | set A 3"), 0);
    kit_close(&other);
    kit_close(&kit);
}

/* Two runtimes that share a session name, and count independently. */
TEST(equal_content_at_an_equal_number_is_a_replay_of_one_client_only)
{
    struct store_kit kit;
    struct store_kit other;
    kit_open_file(&kit, NULL);
    kit_open_beside(&other, &kit);
    kit.client = 7;
    other.client = 9;
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_REFUSED(&other, ERR_REPLAY_MISMATCH, "localSeq 1", "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT(kit.verdicts[0].replayed);
    EXPECT_LANDED(&other, 2, "s1 2 | set A 1");
    EXPECT(!other.verdicts[0].replayed);
    kit_close(&other);
    kit_close(&kit);
}

TEST(a_local_seq_whose_group_was_rolled_back_has_not_landed)
{
    static const char *const group[] = {"s1 2 | set A 2", "s1 3 | set A 3"};
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    kit_run(&kit,
            "CREATE TEMP TRIGGER stop AFTER INSERT ON \"commit\""
            " WHEN new.seq = 3 BEGIN SELECT RAISE(ABORT, 'no'); END");
    kit_group(&kit, group, COUNT_OF(group));
    EXPECT_INT(kit.fault, ERR_STORE);
    kit_run(&kit, "DROP TRIGGER stop");
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 9");
    EXPECT_LANDED(&kit, 3, "s1 3 | set A 3");
    EXPECT(!kit.verdicts[0].replayed);
    kit_close(&kit);
}

/* -- Layers -------------------------------------------------------------- */

/* "s1 N | pend A.x [B+1,...,N-1] b=B | replace A.x N", and its cost. */
static struct cost cost_of_layer(struct store_kit *kit,
                                 unsigned basis,
                                 unsigned number)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "s1 %u | pend A.x [", number);
    for (unsigned i = basis + 1; i < number; i++) {
        length += snprintf(line + length,
                           sizeof line - (size_t)length,
                           i + 1 < number ? "%u," : "%u",
                           i);
    }
    (void)snprintf(line + length,
                   sizeof line - (size_t)length,
                   "] b=%u | replace A.x %u",
                   basis,
                   number);
    const struct cost before = spent(kit);
    EXPECT_LANDED(kit, number, line);
    return less(spent(kit), before);
}

/* Each names all those below it, and none of them is looked for or looked at
 * when that has been asked once. */
TEST(a_commit_on_many_layers_costs_what_one_on_few_does)
{
    const struct engine_options options = {.snapshot_patches = 1000,
                                           .snapshot_bytes = UINT32_MAX};
    struct store_kit kit;
    kit_open_memory(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    (void)cost_of_layer(&kit, 1, 3); /* asks for the first time */
    EXPECT_LANDED(&kit, 4, "s1 4 | replace A.x 4");
    const struct cost few = cost_of_layer(&kit, 3, 5);
    for (unsigned i = 6; i < 99; i++) {
        const struct cost more = cost_of_layer(&kit, 3, i);
        EXPECT_EQ(more.engine.rows, 0);
        EXPECT_EQ(more.engine.lookups, 0);
        EXPECT_EQ(more.steps, few.steps);
    }
    kit_close(&kit);
}

/* What is remembered decides nothing that the rows would not. */
TEST(what_is_remembered_of_layers_is_what_the_rows_say)
{
    struct store_kit kit;
    struct store_kit other;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    (void)cost_of_layer(&kit, 1, 3);
    EXPECT_LANDED(&kit, 4, "s1 4 | pend A.x [3] b=2 | replace A.x 4");
    /* One that was not in view, of the same session. */
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 3",
                   "s1 5 | pend A.x [4] b=2 | replace A.x 5");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 4",
                   "s1 5 | pend A.x [3] b=2 | replace A.x 5");
    /* One of somebody else with such a number, elsewhere and at the place. */
    EXPECT_LANDED(&kit, 5, "s2 4 | replace A.y 5");
    EXPECT_LANDED(&kit, 6, "s1 5 | pend A.x [3,4] b=2 | replace A.x 5");
    EXPECT_LANDED(&kit, 7, "s2 5 | replace A.x 7");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 7",
                   "s1 6 | pend A.x [3,4,5] b=2 | replace A.x 6");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 7",
                   "s1 6 | pend A.x [5] b=6 | replace A.x 6");
    /* And by another process. */
    EXPECT_LANDED(&kit, 8, "s1 6 | replace A.x 6");
    EXPECT_LANDED(&kit, 9, "s1 7 | pend A.x [6] b=7 | replace A.x 7");
    kit_open_beside(&other, &kit);
    EXPECT_LANDED(&other, 10, "s2 6 | replace A.x 8");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 10",
                   "s1 8 | pend A.x [6,7] b=7 | replace A.x 8");
    EXPECT_LANDED(&kit, 11, "s1 8 | conf A.x @10 | replace A.x 8");
    kit_close(&other);
    kit_close(&kit);
}

/* A group that was rolled back is not remembered. */
TEST(layers_whose_group_was_rolled_back_have_not_landed)
{
    static const char *const group[] = {
        "s1 4 | pend A.x [3] b=2 | replace A.x 4",
        "s1 5 | pend A.x [3,4] b=2 | replace A.x 5",
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | pend A.x [2] b=1 | replace A.x 3");
    /* A number below the last one is not known to be free. */
    EXPECT_LANDED(&kit, 4, "s1 9 | set B 1");
    kit_run(&kit,
            "CREATE TEMP TRIGGER stop AFTER INSERT ON \"commit\""
            " WHEN new.seq = 6 BEGIN SELECT RAISE(ABORT, 'no'); END");
    kit_group(&kit, group, COUNT_OF(group));
    EXPECT_INT(kit.fault, ERR_STORE);
    kit_run(&kit, "DROP TRIGGER stop");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "pending dependency not resolved: 4",
                   "s1 5 | pend A.x [3,4] b=2 | replace A.x 5");
    EXPECT_LANDED(&kit, 5, "s1 6 | pend A.x [3] b=2 | replace A.x 6");
    kit_close(&kit);
}

enum {
    MANY_LAYERS = 5000 /* more than are remembered */
};

TEST(layers_beyond_what_is_remembered_are_found_in_the_rows)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | pend A.x [2] b=1 | replace A.x 3");
    EXPECT_LANDED(&kit, 4, "s1 4 | replace A.x 4");
    EXPECT_LANDED(&kit, 5, "s2 5 | replace A.x 5");
    for (unsigned i = 6; i < MANY_LAYERS; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "s1 %u | replace A.x %u", i, i);
        EXPECT_LANDED(&kit, i, line);
    }
    struct buf layers = {0};
    for (unsigned i = 6; i < MANY_LAYERS; i++) {
        buf_printf(&layers, ",%u", i);
    }
    struct buf line = {0};
    buf_printf(&line,
               "s1 %d | pend A.x [4%s] b=3 | replace A.x 0",
               MANY_LAYERS,
               buf_text(&layers));
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "with seq 5", buf_text(&line));
    buf_clear(&line);
    buf_printf(&line,
               "s1 %d | pend A.x [%s] b=5 | replace A.x 0",
               MANY_LAYERS,
               buf_text(&layers) + 1);
    EXPECT_LANDED(&kit, MANY_LAYERS, buf_text(&line));
    buf_release(&line);
    buf_release(&layers);
    kit_close(&kit);
}

/* -- Patches ------------------------------------------------------------- */

enum {
    KEYS = 200
};

/* A commit of session `s` that reads the key in document A, as `read` says, and
 * writes a document of its own. */
static struct cost cost_of_reader(struct store_kit *kit,
                                  const char *session,
                                  unsigned number,
                                  const char *read,
                                  unsigned key,
                                  const char *at)
{
    char line[128];
    (void)snprintf(line,
                   sizeof line,
                   "%s %u | %s A.k%u %s | set B%u 1",
                   session,
                   number,
                   read,
                   key,
                   at,
                   key);
    const struct cost before = spent(kit);
    EXPECT_LANDED(kit, kit->engine.seq + 1, line);
    return less(spent(kit), before);
}

/* "s1 N | patch A [add k0, add k1, ...]". */
static void add_keys(struct store_kit *kit, unsigned number)
{
    struct buf line = {0};
    buf_printf(&line, "s1 %u | patch A [", number);
    for (unsigned i = 0; i < KEYS; i++) {
        buf_printf(&line,
                   "%s{'op':'add','path':'/value/k%u','value':%u}",
                   i == 0 ? "" : ",",
                   i,
                   i);
    }
    buf_append_text(&line, "]");
    EXPECT_LANDED(kit, kit->engine.seq + 1, buf_text(&line));
    buf_release(&line);
}

/* As the children of a list do: each reads what one patch, still on its way,
 * has added for it. */
TEST(a_patch_is_not_parsed_for_the_readers_that_had_it_in_view)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {}");
    add_keys(&kit, 2);
    for (unsigned i = 0; i < KEYS; i++) {
        const struct cost cost =
            cost_of_reader(&kit, "s1", 3 + i, "pend", i, "[2] b=1");
        EXPECT_EQ(cost.engine.decodes, 0);
        EXPECT_EQ(cost.engine.rows, i == 0);
    }
    kit_close(&kit);
}

/* What has landed meanwhile touched other keys: it is parsed once. */
TEST(a_patch_is_parsed_once_for_all_readers_that_it_is_compared_with)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'other':1}");
    add_keys(&kit, 2);
    EXPECT_LANDED(&kit, 3, "s2 1 | replace A.other 2");
    for (unsigned i = 0; i < KEYS; i++) {
        const struct cost cost =
            cost_of_reader(&kit, "s1", 3 + i, "pend", i, "[2] b=1");
        EXPECT_EQ(cost.engine.decodes, i == 0 ? 2 : 0);
    }
    const struct cost first = cost_of_reader(&kit, "s3", 1, "conf", 1000, "@1");
    const struct cost next = cost_of_reader(&kit, "s3", 2, "conf", 1001, "@1");
    EXPECT_EQ(first.engine.decodes, 0);
    EXPECT_EQ(next.engine.decodes, 0);
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s3 3 | conf A.k7 @1 | set C 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 3",
                   "s3 3 | conf A.other @2 | set C 1");
    kit_close(&kit);
}

/* A revision of a group that was rolled back is not remembered: another one
 * takes its number. */
TEST(what_a_rolled_back_patch_touched_is_forgotten)
{
    static const char *const group[] = {
        "s2 1 | replace A.x 2",
        "s3 1 | conf A.y @1 | set B 1",
        "s3 2 | set C 1",
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    kit_run(&kit,
            "CREATE TEMP TRIGGER stop AFTER INSERT ON \"commit\""
            " WHEN new.seq = 4 BEGIN SELECT RAISE(ABORT, 'no'); END");
    kit_group(&kit, group, COUNT_OF(group));
    EXPECT_INT(kit.fault, ERR_STORE);
    kit_run(&kit, "DROP TRIGGER stop");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.y 2");
    EXPECT_LANDED(&kit, 3, "s3 1 | conf A.x @1 | set B 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s3 2 | conf A.y @1 | set B 1");
    kit_close(&kit);
}
