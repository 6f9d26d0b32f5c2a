/* HTTP routes in tests, without a network: a store with a hub, and requests as
 * texts.
 *
 *   struct http_kit kit;
 *   http_begin(&kit, true);
 *   EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':1}"),
 *               "200 {'seq':1}");
 *
 * A path that does not begin with "/v1" or "/." is one of the space. In bodies
 * and answers ' stands for ". An answer is its status and its body; one that is
 * not there yet is "later", and http_step returns it as "#3 200 {...}": with
 * the number of its request, counted from 1. A chunk of a stream is "#3+ ...",
 * with '|' for each end of a line, and an end is "#3.". */

#ifndef TEST_LIB_HTTP_KIT_H
#define TEST_LIB_HTTP_KIT_H

#include "host/live.h"
#include "lib/sim_host.h"
#include "lib/store_kit.h"
#include "server/routes.h"

struct http_kit {
    struct store_kit store;
    struct hub hub;
    struct metrics metrics;
    struct route_server server;
    struct route_context context;
    struct route_space *space;
    net_id last; /* request */

    /* Headers of the next request, which clears them; NULL: not sent. */
    const char *if_match;
    const char *if_none_match;
    const char *key;
    const char *prefer;
    const char *last_event_id;
    const char *type; /* of its body; application/json unless set */

    struct route_answer answer; /* to the last request */
    struct buf shown;
    struct buf delivered;

    /* A runtime on the same file, with a piece "cart". */
    struct sim_host sim;
    struct live *live;
    struct pattern *pattern;
};

/* With all rights, as "ann"; the file is needed for a runtime and for
 * inspection. */
void http_begin(struct http_kit *kit, bool in_file);
void http_end(struct http_kit *kit);

/* In a file, through that VFS of SQLite. */
void http_begin_on(struct http_kit *kit, const char *vfs);

/* Another principal, or NULL, with these rights: letters of "rwoO", read,
 * write, owner, operator. */
void http_as(struct http_kit *kit, const char *principal, const char *rights);

/* Borrowed until the next call. */
const char *http_ask(struct http_kit *kit, const char *what, const char *body);

/* Of the last answer; "": it has no such header. */
const char *http_header(const struct http_kit *kit, const char *name);

/* Flushes the hub and delivers what is ready `ms` later. */
const char *http_step(struct http_kit *kit, mono_ms ms);

/* Ends all that waits. */
void http_end_waiting(struct http_kit *kit, const struct err_detail *why);

/* The access document has changed. */
void http_recheck(struct http_kit *kit,
                  bool (*may_read)(void *ctx,
                                   const struct credential *credential));

/* -- A runtime ----------------------------------------------------------- */

/* Starts "cart": the state "items", a list; "count", computed from it; the
 * handler "add", which appends its payload and returns {"count":N}, and fails
 * for a text; and the result {count, add, also}, where "also" is "add" again.
 */
void http_run(struct http_kit *kit);

/* Until it is idle. */
void http_run_on(struct http_kit *kit);
void http_run_end(struct http_kit *kit);

#endif
