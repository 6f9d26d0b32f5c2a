/* The registry: threads and environments as rows, and as documents.
 *
 * A thread and an environment are each one row in the file of a space, and one
 * document in that space ("thread:ID", "environment:ID"), which says the same:
 * so a computation reads a status as it reads anything else, and is told when
 * it changes. "lifecycle:counts" says how many there are in each status.
 *
 *   R1  A row and its document change in one SQL transaction: whoever sees the
 *       one sees the other.
 *   R2  The status of a row that exists is written by store/lifecycle.h alone.
 *       What is here makes rows, removes them, and writes the other columns.
 *   R3  Who is told about a change is told after it was committed, once, in
 *       the order of the changes.
 *   R4  The rows belong to this file. They are not in the records of the
 *       engine, so a registry and a log do not go together.
 *
 * Every change happens between registry_begin and registry_end. A status in a
 * row is a name; one that the machine does not know is a damaged file.
 *
 * Not here: what a status means (src/lifecycle), who asks for what and when
 * (src/service). */

#ifndef STORE_REGISTRY_H
#define STORE_REGISTRY_H

#include "lifecycle/machine.h"
#include "store/engine.h"

enum {
    REGISTRY_NAME_SIZE = 121,        /* an id or a token, with its zero byte */
    REGISTRY_TEXT_MAX = 1024 * 1024, /* an input, a path */
};

/* A status that has changed. */
struct registry_change {
    const struct lifecycle_machine *machine;
    char id[REGISTRY_NAME_SIZE];
    uint8_t event;
    uint8_t from;
    uint8_t to;
};

struct registry_options {
    /* Where an event that does not apply is explained (base/log.h), or NULL. */
    const struct log *log;
    /* R3; may begin a transaction of its own. */
    void (*on_change)(void *ctx, const struct registry_change *change);
    /* Between the loading of a row and the writing of its status, for tests. */
    void (*after_load)(void *ctx);
    void *ctx;
};

struct registry {
    struct engine *engine;
    struct registry_options options;
    uint64_t now_ms;                     /* of the transaction */
    bool is_open;                        /* a transaction is */
    VEC(struct registry_change) changes; /* of the transaction */
    uint64_t not_applied; /* events, since the registry was opened */
};

/* Makes "lifecycle:counts" true. `engine` outlives the registry. */
MUST_CHECK enum err registry_open(struct registry *registry,
                                  struct engine *engine,
                                  const struct registry_options *options,
                                  uint64_t now_ms,
                                  struct err_detail *detail);
void registry_close(struct registry *registry);

/* A write transaction. registry_end commits if `err` is OK, rolls back
 * otherwise, and returns what is true then (database.h); R3. `detail` is not
 * NULL in any function that changes something. */
MUST_CHECK enum err registry_begin(struct registry *registry,
                                   uint64_t now_ms,
                                   struct err_detail *detail);
MUST_CHECK enum err registry_end(struct registry *registry,
                                 enum err err,
                                 struct err_detail *detail);

/* Whether a name can be an id or a token: 1 to 120 of letters, digits and
 * "-._~:". */
bool registry_name_is_valid(const char *name);

/* ARGUMENT unless the text is UTF-8 of at most REGISTRY_TEXT_MAX bytes. */
MUST_CHECK enum err registry_text(const char *text,
                                  struct value *out,
                                  struct err_detail *detail);

/* -- Rows ---------------------------------------------------------------- */

struct environment_row {
    char id[REGISTRY_NAME_SIZE];
    uint8_t status; /* enum environment_status */
    uint64_t since; /* when the status became so */
    bool is_managed;
    bool is_kept; /* also without a thread, until somebody destroys it */
    struct value workspace;             /* a path, or absent */
    char attempt[REGISTRY_NAME_SIZE];   /* to destroy it; "" is none */
    char provision[REGISTRY_NAME_SIZE]; /* the last request to make it */
};

struct thread_row {
    char id[REGISTRY_NAME_SIZE];
    uint8_t status; /* enum thread_status */
    uint64_t since;
    char environment[REGISTRY_NAME_SIZE];
    char parent[REGISTRY_NAME_SIZE]; /* "" is none */
    char run[REGISTRY_NAME_SIZE];    /* "" is none */
    struct value input;              /* of its last run, or absent */
    bool is_archived;
    bool is_deleted;
    uint64_t attention_at;
    bool holds; /* its messages wait for somebody to say more */
    uint64_t queued;
};

/* Somebody may still use it. */
static inline bool thread_is_live(const struct thread_row *row)
{
    return !row->is_archived && !row->is_deleted;
}

void environment_row_release(struct environment_row *row);
void thread_row_release(struct thread_row *row);

/* *found is false, and the row empty, if there is none. */
MUST_CHECK enum err registry_environment(struct registry *registry,
                                         const char *id,
                                         struct environment_row *out,
                                         bool *found,
                                         struct err_detail *detail);
MUST_CHECK enum err registry_thread(struct registry *registry,
                                    const char *id,
                                    struct thread_row *out,
                                    bool *found,
                                    struct err_detail *detail);

/* Ids, ascending. */
typedef VEC(char *) registry_ids;
void registry_ids_release(registry_ids *ids);

enum registry_set {
    REGISTRY_THREADS_UNSETTLED, /* in a status that does not rest */
    REGISTRY_THREADS_OF_ENVIRONMENT,
    REGISTRY_THREADS_WITH_MESSAGE,   /* idle, and it does not have to wait */
    REGISTRY_ENVIRONMENTS_UNSETTLED, /* neither ready nor destroyed */
    REGISTRY_SET_COUNT,
};

/* `environment` of REGISTRY_THREADS_OF_ENVIRONMENT, otherwise NULL. */
MUST_CHECK enum err registry_list(struct registry *registry,
                                  enum registry_set set,
                                  const char *environment,
                                  registry_ids *out,
                                  struct err_detail *detail);

/* -- Changes, inside a transaction --------------------------------------- */

/* A new row in the first status of its machine. The id is free. */
MUST_CHECK enum err registry_environment_add(struct registry *registry,
                                             const struct environment_row *row,
                                             struct err_detail *detail);
MUST_CHECK enum err registry_thread_add(struct registry *registry,
                                        const struct thread_row *row,
                                        struct err_detail *detail);

/* The row, its messages and schedules, and its document. */
MUST_CHECK enum err registry_thread_remove(struct registry *registry,
                                           const char *id,
                                           struct err_detail *detail);

MUST_CHECK enum err registry_set_provision(struct registry *registry,
                                           const char *id,
                                           const char *provision,
                                           struct err_detail *detail);
MUST_CHECK enum err registry_set_kept(struct registry *registry,
                                      const char *id,
                                      bool kept,
                                      struct err_detail *detail);
MUST_CHECK enum err registry_set_input(struct registry *registry,
                                       const char *id,
                                       struct value input,
                                       struct err_detail *detail);
MUST_CHECK enum err registry_set_holds(struct registry *registry,
                                       const char *id,
                                       bool holds,
                                       struct err_detail *detail);
MUST_CHECK enum err registry_set_archived(struct registry *registry,
                                          const char *id,
                                          bool archived,
                                          struct err_detail *detail);
MUST_CHECK enum err registry_set_deleted(struct registry *registry,
                                         const char *id,
                                         struct err_detail *detail);

/* Messages that wait, first in, first out. *out is absent if there is none. */
MUST_CHECK enum err registry_message_add(struct registry *registry,
                                         const char *thread,
                                         struct value text,
                                         struct err_detail *detail);
MUST_CHECK enum err registry_message_take(struct registry *registry,
                                          const char *thread,
                                          struct value *out,
                                          struct err_detail *detail);

/* A turn that is due at next_at, and then every so often. */
struct schedule_row {
    char thread[REGISTRY_NAME_SIZE];
    char name[REGISTRY_NAME_SIZE];
    uint64_t next_at;
    uint64_t every_ms;
    struct value text;
};

typedef VEC(struct schedule_row) schedule_rows;
void schedule_rows_release(schedule_rows *rows);

MUST_CHECK enum err registry_schedule_put(struct registry *registry,
                                          const struct schedule_row *row,
                                          struct err_detail *detail);
MUST_CHECK enum err registry_schedules_due(struct registry *registry,
                                           uint64_t now_ms,
                                           schedule_rows *out,
                                           struct err_detail *detail);
/* *moved is false if somebody else has moved it. */
MUST_CHECK enum err registry_schedule_move(struct registry *registry,
                                           const struct schedule_row *row,
                                           uint64_t next_at,
                                           bool *moved,
                                           struct err_detail *detail);
MUST_CHECK enum err registry_schedules_forget(struct registry *registry,
                                              const char *thread,
                                              struct err_detail *detail);

/* -- For store/lifecycle.c ----------------------------------------------- */

/* A count that goes from one status to another; -1 is none. */
struct registry_move {
    const struct lifecycle_machine *machine;
    int from;
    int to;
};

/* Writes the document of a row as the row is now (R1), or takes it away. */
MUST_CHECK enum err registry_publish(struct registry *registry,
                                     const struct lifecycle_machine *machine,
                                     const char *id,
                                     const struct registry_move *move,
                                     struct err_detail *detail);

/* Makes the counts true, if they are not. */
MUST_CHECK enum err registry_recount(struct registry *registry,
                                     struct err_detail *detail);

#endif
