/* Claims in a hash map; each is one block with its id inside. */

#include "lifecycle/guard.h"

#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

struct claim {
    size_t size; /* of the block */
    enum guard_kind kind;
    char id[];
};

struct key {
    enum guard_kind kind;
    const char *id;
};

static const char *const kind_names[GUARD_KIND_COUNT] = {
    [GUARD_THREAD_START] = "thread.start",
    [GUARD_THREAD_STOP] = "thread.stop",
    [GUARD_THREAD_SEND] = "thread.send",
    [GUARD_ENVIRONMENT_PROVISION] = "environment.provision",
    [GUARD_ENVIRONMENT_CANCEL] = "environment.cancel",
    [GUARD_ENVIRONMENT_DESTROY] = "environment.destroy",
    [GUARD_PIECE_START] = "piece.start",
    [GUARD_PIECE_STOP] = "piece.stop",
};

const char *guard_kind_name(enum guard_kind kind)
{
    CHECK(kind < GUARD_KIND_COUNT);
    return kind_names[kind];
}

/* FNV-1a: ids are short and our own. */
static uint64_t hash_of(const struct key *key)
{
    const uint64_t prime = 0x100000001B3U;
    uint64_t hash = (0xCBF29CE484222325U ^ (uint64_t)key->kind) * prime;
    for (const char *at = key->id; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * prime;
    }
    return hash;
}

static bool is_claim(const void *item, const void *wanted)
{
    const struct claim *claim = item;
    const struct key *key = wanted;
    return claim->kind == key->kind && strcmp(claim->id, key->id) == 0;
}

void guard_release_all(struct guard *guard)
{
    MAP_FOREACH (&guard->claims, slot) {
        struct claim *claim = slot->item;
        mem_free(claim, claim->size);
    }
    map_release(&guard->claims);
}

bool guard_claim(struct guard *guard, enum guard_kind kind, const char *id)
{
    CHECK(kind < GUARD_KIND_COUNT);
    const struct key key = {kind, id};
    if (guard_is_held(guard, kind, id)) {
        return false;
    }
    const size_t length = strlen(id) + 1;
    struct claim *claim = mem_alloc(sizeof *claim + length);
    claim->size = sizeof *claim + length;
    claim->kind = kind;
    memcpy(claim->id, id, length);
    map_insert(&guard->claims, hash_of(&key), claim);
    return true;
}

bool guard_release(struct guard *guard, enum guard_kind kind, const char *id)
{
    const struct key key = {kind, id};
    struct claim *claim =
        map_remove(&guard->claims, hash_of(&key), is_claim, &key);
    if (claim == NULL) {
        return false;
    }
    mem_free(claim, claim->size);
    return true;
}

bool guard_is_held(const struct guard *guard,
                   enum guard_kind kind,
                   const char *id)
{
    const struct key key = {kind, id};
    return map_find(&guard->claims, hash_of(&key), is_claim, &key) != NULL;
}

size_t guard_count(const struct guard *guard)
{
    return guard->claims.count;
}
