/* Accounts from the records of a scheduler. */

#include "inspect/live_why.h"

#include <string.h>

#include "inspect/graph_json.h"
#include "runtime/piece.h"
#include "sched/gates.h"
#include "sched/node_registry.h"
#include "sched/preflight.h"
#include "value/array.h"
#include "value/object.h"

/* -- Nodes --------------------------------------------------------------- */

/* Whether a name, "shopping/total", is one of the piece. */
static bool is_of(struct value name, struct value piece)
{
    if (!value_is_string(name)) {
        return false;
    }
    const struct text whole = value_text(&name);
    const struct text front = value_text(&piece);
    return whole.length > front.length && whole.at[front.length] == '/' &&
           memcmp(whole.at, front.at, front.length) == 0;
}

/* The piece whose node it is, or NULL. */
static const struct piece *piece_of(const struct live_source *source,
                                    struct value name)
{
    const struct piece *found = NULL;
    if (source->runtime == NULL) {
        return NULL;
    }
    LIST_FOREACH (&source->runtime->pieces, at) {
        const struct piece *piece = CONTAINER_OF(at, struct piece, node);
        if (piece->whole == NULL && is_of(name, piece->name) &&
            (found == NULL || is_of(piece->name, found->name))) {
            found = piece;
        }
    }
    return found;
}

/* A node by its name and number; to be released. */
static struct account_node identify(const struct live_source *source,
                                    struct value name,
                                    uint32_t ordinal)
{
    const struct piece *piece = piece_of(source, name);
    const size_t front =
        piece != NULL ? (size_t)value_text(&piece->name).length + 1 : 0;
    struct buf text = {0};
    introspection_write_name(&text, name, ordinal);
    const struct account_node node = {
        .piece = piece != NULL ? value_ref(piece->name) : VALUE_NONE,
        .name = value_string_new(buf_text(&text) + front, text.length - front),
        .scope = VALUE_NONE,
        .kind = VALUE_NONE,
    };
    buf_release(&text);
    return node;
}

static void release(const struct account_node *node)
{
    value_unref(node->piece);
    value_unref(node->name);
    value_unref(node->kind);
}

static struct value begin(const struct live_source *source,
                          const struct node *node)
{
    static const char *const kinds[] = {
        [NODE_COMPUTATION] = "computation",
        [NODE_EFFECT] = "effect",
        [NODE_HANDLER] = "handler",
    };
    const struct account_node named =
        identify(source, node_name(node), node->ordinal);
    const struct account_node about = {
        .piece = named.piece,
        .name = named.name,
        .scope = VALUE_NONE,
        .kind = value_text_new(kinds[node->kind]),
        .status = node->kind != NODE_HANDLER
                      ? introspection_status(node->status)
                      : NULL,
    };
    const struct value account = account_new(&about);
    release(&about);
    return account;
}

/* -- Why ----------------------------------------------------------------- */

static struct value author(const struct live_source *source,
                           const struct change_record *change)
{
    if (change->source == 0) {
        struct value by = account_author(AUTHOR_OUTSIDE);
        object_put_text(&by, "kind", notification_name(change->kind));
        return by;
    }
    const uint32_t ordinal = change->source - 1;
    const struct run_record *run =
        introspection_run_of_change(source->sched, change);
    const struct node *node = node_registry_node(source->sched, ordinal);
    const bool event = run != NULL && run->kind == NODE_HANDLER;
    const struct account_node about = identify(source,
                                               node != NULL  ? node_name(node)
                                               : run != NULL ? run->name
                                                             : VALUE_NONE,
                                               ordinal);
    struct value by = account_author(event ? AUTHOR_EVENT : AUTHOR_NODE);
    account_put_node(&by, event ? "handler" : "node", &about);
    if (event) {
        object_put_number(&by, "event", run->event);
    }
    release(&about);
    return by;
}

static struct value describe_cause(const struct live_source *source,
                                   const struct cause *cause)
{
    const struct change_record *change =
        introspection_change(source->sched, cause->version);
    struct value object = value_empty_object();
    struct buf address = {0};
    introspection_write_place(&address, cause->place);
    object_put_adopt(&object, "address", value_string_adopt(&address));
    if (change != NULL) {
        if (change->local_seq > 0) {
            object_put_number(&object, "commit", change->local_seq);
        }
        object_put_adopt(&object, "by", author(source, change));
    }
    return object;
}

static void put_causes(const struct live_source *source,
                       const struct cause *causes,
                       uint32_t count,
                       struct value *account)
{
    const uint32_t kept = introspection_kept_causes(count);
    struct value list = value_empty_array();
    for (uint32_t i = 0; i < kept; i++) {
        list = array_push_adopt(list, describe_cause(source, &causes[i]));
    }
    object_put_adopt(account, "causes", list);
    object_put_number(account, "more", count - kept);
}

static void put_run(const struct live_source *source,
                    const struct run_record *record,
                    struct value *account)
{
    object_put_text(account,
                    "reason",
                    record->kind == NODE_HANDLER ? "event"
                    : record->cause_count > 0    ? "change"
                    : record->first              ? "first"
                                                 : "again");
    object_put_number(account, "pass", record->pass);
    object_put_number(account, "sweep", record->sweep + 1);
    object_put_number(account, "at", record->at);
    object_put_number(account, "ms", record->busy_ms);
    object_put_text(account, "outcome", introspection_outcome(record->outcome));
    if (record->kind == NODE_HANDLER) {
        object_put_number(account, "event", record->event);
    }
    put_causes(source, record->causes, record->cause_count, account);
}

struct value live_why(const struct live_source *source,
                      const struct node *node,
                      uint64_t runs)
{
    const struct run_record *record =
        introspection_last_run(source->sched, node);
    struct value account = begin(source, node);
    object_put_number(&account, "runs", runs);
    if (record != NULL) {
        put_run(source, record, &account);
    } else {
        object_put_text(&account, "reason", runs == 0 ? "never" : "forgotten");
    }
    account_end_why(&account);
    return account;
}

/* -- Why not ------------------------------------------------------------- */

/* The first condition that is missing; *waits_for is NULL but for WAITS. */
static enum account_condition missing(struct sched *sched,
                                      const struct node *node,
                                      const struct node **waits_for)
{
    *waits_for = NULL;
    if (node->kind == NODE_HANDLER) {
        return CONDITION_EVENT;
    }
    if (node->running) {
        return CONDITION_RUNNING;
    }
    if (node->status == NODE_CLEAN) {
        *waits_for = preflight_stale_source(sched, node);
        return *waits_for != NULL ? CONDITION_WAITS : CONDITION_CLEAN;
    }
    if (!node->counted && !node->again) {
        return CONDITION_NOBODY_LOOKS;
    }
    return gates_reason(node, sched->now) != NULL ? CONDITION_GATED
                                                  : CONDITION_NONE;
}

static void put_gate(const struct sched *sched,
                     const struct node *node,
                     struct value *account)
{
    const mono_ms at = gates_eligible_at(node);
    object_put_text(account, "gate", gates_reason(node, sched->now));
    object_put_number(account,
                      "inMs",
                      at > sched->now && !node->gate->rearm ? at - sched->now
                                                            : 0);
}

struct value live_why_not(const struct live_source *source,
                          const struct node *node)
{
    const struct node *other = NULL;
    const enum account_condition condition =
        missing(source->sched, node, &other);
    struct value account = begin(source, node);
    if (condition == CONDITION_GATED) {
        put_gate(source->sched, node, &account);
    } else if (condition == CONDITION_NONE && node->causes.count > 0) {
        put_causes(source,
                   node->causes.at,
                   (uint32_t)node->causes.count,
                   &account);
    }
    if (other != NULL) {
        const struct account_node waits_for =
            identify(source, node_name(other), other->ordinal);
        account_put_condition(&account, condition, &waits_for, true);
        release(&waits_for);
    } else {
        account_put_condition(&account, condition, NULL, true);
    }
    return account;
}

/* -- Of a place ---------------------------------------------------------- */

struct value live_writers(const struct live_source *source, struct place *place)
{
    const struct read_link read = {.place = place, .kind = READ_DEEP};
    struct value writers = value_empty_array();
    struct writer_set set = {0};
    introspection_add_writers(&read, &set);
    VEC_FOREACH (&set.at, writer) {
        struct value one = value_empty_object();
        object_put_adopt(&one,
                         "why",
                         live_why(source, *writer, (*writer)->runs));
        object_put_adopt(&one, "whyNot", live_why_not(source, *writer));
        writers = array_push_adopt(writers, one);
    }
    vec_release(&set.at);
    return writers;
}

/* -- All nodes ----------------------------------------------------------- */

static bool is_of_piece(struct value node, const void *piece)
{
    return is_of(object_field(node, "name"), *(const struct value *)piece);
}

struct value live_nodes(const struct live_source *source, struct value piece)
{
    struct value nodes = introspection_nodes(source->sched);
    return value_is_absent(piece)
               ? nodes
               : graph_json_choose_adopt(nodes, is_of_piece, &piece);
}

struct value live_graph(const struct live_source *source, struct value piece)
{
    const struct value graph = introspection_graph(source->sched);
    return value_is_absent(piece)
               ? graph
               : graph_json_part_adopt(graph, is_of_piece, &piece, false);
}
