/* Engines with a log between them: catching up, losing a race, answers that
 * never came, and the fence. The log is in memory, and breaks when told to. */

#include "lib/store_kit.h"
#include "lib/test.h"
#include "store/log_memory.h"
#include "store/registry.h"

/* Several engines, each with a file of its own (in memory), on one log. */
struct cluster {
    struct log_memory memory;
    struct log_memory_handle handle[3];
    struct store_kit kit[3];
};

static void cluster_open(struct cluster *cluster)
{
    log_memory_init(&cluster->memory);
    for (size_t i = 0; i < COUNT_OF(cluster->kit); i++) {
        log_memory_open(&cluster->handle[i], &cluster->memory);
        const struct engine_options options = {
            .log = &cluster->handle[i].log,
            .snapshot_patches = 3,
        };
        kit_open_memory(&cluster->kit[i], &options);
    }
}

static void cluster_close(struct cluster *cluster)
{
    for (size_t i = 0; i < COUNT_OF(cluster->kit); i++) {
        kit_close(&cluster->kit[i]);
    }
    log_memory_release(&cluster->memory);
}

/* A refused commit of its own lets an engine catch up. */
static void catch_up(struct store_kit *kit)
{
    kit_commit(kit, "reader 1 | origin 99");
}

static void expect_equal_tables(struct cluster *cluster)
{
    catch_up(&cluster->kit[0]);
    struct buf first = kit_dump(&cluster->kit[0]);
    for (size_t i = 1; i < COUNT_OF(cluster->kit); i++) {
        catch_up(&cluster->kit[i]);
        struct buf other = kit_dump(&cluster->kit[i]);
        EXPECT_TEXT(buf_text(&other), buf_text(&first));
        buf_release(&other);
    }
    buf_release(&first);
}

TEST(an_engine_catches_up_with_what_others_put_into_the_log)
{
    struct cluster cluster;
    cluster_open(&cluster);
    EXPECT_LANDED(&cluster.kit[0], 1, "s1 1 | set A 1");
    EXPECT_LANDED(&cluster.kit[1], 2, "s2 1 | set B 2");
    EXPECT_LANDED(&cluster.kit[2], 3, "s3 1 | conf A @1 | set C 3");
    EXPECT_TEXT(kit_read(&cluster.kit[2], "A"), "{'value':1}");
    expect_equal_tables(&cluster);
    cluster_close(&cluster);
}

TEST(who_loses_the_race_decides_anew)
{
    struct cluster cluster;
    cluster_open(&cluster);
    EXPECT_LANDED(&cluster.kit[0], 1, "s1 1 | set A 1");
    catch_up(&cluster.kit[1]);
    EXPECT_LANDED(&cluster.kit[0], 2, "s1 2 | set A 2");
    /* The second engine has not heard of seq 2 when the commit comes. */
    kit_commit(&cluster.kit[1], "s2 1 | conf A @1 | set B 1");
    EXPECT_EQ(cluster.kit[1].verdicts[0].err, ERR_CONFLICT);
    EXPECT_LANDED(&cluster.kit[1], 3, "s2 2 | conf A @2 | set B 1");
    expect_equal_tables(&cluster);
    cluster_close(&cluster);
}

/* Another server's record gets in between catching up and appending. */
struct intruder {
    struct commit_log log;
    struct log_memory_handle *inner;
    struct store_kit *other;
    const char *commit;
};

static enum log_outcome intruder_append(struct commit_log *log,
                                        const struct log_record *record,
                                        struct err_detail *detail)
{
    struct intruder *intruder = CONTAINER_OF(log, struct intruder, log);
    if (intruder->commit != NULL) {
        kit_commit(intruder->other, intruder->commit);
        EXPECT_EQ(intruder->other->verdicts[0].err, ERR_OK);
        intruder->commit = NULL;
    }
    return intruder->inner->log.append(&intruder->inner->log, record, detail);
}

static enum err intruder_read(struct commit_log *log,
                              uint64_t after,
                              log_record_fn *visit,
                              void *ctx,
                              struct err_detail *detail)
{
    struct intruder *intruder = CONTAINER_OF(log, struct intruder, log);
    return intruder->inner->log.read(&intruder->inner->log,
                                     after,
                                     visit,
                                     ctx,
                                     detail);
}

static void race(const char *theirs, const char *ours, enum err want)
{
    struct cluster cluster;
    cluster_open(&cluster);
    EXPECT_LANDED(&cluster.kit[0], 1, "s1 1 | set A {'x':1,'y':1}");
    struct intruder intruder = {
        .log = {intruder_append, intruder_read},
        .inner = &cluster.handle[1],
        .other = &cluster.kit[0],
        .commit = theirs,
    };
    cluster.kit[1].engine.options.log = &intruder.log;
    kit_commit(&cluster.kit[1], ours);
    EXPECT_EQ(cluster.kit[1].fault, ERR_OK);
    EXPECT_EQ(cluster.kit[1].verdicts[0].err, want);
    if (want == ERR_OK) {
        EXPECT_EQ(cluster.kit[1].verdicts[0].seq, 3);
    }
    expect_equal_tables(&cluster);
    cluster_close(&cluster);
}

TEST(a_record_that_takes_the_place_makes_the_commit_be_admitted_again)
{
    race("s1 2 | replace A.y 2", "s2 1 | conf A.x @1 | set B 1", ERR_OK);
    race("s1 2 | replace A.x 2", "s2 1 | conf A.x @1 | set B 1", ERR_CONFLICT);
    race("s1 2 | set R 1", "s2 1 | absent R | set R 2", ERR_RECEIPT_EXISTS);
}

TEST(an_append_whose_answer_was_lost_counts_as_what_the_log_has)
{
    struct cluster cluster;
    cluster_open(&cluster);
    cluster.handle[0].trouble = LOG_TROUBLE_LOST_ANSWER;
    cluster.handle[0].trouble_count = 1;
    EXPECT_LANDED(&cluster.kit[0], 1, "s1 1 | set A 1");
    EXPECT_EQ(cluster.memory.records.count, 1);

    /* The request was lost: surely not there, so it is a fault, and the same
     * commit again lands. */
    cluster.handle[0].trouble = LOG_TROUBLE_LOST_REQUEST;
    cluster.handle[0].trouble_count = 1;
    kit_commit(&cluster.kit[0], "s1 2 | set A 2");
    EXPECT_EQ(cluster.kit[0].fault, ERR_IO);
    EXPECT_EQ(cluster.memory.records.count, 1);
    EXPECT_LANDED(&cluster.kit[0], 2, "s1 2 | set A 2");
    expect_equal_tables(&cluster);
    cluster_close(&cluster);
}

TEST(a_commit_in_the_log_whose_file_was_lost_is_answered_as_a_replay)
{
    struct cluster cluster;
    cluster_open(&cluster);
    EXPECT_LANDED(&cluster.kit[0], 1, "s1 1 | set A 1");
    /* The author never got the answer and asks another server. */
    EXPECT_LANDED(&cluster.kit[1], 1, "s1 1 | set A 1");
    EXPECT(cluster.kit[1].verdicts[0].replayed);
    EXPECT_EQ(cluster.memory.records.count, 1);
    cluster_close(&cluster);
}

TEST(a_log_that_is_down_fails_the_group_and_changes_nothing)
{
    struct cluster cluster;
    cluster_open(&cluster);
    EXPECT_LANDED(&cluster.kit[0], 1, "s1 1 | set A 1");
    cluster.handle[0].trouble = LOG_TROUBLE_DOWN;
    cluster.handle[0].trouble_count = 1;
    kit_commit(&cluster.kit[0], "s1 2 | set A 2");
    EXPECT_EQ(cluster.kit[0].fault, ERR_IO);
    EXPECT_TEXT(kit_read(&cluster.kit[0], "A"), "{'value':1}");
    EXPECT_LANDED(&cluster.kit[0], 2, "s1 2 | set A 2");
    cluster_close(&cluster);
}

TEST(l3_a_fenced_server_never_writes_again)
{
    struct cluster cluster;
    cluster_open(&cluster);
    EXPECT_LANDED(&cluster.kit[0], 1, "s1 1 | set A 1");
    log_memory_fence(&cluster.memory);
    kit_commit(&cluster.kit[0], "s1 2 | set A 2");
    EXPECT_EQ(cluster.kit[0].fault, ERR_FENCED);
    EXPECT_EQ(cluster.memory.records.count, 1);

    log_memory_open(&cluster.handle[1], &cluster.memory);
    EXPECT_LANDED(&cluster.kit[1], 2, "s2 1 | set A 3");
    kit_commit(&cluster.kit[0], "s1 3 | set A 4");
    EXPECT_EQ(cluster.kit[0].fault, ERR_FENCED);
    cluster_close(&cluster);
}

TEST(a_history_that_differs_from_the_log_is_refused)
{
    struct cluster cluster;
    cluster_open(&cluster);
    EXPECT_LANDED(&cluster.kit[0], 1, "s1 1 | set A 1");
    cluster.memory.records.at[0].chain[5] ^= 1;
    kit_commit(&cluster.kit[1], "s2 1 | set B 1");
    EXPECT_EQ(cluster.kit[1].fault, ERR_CORRUPT);
    EXPECT_TEXT(kit_sql(&cluster.kit[1], "SELECT count(*) FROM 'commit'"),
                "0;");
    cluster_close(&cluster);
}

TEST(a_registry_whose_rows_a_log_would_not_carry_is_refused)
{
    struct cluster cluster;
    cluster_open(&cluster);
    const struct registry_options options = {0};
    struct registry registry;
    struct err_detail detail = {0};
    EXPECT_INT(
        registry_open(&registry, &cluster.kit[0].engine, &options, 1, &detail),
        ERR_ARGUMENT);
    EXPECT_CONTAINS(detail.text, "a log does not carry");
    registry_close(&registry);
    cluster_close(&cluster);
}

TEST(branch_changes_go_through_the_log_too)
{
    struct cluster cluster;
    cluster_open(&cluster);
    EXPECT_LANDED(&cluster.kit[0], 1, "s1 1 | set A 1");
    EXPECT_EQ(kit_fork(&cluster.kit[1], "b", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&cluster.kit[2], 2, "s3 1 | branch b | set A 2");
    EXPECT_EQ(kit_branch_delete(&cluster.kit[0], "b"), ERR_OK);
    kit_commit(&cluster.kit[1], "s2 1 | branch b | set A 3");
    EXPECT_EQ(cluster.kit[1].verdicts[0].err, ERR_BRANCH_CLOSED);
    EXPECT_TEXT(kit_read(&cluster.kit[1], "b/A"), "{'value':2}");
    expect_equal_tables(&cluster);
    cluster_close(&cluster);
}

static void random_commit(struct random *random,
                          struct cluster *cluster,
                          size_t step)
{
    const size_t who = (size_t)random_below(random, 3);
    struct store_kit *kit = &cluster->kit[who];
    struct log_memory_handle *handle = &cluster->handle[who];
    if (random_one_in(random, 5)) {
        handle->trouble = random_one_in(random, 2) ? LOG_TROUBLE_LOST_ANSWER
                                                   : LOG_TROUBLE_LOST_REQUEST;
        handle->trouble_count = 1;
    }
    struct buf line = {0};
    buf_printf(&line,
               "s%zu %zu | conf D%d.x @%llu | replace D%d.x %d",
               who,
               step,
               (int)random_below(random, 2),
               (unsigned long long)random_below(random, kit->engine.seq + 1),
               (int)random_below(random, 2),
               (int)random_below(random, 100));
    kit_commit(kit, buf_text(&line));
    if (kit->fault != ERR_OK) {
        /* No answer: the author asks again, anywhere, until there is one. */
        struct store_kit *other = &cluster->kit[random_below(random, 3)];
        kit_commit(other, buf_text(&line));
    }
    buf_release(&line);
}

PROPERTY(engines_on_one_log_converge_whatever_is_lost, 60)
{
    struct cluster cluster;
    cluster_open(&cluster);
    EXPECT_LANDED(&cluster.kit[0], 1, "init 1 | set D0 {} | set D1 {}");
    for (size_t step = 1; step <= 25; step++) {
        random_commit(random, &cluster, step);
    }
    for (size_t i = 0; i < COUNT_OF(cluster.handle); i++) {
        cluster.handle[i].trouble_count = 0;
    }
    expect_equal_tables(&cluster);
    EXPECT_EQ(cluster.kit[0].engine.record, cluster.memory.records.count);
    cluster_close(&cluster);
}
