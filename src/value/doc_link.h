/* Links: values that point at a place in a document.
 *
 *   {"/":{"link@1":{"id":"of:...","path":["a","0"],"space":"did:...",
 *                   "scope":"user","schema":...,"overwrite":"redirect"}}}
 *
 * Every field may be missing; a missing one means "as in the document that
 * holds the link". But a link with an id and without a scope means the document
 * of the space: a link to shared data keeps its target in a user's own
 * document. A link is a leaf: paths do not go through it, the runtime follows
 * it on reads, and two links are equal iff all their fields are.
 *
 * A "link@1" whose fields have other names or types is not a link but an opaque
 * tagged leaf: nothing is lost, and it is never followed. */

#ifndef VALUE_DOC_LINK_H
#define VALUE_DOC_LINK_H

#include "value/value.h"

/* All borrowed from the link; absent where the field is missing. */
struct doc_link {
    struct value id;     /* string */
    struct value path;   /* array of strings, a document path */
    struct value space;  /* string */
    struct value scope;  /* "space", "user" or "session" */
    struct value schema; /* anything */
    bool redirect;       /* writes go to the target, too */
};

struct doc_link doc_link_of(struct value link);

/* The LINK with these fields, whose types are as above; takes its own
 * references. */
struct value doc_link_new(const struct doc_link *fields);

/* Whether an object can be the state of a link. */
bool doc_link_state_is_valid(struct value state);

#endif
