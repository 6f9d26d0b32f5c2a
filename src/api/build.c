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
    const struct doer *doer = ctx;
    hd_builder *builder = builder_begin(doer->wrap, inside);
    hd_cell *cell = NULL;
    build_lend(builder, element, &cell);
    const hd_status status = doer->build(builder, cell, doer->context);
    return builder_end(builder, status, detail);
}

/* -- Beginning and ending a declaration ---------------------------------- */

enum err build_begin(hd_builder *builder,
                     const char *name,
                     const char *parameter,
                     struct value *out,
                     struct err_detail *detail)
{
    *out = VALUE_NONE;
    const enum err err =
        object_check_open(builder, OBJECT_BUILDER, "builder", detail);
    return err != ERR_OK ? err : edge_name(name, parameter, out, detail);
}

hd_status build_end(hd_builder *builder,
                    enum err err,
                    const struct err_detail *detail,
                    const char *name,
                    hd_error *error)
{
    if (err != ERR_OK && builder != NULL &&
        builder->object.kind == OBJECT_BUILDER) {
        builder->failure = *detail;
    }
    const hd_status status = error_report(error, err, detail);
    if (error != NULL && err != ERR_OK && name != NULL) {
        const size_t length = edge_length(name, HD_TERMINATED, ERR_TEXT_SIZE);
        error_set_address(error, (struct text){name, length});
    }
    return status;
}

enum err build_check_cell(const hd_builder *builder,
                          const hd_cell *cell,
                          const char *name,
                          struct err_detail *detail)
{
    const enum err err = cell_check(cell, name, detail);
    if (err == ERR_OK && cell->object.runtime != builder->object.runtime) {
        return err_set(detail,
                       ERR_MISUSE,
                       "'%s' is a cell of another runtime",
                       name);
    }
    return err;
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
    if (cell != NULL) {
        *cell = NULL;
    }
    struct err_detail detail = {0};
    struct builder_cell document = {
        .initial = initial != NULL ? initial->value : VALUE_NONE,
        .scope = (enum scope)scope,
    };
    enum err err = build_begin(builder, name, "name", &document.name, &detail);
    if (err == ERR_OK && scope > HD_SCOPE_SESSION) {
        err = err_set(&detail, ERR_ARGUMENT, "'scope' is not a valid hd_scope");
    }
    struct place *place = NULL;
    if (err == ERR_OK) {
        err = declare(builder->inside, &document, &place, &detail);
    }
    if (err == ERR_OK) {
        build_lend(builder, place, cell);
    }
    value_unref(document.name);
    return build_end(builder, err, &detail, name, error);
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
    struct err_detail detail = {0};
    struct value text = VALUE_NONE;
    enum err err = build_begin(builder, name, "name", &text, &detail);
    if (err == ERR_OK && schema == NULL) {
        err = err_set(&detail, ERR_ARGUMENT, "'schema' must not be NULL");
    }
    if (err == ERR_OK) {
        err = builder_schema(builder->inside, text, schema->value, &detail);
    }
    value_unref(text);
    return build_end(builder, err, &detail, name, error);
}

/* -- Functions ----------------------------------------------------------- */

static enum run_result run_body(struct run *run,
                                void *ctx,
                                struct value *result)
{
    struct doer *doer = ctx;
    const struct doing doing = {
        .run = run,
        .handling = run->handling,
        .piece = doer->piece,
        .result = result,
    };
    return doer_call(doer, &doing);
}

const struct digest *build_fingerprint(const hd_builder *builder,
                                       struct value name,
                                       struct digest *room)
{
    const hd_pattern *pattern = builder->wrap->pattern;
    if (value_is_absent(pattern->version)) {
        return NULL;
    }
    const struct value parts[] = {pattern->name, pattern->version, name};
    struct value all = value_empty_array();
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        all = array_push_adopt(all, value_ref(parts[i]));
    }
    *room = value_digest(all);
    value_unref(all);
    return room;
}

struct doer *build_doer(const hd_builder *builder,
                        void *context,
                        void (*release)(void *context))
{
    struct doer *doer =
        doer_new(builder->object.runtime, NULL, context, release);
    doer->scope = builder->scope;
    doer->scope->refs++;
    doer->piece = builder_piece_of(builder->inside);
    return doer;
}

/* A function that is declared; `room` is that of its fingerprint. */
static struct body body_new(const hd_builder *builder,
                            struct doer *doer,
                            struct value name,
                            struct digest *room)
{
    return (struct body){
        .run = run_body,
        .ctx = doer,
        .release = doer_gone,
        .fingerprint = build_fingerprint(builder, name, room),
    };
}

static enum err check_function(const void *options,
                               bool has_run,
                               struct err_detail *detail)
{
    return options != NULL && has_run
               ? ERR_OK
               : err_set(detail,
                         ERR_ARGUMENT,
                         "'%s' must not be NULL",
                         options == NULL ? "options" : "run");
}

void build_refuse(void *context, void (*release)(void *context))
{
    if (release != NULL) {
        release(context);
    }
}

/* An effect has no `out`, and only it has a clearance. */
static enum err check_clearance(const hd_node_options *options,
                                bool is_effect,
                                struct err_detail *detail)
{
    if (options->clearance == NULL) {
        return ERR_OK;
    }
    return is_effect ? label_check(options->clearance->value, true, detail)
                     : err_set(detail,
                               ERR_ARGUMENT,
                               "a computation cannot have a clearance");
}

static enum err declare_node(hd_builder *builder,
                             struct value name,
                             const hd_node_options *options,
                             struct place **out,
                             struct err_detail *detail)
{
    hd_runtime *runtime = builder->object.runtime;
    struct cell_places reads = {0};
    struct cell_places writes = {0};
    enum err err = check_clearance(options, out == NULL, detail);
    if (err == ERR_OK) {
        err = cell_places(runtime,
                          options->reads,
                          options->read_count,
                          "reads",
                          &reads,
                          detail);
    }
    if (err == ERR_OK) {
        err = cell_places(runtime,
                          options->writes,
                          options->write_count,
                          "writes",
                          &writes,
                          detail);
    }
    if (err != ERR_OK) {
        build_refuse(options->context, options->release);
    } else {
        struct doer *doer =
            build_doer(builder, options->context, options->release);
        doer->run = options->run;
        struct digest digest;
        const struct builder_node node = {
            .name = name,
            .body = body_new(builder, doer, name, &digest),
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
        err = out != NULL
                  ? builder_computed(builder->inside, &node, out, detail)
                  : builder_effect(builder->inside, &node, detail);
    }
    cell_places_release(&reads);
    cell_places_release(&writes);
    return err;
}

hd_status hd_build_computed(hd_builder *builder,
                            const char *name,
                            const hd_node_options *options,
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
        err = check_function(options,
                             options != NULL && options->run != NULL,
                             &detail);
    }
    if (err == ERR_OK) {
        err = declare_node(builder, key, options, &place, &detail);
        if (err == ERR_OK) {
            build_lend(builder, place, output);
        }
    } else if (options != NULL) {
        build_refuse(options->context, options->release);
    }
    value_unref(key);
    return build_end(builder, err, &detail, name, error);
}

hd_status hd_build_effect(hd_builder *builder,
                          const char *name,
                          const hd_node_options *options,
                          hd_error *error)
{
    struct err_detail detail = {0};
    struct value key;
    enum err err = build_begin(builder, name, "name", &key, &detail);
    if (err == ERR_OK) {
        err = check_function(options,
                             options != NULL && options->run != NULL,
                             &detail);
    }
    if (err == ERR_OK) {
        err = declare_node(builder, key, options, NULL, &detail);
    } else if (options != NULL) {
        build_refuse(options->context, options->release);
    }
    value_unref(key);
    return build_end(builder, err, &detail, name, error);
}

static enum err declare_handler(hd_builder *builder,
                                struct value name,
                                const hd_handler_options *options,
                                struct place **out,
                                struct err_detail *detail)
{
    hd_runtime *runtime = builder->object.runtime;
    struct cell_places places;
    enum err err = cell_places(runtime,
                               options->reads,
                               options->read_count,
                               "reads",
                               &places,
                               detail);
    if (err != ERR_OK) {
        build_refuse(options->context, options->release);
        return err;
    }
    VEC(struct declared_read) reads = {0};
    for (size_t i = 0; i < places.count; i++) {
        const struct declared_read read = {places.at[i], READ_DEEP};
        vec_push(&reads, read);
    }
    struct doer *doer = build_doer(builder, options->context, options->release);
    doer->run = options->run;
    struct digest digest;
    const struct builder_handler handler = {
        .name = name,
        .body = body_new(builder, doer, name, &digest),
        .reads = reads.at,
        .read_count = reads.count,
        .pure = options->pure,
        .several_spaces = options->several_spaces,
        .collapses = options->collapses,
    };
    err = builder_handler(builder->inside, &handler, out, detail);
    vec_release(&reads);
    cell_places_release(&places);
    return err;
}

hd_status hd_build_handler(hd_builder *builder,
                           const char *name,
                           const hd_handler_options *options,
                           hd_cell **stream,
                           hd_error *error)
{
    if (stream != NULL) {
        *stream = NULL;
    }
    struct err_detail detail = {0};
    struct value key;
    struct place *place = NULL;
    enum err err = build_begin(builder, name, "name", &key, &detail);
    if (err == ERR_OK) {
        err = check_function(options,
                             options != NULL && options->run != NULL,
                             &detail);
    }
    if (err == ERR_OK) {
        err = declare_handler(builder, key, options, &place, &detail);
        if (err == ERR_OK) {
            build_lend(builder, place, stream);
        }
    } else if (options != NULL) {
        build_refuse(options->context, options->release);
    }
    value_unref(key);
    return build_end(builder, err, &detail, name, error);
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
    if (result != NULL) {
        *result = NULL;
    }
    struct err_detail detail = {0};
    struct builder_child child = {
        .arguments = arguments != NULL ? arguments->value : VALUE_NONE,
    };
    enum err err =
        object_check_open(builder, OBJECT_BUILDER, "builder", &detail);
    if (err == ERR_OK && name != NULL) {
        err = edge_name(name, "name", &child.name, &detail);
    }
    if (err == ERR_OK && space != NULL) {
        err = edge_name(space, "space", &child.space, &detail);
    }
    if (err == ERR_OK) {
        err = pattern_check(pattern, &detail);
    }
    if (err == ERR_OK && arguments != NULL &&
        !value_is_object(child.arguments)) {
        err = err_set(&detail, ERR_TYPE, "'arguments' is not an object");
    }
    if (err == ERR_OK) {
        struct place *place = NULL;
        child.pattern = pattern_in(builder->object.runtime, pattern);
        err = builder_piece(builder->inside, &child, &place, &detail);
        if (err == ERR_OK) {
            build_lend(builder, place, result);
        }
    }
    value_unref(child.name);
    value_unref(child.space);
    return build_end(builder, err, &detail, name, error);
}

hd_status hd_build_result(hd_builder *builder,
                          const char *key,
                          hd_cell *cell,
                          hd_error *error)
{
    struct err_detail detail = {0};
    struct value name;
    enum err err = build_begin(builder, key, "key", &name, &detail);
    if (err == ERR_OK) {
        err = cell_check(cell, "cell", &detail);
    }
    if (err == ERR_OK && cell->object.runtime != builder->object.runtime) {
        err = err_set(&detail,
                      ERR_MISUSE,
                      "'cell' belongs to another "
                      "runtime");
    }
    if (err == ERR_OK) {
        err = builder_result(builder->inside, name, cell->place, &detail);
    }
    value_unref(name);
    return build_end(builder, err, &detail, key, error);
}

hd_status hd_build_result_value(hd_builder *builder,
                                const char *key,
                                const hd_value *value,
                                hd_error *error)
{
    struct err_detail detail = {0};
    struct value name;
    enum err err = build_begin(builder, key, "key", &name, &detail);
    if (err == ERR_OK && value == NULL) {
        err = err_set(&detail, ERR_ARGUMENT, "'value' must not be NULL");
    }
    if (err == ERR_OK) {
        err =
            builder_result_value(builder->inside, name, value->value, &detail);
    }
    value_unref(name);
    return build_end(builder, err, &detail, key, error);
}
