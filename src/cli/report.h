/* What went wrong, on standard error: one line, or with --json one object; and
 * the exit codes.
 *
 * Whatever a file name or a message holds, the line stays one line and does
 * nothing to a terminal (cli/display.h). */

#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/err.h"
#include "cli/options.h"
#include "heddle/heddle.h"

/* Documented in heddle(1): they never change their meaning. */
enum exit_code {
    CODE_OK = 0,
    CODE_NO = 1,        /* a negative answer: different, nothing there */
    CODE_BAD = 2,       /* the command line or the input is wrong */
    CODE_IO = 3,        /* reading or writing failed */
    CODE_UNSETTLED = 4, /* a circle of computations does not settle */
};

/* Reports a failure of the library. `source` is where it came from, a file or
 * an operand; NULL if there is no such thing. Returns the exit code. */
int report_error(const struct options *options,
                 const char *source,
                 const hd_error *error);

/* The same for one of the layers below, and the failure as the library tells
 * it: the public code has the same number. */
int report_detail(const struct options *options,
                  const char *source,
                  const struct err_detail *detail);
hd_error report_read(const struct err_detail *detail);

/* The same for a node, by its name "piece/field"; NULL: it has none. */
int report_node(const struct options *options,
                const char *name,
                const hd_error *error);

/* The same for functions that give a bare status. */
int report_status(const struct options *options,
                  const char *source,
                  hd_status status);

/* The exit code of a status, without a word. */
int report_code(hd_status status);

/* A failure of the operating system, with an errno. */
int report_system(const struct options *options,
                  const char *source,
                  int system_error);

/* A name on the command line is not one of those that there are; `sentence`
 * says so and lists them, however long. Returns CODE_BAD. */
int report_name(const struct options *options, const char *sentence);

/* Computations do not settle; `sentence` names them, however long. Returns
 * CODE_UNSETTLED. */
int report_unsettled(const struct options *options, const char *sentence);

/* The command line is wrong: adds where to read how it is right. */
__attribute__((format(printf, 2, 3))) int report_usage(
    const struct options *options,
    const char *format,
    ...);

#endif
