/* Frames: in which transaction a call of the program is.
 *
 * While a function of the program is called for a run, a handling or an edit,
 * there is a frame, and everything that is done with cells is on its behalf.
 * To the program it is an hd_run.
 *
 *   F1  Frames end in reverse order. One that is over answers MISUSE, as long
 *       as the record of the runtime is there: those of frames stay, and are
 *       used again.
 *   F2  A read that cannot be done now makes the frame stale, whatever the
 *       function returns: it is called again. */

#ifndef API_FRAME_H
#define API_FRAME_H

#include "api/runtime.h"
#include "runtime/cell.h"
#include "sched/handling.h"

struct migration;
struct piece;

struct hd_run {
    struct object object; /* of kind OBJECT_RUN while it is under way */
    struct hd_run *outer; /* or NULL */
    struct cell_access access;
    const void *node;            /* whose run it is (api/node.h); or NULL */
    struct handling *handling;   /* or NULL */
    struct piece *piece;         /* whose pattern built it; or NULL */
    struct migration *migration; /* that it is the call of; or NULL */
    bool returns;                /* has a result */
    struct value result;         /* absent: none was given */
    bool stale;                  /* F2 */
    struct err_detail failure;   /* of hd_run_fail */

    /* Of the record, whichever run it is. */
    hd_cell *element; /* what a function of a list is called with; or NULL */
};

/* The frame of a call that begins; borrowed until its end. */
struct hd_run *api_frame_begin(hd_runtime *runtime,
                               const struct cell_access *access);
void api_frame_end(struct hd_run *frame);

/* Lends an element of a list to the function, until the frame ends. */
hd_cell *frame_lend(struct hd_run *frame, struct place *element);

/* What the scheduler is told: the function has returned `status`. Before the
 * end of the frame. */
enum run_result frame_result(const struct hd_run *frame,
                             struct run *run,
                             hd_status status);

/* On whose behalf a call is now. */
struct cell_access frame_access(const hd_runtime *runtime);

/* The sentence behind a status that a function of the program returned. */
void frame_failure(const struct hd_run *frame,
                   hd_status status,
                   struct err_detail *detail);

/* The runtime ends; and so does its record (F1). */
void frames_end(hd_runtime *runtime);
void frames_release(hd_runtime *runtime);

#endif
