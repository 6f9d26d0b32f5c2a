/* Errors on standard error: one line, or with --json one object; and the exit
 * codes.
 *
 * Whatever a file name or a message holds, the line stays one line and cannot
 * control a terminal (cli/display.h). */

#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/err.h"
#include "cli/options.h"
#include "heddle/heddle.h"

/* Documented in heddle(1): their meanings never change. */
enum exit_code {
    CODE_OK = 0,
    CODE_NO = 1,        /* a negative answer: different, not found */
    CODE_BAD = 2,       /* the command line or the input is wrong */
    CODE_IO = 3,        /* reading or writing failed */
    CODE_UNSETTLED = 4, /* a cycle of computations does not settle */
};

/* Reports a failure of the library. `source` is its origin, a file or an
 * operand; or NULL. Returns the exit code. */
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

/* The same for functions that return only a status. */
int report_status(const struct options *options,
                  const char *source,
                  hd_status status);

/* The exit code of a status, without a message. */
int report_code(hd_status status);

/* A failure of the operating system, with an errno. */
int report_system(const struct options *options,
                  const char *source,
                  int system_error);

/* A name on the command line is unknown; `sentence` says so and lists the known
 * ones, however long. Returns CODE_BAD. */
int report_name(const struct options *options, const char *sentence);

/* Computations do not settle; `sentence` names them, however long. Returns
 * CODE_UNSETTLED. */
int report_unsettled(const struct options *options, const char *sentence);

/* The command line is wrong: refers to the help. */
__attribute__((format(printf, 2, 3))) int report_usage(
    const struct options *options,
    const char *format,
    ...);

#endif
