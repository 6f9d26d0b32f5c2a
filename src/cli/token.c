/* heddle token: makes a bearer token with a key. */

#include "auth/token.h"

#include <string.h>

#include "cli/command.h"
#include "cli/key.h"
#include "cli/output.h"
#include "cli/report.h"
#include "host/system.h"
#include "runtime/timer.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

/* -- The command line ---------------------------------------------------- */

static int read_capability(const struct options *options, enum capability *out)
{
    const char *word = options->values.capability;
    if (word != NULL && strcmp(word, "read") == 0) {
        *out = CAPABILITY_READ;
    } else if (word != NULL && strcmp(word, "write") == 0) {
        *out = CAPABILITY_WRITE;
    } else if (word != NULL && strcmp(word, "owner") == 0) {
        *out = CAPABILITY_OWNER;
    } else if (word == NULL) {
        return report_usage(options, "--cap is missing: read, write or owner");
    } else {
        return report_usage(options,
                            "--cap takes read, write or owner, not '%s'",
                            word);
    }
    return CODE_OK;
}

static int read_duration(const struct options *options, uint64_t *seconds)
{
    const char *word = options->values.duration;
    uint64_t ms = 0;
    if (word == NULL) {
        return report_usage(options,
                            "--for is missing: how long the token is valid, "
                            "such as 1h");
    }
    if (!timer_read_duration(word, &ms) || ms < 1000) {
        return report_usage(options,
                            "--for takes a time of at least 1s, such as 30m, "
                            "1h or 7d, not '%s'",
                            word);
    }
    *seconds = ms / 1000;
    return CODE_OK;
}

/* A word of the command line as a claim; the one that was not given has no
 * text. */
static int read_word(const struct options *options,
                     const char *option,
                     const char *word,
                     struct text *out)
{
    *out = (struct text){word, word != NULL ? strlen(word) : 0};
    if (word != NULL && !utf8_is_valid(word, out->length)) {
        return report_usage(options, "%s takes UTF-8 text", option);
    }
    return CODE_OK;
}

static int read_claims(const struct options *options,
                       struct token_claims *claims)
{
    const struct option_values *values = &options->values;
    uint64_t seconds = 0;
    int code = read_capability(options, &claims->capability);
    if (code == CODE_OK) {
        code = read_duration(options, &seconds);
    }
    if (code == CODE_OK) {
        code = read_word(options,
                         "--space",
                         values->space != NULL ? values->space : "main",
                         &claims->space);
    }
    if (code == CODE_OK) {
        code = read_word(options, "--to", values->to, &claims->subject);
    }
    if (code == CODE_OK) {
        code = read_word(options,
                         "--audience",
                         values->audience,
                         &claims->audience);
    }
    claims->issued_at = system_wall_ms() / 1000;
    claims->expires = claims->issued_at + seconds;
    return code;
}

/* -- The token ----------------------------------------------------------- */

static struct value text_value(struct text text)
{
    return value_string_new(text.at, text.length);
}

/* What the token says, for a script that made it. */
static void print_json(const struct key *key,
                       const struct token_claims *claims,
                       struct buf *token)
{
    char name[KEY_NAME_LENGTH + 1];
    struct buf audience = {0};
    struct buf text = {0};
    struct value object = value_empty_object();
    key_name_write(&key->public_key, name);
    object_put_adopt(&object, "token", value_string_adopt(token));
    object_put_adopt(&object,
                     "principal",
                     claims->subject.at != NULL ? text_value(claims->subject)
                                                : value_text_new(name));
    object_put_adopt(&object, "space", text_value(claims->space));
    object_put_text(&object, "capability", capability_name(claims->capability));
    if (claims->audience.at != NULL) {
        object_put_adopt(&object, "audience", text_value(claims->audience));
    } else {
        token_audience_of_key(&audience, &key->public_key);
        object_put_adopt(&object, "audience", value_string_adopt(&audience));
    }
    object_put_number(&object, "expires", claims->expires);
    json_write(&text, object, JSON_AS_GIVEN, 0);
    output_bytes(buf_text(&text), text.length);
    buf_release(&text);
    value_unref(object);
}

static int print_token(const struct options *options,
                       const struct key *key,
                       struct token_claims *claims)
{
    struct err_detail detail = {0};
    struct buf token = {0};
    enum err err = key_random(claims->id, sizeof claims->id, &detail);
    if (err == ERR_OK) {
        err = token_make(&token, key, claims, &detail);
    }
    if (err == ERR_ARGUMENT) {
        return report_usage(options, "%s", detail.text);
    }
    if (err != ERR_OK) {
        return report_detail(options, NULL, &detail);
    }
    if (option_is_given(options, OPTION_JSON)) {
        print_json(key, claims, &token);
    } else {
        output_bytes(buf_text(&token), token.length);
    }
    buf_release(&token);
    return CODE_OK;
}

int token_run(const struct options *options)
{
    struct token_claims claims = {0};
    struct key key = {0};
    struct buf path = {0};
    int code = read_claims(options, &claims);
    if (code == CODE_OK) {
        code = key_read(options, options->values.key, &key, &path);
    }
    if (code == CODE_OK) {
        code = print_token(options, &key, &claims);
    }
    key_release(&key);
    buf_release(&path);
    return code;
}
