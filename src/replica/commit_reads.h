/* What a commit declares to the store: what its author read, and what must
 * hold. */

#ifndef REPLICA_COMMIT_READS_H
#define REPLICA_COMMIT_READS_H

#include "proto/commit.h"
#include "replica/space.h"

/* The reads and preconditions of a transaction that concern `space`. */
void commit_reads_add(struct commit *commit,
                      const struct space *space,
                      const struct transaction *transaction);

#endif
