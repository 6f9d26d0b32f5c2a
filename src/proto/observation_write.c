/* Encoding an observation. Fields that have their default value are left out,
 * so an observation has one canonical text (observation-4). */

#include "proto/fields.h"
#include "proto/observation.h"
#include "value/array.h"
#include "value/object.h"

static void put_digest(struct value *object,
                       const char *name,
                       const struct digest *digest)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(*digest, text);
    object_put_adopt(object, name, value_text_new(text));
}

static void put_some(struct value *object, const char *name, uint64_t number)
{
    if (number != 0) {
        put_number(object, name, number);
    }
}

static void put_flag(struct value *object, const char *name, bool flag)
{
    if (flag) {
        object_put_adopt(object, name, value_bool(true));
    }
}

static struct value write_place(const struct observed_place *place)
{
    struct value object = value_empty_object();
    if (!value_is_absent(place->space)) {
        object_put_adopt(&object, "space", value_ref(place->space));
    }
    put_target(&object, &place->target);
    put_path(&object, place->path);
    put_flag(&object, "nonRecursive", place->kind == PLACE_SHAPE);
    put_flag(&object, "envelope", place->kind == PLACE_ENVELOPE);
    return object;
}

static void put_places(struct value *object,
                       const struct observation *observation)
{
    struct value lists[2] = {value_empty_array(), value_empty_array()};
    for (size_t i = 0; i < observation->places.count; i++) {
        const struct observed_place *place = &observation->places.at[i];
        struct value *list = &lists[place_is_read(place->kind) ? 0 : 1];
        *list = array_push_adopt(*list, write_place(place));
    }
    object_put_adopt(object, "reads", lists[0]);
    if (array_count(lists[1]) > 0) {
        object_put_adopt(object, "writes", lists[1]);
    }
}

static void put_elsewhere(struct value *object,
                          const struct observation *observation)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < observation->elsewhere.count; i++) {
        const struct observed_space *one = &observation->elsewhere.at[i];
        struct value space = value_empty_object();
        object_put_adopt(&space, "space", value_ref(one->space));
        if (value_text(&one->branch).length > 0) {
            object_put_adopt(&space, "branch", value_ref(one->branch));
        }
        put_number(&space, "seq", one->seq);
        list = array_push_adopt(list, space);
    }
    if (array_count(list) > 0) {
        object_put_adopt(object, "elsewhere", list);
    }
}

static void put_basis(struct value *object, const struct observed_basis *basis)
{
    if (!basis->given) {
        return;
    }
    struct value written = value_empty_object();
    put_number(&written, "seq", basis->seq);
    struct value layers = value_empty_array();
    for (size_t i = 0; i < basis->layers.at.count; i++) {
        layers = array_push_adopt(layers,
                                  value_int((int64_t)basis->layers.at.at[i]));
    }
    if (array_count(layers) > 0) {
        object_put_adopt(&written, "localSeq", layers);
    }
    object_put_adopt(object, "basis", written);
}

struct value observation_write(const struct observation *observation)
{
    const struct fingerprints *fingerprints = &observation->fingerprints;
    struct value object = value_empty_object();
    object_put_adopt(&object, "piece", value_ref(observation->piece));
    put_number(&object, "generation", observation->generation);
    put_digest(&object, "action", &observation->action);
    object_put_adopt(&object,
                     "kind",
                     value_text_new(action_kind_name(observation->kind)));
    if (observation->scope != SCOPE_SPACE) {
        object_put_adopt(&object,
                         "scope",
                         value_text_new(scope_name(observation->scope)));
    }
    put_digest(&object, "implementation", &fingerprints->implementation);
    put_digest(&object, "runtime", &fingerprints->runtime);
    put_digest(&object, "schema", &fingerprints->schema);
    put_digest(&object, "surface", &fingerprints->surface);
    put_digest(&object, "readSet", &observation->read_set);
    if (observation->failed) {
        put_digest(&object, "error", &observation->error);
    }
    put_some(&object, "debounceMs", observation->gates.debounce_ms);
    put_some(&object, "throttleMs", observation->gates.throttle_ms);
    put_flag(&object, "noAutoDebounce", observation->gates.no_auto_debounce);
    if (observation->has_places) {
        put_places(&object, observation);
    }
    put_elsewhere(&object, observation);
    put_basis(&object, &observation->basis);
    return object;
}
