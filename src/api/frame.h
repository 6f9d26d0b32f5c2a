/* hd_run: a call frame (front/frame.h) in the hands of the program.
 *
 *   api-frame-1  Frames end in reverse order. One that is over answers MISUSE,
 *                as long as the record of the runtime is there: those of frames
 *                stay, and are used again. */

#ifndef API_FRAME_H
#define API_FRAME_H

#include "api/runtime.h"
#include "front/frame.h"

struct migration;

struct hd_run {
    struct object object; /* of kind OBJECT_RUN while it is under way */
    struct hd_run *outer; /* or NULL */
    struct call_frame call;
    struct migration *migration; /* of a migration; or NULL */
    bool returns;                /* has a result */
    struct value result;         /* absent: none was given */
    struct err_detail failure;   /* of hd_run_fail */

    /* Of the record, whichever run it is. */
    hd_cell *element; /* what a function of a list is called with; or NULL */
};

/* The frame of a call that begins; borrowed until its end. The caller
 * initializes `call`. */
struct hd_run *api_frame_begin(hd_runtime *runtime);
void api_frame_end(struct hd_run *frame);

/* Lends an element of a list to the function, until the frame ends. */
hd_cell *frame_lend(struct hd_run *frame, struct place *element);

/* What the scheduler is told: the function has returned `status`. Before the
 * end of the frame. */
enum run_result frame_result(const struct hd_run *frame, hd_status status);

/* On whose behalf a call is now. */
static inline struct call_frame *frame_now(hd_runtime *runtime)
{
    return runtime->run != NULL ? &runtime->run->call : &runtime->toplevel;
}

/* The sentence behind a status that a function of the program returned. */
void frame_failure(const struct hd_run *frame,
                   hd_status status,
                   struct err_detail *detail);

/* The runtime ends; and so does its record (api-frame-1). */
void frames_end(hd_runtime *runtime);
void frames_release(hd_runtime *runtime);

#endif
