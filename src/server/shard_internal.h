/* What the files of the shard share. */

#ifndef SERVER_SHARD_INTERNAL_H
#define SERVER_SHARD_INTERNAL_H

#include "server/shard.h"

/* For a space that exists and for one that does not: a stranger must not learn
 * the difference. */
#define SHARD_NO_ACCESS \
    "the access document of the space does not permit reading; ask an owner"

/* -- Spaces (shard_space.c) ---------------------------------------------- */

/* The space of that name, opened if it is not open. `create`: it may be
 * created. NOT_FOUND, OVERLOADED, faults. */
MUST_CHECK enum err shard_space_open(struct shard *shard,
                                     struct value name,
                                     bool create,
                                     struct shard_space **out,
                                     struct err_detail *detail);

/* Its file is no longer watched. */
void shard_unwatch(struct shard_space *space);

/* It has no channels. */
void shard_space_close(struct shard_space *space);

/* Something is about to be received: its group begins, unless it has begun. */
void shard_space_touch(struct shard_space *space);

/* The stored access document, new; absent: there is none. */
MUST_CHECK enum err access_read_document(struct engine *engine,
                                         struct value *out,
                                         struct err_detail *detail);

/* What the bearer of a credential may do in the space. */
enum capability shard_capability(const struct shard_space *space,
                                 const struct credential *credential);

/* Decides the group, applies changes of access, and sends what is owed. */
void shard_space_settle(struct shard_space *space);

/* -- Channels (channel.c) ------------------------------------------------ */

/* Attaches, or refuses. */
void channel_attach(struct shard *shard,
                    struct shard_port *port,
                    const struct item *item);

/* One line: the JSON of a message. */
void channel_receive(struct channel *channel, const char *text, size_t length);

/* Ends a channel: its client is told why. Safe inside a call of the hub; it is
 * gone when the turn ends. */
__attribute__((format(printf, 3, 4))) void channel_end(struct channel *channel,
                                                       enum err reason,
                                                       const char *format,
                                                       ...);

/* Tells the channels that follow that events may have been stored. */
void channels_tell_landed(struct shard_space *space);

/* The channel of a peer; NULL: it is of an HTTP request. */
const struct channel *channel_of_peer(const struct hub_peer *peer);

/* An answer of the maintenance: takes the backup of the item over. */
void channel_answered(struct channel *channel, struct item *item);

/* Frees channels that have ended. No call of a hub is under way. */
void channels_collect(struct shard *shard);

/* Frees it without a word to its client. */
void channel_free(struct channel *channel);

/* What its principal may do now, by the access document and the credential. */
enum capability channel_capability(const struct channel *channel);

/* -- Ports (shard.c) ----------------------------------------------------- */

/* The text that the turn sends to a connection, one line more. */
struct buf *port_line(struct shard *shard, struct shard_port *port);

struct proof_clock shard_clock(const struct shard *shard);

/* -- Requests (request.c) ------------------------------------------------ */

/* Takes the request of the item over. */
void request_begin(struct shard *shard, struct item *item);

/* The connection of a request has ended. */
void request_ended(struct shard *shard, net_id id);

/* Requests of a space that wait: for a receipt, or for changes. And their end,
 * because the space is closed. */
void requests_step(struct shard_space *space);

/* Sends what is in shard->outgoing. */
void shard_send_outgoing(struct shard *shard);

/* Ends what waits for callers that may no longer read. */
void requests_recheck(struct shard_space *space);
void requests_end(struct shard_space *space);

/* Ends what waits for that principal. */
void requests_end_of(struct shard_space *space, struct value principal);

#endif
