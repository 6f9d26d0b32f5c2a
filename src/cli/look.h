/* Shared by the commands that inspect pieces from outside: asking the file or
 * the server, and output for people.
 *
 * A table is as wide as the terminal. Without a terminal, cells are whole, and
 * columns are aligned as far as cells are short. Colour is for terminals only,
 * and not if NO_COLOR is set. */

#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/options.h"
#include "value/value.h"

/* -- Opening ------------------------------------------------------------- */

/* The selected data directory. */
const char *look_folder(const struct options *options);

/* The selected space: "main", or that of --space. */
const char *look_space(const struct options *options);

/* Reports a failure of the layers below; returns an exit code. */
int look_report(const struct options *options, const struct err_detail *detail);

/* A question about that space (inspect/inspect_answer.h), new; the second one
 * is about the piece of the first operand, if there is one. */
struct value look_question(const struct options *options, const char *about);
struct value look_question_of(const struct options *options, const char *about);

/* Asks the directory or the server; *answer is new. Adopts the question.
 * Returns an exit code; errors have been reported. */
int look_ask(const struct options *options,
             struct value question,
             struct value *answer);

/* A list in an answer, borrowed; empty if it is none: a server is not trusted.
 */
struct value look_list(struct value object, const char *field);

/* A whole number of an option; `fallback` if it is not given. */
int look_number(const struct options *options,
                const char *name,
                const char *text,
                uint64_t fallback,
                uint64_t *out);

/* -- Showing ------------------------------------------------------------- */

/* Prints the value as a line, in the form of the options. Adopts it. */
void look_print_adopt(const struct options *options, struct value value);

/* Untrusted text, on one line (cli/display.h). */
void look_append(struct buf *to, struct value string);

/* JSON on one line, no longer than `most` characters. */
void look_append_json(struct buf *to, struct value value, size_t most);

/* "2026-11-16 09:30:00Z" */
void look_append_time(struct buf *to, uint64_t ms);

/* The name of a node, at `field` of its description, with "@user:NAME" if it
 * has run for a user. */
void look_append_node(struct buf *to, struct value node, const char *field);

/* "failed after 3 attempts: no route", from "task" of a node. */
void look_append_task(struct buf *to, struct value task, struct value piece);

/* "event add of shopping", from a "by" of inspect/account.h. */
void look_append_author(struct buf *to, struct value by);

enum look_colour {
    LOOK_PLAIN,
    LOOK_GOOD,
    LOOK_WAITS,
    LOOK_BAD,
    LOOK_FAINT,
    LOOK_STRONG,
};

/* Whether output to the descriptor may have colours; and the colours of
 * standard output, "" if it has none. */
bool look_has_colour(int descriptor);
const char *look_colour(enum look_colour colour);

/* -- Tables -------------------------------------------------------------- */

enum {
    LOOK_COLUMNS_MAX = 10,
};

struct look_row {
    struct buf cells[LOOK_COLUMNS_MAX];
    enum look_colour colours[LOOK_COLUMNS_MAX];
};

struct look_table {
    size_t columns;
    const char *headings[LOOK_COLUMNS_MAX];
    size_t least; /* the least important column, or 0 */
    VEC(struct look_row) rows;
};

/* Whether tables are cut to the width of a terminal. */
bool look_is_narrow(void);

/* Another row, empty; borrowed until the next one. */
struct look_row *look_row(struct look_table *table);

/* Prints it, each line behind `indent` blanks, and releases it. */
void look_table_end(struct look_table *table, size_t indent);

#endif
