/* Making cells, and finding what they mean. */

#include "api/cell.h"

#include <string.h>

#include "api/handle.h"
#include "api/memory.h"
#include "base/limits.h"
#include "base/mem.h"
#include "replica/overlay.h"
#include "runtime/clock.h"
#include "value/utf8.h"

/* -- Handles ------------------------------------------------------------- */

static void cut(struct object *object)
{
    cell_handle_move(CONTAINER_OF(object, hd_cell, object), NULL);
}

void cell_handle_move(hd_cell *cell, struct place *place)
{
    if (cell->place != NULL) {
        place_unref(cell->place);
    }
    cell->place = place != NULL ? place_ref(place) : NULL;
}

void cell_handle_free(hd_cell *cell)
{
    object_free(&cell->object, sizeof *cell);
}

hd_cell *cell_handle_adopt(hd_runtime *runtime, struct place *place)
{
    hd_cell *cell = object_new(runtime, OBJECT_CELL, sizeof *cell, cut);
    cell->place = place;
    return cell;
}

void hd_cell_free(hd_cell *cell)
{
    if (object_may_go(cell, OBJECT_CELL) && cell->borrowers == 0) {
        cell_handle_free(cell);
    }
}

enum err cell_check(const hd_cell *cell,
                    const char *name,
                    struct err_detail *detail)
{
    const enum err err = object_check_open(cell, OBJECT_CELL, name, detail);
    if (err == ERR_OK && cell->place == NULL) {
        return err_set(detail,
                       ERR_MISUSE,
                       "'%s' was valid only during a call that has returned",
                       name);
    }
    return err;
}

/* A function that goes on to return this status has said why. */
static void note_failure(struct hd_run *frame,
                         enum err err,
                         const struct err_detail *detail,
                         const struct place *place)
{
    struct buf where = {0};
    place_write(&where, place);
    (void)err_set(&frame->failure,
                  err,
                  "%s: %s",
                  buf_text(&where),
                  detail->text[0] != '\0' ? detail->text : err_text(err));
    buf_release(&where);
}

hd_status cell_report(hd_error *error,
                      enum err err,
                      const struct err_detail *detail,
                      const hd_cell *cell)
{
    const bool known = cell != NULL && err != ERR_MISUSE && err != ERR_CLOSED;
    if (known && err != ERR_OK && err != ERR_STALE &&
        cell->object.runtime->run != NULL) {
        note_failure(cell->object.runtime->run, err, detail, cell->place);
    }
    return error_report_at(error, err, detail, known ? cell->place : NULL);
}

/* -- Lists of them ------------------------------------------------------- */

enum err cell_places(const hd_runtime *runtime,
                     hd_cell *const *cells,
                     size_t count,
                     const char *name,
                     struct cell_places *out,
                     struct err_detail *detail)
{
    *out = (struct cell_places){0};
    if (count == 0) {
        return ERR_OK;
    }
    if (cells == NULL) {
        return err_set(detail, ERR_ARGUMENT, "'%s' must not be NULL", name);
    }
    for (size_t i = 0; i < count; i++) {
        const enum err err = cell_check(cells[i], name, detail);
        if (err != ERR_OK) {
            return err;
        }
        if (cells[i]->object.runtime != runtime) {
            return err_set(detail,
                           ERR_MISUSE,
                           "a cell in '%s' belongs to another runtime",
                           name);
        }
    }
    out->count = count;
    out->at = mem_alloc(mem_array_size(count, sizeof(struct place *)));
    for (size_t i = 0; i < count; i++) {
        out->at[i] = cells[i]->place;
    }
    return ERR_OK;
}

void cell_places_release(struct cell_places *places)
{
    mem_free(places->at, places->count * sizeof(struct place *));
    *places = (struct cell_places){0};
}

enum err cell_reads(const hd_runtime *runtime,
                    hd_cell *const *cells,
                    size_t count,
                    struct cell_reads *out,
                    struct err_detail *detail)
{
    struct cell_places places;
    *out = (struct cell_reads){0};
    const enum err err =
        cell_places(runtime, cells, count, "reads", &places, detail);
    if (err == ERR_OK && count > 0) {
        out->count = count;
        out->at = mem_alloc(mem_array_size(count, sizeof *out->at));
        for (size_t i = 0; i < count; i++) {
            out->at[i] = (struct declared_read){places.at[i], READ_DEEP};
        }
    }
    cell_places_release(&places);
    return err;
}

void cell_reads_release(struct cell_reads *reads)
{
    mem_free(reads->at, reads->count * sizeof *reads->at);
    *reads = (struct cell_reads){0};
}

/* -- Making -------------------------------------------------------------- */

enum err cell_place_below(struct place *place,
                          const char *path,
                          struct place **out,
                          struct err_detail *detail)
{
    *out = NULL;
    const char *pointer = path != NULL ? path : "";
    const size_t length = strnlen(pointer, LIMIT_POINTER_BYTES + 1);
    if (length > LIMIT_POINTER_BYTES || !utf8_is_valid(pointer, length)) {
        return length > LIMIT_POINTER_BYTES
                   ? err_set(detail,
                             ERR_LIMIT_PATH,
                             "the path has more than %d bytes",
                             LIMIT_POINTER_BYTES)
                   : err_set(detail, ERR_SYNTAX, "the path is not UTF-8");
    }
    struct path_table *paths = &place->entity->space->replica->paths;
    struct path *below;
    enum err err = path_read(paths, pointer, length, &below, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = path_check(place->path->length + below->length, detail);
    if (err != ERR_OK) {
        path_unref(below);
        return err;
    }
    struct place *at = place_ref(place);
    for (uint32_t i = 0; i < below->length; i++) {
        struct place *child = place_child(at, below->at[i].key);
        place_unref(at);
        at = child;
    }
    path_unref(below);
    *out = at;
    return ERR_OK;
}

static enum err place_at(const hd_runtime *runtime,
                         const hd_address *address,
                         struct place **out,
                         struct err_detail *detail)
{
    *out = NULL;
    struct space *space;
    enum err err = runtime_check_space(runtime, address->space, &space, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (address->scope > HD_SCOPE_SESSION) {
        return err_set(detail, ERR_ARGUMENT, "'scope' is not a valid hd_scope");
    }
    struct value id;
    err = edge_name(address->document, "document", &id, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct entity *entity;
    err = entity_of(space, (enum scope)address->scope, id, &entity, detail);
    value_unref(id);
    if (err != ERR_OK) {
        return err;
    }
    struct place *payload = place_payload(entity);
    err = cell_place_below(payload, address->path, out, detail);
    place_unref(payload);
    return err;
}

hd_status hd_cell_new_at(hd_runtime *runtime,
                         const hd_address *address,
                         hd_cell **cell,
                         hd_error *error)
{
    if (cell == NULL) {
        return error_null(error, "cell");
    }
    *cell = NULL;
    struct err_detail detail = {0};
    enum err err =
        object_check_open(runtime, OBJECT_RUNTIME, "runtime", &detail);
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    if (address == NULL) {
        return error_null(error, "address");
    }
    struct place *place;
    err = place_at(runtime, address, &place, &detail);
    if (err == ERR_OK) {
        *cell = cell_handle_adopt(runtime, place);
    }
    return error_report(error, err, &detail);
}

hd_status hd_cell_new(hd_runtime *runtime,
                      const char *document,
                      const char *path,
                      hd_cell **cell,
                      hd_error *error)
{
    const hd_address address = {.document = document, .path = path};
    return hd_cell_new_at(runtime, &address, cell, error);
}

hd_status hd_cell_clock(hd_runtime *runtime,
                        const char *space,
                        uint64_t ms,
                        hd_cell **cell,
                        hd_error *error)
{
    if (cell == NULL) {
        return error_null(error, "cell");
    }
    *cell = NULL;
    struct err_detail detail = {0};
    struct space *home = NULL;
    struct place *place = NULL;
    enum err err =
        object_check_open(runtime, OBJECT_RUNTIME, "runtime", &detail);
    if (err == ERR_OK) {
        err = runtime_check_changing(runtime, "a clock", &detail);
    }
    if (err == ERR_OK) {
        err = runtime_check_space(runtime, space, &home, &detail);
    }
    if (err == ERR_OK) {
        err = clock_place(runtime_core(runtime),
                          home,
                          ms > INT64_MAX ? 0 : (int64_t)ms,
                          &place,
                          &detail);
    }
    if (err == ERR_OK) {
        *cell = cell_handle_adopt(runtime, place_ref(place));
    }
    return error_report(error, err, &detail);
}

hd_status hd_cell_child(hd_cell *cell,
                        const char *path,
                        hd_cell **child,
                        hd_error *error)
{
    if (child == NULL) {
        return error_null(error, "child");
    }
    *child = NULL;
    struct err_detail detail = {0};
    enum err err = cell_check(cell, "cell", &detail);
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    if (path == NULL) {
        return error_null(error, "path");
    }
    struct place *place;
    err = cell_place_below(cell->place, path, &place, &detail);
    if (err == ERR_OK) {
        *child = cell_handle_adopt(cell->object.runtime, place);
    }
    return error_report_at(error, err, &detail, cell->place);
}

hd_status hd_cell_text(hd_cell *cell, char **text, hd_error *error)
{
    if (text == NULL) {
        return error_null(error, "text");
    }
    *text = NULL;
    struct err_detail detail = {0};
    const enum err err = cell_check(cell, "cell", &detail);
    if (err == ERR_OK) {
        struct buf address = {0};
        text_begin(&address);
        place_write(&address, cell->place);
        *text = text_take(&address, NULL);
    }
    return error_report(error, err, &detail);
}

/* -- Finding ------------------------------------------------------------- */

/* At the top level. In a callback of the runtime, what is here is what
 * counts. */
static enum err bring(hd_runtime *runtime,
                      struct entity *entity,
                      struct err_detail *detail)
{
    return entity_is_available(entity) || runtime->busy > 0
               ? ERR_OK
               : api_host_load(runtime->api_host, entity, detail);
}

enum err cell_need(hd_runtime *runtime,
                   struct entity *entity,
                   struct err_detail *detail)
{
    return runtime->run != NULL
               ? call_frame_need(&runtime->run->call, entity, detail)
               : bring(runtime, entity, detail);
}

void cell_want(const struct place *place)
{
    struct entity *entity = place->entity;
    if (!entity->loaded) {
        space_want(entity->space, entity);
    }
}

/* The document at the end of the way was missing, and has come: look again. */
static enum err came(hd_runtime *runtime,
                     struct entity *entity,
                     bool *again,
                     struct err_detail *detail)
{
    const bool was_loaded = entity->loaded;
    const enum err err = bring(runtime, entity, detail);
    *again = err == ERR_OK && !was_loaded && entity->loaded;
    return err;
}

static enum err look_at_toplevel(hd_runtime *runtime,
                                 struct place *place,
                                 enum read_kind kind,
                                 unsigned flags,
                                 struct value *out,
                                 struct err_detail *detail)
{
    const struct cell_access *access = &runtime->toplevel.access;
    struct place *at = NULL;
    bool again = false;
    enum err err = ERR_OK;
    do {
        err = cell_read(access, place, kind, flags, out, &at, detail);
        if (err != ERR_OK) {
            *out = VALUE_NONE;
            return err;
        }
        err = came(runtime, at->entity, &again, detail);
        place_unref(at);
        if (again || err != ERR_OK) {
            value_unref(*out);
            *out = VALUE_NONE;
        }
    } while (again);
    return err;
}

enum err cell_look(hd_runtime *runtime,
                   struct place *place,
                   enum read_kind kind,
                   unsigned flags,
                   struct value *out,
                   struct err_detail *detail)
{
    const enum err err =
        runtime->run != NULL
            ? call_frame_read(&runtime->run->call,
                              place,
                              kind,
                              flags,
                              out,
                              detail)
            : look_at_toplevel(runtime, place, kind, flags, out, detail);
    return err == ERR_OK && value_is_absent(*out)
               ? err_set(detail, ERR_NOT_FOUND, "no value at this path")
               : err;
}

enum err cell_target(hd_runtime *runtime,
                     struct place *place,
                     struct place **out,
                     struct err_detail *detail)
{
    bool again = false;
    enum err err = ERR_OK;
    do {
        err = call_frame_follow(frame_now(runtime), place, out, detail);
        if (err != ERR_OK || runtime->run != NULL) {
            return err;
        }
        err = came(runtime, (*out)->entity, &again, detail);
        if (again || err != ERR_OK) {
            place_unref(*out);
            *out = NULL;
        }
    } while (again);
    return err;
}

hd_status hd_cell_resolve(hd_cell *cell, hd_cell **target, hd_error *error)
{
    if (target == NULL) {
        return error_null(error, "target");
    }
    *target = NULL;
    struct err_detail detail = {0};
    enum err err = cell_check(cell, "cell", &detail);
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    struct place *place;
    err = cell_target(cell->object.runtime, cell->place, &place, &detail);
    if (err == ERR_OK) {
        *target = cell_handle_adopt(cell->object.runtime, place);
    }
    return error_report_at(error, err, &detail, cell->place);
}
