/* The handle of a cell, and how the files about cells begin and end a call. */

#ifndef API_CELL_H
#define API_CELL_H

#include "api/frame.h"
#include "api/object.h"

struct hd_cell {
    struct object object;
    struct place *place; /* a reference, until it is cut; NULL: what was lent
                            is over */
    size_t borrowers;    /* who keeps it beside its owner (api/pattern.h) */
};

/* A handle of the place, which is adopted. */
hd_cell *cell_handle_adopt(hd_runtime *runtime, struct place *place);

/* The same handle, of another place, or of none; takes a reference. */
void cell_handle_move(hd_cell *cell, struct place *place);

/* Ends the cell; borrowed handles become invalid. */
void cell_handle_free(hd_cell *cell);

/* OK, ARGUMENT, MISUSE, CLOSED: object_check_open; MISUSE also if it was lent,
 * and that is over. */
MUST_CHECK enum err cell_check(const hd_cell *cell,
                               const char *name,
                               struct err_detail *detail);

/* The end of a call on a cell, with its place; but for one that was refused:
 * it may be none. */
hd_status cell_report(hd_error *error,
                      enum err err,
                      const struct err_detail *detail,
                      const hd_cell *cell);

/* Each of them, and all of that runtime: the places, to be released with
 * cell_places_release. */
struct cell_places {
    struct place **at;
    size_t count;
};
MUST_CHECK enum err cell_places(const hd_runtime *runtime,
                                hd_cell *const *cells,
                                size_t count,
                                const char *name,
                                struct cell_places *out,
                                struct err_detail *detail);
void cell_places_release(struct cell_places *places);

/* The same as what a handler declares to read: "reads", to be released with
 * cell_reads_release. */
struct cell_reads {
    struct declared_read *at;
    size_t count;
};
MUST_CHECK enum err cell_reads(const hd_runtime *runtime,
                               hd_cell *const *cells,
                               size_t count,
                               struct cell_reads *out,
                               struct err_detail *detail);
void cell_reads_release(struct cell_reads *reads);

/* The place at a JSON Pointer below another, new; `path` NULL is "". */
MUST_CHECK enum err cell_place_below(struct place *place,
                                     const char *path,
                                     struct place **out,
                                     struct err_detail *detail);

/* Whether a document is here. At the top level it is brought; a frame is stale
 * without it (front/frame.h). STALE, or what keeps it away. */
MUST_CHECK enum err cell_need(hd_runtime *runtime,
                              struct entity *entity,
                              struct err_detail *detail);

/* Asks for the document, without waiting for it: so that a first run finds what
 * it reads, and whether what it writes to is a link. */
void cell_want(const struct place *place);

/* What is at a place, on behalf of the innermost frame: as call_frame_read of
 * front/frame.h, and NOT_FOUND if there is nothing. At the top level documents
 * on the way are brought. */
MUST_CHECK enum err cell_look(hd_runtime *runtime,
                              struct place *place,
                              enum read_kind kind,
                              unsigned flags,
                              struct value *out,
                              struct err_detail *detail);

/* The place behind all links, new, on behalf of the same. */
MUST_CHECK enum err cell_target(hd_runtime *runtime,
                                struct place *place,
                                struct place **out,
                                struct err_detail *detail);

#endif
