/* From a format to one clean line. */

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"

static const char ellipsis[] = "...";

/* Shows that there was more. */
static void end_cut_line(char line[LOG_LINE_SIZE])
{
    const size_t length =
        text_whole_length(line, LOG_LINE_SIZE - sizeof ellipsis);
    memcpy(line + length, ellipsis, sizeof ellipsis);
}

/* An argument with a newline in it must not look like two lines, the second of
 * which anybody could have made up. */
static void blank_control_characters(char *line)
{
    for (char *at = line; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte == 0x7F) {
            *at = ' ';
        }
    }
}

void log_write_line(const struct log *log,
                    enum log_level level,
                    const char *format,
                    ...)
{
    CHECK(log->fn != NULL);
    CHECK(level > LOG_LEVEL_NONE);

    char line[LOG_LINE_SIZE];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length < 0) {
        (void)snprintf(line, sizeof line, "a line could not be formatted");
    } else if ((size_t)length >= sizeof line) {
        end_cut_line(line);
    }
    blank_control_characters(line);
    log->fn(log->ctx, level, line);
}

const char *log_level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return "error";
    case LOG_LEVEL_WARNING:
        return "warning";
    case LOG_LEVEL_INFO:
        return "info";
    case LOG_LEVEL_DEBUG:
        return "debug";
    case LOG_LEVEL_NONE:
        break;
    }
    return "none";
}
