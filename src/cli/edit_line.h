/* A line from a terminal, with editing, history and completion (libedit).
 *
 * The history is kept in ~/.heddle_history, for the next conversation. */

#ifndef CLI_EDIT_LINE_H
#define CLI_EDIT_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct edit_line;

struct edit_line_options {
    /* Waits until there is something to read; false: the conversation ends. */
    bool (*wait)(void);

    /* Calls `offer` with each word that can stand where the line ends, whatever
     * the word there begins with. */
    void (*complete)(void *ctx,
                     const char *line,
                     size_t length,
                     void (*offer)(void *offer_ctx, const char *word),
                     void *offer_ctx);
    void *ctx;
};

/* Never NULL. */
struct edit_line *edit_line_new(const struct edit_line_options *options);
void edit_line_free(struct edit_line *edit); /* NULL is fine */

/* The next line, with its newline, into `to`, which is empty; false at the end
 * of the input. */
bool edit_line_read(struct edit_line *edit, const char *prompt, struct buf *to);

#endif
