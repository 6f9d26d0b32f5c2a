/* heddle log, heddle show: what was committed, and what was there then. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

enum {
    COMMITS_SHOWN = 100, /* unless told */
    PATHS_SHOWN = 4,
};

/* -- log ----------------------------------------------------------------- */

static void append_write(struct buf *to, struct value write)
{
    const struct value paths = object_field(write, "paths");
    const struct value document = object_field(write, "document");
    if (look_is_narrow() && value_begins_with(document, "receipt:")) {
        buf_append_text(to, "receipt"); /* which one says nothing to people */
        return;
    }
    look_append(to, document);
    if (value_is_array(paths)) {
        const uint32_t count = array_count(paths);
        buf_append_char(to, '#');
        for (uint32_t i = 0; i < count && i < PATHS_SHOWN; i++) {
            buf_append_text(to, i > 0 ? "," : "");
            look_append(to, array_at(paths, i));
        }
        if (count > PATHS_SHOWN) {
            buf_append_text(to, ",...");
        }
    } else {
        buf_append_char(to, ' ');
        look_append(to, object_field(write, "op"));
    }
}

static void add_row(struct look_table *table, struct value commit)
{
    struct look_row *row = look_row(table);
    const struct value writes = look_list(commit, "writes");
    const uint64_t at = object_number(commit, "at");
    buf_printf(&row->cells[0], "%" PRIu64, object_number(commit, "seq"));
    if (at > 0) {
        look_append_time(&row->cells[1], at);
    }
    look_append_author(&row->cells[2], object_field(commit, "by"));
    for (uint32_t i = 0; i < array_count(writes); i++) {
        buf_append_text(&row->cells[3], i > 0 ? "; " : "");
        append_write(&row->cells[3], array_at(writes, i));
    }
    look_append(&row->cells[4], object_field(commit, "session"));
    row->colours[0] = LOOK_STRONG;
    row->colours[4] = LOOK_FAINT;
}

static void print_log(const struct options *options, struct value log)
{
    if (option_is_given(options, OPTION_JSON)) {
        look_print_adopt(options, value_ref(log));
        return;
    }
    struct look_table table = {
        .columns = 5,
        .headings = {"SEQ", "TIME", "BY", "WRITES", "SESSION"},
        .least = 4,
    };
    struct array_iter iter = array_iter(look_list(log, "commits"));
    struct value commit;
    while (array_next(&iter, &commit)) {
        add_row(&table, commit);
    }
    look_table_end(&table, 0);
}

int log_run(const struct options *options)
{
    struct value log = VALUE_NONE;
    uint64_t limit = 0;
    if (options->operand_count > 1) {
        return report_usage(options, "give at most one piece");
    }
    int code = look_number(options,
                           "--limit",
                           options->values.limit,
                           COMMITS_SHOWN,
                           &limit);
    if (code == CODE_OK) {
        struct value question = look_question_of(options, "log");
        object_put_number(&question, "limit", limit);
        code = look_ask(options, question, &log);
    }
    if (code == CODE_OK) {
        print_log(options, log);
    }
    value_unref(log);
    return code;
}

/* -- show ---------------------------------------------------------------- */

/* "/items/0/price", "items/0/price" or "items.0.price": an array of keys. */
static struct value read_path(const char *text)
{
    const char separator = (char)(strchr(text, '/') != NULL ? '/' : '.');
    const char *at = text[0] == '/' ? text + 1 : text;
    struct value keys = value_empty_array();
    while (at != NULL && *at != '\0') {
        const char *next = strchr(at, separator);
        const size_t length = next != NULL ? (size_t)(next - at) : strlen(at);
        struct buf key = {0};
        for (size_t i = 0; i < length; i++) {
            const bool escaped = at[i] == '~' && i + 1 < length &&
                                 strchr("01", at[i + 1]) != NULL;
            buf_append_char(&key,
                            (char)(!escaped         ? at[i]
                                   : at[++i] == '0' ? '~'
                                                    : '/'));
        }
        keys = array_push_adopt(keys,
                                value_string_new(buf_text(&key), key.length));
        buf_release(&key);
        at = next != NULL ? next + 1 : NULL;
    }
    return keys;
}

/* Nothing runs here: which nodes would have to, so that nobody takes what they
 * gave for what they would give now. */
static void tell_stale(const struct options *options, struct value stale)
{
    struct buf names = {0};
    struct array_iter iter = array_iter(stale);
    struct value name;
    while (array_next(&iter, &name)) {
        buf_append_text(&names, names.length > 0 ? ", " : "");
        look_append(&names, name);
    }
    if (names.length > 0 && option_is_given(options, OPTION_JSON)) {
        (void)fprintf(stderr, "{\"upToDate\":false}\n");
    } else if (names.length > 0) {
        (void)fprintf(stderr,
                      "heddle: stale: %s must run first; 'heddle get' runs "
                      "it\n",
                      buf_text(&names));
    }
    buf_release(&names);
}

int show_run(const struct options *options)
{
    struct err_detail detail = {0};
    struct value answer = VALUE_NONE;
    uint64_t seq = 0;
    if (options->operand_count > 2) {
        return report_usage(options, "give a piece and one path");
    }
    int code = look_number(options, "--at", options->values.at, 0, &seq);
    if (code != CODE_OK) {
        return code;
    }
    struct value question = look_question_of(options, "show");
    object_put_adopt(
        &question,
        "path",
        read_path(options->operand_count > 1 ? options->operands[1].word : ""));
    if (options->values.at != NULL) {
        object_put_number(&question, "at", seq);
    }
    code = look_ask(options, question, &answer);
    const struct value found = object_field(answer, "value");
    const struct value stale = look_list(answer, "stale");
    if (code == CODE_OK && value_is_absent(found)) {
        (void)err_set(&detail, ERR_NOT_FOUND, "no value at this path");
        (void)look_report(options, &detail);
        code = CODE_NO;
    } else if (code == CODE_OK) {
        look_print_adopt(options, value_ref(found));
        if (value_is_array(stale)) {
            tell_stale(options, stale);
        }
    }
    value_unref(answer);
    return code;
}
