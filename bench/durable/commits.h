/* Commits for the store to take, as the benchmarks make them: of the documents
 * and the texts of the floor (lib/raw_store.h). */

#ifndef BENCH_DURABLE_COMMITS_H
#define BENCH_DURABLE_COMMITS_H

#include "proto/commit.h"

/* One that sets a document. To be released. */
void commit_make_set(struct commit *commit,
                     uint64_t local_seq,
                     uint64_t document);

/* One that replaces a field of it, by the text of raw_store_patch. */
void commit_make_patch(struct commit *commit,
                       uint64_t local_seq,
                       uint64_t document,
                       struct path_table *paths);

#endif
