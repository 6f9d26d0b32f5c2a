/* Labels: saying how confidential something is, and asking. */

#include "api/label.h"

#include "api/cell.h"
#include "api/edit.h"
#include "api/handle.h"
#include "sched/labels.h"
#include "value/array.h"
#include "value/label.h"

enum err label_check(struct value labels, bool all, struct err_detail *detail)
{
    if (all && value_kind(labels) == VALUE_BOOL && value_boolean(labels)) {
        return ERR_OK;
    }
    bool holds = value_is_array(labels);
    for (uint32_t i = 0; holds && i < array_count(labels); i++) {
        holds = label_is_valid(array_at(labels, i));
    }
    return holds ? ERR_OK
                 : err_set(detail,
                           ERR_ARGUMENT,
                           "labels must be an array of short strings");
}

hd_status hd_cell_set_labels(hd_cell *cell,
                             const hd_value *labels,
                             hd_error *error)
{
    struct err_detail detail = {0};
    enum err err = cell_check(cell, "cell", &detail);
    if (err == ERR_OK) {
        err = runtime_check_writing(cell->object.runtime, &detail);
    }
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    if (labels == NULL) {
        return error_null(error, "labels");
    }
    err = label_check(labels->value, false, &detail);
    if (err == ERR_OK) {
        const struct cell_writing writing = {
            .kind = WRITE_PUT,
            .labels = true,
            .value = value_ref(labels->value),
        };
        err = edit_write_adopt(cell->object.runtime,
                               cell->place,
                               writing,
                               &detail);
    }
    return cell_report(error, err, &detail, cell);
}

hd_status hd_cell_labels(hd_cell *cell, hd_value **labels, hd_error *error)
{
    if (labels == NULL) {
        return error_null(error, "labels");
    }
    *labels = NULL;
    struct err_detail detail = {0};
    enum err err = cell_check(cell, "cell", &detail);
    if (err == ERR_OK) {
        err = cell_need(cell->object.runtime, cell->place->entity, &detail);
    }
    if (err == ERR_OK) {
        struct sched *sched = runtime_sched(cell->object.runtime);
        *labels = handle_new_adopt(labels_at(sched, cell->place, READ_DEEP));
    }
    return cell_report(error, err, &detail, cell);
}
