/* Reading, writing and sending on behalf of a frame. */

#include "front/frame.h"

#include "base/text.h"
#include "collection/collection.h"
#include "replica/overlay.h"

/* -- Reading ------------------------------------------------------------- */

static enum err refuse_in_migration(struct err_detail *detail)
{
    return err_set(detail,
                   ERR_MISUSE,
                   "a migration can read only the states, arguments and "
                   "collections of its piece");
}

/* frame-1. In a migration all data is loaded but for the documents of
 * collections, which the transaction awaits then. Anything else that cannot be
 * read now is a computation that would have to be evaluated (frame-2). */
enum err call_frame_stale(struct call_frame *frame, struct err_detail *detail)
{
    if (frame->kind == FRAME_MIGRATION &&
        !transaction_is_awaiting(frame->access.transaction)) {
        return refuse_in_migration(detail);
    }
    frame->stale = true;
    return err_set(detail,
                   ERR_STALE,
                   "a document is not loaded yet: return this status, and the "
                   "function is called again");
}

/* frame-2. */
static enum err read_in_migration(struct call_frame *frame,
                                  struct place *place,
                                  enum read_kind kind,
                                  unsigned flags,
                                  struct value *out,
                                  struct err_detail *detail)
{
    struct place *at = NULL;
    struct transaction *transaction = frame->access.transaction;
    if (collection_is_row(place->entity->id) &&
        !transaction_knows(transaction, place->entity)) {
        transaction_await(transaction, place->entity);
        return ERR_STALE;
    }
    const enum err err =
        cell_read(&frame->access, place, kind, flags, out, &at, detail);
    if (err != ERR_OK) {
        return err;
    }
    const struct place *payload = at->entity->payload;
    const bool is_data = transaction_knows(transaction, at->entity) &&
                         (payload == NULL || payload->writers.first == NULL);
    place_unref(at);
    if (is_data) {
        return ERR_OK;
    }
    value_unref(*out);
    return refuse_in_migration(detail);
}

enum err call_frame_read(struct call_frame *frame,
                         struct place *place,
                         enum read_kind kind,
                         unsigned flags,
                         struct value *out,
                         struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (UNLIKELY(frame->kind == FRAME_MIGRATION)) {
        err = read_in_migration(frame, place, kind, flags, out, detail);
    } else {
        err = cell_read(&frame->access, place, kind, flags, out, NULL, detail);
    }
    if (UNLIKELY(err != ERR_OK)) {
        *out = VALUE_NONE;
    }
    err = call_frame_answer(frame, err, detail);
    if (UNLIKELY(err != ERR_OK)) {
        value_unref(*out);
        *out = VALUE_NONE;
    }
    return err;
}

enum err call_frame_need(struct call_frame *frame,
                         struct entity *entity,
                         struct err_detail *detail)
{
    const struct run *run = frame->access.run;
    if (entity_is_available(entity) || (run != NULL && run->dry)) {
        return ERR_OK;
    }
    space_want(entity->space, entity);
    return call_frame_stale(frame, detail);
}

enum err call_frame_follow(struct call_frame *frame,
                           struct place *place,
                           struct place **out,
                           struct err_detail *detail)
{
    const enum err found =
        cell_follow(&frame->access, place, READ_FOR_BOTH, true, out, detail);
    const enum err err = call_frame_answer(frame, found, detail);
    if (found == ERR_OK && err != ERR_OK) {
        place_unref(*out);
    }
    *out = err == ERR_OK ? *out : NULL;
    return err;
}

/* -- Writing and sending ------------------------------------------------- */

enum err call_frame_write_adopt(struct call_frame *frame,
                                struct place *place,
                                struct cell_writing writing,
                                struct err_detail *detail)
{
    if (frame->access.transaction == NULL) {
        return own_write_cell_adopt(frame->access.runtime,
                                    place,
                                    writing,
                                    detail);
    }
    const enum err err = own_write_in(&frame->access, place, &writing, detail);
    value_unref(writing.value);
    return call_frame_note(frame, err);
}

enum err call_frame_send(const struct call_frame *frame,
                         struct stream *stream,
                         struct event_spec *spec,
                         struct err_detail *detail)
{
    if (frame->kind == FRAME_MIGRATION) {
        return err_set(detail, ERR_MISUSE, "a migration cannot send events");
    }
    if (frame->handling != NULL) {
        return handling_send(frame->handling, stream, spec, detail);
    }
    spec->origin = frame->access.transaction;
    return events_send(frame->access.runtime->sched, stream, spec, detail);
}

enum err call_frame_check_cancel(const struct call_frame *frame,
                                 const struct space *space,
                                 struct err_detail *detail)
{
    if (frame->handling == NULL ||
        handling_stream(frame->handling)->entity->space == space) {
        return ERR_OK;
    }
    const struct text name = value_text(&space->id);
    return err_set(detail,
                   ERR_ARGUMENT,
                   "the timer is in the space '%.*s': send an event to the "
                   "piece there, whose handler cancels it",
                   text_shown(name.at, name.length, 60),
                   name.at);
}

/* -- The end ------------------------------------------------------------- */

enum run_result call_frame_result(const struct call_frame *frame,
                                  const struct err_detail *failure)
{
    struct run *run = frame->access.run;
    if (UNLIKELY(run_is_waiting(run))) {
        return RUN_WAITING; /* also if it failed: it has seen nothing */
    }
    if (frame->stale) {
        return RUN_AGAIN;
    }
    return failure == NULL ? RUN_DONE : run_fail(run, failure);
}
