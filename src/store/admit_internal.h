/* Admission, internal: what the checks of commits and of batches share. */

#ifndef STORE_ADMIT_INTERNAL_H
#define STORE_ADMIT_INTERNAL_H

#include "store/commit_record.h"

/* What an operation writes, and its canonical text. */
struct op_text {
    struct value data;
    struct value text;
};

/* Everything about the commit being checked. */
struct admission {
    struct engine *engine;
    const struct commit *commit;
    struct value context; /* owned; with its text */
    struct value context_text;
    VEC(struct op_text) data; /* one per operation, owned */
    struct identity identity;
    uint64_t client;          /* of the request, */
    uint64_t unchanged_seq;   /* likewise */
    struct value session_key; /* owned */
    uint64_t session;         /* its row; 0: this is its first commit */
    struct branch *branch;
    struct verdict *verdict;
    struct commit_record *commit_record;
    struct err_detail *detail; /* for faults */
    bool replayed;
};

/* A check passes, refuses (the verdict is set), or meets a fault. */
enum outcome {
    PASSED,
    REFUSED,
    FAULT
};

enum outcome admit_passed(enum err err);

/* Sets the verdict. */
__attribute__((format(printf, 3, 4))) enum outcome admit_refuse(
    struct admission *admission,
    enum err err,
    const char *format,
    ...);

void admission_release(struct admission *admission);

/* The author, a well-formed commit, and an active branch. */
enum outcome admit_session(struct admission *admission);
enum outcome admit_shape(struct admission *admission);
enum outcome admit_branch(struct admission *admission);

/* The same, about a document. */
enum outcome admit_refuse_document(struct admission *admission,
                                   enum err err,
                                   struct value id,
                                   const char *what);

/* The document that a target names for this author. */
enum outcome admit_find_target(struct admission *admission,
                               struct branch *branch,
                               const struct target *target,
                               struct document **out);

/* Whether all preconditions hold. */
enum outcome admit_preconditions(struct admission *admission);

/* Whether the author may have observations of these scopes. */
enum outcome admit_observers(struct admission *admission);

/* Whether the view that the commit claims includes all that has landed. */
enum outcome admit_view(struct admission *admission);

/* The author of a winning commit, for messages: new, or absent. Read errors are
 * reported elsewhere. */
struct value admit_author_of(struct engine *engine, uint64_t seq);

/* Whether the observation of a commit has a basis that existed; if not, the
 * verdict drops it. */
enum outcome admit_basis(struct admission *admission);

/* The seq of the author's commit; 0 if it has not landed. */
MUST_CHECK enum err admit_find_commit(struct admission *admission,
                                      uint64_t local_seq,
                                      uint64_t *seq);

#endif
