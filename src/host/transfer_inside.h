/* What transfer.c and transfer_file.c share: the documents of pieces, and
 * writing them. */

#ifndef HOST_TRANSFER_INSIDE_H
#define HOST_TRANSFER_INSIDE_H

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
    struct value relatives; /* of those that are removed: an array of
                               {"space", "piece"} of other spaces that go, too,
                               with events that wait for them here; or
                               absent */
};

void moved_set_release(struct moved_set *set);

/* The document at the head, new; absent: there is none. Inside a
 * transaction. */
MUST_CHECK enum err transfer_read(struct transfer *transfer,
                                  struct value scope_key,
                                  struct value id,
                                  struct value *out,
                                  struct err_detail *detail);

/* Fills the set with a piece and what it has launched (T2), or, with NULL, with
 * everything. NOT_FOUND. Inside a transaction. */
MUST_CHECK enum err transfer_gather(struct transfer *transfer,
                                    const char *name,
                                    struct moved_set *set,
                                    struct err_detail *detail);

/* What is at "piece" of a result document, borrowed; absent: it is none, or was
 * removed. */
struct value transfer_about(struct value document);
/* The generation in it, also of a removed one; 0: none. */
uint64_t transfer_generation(struct value document);

/* Removes a piece and what it has launched in this space. `children` are those
 * of transfer_elsewhere that are gone; STALE: there are others now. Adds to the
 * counts. */
MUST_CHECK enum err transfer_remove_here(struct transfer *transfer,
                                         const char *name,
                                         struct value children,
                                         struct transfer_counts *counts,
                                         struct err_detail *detail);

/* T4: the children of a piece, and of what it has launched, in other spaces, as
 * its document has them: an array, new. Inside a transaction. */
MUST_CHECK enum err transfer_elsewhere(struct transfer *transfer,
                                       const struct moved_set *set,
                                       struct value *out,
                                       struct err_detail *detail);

/* T4: the parent of a piece if it is in another space, new; or absent. Inside a
 * transaction. */
MUST_CHECK enum err transfer_read_parent(struct transfer *transfer,
                                         struct value name,
                                         struct value *out,
                                         struct err_detail *detail);

/* T4: ARGUMENT if the piece has such children, or is one. `what` is what cannot
 * be done. Inside a transaction. */
MUST_CHECK enum err transfer_refuse_elsewhere(struct transfer *transfer,
                                              const struct moved_set *set,
                                              const char *what,
                                              struct err_detail *detail);

/* Whether a process has the piece started: then ARGUMENT. */
MUST_CHECK enum err transfer_check_stopped(const struct transfer *transfer,
                                           const char *name,
                                           struct err_detail *detail);

/* Whether a document of an export can be handled if it holds an event: a timer
 * has a due time, and cron fields and a zone that are known here. ARGUMENT,
 * with the path in the document. */
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

/* `document` is absent: the document is deleted. Borrows all. */
MUST_CHECK enum err moved_write(struct moved_writer *writer,
                                struct value scope_key,
                                struct value id,
                                struct value document,
                                struct err_detail *detail);

/* Lands what is left, and releases the writer, also if `err` is none. */
MUST_CHECK enum err moved_write_end(struct moved_writer *writer,
                                    enum err err,
                                    struct err_detail *detail);

/* A set in which the names begin with another one, and the links of all
 * documents say so. */
struct moved_names {
    const struct moved_set *set; /* whose names are renamed */
    struct value space;          /* in which they were, and links name it, */
    struct value to_space;       /* and in which they are to be */
    const char *from;
    const char *to;
    uint64_t generation; /* at least, of the pieces: above that of a removed one
                            that had the name; 0: there was none */
};

/* The id, the name or the document under the new name: new references. */
struct value moved_id(const struct moved_names *names, struct value id);
struct value moved_name(const struct moved_names *names, struct value name);
struct value moved_value(const struct moved_names *names,
                         struct value document);

/* The same for a result document, or the record of a user in its place: what it
 * has launched, too, and the generation. */
struct value moved_result(const struct moved_names *names,
                          struct value document);

/* The generation for the names, from what is at the new id now: nothing, a
 * removed piece, or, with `replace`, a piece; ARGUMENT otherwise. */
MUST_CHECK enum err moved_read_generation(struct transfer *transfer,
                                          struct moved_names *names,
                                          bool replace,
                                          struct err_detail *detail);

/* Whether an id is that of a piece itself, and not of what is below it. */
bool moved_is_piece(struct value id);

/* The list of pieces without `gone`, if it is there, and with `added`, if it is
 * not absent; written if it is another one then. `document` is the result
 * document of `added`. */
MUST_CHECK enum err moved_write_index(struct moved_writer *writer,
                                      struct value gone,
                                      struct value added,
                                      struct value document,
                                      struct err_detail *detail);

/* Whether the id is that of one of the pieces, or of what is below it. */
bool moved_set_has(const struct moved_set *set, struct value id);

/* The stored events for the streams of pieces that are `removed` are deleted;
 * or, with `names`, all stored events get the new names. One of the two is
 * given. */
MUST_CHECK enum err moved_write_events(struct moved_writer *writer,
                                       const struct moved_set *removed,
                                       const struct moved_names *names,
                                       struct err_detail *detail);

/* After the transaction: what is remembered of the runs of the pieces. */
MUST_CHECK enum err transfer_forget(struct transfer *transfer,
                                    const struct moved_set *set,
                                    struct err_detail *detail);

#endif
