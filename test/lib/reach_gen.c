/* Random documents that link to each other, and random selectors. */

#include "lib/reach_gen.h"

#include "lib/values.h"
#include "value/array.h"
#include "value/doc_link.h"
#include "value/object.h"

static const char *const keys[] = {"a", "b", "c"};

static struct value random_key(struct random *random)
{
    return value_text_new(keys[random_below(random, 3)]);
}

struct target reach_gen_target(struct random *random)
{
    return (struct target){
        numbered("d", random_below(random, REACH_GEN_IDS)),
        random_one_in(random, 6) ? SCOPE_USER : SCOPE_SPACE,
    };
}

struct value reach_gen_path(struct random *random)
{
    struct value path = value_empty_array();
    while (random_one_in(random, 3)) {
        path = array_push_adopt(path,
                                random_one_in(random, 3) ? value_text_new("0")
                                                         : random_key(random));
    }
    return path;
}

static struct value random_link(struct random *random)
{
    const struct target target = reach_gen_target(random);
    struct doc_link link = {.id = target.id};
    if (target.scope == SCOPE_USER) {
        link.scope = value_text_new("user");
    }
    if (random_one_in(random, 8)) { /* the same document */
        link.id = VALUE_NONE;
        link.scope = VALUE_NONE;
    }
    if (random_one_in(random, 12)) {
        link.space = value_text_new("elsewhere");
    }
    if (random_one_in(random, 3)) {
        link.path = reach_gen_path(random);
        if (!random_one_in(random, 4)) {
            const struct value value = value_text_new("value");
            link.path = array_splice_adopt(link.path, 0, 0, &value, 1);
        }
    }
    struct value result = doc_link_new(&link);
    value_unref(link.path);
    value_unref(target.id);
    return result;
}

static struct value random_value(struct random *random, unsigned depth)
{
    const uint64_t kind = random_below(random, 8);
    if (depth == 0 || kind >= 6) {
        return value_int((int64_t)random_below(random, 10));
    }
    if (kind < 3) {
        return random_link(random);
    }
    if (kind == 3) {
        struct value array = value_empty_array();
        for (uint64_t n = random_below(random, 4); n > 0; n--) {
            array = array_push_adopt(array, random_value(random, depth - 1));
        }
        return array;
    }
    struct value object = value_empty_object();
    for (uint64_t n = random_below(random, 4); n > 0; n--) {
        object = object_set_adopt(object,
                                  random_key(random),
                                  random_value(random, depth - 1));
    }
    return object;
}

struct value reach_gen_document(struct random *random)
{
    struct value document = value_empty_object();
    if (!random_one_in(random, 10)) {
        object_put_adopt(&document, "value", random_value(random, 3));
    }
    if (random_one_in(random, 6)) {
        object_put_adopt(&document, "note", random_value(random, 2));
    }
    return document;
}

static struct value random_schema(struct random *random, unsigned depth)
{
    const uint64_t kind = random_below(random, 6);
    if (kind == 0 || depth == 0) {
        return value_bool(true);
    }
    if (kind == 1) {
        return value_bool(false);
    }
    struct value schema = value_empty_object();
    if (random_one_in(random, 2)) {
        object_put_adopt(&schema, "items", random_schema(random, depth - 1));
    }
    if (random_one_in(random, 3)) {
        object_put_adopt(&schema,
                         "additionalProperties",
                         random_schema(random, depth - 1));
    }
    if (random_one_in(random, 2)) {
        struct value properties = value_empty_object();
        for (uint64_t n = random_below(random, 3); n > 0; n--) {
            properties = object_set_adopt(properties,
                                          random_key(random),
                                          random_schema(random, depth - 1));
        }
        object_put_adopt(&schema, "properties", properties);
    }
    return schema;
}

struct value reach_gen_schema(struct random *random)
{
    return random_one_in(random, 3) ? value_bool(true)
                                    : random_schema(random, 3);
}
