/* The floor of a sync server: libwebsockets and SQLite in one thread, with no
 * JSON, no conflict check, no sessions and no access control.
 *
 *   server_floor PORT none         acknowledges from memory: the wire's limit
 *   server_floor PORT sqlite FILE  one upsert per write, WAL, synchronous=FULL,
 *                                  one COMMIT per turn of the loop, then the
 *                                  acknowledgements: the floor
 *
 * Text frames, I is the number of a request:
 *
 *   sI DOC KEY VALUE  set        aI, and "cDOC KEY VALUE" to those who watch
 *   iI DOC KEY        increment  aI VALUE, and "cDOC KEY VALUE"
 *   wI DOC            watch      dI KEY=VALUE ...
 *   jI                join       frames "r" DOC KEY VALUE\n ..., then JI
 *
 *   floor-1  Nothing that depends on a write is queued before its COMMIT. */

#include <libwebsockets.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/vec.h"

enum {
    NAME_SIZE = 48,
    LINE_SIZE = 2048,
    FRAME_SIZE = 65536,
    FRAME_FULL = 60000, /* a frame of rows is sent when it is longer */
    CONNECTIONS_MAX = 20000,
};

/* Shared by all connections that it is queued for. */
struct frame {
    unsigned references;
    size_t length;
    unsigned char bytes[]; /* LWS_PRE, then the text */
};

struct connection {
    struct lws *wsi;
    int document; /* that it watches, or -1 */
    size_t next;  /* in `queue` */
    VEC(struct frame *) queue;
    VEC(char) part; /* of a frame that came in parts */
};

/* What waits for the COMMIT of this turn. */
struct held_frame {
    struct connection *to; /* NULL: it is closed */
    struct frame *frame;
};

struct document {
    char name[NAME_SIZE];
    VEC(struct connection *) watchers;
};

static struct floor_server {
    sqlite3 *db; /* NULL: there is no storage */
    sqlite3_stmt *set;
    sqlite3_stmt *increment;
    sqlite3_stmt *read;
    sqlite3_stmt *read_all;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    bool in_transaction;
    VEC(struct document) documents;
    VEC(struct held_frame) held;
} server;

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr,
                  "server_floor: %s: %s\n",
                  what,
                  server.db != NULL ? sqlite3_errmsg(server.db) : "");
    exit(1);
}

/* -- Frames -------------------------------------------------------------- */

static struct frame *frame_new(const char *text, size_t length)
{
    struct frame *frame = malloc(sizeof *frame + LWS_PRE + length);
    CHECK(frame != NULL);
    frame->references = 1;
    frame->length = length;
    memcpy(frame->bytes + LWS_PRE, text, length);
    return frame;
}

static void frame_unref(struct frame *frame)
{
    if (--frame->references == 0) {
        free(frame);
    }
}

static void queue_frame(struct connection *to, struct frame *frame)
{
    frame->references++;
    vec_push(&to->queue, frame);
    (void)lws_callback_on_writable(to->wsi);
}

/* Now, or after the COMMIT of this turn (floor-1). */
static void post_frame(struct connection *to, struct frame *frame)
{
    if (!server.in_transaction) {
        queue_frame(to, frame);
        return;
    }
    frame->references++;
    vec_push(&server.held, ((struct held_frame){to, frame}));
}

static void post_text(struct connection *to, const char *text, size_t length)
{
    struct frame *frame = frame_new(text, length);
    post_frame(to, frame);
    frame_unref(frame);
}

/* -- Storage ------------------------------------------------------------- */

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(server.db,
                           sql,
                           -1,
                           SQLITE_PREPARE_PERSISTENT,
                           &statement,
                           NULL) != SQLITE_OK) {
        fail(sql);
    }
    return statement;
}

static void open_file(const char *path)
{
    if (sqlite3_open(path, &server.db) != SQLITE_OK ||
        sqlite3_exec(server.db,
                     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                     "CREATE TABLE IF NOT EXISTS kv(doc TEXT, key TEXT, val,"
                     " PRIMARY KEY(doc, key)) WITHOUT ROWID;",
                     NULL,
                     NULL,
                     NULL) != SQLITE_OK) {
        fail(path);
    }
    server.set = prepare("INSERT INTO kv VALUES(?1, ?2, ?3)"
                         " ON CONFLICT DO UPDATE SET val = excluded.val");
    server.increment = prepare("INSERT INTO kv VALUES(?1, ?2, 1)"
                               " ON CONFLICT DO UPDATE SET val = val + 1"
                               " RETURNING val");
    server.read = prepare("SELECT key, val FROM kv WHERE doc = ?1");
    server.read_all = prepare("SELECT doc, key, val FROM kv");
    server.begin = prepare("BEGIN IMMEDIATE");
    server.commit = prepare("COMMIT");
}

static void run(sqlite3_stmt *statement)
{
    if (sqlite3_step(statement) != SQLITE_DONE) {
        fail("a transaction");
    }
    (void)sqlite3_reset(statement);
}

/* A set, or an increment if there is no value: then returns the new one. */
static long store(const char *document, const char *key, const char *value)
{
    if (server.db == NULL) {
        return 0;
    }
    if (!server.in_transaction) {
        run(server.begin);
        server.in_transaction = true;
    }
    sqlite3_stmt *statement = value != NULL ? server.set : server.increment;
    sqlite3_bind_text(statement, 1, document, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, key, -1, SQLITE_STATIC);
    if (value != NULL) {
        sqlite3_bind_text(statement, 3, value, -1, SQLITE_STATIC);
    }
    long result = 0;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        result = (long)sqlite3_column_int64(statement, 0);
        code = sqlite3_step(statement);
    }
    if (code != SQLITE_DONE) {
        fail("a write");
    }
    (void)sqlite3_reset(statement);
    return result;
}

/* The end of a turn: what was held is acknowledged. */
static void commit_turn(void)
{
    if (!server.in_transaction) {
        return;
    }
    run(server.commit);
    server.in_transaction = false;
    VEC_FOREACH (&server.held, held) {
        if (held->to != NULL) {
            queue_frame(held->to, held->frame);
        }
        frame_unref(held->frame);
    }
    vec_clear(&server.held);
}

/* -- Requests ------------------------------------------------------------ */

static int find_document(const char *name)
{
    for (size_t i = 0; i < server.documents.count; i++) {
        if (strcmp(server.documents.at[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void answer_read(struct connection *to, long request, const char *name)
{
    char text[FRAME_SIZE];
    int length = snprintf(text, sizeof text, "d%ld", request);
    if (server.db != NULL) {
        sqlite3_bind_text(server.read, 1, name, -1, SQLITE_STATIC);
        while (sqlite3_step(server.read) == SQLITE_ROW && length < FRAME_FULL) {
            length += snprintf(text + length,
                               sizeof text - (size_t)length,
                               " %s=%s",
                               sqlite3_column_text(server.read, 0),
                               sqlite3_column_text(server.read, 1));
        }
        (void)sqlite3_reset(server.read);
    }
    post_text(to, text, (size_t)length);
}

static void answer_watch(struct connection *to, long request, const char *name)
{
    int index = find_document(name);
    if (index < 0) {
        index = (int)server.documents.count;
        struct document document = {.name = ""};
        (void)snprintf(document.name, sizeof document.name, "%s", name);
        vec_push(&server.documents, document);
    }
    vec_push(&server.documents.at[index].watchers, to);
    to->document = index;
    answer_read(to, request, name);
}

static void answer_join(struct connection *to, long request)
{
    char text[FRAME_SIZE];
    int length = 0;
    while (server.db != NULL && sqlite3_step(server.read_all) == SQLITE_ROW) {
        if (length == 0) {
            text[length++] = 'r';
        }
        length += snprintf(text + length,
                           sizeof text - (size_t)length,
                           "%s %s %s\n",
                           sqlite3_column_text(server.read_all, 0),
                           sqlite3_column_text(server.read_all, 1),
                           sqlite3_column_text(server.read_all, 2));
        if (length > FRAME_FULL) {
            post_text(to, text, (size_t)length);
            length = 0;
        }
    }
    if (server.db != NULL) {
        (void)sqlite3_reset(server.read_all);
    }
    if (length > 0) {
        post_text(to, text, (size_t)length);
    }
    length = snprintf(text, sizeof text, "J%ld", request);
    post_text(to, text, (size_t)length);
}

/* Tells the watchers, then the author. */
static void answer_write(struct connection *author,
                         long request,
                         const char *name,
                         const char *key,
                         const char *value,
                         bool tells_value)
{
    char text[LINE_SIZE + 2 * NAME_SIZE];
    const int index = find_document(name);
    if (index >= 0) {
        const int length =
            snprintf(text, sizeof text, "c%s %s %s", name, key, value);
        struct frame *frame = frame_new(text, (size_t)length);
        VEC_FOREACH (&server.documents.at[index].watchers, watcher) {
            post_frame(*watcher, frame);
        }
        frame_unref(frame);
    }
    const int length =
        tells_value ? snprintf(text, sizeof text, "a%ld %s", request, value)
                    : snprintf(text, sizeof text, "a%ld", request);
    post_text(author, text, (size_t)length);
}

static void receive(struct connection *from, const char *text, size_t length)
{
    char line[LINE_SIZE];
    char name[NAME_SIZE] = "";
    char key[NAME_SIZE] = "";
    char value[LINE_SIZE] = "";
    long request = 0;
    if (length == 0 || length >= sizeof line) {
        return;
    }
    memcpy(line, text, length);
    line[length] = '\0';
    (void)sscanf(line + 1,
                 "%ld %47s %47s %2047[^\n]",
                 &request,
                 name,
                 key,
                 value);
    switch (line[0]) {
    case 's':
        (void)store(name, key, value);
        answer_write(from, request, name, key, value, false);
        break;
    case 'i':
        (void)snprintf(value, sizeof value, "%ld", store(name, key, NULL));
        answer_write(from, request, name, key, value, true);
        break;
    case 'w':
        answer_watch(from, request, name);
        break;
    case 'j':
        answer_join(from, request);
        break;
    default:
        break;
    }
}

/* -- Connections --------------------------------------------------------- */

static void close_connection(struct connection *connection)
{
    if (connection->document >= 0) {
        struct document *document = &server.documents.at[connection->document];
        for (size_t i = 0; i < document->watchers.count; i++) {
            if (document->watchers.at[i] == connection) {
                document->watchers.at[i] = vec_pop(&document->watchers);
                break;
            }
        }
    }
    VEC_FOREACH (&server.held, held) {
        held->to = held->to == connection ? NULL : held->to;
    }
    for (size_t i = connection->next; i < connection->queue.count; i++) {
        frame_unref(connection->queue.at[i]);
    }
    vec_release(&connection->queue);
    vec_release(&connection->part);
}

/* A frame that crosses the end of a read comes in parts. */
static void receive_part(struct connection *from, const char *text, size_t size)
{
    const bool is_last = lws_remaining_packet_payload(from->wsi) == 0 &&
                         lws_is_final_fragment(from->wsi);
    if (is_last && from->part.count == 0) {
        receive(from, text, size);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        vec_push(&from->part, text[i]);
    }
    if (is_last) {
        receive(from, from->part.at, from->part.count);
        vec_release(&from->part);
    }
}

static int write_queue(struct connection *to)
{
    while (to->next < to->queue.count) {
        struct frame *frame = to->queue.at[to->next];
        if (lws_write(to->wsi,
                      frame->bytes + LWS_PRE,
                      frame->length,
                      LWS_WRITE_TEXT) < 0) {
            return -1;
        }
        to->next++;
        frame_unref(frame);
        if (to->next < to->queue.count && lws_send_pipe_choked(to->wsi)) {
            (void)lws_callback_on_writable(to->wsi);
            return 0;
        }
    }
    vec_clear(&to->queue);
    to->next = 0;
    return 0;
}

static int on_event(struct lws *wsi,
                    enum lws_callback_reasons reason,
                    void *user,
                    void *in,
                    size_t length)
{
    struct connection *connection = user;
    if (reason == LWS_CALLBACK_ESTABLISHED) {
        *connection = (struct connection){.wsi = wsi, .document = -1};
    } else if (reason == LWS_CALLBACK_CLOSED) {
        close_connection(connection);
    } else if (reason == LWS_CALLBACK_RECEIVE) {
        receive_part(connection, in, length);
    } else if (reason == LWS_CALLBACK_SERVER_WRITEABLE) {
        return write_queue(connection);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct lws_protocols protocols[] = {
        {"floor", on_event, sizeof(struct connection), 2048, 0, NULL, 0},
        {NULL, NULL, 0, 0, 0, NULL, 0},
    };
    const bool has_file = argc == 4 && strcmp(argv[2], "sqlite") == 0;
    if (!has_file && !(argc == 3 && strcmp(argv[2], "none") == 0)) {
        (void)fputs("usage: server_floor PORT none | sqlite FILE\n", stderr);
        return 2;
    }
    if (has_file) {
        open_file(argv[3]);
    }
    lws_set_log_level(LLL_ERR, NULL);
    const struct lws_context_creation_info info = {
        .port = (int)strtol(argv[1], NULL, 10),
        .iface = "lo",
        .protocols = protocols,
        .fd_limit_per_thread = CONNECTIONS_MAX,
        .options = LWS_SERVER_OPTION_DISABLE_IPV6,
    };
    struct lws_context *context = lws_create_context(&info);
    if (context == NULL) {
        fail("the port cannot be listened on");
    }
    while (lws_service(context, 0) >= 0) {
        commit_turn();
    }
    lws_context_destroy(context);
    return 0;
}
