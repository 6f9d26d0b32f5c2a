/* Lists and choices that a build function of the program declares. */

#include "api/build.h"
#include "api/handle.h"
#include "runtime/choice.h"
#include "runtime/list.h"

/* -- Lists --------------------------------------------------------------- */

static enum run_result run_element(struct run *run,
                                   void *ctx,
                                   struct place *element,
                                   struct value *result)
{
    struct callback *callback = ctx;
    const struct call_context call_context = {
        .run = run,
        .piece = callback->piece,
        .result = result,
        .element = element,
    };
    return callback_call(callback, &call_context);
}

typedef enum err list_fn(struct builder *builder,
                         const struct builder_list *list,
                         struct place **out,
                         struct err_detail *detail);

static hd_status build_list(hd_builder *builder,
                            const char *name,
                            const hd_list_options *options,
                            list_fn *declare,
                            hd_cell **output,
                            hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, name, output);
    declaration_check_name(&d, "name");
    DECLARATION_GIVE(&d, options, run);
    struct place *place =
        declaration_check_cell(&d,
                               options != NULL ? options->list : NULL,
                               "list");
    if (d.err == ERR_OK) {
        struct callback *callback = declaration_doer(&d);
        callback->element = options->run;
        const struct builder_list list = {
            .name = d.key,
            .list = place,
            .body =
                {
                    .run = run_element,
                    .ctx = callback,
                    .release = callback_gone,
                    .fingerprint = declaration_fingerprint(&d),
                },
        };
        d.err = declare(builder->inside, &list, &d.place, &d.detail);
    }
    return declaration_end(&d, error);
}

hd_status hd_build_map(hd_builder *builder,
                       const char *name,
                       const hd_list_options *options,
                       hd_cell **output,
                       hd_error *error)
{
    return build_list(builder, name, options, builder_map, output, error);
}

hd_status hd_build_filter(hd_builder *builder,
                          const char *name,
                          const hd_list_options *options,
                          hd_cell **output,
                          hd_error *error)
{
    return build_list(builder, name, options, builder_filter, output, error);
}

hd_status hd_build_flat_map(hd_builder *builder,
                            const char *name,
                            const hd_list_options *options,
                            hd_cell **output,
                            hd_error *error)
{
    return build_list(builder, name, options, builder_flat_map, output, error);
}

hd_status hd_build_map_pieces(hd_builder *builder,
                              const char *name,
                              const hd_pieces_options *options,
                              hd_cell **output,
                              hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, name, output);
    declaration_check_name(&d, "name");
    DECLARATION_GIVE(&d, options, build);
    struct builder_list list = {
        .list = declaration_check_cell(&d,
                                       options != NULL ? options->list : NULL,
                                       "list"),
    };
    if (d.err == ERR_OK && options->key != NULL) {
        d.err = edge_name(options->key, "key", &list.key, &d.detail);
    }
    if (d.err == ERR_OK) {
        struct callback *callback = declaration_doer(&d);
        callback->build = options->build;
        callback->wrap = builder->wrap;
        list.name = d.key;
        list.body = (struct element_body){
            .declare = build_element,
            .ctx = callback,
            .release = callback_gone,
        };
        d.err = builder_map(builder->inside, &list, &d.place, &d.detail);
    }
    value_unref(list.key);
    return declaration_end(&d, error);
}

/* -- Without children ---------------------------------------------------- */

static enum run_result run_reduce(struct run *run,
                                  void *ctx,
                                  struct value accumulator,
                                  struct value element,
                                  struct value *result)
{
    struct callback *callback = ctx;
    const struct call_context call_context = {
        .run = run,
        .piece = callback->piece,
        .result = result,
        .accumulator = accumulator,
        .item = element,
    };
    const enum run_result done = callback_call(callback, &call_context);
    if (done == RUN_DONE && value_is_absent(*result)) {
        struct err_detail detail;
        (void)err_set(&detail,
                      ERR_GIVEN_UP,
                      "the reduce function returned no value");
        return run_fail(run, &detail);
    }
    return done;
}

hd_status hd_build_reduce(hd_builder *builder,
                          const char *name,
                          const hd_reduce_options *options,
                          hd_cell **output,
                          hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, name, output);
    declaration_check_name(&d, "name");
    DECLARATION_GIVE(&d, options, run);
    if (d.err == ERR_OK) {
        declaration_refuse_null(&d, options->initial, "initial");
    }
    struct place *place =
        declaration_check_cell(&d,
                               options != NULL ? options->list : NULL,
                               "list");
    if (d.err == ERR_OK) {
        struct callback *callback = declaration_doer(&d);
        callback->reduce = options->run;
        const struct builder_reduce reduce = {
            .name = d.key,
            .list = place,
            .initial = options->initial->value,
            .run = run_reduce,
            .ctx = callback,
            .release = callback_gone,
            .fingerprint = declaration_fingerprint(&d),
        };
        d.err = builder_reduce(builder->inside, &reduce, &d.place, &d.detail);
    }
    return declaration_end(&d, error);
}

/* -- Choices ------------------------------------------------------------- */

typedef enum err choice_fn(struct builder *builder,
                           const struct builder_choice *choice,
                           struct place **out,
                           struct err_detail *detail);

static hd_status build_choice(hd_builder *builder,
                              const char *name,
                              const hd_cell *const *cells,
                              size_t count,
                              choice_fn *declare,
                              hd_cell **output,
                              hd_error *error)
{
    static const char *const names[] = {"condition", "then", "otherwise"};
    struct place *places[3] = {NULL, NULL, NULL};
    struct declaration d;
    declaration_begin(&d, builder, name, output);
    declaration_check_name(&d, "name");
    for (size_t i = 0; i < count; i++) {
        places[i] = declaration_check_cell(&d, cells[i], names[i]);
    }
    if (d.err == ERR_OK) {
        const struct builder_choice choice = {
            .name = d.key,
            .condition = places[0],
            .then = places[1],
            .otherwise = places[2],
        };
        d.err = declare(builder->inside, &choice, &d.place, &d.detail);
    }
    return declaration_end(&d, error);
}

hd_status hd_build_if_else(hd_builder *builder,
                           const char *name,
                           hd_cell *condition,
                           hd_cell *then,
                           hd_cell *otherwise,
                           hd_cell **output,
                           hd_error *error)
{
    const hd_cell *const cells[] = {condition, then, otherwise};
    return build_choice(builder,
                        name,
                        cells,
                        COUNT_OF(cells),
                        builder_if_else,
                        output,
                        error);
}

hd_status hd_build_when(hd_builder *builder,
                        const char *name,
                        hd_cell *condition,
                        hd_cell *then,
                        hd_cell **output,
                        hd_error *error)
{
    const hd_cell *const cells[] = {condition, then};
    return build_choice(builder,
                        name,
                        cells,
                        COUNT_OF(cells),
                        builder_when,
                        output,
                        error);
}
