/* Documents from files, standard input and the command line. */

#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "base/buf.h"
#include "cli/options.h"
#include "heddle/heddle.h"

/* The name of the operand in a message: the file's name, "standard input" or
 * "--text". */
const char *input_name(const struct operand *operand);

/* The value of the document that the operand number `index` names, new. Returns
 * an exit code; errors have been reported. */
int input_read(const struct options *options, size_t index, hd_value **value);

/* The text of the file that the operand names, or of standard input. Returns an
 * exit code; errors have been reported. */
int input_text(const struct options *options, size_t index, struct buf *to);

/* The same for a file by its name: 0, or the errno; and whether that says that
 * the file does not exist. */
int input_file(const char *name, struct buf *to);
bool input_is_missing(int system_error);

/* The value of an operand that is JSON text itself, called `name`; "-" is
 * standard input here, too. */
int input_parse(const struct options *options,
                size_t index,
                const char *name,
                hd_value **value);

#endif
