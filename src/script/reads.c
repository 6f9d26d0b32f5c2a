/* Reading for views and cells. */

#include "script/reads.h"

/* pattern-1 of runtime/pattern.h. */
static enum err check_readable(const struct frame *frame,
                               struct err_detail *detail)
{
    if (UNLIKELY(frame->call.kind == FRAME_TASK)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a task cannot read cells: put what it needs into its "
                       "inputs");
    }
    return frame->call.kind == FRAME_BUILD
               ? err_set(detail,
                         ERR_ARGUMENT,
                         "a pattern is built, not run: read in a function that "
                         "is given to p:computed, p:effect or p:handler")
               : ERR_OK;
}

enum err reads_whole(struct frame *frame,
                     struct place *place,
                     enum read_kind kind,
                     unsigned flags,
                     struct value *out,
                     struct err_detail *detail)
{
    *out = VALUE_NONE;
    const enum err err = check_readable(frame, detail);
    frame->lua->reads += frame->call.access.run != NULL;
    return err == ERR_OK
               ? call_frame_read(&frame->call, place, kind, flags, out, detail)
               : err;
}

bool reads_is_probe(const struct place *place)
{
    const struct path *path = place->path;
    return path->length > 0 &&
           value_is_text(path->at[path->length - 1].key, PATH_KIND);
}

/* reads-2. Who writes here or above is up to date then; who writes below need
 * not be. */
static enum err read_kind_of(struct frame *frame,
                             struct place *place,
                             unsigned flags,
                             struct err_detail *detail)
{
    const struct value key = value_text_new(PATH_KIND);
    struct place *probe = place_child(place, key);
    struct value nothing;
    const enum err err =
        reads_whole(frame, probe, READ_DEEP, flags, &nothing, detail);
    value_unref(nothing);
    place_unref(probe);
    value_unref(key);
    return err;
}

/* Whether what is there is a number, a text or the like, of a document that
 * nobody has to write first: then there is nothing to find out before it is
 * read. */
static bool is_plain_leaf(const struct frame *frame, const struct place *place)
{
    const struct run *run = frame->call.access.run;
    const struct entity *entity = place->entity;
    const struct chain_link *writer = place->writers.first;
    const struct value value = entity->visible.payload;
    return run != NULL && place == entity->payload && entity->loaded &&
           entity->root == NULL && place->writers_below == 0 &&
           run->transaction->unwritten && !run->sched->unwinding &&
           (writer == NULL || run_writer_is_fresh(run->sched, writer)) &&
           !value_is_absent(value) && !value_is_container(value) &&
           value_tag(value) != TAG_LINK;
}

/* reads-5. What the read looked at, up to where it failed, is read once more
 * and logged. If the run is given up to be made again in order, this runs no
 * other node. */
static enum err log_failed(const struct frame *frame,
                           struct place *place,
                           enum err failed)
{
    if (frame->call.access.run != NULL && frame->call.kind != FRAME_BUILD) {
        const struct cell_access access = {
            frame->call.access.runtime,
            failed == ERR_STALE ? NULL : frame->call.access.run,
            frame->call.access.transaction,
        };
        struct value unseen = VALUE_NONE;
        const enum err err = cell_read(&access,
                                       place,
                                       READ_DEEP,
                                       READ_FOR_BOTH,
                                       &unseen,
                                       NULL,
                                       NULL);
        (void)err; /* the run has been told of the failure */
        value_unref(unseen);
    }
    return failed;
}

enum err reads_look(struct frame *frame,
                    struct place *place,
                    struct view_found *out,
                    struct err_detail *detail)
{
    if (is_plain_leaf(frame, place)) {
        return reads_whole(frame,
                           place,
                           READ_DEEP,
                           READ_FOR_BOTH,
                           &out->value,
                           detail);
    }
    /* reads-4: a look that runs nobody, after those who matter have run. */
    const struct cell_access *access = &frame->call.access;
    const struct cell_access loose = {access->runtime,
                                      NULL,
                                      access->transaction};
    struct place *at = NULL;
    enum err err = check_readable(frame, detail);
    if (err == ERR_OK && access->run != NULL) {
        err = read_kind_of(frame, place, READ_UNTRACKED, detail);
    }
    if (err == ERR_OK) {
        err = cell_read(&loose,
                        place,
                        READ_DEEP,
                        READ_UNTRACKED,
                        &out->value,
                        &at,
                        detail);
        err = call_frame_answer(&frame->call, err, detail);
    }
    if (err != ERR_OK) {
        if (at != NULL) { /* it was found, and has to wait all the same */
            place_unref(at);
        }
        return log_failed(frame, place, err);
    }
    if (value_is_container(out->value)) {
        err = read_kind_of(frame, place, READ_FOR_BOTH, detail);
        out->place.document = at->entity;
        out->place.path = path_ref(at->path);
    } else {
        value_unref(out->value);
        err = reads_whole(frame,
                          place,
                          READ_DEEP,
                          READ_FOR_BOTH,
                          &out->value,
                          detail);
    }
    place_unref(at);
    return err;
}

static enum err find_child(struct view_source *source,
                           const struct view_place *place,
                           const struct path_segment *step,
                           struct view_found *out,
                           struct err_detail *detail)
{
    struct frame *frame = CONTAINER_OF(source, struct frame, source);
    struct place *above = place_of(place->document, place->path);
    struct place *child = place_child(above, step->key);
    const enum err err = reads_look(frame, child, out, detail);
    place_unref(child);
    place_unref(above);
    return err;
}

static enum err find_whole(struct view_source *source,
                           const struct view_place *place,
                           enum read_kind kind,
                           struct value *out,
                           struct err_detail *detail)
{
    struct frame *frame = CONTAINER_OF(source, struct frame, source);
    struct place *at = place_of(place->document, place->path);
    const enum err err =
        reads_whole(frame, at, kind, READ_FOR_BOTH, out, detail);
    place_unref(at);
    return err;
}

static enum err find_shape(struct view_source *source,
                           const struct view_place *place,
                           struct value *out,
                           struct err_detail *detail)
{
    return find_whole(source, place, READ_SHAPE, out, detail);
}

static enum err find_deep(struct view_source *source,
                          const struct view_place *place,
                          struct value *out,
                          struct err_detail *detail)
{
    return find_whole(source, place, READ_DEEP, out, detail);
}

void reads_source(struct view_source *source)
{
    source->child = find_child;
    source->shape = find_shape;
    source->deep = find_deep;
}

void reads_raise(lua_State *L, enum err err, const struct err_detail *detail)
{
    view_raise(L, err, detail);
}
