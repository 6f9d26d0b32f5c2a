/* Stepping and waiting, for the calls that do. */

#ifndef API_LOOP_H
#define API_LOOP_H

#include "api/runtime.h"

/* Does everything that can be done now. *any, if it is wanted: whether there
 * was something. INTERRUPTED. */
MUST_CHECK enum err loop_step(hd_runtime *runtime,
                              bool *any,
                              struct err_detail *detail);

/* Steps and waits until it is over, or the deadline has come: OK, TIMEOUT,
 * INTERRUPTED. `is_over` is asked after each step. */
MUST_CHECK enum err loop_until(hd_runtime *runtime,
                               bool (*is_over)(const hd_runtime *runtime,
                                               const void *ctx),
                               const void *ctx,
                               mono_ms deadline,
                               struct err_detail *detail);

#endif
