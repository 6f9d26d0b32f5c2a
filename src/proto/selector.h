/* Selectors: a watch of everything that links lead to from a place.
 *
 *   {"id":"list","root":{"id":"of:a","scope":"user"},"path":"/items",
 *    "schema":{"items":true},"depth":3,"count":1000}
 *
 * The id is chosen by the session. The path is a JSON Pointer in the value of
 * the root document; left out, it is the whole value. The schema says which
 * links are followed (host/reach_links.h); left out, it is true. The depth is
 * how many links are followed one after the other, the count how many documents
 * are reached at most; left out, the limits of the store hold.
 *
 * A store that does not accept a selector says why:
 *
 *   {"id":"list","code":"LIMIT_REACH","class":"terminal","message":"..."} */

#ifndef PROTO_SELECTOR_H
#define PROTO_SELECTOR_H

#include "base/err.h"
#include "proto/target.h"

struct fields;

struct selector {
    struct value id; /* string, not empty */
    struct target root;
    struct value path;   /* string, the text of a JSON Pointer */
    struct value schema; /* true, false or an object */
    bool has_depth;
    bool has_count;
    uint64_t depth;
    uint64_t count;
};

struct selector_refusal {
    struct value id; /* string */
    struct err_detail detail;
};

/* A copy with its own references. */
struct selector selector_copy(const struct selector *selector);
void selector_release(struct selector *selector);

/* Whether all but the id is the same. The order of keys does not matter. */
bool selector_same(const struct selector *a, const struct selector *b);

/* From and to an object. What is read is to be released, also on an error. The
 * fields have the object entered already. */
MUST_CHECK enum err selector_read(const struct fields *fields,
                                  struct value object,
                                  struct selector *out);
struct value selector_write(const struct selector *selector);

MUST_CHECK enum err selector_refusal_read(const struct fields *fields,
                                          struct value object,
                                          struct selector_refusal *out);
struct value selector_refusal_write(const struct selector_refusal *refusal);

#endif
