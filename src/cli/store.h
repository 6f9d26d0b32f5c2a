/* Shared by the commands of `heddle store` (store.c). */

#ifndef CLI_STORE_H
#define CLI_STORE_H

#include "cli/options.h"
#include "store/engine.h"

/* The file that the command is about. */
const char *store_file(const struct options *options);

/* Opens the file, which must exist. CODE_OK, or the reported code.
 * `interrupted` ends a wait for other processes; or NULL. */
int store_open(const struct options *options,
               bool (*interrupted)(void *ctx),
               struct engine *engine);

/* Reports an error of the file; the exit code. */
int store_report(const struct options *options,
                 const struct err_detail *detail);

/* heddle store compact (compact.c). */
int store_compact(const struct options *options);

#endif
