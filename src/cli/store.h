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

/* A whole number; `fallback` if it is not given. CODE_OK, or the reported code.
 */
int store_read_number(const struct options *options,
                      const char *name,
                      const char *text,
                      uint64_t fallback,
                      uint64_t *out);

/* One line of JSON, in the form of --canonical and --pretty. */
void store_print_adopt(const struct options *options, struct value value);

/* heddle store compact (compact.c). */
int store_compact(const struct options *options);

#endif
