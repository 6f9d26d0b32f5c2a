/* Resuming a piece (sched/persistence.h, persistence-4 to persistence-7). */

#include <string.h>

#include "base/mem.h"
#include "replica/space.h"
#include "sched/fetching.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/persisted.h"
#include "sched/reader_mark.h"
#include "value/object.h"

/* -- The phase ----------------------------------------------------------- */

static bool is_row(const void *item, const void *key)
{
    const struct resume_action *action = item;
    return digest_equal(&action->action, key);
}

/* There may be one row per scope: the last run counts. */
static void add_row(struct resume *resume, struct resume_action *action)
{
    const uint64_t hash = digest_bits(&action->action);
    const struct resume_action *known =
        map_find(&resume->rows, hash, is_row, &action->action);
    if (known != NULL && (known->watermark < action->watermark ||
                          (known->watermark == action->watermark &&
                           known->scope < action->scope))) {
        (void)map_remove(&resume->rows, hash, is_row, &action->action);
        known = NULL;
    }
    if (known == NULL) {
        map_insert(&resume->rows, hash, action);
    }
}

static enum err check_pages(const struct resume_options *options,
                            struct err_detail *detail)
{
    for (size_t i = 0; i < options->page_count; i++) {
        const struct resume_page *page = options->pages[i];
        const bool last = i + 1 == options->page_count;
        if (page->seq != options->pages[0]->seq ||
            page->generation != options->pages[0]->generation ||
            page->more == last) {
            return err_set(detail,
                           ERR_LISTING_MOVED,
                           "page %zu of %zu does not continue the first one",
                           i + 1,
                           options->page_count);
        }
    }
    return ERR_OK;
}

enum err persistence_resume_begin(struct sched *sched,
                                  const struct resume_options *options,
                                  struct err_detail *detail)
{
    if (sched->persistence != NULL && sched->persistence->resume != NULL) {
        return err_set(detail, ERR_ARGUMENT, "a piece is being resumed");
    }
    const enum err err = check_pages(options, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct persistence *persistence = persistence_of(sched);
    struct resume *resume = mem_alloc_zero(sizeof *resume);
    persistence->resume = resume;
    sched->resuming = true;
    resume->options = *options;
    size_t count = 0;
    for (size_t i = 0; i < options->page_count; i++) {
        count += options->pages[i]->actions.count;
    }
    map_reserve(&resume->rows, count);
    map_reserve(&persistence->nodes, persistence->nodes.count + count);
    for (size_t i = 0; i < options->page_count; i++) {
        const struct resume_page *page = options->pages[i];
        const size_t size =
            mem_array_size(page->places.count, sizeof(struct place *));
        const struct resume_places places = {
            page->places.count > 0 ? mem_alloc_zero(size) : NULL,
            page->places.count,
        };
        vec_push(&resume->places, places);
        resume->seq = page->seq;
        VEC_FOREACH (&page->actions, action) {
            add_row(resume, action);
        }
    }
    return ERR_OK;
}

void resume_free(struct persistence *persistence)
{
    struct resume *resume = persistence->resume;
    if (resume == NULL) {
        return;
    }
    VEC_FOREACH (&resume->places, page) {
        for (size_t i = 0; i < page->count; i++) {
            if (page->at[i] != NULL) {
                place_unref(page->at[i]);
            }
        }
        mem_free(page->at, mem_array_size(page->count, sizeof *page->at));
    }
    vec_release(&resume->places);
    map_release(&resume->rows);
    mem_free(resume, sizeof *resume);
    persistence->resume = NULL;
}

struct resume_counts persistence_resume_end(struct sched *sched)
{
    CHECK(sched->persistence != NULL && sched->persistence->resume != NULL);
    const struct resume_counts counts = sched->persistence->resume->counts;
    resume_free(sched->persistence);
    sched->resuming = false;
    return counts;
}

/* -- One action ---------------------------------------------------------- */

/* A row, and what it is compared with. */
struct match {
    struct persistence *persistence;
    struct resume *resume;
    struct persisted *persisted;
    const struct resume_page *page;
    const struct resume_action *action;
    struct resume_places *places;
    bool dirty;
};

static bool is_match(const struct match *match)
{
    const struct persisted *persisted = match->persisted;
    const struct resume_action *action = match->action;
    if ((action->state != RESUME_CLEAN && action->state != RESUME_DIRTY) ||
        action->error != RESUME_NONE || action->kind != persisted->kind ||
        action->code >= match->page->codes.count ||
        match->page->generation != persisted->generation) {
        return false;
    }
    const struct resume_code *code = &match->page->codes.at[action->code];
    return persisted_is_code(persisted,
                             &code->implementation,
                             &code->runtime,
                             &code->schema);
}

/* Whether the place of the row is that one of this process. */
static bool is_place(const struct match *match,
                     const struct resume_place *place,
                     const struct place *here)
{
    const struct entity *entity = here->entity;
    const bool same_space = value_is_absent(place->space)
                                ? entity->space == match->persisted->space
                                : key_equal(place->space, entity->space->id);
    return same_space && place->target.scope == entity->scope &&
           place->path != NULL && place->path->length == here->path->length &&
           key_equal(place->target.id, entity->id) &&
           path_is_prefix(place->path, here->path);
}

/* Whether the outputs of the row are exactly the registered ones, one by one:
 * then the digests need not be compared. This also finds its places. */
static bool has_outputs(struct match *match, const struct node_spec *spec)
{
    const struct resume_action *action = match->action;
    size_t next = 0;
    for (uint32_t i = 0; i < action->place_count; i++) {
        const uint32_t index = match->page->indexes.at[action->places + i];
        if (place_is_read(resume_index_kind(index))) {
            continue;
        }
        const uint32_t at = resume_index_place(index);
        const struct resume_place *place = &match->page->places.at[at];
        if (resume_index_kind(index) != PLACE_OUTPUT ||
            next == spec->output_count ||
            !is_place(match, place, spec->outputs[next])) {
            return false;
        }
        if (match->places->at[at] == NULL && value_is_absent(place->space)) {
            match->places->at[at] = place_ref(spec->outputs[next]);
        }
        next++;
    }
    return next == spec->output_count && spec->envelope_count == 0;
}

static bool is_same_surface(struct match *match, const struct node_spec *spec)
{
    struct persisted *persisted = match->persisted;
    if (has_outputs(match, spec)) {
        persisted->surface = match->action->surface;
        return true;
    }
    persisted_set_surface(match->persistence, persisted, spec);
    return digest_equal(&match->action->surface, &persisted->surface);
}

static const struct resume_asked *find_asked(
    const struct resume_options *options,
    const struct observed_space *observed)
{
    for (size_t i = 0; i < options->asked_count; i++) {
        const struct resume_asked *asked = &options->asked[i];
        if (key_equal(asked->space, observed->space) &&
            key_equal(asked->branch, observed->branch)) {
            return asked;
        }
    }
    return NULL;
}

/* What the action saw of another space, or NULL. */
static const struct observed_space *find_observed(const struct match *match,
                                                  struct value space)
{
    const struct resume_action *action = match->action;
    for (uint32_t i = 0; i < action->space_count; i++) {
        const struct observed_space *observed =
            &match->page->elsewhere.at[action->spaces + i];
        if (key_equal(observed->space, space)) {
            return observed;
        }
    }
    return NULL;
}

/* One of an action's places, as seen by this process. */
struct resume_read {
    struct place *place; /* borrowed */
    enum place_kind kind;
    uint64_t seq; /* up to which all is known */
    bool changed;
    bool untouched; /* the document is what it was when it was read */
};

/* False: it cannot be used. */
static bool find_read(struct match *match,
                      uint32_t index,
                      struct resume_read *out)
{
    const uint32_t at = resume_index_place(index);
    const enum place_kind kind = resume_index_kind(index);
    const struct resume_place *place = &match->page->places.at[at];
    struct space *space = match->persisted->space;
    uint64_t watermark = match->action->watermark;
    uint64_t seq = match->resume->seq;
    if (place->path == NULL) {
        return false;
    }
    if (!value_is_absent(place->space) && place_is_read(kind)) {
        const struct observed_space *observed =
            find_observed(match, place->space);
        const struct resume_asked *asked =
            observed != NULL ? find_asked(&match->resume->options, observed)
                             : NULL;
        if (asked == NULL || asked->seq < observed->seq) {
            return false;
        }
        space = persisted_space(space->replica, observed);
        watermark = observed->seq;
        seq = asked->seq;
    } else if (!value_is_absent(place->space)) {
        *out = (struct resume_read){.kind = kind};
        return true; /* what it writes elsewhere is in the registration */
    }
    struct place **slot = &match->places->at[at];
    if (*slot == NULL && space != NULL) {
        *slot = persisted_place(space, &place->target, place->path);
    }
    const bool shape = kind == PLACE_SHAPE;
    *out = (struct resume_read){
        .place = *slot,
        .kind = kind,
        .seq = seq,
        .changed = place_is_read(kind) &&
                   place->changed[shape ? READ_SHAPE : READ_DEEP] > watermark,
        /* Other spaces are asked for what was read there, and no more. */
        .untouched = value_is_absent(place->space) && !place->touched,
    };
    return *slot != NULL;
}

/* persistence-6. */
static bool is_newer_here(const struct resume_read *read)
{
    const struct entity *entity = read->place->entity;
    return entity->overlay != NULL ||
           (place_is_read(read->kind) && entity->seq > read->seq);
}

/* Whether all places can be used; only looks them up. */
static bool look_at_places(struct match *match)
{
    const struct resume_action *action = match->action;
    match->dirty = action->state == RESUME_DIRTY;
    for (uint32_t i = 0; i < action->place_count; i++) {
        struct resume_read read;
        if (!find_read(match,
                       match->page->indexes.at[action->places + i],
                       &read) ||
            (read.place != NULL && is_newer_here(&read))) {
            return false;
        }
        match->dirty = match->dirty || read.changed;
    }
    return true;
}

/* persistence-7. */
static void restore_gates(const struct match *match, struct node *node)
{
    const struct resume_action *action = match->action;
    const struct gate_config none = {0};
    const struct gate_config *gates =
        action->gates != RESUME_NONE ? &match->page->gates.at[action->gates]
                                     : &none;
    if (node->gate == NULL && action->gates == RESUME_NONE) {
        return;
    }
    if (node->gate == NULL) {
        node->gate = mem_alloc_zero(sizeof *node->gate);
        node->delayed = true;
    }
    node->gate->debounce = gates->debounce_ms;
    node->gate->throttle = gates->throttle_ms;
    node->gate->no_auto_debounce = gates->no_auto_debounce;
}

/* persistence-4 and persistence-5. */
static void restore(struct match *match, struct node *node)
{
    const struct resume_action *action = match->action;
    uint32_t reads = 0;
    for (uint32_t i = 0; i < action->place_count; i++) {
        const uint32_t index = match->page->indexes.at[action->places + i];
        reads += place_is_read(resume_index_kind(index));
    }
    graph_reserve_reads(node, reads);
    for (uint32_t i = 0; i < action->place_count; i++) {
        struct resume_read read;
        if (!find_read(match,
                       match->page->indexes.at[action->places + i],
                       &read) ||
            !place_is_read(read.kind)) {
            continue;
        }
        struct entity *entity = read.place->entity;
        graph_restore_read(node,
                           read.place,
                           read.kind == PLACE_SHAPE ? READ_SHAPE : READ_DEEP,
                           read.seq);
        if (read.untouched) {
            space_follow(entity->space, entity, read.seq);
        } else {
            space_want(entity->space, entity); /* it may have a label now */
        }
        if (read.changed) {
            vec_last(&node->reads)->caused = true;
            reader_mark_add_cause(node, read.place, entity->version);
        }
    }
    restore_gates(match, node);
    fetching_note(node);
    node_set_status(node, match->dirty ? NODE_INVALID : NODE_CLEAN);
}

/* The page that contains a row. */
static size_t page_of(const struct resume_options *options,
                      const struct resume_action *action)
{
    for (size_t i = 0; i < options->page_count; i++) {
        const struct resume_page *page = options->pages[i];
        if (action >= page->actions.at &&
            action < page->actions.at + page->actions.count) {
            return i;
        }
    }
    CHECK(false);
    return 0;
}

bool resume_take(struct sched *sched,
                 struct persisted *persisted,
                 const struct node_spec *spec)
{
    struct resume *resume = sched->persistence->resume;
    const struct resume_options *options = &resume->options;
    if (persisted->space != options->space ||
        !key_equal(persisted->piece, options->piece)) {
        return false; /* of another piece */
    }
    struct match match = {
        .persistence = sched->persistence,
        .resume = resume,
        .persisted = persisted,
        .action = map_find(&resume->rows,
                           digest_bits(&persisted->action),
                           is_row,
                           &persisted->action),
    };
    if (match.action != NULL) {
        const size_t page = page_of(options, match.action);
        match.page = options->pages[page];
        match.places = &resume->places.at[page];
    }
    if (match.action == NULL || persisted->generation != options->generation ||
        !is_match(&match) || !is_same_surface(&match, spec) ||
        !look_at_places(&match)) {
        resume->counts.unknown++;
        return false;
    }
    restore(&match, persisted->node);
    persisted->known = true;
    persisted->restored = true;
    persisted->peers = sched->persistence->peers;
    persisted->read_set = match.action->read_set;
    persisted->scope = (enum scope)match.action->scope;
    resume->counts.restored += !match.dirty;
    resume->counts.dirty += match.dirty;
    return true;
}
