/* A priority queue by small integer keys: the order of a pass, which runs the
 * node of the least height first.
 *
 * It has one bucket per key, a bitmap of the buckets in use, and a bitmap of
 * the nonzero words of that bitmap. The search for the next key tests one word,
 * then one bit per 64 empty keys and one word per 4096; two marks keep it
 * between the least and the greatest key in use. Everything but that search is
 * O(1). Items with equal keys leave in FIFO order.
 *
 *   bucket-queue-1  A bucket is a ring of its items, from the oldest on; its
 *                   bit is set exactly if it has one.
 *   bucket-queue-2  A bit of the upper map is set exactly if its word is not
 *                   zero.
 *   bucket-queue-3  low <= key <= high for every item's key.
 *   bucket-queue-4  item->place is its key + 1 while it is in a queue, and 0
 *                   otherwise.
 *
 * All zero is an empty queue that owns nothing, and a zeroed item is in no
 * queue. Memory grows to the greatest key seen, by doubling, and is kept until
 * release: a queue that has seen its keys allocates nothing.
 *
 * Not here: ownership of the items, and the meaning of a key. A key is fixed
 * while its item is in the queue, except for bucket_queue_move. */

#ifndef BASE_BUCKET_QUEUE_H
#define BASE_BUCKET_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

/* The bound is for memory: a bucket is a pointer, and the table reaches to the
 * greatest key. */
#define BUCKET_KEY_MAX  ((UINT32_C(1) << 24) - 1)
#define BUCKET_KEY_NONE UINT32_MAX

/* Embedded in queued objects. */
struct bucket_item {
    struct list_node links; /* bucket-queue-1; meaningless outside a queue */
    uint32_t place;         /* bucket-queue-4 */
};

struct bucket {
    struct bucket_item *oldest; /* NULL: empty */
};

struct bucket_queue {
    struct bucket *buckets; /* by key */
    uint64_t *used;         /* one bit per bucket */
    uint64_t *used_words;   /* one bit per word of `used` */
    size_t capacity;        /* in keys; 0, or a power of two from 64 on */
    size_t count;
    uint32_t low;  /* bucket-queue-3; meaningless in an empty queue */
    uint32_t high; /* bucket-queue-3; likewise */
};

static inline bool bucket_item_is_queued(const struct bucket_item *item)
{
    return item->place != 0;
}

/* The key of an item that is queued. */
static inline uint32_t bucket_item_key(const struct bucket_item *item)
{
    CHECK(item->place != 0);
    return item->place - 1;
}

/* The queue is empty when it is released. */
void bucket_queue_release(struct bucket_queue *queue);

static inline bool bucket_queue_is_empty(const struct bucket_queue *queue)
{
    return queue->count == 0;
}

/* -- Parts of the following ---------------------------------------------- */

enum {
    BUCKET_WORD_BITS = 64
};

static inline uint64_t bucket_bit_of(size_t index)
{
    return (uint64_t)1 << (index % BUCKET_WORD_BITS);
}

static inline void bucket_set_used(struct bucket_queue *queue, uint32_t key)
{
    const size_t word = key / BUCKET_WORD_BITS;
    queue->used[word] |= bucket_bit_of(key);
    queue->used_words[word / BUCKET_WORD_BITS] |= bucket_bit_of(word);
}

static inline void bucket_clear_used(struct bucket_queue *queue, uint32_t key)
{
    const size_t word = key / BUCKET_WORD_BITS;
    queue->used[word] &= ~bucket_bit_of(key);
    if (queue->used[word] == 0) {
        queue->used_words[word / BUCKET_WORD_BITS] &= ~bucket_bit_of(word);
    }
}

/* bucket-queue-3 for one more key, before it is counted. */
static inline void bucket_widen_marks(struct bucket_queue *queue, uint32_t key)
{
    if (queue->count == 0) {
        queue->low = key;
        queue->high = key;
    } else if (key < queue->low) {
        queue->low = key;
    } else if (key > queue->high) {
        queue->high = key;
    }
}

COLD void bucket_queue_grow(struct bucket_queue *queue, uint32_t key);

/* -- In and out ---------------------------------------------------------- */

/* Adds `item`, which is in no queue, behind the others with its key. */
static inline void bucket_queue_push(struct bucket_queue *queue,
                                     struct bucket_item *item,
                                     uint32_t key)
{
    CHECK(!bucket_item_is_queued(item));
    if (UNLIKELY(key >= queue->capacity)) {
        bucket_queue_grow(queue, key);
    }
    bucket_widen_marks(queue, key);

    struct bucket_item *oldest = queue->buckets[key].oldest;
    if (oldest != NULL) { /* a ring: before the oldest is the last place */
        struct list_node *last = oldest->links.prev;
        item->links.next = &oldest->links;
        item->links.prev = last;
        last->next = &item->links;
        oldest->links.prev = &item->links;
    } else {
        list_node_init(&item->links);
        queue->buckets[key].oldest = item;
        bucket_set_used(queue, key);
    }
    item->place = key + 1;
    queue->count++;
}

/* Removes an item of this queue. */
static inline void bucket_queue_remove(struct bucket_queue *queue,
                                       struct bucket_item *item)
{
    const uint32_t key = bucket_item_key(item);
    CHECK(key < queue->capacity);
    CHECK(queue->buckets[key].oldest != NULL);

    if (!list_node_is_linked(&item->links)) {
        CHECK(queue->buckets[key].oldest == item);
        queue->buckets[key].oldest = NULL;
        bucket_clear_used(queue, key);
    } else if (queue->buckets[key].oldest == item) {
        queue->buckets[key].oldest =
            CONTAINER_OF(item->links.next, struct bucket_item, links);
    }
    list_remove(&item->links);
    item->place = 0;
    queue->count--;
}

/* Gives an item of this queue another key, and the last position among the
 * items that have it. With its current key it keeps its position. */
void bucket_queue_move(struct bucket_queue *queue,
                       struct bucket_item *item,
                       uint32_t key);

/* The least key in use that is not less than `from`, or BUCKET_KEY_NONE. */
uint32_t bucket_queue_lowest(const struct bucket_queue *queue, uint32_t from);

/* Removes the oldest item of that key, or returns NULL. A sweep passes the key
 * it has reached as `from`; items behind it wait for the next sweep. */
struct bucket_item *bucket_queue_pop_from(struct bucket_queue *queue,
                                          uint32_t from);

/* The same if that item is at the low mark, as it usually is: its bucket has
 * more, or the only item was just pushed. NULL: a search is needed. */
static inline struct bucket_item *bucket_queue_pop_low(
    struct bucket_queue *queue,
    uint32_t from)
{
    const uint32_t key = queue->low;
    if (queue->count == 0 || from > key || queue->buckets[key].oldest == NULL) {
        return NULL;
    }
    struct bucket_item *item = queue->buckets[key].oldest;
    struct list_node *next = item->links.next;
    if (next == &item->links) {
        queue->buckets[key].oldest = NULL;
        bucket_clear_used(queue, key);
    } else {
        struct list_node *last = item->links.prev;
        last->next = next;
        next->prev = last;
        queue->buckets[key].oldest =
            CONTAINER_OF(next, struct bucket_item, links);
        list_node_init(&item->links);
    }
    item->place = 0;
    queue->count--;
    return item;
}

/* The oldest item with the least key, or NULL. */
static inline struct bucket_item *bucket_queue_pop(struct bucket_queue *queue)
{
    return bucket_queue_pop_from(queue, 0);
}

/* True if bucket-queue-1 to bucket-queue-4 hold. Walks all keys and all
 * items. */
bool bucket_queue_check(const struct bucket_queue *queue);

#endif
