/* Restarts in tests: a stage (lib/sched_kit.h) whose nodes are actions of a
 * piece, and a second process that takes it up.
 *
 *   kit_begin_with_store(&kit, false);
 *   kit.piece = "p";
 *   ... nodes, runs ...
 *   kit_restart(&kit, false);
 *   struct persist persist;
 *   persist_begin(&persist, &kit, 0);
 *   ... the same nodes ...
 *   EXPECT_TEXT(persist_end(&persist), "restored 3 dirty 0 unknown 0");
 */

#ifndef TEST_LIB_PERSIST_KIT_H
#define TEST_LIB_PERSIST_KIT_H

#include "lib/sched_kit.h"
#include "lib/store_kit.h"
#include "sched/persistence.h"
#include "store/observations.h"

enum {
    PERSIST_PAGES = 64
};

struct persist {
    struct sched_kit *kit;
    struct value piece;
    struct resume_page pages[PERSIST_PAGES];
    const struct resume_page *list[PERSIST_PAGES];
    size_t count;
    struct resume_asked asked; /* if its space is not absent */
    bool begun;
    struct resume_counts counts;
    char text[80];
};

/* Who a node of that name is, if the kit has a piece. The piece's name is a
 * reference. */
struct node_identity persist_identity(const struct sched_kit *kit,
                                      const char *name);

/* What is at these places ("a b.x") is asked for, and has come. */
void kit_load(struct sched_kit *kit, const char *line);

/* Asks for the pages, of `limit` actions each (0: one page). */
void persist_list(struct persist *persist,
                  struct sched_kit *kit,
                  uint32_t limit);

/* Asks the store of another space what has changed there. */
enum err persist_ask(struct persist *persist,
                     struct engine *engine,
                     const struct space *space);

/* Begins the phase with them. */
enum err persist_take(struct persist *persist);

/* Both; and it must succeed. */
void persist_begin(struct persist *persist,
                   struct sched_kit *kit,
                   uint32_t limit);

/* Ends the phase, if there is one, and forgets the pages; what was asked for
 * by the registrations is loaded. */
const char *persist_end(struct persist *persist);

/* "A=clean B=dirty": what the store knows of these actions, by name. */
const char *persist_states(struct persist *persist, const char *names);

#endif
