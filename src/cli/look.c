/* Names of pieces and nodes, and tables for people. */

#include "cli/look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/display.h"
#include "cli/output.h"
#include "cli/remote_option.h"
#include "cli/report.h"
#include "host/live.h"
#include "inspect/account.h"
#include "inspect/inspect_answer.h"
#include "value/json.h"
#include "value/object.h"

enum {
    WIDTH_LEAST = 40, /* of a terminal */
    CELL_LEAST = 8,   /* what a column keeps that gives way first */
    GAP = 2,
    PADDED_MOST = 60, /* where lines are not cut, a longer cell moves what is
                         right of it, and not the column of all rows */
};

/* -- Opening ------------------------------------------------------------- */

const char *look_folder(const struct options *options)
{
    return options->values.dir != NULL ? options->values.dir : "./heddle-data";
}

const char *look_space(const struct options *options)
{
    return options->values.space != NULL ? options->values.space : "main";
}

int look_report(const struct options *options, const struct err_detail *detail)
{
    return report_detail(options, NULL, detail);
}

struct value look_question(const struct options *options, const char *about)
{
    const char *branch = options->values.branch;
    struct value question = value_empty_object();
    object_put_text(&question, "question", "inspect");
    object_put_text(&question, "about", about);
    if (branch != NULL && strcmp(branch, "main") != 0) {
        object_put_text(&question, "branch", branch);
    }
    return question;
}

struct value look_question_of(const struct options *options, const char *about)
{
    struct value question = look_question(options, about);
    if (options->operand_count > 0) {
        object_put_text(&question, "piece", options->operands[0].word);
    }
    return question;
}

static enum err ask_server(const struct options *options,
                           struct remote *remote,
                           struct value question,
                           struct value *answer,
                           struct err_detail *detail)
{
    struct live *live = NULL;
    const char *const spaces[] = {look_space(options)};
    const struct live_options host = {
        .remote = remote,
        .access = DATA_DIR_READ_ONLY,
        .spaces = spaces,
        .space_count = COUNT_OF(spaces),
    };
    enum err err = live_open(&host, &live, detail);
    if (err == ERR_OK) {
        err = live_ask(live, question, answer, detail);
        live_drop(live);
    }
    return err;
}

int look_ask(const struct options *options,
             struct value question,
             struct value *answer)
{
    const struct inspect_viewer owner = {.sees_all = true};
    struct err_detail detail = {0};
    struct remote *remote = NULL;
    *answer = VALUE_NONE;
    int code = CODE_OK;
    enum err err = ERR_OK;
    if (remote_option_url(options) == NULL) {
        err = inspect_answer(look_folder(options),
                             look_space(options),
                             &owner,
                             question,
                             answer,
                             &detail);
    } else {
        code = remote_option_open(options, &remote);
        err = code == CODE_OK
                  ? ask_server(options, remote, question, answer, &detail)
                  : ERR_OK;
    }
    value_unref(question);
    return err == ERR_OK ? code : look_report(options, &detail);
}

struct value look_list(struct value object, const char *field)
{
    const struct value list = object_field(object, field);
    return value_is_array(list) ? list : value_empty_array();
}

int look_number(const struct options *options,
                const char *name,
                const char *text,
                uint64_t fallback,
                uint64_t *out)
{
    *out = fallback;
    if (text == NULL) {
        return CODE_OK;
    }
    uint64_t number = 0;
    bool valid = text[0] != '\0';
    for (const char *at = text; valid && *at != '\0'; at++) {
        valid = *at >= '0' && *at <= '9' && number < INT64_MAX / 10 - 1;
        number = number * 10 + (uint64_t)(*at - '0');
    }
    if (!valid) {
        return report_usage(options,
                            "%s requires an integer, not '%s'",
                            name,
                            text);
    }
    *out = number;
    return CODE_OK;
}

/* -- Showing ------------------------------------------------------------- */

void look_print_adopt(const struct options *options, struct value value)
{
    struct buf text = {0};
    json_write(&text,
               value,
               option_is_given(options, OPTION_CANONICAL) ? JSON_CANONICAL
                                                          : JSON_AS_GIVEN,
               option_is_given(options, OPTION_PRETTY) ? 2 : 0);
    output_bytes(buf_text(&text), text.length);
    buf_release(&text);
    value_unref(value);
}

void look_append(struct buf *to, struct value string)
{
    struct buf text = {0};
    if (value_is_string(string)) {
        const struct text is = value_text(&string);
        buf_append(&text, is.at, is.length);
        display_append(to, buf_text(&text));
    }
    buf_release(&text);
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Characters, as good as one can count them here. */
static size_t width_of(const struct buf *text)
{
    size_t width = 0;
    for (size_t i = 0; i < text->length; i++) {
        width += begins_character(text->at[i]);
    }
    return width;
}

/* The first `most` characters; if there are more, the last is "…". */
static void append_cut(struct buf *to, const struct buf *text, size_t most)
{
    if (width_of(text) <= most) {
        buf_append(to, text->at, text->length);
        return;
    }
    size_t end = 0;
    size_t left = most;
    while (end < text->length && left > 0) {
        left -= begins_character(text->at[end]);
        end += left > 0;
    }
    buf_append(to, text->at, end);
    buf_append_text(to, "…");
}

/* How many bytes `count` characters take, from `at` on. */
static size_t bytes_of(const struct buf *text, size_t at, size_t count)
{
    size_t end = at;
    while (end < text->length && count > 0) {
        end++;
        while (end < text->length && !begins_character(text->at[end])) {
            end++;
        }
        count--;
    }
    return end - at;
}

/* The beginning and, twice as long, the end, with "…" between them: names are
 * told apart by their ends. */
static void append_fitted(struct buf *to, const struct buf *text, size_t most)
{
    const size_t width = width_of(text);
    if (width <= most) {
        buf_append(to, text->at, text->length);
        return;
    }
    const size_t first = (most - 1) / 3;
    const size_t last = most - 1 - first;
    buf_append(to, text->at, bytes_of(text, 0, first));
    buf_append_text(to, "…");
    const size_t from = bytes_of(text, 0, width - last);
    buf_append(to, text->at + from, text->length - from);
}

void look_append_json(struct buf *to, struct value value, size_t most)
{
    struct buf text = {0};
    struct buf shown = {0};
    if (value_is_absent(value)) {
        buf_append_text(&shown, "nothing");
    } else {
        json_write(&text, value, JSON_AS_GIVEN, 0);
        display_append(&shown, buf_text(&text));
    }
    append_cut(to, &shown, most);
    buf_release(&text);
    buf_release(&shown);
}

void look_append_time(struct buf *to, uint64_t ms)
{
    const time_t seconds = (time_t)(ms / 1000);
    struct tm parts = {0};
    char text[32] = "";
    if (gmtime_r(&seconds, &parts) != NULL) {
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts);
    }
    buf_append_text(to, text);
}

void look_append_node(struct buf *to, struct value node, const char *field)
{
    struct buf text = {0};
    account_write_node(&text, node, field);
    display_append(to, buf_text(&text));
    buf_release(&text);
}

void look_append_task(struct buf *to, struct value task, struct value piece)
{
    const struct value state = object_field(task, "state");
    const struct value attempts = object_field(task, "attempts");
    const struct value awaited = object_field(task, "waitsFor");
    const struct value error = object_field(task, "error");
    if (value_is_absent(state)) {
        buf_append_text(to, "not begun");
        return;
    }
    look_append(to, state);
    if (value_kind(attempts) == VALUE_INT) {
        const long long count = value_integer(attempts);
        buf_printf(to, " after %lld attempt%s", count, count == 1 ? "" : "s");
    }
    if (value_is_text(awaited, "inputs")) {
        buf_append_text(to, ": its inputs are nil");
    } else if (value_is_text(awaited, "process")) {
        buf_append_text(to, ": waits for a process that runs ");
        look_append(to, piece);
    }
    if (value_is_object(error)) {
        buf_append_text(to, ": ");
        look_append(to, object_field(error, "text"));
    }
}

void look_append_author(struct buf *to, struct value by)
{
    struct buf text = {0};
    account_write_author(&text, by);
    display_append(to, buf_text(&text));
    buf_release(&text);
}

bool look_has_colour(int descriptor)
{
    const char *unwanted = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(descriptor) != 0 &&
           (unwanted == NULL || unwanted[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

const char *look_colour(enum look_colour colour)
{
    static const char *const codes[] = {
        [LOOK_PLAIN] = "\033[0m",
        [LOOK_GOOD] = "\033[32m",
        [LOOK_WAITS] = "\033[33m",
        [LOOK_BAD] = "\033[31m",
        [LOOK_FAINT] = "\033[2m",
        [LOOK_STRONG] = "\033[1m",
    };
    static int coloured = -1; /* is asked for each cell of a table */
    if (coloured < 0) {
        coloured = look_has_colour(STDOUT_FILENO);
    }
    return coloured != 0 ? codes[colour] : "";
}

/* -- Tables -------------------------------------------------------------- */

struct look_row *look_row(struct look_table *table)
{
    struct look_row *row = vec_add(&table->rows);
    *row = (struct look_row){0};
    return row;
}

bool look_is_narrow(void)
{
    return isatty(STDOUT_FILENO) != 0;
}

/* Of the terminal; SIZE_MAX if there is none. */
static size_t terminal_width(void)
{
    struct winsize size = {0};
    if (!look_is_narrow()) {
        return SIZE_MAX;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return 80;
    }
    return size.ws_col > WIDTH_LEAST ? size.ws_col : WIDTH_LEAST;
}

/* The column that matters least gives way first, and then the widest, until
 * all fit. */
static void fit(const struct look_table *table, size_t *widths, size_t room)
{
    for (;;) {
        size_t sum = 0;
        size_t widest = 0;
        for (size_t i = 0; i < table->columns; i++) {
            sum += widths[i] + (i > 0 ? GAP : 0);
            widest = widths[i] > widths[widest] ? i : widest;
        }
        if (table->least > 0 && widths[table->least] > CELL_LEAST) {
            widest = table->least;
        }
        if (sum <= room || widths[widest] <= 1) {
            return;
        }
        widths[widest]--;
    }
}

static void print_cells(const struct look_table *table,
                        const struct look_row *row,
                        const size_t *widths,
                        bool is_cut,
                        size_t indent)
{
    struct buf line = {0};
    for (size_t i = 0; i < indent; i++) {
        buf_append_char(&line, ' ');
    }
    for (size_t i = 0; i < table->columns; i++) {
        struct buf cell = {0};
        const bool coloured = row->colours[i] != LOOK_PLAIN;
        append_fitted(&cell, &row->cells[i], is_cut ? widths[i] : SIZE_MAX);
        const size_t width = width_of(&cell);
        const size_t column = width > widths[i] ? width : widths[i];
        buf_append_text(&line, coloured ? look_colour(row->colours[i]) : "");
        buf_append(&line, cell.at, cell.length);
        buf_append_text(&line, coloured ? look_colour(LOOK_PLAIN) : "");
        for (size_t blank = width;
             i + 1 < table->columns && blank < column + GAP;
             blank++) {
            buf_append_char(&line, ' ');
        }
        buf_release(&cell);
    }
    while (line.length > 0 && line.at[line.length - 1] == ' ') {
        line.length--;
    }
    output_bytes(buf_text(&line), line.length);
    buf_release(&line);
}

void look_table_end(struct look_table *table, size_t indent)
{
    size_t widths[LOOK_COLUMNS_MAX] = {0};
    struct look_row head = {0};
    const size_t width = terminal_width();
    const bool is_cut = width != SIZE_MAX;
    for (size_t i = 0; i < table->columns; i++) {
        buf_append_text(&head.cells[i], table->headings[i]);
        head.colours[i] = LOOK_FAINT;
        widths[i] = width_of(&head.cells[i]);
        VEC_FOREACH (&table->rows, row) {
            const size_t cell = width_of(&row->cells[i]);
            const bool counts = is_cut || cell <= PADDED_MOST;
            widths[i] = counts && cell > widths[i] ? cell : widths[i];
        }
    }
    fit(table, widths, width > indent ? width - indent : width);
    print_cells(table, &head, widths, is_cut, indent);
    VEC_FOREACH (&table->rows, row) {
        print_cells(table, row, widths, is_cut, indent);
        for (size_t i = 0; i < table->columns; i++) {
            buf_release(&row->cells[i]);
        }
    }
    for (size_t i = 0; i < table->columns; i++) {
        buf_release(&head.cells[i]);
    }
    vec_release(&table->rows);
}
