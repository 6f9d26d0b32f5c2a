/* The bucket queue: rings of items, and two bitmaps to find them. */

#include "base/bucket_queue.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"

enum {
    WORD_BITS = BUCKET_WORD_BITS
};

/* How many words hold `bits` bits. */
static size_t word_count(size_t bits)
{
    return (bits + WORD_BITS - 1) / WORD_BITS;
}

static uint32_t lowest_bit(uint64_t word)
{
    return (uint32_t)__builtin_ctzll(word);
}

void bucket_queue_release(struct bucket_queue *queue)
{
    CHECK(queue->count == 0);
    const size_t words = word_count(queue->capacity);
    mem_free(queue->buckets, queue->capacity * sizeof *queue->buckets);
    mem_free(queue->used, words * sizeof *queue->used);
    mem_free(queue->used_words, word_count(words) * sizeof *queue->used_words);
    *queue = (struct bucket_queue){0};
}

/* An array of `count` items of `size` bytes; the new ones are zero. */
static void *resize_zero(void *array,
                         size_t old_count,
                         size_t count,
                         size_t size)
{
    char *grown = mem_resize(array, old_count * size, count * size);
    memset(grown + old_count * size, 0, (count - old_count) * size);
    return grown;
}

void bucket_queue_grow(struct bucket_queue *queue, uint32_t key)
{
    CHECK(key <= BUCKET_KEY_MAX);
    const size_t old = queue->capacity;
    size_t capacity = old > 0 ? old : WORD_BITS;
    while (capacity <= key) {
        capacity *= 2;
    }
    const size_t old_words = word_count(old);
    const size_t words = word_count(capacity);

    queue->buckets =
        resize_zero(queue->buckets, old, capacity, sizeof *queue->buckets);
    queue->used =
        resize_zero(queue->used, old_words, words, sizeof *queue->used);
    queue->used_words = resize_zero(queue->used_words,
                                    word_count(old_words),
                                    word_count(words),
                                    sizeof *queue->used_words);
    queue->capacity = capacity;
    CHECK_DEEP(bucket_queue_check(queue));
}

void bucket_queue_move(struct bucket_queue *queue,
                       struct bucket_item *item,
                       uint32_t key)
{
    if (bucket_item_key(item) != key) {
        bucket_queue_remove(queue, item);
        bucket_queue_push(queue, item, key);
    }
}

/* The first word of `used` from `word` on that is not zero; false if there is
 * none up to the high mark. */
static bool find_word(const struct bucket_queue *queue, size_t *word)
{
    const size_t last = queue->high / WORD_BITS / WORD_BITS;
    uint64_t mask = UINT64_MAX << (*word % WORD_BITS);
    for (size_t group = *word / WORD_BITS; group <= last; group++) {
        const uint64_t bits = queue->used_words[group] & mask;
        if (bits != 0) {
            *word = group * WORD_BITS + lowest_bit(bits);
            return true;
        }
        mask = UINT64_MAX;
    }
    return false;
}

uint32_t bucket_queue_lowest(const struct bucket_queue *queue, uint32_t from)
{
    if (queue->count == 0 || from > queue->high) {
        return BUCKET_KEY_NONE;
    }
    if (from < queue->low) {
        from = queue->low;
    }
    size_t word = from / WORD_BITS;
    uint64_t bits = queue->used[word] & (UINT64_MAX << (from % WORD_BITS));
    if (bits == 0) {
        word++;
        if (!find_word(queue, &word)) {
            return BUCKET_KEY_NONE;
        }
        bits = queue->used[word];
    }
    return (uint32_t)(word * WORD_BITS) + lowest_bit(bits);
}

struct bucket_item *bucket_queue_pop_from(struct bucket_queue *queue,
                                          uint32_t from)
{
    if (queue->count == 0) {
        return NULL;
    }
    struct bucket_item *low = bucket_queue_pop_low(queue, from);
    if (low != NULL) {
        return low;
    }
    const uint32_t key = bucket_queue_lowest(queue, from);
    if (key == BUCKET_KEY_NONE) {
        /* What the search has learned saves the next one. */
        if (from <= queue->high) {
            queue->high = from - 1;
        }
        return NULL;
    }
    if (from <= queue->low) {
        queue->low = key;
    }
    struct bucket_item *item = queue->buckets[key].oldest;
    bucket_queue_remove(queue, item);
    return item;
}

/* bucket-queue-1 and bucket-queue-4 for one bucket; adds its items to
 * *count. */
static bool check_bucket(const struct bucket_queue *queue,
                         uint32_t key,
                         size_t *count)
{
    struct bucket_item *oldest = queue->buckets[key].oldest;
    const bool is_used =
        (queue->used[key / WORD_BITS] & bucket_bit_of(key)) != 0;
    if (oldest == NULL) {
        return !is_used;
    }
    if (!is_used || key < queue->low || key > queue->high) {
        return false;
    }
    struct list_node *node = &oldest->links;
    do {
        const struct bucket_item *item =
            CONTAINER_OF(node, struct bucket_item, links);
        if (item->place != key + 1 || node->next->prev != node) {
            return false;
        }
        (*count)++;
        node = node->next;
    } while (node != &oldest->links);
    return true;
}

bool bucket_queue_check(const struct bucket_queue *queue)
{
    size_t count = 0;
    for (uint32_t key = 0; key < queue->capacity; key++) {
        if (!check_bucket(queue, key, &count)) {
            return false;
        }
    }
    for (size_t word = 0; word < word_count(queue->capacity); word++) {
        const uint64_t bits = queue->used_words[word / WORD_BITS];
        if ((queue->used[word] != 0) != ((bits & bucket_bit_of(word)) != 0)) {
            return false;
        }
    }
    return count == queue->count;
}
