/* The list of all machines. */

#include "lifecycle/catalog.h"

#include <string.h>

#include "lifecycle/environment.h"
#include "lifecycle/piece.h"
#include "lifecycle/thread.h"

const struct lifecycle_machine
    *const lifecycle_machines[LIFECYCLE_MACHINE_COUNT] = {
        &thread_lifecycle,
        &observed_thread_lifecycle,
        &environment_lifecycle,
        &observed_environment_lifecycle,
        &piece_lifecycle,
};

const struct lifecycle_machine *lifecycle_machine_find(
    const char *name,
    enum lifecycle_profile profile)
{
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        if (lifecycle_machines[i]->profile == profile &&
            strcmp(lifecycle_machines[i]->name, name) == 0) {
            return lifecycle_machines[i];
        }
    }
    return NULL;
}
