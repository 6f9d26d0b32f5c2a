/* Taking a graph: rows and names put together, who is wanted, who is live. */

#include "inspect/offline_graph.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "host/data_dir.h"
#include "host/presence.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/doc_link.h"
#include "value/object.h"
#include "value/path.h"

/* -- Documents of the space ---------------------------------------------- */

/* The field `field` of an instance of a document, new; or absent. */
static enum err read_instance(struct offline_graph *graph,
                              struct value scope_key,
                              struct value id,
                              const char *field,
                              struct value *out,
                              struct err_detail *detail)
{
    const struct engine_address address = {graph->branch, scope_key, id};
    struct value document = VALUE_NONE;
    uint64_t seq = 0;
    *out = VALUE_NONE;
    const enum err err =
        engine_head(&graph->engine, &address, &document, &seq, detail);
    if (err == ERR_OK && value_is_object(document)) {
        *out = value_ref(object_field(document, field));
    }
    value_unref(document);
    return err;
}

static enum err read_field(struct offline_graph *graph,
                           struct value id,
                           const char *field,
                           struct value *out,
                           struct err_detail *detail)
{
    const struct value space = value_text_new("space");
    const enum err err = read_instance(graph, space, id, field, out, detail);
    value_unref(space);
    return err;
}

/* -- Names --------------------------------------------------------------- */

/* The rows of a piece by their digests; several users may have one each. */
struct named_row {
    const struct run_action *run;
    bool named;
};

struct naming {
    struct offline_piece *piece;
    VEC(struct named_row) rows;
    struct map by_digest; /* struct named_row, the first of its digest */
};

static bool is_row_of(const void *item, const void *key)
{
    const struct named_row *row = item;
    return digest_equal(&row->run->name, key);
}

static void add_node(struct offline_piece *piece,
                     struct value name,
                     struct value kind,
                     const struct run_action *run)
{
    const struct offline_node node = {
        .piece = piece,
        .name = value_ref(name),
        .kind = value_ref(kind),
        .run = run,
    };
    vec_push(&piece->nodes, node);
}

/* A name, with all rows of it, or with none. */
static void name_rows(struct naming *naming,
                      struct value name,
                      struct value kind,
                      bool also_without)
{
    const struct digest digest = digest_of_name("heddle action", name);
    struct named_row *row =
        map_find(&naming->by_digest, digest_bits(&digest), is_row_of, &digest);
    if (row == NULL) {
        if (also_without) {
            add_node(naming->piece, name, kind, NULL);
        }
        return;
    }
    /* Those of other users follow somewhere behind the first. */
    for (; row < naming->rows.at + naming->rows.count; row++) {
        if (!row->named && digest_equal(&row->run->name, &digest)) {
            row->named = true;
            add_node(naming->piece, name, kind, row->run);
        }
    }
}

static bool is_node_kind(struct value kind)
{
    return value_is_text(kind, "computed") || value_is_text(kind, "effect") ||
           value_is_text(kind, "handler") || value_is_text(kind, "list");
}

static struct value joined(struct text front, struct text last)
{
    struct buf name = {0};
    buf_append(&name, front.at, front.length);
    buf_append(&name, last.at, last.length);
    return value_string_adopt(&name);
}

static enum err name_children(struct offline_graph *graph,
                              struct naming *naming,
                              struct value cell,
                              struct err_detail *detail);

/* What a piece, or an element of one, has declared; `front` is what the names
 * begin with. */
static enum err name_cells(struct offline_graph *graph,
                           struct naming *naming,
                           struct text front,
                           struct value cells,
                           struct err_detail *detail)
{
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    struct value name;
    struct value kind;
    enum err err = ERR_OK;
    while (err == ERR_OK && object_next(&iter, &name, &kind)) {
        const struct value full = joined(front, value_text(&name));
        if (value_is_text(kind, "preloaded")) { /* the output of a task */
            const struct value task = value_text_new("task");
            name_rows(naming, full, task, true);
            value_unref(task);
        } else if (is_node_kind(kind)) {
            name_rows(naming, full, kind, true);
        }
        err = name_children(graph, naming, full, detail);
        value_unref(full);
    }
    return err;
}

/* The nodes of an element that is a piece (runtime/element.h). */
static enum err name_piece(struct offline_graph *graph,
                           struct naming *naming,
                           struct value name,
                           struct err_detail *detail)
{
    const struct text text = value_text(&name);
    const struct value id = piece_document_id(naming->piece->name, name);
    struct value about = VALUE_NONE;
    enum err err = read_field(graph, id, "piece", &about, detail);
    if (err == ERR_OK && value_is_object(about)) {
        const struct text slash = {"/", 1};
        const struct value front = joined(text, slash);
        err = name_cells(graph,
                         naming,
                         value_text(&front),
                         object_field(about, "cells"),
                         detail);
        value_unref(front);
    }
    value_unref(about);
    value_unref(id);
    return err;
}

/* Whether the elements of a list are pieces: its document says so (keyed-list-6
 * of runtime/keyed_list.h). `front` is its name and "/". */
static enum err has_pieces(struct offline_graph *graph,
                           const struct naming *naming,
                           struct text front,
                           bool *out,
                           struct err_detail *detail)
{
    const struct value name = value_string_new(front.at, front.length - 1);
    const struct value id = piece_document_id(naming->piece->name, name);
    struct value record = VALUE_NONE;
    const enum err err = read_field(graph, id, "elements", &record, detail);
    *out = value_is_object(record);
    value_unref(record);
    value_unref(id);
    value_unref(name);
    return err;
}

/* The children of a list, by the keys of the elements that an instance of its
 * document has. `front` is what their names begin with. */
static enum err name_elements(struct offline_graph *graph,
                              struct naming *naming,
                              struct value scope_key,
                              struct value cell,
                              struct text front,
                              struct err_detail *detail)
{
    const struct value id = piece_document_id(naming->piece->name, cell);
    struct value elements = VALUE_NONE;
    enum err err =
        read_instance(graph, scope_key, id, "value", &elements, detail);
    const struct value kind = value_text_new("child");
    struct object_iter iter = object_iter(
        value_is_object(elements) ? elements : value_empty_object());
    struct value key;
    struct value element;
    bool pieces = false;
    if (err == ERR_OK) {
        err = has_pieces(graph, naming, front, &pieces, detail);
    }
    while (err == ERR_OK && object_next(&iter, &key, &element)) {
        const struct value child = joined(front, value_text(&key));
        if (pieces) {
            err = name_piece(graph, naming, child, detail);
        } else {
            name_rows(naming, child, kind, value_is_text(scope_key, "space"));
        }
        value_unref(child);
    }
    value_unref(kind);
    value_unref(elements);
    value_unref(id);
    return err;
}

/* The children of a list (runtime/keyed_list.h); each user may have some. */
static enum err name_children(struct offline_graph *graph,
                              struct naming *naming,
                              struct value cell,
                              struct err_detail *detail)
{
    const struct text text = value_text(&cell);
    const size_t tail = strlen("elements");
    if (text.length <= tail ||
        memcmp(text.at + text.length - tail, "elements", tail) != 0 ||
        text.at[text.length - tail - 1] != '/') {
        return ERR_OK;
    }
    const struct text front = {text.at, text.length - tail};
    const struct value space = value_text_new("space");
    struct value last = space;
    enum err err = name_elements(graph, naming, space, cell, front, detail);
    for (size_t i = 0; i < naming->rows.count && err == ERR_OK; i++) {
        const struct value key = naming->rows.at[i].run->scope_key;
        if (!naming->rows.at[i].named && !key_equal(key, last)) {
            err = name_elements(graph, naming, key, cell, front, detail);
            last = key;
        }
    }
    value_unref(space);
    return err;
}

/* Rows of nodes that are no longer declared, or whose element is gone. */
static void name_the_rest(const struct naming *naming)
{
    VEC_FOREACH (&naming->rows, row) {
        if (row->named) {
            continue;
        }
        char digest[DIGEST_TEXT_LENGTH + 1];
        char name[16];
        digest_write(row->run->name, digest);
        (void)snprintf(name, sizeof name, "#%.8s", digest);
        const struct value text = value_text_new(name);
        const struct value kind = value_text_new(
            row->run->kind == ACTION_EFFECT ? "effect" : "computed");
        add_node(naming->piece, text, kind, row->run);
        value_unref(kind);
        value_unref(text);
    }
}

static enum err name_nodes(struct offline_graph *graph,
                           struct offline_piece *piece,
                           struct err_detail *detail)
{
    struct naming naming = {.piece = piece};
    vec_reserve(&naming.rows, piece->runs.at.count);
    VEC_FOREACH (&piece->runs.at, run) {
        struct named_row *row = vec_add(&naming.rows);
        *row = (struct named_row){.run = run};
        if (map_find(&naming.by_digest,
                     digest_bits(&run->name),
                     is_row_of,
                     &run->name) == NULL) {
            map_insert(&naming.by_digest, digest_bits(&run->name), row);
        }
    }
    const struct value cells = object_field(piece->about, "cells");
    const struct text whole = {"", 0};
    const enum err err = name_cells(graph, &naming, whole, cells, detail);
    name_the_rest(&naming);
    map_release(&naming.by_digest);
    vec_release(&naming.rows);
    return err;
}

/* -- Pieces -------------------------------------------------------------- */

static void piece_free(struct offline_piece *piece)
{
    VEC_FOREACH (&piece->nodes, node) {
        value_unref(node->name);
        value_unref(node->kind);
    }
    vec_release(&piece->nodes);
    run_list_release(&piece->runs);
    value_unref(piece->name);
    value_unref(piece->about);
    value_unref(piece->sessions);
    mem_free(piece, sizeof *piece);
}

static void note_sessions(const struct offline_graph *graph,
                          struct offline_piece *piece)
{
    struct array_iter iter = array_iter(graph->present);
    const struct value child = object_field(piece->about, "child");
    struct value one;
    piece->sessions = value_empty_array();
    while (array_next(&iter, &one)) {
        /* A child starts with its parent in another space. */
        if (presence_has(one, graph->space, piece->name) ||
            (value_is_object(child) &&
             presence_has(one,
                          object_field(child, "space"),
                          object_field(child, "piece")))) {
            const struct value effects = object_field(one, "effects");
            piece->sessions = array_push_adopt(piece->sessions, value_ref(one));
            piece->started =
                piece->started || value_is_same(effects, value_bool(true));
            piece->looked_at =
                piece->looked_at ||
                value_is_same(object_field(one, "looks"), value_bool(true));
        }
    }
}

static enum err add_piece(struct offline_graph *graph,
                          struct value name,
                          struct err_detail *detail)
{
    struct offline_piece *piece = mem_alloc_zero(sizeof *piece);
    const struct value id = piece_document_id(name, VALUE_NONE);
    piece->name = value_ref(name);
    vec_push(&graph->pieces, piece);
    map_insert(&graph->names, value_hash(name), piece);
    enum err err = read_field(graph, id, "piece", &piece->about, detail);
    value_unref(id);
    if (err == ERR_OK) {
        err = run_history_of_piece(&graph->engine,
                                   graph->branch,
                                   name,
                                   &piece->runs,
                                   detail);
    }
    if (err == ERR_OK) {
        err = name_nodes(graph, piece, detail);
    }
    note_sessions(graph, piece);
    return err;
}

static bool is_removed(const struct offline_piece *piece)
{
    return value_is_object(piece->about) &&
           !value_is_absent(object_field(piece->about, "removed"));
}

static bool is_piece(const void *item, const void *name)
{
    const struct offline_piece *piece = item;
    return key_equal(piece->name, *(const struct value *)name);
}

struct offline_piece *offline_piece_named(const struct offline_graph *graph,
                                          struct value name)
{
    return map_find(&graph->names, value_hash(name), is_piece, &name);
}

static void drop_last_piece(struct offline_graph *graph)
{
    struct offline_piece *piece = vec_pop(&graph->pieces);
    (void)map_remove(&graph->names,
                     value_hash(piece->name),
                     is_piece,
                     &piece->name);
    piece_free(piece);
}

/* Those that pieces which are known have launched, and theirs. Whoever has one
 * of those started has these started as well. */
static enum err add_launched(struct offline_graph *graph,
                             struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < graph->pieces.count; i++) {
        const struct offline_piece *by = graph->pieces.at[i];
        const struct value launched = object_field(by->about, "launched");
        if (!value_is_object(launched)) {
            continue;
        }
        struct object_iter iter = object_iter(launched);
        struct value name;
        struct value pattern;
        while (err == ERR_OK && object_next(&iter, &name, &pattern)) {
            if (value_is_object(pattern) || /* of another space */
                offline_piece_named(graph, name) != NULL) {
                continue;
            }
            err = add_piece(graph, name, detail);
            struct offline_piece *made = *vec_last(&graph->pieces);
            if (is_removed(made)) {
                drop_last_piece(graph);
            } else if (array_count(made->sessions) == 0) {
                value_unref(made->sessions);
                made->sessions = value_ref(by->sessions);
                made->started = by->started;
            }
        }
    }
    return err;
}

/* Those in the list of pieces, those that they have launched, which are not in
 * it, and those of which there are rows. */
static enum err add_pieces(struct offline_graph *graph,
                           struct err_detail *detail)
{
    const struct value id = value_text_new("pieces");
    struct value listed = VALUE_NONE;
    struct value observed = VALUE_NONE;
    enum err err = read_field(graph, id, "value", &listed, detail);
    if (err == ERR_OK) {
        err = run_history_pieces(&graph->engine,
                                 graph->branch,
                                 &observed,
                                 detail);
    }
    if (value_is_object(listed)) {
        struct object_iter iter = object_iter(listed);
        struct value name;
        struct value line;
        while (err == ERR_OK && object_next(&iter, &name, &line)) {
            err = add_piece(graph, name, detail);
        }
    }
    if (err == ERR_OK) {
        err = add_launched(graph, detail);
    }
    for (uint32_t i = 0; err == ERR_OK && i < array_count(observed); i++) {
        const struct value name = array_at(observed, i);
        if (offline_piece_named(graph, name) == NULL) {
            err = add_piece(graph, name, detail);
            if (is_removed(*vec_last(&graph->pieces))) {
                drop_last_piece(graph);
            }
        }
    }
    value_unref(listed);
    value_unref(observed);
    value_unref(id);
    return err;
}

/* -- The graph ----------------------------------------------------------- */

struct document_key {
    struct value scope_key;
    struct value id;
};

static uint64_t hash_document(const struct document_key *key)
{
    return value_hash(key->id) * 31 + value_hash(key->scope_key);
}

static bool is_document(const void *item, const void *key)
{
    const struct offline_document *document = item;
    const struct document_key *wanted = key;
    return key_equal(document->id, wanted->id) &&
           key_equal(document->scope_key, wanted->scope_key);
}

const struct offline_document *offline_document(
    const struct offline_graph *graph,
    struct value scope_key,
    struct value id)
{
    const struct document_key key = {scope_key, id};
    return map_find(&graph->documents, hash_document(&key), is_document, &key);
}

static bool is_landed(const void *item, const void *key)
{
    const struct offline_node *node = item;
    return node->run->landed == *(const uint64_t *)key;
}

struct offline_node *offline_landed(const struct offline_graph *graph,
                                    uint64_t seq)
{
    return map_find(&graph->landed, seq, is_landed, &seq);
}

static void add_output(struct offline_graph *graph,
                       struct offline_node *node,
                       const struct run_place *place)
{
    const struct document_key key = {place->scope_key, place->id};
    const uint64_t hash = hash_document(&key);
    struct offline_document *document =
        map_find(&graph->documents, hash, is_document, &key);
    if (document == NULL) {
        document = mem_alloc_zero(sizeof *document);
        document->scope_key = place->scope_key;
        document->id = place->id;
        map_insert(&graph->documents, hash, document);
    }
    const struct offline_output output = {node, place};
    vec_push(&document->outputs, output);
}

static void index_node(struct offline_graph *graph, struct offline_node *node)
{
    if (node->run == NULL) {
        return;
    }
    const uint64_t landed = node->run->landed;
    if (landed > 0 && offline_landed(graph, landed) == NULL) {
        map_insert(&graph->landed, landed, node);
    }
    VEC_FOREACH (&node->run->places, place) {
        if (!place_is_read(place->kind) && value_is_absent(place->space)) {
            add_output(graph, node, place);
        }
    }
}

typedef VEC(struct offline_node *) node_list;

static bool mark(struct offline_node *node, bool live)
{
    bool *flag = live ? &node->live : &node->wanted;
    if (*flag || (live && !node->piece->started)) {
        return false;
    }
    *flag = true;
    return true;
}

/* From effects to everything that they read, through what writes it. */
static void mark_from(struct offline_graph *graph, node_list *stack, bool live)
{
    while (stack->count > 0) {
        const struct offline_node *node = vec_pop(stack);
        if (node->run == NULL) {
            continue;
        }
        VEC_FOREACH (&node->run->places, place) {
            const struct offline_document *document =
                place_is_read(place->kind) && value_is_absent(place->space)
                    ? offline_document(graph, place->scope_key, place->id)
                    : NULL;
            if (document == NULL) {
                continue;
            }
            VEC_FOREACH (&document->outputs, output) {
                if (offline_reads(place, output) &&
                    offline_is_shared(node, output->node) &&
                    mark(output->node, live)) {
                    vec_push(stack, output->node);
                }
            }
        }
    }
}

/* -- Who looks at results ------------------------------------------------ */

enum {
    LOOKED_MAX = 100 * 1000, /* documents behind a result */
};

struct looking {
    struct offline_graph *graph;
    struct map seen;         /* struct value of `ids` */
    VEC(struct value *) ids; /* owned */
    node_list *stack;
};

static bool is_id(const void *item, const void *key)
{
    return key_equal(*(const struct value *)item, *(const struct value *)key);
}

/* A document that is looked at, and who writes it. */
static void look_at(struct looking *looking, struct value id)
{
    const struct value scope = value_text_new("space");
    const struct offline_document *document =
        offline_document(looking->graph, scope, id);
    value_unref(scope);
    if (looking->ids.count >= LOOKED_MAX ||
        map_find(&looking->seen, value_hash(id), is_id, &id) != NULL) {
        return;
    }
    struct value *own = mem_alloc(sizeof *own);
    *own = value_ref(id);
    map_insert(&looking->seen, value_hash(id), own);
    vec_push(&looking->ids, own);
    for (size_t i = 0; document != NULL && i < document->outputs.count; i++) {
        for (unsigned live = 0; live < 2; live++) {
            if (mark(document->outputs.at[i].node, live == 1)) {
                vec_push(&looking->stack[live], document->outputs.at[i].node);
            }
        }
    }
}

/* The links in a value, however deep. */
static void look_for_links(struct looking *looking, struct value value)
{
    VEC(struct value) rest = {0};
    vec_push(&rest, value);
    while (rest.count > 0) {
        const struct value one = vec_pop(&rest);
        if (value_kind(one) == VALUE_LINK) {
            const struct doc_link link = doc_link_of(one);
            if (value_is_string(link.id) && value_is_absent(link.space)) {
                look_at(looking, link.id);
            }
        } else if (value_is_array(one)) {
            struct array_iter iter = array_iter(one);
            struct value item;
            while (array_next(&iter, &item)) {
                vec_push(&rest, item);
            }
        } else if (value_is_object(one)) {
            struct object_iter iter = object_iter(one);
            struct value key;
            struct value item;
            while (object_next(&iter, &key, &item)) {
                vec_push(&rest, item);
            }
        }
    }
    vec_release(&rest);
}

static enum err look_at_results(struct offline_graph *graph,
                                node_list stack[2],
                                struct err_detail *detail)
{
    struct looking looking = {.graph = graph, .stack = stack};
    enum err err = ERR_OK;
    VEC_FOREACH (&graph->pieces, piece) {
        if ((*piece)->looked_at) {
            const struct value id =
                piece_document_id((*piece)->name, VALUE_NONE);
            look_at(&looking, id);
            value_unref(id);
        }
    }
    for (size_t i = 0; err == ERR_OK && i < looking.ids.count; i++) {
        struct value value = VALUE_NONE;
        err = read_field(graph, *looking.ids.at[i], "value", &value, detail);
        look_for_links(&looking, value);
        value_unref(value);
    }
    VEC_FOREACH (&looking.ids, id) {
        value_unref(**id);
        mem_free(*id, sizeof **id);
    }
    vec_release(&looking.ids);
    map_release(&looking.seen);
    return err;
}

static enum err derive(struct offline_graph *graph, struct err_detail *detail)
{
    node_list stack[2] = {0}; /* for wanted, and for live */
    VEC_FOREACH (&graph->pieces, piece) {
        VEC_FOREACH (&(*piece)->nodes, node) {
            index_node(graph, node);
        }
    }
    const enum err err = look_at_results(graph, stack, detail);
    for (unsigned live = 0; live < 2; live++) {
        VEC_FOREACH (&graph->pieces, piece) {
            VEC_FOREACH (&(*piece)->nodes, node) {
                if (value_is_text(node->kind, "effect") &&
                    mark(node, live == 1)) {
                    vec_push(&stack[live], node);
                }
            }
        }
        mark_from(graph, &stack[live], live == 1);
        vec_release(&stack[live]);
    }
    return err;
}

/* -- All of it ----------------------------------------------------------- */

static enum err open_engine(struct offline_graph *graph,
                            const char *folder,
                            const char *space,
                            struct err_detail *detail)
{
    struct buf path = {0};
    data_dir_path(folder, space, &path);
    const struct engine_options options = {
        .path = buf_text(&path),
        .read_only = true,
    };
    const enum err err = engine_open(&graph->engine, &options, detail);
    buf_release(&path);
    return err == ERR_OK ? ERR_OK : data_dir_explain(folder, space, detail);
}

static enum err take(struct offline_graph *graph, struct err_detail *detail)
{
    const enum err err = add_pieces(graph, detail);
    return err == ERR_OK ? derive(graph, detail) : err;
}

enum err offline_graph_open(const char *folder,
                            const char *space,
                            const char *branch,
                            struct offline_graph **out,
                            struct err_detail *detail)
{
    *out = NULL;
    enum err err = data_dir_open(folder, DATA_DIR_READ_ONLY, detail);
    if (err == ERR_OK) {
        err = data_dir_find(folder, space, DATA_DIR_READ_ONLY, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    struct offline_graph *graph = mem_alloc_zero(sizeof *graph);
    err = open_engine(graph, folder, space, detail);
    if (err != ERR_OK) {
        mem_free(graph, sizeof *graph);
        return err;
    }
    graph->space = value_text_new(space);
    graph->branch = value_text_new(branch != NULL ? branch : "");
    graph->present = presence_list(folder);
    err = engine_read_begin(&graph->engine, detail);
    graph->reading = err == ERR_OK;
    if (err == ERR_OK && engine_branch(&graph->engine, graph->branch) == NULL) {
        err = engine_unknown_branch(graph->branch, detail);
    }
    if (err == ERR_OK) {
        err = take(graph, detail);
    }
    if (err != ERR_OK) {
        offline_graph_close(graph);
        return err;
    }
    *out = graph;
    return ERR_OK;
}

void offline_graph_close(struct offline_graph *graph)
{
    VEC_FOREACH (&graph->pieces, piece) {
        piece_free(*piece);
    }
    vec_release(&graph->pieces);
    map_release(&graph->names);
    for (size_t i = 0; i < map_capacity(&graph->documents); i++) {
        struct offline_document *document = graph->documents.slots[i].item;
        if (document != NULL) {
            vec_release(&document->outputs);
            mem_free(document, sizeof *document);
        }
    }
    map_release(&graph->documents);
    map_release(&graph->landed);
    value_unref(graph->present);
    value_unref(graph->space);
    value_unref(graph->branch);
    if (graph->reading) {
        engine_read_end(&graph->engine);
    }
    engine_close(&graph->engine);
    mem_free(graph, sizeof *graph);
}

struct offline_piece *offline_piece(const struct offline_graph *graph,
                                    const char *name)
{
    const struct value text = value_text_new(name);
    struct offline_piece *piece = offline_piece_named(graph, text);
    value_unref(text);
    return piece;
}

struct offline_node *offline_node(const struct offline_piece *piece,
                                  const char *name)
{
    VEC_FOREACH (&piece->nodes, node) {
        if (value_is_text(node->name, name)) {
            return node;
        }
    }
    return NULL;
}

struct value offline_node_scope(const struct offline_node *node)
{
    return node->run == NULL || value_is_text(node->run->scope_key, "space")
               ? VALUE_NONE
               : node->run->scope_key;
}

/* The user for whom it has run, new; or absent. */
static struct value user_of(const struct offline_node *node)
{
    enum scope scope = SCOPE_SPACE;
    struct identity identity = {0};
    const struct value key = offline_node_scope(node);
    if (value_is_absent(key) ||
        scope_key_read(key, &scope, &identity, NULL) != ERR_OK) {
        return VALUE_NONE;
    }
    value_unref(identity.session);
    return identity.principal;
}

bool offline_is_shared(const struct offline_node *reader,
                       const struct offline_node *writer)
{
    if (value_is_absent(offline_node_scope(reader)) ||
        value_is_absent(offline_node_scope(writer))) {
        return true;
    }
    const struct value one = user_of(reader);
    const struct value other = user_of(writer);
    const bool shared = key_equal(one, other);
    value_unref(one);
    value_unref(other);
    return shared;
}

/* Whether it has run for the user, or a session of that user. */
static bool is_of_user(const struct offline_node *node, const char *user)
{
    const struct value own = user_of(node);
    const bool is = value_is_text(own, user);
    value_unref(own);
    return is;
}

struct offline_node *offline_node_of_user(const struct offline_piece *piece,
                                          const char *name,
                                          const char *user)
{
    struct offline_node *shared = NULL;
    VEC_FOREACH (&piece->nodes, node) {
        if (value_is_text(node->name, name) && is_of_user(node, user)) {
            return node;
        }
        if (value_is_text(node->name, name) &&
            value_is_absent(offline_node_scope(node))) {
            shared = node;
        }
    }
    return shared;
}

/* What a task in that state waits for; NULL: for nothing. */
static const char *awaited_by(const struct offline_node *node,
                              struct value state)
{
    return value_is_text(state, "idle")       ? "inputs"
           : !value_is_text(state, "running") ? NULL
           : node->piece->started             ? "outcome"
                                              : "process";
}

struct value offline_task(struct offline_graph *graph,
                          const struct offline_node *node)
{
    static const char *const fields[] = {"state", "attempts", "error"};
    struct value output = VALUE_NONE;
    struct err_detail ignored = {0};
    if (!value_is_text(node->kind, "task")) {
        return VALUE_NONE;
    }
    const struct value scope_key = value_is_absent(offline_node_scope(node))
                                       ? value_text_new("space")
                                       : value_ref(offline_node_scope(node));
    const struct value id = piece_document_id(node->piece->name, node->name);
    (void)read_instance(graph, scope_key, id, "value", &output, &ignored);
    struct value task = value_empty_object();
    for (size_t i = 0; value_is_object(output) && i < COUNT_OF(fields); i++) {
        const struct value field = object_field(output, fields[i]);
        if (!value_is_absent(field)) {
            object_put_adopt(&task, fields[i], value_ref(field));
        }
    }
    const char *awaited = awaited_by(node, object_field(task, "state"));
    if (awaited != NULL) {
        object_put_text(&task, "waitsFor", awaited);
    }
    value_unref(output);
    value_unref(id);
    value_unref(scope_key);
    return task;
}

bool offline_has_runs(const struct offline_node *node)
{
    return !value_is_text(node->kind, "handler");
}

const char *offline_status(const struct offline_node *node)
{
    return node->run != NULL ? resume_state_name(node->run->state)
                             : "never-ran";
}
