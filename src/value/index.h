/* The index of a large object: from the hash of a key to the position of its
 * entry, as a persistent trie over the hash, five bits per level.
 *
 * The index holds positions only; keys and their hashes are in the entries,
 * which are passed to every function. Two keys with equal 64-bit hashes end up
 * in a list at the bottom of the trie: slower, never wrong. */

#ifndef VALUE_INDEX_H
#define VALUE_INDEX_H

#include "value/node.h"

#define INDEX_NOT_FOUND UINT32_MAX

struct heap *index_new(void);

/* The position of `key`, or INDEX_NOT_FOUND. */
uint32_t index_find(const struct heap *index,
                    const struct heap *entries,
                    struct value key);

/* `key` is at `position` of the entries and is not in the index yet. */
void index_insert(struct heap **index,
                  const struct heap *entries,
                  struct value key,
                  uint32_t position);

/* `key` is in the index, at `position`. */
void index_remove(struct heap **index, struct value key, uint32_t position);

#endif
