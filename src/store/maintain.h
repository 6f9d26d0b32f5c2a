/* Looking after a file: folding old history, giving pages back to the file
 * system, and copies while it is in use.
 *
 * Compaction moves the *horizon* forward: the seq before which the past cannot
 * be read any more. Of each document the last revision up to the horizon is
 * kept, as a whole value; what is before it goes. Nothing above the horizon
 * changes, commits keep their rows (so a replay still gets its answer) until
 * retention.h says otherwise, and a read set from before the horizon is judged
 * strictly: what might have changed counts as changed.
 *
 * It works in small transactions. A crash between two of them leaves a file in
 * which some documents have more history than they need, and the next run goes
 * on. Branches need their parent as it was at the fork, so the horizon does
 * not pass a fork. */

#ifndef STORE_MAINTAIN_H
#define STORE_MAINTAIN_H

#include "store/engine.h"

/* Called now and then; false stops the work after the current step. */
typedef bool maintain_progress_fn(void *ctx, uint64_t done, uint64_t total);

struct compact_counts {
    uint64_t horizon;   /* where it is now */
    uint64_t documents; /* looked at; none is removed */
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

/* Gives free pages back to the file system, a few at a time. */
struct shrink_counts {
    uint64_t pages; /* given back */
    uint64_t left;  /* free ones that the file still has */
    bool cannot;    /* the file was made without room for this: an earlier
                       version did. engine_rewrite adds it */
    bool stopped;
};

MUST_CHECK enum err engine_shrink(struct engine *engine,
                                  maintain_progress_fn *progress,
                                  void *ctx,
                                  struct shrink_counts *counts,
                                  struct err_detail *detail);

/* Writes the whole file anew, without free pages and so that engine_shrink can
 * give back those to come. Other processes can read meanwhile, and cannot
 * write. Needs room for two copies: one in the directory for temporary files,
 * and one beside the file. `progress` is asked now and then, with numbers that
 * mean nothing; BUSY: it has stopped the work. Whatever happens, the file is as
 * before, or written anew. */
MUST_CHECK enum err engine_rewrite(struct engine *engine,
                                   maintain_progress_fn *progress,
                                   void *ctx,
                                   struct err_detail *detail);

/* A consistent copy of the space in a new file at `path`, which appears whole
 * and durable, or not at all. Until then it grows beside it, as
 * PATH.part-NUMBER; a process that is killed meanwhile leaves that behind.
 * ARGUMENT if something is at `path` already: it is never replaced. */
MUST_CHECK enum err engine_backup(struct engine *engine,
                                  const char *path,
                                  maintain_progress_fn *progress,
                                  void *ctx,
                                  struct err_detail *detail);

#endif
