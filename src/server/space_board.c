/* Which spaces of a server are open. */

#include "server/space_board.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"

void space_board_init(struct space_board *board)
{
    CHECK(pthread_mutex_init(&board->mutex, NULL) == 0);
    list_init(&board->entries);
}

void space_board_release(struct space_board *board)
{
    CHECK(list_is_empty(&board->entries));
    (void)pthread_mutex_destroy(&board->mutex);
}

static void lock(struct space_board *board)
{
    CHECK(pthread_mutex_lock(&board->mutex) == 0);
}

static void unlock(struct space_board *board)
{
    CHECK(pthread_mutex_unlock(&board->mutex) == 0);
}

struct board_entry *space_board_post(struct space_board *board,
                                     struct value name)
{
    if (board == NULL) {
        return NULL;
    }
    const struct text text = value_text(&name);
    struct board_entry *entry = mem_alloc_zero(sizeof *entry + text.length);
    entry->length = text.length;
    memcpy(entry->name, text.at, text.length);
    list_node_init(&entry->in_board);
    lock(board);
    list_push_back(&board->entries, &entry->in_board);
    unlock(board);
    return entry;
}

void space_board_take_off(struct space_board *board, struct board_entry *entry)
{
    if (entry == NULL) {
        return;
    }
    lock(board);
    list_remove(&entry->in_board);
    unlock(board);
    mem_free(entry, sizeof *entry + entry->length);
}

bool space_board_find(struct space_board *board,
                      const char *name,
                      size_t length,
                      struct board_numbers *out)
{
    bool is_open = false;
    *out = (struct board_numbers){0};
    lock(board);
    LIST_FOREACH (&board->entries, node) {
        const struct board_entry *entry =
            CONTAINER_OF(node, struct board_entry, in_board);
        if (entry->length == length && memcmp(entry->name, name, length) == 0) {
            *out = (struct board_numbers){
                .seq = atomic_load(&entry->seq),
                .channels = atomic_load(&entry->channels),
                .sessions = atomic_load(&entry->sessions),
            };
            is_open = true;
            break;
        }
    }
    unlock(board);
    return is_open;
}
