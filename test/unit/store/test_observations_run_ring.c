/* What others have run: two engines on one file, and what one of them is told
 * of the runs that the other has taken into its rows. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/observe_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/object.h"

/* -- Asking -------------------------------------------------------------- */

static void put_place(struct buf *to, const struct observed_place *place)
{
    static const char *const kinds[] = {"deep", "shape", "out", "env"};
    const struct text id = value_text(&place->target.id);
    buf_printf(to, " %s ", kinds[place->kind]);
    if (!value_is_absent(place->space)) {
        const struct text space = value_text(&place->space);
        buf_printf(to, "%.*s:", (int)space.length, space.at);
    }
    buf_append(to, id.at, id.length);
    path_write(to, place->path);
}

static void on_ran(void *ctx,
                   struct value branch,
                   uint64_t seq,
                   struct observation *observation)
{
    struct buf *to = ctx;
    char name[16] = "?";
    for (int i = 0; i < 64 && name[0] == '?'; i++) {
        char one[16];
        (void)snprintf(one, sizeof one, "a%d", i);
        const struct digest digest = observe_name(one);
        if (digest_equal(&digest, &observation->action)) {
            memcpy(name, one, sizeof name);
        }
    }
    const struct text on = value_text(&branch);
    buf_printf(to,
               "%s%.*s%s%.*s/%s@%llu%s",
               to->length > 0 ? "; " : "",
               (int)on.length,
               on.at,
               on.length > 0 ? "/" : "",
               (int)value_text(&observation->piece).length,
               value_text(&observation->piece).at,
               name,
               (unsigned long long)seq,
               observation->failed ? " failed" : "");
    EXPECT(observation->has_places);
    EXPECT_INT(observation_check(observation, false, NULL), ERR_OK);
    VEC_FOREACH (&observation->places, place) {
        put_place(to, place);
    }
    VEC_FOREACH (&observation->elsewhere, one) {
        buf_printf(to, " @%llu", (unsigned long long)one->seq);
    }
    if (observation->gates.debounce_ms != 0) {
        buf_printf(to,
                   " debounce=%llu",
                   (unsigned long long)observation->gates.debounce_ms);
    }
}

/* Since that seq, if the ring went round. */
static const char *run_ring_since(struct store_kit *kit, uint64_t since)
{
    static char copy[2000];
    struct buf text = {0};
    EXPECT_INT(engine_read_begin(&kit->engine, NULL), ERR_OK);
    EXPECT_INT(engine_take_runs(&kit->engine, since, on_ran, &text, NULL),
               ERR_OK);
    engine_read_end(&kit->engine);
    EXPECT(!engine_runs_are_waiting(&kit->engine));
    (void)snprintf(copy, sizeof copy, "%s", buf_text(&text));
    buf_release(&text);
    return copy;
}

static const char *run_ring(struct store_kit *kit)
{
    return run_ring_since(kit, 0);
}

static void open_both(struct store_kit *a, struct store_kit *b)
{
    kit_open_file(a, NULL);
    kit_open_beside(b, a);
    engine_listen(&a->engine, true);
    engine_listen(&b->engine, true);
}

static void close_both(struct store_kit *a, struct store_kit *b)
{
    kit_close(b);
    kit_close(a);
}

/* -- What is told -------------------------------------------------------- */

TEST(a_run_with_a_commit_is_told_to_the_other_and_not_to_its_author)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    observe_commit(&a,
                   "s1 1 | set C 1",
                   "p/a1 deep A.x shape B out C far s:D.y @3 debounce=5");
    EXPECT(engine_runs_are_waiting(&b.engine));
    EXPECT_TEXT(run_ring(&b),
                "p/a1@1 deep A/value/x shape B/value out C/value"
                " deep s:D/value/y @3 debounce=5");
    EXPECT_TEXT(run_ring(&b), "");
    EXPECT_TEXT(run_ring(&a), "");
    /* Only digests came; all of it is told. */
    observe_commit(&a,
                   "s1 2 | set C 2",
                   "p/a1 same deep A.x shape B out C far s:D.y @4 debounce=5");
    EXPECT_TEXT(run_ring(&b),
                "p/a1@2 deep A/value/x shape B/value out C/value"
                " deep s:D/value/y @4 debounce=5");
    close_both(&a, &b);
}

TEST(a_run_without_a_commit_is_told_too)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_TEXT(run_ring(&b), "");
    const uint64_t changes = database_changes(&b.engine.database);
    observe_alone(&a, 2, "p/a1 deep A out C");
    EXPECT(database_changes(&b.engine.database) !=
           changes); /* a poll sees it */
    EXPECT_TEXT(run_ring(&b), "p/a1@1 deep A/value out C/value");
    observe_alone(&a, 3, "p/a1 same deep A out C fail=x");
    EXPECT_TEXT(run_ring(&b), "p/a1@1 failed deep A/value out C/value");
    close_both(&a, &b);
}

TEST(what_was_dropped_rolled_back_or_replayed_is_not_told)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    observe_commit(&a, "s1 1 | set A 1", "p/a1 same deep A out C");
    EXPECT_TEXT(observe_verdict(&a), "1 dropped 0=set-unknown");
    EXPECT_TEXT(run_ring(&b), "");
    observe_alone(&a, 2, "p/a1 deep A out C basis=0");
    EXPECT_TEXT(observe_verdict(&a), "1 dropped 0=stale");
    EXPECT_TEXT(run_ring(&b), "");
    observe_commit(&a, "s1 3 | set C 1", "p/a1 deep A out C");
    EXPECT_TEXT(run_ring(&b), "p/a1@2 deep A/value out C/value");
    observe_commit(&a, "s1 3 | set C 1", "p/a1 deep A out C");
    EXPECT_TEXT(run_ring(&b), "");
    /* And a set that is not known any more. */
    observe_commit(&a, "s1 4 | set C 2", "p/a1 same deep B out C");
    EXPECT_TEXT(run_ring(&b), "");
    close_both(&a, &b);
}

static int refuse(void *ctx)
{
    (void)ctx;
    return 1;
}

TEST(a_group_that_fails_is_not_told)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    (void)sqlite3_commit_hook(a.engine.database.db, refuse, NULL);
    observe_commit(&a, "s1 1 | set C 1", "p/a1 deep A out C");
    EXPECT(a.fault != ERR_OK);
    EXPECT_TEXT(run_ring(&b), "");
    (void)sqlite3_commit_hook(a.engine.database.db, NULL, NULL);
    observe_commit(&a, "s1 1 | set C 1", "p/a2 deep A out C");
    EXPECT_TEXT(run_ring(&b), "p/a2@1 deep A/value out C/value");
    close_both(&a, &b);
}

TEST(what_is_somebodys_own_is_not_told)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    a.principal = "alice";
    observe_commit(&a, "s1 1 | set C 1", "p/a1 deep A~user out C");
    observe_commit(&a, "s1 2 | set C 2", "p/a2 deep A~session out C");
    EXPECT_TEXT(run_ring(&b), "");
    close_both(&a, &b);
}

TEST(each_run_is_told_with_its_branch_and_only_of_the_generation_that_is)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&a, "f", "", 1), ERR_OK);
    observe_commit(&a, "s1 2 | branch f | set C 1", "p/a1 deep A out C");
    EXPECT_TEXT(run_ring(&b), "f/p/a1@2 deep A/value out C/value");
    observe_commit(&a, "s1 3 | set C 1", "p/a1 deep A out C gen=1");
    observe_commit(&a, "s1 4 | set C 2", "p/a2 deep A out C gen=2");
    EXPECT_TEXT(run_ring(&b), "p/a2@4 deep A/value out C/value");
    observe_commit(&a, "s1 5 | set C 3", "p/a2 deep A out C gen=2");
    EXPECT_INT(engine_piece_forget(&a.engine,
                                   value_text_new(""),
                                   value_text_new("p"),
                                   NULL),
               ERR_OK);
    EXPECT_TEXT(run_ring(&b), "");
    close_both(&a, &b);
}

TEST(who_ran_it_after_the_other_is_not_told_of_it)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    observe_commit(&a, "s1 1 | set C 1", "p/a1 deep A out C");
    observe_commit(&a, "s1 2 | set D 1", "p/a2 deep A out D");
    observe_commit(&b, "s2 1 | set C 2", "p/a1 deep A out C");
    EXPECT(engine_runs_are_waiting(&b.engine));
    EXPECT_TEXT(run_ring(&b), "p/a2@2 deep A/value out D/value");
    EXPECT_TEXT(run_ring(&a), "p/a1@3 deep A/value out C/value");
    close_both(&a, &b);
}

/* The watermark of what its admission has not proved. */
TEST(a_commit_that_does_not_prove_its_reads_is_told_with_its_basis)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&a, 2, "s1 2 | set B 1");
    observe_commit(&a, "s1 3 | set C 1", "p/a1 deep A out C basis=1");
    EXPECT_TEXT(run_ring(&b), "p/a1@1 deep A/value out C/value");
    close_both(&a, &b);
}

TEST(a_read_that_began_before_it_is_told_of_it_the_next_time)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    observe_commit(&a, "s1 1 | set C 1", "p/a1 deep A out C");
    EXPECT_TEXT(run_ring(&b), "p/a1@1 deep A/value out C/value");
    struct buf text = {0};
    EXPECT_INT(engine_read_begin(&b.engine, NULL), ERR_OK);
    observe_commit(&a, "s1 2 | set C 2", "p/a1 same deep A out C");
    EXPECT_INT(engine_take_runs(&b.engine, 0, on_ran, &text, NULL), ERR_OK);
    engine_read_end(&b.engine);
    EXPECT_TEXT(buf_text(&text), "");
    buf_release(&text);
    EXPECT_TEXT(run_ring(&b), "p/a1@2 deep A/value out C/value");
    close_both(&a, &b);
}

/* -- Too much ------------------------------------------------------------ */

TEST(n3_who_has_missed_words_is_told_of_all_since_then)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    observe_commit(&a, "s1 1 | set C 1", "p/a1 deep A out C");
    observe_commit(&a, "s1 2 | set D 1", "p/a2 deep A out D");
    EXPECT_LANDED(&a, 3, "s1 3 | set E 1");
    EXPECT_TEXT(run_ring(&b),
                "p/a1@1 deep A/value out C/value;"
                " p/a2@2 deep A/value out D/value");
    uint64_t local_seq = 4;
    for (unsigned i = 0; i <= RUN_RING_SIZE / 50; i++) {
        const char *batch[51];
        for (unsigned j = 0; j < COUNT_OF(batch); j++) {
            batch[j] = "p/a2 same deep A out D";
        }
        observe_batch(&a, "s1", local_seq++, batch, COUNT_OF(batch));
    }
    EXPECT_TEXT(run_ring_since(&b, 3), "p/a2@3 deep A/value out D/value");
    observe_commit(&a, "s1 999 | set C 2", "p/a1 deep A out C");
    EXPECT_TEXT(run_ring_since(&b, 3), "p/a1@4 deep A/value out C/value");
    close_both(&a, &b);
}

/* -- Damage -------------------------------------------------------------- */

TEST(rows_that_do_not_fit_together_are_not_told)
{
    static const char *const damages[] = {
        "UPDATE action SET sum = sum + 1",
        "UPDATE action SET kind = 1",
        "UPDATE action SET kind = 9",
        "UPDATE action SET sets = zeroblob(64)",
        "UPDATE action SET sets = 'x'",
        "UPDATE action SET name = zeroblob(3)",
        "UPDATE action SET gates = '1 2'",
        "UPDATE action SET fingerprint = 99",
        "UPDATE action SET scope = 'user:x'",
        "UPDATE action SET generation = generation + 1",
        "DELETE FROM action",
        "UPDATE run SET seq = seq - 1",
        "UPDATE run SET seq = NULL",
        "UPDATE run SET mark = mark + 1",
        "UPDATE run SET error = x'00'",
        "UPDATE run SET elsewhere = '[1]'",
        "DELETE FROM run",
        "UPDATE place SET path = 'x'",
        "UPDATE place SET id = id || 'x'",
        "UPDATE place SET scope = 'user:x'",
        "DELETE FROM place",
        "DELETE FROM edge",
        "UPDATE edge SET edge = edge + 1",
        "UPDATE piece SET branch = 99",
        "UPDATE piece SET id = NULL",
        "DELETE FROM piece",
        "DELETE FROM fingerprint",
        "UPDATE fingerprint SET schema = x'00'",
    };
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct store_kit a;
        struct store_kit b;
        open_both(&a, &b);
        EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
        observe_commit(&a, "s1 2 | set C 1", "p/a1 deep A");
        EXPECT_INT(
            sqlite3_exec(a.engine.database.db, damages[i], NULL, NULL, NULL),
            SQLITE_OK);
        if (strcmp(run_ring(&b), "") != 0) {
            (void)test_fail(__FILE__, __LINE__, "told after %s", damages[i]);
        }
        close_both(&a, &b);
    }
}

/* -- Who is there -------------------------------------------------------- */

TEST(who_listens_has_company_if_another_engine_does)
{
    struct store_kit a;
    struct store_kit b;
    kit_open_file(&a, NULL);
    kit_open_beside(&b, &a);
    EXPECT(!engine_has_peers(&a.engine));
    engine_listen(&a.engine, true);
    EXPECT(!engine_has_peers(&a.engine)); /* it does not count itself */
    EXPECT(engine_has_peers(&b.engine));
    engine_listen(&b.engine, true);
    EXPECT(engine_has_peers(&a.engine));
    EXPECT_LANDED(&b, 1, "s1 1 | set A 1"); /* the other locks are others */
    EXPECT(engine_has_peers(&a.engine));
    engine_listen(&b.engine, false);
    EXPECT(!engine_has_peers(&a.engine));
    engine_listen(&b.engine, true);
    kit_close(&b);
    EXPECT(!engine_has_peers(&a.engine));
    kit_close(&a);
}

TEST(in_memory_there_is_nobody)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    engine_listen(&kit.engine, true);
    EXPECT(!engine_has_peers(&kit.engine));
    observe_commit(&kit, "s1 1 | set C 1", "p/a1 deep A out C");
    EXPECT(!engine_runs_are_waiting(&kit.engine));
    EXPECT_TEXT(run_ring(&kit), "");
    kit_close(&kit);
}

/* A child on the same file that says something and is killed. */
static pid_t begin_child(const char *path, int ready[2])
{
    CHECK(pipe(ready) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) {
        (void)close(ready[1]);
        return child;
    }
    const struct engine_options options = {.path = path};
    struct store_kit kit = {0};
    if (engine_open(&kit.engine, &options, NULL) != ERR_OK) {
        _exit(1);
    }
    engine_listen(&kit.engine, true);
    observe_commit(&kit, "s9 1 | set C 1", "p/a1 deep A out C");
    (void)!write(ready[1], "x", 1);
    (void)pause();
    _exit(1);
}

TEST(a_process_that_is_killed_has_said_what_it_said_and_is_company_no_more)
{
    struct store_kit kit;
    char folder[256];
    char path[300];
    char byte;
    int ready[2];
    kit_folder_new(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/space.db", folder);
    const pid_t child = begin_child(path, ready); /* before a file is open */
    CHECK(read(ready[0], &byte, 1) == 1);
    (void)close(ready[0]);
    const struct engine_options options = {.path = path};
    memset(&kit, 0, sizeof kit);
    EXPECT_INT(engine_open(&kit.engine, &options, NULL), ERR_OK);
    EXPECT(engine_has_peers(&kit.engine));
    engine_listen(&kit.engine, true);
    EXPECT(!engine_runs_are_waiting(&kit.engine)); /* that was before */
    CHECK(kill(child, SIGKILL) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
    EXPECT(!engine_has_peers(&kit.engine));
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    engine_close(&kit.engine);
    for (unsigned i = 0; i < KIT_TEXTS; i++) {
        buf_release(&kit.texts[i]);
    }
    kit_folder_remove(folder);
}

/* -- Files of others ----------------------------------------------------- */

/* One who may only read hears it as well, unless the lock file is of a program
 * that knew no words. */
TEST(b4_a_reader_hears_what_it_can)
{
    struct store_kit a;
    struct engine reader;
    char name[320];
    kit_open_file(&a, NULL);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    const struct engine_options options = {.path = a.path, .read_only = true};
    EXPECT_INT(engine_open(&reader, &options, NULL), ERR_OK);
    engine_listen(&reader, true);
    EXPECT(engine_has_peers(&a.engine));
    observe_commit(&a, "s1 2 | set C 1", "p/a1 deep A out C");
    EXPECT(engine_runs_are_waiting(&reader));
    engine_close(&reader);
    kit_close(&a);

    kit_open_file(&a, NULL);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    engine_close(&a.engine);
    (void)snprintf(name, sizeof name, "%s-lock", a.path);
    CHECK(truncate(name, 4096) == 0);
    const struct engine_options old = {.path = a.path, .read_only = true};
    EXPECT_INT(engine_open(&reader, &old, NULL), ERR_OK);
    engine_listen(&reader, true);
    EXPECT(database_changes(&reader.database) != 0); /* the counter is there */
    EXPECT(!engine_runs_are_waiting(&reader));
    engine_close(&reader);
    const struct engine_options again = {.path = a.path};
    EXPECT_INT(engine_open(&a.engine, &again, NULL), ERR_OK);
    observe_commit(&a, "s1 2 | set C 1", "p/a1 deep A out C");
    EXPECT_INT(a.fault, ERR_OK);
    kit_close(&a);
}

/* Where there is no room for the words, the counter is there as before. */
static int open_in_little_room(const char *path)
{
    struct database database;
    const struct database_options options = {.path = path};
    const struct rlimit least = {8192, 8192};
    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &least) != 0 ||
        database_open(&database, &options, NULL) != ERR_OK) {
        return 1;
    }
    return database.page != NULL && database.run_ring.ring == NULL ? 0 : 2;
}

TEST(a_lock_file_that_cannot_grow_has_its_counter_and_no_words)
{
    char folder[256];
    char path[300];
    char name[320];
    int status = 0;
    kit_folder_new(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/space.db", folder);
    (void)snprintf(name, sizeof name, "%s-lock", path);
    FILE *file = fopen(name, "w");
    CHECK(file != NULL && ftruncate(fileno(file), 4096) == 0);
    (void)fclose(file);
    const pid_t child = fork(); /* before a file is open */
    CHECK(child >= 0);
    if (child == 0) {
        _exit(open_in_little_room(path));
    }
    CHECK(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status));
    EXPECT_INT(WEXITSTATUS(status), 0);
    kit_folder_remove(folder);
}
