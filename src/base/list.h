/* Intrusive doubly linked lists: membership that allocates nothing.
 *
 * An object embeds one struct list_node per list that it can be in, and
 * CONTAINER_OF leads back from the node. Everything but list_check is O(1) and
 * inline.
 *
 *   base-list-1  A list is a ring through its own head: no pointer is ever
 *                NULL, so no operation has a special case for an end.
 *   base-list-2  node->next->prev == node and node->prev->next == node.
 *   base-list-3  A node that is in no list points to itself: a ring of one.
 *
 * Not here: ownership and length. A list whose nodes point back to its head
 * must not move in memory, and a node must be removed before it is freed. A
 * zeroed node is not a valid one, so that a forgotten init is found at the
 * first insert. */

#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/check.h"

struct list_node {
    struct list_node *next;
    struct list_node *prev;
};

struct list {
    struct list_node head;
};

static inline void list_node_init(struct list_node *node)
{
    node->next = node;
    node->prev = node;
}

static inline bool list_node_is_linked(const struct list_node *node)
{
    return node->next != node;
}

static inline void list_init(struct list *list)
{
    list_node_init(&list->head);
}

static inline bool list_is_empty(const struct list *list)
{
    return list->head.next == &list->head;
}

/* The node at an end, or NULL. It stays in the list. */
static inline struct list_node *list_first(const struct list *list)
{
    return list_is_empty(list) ? NULL : list->head.next;
}

static inline struct list_node *list_last(const struct list *list)
{
    return list_is_empty(list) ? NULL : list->head.prev;
}

/* Inserts `node`, which is in no list, next to `place`, which is in one. */
static inline void list_insert_before(struct list_node *node,
                                      struct list_node *place)
{
    CHECK(!list_node_is_linked(node));
    node->next = place;
    node->prev = place->prev;
    place->prev->next = node;
    place->prev = node;
}

static inline void list_insert_after(struct list_node *node,
                                     struct list_node *place)
{
    list_insert_before(node, place->next);
}

static inline void list_push_front(struct list *list, struct list_node *node)
{
    list_insert_after(node, &list->head);
}

static inline void list_push_back(struct list *list, struct list_node *node)
{
    list_insert_before(node, &list->head);
}

/* Removes `node` from its list; harmless if it is in none. */
static inline void list_remove(struct list_node *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_node_init(node);
}

/* Removes the first node and returns it, or NULL. */
static inline struct list_node *list_pop_front(struct list *list)
{
    struct list_node *node = list_first(list);
    if (node != NULL) {
        list_remove(node);
    }
    return node;
}

/* Moves it from its list, if any, to an end of `list`. */
static inline void list_move_front(struct list *list, struct list_node *node)
{
    list_remove(node);
    list_push_front(list, node);
}

static inline void list_move_back(struct list *list, struct list_node *node)
{
    list_remove(node);
    list_push_back(list, node);
}

/* Appends all nodes of `from` to `list`, in order; `from` is empty afterwards.
 */
static inline void list_splice_back(struct list *list, struct list *from)
{
    CHECK(list != from);
    if (list_is_empty(from)) {
        return;
    }
    from->head.next->prev = list->head.prev;
    from->head.prev->next = &list->head;
    list->head.prev->next = from->head.next;
    list->head.prev = from->head.prev;
    list_init(from);
}

/* Visits each struct list_node *node from the front. The body may remove
 * `node` itself, and free it, but not the one behind it; what it inserts
 * directly behind `node` is not visited. */
#define LIST_FOREACH(list, node)                         \
    for (struct list_node * (node) = (list)->head.next,  \
                            *node##_next = (node)->next; \
         (node) != &(list)->head;                        \
         (node) = node##_next, node##_next = (node)->next)

/* True if base-list-2 holds all around. Walks the list. */
static inline bool list_check(const struct list *list)
{
    const struct list_node *node = &list->head;
    do {
        if (node->next->prev != node || node->prev->next != node) {
            return false;
        }
        node = node->next;
    } while (node != &list->head);
    return true;
}

#endif
