/* What a library takes from the allocator, ours and jansson: calls and bytes,
 * counted where both of them ask for memory.
 *
 * While counting is on, everything that the library releases must have been
 * allocated since; timings are taken with counting off. */

#ifndef BENCH_LIB_COUNT_H
#define BENCH_LIB_COUNT_H

#include <stdint.h>

struct count {
    uint64_t calls;  /* of alloc and resize */
    uint64_t asked;  /* bytes in use, as they were asked for */
    uint64_t usable; /* bytes in use, as malloc rounded them up */
    uint64_t peak;   /* of `usable` */
};

/* Ours. count_now() is since count_begin(). */
void count_begin(void);
struct count count_now(void);
void count_end(void);

/* jansson does not give sizes back when it releases, so one run cannot know
 * both: `asked` is kept in a header that would disturb `usable`. */
enum count_peer {
    COUNT_PEER_USABLE,
    COUNT_PEER_ASKED,
};
void count_peer_begin(enum count_peer what);
struct count count_peer_now(void);
void count_peer_end(void);

#endif
