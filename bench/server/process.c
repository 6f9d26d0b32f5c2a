/* Starting, stopping and asking the processes of a server benchmark. */

#include "process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "value/json.h"
#include "value/object.h"

enum {
    WORDS_MAX = 16,
    START_MS = 10000,
    LINE_SIZE = 4096,
    PORT_FIRST = 20000,
    PORT_COUNT = 10000,
};

static struct {
    char programs[PROCESS_PATH];
    char folder[64];
    unsigned servers;
    bool steady;
    pid_t running[8]; /* so that a failure leaves none behind */
} processes;

/* -- This program -------------------------------------------------------- */

static void note_running(pid_t pid, bool running)
{
    for (size_t i = 0; i < COUNT_OF(processes.running); i++) {
        if (processes.running[i] == (running ? 0 : pid)) {
            processes.running[i] = running ? pid : 0;
            return;
        }
    }
}

_Noreturn void process_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fputs("bench_server: ", stderr);
    (void)vfprintf(stderr, format, list);
    (void)fprintf(stderr, "; see %s/log\n", processes.folder);
    va_end(list);
    for (size_t i = 0; i < COUNT_OF(processes.running); i++) {
        if (processes.running[i] != 0) {
            (void)kill(processes.running[i], SIGKILL);
        }
    }
    exit(1);
}

static void on_signal(int number)
{
    for (size_t i = 0; i < COUNT_OF(processes.running); i++) {
        if (processes.running[i] != 0) {
            (void)kill(processes.running[i], SIGKILL);
        }
    }
    _exit(128 + number);
}

void processes_open(const char *self)
{
    const char *slash = strrchr(self, '/');
    (void)snprintf(processes.programs,
                   sizeof processes.programs,
                   "%.*s",
                   slash != NULL ? (int)(slash + 1 - self) : 0,
                   self);
    processes.steady = getenv("BENCH_STEADY") != NULL;
    (void)snprintf(processes.folder,
                   sizeof processes.folder,
                   "%s/bench-server-XXXXXX",
                   processes.steady ? "/dev/shm" : "build");
    if (mkdtemp(processes.folder) == NULL) {
        process_fail("there is no folder for data");
    }
    const struct sched_param priority = {.sched_priority = 1};
    if (processes.steady && sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
        process_fail("a steady run needs real-time priority");
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGINT, on_signal);
}

bool processes_are_steady(void)
{
    return processes.steady;
}

static int remove_one(const char *path,
                      const struct stat *about,
                      int kind,
                      struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void processes_close(void)
{
    (void)nftw(processes.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void process_file(char to[PROCESS_PATH], const char *name)
{
    (void)snprintf(to,
                   PROCESS_PATH,
                   "%s/%u-%s",
                   processes.folder,
                   ++processes.servers,
                   name);
}

uint64_t process_now(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void pause_ms(long ms)
{
    const struct timespec pause = {.tv_nsec = ms * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* In the new process: any CPU, and what it complains about goes to a file. */
static _Noreturn void become(char *const *words, int in, int out)
{
    char path[PROCESS_PATH + 16];
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    (void)sched_setaffinity(0, sizeof all, &all);
    (void)snprintf(path, sizeof path, "%s/log", processes.folder);
    const int log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    (void)dup2(in, STDIN_FILENO);
    (void)dup2(out >= 0 ? out : log, STDOUT_FILENO);
    (void)dup2(log, STDERR_FILENO);
    (void)signal(SIGPIPE, SIG_DFL);
    if (processes.steady) {
        (void)
            snprintf(path, sizeof path, "%ssteady_disk.so", processes.programs);
        (void)setenv("LD_PRELOAD", path, 1);
    }
    (void)execv(words[0], words);
    _exit(127);
}

/* -- Servers ------------------------------------------------------------- */

/* Below the ports that the system gives to clients: one of those that dials
 * while no server listens could get the port, and connect to itself. */
static uint16_t free_port(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint16_t port = (uint16_t)(PORT_FIRST + (unsigned)getpid() % PORT_COUNT);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    CHECK(fd >= 0);
    for (unsigned tries = 0;; tries++) {
        address.sin_port = htons(port);
        if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0) {
            break;
        }
        if (tries == PORT_COUNT) {
            process_fail("there is no free port");
        }
        port = port + 1 < PORT_FIRST + PORT_COUNT ? port + 1 : PORT_FIRST;
    }
    (void)close(fd);
    return port;
}

static bool accepts(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons(port),
    };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    const bool accepted =
        connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    (void)close(fd);
    return accepted;
}

static bool is_ours(enum server_kind kind)
{
    return kind == SERVER_OURS || kind == SERVER_COMPRESSING;
}

static void run_server(const struct server_process *server)
{
    char program[PROCESS_PATH + 16];
    char data[PROCESS_PATH];
    char port[16];
    char address[32];
    (void)snprintf(program,
                   sizeof program,
                   "%s%s",
                   processes.programs,
                   is_ours(server->kind) ? "../heddle" : "server_floor");
    (void)snprintf(data,
                   sizeof data,
                   "%s/data-%u",
                   processes.folder,
                   server->number);
    (void)snprintf(port, sizeof port, "%u", server->port);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", server->port);
    char serve[] = "serve";
    char dir[] = "--dir";
    char listen[] = "--listen";
    char insecure[] = "--insecure-local";
    char set[] = "--set";
    char compress[] = "compress=true";
    char none[] = "none";
    char sqlite[] = "sqlite";
    char *ours[] = {program,
                    serve,
                    dir,
                    data,
                    listen,
                    address,
                    insecure,
                    NULL,
                    compress,
                    NULL};
    char *floor[] = {program, port, sqlite, data, NULL};
    char *wire[] = {program, port, none, NULL};
    if (server->kind == SERVER_COMPRESSING) {
        ours[7] = set;
    }
    char **words = is_ours(server->kind)          ? ours
                   : server->kind == SERVER_FLOOR ? floor
                                                  : wire;
    become(words, open("/dev/null", O_RDONLY), -1);
}

uint64_t server_restart(struct server_process *server)
{
    const uint64_t from = process_now();
    server->pid = fork();
    CHECK(server->pid >= 0);
    if (server->pid == 0) {
        run_server(server);
    }
    note_running(server->pid, true);
    while (!accepts(server->port)) {
        if (waitpid(server->pid, NULL, WNOHANG) != 0) {
            process_fail("a server ended while it started");
        }
        if (process_now() - from > START_MS * 1000000ULL) {
            process_fail("a server does not listen");
        }
        pause_ms(1);
    }
    return from;
}

void server_start(struct server_process *server, enum server_kind kind)
{
    *server = (struct server_process){
        .kind = kind,
        .number = ++processes.servers,
        .port = free_port(),
    };
    if (is_ours(kind)) {
        char data[PROCESS_PATH];
        (void)snprintf(data,
                       sizeof data,
                       "%s/data-%u",
                       processes.folder,
                       server->number);
        CHECK(mkdir(data, 0755) == 0);
    }
    (void)server_restart(server);
}

static void end_server(struct server_process *server, int with)
{
    if (server->pid != 0) {
        (void)kill(server->pid, with);
        (void)waitpid(server->pid, NULL, 0);
        note_running(server->pid, false);
        server->pid = 0;
    }
}

/* The floor has no SIGTERM of its own, and nothing to finish. */
void server_stop(struct server_process *server)
{
    end_server(server, SIGTERM);
}

void server_kill(struct server_process *server)
{
    end_server(server, SIGKILL);
}

double server_memory(const struct server_process *server)
{
    char path[64];
    char line[256];
    double bytes = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)server->pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            bytes = strtod(line + 6, NULL) * 1024;
        }
    }
    if (file == NULL || bytes < 1) {
        process_fail("the memory of a server is not known");
    }
    (void)fclose(file);
    return bytes;
}

/* Fields 14 and 15 of the line, of which the second is a name in brackets. */
double server_cpu(const struct server_process *server)
{
    char path[64];
    char line[1024] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)server->pid);
    FILE *file = fopen(path, "r");
    const char *at = file != NULL && fgets(line, sizeof line, file) != NULL
                         ? strrchr(line, ')')
                         : NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    for (unsigned i = 2; at != NULL && i < 14; i++) {
        at = strchr(at + 1, ' ');
    }
    if (at == NULL) {
        process_fail("the CPU time of a server is not known");
    }
    char *end;
    const double user = strtod(at, &end);
    const double system = strtod(end, NULL);
    return (user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* -- Loads --------------------------------------------------------------- */

void load_start(struct load_process *load,
                const struct server_process *server,
                const char *workload)
{
    char program[PROCESS_PATH + 16];
    char dialect[16];
    char port[16];
    char options[256];
    int down[2];
    int up[2];
    (void)
        snprintf(program, sizeof program, "%sserver_load", processes.programs);
    (void)snprintf(dialect,
                   sizeof dialect,
                   "%s",
                   is_ours(server->kind) ? "heddle" : "floor");
    (void)snprintf(port, sizeof port, "%u", server->port);
    (void)snprintf(options, sizeof options, "%s", workload);
    char *words[WORDS_MAX] = {program, dialect, port};
    unsigned count = 3;
    char *rest = NULL;
    for (char *word = strtok_r(options, " ", &rest);
         word != NULL && count + 1 < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        words[count++] = word;
    }
    CHECK(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0);
    load->pid = fork();
    CHECK(load->pid >= 0);
    if (load->pid == 0) {
        become(words, down[0], up[1]);
    }
    note_running(load->pid, true);
    (void)close(down[0]);
    (void)close(up[1]);
    load->to = down[1];
    load->from = fdopen(up[0], "r");
    CHECK(load->from != NULL);
}

void load_wait_ready(struct load_process *load)
{
    char line[LINE_SIZE];
    if (fgets(line, sizeof line, load->from) == NULL ||
        strcmp(line, "ready\n") != 0) {
        process_fail("a load did not become ready");
    }
}

struct value load_finish(struct load_process *load)
{
    char line[LINE_SIZE];
    int status = 0;
    struct value result = VALUE_NONE;
    (void)close(load->to);
    const bool printed = fgets(line, sizeof line, load->from) != NULL;
    (void)fclose(load->from);
    (void)waitpid(load->pid, &status, 0);
    note_running(load->pid, false);
    if (!printed || status != 0 ||
        json_read(line, strlen(line), NULL, &result, NULL) != ERR_OK ||
        !value_is_object(result)) {
        process_fail("a load failed");
    }
    return result;
}

struct value load_run(const struct server_process *server, const char *workload)
{
    struct load_process load;
    load_start(&load, server, workload);
    return load_finish(&load);
}

double load_figure(struct value result, const char *field)
{
    const struct value figure = object_field(result, field);
    if (!value_is_number(figure)) {
        process_fail("a load printed no %s", field);
    }
    return value_real(figure);
}
