/* Observations as data: creation, sealing, and the checks that apply to each,
 * whatever its origin. */

#include "proto/observation.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/utf8.h"

static const char *const outcome_names[] = {
    [OBSERVATION_KEPT] = "kept",
    [OBSERVATION_STALE] = "stale",
    [OBSERVATION_LAYER_MISSING] = "layer-missing",
    [OBSERVATION_SET_UNKNOWN] = "set-unknown",
    [OBSERVATION_SUPERSEDED] = "superseded",
};

const char *action_kind_name(enum action_kind kind)
{
    static const char *const names[] = {
        [ACTION_COMPUTATION] = "computation",
        [ACTION_EFFECT] = "effect",
        [ACTION_HANDLER] = "handler",
    };
    return names[kind];
}

const char *observation_outcome_name(enum observation_outcome outcome)
{
    return outcome_names[outcome];
}

bool observation_outcome_read(struct value name, enum observation_outcome *out)
{
    for (unsigned i = 0; i < COUNT_OF(outcome_names); i++) {
        if (value_is_text(name, outcome_names[i])) {
            *out = (enum observation_outcome)i;
            return true;
        }
    }
    return false;
}

/* -- Life ---------------------------------------------------------------- */

struct observation *observation_new(void)
{
    struct observation *observation = mem_alloc_zero(sizeof *observation);
    observation->refs = 1;
    return observation;
}

struct observation *observation_ref(struct observation *observation)
{
    CHECK(observation->refs > 0);
    observation->refs++;
    return observation;
}

static void release_place(struct observed_place *place)
{
    value_unref(place->space);
    value_unref(place->target.id);
    path_unref(place->path);
}

static void release_space(struct observed_space *space)
{
    value_unref(space->space);
    value_unref(space->branch);
}

void observation_clear(struct observation *observation)
{
    CHECK(observation->refs == 1);
    VEC_FOREACH (&observation->places, place) {
        release_place(place);
    }
    VEC_FOREACH (&observation->elsewhere, space) {
        release_space(space);
    }
    value_unref(observation->piece);
    struct observation empty = {.refs = 1};
    memcpy(&empty.places, &observation->places, sizeof empty.places);
    memcpy(&empty.elsewhere, &observation->elsewhere, sizeof empty.elsewhere);
    empty.basis.layers = observation->basis.layers;
    *observation = empty;
    vec_clear(&observation->places);
    vec_clear(&observation->elsewhere);
    vec_clear(&observation->basis.layers.at);
}

void observation_unref(struct observation *observation)
{
    if (observation == NULL || --observation->refs > 0) {
        return;
    }
    observation->refs = 1;
    observation_clear(observation);
    vec_release(&observation->places);
    vec_release(&observation->elsewhere);
    vec_release(&observation->basis.layers.at);
    mem_free(observation, sizeof *observation);
}

/* -- Making one ---------------------------------------------------------- */

void observation_add_place(struct observation *observation,
                           struct value space,
                           const struct target *target,
                           struct path *path,
                           enum place_kind kind)
{
    CHECK(observation->refs == 1);
    const struct observed_place place = {
        .space = value_ref(space),
        .target = {value_ref(target->id), target->scope},
        .path = path_ref(path),
        .kind = kind,
    };
    vec_push(&observation->places, place);
}

static int compare_spaces(struct value a, struct value b)
{
    if (value_is_absent(a) || value_is_absent(b)) {
        return (int)value_is_absent(b) - (int)value_is_absent(a);
    }
    return value_compare_strings(a, b);
}

void observation_add_space(struct observation *observation,
                           struct value space,
                           struct value branch,
                           uint64_t seq)
{
    CHECK(observation->refs == 1);
    size_t at = 0;
    while (at < observation->elsewhere.count &&
           compare_spaces(observation->elsewhere.at[at].space, space) < 0) {
        at++;
    }
    if (at < observation->elsewhere.count &&
        key_equal(observation->elsewhere.at[at].space, space)) {
        struct observed_space *same = &observation->elsewhere.at[at];
        same->seq = seq > same->seq ? seq : same->seq;
        return;
    }
    const struct observed_space one = {value_ref(space),
                                       value_ref(branch),
                                       seq};
    vec_push(&observation->elsewhere, one);
    for (size_t i = observation->elsewhere.count - 1; i > at; i--) {
        observation->elsewhere.at[i] = observation->elsewhere.at[i - 1];
    }
    observation->elsewhere.at[at] = one;
}

/* -- Order and digests --------------------------------------------------- */

int observed_place_compare(const struct observed_place *a,
                           const struct observed_place *b)
{
    int order = compare_spaces(a->space, b->space);
    if (order == 0) {
        order = value_compare_strings(a->target.id, b->target.id);
    }
    if (order == 0) {
        order = (int)a->target.scope - (int)b->target.scope;
    }
    if (order == 0 && a->path != b->path) {
        order = path_compare(a->path, b->path);
    }
    return order != 0 ? order : (int)a->kind - (int)b->kind;
}

static int compare(const void *a, const void *b)
{
    return observed_place_compare(a, b);
}

/* Each part with its length before it, so that no two lists are the same
 * bytes. */
static void append_part(struct buf *to, const char *at, size_t length)
{
    const uint64_t size = length;
    buf_append(to, &size, sizeof size);
    buf_append(to, at, length);
}

static void append_place(struct buf *to, const struct observed_place *place)
{
    const char head[2] = {(char)place->kind, (char)place->target.scope};
    buf_append(to, head, sizeof head);
    const struct text space = value_is_absent(place->space)
                                  ? (struct text){"", 0}
                                  : value_text(&place->space);
    const struct text id = value_text(&place->target.id);
    append_part(to, space.at, space.length);
    append_part(to, id.at, id.length);
    const uint64_t length = place->path->length;
    buf_append(to, &length, sizeof length);
    for (size_t i = 0; i < place->path->length; i++) {
        const struct text key = value_text(&place->path->at[i].key);
        append_part(to, key.at, key.length);
    }
}

struct digest observed_digest(const struct observed_place *places,
                              size_t count,
                              bool reads)
{
    struct buf bytes = {0};
    for (size_t i = 0; i < count; i++) {
        if (place_is_read(places[i].kind) == reads) {
            append_place(&bytes, &places[i]);
        }
    }
    const struct digest digest =
        digest_of_bytes(reads ? "heddle read set 1" : "heddle surface 1",
                        buf_text(&bytes),
                        bytes.length);
    buf_release(&bytes);
    return digest;
}

/* The narrowest scope of all places (observation-2). */
static enum scope narrowest(const struct observation *observation)
{
    enum scope scope = SCOPE_SPACE;
    for (size_t i = 0; i < observation->places.count; i++) {
        const enum scope one = observation->places.at[i].target.scope;
        scope = one > scope ? one : scope;
    }
    return scope;
}

void observation_seal(struct observation *observation)
{
    CHECK(observation->refs == 1);
    struct observed_place *places = observation->places.at;
    size_t kept = 0;
    if (observation->places.count > 1) {
        qsort(places, observation->places.count, sizeof *places, compare);
    }
    for (size_t i = 0; i < observation->places.count; i++) {
        if (kept > 0 &&
            observed_place_compare(&places[kept - 1], &places[i]) == 0) {
            release_place(&places[i]);
        } else {
            places[kept++] = places[i];
        }
    }
    observation->places.count = kept;
    observation->has_places = true;
    observation->sealed = true;
    observation->scope = narrowest(observation);
    observation->read_set = observed_digest(places, kept, true);
    observation->fingerprints.surface = observed_digest(places, kept, false);
}

/* -- Checks -------------------------------------------------------------- */

bool observation_numbers_fit(const struct observation *observation)
{
    /* Only the highest bit matters, and it survives an OR. */
    uint64_t all = observation->generation | observation->gates.debounce_ms |
                   observation->gates.throttle_ms | observation->basis.seq;
    for (size_t i = 0; i < observation->basis.layers.at.count; i++) {
        all |= observation->basis.layers.at.at[i];
    }
    for (size_t i = 0; i < observation->elsewhere.count; i++) {
        all |= observation->elsewhere.at[i].seq;
    }
    return all <= INT64_MAX;
}

static enum err bad(struct err_detail *detail, const char *what)
{
    return err_set(detail, ERR_PROTOCOL, "%s", what);
}

static enum err check_name(struct value name,
                           const char *what,
                           struct err_detail *detail)
{
    if (!value_is_string(name) || value_text(&name).length == 0) {
        return err_set(detail,
                       ERR_PROTOCOL,
                       "%s must be a string that is not empty",
                       what);
    }
    const struct text text = value_text(&name);
    if (text.length > LIMIT_ID_BYTES) {
        return err_set(detail,
                       ERR_LIMIT_ID,
                       "%s has more than %d bytes",
                       what,
                       LIMIT_ID_BYTES);
    }
    return utf8_is_valid(text.at, text.length)
               ? ERR_OK
               : err_set(detail, ERR_PROTOCOL, "%s must be UTF-8", what);
}

static const struct observed_space *find_space(
    const struct observation *observation,
    struct value name)
{
    for (size_t i = 0; i < observation->elsewhere.count; i++) {
        if (key_equal(observation->elsewhere.at[i].space, name)) {
            return &observation->elsewhere.at[i];
        }
    }
    return NULL;
}

static enum err check_place(const struct observation *observation,
                            size_t index,
                            struct err_detail *detail)
{
    const struct observed_place *place = &observation->places.at[index];
    if (document_id_check(place->target.id, detail) != ERR_OK) {
        return bad(detail, "a place must have a valid id");
    }
    const enum err long_path = path_check(place->path->length, detail);
    if (long_path != ERR_OK) {
        return long_path;
    }
    if (index > 0 && observed_place_compare(place - 1, place) >= 0) {
        return bad(detail, "places must be sorted and unique");
    }
    if (value_is_absent(place->space)) {
        return ERR_OK;
    }
    const enum err err = check_name(place->space, "space", detail);
    if (err == ERR_OK && place_is_read(place->kind) &&
        find_space(observation, place->space) == NULL) {
        return bad(detail,
                   "every other space that is read must be listed in "
                   "elsewhere");
    }
    return err;
}

static enum err check_digests(const struct observation *observation,
                              struct err_detail *detail)
{
    const struct observed_place *places = observation->places.at;
    const size_t count = observation->places.count;
    const struct digest reads = observed_digest(places, count, true);
    const struct digest writes = observed_digest(places, count, false);
    if (!digest_equal(&reads, &observation->read_set)) {
        return bad(detail, "readSet must be the digest of the reads");
    }
    if (!digest_equal(&writes, &observation->fingerprints.surface)) {
        return bad(detail, "surface must be the digest of the writes");
    }
    return ERR_OK;
}

static enum err check_places(const struct observation *observation,
                             struct err_detail *detail)
{
    if (observation->places.count > LIMIT_OBSERVATION_PLACES) {
        return err_set(detail,
                       ERR_LIMIT_COMMIT,
                       "an observation has more than %d places",
                       LIMIT_OBSERVATION_PLACES);
    }
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < observation->places.count; i++) {
        err = check_place(observation, i, detail);
    }
    if (err != ERR_OK || !observation->has_places) {
        return err;
    }
    if (narrowest(observation) != observation->scope) {
        return bad(detail, "scope must be the narrowest of the places");
    }
    return observation->sealed ? ERR_OK : check_digests(observation, detail);
}

static enum err check_elsewhere(const struct observation *observation,
                                struct err_detail *detail)
{
    if (observation->elsewhere.count > LIMIT_OBSERVATION_SPACES) {
        return err_set(detail,
                       ERR_LIMIT_COMMIT,
                       "an observation reads more than %d spaces",
                       LIMIT_OBSERVATION_SPACES);
    }
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < observation->elsewhere.count; i++) {
        const struct observed_space *one = &observation->elsewhere.at[i];
        err = check_name(one->space, "elsewhere.space", detail);
        if (err == ERR_OK &&
            (!value_is_string(one->branch) ||
             value_text(&one->branch).length > LIMIT_ID_BYTES)) {
            err = bad(detail, "elsewhere.branch must be the name of a branch");
        }
        if (err == ERR_OK && i > 0 &&
            value_compare_strings((one - 1)->space, one->space) >= 0) {
            err = bad(detail, "elsewhere must be sorted and unique");
        }
    }
    return err;
}

static enum err check_basis(const struct observed_basis *basis,
                            bool in_batch,
                            struct err_detail *detail)
{
    if (in_batch && !basis->given) {
        return bad(detail, "an observation without a commit needs a basis");
    }
    if (basis->layers.at.count > LIMIT_COMMIT_LAYERS) {
        return err_set(detail,
                       ERR_LIMIT_COMMIT,
                       "a basis names more than %d layers",
                       LIMIT_COMMIT_LAYERS);
    }
    for (size_t i = 1; i < basis->layers.at.count; i++) {
        if (basis->layers.at.at[i - 1] >= basis->layers.at.at[i]) {
            return bad(detail, "basis.localSeq must be ascending");
        }
    }
    return ERR_OK;
}

enum err observation_check(const struct observation *observation,
                           bool in_batch,
                           struct err_detail *detail)
{
    if (!observation_numbers_fit(observation)) {
        return bad(detail, "a number is out of range");
    }
    enum err err = check_name(observation->piece, "piece", detail);
    if (err == ERR_OK) {
        err = check_basis(&observation->basis, in_batch, detail);
    }
    if (err == ERR_OK) {
        err = check_elsewhere(observation, detail);
    }
    return err == ERR_OK ? check_places(observation, detail) : err;
}
