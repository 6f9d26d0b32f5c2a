/* Schemas of cells and of payloads. */

#include "value/schema.h"

#include "api/cell.h"
#include "api/handle.h"
#include "runtime/schemas.h"
#include "sched/events.h"

/* NULL, or new. */
static enum err compile(const hd_value *source,
                        struct schema **out,
                        struct err_detail *detail)
{
    *out = NULL;
    if (source == NULL) {
        return ERR_OK;
    }
    struct schema_fault fault;
    const enum err err = schema_new(source->value, out, &fault);
    return err == ERR_OK ? ERR_OK
                         : schema_fault_tell(&fault, "the schema", detail);
}

/* A schema is no data: it is set at the top level. */
static enum err begin(const hd_cell *cell,
                      const char *name,
                      const hd_value *source,
                      struct schema **out,
                      struct err_detail *detail)
{
    *out = NULL;
    enum err err = cell_check(cell, name, detail);
    if (err == ERR_OK) {
        err = runtime_check_toplevel(cell->object.runtime, detail);
    }
    return err != ERR_OK ? err : compile(source, out, detail);
}

hd_status hd_cell_set_schema(hd_cell *cell,
                             const hd_value *schema,
                             bool fills,
                             hd_error *error)
{
    struct err_detail detail = {0};
    struct schema *compiled;
    const enum err err = begin(cell, "cell", schema, &compiled, &detail);
    if (err == ERR_OK) {
        const struct schemas_option option = {
            .place = cell->place,
            .schema = compiled,
            .fills = fills,
        };
        schemas_set(runtime_core(cell->object.runtime), &option);
    }
    schema_unref(compiled);
    return cell_report(error, err, &detail, cell);
}

hd_status hd_cell_set_payload_schema(hd_cell *stream,
                                     const hd_value *schema,
                                     bool fills,
                                     hd_error *error)
{
    struct err_detail detail = {0};
    struct schema *compiled;
    const enum err err = begin(stream, "stream", schema, &compiled, &detail);
    if (err == ERR_OK) {
        struct sched *sched = runtime_sched(stream->object.runtime);
        events_set_schema(events_stream(sched, stream->place), compiled, fills);
    }
    schema_unref(compiled);
    return cell_report(error, err, &detail, stream);
}
