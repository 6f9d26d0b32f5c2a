/* A daemon that goes, comes back, or is another one; a service that is
 * started again; and what is given up in the end. */

#include <string.h>

#include "lib/service_kit.h"
#include "lib/test.h"

/* Thread t is brought into a state by name, beside k, which is idle and keeps
 * environment e. "waiting" has an environment of its own, w. */
static void open_in(struct service_kit *kit, const char *state)
{
    service_kit_open(kit);
    EXPECT_TEXT(kit_create(kit, "k", "e"), "accepted");
    kit_answer(kit, DAEMON_PROVISION, "e", true, 0);
    kit_turn(kit, DAEMON_TURN_COMPLETED, "k", 0);
    if (strcmp(state, "waiting") == 0) {
        EXPECT_TEXT(kit_create(kit, "t", "w"), "accepted");
        return;
    }
    EXPECT_TEXT(kit_create(kit, "t", "e"), "accepted");
    if (strcmp(state, "starting") == 0) {
        return;
    }
    if (strcmp(state, "error") == 0) {
        kit_turn(kit, DAEMON_TURN_FAILED, "t", 0);
        return;
    }
    kit_answer(kit, DAEMON_RUN, "t", true, 0);
    if (strcmp(state, "stopping") == 0) {
        EXPECT_TEXT(kit_call(kit, service_stop, "t"), "accepted");
    } else if (strcmp(state, "deleted") == 0) {
        EXPECT_TEXT(kit_call(kit, service_delete, "t"), "accepted");
    } else if (strcmp(state, "active") != 0) {
        kit_turn(kit, DAEMON_TURN_COMPLETED, "t", 0);
    }
    if (strcmp(state, "archived") == 0) {
        EXPECT_TEXT(kit_call(kit, service_archive, "t"), "accepted");
    }
}

struct matrix_row {
    const char *state;
    const char *reported; /* "t", or "" */
    const char *instance; /* "i1" is the one before */
    const char *rows;
    const char *sent;
};

static const struct matrix_row matrix[] = {
    {"starting", "t", "i1", "k=idle t=active e=ready", ""},
    {"starting", "t", "i2", "k=idle t=active e=ready", ""},
    {"starting", "", "i1", "k=idle t=error e=ready", ""},
    {"starting", "", "i2", "k=idle t=error e=ready", ""},
    {"active", "t", "i1", "k=idle t=active e=ready", ""},
    /* Defect 10: it runs, so it is active; nothing is interrupted. */
    {"active", "t", "i2", "k=idle t=active e=ready", ""},
    {"active", "", "i1", "k=idle t=error e=ready", ""},
    {"active", "", "i2", "k=idle t=error e=ready", ""},
    {"stopping", "t", "i1", "k=idle t=stopping e=ready", "stop t;"},
    {"stopping", "t", "i2", "k=idle t=stopping e=ready", "stop t;"},
    {"stopping", "", "i1", "k=idle t=idle e=ready", ""},
    {"idle", "t", "i1", "k=idle t=active e=ready", ""},
    {"idle", "", "i1", "k=idle t=idle e=ready", ""},
    {"error", "t", "i1", "k=idle t=active e=ready", ""},
    {"error", "", "i2", "k=idle t=error e=ready", ""},
    /* An archived thread is not revived: what runs is ended. */
    {"archived", "t", "i1", "k=idle t=idle(archived) e=ready", "stop t;"},
    {"archived", "", "i1", "k=idle t=idle(archived) e=ready", ""},
    {"deleted", "t", "i1", "k=idle t=stopping(deleted) e=ready", "stop t;"},
    {"deleted", "", "i1", "k=idle e=ready", ""},
    /* The same daemon goes on; a new one has begun nothing. */
    {"waiting",
     "",
     "i1",
     "k=idle t=starting e=ready w=provisioning",
     "provision w;"},
    {"waiting", "", "i2", "k=idle t=error e=ready w=error", ""},
};

TEST(the_matrix_of_a_daemon_that_comes_back)
{
    for (size_t i = 0; i < COUNT_OF(matrix); i++) {
        const struct matrix_row *row = &matrix[i];
        struct service_kit kit;
        open_in(&kit, row->state);
        (void)service_kit_sent(&kit);
        service_session_close(&kit.service, kit.now);
        kit.now += 1000;
        kit_session(&kit, row->instance, row->reported);
        const bool held = EXPECT_TEXT(kit_rows(&kit), row->rows) &&
                          EXPECT_TEXT(service_kit_sent(&kit), row->sent);
        if (!held) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "state %s, reported '%s', instance %s",
                            row->state,
                            row->reported,
                            row->instance);
        }
        service_kit_close(&kit);
    }
}

TEST(a_thread_that_nobody_knows_is_ended)
{
    struct service_kit kit;
    open_in(&kit, "idle");
    (void)service_kit_sent(&kit);
    const struct daemon_run runs[] = {{"ghost", "r1"}, {"bad name", "r1"}};
    EXPECT_INT(service_session_open(&kit.service,
                                    "i1",
                                    runs,
                                    COUNT_OF(runs),
                                    kit.now,
                                    &kit.detail),
               ERR_OK);
    EXPECT_TEXT(service_kit_sent(&kit), "stop ghost;");
    kit_answer(&kit, DAEMON_STOP, "ghost", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=idle e=ready");
    service_kit_close(&kit);
}

TEST(a_run_that_nobody_expected_is_taken_by_its_thread)
{
    struct service_kit kit;
    open_in(&kit, "active");
    (void)service_kit_sent(&kit);
    const struct daemon_run runs[] = {{"t", "r0"}};
    EXPECT_INT(
        service_session_open(&kit.service, "i2", runs, 1, kit.now, &kit.detail),
        ERR_OK);
    /* It runs, though not what we thought: the thread takes it. */
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=active e=ready");
    EXPECT_TEXT(kit_sql(&kit.store, "SELECT run FROM thread WHERE id = 't'"),
                "r0;");
    service_kit_close(&kit);
}

TEST(a_session_that_is_opened_twice_replaces_the_first)
{
    struct service_kit kit;
    open_in(&kit, "stopping");
    (void)service_kit_sent(&kit);
    kit_session(&kit, "i1", "t");
    kit_session(&kit, "i1", "t");
    EXPECT_TEXT(service_kit_sent(&kit), "stop t;stop t;");
    kit_answer(&kit, DAEMON_STOP, "t", true, 1);
    kit_answer(&kit, DAEMON_STOP, "t", true, 0);
    EXPECT_TEXT(kit_rows(&kit), "k=idle t=idle e=ready");
    EXPECT_EQ(guard_count(&kit.service.guard), 0);
    EXPECT_INT(
        service_session_open(&kit.service, "", NULL, 0, kit.now, &kit.detail),
        ERR_ARGUMENT);
    service_kit_close(&kit);
}

/* -- Nobody comes -------------------------------------------------------- */

TEST(what_nobody_comes_back_for_is_given_up_after_the_grace)
{
    static const struct {
        const char *state;
        const char *before;
        const char *after;
    } rows[] = {
        {"starting", "k=idle t=starting e=ready", "k=idle t=error e=ready"},
        {"active", "k=idle t=active e=ready", "k=idle t=error e=ready"},
        {"stopping", "k=idle t=stopping e=ready", "k=idle t=idle e=ready"},
        {"deleted", "k=idle t=stopping(deleted) e=ready", "k=idle e=ready"},
        {"waiting",
         "k=idle t=starting e=ready w=provisioning",
         "k=idle t=error e=ready w=error"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct service_kit kit;
        open_in(&kit, rows[i].state);
        service_session_close(&kit.service, kit.now);
        kit.now += SERVICE_GRACE_MS - 1;
        kit_sweep(&kit);
        EXPECT_TEXT(kit_rows(&kit), rows[i].before);
        kit.now += 1;
        kit_sweep(&kit);
        EXPECT_TEXT(kit_rows(&kit), rows[i].after);
        service_kit_close(&kit);
    }
}

TEST(an_answer_that_never_comes_is_given_up_after_a_day)
{
    struct service_kit kit;
    open_in(&kit, "starting");
    EXPECT_TEXT(kit_create(&kit, "u", "w"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_provision, "d"), "accepted");
    kit_answer(&kit, DAEMON_PROVISION, "d", true, 0);
    EXPECT_TEXT(kit_call(&kit, service_destroy, "d"), "accepted");
    kit.now += SERVICE_REQUEST_MS - 1;
    kit_sweep(&kit);
    EXPECT_TEXT(
        kit_rows(&kit),
        "k=idle t=starting u=starting d=destroying e=ready w=provisioning");
    kit.now += 1;
    (void)service_kit_sent(&kit);
    kit_sweep(&kit);
    EXPECT_TEXT(kit_rows(&kit),
                "k=idle t=error u=error d=error e=ready w=error");
    kit_sweep(&kit);
    EXPECT_TEXT(kit_rows(&kit),
                "k=idle t=error u=error d=destroying e=ready w=error");
    EXPECT_TEXT(service_kit_sent(&kit), "destroy d;");
    service_kit_close(&kit);
}

TEST(a_stop_that_is_not_answered_for_a_day_is_sent_again)
{
    struct service_kit kit;
    open_in(&kit, "stopping");
    (void)service_kit_sent(&kit);
    kit.now += SERVICE_REQUEST_MS - 1;
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "");
    kit.now += 1;
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "stop t;");
    kit.now += SERVICE_REQUEST_MS - 1;
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "");
    service_kit_close(&kit);
}

/* -- A restart ----------------------------------------------------------- */

TEST(after_a_restart_what_was_being_made_has_failed_and_the_rest_waits)
{
    struct service_kit kit;
    open_in(&kit, "active");
    EXPECT_TEXT(kit_create(&kit, "u", "w"), "accepted");
    EXPECT_TEXT(kit_create(&kit, "v", "e"), "accepted");
    EXPECT_TEXT(kit_call(&kit, service_stop, "v"), "accepted");
    service_kit_restart(&kit);
    EXPECT_TEXT(kit_rows(&kit),
                "k=idle t=active u=error v=stopping e=ready w=error");
    (void)service_kit_sent(&kit);
    kit_sweep(&kit);
    EXPECT_TEXT(service_kit_sent(&kit), "");
    kit_session(&kit, "i1", "t v");
    EXPECT_TEXT(kit_rows(&kit),
                "k=idle t=active u=error v=stopping e=ready w=error");
    EXPECT_TEXT(service_kit_sent(&kit), "stop v;");

    /* The answer to what the first process had asked for. */
    kit_answer(&kit, DAEMON_PROVISION, "w", true, 0);
    EXPECT_TEXT(kit_rows(&kit),
                "k=idle t=active u=error v=stopping e=ready w=error");
    service_kit_close(&kit);
}
