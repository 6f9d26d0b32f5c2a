/* Finding the server of a command, and the identity to use there. */

#include "cli/remote_option.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/key.h"
#include "cli/report.h"
#include "net/remote_wire.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *remote_option_url(const struct options *options)
{
    if (options->values.server != NULL) {
        return options->values.server;
    }
    return options->values.dir == NULL &&
                   (options->command->options & OPTION_SERVER) != 0
               ? variable("HEDDLE_SERVER")
               : NULL;
}

int remote_option_check(const struct options *options)
{
    const option_set known = options->command->options;
    const bool is_given = option_is_given(options, OPTION_SERVER);
    if (is_given && option_is_given(options, OPTION_DIR)) {
        return report_usage(options,
                            "--dir and --server exclude each other: the server "
                            "has its own directory");
    }
    const bool on_files = (known & OPTION_DIR) != 0 &&
                          (known & OPTION_SERVER) == 0 &&
                          !options->command->has_threads;
    if (on_files && (is_given || (variable("HEDDLE_SERVER") != NULL &&
                                  options->values.dir == NULL))) {
        return report_usage(options,
                            "'heddle %s' works on files: run it where the "
                            "server's data directory is, with --dir",
                            options->name);
    }
    return CODE_OK;
}

/* The key file, or an empty text: no key is used. A key that is named must be
 * there; the default one need not. */
static int find_key(const struct options *options, struct buf *path)
{
    const bool is_named =
        options->values.key != NULL || variable("HEDDLE_KEY") != NULL;
    if (!is_named && variable("HOME") == NULL) {
        return CODE_OK;
    }
    const int code = key_path(options, options->values.key, path);
    if (code == CODE_OK && !is_named && access(buf_text(path), F_OK) != 0) {
        buf_clear(path);
    }
    return code;
}

int remote_option_open(const struct options *options, struct remote **out)
{
    struct buf key = {0};
    struct err_detail detail = {0};
    const char *token =
        options->values.key == NULL ? variable("HEDDLE_TOKEN") : NULL;
    int code = token == NULL ? find_key(options, &key) : CODE_OK;
    const struct remote_server server = {
        .url = remote_option_url(options),
        .token = token,
        .key_file = key.length > 0 ? buf_text(&key) : NULL,
        .user = options->values.user,
        .authority = variable("HEDDLE_AUTHORITY"),
    };
    if (code == CODE_OK && remote_server_new(&server, out, &detail) != ERR_OK) {
        code = report_detail(options, NULL, &detail);
    }
    buf_release(&key);
    return code;
}
