/* The static part of a page from the rows: actions, their edges, and the places
 * that the edges name, each once. Three parallel scans; no JSON is parsed, and
 * only the id of a place is allocated per row. observations_resume.c adds the
 * runs. */

#include "base/mem.h"
#include "store/observed_page.h"
#include "value/compare.h"

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

void number_table_reserve(struct number_table *table, size_t count)
{
    size_t capacity = 64;
    while (capacity / 2 <= count) {
        capacity *= 2;
    }
    if (capacity > table->capacity) {
        table_grow(table, capacity);
    }
}

void number_table_clear(struct number_table *table)
{
    if (table->count > 0) {
        memset(table->slots,
               0,
               mem_array_size(table->capacity, sizeof *table->slots));
        table->count = 0;
    }
}

void number_table_release(struct number_table *table)
{
    mem_free(table->slots,
             mem_array_size(table->capacity, sizeof *table->slots));
    *table = (struct number_table){0};
}

/* -- Actions ------------------------------------------------------------- */

bool page_builder_own_scope(const struct page_builder *page_builder,
                            struct text key,
                            enum scope *out)
{
    for (unsigned i = 0; i < SCOPES; i++) {
        if (!value_is_absent(page_builder->scope_keys[i]) &&
            same_text(key, value_text(&page_builder->scope_keys[i]))) {
            *out = (enum scope)i;
            return true;
        }
    }
    return false;
}

/* The index of a fingerprint among the page's codes: there are few, and
 * consecutive rows often have the same. RESUME_NONE if there is none. */
static enum err find_code(struct page_builder *page_builder,
                          uint64_t number,
                          uint32_t *out)
{
    size_t at = page_builder->last_code;
    if (at >= page_builder->code_numbers.count ||
        page_builder->code_numbers.at[at] != number) {
        for (at = 0; at < page_builder->code_numbers.count; at++) {
            if (page_builder->code_numbers.at[at] == number) {
                break;
            }
        }
    }
    if (at == page_builder->code_numbers.count) {
        struct resume_code code;
        bool found = false;
        const enum err err = observed_fingerprint_get(page_builder->engine,
                                                      number,
                                                      &code,
                                                      &found,
                                                      page_builder->detail);
        if (err != ERR_OK || !found) {
            *out = RESUME_NONE;
            return err;
        }
        vec_push(&page_builder->code_numbers, number);
        vec_push(&page_builder->codes,
                 (uint32_t)page_builder->page->codes.count);
        vec_push(&page_builder->page->codes, code);
    }
    page_builder->last_code = at;
    *out = page_builder->codes.at[at];
    return ERR_OK;
}

static bool read_gates(struct page_builder *page_builder,
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
    action->gates = (uint32_t)page_builder->page->gates.count;
    vec_push(&page_builder->page->gates, *gates);
    return true;
}

/* One row, of this piece's generation and this author. */
static enum err read_action(struct page_builder *page_builder,
                            struct query *query,
                            uint64_t generation,
                            struct text scope_key,
                            struct resume_action *action)
{
    struct observed_action row = {
        .number = action->number,
        .piece = page_builder->piece,
        .generation = generation,
        .fingerprint = query_get_int(query, 5),
    };
    const uint64_t kind = query_get_int(query, 4);
    bool whole = observed_bytes(query, 2, &row.name, sizeof row.name) &&
                 observed_bytes(query, 6, &row.sets, sizeof row.sets) &&
                 kind <= ACTION_HANDLER;
    row.kind = whole ? (enum action_kind)kind : ACTION_COMPUTATION;
    whole = read_gates(page_builder,
                       query_get_text(query, 7),
                       action,
                       &row.gates) &&
            whole;
    const enum err err =
        find_code(page_builder, row.fingerprint, &action->code);
    whole = whole && action->code != RESUME_NONE;
    action->action = row.name;
    action->kind = (uint8_t)row.kind;
    action->surface = row.sets.surface;
    action->read_set = row.sets.read_set;
    action->state = whole ? RESUME_CLEAN : RESUME_UNKNOWN;
    const struct resume_sums sums = {
        .stored = query_get_int(query, 8),
        .row = observed_row_sum(&row, scope_key),
    };
    vec_push(&page_builder->sums, sums);
    return err;
}

static enum err scan_actions(struct page_builder *page_builder,
                             uint64_t after,
                             uint64_t last)
{
    struct query query =
        query_begin(&page_builder->engine->database, STATEMENT_ACTION_ROWS);
    query_int(&query, 1, page_builder->piece);
    query_int(&query, 2, after);
    query_int(&query, 3, last);
    enum err err = ERR_OK;
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
        if (page_builder->page->actions.count == page_builder->limit) {
            page_builder->page->more = true;
            break;
        }
        if (!page_builder->all && generation != page_builder->generation) {
            continue;
        }
        if (page_builder->all ||
            page_builder_own_scope(page_builder, scope_key, &scope)) {
            action.scope = (uint8_t)scope;
            err = read_action(page_builder,
                              &query,
                              generation,
                              scope_key,
                              &action);
            vec_push(&page_builder->page->actions, action);
        } else {
            page_builder->others++;
        }
    }
    const enum err ended = query_end(&query, page_builder->detail);
    return err != ERR_OK ? err : ended;
}

/* -- Edges --------------------------------------------------------------- */

/* The index of a place in the page. */
static uint32_t find_place(struct page_builder *page_builder, uint64_t number)
{
    struct number_slot *slot =
        number_table_slot(&page_builder->numbers, number);
    if (slot->number == 0) {
        *slot = (struct number_slot){
            number,
            (uint32_t)page_builder->place_numbers.count,
        };
        page_builder->numbers.count++;
        vec_push(&page_builder->place_numbers, number);
    }
    return (uint32_t)page_builder->first_place + slot->index;
}

/* Both scans are in the order of actions. */
static enum err scan_edges(struct page_builder *page_builder,
                           uint64_t after,
                           uint64_t last)
{
    struct resume_page *page = page_builder->page;
    const size_t count = page->actions.count;
    struct query query =
        query_begin(&page_builder->engine->database, STATEMENT_EDGE_ROWS);
    query_int(&query, 1, page_builder->piece);
    query_int(&query, 2, after);
    query_int(&query, 3, last);
    size_t at = page_builder->first_action;
    vec_make_room(&page->indexes, page->indexes.count + (count - at) * 2);
    number_table_reserve(&page_builder->numbers, count - at);
    page->actions.at[at].places = (uint32_t)page->indexes.count;
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
            const uint32_t place = find_place(page_builder, edge / PLACE_KINDS);
            vec_push(&page->indexes,
                     place * PLACE_KINDS + (uint32_t)(edge % PLACE_KINDS));
            page->actions.at[at].place_count++;
        }
    }
    return query_end(&query, page_builder->detail);
}

/* -- Places -------------------------------------------------------------- */

static bool read_path(struct page_builder *page_builder,
                      struct text text,
                      struct path **out)
{
    const struct text last = {buf_text(&page_builder->last_path),
                              page_builder->last_path.length};
    if (page_builder->path == NULL || !same_text(text, last)) {
        path_unref(page_builder->path);
        page_builder->path = NULL;
        if (path_read_stored(&page_builder->engine->paths,
                             text.at,
                             text.length,
                             &page_builder->path,
                             NULL) != ERR_OK) {
            return false;
        }
        buf_clear(&page_builder->last_path);
        buf_append(&page_builder->last_path, text.at, text.length);
    }
    *out = path_ref(page_builder->path);
    return true;
}

/* A row of the table of places, which the page may need. */
static void read_place(struct page_builder *page_builder, struct query *query)
{
    struct number_slot *slot =
        number_table_slot(&page_builder->numbers, query_get_int(query, 4));
    if (slot->number == 0) {
        return; /* another piece's */
    }
    const struct text space = query_get_text(query, 0);
    const struct text scope = query_get_text(query, 1);
    const struct text id = query_get_text(query, 2);
    const struct text path = query_get_text(query, 3);
    struct resume_place *place =
        &page_builder->page->places.at[page_builder->first_place + slot->index];
    enum scope own = SCOPE_SPACE;
    bool valid = page_builder_own_scope(page_builder, scope, &own);
    if (page_builder->all) {
        struct identity identity = {VALUE_NONE, VALUE_NONE};
        struct value key = value_string_new(scope.at, scope.length);
        valid = scope_key_read(key, &own, &identity, NULL) == ERR_OK;
        value_unref(identity.principal);
        value_unref(identity.session);
        value_unref(key);
    }
    if (!valid || !read_path(page_builder, path, &place->path)) {
        return;
    }
    place->target.scope = own;
    place->target.id = value_string_new(id.at, id.length);
    place->space = space.length > 0 ? value_string_new(space.at, space.length)
                                    : VALUE_NONE;
    page_builder->place_sums.at[slot->index] =
        observed_address_sum(space, scope, id, path);
}

static enum err get_places(struct page_builder *page_builder)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < page_builder->place_numbers.count;
         i++) {
        struct query query =
            query_begin(&page_builder->engine->database, STATEMENT_PLACE_GET);
        query_int(&query, 1, page_builder->place_numbers.at[i]);
        if (query_step(&query)) {
            read_place(page_builder, &query);
        }
        err = query_end(&query, page_builder->detail);
    }
    return err;
}

/* The places of a piece were mostly created together, so they are adjacent. */
static enum err scan_places(struct page_builder *page_builder)
{
    const size_t count = page_builder->place_numbers.count;
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = page_builder->place_numbers.at[i];
        first = number < first ? number : first;
        last = number > last ? number : last;
    }
    vec_make_room(&page_builder->page->places,
                  page_builder->first_place + count);
    vec_make_room(&page_builder->place_sums, count);
    for (size_t i = 0; i < count; i++) {
        const struct resume_place empty = {0};
        vec_push(&page_builder->page->places, empty);
        vec_push(&page_builder->place_sums, 0);
    }
    if (count == 0) {
        return ERR_OK;
    }
    if ((last - first) / 4 > count) {
        return get_places(page_builder);
    }
    struct query query =
        query_begin(&page_builder->engine->database, STATEMENT_PLACE_RANGE);
    query_int(&query, 1, first);
    query_int(&query, 2, last);
    uint64_t next = first;
    while (query_step(&query)) {
        const uint64_t number = query_get_int(&query, 4);
        if (!query_expects(&query, number >= next)) {
            break;
        }
        next = number + 1;
        read_place(page_builder, &query);
    }
    return query_end(&query, page_builder->detail);
}

/* Whether the rows of each action are consistent (observed.h). */
static void compare_sums(struct page_builder *page_builder)
{
    const struct resume_page *page = page_builder->page;
    for (size_t i = 0; i < page_builder->sums.count; i++) {
        struct resume_action *action =
            &page->actions.at[page_builder->first_action + i];
        const struct resume_sums *sums = &page_builder->sums.at[i];
        uint64_t edges = 0;
        bool whole = true;
        for (uint32_t j = 0; j < action->place_count; j++) {
            const uint32_t index = page->indexes.at[action->places + j];
            const size_t place =
                resume_index_place(index) - page_builder->first_place;
            const uint64_t edge =
                page_builder->place_numbers.at[place] * PLACE_KINDS +
                (uint64_t)resume_index_kind(index);
            whole = whole && page_builder->place_sums.at[place] != 0;
            edges +=
                observed_edge_sum(edge, page_builder->place_sums.at[place]);
        }
        if (!whole || sums->stored != observed_action_sum(sums->row, edges)) {
            action->state = RESUME_UNKNOWN;
        }
    }
}

/* -- The whole range ----------------------------------------------------- */

enum err page_builder_add_rows(struct page_builder *page_builder,
                               uint64_t after,
                               uint64_t last)
{
    page_builder->first_action = page_builder->page->actions.count;
    page_builder->first_place = page_builder->page->places.count;
    page_builder->others = 0;
    number_table_clear(&page_builder->numbers);
    vec_clear(&page_builder->place_numbers);
    vec_clear(&page_builder->place_sums);
    vec_clear(&page_builder->sums);
    enum err err = scan_actions(page_builder, after, last);
    if (err != ERR_OK ||
        page_builder->page->actions.count == page_builder->first_action) {
        return err;
    }
    err = scan_edges(page_builder, after, last);
    if (err == ERR_OK) {
        err = scan_places(page_builder);
    }
    if (err == ERR_OK) {
        compare_sums(page_builder);
    }
    return err;
}

void page_builder_release(struct page_builder *page_builder)
{
    for (unsigned i = 0; i < SCOPES; i++) {
        value_unref(page_builder->scope_keys[i]);
    }
    number_table_release(&page_builder->numbers);
    vec_release(&page_builder->place_numbers);
    vec_release(&page_builder->place_sums);
    vec_release(&page_builder->sums);
    vec_release(&page_builder->code_numbers);
    vec_release(&page_builder->codes);
    buf_release(&page_builder->last_path);
    path_unref(page_builder->path);
}
