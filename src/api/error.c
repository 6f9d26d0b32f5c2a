/* Filling and clearing the public error, and sentences about arguments. */

#include "api/error.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof((hd_error *)0)->text == ERR_TEXT_SIZE,
              "a sentence of ours fits, and is cut at the same place");

hd_status error_report(hd_error *error,
                       enum err err,
                       const struct err_detail *detail)
{
    if (error != NULL) {
        *error = (hd_error){
            .status = status_of(err),
            .class_of = (hd_class)err_class_of(err),
        };
        if (err != ERR_OK) {
            const char *text =
                detail->text[0] != '\0' ? detail->text : err_text(err);
            memcpy(error->text, text, strlen(text) + 1);
        }
    }
    return status_of(err);
}

hd_status error_null(hd_error *error, const char *name)
{
    struct err_detail detail;
    return error_report(
        error,
        err_set(&detail, ERR_ARGUMENT, "'%s' must not be NULL", name),
        &detail);
}
