/* Call frames: on whose behalf a function of the user is called.
 *
 * While such a function is called, there is a frame. Whatever the function does
 * with cells, streams and pieces, it does on behalf of the innermost frame.
 *
 *   struct call_frame frame;
 *   call_frame_init_run(&frame, runtime, run);
 *   ... the function calls call_frame_read, call_frame_write_adopt ...
 *   return call_frame_result(&frame, &failure);
 *
 *   frame-1  A read that cannot be answered now makes the frame stale: a
 *            document is not loaded, or a computation waits for one. The answer
 *            is STALE, also to every later read. Whatever the function returns,
 *            it is called again. So no function goes on with "nothing", or with
 *            an old value, because something has not arrived yet.
 *
 *   frame-2  A migration reads the states and arguments of its piece, all of
 *            which are loaded, and rows of its collections (frame-1). It runs
 *            before the nodes of the piece, so a computed value may be old, and
 *            is refused (MISUSE).
 *
 *   frame-3  A write or an event belongs to the transaction of the frame. At
 *            the top level, a write is a transaction of its own
 *            (runtime/own_write.h), and an event stands alone. */

#ifndef FRONT_FRAME_H
#define FRONT_FRAME_H

#include "runtime/own_write.h"
#include "sched/events.h"
#include "sched/handling.h"

struct piece;

enum frame_kind {
    FRAME_TOPLEVEL,  /* no function is called: there is no transaction */
    FRAME_RUN,       /* of a node */
    FRAME_HANDLER,   /* of an event */
    FRAME_EDIT,      /* front/commit_ticket.h */
    FRAME_MIGRATION, /* runtime/migration.h */
    FRAME_BUILD,     /* of a pattern: there is no transaction */
    FRAME_TASK,      /* likewise */
};

struct call_frame {
    struct cell_access access;
    struct handling *handling; /* of a handler; or NULL */
    struct piece *piece;       /* whose code is called; or NULL */
    enum frame_kind kind;
    bool stale; /* frame-1 */
};

/* A frame of the kind; `transaction` is NULL where there is none. */
static inline void call_frame_init(struct call_frame *frame,
                                   enum frame_kind kind,
                                   struct runtime *runtime,
                                   struct transaction *transaction)
{
    /* One by one: the caller reads them soon, and the processor waits for what
     * was written in smaller parts than it is read. */
    frame->access.runtime = runtime;
    frame->access.run = NULL;
    frame->access.transaction = transaction;
    frame->handling = NULL;
    frame->piece = NULL;
    frame->kind = kind;
    frame->stale = false;
}

/* A frame of a run, or of a handler if the run handles an event. */
static inline void call_frame_init_run(struct call_frame *frame,
                                       struct runtime *runtime,
                                       struct run *run,
                                       struct handling *handling)
{
    call_frame_init(frame,
                    handling != NULL ? FRAME_HANDLER : FRAME_RUN,
                    runtime,
                    run->transaction);
    frame->access.run = run;
    frame->handling = handling;
}

/* Notes the answer to a call that is no read; gives it back: frame-1. */
static inline enum err call_frame_note(struct call_frame *frame, enum err err)
{
    frame->stale |= err == ERR_STALE;
    return err;
}

/* Whether the frame has read something that is still to come: frame-1. */
static inline bool call_frame_waits(const struct call_frame *frame)
{
    const struct run *run = frame->access.run;
    const struct transaction *transaction = frame->access.transaction;
    return run != NULL ? run_is_waiting(run)
                       : transaction != NULL && transaction->unloaded > 0;
}

/* Frame-1, or frame-2 in a migration. */
COLD enum err call_frame_stale(struct call_frame *frame,
                               struct err_detail *detail);

/* What a read that was made on behalf of the frame and answered `err` means to
 * the function: frame-1 and frame-2. */
static inline enum err call_frame_answer(struct call_frame *frame,
                                         enum err err,
                                         struct err_detail *detail)
{
    return LIKELY(err != ERR_STALE && !call_frame_waits(frame))
               ? err
               : call_frame_stale(frame, detail);
}

/* As cell_read of runtime/cell.h: what is at the place, new; absent if there is
 * nothing. STALE: frame-1. MISUSE: frame-2. */
MUST_CHECK enum err call_frame_read(struct call_frame *frame,
                                    struct place *place,
                                    enum read_kind kind,
                                    unsigned flags,
                                    struct value *out,
                                    struct err_detail *detail);

/* Whether the document is available; if not, it is requested. STALE: frame-1.
 * For what looks at a document without a read. */
MUST_CHECK enum err call_frame_need(struct call_frame *frame,
                                    struct entity *entity,
                                    struct err_detail *detail);

/* The place behind all links, new. STALE: frame-1. */
MUST_CHECK enum err call_frame_follow(struct call_frame *frame,
                                      struct place *place,
                                      struct place **out,
                                      struct err_detail *detail);

/* frame-3. The value is adopted, also on an error. */
MUST_CHECK enum err call_frame_write_adopt(struct call_frame *frame,
                                           struct place *place,
                                           struct cell_writing writing,
                                           struct err_detail *detail);

/* frame-3; sets spec->origin. MISUSE: in a migration. */
MUST_CHECK enum err call_frame_send(const struct call_frame *frame,
                                    struct stream *stream,
                                    struct event_spec *spec,
                                    struct err_detail *detail);

/* ARGUMENT: a handler would cancel a timer of another space. Its commit belongs
 * to one space, so a crash could cancel the timer and lose the commit. */
MUST_CHECK enum err call_frame_check_cancel(const struct call_frame *frame,
                                            const struct space *space,
                                            struct err_detail *detail);

/* What the scheduler is told after the function of a run or a handler has
 * returned; `failure` says why it failed, or is NULL. */
enum run_result call_frame_result(const struct call_frame *frame,
                                  const struct err_detail *failure);

#endif
