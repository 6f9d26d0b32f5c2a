/* Late, repeated and reordered answers, a test per race; and defects of the
 * observed tables, none of which exists in the strict ones. */

#include <string.h>

#include "lib/service_kit.h"
#include "lib/test.h"

/* Thread t in environment e, idle, beside k, which keeps the environment. */
static void open_idle(struct service_kit *kit)
{
    service_kit_open(kit);
    EXPECT_TEXT(kit_create(kit, "k", "e"), "accepted");
    EXPECT_TEXT(kit_create(kit, "t", "e"), "accepted");
    kit_answer(kit, DAEMON_PROVISION, "e", true, 0);
    kit_turn(kit, DAEMON_TURN_COMPLETED, "k", 0);
    kit_turn(kit, DAEMON_TURN_COMPLETED, "t", 0);
    EXPECT_TEXT(kit_rows(kit), "k=idle t=idle e=ready");
    (void)service_kit_sent(kit);
    (void)kit_log(kit);
}

/* Alone, with the provisioning unanswered. */
static void open_waiting(struct service_kit *kit)
{
    service_kit_open(kit);
    EXPECT_TEXT(kit_create(kit, "t", "e"), "accepted");
    EXPECT_TEXT(service_kit_sent(kit), "provision e;");
}

/* Every row of the registry, byte for byte. */
static struct buf rows_of(struct service_kit *kit)
{
    struct buf text = {0};
    buf_append_text(&text, kit_sql(&kit->store, "SELECT * FROM thread"));
    buf_append_text(&text, kit_sql(&kit->store, "SELECT * FROM environment"));
    return text;
}

static void expect_same(struct service_kit *kit, struct buf *before)
{
    struct buf after = rows_of(kit);
    EXPECT_TEXT(buf_text(&after), buf_text(before));
    buf_release(&after);
    buf_release(before);
}

/* -- R1: a start that is answered while a stop is in flight -------------- */

TEST(r1_a_late_start_during_a_stop_does_not_reactivate)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    EXPECT_TEXT(service_kit_sent(&kit), "run t;stop t;");
    struct buf before = rows_of(&kit);
    kit_answer(&kit, DAEMON_RUN, "t", true, 0);
    kit_turn(&kit, DAEMON_TURN_STARTED, "t", 0);
    expect_same(&kit, &before);
    EXPECT_CONTAINS(kit_log(&kit), "no edge for run.started from stopping");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=idle e=ready");
    service_kit_close(&kit);
}

TEST(r1b_a_start_that_fails_during_a_stop_is_an_error_and_nothing_is_left)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    kit_answer(&kit, DAEMON_RUN, "t", false, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=error e=ready");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=error e=ready");
    EXPECT_EQ(guard_count(&kit.service.guard), 0);
    EXPECT_TEXT(kit_send(&kit, "t", "again"), "accepted");
    service_kit_close(&kit);
}

TEST(r1c_a_start_that_is_answered_after_the_stop_has_settled)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    struct buf before = rows_of(&kit);
    kit_answer(&kit, DAEMON_RUN, "t", true, 0);
    kit_turn(&kit, DAEMON_TURN_STARTED, "t", 0);
    expect_same(&kit, &before);
    service_kit_close(&kit);
}

TEST(r1d_a_start_that_is_answered_after_the_thread_was_archived)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_archive, "t"), "accepted");
    kit_answer(&kit, DAEMON_RUN, "t", true, 0);
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=idle(archived) e=ready");
    service_kit_close(&kit);
}

/* -- R2: a provisioning that nobody waits for any more ------------------- */

TEST(r2_a_late_provision_for_a_deleted_thread_goes_to_its_end)
{
    struct service_kit kit;
    open_waiting(&kit);
    EXPECT_TEXT(kit_call(&kit, service_delete, "t"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "e=provisioning");
    /* Defect 8: a cancel is sent. */
    EXPECT_TEXT(service_kit_sent(&kit), "cancel e;");
    kit_answer(&kit, DAEMON_PROVISION, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "e=destroying");
    EXPECT_TEXT(service_kit_sent(&kit), "destroy e;");
    kit_answer(&kit, DAEMON_CANCEL, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "e=destroying");
    kit_answer(&kit, DAEMON_DESTROY, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "e=destroyed");
    service_kit_close(&kit);
}

TEST(r2b_a_cancel_that_is_answered_first_destroys_what_was_begun)
{
    struct service_kit kit;
    open_waiting(&kit);
    EXPECT_TEXT(kit_call(&kit, service_delete, "t"), "accepted");
    kit_answer(&kit, DAEMON_CANCEL, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "e=destroying");
    EXPECT_TEXT(service_kit_sent(&kit), "cancel e;destroy e;");
    kit_answer(&kit, DAEMON_PROVISION, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "e=destroying");
    EXPECT_CONTAINS(kit_log(&kit),
                    "provision.succeeded not applied: illegal: no edge for "
                    "provision.succeeded from destroying");
    service_kit_close(&kit);
}

TEST(r2c_a_stop_during_provisioning_rests_at_once_and_the_environment_can_wait)
{
    struct service_kit kit;
    open_waiting(&kit);
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=provisioning");
    EXPECT_TEXT(service_kit_sent(&kit), "cancel e;");
    kit_answer(&kit, DAEMON_CANCEL, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=error");
    struct buf before = rows_of(&kit);
    kit_answer(&kit, DAEMON_PROVISION, "e", false, 0);
    expect_same(&kit, &before);
    EXPECT_TEXT(kit_send(&kit, "t", "now"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t=starting e=provisioning");
    service_kit_close(&kit);
}

TEST(r2c_the_failure_that_comes_before_the_answer_to_the_cancel)
{
    struct service_kit kit;
    open_waiting(&kit);
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    kit_answer(&kit, DAEMON_PROVISION, "e", false, 0);
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=error");
    struct buf before = rows_of(&kit);
    kit_answer(&kit, DAEMON_CANCEL, "e", true, 0);
    expect_same(&kit, &before);
    service_kit_close(&kit);
}

TEST(r2d_the_last_of_two_threads_that_stop_cancels)
{
    struct service_kit kit;
    open_waiting(&kit);
    EXPECT_TEXT(kit_create(&kit, "u", "e"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    EXPECT_TEXT(service_kit_sent(&kit), "");
    EXPECT_TEXT(kit_call(&kit, service_stop, "u"), "accepted");
    EXPECT_TEXT(service_kit_sent(&kit), "cancel e;");
    EXPECT_TEXT(kit_rows(&kit), "t=idle u=idle e=provisioning");
    kit_answer(&kit, DAEMON_PROVISION, "e", false, 0);
    kit_answer(&kit, DAEMON_CANCEL, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "t=idle u=idle e=error");
    service_kit_close(&kit);
}

TEST(r2e_who_comes_while_the_cancel_is_in_flight_gets_a_new_provisioning)
{
    for (int cancel_first = 0; cancel_first < 2; cancel_first++) {
        struct service_kit kit;
        open_waiting(&kit);
        EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
        EXPECT_TEXT(kit_send(&kit, "t", "after all"), "accepted");
        EXPECT_TEXT(kit_rows(&kit), "t=starting e=provisioning");
        (void)service_kit_sent(&kit);
        if (cancel_first == 1) {
            kit_answer(&kit, DAEMON_CANCEL, "e", true, 0);
            EXPECT_TEXT(service_kit_sent(&kit), "provision e;");
            kit_answer(&kit, DAEMON_PROVISION, "e", false, 1);
        } else {
            kit_answer(&kit, DAEMON_PROVISION, "e", false, 0);
            EXPECT_TEXT(service_kit_sent(&kit), "provision e;");
            kit_answer(&kit, DAEMON_CANCEL, "e", true, 0);
        }
        EXPECT_TEXT(kit_rows(&kit), "t=starting e=provisioning");
        kit_answer(&kit, DAEMON_PROVISION, "e", true, 0);
        EXPECT_TEXT(kit_rows(&kit), "t=starting e=ready");
        EXPECT_TEXT(service_kit_sent(&kit), "run t;");
        service_kit_close(&kit);
    }
}

TEST(a_cancelled_restore_goes_back_to_the_workspace_that_is_there)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_call(&kit, service_reprovision, "e"), "accepted");
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    EXPECT_TEXT(service_kit_sent(&kit), "provision e;cancel e;");
    kit_answer(&kit, DAEMON_CANCEL, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=idle e=ready");
    service_kit_close(&kit);
}

/* -- R3: the completion that comes again --------------------------------- */

TEST(r3_a_redelivered_completion_changes_nothing)
{
    static const enum daemon_turn turns[] = {
        DAEMON_TURN_COMPLETED,
        DAEMON_TURN_INTERRUPTED,
        DAEMON_TURN_FAILED, /* defect 6: it is no error of a settled thread */
    };
    for (size_t i = 0; i < COUNT_OF(turns); i++) {
        struct service_kit kit;
        open_idle(&kit);
        const uint64_t changes = kit.changes;
        struct buf before = rows_of(&kit);
        kit_turn(&kit, turns[i], "t", 0);
        expect_same(&kit, &before);
        EXPECT_EQ(kit.changes, changes);
        EXPECT_CONTAINS(kit_log(&kit),
                        "not applied: superseded: the report is about another "
                        "run");
        service_kit_close(&kit);
    }
}

TEST(r3_a_completion_of_the_last_run_does_not_end_the_next)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "next"), "accepted");
    struct buf before = rows_of(&kit);
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 1);
    kit_turn(&kit, DAEMON_TURN_FAILED, "t", 1);
    kit_turn(&kit, DAEMON_TURN_STARTED, "t", 1);
    expect_same(&kit, &before);
    service_kit_close(&kit);
}

/* -- R4: a stop that ends twice ------------------------------------------ */

TEST(r4_a_stop_settles_once)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    kit_answer(&kit, DAEMON_RUN, "t", true, 0);
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    struct buf before = rows_of(&kit);
    const uint64_t changes = kit.changes;
    EXPECT_TEXT(kit_call(&kit, service_finalize, "t"), "nothing");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    kit_turn(&kit, DAEMON_TURN_INTERRUPTED, "t", 0);
    EXPECT_EQ(kit.changes, changes);
    expect_same(&kit, &before);
    service_kit_close(&kit);
}

/* The usual order of a stop, and defect 7: it makes no noise. */
TEST(r4b_the_end_of_the_turn_comes_before_the_answer_to_the_stop)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    kit_answer(&kit, DAEMON_RUN, "t", true, 0);
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    kit_turn(&kit, DAEMON_TURN_INTERRUPTED, "t", 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=idle e=ready");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=idle e=ready");
    EXPECT(strstr(kit_log(&kit), "info: ") == NULL);
    service_kit_close(&kit);
}

TEST(a_deleted_thread_whose_turn_fails_still_waits_for_its_stop)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_delete, "t"), "accepted");
    kit_turn(&kit, DAEMON_TURN_FAILED, "t", 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=stopping(deleted) e=ready");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle e=ready");
    kit_answer(&kit, DAEMON_RUN, "t", false, 0);
    EXPECT_CONTAINS(kit_log(&kit), "not-found: thread not found");
    service_kit_close(&kit);
}

/* -- R5: a destroy that is answered after a revive ----------------------- */

static void open_destroying(struct service_kit *kit)
{
    service_kit_open(kit);
    EXPECT_TEXT(kit_create(kit, "t", "e"), "accepted");
    kit_answer(kit, DAEMON_PROVISION, "e", true, 0);
    kit_turn(kit, DAEMON_TURN_COMPLETED, "t", 0);
    EXPECT_TEXT(kit_call(kit, service_delete, "t"), "accepted");
    EXPECT_TEXT(kit_rows(kit), "e=destroying");
    (void)service_kit_sent(kit);
}

TEST(r5_a_destroy_that_is_answered_after_a_revive_is_superseded)
{
    for (int ok = 0; ok < 2; ok++) {
        struct service_kit kit;
        open_destroying(&kit);
        EXPECT_TEXT(kit_create(&kit, "u", "e"), "gone");

        /* Lost: no answer for a day, says the sweep. */
        kit.now += SERVICE_REQUEST_MS;
        kit_sweep(&kit);
        EXPECT_TEXT(kit_rows(&kit), "e=error");
        EXPECT_TEXT(kit_create(&kit, "u", "e"), "accepted");
        EXPECT_TEXT(kit_rows(&kit), "u=starting e=provisioning");
        struct buf before = rows_of(&kit);
        kit_answer(&kit, DAEMON_DESTROY, "e", ok == 1, 0);
        expect_same(&kit, &before);
        EXPECT_CONTAINS(kit_log(&kit),
                        "superseded: the answer is to another destroy "
                        "attempt");
        service_kit_close(&kit);
    }
}

TEST(r5c_a_destroy_that_was_claimed_again_has_another_name)
{
    struct service_kit kit;
    open_destroying(&kit);
    service_kit_restart(&kit);
    EXPECT_TEXT(kit_rows(&kit), "e=error");
    kit_session(&kit, "i1", "");
    EXPECT_TEXT(kit_rows(&kit), "e=destroying");
    EXPECT_TEXT(service_kit_sent(&kit), "destroy e;");
    kit_answer(&kit, DAEMON_DESTROY, "e", false, 1);
    EXPECT_TEXT(kit_rows(&kit), "e=destroying");
    kit_answer(&kit, DAEMON_DESTROY, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "e=destroyed");
    service_kit_close(&kit);
}

TEST(a_destroy_that_fails_is_tried_again_by_the_sweep_and_not_at_once)
{
    struct service_kit kit;
    open_destroying(&kit);
    kit_answer(&kit, DAEMON_DESTROY, "e", false, 0);
    EXPECT_TEXT(kit_rows(&kit), "e=retiring");
    EXPECT_TEXT(service_kit_sent(&kit), "");
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "destroy e;");
    kit_answer(&kit, DAEMON_DESTROY, "e", true, 1); /* the first, after all */
    EXPECT_TEXT(kit_rows(&kit), "e=destroying");
    service_kit_close(&kit);
}

/* -- The other defects --------------------------------------------------- */

TEST(defect_3_a_message_is_not_sent_after_a_stop_or_a_delete)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    EXPECT_TEXT(kit_queue(&kit, "t", "one"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_delete, "t"), "accepted");
    (void)service_kit_sent(&kit);
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 0);
    kit_sweep(&kit);
    EXPECT_TEXT(kit_rows(&kit), "k=idle e=ready");
    EXPECT_TEXT(service_kit_sent(&kit), "");
    EXPECT_TEXT(kit_sql(&kit.store, "SELECT count(*) FROM message"), "0;");
    service_kit_close(&kit);
}

TEST(defect_4_a_thread_in_error_is_active_when_the_daemon_says_so)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    kit_answer(&kit, DAEMON_RUN, "t", false, 0);
    EXPECT_TEXT(kit_send(&kit, "t", "y"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=starting e=ready");
    kit_answer(&kit, DAEMON_RUN, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=active e=ready");
    service_kit_close(&kit);
}

/* Defect 13: what a late success says is not written if it does not apply. */
TEST(defect_13_a_late_provision_does_not_overwrite_the_workspace)
{
    struct service_kit kit;
    open_idle(&kit);
    const struct daemon_answer answer = {
        .verb = DAEMON_PROVISION,
        .id = "e",
        .token = kit_token(&kit, DAEMON_PROVISION, "e", 0),
        .ok = true,
        .workspace = "w/other",
    };
    EXPECT_INT(service_answer(&kit.service, &answer, 1, &kit.detail), ERR_OK);
    EXPECT_TEXT(kit_sql(&kit.store, "SELECT workspace FROM environment"),
                "w/path;");
    service_kit_close(&kit);
}
