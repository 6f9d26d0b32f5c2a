/* The command of the release, and data directories for it. */

#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"

void desk_stop(const struct desk *desk, const char *why)
{
    (void)fprintf(stderr, "bench_%s: %s\n", desk->bench->name, why);
    exit(1);
}

void desk_open(struct desk *desk, struct bench *bench, const char *self)
{
    *desk = (struct desk){.bench = bench};
    const char *slash = strrchr(self, '/');
    (void)snprintf(desk->heddle,
                   sizeof desk->heddle,
                   "%.*s../heddle",
                   slash != NULL ? (int)(slash + 1 - self) : 0,
                   self);
    if (access(desk->heddle, X_OK) != 0) {
        desk_stop(desk, "there is no command beside it: make cli");
    }
    (void)snprintf(desk->folder,
                   sizeof desk->folder,
                   "build/bench-%s-XXXXXX",
                   bench->name);
    if (mkdtemp(desk->folder) == NULL) {
        desk_stop(desk, "no temporary folder");
    }
}

void desk_close(struct desk *desk)
{
    (void)rmdir(desk->folder);
}

struct command_cost desk_run(const struct desk *desk,
                             const char *const *arguments)
{
    struct command_cost cost;
    if (!command_run(arguments, &cost)) {
        (void)fprintf(stderr,
                      "bench_%s: '%s %s' failed\n",
                      desk->bench->name,
                      arguments[0],
                      arguments[1]);
        exit(1);
    }
    return cost;
}

struct command_cost desk_begin(struct desk *desk,
                               const char *name,
                               const char *lua)
{
    (void)snprintf(desk->data,
                   sizeof desk->data,
                   "%s/%s-data",
                   desk->folder,
                   name);
    (void)snprintf(desk->file,
                   sizeof desk->file,
                   "%s/%s.lua",
                   desk->folder,
                   name);
    FILE *file = fopen(desk->file, "w");
    if (file == NULL || fputs(lua, file) < 0 || fclose(file) != 0) {
        desk_stop(desk, "a pattern cannot be written");
    }
    const char *const run[] = {desk->heddle,
                               "run",
                               "--once",
                               "--timeout",
                               "600000",
                               "--dir",
                               desk->data,
                               desk->file,
                               NULL};
    return desk_run(desk, run);
}

void desk_end(struct desk *desk)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    char path[DESK_PATH + 16];
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        (void)snprintf(path,
                       sizeof path,
                       "%s/main.db%s",
                       desk->data,
                       suffixes[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/run", desk->data);
    (void)rmdir(path); /* where commands find each other */
    (void)rmdir(desk->data);
    (void)unlink(desk->file);
}
