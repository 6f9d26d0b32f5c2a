/* Admission: may this commit land, and what would it do?
 *
 * Reads rows and decides; writes none. The order of the checks is part of the
 * contract, because it determines which answer wins (engine.h). */

#ifndef STORE_ADMIT_H
#define STORE_ADMIT_H

#include "store/commit_record.h"

/* Sets the verdict of the request. If it is OK and not a replay, *effects is
 * what must be applied, at the verdict's seq. A result other than OK is a fault
 * of the store, not a verdict. */
MUST_CHECK enum err admit_commit(struct engine *engine,
                                 struct engine_request *request,
                                 struct commit_record *commit_record,
                                 struct err_detail *detail);

/* The same for a batch of observations, which it also writes. The verdict says
 * which of them were kept and which dropped; its seq is the head. */
MUST_CHECK enum err admit_batch(struct engine *engine,
                                const struct commit *commit,
                                struct value principal,
                                struct verdict *verdict,
                                struct err_detail *detail);

#endif
