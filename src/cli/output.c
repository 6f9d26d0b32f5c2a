/* Writing results, and finding out whether they were written. */

#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/report.h"

enum {
    PRETTY_INDENT = 2
};

/* The errno of the first write that failed; the stream remembers only that
 * one did. */
static int write_error;

static void note_failure(void)
{
    if (write_error == 0) {
        write_error = errno != 0 ? errno : EIO;
    }
}

void output_bytes(const char *bytes, size_t length)
{
    errno = 0;
    if (fwrite(bytes, 1, length, stdout) != length ||
        putc('\n', stdout) == EOF) {
        note_failure();
    }
}

int output_value(const struct options *options, const hd_value *value)
{
    char *text = NULL;
    size_t length = 0;
    const hd_status status = hd_value_write(
        value,
        option_is_given(options, OPTION_CANONICAL) ? HD_CANONICAL : HD_AS_GIVEN,
        option_is_given(options, OPTION_PRETTY) ? PRETTY_INDENT : 0,
        &text,
        &length);
    if (status != HD_OK) {
        return report_status(options, "the result", status);
    }
    output_bytes(text, length);
    hd_text_free(text);
    return CODE_OK;
}

void output_word(const struct options *options,
                 const char *key,
                 const char *word)
{
    if (option_is_given(options, OPTION_JSON)) {
        (void)printf("{\"%s\":\"%s\"}\n", key, word);
    } else {
        (void)printf("%s\n", word);
    }
}

bool output_is_open(void)
{
    errno = 0;
    if (write_error == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        note_failure();
    }
    /* A pipe without a reader is noticed before anything is written. */
    struct pollfd pipe = {.fd = STDOUT_FILENO};
    if (write_error == 0 && poll(&pipe, 1, 0) == 1 &&
        (pipe.revents & POLLERR) != 0) {
        write_error = EPIPE;
    }
    return write_error == 0;
}

int output_close(const struct options *options, int code)
{
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout) || fclose(stdout) != 0) {
        note_failure();
    }
    if (write_error == 0) {
        return code;
    }
    /* Who reads us has seen enough: that is no news to anybody. */
    if (write_error != EPIPE) {
        (void)report_system(options, "standard output", write_error);
    }
    return CODE_IO;
}
