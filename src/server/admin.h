/* Questions about a running server: what `heddle admin` asks.
 *
 * They come on a channel like those of host/questions.h:
 *
 *   adminSpaces    {"after"?}     -> {"spaces":[...],"next"?}
 *   adminDrain     {}             -> {}; the server drains, as after SIGTERM
 *   adminAccess    {}             -> {"access":{...} or null,"seq"}
 *   adminGrant     {"principal","capability":"READ"|"WRITE"|"OWNER"|null}
 *                                 -> {"access":{...},"seq"}
 *   adminRevoke    {"principal"}  -> {"access":{...} or null,"ended"}
 *   adminSessions  {"after"?}     -> {"sessions":[...],"next"?}
 *   adminBackup    {}             -> {"bytes"}
 *   adminRead      {"offset"}     -> {"bytes":BASE64URL}: of that backup
 *   adminCompact   {"keepFrom"?,"keepCommits"?,"keepAgeMs"?}
 *                                 -> what was removed (server/maintenance.h)
 *
 * The first two concern the server, not the space of their channel. For clients
 * that know no space, there is one without a file, SHARD_SERVER_SPACE, which
 * every principal may attach to and none can write to.
 *
 *   admin-1  adminSpaces lists what the caller may read. adminDrain needs an
 *            operator. adminAccess needs READ. All others need OWNER.
 *   admin-2  A change of access is a commit of the caller, judged like any
 *            other (access-4): the document keeps an owner.
 *   admin-3  No question names a file or a directory. */

#ifndef SERVER_ADMIN_H
#define SERVER_ADMIN_H

#include "server/shard.h"

enum {
    ADMIN_SESSIONS_PAGE = 500,
    ADMIN_READ_BYTES = 384 * 1024, /* of one adminRead */
};

bool admin_is_question(struct value question);

/* The answer, new. *later: it comes with an item of the maintenance instead.
 * ACCESS, PROTOCOL, NOT_FOUND, OVERLOADED, faults. */
MUST_CHECK enum err admin_answer(struct channel *channel,
                                 struct value question,
                                 struct value *answer,
                                 bool *later,
                                 struct err_detail *detail);

/* What a peer may do that commits for admin-2; NULL: it is none. For the judge
 * of the hub. */
const struct credential *admin_credential(const struct hub_peer *peer);

#endif
