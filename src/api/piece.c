/* Pieces: starting, asking and ending them. */

#include "runtime/piece.h"

#include "api/event.h"
#include "api/handle.h"
#include "api/loop.h"
#include "api/pattern.h"
#include "value/array.h"
#include "value/object.h"

struct hd_piece {
    struct object object;
    struct piece *piece; /* a reference, until it is cut */
};

static void cut(struct object *object)
{
    hd_piece *piece = CONTAINER_OF(object, hd_piece, object);
    piece_unref(piece->piece);
    piece->piece = NULL;
}

static hd_piece *handle_of(hd_runtime *runtime, struct piece *inside)
{
    hd_piece *piece = object_new(runtime, OBJECT_PIECE, sizeof *piece, cut);
    piece->piece = piece_ref(inside);
    return piece;
}

void hd_piece_free(hd_piece *piece)
{
    if (object_may_go(piece, OBJECT_PIECE)) {
        object_free(&piece->object, sizeof *piece);
    }
}

static enum err check(const hd_piece *piece, struct err_detail *detail)
{
    return object_check_open(piece, OBJECT_PIECE, "piece", detail);
}

/* The same, at the top level, and it is there. */
static enum err check_running(const hd_piece *piece, struct err_detail *detail)
{
    enum err err = check(piece, detail);
    if (err == ERR_OK) {
        err = runtime_check_toplevel(piece->object.runtime, detail);
    }
    if (err == ERR_OK && piece->piece->state == PIECE_LOADING) {
        err = loop_step(piece->object.runtime, NULL, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    switch (piece->piece->state) {
    case PIECE_RUNNING:
        return ERR_OK;
    case PIECE_LOADING:
        return err_set(
            detail,
            ERR_BUSY,
            "the piece is still starting: step the runtime and retry");
    case PIECE_REMOVING:
    case PIECE_STOPPED:
        return err_set(detail, ERR_CLOSED, "the piece was stopped");
    case PIECE_FAILED:
        break;
    }
    if (detail != NULL) {
        *detail = piece->piece->error;
    }
    return piece->piece->error.err;
}

/* With the name of the piece. */
static hd_status report(hd_error *error,
                        enum err err,
                        const struct err_detail *detail,
                        const hd_piece *piece)
{
    const hd_status status = error_report(error, err, detail);
    if (error != NULL && err != ERR_OK && check(piece, NULL) == ERR_OK) {
        error_set_address(error, value_text(&piece->piece->name));
    }
    return status;
}

/* -- Starting ------------------------------------------------------------ */

static enum err start(hd_runtime *runtime,
                      struct piece_options *options,
                      hd_pattern *pattern,
                      const hd_piece_options *given,
                      struct piece **out,
                      struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (pattern != NULL) {
        err = pattern_check(pattern, detail);
        options->pattern = err == ERR_OK ? pattern_in(runtime, pattern) : NULL;
    }
    if (err == ERR_OK && given != NULL) {
        err =
            runtime_check_space(runtime, given->space, &options->space, detail);
        options->must_exist = given->must_exist;
        options->fresh = given->fresh;
        options->replace = given->replace;
    }
    if (err == ERR_OK && given != NULL && given->arguments != NULL) {
        options->arguments = given->arguments->value;
        if (!value_is_object(options->arguments)) {
            err = err_set(detail, ERR_TYPE, "'arguments' is not an object");
        }
    }
    return err != ERR_OK
               ? err
               : piece_start(runtime_core(runtime), options, out, detail);
}

hd_status hd_piece_start(hd_runtime *runtime,
                         hd_pattern *pattern,
                         const char *name,
                         const hd_piece_options *options,
                         hd_piece **piece,
                         hd_error *error)
{
    if (piece != NULL) {
        *piece = NULL;
    }
    struct err_detail detail = {0};
    struct piece_options inside = {0};
    struct piece *made = NULL;
    enum err err = runtime_check_toplevel(runtime, &detail);
    if (err == ERR_OK) {
        err = runtime_check_changing(runtime, "the start of a piece", &detail);
    }
    if (err == ERR_OK) {
        err = edge_name(name, "name", &inside.name, &detail);
    }
    if (err == ERR_OK) {
        runtime->busy++;
        err = start(runtime, &inside, pattern, options, &made, &detail);
        runtime->busy--;
    }
    if (err == ERR_OK && piece != NULL) {
        *piece = handle_of(runtime, made);
    }
    const hd_status status = error_report(error, err, &detail);
    if (error != NULL && err != ERR_OK && value_is_string(inside.name)) {
        error_set_address(error, value_text(&inside.name));
    }
    value_unref(inside.name);
    return status;
}

/* -- Ending -------------------------------------------------------------- */

static enum err check_end(const hd_piece *piece, struct err_detail *detail)
{
    enum err err = check(piece, detail);
    if (err == ERR_OK) {
        err = runtime_check_toplevel(piece->object.runtime, detail);
    }
    if (err == ERR_OK && (piece->piece->state == PIECE_STOPPED ||
                          piece->piece->runtime == NULL)) {
        err = err_set(detail, ERR_CLOSED, "the piece was stopped");
    }
    return err;
}

hd_status hd_piece_stop(hd_piece *piece, hd_error *error)
{
    struct err_detail detail = {0};
    const enum err err = check_end(piece, &detail);
    if (err == ERR_OK) {
        piece_stop(piece->piece);
    }
    return report(error, err, &detail, piece);
}

hd_status hd_piece_remove(hd_piece *piece, hd_error *error)
{
    struct err_detail detail = {0};
    const enum err err = check_end(piece, &detail);
    if (err == ERR_OK) {
        piece_remove(piece->piece);
    }
    return report(error, err, &detail, piece);
}

/* -- Asking -------------------------------------------------------------- */

hd_status hd_piece_look(hd_piece *piece, hd_piece_state *state, hd_error *error)
{
    if (state == NULL) {
        return error_null(error, "state");
    }
    *state = HD_PIECE_STOPPED;
    struct err_detail detail = {0};
    const enum err err = check(piece, &detail);
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    switch (piece->piece->state) {
    case PIECE_LOADING:
        *state = HD_PIECE_LOADING;
        break;
    case PIECE_RUNNING:
        *state = HD_PIECE_RUNNING;
        break;
    case PIECE_REMOVING:
        *state = HD_PIECE_REMOVING;
        break;
    case PIECE_STOPPED:
        break;
    case PIECE_FAILED:
        *state = HD_PIECE_FAILED;
        detail = piece->piece->error;
        break;
    }
    (void)report(error, detail.err, &detail, piece);
    return HD_OK;
}

hd_status hd_piece_find(hd_runtime *runtime,
                        const char *space,
                        const char *name,
                        hd_piece **piece,
                        hd_error *error)
{
    if (piece == NULL) {
        return error_null(error, "piece");
    }
    *piece = NULL;
    struct err_detail detail = {0};
    struct value key = VALUE_NONE;
    struct space *in = NULL;
    enum err err =
        object_check_open(runtime, OBJECT_RUNTIME, "runtime", &detail);
    if (err == ERR_OK) {
        err = edge_name(name, "name", &key, &detail);
    }
    if (err == ERR_OK) {
        err = runtime_check_space(runtime, space, &in, &detail);
    }
    if (err == ERR_OK) {
        struct piece *found = piece_find(runtime_core(runtime), in, key);
        if (found != NULL) {
            *piece = handle_of(runtime, found);
        } else {
            err = err_set(&detail,
                          ERR_NOT_FOUND,
                          "piece '%s' is not running",
                          name);
        }
    }
    value_unref(key);
    return error_report(error, err, &detail);
}

static enum err names_of(hd_runtime *runtime,
                         struct space *space,
                         struct value *out,
                         struct err_detail *detail)
{
    struct entity *index;
    enum err err = piece_index(space, &index, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct place *place = place_payload(index);
    struct value found;
    err = cell_look(runtime, place, READ_DEEP, READ_FOR_BOTH, &found, detail);
    place_unref(place);
    if (err != ERR_OK && err != ERR_NOT_FOUND) {
        return err;
    }
    *out = value_empty_array();
    if (err == ERR_OK && value_is_object(found)) {
        struct object_iter entries = object_iter(found);
        struct value key;
        struct value item;
        while (object_next(&entries, &key, &item)) {
            *out = array_push_adopt(*out, value_ref(key));
        }
    }
    value_unref(err == ERR_OK ? found : VALUE_NONE);
    return ERR_OK;
}

hd_status hd_runtime_pieces(hd_runtime *runtime,
                            const char *space,
                            hd_value **names,
                            hd_error *error)
{
    if (names == NULL) {
        return error_null(error, "names");
    }
    *names = NULL;
    struct err_detail detail = {0};
    struct space *in = NULL;
    struct value found = VALUE_NONE;
    enum err err = runtime_check_toplevel(runtime, &detail);
    if (err == ERR_OK) {
        err = runtime_check_space(runtime, space, &in, &detail);
    }
    if (err == ERR_OK) {
        err = names_of(runtime, in, &found, &detail);
    }
    if (err == ERR_OK) {
        *names = handle_new_adopt(found);
    }
    return error_report(error, err, &detail);
}

/* The place at a pointer in the result, links not followed; new. */
static enum err place_in_result(const hd_piece *piece,
                                const char *path,
                                struct place **out,
                                struct err_detail *detail)
{
    const enum err err = check_running(piece, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct place *result = piece_result(piece->piece);
    const enum err found = cell_place_below(result, path, out, detail);
    place_unref(result);
    return found;
}

hd_status hd_piece_cell(hd_piece *piece,
                        const char *path,
                        hd_cell **cell,
                        hd_error *error)
{
    if (cell == NULL) {
        return error_null(error, "cell");
    }
    *cell = NULL;
    struct err_detail detail = {0};
    struct place *place;
    struct place *target = NULL;
    enum err err = place_in_result(piece, path, &place, &detail);
    if (err == ERR_OK) {
        hd_runtime *runtime = piece->object.runtime;
        err = cell_target(runtime, place, &target, &detail);
        place_unref(place);
        if (err == ERR_OK) {
            *cell = cell_handle_adopt(runtime, target);
        }
    }
    return report(error, err, &detail, piece);
}

hd_status hd_piece_get(hd_piece *piece,
                       const char *path,
                       hd_value **value,
                       hd_error *error)
{
    if (value == NULL) {
        return error_null(error, "value");
    }
    *value = NULL;
    struct err_detail detail = {0};
    struct place *place;
    enum err err = place_in_result(piece, path, &place, &detail);
    if (err == ERR_OK) {
        struct value found;
        err = node_pull(piece->object.runtime, place, &found, &detail);
        place_unref(place);
        if (err == ERR_OK) {
            *value = handle_new_adopt(found);
        }
    }
    return report(error, err, &detail, piece);
}

hd_status hd_piece_node(hd_piece *piece,
                        const char *name,
                        hd_node **node,
                        hd_error *error)
{
    if (node == NULL) {
        return error_null(error, "node");
    }
    *node = NULL;
    struct err_detail detail = {0};
    struct value key = VALUE_NONE;
    enum err err = check(piece, &detail);
    if (err == ERR_OK) {
        err = edge_name(name, "name", &key, &detail);
    }
    if (err == ERR_OK && piece_node(piece->piece, key) == NULL) {
        err =
            err_set(&detail, ERR_NOT_FOUND, "the piece has no node '%s'", name);
    }
    if (err == ERR_OK) {
        *node = node_handle_of_piece(piece->object.runtime, piece->piece, key);
    }
    value_unref(key);
    return report(error, err, &detail, piece);
}

hd_status hd_piece_send(hd_piece *piece,
                        const char *stream,
                        const hd_value *payload,
                        const hd_send_options *options,
                        hd_ticket **ticket,
                        hd_error *error)
{
    if (ticket != NULL) {
        *ticket = NULL;
    }
    struct err_detail detail = {0};
    struct value name = VALUE_NONE;
    enum err err = check_running(piece, &detail);
    if (err == ERR_OK) {
        err = edge_name(stream, "stream", &name, &detail);
    }
    if (err == ERR_OK) {
        struct stream *to;
        err = piece_stream(piece->piece, name, &to, &detail);
        if (err == ERR_OK) {
            err = event_send(piece->object.runtime,
                             to,
                             payload,
                             options,
                             ticket,
                             &detail);
        }
    }
    value_unref(name);
    const hd_status status = report(error, err, &detail, piece);
    if (err == ERR_BACKLOG) {
        event_report_limit(piece->object.runtime, error);
    }
    return status;
}

/* -- Launching ----------------------------------------------------------- */

hd_status hd_run_launch(hd_run *run,
                        hd_pattern *pattern,
                        const hd_value *arguments,
                        hd_value **link,
                        hd_error *error)
{
    return hd_run_launch_with(run, pattern, arguments, NULL, link, error);
}

/* The names in the options, new. */
static enum err read_launch_names(const hd_launch_options *options,
                                  struct piece_launch_options *out,
                                  struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (options != NULL && options->name != NULL) {
        err = edge_name(options->name, "name", &out->name, detail);
    }
    if (err == ERR_OK && options != NULL && options->space != NULL) {
        err = edge_name(options->space, "space", &out->space, detail);
    }
    return err;
}

hd_status hd_run_launch_with(hd_run *run,
                             hd_pattern *pattern,
                             const hd_value *arguments,
                             const hd_launch_options *options,
                             hd_value **link,
                             hd_error *error)
{
    if (link != NULL) {
        *link = NULL;
    }
    struct err_detail detail = {0};
    enum err err = object_check_open(run, OBJECT_RUN, "run", &detail);
    if (err == ERR_OK &&
        (run->call.piece == NULL || run->call.handling == NULL)) {
        err = err_set(&detail,
                      ERR_MISUSE,
                      "only a handler of a pattern can launch pieces");
    }
    if (err == ERR_OK) {
        err = pattern_check(pattern, &detail);
    }
    const struct value given =
        arguments != NULL ? arguments->value : VALUE_NONE;
    if (err == ERR_OK && arguments != NULL && !value_is_object(given)) {
        err = err_set(&detail, ERR_TYPE, "'arguments' is not an object");
    }
    struct piece_launch_options inside = {.arguments = given};
    if (err == ERR_OK) {
        err = read_launch_names(options, &inside, &detail);
    }
    if (err == ERR_OK) {
        struct value made = VALUE_NONE;
        inside.pattern = pattern_in(run->object.runtime, pattern);
        err = piece_launch(run->call.piece,
                           run->call.handling,
                           &inside,
                           &made,
                           &detail);
        if (err == ERR_OK && link != NULL) {
            *link = handle_new_adopt(made);
        } else {
            value_unref(made);
        }
    }
    value_unref(inside.name);
    value_unref(inside.space);
    return error_report(error, err, &detail);
}
