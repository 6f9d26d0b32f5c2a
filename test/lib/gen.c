/* Random values, paths and patches (lib/gen.h is the manual). */

#include "lib/gen.h"

#include <math.h>
#include <string.h>

#include "value/array.h"
#include "value/doc_link.h"
#include "value/object.h"
#include "value/utf8.h"

/* -- Leaves -------------------------------------------------------------- */

uint32_t gen_size(struct random *random, uint32_t max)
{
    static const uint32_t borders[] = {16, 32, 64, 512, 1024};
    uint32_t size = 0;
    if (random_one_in(random, 3)) {
        const uint32_t border =
            borders[random_below(random, COUNT_OF(borders))];
        size = border + (uint32_t)random_between(random, -2, 2);
    } else if (random_one_in(random, 4)) {
        size = (uint32_t)random_below(random, (uint64_t)max + 1);
    } else {
        size = (uint32_t)random_below(random, 7);
    }
    return size <= max ? size : (uint32_t)random_below(random, max + 1U);
}

static struct value special_number(struct random *random)
{
    switch (random_below(random, 3)) {
    case 0:
        return value_double((double)NAN);
    case 1:
        return value_double((double)INFINITY);
    default:
        return value_double(-(double)INFINITY);
    }
}

static double any_finite(struct random *random)
{
    for (;;) {
        const uint64_t bits = random_u64(random);
        double real;
        memcpy(&real, &bits, sizeof real);
        if (isfinite(real)) {
            return real;
        }
    }
}

struct value gen_number(const struct gen *gen)
{
    static const int64_t edges[] = {
        0,
        -1,
        INT64_MAX,
        INT64_MIN,
        INT64_MAX - 1,
        INT64_C(9007199254740992),
        INT64_C(9007199254740993),
        UINT32_MAX,
    };
    struct random *random = gen->random;
    switch (random_below(random, 8)) {
    case 0:
        return value_int(edges[random_below(random, COUNT_OF(edges))]);
    case 1:
        return value_int((int64_t)random_u64(random));
    case 2:
        return value_double(ldexp(random_unit(random) - 0.5,
                                  (int)random_between(random, -60, 50)));
    case 3:
        if ((gen->flags & GEN_PLAIN) == 0) {
            return value_double(any_finite(random));
        }
        return value_double((double)random_between(random, -999, 999) / 8);
    case 4:
        if ((gen->flags & GEN_PLAIN) == 0) {
            return value_double(-0.0);
        }
        return value_int(random_between(random, -99999, 99999));
    default:
        return value_int(random_between(random, -4, 12));
    }
}

struct value gen_string(struct random *random, size_t max)
{
    static const uint32_t ceilings[] = {0x80, 0x80, 0x800, 0x10000, 0x110000};
    struct buf text = {0};
    const size_t length = random_one_in(random, 3)
                              ? VALUE_INLINE_MAX - 1 + random_below(random, 4)
                              : random_below(random, max + 1);
    const uint32_t ceiling = ceilings[random_below(random, COUNT_OF(ceilings))];
    while (text.length < length && text.length < max) {
        uint32_t code = (uint32_t)random_below(random, ceiling);
        if (random_one_in(random, 16)) {
            code =
                (uint32_t)(unsigned char)"\"\\/\b\f\n\r\t"[random_below(random,
                                                                        8)];
        }
        if (code < 0xD800 || code > 0xDFFF) {
            char *to = buf_reserve(&text, 4);
            buf_advance(&text, utf8_write(to, code));
        }
    }
    struct value string = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    return string;
}

static struct value one_of(struct random *random,
                           const char *const *names,
                           size_t count)
{
    return value_text_new(names[random_below(random, count)]);
}

struct value gen_key(const struct gen *gen)
{
    static const char *const names[] = {
        "a",
        "b",
        "c",
        "list",
        "0",
        "1",
        "01",
        "-",
        "",
        "a/b",
        "m~n",
        "fifteen letters",
        "sixteen letters.",
        "a key that is longer than a handle",
    };
    static const char *const parts[] = {"/", "/", "x@1", "link@1", "y@2", "a"};
    struct random *random = gen->random;
    if ((gen->flags & GEN_ENVELOPES) != 0 && random_one_in(random, 2)) {
        return one_of(random, parts, COUNT_OF(parts));
    }
    if (gen->width > COUNT_OF(names) && random_one_in(random, 2)) {
        char text[24] = "key ";
        const uint64_t number = random_below(random, 2U * gen->width);
        for (size_t i = 0; i < 16; i++) {
            text[4 + i] = (char)('a' + (number >> (15 - i) & 1U));
        }
        return value_string_new(text, 20);
    }
    return one_of(random, names, COUNT_OF(names));
}

static struct value gen_tagged(const struct gen *gen)
{
    struct random *random = gen->random;
    if (random_one_in(random, 2)) {
        struct value id = gen_key(gen);
        const struct value scope = value_text_new("user");
        const struct doc_link fields = {
            .id = id,
            .scope = random_one_in(random, 2) ? scope : VALUE_NONE,
            .redirect = random_one_in(random, 3),
        };
        struct value link = doc_link_new(&fields);
        value_unref(id);
        return link;
    }
    struct gen inside = *gen;
    inside.depth = gen->depth > 2 ? gen->depth - 2 : 0;
    return value_tagged_adopt(value_text_new(random_one_in(random, 2)
                                                 ? "bytes@1"
                                                 : "a-tag-of-some-length@12"),
                              gen_value(&inside));
}

struct value gen_leaf(const struct gen *gen)
{
    struct random *random = gen->random;
    if ((gen->flags & GEN_SPECIALS) != 0 && random_one_in(random, 6)) {
        return random_one_in(random, 3) ? special_number(random)
                                        : gen_tagged(gen);
    }
    switch (random_below(random, 6)) {
    case 0:
        return value_null();
    case 1:
        return value_bool(random_one_in(random, 2));
    case 2:
        return gen_string(random, 40);
    case 3:
        return gen_key(gen);
    default:
        return gen_number(gen);
    }
}

/* -- Containers ---------------------------------------------------------- */

/* Large containers have small ones inside. */
static struct gen one_deeper(const struct gen *gen, uint32_t size)
{
    struct gen inside = *gen;
    inside.depth--;
    inside.width = size > 8 ? 3 : gen->width;
    if (size > 40) {
        inside.depth = inside.depth > 1 ? 1 : inside.depth;
    }
    return inside;
}

struct value gen_array(const struct gen *gen)
{
    const uint32_t size = gen_size(gen->random, gen->width);
    const struct gen inside = one_deeper(gen, size);
    struct value array = value_empty_array();
    for (uint32_t i = 0; i < size; i++) {
        array = array_push_adopt(array,
                                 i > 0 && random_one_in(gen->random, 5)
                                     ? value_ref(array_at(array, i - 1))
                                     : gen_value(&inside));
    }
    return array;
}

/* One step away from an envelope: with a key too many, outside or inside, or
 * without the one that counts. */
static struct value near_envelope(const struct gen *gen)
{
    struct random *random = gen->random;
    const struct gen inside = one_deeper(gen, 0);
    struct value body = value_empty_object();
    if (!random_one_in(random, 3)) {
        body = object_set_adopt(body, value_text_new("x@1"), gen_leaf(&inside));
    }
    if (random_one_in(random, 2)) {
        body = object_set_adopt(body, gen_key(gen), gen_leaf(&inside));
    }
    const struct value pair[2] = {value_text_new("/"), body};
    struct value object = object_new_adopt(pair, 1);
    if (value_is_object(object) && random_one_in(random, 2)) {
        object = object_set_adopt(object, gen_key(gen), gen_leaf(&inside));
    }
    return object;
}

struct value gen_object(const struct gen *gen)
{
    if ((gen->flags & GEN_ENVELOPES) != 0 && random_one_in(gen->random, 4)) {
        return near_envelope(gen);
    }
    const uint32_t size = gen_size(gen->random, gen->width);
    const struct gen inside = one_deeper(gen, size);
    VEC(struct value) pairs = {0};
    for (uint32_t i = 0; i < size; i++) {
        vec_push(&pairs, gen_key(gen));
        vec_push(&pairs, gen_value(&inside));
    }
    struct value object = object_new_adopt(pairs.at, size);
    vec_release(&pairs);
    return object;
}

struct value gen_value(const struct gen *gen)
{
    if (gen->depth == 0 || random_one_in(gen->random, 3)) {
        return gen_leaf(gen);
    }
    return random_one_in(gen->random, 2) ? gen_array(gen) : gen_object(gen);
}

/* -- Changes ------------------------------------------------------------- */

static struct value random_key_of(struct random *random, struct value object)
{
    struct object_iter iter = object_iter(object);
    struct value key = VALUE_NONE;
    struct value item;
    uint64_t skip = random_below(random, object_count(object));
    do {
        (void)object_next(&iter, &key, &item);
    } while (skip-- > 0);
    return key;
}

static struct value edit_array_adopt(const struct gen *gen, struct value array)
{
    struct random *random = gen->random;
    const uint32_t count = array_count(array);
    if (count == 0 || random_one_in(random, 4)) {
        const uint32_t at = (uint32_t)random_below(random, count + 1U);
        struct value item = at > 0 && random_one_in(random, 3)
                                ? value_ref(array_at(array, at - 1))
                                : gen_value(gen);
        return array_splice_adopt(array, at, 0, &item, 1);
    }
    const uint32_t at = (uint32_t)random_below(random, count);
    if (random_one_in(random, 4)) {
        const uint64_t most = count - at < 4 ? count - at : 4;
        const uint32_t gone = (uint32_t)random_below(random, most + 1);
        return array_splice_adopt(array, at, gone, NULL, 0);
    }
    struct value item = value_ref(array_at(array, at));
    return array_set_adopt(array, at, gen_edit_adopt(gen, item));
}

static struct value edit_object_adopt(const struct gen *gen,
                                      struct value object)
{
    struct random *random = gen->random;
    if (object_count(object) == 0 || random_one_in(random, 4)) {
        return object_set_adopt(object, gen_key(gen), gen_value(gen));
    }
    struct value key = value_ref(random_key_of(random, object));
    if (random_one_in(random, 4)) {
        struct value rest = object_remove_adopt(object, key);
        value_unref(key);
        return rest;
    }
    struct value item = value_ref(object_get(object, key));
    return object_set_adopt(object, key, gen_edit_adopt(gen, item));
}

struct value gen_edit_adopt(const struct gen *gen, struct value value)
{
    struct random *random = gen->random;
    if (random_one_in(random, 12)) {
        return value;
    }
    if (!value_is_container(value) || random_one_in(random, 12)) {
        value_unref(value);
        return gen_value(gen);
    }
    const uint64_t edits = random_below(random, 3) + 1;
    for (uint64_t i = 0; i < edits && value_is_container(value); i++) {
        value = value_is_array(value) ? edit_array_adopt(gen, value)
                                      : edit_object_adopt(gen, value);
    }
    return value;
}

/* -- The same by another route ------------------------------------------- */

/* From the middle outwards, with a detour here and there. */
static struct value rebuild_array(const struct gen *gen, struct value array)
{
    const uint32_t count = array_count(array);
    const uint32_t middle =
        (uint32_t)random_below(gen->random, (uint64_t)count + 1);
    struct value built = value_empty_array();
    for (uint32_t i = middle; i < count; i++) {
        built = array_push_adopt(built, gen_rebuild(gen, array_at(array, i)));
    }
    for (uint32_t i = middle; i-- > 0;) {
        struct value item = gen_rebuild(gen, array_at(array, i));
        built = array_splice_adopt(built, 0, 0, &item, 1);
        if (random_one_in(gen->random, 8)) {
            const struct value two[2] = {value_null(), value_bool(true)};
            const uint32_t at =
                (uint32_t)random_below(gen->random,
                                       (uint64_t)array_count(built) + 1);
            built = array_splice_adopt(built, at, 0, two, 2);
            built = array_splice_adopt(built, at, 2, NULL, 0);
        }
    }
    return built;
}

/* From a random key on, around; a stranger comes first and goes last. */
static struct value rebuild_object(const struct gen *gen, struct value object)
{
    const uint32_t count = object_count(object);
    struct value stranger = value_text_new("a stranger in every object");
    struct value built = object_set_adopt(value_empty_object(),
                                          value_ref(stranger),
                                          value_null());
    VEC(struct value) pairs = {0};
    struct object_iter iter = object_iter(object);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        vec_push(&pairs, key);
        vec_push(&pairs, item);
    }
    const uint64_t start = count > 0 ? random_below(gen->random, count) : 0;
    for (uint64_t i = 0; i < count; i++) {
        const struct value *pair = &pairs.at[2 * ((start + i) % count)];
        const struct text text = value_text(&pair[0]);
        struct value same = value_string_new(text.at, text.length);
        built = object_set_adopt(built, same, gen_rebuild(gen, pair[1]));
    }
    vec_release(&pairs);
    built = object_remove_adopt(built, stranger);
    value_unref(stranger);
    return built;
}

struct value gen_rebuild(const struct gen *gen, struct value value)
{
    switch (value_kind(value)) {
    case VALUE_STRING: {
        const struct text text = value_text(&value);
        return value_string_new(text.at, text.length);
    }
    case VALUE_ARRAY:
        return rebuild_array(gen, value);
    case VALUE_OBJECT:
        return rebuild_object(gen, value);
    case VALUE_LINK:
    case VALUE_TAGGED:
        return value_tagged_adopt(gen_rebuild(gen, value_tagged_type(value)),
                                  gen_rebuild(gen, value_tagged_state(value)));
    case VALUE_ABSENT:
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DOUBLE:
        break;
    }
    return value;
}

/* -- Paths and patches --------------------------------------------------- */

static struct path_segment segment_into(const struct gen *gen,
                                        struct value value)
{
    struct random *random = gen->random;
    if (value_is_array(value) && !random_one_in(random, 10)) {
        if (random_one_in(random, 10)) {
            return path_segment(value_text_new("-"));
        }
        const uint64_t most = (uint64_t)array_count(value) + 1;
        return path_segment_of_index((uint32_t)random_below(random, most));
    }
    if (value_is_object(value) && object_count(value) > 0 &&
        !random_one_in(random, 6)) {
        return path_segment(random_key_of(random, value));
    }
    struct value key = gen_key(gen);
    struct path_segment segment = path_segment(key);
    value_unref(key);
    return segment;
}

struct path *gen_path(const struct gen *gen,
                      struct path_table *paths,
                      struct value value)
{
    struct path_segment segments[12];
    size_t length = 0;
    while (length < COUNT_OF(segments) && !random_one_in(gen->random, 4)) {
        if (!value_is_container(value) && !random_one_in(gen->random, 6)) {
            break;
        }
        segments[length] = segment_into(gen, value);
        value = value_child(value, &segments[length]);
        length++;
    }
    struct path *path = path_new(paths, segments, length);
    for (size_t i = 0; i < length; i++) {
        path_segment_release(&segments[i]);
    }
    return path;
}

/* A path to an array, if one is found soon. */
static struct path *gen_array_path(const struct gen *gen,
                                   struct path_table *paths,
                                   struct value value)
{
    struct path *path = gen_path(gen, paths, value);
    for (unsigned i = 0; i < 8 && !value_is_array(value_at(value, path)); i++) {
        path_unref(path);
        path = gen_path(gen, paths, value);
    }
    return path;
}

/* What the operation puts in: new, or something that the target has. */
static struct value gen_operand(const struct gen *gen, struct value target)
{
    struct gen small = *gen;
    small.depth = gen->depth > 2 ? 2 : gen->depth;
    if (value_is_array(target) && array_count(target) > 0 &&
        random_one_in(gen->random, 2)) {
        const uint32_t at =
            (uint32_t)random_below(gen->random, array_count(target));
        return value_ref(array_at(target, at));
    }
    return gen_value(&small);
}

static struct value gen_values(const struct gen *gen, struct value target)
{
    struct value values = value_empty_array();
    const uint64_t count = random_below(gen->random, 4);
    for (uint64_t i = 0; i < count; i++) {
        values = array_push_adopt(values, gen_operand(gen, target));
    }
    return values;
}

static struct value gen_by(const struct gen *gen)
{
    for (;;) {
        const struct value by = gen_number(gen);
        if (isfinite(value_real(by)) && fabs(value_real(by)) > 0) {
            return by;
        }
    }
}

struct patch_op gen_op(const struct gen *gen,
                       struct path_table *paths,
                       struct value value)
{
    struct patch_op op = {
        .kind = (enum patch_kind)random_below(gen->random, PATCH_KIND_COUNT),
    };
    const bool arrays = op.kind == PATCH_SPLICE || op.kind == PATCH_APPEND ||
                        op.kind == PATCH_ADD_UNIQUE ||
                        op.kind == PATCH_REMOVE_BY_VALUE;
    op.path = arrays ? gen_array_path(gen, paths, value)
                     : gen_path(gen, paths, value);
    const struct value target = value_at(value, op.path);
    switch (op.kind) {
    case PATCH_REPLACE:
    case PATCH_ADD:
    case PATCH_REMOVE_BY_VALUE:
        op.value = gen_operand(gen, target);
        break;
    case PATCH_MOVE:
        op.from = gen_path(gen, paths, value);
        break;
    case PATCH_SPLICE: {
        const uint32_t count = value_is_array(target) ? array_count(target) : 0;
        op.index = (uint32_t)random_below(gen->random, (uint64_t)count + 2);
        op.remove = (uint32_t)random_below(gen->random, 5);
        op.value = gen_values(gen, target);
        break;
    }
    case PATCH_APPEND:
    case PATCH_ADD_UNIQUE:
        op.value = gen_values(gen, target);
        break;
    case PATCH_INCREMENT:
        op.value = gen_by(gen);
        break;
    case PATCH_REMOVE:
    case PATCH_KIND_COUNT:
        break;
    }
    return op;
}
