/* The service through its calls: the ordinary ways of a thread and of an
 * environment, what is refused and why, messages and schedules. */

#include "service/service.h"

#include <string.h>

#include "lib/service_kit.h"
#include "lib/test.h"

/* A thread that has had its first turn. */
static void open_idle(struct service_kit *kit)
{
    service_kit_open(kit);
    EXPECT_TEXT(kit_create(kit, "t", "e"), "accepted");
    kit_answer(kit, DAEMON_PROVISION, "e", true, 0);
    kit_answer(kit, DAEMON_RUN, "t", true, 0);
    kit_turn(kit, DAEMON_TURN_COMPLETED, "t", 0);
    EXPECT_TEXT(kit_rows(kit), "t=idle e=ready");
    (void)service_kit_sent(kit);
    (void)kit_log(kit);
}

static void open_active(struct service_kit *kit)
{
    open_idle(kit);
    EXPECT_TEXT(kit_send(kit, "t", "more"), "accepted");
    kit_answer(kit, DAEMON_RUN, "t", true, 0);
    EXPECT_TEXT(kit_rows(kit), "t=active e=ready");
    (void)service_kit_sent(kit);
    (void)kit_log(kit);
}

TEST(a_thread_is_created_runs_and_rests)
{
    struct service_kit kit;
    service_kit_open(&kit);
    EXPECT_TEXT(kit_create(&kit, "t", "e"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t=starting e=provisioning");
    EXPECT_TEXT(service_kit_sent(&kit), "provision e;");
    kit_answer(&kit, DAEMON_PROVISION, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "t=starting e=ready");
    EXPECT_TEXT(service_kit_sent(&kit), "run t;");
    EXPECT_TEXT(kit.requests.at[1].input, "hello");
    kit_turn(&kit, DAEMON_TURN_STARTED, "t", 0);
    EXPECT_TEXT(kit_rows(&kit), "t=active e=ready");
    kit_answer(&kit, DAEMON_RUN, "t", true, 0);
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 0);
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=ready");
    EXPECT_EQ(guard_count(&kit.service.guard), 0);
    EXPECT_EQ(kit.changes, 3);
    service_kit_close(&kit);
}

TEST(a_turn_that_ends_before_anybody_said_that_it_began_ends)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_send(&kit, "t", "quick"), "accepted");
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 0);
    kit_turn(&kit, DAEMON_TURN_STARTED, "t", 0);
    kit_answer(&kit, DAEMON_RUN, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=ready");
    service_kit_close(&kit);
}

TEST(threads_share_an_environment_that_is_being_made)
{
    struct service_kit kit;
    service_kit_open(&kit);
    EXPECT_TEXT(kit_create(&kit, "t1", "e"), "accepted");
    EXPECT_TEXT(kit_create(&kit, "t2", "e"), "accepted");
    EXPECT_TEXT(service_kit_sent(&kit), "provision e;");
    kit_answer(&kit, DAEMON_PROVISION, "e", true, 0);
    EXPECT_TEXT(service_kit_sent(&kit), "run t1;run t2;");
    EXPECT_TEXT(kit_create(&kit, "t3", "e"), "accepted");
    EXPECT_TEXT(service_kit_sent(&kit), "run t3;");
    service_kit_close(&kit);
}

TEST(a_provisioning_that_fails_fails_who_waits_and_can_be_tried_again)
{
    struct service_kit kit;
    service_kit_open(&kit);
    EXPECT_TEXT(kit_create(&kit, "t1", "e"), "accepted");
    EXPECT_TEXT(kit_create(&kit, "t2", "e"), "accepted");
    kit_answer(&kit, DAEMON_PROVISION, "e", false, 0);
    EXPECT_TEXT(kit_rows(&kit), "t1=error t2=error e=error");
    (void)service_kit_sent(&kit);
    EXPECT_TEXT(kit_send(&kit, "t1", "again"), "accepted");
    EXPECT_TEXT(service_kit_sent(&kit), "provision e;");
    EXPECT_TEXT(kit_rows(&kit), "t1=starting t2=error e=provisioning");

    /* The first answer, again: it is to an old request. */
    kit_answer(&kit, DAEMON_PROVISION, "e", true, 1);
    EXPECT_TEXT(kit_rows(&kit), "t1=starting t2=error e=provisioning");
    EXPECT_CONTAINS(kit_log(&kit), "belongs to an old request");
    kit_answer(&kit, DAEMON_PROVISION, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "t1=starting t2=error e=ready");
    service_kit_close(&kit);
}

TEST(a_workspace_that_the_daemon_does_not_name_is_none)
{
    struct service_kit kit;
    service_kit_open(&kit);
    EXPECT_TEXT(kit_create(&kit, "t", "e"), "accepted");
    const struct daemon_answer answer = {
        .verb = DAEMON_PROVISION,
        .id = "e",
        .token = kit_token(&kit, DAEMON_PROVISION, "e", 0),
        .ok = true,
        .workspace = "\xff",
    };
    EXPECT_INT(service_answer(&kit.service, &answer, 1, &kit.detail), ERR_OK);
    EXPECT_TEXT(kit_rows(&kit), "t=error e=error");
    service_kit_close(&kit);
}

/* -- Refusals ------------------------------------------------------------ */

TEST(what_cannot_be_is_refused_with_a_reason_and_changes_nothing)
{
    struct service_kit kit;
    open_active(&kit);
    const uint64_t seq = kit.store.engine.seq;
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "busy");
    EXPECT_TEXT(kit_send(&kit, "nobody", "x"), "not-found");
    EXPECT_TEXT(kit_send(&kit, "t", "\xff"), "invalid");
    EXPECT_TEXT(kit_create(&kit, "t", "e"), "exists");
    EXPECT_TEXT(kit_create(&kit, "t 2", "e"), "invalid");
    EXPECT_TEXT(kit_call(&kit, service_destroy, "e"), "in-use");
    EXPECT_TEXT(kit_call(&kit, service_destroy, "nowhere"), "not-found");
    EXPECT_TEXT(kit_call(&kit, service_reprovision, "e"), "busy");
    EXPECT_TEXT(kit_call(&kit, service_provision, "e"), "exists");
    EXPECT_TEXT(kit_call(&kit, service_provision, ""), "invalid");
    EXPECT_TEXT(kit_call(&kit, service_stop, "nobody"), "not-found");
    EXPECT_TEXT(kit_call(&kit, service_unarchive, "t"), "nothing");
    EXPECT_TEXT(kit_call(&kit, service_finalize, "t"), "nothing");
    service_session_close(&kit.service, kit.now);
    EXPECT_TEXT(kit_create(&kit, "t2", "e2"), "offline");
    EXPECT_TEXT(kit_call(&kit, service_provision, "e2"), "offline");
    EXPECT_TEXT(kit_call(&kit, service_reprovision, "e"), "offline");
    EXPECT_EQ(kit.store.engine.seq, seq);
    EXPECT_TEXT(kit_rows(&kit), "t=active e=ready");
    EXPECT_TEXT(service_kit_sent(&kit), "");
    service_kit_close(&kit);
}

TEST(a_fault_of_the_store_leaves_everything_and_sends_nothing)
{
    struct service_kit kit;
    open_idle(&kit);
    kit_run(&kit.store, "ALTER TABLE revision RENAME TO revision_away");
    EXPECT_INT(service_send(&kit.service,
                            "t",
                            "x",
                            kit.now,
                            &kit.outcome,
                            &kit.detail),
               ERR_STORE);
    kit_run(&kit.store, "ALTER TABLE revision_away RENAME TO revision");
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=ready");
    EXPECT_TEXT(service_kit_sent(&kit), "");
    EXPECT_EQ(guard_count(&kit.service.guard), 0);
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    EXPECT_TEXT(service_kit_sent(&kit), "run t;");
    service_kit_close(&kit);
}

/* -- Stopping ------------------------------------------------------------ */

TEST(a_stop_is_sent_once_and_settles)
{
    struct service_kit kit;
    open_active(&kit);
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t=stopping e=ready");
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "nothing");
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "stop t;");
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "stopping");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=ready");
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "nothing");
    EXPECT_TEXT(kit_log(&kit), "");
    service_kit_close(&kit);
}

TEST(r4c_a_stop_that_fails_is_sent_again_by_the_sweep_and_only_once)
{
    struct service_kit kit;
    open_active(&kit);
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    kit_answer(&kit, DAEMON_STOP, "t", false, 0);
    EXPECT_TEXT(kit_rows(&kit), "t=stopping e=ready");
    (void)service_kit_sent(&kit);
    kit_sweep(&kit);
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "stop t;");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=ready");
    service_kit_close(&kit);
}

TEST(a_stop_that_nobody_answers_can_be_finalized)
{
    struct service_kit kit;
    open_active(&kit);
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_finalize, "t"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=ready");
    EXPECT_TEXT(kit_call(&kit, service_finalize, "t"), "nothing");
    service_kit_close(&kit);
}

/* -- Leaving ------------------------------------------------------------- */

TEST(the_last_thread_that_is_deleted_takes_its_environment_along)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_call(&kit, service_delete, "t"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "e=destroying");
    EXPECT_TEXT(service_kit_sent(&kit), "destroy e;");
    kit_answer(&kit, DAEMON_DESTROY, "e", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "e=destroyed");
    EXPECT_TEXT(kit_create(&kit, "t2", "e"), "gone");
    EXPECT_TEXT(kit_call(&kit, service_destroy, "e"), "nothing");
    service_kit_close(&kit);
}

TEST(d1_an_active_thread_that_is_deleted_is_stopped_first)
{
    struct service_kit kit;
    open_active(&kit);
    EXPECT_TEXT(kit_call(&kit, service_delete, "t"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t=stopping(deleted) e=ready");
    EXPECT_TEXT(kit_call(&kit, service_delete, "t"), "nothing");
    EXPECT_TEXT(kit_call(&kit, service_archive, "t"), "deleted");
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "deleted");
    EXPECT_TEXT(service_kit_sent(&kit), "stop t;");
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "e=destroying");
    EXPECT_TEXT(service_kit_sent(&kit), "destroy e;");
    service_kit_close(&kit);
}

TEST(an_environment_stays_while_a_live_thread_is_in_it)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(kit_create(&kit, "t2", "e"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_delete, "t"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t2=starting e=ready");
    EXPECT_TEXT(kit_call(&kit, service_archive, "t2"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t2=stopping(archived) e=ready");
    kit_answer(&kit, DAEMON_STOP, "t2", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "t2=idle(archived) e=destroying");
    EXPECT_TEXT(kit_call(&kit, service_unarchive, "t2"), "gone");
    service_kit_close(&kit);
}

TEST(an_environment_that_is_not_ours_is_never_destroyed)
{
    struct service_kit kit;
    service_kit_open(&kit);
    const struct service_thread thread = {
        .id = "t",
        .environment = "e",
        .input = "hello",
    };
    EXPECT_INT(service_create(&kit.service,
                              &thread,
                              kit.now,
                              &kit.outcome,
                              &kit.detail),
               ERR_OK);
    kit_answer(&kit, DAEMON_PROVISION, "e", true, 0);
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 0);
    EXPECT_TEXT(kit_call(&kit, service_delete, "t"), "accepted");
    kit_sweep(&kit);
    EXPECT_TEXT(kit_rows(&kit), "e=ready");
    EXPECT_TEXT(kit_call(&kit, service_destroy, "e"), "not-managed");
    service_kit_close(&kit);
}

TEST(archived_and_taken_back_before_the_daemon_came)
{
    struct service_kit kit;
    open_idle(&kit);
    service_session_close(&kit.service, kit.now);
    EXPECT_TEXT(kit_call(&kit, service_archive, "t"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t=idle(archived) e=retiring");
    EXPECT_TEXT(kit_call(&kit, service_archive, "t"), "nothing");
    EXPECT_TEXT(kit_call(&kit, service_unarchive, "t"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=ready");
    EXPECT_TEXT(kit_call(&kit, service_archive, "t"), "accepted");
    kit_session(&kit, "i1", "");
    EXPECT_TEXT(kit_rows(&kit), "t=idle(archived) e=destroying");
    kit_answer(&kit, DAEMON_DESTROY, "e", false, 0);
    EXPECT_TEXT(kit_rows(&kit), "t=idle(archived) e=retiring");
    EXPECT_TEXT(kit_call(&kit, service_unarchive, "t"), "accepted");
    EXPECT_TEXT(kit_send(&kit, "t", "x"), "accepted");
    EXPECT_TEXT(kit_rows(&kit), "t=starting e=ready");
    service_kit_close(&kit);
}

TEST(r5d_a_destroy_that_is_asked_for_twice_is_sent_once)
{
    struct service_kit kit;
    service_kit_open(&kit);
    EXPECT_TEXT(kit_call(&kit, service_provision, "e"), "accepted");
    kit_answer(&kit, DAEMON_PROVISION, "e", true, 0);
    EXPECT_TEXT(kit_call(&kit, service_reprovision, "e"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_reprovision, "e"), "nothing");
    kit_answer(&kit, DAEMON_PROVISION, "e", true, 0);
    (void)service_kit_sent(&kit);
    EXPECT_TEXT(kit_call(&kit, service_destroy, "e"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_destroy, "e"), "nothing");
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "destroy e;");
    service_kit_close(&kit);
}

/* -- Messages ------------------------------------------------------------ */

static const char *last_input(struct service_kit *kit)
{
    return kit->requests.at[kit->requests.count - 1].input;
}

TEST(messages_wait_for_the_turn_and_go_one_by_one)
{
    struct service_kit kit;
    open_active(&kit);
    EXPECT_TEXT(kit_queue(&kit, "t", "one"), "accepted");
    EXPECT_TEXT(kit_queue(&kit, "t", "two"), "accepted");
    EXPECT_TEXT(service_kit_sent(&kit), "");
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 0);
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "run t;");
    EXPECT_TEXT(last_input(&kit), "one");
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 1); /* the old turn, again */
    EXPECT_TEXT(service_kit_sent(&kit), "");
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 0);
    EXPECT_TEXT(last_input(&kit), "two");
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 0);
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=ready");

    /* A thread that is idle needs no second invitation. */
    EXPECT_TEXT(kit_queue(&kit, "t", "three"), "accepted");
    EXPECT_TEXT(last_input(&kit), "three");
    service_kit_close(&kit);
}

TEST(a_message_does_not_revive_what_was_stopped_until_somebody_says_more)
{
    struct service_kit kit;
    open_active(&kit);
    EXPECT_TEXT(kit_queue(&kit, "t", "one"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    kit_turn(&kit, DAEMON_TURN_INTERRUPTED, "t", 0);
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    kit_sweep(&kit);
    EXPECT_TEXT(kit_rows(&kit), "t=idle e=ready");
    EXPECT_TEXT(kit_send(&kit, "t", "go on"), "accepted");
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 0);
    EXPECT_TEXT(last_input(&kit), "one");
    service_kit_close(&kit);
}

TEST(a_message_that_cannot_be_sent_stays)
{
    struct service_kit kit;
    open_idle(&kit);
    service_session_close(&kit.service, kit.now);
    EXPECT_TEXT(kit_queue(&kit, "t", "one"), "accepted");
    kit_sweep(&kit);
    EXPECT_TEXT(kit_sql(&kit.store, "SELECT text FROM message"), "one;");
    kit_session(&kit, "i1", "");
    kit_sweep(&kit);
    EXPECT_TEXT(kit_sql(&kit.store, "SELECT text FROM message"), "");
    EXPECT_TEXT(last_input(&kit), "one");
    EXPECT_TEXT(kit_call(&kit, service_archive, "t"), "accepted");
    EXPECT_TEXT(kit_queue(&kit, "t", "x"), "archived");
    service_kit_close(&kit);
}

/* -- Schedules ----------------------------------------------------------- */

static const char *put_schedule(struct service_kit *kit, uint64_t every_ms)
{
    const struct service_schedule schedule = {
        .thread = "t",
        .name = "daily",
        .first_at = kit->now + 10,
        .every_ms = every_ms,
        .input = "wake",
    };
    EXPECT_INT(service_schedule(&kit->service,
                                &schedule,
                                kit->now,
                                &kit->outcome,
                                &kit->detail),
               ERR_OK);
    return kit->outcome.kind == SERVICE_REFUSED
               ? service_reason_name(kit->outcome.reason)
               : service_kind_name(kit->outcome.kind);
}

TEST(a_schedule_fires_once_when_it_is_due_and_then_again)
{
    struct service_kit kit;
    open_idle(&kit);
    EXPECT_TEXT(put_schedule(&kit, 0), "invalid");
    EXPECT_TEXT(put_schedule(&kit, 100), "accepted");
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "");
    kit.now += 10;
    kit_sweep(&kit);
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "run t;");
    EXPECT_TEXT(last_input(&kit), "wake");
    kit_turn(&kit, DAEMON_TURN_COMPLETED, "t", 0);
    kit.now += 350; /* three were missed: one turn */
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "run t;");
    EXPECT_TEXT(kit_sql(&kit.store, "SELECT next_at FROM schedule"), "1410;");
    service_kit_close(&kit);
}

/* The second of the latent defects: it does not exist here. */
TEST(a_schedule_that_is_due_while_its_thread_stops_is_missed)
{
    struct service_kit kit;
    open_active(&kit);
    EXPECT_TEXT(put_schedule(&kit, 100), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_stop, "t"), "accepted");
    (void)service_kit_sent(&kit);
    kit.now += 10;
    kit_sweep(&kit);
    EXPECT_TEXT(kit_rows(&kit), "t=stopping e=ready");
    EXPECT_TEXT(service_kit_sent(&kit), "");
    EXPECT_CONTAINS(kit_log(&kit),
                    "schedule daily of thread t is missed: the thread is not "
                    "idle");
    EXPECT_TEXT(kit_call(&kit, service_archive, "t"), "accepted");
    EXPECT_TEXT(kit_sql(&kit.store, "SELECT count(*) FROM schedule"), "0;");
    EXPECT_TEXT(put_schedule(&kit, 100), "archived");
    service_kit_close(&kit);
}
