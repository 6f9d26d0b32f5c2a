/* Questions to an open runtime: its nodes, and why they run or do not.
 * Arguments are checked here; inspect/live_why.h answers. */

#include "inspect/live_why.h"

#include "api/cell.h"
#include "api/handle.h"
#include "api/node.h"
#include "runtime/piece.h"
#include "sched/scheduler.h"
#include "value/object.h"

static struct live_source source_of(const hd_runtime *runtime)
{
    return (struct live_source){runtime_sched(runtime),
                                runtime_inside(runtime)};
}

/* -- All nodes ----------------------------------------------------------- */

/* The name of a piece that is started, new; absent: none is asked for. */
static enum err check_piece(const hd_runtime *runtime,
                            const char *piece,
                            struct value *out,
                            struct err_detail *detail)
{
    *out = VALUE_NONE;
    enum err err = runtime_check_ground(runtime, detail);
    if (err != ERR_OK || piece == NULL) {
        return err;
    }
    err = edge_name(piece, "piece", out, detail);
    if (err != ERR_OK) {
        return err;
    }
    LIST_FOREACH (&runtime_inside(runtime)->pieces, at) {
        const struct piece *started = CONTAINER_OF(at, struct piece, node);
        if (key_equal(started->name, *out)) {
            return ERR_OK;
        }
    }
    return err_set(detail, ERR_NOT_FOUND, "piece '%s' is not running", piece);
}

hd_status hd_runtime_nodes(hd_runtime *runtime,
                           const char *piece,
                           hd_value **nodes,
                           hd_error *error)
{
    if (nodes == NULL) {
        return error_null(error, "nodes");
    }
    *nodes = NULL;
    struct err_detail detail = {0};
    struct value name;
    const enum err err = check_piece(runtime, piece, &name, &detail);
    if (err == ERR_OK) {
        const struct live_source source = source_of(runtime);
        *nodes = handle_new_adopt(live_nodes(&source, name));
    }
    value_unref(name);
    return error_report(error, err, &detail);
}

hd_status hd_runtime_graph(hd_runtime *runtime,
                           const char *piece,
                           hd_value **graph,
                           hd_error *error)
{
    if (graph == NULL) {
        return error_null(error, "graph");
    }
    *graph = NULL;
    struct err_detail detail = {0};
    struct value name;
    const enum err err = check_piece(runtime, piece, &name, &detail);
    if (err == ERR_OK) {
        const struct live_source source = source_of(runtime);
        *graph = handle_new_adopt(live_graph(&source, name));
    }
    value_unref(name);
    return error_report(error, err, &detail);
}

static uint64_t count_pieces(const struct runtime *inside)
{
    uint64_t count = 0;
    LIST_FOREACH (&inside->pieces, at) {
        (void)at;
        count++;
    }
    return count;
}

hd_status hd_runtime_statistics(hd_runtime *runtime,
                                hd_value **statistics,
                                hd_error *error)
{
    if (statistics == NULL) {
        return error_null(error, "statistics");
    }
    *statistics = NULL;
    struct err_detail detail = {0};
    const enum err err = runtime_check_ground(runtime, &detail);
    if (err == ERR_OK) {
        const struct sched *sched = runtime_sched(runtime);
        struct value object = value_empty_object();
        object_put_number(&object, "at", home_now(runtime->home));
        object_put_number(&object, "computations", sched->computations);
        object_put_number(&object, "effects", sched->effects);
        object_put_number(&object,
                          "pieces",
                          count_pieces(runtime_inside(runtime)));
        object_put_number(&object,
                          "outstanding",
                          home_outstanding(runtime->home));
        object_put_adopt(&object, "counters", introspection_counters(sched));
        *statistics = handle_new_adopt(object);
    }
    return error_report(error, err, &detail);
}

/* -- Of a node ----------------------------------------------------------- */

/* What a handle is about, on the ground; NULL on an error, CLOSED if it was
 * removed. */
static enum err check_node(const hd_node *node,
                           const struct node **out,
                           struct err_detail *detail)
{
    *out = NULL;
    enum err err = object_check_open(node, OBJECT_NODE, "node", detail);
    if (err == ERR_OK) {
        err = runtime_check_ground(node->object.runtime, detail);
    }
    if (err == ERR_OK) {
        *out = node_inside(node);
        err = *out != NULL
                  ? ERR_OK
                  : err_set(detail, ERR_CLOSED, "the node was removed");
    }
    return err;
}

hd_status hd_node_why(hd_node *node, hd_value **account, hd_error *error)
{
    if (account == NULL) {
        return error_null(error, "account");
    }
    *account = NULL;
    struct err_detail detail = {0};
    const struct node *inside;
    const enum err err = check_node(node, &inside, &detail);
    if (inside != NULL) {
        const struct live_source source = source_of(node->object.runtime);
        const bool handler = inside->kind == NODE_HANDLER;
        *account = handle_new_adopt(
            live_why(&source,
                     inside,
                     handler ? node->doer->runs : inside->runs));
    }
    return error_report(error, err, &detail);
}

hd_status hd_node_why_not(hd_node *node, hd_value **account, hd_error *error)
{
    if (account == NULL) {
        return error_null(error, "account");
    }
    *account = NULL;
    struct err_detail detail = {0};
    const struct node *inside;
    const enum err err = check_node(node, &inside, &detail);
    if (inside != NULL) {
        const struct live_source source = source_of(node->object.runtime);
        *account = handle_new_adopt(live_why_not(&source, inside));
    }
    return error_report(error, err, &detail);
}

/* -- Of a place ---------------------------------------------------------- */

hd_status hd_cell_why(hd_cell *cell, hd_value **account, hd_error *error)
{
    if (account == NULL) {
        return error_null(error, "account");
    }
    *account = NULL;
    struct err_detail detail = {0};
    struct place *place = NULL;
    enum err err = cell_check(cell, "cell", &detail);
    if (err == ERR_OK) {
        err = runtime_check_ground(cell->object.runtime, &detail);
    }
    if (err == ERR_OK) {
        err = cell_target(cell->object.runtime, cell->place, &place, &detail);
    }
    if (err == ERR_OK) {
        const struct live_source source = source_of(cell->object.runtime);
        struct value object = value_empty_object();
        struct buf address = {0};
        place_write(&address, place);
        object_put_adopt(&object, "address", value_string_adopt(&address));
        object_put_adopt(&object, "writers", live_writers(&source, place));
        place_unref(place);
        *account = handle_new_adopt(object);
    }
    return cell_report(error, err, &detail, cell);
}
