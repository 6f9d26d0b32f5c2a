/* heddle ps: pieces and their nodes, as the file has them.
 *
 * Everything but "who has it started" is in the file of the space, so the
 * answer is the same after a kill -9. With --watch the table is made anew
 * whenever something in the directory has changed. */

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "host/system.h"
#include "inspect/graph_json.h"
#include "value/array.h"
#include "value/object.h"

enum {
    WATCH_MS = 200,
    WATCH_LOOKS = 5, /* after so many, also without a sign of a change */
};

/* -- For people ---------------------------------------------------------- */

static bool is_true(struct value value)
{
    return value_is_same(value, value_bool(true));
}

/* "3 s", "5 min", "2 h", "9 d" */
static void append_age(struct buf *to, uint64_t at)
{
    const uint64_t now = system_wall_ms();
    const uint64_t seconds = now > at ? (now - at) / 1000 : 0;
    if (at == 0) {
        return;
    }
    if (seconds < 60) {
        buf_printf(to, "%" PRIu64 " s", seconds);
    } else if (seconds < 3600) {
        buf_printf(to, "%" PRIu64 " min", seconds / 60);
    } else if (seconds < 48 * 3600) {
        buf_printf(to, "%" PRIu64 " h", seconds / 3600);
    } else {
        buf_printf(to, "%" PRIu64 " d", seconds / 86400);
    }
}

static void append_cause(struct buf *to, struct value node)
{
    const struct value cause = object_field(node, "cause");
    const struct value reason = object_field(node, "reason");
    if (!value_is_absent(cause)) {
        look_append(to, object_field(cause, "address"));
        buf_printf(to, ", seq %" PRIu64 ": ", object_number(cause, "seq"));
        look_append_author(to, object_field(cause, "by"));
    } else if (value_is_text(reason, "first")) {
        buf_append_text(to, "first run");
    } else if (value_is_text(reason, "folded")) {
        buf_append_text(to, "folded");
    } else if (value_is_text(reason, "again")) {
        buf_append_text(to, "run again, with unchanged inputs");
    } else if (value_is_text(reason, "elsewhere")) {
        buf_append_text(to, "the space ");
        look_append(to, object_field(node, "space"));
    }
}

static void append_gates(struct buf *to, struct value node)
{
    const uint64_t debounce = object_number(node, "debounceMs");
    const uint64_t throttle = object_number(node, "throttleMs");
    if (debounce > 0) {
        buf_printf(to, "debounce %" PRIu64 " ms", debounce);
    }
    if (throttle > 0) {
        buf_printf(to,
                   "%sthrottle %" PRIu64 " ms",
                   debounce > 0 ? ", " : "",
                   throttle);
    }
}

static enum look_colour colour_of(struct value status)
{
    return value_is_text(status, "clean")    ? LOOK_GOOD
           : value_is_text(status, "failed") ? LOOK_BAD
           : value_is_text(status, "dirty")  ? LOOK_WAITS
                                             : LOOK_FAINT;
}

static enum look_colour colour_of_task(struct value task)
{
    const struct value state = object_field(task, "state");
    return value_is_text(state, "done")      ? LOOK_GOOD
           : value_is_text(state, "failed")  ? LOOK_BAD
           : value_is_text(state, "running") ? LOOK_WAITS
                                             : LOOK_FAINT;
}

static void add_row(struct look_table *table,
                    struct value node,
                    struct value piece)
{
    struct look_row *row = look_row(table);
    const struct value status = object_field(node, "status");
    const bool live = is_true(object_field(node, "live"));
    const bool wanted = is_true(object_field(node, "wanted"));
    const bool handler = value_is_text(object_field(node, "kind"), "handler");
    look_append_node(&row->cells[0], node, "node");
    look_append(&row->cells[1], object_field(node, "kind"));
    if (handler) {
        buf_append_text(&row->cells[2], "-");
        buf_append_text(&row->cells[3], "-");
        buf_append_text(&row->cells[4], "-");
        return;
    }
    look_append(&row->cells[2], status);
    row->colours[2] = colour_of(status);
    buf_append_text(&row->cells[3],
                    live     ? "live"
                    : wanted ? "asleep"
                             : "dormant");
    row->colours[3] = live ? LOOK_GOOD : LOOK_FAINT;
    buf_printf(&row->cells[4], "%" PRIu64, object_number(node, "runs"));
    append_age(&row->cells[5], object_number(node, "at"));
    append_gates(&row->cells[6], node);
    if (value_is_object(object_field(node, "task"))) {
        buf_clear(&row->cells[2]);
        look_append_task(&row->cells[2], object_field(node, "task"), piece);
        row->colours[2] = colour_of_task(object_field(node, "task"));
    }
    append_cause(&row->cells[7], node);
}

static void append_sessions(struct buf *to, struct value sessions)
{
    struct array_iter iter = array_iter(sessions);
    struct value one;
    size_t count = 0;
    while (array_next(&iter, &one)) {
        buf_append_text(to, count++ > 0 ? ", " : "started by ");
        look_append(to, object_field(one, "command"));
        if (object_number(one, "pid") > 0) { /* of this machine */
            buf_printf(to, " (pid %" PRIu64 ")", object_number(one, "pid"));
        }
    }
    if (count == 0) {
        buf_append_text(to, "asleep: no process runs it");
    }
}

static void append_count(struct buf *to,
                         uint64_t count,
                         const char *one,
                         const char *several)
{
    if (count > 0) {
        buf_printf(to, "; %" PRIu64 " %s", count, count == 1 ? one : several);
    }
}

/* What waits in the store: 'heddle events' and 'heddle timers' list it. */
static void append_waiting(struct buf *to, struct value piece)
{
    const struct value waiting = object_field(piece, "waiting");
    if (!value_is_object(waiting)) {
        return;
    }
    append_count(to,
                 object_number(waiting, "events"),
                 "event waits",
                 "events wait");
    append_count(to, object_number(waiting, "timers"), "timer", "timers");
    const uint64_t next = object_number(waiting, "next");
    if (next > 0) {
        buf_append_text(to, ", next ");
        look_append_time(to, next);
    }
}

static void append_parent(struct buf *to, struct value parent)
{
    if (value_is_object(parent)) {
        buf_append_text(to, "; child of ");
        look_append(to, object_field(parent, "piece"));
        buf_append_text(to, " in the space ");
        look_append(to, object_field(parent, "space"));
    }
}

/* The children in other spaces, a line each. */
static void print_elsewhere(struct value children)
{
    for (uint32_t i = 0; value_is_array(children) && i < array_count(children);
         i++) {
        const struct value child = array_at(children, i);
        struct buf line = {0};
        buf_append_text(&line, "  child ");
        look_append(&line, object_field(child, "piece"));
        buf_append_text(&line, " in the space ");
        look_append(&line, object_field(child, "space"));
        if (is_true(object_field(child, "former"))) {
            buf_append_text(&line, ", no longer declared");
        }
        output_bytes(buf_text(&line), line.length);
        buf_release(&line);
    }
}

static void print_piece(struct value piece)
{
    struct buf line = {0};
    const struct value nodes = look_list(piece, "nodes");
    buf_append_text(&line, look_colour(LOOK_STRONG));
    look_append(&line, object_field(piece, "piece"));
    buf_append_text(&line, look_colour(LOOK_PLAIN));
    buf_append_text(&line, "  ");
    append_sessions(&line, look_list(piece, "sessions"));
    append_waiting(&line, piece);
    append_parent(&line, object_field(piece, "childOf"));
    output_bytes(buf_text(&line), line.length);
    buf_release(&line);
    print_elsewhere(object_field(piece, "elsewhere"));
    struct look_table table = {
        .columns = 8,
        .headings = {"NODE",
                     "KIND",
                     "STATUS",
                     "",
                     "RUNS",
                     "AGE",
                     "GATES",
                     "LAST CAUSE"},
    };
    struct array_iter iter = array_iter(nodes);
    struct value node;
    while (array_next(&iter, &node)) {
        add_row(&table, node, object_field(piece, "piece"));
    }
    look_table_end(&table, 2);
}

static void print_all(const struct options *options, struct value all)
{
    const struct value pieces = look_list(all, "pieces");
    struct array_iter iter = array_iter(pieces);
    struct value piece;
    if (option_is_given(options, OPTION_JSON)) {
        look_print_adopt(options, value_ref(all));
        return;
    }
    while (array_next(&iter, &piece)) {
        print_piece(piece);
    }
    if (array_count(pieces) == 0) {
        static const char none[] =
            "no pieces yet: create one with 'heddle run FILE'";
        output_bytes(none, sizeof none - 1);
    }
}

static int print_once(const struct options *options)
{
    struct value all = VALUE_NONE;
    const int code = look_ask(options, look_question(options, "pieces"), &all);
    if (code == CODE_OK) {
        print_all(options, all);
    }
    value_unref(all);
    return code;
}

/* -- Watching ------------------------------------------------------------ */

/* What is different when something has changed, most of the time. */
struct sign {
    struct stat of[3];
};

static struct sign look_for_sign(const struct options *options)
{
    static const char *const endings[] = {".db", ".db-wal", NULL};
    struct sign sign;
    memset(&sign, 0, sizeof sign);
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        struct buf path = {0};
        struct stat found;
        buf_printf(&path,
                   "%s/%s%s",
                   look_folder(options),
                   endings[i] != NULL ? look_space(options) : "run",
                   endings[i] != NULL ? endings[i] : "");
        if (stat(buf_text(&path), &found) == 0) {
            sign.of[i].st_mtim = found.st_mtim;
            sign.of[i].st_size = found.st_size;
        }
        buf_release(&path);
    }
    return sign;
}

int ps_run(const struct options *options)
{
    const bool clears = isatty(STDOUT_FILENO) != 0;
    if (!option_is_given(options, OPTION_WATCH)) {
        return print_once(options);
    }
    int code = CODE_OK;
    while (code == CODE_OK && ferror(stdout) == 0) {
        const struct sign before = look_for_sign(options);
        if (clears) {
            (void)printf("\033[H\033[J");
        }
        code = print_once(options);
        (void)fflush(stdout);
        struct sign now = before;
        for (unsigned looks = 0;
             looks < WATCH_LOOKS && memcmp(&now, &before, sizeof now) == 0;
             looks++) {
            (void)poll(NULL, 0, WATCH_MS);
            now = look_for_sign(options);
        }
    }
    return code;
}
