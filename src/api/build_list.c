/* Lists and choices that a build function of the program declares. */

#include "api/build.h"
#include "api/edge.h"
#include "api/handle.h"
#include "runtime/choice.h"
#include "runtime/list.h"

/* -- Lists --------------------------------------------------------------- */

static enum run_result run_element(struct run *run,
                                   void *ctx,
                                   struct place *element,
                                   struct value *result)
{
    struct doer *doer = ctx;
    const struct doing doing = {
        .run = run,
        .piece = doer->piece,
        .result = result,
        .element = element,
    };
    return doer_call(doer, &doing);
}

typedef enum err list_fn(struct builder *builder,
                         const struct builder_list *list,
                         struct place **out,
                         struct err_detail *detail);

static enum err check_list(const hd_builder *builder,
                           const hd_list_options *options,
                           struct err_detail *detail)
{
    if (options == NULL || options->run == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'%s' must not be NULL",
                       options == NULL ? "options" : "run");
    }
    return build_check_cell(builder, options->list, "list", detail);
}

static enum err declare_list(hd_builder *builder,
                             struct value name,
                             const hd_list_options *options,
                             list_fn *declare,
                             struct place **out,
                             struct err_detail *detail)
{
    struct doer *doer = build_doer(builder, options->context, options->release);
    doer->element = options->run;
    struct digest room;
    const struct builder_list list = {
        .name = name,
        .list = options->list->place,
        .body =
            {
                .run = run_element,
                .ctx = doer,
                .release = doer_gone,
                .fingerprint = build_fingerprint(builder, name, &room),
            },
    };
    return declare(builder->inside, &list, out, detail);
}

static hd_status build_list(hd_builder *builder,
                            const char *name,
                            const hd_list_options *options,
                            list_fn *declare,
                            hd_cell **output,
                            hd_error *error)
{
    if (output != NULL) {
        *output = NULL;
    }
    struct err_detail detail = {0};
    struct value key;
    struct place *place = NULL;
    enum err err = build_begin(builder, name, "name", &key, &detail);
    if (err == ERR_OK) {
        err = check_list(builder, options, &detail);
    }
    if (err == ERR_OK) {
        err = declare_list(builder, key, options, declare, &place, &detail);
        if (err == ERR_OK) {
            build_lend(builder, place, output);
        }
    } else if (options != NULL) {
        build_refuse(options->context, options->release);
    }
    value_unref(key);
    return build_end(builder, err, &detail, name, error);
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

static enum err declare_pieces(hd_builder *builder,
                               struct value name,
                               const hd_pieces_options *options,
                               struct place **out,
                               struct err_detail *detail)
{
    struct value key = VALUE_NONE;
    if (options->key != NULL) {
        const enum err err = edge_name(options->key, "key", &key, detail);
        if (err != ERR_OK) {
            build_refuse(options->context, options->release);
            return err;
        }
    }
    struct doer *doer = build_doer(builder, options->context, options->release);
    doer->build = options->build;
    doer->wrap = builder->wrap;
    const struct builder_list list = {
        .name = name,
        .list = options->list->place,
        .body = {.declare = build_element, .ctx = doer, .release = doer_gone},
        .key = key,
    };
    const enum err err = builder_map(builder->inside, &list, out, detail);
    value_unref(key);
    return err;
}

hd_status hd_build_map_pieces(hd_builder *builder,
                              const char *name,
                              const hd_pieces_options *options,
                              hd_cell **output,
                              hd_error *error)
{
    if (output != NULL) {
        *output = NULL;
    }
    struct err_detail detail = {0};
    struct value key;
    struct place *place = NULL;
    enum err err = build_begin(builder, name, "name", &key, &detail);
    if (err == ERR_OK && (options == NULL || options->build == NULL)) {
        err = err_set(&detail,
                      ERR_ARGUMENT,
                      "'%s' must not be NULL",
                      options == NULL ? "options" : "build");
    }
    if (err == ERR_OK) {
        err = build_check_cell(builder, options->list, "list", &detail);
    }
    if (err == ERR_OK) {
        err = declare_pieces(builder, key, options, &place, &detail);
        if (err == ERR_OK) {
            build_lend(builder, place, output);
        }
    } else if (options != NULL) {
        build_refuse(options->context, options->release);
    }
    value_unref(key);
    return build_end(builder, err, &detail, name, error);
}

/* -- Without children ---------------------------------------------------- */

static enum run_result run_reduce(struct run *run,
                                  void *ctx,
                                  struct value accumulator,
                                  struct value element,
                                  struct value *result)
{
    struct doer *doer = ctx;
    const struct doing doing = {
        .run = run,
        .piece = doer->piece,
        .result = result,
        .accumulator = accumulator,
        .item = element,
    };
    const enum run_result done = doer_call(doer, &doing);
    if (done == RUN_DONE && value_is_absent(*result)) {
        struct err_detail detail;
        (void)err_set(&detail,
                      ERR_GIVEN_UP,
                      "the reduce function returned no value");
        return run_fail(run, &detail);
    }
    return done;
}

static enum err check_reduce(const hd_builder *builder,
                             const hd_reduce_options *options,
                             struct err_detail *detail)
{
    if (options == NULL || options->run == NULL || options->initial == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'%s' must not be NULL",
                       options == NULL        ? "options"
                       : options->run == NULL ? "run"
                                              : "initial");
    }
    return build_check_cell(builder, options->list, "list", detail);
}

hd_status hd_build_reduce(hd_builder *builder,
                          const char *name,
                          const hd_reduce_options *options,
                          hd_cell **output,
                          hd_error *error)
{
    if (output != NULL) {
        *output = NULL;
    }
    struct err_detail detail = {0};
    struct value key;
    enum err err = build_begin(builder, name, "name", &key, &detail);
    if (err == ERR_OK) {
        err = check_reduce(builder, options, &detail);
    }
    if (err == ERR_OK) {
        struct doer *doer =
            build_doer(builder, options->context, options->release);
        doer->reduce = options->run;
        struct digest room;
        struct place *place = NULL;
        const struct builder_reduce reduce = {
            .name = key,
            .list = options->list->place,
            .initial = options->initial->value,
            .run = run_reduce,
            .ctx = doer,
            .release = doer_gone,
            .fingerprint = build_fingerprint(builder, key, &room),
        };
        err = builder_reduce(builder->inside, &reduce, &place, &detail);
        if (err == ERR_OK) {
            build_lend(builder, place, output);
        }
    } else if (options != NULL) {
        build_refuse(options->context, options->release);
    }
    value_unref(key);
    return build_end(builder, err, &detail, name, error);
}

/* -- Choices ------------------------------------------------------------- */

typedef enum err choice_fn(struct builder *builder,
                           const struct builder_choice *choice,
                           struct place **out,
                           struct err_detail *detail);

struct choosing {
    const hd_cell *cells[3]; /* condition, then, otherwise */
    size_t count;
    choice_fn *declare;
};

static hd_status build_choice(hd_builder *builder,
                              const char *name,
                              const struct choosing *choosing,
                              hd_cell **output,
                              hd_error *error)
{
    static const char *const names[] = {"condition", "then", "otherwise"};
    if (output != NULL) {
        *output = NULL;
    }
    struct err_detail detail = {0};
    struct builder_choice choice = {0};
    enum err err = build_begin(builder, name, "name", &choice.name, &detail);
    struct place *places[3] = {NULL, NULL, NULL};
    for (size_t i = 0; i < choosing->count && err == ERR_OK; i++) {
        err = build_check_cell(builder, choosing->cells[i], names[i], &detail);
        places[i] = err == ERR_OK ? choosing->cells[i]->place : NULL;
    }
    if (err == ERR_OK) {
        struct place *place = NULL;
        choice.condition = places[0];
        choice.then = places[1];
        choice.otherwise = places[2];
        err = choosing->declare(builder->inside, &choice, &place, &detail);
        if (err == ERR_OK) {
            build_lend(builder, place, output);
        }
    }
    value_unref(choice.name);
    return build_end(builder, err, &detail, name, error);
}

hd_status hd_build_if_else(hd_builder *builder,
                           const char *name,
                           hd_cell *condition,
                           hd_cell *then,
                           hd_cell *otherwise,
                           hd_cell **output,
                           hd_error *error)
{
    const struct choosing choosing = {
        {condition, then, otherwise},
        3,
        builder_if_else,
    };
    return build_choice(builder, name, &choosing, output, error);
}

hd_status hd_build_when(hd_builder *builder,
                        const char *name,
                        hd_cell *condition,
                        hd_cell *then,
                        hd_cell **output,
                        hd_error *error)
{
    const struct choosing choosing = {{condition, then}, 2, builder_when};
    return build_choice(builder, name, &choosing, output, error);
}
