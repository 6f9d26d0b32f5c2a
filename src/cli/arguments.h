/* The arguments of a piece on the command line: --args with an object, and any
 * number of --arg NAME=VALUE. A VALUE is JSON, or "piece:PIECE" or
 * "piece:PIECE/PATH" for a link to the result of a piece, or to a part of it.
 */

#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "cli/visit.h"

/* The object of --args, new; absent if it is not given. Before the directory is
 * opened. */
int arguments_read(const struct options *options, struct value *out);

/* The same with those of --arg, new. The pieces that they name must exist. */
int arguments_complete(struct visit *visit,
                       struct value given,
                       struct value *out);

#endif
