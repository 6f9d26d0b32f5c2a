/* The command of the release, and data directories for it. */

#include "command_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"

void command_bench_stop(const struct command_bench *commands, const char *why)
{
    (void)fprintf(stderr, "bench_%s: %s\n", commands->bench->name, why);
    exit(1);
}

void command_bench_open(struct command_bench *commands,
                        struct bench *bench,
                        const char *self)
{
    *commands = (struct command_bench){.bench = bench};
    const char *slash = strrchr(self, '/');
    (void)snprintf(commands->heddle,
                   sizeof commands->heddle,
                   "%.*s../heddle",
                   slash != NULL ? (int)(slash + 1 - self) : 0,
                   self);
    if (access(commands->heddle, X_OK) != 0) {
        command_bench_stop(commands, "there is no command beside it: make cli");
    }
    (void)snprintf(commands->folder,
                   sizeof commands->folder,
                   "build/bench-%s-XXXXXX",
                   bench->name);
    if (mkdtemp(commands->folder) == NULL) {
        command_bench_stop(commands, "no temporary folder");
    }
}

void command_bench_close(struct command_bench *commands)
{
    (void)rmdir(commands->folder);
}

struct command_cost command_bench_run(const struct command_bench *commands,
                                      const char *const *arguments)
{
    struct command_cost cost;
    if (!command_run(arguments, &cost)) {
        (void)fprintf(stderr,
                      "bench_%s: '%s %s' failed\n",
                      commands->bench->name,
                      arguments[0],
                      arguments[1]);
        exit(1);
    }
    return cost;
}

struct command_cost command_bench_begin(struct command_bench *commands,
                                        const char *name,
                                        const char *lua)
{
    (void)snprintf(commands->data,
                   sizeof commands->data,
                   "%s/%s-data",
                   commands->folder,
                   name);
    (void)snprintf(commands->file,
                   sizeof commands->file,
                   "%s/%s.lua",
                   commands->folder,
                   name);
    FILE *file = fopen(commands->file, "w");
    if (file == NULL || fputs(lua, file) < 0 || fclose(file) != 0) {
        command_bench_stop(commands, "a pattern cannot be written");
    }
    const char *const run[] = {commands->heddle,
                               "run",
                               "--once",
                               "--timeout",
                               "600000",
                               "--dir",
                               commands->data,
                               commands->file,
                               NULL};
    return command_bench_run(commands, run);
}

void command_bench_end(struct command_bench *commands)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    char path[COMMAND_PATH + 16];
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        (void)snprintf(path,
                       sizeof path,
                       "%s/main.db%s",
                       commands->data,
                       suffixes[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/run", commands->data);
    (void)rmdir(path); /* where commands find each other */
    (void)rmdir(commands->data);
    (void)unlink(commands->file);
}
