/* A line from a terminal, with editing, history and completion (libedit).
 *
 * The history is stored in ~/.heddle_history, for the next session. */

#ifndef CLI_EDIT_LINE_H
#define CLI_EDIT_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct edit_line;

struct edit_line_options {
    /* Waits until there is input; false: the session ends. */
    bool (*wait)(void);

    /* Calls `offer` with each word that is possible at the end of the line,
     * whatever prefix is there. */
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
