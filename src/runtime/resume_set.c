/* The pages of a piece, as one set. */

#include "runtime/resume_set.h"

struct resume_page *resume_set_add_page(struct resume_set *set)
{
    struct resume_page *page = mem_alloc_zero(sizeof *page);
    vec_push(&set->pages, page);
    return page;
}

void resume_set_add_asked(struct resume_set *set, struct resume_asked asked)
{
    vec_push(&set->asked, asked);
}

void resume_set_release(struct resume_set *set)
{
    VEC_FOREACH (&set->pages, page) {
        resume_page_release(*page);
        mem_free(*page, sizeof **page);
    }
    vec_release(&set->pages);
    VEC_FOREACH (&set->asked, asked) {
        value_unref(asked->space);
        value_unref(asked->branch);
    }
    vec_release(&set->asked);
}

uint64_t resume_set_generation(const struct resume_set *set)
{
    return set->pages.count > 0 ? set->pages.at[0]->generation : 0;
}

uint64_t resume_set_count(const struct resume_set *set)
{
    uint64_t count = 0;
    VEC_FOREACH (&set->pages, page) {
        count += (*page)->actions.count;
    }
    return count;
}

struct resume_options resume_set_options(const struct resume_set *set,
                                         struct space *space,
                                         struct value piece,
                                         uint64_t generation)
{
    return (struct resume_options){
        .space = space,
        .piece = piece,
        .generation = generation,
        .pages = (const struct resume_page *const *)set->pages.at,
        .page_count = set->pages.count,
        .asked = set->asked.at,
        .asked_count = set->asked.count,
    };
}
