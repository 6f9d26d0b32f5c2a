/* Expressions, statements and parts of patterns: driver_patterns.h. */

#include "outside/driver_patterns.h"

#include "outside/driver_values.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 64

/* ---- pieces: the cells of one build of a pattern ---- */

struct part {
    const char *name;
    hd_cell *cell;
};

struct scope {
    const hd_value *pattern;
    struct part parts[PARTS];
    size_t count;
};

/* One computation, handler or list of a piece. */
struct body {
    struct scope *scope;
    const hd_value *part;
};

static void scope_add(struct scope *scope, const char *name, hd_cell *cell)
{
    if (scope->count == PARTS) {
        stop("too many parts");
    }
    scope->parts[scope->count].name = name;
    scope->parts[scope->count].cell = cell;
    scope->count++;
}

/* A key or a position of a cell, as text for a pointer. */
static void add_segment(char *path, const hd_value *segment)
{
    size_t length = strlen(path);
    int64_t index = 0;
    const char *text = text_of(segment);
    if (text != NULL) {
        (void)snprintf(path + length, PATH_BYTES - length, "/%s", text);
    } else if (hd_value_get_int(segment, &index) == HD_OK) {
        (void)snprintf(path + length,
                       PATH_BYTES - length,
                       "/%lld",
                       (long long)index);
    }
}

static hd_cell *scope_find(const struct scope *scope,
                           const char *name,
                           size_t length)
{
    for (size_t i = 0; i < scope->count; i++) {
        if (strlen(scope->parts[i].name) == length &&
            memcmp(scope->parts[i].name, name, length) == 0) {
            return scope->parts[i].cell;
        }
    }
    return NULL;
}

/* The cell of [name, key...], new. "child.field" is below the child's
 * result. */
static hd_cell *cell_of(const struct scope *scope, const hd_value *reference)
{
    char path[PATH_BYTES] = "";
    hd_cell *found = NULL;
    const char *name = text_of(element(reference, 0));
    if (name == NULL) {
        stop("a cell without a name");
    }
    const char *dot = strchr(name, '.');
    size_t length = dot != NULL ? (size_t)(dot - name) : strlen(name);
    hd_cell *cell = scope_find(scope, name, length);
    if (cell == NULL) {
        stop("a cell that the pattern does not have");
    }
    if (dot != NULL) {
        (void)snprintf(path, sizeof path, "/%s", dot + 1);
    }
    for (size_t i = 1; i < count_of(reference); i++) {
        add_segment(path, element(reference, i));
    }
    if (hd_cell_child(cell, path, &found, NULL) != HD_OK) {
        stop("a cell that cannot be made");
    }
    return found;
}

/* ---- expressions ---- */

struct frame {
    hd_run *run;
    const struct scope *scope;
    hd_value *event;
    hd_value *item;
    const hd_value *sofar;
};

static hd_status evaluate(const struct frame *frame,
                          const hd_value *expr,
                          hd_value **value);

/* What is at a cell; *value NULL if there is nothing. */
static hd_status read_at(const struct frame *frame,
                         const hd_value *reference,
                         hd_value **value)
{
    hd_cell *cell = cell_of(frame->scope, reference);
    hd_status status = hd_cell_get(cell, value, NULL);
    hd_cell_free(cell);
    if (status == HD_NOT_FOUND) {
        *value = NULL;
        return HD_OK;
    }
    return status;
}

static bool is_number(const hd_value *value)
{
    return value != NULL &&
           (kind_of(value) == HD_INT || kind_of(value) == HD_DOUBLE);
}

static hd_value *combine(const char *operation,
                         const hd_value *a,
                         const hd_value *b)
{
    hd_value *result = NULL;
    bool adds = strcmp(operation, "add") == 0;
    if (kind_of(a) == HD_INT && kind_of(b) == HD_INT) {
        int64_t x = 0;
        int64_t y = 0;
        (void)hd_value_get_int(a, &x);
        (void)hd_value_get_int(b, &y);
        return int_value(adds ? x + y : ((x * y) % 1000 + 1000) % 1000);
    }
    double x = 0;
    double y = 0;
    (void)hd_value_get_double(a, &x);
    (void)hd_value_get_double(b, &y);
    double product = fmod(x * y, 1000);
    product += product < 0 ? 1000 : 0;
    (void)hd_value_new_double(adds ? x + y : product, &result);
    return result;
}

static void add_to(hd_value **sum, const hd_value *item)
{
    if (is_number(item)) {
        hd_value *next = combine("add", *sum, item);
        hd_value_unref(*sum);
        *sum = next;
    }
}

/* The sum of the numbers in an array, each read by itself: links are
 * followed. */
static hd_status sum_view(const struct frame *frame,
                          const hd_value *reference,
                          hd_value **value)
{
    hd_cell *cell = cell_of(frame->scope, reference);
    size_t count = 0;
    hd_status status = hd_cell_count(cell, &count, NULL);
    *value = int_value(0);
    if (status == HD_NOT_FOUND || status == HD_TYPE) {
        status = HD_OK;
        count = 0;
    }
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        char path[32];
        hd_cell *child = NULL;
        hd_value *item = NULL;
        (void)snprintf(path, sizeof path, "/%zu", i);
        (void)hd_cell_child(cell, path, &child, NULL);
        status = hd_cell_get(child, &item, NULL);
        if (status == HD_OK) {
            add_to(value, item);
            hd_value_unref(item);
        } else if (status == HD_NOT_FOUND) {
            status = HD_OK;
        }
        hd_cell_free(child);
    }
    hd_cell_free(cell);
    return status;
}

static hd_status evaluate_read(const struct frame *frame,
                               const char *kind,
                               const hd_value *expr,
                               hd_value **value)
{
    hd_value *found = NULL;
    if (strcmp(kind, "view") == 0) {
        return sum_view(frame, element(expr, 1), value);
    }
    hd_status status = read_at(frame, element(expr, 1), &found);
    if (status != HD_OK) {
        return status;
    }
    if (strcmp(kind, "num") == 0) {
        *value = is_number(found) ? hd_value_ref(found) : int_value(0);
    } else if (strcmp(kind, "text") == 0) {
        *value = text_of(found) != NULL ? hd_value_ref(found) : text_value("");
    } else if (strcmp(kind, "value") == 0) {
        *value = found != NULL ? hd_value_ref(found) : null_value();
    } else {
        bool is_array = found != NULL && kind_of(found) == HD_ARRAY;
        size_t count = is_array ? count_of(found) : 0;
        if (strcmp(kind, "sum") == 0) {
            *value = int_value(0);
            for (size_t i = 0; i < count; i++) {
                add_to(value, element(found, i));
            }
        } else {
            *value = int_value((int64_t)count);
        }
    }
    hd_value_unref(found);
    return HD_OK;
}

static char *string_form(const hd_value *value)
{
    char *text = NULL;
    const char *own = text_of(value);
    if (own != NULL) {
        text = allocate(strlen(own) + 1);
        memcpy(text, own, strlen(own) + 1);
        return text;
    }
    char *written = NULL;
    if (kind_of(value) == HD_ARRAY || kind_of(value) == HD_OBJECT) {
        text = allocate(2);
        text[0] = 't';
        return text;
    }
    (void)hd_value_write(value, HD_CANONICAL, 0, &written, NULL);
    text = allocate(strlen(written) + 1);
    memcpy(text, written, strlen(written) + 1);
    hd_text_free(written);
    return text;
}

static hd_value *concatenate(const hd_value *a, const hd_value *b)
{
    char *first = string_form(a);
    char *second = string_form(b);
    char *both = allocate(strlen(first) + strlen(second) + 1);
    (void)snprintf(both,
                   strlen(first) + strlen(second) + 1,
                   "%s%s",
                   first,
                   second);
    hd_value *value = text_value(both);
    free(first);
    free(second);
    free(both);
    return value;
}

static hd_status evaluate_pair(const struct frame *frame,
                               const char *kind,
                               const hd_value *expr,
                               hd_value **value)
{
    hd_value *a = NULL;
    hd_value *b = NULL;
    hd_status status = evaluate(frame, element(expr, 1), &a);
    if (status != HD_OK) {
        return status;
    }
    status = evaluate(frame, element(expr, 2), &b);
    if (status != HD_OK) {
        return status;
    }
    if (strcmp(kind, "cat") == 0) {
        *value = concatenate(a, b);
    } else if (strcmp(kind, "differs") == 0) {
        bool equal = false;
        (void)hd_value_equal(a, b, &equal);
        (void)hd_value_new_bool(!equal, value);
    } else {
        *value = combine(kind, a, b);
    }
    hd_value_unref(a);
    hd_value_unref(b);
    return HD_OK;
}

static hd_status evaluate_object(const struct frame *frame,
                                 const hd_value *items,
                                 hd_value **value)
{
    size_t cursor = 0;
    hd_value *key = NULL;
    hd_value *expr = NULL;
    (void)hd_value_new_object(value);
    while (hd_value_next(items, &cursor, &key, &expr) == HD_OK) {
        hd_value *item = NULL;
        hd_status status = evaluate(frame, expr, &item);
        if (status != HD_OK) {
            return status;
        }
        put(value, text_of(key), item);
    }
    return HD_OK;
}

static hd_status evaluate_array(const struct frame *frame,
                                const hd_value *items,
                                hd_value **value)
{
    (void)hd_value_new_array(value);
    for (size_t i = 0; i < count_of(items); i++) {
        hd_value *item = NULL;
        hd_status status = evaluate(frame, element(items, i), &item);
        if (status != HD_OK) {
            return status;
        }
        put(value, "-", item);
    }
    return HD_OK;
}

static hd_status evaluate(const struct frame *frame,
                          const hd_value *expr,
                          hd_value **value)
{
    const char *kind = text_of(element(expr, 0));
    *value = NULL;
    if (kind == NULL) {
        stop("an expression without a kind");
    }
    if (strcmp(kind, "const") == 0) {
        *value = element(expr, 1);
        return HD_OK;
    }
    if (strcmp(kind, "event") == 0) {
        *value = field(frame->event, text_of(element(expr, 1)));
        return *value != NULL ? HD_OK : HD_ARGUMENT;
    }
    if (strcmp(kind, "item") == 0) {
        *value = hd_value_ref(frame->item);
        return HD_OK;
    }
    if (strcmp(kind, "sofar") == 0) {
        /* A copy: what was given is borrowed, and constant. */
        return hd_value_get(frame->sofar, "", 0, value, NULL);
    }
    if (strcmp(kind, "object") == 0) {
        return evaluate_object(frame, element(expr, 1), value);
    }
    if (strcmp(kind, "array") == 0) {
        return evaluate_array(frame, element(expr, 1), value);
    }
    if (strcmp(kind, "str") == 0 || strcmp(kind, "positive") == 0) {
        hd_value *inner = NULL;
        hd_status status = evaluate(frame, element(expr, 1), &inner);
        if (status != HD_OK) {
            return status;
        }
        if (strcmp(kind, "str") == 0) {
            *value = concatenate(inner, text_value(""));
        } else {
            double number = 0;
            (void)hd_value_get_double(inner, &number);
            (void)hd_value_new_bool(number > 0, value);
        }
        hd_value_unref(inner);
        return HD_OK;
    }
    if (strcmp(kind, "add") == 0 || strcmp(kind, "mul") == 0 ||
        strcmp(kind, "cat") == 0 || strcmp(kind, "differs") == 0) {
        return evaluate_pair(frame, kind, expr, value);
    }
    return evaluate_read(frame, kind, expr, value);
}

/* ---- statements ---- */

hd_status write_cell(hd_cell *cell,
                     const char *operation,
                     const hd_value *operand,
                     hd_error *error)
{
    if (strcmp(operation, "set") == 0) {
        return hd_cell_set(cell, operand, error);
    }
    if (strcmp(operation, "delete") == 0) {
        return hd_cell_delete(cell, error);
    }
    if (strcmp(operation, "append") == 0) {
        return hd_cell_append(cell, operand, error);
    }
    if (strcmp(operation, "add_unique") == 0) {
        return hd_cell_add_unique(cell, operand, error);
    }
    if (strcmp(operation, "remove") == 0) {
        return hd_cell_remove(cell, operand, error);
    }
    if (strcmp(operation, "increment") == 0) {
        int64_t integer = 0;
        double number = 0;
        if (hd_value_get_int(operand, &integer) == HD_OK) {
            return hd_cell_increment(cell, integer, error);
        }
        (void)hd_value_get_double(operand, &number);
        return hd_cell_increment_double(cell, number, error);
    }
    stop("an operation that there is not");
}

static bool is_true(const hd_value *value)
{
    bool boolean = false;
    return hd_value_get_bool(value, &boolean) == HD_OK && boolean;
}

static hd_status perform(const struct frame *frame,
                         const hd_value *body,
                         bool *returned);

static hd_status perform_write(const struct frame *frame,
                               const char *kind,
                               const hd_value *statement)
{
    hd_error error;
    hd_value *operand = NULL;
    hd_status status = HD_OK;
    if (strcmp(kind, "delete") != 0) {
        status = evaluate(frame, element(statement, 2), &operand);
    }
    if (status == HD_OK) {
        hd_cell *cell = cell_of(frame->scope, element(statement, 1));
        status = write_cell(cell, kind, operand, &error);
        hd_cell_free(cell);
        if (status != HD_OK && status != HD_STALE) {
            (void)hd_run_fail(frame->run, status, error.text);
        }
    }
    hd_value_unref(operand);
    return status;
}

static hd_status perform_link(const struct frame *frame,
                              const hd_value *statement)
{
    hd_cell *cell = cell_of(frame->scope, element(statement, 1));
    hd_cell *target = cell_of(frame->scope, element(statement, 2));
    hd_status status = hd_cell_set_link(cell, target, NULL);
    hd_cell_free(cell);
    hd_cell_free(target);
    return status;
}

static hd_status perform_send(const struct frame *frame,
                              const hd_value *statement)
{
    hd_error error;
    hd_value *payload = NULL;
    hd_value *reference = NULL;
    hd_status status = evaluate(frame, element(statement, 2), &payload);
    if (status != HD_OK) {
        return status;
    }
    (void)hd_value_new_array(&reference);
    put(&reference, "-", element(statement, 1));
    hd_cell *stream = cell_of(frame->scope, reference);
    status = hd_cell_send(stream, payload, NULL, NULL, &error);
    if (status != HD_OK && status != HD_STALE) {
        (void)hd_run_fail(frame->run, status, error.text);
    }
    hd_cell_free(stream);
    hd_value_unref(reference);
    hd_value_unref(payload);
    return status;
}

static hd_status perform_one(const struct frame *frame,
                             const hd_value *statement,
                             bool *returned)
{
    const char *kind = text_of(element(statement, 0));
    hd_value *value = NULL;
    if (strcmp(kind, "link") == 0) {
        return perform_link(frame, statement);
    }
    if (strcmp(kind, "send") == 0) {
        return perform_send(frame, statement);
    }
    if (strcmp(kind, "repeat") == 0) {
        int64_t times = 0;
        hd_status status = HD_OK;
        (void)hd_value_get_int(element(statement, 1), &times);
        for (; times > 0 && status == HD_OK; times--) {
            status = perform(frame, element(statement, 2), returned);
        }
        return status;
    }
    if (strcmp(kind, "return") == 0) {
        hd_status status = evaluate(frame, element(statement, 1), &value);
        *returned = true;
        return status != HD_OK ? status : hd_run_return(frame->run, value);
    }
    if (strcmp(kind, "if") == 0 || strcmp(kind, "fail_if") == 0) {
        hd_status status = evaluate(frame, element(statement, 1), &value);
        if (status != HD_OK || !is_true(value)) {
            return status;
        }
        return strcmp(kind, "if") == 0
                   ? perform(frame, element(statement, 2), returned)
                   : hd_run_fail(frame->run, HD_GIVEN_UP, "refused on purpose");
    }
    return perform_write(frame, kind, statement);
}

static hd_status perform(const struct frame *frame,
                         const hd_value *body,
                         bool *returned)
{
    hd_status status = HD_OK;
    for (size_t i = 0; i < count_of(body) && !*returned && status == HD_OK;
         i++) {
        status = perform_one(frame, element(body, i), returned);
    }
    return status;
}

/* ---- bodies of nodes ---- */

static hd_status run_handler(hd_run *run, void *context)
{
    const struct body *body = context;
    struct frame frame = {run, body->scope, NULL, NULL, NULL};
    bool returned = false;
    hd_status status = hd_run_payload(run, &frame.event);
    if (status == HD_OK) {
        status = perform(&frame, field(body->part, "body"), &returned);
    }
    hd_value_unref(frame.event);
    return status;
}

static hd_status return_expr(const struct frame *frame, const struct body *body)
{
    hd_value *value = NULL;
    hd_status status = evaluate(frame, field(body->part, "expr"), &value);
    if (status == HD_OK) {
        status = hd_run_return(frame->run, value);
    }
    hd_value_unref(value);
    return status;
}

static hd_status run_computed(hd_run *run, void *context)
{
    const struct body *body = context;
    struct frame frame = {run, body->scope, NULL, NULL, NULL};
    return return_expr(&frame, body);
}

static hd_status run_element(hd_run *run, hd_cell *cell, void *context)
{
    const struct body *body = context;
    struct frame frame = {run, body->scope, NULL, NULL, NULL};
    hd_status status = hd_cell_get(cell, &frame.item, NULL);
    if (status == HD_OK) {
        status = return_expr(&frame, body);
    }
    hd_value_unref(frame.item);
    return status;
}

static hd_status run_reduce(hd_run *run,
                            const hd_value *accumulator,
                            const hd_value *item,
                            void *context)
{
    const struct body *body = context;
    struct frame frame = {run, body->scope, NULL, NULL, accumulator};
    (void)hd_value_get(item, "", 0, &frame.item, NULL);
    hd_status status = return_expr(&frame, body);
    hd_value_unref(frame.item);
    return status;
}

/* ---- building ---- */

static struct body *body_new(struct scope *scope, const hd_value *part)
{
    struct body *body = allocate(sizeof *body);
    body->scope = scope;
    body->part = part;
    return body;
}

static hd_status build_states(hd_builder *builder, struct scope *scope)
{
    hd_value *args = field(scope->pattern, "args");
    hd_value *states = field(scope->pattern, "states");
    hd_status status = HD_OK;
    hd_error error;
    for (size_t i = 0; i < count_of(args) && status == HD_OK; i++) {
        hd_cell *cell = NULL;
        hd_value *part = element(args, i);
        status = hd_build_argument(builder,
                                   text_at(part, "name"),
                                   field(part, "initial"),
                                   &cell,
                                   &error);
        scope_add(scope, text_at(part, "name"), cell);
    }
    for (size_t i = 0; i < count_of(states) && status == HD_OK; i++) {
        hd_cell *cell = NULL;
        hd_value *part = element(states, i);
        hd_value *initial = field(part, "initial");
        const char *word =
            kind_of(initial) == HD_ARRAY ? text_of(element(initial, 0)) : NULL;
        if (word != NULL && strcmp(word, "link") == 0) {
            hd_cell *target = cell_of(scope, element(initial, 1));
            (void)hd_cell_link(target, &initial, NULL);
            hd_cell_free(target);
        }
        status = hd_build_state_scoped(
            builder,
            text_at(part, "name"),
            text_at(part, "scope") != NULL ? HD_SCOPE_USER : HD_SCOPE_SPACE,
            initial,
            &cell,
            &error);
        scope_add(scope, text_at(part, "name"), cell);
    }
    return status;
}

static hd_status build_children(hd_builder *builder, struct scope *scope)
{
    hd_value *children = field(scope->pattern, "children");
    hd_status status = HD_OK;
    for (size_t i = 0; i < count_of(children) && status == HD_OK; i++) {
        hd_value *child = element(children, i);
        hd_value *inner = field(child, "pattern");
        hd_value *given = field(child, "args");
        hd_value *arguments = NULL;
        hd_value *key = NULL;
        hd_value *pair = NULL;
        size_t cursor = 0;
        hd_cell *result = NULL;
        hd_pattern *pattern = NULL;
        (void)hd_value_new_object(&arguments);
        while (hd_value_next(given, &cursor, &key, &pair) == HD_OK) {
            hd_value *argument = element(pair, 1);
            if (strcmp(text_of(element(pair, 0)), "link") == 0) {
                hd_cell *target = cell_of(scope, argument);
                (void)hd_cell_link(target, &argument, NULL);
                hd_cell_free(target);
            }
            put(&arguments, text_of(key), argument);
        }
        char version[HD_DIGEST_LENGTH + 1];
        (void)hd_value_digest(inner, version);
        status = hd_pattern_new(text_at(inner, "name"),
                                version,
                                build_pattern,
                                inner,
                                NULL,
                                &pattern,
                                NULL);
        if (status == HD_OK) {
            status = hd_build_piece(builder,
                                    text_at(child, "name"),
                                    pattern,
                                    arguments,
                                    &result,
                                    NULL);
        }
        hd_pattern_free(pattern);
        hd_value_unref(arguments);
        scope_add(scope, text_at(child, "name"), result);
    }
    return status;
}

static hd_status build_list(hd_builder *builder,
                            struct scope *scope,
                            const hd_value *part)
{
    const char *kind = text_at(part, "kind");
    const char *name = text_at(part, "name");
    hd_cell *list = cell_of(scope, field(part, "list"));
    hd_cell *output = NULL;
    hd_list_options options = {0};
    hd_status status = HD_OK;
    options.list = list;
    options.run = run_element;
    options.context = body_new(scope, part);
    if (strcmp(kind, "map") == 0) {
        status = hd_build_map(builder, name, &options, &output, NULL);
    } else if (strcmp(kind, "filter") == 0) {
        status = hd_build_filter(builder, name, &options, &output, NULL);
    } else if (strcmp(kind, "flat_map") == 0) {
        status = hd_build_flat_map(builder, name, &options, &output, NULL);
    } else {
        hd_reduce_options reduce = {0};
        reduce.list = list;
        reduce.initial = field(part, "initial");
        reduce.run = run_reduce;
        reduce.context = options.context;
        status = hd_build_reduce(builder, name, &reduce, &output, NULL);
    }
    hd_cell_free(list);
    scope_add(scope, name, output);
    return status;
}

static hd_status build_choice(hd_builder *builder,
                              struct scope *scope,
                              const hd_value *part)
{
    const char *name = text_at(part, "name");
    hd_value *reference = field(part, "otherwise");
    hd_cell *condition = cell_of(scope, field(part, "condition"));
    hd_cell *then = cell_of(scope, field(part, "then"));
    hd_cell *otherwise = NULL;
    hd_cell *output = NULL;
    hd_status status = HD_OK;
    if (kind_of(reference) == HD_ARRAY) {
        otherwise = cell_of(scope, reference);
        status = hd_build_if_else(builder,
                                  name,
                                  condition,
                                  then,
                                  otherwise,
                                  &output,
                                  NULL);
    } else {
        status = hd_build_when(builder, name, condition, then, &output, NULL);
    }
    hd_cell_free(condition);
    hd_cell_free(then);
    hd_cell_free(otherwise);
    scope_add(scope, name, output);
    return status;
}

static hd_status build_computed(hd_builder *builder,
                                struct scope *scope,
                                const hd_value *part)
{
    hd_cell *output = NULL;
    hd_node_options options = {0};
    hd_value *given = field(part, "options");
    options.run = run_computed;
    options.context = body_new(scope, part);
    if (given != NULL) {
        options.debounce_ms = (uint32_t)int_at(given, "debounce");
        options.throttle_ms = (uint32_t)int_at(given, "throttle");
    }
    hd_status status = hd_build_computed(builder,
                                         text_at(part, "name"),
                                         &options,
                                         &output,
                                         NULL);
    scope_add(scope, text_at(part, "name"), output);
    return status;
}

static hd_status build_handler(hd_builder *builder,
                               struct scope *scope,
                               const hd_value *part)
{
    hd_cell *stream = NULL;
    hd_handler_options options = {0};
    options.run = run_handler;
    options.context = body_new(scope, part);
    options.pure = true;
    hd_status status = hd_build_handler(builder,
                                        text_at(part, "name"),
                                        &options,
                                        &stream,
                                        NULL);
    scope_add(scope, text_at(part, "name"), stream);
    return status;
}

typedef hd_status build_part_fn(hd_builder *builder,
                                struct scope *scope,
                                const hd_value *part);

static hd_status build_each(hd_builder *builder,
                            struct scope *scope,
                            const char *group,
                            build_part_fn *build_part)
{
    hd_value *parts = field(scope->pattern, group);
    hd_status status = HD_OK;
    for (size_t i = 0; i < count_of(parts) && status == HD_OK; i++) {
        status = build_part(builder, scope, element(parts, i));
    }
    return status;
}

hd_status build_pattern(hd_builder *builder, void *context)
{
    struct scope *scope = allocate(sizeof *scope);
    scope->pattern = context;
    hd_status status = build_states(builder, scope);
    if (status == HD_OK) {
        status = build_children(builder, scope);
    }
    if (status == HD_OK) {
        status = build_each(builder, scope, "lists", build_list);
    }
    if (status == HD_OK) {
        status = build_each(builder, scope, "choices", build_choice);
    }
    if (status == HD_OK) {
        status = build_each(builder, scope, "computed", build_computed);
    }
    if (status == HD_OK) {
        status = build_each(builder, scope, "handlers", build_handler);
    }
    for (size_t i = 0; i < scope->count && status == HD_OK; i++) {
        status = hd_build_result(builder,
                                 scope->parts[i].name,
                                 scope->parts[i].cell,
                                 NULL);
    }
    return status;
}
