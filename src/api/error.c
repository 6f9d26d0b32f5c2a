/* Filling and clearing the public error, and sentences about arguments. */

#include "api/error.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/text.h"
#include "replica/space.h"

static_assert(sizeof((hd_error *)0)->text == ERR_TEXT_SIZE,
              "a sentence of ours fits, and is cut at the same place");

/* What is allowed, of what has one number. */
static uint64_t limit_of(enum err err)
{
    static const struct {
        enum err err;
        uint64_t limit;
    } limits[] = {
        {ERR_LIMIT_SIZE, LIMIT_TEXT_BYTES},
        {ERR_LIMIT_DEPTH, LIMIT_DEPTH},
        {ERR_LIMIT_KEYS, LIMIT_OBJECT_KEYS},
        {ERR_LIMIT_ELEMENTS, LIMIT_ARRAY_ELEMENTS},
        {ERR_LIMIT_STRING, LIMIT_STRING_BYTES},
        {ERR_LIMIT_PATH, LIMIT_PATH_SEGMENTS},
        {ERR_LIMIT_PATCH, LIMIT_PATCH_OPERATIONS},
        {ERR_LIMIT_ID, LIMIT_ID_BYTES},
    };
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        if (limits[i].err == err) {
            return limits[i].limit;
        }
    }
    return 0;
}

/* All but the texts, which are empty. Field by field: most calls succeed, and
 * half a kilobyte of zeros would be most of what some of them do. */
static void error_set_status(hd_error *error, enum err err)
{
    error->status = status_of(err);
    error->class_of = (hd_class)err_class_of(err);
    error->line = 0;
    error->column = 0;
    error->offset = 0;
    error->limit = err != ERR_OK ? limit_of(err) : 0;
    error->attempts = 0;
    error->may_have_happened = false;
    error->text[0] = '\0';
    error->address[0] = '\0';
}

hd_status error_report(hd_error *error,
                       enum err err,
                       const struct err_detail *detail)
{
    if (error != NULL) {
        error_set_status(error, err);
        if (err != ERR_OK) {
            const char *text =
                detail->text[0] != '\0' ? detail->text : err_text(err);
            memcpy(error->text, text, strlen(text) + 1);
        }
    }
    return status_of(err);
}

hd_status error_null(hd_error *error, const char *name)
{
    struct err_detail detail;
    return error_report(
        error,
        err_set(&detail, ERR_ARGUMENT, "'%s' must not be NULL", name),
        &detail);
}

void error_set_address(hd_error *error, struct text text)
{
    size_t length = text.length;
    if (length >= sizeof error->address) {
        length = text_whole_length(text.at, sizeof error->address - 1);
    }
    memcpy(error->address, text.at, length);
    error->address[length] = '\0';
}

void place_write(struct buf *to, const struct place *place)
{
    const struct entity *entity = place->entity;
    const struct text space = value_text(&entity->space->id);
    const struct text id = value_text(&entity->id);
    buf_append(to, space.at, space.length);
    buf_append_text(to, "/");
    if (entity->scope != SCOPE_SPACE) {
        buf_printf(to, "%s:", scope_name(entity->scope));
    }
    buf_append(to, id.at, id.length);
    /* Paths begin at the payload, nearly always. */
    const struct path *path = place->path;
    const bool inside =
        path->length > 0 && entity_is_payload_key(path->at[0].key);
    buf_append_text(to, inside ? "#" : "##");
    path_write_segments(to,
                        path->at + (inside ? 1 : 0),
                        path->length - (inside ? 1 : 0));
}

void error_set_place(hd_error *error, const struct place *place)
{
    struct buf text = {0};
    place_write(&text, place);
    error_set_address(error, (struct text){text.at, text.length});
    buf_release(&text);
}

hd_status error_report_at(hd_error *error,
                          enum err err,
                          const struct err_detail *detail,
                          const struct place *place)
{
    const hd_status status = error_report(error, err, detail);
    if (error != NULL && err != ERR_OK && place != NULL) {
        error_set_place(error, place);
    }
    return status;
}
