/* Pages of a piece's actions, and which of them are dirty.
 *
 * A page is three scans that run side by side: actions with their runs, edges,
 * and the places that the edges name, each once. No JSON is read and nothing
 * is allocated a row but the id of a place. Then, if anything has landed since
 * the lowest watermark, one pass over what was written says which places have
 * changed, and each action is compared with its own watermark. */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/conflict.h"
#include "store/observed.h"
#include "store/observed_page.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    SCOPES = SCOPE_SESSION + 1,
    SCAN_COMMITS = 8,   /* a commit costs as much as so many documents, */
    SCAN_DOCUMENTS = 8, /* and looking one up likewise */
};

/* A page being made. */
struct maker {
    struct engine *engine;
    struct branch *branch;
    struct resume_page *page;
    uint64_t piece;
    uint64_t generation;
    uint64_t after;
    uint32_t limit;
    bool all; /* for the check: everybody's, of every generation */
    struct err_detail *detail;
    struct value scope_keys[SCOPES]; /* absent: not for this one; owned */
    struct number_table numbers;     /* of places, to their indexes */
    VEC(uint64_t) place_numbers;
    VEC(uint64_t) place_sums; /* 0: there is no such place, or it is damaged */
    VEC(struct resume_sums) sums; /* one an action */
    VEC(uint64_t) code_numbers;   /* of the page's codes */
    size_t last_code;             /* where one was found the last time */
    struct buf last_path;
    struct path *path; /* that it is, a reference */
};

/* -- A table of numbers -------------------------------------------------- */

static size_t table_home(const struct number_table *table, uint64_t number)
{
    return (size_t)(observed_mix(number) & (table->capacity - 1));
}

static void table_grow(struct number_table *table, size_t capacity)
{
    const struct number_table old = *table;
    table->capacity = capacity;
    table->slots =
        mem_alloc_zero(mem_array_size(table->capacity, sizeof *table->slots));
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i].number != 0) {
            size_t at = table_home(table, old.slots[i].number);
            while (table->slots[at].number != 0) {
                at = (at + 1) & (table->capacity - 1);
            }
            table->slots[at] = old.slots[i];
        }
    }
    mem_free(old.slots, mem_array_size(old.capacity, sizeof *old.slots));
}

struct number_slot *number_table_slot(struct number_table *table,
                                      uint64_t number)
{
    if (table->count * 2 >= table->capacity) {
        table_grow(table, table->capacity > 0 ? table->capacity * 2 : 64);
    }
    size_t at = table_home(table, number);
    while (table->slots[at].number != 0 && table->slots[at].number != number) {
        at = (at + 1) & (table->capacity - 1);
    }
    return &table->slots[at];
}

/* Room for that many, so that nothing moves. */
static void table_reserve(struct number_table *table, size_t count)
{
    size_t capacity = 64;
    while (capacity / 2 <= count) {
        capacity *= 2;
    }
    if (capacity > table->capacity) {
        table_grow(table, capacity);
    }
}

void number_table_release(struct number_table *table)
{
    mem_free(table->slots,
             mem_array_size(table->capacity, sizeof *table->slots));
    *table = (struct number_table){0};
}

/* -- Actions ------------------------------------------------------------- */

static bool same_text(struct text a, struct text b)
{
    return a.length == b.length &&
           (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

/* The scope of a key that is this one's; false for anybody else's. */
static bool own_scope(const struct maker *maker,
                      struct text key,
                      enum scope *out)
{
    for (unsigned i = 0; i < SCOPES; i++) {
        if (!value_is_absent(maker->scope_keys[i]) &&
            same_text(key, value_text(&maker->scope_keys[i]))) {
            *out = (enum scope)i;
            return true;
        }
    }
    return false;
}

/* The index of a fingerprint among the page's codes: there are few, and rows
 * that follow each other often have the same. RESUME_NONE if there is none. */
static enum err find_code(struct maker *maker, uint64_t number, uint32_t *out)
{
    size_t at = maker->last_code;
    if (at >= maker->code_numbers.count ||
        maker->code_numbers.at[at] != number) {
        for (at = 0; at < maker->code_numbers.count; at++) {
            if (maker->code_numbers.at[at] == number) {
                break;
            }
        }
    }
    if (at == maker->code_numbers.count) {
        struct resume_code code;
        bool found = false;
        const enum err err = observed_fingerprint_get(maker->engine,
                                                      number,
                                                      &code,
                                                      &found,
                                                      maker->detail);
        if (err != ERR_OK || !found) {
            *out = RESUME_NONE;
            return err;
        }
        vec_push(&maker->code_numbers, number);
        vec_push(&maker->page->codes, code);
    }
    maker->last_code = at;
    *out = (uint32_t)at;
    return ERR_OK;
}

/* The columns of the run. */
static bool read_run(struct maker *maker,
                     struct query *query,
                     struct resume_action *action)
{
    struct resume_page *page = maker->page;
    const struct text error = query_get_text(query, 11);
    const struct text elsewhere = query_get_text(query, 12);
    action->watermark = query_get_int(query, 9);
    action->spaces = (uint32_t)page->elsewhere.count;
    if (query_get_int(query, 10) != observed_run_mark(action->number,
                                                      action->watermark,
                                                      error,
                                                      elsewhere) ||
        action->watermark > maker->engine->seq ||
        (action->watermark == 0 && query_is_null(query, 9))) {
        return false;
    }
    if (error.length > 0) {
        struct digest digest;
        if (!observed_bytes(query, 11, &digest, sizeof digest)) {
            return false;
        }
        action->error = (uint32_t)page->errors.count;
        vec_push(&page->errors, digest);
    }
    return elsewhere.length == 0 ||
           observed_elsewhere_read(elsewhere, page, action);
}

static bool read_gates(struct maker *maker,
                       struct text text,
                       struct resume_action *action,
                       struct gate_config *gates)
{
    if (text.length == 0) {
        return true;
    }
    if (!observed_gates_read(text, gates)) {
        return false;
    }
    action->gates = (uint32_t)maker->page->gates.count;
    vec_push(&maker->page->gates, *gates);
    return true;
}

/* One row; it is of this piece's generation, and this one's. */
static enum err read_action(struct maker *maker,
                            struct query *query,
                            uint64_t generation,
                            struct text scope_key,
                            struct resume_action *action)
{
    struct observed_action row = {
        .number = action->number,
        .piece = maker->piece,
        .generation = generation,
        .fingerprint = query_get_int(query, 5),
    };
    const uint64_t kind = query_get_int(query, 4);
    bool whole = observed_bytes(query, 2, &row.name, sizeof row.name) &&
                 observed_bytes(query, 6, &row.sets, sizeof row.sets) &&
                 kind <= ACTION_HANDLER;
    row.kind = whole ? (enum action_kind)kind : ACTION_COMPUTATION;
    whole = read_gates(maker, query_get_text(query, 7), action, &row.gates) &&
            whole;
    const enum err err = find_code(maker, row.fingerprint, &action->code);
    whole = whole && action->code != RESUME_NONE;
    action->action = row.name;
    action->kind = (uint8_t)row.kind;
    action->surface = row.sets.surface;
    action->read_set = row.sets.read_set;
    whole = read_run(maker, query, action) && whole;
    action->state = whole ? RESUME_CLEAN : RESUME_UNKNOWN;
    const struct resume_sums sums = {
        .stored = query_get_int(query, 8),
        .row = observed_row_sum(&row, scope_key),
    };
    vec_push(&maker->sums, sums);
    return err;
}

/* Room for all actions that there can be, so that nothing moves; what is not
 * used of it is never touched. */
static enum err reserve_actions(struct maker *maker)
{
    struct query query =
        query_begin(&maker->engine->database, STATEMENT_ACTION_BOUNDS);
    query_int(&query, 1, maker->piece);
    query_int(&query, 2, maker->after);
    if (query_step(&query) && !query_is_null(&query, 0)) {
        const uint64_t first = query_get_int(&query, 0);
        const uint64_t last = query_get_int(&query, 1);
        const uint64_t most = last >= first ? last - first + 1 : 0;
        const size_t count = most < maker->limit ? (size_t)most : maker->limit;
        vec_make_room(&maker->page->actions, count);
        vec_make_room(&maker->sums, count);
    }
    return query_end(&query, maker->detail);
}

static enum err scan_actions(struct maker *maker)
{
    struct query query =
        query_begin(&maker->engine->database, STATEMENT_ACTION_PAGE);
    query_int(&query, 1, maker->piece);
    query_int(&query, 2, maker->after);
    enum err err = reserve_actions(maker);
    while (err == ERR_OK && query_step(&query)) {
        struct resume_action action = {
            .number = query_get_int(&query, 0),
            .code = RESUME_NONE,
            .gates = RESUME_NONE,
            .error = RESUME_NONE,
        };
        enum scope scope = SCOPE_SPACE;
        const uint64_t generation = query_get_int(&query, 1);
        const struct text scope_key = query_get_text(&query, 3);
        if (maker->page->actions.count == maker->limit) {
            maker->page->more = true;
            break;
        }
        if (maker->all || (generation == maker->generation &&
                           own_scope(maker, scope_key, &scope))) {
            action.scope = (uint8_t)scope;
            err = read_action(maker, &query, generation, scope_key, &action);
            vec_push(&maker->page->actions, action);
        }
    }
    const enum err ended = query_end(&query, maker->detail);
    return err != ERR_OK ? err : ended;
}

/* -- Edges --------------------------------------------------------------- */

static uint32_t find_place(struct maker *maker, uint64_t number)
{
    struct number_slot *slot = number_table_slot(&maker->numbers, number);
    if (slot->number == 0) {
        *slot = (struct number_slot){
            number,
            (uint32_t)maker->place_numbers.count,
        };
        maker->numbers.count++;
        vec_push(&maker->place_numbers, number);
    }
    return slot->index;
}

/* Both scans are in the order of actions. */
static enum err scan_edges(struct maker *maker)
{
    struct resume_page *page = maker->page;
    const size_t count = page->actions.count;
    struct query query =
        query_begin(&maker->engine->database, STATEMENT_EDGE_OF_PIECE);
    query_int(&query, 1, maker->piece);
    query_int(&query, 2, maker->after);
    size_t at = 0;
    vec_make_room(&page->indexes, count * 2);
    table_reserve(&maker->numbers, count);
    while (at < count && query_step(&query)) {
        const uint64_t number = query_get_int(&query, 0);
        while (at < count && page->actions.at[at].number < number) {
            at++;
            if (at < count) {
                page->actions.at[at].places = (uint32_t)page->indexes.count;
            }
        }
        if (at < count && page->actions.at[at].number == number) {
            const uint64_t edge = query_get_int(&query, 1);
            const uint32_t place = find_place(maker, edge / PLACE_KINDS);
            vec_push(&page->indexes,
                     place * PLACE_KINDS + (uint32_t)(edge % PLACE_KINDS));
            page->actions.at[at].place_count++;
        }
    }
    return query_end(&query, maker->detail);
}

/* -- Places -------------------------------------------------------------- */

static bool read_path(struct maker *maker, struct text text, struct path **out)
{
    const struct text last = {buf_text(&maker->last_path),
                              maker->last_path.length};
    if (maker->path == NULL || !same_text(text, last)) {
        path_unref(maker->path);
        maker->path = NULL;
        if (path_read(&maker->engine->paths,
                      text.at,
                      text.length,
                      &maker->path,
                      NULL) != ERR_OK) {
            return false;
        }
        buf_clear(&maker->last_path);
        buf_append(&maker->last_path, text.at, text.length);
    }
    *out = path_ref(maker->path);
    return true;
}

/* A row of the table of places, which somebody may have asked for. */
static void read_place(struct maker *maker, struct query *query)
{
    struct number_slot *slot =
        number_table_slot(&maker->numbers, query_get_int(query, 4));
    if (slot->number == 0) {
        return; /* another piece's */
    }
    const struct text space = query_get_text(query, 0);
    const struct text scope = query_get_text(query, 1);
    const struct text id = query_get_text(query, 2);
    const struct text path = query_get_text(query, 3);
    struct resume_place *place = &maker->page->places.at[slot->index];
    enum scope own = SCOPE_SPACE;
    bool valid = own_scope(maker, scope, &own);
    if (maker->all) {
        struct identity identity = {VALUE_NONE, VALUE_NONE};
        struct value key = value_string_new(scope.at, scope.length);
        valid = scope_key_read(key, &own, &identity, NULL) == ERR_OK;
        value_unref(identity.principal);
        value_unref(identity.session);
        value_unref(key);
    }
    if (!valid || !read_path(maker, path, &place->path)) {
        return;
    }
    place->target.scope = own;
    place->target.id = value_string_new(id.at, id.length);
    place->space = space.length > 0 ? value_string_new(space.at, space.length)
                                    : VALUE_NONE;
    maker->place_sums.at[slot->index] =
        observed_address_sum(space, scope, id, path);
}

static enum err get_places(struct maker *maker)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < maker->place_numbers.count; i++) {
        struct query query =
            query_begin(&maker->engine->database, STATEMENT_PLACE_GET);
        query_int(&query, 1, maker->place_numbers.at[i]);
        if (query_step(&query)) {
            read_place(maker, &query);
        }
        err = query_end(&query, maker->detail);
    }
    return err;
}

/* What a piece names was mostly named together, so it lies together. */
static enum err scan_places(struct maker *maker)
{
    const size_t count = maker->place_numbers.count;
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = maker->place_numbers.at[i];
        first = number < first ? number : first;
        last = number > last ? number : last;
    }
    vec_make_room(&maker->page->places, count);
    vec_make_room(&maker->place_sums, count);
    for (size_t i = 0; i < count; i++) {
        const struct resume_place empty = {0};
        vec_push(&maker->page->places, empty);
        vec_push(&maker->place_sums, 0);
    }
    if (count == 0) {
        return ERR_OK;
    }
    if ((last - first) / 4 > count) {
        return get_places(maker);
    }
    struct query query =
        query_begin(&maker->engine->database, STATEMENT_PLACE_RANGE);
    query_int(&query, 1, first);
    query_int(&query, 2, last);
    while (query_step(&query)) {
        read_place(maker, &query);
    }
    return query_end(&query, maker->detail);
}

/* Whether the rows of each action fit together (observed.h). */
static void compare_sums(struct maker *maker)
{
    const struct resume_page *page = maker->page;
    for (size_t i = 0; i < page->actions.count; i++) {
        struct resume_action *action = &page->actions.at[i];
        const struct resume_sums *sums = &maker->sums.at[i];
        uint64_t edges = 0;
        bool whole = true;
        for (uint32_t j = 0; j < action->place_count; j++) {
            const uint32_t index = page->indexes.at[action->places + j];
            const uint32_t place = resume_index_place(index);
            const uint64_t edge = maker->place_numbers.at[place] * PLACE_KINDS +
                                  (uint64_t)resume_index_kind(index);
            whole = whole && maker->place_sums.at[place] != 0;
            edges += observed_edge_sum(edge, maker->place_sums.at[place]);
        }
        if (!whole || sums->stored != observed_action_sum(sums->row, edges)) {
            action->state = RESUME_UNKNOWN;
        }
    }
}

/* -- What has changed ---------------------------------------------------- */

/* A document of this space that the page names. */
struct read_document {
    uint32_t first; /* place; the next ones are in `next` */
    uint64_t floor; /* the lowest watermark of those who read it; what is not
                       above it has been seen by all of them */
    bool candidate; /* something may have landed above it */
};

struct derivation {
    struct maker *maker;
    struct number_table hashes; /* of documents, to their indexes */
    VEC(struct read_document) at;
    uint32_t *next;     /* one a place: another of the same document, and 1 */
    uint32_t *document; /* one a place: its document, and 1 */
    uint64_t after;     /* the lowest watermark */
    uint32_t guess;     /* the document that is looked for next, mostly: who
                           lists them does so in the order of their making */
};

/* Where it is looked for first; the next numbers follow, until one is free. */
static uint64_t hash_name(enum scope scope, struct text id)
{
    return observed_text_sum((uint64_t)scope + 2, id) | 1;
}

static bool is_document(const struct derivation *derivation,
                        uint32_t index,
                        enum scope scope,
                        struct text id)
{
    if (index >= derivation->at.count) {
        return false;
    }
    const struct resume_page *page = derivation->maker->page;
    const struct target *target =
        &page->places.at[derivation->at.at[index].first].target;
    return target->scope == scope && same_text(value_text(&target->id), id);
}

/* The index of a document, or UINT32_MAX: the page does not name it, and then
 * `first` is its first place from now on, unless it is UINT32_MAX, too. */
static uint32_t find_document(struct derivation *derivation,
                              enum scope scope,
                              struct text id,
                              uint32_t first)
{
    for (uint64_t hash = hash_name(scope, id);; hash += 2) {
        struct number_slot *slot = number_table_slot(&derivation->hashes, hash);
        if (slot->number == 0 && first != UINT32_MAX) {
            *slot = (struct number_slot){hash, (uint32_t)derivation->at.count};
            derivation->hashes.count++;
            const struct read_document document = {first, UINT64_MAX, false};
            vec_push(&derivation->at, document);
        }
        if (slot->number == 0) {
            return UINT32_MAX;
        }
        if (is_document(derivation, slot->index, scope, id)) {
            return slot->index;
        }
    }
}

/* Every place of this space, by its document. */
static void index_documents(struct derivation *derivation)
{
    const struct resume_page *page = derivation->maker->page;
    vec_make_room(&derivation->at, page->places.count);
    table_reserve(&derivation->hashes, page->places.count);
    for (uint32_t i = 0; i < page->places.count; i++) {
        const struct resume_place *place = &page->places.at[i];
        if (place->path == NULL || !value_is_absent(place->space)) {
            continue;
        }
        const uint32_t document = find_document(derivation,
                                                place->target.scope,
                                                value_text(&place->target.id),
                                                i);
        const uint32_t first = derivation->at.at[document].first;
        if (first != i) {
            derivation->next[i] = derivation->next[first];
            derivation->next[first] = i + 1;
        }
        derivation->document[i] = document + 1;
    }
}

/* Who reads a document, and has seen least of it. */
static void set_floors(struct derivation *derivation)
{
    const struct resume_page *page = derivation->maker->page;
    VEC_FOREACH (&page->actions, action) {
        if (action->state != RESUME_CLEAN) {
            continue;
        }
        for (uint32_t j = 0; j < action->place_count; j++) {
            const uint32_t index = page->indexes.at[action->places + j];
            const uint32_t document =
                derivation->document[resume_index_place(index)];
            if (document == 0 || !place_is_read(resume_index_kind(index))) {
                continue;
            }
            uint64_t *floor = &derivation->at.at[document - 1].floor;
            *floor = action->watermark < *floor ? action->watermark : *floor;
        }
    }
}

/* A document of which something landed at `seq`. */
static void note_landed(struct derivation *derivation,
                        struct text scope_key,
                        struct text id,
                        uint64_t seq)
{
    enum scope scope = SCOPE_SPACE;
    if (!own_scope(derivation->maker, scope_key, &scope)) {
        return;
    }
    uint32_t index = derivation->guess;
    if (!is_document(derivation, index, scope, id)) {
        index = find_document(derivation, scope, id, UINT32_MAX);
    }
    if (index != UINT32_MAX) {
        struct read_document *document = &derivation->at.at[index];
        derivation->guess = index + 1;
        document->candidate = document->candidate || seq > document->floor;
    }
}

static void note_change(void *ctx, const struct engine_change *change)
{
    note_landed(ctx,
                value_text(&change->address.scope_key),
                value_text(&change->address.id),
                change->seq);
}

/* The last revision of every document, of whatever branch: the matcher knows
 * which of those are seen. */
static enum err scan_heads(struct derivation *derivation)
{
    struct maker *maker = derivation->maker;
    struct query query =
        query_begin(&maker->engine->database, STATEMENT_DOCUMENT_HEADS);
    query_int(&query, 1, derivation->after);
    while (query_step(&query)) {
        note_landed(derivation,
                    query_get_text(&query, 0),
                    query_get_text(&query, 1),
                    query_get_int(&query, 2));
    }
    return query_end(&query, maker->detail);
}

/* The number of the last one, which is no less than how many there are. */
static enum err last_document(struct maker *maker, uint64_t *out)
{
    struct query query =
        query_begin(&maker->engine->database, STATEMENT_DOCUMENT_LAST);
    *out = query_step(&query) ? query_get_int(&query, 0) : 0;
    return query_end(&query, maker->detail);
}

/* Which documents may have changed: from what was committed since; if that is
 * much, from the heads of all documents; if those are many more than the page
 * has, each of its own is looked up. */
static enum err find_candidates(struct derivation *derivation)
{
    struct maker *maker = derivation->maker;
    struct engine *engine = maker->engine;
    const size_t count = derivation->at.count;
    uint64_t all = 0;
    if ((engine->seq - derivation->after) * SCAN_COMMITS <= count) {
        return engine_changes(engine,
                              derivation->after,
                              engine->seq,
                              note_change,
                              derivation,
                              maker->detail);
    }
    const enum err err = last_document(maker, &all);
    if (err != ERR_OK) {
        return err;
    }
    if (all / SCAN_DOCUMENTS <= count) {
        return scan_heads(derivation);
    }
    VEC_FOREACH (&derivation->at, document) {
        document->candidate = document->floor < engine->seq;
    }
    return ERR_OK;
}

/* The newest change of each place of one document, by kind of read. */
static enum err derive_document(struct derivation *derivation,
                                const struct read_document *read)
{
    struct maker *maker = derivation->maker;
    struct document *document = NULL;
    const struct target *target = &maker->page->places.at[read->first].target;
    enum err err = document_find(maker->engine,
                                 maker->branch,
                                 maker->scope_keys[target->scope],
                                 target->id,
                                 &document,
                                 maker->detail);
    if (err != ERR_OK) {
        return err;
    }
    VEC(struct newest_change) reads = {0};
    VEC(uint32_t) places = {0};
    uint32_t next = read->first + 1;
    while (next != 0) {
        const uint32_t place = next - 1;
        for (unsigned kind = READ_DEEP; kind <= READ_SHAPE; kind++) {
            const struct newest_change one = {
                .path = maker->page->places.at[place].path,
                .kind = (enum read_kind)kind,
            };
            vec_push(&reads, one);
        }
        vec_push(&places, place);
        next = derivation->next[place];
    }
    err = conflict_newest(maker->engine,
                          document,
                          derivation->after,
                          reads.at,
                          reads.count,
                          maker->detail);
    for (size_t i = 0; err == ERR_OK && i < reads.count; i++) {
        maker->page->places.at[places.at[i / 2]].changed[i % 2] =
            reads.at[i].seq;
    }
    vec_release(&reads);
    vec_release(&places);
    return err;
}

/* Each action against its own watermark. */
static void judge_actions(const struct resume_page *page)
{
    for (size_t i = 0; i < page->actions.count; i++) {
        struct resume_action *action = &page->actions.at[i];
        if (action->state != RESUME_CLEAN) {
            continue;
        }
        for (uint32_t j = 0; j < action->place_count; j++) {
            const uint32_t index = page->indexes.at[action->places + j];
            const enum place_kind kind = resume_index_kind(index);
            if (place_is_read(kind) &&
                page->places.at[resume_index_place(index)].changed[kind] >
                    action->watermark) {
                action->state = RESUME_DIRTY;
            }
        }
        if (action->state == RESUME_CLEAN && action->error != RESUME_NONE) {
            action->state = RESUME_FAILED;
        }
    }
}

static enum err derive(struct maker *maker)
{
    struct resume_page *page = maker->page;
    struct derivation derivation = {.maker = maker,
                                    .after = maker->engine->seq};
    VEC_FOREACH (&page->actions, action) {
        if (action->state == RESUME_CLEAN &&
            action->watermark < derivation.after) {
            derivation.after = action->watermark;
        }
    }
    enum err err = ERR_OK;
    if (derivation.after < maker->engine->seq) {
        const size_t bytes =
            mem_array_size(page->places.count, 2 * sizeof *derivation.next);
        derivation.next = bytes > 0 ? mem_alloc_zero(bytes) : NULL;
        derivation.document =
            bytes > 0 ? derivation.next + page->places.count : NULL;
        index_documents(&derivation);
        set_floors(&derivation);
        err = find_candidates(&derivation);
        VEC_FOREACH (&derivation.at, document) {
            if (err == ERR_OK && document->candidate) {
                err = derive_document(&derivation, document);
            }
        }
        mem_free(derivation.next, bytes);
        number_table_release(&derivation.hashes);
        vec_release(&derivation.at);
    }
    judge_actions(page);
    return err;
}

/* -- All of it ----------------------------------------------------------- */

static void set_scope_keys(struct maker *maker, struct identity identity)
{
    for (unsigned i = 0; i < SCOPES; i++) {
        if (scope_key_new((enum scope)i,
                          identity,
                          &maker->scope_keys[i],
                          NULL) != ERR_OK) {
            maker->scope_keys[i] = VALUE_NONE;
        }
    }
}

static void maker_release(struct maker *maker)
{
    for (unsigned i = 0; i < SCOPES; i++) {
        value_unref(maker->scope_keys[i]);
    }
    number_table_release(&maker->numbers);
    vec_release(&maker->place_numbers);
    vec_release(&maker->place_sums);
    vec_release(&maker->sums);
    vec_release(&maker->code_numbers);
    buf_release(&maker->last_path);
    path_unref(maker->path);
}

static enum err make_page(struct maker *maker)
{
    enum err err = scan_actions(maker);
    if (err == ERR_OK) {
        err = scan_edges(maker);
    }
    if (err == ERR_OK) {
        err = scan_places(maker);
    }
    if (err == ERR_OK) {
        compare_sums(maker);
    }
    return err;
}

enum err resume_page_of_piece(struct engine *engine,
                              uint64_t piece,
                              uint64_t after,
                              struct resume_page *page,
                              struct err_detail *detail)
{
    struct maker maker = {
        .engine = engine,
        .page = page,
        .piece = piece,
        .after = after,
        .limit = CHECK_PAGE,
        .all = true,
        .detail = detail,
    };
    *page = (struct resume_page){.seq = engine->seq};
    const enum err err = make_page(&maker);
    maker_release(&maker);
    return err;
}

/* What a query is about. *found is false if there is nothing to list. */
static enum err find_piece(struct maker *maker,
                           const struct resume_query *query,
                           bool *found)
{
    struct observed_piece *piece = NULL;
    *found = false;
    maker->branch = engine_branch(maker->engine, query->branch);
    if (maker->branch == NULL) {
        return engine_unknown_branch(query->branch, maker->detail);
    }
    const enum err err = observed_piece_find(maker->engine,
                                             maker->branch,
                                             query->piece,
                                             &piece,
                                             maker->detail);
    if (err != ERR_OK || piece == NULL) {
        return err;
    }
    maker->page->generation = piece->generation;
    if (piece->generation == query->generation && maker->branch->active) {
        maker->piece = piece->number;
        set_scope_keys(maker, query->identity);
        *found = true;
    }
    return ERR_OK;
}

static enum err resume(struct engine *engine,
                       const struct resume_query *query,
                       struct resume_page *page,
                       struct err_detail *detail)
{
    struct maker maker = {
        .engine = engine,
        .page = page,
        .generation = query->generation,
        .after = query->after,
        .limit = query->limit > 0 && query->limit < RESUME_PAGE_MAX
                     ? query->limit
                     : RESUME_PAGE_MAX,
        .detail = detail,
    };
    bool found;
    enum err err = find_piece(&maker, query, &found);
    if (err == ERR_OK && found) {
        err = make_page(&maker);
        if (err == ERR_OK) {
            err = derive(&maker);
        }
    }
    maker_release(&maker);
    return err;
}

enum err resume_page_inside(struct engine *engine,
                            const struct resume_query *query,
                            struct resume_page *page,
                            struct err_detail *detail)
{
    *page = (struct resume_page){.seq = engine->seq};
    const enum err err = resume(engine, query, page, detail);
    if (err != ERR_OK) {
        resume_page_release(page);
    }
    return err;
}

static enum err count_actions(struct engine *engine,
                              const struct resume_query *query,
                              uint64_t *count,
                              struct err_detail *detail)
{
    struct resume_page page = {0};
    struct maker maker = {.engine = engine, .page = &page, .detail = detail};
    bool found;
    enum err err = find_piece(&maker, query, &found);
    if (err == ERR_OK && found) {
        struct query counting =
            query_begin(&engine->database, STATEMENT_ACTION_COUNT_LISTED);
        query_int(&counting, 1, maker.piece);
        query_int(&counting, 2, query->after);
        query_int(&counting, 3, query->generation);
        for (unsigned i = 0; i < SCOPES; i++) {
            if (!value_is_absent(maker.scope_keys[i])) {
                query_string(&counting, 4 + (int)i, maker.scope_keys[i]);
            } else {
                query_null(&counting, 4 + (int)i);
            }
        }
        *count = query_step(&counting) ? query_get_int(&counting, 0) : 0;
        err = query_end(&counting, detail);
    }
    maker_release(&maker);
    return err;
}

/* Whether the listing is still the one that it was. */
static enum err check_seq(const struct engine *engine,
                          const struct resume_query *query,
                          struct err_detail *detail)
{
    if (query->seq == 0 || query->seq == engine->seq) {
        return ERR_OK;
    }
    return err_set(detail,
                   ERR_LISTING_MOVED,
                   "the listing began at seq %llu, the head is now %llu",
                   (unsigned long long)query->seq,
                   (unsigned long long)engine->seq);
}

enum err engine_resume_count(struct engine *engine,
                             const struct resume_query *query,
                             uint64_t *count,
                             struct err_detail *detail)
{
    *count = 0;
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = check_seq(engine, query, detail);
    if (err == ERR_OK) {
        err = count_actions(engine, query, count, detail);
    }
    engine_read_end(engine);
    return err;
}

enum err engine_resume(struct engine *engine,
                       const struct resume_query *query,
                       struct resume_page *page,
                       struct err_detail *detail)
{
    *page = (struct resume_page){0};
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    page->seq = engine->seq;
    err = check_seq(engine, query, detail);
    if (err == ERR_OK) {
        err = resume(engine, query, page, detail);
    }
    engine_read_end(engine);
    if (err != ERR_OK) {
        resume_page_release(page);
    }
    return err;
}
