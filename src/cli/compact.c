/* heddle store compact: makes the file of a space smaller, while other
 * processes use it.
 *
 * Four stages, each in small transactions: folding (store/maintain.h), the
 * removal of rows (store/retention.h), the removal of what is remembered of
 * runs (store/observations.h), and the return of pages. A signal ends it after
 * the step at hand; what was done is printed all the same, also if a step
 * failed. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/store.h"
#include "store/observations.h"
#include "store/retention.h"
#include "value/object.h"

struct compaction {
    const struct options *options;
    struct engine engine;
    struct retention retention;
    uint64_t keep_from;
    bool on_terminal;
    const char *stage; /* what is being done, for people */
    struct err_detail detail;

    struct compact_counts folded;
    struct retire_counts retired;
    struct collect_counts collected;
    struct shrink_counts shrunk;
    uint64_t bytes_before;
    uint64_t bytes_after;
    bool interrupted;
};

/* -- Signals and progress ------------------------------------------------ */

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    stopped = number;
}

/* The second signal of a kind ends the process. */
static void listen_to_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static bool was_stopped(void *ctx)
{
    (void)ctx;
    return stopped != 0;
}

static bool show_progress(void *ctx, uint64_t done, uint64_t total)
{
    const struct compaction *compaction = ctx;
    if (compaction->on_terminal) {
        (void)fprintf(stderr, "\r\033[K%s", compaction->stage);
        if (total > 0) {
            (void)fprintf(stderr, ": %" PRIu64 " of %" PRIu64, done, total);
        }
    }
    return stopped == 0;
}

static bool show_steps(void *ctx, uint64_t done)
{
    return show_progress(ctx, done, 0);
}

/* -- The work ------------------------------------------------------------ */

static uint64_t wall_ms(void)
{
    struct timespec now = {0};
    (void)timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int read_options(struct compaction *compaction)
{
    const struct options *options = compaction->options;
    const struct option_values *given = &options->values;
    struct retention *retention = &compaction->retention;
    uint64_t seconds = 0;
    *retention = retention_default(wall_ms());
    int code = store_read_number(options,
                                 "--keep-from",
                                 given->keep_from,
                                 ENGINE_HEAD,
                                 &compaction->keep_from);
    if (code == CODE_OK) {
        code = store_read_number(options,
                                 "--keep-commits",
                                 given->keep_commits,
                                 retention->commits,
                                 &retention->commits);
    }
    if (code == CODE_OK) {
        code = store_read_number(options,
                                 "--keep-age",
                                 given->keep_age,
                                 retention->receipts_ms / 1000,
                                 &seconds);
    }
    retention->receipts_ms =
        seconds < UINT64_MAX / 1000 ? seconds * 1000 : UINT64_MAX;
    return code;
}

/* What the file has, or will have when the WAL has been moved into it. */
static uint64_t file_bytes(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 ? (uint64_t)found.st_size : 0;
}

static enum err used_bytes(struct engine *engine,
                           uint64_t *all,
                           uint64_t *free_bytes,
                           struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_FILE_BYTES);
    if (query_step(&query)) {
        *all = query_get_int(&query, 0);
        *free_bytes = query_get_int(&query, 1);
    }
    return query_end(&query, detail);
}

static enum err run_stages(struct compaction *compaction)
{
    struct engine *engine = &compaction->engine;
    struct err_detail *detail = &compaction->detail;
    compaction->stage = "folding documents";
    enum err err = engine_compact(engine,
                                  compaction->keep_from,
                                  show_progress,
                                  compaction,
                                  &compaction->folded,
                                  detail);
    compaction->stage = "removing rows";
    if (err == ERR_OK && stopped == 0) {
        err = engine_retire(engine,
                            &compaction->retention,
                            show_progress,
                            compaction,
                            &compaction->retired,
                            detail);
    }
    compaction->stage = "reading the recorded runs";
    if (err == ERR_OK && stopped == 0) {
        err = engine_collect(engine,
                             show_steps,
                             compaction,
                             &compaction->collected,
                             detail);
    }
    compaction->stage = "returning pages";
    if (err == ERR_OK && stopped == 0) {
        err = engine_shrink(engine,
                            show_progress,
                            compaction,
                            &compaction->shrunk,
                            detail);
    }
    return err;
}

/* -- --full -------------------------------------------------------------- */

/* Where SQLite puts the copy that it makes on the way. */
static const char *temporary_folder(void)
{
    static const char *const names[] = {"SQLITE_TMPDIR", "TMPDIR"};
    static const char *const folders[] = {"/var/tmp", "/usr/tmp", "/tmp"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *folder = getenv(names[i]);
        if (folder != NULL && access(folder, W_OK | X_OK) == 0) {
            return folder;
        }
    }
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        if (access(folders[i], W_OK | X_OK) == 0) {
            return folders[i];
        }
    }
    return ".";
}

static enum err check_room(const char *folder,
                           uint64_t need,
                           struct err_detail *detail)
{
    struct statvfs room;
    if (statvfs(folder, &room) != 0) {
        return ERR_OK; /* then the work itself says so */
    }
    const uint64_t there = (uint64_t)room.f_bavail * room.f_frsize;
    return there >= need
               ? ERR_OK
               : err_set(detail,
                         ERR_FULL,
                         "--full needs %" PRIu64 " KiB in %s, and %" PRIu64
                         " KiB are free: make room, or set TMPDIR",
                         need / 1024,
                         folder,
                         there / 1024);
}

/* One copy in each folder, or both in one file system. */
static enum err check_rooms(struct compaction *compaction)
{
    const char *file = store_file(compaction->options);
    const char *slash = strrchr(file, '/');
    const char *temporary = temporary_folder();
    struct stat one = {0};
    struct stat other = {0};
    struct buf folder = {0};
    uint64_t all = 0;
    uint64_t unused = 0;
    buf_append(&folder,
               slash == NULL ? "." : file,
               slash == NULL ? 1 : (size_t)(slash - file) + 1);
    enum err err =
        used_bytes(&compaction->engine, &all, &unused, &compaction->detail);
    const uint64_t need = (all - unused) + (all - unused) / 8;
    const bool together = stat(buf_text(&folder), &one) == 0 &&
                          stat(temporary, &other) == 0 &&
                          one.st_dev == other.st_dev;
    if (err == ERR_OK) {
        err = check_room(buf_text(&folder),
                         together ? 2 * need : need,
                         &compaction->detail);
    }
    if (err == ERR_OK && !together) {
        err = check_room(temporary, need, &compaction->detail);
    }
    buf_release(&folder);
    return err;
}

static enum err run_full(struct compaction *compaction)
{
    compaction->stage = "rewriting the file; other writers wait";
    enum err err = check_rooms(compaction);
    if (err == ERR_OK) {
        err = engine_rewrite(&compaction->engine,
                             show_progress,
                             compaction,
                             &compaction->detail);
    }
    if (err == ERR_OK) {
        compaction->shrunk = (struct shrink_counts){0};
    }
    return err;
}

/* -- Telling ------------------------------------------------------------- */

struct counted {
    const char *name; /* "revisionsRemoved" without its end */
    uint64_t count;
};

enum {
    COUNTED = 6
};

static void list_counts(const struct compaction *compaction,
                        struct counted *out)
{
    const struct counted all[COUNTED] = {
        {"revisions", compaction->folded.revisions},
        {"snapshots", compaction->folded.snapshots},
        {"receipts", compaction->retired.receipts},
        {"commits", compaction->retired.commits},
        {"sessions", compaction->retired.sessions},
        {"actions", compaction->collected.actions},
    };
    memcpy(out, all, sizeof all);
}

static uint64_t returned_bytes(const struct compaction *compaction)
{
    return compaction->bytes_before > compaction->bytes_after
               ? compaction->bytes_before - compaction->bytes_after
               : 0;
}

static void print_object(const struct compaction *compaction)
{
    struct value object = value_empty_object();
    struct counted counts[COUNTED];
    list_counts(compaction, counts);
    object_put_number(&object, "horizon", compaction->folded.horizon);
    object_put_number(&object, "documents", compaction->folded.documents);
    for (size_t i = 0; i < COUNTED; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%sRemoved", counts[i].name);
        object_put_number(&object, name, counts[i].count);
    }
    object_put_number(&object, "bytes", compaction->bytes_after);
    object_put_number(&object, "bytesReturned", returned_bytes(compaction));
    object_put_number(&object, "freePages", compaction->shrunk.left);
    object_put_adopt(&object,
                     "interrupted",
                     value_bool(compaction->interrupted));
    store_print_adopt(compaction->options, object);
}

static void print_lines(const struct compaction *compaction)
{
    struct counted counts[COUNTED];
    list_counts(compaction, counts);
    (void)printf("history begins at seq %" PRIu64 "\nremoved:",
                 compaction->folded.horizon);
    for (size_t i = 0; i < COUNTED; i++) {
        (void)printf("%s %" PRIu64 " %s",
                     i > 0 ? "," : "",
                     counts[i].count,
                     counts[i].name);
    }
    (void)printf("\nreturned %" PRIu64 " KiB to the file system; the file has "
                 "%" PRIu64 " KiB\n",
                 returned_bytes(compaction) / 1024,
                 compaction->bytes_after / 1024);
    if (compaction->shrunk.cannot && compaction->shrunk.left > 0) {
        (void)printf("%" PRIu64 " pages are free and stay in the file, because "
                     "an earlier version created it: --full "
                     "rewrites it\n",
                     compaction->shrunk.left);
    }
}

static int report(struct compaction *compaction, enum err err)
{
    const struct options *options = compaction->options;
    if (compaction->on_terminal) {
        (void)fprintf(stderr, "\r\033[K");
    }
    if (option_is_given(options, OPTION_JSON)) {
        print_object(compaction);
    } else {
        print_lines(compaction);
    }
    if (compaction->interrupted) {
        (void)fprintf(stderr,
                      "heddle: interrupted; run it again to "
                      "continue\n");
        return CODE_NO;
    }
    return err == ERR_OK ? CODE_OK : store_report(options, &compaction->detail);
}

int store_compact(const struct options *options)
{
    struct compaction compaction = {
        .options = options,
        .on_terminal = isatty(STDERR_FILENO) != 0,
    };
    uint64_t unused = 0;
    int code = read_options(&compaction);
    if (code == CODE_OK) {
        listen_to_signals();
        code = store_open(options, was_stopped, &compaction.engine);
    }
    if (code != CODE_OK) {
        return code;
    }
    compaction.folded.horizon = compaction.engine.horizon;
    enum err err = used_bytes(&compaction.engine,
                              &compaction.bytes_before,
                              &unused,
                              &compaction.detail);
    if (err == ERR_OK) {
        err = run_stages(&compaction);
    }
    if (err == ERR_OK && stopped == 0 &&
        option_is_given(options, OPTION_FULL)) {
        err = run_full(&compaction);
    }
    /* A step that was asked to stop says so in its own way. */
    compaction.interrupted = stopped != 0 && (err == ERR_OK || err == ERR_BUSY);
    engine_close(&compaction.engine);
    compaction.bytes_after = file_bytes(store_file(options));
    return report(&compaction, err);
}
