/* Declarations: names, documents, nodes, handlers, children. */

#include "runtime/builder.h"

#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "runtime/building.h"
#include "runtime/cell.h"
#include "runtime/change.h"
#include "runtime/element.h"
#include "runtime/piece_schemas.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    NAME_BYTES_MAX = 128, /* of one part */
    DEPTH_MAX = 32,       /* of children in children */
};

/* -- Names --------------------------------------------------------------- */

static const char *const kind_names[] = {
    [PART_STATE] = "state",
    [PART_ARGUMENT] = "argument",
    [PART_COMPUTED] = "computed",
    [PART_EFFECT] = "effect",
    [PART_HANDLER] = "handler",
    [PART_PIECE] = "piece",
    [PART_DOCUMENT] = "document",
    [PART_PRELOADED] = "preloaded",
    [PART_COLLECTION] = "collection",
    [PART_LIST] = "list",
};

const char *part_kind_name(enum part_kind kind)
{
    return kind_names[kind];
}

struct builder *builder_root(struct builder *builder)
{
    while (builder->parent != NULL) {
        builder = builder->parent;
    }
    return builder;
}

static struct value join(struct value before, struct value after)
{
    struct buf text = {0};
    const struct text first = value_text(&before);
    const struct text last = value_text(&after);
    buf_append(&text, first.at, first.length);
    buf_append(&text, last.at, last.length);
    const struct value joined = value_string_new(text.at, text.length);
    buf_release(&text);
    return joined;
}

static enum err check_name(struct value name, struct err_detail *detail)
{
    if (!value_is_string(name)) {
        return err_set(detail, ERR_ARGUMENT, "a name must be a string");
    }
    const struct text text = value_text(&name);
    if (text.length == 0 || text.length > NAME_BYTES_MAX) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a name must have 1 to %d bytes",
                       (int)NAME_BYTES_MAX);
    }
    if (memchr(text.at, '/', text.length) != NULL ||
        memchr(text.at, 0, text.length) != NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the name %.*s must not contain '/' or a zero byte",
                       (int)text.length,
                       text.at);
    }
    return ERR_OK;
}

/* A new part. Its name, from the piece on, is that of the part. */
static enum err declare(struct builder *builder,
                        struct value name,
                        enum part_kind kind,
                        struct part **out,
                        struct err_detail *detail)
{
    *out = NULL;
    const enum err err = check_name(name, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct builder *root = builder_root(builder);
    const struct value full = join(builder->prefix, name);
    if (!value_is_absent(object_get(root->cells, full))) {
        const struct text text = value_text(&full);
        const enum err twice = err_set(detail,
                                       ERR_ARGUMENT,
                                       "'%.*s' is already declared in this "
                                       "piece",
                                       (int)text.length,
                                       text.at);
        value_unref(full);
        return twice;
    }
    root->cells = object_set_adopt(root->cells,
                                   value_ref(full),
                                   value_text_new(part_kind_name(kind)));
    struct part *part = vec_add(&builder->piece->parts);
    *part = (struct part){.name = full, .kind = kind};
    *out = part;
    return ERR_OK;
}

/* The payload of the document of a part. */
static enum err give_place(struct builder *builder,
                           struct part *part,
                           enum scope scope,
                           struct err_detail *detail)
{
    struct piece *piece = builder->piece;
    const struct value kind = value_text_new(part_kind_name(part->kind));
    const struct value id =
        change_document_id(piece->name, piece->about, part->name, kind);
    struct entity *entity;
    const enum err err = entity_of(piece->space, scope, id, &entity, detail);
    value_unref(id);
    value_unref(kind);
    if (err == ERR_OK) {
        part->place = place_payload(entity);
    }
    return err;
}

/* Both. */
static enum err declare_document(struct builder *builder,
                                 struct value name,
                                 enum part_kind kind,
                                 enum scope scope,
                                 struct part **out,
                                 struct err_detail *detail)
{
    enum err err = declare(builder, name, kind, out, detail);
    if (err == ERR_OK) {
        err = give_place(builder, *out, scope, detail);
    }
    return err;
}

bool builder_is_known(const struct builder *builder,
                      struct value name,
                      enum part_kind kind)
{
    if (builder->piece->assumed) {
        return true;
    }
    const struct value full = join(builder->prefix, name);
    const bool known = change_had(builder->piece->about, full, kind);
    value_unref(full);
    return known;
}

/* The first value of a state or an argument: nothing, in the place of what was
 * computed there before (change-2 of runtime/change.h). */
static enum err write_initial(struct builder *builder,
                              const struct part *part,
                              struct value initial,
                              struct err_detail *detail)
{
    if (value_is_absent(initial) &&
        !change_takes_over(builder->piece->about, part->name)) {
        return ERR_OK;
    }
    return building_write_adopt(builder->transaction,
                                part->place,
                                value_ref(initial),
                                detail);
}

struct value builder_number(struct builder *builder, const char *stem)
{
    struct buf text = {0};
    buf_printf(&text, "%s%u", stem, (unsigned)++builder->numbers);
    const struct value name = value_string_new(text.at, text.length);
    buf_release(&text);
    return name;
}

/* -- Documents ----------------------------------------------------------- */

enum err building_write_adopt(struct transaction *transaction,
                              struct place *place,
                              struct value value,
                              struct err_detail *detail)
{
    return value_is_absent(value)
               ? transaction_delete(transaction, place, detail)
               : transaction_put_adopt(transaction, place, value, detail);
}

/* Whether a user has had an element is not recorded. */
static enum err refuse_scope(const struct part *part, struct err_detail *detail)
{
    const struct text name = value_text(&part->name);
    return err_set(detail,
                   ERR_ARGUMENT,
                   "the state '%.*s' belongs to an element of a list, which "
                   "all users share: declare it without a scope",
                   (int)name.length,
                   name.at);
}

enum err builder_schema(struct builder *builder,
                        struct value name,
                        struct value source,
                        struct err_detail *detail)
{
    enum err err = check_name(name, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct value full = join(builder->prefix, name);
    if (value_is_absent(object_get(builder_root(builder)->cells, full))) {
        err = piece_schemas_declare(builder, full, source, detail);
    } else {
        const struct text text = value_text(&full);
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "'%.*s' is already declared: set its schema before that",
                      (int)text.length,
                      text.at);
    }
    value_unref(full);
    return err;
}

/* What a state or an argument is to begin with. */
struct first_value {
    struct value value; /* borrowed; or absent */
    const char *what;   /* it is, for a sentence */
    bool known;         /* the piece has had the part before */
    bool anew;          /* it is written all the same */
};

static enum err write_first(struct builder *builder,
                            const struct part *part,
                            const struct builder_cell *cell,
                            const struct first_value *first,
                            struct err_detail *detail)
{
    const struct schema *schema = piece_schemas_of(builder, part);
    struct value value = value_ref(first->value);
    enum err err = ERR_OK;
    if (first->known && !first->anew) {
        piece_schemas_compare(builder, part, schema);
    } else {
        err =
            piece_schemas_fill(schema, first->what, cell->name, &value, detail);
    }
    if (err == ERR_OK && cell->scope != SCOPE_SPACE) {
        err = building_scoped(builder, part, value, first->anew, detail);
    } else if (err == ERR_OK && (!first->known || first->anew)) {
        err = write_initial(builder, part, value, detail);
    }
    value_unref(value);
    return err;
}

enum err builder_state(struct builder *builder,
                       const struct builder_cell *cell,
                       struct place **out,
                       struct err_detail *detail)
{
    struct part *part;
    const bool known = value_is_string(cell->name) &&
                       builder_is_known(builder, cell->name, PART_STATE);
    enum err err = declare_document(builder,
                                    cell->name,
                                    PART_STATE,
                                    cell->scope,
                                    &part,
                                    detail);
    if (err != ERR_OK) {
        return err;
    }
    *out = part->place;
    if (cell->scope != SCOPE_SPACE && builder->piece->whole != NULL) {
        return refuse_scope(part, detail);
    }
    const struct first_value first = {
        .value = cell->initial,
        .what = "the initial value of",
        .known = known,
    };
    return write_first(builder, part, cell, &first, detail);
}

static struct value argument_of(struct value arguments, struct value name)
{
    return value_is_object(arguments) ? object_get(arguments, name)
                                      : VALUE_NONE;
}

/* Whether what is given now is not what was given last time. */
static bool is_given_anew(const struct builder *builder, struct value name)
{
    const struct value now = argument_of(builder->arguments, name);
    const struct value before = argument_of(builder->before, name);
    if (value_is_absent(now) || builder->piece->assumed) {
        return false;
    }
    return value_is_absent(before) || !value_equal(now, before);
}

/* Offers the arguments that were declared; whether `full` is one. */
static bool offer_arguments(struct builder *builder,
                            struct value full,
                            struct nearest *nearest)
{
    const struct value cells = builder_root(builder)->cells;
    const struct text prefix = value_text(&builder->prefix);
    struct object_iter iter = object_iter(cells);
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        const struct text text = value_text(&name);
        if (value_is_text(kind, kind_names[PART_ARGUMENT]) &&
            text.length > prefix.length &&
            memcmp(text.at, prefix.at, prefix.length) == 0) {
            nearest_offer(nearest,
                          text.at + prefix.length,
                          text.length - prefix.length);
        }
    }
    return value_is_text(object_get(cells, full), kind_names[PART_ARGUMENT]);
}

enum err building_check_arguments(struct builder *builder,
                                  struct value arguments,
                                  const struct pattern *pattern,
                                  struct err_detail *detail)
{
    if (!value_is_object(arguments)) {
        return ERR_OK;
    }
    struct object_iter iter = object_iter(arguments);
    struct value name;
    struct value given;
    while (object_next(&iter, &name, &given)) {
        const struct text text = value_text(&name);
        const struct value full = join(builder->prefix, name);
        struct nearest nearest;
        nearest_begin(&nearest, text.at, text.length);
        const bool is_declared = offer_arguments(builder, full, &nearest);
        value_unref(full);
        if (!is_declared) {
            const struct text of = value_text(&pattern->name);
            return err_set(detail,
                           ERR_ARGUMENT,
                           "the pattern %.*s has no argument '%.*s'%s",
                           (int)of.length,
                           of.at,
                           (int)text.length,
                           text.at,
                           nearest_hint(&nearest));
        }
    }
    return ERR_OK;
}

enum err builder_argument(struct builder *builder,
                          const struct builder_cell *cell,
                          struct place **out,
                          struct err_detail *detail)
{
    struct part *part;
    const bool known = value_is_string(cell->name) &&
                       builder_is_known(builder, cell->name, PART_ARGUMENT);
    enum err err = declare_document(builder,
                                    cell->name,
                                    PART_ARGUMENT,
                                    cell->scope,
                                    &part,
                                    detail);
    if (err != ERR_OK) {
        return err;
    }
    *out = part->place;
    struct value given = argument_of(builder->arguments, cell->name);
    if (value_is_absent(given)) {
        given = cell->initial;
    }
    const struct first_value first = {
        .value = given,
        .what = "the argument",
        .known = known,
        .anew = is_given_anew(builder, cell->name),
    };
    return write_first(builder, part, cell, &first, detail);
}

enum err builder_document(struct builder *builder,
                          struct value name,
                          bool preload,
                          struct place **out,
                          struct err_detail *detail)
{
    struct part *part;
    const enum err err =
        declare_document(builder,
                         name,
                         preload ? PART_PRELOADED : PART_DOCUMENT,
                         SCOPE_SPACE,
                         &part,
                         detail);
    if (err == ERR_OK) {
        *out = part->place;
    }
    return err;
}

/* The definition of a collection that the piece has had before. What has to
 * come first is awaited by the piece. */
static enum err redefine(struct builder *builder,
                         struct collection *collection,
                         struct value definition,
                         struct err_detail *detail)
{
    struct piece *piece = builder->piece;
    struct transaction *transaction = builder->transaction;
    const enum err err =
        collection_redefine(collection, transaction, definition, detail);
    if (err != ERR_STALE) {
        return err;
    }
    VEC_FOREACH (&transaction->awaited, entity) {
        vec_push(&piece->needs, *entity);
    }
    return ERR_OK;
}

enum err builder_collection(struct builder *builder,
                            const struct builder_collection *given,
                            struct collection **out,
                            struct err_detail *detail)
{
    struct part *part;
    struct piece *piece = builder->piece;
    const bool known = value_is_string(given->name) &&
                       builder_is_known(builder, given->name, PART_COLLECTION);
    enum err err = declare_document(builder,
                                    given->name,
                                    PART_COLLECTION,
                                    SCOPE_SPACE,
                                    &part,
                                    detail);
    if (err == ERR_OK) {
        err = collection_check(given->definition, given->name, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    *out = collections_of(&piece->runtime->collections, part->place);
    if (!known) {
        return collection_create(*out,
                                 builder->transaction,
                                 given->definition,
                                 detail);
    }
    return piece->assumed ? ERR_OK
                          : redefine(builder, *out, given->definition, detail);
}

/* -- Bodies -------------------------------------------------------------- */

/* A body and where its result goes; of one node or handler. */
struct body_holder {
    struct body body;
    struct place *output;  /* or NULL */
    struct piece *element; /* of a handler of a list's element; or NULL */
};

static void body_release(const struct body *body)
{
    if (body->release != NULL) {
        body->release(body->ctx);
    }
}

static void holder_release(void *ctx)
{
    struct body_holder *holder = ctx;
    body_release(&holder->body);
    if (holder->output != NULL) {
        place_unref(holder->output);
    }
    if (holder->element != NULL) {
        piece_unref(holder->element);
    }
    mem_free(holder, sizeof *holder);
}

static struct body_holder *holder_new(const struct body *body,
                                      struct place *output)
{
    struct body_holder *holder = mem_alloc_zero(sizeof *holder);
    holder->body = *body;
    holder->output = output != NULL ? place_ref(output) : NULL;
    return holder;
}

static enum run_result run_node(struct run *run, void *ctx)
{
    const struct body_holder *holder = ctx;
    struct value result = VALUE_NONE;
    const enum run_result ended =
        holder->body.run(run, holder->body.ctx, &result);
    if (run_is_waiting(run)) {
        value_unref(result); /* also if it failed: it has seen nothing */
        return RUN_WAITING;
    }
    if (ended != RUN_DONE || holder->output == NULL) {
        value_unref(result);
        return ended;
    }
    struct err_detail detail = {0};
    const enum err err =
        building_write_adopt(run->transaction, holder->output, result, &detail);
    return err == ERR_OK ? RUN_DONE : run_fail(run, &detail);
}

static enum run_result run_handler(struct handling *handling, void *ctx)
{
    const struct body_holder *holder = ctx;
    struct value result = VALUE_NONE;
    enum run_result ended = holder->element != NULL
                                ? element_check(handling->run, holder->element)
                                : RUN_DONE;
    if (ended != RUN_DONE) {
        return ended;
    }
    ended = holder->body.run(handling->run, holder->body.ctx, &result);
    if (ended == RUN_DONE && !value_is_absent(result)) {
        handling_return_adopt(handling, result);
    } else {
        value_unref(result);
    }
    return ended;
}

/* -- Nodes --------------------------------------------------------------- */

/* The store tells pieces apart by themselves. */
struct digest building_action(const struct piece *piece, struct value name)
{
    const struct value full =
        piece->whole != NULL ? join(piece->front, name) : value_ref(name);
    const struct digest digest = digest_of_name("heddle action", full);
    value_unref(full);
    return digest;
}

struct node_identity building_identity(const struct piece *piece,
                                       struct value name,
                                       const struct digest *fingerprint)
{
    const struct piece *whole = piece->whole != NULL ? piece->whole : piece;
    return (struct node_identity){
        .space = piece->space,
        .piece = whole->name,
        .generation = whole->generation,
        .action = building_action(piece, name),
        .implementation = *fingerprint,
        .runtime = piece->runtime->version,
    };
}

struct value building_label(const struct piece *piece, struct value name)
{
    const struct value slash = value_text_new("/");
    const struct value front = join(piece->name, slash);
    const struct value label = join(front, name);
    value_unref(front);
    value_unref(slash);
    return label;
}

/* Registers the node of a part; takes the body. `targets` are its outputs. */
static void register_node(struct builder *builder,
                          struct part *part,
                          const struct builder_node *given,
                          enum node_kind kind,
                          struct place *const *targets,
                          size_t target_count)
{
    struct piece *piece = builder->piece;
    struct node_identity identity;
    struct node_spec spec = {
        .kind = kind,
        .run = run_node,
        .ctx =
            holder_new(&given->body, given->coordinates ? NULL : part->place),
        .release = holder_release,
        .name = building_label(piece, part->name),
        .parent = piece->coordinator,
        .outputs = targets,
        .output_count = target_count,
        .envelopes = given->envelopes,
        .envelope_count = given->envelope_count,
        .reads = given->reads,
        .read_count = given->read_count,
        .debounce = given->debounce,
        .debounce_max = given->debounce_max,
        .throttle = given->throttle,
        .no_auto_debounce = given->no_auto_debounce,
        .clearance = given->clearance,
        .coordinates = given->coordinates,
        .unshared = given->unshared,
    };
    if (given->body.fingerprint != NULL && piece->space->session != NULL) {
        identity =
            building_identity(piece, part->name, given->body.fingerprint);
        identity.registers = given->coordinates;
        spec.identity = &identity;
    }
    part->node = sched_register(piece->runtime->sched, &spec);
    value_unref(spec.name);
}

enum err builder_computed(struct builder *builder,
                          const struct builder_node *node,
                          struct place **out,
                          struct err_detail *detail)
{
    struct part *part;
    const enum err err = declare_document(builder,
                                          node->name,
                                          node->coordinates ? PART_LIST
                                          : node->preload   ? PART_PRELOADED
                                                            : PART_COMPUTED,
                                          SCOPE_SPACE,
                                          &part,
                                          detail);
    if (err != ERR_OK) {
        body_release(&node->body);
        return err;
    }
    VEC(struct place *) targets = {0};
    vec_push(&targets, part->place);
    for (size_t i = 0; i < node->write_count; i++) {
        vec_push(&targets, node->writes[i]);
    }
    register_node(builder,
                  part,
                  node,
                  NODE_COMPUTATION,
                  targets.at,
                  targets.count);
    vec_release(&targets);
    *out = part->place;
    return ERR_OK;
}

bool building_is_without_effects(const struct builder *builder)
{
    return builder->piece->runtime->without_effects ||
           piece_whole(builder->piece)->taken_up;
}

enum err builder_effect(struct builder *builder,
                        const struct builder_node *node,
                        struct err_detail *detail)
{
    struct part *part;
    const enum err err =
        declare(builder, node->name, PART_EFFECT, &part, detail);
    if (err != ERR_OK) {
        body_release(&node->body);
        return err;
    }
    if (building_is_without_effects(builder)) {
        body_release(&node->body);
    } else {
        register_node(builder, part, node, NODE_EFFECT, NULL, 0);
    }
    return ERR_OK;
}

/* -- Handlers ------------------------------------------------------------ */

enum err builder_handler(struct builder *builder,
                         const struct builder_handler *handler,
                         struct place **out,
                         struct err_detail *detail)
{
    struct part *part;
    enum err err = declare_document(builder,
                                    handler->name,
                                    PART_HANDLER,
                                    SCOPE_SPACE,
                                    &part,
                                    detail);
    if (err != ERR_OK) {
        body_release(&handler->body);
        return err;
    }
    struct sched *sched = builder->piece->runtime->sched;
    struct stream *stream = events_stream(sched, part->place);
    /* The schemas of an element are followed when its states are written. */
    if (builder->piece->whole != NULL) {
        events_set_schema(stream, piece_schemas_of(builder, part), true);
    }
    struct body_holder *holder = holder_new(&handler->body, NULL);
    holder->element =
        builder->piece->whole != NULL ? piece_ref(builder->piece) : NULL;
    const struct handler_spec spec = {
        .run = run_handler,
        .ctx = holder,
        .release = holder_release,
        .name = building_label(builder->piece, part->name),
        .reads = handler->reads,
        .read_count = handler->read_count,
        .pure = handler->pure,
        .several_spaces = handler->several_spaces,
        .collapses = handler->collapses,
    };
    err = events_handle(sched, stream, &spec, &part->handler, detail);
    if (err != ERR_OK) {
        part->handler = NULL;
        holder_release(spec.ctx);
    }
    value_unref(spec.name);
    *out = part->place;
    return err;
}

/* -- Results ------------------------------------------------------------- */

enum err builder_result(struct builder *builder,
                        struct value key,
                        struct place *place,
                        struct err_detail *detail)
{
    const struct value link = cell_link(place, builder->piece->space);
    const enum err err = builder_result_value(builder, key, link, detail);
    value_unref(link);
    return err;
}

enum err builder_result_value(struct builder *builder,
                              struct value key,
                              struct value value,
                              struct err_detail *detail)
{
    if (!value_is_string(key)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the key of a result must be a "
                       "string");
    }
    builder->result =
        object_set_adopt(builder->result, value_ref(key), value_ref(value));
    return ERR_OK;
}

void builder_result_adopt(struct builder *builder, struct value value)
{
    value_unref(builder->result);
    builder->result = value;
}

/* -- Children ------------------------------------------------------------ */

static enum err check_depth(const struct builder *builder,
                            struct err_detail *detail)
{
    unsigned depth = 1 + builder->piece->depth;
    for (; builder->parent != NULL; builder = builder->parent) {
        depth++;
    }
    return depth < DEPTH_MAX ? ERR_OK
                             : err_set(detail,
                                       ERR_LIMIT_DEPTH,
                                       "pieces are nested more than %d levels "
                                       "deep",
                                       (int)DEPTH_MAX);
}

/* What the child was at the last start. */
static struct value child_before(const struct builder *builder,
                                 struct value full)
{
    const struct value children =
        object_field(builder->piece->about, "children");
    return value_is_object(children) ? object_get(children, full) : VALUE_NONE;
}

static void note_child(struct builder *root,
                       struct value full,
                       const struct builder_child *child)
{
    struct value note = value_empty_object();
    object_put_adopt(&note, "pattern", value_ref(child->pattern->name));
    if (value_is_object(child->arguments)) {
        object_put_adopt(&note, "arguments", value_ref(child->arguments));
    }
    root->children = object_set_adopt(root->children, value_ref(full), note);
}

/* Writes the result of a child, if it is another one now. */
static enum err write_child_result(struct builder *builder,
                                   struct builder *inner,
                                   struct value full,
                                   struct place *place,
                                   struct err_detail *detail)
{
    struct builder *root = builder_root(builder);
    struct value note = value_ref(object_get(root->children, full));
    object_put_adopt(&note, "result", value_ref(inner->result));
    root->children = object_set_adopt(root->children, value_ref(full), note);
    const struct value before = child_before(builder, full);
    if (builder->piece->assumed ||
        (value_is_object(before) &&
         value_equal(object_field(before, "result"), inner->result))) {
        return ERR_OK;
    }
    return transaction_put_adopt(builder->transaction,
                                 place,
                                 value_ref(inner->result),
                                 detail);
}

static enum err build_child(struct builder *builder,
                            const struct builder_child *child,
                            const struct part *part,
                            struct err_detail *detail)
{
    const struct value slash = value_text_new("/");
    const struct value full = value_ref(part->name); /* parts move */
    struct place *place = part->place;
    const struct value before = child_before(builder, full);
    struct builder inner = {
        .piece = builder->piece,
        .parent = builder,
        .transaction = builder->transaction,
        .prefix = join(full, slash),
        .arguments = child->arguments,
        .before = object_field(before, "arguments"),
        .result = value_empty_object(),
    };
    note_child(builder_root(builder), full, child);
    enum err err = child->pattern->build(&inner, child->pattern->ctx, detail);
    if (err == ERR_OK) {
        err = building_check_arguments(&inner,
                                       child->arguments,
                                       child->pattern,
                                       detail);
    }
    if (err == ERR_OK) {
        err = write_child_result(builder, &inner, full, place, detail);
    }
    value_unref(inner.prefix);
    value_unref(inner.result);
    value_unref(full);
    value_unref(slash);
    return err;
}

static bool is_elsewhere(const struct builder *builder,
                         const struct builder_child *child)
{
    return !value_is_absent(child->space) &&
           !(value_is_string(child->space) &&
             key_equal(child->space, builder->piece->space->id));
}

/* The document of such a child here is a link to its result there. */
static enum err build_elsewhere(struct builder *builder,
                                const struct builder_child *child,
                                const struct part *part,
                                struct err_detail *detail)
{
    struct builder inner = {0};
    const enum err err =
        elsewhere_declare(builder, child, part, &inner.result, detail);
    if (err != ERR_OK) {
        return err;
    }
    note_child(builder_root(builder), part->name, child);
    const enum err written =
        write_child_result(builder, &inner, part->name, part->place, detail);
    value_unref(inner.result);
    return written;
}

enum err builder_piece(struct builder *builder,
                       const struct builder_child *child,
                       struct place **out,
                       struct err_detail *detail)
{
    enum err err = check_depth(builder, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct value name = value_ref(child->name);
    if (value_is_absent(name)) {
        const struct text text = value_text(&child->pattern->name);
        struct buf stem = {0};
        buf_append(&stem, text.at, text.length);
        name = builder_number(builder, buf_text(&stem));
        buf_release(&stem);
    }
    struct part *part;
    err =
        declare_document(builder, name, PART_PIECE, SCOPE_SPACE, &part, detail);
    value_unref(name);
    if (err != ERR_OK) {
        return err;
    }
    *out = part->place;
    return is_elsewhere(builder, child)
               ? build_elsewhere(builder, child, part, detail)
               : build_child(builder, child, part, detail);
}

/* -- Asking, undoing ----------------------------------------------------- */

struct runtime *builder_runtime(const struct builder *builder)
{
    return builder->piece->runtime;
}

struct space *builder_space(const struct builder *builder)
{
    return builder->piece->space;
}

struct piece *builder_piece_of(const struct builder *builder)
{
    return piece_whole(builder->piece);
}

void builder_undo(struct piece *piece)
{
    struct sched *sched = piece->runtime->sched;
    for (size_t i = piece->parts.count; i-- > 0;) {
        struct part *part = &piece->parts.at[i];
        part->list = NULL;
        if (part->node != NULL) {
            sched_remove(sched, part->node);
        }
        if (part->handler != NULL) {
            events_cancel(sched, part->handler);
        }
    }
    VEC_FOREACH (&piece->parts, part) {
        if (part->place != NULL) {
            place_unref(part->place);
        }
        value_unref(part->name);
    }
    vec_release(&piece->parts);
    elsewhere_undo(piece);
}
