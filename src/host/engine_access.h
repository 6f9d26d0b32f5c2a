/* A store in this process, as a host uses it (host/store_access.h): each
 * question is a call of its engine. */

#ifndef HOST_ENGINE_ACCESS_H
#define HOST_ENGINE_ACCESS_H

#include "host/store_access.h"

struct engine_access {
    struct store_access store;
    struct engine *engine; /* borrowed */
};

void engine_access_init(struct engine_access *access, struct engine *engine);

#endif
