/* Questions to an open runtime: its nodes, and why they run or do not.
 * Arguments are checked here; inspect/live_why.h answers. */

#include "inspect/live_why.h"

#include "api/cell.h"
#include "api/handle.h"
#include "api/node.h"
#include "runtime/piece.h"
#include "sched/sched.h"
#include "value/object.h"

static struct live_source source_of(const hd_runtime *runtime)
{
    return (struct live_source){runtime_sched(runtime), runtime_core(runtime)};
}

/* -- All nodes ----------------------------------------------------------- */

/* The name of a piece that is started, new; absent: none is asked for. */
static enum err check_piece(const hd_runtime *runtime,
                            const char *piece,
                            struct value *out,
                            struct err_detail *detail)
{
    *out = VALUE_NONE;
    enum err err = runtime_check_toplevel(runtime, detail);
    if (err != ERR_OK || piece == NULL) {
        return err;
    }
    err = edge_name(piece, "piece", out, detail);
    if (err != ERR_OK) {
        return err;
    }
    LIST_FOREACH (&runtime_core(runtime)->pieces, at) {
        const struct piece *started = CONTAINER_OF(at, struct piece, node);
        if (key_equal(started->name, *out)) {
            return ERR_OK;
        }
    }
    return err_set(detail, ERR_NOT_FOUND, "piece '%s' is not running", piece);
}

/* Of one piece, or of all. `name` is that of the parameter. */
static hd_status tell(hd_runtime *runtime,
                      const char *piece,
                      struct value (*ask)(const struct live_source *source,
                                          struct value piece),
                      const char *name,
                      hd_value **out,
                      hd_error *error)
{
    if (out == NULL) {
        return error_null(error, name);
    }
    *out = NULL;
    struct err_detail detail = {0};
    struct value of;
    const enum err err = check_piece(runtime, piece, &of, &detail);
    if (err == ERR_OK) {
        const struct live_source source = source_of(runtime);
        *out = handle_new_adopt(ask(&source, of));
    }
    value_unref(of);
    return error_report(error, err, &detail);
}

hd_status hd_runtime_nodes(hd_runtime *runtime,
                           const char *piece,
                           hd_value **nodes,
                           hd_error *error)
{
    return tell(runtime, piece, live_nodes, "nodes", nodes, error);
}

hd_status hd_runtime_graph(hd_runtime *runtime,
                           const char *piece,
                           hd_value **graph,
                           hd_error *error)
{
    return tell(runtime, piece, live_graph, "graph", graph, error);
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
    const enum err err = runtime_check_toplevel(runtime, &detail);
    if (err == ERR_OK) {
        const struct sched *sched = runtime_sched(runtime);
        struct value object = value_empty_object();
        object_put_number(&object, "at", api_host_now(runtime->api_host));
        object_put_number(&object, "computations", sched->computations);
        object_put_number(&object, "effects", sched->effects);
        object_put_number(&object,
                          "pieces",
                          count_pieces(runtime_core(runtime)));
        object_put_number(&object,
                          "outstanding",
                          api_host_outstanding(runtime->api_host));
        object_put_adopt(&object, "counters", introspection_counters(sched));
        *statistics = handle_new_adopt(object);
    }
    return error_report(error, err, &detail);
}

/* -- Of a node ----------------------------------------------------------- */

/* CLOSED: it was removed. */
static hd_status ask(hd_node *node,
                     bool why,
                     hd_value **account,
                     hd_error *error)
{
    if (account == NULL) {
        return error_null(error, "account");
    }
    *account = NULL;
    struct err_detail detail = {0};
    enum err err = object_check_open(node, OBJECT_NODE, "node", &detail);
    if (err == ERR_OK) {
        err = runtime_check_toplevel(node->object.runtime, &detail);
    }
    const struct node *inside = err == ERR_OK ? node_core(node) : NULL;
    if (inside != NULL) {
        const struct live_source source = source_of(node->object.runtime);
        const uint64_t runs =
            inside->kind == NODE_HANDLER ? node->callback->runs : inside->runs;
        *account = handle_new_adopt(why ? live_why(&source, inside, runs)
                                        : live_why_not(&source, inside));
    } else if (err == ERR_OK) {
        err = err_set(&detail, ERR_CLOSED, "the node was removed");
    }
    return error_report(error, err, &detail);
}

hd_status hd_node_why(hd_node *node, hd_value **account, hd_error *error)
{
    return ask(node, true, account, error);
}

hd_status hd_node_why_not(hd_node *node, hd_value **account, hd_error *error)
{
    return ask(node, false, account, error);
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
        err = runtime_check_toplevel(cell->object.runtime, &detail);
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
