/* The effect of a pull, from its beginning to its end. */

#include "front/pull.h"

static enum err read_cell(const struct cell_access *access,
                          struct place *place,
                          struct value *out,
                          struct err_detail *detail)
{
    return cell_read(access,
                     place,
                     READ_DEEP,
                     READ_FOR_BOTH,
                     out,
                     NULL,
                     detail);
}

static enum run_result run_pull(struct run *run, void *ctx)
{
    struct pull *pull = ctx;
    const struct cell_access access = {pull->runtime, run, run->transaction};
    struct value seen = VALUE_NONE;
    err_clear(&pull->detail);
    pull->err = pull->read(&access, pull->place, &seen, &pull->detail);
    if (pull->err == ERR_STALE) {
        return RUN_AGAIN;
    }
    value_unref(pull->seen);
    pull->seen = pull->err == ERR_OK ? seen : VALUE_NONE;
    pull->is_done = true;
    pull->runs += !run->sched->unwinding;
    return RUN_DONE;
}

void pull_begin(struct pull *pull)
{
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = run_pull,
        .ctx = pull,
        .clearance = pull->clearance,
        .immediate = true,
    };
    pull->read = pull->read != NULL ? pull->read : read_cell;
    pull->node = sched_register(pull->runtime->sched, &spec);
}

void pull_end(struct pull *pull)
{
    sched_remove(pull->runtime->sched, pull->node);
    pull->node = NULL;
}
