/* Read-ahead for a transaction that has to wait for a document.
 *
 * Code that iterates over a list of links stops at the first target that has
 * not arrived, and starts over when it has. If each attempt requested one
 * document, n targets would need n attempts, and time quadratic in n.
 *
 *   ahead-1  When a transaction that has read an unavailable document ends, the
 *            links that led to it are found in its read log. Of the arrays and
 *            objects that contain these links, the one with the most elements
 *            is what the code iterates over. The same path is followed from the
 *            later elements, and the first unavailable document on each is
 *            requested.
 *   ahead-2  At most as many documents are requested as the transaction has
 *            logged reads. So the number of documents in flight doubles with
 *            each attempt, n targets need O(log n) attempts, and code that
 *            reads one element requests few documents in vain.
 *
 * Nothing waits for these requests, and nothing is read: if the code takes
 * another path, some documents have arrived in vain. */

#ifndef REPLICA_PREFETCH_H
#define REPLICA_PREFETCH_H

#include <stdbool.h>

#include "base/check.h"

struct entity;
struct transaction;

/* The transaction waits, and is still open: so nothing arrives meanwhile. */
COLD void prefetch_request(struct transaction *transaction);

/* The same for the layer above, and for arrays only: `expected` is called with
 * the document at the end of the path from each element, and returns whether it
 * did anything for it. If every document on the path is available, the code
 * waits for that of the last read. */
typedef bool expected_fn(void *ctx, const struct entity *entity);

COLD void prefetch_walk(struct transaction *transaction,
                        expected_fn *expected,
                        void *ctx);

#endif
