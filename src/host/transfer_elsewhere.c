/* Children in other spaces (transfer-4): found, counted, and removed before
 * their parents. */

#include "host/transfer_internal.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/object.h"

enum {
    REMOVE_ATTEMPTS = 20, /* while handlers launch more children */
    DEPTH_MAX = 32,       /* of children in children */
};

static void append(struct buf *to, struct value string)
{
    const struct text text = value_text(&string);
    buf_append(to, text.at, text.length);
}

/* -- Finding ------------------------------------------------------------- */

/* What is at "piece" of a piece, new; absent: there is none. */
static enum err read_about(struct transfer *transfer,
                           struct value name,
                           struct value *out,
                           struct err_detail *detail)
{
    const struct value id = piece_document_id(name, VALUE_NONE);
    struct value document = VALUE_NONE;
    const enum err err =
        transfer_read(transfer, transfer->space, id, &document, detail);
    *out = value_ref(transfer_about(document));
    value_unref(document);
    value_unref(id);
    return err;
}

enum err transfer_elsewhere(struct transfer *transfer,
                            const struct moved_set *set,
                            struct value *out,
                            struct err_detail *detail)
{
    enum err err = ERR_OK;
    *out = value_empty_array();
    for (size_t i = 0; err == ERR_OK && i < set->names.count; i++) {
        struct value about = VALUE_NONE;
        err = read_about(transfer, set->names.at[i], &about, detail);
        const struct value launched = value_is_object(about)
                                          ? object_field(about, "launched")
                                          : VALUE_NONE;
        struct object_iter iter = object_iter(
            value_is_object(launched) ? launched : value_empty_object());
        struct value key;
        struct value entry;
        while (object_next(&iter, &key, &entry)) {
            if (value_is_object(entry)) {
                struct value child = value_ref(entry);
                object_put_adopt(&child, "of", value_ref(set->names.at[i]));
                *out = array_push_adopt(*out, child);
            }
        }
        value_unref(about);
    }
    return err;
}

enum err transfer_read_parent(struct transfer *transfer,
                              struct value name,
                              struct value *out,
                              struct err_detail *detail)
{
    struct value about = VALUE_NONE;
    const enum err err = read_about(transfer, name, &about, detail);
    const struct value child =
        value_is_object(about) ? object_field(about, "child") : VALUE_NONE;
    *out = value_is_object(child) ? value_ref(child) : VALUE_NONE;
    value_unref(about);
    return err;
}

enum err transfer_refuse_elsewhere(struct transfer *transfer,
                                   const struct moved_set *set,
                                   const char *what,
                                   struct err_detail *detail)
{
    struct value children = VALUE_NONE;
    struct value parent = VALUE_NONE;
    struct buf name = {0};
    struct buf other = {0};
    append(&name, set->names.at[0]);
    enum err err = transfer_elsewhere(transfer, set, &children, detail);
    if (err == ERR_OK) {
        err = transfer_read_parent(transfer, set->names.at[0], &parent, detail);
    }
    if (err == ERR_OK && value_is_object(parent)) {
        append(&other, object_field(parent, "piece"));
        buf_append_text(&other, " in the space ");
        append(&other, object_field(parent, "space"));
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "%.80s cannot be %s: it is a child of %.160s",
                      buf_text(&name),
                      what,
                      buf_text(&other));
    } else if (err == ERR_OK && array_count(children) > 0) {
        append(&other, object_field(array_at(children, 0), "space"));
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "%.80s cannot be %s: it has a child in the space "
                      "%.80s, which would be left out; 'heddle backup' copies "
                      "all spaces",
                      buf_text(&name),
                      what,
                      buf_text(&other));
    }
    buf_release(&other);
    buf_release(&name);
    value_unref(parent);
    value_unref(children);
    return err;
}

/* -- A child ------------------------------------------------------------- */

/* What is done to a piece, in the transfer of its space. */
typedef enum err piece_fn(struct transfer *transfer,
                          const char *name,
                          unsigned depth,
                          struct transfer_counts *counts,
                          struct err_detail *detail);

/* Whether the piece is there, and is the child of a piece of `from`. */
static enum err is_child_of(struct transfer *transfer,
                            struct value name,
                            const struct transfer *from,
                            struct value of,
                            bool *out,
                            struct err_detail *detail)
{
    struct value parent = VALUE_NONE;
    enum err err = engine_read_begin(&transfer->engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = transfer_read_parent(transfer, name, &parent, detail);
    engine_read_end(&transfer->engine);
    *out = value_is_object(parent) &&
           value_is_text(object_field(parent, "space"), from->name) &&
           key_equal(object_field(parent, "piece"), of);
    value_unref(parent);
    return err;
}

/* A child that was never made, or whose space is gone, is none. */
static enum err with_child(const struct transfer *from,
                           struct value entry,
                           piece_fn *call,
                           unsigned depth,
                           struct transfer_counts *counts,
                           struct err_detail *detail)
{
    struct buf space = {0};
    struct buf name = {0};
    struct transfer *transfer = NULL;
    bool is_child = false;
    append(&space, object_field(entry, "space"));
    append(&name, object_field(entry, "piece"));
    enum err err =
        transfer_open(from->folder,
                      buf_text(&space),
                      from->engine.database.read_only ? DATA_DIR_READ_ONLY
                                                      : DATA_DIR_EXISTING,
                      &transfer,
                      detail);
    if (err == ERR_OK) {
        err = is_child_of(transfer,
                          object_field(entry, "piece"),
                          from,
                          object_field(entry, "of"),
                          &is_child,
                          detail);
    }
    if (err == ERR_OK && is_child) {
        err = call(transfer, buf_text(&name), depth + 1, counts, detail);
    }
    transfer_close(transfer);
    buf_release(&name);
    buf_release(&space);
    return err == ERR_NOT_FOUND ? ERR_OK : err;
}

static enum err with_children(const struct transfer *transfer,
                              struct value children,
                              piece_fn *call,
                              unsigned depth,
                              struct transfer_counts *counts,
                              struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (uint32_t i = 0;
         err == ERR_OK && depth < DEPTH_MAX && i < array_count(children);
         i++) {
        err = with_child(transfer,
                         array_at(children, i),
                         call,
                         depth,
                         counts,
                         detail);
    }
    return err;
}

/* -- Counting ------------------------------------------------------------ */

/* The children of a piece in other spaces, new; adds what is here to the
 * counts, if they are given. */
static enum err read_children(struct transfer *transfer,
                              const char *name,
                              struct value *children,
                              struct transfer_counts *counts,
                              struct err_detail *detail)
{
    struct moved_set set = {0};
    enum err err = engine_read_begin(&transfer->engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = transfer_gather(transfer, name, &set, detail);
    if (err == ERR_OK) {
        err = transfer_elsewhere(transfer, &set, children, detail);
    }
    engine_read_end(&transfer->engine);
    if (counts != NULL) {
        counts->pieces += set.names.count;
        counts->documents += set.documents.count;
    }
    moved_set_release(&set);
    return err;
}

static enum err count_at(struct transfer *transfer,
                         const char *name,
                         unsigned depth,
                         struct transfer_counts *counts,
                         struct err_detail *detail)
{
    struct value children = VALUE_NONE;
    enum err err = read_children(transfer, name, &children, counts, detail);
    if (err == ERR_OK) {
        err =
            with_children(transfer, children, count_at, depth, counts, detail);
    }
    value_unref(children);
    return err;
}

enum err transfer_count(struct transfer *transfer,
                        const char *name,
                        struct transfer_counts *counts,
                        struct err_detail *detail)
{
    *counts = (struct transfer_counts){0};
    return count_at(transfer, name, 0, counts, detail);
}

/* -- Removing ------------------------------------------------------------ */

/* Whether the piece and all its children can be removed: no process runs one of
 * them, and their files can be opened. Before anything is removed. */
static enum err check_at(struct transfer *transfer,
                         const char *name,
                         unsigned depth,
                         struct transfer_counts *counts,
                         struct err_detail *detail)
{
    struct value children = VALUE_NONE;
    enum err err = transfer_check_stopped(transfer, name, detail);
    if (err == ERR_OK) {
        err = read_children(transfer, name, &children, NULL, detail);
    }
    if (err == ERR_OK) {
        err =
            with_children(transfer, children, check_at, depth, counts, detail);
    }
    value_unref(children);
    return err;
}

static enum err remove_at(struct transfer *transfer,
                          const char *name,
                          unsigned depth,
                          struct transfer_counts *counts,
                          struct err_detail *detail)
{
    enum err err = transfer_check_stopped(transfer, name, detail);
    for (unsigned i = 0; err == ERR_OK; i++) {
        struct value children = VALUE_NONE;
        err = read_children(transfer, name, &children, NULL, detail);
        if (err == ERR_OK) {
            err = with_children(transfer,
                                children,
                                remove_at,
                                depth,
                                counts,
                                detail);
        }
        if (err == ERR_OK) {
            err =
                transfer_remove_here(transfer, name, children, counts, detail);
        }
        value_unref(children);
        if (err != ERR_STALE || i + 1 == REMOVE_ATTEMPTS) {
            break;
        }
        err = ERR_OK;
    }
    return err;
}

/* A child goes with its parent, which would make it again. */
static enum err check_parent(struct transfer *transfer,
                             const char *name,
                             struct err_detail *detail)
{
    const struct value text = value_text_new(name);
    struct value parent = VALUE_NONE;
    struct buf space = {0};
    struct buf piece = {0};
    struct transfer *there = NULL;
    enum err err = engine_read_begin(&transfer->engine, detail);
    if (err == ERR_OK) {
        err = transfer_read_parent(transfer, text, &parent, detail);
        engine_read_end(&transfer->engine);
    }
    value_unref(text);
    if (err != ERR_OK || value_is_absent(parent)) {
        value_unref(parent);
        return err;
    }
    append(&space, object_field(parent, "space"));
    append(&piece, object_field(parent, "piece"));
    struct err_detail ignored = {0};
    struct value children = VALUE_NONE;
    if (transfer_open(transfer->folder,
                      buf_text(&space),
                      DATA_DIR_READ_ONLY,
                      &there,
                      &ignored) == ERR_OK &&
        read_children(there, buf_text(&piece), &children, NULL, &ignored) ==
            ERR_OK) {
        for (uint32_t i = 0; err == ERR_OK && i < array_count(children); i++) {
            const struct value child = array_at(children, i);
            if (value_is_text(object_field(child, "space"), transfer->name) &&
                value_is_text(object_field(child, "piece"), name)) {
                err = err_set(detail,
                              ERR_ARGUMENT,
                              "%.80s is a child of %.80s in the space %.80s: "
                              "remove that piece",
                              name,
                              buf_text(&piece),
                              buf_text(&space));
            }
        }
    }
    transfer_close(there);
    value_unref(children);
    value_unref(parent);
    buf_release(&piece);
    buf_release(&space);
    return err;
}

enum err transfer_remove(struct transfer *transfer,
                         const char *name,
                         struct transfer_counts *counts,
                         struct err_detail *detail)
{
    *counts = (struct transfer_counts){0};
    enum err err = check_parent(transfer, name, detail);
    if (err == ERR_OK) {
        err = check_at(transfer, name, 0, counts, detail);
    }
    return err == ERR_OK ? remove_at(transfer, name, 0, counts, detail) : err;
}
