/* Kinds of tasks: lookup, and the ends of their calls. */

#include "runtime/task_kind.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "value/compare.h"
#include "value/object.h"
#include "value/utf8.h"

enum {
    TEXT_SIZE = 1024, /* of a sentence */
};

void task_kinds_add(struct runtime *runtime, const struct task_kind *kind)
{
    vec_push(&runtime->task_kinds, kind);
}

const struct task_kind *task_kind_find(const struct runtime *runtime,
                                       struct value name)
{
    const struct task_kind *found = NULL;
    VEC_FOREACH (&runtime->task_kinds, kind) {
        if ((*kind)->name == NULL) {
            found = found == NULL ? *kind : found;
        } else if (value_is_text(name, (*kind)->name)) {
            found = *kind;
        }
    }
    return found;
}

void task_kinds_write(const struct runtime *runtime, struct buf *to)
{
    VEC_FOREACH (&runtime->task_kinds, kind) {
        if ((*kind)->name != NULL) {
            buf_append_text(to, to->length > 0 ? ", " : "");
            buf_append_text(to, (*kind)->name);
        }
    }
}

struct value task_call_field(const struct task_call *call, const char *name)
{
    struct value value = VALUE_NONE;
    if (value_is_object(call->request)) {
        value = object_field(call->request, name);
    }
    if (value_is_absent(value) && value_is_object(call->options)) {
        value = object_field(call->options, name);
    }
    return value;
}

bool task_call_number(struct task_call *call,
                      const char *name,
                      int64_t low,
                      int64_t high,
                      int64_t *number)
{
    const struct value value = task_call_field(call, name);
    if (value_is_absent(value)) {
        return true;
    }
    if (value_kind(value) != VALUE_INT || value_integer(value) < low ||
        value_integer(value) > high) {
        task_call_fail(call,
                       (struct task_failure){.code = "ARGUMENT"},
                       "%s must be an integer from %lld to %lld",
                       name,
                       (long long)low,
                       (long long)high);
        return false;
    }
    *number = value_integer(value);
    return true;
}

void task_call_finish_adopt(struct task_call *call, struct value value)
{
    call->ended(call, (struct task_end){.value = value});
}

/* What comes from outside is not always UTF-8, and a document is. */
static struct value text_of(const char *text)
{
    if (utf8_is_valid(text, strlen(text))) {
        return value_text_new(text);
    }
    struct buf escaped = {0};
    utf8_escape(&escaped, text, strlen(text));
    const struct value value = value_text_new(buf_text(&escaped));
    buf_release(&escaped);
    return value;
}

void task_call_fail(struct task_call *call,
                    struct task_failure failure,
                    const char *format,
                    ...)
{
    char text[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct value error =
        value_is_object(failure.more) ? failure.more : value_empty_object();
    object_put_adopt(&error, "code", value_text_new(failure.code));
    object_put_adopt(&error, "text", text_of(text));
    call->ended(call,
                (struct task_end){
                    .error = error,
                    .may_retry = failure.may_retry,
                    .at_least = failure.at_least,
                });
}
