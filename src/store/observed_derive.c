/* Which actions of a page are dirty. If anything has landed above the lowest
 * watermark, one pass over what was written finds the places that have changed,
 * and each action is compared with its own watermark. */

#include "base/mem.h"
#include "store/conflict.h"
#include "store/observed_page.h"
#include "value/compare.h"

enum {
    SCAN_COMMITS = 8,   /* a commit costs as much as this many documents, */
    SCAN_DOCUMENTS = 8, /* and so does a lookup */
};

/* A document of this space that the page names. */
struct read_document {
    uint32_t first; /* place; the next ones are in `next` */
    uint64_t floor; /* the lowest watermark of its readers; all of them have
                       seen what is not above it */
    bool candidate; /* something may have landed above it */
};

struct derivation {
    struct page_builder *page_builder;
    struct number_table hashes; /* of documents, to their indexes */
    VEC(struct read_document) at;
    uint32_t *next;     /* one per place: 1 + another of the same document */
    uint32_t *document; /* one per place: 1 + its document */
    uint64_t after;     /* the lowest watermark */
    uint32_t guess;     /* the expected next document: listings are mostly in
                           the order of creation */
};

/* The first slot of the search; the following ones are tried until one is
 * free. */
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
    const struct resume_page *page = derivation->page_builder->page;
    const struct target *target =
        &page->places.at[derivation->at.at[index].first].target;
    return target->scope == scope && same_text(value_text(&target->id), id);
}

/* The index of a document, or UINT32_MAX: the page does not name it, and then
 * `first` becomes its first place, unless it is UINT32_MAX, too. */
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
    const struct resume_page *page = derivation->page_builder->page;
    vec_make_room(&derivation->at, page->places.count);
    number_table_reserve(&derivation->hashes, page->places.count);
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

/* Per document, the watermark of the reader that has seen least. */
static void set_floors(struct derivation *derivation)
{
    const struct resume_page *page = derivation->page_builder->page;
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
    if (!page_builder_own_scope(derivation->page_builder, scope_key, &scope)) {
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

/* The last revision of every document, on any branch: the matcher knows which
 * of those are visible. */
static enum err scan_heads(struct derivation *derivation)
{
    struct page_builder *page_builder = derivation->page_builder;
    struct query query =
        query_begin(&page_builder->engine->database, STATEMENT_DOCUMENT_HEADS);
    query_int(&query, 1, derivation->after);
    while (query_step(&query)) {
        note_landed(derivation,
                    query_get_text(&query, 0),
                    query_get_text(&query, 1),
                    query_get_int(&query, 2));
    }
    return query_end(&query, page_builder->detail);
}

/* The number of the last document, which is at least their count. */
static enum err last_document(struct page_builder *page_builder, uint64_t *out)
{
    struct query query =
        query_begin(&page_builder->engine->database, STATEMENT_DOCUMENT_LAST);
    *out = query_step(&query) ? query_get_int(&query, 0) : 0;
    return query_end(&query, page_builder->detail);
}

/* Which documents may have changed: from the commits since then; if those are
 * many, from the heads of all documents; if those are many more than the page
 * has, by looking up each of its own. */
static enum err find_candidates(struct derivation *derivation)
{
    struct page_builder *page_builder = derivation->page_builder;
    struct engine *engine = page_builder->engine;
    const size_t count = derivation->at.count;
    uint64_t all = 0;
    if ((engine->seq - derivation->after) * SCAN_COMMITS <= count) {
        return engine_changes(engine,
                              derivation->after,
                              engine->seq,
                              note_change,
                              derivation,
                              page_builder->detail);
    }
    const enum err err = last_document(page_builder, &all);
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
    struct page_builder *page_builder = derivation->page_builder;
    struct document *document = NULL;
    const struct target *target =
        &page_builder->page->places.at[read->first].target;
    enum err err = document_find(page_builder->engine,
                                 page_builder->branch,
                                 page_builder->scope_keys[target->scope],
                                 target->id,
                                 &document,
                                 page_builder->detail);
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
                .path = page_builder->page->places.at[place].path,
                .kind = (enum read_kind)kind,
            };
            vec_push(&reads, one);
        }
        page_builder->page->places.at[place].touched =
            document->head_seq > read->floor;
        vec_push(&places, place);
        next = derivation->next[place];
    }
    err = conflict_newest(page_builder->engine,
                          document,
                          derivation->after,
                          reads.at,
                          reads.count,
                          page_builder->detail);
    for (size_t i = 0; err == ERR_OK && i < reads.count; i++) {
        page_builder->page->places.at[places.at[i / 2]].changed[i % 2] =
            reads.at[i].seq;
    }
    vec_release(&reads);
    vec_release(&places);
    return err;
}

/* Compares each action with its own watermark. */
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

enum err page_builder_derive(struct page_builder *page_builder)
{
    struct resume_page *page = page_builder->page;
    struct derivation derivation = {.page_builder = page_builder,
                                    .after = page_builder->engine->seq};
    VEC_FOREACH (&page->actions, action) {
        if (action->state == RESUME_CLEAN &&
            action->watermark < derivation.after) {
            derivation.after = action->watermark;
        }
    }
    enum err err = ERR_OK;
    if (derivation.after < page_builder->engine->seq) {
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
