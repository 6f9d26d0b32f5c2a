/* Images of pieces: where they are kept, when they are written, when they go.
 *
 * A piece that is taken up again is mostly as it was: what its actions read and
 * write, and who they are, has not changed, only when they last ran. Images
 * (image.h) are copies of that part, each of the rows of up to IMAGE_ACTIONS
 * neighbours, so that a page costs one look at an image, and not one at each
 * row.
 *
 *   I1  The rows are the truth. An image goes in the SQL transaction that
 *       changes, adds or removes a row that it stands for; so there is never
 *       one that says something else than the rows.
 *   I2  What the runs were is not in an image: a run with the same set writes
 *       the row that it always did, and no image is touched.
 *   I3  Images of a piece do not overlap. Where there is none the rows are
 *       read: it may be missing at any time, and only time is lost.
 *   I4  Only rows of the whole space, of the piece's generation, that fit
 *       together are in one; a range in which somebody's own rows are has
 *       none.
 *   I5  They are written when nobody waits: when the engine is closed, and
 *       when rows are collected. */

#ifndef STORE_IMAGES_H
#define STORE_IMAGES_H

#include "store/observed_page.h"

enum {
    IMAGE_ACTIONS = 256,
    IMAGE_PLACES = 4096,      /* of all its actions; one action may have */
    IMAGE_PLACES_MAX = 65536, /* as many, else there is none of it */
    IMAGE_NOTED = 64,         /* rows that were changed, or read because there
                                 was no image, before it is worth writing */
    IMAGE_STEP = 16,          /* images in one transaction */
};

/* The static part of a page: from images, and between them from rows. Counts
 * the rows for images_write_noted. */
MUST_CHECK enum err images_add_static(struct maker *maker);

/* I1: the row of that action is about to change. */
MUST_CHECK enum err images_drop(struct engine *engine,
                                uint64_t piece,
                                uint64_t action,
                                struct err_detail *detail);

/* The same for a piece that is cached, mostly without a look at the file. */
MUST_CHECK enum err images_drop_cached(struct engine *engine,
                                       struct observed_piece *piece,
                                       uint64_t action,
                                       struct err_detail *detail);

/* Writes what is missing of a piece above *after, at most IMAGE_STEP images,
 * and moves *after; *more: there may be more above that. Inside a write
 * transaction; what is cached of the piece is to be forgotten. */
MUST_CHECK enum err images_write(struct engine *engine,
                                 uint64_t piece,
                                 uint64_t *after,
                                 bool *more,
                                 struct err_detail *detail);

/* The pieces of which enough rows were noted since the engine was opened, in
 * small transactions, until the engine is interrupted. A failure is nobody's:
 * the rows are read then. */
void images_write_noted(struct engine *engine);

/* One sentence for each image that does not stand for its rows; with `remove`
 * they go. Inside a transaction. */
MUST_CHECK enum err images_check(struct engine *engine,
                                 observed_difference_fn *difference,
                                 void *ctx,
                                 bool remove,
                                 struct err_detail *detail);

#endif
