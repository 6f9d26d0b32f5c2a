/* Whole pieces as sets of documents: counting, removing, renaming, exporting to
 * a file and importing from one. No pattern is needed and nothing runs.
 *
 *   transfer-1  Each change is one SQL transaction of the space: a process that
 *               is killed meanwhile has changed nothing.
 *   transfer-2  A piece consists of its result document, the documents below it
 *               ("piece:NAME/..."), including those of each user, and the
 *               pieces that its handlers have launched. Documents of a session
 *               are left out: they are useless to another process. Events that
 *               wait for its streams (proto/event.h) are removed with it and
 *               follow its name; they are not part of an export.
 *   transfer-4  A child in another space (piece-8 of runtime/piece.h) belongs
 *               to its parent and is removed with it, before it, in a separate
 *               transaction: after a kill in between, the parent still exists
 *               and can be removed again. A child is not removed alone while
 *               its parent has it. Neither of the two is renamed or exported,
 *               because the other one would be left out.
 *   transfer-3  The remembered runs of each changed name are forgotten: the
 *               nodes run again at the next start of the piece.
 *
 * An export is JSON Lines: a header, one line per document, and the number of
 * documents at the end, so that a truncated file is detected.
 *
 *   {"format":"heddle-export","version":1,"kind":"piece","space":"main",
 *    "pieces":["shop"],"seq":12,"at":1700000000000}
 *   {"scope":"space","id":"piece:shop","document":{...}}
 *   {"documents":1} */

#ifndef HOST_TRANSFER_H
#define HOST_TRANSFER_H

#include "base/buf.h"
#include "base/err.h"
#include "host/data_dir.h"
#include "value/value.h"

/* The prefix of the names of the sessions that commit these changes. */
#define TRANSFER_SESSION "transfer-"

struct transfer;

struct transfer_counts {
    uint64_t pieces;
    uint64_t documents;
    uint64_t relinked; /* other documents whose links were rewritten */
};

/* A space of a data directory. Both names are borrowed until the end. */
MUST_CHECK enum err transfer_open(const char *folder,
                                  const char *space,
                                  enum data_dir_access access,
                                  struct transfer **out,
                                  struct err_detail *detail);
void transfer_close(struct transfer *transfer); /* NULL is fine */

/* The size of a piece. NOT_FOUND, with the nearest name. */
MUST_CHECK enum err transfer_count(struct transfer *transfer,
                                   const char *name,
                                   struct transfer_counts *counts,
                                   struct err_detail *detail);

/* ARGUMENT if a present process (host/presence.h) has the piece started: it
 * would write to removed documents. */
MUST_CHECK enum err transfer_remove(struct transfer *transfer,
                                    const char *name,
                                    struct transfer_counts *counts,
                                    struct err_detail *detail);

/* The same conditions, and the new name must be free. Rewrites links to the
 * piece in all documents of the space. */
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
    const char *name; /* of the piece; NULL: the exported name */
    bool replace;     /* an existing piece, instead of refusing */
};

/* ARGUMENT: the piece exists, or is started; SYNTAX: the text is not an export,
 * or is truncated. `imported` is the name of the piece, or "". */
MUST_CHECK enum err transfer_import(struct transfer *transfer,
                                    const struct transfer_import *import,
                                    struct buf *imported,
                                    struct transfer_counts *counts,
                                    struct err_detail *detail);

#endif
