/* How a declaration of a build function begins and ends: for the files that
 * declare (api/build.c, api/build_list.c,
 * api/task.c). */

#ifndef API_BUILD_H
#define API_BUILD_H

#include "api/pattern.h"

/* One declaration, from its first check to its report. Each check does nothing
 * if an earlier one has failed:
 *
 *   struct declaration d;
 *   declaration_begin(&d, builder, name, output);
 *   declaration_check_name(&d, "name");
 *   DECLARATION_GIVE(&d, options, run);
 *   if (d.err == ERR_OK) {
 *       ... declaration_doer(&d) ...
 *       d.err = builder_...(builder->inside, &..., &d.place, &d.detail);
 *   }
 *   return declaration_end(&d, error);
 *
 * A function that was given and is not part of a callback is released at the
 * end (api-node-2 of api/node.h). */
struct declaration {
    hd_builder *builder;
    const char *name; /* as it was given; or NULL */
    hd_cell **output; /* what `place` is lent as; or NULL */
    struct value key; /* the name, checked; or absent */
    void *context;    /* of a function that was given */
    void (*release)(void *context);
    struct digest fingerprint;
    struct place *place; /* what was declared, if it has one */
    enum err err;
    struct err_detail detail;
};

/* ARGUMENT, MISUSE, CLOSED: the builder. */
void declaration_begin(struct declaration *d,
                       hd_builder *builder,
                       const char *name,
                       hd_cell **output);

/* The name becomes `key`; `parameter` is what the caller knows it as. */
void declaration_check_name(struct declaration *d, const char *parameter);

void declaration_refuse_null(struct declaration *d,
                             const void *given,
                             const char *parameter);

/* The function of options of any kind; `function` is its field. */
#define DECLARATION_GIVE(d, options, function)                      \
    declaration_give((d),                                           \
                     (options) == NULL             ? "options"      \
                     : (options)->function == NULL ? #function      \
                                                   : NULL,          \
                     (options) != NULL ? (options)->context : NULL, \
                     (options) != NULL ? (options)->release : NULL)

/* `missing`, if it is not NULL, is the parameter that must not be NULL. */
void declaration_give(struct declaration *d,
                      const char *missing,
                      void *context,
                      void (*release)(void *context));

/* The place of a cell of the builder's runtime; NULL on an error. */
struct place *declaration_check_cell(struct declaration *d,
                                     const hd_cell *cell,
                                     const char *name);

/* The same for several, to be released with cell_places_release. */
void declaration_check_cells(struct declaration *d,
                             hd_cell *const *cells,
                             size_t count,
                             const char *name,
                             struct cell_places *out);

/* The function that was given, of the builder's piece and scope. */
struct callback *declaration_doer(struct declaration *d);

/* Of the pattern, its version and the key; NULL: there is no version. */
const struct digest *declaration_fingerprint(struct declaration *d);

/* Lends what was declared, or releases what was given; reports, with the
 * name. */
hd_status declaration_end(struct declaration *d, hd_error *error);

/* Lends the place to the build function, if it asked for the cell. */
void build_lend(const hd_builder *builder, struct place *place, hd_cell **cell);

/* Calls the function of a list of pieces, a struct callback, for one element
 * (element_declare_fn of runtime/list.h). */
MUST_CHECK enum err build_element(struct builder *inside,
                                  void *ctx,
                                  struct place *element,
                                  struct err_detail *detail);

#endif
