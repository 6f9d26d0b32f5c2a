/* Calls that are noted in a run and made after it has landed. */

#include "script/deferred_calls.h"

#include "base/mem.h"
#include "sched/lineage.h"
#include "script/lua_runtime.h"
#include "script/program.h"

struct outside_call {
    struct list_node node; /* in the module's `calls` */
    const struct program_function *function;
    const struct lua_runtime *lua; /* outlives the landing of its runs */
    struct value arguments;
};

static void drop_call(void *ctx)
{
    struct outside_call *call = ctx;
    list_remove(&call->node);
    value_unref(call->arguments);
    mem_free(call, sizeof *call);
}

static void make_call(void *ctx)
{
    const struct outside_call *call = ctx;
    const struct lua_runtime_host *host = call->lua->host;
    call->function->after(call->function->ctx, call->arguments);
    if (host->called != NULL) {
        host->called(host->ctx, call->function->name, call->arguments);
    }
    drop_call(ctx);
}

void deferred_calls_note_adopt(struct heddle *heddle,
                               const struct program_function *function,
                               const struct frame *frame,
                               struct value arguments)
{
    if (run_is_thrown_away(frame->call.access.run)) {
        value_unref(arguments);
        return;
    }
    struct sched *sched = lua_runtime_sched(frame->lua);
    struct transaction *transaction = frame->call.access.transaction;
    struct outside_call *call = mem_alloc_zero(sizeof *call);
    call->function = function;
    call->lua = frame->lua;
    call->arguments = arguments;
    list_node_init(&call->node);
    list_push_back(&heddle->calls, &call->node);
    lineage_stop_unless_landed(sched, transaction, drop_call, call);
    lineage_after_landing(sched, transaction, make_call, call);
}

void deferred_calls_end(struct heddle *heddle)
{
    while (!list_is_empty(&heddle->calls)) {
        drop_call(CONTAINER_OF(list_first(&heddle->calls),
                               struct outside_call,
                               node));
    }
}
