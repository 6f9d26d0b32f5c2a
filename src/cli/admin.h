/* A conversation of `heddle admin` with a server: one channel, one question at
 * a time, or several of one kind. */

#ifndef CLI_ADMIN_H
#define CLI_ADMIN_H

#include "cli/options.h"
#include "value/value.h"

struct remote;
struct remote_channel;

struct admin {
    const struct options *options;
    struct remote *remote;
    struct remote_channel *channel;
};

/* Attaches to a space; NULL: the command concerns the server. `create`: it need
 * not exist. CODE_OK, or an exit code after reporting why. */
int admin_open(struct admin *admin,
               const struct options *options,
               const char *space,
               bool create);
void admin_close(struct admin *admin); /* also after a failed admin_open */

/* Sends a question, which it adopts: its number, or 0. */
uint64_t admin_send(struct admin *admin, struct value question);

/* Waits for the answer, new, however long it takes. CODE_OK, or an exit code
 * after reporting why. */
int admin_wait(struct admin *admin, uint64_t number, struct value *answer);

/* Both. */
int admin_ask(struct admin *admin, struct value question, struct value *answer);

/* cli/admin_backup.c */
command_fn admin_backup_run;

#endif
