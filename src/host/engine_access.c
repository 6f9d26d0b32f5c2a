/* Questions of a host, as calls of an engine in this process. */

#include "host/engine_access.h"

static struct engine *engine_of(struct store_access *store)
{
    return CONTAINER_OF(store, struct engine_access, store)->engine;
}

static enum err resume(struct store_access *store,
                       const struct resume_query *query,
                       struct resume_page *page,
                       struct err_detail *detail)
{
    return engine_resume(engine_of(store), query, page, detail);
}

static enum err resume_count(struct store_access *store,
                             const struct resume_query *query,
                             uint64_t *count,
                             struct err_detail *detail)
{
    return engine_resume_count(engine_of(store), query, count, detail);
}

static enum err changed(struct store_access *store,
                        const struct resume_asking *asking,
                        struct resume_page *page,
                        uint64_t *head,
                        struct err_detail *detail)
{
    return resume_ask(engine_of(store), asking, page, head, detail);
}

static enum err waiting(struct store_access *store,
                        struct value branch,
                        uint64_t after,
                        uint64_t limit,
                        waiting_fn *found,
                        void *ctx,
                        struct err_detail *detail)
{
    struct engine *engine = engine_of(store);
    enum err err = engine_read_begin(engine, detail);
    if (err == ERR_OK) {
        err = engine_waiting(engine, branch, after, limit, found, ctx, detail);
        engine_read_end(engine);
    }
    return err;
}

static enum err timers(struct store_access *store,
                       struct value branch,
                       struct timer_mark after,
                       uint64_t until,
                       uint64_t limit,
                       waiting_fn *found,
                       void *ctx,
                       uint64_t *next,
                       struct err_detail *detail)
{
    struct engine *engine = engine_of(store);
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    err =
        engine_timers(engine, branch, after, until, limit, found, ctx, detail);
    if (err == ERR_OK) {
        err = engine_timer_next(engine, branch, until, next, detail);
    }
    engine_read_end(engine);
    return err;
}

static enum err timers_named(struct store_access *store,
                             struct value branch,
                             struct value prefix,
                             waiting_fn *found,
                             void *ctx,
                             struct err_detail *detail)
{
    struct engine *engine = engine_of(store);
    enum err err = engine_read_begin(engine, detail);
    if (err == ERR_OK) {
        err = engine_timers_named(engine, branch, prefix, found, ctx, detail);
        engine_read_end(engine);
    }
    return err;
}

static enum err forget_piece(struct store_access *store,
                             struct value branch,
                             struct value piece,
                             struct err_detail *detail)
{
    return engine_piece_forget(engine_of(store), branch, piece, detail);
}

static enum err forget_actions(struct store_access *store,
                               struct value branch,
                               struct value piece,
                               const struct digest *names,
                               size_t count,
                               struct err_detail *detail)
{
    return engine_actions_forget(engine_of(store),
                                 branch,
                                 piece,
                                 names,
                                 count,
                                 detail);
}

static enum err put_mirror(struct store_access *store,
                           const struct mirror *mirror,
                           const struct changed_read *reads,
                           size_t count,
                           struct err_detail *detail)
{
    struct engine *engine = engine_of(store);
    struct mirror put = *mirror;
    put.seq = mirror->seq == STORE_ACCESS_HEAD ? engine->seq : mirror->seq;
    return engine_mirror_put(engine, &put, reads, count, detail);
}

static const struct store_access_methods methods = {
    .resume = resume,
    .resume_count = resume_count,
    .changed = changed,
    .waiting = waiting,
    .timers = timers,
    .timers_named = timers_named,
    .forget_piece = forget_piece,
    .forget_actions = forget_actions,
    .put_mirror = put_mirror,
};

void engine_access_init(struct engine_access *access, struct engine *engine)
{
    *access = (struct engine_access){{&methods}, engine};
}
