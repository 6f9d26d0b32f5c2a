/* Where the key of a person is: for every command that signs. */

#ifndef CLI_KEY_H
#define CLI_KEY_H

#include "auth/key.h"
#include "cli/options.h"

/* Appends the path of a key file: `given`, or $HEDDLE_KEY, or
 * ~/.config/heddle/key. CODE_OK, or an exit code after reporting that there is
 * no home directory. */
int key_path(const struct options *options, const char *given, struct buf *to);

/* Reads the key of that path; `path`, an empty buffer, gets its name. CODE_OK,
 * or an exit code after reporting why. */
int key_read(const struct options *options,
             const char *given,
             struct key *out,
             struct buf *path);

#endif
