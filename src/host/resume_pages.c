/* The pages of a piece, and the answers of other spaces. */

#include "host/resume_pages.h"

#include "host/store_access.h"
#include "replica/space.h"
#include "value/object.h"

/* -- The own space ------------------------------------------------------- */

static enum err given_up(struct err_detail *detail)
{
    return err_set(detail,
                   ERR_GIVEN_UP,
                   "the piece was not resumed: loading its records was "
                   "stopped");
}

/* After the first page: the rest is counted only if there is any, and if
 * progress is reported. */
static enum err count_all(const struct resume_pages_source *source,
                          struct store_access *store,
                          struct resume_query *query,
                          const struct resume_page *first,
                          uint64_t *total,
                          struct err_detail *detail)
{
    uint64_t rest = 0;
    enum err err = ERR_OK;
    if (source->progress != NULL && first->more) {
        query->after = vec_last(&first->actions)->number;
        query->seq = first->seq;
        err = store->methods->resume_count(store, query, &rest, detail);
    }
    *total = first->actions.count + rest;
    return err;
}

/* The generation is the store's own: it is in every page, also in one that was
 * asked for with another. */
static enum err first_page(struct store_access *store,
                           struct resume_query *query,
                           struct resume_page *page,
                           struct err_detail *detail)
{
    query->after = 0;
    query->seq = 0;
    enum err err = store->methods->resume(store, query, page, detail);
    if (err == ERR_OK && page->generation != query->generation) {
        query->generation = page->generation;
        resume_page_release(page);
        err = store->methods->resume(store, query, page, detail);
    }
    return err;
}

/* All pages, of one seq, or LISTING_MOVED. */
static enum err list(const struct resume_pages_source *source,
                     struct store_access *store,
                     struct resume_query *query,
                     struct resume_set *set,
                     struct err_detail *detail)
{
    struct resume_page *page = resume_set_add_page(set);
    uint64_t total = 0;
    if (source->interrupted != NULL && source->interrupted(source->ctx)) {
        return given_up(detail);
    }
    enum err err = first_page(store, query, page, detail);
    if (err == ERR_OK) {
        err = count_all(source, store, query, page, &total, detail);
    }
    while (err == ERR_OK) {
        if ((source->progress != NULL &&
             !source->progress(source->progress_ctx,
                               resume_set_count(set),
                               total)) ||
            (source->interrupted != NULL && source->interrupted(source->ctx))) {
            return given_up(detail);
        }
        if (!page->more) {
            return ERR_OK;
        }
        query->after = vec_last(&page->actions)->number;
        query->seq = page->seq;
        page = resume_set_add_page(set);
        err = store->methods->resume(store, query, page, detail);
    }
    return err;
}

static enum err list_patiently(const struct resume_pages_source *source,
                               struct store_access *store,
                               struct resume_query *query,
                               struct resume_set *set,
                               struct err_detail *detail)
{
    query->limit = source->limit > 0 ? source->limit : RESUME_PAGES_ACTIONS;
    enum err err = list(source, store, query, set, detail);
    for (unsigned i = 1; err == ERR_LISTING_MOVED && i < RESUME_PAGES_TRIES;
         i++) {
        resume_set_release(set);
        query->limit = RESUME_PAGE_MAX;
        err = list(source, store, query, set, detail);
    }
    return err;
}

/* -- The others ---------------------------------------------------------- */

/* Another space that an action has read. */
struct other {
    const struct observed_space *seen; /* one of those who have */
    bool ambiguous_base; /* on two branches: a place does not say on which */
};

typedef VEC(struct other) other_list;

static void note_other(other_list *others, const struct observed_space *seen)
{
    VEC_FOREACH (others, other) {
        if (key_equal(other->seen->space, seen->space)) {
            other->ambiguous_base |=
                !key_equal(other->seen->branch, seen->branch);
            return;
        }
    }
    const struct other other = {.seen = seen};
    vec_push(others, other);
}

static bool names(const struct resume_page *page, struct value space)
{
    VEC_FOREACH (&page->elsewhere, seen) {
        if (key_equal(seen->space, space)) {
            return true;
        }
    }
    return false;
}

/* The pages are answered one after the other, and something may land in
 * between: what all of them know is what the first of them does. */
static bool ask(const struct resume_pages_source *source,
                const struct observed_space *seen,
                const struct resume_set *set,
                uint64_t *head)
{
    struct store_access *store = source->store(source->ctx, seen->space);
    if (store == NULL) {
        return false;
    }
    const struct resume_asking asking = {
        .space = seen->space,
        .branch = seen->branch,
        .identity = source->identity,
    };
    *head = UINT64_MAX;
    VEC_FOREACH (&set->pages, page) {
        uint64_t seq = UINT64_MAX;
        if (names(*page, seen->space) &&
            store->methods->changed(store, &asking, *page, &seq, NULL) !=
                ERR_OK) {
            return false;
        }
        *head = seq < *head ? seq : *head;
    }
    return true;
}

/* A space that cannot be asked is left out (resume-set-2). */
static void ask_all(const struct resume_pages_source *source,
                    struct resume_set *set)
{
    other_list others = {0};
    VEC_FOREACH (&set->pages, page) {
        VEC_FOREACH (&(*page)->elsewhere, seen) {
            note_other(&others, seen);
        }
    }
    VEC_FOREACH (&others, other) {
        uint64_t head;
        if (!other->ambiguous_base && ask(source, other->seen, set, &head)) {
            const struct resume_asked asked = {
                .space = value_ref(other->seen->space),
                .branch = value_ref(other->seen->branch),
                .seq = head,
            };
            resume_set_add_asked(set, asked);
        }
    }
    vec_release(&others);
}

enum err resume_pages_fetch(const struct resume_pages_source *source,
                            const struct space *space,
                            struct value piece,
                            struct resume_set *out,
                            struct err_detail *detail)
{
    *out = (struct resume_set){0};
    struct store_access *store = source->store(source->ctx, space->id);
    if (store == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the space of the piece is not open in this host");
    }
    struct resume_query query = {
        .branch = space->branch,
        .piece = piece,
        .identity = source->identity,
    };
    const enum err err = list_patiently(source, store, &query, out, detail);
    if (err == ERR_OK) {
        ask_all(source, out);
    } else {
        resume_set_release(out);
    }
    return err;
}
