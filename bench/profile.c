/* One workload for an instruction counter, which counts what happens inside of
 * profile_measured() and nothing else (tools/profile, ./dev profile).
 *
 *   profile --list   the names of all workloads, one a line
 *   profile NAME     builds, warms up, checks, and goes once through what is
 *                    measured; prints a few words about it, one a line:
 *
 *     compiler gcc-12.2.0-x86_64   that made this program
 *     updates 51                   batches, or nodes created, events, commits
 *     runs 51051                   of nodes in them
 *
 * The workloads are those of signals/, all on the scheduler, and three more
 * that signals do not have: events and commits to a store. It reads no clock
 * but through the host, prints nothing while it measures, and a result that is
 * wrong ends it with exit code 1. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/events.h"
#include "sched/handling.h"
#include "shapes/kit.h"
#include "signals/signals.h"

#ifdef __clang__
#define COMPILER "clang-" __clang_version__
#else
#define COMPILER "gcc-" __VERSION__
#endif
#ifdef __x86_64__
#define MACHINE "x86_64"
#elif defined __aarch64__
#define MACHINE "aarch64"
#else
#define MACHINE "other"
#endif

enum {
    WARM = 100,
    TIMES = 500 /* events, or commits */
};

static void stop(const char *why)
{
    (void)fprintf(stderr, "profile: %s\n", why);
    exit(1);
}

static void say(uint64_t updates, uint64_t runs)
{
    (void)printf("compiler " COMPILER "-" MACHINE "\nupdates %" PRIu64
                 "\nruns %" PRIu64 "\n",
                 updates,
                 runs);
}

/* -- What is measured ---------------------------------------------------- */

typedef double measured_fn(const void *ctx);

double profile_measured(measured_fn *fn, const void *ctx);

/* The counter knows it by its name: it must not become part of its callers, and
 * must come back from `fn` before it returns. */
__attribute__((noinline)) double profile_measured(measured_fn *fn,
                                                  const void *ctx)
{
    const double result = fn(ctx);
    __asm__ volatile("" : : : "memory");
    return result;
}

/* -- Signals ------------------------------------------------------------- */

static double iterate(const void *ctx)
{
    const struct workload *workload = ctx;
    return workload->iterate(workload);
}

static void profile_signals(const struct workload *workload)
{
    const bool creates = workload->updates == 0;
    double checksum = workload_begin(workload);
    if (creates) {
        graph_open();
        workload->build(workload);
    }
    if (fabs(checksum - workload->checksum) > 0) {
        stop("the checksum is wrong");
    }
    computed_runs = 0;
    effect_runs = 0;
    checksum = profile_measured(iterate, workload);
    const uint64_t runs = computed_runs + effect_runs;
    if (creates) {
        graph_close();
        if (fabs(checksum - workload->checksum) > 0) {
            stop("the checksum is wrong");
        }
    }
    workload_end(workload);
    say(creates ? workload->nodes : workload->updates, runs);
}

/* -- Events -------------------------------------------------------------- */

struct post {
    struct kit kit;
    struct stream *stream;
    struct place *out;
    uint64_t done;
};

static enum run_result handle(struct handling *handling, void *ctx)
{
    struct post *post = ctx;
    kit_put(&post->kit,
            handling_transaction(handling),
            post->out,
            value_ref(handling_payload(handling)));
    return RUN_DONE;
}

static void on_done(void *ctx, const struct event_result *result)
{
    struct post *post = ctx;
    post->done += result->outcome == EVENT_DONE;
}

static void send(struct post *post, uint32_t count)
{
    const struct event_spec spec = {.done = on_done, .ctx = post};
    for (uint32_t i = 0; i < count; i++) {
        struct event_spec one = spec;
        struct err_detail detail;
        one.payload = value_double(++post->kit.round);
        if (events_send(post->kit.sched, post->stream, &one, &detail) !=
            ERR_OK) {
            stop(detail.text);
        }
        kit_idle(&post->kit);
    }
}

static double send_events(const void *ctx)
{
    struct post *const *post = ctx;
    send(*post, TIMES);
    return 0;
}

static void profile_events(bool no_receipts)
{
    static struct post room;
    struct post *post = &room;
    kit_open(&post->kit, false);
    struct events_policy policy = events_policy();
    policy.no_receipts = no_receipts;
    const struct value instance = value_text_new("bench");
    events_configure(post->kit.sched, &policy, instance);
    value_unref(instance);
    post->out = kit_document(&post->kit);
    post->stream = events_stream(post->kit.sched, kit_document(&post->kit));
    const struct handler_spec spec = {.run = handle, .ctx = post, .pure = true};
    struct handler *handler;
    struct err_detail detail;
    if (events_handle(post->kit.sched,
                      post->stream,
                      &spec,
                      &handler,
                      &detail) != ERR_OK) {
        stop(detail.text);
    }
    send(post, WARM);
    post->done = 0;
    (void)profile_measured(send_events, &post);
    if (post->done != TIMES) {
        stop("an event was not handled");
    }
    kit_close(&post->kit);
    say(TIMES, TIMES);
}

static void profile_event(void)
{
    profile_events(false);
}

static void profile_event_bare(void)
{
    profile_events(true);
}

/* -- Commits ------------------------------------------------------------- */

/* The number of the last commit in the store. */
static uint64_t store_seq(const struct kit *kit)
{
    return kit->engine.branches.at[0]->head_seq;
}

static double write_store(const void *ctx)
{
    struct kit *const *kit = ctx;
    for (uint32_t i = 0; i < TIMES; i++) {
        kit_write(*kit, (*kit)->places[0], ++(*kit)->round);
    }
    return 0;
}

static void profile_commit(void)
{
    static struct kit room;
    struct kit *kit = &room;
    kit_open(kit, true);
    (void)kit_document(kit);
    for (uint32_t i = 0; i < WARM; i++) {
        kit_write(kit, kit->places[0], ++kit->round);
    }
    const uint64_t before = store_seq(kit);
    (void)profile_measured(write_store, &kit);
    if (store_seq(kit) - before != TIMES) {
        stop("a commit is not in the store");
    }
    kit_close(kit);
    say(TIMES, 0);
}

/* -- By name ------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*profile)(void);
} others[] = {
    {"event", profile_event},
    {"event-bare", profile_event_bare},
    {"commit-store", profile_commit},
};

static void list(void)
{
    for (size_t i = 0; workload_at(i) != NULL; i++) {
        (void)puts(workload_at(i)->name);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        (void)puts(others[i].name);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: profile --list | NAME\n");
        return 2;
    }
    if (strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    const struct workload *workload = workload_find(argv[1]);
    if (workload != NULL) {
        profile_signals(workload);
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (strcmp(others[i].name, argv[1]) == 0) {
            others[i].profile();
            return 0;
        }
    }
    (void)fprintf(stderr, "profile: there is no workload %s\n", argv[1]);
    return 2;
}
