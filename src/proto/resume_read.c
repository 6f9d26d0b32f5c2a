/* Decoding a page of actions (proto/resume.h). Nothing is trusted: a page comes
 * from a server, and its indexes are used without further checks. */

#include "base/limits.h"
#include "proto/fields.h"
#include "proto/resume.h"
#include "value/array.h"
#include "value/object.h"

enum {
    ACTION_ITEMS = 13,
    PLACE_ITEMS = 6, /* or one more: the space */
};

struct reading {
    struct path_table *paths;
    struct resume_page *page;
    struct err_detail *detail;
};

static enum err bad(const struct reading *reading, const char *what)
{
    return err_set(reading->detail, ERR_PROTOCOL, "a resume page: %s", what);
}

/* -- Items of a row ------------------------------------------------------ */

static bool read_number(struct value row, uint32_t index, uint64_t *out)
{
    const struct value item = array_at(row, index);
    if (value_kind(item) != VALUE_INT || value_integer(item) < 0) {
        return false;
    }
    *out = (uint64_t)value_integer(item);
    return true;
}

/* A number of an enumeration whose last one is `last`. */
static bool read_choice(struct value row,
                        uint32_t index,
                        unsigned last,
                        uint8_t *out)
{
    uint64_t number;
    if (!read_number(row, index, &number) || number > last) {
        return false;
    }
    *out = (uint8_t)number;
    return true;
}

/* An index below `count`, or RESUME_NONE. */
static bool read_index(struct value row,
                       uint32_t index,
                       size_t count,
                       uint32_t *out)
{
    const struct value item = array_at(row, index);
    if (value_kind(item) != VALUE_INT || value_integer(item) < -1 ||
        value_integer(item) >= (int64_t)count) {
        return false;
    }
    *out =
        value_integer(item) < 0 ? RESUME_NONE : (uint32_t)value_integer(item);
    return true;
}

static bool read_flag(struct value row, uint32_t index, bool *out)
{
    const struct value item = array_at(row, index);
    *out = value_kind(item) == VALUE_BOOL && value_boolean(item);
    return value_kind(item) == VALUE_BOOL;
}

static bool read_name(struct value row,
                      uint32_t index,
                      bool may_be_empty,
                      struct value *out)
{
    const struct value item = array_at(row, index);
    if (!value_is_string(item)) {
        return false;
    }
    const size_t length = value_text(&item).length;
    if (length > LIMIT_ID_BYTES || (length == 0 && !may_be_empty)) {
        return false;
    }
    *out = value_ref(item);
    return true;
}

static bool is_row(struct value row, uint32_t least, uint32_t most)
{
    return value_kind(row) == VALUE_ARRAY && array_count(row) >= least &&
           array_count(row) <= most;
}

/* -- Rows ---------------------------------------------------------------- */

static enum err read_seen(const struct reading *reading, struct value row)
{
    struct observed_space seen = {0};
    const bool is_valid =
        is_row(row, 3, 3) && read_name(row, 0, false, &seen.space) &&
        read_name(row, 1, true, &seen.branch) && read_number(row, 2, &seen.seq);
    vec_push(&reading->page->elsewhere, seen);
    return is_valid ? ERR_OK : bad(reading, "'elsewhere' has an invalid row");
}

static enum err read_code(const struct reading *reading, struct value row)
{
    struct resume_code code;
    if (!is_row(row, 3, 3) ||
        !digest_read(array_at(row, 0), &code.implementation) ||
        !digest_read(array_at(row, 1), &code.runtime) ||
        !digest_read(array_at(row, 2), &code.schema)) {
        return bad(reading, "'codes' has an invalid row");
    }
    vec_push(&reading->page->codes, code);
    return ERR_OK;
}

static enum err read_gates(const struct reading *reading, struct value row)
{
    struct gate_config gates = {0};
    if (!is_row(row, 3, 3) || !read_number(row, 0, &gates.debounce_ms) ||
        !read_number(row, 1, &gates.throttle_ms) ||
        !read_flag(row, 2, &gates.no_auto_debounce)) {
        return bad(reading, "'gates' has an invalid row");
    }
    vec_push(&reading->page->gates, gates);
    return ERR_OK;
}

static enum err read_error(const struct reading *reading, struct value text)
{
    struct digest error;
    if (!digest_read(text, &error)) {
        return bad(reading, "'errors' has an invalid digest");
    }
    vec_push(&reading->page->errors, error);
    return ERR_OK;
}

static enum err read_place(const struct reading *reading, struct value row)
{
    struct resume_place place = {0};
    uint8_t scope = SCOPE_SPACE;
    if (value_kind(row) == VALUE_NULL) {
        vec_push(&reading->page->places, place);
        return ERR_OK;
    }
    bool is_valid = is_row(row, PLACE_ITEMS, PLACE_ITEMS + 1) &&
                    read_name(row, 0, false, &place.target.id) &&
                    read_choice(row, 1, SCOPE_SESSION, &scope) &&
                    value_is_string(array_at(row, 2)) &&
                    read_number(row, 3, &place.changed[READ_DEEP]) &&
                    read_number(row, 4, &place.changed[READ_SHAPE]) &&
                    read_flag(row, 5, &place.touched) &&
                    (array_count(row) == PLACE_ITEMS ||
                     read_name(row, PLACE_ITEMS, false, &place.space));
    if (is_valid) {
        const struct value item = array_at(row, 2);
        const struct text pointer = value_text(&item);
        is_valid = path_read_stored(reading->paths,
                                    pointer.at,
                                    pointer.length,
                                    &place.path,
                                    NULL) == ERR_OK;
    }
    place.target.scope = (enum scope)scope;
    vec_push(&reading->page->places, place);
    return is_valid ? ERR_OK : bad(reading, "'places' has an invalid row");
}

/* -- Actions ------------------------------------------------------------- */

/* The indexes of places. Those of a place that could not be read are refused:
 * such an action is unknown, and has none. */
static bool read_indexes(const struct reading *reading,
                         struct value list,
                         struct resume_action *action)
{
    struct resume_page *page = reading->page;
    struct array_iter iter = array_iter(list);
    struct value item;
    action->places = (uint32_t)page->indexes.count;
    action->place_count = array_count(list);
    while (array_next(&iter, &item)) {
        const int64_t index =
            value_kind(item) == VALUE_INT ? value_integer(item) : -1;
        if (index < 0 || index / 4 >= (int64_t)page->places.count) {
            return false;
        }
        vec_push(&page->indexes, (uint32_t)index);
    }
    return true;
}

/* The spaces of an action are neighbours. */
static bool read_spaces(const struct reading *reading,
                        struct value list,
                        struct resume_action *action)
{
    struct array_iter iter = array_iter(list);
    struct value item;
    int64_t next = -1;
    action->space_count = array_count(list);
    while (array_next(&iter, &item)) {
        const int64_t index =
            value_kind(item) == VALUE_INT ? value_integer(item) : -1;
        if (index < 0 || index >= (int64_t)reading->page->elsewhere.count ||
            (next >= 0 && index != next)) {
            return false;
        }
        action->spaces = next < 0 ? (uint32_t)index : action->spaces;
        next = index + 1;
    }
    return true;
}

static enum err read_action(const struct reading *reading, struct value row)
{
    struct resume_page *page = reading->page;
    struct resume_action action = {0};
    const bool is_valid =
        is_row(row, ACTION_ITEMS, ACTION_ITEMS) &&
        read_number(row, 0, &action.number) &&
        digest_read(array_at(row, 1), &action.action) &&
        digest_read(array_at(row, 2), &action.surface) &&
        digest_read(array_at(row, 3), &action.read_set) &&
        read_number(row, 4, &action.watermark) &&
        read_choice(row, 5, ACTION_HANDLER, &action.kind) &&
        read_choice(row, 6, SCOPE_SESSION, &action.scope) &&
        read_choice(row, 7, RESUME_UNKNOWN, &action.state) &&
        read_index(row, 8, page->codes.count, &action.code) &&
        read_index(row, 9, page->gates.count, &action.gates) &&
        read_index(row, 10, page->errors.count, &action.error) &&
        value_kind(array_at(row, 11)) == VALUE_ARRAY &&
        value_kind(array_at(row, 12)) == VALUE_ARRAY &&
        read_indexes(reading, array_at(row, 11), &action) &&
        read_spaces(reading, array_at(row, 12), &action) &&
        (action.code != RESUME_NONE || action.state == RESUME_UNKNOWN);
    vec_push(&page->actions, action);
    return is_valid ? ERR_OK : bad(reading, "'actions' has an invalid row");
}

static enum err read_rows(const struct reading *reading,
                          struct value object,
                          const char *name,
                          enum err (*read)(const struct reading *reading,
                                           struct value row))
{
    const struct value list = object_field(object, name);
    if (value_kind(list) != VALUE_ARRAY) {
        return bad(reading, "a list is missing");
    }
    struct array_iter iter = array_iter(list);
    struct value row;
    enum err err = ERR_OK;
    while (err == ERR_OK && array_next(&iter, &row)) {
        err = read(reading, row);
    }
    return err;
}

enum err resume_page_read(struct value value,
                          struct path_table *paths,
                          struct resume_page *out,
                          struct err_detail *detail)
{
    *out = (struct resume_page){0};
    const struct reading reading = {paths, out, detail};
    const struct fields fields = {.paths = paths, .detail = detail};
    if (!value_is_object(value)) {
        return bad(&reading, "it must be an object");
    }
    enum err err = field_number(&fields, value, "seq", &out->seq);
    if (err == ERR_OK) {
        err = field_number(&fields, value, "generation", &out->generation);
    }
    if (err == ERR_OK) {
        err = field_flag(&fields, value, "more", &out->more);
    }
    const struct {
        const char *name;
        enum err (*read)(const struct reading *reading, struct value row);
    } lists[] = {
        {"elsewhere", read_seen},
        {"codes", read_code},
        {"gates", read_gates},
        {"errors", read_error},
        {"places", read_place},
        {"actions", read_action}, /* which refer to the others */
    };
    for (size_t i = 0; err == ERR_OK && i < COUNT_OF(lists); i++) {
        err = read_rows(&reading, value, lists[i].name, lists[i].read);
    }
    if (err == ERR_OK && out->more && out->actions.count == 0) {
        err = bad(&reading, "it has no action, and says that more follow");
    }
    if (err != ERR_OK) {
        resume_page_release(out);
    }
    return err;
}
