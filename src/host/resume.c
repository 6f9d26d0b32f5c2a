/* What has changed in other spaces, for a page of actions. */

#include "host/resume.h"

#include "base/mem.h"
#include "store/observations.h"
#include "value/object.h"

enum {
    KINDS = 2 /* of reads */
};

typedef VEC(struct changed_read) read_list;

static bool is_of(const struct resume_asking *asking,
                  const struct resume_place *place)
{
    return !value_is_absent(place->space) &&
           key_equal(place->space, asking->space);
}

/* The lowest seq that was seen; UINT64_MAX: none was. */
static uint64_t lowest_seen(const struct resume_asking *asking,
                            const struct resume_page *page)
{
    uint64_t lowest = UINT64_MAX;
    VEC_FOREACH (&page->elsewhere, seen) {
        if (key_equal(seen->space, asking->space) &&
            key_equal(seen->branch, asking->branch) && seen->seq < lowest) {
            lowest = seen->seq;
        }
    }
    return lowest;
}

/* Each place with both kinds of read: the kinds are in the actions. */
static enum err add_reads(const struct resume_asking *asking,
                          const struct resume_page *page,
                          read_list *reads,
                          struct err_detail *detail)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&page->places, place) {
        for (unsigned kind = 0; kind < KINDS && is_of(asking, place); kind++) {
            struct changed_read read = {
                .id = place->target.id,
                .path = place->path,
                .kind = (enum read_kind)kind,
            };
            err = scope_key_new(place->target.scope,
                                asking->identity,
                                &read.scope_key,
                                detail);
            if (err != ERR_OK) {
                return err;
            }
            vec_push(reads, read);
        }
    }
    return err;
}

static void write_answers(const struct resume_asking *asking,
                          const read_list *reads,
                          struct resume_page *page)
{
    size_t next = 0;
    VEC_FOREACH (&page->places, place) {
        for (unsigned kind = 0; kind < KINDS && is_of(asking, place); kind++) {
            CHECK(next < reads->count);
            place->changed[kind] = reads->at[next++].changed;
        }
    }
}

enum err resume_ask(struct engine *engine,
                    const struct resume_asking *asking,
                    struct resume_page *page,
                    uint64_t *head,
                    struct err_detail *detail)
{
    read_list reads = {0};
    const uint64_t lowest = lowest_seen(asking, page);
    enum err err = add_reads(asking, page, &reads, detail);
    if (err == ERR_OK && lowest != UINT64_MAX) {
        err = engine_changed_above(engine,
                                   asking->branch,
                                   lowest,
                                   reads.at,
                                   reads.count,
                                   detail);
    }
    if (err == ERR_OK) {
        write_answers(asking, &reads, page);
        *head = engine->seq;
    }
    VEC_FOREACH (&reads, read) {
        value_unref(read->scope_key);
    }
    vec_release(&reads);
    return err;
}
