/* Pieces that handlers start.
 *
 * The handler's commit creates the document of the new piece, with what it is
 * to be, and names it in that of the piece that launched it. When the commit
 * has landed, and at every later start of that one, the new piece is started
 * as one that exists. So it comes to be exactly once, with the event. */

#include "base/mem.h"
#include "runtime/cell.h"
#include "runtime/piece.h"
#include "sched/lineage.h"
#include "value/array.h"
#include "value/object.h"

/* Between the handler and the answer of the store; in the runtime's
 * launches. */
struct launch {
    struct list_node node;
    struct runtime *runtime;
    struct space *space;
    struct value name;
    struct pattern *pattern;
};

static void launch_free(struct launch *launch)
{
    list_remove(&launch->node);
    value_unref(launch->name);
    pattern_unref(launch->pattern);
    mem_free(launch, sizeof *launch);
}

void launches_release(struct runtime *runtime)
{
    while (!list_is_empty(&runtime->launches)) {
        launch_free(
            CONTAINER_OF(list_first(&runtime->launches), struct launch, node));
    }
}

bool piece_is_launching(const struct runtime *runtime, struct value name)
{
    LIST_FOREACH (&runtime->launches, at) {
        if (key_equal(CONTAINER_OF(at, struct launch, node)->name, name)) {
            return true;
        }
    }
    return false;
}

/* `by` is the piece that launched it, if that is started; or NULL. */
static void start(struct runtime *runtime,
                  struct space *space,
                  struct value name,
                  struct pattern *pattern,
                  const struct piece *by)
{
    const bool taken_up = by != NULL && by->taken_up;
    const struct piece *there = piece_find(runtime, space, name);
    if (there != NULL && (taken_up || !there->taken_up)) {
        return;
    }
    const struct piece_options options = {
        .name = name,
        .pattern = pattern,
        .space = space,
        .note = by != NULL ? object_field(by->about, "note") : VALUE_NONE,
        .must_exist = true,
        .taken_up = taken_up,
    };
    struct piece *piece;
    struct err_detail detail = {0};
    const enum err err = piece_start(runtime, &options, &piece, &detail);
    (void)err; /* a piece that cannot be started says so itself */
}

static void on_landed(void *ctx)
{
    struct launch *launch = ctx;
    start(launch->runtime, launch->space, launch->name, launch->pattern, NULL);
    launch_free(launch);
}

static void on_failed(void *ctx)
{
    launch_free(ctx);
}

void piece_start_launched(struct piece *piece)
{
    const struct value launched =
        value_ref(object_field(piece->about, "launched"));
    if (value_is_object(launched)) {
        struct runtime *runtime = piece->runtime;
        struct space *space = piece->space;
        struct object_iter iter = object_iter(launched);
        struct value name;
        struct value item;
        while (object_next(&iter, &name, &item)) {
            start(runtime, space, name, NULL, piece);
        }
    }
    value_unref(launched);
}

/* The name: of the piece and the event. New. */
static struct value name_of(const struct piece *piece,
                            struct handling *handling)
{
    const struct value id = handling_new_id(handling);
    const struct text digest = value_text(&id);
    const struct text owner = value_text(&piece->name);
    const size_t skipped = 3; /* "of:" */
    struct buf name = {0};
    buf_append(&name, owner.at, owner.length < 128 ? owner.length : 128);
    buf_append_char(&name, '~');
    buf_append(&name, digest.at + skipped, digest.length - skipped);
    const struct value made = value_string_new(name.at, name.length);
    buf_release(&name);
    value_unref(id);
    return made;
}

static enum err put_below(struct transaction *transaction,
                          struct entity *entity,
                          const char *const *keys,
                          size_t count,
                          struct value last,
                          struct value value,
                          struct err_detail *detail)
{
    struct place *at = place_root(entity);
    for (size_t i = 0; i <= count; i++) {
        const struct value key =
            i < count ? value_text_new(keys[i]) : value_ref(last);
        struct place *child = place_child(at, key);
        value_unref(key);
        place_unref(at);
        at = child;
    }
    const enum err err = transaction_put_adopt(transaction, at, value, detail);
    place_unref(at);
    return err;
}

/* The document of the new piece, and the line in that of the old one. */
static enum err write_both(struct piece *piece,
                           struct transaction *transaction,
                           struct entity *document,
                           struct value about,
                           struct value name,
                           struct err_detail *detail)
{
    static const char *const launched[] = {"piece", "launched"};
    struct value whole = value_empty_object();
    object_put_adopt(&whole, "piece", value_ref(about));
    struct place *root = place_root(document);
    enum err err = transaction_put_adopt(transaction, root, whole, detail);
    place_unref(root);
    if (err == ERR_OK) {
        err = put_below(transaction,
                        piece->document,
                        launched,
                        COUNT_OF(launched),
                        name,
                        value_ref(object_field(about, "pattern")),
                        detail);
    }
    return err;
}

enum err piece_launch(struct piece *piece,
                      struct handling *handling,
                      struct pattern *pattern,
                      struct value arguments,
                      struct value *link,
                      struct err_detail *detail)
{
    if (piece->runtime == NULL) {
        return err_set(detail, ERR_CLOSED, "the piece was stopped");
    }
    struct transaction *transaction = handling_transaction(handling);
    const struct value name = name_of(piece, handling);
    const struct value id = piece_document_id(name, VALUE_NONE);
    struct entity *document;
    enum err err = entity_of(piece->space, SCOPE_SPACE, id, &document, detail);
    if (err == ERR_OK) {
        struct value about = value_empty_object();
        object_put_adopt(&about, "pattern", value_ref(pattern->name));
        object_put_adopt(&about, "child", value_bool(true));
        object_put_adopt(&about,
                         "arguments",
                         value_is_object(arguments) ? value_ref(arguments)
                                                    : value_empty_object());
        const struct value note = object_field(piece->about, "note");
        if (!value_is_absent(note)) { /* where its pattern is, too */
            object_put_adopt(&about, "note", value_ref(note));
        }
        err = write_both(piece, transaction, document, about, name, detail);
        value_unref(about);
    }
    if (err == ERR_OK) {
        struct launch *launch = mem_alloc_zero(sizeof *launch);
        launch->runtime = piece->runtime;
        launch->space = piece->space;
        launch->name = value_ref(name);
        launch->pattern = pattern_ref(pattern);
        list_node_init(&launch->node);
        list_push_back(&piece->runtime->launches, &launch->node);
        struct sched *sched = piece->runtime->sched;
        lineage_stop_unless_landed(sched, transaction, on_failed, launch);
        lineage_after_landing(sched, transaction, on_landed, launch);
        struct place *result = place_payload(document);
        *link = cell_link(result, piece->space);
        place_unref(result);
    }
    value_unref(id);
    value_unref(name);
    return err;
}
