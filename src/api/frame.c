/* Frames, and what a function can do with its run. */

#include "api/frame.h"

#include "api/cell.h"
#include "api/handle.h"
#include "api/memory.h"
#include "base/mem.h"

/* -- Frames -------------------------------------------------------------- */

struct hd_run *api_frame_begin(hd_runtime *runtime)
{
    if (runtime->depth == runtime->frames.count) {
        struct hd_run *made = mem_alloc_zero(sizeof *made);
        vec_push(&runtime->frames, made);
    }
    struct hd_run *frame = runtime->frames.at[runtime->depth++];
    frame->object = (struct object){.kind = OBJECT_RUN, .runtime = runtime};
    frame->outer = runtime->run;
    frame->migration = NULL;
    frame->returns = false;
    frame->result = VALUE_NONE;
    err_clear(&frame->failure);
    runtime->run = frame;
    return frame;
}

void api_frame_end(struct hd_run *frame)
{
    hd_runtime *runtime = frame->object.runtime;
    CHECK(runtime->run == frame);
    runtime->run = frame->outer;
    runtime->depth--;
    value_unref(frame->result);
    frame->result = VALUE_NONE;
    frame->object.kind = OBJECT_OVER;
    if (frame->element != NULL) {
        cell_handle_move(frame->element, NULL);
    }
}

hd_cell *frame_lend(struct hd_run *frame, struct place *element)
{
    if (frame->element == NULL) {
        frame->element = cell_handle_adopt(frame->object.runtime, NULL);
        frame->element->borrowers = 1;
    }
    cell_handle_move(frame->element, element);
    return frame->element;
}

void frames_end(hd_runtime *runtime)
{
    CHECK(runtime->depth == 0);
    VEC_FOREACH (&runtime->frames, frame) {
        if ((*frame)->element != NULL) {
            cell_handle_free((*frame)->element);
            (*frame)->element = NULL;
        }
    }
}

void frames_release(hd_runtime *runtime)
{
    VEC_FOREACH (&runtime->frames, frame) {
        mem_free(*frame, sizeof **frame);
    }
    vec_release(&runtime->frames);
}

void frame_failure(const struct hd_run *frame,
                   hd_status status,
                   struct err_detail *detail)
{
    if (frame->failure.err == (enum err)status) {
        *detail = frame->failure;
    } else {
        (void)err_set(detail,
                      (enum err)status,
                      "the function returned HD_%s: %s",
                      hd_status_name(status),
                      hd_status_text(status));
    }
}

enum run_result frame_result(const struct hd_run *frame, hd_status status)
{
    if (status == HD_OK) {
        return call_frame_result(&frame->call, NULL);
    }
    struct err_detail detail;
    frame_failure(frame, status, &detail);
    return call_frame_result(&frame->call, &detail);
}

/* -- What a function can do with it -------------------------------------- */

hd_status hd_run_fail(hd_run *run, hd_status status, const char *text)
{
    const enum err err = object_check_open(run, OBJECT_RUN, "run", NULL);
    if (err != ERR_OK) {
        return status_of(err);
    }
    if (status == HD_OK) {
        return HD_ARGUMENT;
    }
    (void)err_set(&run->failure,
                  (enum err)status,
                  "%s",
                  text != NULL ? text : hd_status_text(status));
    return status;
}

hd_status hd_run_return(hd_run *run, const hd_value *value)
{
    const enum err err = object_check_open(run, OBJECT_RUN, "run", NULL);
    if (err != ERR_OK) {
        return status_of(err);
    }
    if (!run->returns) {
        return HD_MISUSE;
    }
    if (value == NULL) {
        return HD_ARGUMENT;
    }
    value_unref(run->result);
    run->result = value_ref(value->value);
    return HD_OK;
}

/* A run that handles an event. */
static hd_status check_handling(const hd_run *run)
{
    const enum err err = object_check_open(run, OBJECT_RUN, "run", NULL);
    if (err != ERR_OK) {
        return status_of(err);
    }
    return run->call.handling != NULL ? HD_OK : HD_MISUSE;
}

hd_status hd_run_payload(hd_run *run, hd_value **payload)
{
    if (payload == NULL) {
        return HD_ARGUMENT;
    }
    *payload = NULL;
    const hd_status status = check_handling(run);
    if (status == HD_OK) {
        *payload =
            handle_new_adopt(value_ref(handling_payload(run->call.handling)));
    }
    return status;
}

hd_status hd_run_attempt(hd_run *run, uint32_t *attempt)
{
    if (attempt == NULL) {
        return HD_ARGUMENT;
    }
    *attempt = 0;
    const hd_status status = check_handling(run);
    if (status == HD_OK) {
        *attempt = handling_attempt(run->call.handling);
    }
    return status;
}

hd_status hd_run_new_document(hd_run *run, char **document)
{
    if (document == NULL) {
        return HD_ARGUMENT;
    }
    *document = NULL;
    const hd_status status = check_handling(run);
    if (status == HD_OK) {
        const struct value id = handling_new_id(run->call.handling);
        *document = text_of_string(id, NULL);
        value_unref(id);
    }
    return status;
}
