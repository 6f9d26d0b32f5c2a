/* Processes of node, and what they answer. */

#include "lib/peer.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define SERVE "build/peers/serve.mjs"

void peer_start(struct bench *bench, struct child *child, const char *library)
{
    char node[] = "node";
    char collect[] = "--expose-gc";
    char serve[] = SERVE;
    char warm_ns[] = "4e8";
    char warm_quick_ns[] = "5e7";
    char name[64];
    (void)snprintf(name, sizeof name, "%s", library);
    char *arguments[] = {node,
                         collect,
                         serve,
                         bench->quick ? warm_quick_ns : warm_ns,
                         name,
                         NULL};
    *child = (struct child){0};
    if (bench->peers &&
        (access(SERVE, R_OK) != 0 || !child_start(child, arguments))) {
        (void)fprintf(stderr,
                      "%s: no peer: node cannot run " SERVE "\n",
                      bench->name);
        bench->peers = false;
    }
}

bool peer_begin(struct bench *bench,
                struct child *child,
                const char *who,
                const char *workload,
                double checksum)
{
    double got;
    if (!child_ask(child, &got, "begin %s", workload)) {
        return false;
    }
    if (fabs(got - checksum) > 0) {
        bench_wrong(bench, "%s: checksum of %s %.17g", workload, who, got);
    }
    return true;
}
