/* Documents as rows: finding them, and folding revisions into values.
 *
 * The value at a seq is the last set before it (or a snapshot, whichever is
 * later), with the patches behind it applied in order. A branch that has no
 * base of its own continues the parent's, as it was at the fork.
 *
 * How long the canonical text of a value is, nobody knows without writing it.
 * A bound is known for nothing: the text of its base, and for each patch a
 * multiple of the patch's own text. It holds for every value that is folded
 * or committed; only when it is beyond the limit is the text measured. */

#ifndef STORE_DOCUMENTS_H
#define STORE_DOCUMENTS_H

#include "store/engine.h"
#include "value/json.h"

/* The document of that name on that branch: one structure each, which lives
 * until the caches are forgotten. A document that does not exist has one, too
 * (number 0). */
MUST_CHECK enum err document_find(struct engine *engine,
                                  struct branch *branch,
                                  struct value scope_key,
                                  struct value id,
                                  struct document **out,
                                  struct err_detail *detail);

/* The same if it is in the cache; otherwise NULL, and nothing is asked. */
struct document *document_peek(struct engine *engine,
                               struct branch *branch,
                               struct value scope_key,
                               struct value id);

/* What is visible at the head, borrowed from the cache; absent if there is no
 * document. */
MUST_CHECK enum err document_head(struct engine *engine,
                                  struct document *document,
                                  struct value *out,
                                  struct err_detail *detail);

/* A patch of n bytes makes a document longer by at most n times this. What it
 * carries it has in full; a key that is made on the way costs one byte of a
 * pointer at least ("/"), and six in the document (`"":{},`). */
enum {
    DOCUMENT_GROWTH = 8
};

enum fold_from {
    FOLD_FAST,      /* from the last set or snapshot, whichever is later */
    FOLD_REVISIONS, /* from the last set: to check snapshots by */
};

/* What was visible at `seq`, new. */
MUST_CHECK enum err document_at(struct engine *engine,
                                struct document *document,
                                uint64_t seq,
                                enum fold_from from,
                                struct value *out,
                                struct err_detail *detail);

/* The seq of the last revision of the document, or of the one it continues;
 * 0 if there never was one. */
MUST_CHECK enum err document_last_seq(struct engine *engine,
                                      struct document *document,
                                      uint64_t *out,
                                      struct err_detail *detail);

/* Whether there ever was one. */
MUST_CHECK enum err document_ever_existed(struct engine *engine,
                                          struct document *document,
                                          bool *out,
                                          struct err_detail *detail);

/* The value of a JSON text from a row, whatever the limits are now. */
MUST_CHECK enum err stored_read(const struct engine *engine,
                                struct text text,
                                struct value *out,
                                struct json_fault *fault);

/* The same. CORRUPT, naming the document, if it is none. */
MUST_CHECK enum err document_decode(struct engine *engine,
                                    const struct document *document,
                                    struct text text,
                                    struct value *out,
                                    struct err_detail *detail);

/* "set", "patch" or "delete" from a row; false for anything else. */
bool document_op_read(struct text text, enum commit_op_kind *out);

/* Writes the numbers of a document's row. Inside a write transaction. */
MUST_CHECK enum err document_update(struct engine *engine,
                                    const struct document *document,
                                    struct err_detail *detail);

/* Which documents there are: rows after number `after`, at most `limit`. */
struct document_name {
    uint64_t number;
    uint64_t branch;
    struct value scope_key;
    struct value id;
};

typedef VEC(struct document_name) document_names;

MUST_CHECK enum err documents_list(struct engine *engine,
                                   uint64_t after,
                                   uint64_t limit,
                                   document_names *out,
                                   struct err_detail *detail);
void document_names_release(document_names *names);
MUST_CHECK enum err documents_count(struct engine *engine,
                                    uint64_t *out,
                                    struct err_detail *detail);

void documents_forget(struct engine *engine);

/* If too many are cached: forgets those that are read again as one row, and all
 * if that is not enough. So a document that has many small changes stays,
 * however many others are written once. Between two transactions. */
void documents_trim(struct engine *engine);

#endif
