/* Observations in tests, written in one line:
 *
 *   "p/a1 deep A.x shape B out C env D.list"
 *
 *   p/a1            the piece and the name of the action, a0 to a63
 *   deep, shape     a read below "value"; A~user is another scope, A! the root
 *   out, env        what it writes: an output, an envelope
 *   far s:A.x @3    a deep read in space s, of which 3 was seen
 *   gen=2 kind=effect impl=x fail=x debounce=5 throttle=6 manual
 *   basis=3 layers=1,2
 *   same            the digests only
 *
 * A page of actions is shown as "a1=clean a2=dirty", in the order of numbers.
 */

#ifndef TEST_LIB_OBSERVE_KIT_H
#define TEST_LIB_OBSERVE_KIT_H

#include "lib/store_kit.h"
#include "store/observations.h"

/* Yours to release. */
struct observation *observe_new(struct path_table *paths, const char *line);

/* A commit in the form of lib/store_kit.h, with an observation. The answer is
 * in verdicts[0]. */
void observe_commit(struct store_kit *kit,
                    const char *commit,
                    const char *observation);

/* A batch; `basis` is the head unless an observation has one. */
void observe_batch(struct store_kit *kit,
                   const char *session,
                   uint64_t local_seq,
                   const char *const *observations,
                   size_t count);
void observe_alone(struct store_kit *kit,
                   uint64_t local_seq,
                   const char *observation);

/* The verdict of the last one: "3", or "3 dropped 0=stale", or an error. */
const char *observe_verdict(struct store_kit *kit);

/* The actions of a piece, "b/p" on another branch, of generation 0 or the one
 * behind '#'. */
const char *observe_resume(struct store_kit *kit, const char *piece);

/* What is known of one action, with its places. */
const char *observe_show(struct store_kit *kit,
                         const char *piece,
                         const char *action);

/* "p/a1 p/a2 s:q", sorted: who reads A.x; and who must wake. */
const char *observe_readers(struct store_kit *kit, const char *place);
const char *observe_wake(struct store_kit *kit, uint64_t after);

/* What the check of the file says; "" if nothing. */
const char *observe_check(struct store_kit *kit);

struct digest observe_name(const char *name);

#endif
