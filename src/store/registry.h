/* The registry: threads and environments as rows, and as documents.
 *
 * A thread and an environment are each one row in the file of a space, and one
 * document in that space ("thread:ID", "environment:ID") with the same content.
 * So a computation reads a status like any other data, and runs when it
 * changes. "lifecycle:counts" has the number of each status.
 *
 *   registry-1  A row and its document change in one SQL transaction: a reader
 *               sees both or neither.
 *   registry-2  Only store/lifecycle.h writes the status of an existing row.
 *               This file creates and removes rows, and writes the other
 *               columns.
 *   registry-3  Listeners are notified after a change was committed, once, in
 *               the order of the changes.
 *   registry-4  The rows belong to this file. They are not in the records of
 *               the engine, so a registry cannot be combined with a log.
 *
 * Every change happens between registry_begin and registry_end. A status in a
 * row is a name; an unknown one means that the file is damaged.
 *
 * Not here: what a status means (src/lifecycle), and which requests are made
 * when (src/service). */

#ifndef STORE_REGISTRY_H
#define STORE_REGISTRY_H

#include "lifecycle/machine.h"
#include "store/engine.h"

enum {
    REGISTRY_NAME_SIZE = 121,        /* an id or a token, including its zero
                                        byte */
    REGISTRY_TEXT_MAX = 1024 * 1024, /* an input, a path */
};

/* A change of a status. */
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
    /* registry-3; may begin a transaction of its own. */
    void (*on_change)(void *ctx, const struct registry_change *change);
    /* Called between loading a row and writing its status, for tests. */
    void (*after_load)(void *ctx);
    void *ctx;
};

struct registry {
    struct engine *engine;
    struct registry_options options;
    uint64_t now_ms;                     /* of the transaction */
    bool is_open;                        /* a transaction is open */
    VEC(struct registry_change) changes; /* of the transaction */
    uint64_t not_applied; /* events since the registry was opened */
};

/* Brings "lifecycle:counts" up to date. `engine` outlives the registry. */
MUST_CHECK enum err registry_open(struct registry *registry,
                                  struct engine *engine,
                                  const struct registry_options *options,
                                  uint64_t now_ms,
                                  struct err_detail *detail);
void registry_close(struct registry *registry);

/* A write transaction. registry_end commits if `err` is OK, rolls back
 * otherwise, and returns the outcome (database.h); registry-3. `detail` is not
 * NULL in any function that changes something. */
MUST_CHECK enum err registry_begin(struct registry *registry,
                                   uint64_t now_ms,
                                   struct err_detail *detail);
MUST_CHECK enum err registry_end(struct registry *registry,
                                 enum err err,
                                 struct err_detail *detail);

/* Whether a name is a valid id or token: 1 to 120 letters, digits and
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
    uint64_t since; /* when the status was set */
    bool is_managed;
    bool is_kept; /* kept without a thread, until it is destroyed on request */
    struct value workspace;             /* a path, or absent */
    char attempt[REGISTRY_NAME_SIZE];   /* of destruction; "" is none */
    char provision[REGISTRY_NAME_SIZE]; /* the last request to create it */
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
    bool holds; /* its messages wait until another one arrives */
    uint64_t queued;
};

/* Whether it may still be used. */
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
    REGISTRY_THREADS_UNSETTLED, /* in a transient status */
    REGISTRY_THREADS_OF_ENVIRONMENT,
    REGISTRY_THREADS_WITH_MESSAGE,   /* idle, and does not have to wait */
    REGISTRY_ENVIRONMENTS_UNSETTLED, /* neither ready nor destroyed */
    REGISTRY_SET_COUNT,
};

/* `environment` is for REGISTRY_THREADS_OF_ENVIRONMENT, otherwise NULL. */
MUST_CHECK enum err registry_list(struct registry *registry,
                                  enum registry_set set,
                                  const char *environment,
                                  registry_ids *out,
                                  struct err_detail *detail);

/* -- Changes, inside a transaction --------------------------------------- */

/* A new row in the initial status of its machine. The id must be free. */
MUST_CHECK enum err registry_environment_add(struct registry *registry,
                                             const struct environment_row *row,
                                             struct err_detail *detail);
MUST_CHECK enum err registry_thread_add(struct registry *registry,
                                        const struct thread_row *row,
                                        struct err_detail *detail);

/* Removes the row, its messages and schedules, and its document. */
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

/* Queued messages, first in, first out. *out is absent if there is none. */
MUST_CHECK enum err registry_message_add(struct registry *registry,
                                         const char *thread,
                                         struct value text,
                                         struct err_detail *detail);
MUST_CHECK enum err registry_message_take(struct registry *registry,
                                          const char *thread,
                                          struct value *out,
                                          struct err_detail *detail);

/* A turn that is due at next_at, and then periodically. */
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
/* *moved is false if another process has moved it. */
MUST_CHECK enum err registry_schedule_move(struct registry *registry,
                                           const struct schedule_row *row,
                                           uint64_t next_at,
                                           bool *moved,
                                           struct err_detail *detail);
MUST_CHECK enum err registry_schedules_forget(struct registry *registry,
                                              const char *thread,
                                              struct err_detail *detail);

/* -- For store/lifecycle.c ----------------------------------------------- */

/* Moves one count from a status to another; -1 is none. */
struct registry_move {
    const struct lifecycle_machine *machine;
    int from;
    int to;
};

/* Writes the document of a row as the row is now (registry-1), or removes
 * it. */
MUST_CHECK enum err registry_publish(struct registry *registry,
                                     const struct lifecycle_machine *machine,
                                     const char *id,
                                     const struct registry_move *move,
                                     struct err_detail *detail);

/* Corrects the counts, if necessary. */
MUST_CHECK enum err registry_recount(struct registry *registry,
                                     struct err_detail *detail);

#endif
