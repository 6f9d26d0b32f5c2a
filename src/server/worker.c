/* A thread that runs a shard. */

#include "server/worker.h"

#include "host/system.h"

static mono_ms now_ms(void)
{
    struct host *host = system_host();
    return host->now(host);
}

/* How much the worker has before it. */
static void set_depth(struct worker *worker, const struct item *items)
{
    const struct shard_options *options = &worker->shard.options;
    int64_t depth = 0;
    for (; items != NULL; items = items->next) {
        depth++;
    }
    metrics_set_depth(options->metrics, options->number, depth);
}

static void take(struct worker *worker)
{
    atomic_store(&worker->is_busy, true);
    struct item *items = inbox_take(&worker->inbox);
    if (items != NULL) {
        set_depth(worker, items);
        shard_turn(&worker->shard, items, now_ms());
        set_depth(worker, NULL);
    }
    shard_notice_writes(&worker->shard);
    const mono_ms now = now_ms();
    if (now >= shard_next_wake(&worker->shard)) {
        shard_wake(&worker->shard, now);
    }
    if (now >= worker->next_tick) {
        shard_tick(&worker->shard, now);
        worker->next_tick = now + SHARD_TICK_MS;
    }
    if (atomic_load(worker->shard.options.is_draining) &&
        !atomic_load(&worker->has_drained)) {
        shard_drain(&worker->shard, now);
        atomic_store(&worker->has_drained, true);
    }
    atomic_store(&worker->is_busy, false);
}

static void *run(void *ctx)
{
    struct worker *worker = ctx;
    while (!atomic_load(&worker->must_stop)) {
        take(worker);
        const mono_ms now = now_ms();
        const mono_ms wake = shard_next_wake(&worker->shard);
        const mono_ms next =
            wake < worker->next_tick ? wake : worker->next_tick;
        if (next > now) {
            wake_sleep(&worker->wake, next - now);
        }
        (void)wake_take_interrupt(&worker->wake);
    }
    take(worker);
    shard_release(&worker->shard);
    return NULL;
}

enum err worker_start(struct worker *worker,
                      const struct shard_options *options,
                      struct err_detail *detail)
{
    *worker = (struct worker){0};
    enum err err = wake_init(&worker->wake, NULL, detail);
    if (err != ERR_OK) {
        return err;
    }
    inbox_init(&worker->inbox);
    struct shard_options settings = *options;
    settings.wake = &worker->wake;
    shard_init(&worker->shard, &settings, now_ms());
    if (pthread_create(&worker->thread, NULL, run, worker) != 0) {
        shard_release(&worker->shard);
        inbox_release(&worker->inbox);
        wake_release(&worker->wake);
        return err_set(detail, ERR_IO, "a thread could not be started");
    }
    return ERR_OK;
}

void worker_post(struct worker *worker, struct batch *batch)
{
    if (inbox_post(&worker->inbox, batch)) {
        wake_interrupt(&worker->wake);
    }
}

void worker_drain(struct worker *worker)
{
    wake_interrupt(&worker->wake);
}

bool worker_is_idle(struct worker *worker)
{
    return inbox_is_empty(&worker->inbox) && !atomic_load(&worker->is_busy) &&
           (!atomic_load(worker->shard.options.is_draining) ||
            atomic_load(&worker->has_drained));
}

void worker_stop(struct worker *worker)
{
    atomic_store(&worker->must_stop, true);
    wake_interrupt(&worker->wake);
    CHECK(pthread_join(worker->thread, NULL) == 0);
}

void worker_release(struct worker *worker)
{
    inbox_release(&worker->inbox);
    wake_release(&worker->wake);
}
