/* Random schedules for a store: authors who read, write, fall behind and send
 * what they must not. Drawing only; what must come of it is for the test.
 *
 * Everything follows from a seeded `struct random`. Authors behave as replicas
 * do most of the time: they read what they know to be confirmed, with their
 * own layers on top, and number their commits. Now and then they name too many
 * layers or too few, use a number late or twice, mean another branch, or touch
 * a document whose id is that of its content. */

#ifndef TEST_LIB_STORE_SCHEDULE_H
#define TEST_LIB_STORE_SCHEDULE_H

#include "lib/gen.h"
#include "lib/store_kit.h"
#include "lib/store_model.h"

enum {
    GROUP_MAX = 5,
    AUTHORS_MAX = 4,
    CONTENT_COUNT = 2, /* documents whose id is that of their content */
};

/* Somebody who writes: up to `confirmed` the store's state is known, and
 * `layers` were sent since. */
struct author {
    struct value session;
    struct value principal;
    uint64_t next_local;
    uint64_t held; /* a number that was left out, to come late; or 0 */
    uint64_t confirmed;
    VEC(uint64_t) layers; /* ascending */
};

/* A compaction, and how many records there were. */
struct compaction {
    size_t records;
    uint64_t keep_from;
};

struct schedule {
    struct random *random;
    struct store_kit kit;
    struct store_kit beside; /* another engine on the same file */
    bool in_file;
    struct store_model model;
    struct path_table paths;
    struct gen gen;
    struct author authors[AUTHORS_MAX];
    size_t author_count;
    uint64_t id_count;
    bool failed;
    VEC(struct commit *) commits;        /* all that were sent */
    VEC(struct author *) commit_authors; /* of each */
    VEC(struct value) owned;             /* names of branches */
    VEC(struct value) records;
    VEC(struct compaction) compactions;
    uint64_t first_fork; /* no branches before that step */
};

/* In memory, or two engines on one file. */
void schedule_init(struct schedule *schedule,
                   struct random *random,
                   bool in_file);
void schedule_release(struct schedule *schedule);

/* Either engine of a file will do. */
struct store_kit *schedule_kit(struct schedule *schedule);

/* The ids of all documents, ascending; yours to release. */
size_t schedule_id_count(const struct schedule *schedule);
struct value schedule_id(const struct schedule *schedule, size_t index);

/* Yours to release. */
struct target draw_target(struct schedule *schedule);

/* Which author sends what: something new, the same again, or something else
 * under a number that was used. */
const struct commit *draw_commit(struct schedule *schedule,
                                 struct author **author);

/* The next number of an author, for a commit that somebody else makes; and
 * that commit as the schedule keeps it: read from what it is written as. */
uint64_t draw_local_seq(struct schedule *schedule, struct author *author);
const struct commit *schedule_keep(struct schedule *schedule,
                                   struct author *author,
                                   const struct commit *commit);

#endif
