/* The load generator's main program, its clients and its clock. */

#include "load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    DIALLING_MAX = 64, /* clients that are opened at a time */
    PATIENCE_MS = 20000,
};

struct load load;

_Noreturn void load_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fputs("server_load: ", stderr);
    (void)vfprintf(stderr, format, list);
    (void)fputc('\n', stderr);
    va_end(list);
    exit(1);
}

void load_say(const char *line)
{
    (void)puts(line);
    (void)fflush(stdout);
}

/* -- The clock ----------------------------------------------------------- */

uint64_t load_now(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void load_begin(void)
{
    const double ns = load.seconds * 1e9;
    load.begin_ns = load_now() + (uint64_t)(ns / 10);
    load.end_ns = load.begin_ns + (uint64_t)ns;
    load.cpu_from = cpu_seconds();
    load.latencies.count = 0;
}

bool load_is_over(uint64_t now)
{
    return now >= load.end_ns;
}

void load_sample(uint64_t sent_ns, uint64_t now)
{
    if (now >= load.begin_ns && now < load.end_ns) {
        vec_push(&load.latencies, (double)(now - sent_ns));
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double where)
{
    const size_t count = load.latencies.count;
    return count == 0
               ? 0
               : load.latencies.at[(size_t)(where * (double)(count - 1))];
}

void load_print(uint64_t operations)
{
    const double span = (double)(load_now() - load.begin_ns) / 1e9;
    const double cpu = cpu_seconds() - load.cpu_from;
    const size_t count = load.latencies.count;
    if (count > 0) {
        qsort(load.latencies.at, count, sizeof(double), by_size);
    }
    (void)printf("{\"per_s\":%.1f,\"p50_ns\":%.0f,\"p99_ns\":%.0f,"
                 "\"max_ns\":%.0f,\"cpu\":%.2f",
                 (double)(operations > 0 ? operations : count) / load.seconds,
                 quantile(0.5),
                 quantile(0.99),
                 quantile(1),
                 cpu / span);
}

/* -- Clients ------------------------------------------------------------- */

static void socket_opened(struct socket *socket)
{
    struct client *client = CONTAINER_OF(socket, struct client, socket);
    client->connection++;
    client->number = 0;
    load.dialect->begin(client);
}

static void socket_received(struct socket *socket,
                            const char *text,
                            size_t length)
{
    load.dialect->receive(CONTAINER_OF(socket, struct client, socket),
                          text,
                          length);
}

static void socket_lost(struct socket *socket)
{
    struct client *client = CONTAINER_OF(socket, struct client, socket);
    client->ready = false;
    if (load.events.lost == NULL) {
        load_fail("client %u lost its connection", client->index);
    }
    load.events.lost(client);
}

static void name_client(struct client *client, unsigned index)
{
    client->index = index;
    (void)snprintf(client->session,
                   CLIENT_NAME_SIZE,
                   "s-%08x-%u",
                   (unsigned)(load.started_ns >> 10),
                   index);
    if (load.own_spaces) {
        (void)snprintf(client->space, CLIENT_NAME_SIZE, "space-%u", index);
    } else {
        (void)snprintf(client->space, CLIENT_NAME_SIZE, "main");
    }
}

static void turn(void)
{
    if (sockets_turn(&load.sockets, PATIENCE_MS) == 0) {
        load_fail("the server said nothing for %d s", PATIENCE_MS / 1000);
    }
}

void load_open(unsigned count)
{
    load.clients = calloc(count, sizeof *load.clients);
    CHECK(load.clients != NULL);
    load.client_count = count;
    for (unsigned i = 0; i < count; i++) {
        name_client(&load.clients[i], i);
        socket_dial(&load.sockets, &load.clients[i].socket);
        while (load.ready_count + DIALLING_MAX <= i) {
            turn();
        }
    }
    while (load.ready_count < count) {
        turn();
    }
}

struct client *load_open_extra(void)
{
    struct client *client = &load.extra;
    CHECK(!client->ready);
    name_client(client, load.client_count + 1);
    (void)snprintf(client->session,
                   CLIENT_NAME_SIZE,
                   "s-extra-%llx",
                   (unsigned long long)load_now());
    socket_dial(&load.sockets, &client->socket);
    load_run_until(&client->ready);
    return client;
}

void load_run_until(const bool *done)
{
    while (!*done) {
        turn();
    }
}

void load_send(struct client *client, const char *text, size_t length)
{
    socket_send(&load.sockets, &client->socket, text, length);
}

void load_ready(struct client *client)
{
    client->ready = true;
    load.ready_count++;
    if (load.events.ready != NULL) {
        load.events.ready(client);
    }
}

void load_acked(struct client *client, uint64_t local_seq, uint64_t seq)
{
    if (load.events.acked != NULL) {
        load.events.acked(client, local_seq, seq);
    }
}

void load_refused(struct client *client, uint64_t local_seq)
{
    if (load.events.refused == NULL) {
        load_fail("write %llu of client %u was refused",
                  (unsigned long long)local_seq,
                  client->index);
    }
    load.events.refused(client, local_seq);
}

void load_watched(struct client *client)
{
    if (load.events.watched != NULL) {
        load.events.watched(client);
    }
}

void load_changed(struct client *client, int64_t value, uint64_t seq)
{
    if (load.events.changed != NULL) {
        load.events.changed(client, value, seq);
    }
}

void load_caught_up(struct client *client, uint64_t local_seq)
{
    if (load.events.caught_up != NULL) {
        load.events.caught_up(client, local_seq);
    }
}

size_t load_document(char *to, size_t room, unsigned number)
{
    const int length =
        snprintf(to,
                 room,
                 "{\"title\":\"Document %u\",\"n\":%u,\"done\":%s,"
                 "\"body\":\"lorem ipsum dolor sit amet lorem ipsum dolor "
                 "sit amet %u\"}",
                 number,
                 number,
                 number % 3 == 0 ? "true" : "false",
                 number);
    CHECK(length > 0 && (size_t)length < room);
    return (size_t)length;
}

size_t load_link(char to[LOAD_LINK_SIZE], unsigned number)
{
    const int length =
        snprintf(to,
                 LOAD_LINK_SIZE,
                 "{\"/\":{\"link@1\":{\"id\":\"of:doc%u\",\"path\":[]}}}",
                 number);
    CHECK(length > 0 && length < LOAD_LINK_SIZE);
    return (size_t)length;
}

/* -- The program --------------------------------------------------------- */

static void put_own(void)
{
    workload_put(false);
}

static void put_shared(void)
{
    workload_put(true);
}

static void counter_increment(void)
{
    workload_counter(false);
}

static void counter_swap(void)
{
    workload_counter(true);
}

static const struct workload {
    const char *name;
    void (*run)(void);
} workloads[] = {
    {"put", put_own},
    {"share", put_shared},
    {"increment", counter_increment},
    {"swap", counter_swap},
    {"fan", workload_fan},
    {"seen", workload_seen},
    {"idle", workload_idle},
    {"seed", workload_seed},
    {"join", workload_join},
    {"crash", workload_crash},
    {"reconnect", workload_reconnect},
};

/* "name=number". */
static bool take_option(const char *option, unsigned *clients)
{
    const char *number = strchr(option, '=');
    if (number == NULL) {
        return false;
    }
    const double value = strtod(number + 1, NULL);
    const size_t length = (size_t)(number - option);
    if (strncmp(option, "clients", length) == 0) {
        *clients = (unsigned)value;
    } else if (strncmp(option, "seconds", length) == 0) {
        load.seconds = value;
    } else if (strncmp(option, "window", length) == 0) {
        load.window = (unsigned)value;
    } else if (strncmp(option, "documents", length) == 0) {
        load.documents = (unsigned)value;
    } else if (strncmp(option, "compress", length) == 0) {
        load.sockets.compress = value > 0;
    } else if (strncmp(option, "spaces", length) == 0) {
        load.own_spaces = value > 0;
    } else {
        return false;
    }
    return true;
}

static int usage(void)
{
    (void)fputs("usage: server_load floor|heddle PORT WORKLOAD [clients=N]"
                " [seconds=N] [window=N] [documents=N] [spaces=1]"
                " [compress=1]\n",
                stderr);
    return 2;
}

int main(int argc, char **argv)
{
    unsigned clients = 1;
    if (argc < 4) {
        return usage();
    }
    load.started_ns = load_now();
    load.window = 1;
    load.documents = 10000;
    load.seconds = 2;
    load.dialect =
        strcmp(argv[1], "floor") == 0 ? &dialect_floor : &dialect_heddle;
    load.sockets = (struct sockets){
        .port = (uint16_t)strtol(argv[2], NULL, 10),
        .path = load.dialect->path,
        .protocol = load.dialect->protocol,
        .opened = socket_opened,
        .received = socket_received,
        .lost = socket_lost,
    };
    for (int i = 4; i < argc; i++) {
        if (!take_option(argv[i], &clients)) {
            return usage();
        }
    }
    sockets_init(&load.sockets);
    load.client_count = clients;
    for (size_t i = 0; i < COUNT_OF(workloads); i++) {
        if (strcmp(argv[3], workloads[i].name) == 0) {
            workloads[i].run();
            return 0;
        }
    }
    return usage();
}
