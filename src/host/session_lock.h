/* Claims: a named session belongs to one process at a time.
 *
 * The commits of a session are numbered, and the store treats a number that it
 * has seen before as a repetition (store/admit.c). Two processes that count
 * independently under one name would receive each other's verdicts. So the
 * process that opens a session by name claims it first, with a locked file
 * (host/locked_file.h) DIR/sessions/NAME. The claim ends with the process, even
 * if it is killed. Random names need no claim. */

#ifndef HOST_SESSION_LOCK_H
#define HOST_SESSION_LOCK_H

#include "base/err.h"
#include "value/address.h"

struct session_lock;

/* SESSION_IN_USE: another runtime has claimed it; the message names its
 * process. IO, FULL. */
MUST_CHECK enum err session_lock_new(const char *folder,
                                     struct identity identity,
                                     struct session_lock **out,
                                     struct err_detail *detail);

/* The name of the locked file of a session, new. ARGUMENT. */
MUST_CHECK enum err session_lock_name(struct identity identity,
                                      struct value *out,
                                      struct err_detail *detail);

/* SESSION_IN_USE, by the holder that the locked file describes, or absent. A
 * holder with an "instance" is a client of a server. */
enum err session_lock_refuse(struct identity identity,
                             struct value holder,
                             struct err_detail *detail);

/* Rejects names of users and sessions that a store would refuse with each
 * commit; either may be NULL. ARGUMENT. */
MUST_CHECK enum err session_names_check(const char *user,
                                        const char *session,
                                        struct err_detail *detail);

/* NULL is harmless. */
void session_lock_free(struct session_lock *session_lock);

#endif
