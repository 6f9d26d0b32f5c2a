/* Reactive time: documents that hold the start of the current interval.
 *
 * The document "clock:60000" of a space holds the start of the current minute,
 * in milliseconds since 1970. A computation of this runtime writes it, so a
 * clock is read, followed and explained as any other output is.
 *
 *   clock-1  The computation runs when a live node reads the document and the
 *            next interval has begun. The clock of the host is part of the
 *            runtime's next wake while a live node reads the document, and not
 *            otherwise.
 *   clock-2  The wall clock is read between passes only: all runs of a pass see
 *            one interval.
 *   clock-3  The runs that the store remembers are not used: a runtime that
 *            starts updates the document before a demanded reader runs. A
 *            reader that is restored with an earlier interval is then stale.
 *   clock-4  A runtime has one clock per space and length. It exists as soon as
 *            anything here refers to the document: a pattern, a link, or a read
 *            that another runtime has made (replica->clocks).
 *   clock-5  Runtimes on one store write the same document. A runtime with a
 *            live reader writes it again if another runtime has left it behind
 *            the current interval. */

#ifndef RUNTIME_CLOCK_H
#define RUNTIME_CLOCK_H

#include "base/err.h"
#include "base/host.h"

struct place;
struct runtime;
struct space;
struct clock;

enum {
    CLOCK_LEAST_MS = 10,
};

/* The place of the clock with intervals of that length, borrowed until the
 * runtime ends. Also inside a run. ARGUMENT: the length is below
 * CLOCK_LEAST_MS or above TIMER_TIME_MOST, or the runtime has no wall clock. */
MUST_CHECK enum err clock_place(struct runtime *runtime,
                                struct space *space,
                                int64_t ms,
                                struct place **out,
                                struct err_detail *detail);

/* For the runtime: reads the time; and when to call again. */
void clocks_step(struct runtime *runtime, mono_ms now);
mono_ms clocks_next_wake(const struct runtime *runtime);
void clocks_release(struct runtime *runtime);

#endif
