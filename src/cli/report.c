/* Failures, as a line for people and as JSON for programs. */

#include "cli/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/display.h"

int report_code(hd_status status)
{
    if (status == HD_OK) {
        return CODE_OK;
    }
    if (status == HD_NOT_FOUND) {
        return CODE_NO;
    }
    /* From HD_IO on, it is not the input that is wrong. */
    return status >= HD_IO && status != HD_CORRUPT ? CODE_IO : CODE_BAD;
}

static const char *class_name(hd_class class_of)
{
    switch (class_of) {
    case HD_CLASS_NONE:
        return "none";
    case HD_CLASS_RETRY:
        return "retry";
    case HD_CLASS_PERMANENT:
        return "permanent";
    case HD_CLASS_TERMINAL:
        return "terminal";
    case HD_CLASS_FAULT:
        return "fault";
    }
    return "unknown";
}

/* -- JSON ---------------------------------------------------------------- */

/* Sets a field of the object that is being built. `item` is given away; a
 * field that cannot be made is left out. */
static void put_adopt(hd_value **object, const char *pointer, hd_value *item)
{
    hd_value *changed = NULL;
    if (hd_value_set(*object, pointer, HD_TERMINATED, item, &changed, NULL) ==
        HD_OK) {
        hd_value_unref(*object);
        *object = changed;
    }
    hd_value_unref(item);
}

/* `text` may be NULL, for null. */
static void put_text(hd_value **object, const char *pointer, const char *text)
{
    hd_value *item = NULL;
    struct buf shown = {0};
    if (text != NULL) {
        display_append(&shown, text);
        (void)hd_value_new_string(buf_text(&shown), shown.length, &item);
    } else {
        (void)hd_value_new_null(&item);
    }
    buf_release(&shown);
    put_adopt(object, pointer, item);
}

/* Lines and columns count from 1: 0 is null. */
static void put_place(hd_value **object, const char *pointer, size_t number)
{
    hd_value *item = NULL;
    if (number > 0) {
        (void)hd_value_new_int((int64_t)number, &item);
    } else {
        (void)hd_value_new_null(&item);
    }
    put_adopt(object, pointer, item);
}

static void print_json(const char *source,
                       const hd_error *error,
                       const char *sentence)
{
    hd_value *object = NULL;
    char *text = NULL;
    (void)hd_value_new_object(&object);
    put_text(&object, "/status", hd_status_name(error->status));
    put_text(&object, "/class", class_name(error->class_of));
    put_text(&object, "/source", source);
    put_place(&object, "/line", error->line);
    put_place(&object, "/column", error->column);
    put_text(&object, "/message", sentence);
    if (hd_value_write(object, HD_AS_GIVEN, 0, &text, NULL) == HD_OK) {
        (void)fprintf(stderr, "%s\n", text);
    }
    hd_text_free(text);
    hd_value_unref(object);
}

/* -- A line -------------------------------------------------------------- */

static void print_line(const char *source, const char *sentence)
{
    struct buf line = {0};
    if (source != NULL) {
        display_append(&line, source);
        buf_append_text(&line, ": ");
    }
    display_append(&line, sentence);
    (void)fprintf(stderr, "heddle: %s\n", buf_text(&line));
    buf_release(&line);
}

/* `sentence` is that of the error, or a longer one. */
static int report(const struct options *options,
                  const char *source,
                  const hd_error *error,
                  const char *sentence)
{
    if (option_is_given(options, OPTION_JSON)) {
        print_json(source, error, sentence);
    } else {
        print_line(source, sentence);
    }
    return report_code(error->status);
}

int report_error(const struct options *options,
                 const char *source,
                 const hd_error *error)
{
    return report(options, source, error, error->text);
}

int report_name(const struct options *options, const char *sentence)
{
    const hd_error error = {
        .status = HD_ARGUMENT,
        .class_of = hd_status_class(HD_ARGUMENT),
    };
    return report(options, NULL, &error, sentence);
}

int report_unsettled(const struct options *options, const char *sentence)
{
    const hd_error error = {
        .status = HD_NOT_SETTLED,
        .class_of = hd_status_class(HD_NOT_SETTLED),
    };
    (void)report(options, NULL, &error, sentence);
    return CODE_UNSETTLED;
}

/* -- From other forms of failure ----------------------------------------- */

/* An error without a place. */
static int report_text(const struct options *options,
                       const char *source,
                       hd_status status,
                       const char *text)
{
    hd_error error = {.status = status, .class_of = hd_status_class(status)};
    (void)snprintf(error.text, sizeof error.text, "%s", text);
    return report_error(options, source, &error);
}

int report_status(const struct options *options,
                  const char *source,
                  hd_status status)
{
    return report_text(options, source, status, hd_status_text(status));
}

int report_system(const struct options *options,
                  const char *source,
                  int system_error)
{
    return report_text(options, source, HD_IO, strerror(system_error));
}

int report_usage(const struct options *options, const char *format, ...)
{
    char sentence[128];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (length >= (int)sizeof sentence) {
        sentence[text_whole_length(sentence, sizeof sentence - 1)] = '\0';
    }

    char text[256];
    (void)snprintf(text,
                   sizeof text,
                   "%s; see 'heddle %s%s--help'",
                   sentence,
                   options->name,
                   options->name[0] != '\0' ? " " : "");
    return report_text(options, NULL, HD_ARGUMENT, text);
}
