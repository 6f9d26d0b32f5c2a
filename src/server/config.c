/* The settings of a server. */

#include "server/config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "net/net.h"

enum {
    LINE_BYTES = 4096,
    PORT_MAX = 65535,
    MS_PER_SECOND = 1000,
};

enum setting_kind {
    SETTING_TEXT,
    SETTING_NUMBER,
    SETTING_SECONDS, /* kept as milliseconds */
    SETTING_FLAG,
    SETTING_LISTEN,
    SETTING_OWNER,
    SETTING_ORIGIN,
    SETTING_DURABILITY,
    SETTING_RUN,
    SETTING_LOG,
};

#define ORIGINS \
    "* or an origin such as https://app.example.com:8443, without a path"
#define AT(field)    (offsetof(struct config, options.field))
#define LIMIT(field) (offsetof(struct config, options.limits.field))

static const struct setting {
    const char *name;
    enum setting_kind kind;
    size_t at;
    const char *manual;
} settings[] = {
    {"listen", SETTING_LISTEN, 0, "ADDRESS:PORT to listen on"},
    {"certificate", SETTING_TEXT, AT(certificate), "PEM file; enables TLS"},
    {"private-key", SETTING_TEXT, AT(private_key), "PEM file of its key"},
    {"key",
     SETTING_TEXT,
     AT(key_file),
     "key file of the server (default DIR/server.key)"},
    {"audience",
     SETTING_TEXT,
     AT(audience),
     "what tokens and proofs must name (default: from the key)"},
    {"issuers",
     SETTING_TEXT,
     AT(jwks_file),
     "JSON Web Key Set of a login service"},
    {"owner",
     SETTING_OWNER,
     0,
     "did:key that owns every space; may be repeated"},
    {"allow-origin",
     SETTING_ORIGIN,
     0,
     "origin whose web pages may use the server, or *; may be repeated"},
    {"insecure-local",
     SETTING_FLAG,
     AT(is_insecure),
     "true: no authentication, on loopback only"},
    {"compress", SETTING_FLAG, AT(compress), "true: offer permessage-deflate"},
    {"durability", SETTING_DURABILITY, 0, "full, normal or memory"},
    {"workers",
     SETTING_NUMBER,
     AT(workers),
     "threads (default: one per processor, at most 8)"},
    {"idle-close",
     SETTING_SECONDS,
     AT(idle_ms),
     "seconds after which an unused space is closed (default 60)"},
    {"log", SETTING_LOG, 0, "text or json (default: text on a terminal)"},
    {"run", SETTING_RUN, 0, "file of a pattern to run; may be repeated"},
    {"message-bytes",
     SETTING_NUMBER,
     LIMIT(message_bytes),
     "largest WebSocket message (default 16777216)"},
    {"request-bytes",
     SETTING_NUMBER,
     LIMIT(request_bytes),
     "largest HTTP body (default 16777216)"},
    {"queue-bytes",
     SETTING_NUMBER,
     LIMIT(queue_bytes),
     "output waiting for a slow reader (default 33554432)"},
    {"inbox-bytes",
     SETTING_NUMBER,
     LIMIT(inbox_bytes),
     "input of a connection that waits for its worker (default 4194304)"},
    {"connections",
     SETTING_NUMBER,
     LIMIT(connections),
     "open connections (default 20000)"},
    {"connections-per-address",
     SETTING_NUMBER,
     LIMIT(connections_per_address),
     "of one address (default 0: no limit)"},
    {"handshake-ms",
     SETTING_NUMBER,
     LIMIT(handshake_ms),
     "until a request is complete (default 10000)"},
    {"channels",
     SETTING_NUMBER,
     LIMIT(channels),
     "spaces per connection (default 1000)"},
    {"watches",
     SETTING_NUMBER,
     LIMIT(watches),
     "watched documents per channel (default 1000000)"},
    {"sessions-per-principal",
     SETTING_NUMBER,
     LIMIT(sessions_per_principal),
     "in one space (default 10000)"},
    {"messages-per-second",
     SETTING_NUMBER,
     LIMIT(messages_per_second),
     "of one principal in one space (default 20000; 0: no limit)"},
    {"open-spaces",
     SETTING_NUMBER,
     LIMIT(open_spaces),
     "open files of spaces (default 2000)"},
};

void config_init(struct config *config)
{
    *config = (struct config){0};
    config->options.limits = server_limits_default();
}

void config_release(struct config *config)
{
    VEC_FOREACH (&config->texts, text) {
        buf_release(text);
    }
    vec_release(&config->texts);
}

/* -- Values -------------------------------------------------------------- */

static const char *keep(struct config *config, const char *text, size_t length)
{
    struct buf copy = {0};
    buf_append(&copy, text, length);
    vec_push(&config->texts, copy);
    return copy.at;
}

static bool read_number(const char *text, uint64_t most, uint64_t *out)
{
    uint64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && number <= most; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    *out = number;
    return at > text && *at == '\0' && number <= most;
}

static enum err refuse(struct err_detail *detail,
                       const char *name,
                       const char *value,
                       const char *want)
{
    return err_set(detail,
                   ERR_ARGUMENT,
                   "'%s' cannot be '%.60s': it must be %s",
                   name,
                   value,
                   want);
}

static enum err set_number(struct config *config,
                           const struct setting *setting,
                           const char *value,
                           struct err_detail *detail)
{
    uint64_t number;
    const uint64_t factor =
        setting->kind == SETTING_SECONDS ? MS_PER_SECOND : 1;
    if (!read_number(value, UINT32_MAX / factor, &number)) {
        return refuse(detail, setting->name, value, "a whole number");
    }
    const uint32_t kept = (uint32_t)(number * factor);
    memcpy((char *)config + setting->at, &kept, sizeof kept);
    return ERR_OK;
}

static enum err set_flag(struct config *config,
                         const struct setting *setting,
                         const char *value,
                         struct err_detail *detail)
{
    const bool yes = strcmp(value, "true") == 0;
    if (!yes && strcmp(value, "false") != 0) {
        return refuse(detail, setting->name, value, "true or false");
    }
    memcpy((char *)config + setting->at, &yes, sizeof yes);
    return ERR_OK;
}

/* "127.0.0.1:8800", "[::1]:8800", ":8800" */
static enum err set_listen(struct config *config,
                           const char *value,
                           struct err_detail *detail)
{
    const char *colon = strrchr(value, ':');
    uint64_t port;
    if (colon == NULL || !read_number(colon + 1, PORT_MAX, &port)) {
        return refuse(detail, "listen", value, "ADDRESS:PORT");
    }
    const char *from = value;
    size_t length = (size_t)(colon - value);
    if (length >= 2 && value[0] == '[' && value[length - 1] == ']') {
        from++;
        length -= 2;
    }
    config->options.address =
        length > 0 ? keep(config, from, length) : "127.0.0.1";
    config->options.port = (uint16_t)port;
    return ERR_OK;
}

static enum err set_durability(struct config *config,
                               const char *value,
                               struct err_detail *detail)
{
    static const struct {
        const char *name;
        enum durability durability;
    } levels[] = {
        {"full", DURABILITY_FULL},
        {"normal", DURABILITY_NORMAL},
    };
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        if (strcmp(value, levels[i].name) == 0) {
            config->options.durability = levels[i].durability;
            return ERR_OK;
        }
    }
    return refuse(detail, "durability", value, "full or normal");
}

static enum err set_log(struct config *config,
                        const char *value,
                        struct err_detail *detail)
{
    if (strcmp(value, "text") == 0) {
        config->log = CONFIG_LOG_TEXT;
    } else if (strcmp(value, "json") == 0) {
        config->log = CONFIG_LOG_JSON;
    } else {
        return refuse(detail, "log", value, "text or json");
    }
    return ERR_OK;
}

static enum err add_to(struct config *config,
                       const char **list,
                       size_t *count,
                       size_t most,
                       const char *value,
                       struct err_detail *detail)
{
    if (*count == most) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'%.60s' is one too many: at most %zu",
                       value,
                       most);
    }
    list[(*count)++] = keep(config, value, strlen(value));
    return ERR_OK;
}

/* Browsers leave out the port of the scheme. */
static size_t length_without_port(const char *origin, size_t length)
{
    static const struct {
        const char *scheme;
        const char *port;
    } rows[] = {{"http://", ":80"}, {"https://", ":443"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const size_t tail = strlen(rows[i].port);
        if (length > tail &&
            strncmp(origin, rows[i].scheme, strlen(rows[i].scheme)) == 0 &&
            strncmp(origin + length - tail, rows[i].port, tail) == 0) {
            return length - tail;
        }
    }
    return length;
}

/* One or more, with blanks between them: a variable has one value. */
static enum err add_origins(struct config *config,
                            const char *value,
                            struct err_detail *detail)
{
    struct server_options *options = &config->options;
    const char *at = value + strspn(value, " \t");
    enum err err =
        *at == '\0' ? refuse(detail, "allow-origin", value, ORIGINS) : ERR_OK;
    while (err == ERR_OK && *at != '\0') {
        const size_t length = strcspn(at, " \t");
        struct buf one = {0};
        buf_append(&one, at, length_without_port(at, length));
        err = !net_origin_is_valid(buf_text(&one))
                  ? refuse(detail, "allow-origin", buf_text(&one), ORIGINS)
                  : add_to(config,
                           options->origins,
                           &options->origin_count,
                           ORIGINS_MAX,
                           buf_text(&one),
                           detail);
        buf_release(&one);
        at += length;
        at += strspn(at, " \t");
    }
    return err;
}

static enum err set(struct config *config,
                    const struct setting *setting,
                    const char *value,
                    struct err_detail *detail)
{
    struct server_options *options = &config->options;
    switch (setting->kind) {
    case SETTING_TEXT: {
        const char *text = keep(config, value, strlen(value));
        memcpy((char *)config + setting->at, &text, sizeof text);
        return ERR_OK;
    }
    case SETTING_NUMBER:
    case SETTING_SECONDS:
        return set_number(config, setting, value, detail);
    case SETTING_FLAG:
        return set_flag(config, setting, value, detail);
    case SETTING_LISTEN:
        return set_listen(config, value, detail);
    case SETTING_DURABILITY:
        return set_durability(config, value, detail);
    case SETTING_LOG:
        return set_log(config, value, detail);
    case SETTING_OWNER:
        return add_to(config,
                      options->owners,
                      &options->owner_count,
                      OWNERS_MAX - 1,
                      value,
                      detail);
    case SETTING_ORIGIN:
        return add_origins(config, value, detail);
    case SETTING_RUN:
        return add_to(config,
                      config->runs,
                      &config->run_count,
                      CONFIG_RUNS_MAX,
                      value,
                      detail);
    }
    UNREACHABLE("a kind of setting");
}

/* -- Names --------------------------------------------------------------- */

static enum err refuse_name(const char *name, struct err_detail *detail)
{
    struct nearest nearest;
    nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        nearest_offer_text(&nearest, settings[i].name);
    }
    return err_set(detail,
                   ERR_ARGUMENT,
                   "there is no setting '%.60s'%s",
                   name,
                   nearest_hint(&nearest));
}

enum err config_set(struct config *config,
                    const char *name,
                    const char *value,
                    struct err_detail *detail)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        if (strcmp(settings[i].name, name) == 0) {
            return set(config, &settings[i], value, detail);
        }
    }
    return refuse_name(name, detail);
}

/* -- Files and the environment ------------------------------------------- */

/* Without the blanks at both ends; changes the text. */
static char *trim(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    text[length] = '\0';
    return text;
}

static enum err read_line(struct config *config,
                          char *line,
                          struct err_detail *detail)
{
    char *text = trim(line);
    if (*text == '\0' || *text == '#') {
        return ERR_OK;
    }
    char *equals = strchr(text, '=');
    if (equals == NULL) {
        return err_set(detail, ERR_ARGUMENT, "a setting is NAME = VALUE");
    }
    *equals = '\0';
    return config_set(config, trim(text), trim(equals + 1), detail);
}

enum err config_read_file(struct config *config,
                          const char *path,
                          struct err_detail *detail)
{
    char line[LINE_BYTES];
    FILE *file = fopen(path, "re");
    enum err err = ERR_OK;
    if (file == NULL) {
        return err_set(detail, ERR_NOT_FOUND, "cannot open '%.120s'", path);
    }
    for (unsigned number = 1;
         err == ERR_OK && fgets(line, sizeof line, file) != NULL;
         number++) {
        struct err_detail why = {0};
        err = read_line(config, line, &why);
        if (err != ERR_OK) {
            (void)err_set(detail, err, "%.100s:%u: %s", path, number, why.text);
        }
    }
    if (err == ERR_OK && ferror(file) != 0) {
        err = err_set(detail, ERR_IO, "cannot read '%.120s'", path);
    }
    (void)fclose(file);
    return err;
}

enum err config_read_environment(struct config *config,
                                 char *(*get)(const char *name),
                                 struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < COUNT_OF(settings); i++) {
        struct buf name = {0};
        buf_append_text(&name, "HEDDLE_SERVE_");
        for (const char *at = settings[i].name; *at != '\0'; at++) {
            buf_append_char(&name,
                            *at == '-' ? '_'
                                       : (char)toupper((unsigned char)*at));
        }
        const char *value = get(buf_text(&name));
        if (value != NULL) {
            err = set(config, &settings[i], value, detail);
        }
        buf_release(&name);
    }
    return err;
}

void config_print_settings(struct buf *to)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        buf_printf(to, "  %-24s %s\n", settings[i].name, settings[i].manual);
    }
}
