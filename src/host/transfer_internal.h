/* What transfer.c and transfer_file.c share: the documents of pieces, and
 * writing them. */

#ifndef HOST_TRANSFER_INTERNAL_H
#define HOST_TRANSFER_INTERNAL_H

#include "base/vec.h"
#include "host/transfer.h"
#include "store/engine.h"

struct transfer {
    const char *folder;
    const char *name; /* of the space */
    struct engine engine;
    struct value session; /* of the commits */
    uint64_t local_seq;   /* of the last one */
    struct value branch;  /* "" */
    struct value space;   /* "space", a scope key */
};

struct moved_document {
    struct value scope_key;
    struct value id;
    struct value document; /* an object */
};

struct moved_set {
    VEC(struct value)
    names; /* of pieces; the first is the one that was asked
              for */
    VEC(struct moved_document) documents;
    struct value space;     /* of an export: the name of its space; or absent */
    struct value relatives; /* of removed pieces: an array of {"space", "piece"}
                               in other spaces that are removed, too, with
                               events that wait for them here; or
                               absent */
};

void moved_set_release(struct moved_set *set);

/* The document at the head, new; or absent. Inside a transaction. */
MUST_CHECK enum err transfer_read(struct transfer *transfer,
                                  struct value scope_key,
                                  struct value id,
                                  struct value *out,
                                  struct err_detail *detail);

/* Fills the set with a piece and the pieces that it launched (transfer-2), or,
 * with NULL, with everything. NOT_FOUND. Inside a transaction. */
MUST_CHECK enum err transfer_gather(struct transfer *transfer,
                                    const char *name,
                                    struct moved_set *set,
                                    struct err_detail *detail);

/* The content of "piece" in a result document, borrowed; absent: it is not one,
 * or was removed. */
struct value transfer_about(struct value document);
/* The generation in it, also of a removed piece; 0: none. */
uint64_t transfer_generation(struct value document);

/* Removes a piece and the pieces that it launched in this space. `children` are
 * those of transfer_elsewhere that are removed; STALE: there are others now.
 * Adds to the counts. */
MUST_CHECK enum err transfer_remove_here(struct transfer *transfer,
                                         const char *name,
                                         struct value children,
                                         struct transfer_counts *counts,
                                         struct err_detail *detail);

/* transfer-4: the children in other spaces of a piece and of the pieces that it
 * launched, from its document: an array, new. Inside a transaction. */
MUST_CHECK enum err transfer_elsewhere(struct transfer *transfer,
                                       const struct moved_set *set,
                                       struct value *out,
                                       struct err_detail *detail);

/* transfer-4: the parent of a piece if it is in another space, new; or absent.
 * Inside a transaction. */
MUST_CHECK enum err transfer_read_parent(struct transfer *transfer,
                                         struct value name,
                                         struct value *out,
                                         struct err_detail *detail);

/* transfer-4: ARGUMENT if the piece has such children, or is one. `what` names
 * the refused operation. Inside a transaction. */
MUST_CHECK enum err transfer_refuse_elsewhere(struct transfer *transfer,
                                              const struct moved_set *set,
                                              const char *what,
                                              struct err_detail *detail);

/* ARGUMENT if a process has the piece started. */
MUST_CHECK enum err transfer_check_stopped(const struct transfer *transfer,
                                           const char *name,
                                           struct err_detail *detail);

/* Validates an exported document that holds an event: a timer has a due time,
 * and its cron fields and zone are known here. ARGUMENT, with the path in the
 * document. */
MUST_CHECK enum err moved_check_event(struct value id,
                                      struct value document,
                                      struct err_detail *detail);

/* -- Writing ------------------------------------------------------------- */

/* Commits in the transaction of the engine, one per scope key and per 10,000
 * operations. */
struct moved_writer {
    struct transfer *transfer;
    struct commit commit;
    struct value scope_key; /* of the operations so far; or absent */
};

/* If `document` is absent, the document is deleted. Borrows all. */
MUST_CHECK enum err moved_write(struct moved_writer *writer,
                                struct value scope_key,
                                struct value id,
                                struct value document,
                                struct err_detail *detail);

/* Commits the rest and releases the writer, also if `err` is an error. */
MUST_CHECK enum err moved_write_end(struct moved_writer *writer,
                                    enum err err,
                                    struct err_detail *detail);

/* A set whose names get another prefix, also in the links of all documents. */
struct moved_names {
    const struct moved_set *set; /* whose names are renamed */
    struct value space;          /* the former one, as links name it, */
    struct value to_space;       /* and the new one */
    const char *from;
    const char *to;
    uint64_t generation; /* minimum for the pieces: above that of a removed
                            piece that had the name; 0: there was none */
};

/* The id, the name or the document under the new name: new references. */
struct value moved_id(const struct moved_names *names, struct value id);
struct value moved_name(const struct moved_names *names, struct value name);
struct value moved_value(const struct moved_names *names,
                         struct value document);

/* The same for a result document, or the record of a user beside it: also
 * renames launched pieces and sets the generation. */
struct value moved_result(const struct moved_names *names,
                          struct value document);

/* The generation for the names, from the current document at the new id: none,
 * a removed piece, or, with `replace`, a piece; ARGUMENT otherwise. */
MUST_CHECK enum err moved_read_generation(struct transfer *transfer,
                                          struct moved_names *names,
                                          bool replace,
                                          struct err_detail *detail);

/* Whether an id is that of a piece itself, and not of a document below it. */
bool moved_is_piece(struct value id);

/* Writes the list of pieces without `gone` and with `added`, unless absent, if
 * that changes it. `document` is the result document of `added`. */
MUST_CHECK enum err moved_write_index(struct moved_writer *writer,
                                      struct value gone,
                                      struct value added,
                                      struct value document,
                                      struct err_detail *detail);

/* Whether the id is of one of the pieces, or of a document below it. */
bool moved_set_has(const struct moved_set *set, struct value id);

/* Deletes the stored events for streams of `removed` pieces; or, with `names`,
 * renames all stored events. Exactly one of the two is given. */
MUST_CHECK enum err moved_write_events(struct moved_writer *writer,
                                       const struct moved_set *removed,
                                       const struct moved_names *names,
                                       struct err_detail *detail);

/* After the transaction: forgets the remembered runs of the pieces. */
MUST_CHECK enum err transfer_forget(struct transfer *transfer,
                                    const struct moved_set *set,
                                    struct err_detail *detail);

#endif
