/* Finding it by the receipts, runs and documents of a commit. */

#include "inspect/author.h"

#include <string.h>

#include "host/transfer.h"
#include "proto/event.h"
#include "value/clock_id.h"
#include "value/compare.h"
#include "value/object.h"

/* The piece that a document is of, and which part of it; NULL for anything
 * else. The longest name of a piece counts: a name may have slashes. *part is
 * in the id. */
static const struct offline_piece *piece_of(const struct offline_graph *graph,
                                            const struct value *id,
                                            struct text *part)
{
    const struct text text = value_text(id);
    const size_t front = strlen("piece:");
    const struct offline_piece *piece = NULL;
    size_t end = text.length;
    *part = (struct text){"", 0};
    if (!value_begins_with(*id, "piece:")) {
        return NULL;
    }
    while (piece == NULL && end > front) {
        if (end == text.length || text.at[end] == '/') {
            const struct value name =
                value_string_new(text.at + front, end - front);
            piece = offline_piece_named(graph, name);
            value_unref(name);
        }
        if (piece != NULL && end < text.length) {
            *part = (struct text){text.at + end + 1, text.length - end - 1};
        }
        end--;
    }
    return piece;
}

/* Whether people may write there as well as nodes: then a write that is of no
 * known run is taken for theirs. */
static bool is_open_to_people(const struct offline_graph *graph,
                              struct value id)
{
    struct text part;
    const struct offline_piece *piece = piece_of(graph, &id, &part);
    if (piece == NULL || !value_is_object(piece->about)) {
        return true;
    }
    const struct value cells = object_field(piece->about, "cells");
    const struct value kind = value_is_object(cells)
                                  ? object_get_text(cells, part.at, part.length)
                                  : VALUE_NONE;
    return value_is_text(kind, "state") || value_is_text(kind, "argument");
}

static struct offline_node *writer_of(const struct offline_graph *graph,
                                      const struct commit_write *write)
{
    const struct offline_document *document =
        offline_document(graph, write->scope_key, write->id);
    return document != NULL && !is_open_to_people(graph, write->id)
               ? document->outputs.at[0].node
               : NULL;
}

/* The effect that a commit names. */
static bool find_effect(const struct offline_graph *graph,
                        const struct commit_info *commit,
                        struct author *author)
{
    const struct value of = commit->effect;
    struct digest action;
    if (!value_is_object(of) ||
        !digest_read(object_field(of, "action"), &action) ||
        !value_is_string(object_field(of, "piece"))) {
        return false;
    }
    author->kind = AUTHOR_EFFECT;
    author->piece = object_field(of, "piece");
    const struct offline_piece *piece =
        offline_piece_named(graph, author->piece);
    for (size_t i = 0; piece != NULL && i < piece->nodes.count; i++) {
        struct offline_node *node = &piece->nodes.at[i];
        if (node->run != NULL && digest_equal(&node->run->name, &action)) {
            author->kind = AUTHOR_NODE;
            author->node = node;
            author->earlier = node->run->landed != commit->seq;
        }
    }
    return true;
}

struct author author_of(const struct offline_graph *graph,
                        const struct commit_info *commit)
{
    struct author author = {.kind = AUTHOR_EDIT};
    if (value_begins_with(commit->session, TRANSFER_SESSION)) {
        return author; /* whatever it has moved */
    }
    VEC_FOREACH (&commit->writes, write) {
        if (event_is_document_id(write->id) && event_is_receipt(write->data)) {
            author.kind = AUTHOR_EVENT;
            author.receipt = write;
            return author;
        }
    }
    author.node = offline_landed(graph, commit->seq);
    if (author.node != NULL) {
        author.kind = AUTHOR_NODE;
        return author;
    }
    if (find_effect(graph, commit, &author)) {
        return author;
    }
    VEC_FOREACH (&commit->writes, write) {
        struct text part;
        const struct offline_piece *piece = piece_of(graph, &write->id, &part);
        if (piece != NULL && part.length == 0) {
            author.kind = AUTHOR_START;
            author.piece = piece->name;
            return author;
        }
    }
    VEC_FOREACH (&commit->writes, write) {
        author.node = writer_of(graph, write);
        if (author.node != NULL) {
            author.kind = AUTHOR_NODE;
            author.earlier = true;
            return author;
        }
    }
    if (commit->writes.count == 1 &&
        clock_id_read(commit->writes.at[0].id) > 0) {
        author.kind = AUTHOR_CLOCK;
    }
    return author;
}

struct account_node author_node(const struct offline_node *node)
{
    return (struct account_node){
        .piece = node->piece->name,
        .name = node->name,
        .scope = offline_node_scope(node),
        .kind = node->kind,
        .status = offline_has_runs(node) ? offline_status(node) : NULL,
    };
}

void author_put_stream(const struct offline_graph *graph,
                       struct value stream,
                       struct value *object)
{
    struct text part = {"", 0};
    const struct offline_piece *piece =
        value_is_string(stream) ? piece_of(graph, &stream, &part) : NULL;
    if (piece != NULL) {
        object_put_adopt(object, "piece", value_ref(piece->name));
        object_put_adopt(object,
                         "handler",
                         value_string_new(part.at, part.length));
    } else if (value_is_string(stream)) {
        object_put_adopt(object, "stream", value_ref(stream));
    }
}

static void put_event(const struct offline_graph *graph,
                      const struct author *author,
                      struct value *object)
{
    const struct value data = author->receipt->data;
    author_put_stream(graph, object_field(data, "stream"), object);
    object_put_adopt(object, "receipt", value_ref(author->receipt->id));
    if (value_is_object(data) &&
        !value_is_absent(object_field(data, "value"))) {
        object_put_adopt(object,
                         "result",
                         value_ref(object_field(data, "value")));
    }
}

struct value author_describe(const struct offline_graph *graph,
                             const struct author *author)
{
    struct value object = account_author(author->kind);
    switch (author->kind) {
    case AUTHOR_NODE: {
        const struct account_node node = author_node(author->node);
        account_put_node(&object, "node", &node);
        if (author->earlier) {
            object_put_adopt(&object, "earlier", value_bool(true));
        }
        break;
    }
    case AUTHOR_EVENT:
        put_event(graph, author, &object);
        break;
    case AUTHOR_START:
    case AUTHOR_EFFECT:
        object_put_adopt(&object, "piece", value_ref(author->piece));
        break;
    case AUTHOR_CLOCK:
    case AUTHOR_EDIT:
    case AUTHOR_OUTSIDE:
    case AUTHOR_FOLDED:
        break;
    }
    return object;
}
