/* Decoding an observation. Nothing is trusted, and unknown fields are refused:
 * the next process must find exactly what was meant (observation-4). */

#include <string.h>

#include "base/limits.h"
#include "proto/fields.h"
#include "proto/observation.h"
#include "value/array.h"
#include "value/object.h"

/* PROTOCOL if the object has a field that is not in the list, which ends with
 * NULL. */
static enum err known_fields(const struct fields *fields,
                             struct value object,
                             const char *const *known)
{
    struct object_iter iter = object_iter(object);
    struct value name;
    struct value item;
    while (object_next(&iter, &name, &item)) {
        size_t i = 0;
        while (known[i] != NULL && !value_is_text(name, known[i])) {
            i++;
        }
        if (known[i] == NULL) {
            return fields_bad(fields, "", "has an unknown field");
        }
    }
    return ERR_OK;
}

static enum err read_digest(const struct fields *fields,
                            struct value object,
                            const char *field,
                            struct digest *out)
{
    return digest_read(object_field(object, field), out)
               ? ERR_OK
               : fields_bad(fields, field, "must be a digest");
}

/* A number that is 0 if it is left out, and then must be. */
static enum err read_some(const struct fields *fields,
                          struct value object,
                          const char *field,
                          uint64_t *out)
{
    if (value_is_absent(object_field(object, field))) {
        return ERR_OK;
    }
    const enum err err = field_number(fields, object, field, out);
    return err == ERR_OK && *out == 0
               ? fields_bad(fields, field, "must be omitted if it is 0")
               : err;
}

static enum err read_layers(const struct fields *fields,
                            struct value object,
                            struct layer_list *out)
{
    struct value list;
    enum err err = field_list(fields,
                              object,
                              "localSeq",
                              LIMIT_COMMIT_LAYERS,
                              ERR_LIMIT_COMMIT,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value layer = array_at(list, i);
        if (value_kind(layer) != VALUE_INT || value_integer(layer) < 0) {
            return fields_bad(fields,
                              "localSeq",
                              "must hold integers from 0 on");
        }
        vec_push(&out->at, (uint64_t)value_integer(layer));
    }
    return err;
}

static enum err read_basis(struct fields *fields,
                           struct value object,
                           struct observed_basis *out)
{
    static const char *const known[] = {"seq", "localSeq", NULL};
    const struct value basis = object_field(object, "basis");
    if (value_is_absent(basis)) {
        return ERR_OK;
    }
    if (!value_is_object(basis)) {
        return fields_bad(fields, "basis", "must be an object");
    }
    fields_enter(fields, "basis.");
    out->given = true;
    enum err err = known_fields(fields, basis, known);
    if (err == ERR_OK) {
        err = field_number(fields, basis, "seq", &out->seq);
    }
    if (err == ERR_OK) {
        err = read_layers(fields, basis, &out->layers);
    }
    fields_enter(fields, "");
    return err;
}

static enum err read_place(struct fields *fields,
                           struct value object,
                           bool reads,
                           struct observed_place *out)
{
    static const char *const read_known[] =
        {"space", "id", "scope", "path", "nonRecursive", NULL};
    static const char *const write_known[] =
        {"space", "id", "scope", "path", "envelope", NULL};
    if (!value_is_object(object)) {
        return fields_bad(fields, "", "must be an object");
    }
    bool flag = false;
    enum err err =
        known_fields(fields, object, reads ? read_known : write_known);
    if (err == ERR_OK && !value_is_absent(object_field(object, "space"))) {
        err = field_name(fields, object, "space", NULL, &out->space);
    }
    if (err == ERR_OK) {
        err = field_target(fields, object, &out->target);
    }
    if (err == ERR_OK) {
        err = field_path(fields, object, &out->path);
    }
    if (err == ERR_OK) {
        err = field_flag(fields,
                         object,
                         reads ? "nonRecursive" : "envelope",
                         &flag);
    }
    if (reads) {
        out->kind = flag ? PLACE_SHAPE : PLACE_DEEP;
    } else {
        out->kind = flag ? PLACE_ENVELOPE : PLACE_OUTPUT;
    }
    return err;
}

static enum err read_places(struct fields *fields,
                            struct value object,
                            bool reads,
                            struct observation *out)
{
    const char *field = reads ? "reads" : "writes";
    struct value list;
    enum err err = field_list(fields,
                              object,
                              field,
                              LIMIT_OBSERVATION_PLACES,
                              ERR_LIMIT_COMMIT,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        fields_enter_element(fields, "", field, i);
        vec_push(&out->places, (struct observed_place){.kind = PLACE_DEEP});
        err = read_place(fields,
                         array_at(list, i),
                         reads,
                         vec_last(&out->places));
    }
    fields_enter(fields, "");
    return err;
}

static enum err read_elsewhere(struct fields *fields,
                               struct value object,
                               struct observation *out)
{
    static const char *const known[] = {"space", "branch", "seq", NULL};
    struct value list;
    enum err err = field_list(fields,
                              object,
                              "elsewhere",
                              LIMIT_OBSERVATION_SPACES,
                              ERR_LIMIT_COMMIT,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        const struct value one = array_at(list, i);
        fields_enter_element(fields, "", "elsewhere", i);
        vec_push(&out->elsewhere, (struct observed_space){.seq = 0});
        struct observed_space *space = vec_last(&out->elsewhere);
        err = value_is_object(one)
                  ? known_fields(fields, one, known)
                  : fields_bad(fields, "", "must be an object");
        if (err == ERR_OK) {
            err = field_name(fields, one, "space", NULL, &space->space);
        }
        if (err == ERR_OK) {
            err = field_name(fields, one, "branch", "", &space->branch);
        }
        if (err == ERR_OK) {
            err = field_number(fields, one, "seq", &space->seq);
        }
    }
    fields_enter(fields, "");
    return err;
}

static enum err read_kind(const struct fields *fields,
                          struct value object,
                          enum action_kind *out)
{
    const struct value name = object_field(object, "kind");
    for (unsigned i = ACTION_COMPUTATION; i <= ACTION_HANDLER; i++) {
        if (value_is_text(name, action_kind_name((enum action_kind)i))) {
            *out = (enum action_kind)i;
            return ERR_OK;
        }
    }
    return fields_bad(fields, "kind", "must be computation, effect or handler");
}

static enum err read_identity(const struct fields *fields,
                              struct value object,
                              struct observation *out)
{
    const struct value scope = object_field(object, "scope");
    if (!value_is_absent(scope) && !scope_read(scope, &out->scope)) {
        return fields_bad(fields, "scope", "must be space, user or session");
    }
    enum err err = field_name(fields, object, "piece", NULL, &out->piece);
    if (err == ERR_OK) {
        err = field_number(fields, object, "generation", &out->generation);
    }
    if (err == ERR_OK) {
        err = read_kind(fields, object, &out->kind);
    }
    return err;
}

static enum err read_digests(const struct fields *fields,
                             struct value object,
                             struct observation *out)
{
    const struct {
        const char *field;
        struct digest *to;
    } digests[] = {
        {"action", &out->action},
        {"implementation", &out->fingerprints.implementation},
        {"runtime", &out->fingerprints.runtime},
        {"schema", &out->fingerprints.schema},
        {"surface", &out->fingerprints.surface},
        {"readSet", &out->read_set},
    };
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < COUNT_OF(digests); i++) {
        err = read_digest(fields, object, digests[i].field, digests[i].to);
    }
    out->failed = !value_is_absent(object_field(object, "error"));
    return err == ERR_OK && out->failed
               ? read_digest(fields, object, "error", &out->error)
               : err;
}

static enum err read_gates(const struct fields *fields,
                           struct value object,
                           struct gate_config *out)
{
    enum err err = read_some(fields, object, "debounceMs", &out->debounce_ms);
    if (err == ERR_OK) {
        err = read_some(fields, object, "throttleMs", &out->throttle_ms);
    }
    return err == ERR_OK ? field_flag(fields,
                                      object,
                                      "noAutoDebounce",
                                      &out->no_auto_debounce)
                         : err;
}

/* Both lists, or neither: `reads` says which. */
static enum err read_lists(struct fields *fields,
                           struct value object,
                           struct observation *out)
{
    out->has_places = !value_is_absent(object_field(object, "reads"));
    if (!out->has_places) {
        return value_is_absent(object_field(object, "writes"))
                   ? ERR_OK
                   : fields_bad(fields, "writes", "must not be without reads");
    }
    enum err err = read_places(fields, object, true, out);
    return err == ERR_OK ? read_places(fields, object, false, out) : err;
}

/* The two lists come one after the other; in memory they are one
 * (observation-1). */
static enum err merge_lists(struct observation *out, struct err_detail *detail)
{
    const struct observation as_given = *out;
    for (size_t i = 1; i < out->places.count; i++) {
        const struct observed_place *place = &out->places.at[i];
        if (place_is_read(place->kind) == place_is_read((place - 1)->kind) &&
            observed_place_compare(place - 1, place) >= 0) {
            return err_set(detail,
                           ERR_PROTOCOL,
                           "%s must be sorted and unique",
                           place_is_read(place->kind) ? "reads" : "writes");
        }
    }
    if (out->has_places) {
        observation_seal(out);
        out->scope = as_given.scope;
        out->read_set = as_given.read_set;
        out->fingerprints.surface = as_given.fingerprints.surface;
        out->sealed = false; /* observation-4 */
    }
    return ERR_OK;
}

static enum err read_all(struct fields *fields,
                         struct value value,
                         struct observation *out)
{
    static const char *const known[] = {
        "piece",          "generation",     "action",     "kind",
        "scope",          "runtime",        "schema",     "surface",
        "readSet",        "reads",          "writes",     "elsewhere",
        "error",          "debounceMs",     "throttleMs", "basis",
        "noAutoDebounce", "implementation", NULL,
    };
    if (!value_is_object(value)) {
        return fields_bad(fields, "an observation", "must be an object");
    }
    enum err err = known_fields(fields, value, known);
    if (err == ERR_OK) {
        err = read_identity(fields, value, out);
    }
    if (err == ERR_OK) {
        err = read_digests(fields, value, out);
    }
    if (err == ERR_OK) {
        err = read_gates(fields, value, &out->gates);
    }
    if (err == ERR_OK) {
        err = read_elsewhere(fields, value, out);
    }
    if (err == ERR_OK) {
        err = read_basis(fields, value, &out->basis);
    }
    if (err == ERR_OK) {
        err = read_lists(fields, value, out);
    }
    return err == ERR_OK ? merge_lists(out, fields->detail) : err;
}

enum err observation_read(struct value value,
                          struct path_table *paths,
                          struct observation **out,
                          struct err_detail *detail)
{
    struct fields fields = {.paths = paths, .detail = detail};
    *out = observation_new();
    enum err err = read_all(&fields, value, *out);
    if (err == ERR_OK) {
        err = observation_check(*out, (*out)->basis.given, detail);
    }
    if (err != ERR_OK) {
        observation_unref(*out);
        *out = NULL;
    }
    return err;
}
