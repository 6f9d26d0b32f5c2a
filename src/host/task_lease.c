/* Task leases: locked files by the key of a task. */

#include "host/task_lease.h"

#include "base/mem.h"
#include "host/locked_file.h"

/* A file that cannot be made, because the disk is full, is no lease either: it
 * is asked for again. */
static void *take(void *ctx, struct value key)
{
    struct locked_file *file = mem_alloc_zero(sizeof *file);
    const struct value about = value_empty_object();
    const enum err err =
        locked_file_open(file, ctx, "tasks", key, about, NULL, NULL);
    value_unref(about);
    if (err != ERR_OK) {
        mem_free(file, sizeof *file);
        return NULL;
    }
    return file;
}

static void give_back(void *ctx, void *claim)
{
    (void)ctx;
    struct locked_file *file = claim;
    locked_file_close(file);
    mem_free(file, sizeof *file);
}

struct task_claims task_lease_claims(const char *folder)
{
    union {
        const char *given;
        void *kept;
    } ctx = {.given = folder};
    return folder[0] == '\0' ? (struct task_claims){0}
                             : (struct task_claims){
                                   .take = take,
                                   .give_back = give_back,
                                   .ctx = ctx.kept,
                               };
}
