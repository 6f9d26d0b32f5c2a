/* The life of the box around a value. */

#include "api/handle.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"

hd_value *handle_new_adopt(struct value value)
{
    CHECK(!value_is_absent(value));

    hd_value *handle = mem_alloc_zero(sizeof *handle);
    handle->value = value;
    handle->refs = 1;
    if (value_tag(value) == TAG_SHORT) {
        const struct text text = value_text(&value);
        memcpy(handle->terminated, text.at, text.length);
    }
    return handle;
}

hd_value *hd_value_ref(hd_value *value)
{
    if (value != NULL) {
        CHECK(value->refs > 0);
        value->refs++;
    }
    return value;
}

void hd_value_unref(hd_value *value)
{
    if (value == NULL) {
        return;
    }
    CHECK(value->refs > 0);
    if (--value->refs == 0) {
        value_unref(value->value);
        mem_free(value, sizeof *value);
    }
}
