/* Whole pieces, as sets of documents: counted, removed, renamed, exported to a
 * file and imported from one. No pattern is needed and nothing runs.
 *
 *   T1  Each change is one SQL transaction of the space: a process that is
 *       killed meanwhile has changed nothing.
 *   T2  What belongs to a piece are its result document, the documents below
 *       it ("piece:NAME/..."), those of each user included, and the pieces that
 *       its handlers have launched. What belongs to a session of a process is
 *       left out: it is of no use to another process.
 *       Events that wait for its streams (proto/event.h) go with it and follow
 *       its name; they are not part of an export.
 *   T4  A child in another space (R8 of runtime/piece.h) belongs to its parent
 *       and is removed with it, before it, in a transaction of its own: after a
 *       kill in between, the parent is there and can be removed again. As long
 *       as its parent has it, it is not removed alone. Neither of the two is
 *       renamed or exported: the other one would be left out.
 *   T3  What is remembered of runs is forgotten for each name that changes: the
 *       nodes run again when the piece is started next.
 *
 * An export is JSON Lines: a header, a line per document, and the number of
 * documents as the end, so that a file that was cut is noticed.
 *
 *   {"format":"heddle-export","version":1,"kind":"piece","space":"main",
 *    "pieces":["shop"],"seq":12,"at":1700000000000}
 *   {"scope":"space","id":"piece:shop","document":{...}}
 *   {"documents":1} */

#ifndef HOST_TRANSFER_H
#define HOST_TRANSFER_H

#include "base/buf.h"
#include "base/err.h"
#include "host/folder.h"
#include "value/value.h"

/* What the names of the sessions begin with that commit these changes. */
#define TRANSFER_SESSION "transfer-"

struct transfer;

struct transfer_counts {
    uint64_t pieces;
    uint64_t documents;
    uint64_t relinked; /* documents of others whose links were rewritten */
};

/* A space of a data directory. Both names are borrowed until the end. */
MUST_CHECK enum err transfer_open(const char *folder,
                                  const char *space,
                                  enum folder_access access,
                                  struct transfer **out,
                                  struct err_detail *detail);
void transfer_close(struct transfer *transfer); /* NULL is fine */

/* How much a piece is. NOT_FOUND, with the nearest name. */
MUST_CHECK enum err transfer_count(struct transfer *transfer,
                                   const char *name,
                                   struct transfer_counts *counts,
                                   struct err_detail *detail);

/* ARGUMENT if a process that tells it is there (host/presence.h) has the piece
 * started: it would write to what is gone. */
MUST_CHECK enum err transfer_remove(struct transfer *transfer,
                                    const char *name,
                                    struct transfer_counts *counts,
                                    struct err_detail *detail);

/* The same conditions, and nothing may have the new name. Links to the piece
 * are rewritten in all documents of the space. */
MUST_CHECK enum err transfer_rename(struct transfer *transfer,
                                    const char *name,
                                    const char *new_name,
                                    struct transfer_counts *counts,
                                    struct err_detail *detail);

/* One state of a piece, or, with NULL, of the space. */
MUST_CHECK enum err transfer_export(struct transfer *transfer,
                                    const char *name,
                                    struct buf *to,
                                    struct transfer_counts *counts,
                                    struct err_detail *detail);

struct transfer_import {
    const char *text;
    size_t length;
    const char *name; /* of the piece; NULL: the one that it had */
    bool replace;     /* what is there, instead of refusing */
};

/* ARGUMENT: it is there already, or is started; SYNTAX: the text is not an
 * export, or not whole. `imported` is the name of the piece, or "". */
MUST_CHECK enum err transfer_import(struct transfer *transfer,
                                    const struct transfer_import *import,
                                    struct buf *imported,
                                    struct transfer_counts *counts,
                                    struct err_detail *detail);

#endif
