/* The access document: which principals may read, write and own a space.
 *
 * It is a document of the space, in space scope on the main branch, with the
 * reserved id ACCESS_DOCUMENT_ID:
 *
 *   {"value":{"did:key:z6Mk...":"OWNER","ann@example.com":"WRITE","*":"READ"}}
 *
 * A principal has the capability of its own entry; without one, that of "*";
 * without that, none. "*" stands for every principal that has proven its
 * identity. The service principals of a server, its own key and the keys of its
 * configured owners, are owners of every space without an entry.
 *
 *   access-1  Default deny: without a document, only service principals have
 *             access.
 *   access-2  Fail closed: the same holds if the document is malformed, was
 *             deleted, could not be read, or names no principal as OWNER ("*"
 *             does not count). A service principal can repair it.
 *   access-3  A credential never gives more than its ceiling. A token of a
 *             service key gives exactly its ceiling, whatever the document says
 *             (auth/token.h says why), until it expires.
 *   access-4  The document changes only by an owner, and only in a commit of
 *             its own: on the main branch, with one operation, which sets the
 *             whole document in space scope to a valid one. So no commit locks
 *             the owners out, and no data comes in with a change of access.
 *   access-5  Everything needs READ, a commit needs WRITE, a commit that
 *             touches the access document needs OWNER.
 *
 * Not here: scopes. A session reaches only its own principal's user documents
 * and its own session documents, because the hub and the engine derive the
 * scope key (value/address.h) from the authenticated principal and the session
 * of the connection; no message carries a scope key. A session id belongs to
 * the principal that opened it (host/hub.c), so no other principal takes it
 * over.
 *
 * A struct access belongs to the worker of its space. It is built from a
 * document as a whole. To apply a change, build the next one, compute the
 * capability of each connection again, and end those below READ. */

#ifndef SERVER_ACCESS_H
#define SERVER_ACCESS_H

#include "auth/capability.h"
#include "base/vec.h"
#include "proto/message.h"

/* Reserved: no other document has this id, in any scope. */
#define ACCESS_DOCUMENT_ID "access:document"

enum {
    ACCESS_ENTRIES_MAX = 10 * 1000
};

struct access_entry {
    char *principal; /* of `length` bytes */
    size_t length;
    enum capability capability;
};

/* All zero: no access (access-1). */
struct access {
    VEC(struct access_entry) entries; /* ordered by their bytes */
    enum capability everyone;         /* "*" */
    bool is_valid;                    /* otherwise nothing else counts */
};

/* From the stored document; absent: there is none. `detail`, which may be NULL,
 * says why a document that exists gives no access. */
void access_init(struct access *access,
                 struct value document,
                 struct err_detail *detail);
void access_release(struct access *access);

/* What the bearer of a credential may do in the space, which the credential
 * covers (credential_covers). `is_service`: its principal is a service
 * principal. */
enum capability access_capability(const struct access *access,
                                  bool is_service,
                                  const struct credential *credential);

/* OK if `document` may be stored as an access document (access-4); PROTOCOL
 * with a sentence otherwise. */
MUST_CHECK enum err access_check_document(struct value document,
                                          struct err_detail *detail);

/* Whether a commit has an operation on the access document, in any scope and on
 * any branch. */
bool access_is_touched(const struct commit *commit);

/* Judges a commit by a principal with that capability (access-4, access-5).
 * ACCESS: the capability is too low. PROTOCOL: it would change the access
 * document in another way than access-4. In both cases nothing of the commit
 * may be applied. OK with *touches: if it lands, access has changed.
 *
 * What a server runs itself has at most WRITE, so it cannot change access. */
MUST_CHECK enum err access_judge_commit(enum capability capability,
                                        const struct commit *commit,
                                        bool *touches,
                                        struct err_detail *detail);

/* The capability that a message to the store needs; its commits are judged one
 * by one as well. False for the kinds that only a store sends. */
bool access_of_message(enum message_kind kind, enum capability *out);

#endif
