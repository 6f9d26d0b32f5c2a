/* A store against its model: everything that can be asked of an engine is
 * asked, and must be what the list of commits says.
 *
 * All of these take the engine to ask, because there are several that must be
 * the same: those of the schedule, copies of its file, and replicas that were
 * made from its records. A difference is a failure of the test, and
 * schedule->failed. */

#ifndef TEST_LIB_STORE_COMPARE_H
#define TEST_LIB_STORE_COMPARE_H

#include "lib/store_schedule.h"

/* One document at one seq: the same value, or SEQUENCE if that is before the
 * horizon, before the fork or after the head. */
void compare_document(struct schedule *schedule,
                      struct store_kit *kit,
                      size_t branch,
                      const struct author *author,
                      const struct target *target,
                      uint64_t seq);

/* One of them, somewhere in its history. True if its seq was refused because
 * of the horizon. */
bool compare_any_document(struct schedule *schedule, struct store_kit *kit);

/* Every document of every author on every branch; at every seq, if `whole`. */
void compare_documents(struct schedule *schedule,
                       struct store_kit *kit,
                       bool whole);

/* The list of branches, what each of them lists, and how two of them differ. */
void compare_branches(struct schedule *schedule, struct store_kit *kit);

/* The check of store/verify.h finds nothing, and the records above the horizon
 * are those that were applied. */
void compare_history(struct schedule *schedule, struct store_kit *kit);

/* The records alone make an equal store, which is compacted where this one
 * was; and one that never was, with the same chain and all of the past. */
void compare_replica(struct schedule *schedule);
void compare_uncompacted_replica(struct schedule *schedule);

/* A copy that is made now is the same store. */
void compare_backup(struct schedule *schedule, struct store_kit *kit);

#endif
