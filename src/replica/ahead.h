/* What a transaction that has to wait for a document will read next.
 *
 * Code that goes over a list of links stops at the first target that has not
 * come, and starts over when it has. If each attempt requested one document, n
 * targets would need n attempts, and time in the square of n.
 *
 *   ahead-1  When a transaction ends that has read a document which is not
 *            available, the links that led to it are found in its log of reads.
 *            Of the arrays and objects that they stand in, the one with the
 *            most elements is what the code goes over. From the elements behind
 *            the present one the same way is walked, and the first document on
 *            it that is not available is requested.
 *   ahead-2  At most as many documents are requested as the transaction has
 *            logged reads. So the documents on their way double with each
 *            attempt, n targets need O(log n) attempts, and code that looks at
 *            one element requests few documents that it does not need.
 *
 * Nothing waits for what is requested here, and nothing is read: if the code
 * goes another way, some documents have come in vain. */

#ifndef REPLICA_AHEAD_H
#define REPLICA_AHEAD_H

#include <stdbool.h>

#include "base/check.h"

struct entity;
struct transaction;

/* The transaction waits, and is open: so nothing arrives meanwhile. */
COLD void ahead_request(struct transaction *transaction);

/* The same, in an array only, for the layer above: `expected` is called with
 * the document at the end of the way from each element, and says whether it has
 * done something for it. If each document on the way is available, that of the
 * last read is what the code waits for. */
typedef bool expected_fn(void *ctx, const struct entity *entity);

COLD void ahead_walk(struct transaction *transaction,
                     expected_fn *expected,
                     void *ctx);

#endif
