/* Servers and loads as processes of a benchmark.
 *
 * A server listens on a free port of the loopback interface, keeps its data in
 * a folder of this run, and is ended by its process id.
 *
 * If the variable BENCH_STEADY is set, the run is *steady*: all processes have
 * real-time priority, files are in memory, and a sync is a wait of fixed length
 * (steady_disk.h). Then other programs on the machine hardly matter. It needs
 * the permission to set priorities. */

#ifndef BENCH_SERVER_PROCESS_H
#define BENCH_SERVER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "value/value.h"

enum {
    PROCESS_PATH = 300,
};

enum server_kind {
    SERVER_OURS,
    SERVER_COMPRESSING, /* ours, with permessage-deflate */
    SERVER_FLOOR,       /* libwebsockets and SQLite */
    SERVER_WIRE,        /* libwebsockets, no storage */
};

struct server_process {
    enum server_kind kind;
    unsigned number; /* names its data */
    pid_t pid;       /* 0: it is not running */
    uint16_t port;
};

/* Where programs and data are; `self` is this program. */
void processes_open(const char *self);
void processes_close(void); /* removes the data */
bool processes_are_steady(void);

/* Starts a server with no data, and waits until it accepts connections. */
void server_start(struct server_process *server, enum server_kind kind);

/* The end of one, by SIGTERM or SIGKILL; and its start again, on the same port
 * and data. The second returns when the process was started, by
 * process_now. */
void server_stop(struct server_process *server);
void server_kill(struct server_process *server);
uint64_t server_restart(struct server_process *server);

double server_memory(const struct server_process *server); /* bytes */
double server_cpu(const struct server_process *server);    /* seconds so far */

uint64_t process_now(void); /* ns of the monotonic clock */

/* A load for a server. */
struct load_process {
    pid_t pid;
    FILE *from;
    int to;
};

/* "WORKLOAD name=number ...". */
void load_start(struct load_process *load,
                const struct server_process *server,
                const char *workload);
void load_wait_ready(struct load_process *load); /* for its line "ready" */

/* Closes its input, waits for its end and returns what it printed: an object.
 * Ends the program if the load failed. */
struct value load_finish(struct load_process *load);

/* Both. */
struct value load_run(const struct server_process *server,
                      const char *workload);

/* A field of it that must be there. */
double load_figure(struct value result, const char *field);

/* A file of this run that does not exist yet. */
void process_file(char to[PROCESS_PATH], const char *name);

__attribute__((format(printf, 1, 2))) _Noreturn void process_fail(
    const char *format,
    ...);

#endif
