/* The load generator: one thread, many clients, one of two protocols.
 *
 * A *dialect* is what is spoken: that of server_floor, or ours. A *workload*
 * says when a client writes, and reacts to what its clients are told. So the
 * same workload measures both servers, and what a client costs is about the
 * same.
 *
 * Only one run per process: the state is global. */

#ifndef BENCH_SERVER_LOAD_H
#define BENCH_SERVER_LOAD_H

#include "base/vec.h"
#include "socket.h"

enum {
    CLIENT_NAME_SIZE = 24,
    CLIENT_TOKEN_SIZE = 80,
    LOAD_LINK_SIZE = 80,
};

struct client {
    struct socket socket; /* first */
    unsigned index;
    bool ready; /* its session is open */

    /* Of the dialect. */
    char space[CLIENT_NAME_SIZE];
    char session[CLIENT_NAME_SIZE];
    char token[CLIENT_TOKEN_SIZE];
    uint64_t connection;
    uint64_t number;    /* of the last message on this connection */
    uint64_t local_seq; /* of the last write */

    /* Of the workload. */
    uint64_t sent_ns;   /* when its write was sent */
    bool waiting;       /* for the verdict, or what follows a conflict */
    bool refused;       /* the write conflicted */
    uint64_t acked;     /* writes */
    uint64_t conflicts; /* writes that were refused and made again */
    int64_t value;      /* of the key that the workload looks at */
    uint64_t seq;       /* at which it was so */
    uint64_t seen_seq;  /* everything up to this was received */
    uint64_t documents; /* that it was sent */
};

struct dialect {
    const char *name;
    const char *path;
    const char *protocol;

    /* The socket is open: leads to `ready`. */
    void (*begin)(struct client *client);

    /* Leads to `changed` with the current state, then to `watched`. */
    void (*watch)(struct client *client, const char *id);

    /* All documents of the workload "seed": leads to `watched`, with the
     * number of documents in the client. */
    void (*join)(struct client *client, unsigned count);

    /* Writes: each leads to `acked` or `refused` with client->local_seq. */
    void (*put)(struct client *client,
                const char *id,
                const char *key,
                int64_t value);
    void (*increment)(struct client *client, const char *id, const char *key);

    /* A put that lands only if the key is as it was at client->seq; or NULL. */
    void (*swap)(struct client *client,
                 const char *id,
                 const char *key,
                 int64_t value);

    /* The small documents from `first` on: leads to one `acked`. */
    void (*seed)(struct client *client, unsigned first, unsigned count);

    /* A document with links to all of them, likewise; or NULL: a join needs
     * none. */
    void (*seed_root)(struct client *client, unsigned count);

    /* An increment again, on another connection, as the same write; or NULL. */
    void (*repeat)(struct client *client, const char *id, const char *key);

    void (*receive)(struct client *client, const char *text, size_t length);
};

extern const struct dialect dialect_floor;
extern const struct dialect dialect_heddle;

/* What the clients are told; NULL: it does not matter. */
struct workload_events {
    void (*ready)(struct client *client);
    void (*watched)(struct client *client);
    void (*acked)(struct client *client, uint64_t local_seq, uint64_t seq);
    void (*refused)(struct client *client, uint64_t local_seq);
    void (*changed)(struct client *client, int64_t value, uint64_t seq);
    void (*caught_up)(struct client *client, uint64_t local_seq);
    void (*lost)(struct client *client);
};

struct load {
    struct sockets sockets;
    const struct dialect *dialect;
    struct workload_events events;
    const char *key; /* whose number `changed` reports, or NULL */
    struct client *clients;
    struct client extra; /* load_open_extra */
    unsigned client_count;
    unsigned ready_count;
    bool own_spaces;     /* each client has its own space */
    uint64_t started_ns; /* names the sessions: each run has others */

    unsigned window;
    unsigned documents;
    double seconds;

    /* The measurement. */
    uint64_t begin_ns; /* 0: not begun */
    uint64_t end_ns;
    double cpu_from;
    VEC(double) latencies; /* ns */
};

extern struct load load;

uint64_t load_now(void);

/* Dials so many clients and waits until all are ready. */
void load_open(unsigned count);

/* One more client, not among load.clients, ready; once per run. */
struct client *load_open_extra(void);

/* Handles events until *done; ends the program if nothing happens for long. */
void load_run_until(const bool *done);

/* Sets the time in which latencies count: after a short warm-up. */
void load_begin(void);

/* Whether no more writes are to begin. */
bool load_is_over(uint64_t now);

/* A write was acknowledged: counts it if it is in time. */
void load_sample(uint64_t sent_ns, uint64_t now);

/* Prints what every workload prints, without the final brace: the caller adds
 * its own fields. `operations` 0: as many as samples. */
void load_print(uint64_t operations);

/* Prints a line at once, for the program that started this one. */
void load_say(const char *line);

/* Ends the program with a sentence. */
__attribute__((format(printf, 1, 2))) _Noreturn void load_fail(
    const char *format,
    ...);

/* The text of a small document, of the workloads "seed" and "join", as JSON;
 * its length. */
size_t load_document(char *to, size_t room, unsigned number);

/* The same of a link to it. */
size_t load_link(char to[LOAD_LINK_SIZE], unsigned number);

/* -- For dialects -------------------------------------------------------- */

void load_send(struct client *client, const char *text, size_t length);
void load_ready(struct client *client);
void load_acked(struct client *client, uint64_t local_seq, uint64_t seq);
void load_refused(struct client *client, uint64_t local_seq);
void load_watched(struct client *client);
void load_changed(struct client *client, int64_t value, uint64_t seq);
void load_caught_up(struct client *client, uint64_t local_seq);

/* -- Workloads ----------------------------------------------------------- */

/* Every client writes one key at a time, each its own document; `shared`: all
 * of them keys of one document, which all of them watch. */
void workload_put(bool shared);

/* Every client increments one counter, as an operation or by reading and
 * writing. Checks that the counter is what was acknowledged. */
void workload_counter(bool swap);

/* A client writes, the others watch: a write is over when all have it. */
void workload_fan(void);

/* Two clients: how long after it was sent a write is seen by the other. */
void workload_seen(void);

/* Opens sessions, prints a line and waits until standard input closes. */
void workload_idle(void);

/* Writes the small documents; reads all of them with one watch. */
void workload_seed(void);
void workload_join(void);

/* Every client increments its own document, whatever happens to the server:
 * clients reconnect and send again what was not acknowledged. Checks that each
 * document counts what was acknowledged. */
void workload_crash(void);

/* Opens watching clients, prints a line, and measures from the loss of the
 * connections until all clients are current again. */
void workload_reconnect(void);

#endif
