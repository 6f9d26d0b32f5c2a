/* Merging in the model (lib/store_model.h): three whole values side by side,
 * by recursion. */

#include "base/buf.h"
#include "lib/store_model.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* The document being merged, and where in it. */
struct merging {
    struct value id;
    struct buf pointer;
    struct value *conflicts;
};

/* Of three values at one place. `lost`: above it the target no longer has what
 * the base had, so nothing can be compared and nothing can be put there. */
struct place {
    struct value base;
    struct value ours;
    struct value theirs;
    bool lost;
};

static void add_conflict(struct merging *merging)
{
    struct value conflict = value_empty_object();
    object_put_adopt(&conflict, "id", value_ref(merging->id));
    object_put_adopt(
        &conflict,
        "path",
        value_string_new(buf_text(&merging->pointer), merging->pointer.length));
    *merging->conflicts = array_push_adopt(*merging->conflicts, conflict);
}

/* It is one thing, and whoever changed it changed all of it. */
static struct value merge_whole(struct merging *merging,
                                const struct place *place)
{
    if (!place->lost && value_equal(place->ours, place->base)) {
        return value_ref(place->theirs);
    }
    if (place->lost || !value_equal(place->ours, place->theirs)) {
        add_conflict(merging);
    }
    return value_ref(place->ours);
}

/* An object with this key may be read as something else when it has lost its
 * other ones: it is one thing. */
static bool has_slash(struct value object)
{
    return !value_is_absent(object_field(object, "/"));
}

/* Both have an inside, and one place in it is the same place in the other. */
static bool compare_inside(struct value a, struct value b)
{
    if (value_is_array(a) && value_is_array(b)) {
        return array_count(a) == array_count(b);
    }
    return value_is_object(a) && value_is_object(b) && !has_slash(a) &&
           !has_slash(b);
}

static struct value merge_values(struct merging *merging,
                                 const struct place *place);

/* What is at one segment, merged; *out becomes the container with it. */
static void merge_child(struct merging *merging,
                        const struct place *place,
                        struct path_segment segment,
                        struct value *out)
{
    const size_t length = merging->pointer.length;
    path_write_segments(&merging->pointer, &segment, 1);
    const struct place below = {
        .base = value_child(place->base, &segment),
        .ours = place->lost ? VALUE_NONE : value_child(place->ours, &segment),
        .theirs = value_child(place->theirs, &segment),
        .lost = place->lost,
    };
    struct value merged = merge_values(merging, &below);
    merging->pointer.length = length;
    merging->pointer.at[length] = '\0';
    if (place->lost) {
        value_unref(merged);
    } else if (value_is_array(*out)) {
        *out = array_set_adopt(*out, segment.index, merged);
    } else if (value_is_absent(merged)) {
        *out = object_remove_adopt(*out, segment.key);
    } else {
        *out = object_set_adopt(*out, value_ref(segment.key), merged);
    }
}

/* Every key of `keys` that `done` has not. */
static void merge_keys(struct merging *merging,
                       const struct place *place,
                       struct value keys,
                       struct value done,
                       struct value *out)
{
    struct object_iter iter = object_iter(keys);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if (value_is_absent(done) || value_is_absent(object_get(done, key))) {
            struct path_segment segment = path_segment(key);
            merge_child(merging, place, segment, out);
            path_segment_release(&segment);
        }
    }
}

static struct value merge_values(struct merging *merging,
                                 const struct place *place)
{
    if (value_equal(place->theirs, place->base)) {
        return value_ref(place->ours);
    }
    if (!compare_inside(place->base, place->theirs)) {
        return merge_whole(merging, place);
    }
    struct place here = *place;
    here.lost = here.lost || !compare_inside(here.base, here.ours);
    struct value out = value_ref(here.ours);
    if (value_is_array(here.base)) {
        for (uint32_t i = 0; i < array_count(here.base); i++) {
            struct path_segment segment = path_segment_of_index(i);
            merge_child(merging, &here, segment, &out);
            path_segment_release(&segment);
        }
    } else {
        merge_keys(merging, &here, here.base, VALUE_NONE, &out);
        merge_keys(merging, &here, here.theirs, here.base, &out);
    }
    return out;
}

struct value store_model_merge(const struct store_model *model,
                               size_t source,
                               size_t target,
                               const struct model_name *name,
                               struct value *conflicts)
{
    struct merging merging = {.id = name->id, .conflicts = conflicts};
    const struct place place = {
        .base = store_model_common(model, source, target, name),
        .ours = store_model_read(model, target, name, UINT64_MAX),
        .theirs = store_model_read(model, source, name, UINT64_MAX),
    };
    buf_append_text(&merging.pointer, "");
    const bool all = !value_is_absent(place.base) &&
                     !value_is_absent(place.ours) &&
                     !value_is_absent(place.theirs);
    struct value merged;
    if (value_equal(place.theirs, place.base)) {
        merged = value_ref(place.ours);
    } else {
        merged = all ? merge_values(&merging, &place)
                     : merge_whole(&merging, &place);
    }
    value_unref(place.base);
    value_unref(place.ours);
    value_unref(place.theirs);
    buf_release(&merging.pointer);
    return merged;
}
