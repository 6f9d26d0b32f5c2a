/* Times the floor on the signal workloads, as somebody else asks for it:
 *
 *   begin NAME   builds and warms up; answers with the checksum
 *   round NS     iterates for so long; answers with nanoseconds an iteration
 *   end          forgets the graph
 *
 * one line each, and one line back (peers/serve.mjs does the same). */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "signals/signals.h"

static const struct workload *current;

static void end(void)
{
    if (current != NULL) {
        workload_end(current);
        current = NULL;
    }
}

static void begin(const char *name)
{
    end();
    current = workload_find(name);
    if (current == NULL) {
        (void)puts("error: there is no such workload");
        return;
    }
    (void)printf("%.17g\n", workload_begin(current));
}

int main(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "begin ", 6) == 0) {
            begin(line + 6);
        } else if (strncmp(line, "round ", 6) == 0 && current != NULL) {
            (void)printf("%.17g\n",
                         workload_round(current, strtod(line + 6, NULL)));
        } else {
            end();
            (void)puts("0");
        }
        (void)fflush(stdout);
    }
    end();
    return 0;
}
