/* Claims: names that belong to one runtime at a time, until it gives them back
 * or ends, in whatever way.
 *
 *   CLAIM_SENDER  an instance of a runtime that stores events: other runtimes
 *                 leave its events to it (stored-2 of runtime/stored_events.h)
 *   CLAIM_TASK    the key of a task (task-5 of runtime/task.h)
 *
 * The runtimes on one data directory claim with locked files
 * (claims_in_folder); those on a server ask it (host/questions.h), and it takes
 * the locked files for them (host/client_leases.h). So both exclude each other.
 */

#ifndef HOST_CLAIMS_H
#define HOST_CLAIMS_H

#include <stdbool.h>

#include "base/err.h"
#include "runtime/runtime.h"
#include "value/value.h"

struct claims;

enum claim_kind {
    CLAIM_SENDER,
    CLAIM_TASK,
};

struct claims_methods {
    /* NULL: another runtime has it, or it cannot be had now. */
    void *(*take)(struct claims *claims,
                  enum claim_kind kind,
                  struct value name);
    void (*give_back)(struct claims *claims, void *claim);

    /* Whether a runtime has it. If that cannot be found out, it has. */
    bool (*is_held)(struct claims *claims,
                    enum claim_kind kind,
                    struct value name);
};

struct claims {
    const struct claims_methods *methods;
};

/* The folder of DIR that has the locked files of a kind. */
const char *claim_folder(enum claim_kind kind);

/* Of runtimes on a data directory, whose name is borrowed. */
struct folder_claims {
    struct claims claims;
    const char *folder;
};

void folder_claims_init(struct folder_claims *claims, const char *folder);

/* For the options of a runtime; NULL: it is alone. */
struct task_claims task_claims_of(struct claims *claims);

#endif
