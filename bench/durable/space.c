/* Bytes on a disk: they are counted, so one run says it all. */

#include "durable/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "durable/commits.h"
#include "lib/raw_store.h"
#include "store/engine.h"

enum {
    COMMITS = 100000,
    COMMITS_QUICK = 10000,
    GROUP = RAW_DOCUMENTS /* commits a transaction: one a document */
};

static void stop(const char *why)
{
    (void)fprintf(stderr, "bench_store: %s\n", why);
    exit(1);
}

/* All files of a store, whatever they are called. */
static double bytes_of(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    double bytes = 0;
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        char name[300];
        struct stat status;
        (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        if (stat(name, &status) == 0) {
            bytes += (double)status.st_size;
        }
    }
    return bytes;
}

/* One group: every document is set, or patched. */
static void land(struct engine *engine, uint64_t *local_seq)
{
    static struct commit commits[GROUP];
    static struct engine_request requests[GROUP];
    const bool first = *local_seq == 0;
    for (unsigned i = 0; i < GROUP; i++) {
        ++*local_seq;
        if (first) {
            commit_make_set(&commits[i], *local_seq, *local_seq % GROUP);
        } else {
            commit_make_patch(&commits[i],
                              *local_seq,
                              *local_seq % GROUP,
                              &engine->paths);
        }
        requests[i] = (struct engine_request){.commit = &commits[i]};
    }
    struct err_detail detail;
    if (engine_commit(engine, requests, GROUP, &detail) != ERR_OK) {
        stop(detail.text);
    }
    for (unsigned i = 0; i < GROUP; i++) {
        if (requests[i].verdict.err != ERR_OK) {
            stop(requests[i].verdict.detail.text);
        }
        verdict_release(&requests[i].verdict);
        commit_release(&commits[i]);
    }
}

void bench_space(struct bench *bench, const char *folder)
{
    const unsigned commits = bench->quick ? COMMITS_QUICK : COMMITS;
    char name[64];
    (void)snprintf(name,
                   sizeof name,
                   "space on disk, %u single-field commits",
                   commits);
    if (!bench_wants(bench, name)) {
        return;
    }
    (void)fprintf(stderr, "store: %s\n", name);
    char ours[256];
    char raw[256];
    (void)snprintf(ours, sizeof ours, "%s/space.db", folder);
    (void)snprintf(raw, sizeof raw, "%s/floor.db", folder);
    struct engine engine;
    struct raw_store floor;
    struct err_detail detail;
    const struct engine_options options = {
        .path = ours,
        .durability = DURABILITY_NORMAL,
    };
    if (engine_open(&engine, &options, &detail) != ERR_OK) {
        stop(detail.text);
    }
    raw_store_open(&floor, &engine, raw);
    uint64_t local_seq = 0;
    for (unsigned done = 0; done < commits + GROUP; done += GROUP) {
        land(&engine, &local_seq);
        if (done == 0) {
            raw_store_group(&floor, GROUP);
        } else {
            raw_store_group_of_patches(&floor, GROUP);
        }
    }
    engine_close(&engine);
    raw_store_end(&floor);
    bench_figure(bench,
                 name,
                 "bytes",
                 bytes_of(ours),
                 bytes_of(raw),
                 (struct bench_bar){BENCH_SHARE, 1.5});
    raw_store_remove(ours);
    raw_store_remove(raw);
}
