/* Effects: what a commit does to the rows, decided once.
 *
 * A record is self-contained: no clock, no randomness, no decision left when it
 * is applied. Applying the records of a store to an empty one gives equal
 * tables. A digest chains each record to the one before, so a gap, an edit or a
 * reordering is detected.
 *
 *   {"record":12,"kind":"commit","seq":11,"branch":"","session":"s1",
 *    "localSeq":7,"digest":"...","at":0,"context":{"reads":...},
 *    "resolved":[[5,9]],
 *    "writes":[{"index":0,"id":"of:a","scope":"space","op":"patch",
 *               "data":[...],"trace":[[2,0,0,0]]}]}
 *   {"record":13,"kind":"fork","branch":"b","parent":"","forkSeq":11}
 *   {"record":14,"kind":"close","branch":"b"} */

#ifndef STORE_COMMIT_RECORD_H
#define STORE_COMMIT_RECORD_H

#include "store/documents.h"

enum commit_record_kind {
    RECORD_COMMIT,
    RECORD_FORK,
    RECORD_CLOSE,
};

enum {
    COMMIT_DIGEST_BYTES = 16
};

struct record_write {
    uint32_t index; /* of the operation in its commit */
    struct value id;
    struct value scope_key;
    enum commit_op_kind op;
    struct value data;  /* set: the document; patch: the list; else absent */
    struct value trace; /* of a patch, unless all of it is zero */

    /* The canonical text of `data`, as in the row: made once, because the
     * digest, the chain and the row all need it. Absent where `data` is, and
     * until commit_record_complete. */
    struct value data_text;

    /* Not part of the record: known where it was built. */
    struct document *document;
    struct value result;   /* the document afterwards */
    uint64_t result_bytes; /* as a document's head_bytes */
    bool result_known;
};

/* All references are owned. */
struct commit_record {
    enum commit_record_kind kind;
    uint64_t record;
    struct value branch; /* name */

    uint64_t seq;
    struct value session; /* key */
    uint64_t local_seq;
    unsigned char digest[COMMIT_DIGEST_BYTES];
    uint64_t at_ms;
    struct value context;      /* the rest of the commit, or absent */
    struct value context_text; /* its canonical text, or absent */
    VEC(struct resolved_layer) resolved;
    VEC(struct record_write) writes;

    struct value parent; /* fork */
    uint64_t fork_seq;
};

void commit_record_release(struct commit_record *commit_record);

/* The same record in a block of its own, without its documents. */
struct commit_record *commit_record_copy(
    const struct commit_record *commit_record);

/* To a value, and back. Reading validates everything. */
struct value record_write(const struct commit_record *commit_record);
MUST_CHECK enum err commit_record_read(struct value value,
                                       struct commit_record *out,
                                       struct err_detail *detail);

/* PROTOCOL: what is wrong with a field of the write with that number. */
enum err commit_record_bad_write(size_t number,
                                 const char *field,
                                 const char *why,
                                 struct err_detail *detail);

/* [[local seq, seq], ...] into out->resolved; false if the list is
 * malformed. */
bool resolved_read(struct value list, struct commit_record *out);

/* Fills in the missing texts. */
void commit_record_complete(struct commit_record *commit_record);

/* The canonical text of a value, as a string; absent for absent. */
struct value commit_record_text(struct value value);

/* The chain after a record, which must be complete. */
struct digest commit_record_chain(struct digest before,
                                  const struct commit_record *commit_record);

/* Writes the rows. Inside a transaction; a failure is a fault, and the
 * transaction must be rolled back. */
MUST_CHECK enum err commit_record_apply(
    struct engine *engine,
    const struct commit_record *commit_record,
    struct err_detail *detail);

/* -- Traces, in rows and records ----------------------------------------- */

typedef VEC(struct patch_trace) trace_list;

/* An array of [created length, collapsed, path in array, from in array]; absent
 * if all is zero. */
struct value traces_write(const struct patch_trace *traces, size_t count);

/* From a row's text, "" for none: `count` of them. */
MUST_CHECK enum err traces_decode(struct text text,
                                  size_t count,
                                  trace_list *out,
                                  struct err_detail *detail);

#endif
