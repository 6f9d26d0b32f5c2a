/* Reading and writing fields of external objects. */

#include "proto/fields.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "value/array.h"
#include "value/object.h"

const char *fields_where(const struct fields *fields,
                         char to[FIELDS_WHERE_SIZE])
{
    const char *prefix = fields->prefix != NULL ? fields->prefix : "";
    if (fields->list == NULL) {
        (void)snprintf(to, FIELDS_WHERE_SIZE, "%s", prefix);
    } else {
        (void)snprintf(to,
                       FIELDS_WHERE_SIZE,
                       "%s%s[%u].",
                       prefix,
                       fields->list,
                       fields->index);
    }
    return to;
}

enum err fields_bad(const struct fields *fields,
                    const char *field,
                    const char *what)
{
    char where[FIELDS_WHERE_SIZE];
    size_t length = strlen(fields_where(fields, where));
    if (field[0] == '\0' && length > 0) {
        where[length - 1] = '\0'; /* the object itself: without its dot */
    }
    return err_set(fields->detail, ERR_PROTOCOL, "%s%s %s", where, field, what);
}

enum err field_number(const struct fields *fields,
                      struct value object,
                      const char *field,
                      uint64_t *out)
{
    const struct value number = object_field(object, field);
    if (value_kind(number) != VALUE_INT || value_integer(number) < 0) {
        return fields_bad(fields, field, "must be an integer from 0 on");
    }
    *out = (uint64_t)value_integer(number);
    return ERR_OK;
}

enum err field_flag(const struct fields *fields,
                    struct value object,
                    const char *field,
                    bool *out)
{
    const struct value flag = object_field(object, field);
    if (!value_is_absent(flag) && value_kind(flag) != VALUE_BOOL) {
        return fields_bad(fields, field, "must be true or false");
    }
    *out = !value_is_absent(flag) && value_boolean(flag);
    return ERR_OK;
}

enum err field_name(const struct fields *fields,
                    struct value object,
                    const char *field,
                    const char *fallback,
                    struct value *out)
{
    const struct value name = object_field(object, field);
    if (value_is_absent(name) && fallback != NULL) {
        *out = value_text_new(fallback);
        return ERR_OK;
    }
    if (!value_is_string(name)) {
        return fields_bad(fields, field, "must be a string");
    }
    if (value_text(&name).length > LIMIT_ID_BYTES) {
        char where[FIELDS_WHERE_SIZE];
        return err_set(fields->detail,
                       ERR_LIMIT_ID,
                       "%s%s has more than %d bytes",
                       fields_where(fields, where),
                       field,
                       LIMIT_ID_BYTES);
    }
    *out = value_ref(name);
    return ERR_OK;
}

enum err field_target(const struct fields *fields,
                      struct value object,
                      struct target *out)
{
    const struct value id = object_field(object, "id");
    struct err_detail why = {0};
    const enum err err = document_id_check(id, &why);
    if (err != ERR_OK) {
        char where[FIELDS_WHERE_SIZE];
        return err_set(fields->detail,
                       err == ERR_LIMIT_ID ? err : ERR_PROTOCOL,
                       "%sid: %s",
                       fields_where(fields, where),
                       why.text);
    }
    const struct value scope = object_field(object, "scope");
    out->scope = SCOPE_SPACE;
    if (!value_is_absent(scope) && !scope_read(scope, &out->scope)) {
        return fields_bad(fields, "scope", "must be space, user or session");
    }
    out->id = value_ref(id);
    return ERR_OK;
}

enum err field_list(const struct fields *fields,
                    struct value object,
                    const char *field,
                    uint32_t most,
                    enum err too_many,
                    struct value *out)
{
    *out = object_field(object, field);
    if (value_is_absent(*out)) {
        *out = value_empty_array();
        return ERR_OK;
    }
    if (!value_is_array(*out)) {
        return fields_bad(fields, field, "must be an array");
    }
    if (array_count(*out) > most) {
        char where[FIELDS_WHERE_SIZE];
        return err_set(fields->detail,
                       too_many,
                       "%s%s has more than %u elements",
                       fields_where(fields, where),
                       field,
                       most);
    }
    return ERR_OK;
}

enum err field_path(const struct fields *fields,
                    struct value object,
                    struct path **out)
{
    struct err_detail why = {0};
    const enum err err =
        path_of_array(fields->paths, object_field(object, "path"), out, &why);
    if (err != ERR_OK) {
        char where[FIELDS_WHERE_SIZE];
        return err_set(fields->detail,
                       err == ERR_LIMIT_PATH ? err : ERR_PROTOCOL,
                       "%spath: %s",
                       fields_where(fields, where),
                       why.text);
    }
    return ERR_OK;
}

/* -- Writing ------------------------------------------------------------- */

void put_number(struct value *object, const char *name, uint64_t number)
{
    CHECK(number <= INT64_MAX);
    object_put_adopt(object, name, value_int((int64_t)number));
}

void put_target(struct value *object, const struct target *target)
{
    object_put_adopt(object, "id", value_ref(target->id));
    if (target->scope != SCOPE_SPACE) {
        object_put_adopt(object,
                         "scope",
                         value_text_new(scope_name(target->scope)));
    }
}

void put_path(struct value *object, const struct path *path)
{
    struct value array = value_empty_array();
    for (size_t i = 0; i < path->length; i++) {
        array = array_push_adopt(array, value_ref(path->at[i].key));
    }
    object_put_adopt(object, "path", array);
}
