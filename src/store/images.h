/* Images of pieces: where they are stored, when they are written and removed.
 *
 * A piece that resumes is mostly unchanged: the identity, reads and writes of
 * its actions are the same, only their last runs differ. Images (image.h) are
 * copies of the unchanged part, each of the rows of up to IMAGE_ACTIONS
 * neighbours, so that a page reads one image instead of many rows.
 *
 *   images-1  The rows are the source of truth. An image is removed in the SQL
 *             transaction that changes, adds or removes a row that it
 *             represents; so no image ever contradicts the rows.
 *   images-2  Runs are not in an image: a run with the same read set writes the
 *             same single row as ever, and touches no image.
 *   images-3  Images of a piece do not overlap. Where there is none, the rows
 *             are read: an image may be missing at any time, which costs only
 *             time.
 *   images-4  An image contains only rows of space scope and of the piece's
 *             generation that are consistent; a range with rows of a user or a
 *             session has none.
 *   images-5  Images are written when no caller waits: when the engine is
 *             closed, and when rows are collected. */

#ifndef STORE_IMAGES_H
#define STORE_IMAGES_H

#include "store/observed_page.h"

enum {
    IMAGE_ACTIONS = 256,
    IMAGE_PLACES = 4096,      /* of all its actions; one action may have */
    IMAGE_PLACES_MAX = 65536, /* this many, else it has no image */
    IMAGE_NOTED = 64,         /* rows changed, or read for lack of an image,
                                 before writing is worthwhile */
    IMAGE_STEP = 16,          /* images in one transaction */
};

/* The static part of a page: from images, and between them from rows. Counts
 * the rows for images_write_noted. */
MUST_CHECK enum err images_add_static(struct page_builder *page_builder);

/* images-1: the row of that action is about to change. */
MUST_CHECK enum err images_drop(struct engine *engine,
                                uint64_t piece,
                                uint64_t action,
                                struct err_detail *detail);

/* The same for a cached piece, mostly without a query. */
MUST_CHECK enum err images_drop_cached(struct engine *engine,
                                       struct observed_piece *piece,
                                       uint64_t action,
                                       struct err_detail *detail);

/* Writes the missing images of a piece above *after, at most IMAGE_STEP of
 * them, and advances *after; *more: there may be more above that. Inside a
 * write transaction; the caller drops the cache of the piece. */
MUST_CHECK enum err images_write(struct engine *engine,
                                 uint64_t piece,
                                 uint64_t *after,
                                 bool *more,
                                 struct err_detail *detail);

/* Writes images of the pieces with enough changed rows since the engine was
 * opened, in small transactions, until the engine is interrupted. A failure is
 * ignored: the rows are read then. */
void images_write_noted(struct engine *engine);

/* One sentence per image that disagrees with its rows; with `remove` they are
 * removed. Inside a transaction. */
MUST_CHECK enum err images_check(struct engine *engine,
                                 observed_difference_fn *difference,
                                 void *ctx,
                                 bool remove,
                                 struct err_detail *detail);

#endif
