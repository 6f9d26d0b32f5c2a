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

/* What failed, for the front of a line. */
struct report_source {
    const char *name; /* or NULL */
    bool is_node;     /* "piece/field" */
};

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

/* Where Lua code failed: its errors begin with "FILE.lua:12: "
 * (script/error.h). */
struct lua_place {
    size_t file_length;
    size_t line;      /* 0: it was not Lua */
    const char *rest; /* of the sentence */
};

static struct lua_place read_lua_place(const char *sentence)
{
    static const char ending[] = ".lua";
    const struct lua_place none = {0, 0, sentence};
    const char *at = strstr(sentence, ".lua:");
    if (at == NULL) {
        return none;
    }
    at += strlen(ending);
    size_t line = 0;
    const char *digit = at + 1;
    while (*digit >= '0' && *digit <= '9' && line < UINT32_MAX / 10) {
        line = line * 10 + (size_t)(*digit++ - '0');
    }
    if (digit[0] != ':' || digit[1] != ' ') {
        return none;
    }
    return (struct lua_place){(size_t)(at - sentence), line, digit + 2};
}

static void put_part(hd_value **object,
                     const char *pointer,
                     const char *text,
                     size_t length)
{
    struct buf part = {0};
    buf_append(&part, text, length);
    put_text(object, pointer, buf_text(&part));
    buf_release(&part);
}

/* A table that was raised is at the end of the sentence, as JSON: alone, or
 * after its message. */
static void put_lua(hd_value **object,
                    const char *sentence,
                    const struct lua_place *place)
{
    put_part(object, "/file", sentence, place->file_length);
    const char *at = place->rest;
    while (at != NULL && *at != '{' && *at != '[') {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    hd_value *value = NULL;
    if (at != NULL &&
        hd_value_parse(at, HD_TERMINATED, &value, NULL) == HD_OK) {
        put_adopt(object, "/value", value);
    }
}

static void print_json(const struct report_source *source,
                       const hd_error *error,
                       const char *sentence)
{
    hd_value *object = NULL;
    char *text = NULL;
    const struct lua_place place = read_lua_place(sentence);
    (void)hd_value_new_object(&object);
    put_text(&object, "/status", hd_status_name(error->status));
    put_text(&object, "/class", class_name(error->class_of));
    put_text(&object, "/source", source->name);
    put_place(&object, "/line", place.line > 0 ? place.line : error->line);
    put_place(&object, "/column", error->column);
    put_text(&object, "/message", sentence);
    if (place.line > 0) {
        put_lua(&object, sentence, &place);
    }
    const char *slash = source->is_node ? strchr(source->name, '/') : NULL;
    if (slash != NULL) {
        put_part(&object,
                 "/piece",
                 source->name,
                 (size_t)(slash - source->name));
        put_text(&object, "/field", slash + 1);
    }
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
                  struct report_source source,
                  const hd_error *error,
                  const char *sentence)
{
    if (option_is_given(options, OPTION_JSON)) {
        print_json(&source, error, sentence);
    } else {
        print_line(source.name, sentence);
    }
    return report_code(error->status);
}

int report_error(const struct options *options,
                 const char *source,
                 const hd_error *error)
{
    const struct report_source from = {source, false};
    return report(options, from, error, error->text);
}

hd_error report_read(const struct err_detail *detail)
{
    hd_error error = {
        .status = (hd_status)detail->err,
        .class_of = hd_status_class((hd_status)detail->err),
    };
    (void)snprintf(error.text,
                   sizeof error.text,
                   "%s",
                   detail->text[0] != '\0' ? detail->text
                                           : err_text(detail->err));
    return error;
}

int report_detail(const struct options *options,
                  const char *source,
                  const struct err_detail *detail)
{
    const hd_error error = report_read(detail);
    return report_error(options, source, &error);
}

int report_node(const struct options *options,
                const char *name,
                const hd_error *error)
{
    const struct report_source from = {name, name != NULL};
    return report(options, from, error, error->text);
}

int report_name(const struct options *options, const char *sentence)
{
    const hd_error error = {
        .status = HD_ARGUMENT,
        .class_of = hd_status_class(HD_ARGUMENT),
    };
    return report(options, (struct report_source){0}, &error, sentence);
}

int report_unsettled(const struct options *options, const char *sentence)
{
    const hd_error error = {
        .status = HD_NOT_SETTLED,
        .class_of = hd_status_class(HD_NOT_SETTLED),
    };
    (void)report(options, (struct report_source){0}, &error, sentence);
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
    char sentence[160];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (length >= (int)sizeof sentence) {
        sentence[text_whole_length(sentence, sizeof sentence - 1)] = '\0';
    }

    char text[256];
    const size_t said = strlen(sentence);
    const bool is_question = said > 0 && sentence[said - 1] == '?';
    (void)snprintf(text,
                   sizeof text,
                   "%s%s 'heddle %s%s--help'",
                   sentence,
                   is_question ? " See" : "; see",
                   options->name,
                   options->name[0] != '\0' ? " " : "");
    return report_text(options, NULL, HD_ARGUMENT, text);
}
