/* All machines, by name and profile. Not here: what is in them. */

#ifndef LIFECYCLE_CATALOG_H
#define LIFECYCLE_CATALOG_H

#include "lifecycle/machine.h"

enum {
    LIFECYCLE_MACHINE_COUNT = 5,
};

/* The strict machine of each name before its observed one. */
extern const struct lifecycle_machine
    *const lifecycle_machines[LIFECYCLE_MACHINE_COUNT];

/* The machine with that name in that profile, or NULL. */
const struct lifecycle_machine *lifecycle_machine_find(
    const char *name,
    enum lifecycle_profile profile);

#endif
