/* The server that a command works on: --server, or HEDDLE_SERVER. */

#ifndef CLI_REMOTE_OPTION_H
#define CLI_REMOTE_OPTION_H

#include "cli/options.h"

struct remote;

/* The URL of the server; NULL: the command works on a directory. --dir wins
 * over the variable. */
const char *remote_option_url(const struct options *options);

/* Whether a command that works on files only was asked to use a server: an exit
 * code after saying so, or CODE_OK. */
int remote_option_check(const struct options *options);

/* The way to the server, with the identity of this user: the token in
 * HEDDLE_TOKEN; or else the key of --key, HEDDLE_KEY or the default place, if
 * there is one. CODE_OK, or an exit code after reporting why. */
int remote_option_open(const struct options *options, struct remote **out);

#endif
