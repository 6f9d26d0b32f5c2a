/* Maintenance of a file: folding old history, returning pages to the file
 * system, and copies while it is in use.
 *
 * Compaction moves the *horizon* forward: the seq before which the past cannot
 * be read any more. Per document, the last revision up to the horizon is kept,
 * as a whole value; earlier ones are removed. Nothing above the horizon
 * changes. Commits keep their rows (so a replay still gets its verdict) until
 * retention.h removes them. A read set from before the horizon is judged
 * strictly: what might have changed counts as changed.
 *
 * Compaction works in small transactions. A crash between two of them leaves
 * some documents with more history than needed, and the next run continues.
 * Branches need their parent as it was at the fork, so the horizon does not
 * pass a fork. */

#ifndef STORE_MAINTAIN_H
#define STORE_MAINTAIN_H

#include "store/engine.h"

/* Called now and then; false stops the work after the current step. */
typedef bool maintain_progress_fn(void *ctx, uint64_t done, uint64_t total);

struct compact_counts {
    uint64_t horizon;   /* afterwards */
    uint64_t documents; /* examined; none is removed */
    uint64_t revisions; /* removed */
    uint64_t snapshots; /* removed */
    bool stopped;
};

/* Folds everything up to `keep_from` (ENGINE_HEAD: all but the present). */
MUST_CHECK enum err engine_compact(struct engine *engine,
                                   uint64_t keep_from,
                                   maintain_progress_fn *progress,
                                   void *ctx,
                                   struct compact_counts *counts,
                                   struct err_detail *detail);

/* Returns free pages to the file system, a few at a time. */
struct shrink_counts {
    uint64_t pages; /* returned */
    uint64_t left;  /* free pages that remain in the file */
    bool cannot;    /* an earlier version created the file without support for
                       this; engine_rewrite adds it */
    bool stopped;
};

MUST_CHECK enum err engine_shrink(struct engine *engine,
                                  maintain_progress_fn *progress,
                                  void *ctx,
                                  struct shrink_counts *counts,
                                  struct err_detail *detail);

/* Rewrites the whole file without free pages, and so that engine_shrink works
 * from then on. Other processes can read meanwhile, but not write. Needs disk
 * space for two copies: one in the directory for temporary files, and one
 * beside the file. `progress` is called now and then, with meaningless numbers;
 * BUSY: it has stopped the work. Whatever happens, the file is either unchanged
 * or rewritten. */
MUST_CHECK enum err engine_rewrite(struct engine *engine,
                                   maintain_progress_fn *progress,
                                   void *ctx,
                                   struct err_detail *detail);

/* A consistent copy of the space in a new file at `path`, which appears whole
 * and durable, or not at all. Until then it is PATH.part-NUMBER; a process that
 * is killed meanwhile leaves that behind. ARGUMENT if something exists at
 * `path`: it is never replaced. */
MUST_CHECK enum err engine_backup(struct engine *engine,
                                  const char *path,
                                  maintain_progress_fn *progress,
                                  void *ctx,
                                  struct err_detail *detail);

#endif
