/* Claims: a named session belongs to one process at a time.
 *
 * The commits of a session are numbered, and the store treats a number that it
 * has seen before as a repetition (store/admit.c). Two processes that count
 * independently under one name would receive each other's verdicts. So the
 * process that opens a session by name claims it first, with a held file
 * (host/held_file.h) DIR/sessions/NAME. The claim ends with the process, even
 * if it is killed. Random names need no claim. */

#ifndef HOST_CLAIM_H
#define HOST_CLAIM_H

#include "base/err.h"
#include "value/address.h"

struct claim;

/* SESSION_IN_USE: another runtime has claimed it; the message names its
 * process. IO, FULL. */
MUST_CHECK enum err claim_new(const char *folder,
                              struct identity identity,
                              struct claim **out,
                              struct err_detail *detail);

/* Rejects names of users and sessions that a store would refuse with each
 * commit; either may be NULL. ARGUMENT. */
MUST_CHECK enum err claim_check_names(const char *user,
                                      const char *session,
                                      struct err_detail *detail);

/* NULL is harmless. */
void claim_free(struct claim *claim);

#endif
