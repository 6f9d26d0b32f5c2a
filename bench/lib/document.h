/* JSON documents to measure with: the same bytes for the same request, on
 * every machine, and shaped like what people store.
 *
 * A mixed document is {"version":..,"title":..,"items":[..]} with records of 5
 * to 12 keys: identifiers, names, long texts (some with escapes, some not
 * ASCII), integers of all sizes, decimals, booleans, nulls, lists of tags,
 * coordinates and small objects inside. Every record begins with "id" and
 * "rank", so that a benchmark can find a leaf to change. */

#ifndef BENCH_LIB_DOCUMENT_H
#define BENCH_LIB_DOCUMENT_H

#include "base/buf.h"

enum document_kind {
    DOCUMENT_MIXED,
    DOCUMENT_NUMBERS, /* mostly decimals and integers */
    DOCUMENT_STRINGS, /* mostly texts */
};

/* Appends a document of at least `size` bytes, and at most one record more.
 * Below 300 bytes a mixed document is a single record. */
void document_generate(struct buf *to, enum document_kind kind, size_t size);

#endif
