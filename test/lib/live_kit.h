/* Runtimes on real files in tests: a folder that goes away, hosts on it
 * (host/live.h) whose time is the test's own, and documents that hold a number.
 *
 *   struct site site;
 *   site_begin(&site);
 *   struct live *live = site_enter(&site);
 *   site_put(live, "a", 5);
 *   site_settle(live);
 *   site_leave(live);
 *   site_end(&site);
 */

#ifndef TEST_LIB_LIVE_KIT_H
#define TEST_LIB_LIVE_KIT_H

#include "host/live.h"
#include "lib/sim_host.h"

struct site {
    char folder[256];
    struct sim_host sim;
    struct buf troubles; /* as they were reported: "FULL, over, " */
    uint64_t runs;       /* for the test */
    uint64_t progress;   /* of the last resume, */
    uint64_t total;      /* and what it told would come */
};

void site_begin(struct site *site);
void site_end(struct site *site);

/* A host on the folder and the clock of the site; which options that is; one
 * with others; and one on the system's clock. */
struct live *site_enter(struct site *site);
struct live_options site_options(struct site *site);
struct live *site_enter_with(const struct live_options *options);
struct live *site_enter_really(struct site *site);

/* Its end: nothing is outstanding, or is answered at once. */
void site_leave(struct live *live);

/* The payload of a document of the first space, loaded; new. */
struct place *site_at(struct live *live, const char *id);

void site_put(struct live *live, const char *id, int64_t number);

/* What is visible; -1: nothing. */
int64_t site_number(struct live *live, const char *id);

/* Comes to rest at once. */
void site_settle(struct live *live);

#endif
