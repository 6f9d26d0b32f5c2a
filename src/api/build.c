/* What a build function of the program can declare. */

#include "api/build.h"

#include "api/edge.h"
#include "api/handle.h"
#include "api/label.h"
#include "api/pattern.h"
#include "base/mem.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/id.h"

/* -- Scopes -------------------------------------------------------------- */

void build_scope_unref(struct build_scope *scope)
{
    if (--scope->refs > 0) {
        return;
    }
    VEC_FOREACH (&scope->cells, cell) {
        cell_handle_free(*cell);
    }
    vec_release(&scope->cells);
    mem_free(scope, sizeof *scope);
}

void build_lend(const hd_builder *builder, struct place *place, hd_cell **cell)
{
    if (cell != NULL) {
        hd_cell *lent =
            cell_handle_adopt(builder->object.runtime, place_ref(place));
        lent->borrowers = 1;
        vec_push(&builder->scope->cells, lent);
        *cell = lent;
    }
}

/* -- The call ------------------------------------------------------------ */

/* Building is part of no transaction. */
static hd_builder *builder_begin(const struct wrap *wrap,
                                 struct builder *inside)
{
    hd_runtime *runtime = wrap->runtime;
    if (runtime->building == runtime->builders.count) {
        hd_builder *made = mem_alloc_zero(sizeof *made);
        vec_push(&runtime->builders, made);
    }
    hd_builder *builder = runtime->builders.at[runtime->building++];
    struct build_scope *scope = mem_alloc_zero(sizeof *scope);
    scope->refs = 1;
    *builder = (hd_builder){
        .object = {.kind = OBJECT_BUILDER, .runtime = runtime},
        .inside = inside,
        .wrap = wrap,
        .scope = scope,
        .outer = runtime->run,
    };
    runtime->run = NULL;
    runtime->busy++;
    return builder;
}

static enum err builder_end(hd_builder *builder,
                            hd_status status,
                            struct err_detail *detail)
{
    hd_runtime *runtime = builder->object.runtime;
    runtime->busy--;
    runtime->run = builder->outer;
    if (status != HD_OK && builder->failure.err == (enum err)status) {
        *detail = builder->failure;
    } else if (status != HD_OK) {
        (void)err_set(detail,
                      (enum err)status,
                      "the build function returned HD_%s: %s",
                      hd_status_name(status),
                      hd_status_text(status));
    }
    runtime->building--;
    builder->object.kind = OBJECT_OVER;
    build_scope_unref(builder->scope);
    builder->scope = NULL;
    return (enum err)status;
}

void builders_release(hd_runtime *runtime)
{
    VEC_FOREACH (&runtime->builders, builder) {
        mem_free(*builder, sizeof **builder);
    }
    vec_release(&runtime->builders);
}

enum err build_with(struct builder *inside,
                    void *ctx,
                    struct err_detail *detail)
{
    const struct wrap *wrap = ctx;
    hd_builder *builder = builder_begin(wrap, inside);
    const hd_status status =
        wrap->pattern->build(builder, wrap->pattern->context);
    return builder_end(builder, status, detail);
}

enum err build_element(struct builder *inside,
                       void *ctx,
                       struct place *element,
                       struct err_detail *detail)
{
    const struct callback *callback = ctx;
    hd_builder *builder = builder_begin(callback->wrap, inside);
    hd_cell *cell = NULL;
    build_lend(builder, element, &cell);
    const hd_status status = callback->build(builder, cell, callback->context);
    return builder_end(builder, status, detail);
}

/* -- Declarations --------------------------------------------------------- */

void declaration_begin(struct declaration *d,
                       hd_builder *builder,
                       const char *name,
                       hd_cell **output)
{
    *d = (struct declaration){
        .builder = builder,
        .name = name,
        .output = output,
    };
    if (output != NULL) {
        *output = NULL;
    }
    d->err = object_check_open(builder, OBJECT_BUILDER, "builder", &d->detail);
}

void declaration_check_name(struct declaration *d, const char *parameter)
{
    if (d->err == ERR_OK) {
        d->err = edge_name(d->name, parameter, &d->key, &d->detail);
    }
}

void declaration_refuse_null(struct declaration *d,
                             const void *given,
                             const char *parameter)
{
    if (d->err == ERR_OK && given == NULL) {
        d->err = err_set(&d->detail,
                         ERR_ARGUMENT,
                         "'%s' must not be NULL",
                         parameter);
    }
}

void declaration_give(struct declaration *d,
                      const char *missing,
                      void *context,
                      void (*release)(void *context))
{
    d->context = context;
    d->release = release;
    if (missing != NULL) {
        declaration_refuse_null(d, NULL, missing);
    }
}

struct place *declaration_check_cell(struct declaration *d,
                                     const hd_cell *cell,
                                     const char *name)
{
    if (d->err == ERR_OK) {
        d->err = cell_check(cell, name, &d->detail);
    }
    if (d->err == ERR_OK &&
        cell->object.runtime != d->builder->object.runtime) {
        d->err = err_set(&d->detail,
                         ERR_MISUSE,
                         "'%s' is a cell of another runtime",
                         name);
    }
    return d->err == ERR_OK ? cell->place : NULL;
}

void declaration_check_cells(struct declaration *d,
                             hd_cell *const *cells,
                             size_t count,
                             const char *name,
                             struct cell_places *out)
{
    *out = (struct cell_places){0};
    if (d->err == ERR_OK) {
        d->err = cell_places(d->builder->object.runtime,
                             cells,
                             count,
                             name,
                             out,
                             &d->detail);
    }
}

struct callback *declaration_doer(struct declaration *d)
{
    const hd_builder *builder = d->builder;
    struct callback *callback =
        callback_new(builder->object.runtime, NULL, d->context, d->release);
    d->release = NULL;
    callback->scope = builder->scope;
    callback->scope->refs++;
    callback->piece = builder_piece_of(builder->inside);
    return callback;
}

const struct digest *declaration_fingerprint(struct declaration *d)
{
    const hd_pattern *pattern = d->builder->wrap->pattern;
    if (value_is_absent(pattern->version)) {
        return NULL;
    }
    const struct value parts[] = {pattern->name, pattern->version, d->key};
    struct value all = value_empty_array();
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        all = array_push_adopt(all, value_ref(parts[i]));
    }
    d->fingerprint = value_digest(all);
    value_unref(all);
    return &d->fingerprint;
}

hd_status declaration_end(struct declaration *d, hd_error *error)
{
    if (d->err == ERR_OK && d->place != NULL) {
        build_lend(d->builder, d->place, d->output);
    }
    if (d->err != ERR_OK && d->release != NULL) {
        d->release(d->context);
    }
    if (d->err != ERR_OK && d->builder != NULL &&
        d->builder->object.kind == OBJECT_BUILDER) {
        d->builder->failure = d->detail;
    }
    value_unref(d->key);
    const hd_status status = error_report(error, d->err, &d->detail);
    if (error != NULL && d->err != ERR_OK && d->name != NULL) {
        const size_t length =
            edge_length(d->name, HD_TERMINATED, ERR_TEXT_SIZE);
        error_set_address(error, (struct text){d->name, length});
    }
    return status;
}

/* -- Documents ----------------------------------------------------------- */

typedef enum err document_fn(struct builder *builder,
                             const struct builder_cell *cell,
                             struct place **out,
                             struct err_detail *detail);

static hd_status build_document(hd_builder *builder,
                                const char *name,
                                hd_scope scope,
                                const hd_value *initial,
                                document_fn *declare,
                                hd_cell **cell,
                                hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, name, cell);
    declaration_check_name(&d, "name");
    if (d.err == ERR_OK && scope > HD_SCOPE_SESSION) {
        d.err =
            err_set(&d.detail, ERR_ARGUMENT, "'scope' is not a valid hd_scope");
    }
    if (d.err == ERR_OK) {
        const struct builder_cell document = {
            .name = d.key,
            .initial = initial != NULL ? initial->value : VALUE_NONE,
            .scope = (enum scope)scope,
        };
        d.err = declare(builder->inside, &document, &d.place, &d.detail);
    }
    return declaration_end(&d, error);
}

hd_status hd_build_state(hd_builder *builder,
                         const char *name,
                         const hd_value *initial,
                         hd_cell **cell,
                         hd_error *error)
{
    return hd_build_state_scoped(builder,
                                 name,
                                 HD_SCOPE_SPACE,
                                 initial,
                                 cell,
                                 error);
}

hd_status hd_build_state_scoped(hd_builder *builder,
                                const char *name,
                                hd_scope scope,
                                const hd_value *initial,
                                hd_cell **cell,
                                hd_error *error)
{
    return build_document(builder,
                          name,
                          scope,
                          initial,
                          builder_state,
                          cell,
                          error);
}

hd_status hd_build_argument(hd_builder *builder,
                            const char *name,
                            const hd_value *initial,
                            hd_cell **cell,
                            hd_error *error)
{
    return build_document(builder,
                          name,
                          HD_SCOPE_SPACE,
                          initial,
                          builder_argument,
                          cell,
                          error);
}

hd_status hd_build_schema(hd_builder *builder,
                          const char *name,
                          const hd_value *schema,
                          hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, name, NULL);
    declaration_check_name(&d, "name");
    declaration_refuse_null(&d, schema, "schema");
    if (d.err == ERR_OK) {
        d.err =
            builder_schema(builder->inside, d.key, schema->value, &d.detail);
    }
    return declaration_end(&d, error);
}

/* -- Functions ----------------------------------------------------------- */

static enum run_result run_body(struct run *run,
                                void *ctx,
                                struct value *result)
{
    struct callback *callback = ctx;
    const struct call_context call_context = {
        .run = run,
        .handling = run->handling,
        .piece = callback->piece,
        .result = result,
    };
    return callback_call(callback, &call_context);
}

static struct body body_new(struct declaration *d, hd_run_fn *run)
{
    struct callback *callback = declaration_doer(d);
    callback->run = run;
    return (struct body){
        .run = run_body,
        .ctx = callback,
        .release = callback_gone,
        .fingerprint = declaration_fingerprint(d),
    };
}

static enum err check_clearance(const hd_node_options *options,
                                enum node_kind kind,
                                struct err_detail *detail)
{
    if (options->clearance == NULL) {
        return ERR_OK;
    }
    return kind == NODE_EFFECT
               ? label_check(options->clearance->value, true, detail)
               : err_set(detail,
                         ERR_ARGUMENT,
                         "a computation cannot have a clearance");
}

static void declare_node(struct declaration *d,
                         const hd_node_options *options,
                         enum node_kind kind)
{
    struct builder *inside = d->builder->inside;
    struct cell_places reads;
    struct cell_places writes;
    d->err = check_clearance(options, kind, &d->detail);
    declaration_check_cells(d,
                            options->reads,
                            options->read_count,
                            "reads",
                            &reads);
    declaration_check_cells(d,
                            options->writes,
                            options->write_count,
                            "writes",
                            &writes);
    if (d->err == ERR_OK) {
        const struct builder_node node = {
            .name = d->key,
            .body = body_new(d, options->run),
            .reads = reads.at,
            .read_count = reads.count,
            .writes = writes.at,
            .write_count = writes.count,
            .debounce = options->debounce_ms,
            .debounce_max = options->debounce_max_ms,
            .throttle = options->throttle_ms,
            .no_auto_debounce = options->no_auto_debounce,
            .clearance = options->clearance != NULL ? options->clearance->value
                                                    : VALUE_NONE,
        };
        d->err = kind == NODE_COMPUTATION
                     ? builder_computed(inside, &node, &d->place, &d->detail)
                     : builder_effect(inside, &node, &d->detail);
    }
    cell_places_release(&reads);
    cell_places_release(&writes);
}

static hd_status build_node(hd_builder *builder,
                            const char *name,
                            const hd_node_options *options,
                            enum node_kind kind,
                            hd_cell **output,
                            hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, name, output);
    declaration_check_name(&d, "name");
    DECLARATION_GIVE(&d, options, run);
    if (d.err == ERR_OK) {
        declare_node(&d, options, kind);
    }
    return declaration_end(&d, error);
}

hd_status hd_build_computed(hd_builder *builder,
                            const char *name,
                            const hd_node_options *options,
                            hd_cell **output,
                            hd_error *error)
{
    return build_node(builder, name, options, NODE_COMPUTATION, output, error);
}

hd_status hd_build_effect(hd_builder *builder,
                          const char *name,
                          const hd_node_options *options,
                          hd_error *error)
{
    return build_node(builder, name, options, NODE_EFFECT, NULL, error);
}

static void declare_handler(struct declaration *d,
                            const hd_handler_options *options)
{
    struct cell_reads reads = {0};
    d->err = cell_reads(d->builder->object.runtime,
                        options->reads,
                        options->read_count,
                        &reads,
                        &d->detail);
    if (d->err == ERR_OK) {
        const struct builder_handler handler = {
            .name = d->key,
            .body = body_new(d, options->run),
            .reads = reads.at,
            .read_count = reads.count,
            .pure = options->pure,
            .several_spaces = options->several_spaces,
            .collapses = options->collapses,
        };
        d->err = builder_handler(d->builder->inside,
                                 &handler,
                                 &d->place,
                                 &d->detail);
    }
    cell_reads_release(&reads);
}

hd_status hd_build_handler(hd_builder *builder,
                           const char *name,
                           const hd_handler_options *options,
                           hd_cell **stream,
                           hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, name, stream);
    declaration_check_name(&d, "name");
    DECLARATION_GIVE(&d, options, run);
    if (d.err == ERR_OK) {
        declare_handler(&d, options);
    }
    return declaration_end(&d, error);
}

/* -- Children and the result --------------------------------------------- */

hd_status hd_build_piece(hd_builder *builder,
                         const char *name,
                         hd_pattern *pattern,
                         const hd_value *arguments,
                         hd_cell **result,
                         hd_error *error)
{
    return hd_build_piece_in(builder,
                             NULL,
                             name,
                             pattern,
                             arguments,
                             result,
                             error);
}

hd_status hd_build_piece_in(hd_builder *builder,
                            const char *space,
                            const char *name,
                            hd_pattern *pattern,
                            const hd_value *arguments,
                            hd_cell **result,
                            hd_error *error)
{
    struct declaration d;
    struct value elsewhere = VALUE_NONE;
    declaration_begin(&d, builder, name, result);
    if (name != NULL) {
        declaration_check_name(&d, "name");
    }
    if (d.err == ERR_OK) {
        d.err = pattern_check(pattern, &d.detail);
    }
    if (d.err == ERR_OK && space != NULL) {
        d.err = edge_name(space, "space", &elsewhere, &d.detail);
    }
    if (d.err == ERR_OK && arguments != NULL &&
        !value_is_object(arguments->value)) {
        d.err = err_set(&d.detail, ERR_TYPE, "'arguments' is not an object");
    }
    if (d.err == ERR_OK) {
        const struct builder_child child = {
            .name = d.key,
            .space = elsewhere,
            .pattern = pattern_in(builder->object.runtime, pattern),
            .arguments = arguments != NULL ? arguments->value : VALUE_NONE,
        };
        d.err = builder_piece(builder->inside, &child, &d.place, &d.detail);
    }
    value_unref(elsewhere);
    return declaration_end(&d, error);
}

hd_status hd_build_result(hd_builder *builder,
                          const char *key,
                          hd_cell *cell,
                          hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, key, NULL);
    declaration_check_name(&d, "key");
    struct place *place = declaration_check_cell(&d, cell, "cell");
    if (d.err == ERR_OK) {
        d.err = builder_result(builder->inside, d.key, place, &d.detail);
    }
    return declaration_end(&d, error);
}

hd_status hd_build_result_value(hd_builder *builder,
                                const char *key,
                                const hd_value *value,
                                hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, key, NULL);
    declaration_check_name(&d, "key");
    declaration_refuse_null(&d, value, "value");
    if (d.err == ERR_OK) {
        d.err = builder_result_value(builder->inside,
                                     d.key,
                                     value->value,
                                     &d.detail);
    }
    return declaration_end(&d, error);
}
