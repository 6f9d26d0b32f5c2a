/* How a declaration of a build function begins and ends: for the files that
 * declare (api/build.c, api/build_list.c,
 * api/task.c). */

#ifndef API_BUILD_H
#define API_BUILD_H

#include "api/pattern.h"

/* The builder, and the name, which is new. ARGUMENT, MISUSE, CLOSED. */
MUST_CHECK enum err build_begin(hd_builder *builder,
                                const char *name,
                                const char *parameter,
                                struct value *out,
                                struct err_detail *detail);

/* Reports, with the name, and remembers what failed. */
hd_status build_end(hd_builder *builder,
                    enum err err,
                    const struct err_detail *detail,
                    const char *name,
                    hd_error *error);

/* Lends the place to the build function; nobody may want it. */
void build_lend(const hd_builder *builder, struct place *place, hd_cell **cell);

/* A cell of the runtime of the builder: OK, ARGUMENT, MISUSE, CLOSED. */
MUST_CHECK enum err build_check_cell(const hd_builder *builder,
                                     const hd_cell *cell,
                                     const char *name,
                                     struct err_detail *detail);

/* A function that is declared belongs to the builder's piece and scope. */
struct doer *build_doer(const hd_builder *builder,
                        void *context,
                        void (*release)(void *context));

/* Of the pattern, its version and the name; NULL: there is no version. `room`
 * is where it is put. */
const struct digest *build_fingerprint(const hd_builder *builder,
                                       struct value name,
                                       struct digest *room);

/* Calls the function of a list of pieces, a struct doer, for one element
 * (element_declare_fn of runtime/list.h). */
MUST_CHECK enum err build_element(struct builder *inside,
                                  void *ctx,
                                  struct place *element,
                                  struct err_detail *detail);

/* The context of a function that got nowhere. */
void build_refuse(void *context, void (*release)(void *context));

#endif
