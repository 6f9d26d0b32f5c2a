/* The reach of selectors, computed from scratch. */

#include "lib/reach_model.h"

#include "value/array.h"
#include "value/compare.h"
#include "value/doc_link.h"
#include "value/object.h"

static void visit(struct reach_model *model,
                  const struct target *target,
                  struct value path,
                  struct value schema,
                  uint64_t level);

bool reach_model_has(const struct reach_model *model,
                     const struct target *target)
{
    for (size_t i = 0; i < model->reached.count; i++) {
        if (model->reached.at[i].scope == target->scope &&
            value_equal(model->reached.at[i].id, target->id)) {
            return true;
        }
    }
    return false;
}

static bool is_true(struct value schema)
{
    return value_is_same(schema, value_bool(true)) ||
           value_is_same(schema, value_empty_object());
}

static bool is_false(struct value schema)
{
    return value_is_absent(schema) || value_is_same(schema, value_bool(false));
}

/* The path of the link with `rest` behind it, from `used` on. */
static struct value path_behind(const struct doc_link *link,
                                struct value rest,
                                uint32_t used)
{
    struct value path =
        value_is_absent(link->path)
            ? array_push_adopt(value_empty_array(), value_text_new("value"))
            : value_ref(link->path);
    for (uint32_t i = used; i < array_count(rest); i++) {
        path = array_push_adopt(path, value_ref(array_at(rest, i)));
    }
    return path;
}

static void follow(struct reach_model *model,
                   const struct target *from,
                   struct value value,
                   struct value rest,
                   uint32_t used,
                   struct value schema,
                   uint64_t level)
{
    const struct doc_link link = doc_link_of(value);
    struct target to = {link.id, SCOPE_SPACE};
    if (value_is_absent(link.id)) {
        to = *from;
    }
    if (!value_is_absent(link.scope)) {
        (void)scope_read(link.scope, &to.scope);
    }
    if (!value_is_absent(link.space)) {
        return;
    }
    const bool other = to.scope != from->scope || !value_equal(to.id, from->id);
    struct value path = path_behind(&link, rest, used);
    if (array_count(path) > 64 && used < array_count(rest)) {
        value_unref(path);
        return;
    }
    visit(model, &to, path, schema, level + (other ? 1 : 0));
    value_unref(path);
}

/* A part of a document under a schema; `only` delivers and goes no further. */
static void look(struct reach_model *model,
                 const struct target *from,
                 struct value value,
                 struct value schema,
                 bool only,
                 uint64_t level)
{
    if (is_false(schema)) {
        return;
    }
    if (value_kind(value) == VALUE_LINK) {
        follow(model,
               from,
               value,
               value_empty_array(),
               0,
               only ? value_bool(false) : schema,
               level);
    }
    for (uint32_t i = 0; value_is_array(value) && i < array_count(value); i++) {
        const struct value below =
            is_true(schema) ? schema : object_field(schema, "items");
        look(model, from, array_at(value, i), below, only, level);
    }
    struct object_iter iter =
        object_iter(value_is_object(value) ? value : value_empty_object());
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        const struct value properties = object_field(schema, "properties");
        struct value below = value_is_object(properties)
                                 ? object_get(properties, key)
                                 : VALUE_NONE;
        if (value_is_absent(below)) {
            below = object_field(schema, "additionalProperties");
        }
        look(model, from, item, is_true(schema) ? schema : below, only, level);
    }
}

static void look_at_document(struct reach_model *model,
                             const struct target *target,
                             struct value document,
                             struct value path,
                             struct value schema,
                             uint64_t level)
{
    struct value value = document;
    uint32_t used = 0;
    while (used < array_count(path) && value_is_container(value)) {
        const struct path_segment segment = path_segment(array_at(path, used));
        value = value_child(value, &segment);
        used++;
        struct path_segment own = segment;
        path_segment_release(&own);
    }
    if (value_kind(value) == VALUE_LINK) {
        follow(model, target, value, path, used, schema, level);
    } else if (used == array_count(path)) {
        look(model, target, value, schema, false, level);
    }
    struct object_iter iter = object_iter(document);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if (!value_is_text(key, "value")) {
            look(model, target, item, value_bool(true), true, level);
        }
    }
}

static void visit(struct reach_model *model,
                  const struct target *target,
                  struct value path,
                  struct value schema,
                  uint64_t level)
{
    if (level > model->depth) {
        return;
    }
    if (!reach_model_has(model, target)) {
        const struct target own = {value_ref(target->id), target->scope};
        vec_push(&model->reached, own);
    }
    const struct value parts[4] = {
        value_ref(target->id),
        value_int((int64_t)target->scope),
        value_ref(path),
        value_ref(schema),
    };
    struct value place = array_new_adopt(parts, 4);
    VEC_FOREACH (&model->visits, before) {
        if (value_equal(before->place, place) && before->level <= level) {
            value_unref(place);
            return;
        }
    }
    const struct reach_visit here = {place, level};
    vec_push(&model->visits, here);
    const struct value document = model->document(model->ctx, target);
    if (value_is_object(document) && !is_false(schema)) {
        look_at_document(model, target, document, path, schema, level);
    }
}

static void forget_visits(struct reach_model *model)
{
    VEC_FOREACH (&model->visits, one) {
        value_unref(one->place);
    }
    vec_clear(&model->visits);
}

void reach_model_add(struct reach_model *model,
                     const struct target *root,
                     struct value path,
                     struct value schema,
                     uint64_t depth)
{
    model->depth = depth;
    visit(model, root, path, schema, 0);
    forget_visits(model);
}

void reach_model_clear(struct reach_model *model)
{
    VEC_FOREACH (&model->reached, target) {
        value_unref(target->id);
    }
    vec_clear(&model->reached);
}

void reach_model_release(struct reach_model *model)
{
    reach_model_clear(model);
    vec_release(&model->visits);
    vec_release(&model->reached);
}
