/* Addresses: a place in a document of a space.
 *
 * A space is one database. A document in it is named by an id and a scope: the
 * same id exists once for the whole space, once per user, and once per session,
 * as independent documents. An operation has a scope *name*; a row is stored
 * under the scope *key*, which also names the user or the session:
 *
 *   space
 *   user:<principal>
 *   session:<principal>:<session>
 *
 * with each part percent-encoded (RFC 3986: letters, digits and "-._~" stand
 * for themselves, everything else is %XX with capital letters), so that ':'
 * splits exactly and '/' never appears.
 *
 *   address-1  scope_key_read accepts a key iff scope_key_new makes it. */

#ifndef VALUE_ADDRESS_H
#define VALUE_ADDRESS_H

#include "base/buf.h"
#include "base/err.h"
#include "value/path.h"

enum scope {
    SCOPE_SPACE,
    SCOPE_USER,
    SCOPE_SESSION,
};

const char *scope_name(enum scope scope);

/* From "space", "user" or "session"; false for anything else. */
bool scope_read(struct value name, enum scope *out);

/* The acting user and session: strings, absent where unknown. */
struct identity {
    struct value principal;
    struct value session;
};

/* The key of a scope for an identity. ARGUMENT if the scope needs a part of the
 * identity that is missing or empty: it is never defaulted. */
MUST_CHECK enum err scope_key_new(enum scope scope,
                                  struct identity identity,
                                  struct value *out,
                                  struct err_detail *detail);

/* Parses an external key; the parts are new references. SYNTAX unless the key
 * is exactly what scope_key_new makes (address-1). */
MUST_CHECK enum err scope_key_read(struct value key,
                                   enum scope *scope,
                                   struct identity *identity,
                                   struct err_detail *detail);

/* Whether a space's id can be part of a file name: not empty, not "." or
 * "..", no '/', no '\', no zero byte, at most LIMIT_ID_BYTES. */
MUST_CHECK enum err space_id_check(struct value id, struct err_detail *detail);

/* Whether a document's id is usable: not empty, no zero byte, at most
 * LIMIT_ID_BYTES. */
MUST_CHECK enum err document_id_check(struct value id,
                                      struct err_detail *detail);

struct address {
    struct value space;
    struct value scope_key;
    struct value id;
    struct path *path;
};

/* Takes its own references to all parts. */
struct address address_new(struct value space,
                           struct value scope_key,
                           struct value id,
                           struct path *path);
void address_release(struct address *address);

bool address_equal(const struct address *a, const struct address *b);

/* By space, id, scope key, path. */
int address_compare(const struct address *a, const struct address *b);

/* For people: "space/id#/pointer", with "@scope key" after the id unless it is
 * the space's own. */
void address_write(struct buf *to, const struct address *address);

#endif
