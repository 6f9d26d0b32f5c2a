/* A process that commits to a file until it is told to stop, or killed; and
 * one that looks at what is in the file then. test/e2e/store_kill.sh starts
 * them.
 *
 *   store_writer init FILE                makes the documents
 *   store_writer write FILE W [LEVEL]     writer number W, 0 to 7, at full or
 *                                         normal, until SIGTERM
 *   store_writer check FILE < ACKS        every line of ACKS is in the file
 *   store_writer hold FILE                says "held" and stops itself, inside
 *                                         of a transaction, until SIGCONT
 *
 * After each commit that landed, and not before, a writer prints what it was:
 * "SESSION LOCALSEQ SEQ". A round of a writer is
 *
 *   w   its own key of a document that all share, as read before: whatever the
 *       others do to their keys, that never conflicts
 *   g   a group of three commits on a document of its own
 *   c   one more in a counter that all share, as read at the beginning of the
 *       round; read and tried again on a conflict
 *
 * each in a session of its own ("w3", "c3", "g3"). */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/engine.h"
#include "store/maintain.h"
#include "store/verify.h"
#include "value/json.h"
#include "value/object.h"

enum {
    WRITERS_MAX = 8,
    GROUP = 3,
    WAL_BYTES_MAX = 128 * 1024, /* many checkpoints */
    COMPACT_EVERY = 64,         /* rounds of writer 0 */
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static bool complain(const char *what, const char *why)
{
    (void)fprintf(stderr, "store_writer: %s: %s\n", what, why);
    return false;
}

static bool open_file(struct engine *engine,
                      const char *path,
                      enum durability durability)
{
    const struct engine_options options = {
        .path = path,
        .durability = durability,
        .snapshot_patches = 20,
    };
    struct err_detail detail = {0};
    if (engine_open(engine, &options, &detail) != ERR_OK) {
        return complain("open", detail.text);
    }
    engine->database.wal_bytes_max = WAL_BYTES_MAX;
    return true;
}

/* The first number of the first row; 0 if there is none. `text` and `number`
 * are its parameters. */
static uint64_t ask(struct engine *engine,
                    const char *sql,
                    const char *text,
                    uint64_t number)
{
    sqlite3_stmt *stmt = NULL;
    uint64_t answer = 0;
    int code = sqlite3_prepare_v2(engine->database.db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)number);
        code = sqlite3_step(stmt);
    }
    if (code == SQLITE_ROW) {
        answer = (uint64_t)sqlite3_column_int64(stmt, 0);
    } else if (code != SQLITE_DONE) {
        (void)complain(sql, sqlite3_errmsg(engine->database.db));
    }
    (void)sqlite3_finalize(stmt);
    return answer;
}

/* -- Commits ------------------------------------------------------------- */

static void read_commit(struct engine *engine,
                        const struct buf *text,
                        struct commit *out)
{
    struct value value = VALUE_NONE;
    CHECK(json_read(text->at, text->length, NULL, &value, NULL) == ERR_OK);
    CHECK(commit_read(value, &engine->paths, out, NULL) == ERR_OK);
    value_unref(value);
}

/* Commits a group and prints what landed. *refused is the first refusal. */
static bool commit_group(struct engine *engine,
                         const struct buf *texts,
                         size_t count,
                         enum err *refused)
{
    struct commit commits[GROUP];
    struct engine_request requests[GROUP];
    struct err_detail detail = {0};
    for (size_t i = 0; i < count; i++) {
        read_commit(engine, &texts[i], &commits[i]);
        requests[i] = (struct engine_request){
            .commit = &commits[i],
            .principal = VALUE_NONE,
        };
    }
    const enum err err = engine_commit(engine, requests, count, &detail);
    *refused = ERR_OK;
    for (size_t i = 0; i < count; i++) {
        const struct verdict *verdict = &requests[i].verdict;
        const struct text session = value_text(&commits[i].session);
        if (err == ERR_OK && verdict->err == ERR_OK) {
            (void)printf("%.*s %" PRIu64 " %" PRIu64 "\n",
                         (int)session.length,
                         session.at,
                         commits[i].local_seq,
                         verdict->seq);
        } else if (*refused == ERR_OK) {
            *refused = verdict->err;
            detail = verdict->detail;
        }
        verdict_release(&requests[i].verdict);
        commit_release(&commits[i]);
    }
    (void)fflush(stdout);
    if (err != ERR_OK || (*refused != ERR_OK && *refused != ERR_CONFLICT)) {
        return complain("commit", detail.text);
    }
    return true;
}

static bool commit_one(struct engine *engine,
                       struct buf *text,
                       enum err *refused)
{
    const bool held = commit_group(engine, text, 1, refused);
    buf_release(text);
    return held;
}

/* A number below "value" of a document, and the seq at which it was read. */
static bool read_number(struct engine *engine,
                        const char *id,
                        const char *key,
                        int64_t *number,
                        uint64_t *seq)
{
    const struct engine_address address = {
        .branch = value_string_new("", 0),
        .scope_key = value_string_new("space", 5),
        .id = value_string_new(id, strlen(id)),
    };
    struct value document = VALUE_NONE;
    struct err_detail detail = {0};
    const enum err err =
        engine_read(engine, &address, ENGINE_HEAD, &document, &detail);
    *seq = engine->seq;
    bool held = err == ERR_OK || complain("read", detail.text);
    if (held) {
        const struct value value =
            object_field(object_field(document, "value"), key);
        held = value_is_number(value) || complain("read", "no number");
        *number = held ? value_integer(value) : 0;
    }
    value_unref(document);
    value_unref(address.id);
    value_unref(address.scope_key);
    value_unref(address.branch);
    return held;
}

/* -- Writing ------------------------------------------------------------- */

struct writer {
    struct engine engine;
    unsigned number;
    uint64_t local_seq[3]; /* of w, c and g: the last one */
    uint64_t rounds;
    uint64_t conflicts;
};

static uint64_t last_local_seq(struct writer *writer, char kind)
{
    char session[16];
    (void)snprintf(session, sizeof session, "%c%u", kind, writer->number);
    return ask(&writer->engine,
               "SELECT local_seq FROM \"commit\" JOIN session USING(session)"
               " WHERE key = ?1 ORDER BY local_seq DESC LIMIT 1",
               session,
               0);
}

/* A replacement of a number that was read just before. */
static struct buf replace_text(const struct writer *writer,
                               char kind,
                               uint64_t local_seq,
                               const char *id,
                               const char *key,
                               int64_t number,
                               uint64_t read_seq)
{
    struct buf text = {0};
    buf_printf(&text,
               "{\"session\":\"%c%u\",\"localSeq\":%" PRIu64
               ",\"reads\":{\"confirmed\":[{\"id\":\"%s\","
               "\"path\":[\"value\",\"%s\"],\"seq\":%" PRIu64 "}]},"
               "\"operations\":[{\"op\":\"patch\",\"id\":\"%s\",\"patches\":"
               "[{\"op\":\"replace\",\"path\":\"/value/%s\",\"value\":%" PRId64
               "}]}]}",
               kind,
               writer->number,
               local_seq,
               id,
               key,
               read_seq,
               id,
               key,
               number);
    return text;
}

static bool write_key(struct writer *writer)
{
    char key[16];
    int64_t number = 0;
    uint64_t seq = 0;
    enum err refused = ERR_OK;
    (void)snprintf(key, sizeof key, "k%u", writer->number);
    if (!read_number(&writer->engine, "shared", key, &number, &seq)) {
        return false;
    }
    struct buf text = replace_text(writer,
                                   'w',
                                   ++writer->local_seq[0],
                                   "shared",
                                   key,
                                   number + 1,
                                   seq);
    return commit_one(&writer->engine, &text, &refused) &&
           (refused == ERR_OK || complain("a key of its own", "conflict"));
}

static bool write_group(struct writer *writer)
{
    struct buf texts[GROUP] = {{0}};
    enum err refused = ERR_OK;
    for (size_t i = 0; i < GROUP; i++) {
        const uint64_t number = ++writer->local_seq[2];
        buf_printf(&texts[i],
                   "{\"session\":\"g%u\",\"localSeq\":%" PRIu64
                   ",\"operations\":[{\"op\":\"set\",\"id\":\"own%u\","
                   "\"value\":{\"value\":{\"n\":%" PRIu64 ",\"pad\":\"%*s\"}}}"
                   "]}",
                   writer->number,
                   number,
                   writer->number,
                   number,
                   (int)(number * 37 % 3000),
                   "");
    }
    const bool held = commit_group(&writer->engine, texts, GROUP, &refused);
    for (size_t i = 0; i < GROUP; i++) {
        buf_release(&texts[i]);
    }
    return held && (refused == ERR_OK || complain("a group", "conflict"));
}

/* One more than was read. */
static bool try_counter(struct writer *writer,
                        int64_t number,
                        uint64_t seq,
                        enum err *refused)
{
    struct buf text = replace_text(writer,
                                   'c',
                                   writer->local_seq[1],
                                   "counter",
                                   "n",
                                   number + 1,
                                   seq);
    const bool held = commit_one(&writer->engine, &text, refused);
    writer->conflicts += held && *refused != ERR_OK ? 1 : 0;
    return held;
}

/* `number` was read at `seq`, a while ago. */
static bool write_counter(struct writer *writer, int64_t number, uint64_t seq)
{
    enum err refused = ERR_OK;
    writer->local_seq[1]++;
    bool held = try_counter(writer, number, seq, &refused);
    while (held && refused != ERR_OK && !stopped) {
        held = read_number(&writer->engine, "counter", "n", &number, &seq) &&
               try_counter(writer, number, seq, &refused);
    }
    return held;
}

/* The counter is read first and written last, so that others come between. */
static bool write_round(struct writer *writer)
{
    int64_t number = 0;
    uint64_t seq = 0;
    return read_number(&writer->engine, "counter", "n", &number, &seq) &&
           write_key(writer) && write_group(writer) &&
           write_counter(writer, number, seq);
}

static bool compact(struct writer *writer)
{
    struct compact_counts counts;
    struct err_detail detail = {0};
    const uint64_t seq = writer->engine.seq;
    const uint64_t keep_from = seq > 100 ? seq - 100 : 0;
    return engine_compact(&writer->engine,
                          keep_from,
                          NULL,
                          NULL,
                          &counts,
                          &detail) == ERR_OK ||
           complain("compact", detail.text);
}

static bool write_until_stopped(struct writer *writer)
{
    bool held = true;
    writer->local_seq[0] = last_local_seq(writer, 'w');
    writer->local_seq[1] = last_local_seq(writer, 'c');
    writer->local_seq[2] = last_local_seq(writer, 'g');
    while (held && !stopped) {
        writer->rounds++;
        held = write_round(writer);
        if (held && writer->number == 0 &&
            writer->rounds % COMPACT_EVERY == 0) {
            held = compact(writer);
        }
    }
    (void)fprintf(stderr,
                  "writer %u: %" PRIu64 " rounds, %" PRIu64 " conflicts\n",
                  writer->number,
                  writer->rounds,
                  writer->conflicts);
    return held;
}

static bool run_write(const char *path, const char *number, const char *level)
{
    struct writer writer = {.number = (unsigned)(number[0] - '0')};
    const bool normal = level != NULL && strcmp(level, "normal") == 0;
    if (writer.number >= WRITERS_MAX || number[1] != '\0') {
        return complain("write", "the number of a writer is 0 to 7");
    }
    if (!open_file(&writer.engine,
                   path,
                   normal ? DURABILITY_NORMAL : DURABILITY_FULL)) {
        return false;
    }
    const bool held = write_until_stopped(&writer);
    engine_close(&writer.engine);
    return held;
}

static bool run_init(const char *path)
{
    struct engine engine;
    enum err refused = ERR_OK;
    if (!open_file(&engine, path, DURABILITY_FULL)) {
        return false;
    }
    struct buf text = {0};
    buf_append_text(&text,
                    "{\"session\":\"init\",\"localSeq\":1,\"operations\":["
                    "{\"op\":\"set\",\"id\":\"counter\","
                    "\"value\":{\"value\":{\"n\":0}}},"
                    "{\"op\":\"set\",\"id\":\"shared\",\"value\":{\"value\":{");
    for (unsigned i = 0; i < WRITERS_MAX; i++) {
        buf_printf(&text, "%s\"k%u\":0", i > 0 ? "," : "", i);
    }
    buf_append_text(&text, "}}}]}");
    const bool held = commit_one(&engine, &text, &refused);
    engine_close(&engine);
    return held && refused == ERR_OK;
}

/* With a ticket of the queue, too, as for the retry of a commit. */
static bool run_hold(const char *path)
{
    struct engine engine;
    struct err_detail detail = {0};
    if (!open_file(&engine, path, DURABILITY_FULL)) {
        return false;
    }
    enum err err = database_reserve(&engine.database, &detail);
    if (err == ERR_OK) {
        database_unreserve(&engine.database, true);
        err = engine_write_begin(&engine, &detail);
    }
    if (err == ERR_OK) {
        (void)puts("held");
        (void)fflush(stdout);
        (void)raise(SIGSTOP);
        err = engine_write_end(&engine, ERR_OK, &detail);
    }
    engine_close(&engine);
    return err == ERR_OK || complain("hold", detail.text);
}

/* -- Checking ------------------------------------------------------------ */

static void on_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    (void)complain("engine_verify", sentence);
}

static bool verify(struct engine *engine, struct verify_counts *counts)
{
    const struct verify_options options = {.difference = on_difference};
    struct err_detail detail = {0};
    return (engine_verify(engine, &options, counts, &detail) == ERR_OK ||
            complain("engine_verify", detail.text)) &&
           counts->differences == 0;
}

/* "SESSION LOCALSEQ SEQ\n", cut at the blanks; false if it is not that: a
 * writer that was killed may have left half a line. */
static bool parse_line(char *line, uint64_t *local_seq, uint64_t *seq)
{
    char *first = strchr(line, ' ');
    char *second = first != NULL ? strchr(first + 1, ' ') : NULL;
    if (second == NULL || strchr(second, '\n') == NULL) {
        return false;
    }
    *first = '\0';
    *second = '\0';
    *local_seq = strtoull(first + 1, NULL, 10);
    *seq = strtoull(second + 1, NULL, 10);
    return true;
}

/* Every line of the input: its commit is there, at that seq. */
static bool check_acknowledged(struct engine *engine, uint64_t *count)
{
    char line[128];
    bool held = true;
    while (fgets(line, (int)sizeof line, stdin) != NULL) {
        uint64_t local_seq = 0;
        uint64_t seq = 0;
        if (!parse_line(line, &local_seq, &seq)) {
            continue;
        }
        (*count)++;
        const uint64_t found =
            ask(engine,
                "SELECT seq FROM \"commit\" JOIN session USING(session)"
                " WHERE key = ?1 AND local_seq = ?2",
                line,
                local_seq);
        if (found != seq) {
            (void)fprintf(stderr,
                          "lost: %s %" PRIu64 " at seq %" PRIu64 "\n",
                          line,
                          local_seq,
                          seq);
            held = false;
        }
    }
    return held;
}

/* A document counts the commits of a kind of session. */
static bool check_number(struct engine *engine,
                         const char *id,
                         const char *key,
                         const char *sessions)
{
    int64_t number = 0;
    uint64_t seq = 0;
    const uint64_t commits =
        ask(engine,
            "SELECT count(*) FROM \"commit\" JOIN session USING(session)"
            " WHERE key GLOB ?1",
            sessions,
            0);
    return read_number(engine, id, key, &number, &seq) &&
           ((uint64_t)number == commits || complain("miscounted", key));
}

/* Groups are there whole, and the last one is what the document holds. */
static bool check_group(struct engine *engine, unsigned writer)
{
    char id[16];
    char session[16];
    (void)snprintf(id, sizeof id, "own%u", writer);
    (void)snprintf(session, sizeof session, "g%u", writer);
    const uint64_t commits =
        ask(engine,
            "SELECT count(*) FROM \"commit\" JOIN session USING(session)"
            " WHERE key GLOB ?1",
            session,
            0);
    if (commits == 0) {
        return true;
    }
    return (commits % GROUP == 0 || complain("a group in part", session)) &&
           check_number(engine, id, "n", session);
}

static bool run_check(const char *path)
{
    struct engine engine;
    struct verify_counts counts = {0};
    uint64_t acknowledged = 0;
    if (!open_file(&engine, path, DURABILITY_FULL)) {
        return false;
    }
    bool held = verify(&engine, &counts);
    held = check_acknowledged(&engine, &acknowledged) && held;
    held = check_number(&engine, "counter", "n", "c?") && held;
    for (unsigned i = 0; i < WRITERS_MAX; i++) {
        char key[16];
        char session[16];
        (void)snprintf(key, sizeof key, "k%u", i);
        (void)snprintf(session, sizeof session, "w%u", i);
        held = check_number(&engine, "shared", key, session) && held;
        held = check_group(&engine, i) && held;
    }
    engine_close(&engine);
    (void)printf("%" PRIu64 " acknowledged\n", acknowledged);
    return held;
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGTERM, &action, NULL);
    bool held = false;
    if (argc == 3 && strcmp(argv[1], "init") == 0) {
        held = run_init(argv[2]);
    } else if ((argc == 4 || argc == 5) && strcmp(argv[1], "write") == 0) {
        held = run_write(argv[2], argv[3], argc == 5 ? argv[4] : NULL);
    } else if (argc == 3 && strcmp(argv[1], "check") == 0) {
        held = run_check(argv[2]);
    } else if (argc == 3 && strcmp(argv[1], "hold") == 0) {
        held = run_hold(argv[2]);
    } else {
        (void)complain("usage",
                       "init FILE | write FILE W [LEVEL] | check FILE | "
                       "hold FILE");
    }
    return held ? EXIT_SUCCESS : EXIT_FAILURE;
}
