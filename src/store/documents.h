/* Documents as rows: finding them, and folding revisions into values.
 *
 * The value at a seq is the last set before it (or a snapshot, whichever is
 * later), with the later patches applied in order. A branch without a base of
 * its own continues the parent's, as it was at the fork.
 *
 * The length of a value's canonical text is known only after writing it. An
 * upper bound costs nothing: the text of its base, plus for each patch a
 * multiple of the patch's own text. It holds for every value that is folded or
 * committed; the text is measured only when the bound exceeds the limit. */

#ifndef STORE_DOCUMENTS_H
#define STORE_DOCUMENTS_H

#include "store/engine.h"
#include "value/json.h"

/* The document of that name on that branch: one structure each, which lives
 * until the caches are dropped. A document that does not exist has one, too
 * (number 0). */
MUST_CHECK enum err document_find(struct engine *engine,
                                  struct branch *branch,
                                  struct value scope_key,
                                  struct value id,
                                  struct document **out,
                                  struct err_detail *detail);

/* The same if it is cached; otherwise NULL, without a query. */
struct document *document_peek(struct engine *engine,
                               struct branch *branch,
                               struct value scope_key,
                               struct value id);

/* The value at the head, borrowed from the cache; absent if there is no
 * document. */
MUST_CHECK enum err document_head(struct engine *engine,
                                  struct document *document,
                                  struct value *out,
                                  struct err_detail *detail);

/* A patch of n bytes makes a document longer by at most n times this. It
 * contains its values in full; a key that it creates on the way costs at least
 * one byte of a pointer ("/"), and six in the document (`"":{},`). */
enum {
    DOCUMENT_GROWTH = 8
};

enum fold_from {
    FOLD_FAST,      /* from the last set or snapshot, whichever is later */
    FOLD_REVISIONS, /* from the last set: to verify snapshots */
};

/* The value at `seq`, new. */
MUST_CHECK enum err document_at(struct engine *engine,
                                struct document *document,
                                uint64_t seq,
                                enum fold_from from,
                                struct value *out,
                                struct err_detail *detail);

/* The seq of the last revision of the document, or of the one it continues; 0
 * if there never was one. */
MUST_CHECK enum err document_last_seq(struct engine *engine,
                                      struct document *document,
                                      uint64_t *out,
                                      struct err_detail *detail);

/* Whether the document ever existed. */
MUST_CHECK enum err document_ever_existed(struct engine *engine,
                                          struct document *document,
                                          bool *out,
                                          struct err_detail *detail);

/* Parses the JSON text of a row, whatever the limits are now. */
MUST_CHECK enum err stored_read(const struct engine *engine,
                                struct text text,
                                struct value *out,
                                struct json_fault *fault);

/* The same. CORRUPT, naming the document, if the text is invalid. */
MUST_CHECK enum err document_decode(struct engine *engine,
                                    const struct document *document,
                                    struct text text,
                                    struct value *out,
                                    struct err_detail *detail);

/* "set", "patch" or "delete" from a row; false for anything else. */
bool document_op_read(struct text text, enum commit_op_kind *out);

/* Updates the numbers in a document's row. Inside a write transaction. */
MUST_CHECK enum err document_update(struct engine *engine,
                                    const struct document *document,
                                    struct err_detail *detail);

/* Lists documents: rows after number `after`, at most `limit`. */
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

/* If too many are cached: drops those that can be read again as one row, and
 * all if that is not enough. So a document with many small changes stays,
 * however many others are written once. Between transactions. */
void documents_trim(struct engine *engine);

#endif
