/* Maintenance: work on the files of a server that takes long, on a thread of
 * its own.
 *
 * A worker submits a job for a channel, and the answer comes to it as an item
 * (server/inbox.h). The thread opens the file of the space by itself, like
 * another process would, so it holds the write lock for the small transactions
 * of store/maintain.h only, and a worker is never blocked for long.
 *
 *   maintenance-1  Every job that was accepted is answered, also one that is
 *                  stopped because the server ends.
 *   maintenance-2  A job names no file. A backup is written below DIR/backups
 *                  under a random name, and has no name any more when its
 *                  channel learns of it: it ends with the channel, and a killed
 *                  server leaves at most the part that it was writing.
 *   maintenance-3  At most MAINTENANCE_JOBS wait, and MAINTENANCE_BACKUPS exist
 *                  at a time. */

#ifndef SERVER_MAINTENANCE_H
#define SERVER_MAINTENANCE_H

#include "auth/capability.h"
#include "server/inbox.h"
#include "server/space_board.h"

enum {
    MAINTENANCE_JOBS = 64,
    MAINTENANCE_BACKUPS = 4,
    MAINTENANCE_PAGE = 500, /* spaces of one answer */
};

enum maintenance_kind {
    MAINTENANCE_SPACES,  /* {"after"?} -> {"spaces":[{"space","seq","bytes",
                            "open","channels","sessions"},...],"next"?} */
    MAINTENANCE_BACKUP,  /* {} -> {"bytes"}, with a backup file */
    MAINTENANCE_COMPACT, /* {"keepFrom"?,"keepCommits"?,"keepAgeMs"?} -> what
                            `heddle store compact --json` prints */
};

/* A copy of a space that has no name. Belongs to one thread at a time. */
struct backup_file {
    int fd;
    uint64_t bytes;
    _Atomic uint32_t *count; /* of all of them */
};
void backup_file_free(struct backup_file *file); /* NULL is harmless */

/* What is to be done, and for whom. Copied. */
struct maintenance_order {
    enum maintenance_kind kind;
    unsigned worker; /* that gets the answer, */
    struct port *port;
    uint32_t channel;
    uint64_t serial;      /* of the channel, */
    uint64_t question_id; /* to this question */
    struct value space;
    struct value question; /* its parameters */
    struct credential credential;
    bool is_service;  /* its principal is */
    bool is_operator; /* sees all spaces */
};

struct maintenance_options {
    const char *folder; /* borrowed */
    struct space_board *board;
    uint64_t (*random)(void *ctx);
    void (*post)(void *ctx, unsigned worker, struct batch *batch);
    void *ctx;
};

struct maintenance;

/* Starts the thread. IO. */
MUST_CHECK enum err maintenance_start(const struct maintenance_options *options,
                                      struct maintenance **out,
                                      struct err_detail *detail);

/* From any thread. OVERLOADED: maintenance-3, or the server ends. */
MUST_CHECK enum err maintenance_submit(struct maintenance *maintenance,
                                       const struct maintenance_order *order,
                                       struct err_detail *detail);

/* Stops the job at hand, refuses the others and new ones. From any thread. */
void maintenance_stop(struct maintenance *maintenance);
bool maintenance_is_idle(struct maintenance *maintenance);

/* Ends the thread; maintenance_free when no backup exists any more. */
void maintenance_join(struct maintenance *maintenance);
void maintenance_free(struct maintenance *maintenance);

#endif
