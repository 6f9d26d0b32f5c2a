/* Admission: may this commit land, and what would it do?
 *
 * Reads rows and decides; writes none. The order of the checks is part of the
 * contract, because it says which answer wins (engine.h). */

#ifndef STORE_ADMIT_H
#define STORE_ADMIT_H

#include "store/effects.h"

/* The answer in the verdict of the request. If it is OK and not a replay,
 * *effects is what must be applied, and the verdict's seq is where. A return
 * other than OK is a fault of the store, not a verdict. */
MUST_CHECK enum err admit_commit(struct engine *engine,
                                 struct engine_request *request,
                                 struct effects *effects,
                                 struct err_detail *detail);

/* The same for a batch of observations, which are written, each of them kept or
 * dropped: the verdict says which, and its seq is the head. */
MUST_CHECK enum err admit_batch(struct engine *engine,
                                const struct commit *commit,
                                struct value principal,
                                struct verdict *verdict,
                                struct err_detail *detail);

#endif
