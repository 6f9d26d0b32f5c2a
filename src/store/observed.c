/* The caches of the rows of observations, and their checksums. */

#include "store/observed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/hasher.h"
#include "store/images.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

/* -- The cache ----------------------------------------------------------- */

struct observed_cache *observed_cache(struct engine *engine)
{
    if (engine->observed == NULL) {
        engine->observed = mem_alloc_zero(sizeof *engine->observed);
    }
    return engine->observed;
}

static void free_piece(void *item)
{
    struct observed_piece *piece = item;
    value_unref(piece->id);
    mem_free(piece, sizeof *piece);
}

static void free_action(void *item)
{
    struct observed_action *action = item;
    value_unref(action->scope_key);
    mem_free(action, sizeof *action);
}

static void free_address(void *item)
{
    struct observed_address *address = item;
    value_unref(address->space);
    value_unref(address->scope_key);
    value_unref(address->id);
    path_unref(address->path);
    mem_free(address, sizeof *address);
}

static void free_fingerprint(void *item)
{
    mem_free(item, sizeof(struct observed_fingerprint));
}

static void release_map(struct map *map, void (*release)(void *item))
{
    MAP_FOREACH (map, slot) {
        release(slot->item);
    }
    map_release(map);
}

void observations_forget(struct engine *engine)
{
    struct observed_cache *cache = engine->observed;
    if (cache == NULL) {
        return;
    }
    release_map(&cache->pieces, free_piece);
    release_map(&cache->actions, free_action);
    release_map(&cache->addresses, free_address);
    release_map(&cache->fingerprints, free_fingerprint);
    buf_release(&cache->text);
    vec_release(&cache->wanted);
    vec_release(&cache->present);
    mem_free(cache, sizeof *cache);
    engine->observed = NULL;
}

void observations_trim(struct engine *engine)
{
    const struct observed_cache *cache = engine->observed;
    if (cache != NULL && (cache->actions.count > OBSERVED_ACTIONS_CACHED ||
                          cache->addresses.count > OBSERVED_PLACES_CACHED)) {
        observations_forget(engine);
    }
}

/* -- Checksums ----------------------------------------------------------- */

/* A well-known finalizer: every bit of the number affects all bits of the
 * result. */
uint64_t observed_mix(uint64_t number)
{
    number ^= number >> 31;
    number *= 0x7FB5D329728EA185U;
    number ^= number >> 27;
    number *= 0x81DADEF4BC2DD44DU;
    number ^= number >> 33;
    return number;
}

static uint64_t load(const char *at, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, at, bytes);
    return word;
}

/* The last bytes of a text, fewer than eight, as if copied to the beginning of
 * a zero word. Such a copy would be a call, and the word could not be read
 * before all of its bytes are written: so overlapping words are read
 * instead. */
static uint64_t load_rest(struct text text, size_t at)
{
    const size_t bytes = text.length - at;
    const char *rest = text.at + at;
    if (bytes == 0) {
        return 0;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (at > 0) {
        return load(rest + bytes - 8, 8) >> (8 * (8 - bytes));
    }
    if (bytes >= 4) {
        return load(rest, 4) | load(rest + bytes - 4, 4) << (8 * (bytes - 4));
    }
    if (bytes >= 2) {
        return load(rest, 2) | load(rest + bytes - 2, 2) << (8 * (bytes - 2));
    }
    return (unsigned char)rest[0];
#else
    return load(rest, bytes);
#endif
}

uint64_t observed_text_sum(uint64_t from, struct text text)
{
    uint64_t sum = from ^ (text.length * 0x9E3779B97F4A7C15U);
    size_t at = 0;
    for (; at + 8 <= text.length; at += 8) {
        sum = observed_mix(sum ^ load(text.at + at, 8));
    }
    return observed_mix(sum ^ load_rest(text, at));
}

uint64_t observed_address_sum(struct text space,
                              struct text scope,
                              struct text id,
                              struct text path)
{
    uint64_t sum = observed_text_sum(1, space);
    sum = observed_text_sum(sum, scope);
    sum = observed_text_sum(sum, id);
    return observed_text_sum(sum, path);
}

uint64_t observed_row_sum(const struct observed_action *action,
                          struct text scope_key)
{
    const uint64_t numbers[] = {
        action->piece,
        action->number,
        action->generation,
        (uint64_t)action->kind,
        action->fingerprint,
        action->gates.debounce_ms,
        action->gates.throttle_ms,
        action->gates.no_auto_debounce ? 1 : 0,
    };
    uint64_t sum =
        observed_text_sum(1,
                          (struct text){(const char *)numbers, sizeof numbers});
    sum = observed_text_sum(sum,
                            (struct text){(const char *)action->name.bytes,
                                          sizeof action->name.bytes});
    sum = observed_text_sum(
        sum,
        (struct text){(const char *)&action->sets, sizeof action->sets});
    return observed_text_sum(sum, scope_key);
}

uint64_t observed_run_mark(uint64_t action,
                           uint64_t seq,
                           struct text error,
                           struct text elsewhere)
{
    uint64_t sum = observed_mix(action * 31 + observed_mix(seq));
    if (error.length > 0) {
        sum = observed_text_sum(sum, error);
    }
    if (elsewhere.length > 0) {
        sum = observed_text_sum(sum + 1, elsewhere);
    }
    return (sum >> 33) & 0x7FFFFFFF;
}

/* -- The digest of a commit ---------------------------------------------- */

static void hash_digest(struct hasher *hasher, const struct digest *digest)
{
    hasher_bytes(hasher, digest->bytes, sizeof digest->bytes);
}

/* The digests cover the places. */
void observation_hash(struct hasher *hasher,
                      const struct observation *observation)
{
    const struct fingerprints *fingerprints = &observation->fingerprints;
    const struct observed_basis *basis = &observation->basis;
    const uint64_t numbers[] = {
        observation->generation,
        (uint64_t)observation->kind,
        (uint64_t)observation->scope,
        observation->gates.debounce_ms,
        observation->gates.throttle_ms,
        observation->gates.no_auto_debounce ? 1 : 0,
        observation->failed ? 1 : 0,
        observation->elsewhere.count,
        basis->given ? 1 : 0,
        basis->seq,
        basis->layers.at.count,
    };
    hasher_bytes(hasher, numbers, sizeof numbers);
    hasher_string(hasher, observation->piece);
    hash_digest(hasher, &observation->action);
    hash_digest(hasher, &fingerprints->implementation);
    hash_digest(hasher, &fingerprints->runtime);
    hash_digest(hasher, &fingerprints->schema);
    hash_digest(hasher, &fingerprints->surface);
    hash_digest(hasher, &observation->read_set);
    if (observation->failed) {
        hash_digest(hasher, &observation->error);
    }
    for (size_t i = 0; i < observation->elsewhere.count; i++) {
        const struct observed_space *one = &observation->elsewhere.at[i];
        hasher_string(hasher, one->space);
        hasher_string(hasher, one->branch);
        hasher_number(hasher, one->seq);
    }
    for (size_t i = 0; i < basis->layers.at.count; i++) {
        hasher_number(hasher, basis->layers.at.at[i]);
    }
}

/* -- Pieces -------------------------------------------------------------- */

struct piece_key {
    const struct branch *branch;
    struct value id;
};

static bool is_piece(const void *item, const void *key)
{
    const struct observed_piece *piece = item;
    const struct piece_key *wanted = key;
    return piece->branch == wanted->branch && key_equal(piece->id, wanted->id);
}

enum err observed_piece_find(struct engine *engine,
                             struct branch *branch,
                             struct value id,
                             struct observed_piece **out,
                             struct err_detail *detail)
{
    struct observed_cache *cache = observed_cache(engine);
    const struct piece_key key = {branch, id};
    const uint64_t hash = value_hash(id) + branch->number;
    *out = map_find(&cache->pieces, hash, is_piece, &key);
    if (*out != NULL) {
        return ERR_OK;
    }
    struct query query = query_begin(&engine->database, STATEMENT_PIECE_FIND);
    query_int(&query, 1, branch->number);
    query_string(&query, 2, id);
    if (query_step(&query)) {
        struct observed_piece *piece = mem_alloc_zero(sizeof *piece);
        piece->branch = branch;
        piece->id = value_ref(id);
        piece->number = query_get_int(&query, 0);
        piece->generation = query_get_int(&query, 1);
        map_insert(&cache->pieces, hash, piece);
        *out = piece;
    }
    return query_end(&query, detail);
}

/* -- Addresses ----------------------------------------------------------- */

static bool is_address(const void *item, const void *key)
{
    const struct observed_address *address = item;
    const struct observed_address *wanted = key;
    return address->path == wanted->path &&
           key_equal(address->id, wanted->id) &&
           key_equal(address->scope_key, wanted->scope_key) &&
           key_equal(address->space, wanted->space);
}

static struct query address_query(struct engine *engine,
                                  enum statement statement,
                                  const struct observed_address *address,
                                  struct text path)
{
    struct query query = query_begin(&engine->database, statement);
    query_kept(&query, 1, &address->space);
    query_kept(&query, 2, &address->scope_key);
    query_kept(&query, 3, &address->id);
    query_text(&query, 4, path.at, path.length);
    return query;
}

/* A place that is not cached is nearly always new. */
static enum err find_address_row(struct engine *engine,
                                 struct observed_address *address,
                                 struct text path,
                                 struct err_detail *detail)
{
    struct query query =
        address_query(engine, STATEMENT_PLACE_INSERT, address, path);
    (void)query_step(&query);
    if (query_changed(&query)) {
        address->number = query_inserted(&query);
    }
    const enum err err = query_end(&query, detail);
    if (err != ERR_OK || address->number != 0) {
        return err;
    }
    query = address_query(engine, STATEMENT_PLACE_FIND, address, path);
    if (query_step(&query)) {
        address->number = query_get_int(&query, 0);
    }
    const enum err found = query_end(&query, detail);
    return found == ERR_OK && address->number == 0
               ? err_set(detail, ERR_STORE, "a place is in its index alone")
               : found;
}

enum err observed_address_number(struct engine *engine,
                                 struct value space,
                                 struct value scope_key,
                                 struct value id,
                                 struct path *path,
                                 struct observed_address **out,
                                 struct err_detail *detail)
{
    struct observed_cache *cache = observed_cache(engine);
    /* The author's path may be of another table. */
    struct path *own = path_new(&engine->paths, path->at, path->length);
    const struct observed_address key = {
        .space = space,
        .scope_key = scope_key,
        .id = id,
        .path = own,
    };
    const uint64_t hash = value_hash(id) * 31 + own->hash;
    *out = map_find(&cache->addresses, hash, is_address, &key);
    if (*out != NULL) {
        path_unref(own);
        return ERR_OK;
    }
    struct observed_address *address = mem_alloc_zero(sizeof *address);
    address->space = value_ref(space);
    address->scope_key = value_ref(scope_key);
    address->id = value_ref(id);
    address->path = own;
    buf_clear(&cache->text);
    path_write(&cache->text, own);
    const struct text text = {buf_text(&cache->text), cache->text.length};
    const enum err err = find_address_row(engine, address, text, detail);
    if (err != ERR_OK) {
        free_address(address);
        return err;
    }
    address->sum = observed_address_sum(value_text(&address->space),
                                        value_text(&address->scope_key),
                                        value_text(&address->id),
                                        text);
    map_insert(&cache->addresses, hash, address);
    *out = address;
    return ERR_OK;
}

/* -- Actions ------------------------------------------------------------- */

enum err observed_action_remove(struct engine *engine,
                                uint64_t piece,
                                uint64_t action,
                                struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_RUN_REMOVE);
    query_int(&query, 1, action);
    (void)query_step(&query);
    enum err err = query_end(&query, detail);
    if (err == ERR_OK) {
        err = images_drop(engine, piece, action, detail);
    }
    static const enum statement statements[] = {STATEMENT_EDGE_REMOVE_ALL,
                                                STATEMENT_ACTION_REMOVE};
    for (size_t i = 0; err == ERR_OK && i < COUNT_OF(statements); i++) {
        query = query_begin(&engine->database, statements[i]);
        query_int(&query, 1, piece);
        query_int(&query, 2, action);
        (void)query_step(&query);
        err = query_end(&query, detail);
    }
    return err;
}

/* The actions of a name. */
static enum err forget_named(struct engine *engine,
                             uint64_t piece,
                             const struct digest *name,
                             struct err_detail *detail)
{
    VEC(uint64_t) actions = {0};
    struct query query = query_begin(&engine->database, STATEMENT_ACTION_NAMED);
    query_int(&query, 1, piece);
    query_bytes(&query, 2, name->bytes, sizeof name->bytes);
    while (query_step(&query)) {
        vec_push(&actions, query_get_int(&query, 0));
    }
    enum err err = query_end(&query, detail);
    for (size_t i = 0; err == ERR_OK && i < actions.count; i++) {
        err = observed_action_remove(engine, piece, actions.at[i], detail);
    }
    vec_release(&actions);
    return err;
}

enum err engine_actions_forget(struct engine *engine,
                               struct value branch,
                               struct value piece,
                               const struct digest *names,
                               size_t count,
                               struct err_detail *detail)
{
    struct err_detail why = {0};
    enum err err = engine_write_begin(engine, &why);
    if (err == ERR_OK) {
        struct branch *of = engine_branch(engine, branch);
        struct observed_piece *found = NULL;
        err = of == NULL ? engine_unknown_branch(branch, &why)
                         : observed_piece_find(engine, of, piece, &found, &why);
        for (size_t i = 0; err == ERR_OK && found != NULL && i < count; i++) {
            err = forget_named(engine, found->number, &names[i], &why);
        }
        observations_forget(engine);
        err = engine_write_end(engine, err, &why);
    }
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}

bool observed_bytes(struct query *query, int column, void *to, size_t size)
{
    const struct text text = query_get_text(query, column);
    if (text.length != size) {
        return false;
    }
    memcpy(to, text.at, size);
    return true;
}

enum err observed_fingerprint_get(struct engine *engine,
                                  uint64_t number,
                                  struct resume_code *out,
                                  bool *found,
                                  struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_FINGERPRINT_GET);
    query_int(&query, 1, number);
    *found = query_step(&query) &&
             observed_bytes(&query,
                            0,
                            &out->implementation,
                            sizeof out->implementation) &&
             observed_bytes(&query, 1, &out->runtime, sizeof out->runtime) &&
             observed_bytes(&query, 2, &out->schema, sizeof out->schema);
    return query_end(&query, detail);
}

void observed_gates_write(const struct gate_config *gates,
                          char text[GATES_TEXT])
{
    text[0] = '\0';
    if (gates->debounce_ms != 0 || gates->throttle_ms != 0 ||
        gates->no_auto_debounce) {
        (void)snprintf(text,
                       GATES_TEXT,
                       "%llu %llu %d",
                       (unsigned long long)gates->debounce_ms,
                       (unsigned long long)gates->throttle_ms,
                       gates->no_auto_debounce ? 1 : 0);
    }
}

bool observed_gates_read(struct text text, struct gate_config *out)
{
    *out = (struct gate_config){0};
    if (text.length == 0) {
        return true;
    }
    char copy[GATES_TEXT];
    if (text.length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text.at, text.length);
    copy[text.length] = '\0';
    char *at = copy;
    out->debounce_ms = strtoull(at, &at, 10);
    out->throttle_ms = strtoull(at, &at, 10);
    out->no_auto_debounce = strtoull(at, &at, 10) != 0;
    /* Anything that does not serialise to the same text is not ours. */
    char again[GATES_TEXT];
    observed_gates_write(out, again);
    return strcmp(again, copy) == 0;
}

/* -- Other spaces -------------------------------------------------------- */

void observed_elsewhere_write(struct buf *to,
                              const struct observation *observation)
{
    if (observation->elsewhere.count == 0) {
        return;
    }
    struct value list = value_empty_array();
    for (size_t i = 0; i < observation->elsewhere.count; i++) {
        const struct observed_space *one = &observation->elsewhere.at[i];
        const struct value row[3] = {
            value_ref(one->space),
            value_ref(one->branch),
            value_int((int64_t)one->seq),
        };
        list = array_push_adopt(list, array_new_adopt(row, 3));
    }
    json_write(to, list, JSON_CANONICAL, 0);
    value_unref(list);
}

bool observed_elsewhere_read(struct text text,
                             struct resume_page *page,
                             struct resume_action *action)
{
    action->spaces = (uint32_t)page->elsewhere.count;
    if (text.length == 0) {
        return true;
    }
    struct value list = VALUE_NONE;
    bool valid = json_read(text.at, text.length, NULL, &list, NULL) == ERR_OK &&
                 value_is_array(list);
    for (uint32_t i = 0; valid && i < array_count(list); i++) {
        const struct value row = array_at(list, i);
        valid = value_is_array(row) && array_count(row) == 3 &&
                value_is_string(array_at(row, 0)) &&
                value_is_string(array_at(row, 1)) &&
                value_kind(array_at(row, 2)) == VALUE_INT &&
                value_integer(array_at(row, 2)) >= 0;
        if (valid) {
            const struct observed_space one = {
                value_ref(array_at(row, 0)),
                value_ref(array_at(row, 1)),
                (uint64_t)value_integer(array_at(row, 2)),
            };
            vec_push(&page->elsewhere, one);
            action->space_count++;
        }
    }
    value_unref(list);
    return valid;
}
