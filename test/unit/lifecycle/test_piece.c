/* piece: late and repeated reports cannot do harm, whatever their order. The
 * row below is what a writer keeps: a status and the number of the run. */

#include "lifecycle/piece.h"

#include "lib/test.h"

struct row {
    enum piece_status status;
    uint64_t run;
    bool is_deleted;
};

static struct lifecycle_outcome report(struct row *row,
                                       enum piece_event event,
                                       uint64_t run)
{
    const bool is_report = event == PIECE_ON_STARTED ||
                           event == PIECE_ON_FAILED ||
                           event == PIECE_ON_STOPPED;
    const unsigned facts =
        (row->is_deleted ? (unsigned)FACT_DELETED : 0U) |
        (is_report && run != row->run ? (unsigned)FACT_STALE_RUN : 0U);
    const struct lifecycle_outcome outcome =
        lifecycle_evaluate(&piece_lifecycle,
                           (uint8_t)row->status,
                           (uint8_t)event,
                           facts);
    row->status = (enum piece_status)outcome.to;
    row->run += (outcome.effects & EFFECT_STAMP_RUN) != 0 ? 1 : 0;
    return outcome;
}

static enum lifecycle_kind request(struct row *row, enum piece_event event)
{
    return report(row, event, 0).kind;
}

TEST(a_piece_runs_and_stops)
{
    struct row row = {0};
    EXPECT_INT(request(&row, PIECE_DO_START), LIFECYCLE_APPLIED);
    EXPECT_INT(row.status, PIECE_STARTING);
    EXPECT_EQ(row.run, 1);
    EXPECT_INT(report(&row, PIECE_ON_STARTED, 1).to, PIECE_RUNNING);
    EXPECT_INT(request(&row, PIECE_DO_STOP), LIFECYCLE_APPLIED);
    EXPECT_INT(report(&row, PIECE_ON_STOPPED, 1).to, PIECE_STOPPED);
}

TEST(a_report_of_the_run_before_is_superseded)
{
    struct row row = {PIECE_RUNNING, 1, false};
    EXPECT_INT(request(&row, PIECE_DO_RESTART), LIFECYCLE_APPLIED);
    EXPECT_EQ(row.run, 2);
    EXPECT_INT(report(&row, PIECE_ON_STOPPED, 1).predicate,
               PREDICATE_CURRENT_RUN);
    EXPECT_INT(report(&row, PIECE_ON_FAILED, 1).kind, LIFECYCLE_SUPERSEDED);
    EXPECT_INT(report(&row, PIECE_ON_STARTED, 1).kind, LIFECYCLE_SUPERSEDED);
    EXPECT_INT(row.status, PIECE_STARTING);
    EXPECT_INT(report(&row, PIECE_ON_STARTED, 2).to, PIECE_RUNNING);
}

TEST(a_report_that_comes_twice_changes_nothing)
{
    struct row row = {PIECE_STARTING, 1, false};
    EXPECT_INT(report(&row, PIECE_ON_STARTED, 1).kind, LIFECYCLE_APPLIED);
    EXPECT_INT(report(&row, PIECE_ON_STARTED, 1).kind, LIFECYCLE_UNCHANGED);
    EXPECT_INT(report(&row, PIECE_ON_STOPPED, 1).kind, LIFECYCLE_APPLIED);
    EXPECT_INT(report(&row, PIECE_ON_STOPPED, 1).kind, LIFECYCLE_UNCHANGED);
    EXPECT_INT(row.status, PIECE_STOPPED);
    row.status = PIECE_RUNNING;
    EXPECT_INT(report(&row, PIECE_ON_FAILED, 1).kind, LIFECYCLE_APPLIED);
    EXPECT_INT(report(&row, PIECE_ON_FAILED, 1).kind, LIFECYCLE_UNCHANGED);
    EXPECT_INT(row.status, PIECE_ERROR);
}

TEST(a_late_start_does_not_undo_a_stop)
{
    struct row row = {PIECE_STARTING, 1, false};
    EXPECT_INT(request(&row, PIECE_DO_STOP), LIFECYCLE_APPLIED);
    EXPECT_INT(report(&row, PIECE_ON_STARTED, 1).kind, LIFECYCLE_UNCHANGED);
    EXPECT_INT(row.status, PIECE_STOPPING);
    EXPECT_INT(report(&row, PIECE_ON_STOPPED, 1).to, PIECE_STOPPED);
    EXPECT_INT(report(&row, PIECE_ON_STARTED, 1).kind, LIFECYCLE_UNCHANGED);
    EXPECT_INT(row.status, PIECE_STOPPED);
}

TEST(a_wish_that_is_granted_changes_nothing)
{
    struct row row = {PIECE_STARTING, 1, false};
    EXPECT_INT(request(&row, PIECE_DO_START), LIFECYCLE_UNCHANGED);
    EXPECT_INT(request(&row, PIECE_DO_RESTART), LIFECYCLE_UNCHANGED);
    EXPECT_EQ(row.run, 1);
    row.status = PIECE_STOPPING;
    EXPECT_INT(request(&row, PIECE_DO_STOP), LIFECYCLE_UNCHANGED);
    /* The stop has been promised. */
    EXPECT_INT(request(&row, PIECE_DO_START), LIFECYCLE_ILLEGAL);
    EXPECT_INT(request(&row, PIECE_DO_RESTART), LIFECYCLE_ILLEGAL);
}

TEST(a_deleted_piece_does_not_start)
{
    struct row row = {PIECE_STOPPED, 3, true};
    EXPECT_INT(request(&row, PIECE_DO_START), LIFECYCLE_SUPERSEDED);
    EXPECT_INT(request(&row, PIECE_DO_RESTART), LIFECYCLE_SUPERSEDED);
    row.status = PIECE_RUNNING;
    EXPECT_INT(request(&row, PIECE_DO_STOP), LIFECYCLE_APPLIED);
    EXPECT_INT(report(&row, PIECE_ON_STOPPED, 3).to, PIECE_STOPPED);
}

TEST(after_a_crash_what_ran_runs_again_and_what_was_stopping_is_stopped)
{
    static const struct {
        enum piece_status before;
        enum piece_status after;
        enum piece_status after_if_deleted;
    } rows[] = {
        {PIECE_CREATED, PIECE_CREATED, PIECE_CREATED},
        {PIECE_STARTING, PIECE_STARTING, PIECE_STOPPED},
        {PIECE_RUNNING, PIECE_STARTING, PIECE_STOPPED},
        {PIECE_STOPPING, PIECE_STOPPED, PIECE_STOPPED},
        {PIECE_STOPPED, PIECE_STOPPED, PIECE_STOPPED},
        {PIECE_ERROR, PIECE_ERROR, PIECE_ERROR},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct row row = {rows[i].before, 1, false};
        (void)request(&row, PIECE_DO_RESUME);
        EXPECT_INT(row.status, rows[i].after);
        row = (struct row){rows[i].before, 1, true};
        (void)request(&row, PIECE_DO_RESUME);
        EXPECT_INT(row.status, rows[i].after_if_deleted);
    }
}

/* Reports of all runs arrive at any time, any number of times. When everybody
 * has fallen silent, the reports of the current run in their order bring the
 * piece to rest. */
PROPERTY(a_piece_comes_to_rest_whatever_is_reported, 300)
{
    struct row row = {0};
    for (int i = 0; i < 100; i++) {
        const enum piece_status before = row.status;
        const uint64_t run = row.run;
        const uint64_t about = random_below(random, row.run + 1);
        const enum piece_event event =
            (enum piece_event)random_below(random, PIECE_EVENT_COUNT);
        const struct lifecycle_outcome outcome = report(&row, event, about);
        if (outcome.kind != LIFECYCLE_APPLIED) {
            EXPECT_INT(row.status, before);
            EXPECT_EQ(row.run, run);
        }
        EXPECT(row.run == run || row.status == PIECE_STARTING);
    }
    if (row.status == PIECE_STARTING) {
        (void)report(&row, PIECE_ON_STARTED, row.run);
    } else if (row.status == PIECE_STOPPING) {
        (void)report(&row, PIECE_ON_STOPPED, row.run);
    }
    EXPECT(piece_lifecycle.statuses[row.status].is_resting);
}
