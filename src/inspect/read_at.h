/* Reading the results of pieces as they were: through the links as they were
 * then, with nothing running.
 *
 *   read-at-1  Every document on the way is of the same seq.
 *   read-at-2  Links inside what is found are replaced by what is behind them.
 *              A field with nothing behind it, a stream for example, is left
 *              out, and is null in an array; what is nested too deep, or in a
 *              cycle, stays a link.
 *   read-at-3  The work is bounded if the caller says so: documents that share
 *              links can stand for a result of any size. */

#ifndef INSPECT_READ_AT_H
#define INSPECT_READ_AT_H

#include "store/engine.h"

enum {
    READ_AT_HOPS = 64,  /* links behind each other */
    READ_AT_DEPTH = 32, /* links inside what links lead to */
};

/* What was at `path`, an array of keys, in the result of a piece, new; absent
 * if there was nothing. SEQUENCE: beyond the head, or folded. Inside a read
 * transaction. */
MUST_CHECK enum err read_at(struct engine *engine,
                            struct value piece,
                            struct value path,
                            uint64_t seq,
                            struct value *out,
                            struct err_detail *detail);

/* A document on the way was read, also one that does not exist. Borrowed for
 * the call, which must not call the engine. */
typedef void read_at_fn(void *ctx, struct value id);

struct read_at_bounds {
    uint64_t documents_max; /* reads of documents, counted each time
                               (read-at-3); 0: any number */
    read_at_fn *visit;      /* may be NULL */
    void *ctx;
};

/* The same within bounds. LIMIT_SIZE: it would take more. */
MUST_CHECK enum err read_at_within(struct engine *engine,
                                   struct value piece,
                                   struct value path,
                                   uint64_t seq,
                                   const struct read_at_bounds *bounds,
                                   struct value *out,
                                   struct err_detail *detail);

#endif
