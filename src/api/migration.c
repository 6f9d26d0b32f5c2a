/* Migrations of the program: declaring them, calling them, and what they can
 * ask of the piece as it was (runtime/migration.h). */

#include "api/build.h"
#include "api/edge.h"
#include "api/handle.h"
#include "api/node.h"
#include "runtime/builder.h"

/* -- Calling ------------------------------------------------------------- */

/* A frame on the transaction of the build, without a run. */
static enum err run_migration(struct migration *migration,
                              void *ctx,
                              struct err_detail *detail)
{
    struct callback *callback = ctx;
    hd_runtime *runtime = callback->runtime;
    struct hd_run *frame = api_frame_begin(runtime);
    call_frame_init(&frame->call,
                    FRAME_MIGRATION,
                    runtime_core(runtime),
                    migration_transaction(migration));
    frame->migration = migration;
    runtime->busy++;
    const hd_status status = callback->run(frame, callback->context);
    runtime->busy--;
    enum err err = ERR_OK;
    if (frame->call.stale) {
        err = err_set(detail,
                      ERR_STALE,
                      "conflict: a value that the migration "
                      "read has changed");
    } else if (status != HD_OK) {
        err = (enum err)status;
        frame_failure(frame, status, detail);
    }
    api_frame_end(frame);
    return err;
}

/* -- Declaring ----------------------------------------------------------- */

hd_status hd_build_migration(hd_builder *builder,
                             uint32_t version,
                             hd_run_fn *run,
                             void *context,
                             void (*release)(void *context),
                             hd_error *error)
{
    struct declaration d;
    declaration_begin(&d, builder, NULL, NULL);
    declaration_give(&d, run == NULL ? "run" : NULL, context, release);
    if (d.err == ERR_OK) {
        struct callback *callback = declaration_doer(&d);
        callback->run = run;
        const struct builder_migration migration = {
            .version = version,
            .run = run_migration,
            .ctx = callback,
            .release = callback_gone,
        };
        d.err = builder_migration(builder->inside, &migration, &d.detail);
    }
    return declaration_end(&d, error);
}

/* -- What there was ------------------------------------------------------ */

static enum err check_migration(const hd_run *run,
                                const char *name,
                                struct value *out,
                                struct err_detail *detail)
{
    *out = VALUE_NONE;
    const enum err err = object_check_open(run, OBJECT_RUN, "run", detail);
    if (err != ERR_OK) {
        return err;
    }
    return run->migration != NULL
               ? edge_name(name, "name", out, detail)
               : err_set(detail,
                         ERR_MISUSE,
                         "only a migration can read the previous version");
}

hd_status hd_run_former(hd_run *run,
                        const char *name,
                        hd_value **value,
                        hd_error *error)
{
    if (value == NULL) {
        return error_null(error, "value");
    }
    *value = NULL;
    struct err_detail detail = {0};
    struct value key;
    struct value found = VALUE_NONE;
    enum err err = check_migration(run, name, &key, &detail);
    if (err == ERR_OK) {
        err = migration_read(run->migration, key, &found, &detail);
    }
    if (err == ERR_OK && value_is_absent(found)) {
        err = err_set(&detail, ERR_NOT_FOUND, "'%s' had no value", name);
    }
    if (err == ERR_OK) {
        *value = handle_new_adopt(found);
    }
    value_unref(key);
    return error_report(error, err, &detail);
}

hd_status hd_run_drop(hd_run *run, const char *name, hd_error *error)
{
    struct err_detail detail = {0};
    struct value key;
    enum err err = check_migration(run, name, &key, &detail);
    if (err == ERR_OK) {
        err = migration_drop(run->migration, key, &detail);
    }
    value_unref(key);
    return error_report(error, err, &detail);
}
