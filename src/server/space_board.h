/* A board: which spaces of a server are open, and how busy each is.
 *
 * A space belongs to one worker (server-1); the board is what the others may
 * know about it. The worker posts an entry when it opens a space and updates it
 * after each group; who lists the spaces of the server reads it.
 *
 *   board-1  The numbers of an entry may be read while they change: each is
 *            right by itself, and they may be of different moments. */

#ifndef SERVER_SPACE_BOARD_H
#define SERVER_SPACE_BOARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/list.h"
#include "value/value.h"

struct board_entry {
    struct list_node in_board;
    size_t length;
    _Atomic uint64_t seq;
    _Atomic uint64_t channels;
    _Atomic uint64_t sessions;
    char name[]; /* of `length` bytes */
};

struct space_board {
    pthread_mutex_t mutex;
    struct list entries;
};

void space_board_init(struct space_board *board);
void space_board_release(struct space_board *board); /* it is empty */

/* From any thread. The entry may be updated without a lock until it is taken
 * off. NULL for `board` is harmless, and gives NULL. */
struct board_entry *space_board_post(struct space_board *board,
                                     struct value name);
void space_board_take_off(struct space_board *board, struct board_entry *entry);

struct board_numbers {
    uint64_t seq;
    uint64_t channels;
    uint64_t sessions;
};

/* Whether the space is open. */
bool space_board_find(struct space_board *board,
                      const char *name,
                      size_t length,
                      struct board_numbers *out);

#endif
