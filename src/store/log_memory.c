/* Records in a vector, with the outcomes of a real log. */

#include "store/log_memory.h"

static struct log_memory_handle *handle_of(struct commit_log *log)
{
    return CONTAINER_OF(log, struct log_memory_handle, log);
}

static enum log_trouble next_trouble(struct log_memory_handle *handle)
{
    if (handle->trouble_count == 0) {
        return LOG_TROUBLE_NONE;
    }
    handle->trouble_count--;
    return handle->trouble;
}

static void keep(struct log_memory *memory, const struct log_record *record)
{
    struct log_record kept = *record;
    kept.record = value_ref(record->record);
    vec_push(&memory->records, kept);
}

static enum log_outcome append(struct commit_log *log,
                               const struct log_record *record,
                               struct err_detail *detail)
{
    struct log_memory_handle *handle = handle_of(log);
    struct log_memory *memory = handle->memory;
    const enum log_trouble trouble = next_trouble(handle);
    if (trouble == LOG_TROUBLE_DOWN) {
        (void)err_set(detail, ERR_IO, "the log cannot be reached");
        return LOG_FAILED;
    }
    if (trouble == LOG_TROUBLE_LOST_REQUEST) {
        return LOG_UNKNOWN;
    }
    if (handle->epoch != memory->epoch) {
        return LOG_FENCED;
    }
    if (record->number != memory->records.count + 1) {
        return LOG_CONFLICT;
    }
    keep(memory, record);
    return trouble == LOG_TROUBLE_LOST_ANSWER ? LOG_UNKNOWN : LOG_APPENDED;
}

static enum err read(struct commit_log *log,
                     uint64_t after,
                     log_record_fn *visit,
                     void *ctx,
                     struct err_detail *detail)
{
    struct log_memory_handle *handle = handle_of(log);
    if (handle->trouble == LOG_TROUBLE_DOWN && handle->trouble_count > 0) {
        handle->trouble_count--;
        return err_set(detail, ERR_IO, "the log cannot be reached");
    }
    enum err err = ERR_OK;
    for (uint64_t i = after; err == ERR_OK && i < handle->memory->records.count;
         i++) {
        err = visit(ctx, &handle->memory->records.at[i]);
    }
    return err;
}

void log_memory_init(struct log_memory *memory)
{
    *memory = (struct log_memory){.epoch = 1};
}

void log_memory_release(struct log_memory *memory)
{
    VEC_FOREACH (&memory->records, record) {
        value_unref(record->record);
    }
    vec_release(&memory->records);
}

void log_memory_open(struct log_memory_handle *handle,
                     struct log_memory *memory)
{
    *handle = (struct log_memory_handle){
        .log = {.append = append, .read = read},
        .memory = memory,
        .epoch = memory->epoch,
    };
}

void log_memory_fence(struct log_memory *memory)
{
    memory->epoch++;
}
