/* The handle of an inspection (inspect/offline_graph.h), and questions to
 * it. */

#include "inspect/offline_graph.h"

#include <string.h>

#include "api/handle.h"
#include "api/runtime.h"
#include "base/limits.h"
#include "inspect/graph_json.h"
#include "inspect/offline_why.h"
#include "inspect/read_at.h"
#include "value/array.h"
#include "value/object.h"
#include "value/utf8.h"

enum {
    COMMITS_TOLD = 100, /* unless more are asked for */
};

struct hd_inspection {
    struct object object;
    struct offline_graph *inside; /* until it is cut */
};

static void cut(struct object *object)
{
    hd_inspection *inspection = CONTAINER_OF(object, hd_inspection, object);
    if (inspection->inside != NULL) {
        offline_graph_close(inspection->inside);
        inspection->inside = NULL;
    }
}

void hd_inspection_free(hd_inspection *inspection)
{
    if (object_may_go(inspection, OBJECT_INSPECTION)) {
        object_free(&inspection->object, sizeof *inspection);
    }
}

/* The directory and the name of a space. */
static enum err find_space(const hd_runtime *runtime,
                           const char *space,
                           struct space **out,
                           struct err_detail *detail)
{
    const enum err err = runtime_check_space(runtime, space, out, detail);
    if (err == ERR_OK && api_host_directory(runtime->api_host) == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a runtime in memory or on a server has no file to "
                       "inspect");
    }
    return err;
}

hd_status hd_inspection_new(hd_runtime *runtime,
                            const char *space,
                            hd_inspection **inspection,
                            hd_error *error)
{
    if (inspection == NULL) {
        return error_null(error, "inspection");
    }
    *inspection = NULL;
    struct err_detail detail = {0};
    struct space *in = NULL;
    struct offline_graph *taken = NULL;
    enum err err = runtime_check_toplevel(runtime, &detail);
    if (err == ERR_OK) {
        err = find_space(runtime, space, &in, &detail);
    }
    if (err == ERR_OK) {
        struct buf name = {0};
        const struct text id = value_text(&in->id);
        buf_append(&name, id.at, id.length);
        err = offline_graph_open(api_host_directory(runtime->api_host),
                                 buf_text(&name),
                                 NULL,
                                 &taken,
                                 &detail);
        buf_release(&name);
    }
    if (err == ERR_OK) {
        *inspection =
            object_new(runtime, OBJECT_INSPECTION, sizeof **inspection, cut);
        (*inspection)->inside = taken;
    }
    return error_report(error, err, &detail);
}

/* -- What is asked about ------------------------------------------------- */

/* There, and at the top level. */
static enum err check(const hd_inspection *inspection,
                      struct err_detail *detail)
{
    const enum err err =
        object_check_open(inspection, OBJECT_INSPECTION, "inspection", detail);
    return err == ERR_OK
               ? runtime_check_toplevel(inspection->object.runtime, detail)
               : err;
}

static enum err find_piece(const hd_inspection *inspection,
                           const char *name,
                           struct offline_piece **out,
                           struct err_detail *detail)
{
    *out = NULL;
    if (name == NULL) {
        return err_set(detail, ERR_ARGUMENT, "'piece' must not be NULL");
    }
    *out = offline_piece(inspection->inside, name);
    return *out != NULL ? ERR_OK
                        : err_set(detail,
                                  ERR_NOT_FOUND,
                                  "there is no piece '%.*s'",
                                  LIMIT_ID_BYTES,
                                  name);
}

static enum err find_node(const hd_inspection *inspection,
                          const hd_question *question,
                          struct offline_node **out,
                          struct err_detail *detail)
{
    struct offline_piece *piece;
    const enum err err =
        find_piece(inspection, question->piece, &piece, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (question->node == NULL) {
        return err_set(detail, ERR_ARGUMENT, "'node' must not be NULL");
    }
    *out = offline_node(piece, question->node);
    return *out != NULL ? ERR_OK
                        : err_set(detail,
                                  ERR_NOT_FOUND,
                                  "the piece has no node '%.*s'",
                                  LIMIT_ID_BYTES,
                                  question->node);
}

/* `front` and a JSON Pointer behind it, as a path, new. */
static enum err read_path(const hd_inspection *inspection,
                          const char *front,
                          const char *pointer,
                          struct path **out,
                          struct err_detail *detail)
{
    *out = NULL;
    const char *given = pointer != NULL ? pointer : "";
    const size_t length = strnlen(given, LIMIT_POINTER_BYTES + 1);
    if (length > LIMIT_POINTER_BYTES) {
        return err_set(detail,
                       ERR_LIMIT_PATH,
                       "the path has more than %d bytes",
                       LIMIT_POINTER_BYTES);
    }
    if (!utf8_is_valid(given, length)) {
        return err_set(detail, ERR_SYNTAX, "the path is not UTF-8");
    }
    if (length > 0 && given[0] != '/') {
        return err_set(detail, ERR_SYNTAX, "a path must begin with '/'");
    }
    struct buf text = {0};
    buf_append_text(&text, front);
    buf_append(&text, given, length);
    struct path_table *paths =
        &runtime_core(inspection->object.runtime)->replica.paths;
    const enum err err =
        path_read(paths, buf_text(&text), text.length, out, detail);
    buf_release(&text);
    return err;
}

/* The place of a question; to be released. */
static enum err find_place(const hd_inspection *inspection,
                           const hd_question *question,
                           struct run_place *out,
                           struct err_detail *detail)
{
    *out = (struct run_place){.space = VALUE_NONE, .kind = PLACE_DEEP};
    enum err err = edge_name(question->document, "document", &out->id, detail);
    if (err == ERR_OK) {
        err =
            read_path(inspection, "/value", question->path, &out->path, detail);
    }
    if (err != ERR_OK) {
        value_unref(out->id);
        return err;
    }
    out->scope_key = value_text_new("space");
    return ERR_OK;
}

static void place_release(struct run_place *place)
{
    value_unref(place->scope_key);
    value_unref(place->id);
    path_unref(place->path);
}

static enum err check_question(const hd_inspection *inspection,
                               const hd_question *question,
                               struct err_detail *detail)
{
    const enum err err = check(inspection, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (question == NULL) {
        return err_set(detail, ERR_ARGUMENT, "'question' must not be NULL");
    }
    if ((question->piece != NULL) == (question->document != NULL)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a question needs a 'piece' and a 'node', or a "
                       "'document'");
    }
    return ERR_OK;
}

/* -- Answers ------------------------------------------------------------- */

/* The end of a question; the answer is adopted. */
static hd_status answer_adopt(enum err err,
                              const struct err_detail *detail,
                              struct value answer,
                              hd_value **out,
                              hd_error *error)
{
    if (err == ERR_OK) {
        *out = handle_new_adopt(answer);
    }
    return error_report(error, err, detail);
}

hd_status hd_inspection_pieces(hd_inspection *inspection,
                               hd_value **pieces,
                               hd_error *error)
{
    if (pieces == NULL) {
        return error_null(error, "pieces");
    }
    *pieces = NULL;
    struct err_detail detail = {0};
    struct value answer = VALUE_NONE;
    enum err err = check(inspection, &detail);
    if (err == ERR_OK) {
        err = graph_json_pieces(inspection->inside, &answer, &detail);
    }
    return answer_adopt(err, &detail, answer, pieces, error);
}

hd_status hd_inspection_graph(hd_inspection *inspection,
                              const char *piece,
                              hd_value **graph,
                              hd_error *error)
{
    if (graph == NULL) {
        return error_null(error, "graph");
    }
    *graph = NULL;
    struct err_detail detail = {0};
    struct value answer = VALUE_NONE;
    struct offline_piece *found = NULL;
    enum err err = check(inspection, &detail);
    if (err == ERR_OK) {
        err = find_piece(inspection, piece, &found, &detail);
    }
    if (err == ERR_OK) {
        answer = graph_json(inspection->inside, found);
    }
    return answer_adopt(err, &detail, answer, graph, error);
}

/* About a node, or about a place. */
static enum err ask(const hd_inspection *inspection,
                    const hd_question *question,
                    bool why,
                    struct value *out,
                    struct err_detail *detail)
{
    struct offline_graph *graph = inspection->inside;
    const bool origin = question->to_the_origin;
    if (question->document == NULL) {
        struct offline_node *node = NULL;
        const enum err err = find_node(inspection, question, &node, detail);
        if (err == ERR_OK && !why) {
            *out = offline_why_not(graph, node);
        }
        return err == ERR_OK && why
                   ? offline_why(graph, node, origin, out, detail)
                   : err;
    }
    struct run_place place;
    enum err err = find_place(inspection, question, &place, detail);
    if (err == ERR_OK) {
        err = why ? offline_why_place(graph, &place, origin, out, detail)
                  : offline_why_not_place(graph, &place, out, detail);
        place_release(&place);
    }
    return err;
}

static hd_status ask_why(const hd_inspection *inspection,
                         const hd_question *question,
                         bool why,
                         hd_value **account,
                         hd_error *error)
{
    if (account == NULL) {
        return error_null(error, "account");
    }
    *account = NULL;
    struct err_detail detail = {0};
    struct value answer = VALUE_NONE;
    enum err err = check_question(inspection, question, &detail);
    if (err == ERR_OK) {
        err = ask(inspection, question, why, &answer, &detail);
    }
    return answer_adopt(err, &detail, answer, account, error);
}

hd_status hd_inspection_why(hd_inspection *inspection,
                            const hd_question *question,
                            hd_value **account,
                            hd_error *error)
{
    return ask_why(inspection, question, true, account, error);
}

hd_status hd_inspection_why_not(hd_inspection *inspection,
                                const hd_question *question,
                                hd_value **account,
                                hd_error *error)
{
    return ask_why(inspection, question, false, account, error);
}

hd_status hd_inspection_log(hd_inspection *inspection,
                            const hd_log_options *options,
                            hd_value **log,
                            hd_error *error)
{
    if (log == NULL) {
        return error_null(error, "log");
    }
    *log = NULL;
    static const hd_log_options none;
    const hd_log_options *given = options != NULL ? options : &none;
    const struct graph_json_span span = {
        .piece = given->piece,
        .after = given->after,
        .to = given->to > 0 ? given->to : UINT64_MAX,
        .limit = given->limit > 0 ? given->limit : COMMITS_TOLD,
    };
    struct err_detail detail = {0};
    struct value answer = VALUE_NONE;
    struct offline_piece *piece = NULL;
    enum err err = check(inspection, &detail);
    if (err == ERR_OK) {
        err = graph_json_log(inspection->inside, &span, &answer, &detail);
    }
    if (err == ERR_OK && given->piece != NULL &&
        array_count(object_field(answer, "commits")) == 0) {
        err = find_piece(inspection, given->piece, &piece, &detail);
    }
    if (err != ERR_OK) {
        value_unref(answer);
        answer = VALUE_NONE;
    }
    return answer_adopt(err, &detail, answer, log, error);
}

/* What was there then, new; NOT_FOUND. */
static enum err show(const hd_inspection *inspection,
                     const char *piece,
                     const struct path *path,
                     uint64_t seq,
                     struct value *out,
                     struct err_detail *detail)
{
    struct offline_piece *found = NULL;
    struct value name = value_text_new(piece);
    struct value keys = value_empty_array();
    for (uint32_t i = 0; i < path->length; i++) {
        keys = array_push_adopt(keys, value_ref(path->at[i].key));
    }
    enum err err = read_at(&inspection->inside->engine,
                           name,
                           keys,
                           seq > 0 ? seq : ENGINE_HEAD,
                           out,
                           detail);
    value_unref(keys);
    value_unref(name);
    if (err == ERR_OK && value_is_absent(*out)) {
        err = find_piece(inspection, piece, &found, detail);
    }
    if (err == ERR_OK && value_is_absent(*out)) {
        err = err_set(detail, ERR_NOT_FOUND, "no value at this path");
    }
    return err;
}

hd_status hd_inspection_show(hd_inspection *inspection,
                             const char *piece,
                             const char *path,
                             uint64_t seq,
                             hd_value **value,
                             hd_error *error)
{
    if (value == NULL) {
        return error_null(error, "value");
    }
    *value = NULL;
    struct err_detail detail = {0};
    struct value answer = VALUE_NONE;
    struct path *at = NULL;
    enum err err = check(inspection, &detail);
    if (err == ERR_OK && piece == NULL) {
        err = err_set(&detail, ERR_ARGUMENT, "'piece' must not be NULL");
    }
    if (err == ERR_OK) {
        err = read_path(inspection, "", path, &at, &detail);
    }
    if (err == ERR_OK) {
        err = show(inspection, piece, at, seq, &answer, &detail);
        path_unref(at);
    }
    return answer_adopt(err, &detail, answer, value, error);
}
