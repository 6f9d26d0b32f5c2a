/* From what a client shows to a credential. */

#include "server/authenticate.h"

#include <string.h>

#include "value/object.h"

static enum err take_insecure(struct value attach,
                              struct credential *out,
                              struct err_detail *detail)
{
    const struct value user = object_field(attach, "user");
    *out = (struct credential){.ceiling = CAPABILITY_OWNER, .grants = true};
    if (!value_is_string(user)) {
        return ERR_OK;
    }
    const struct text name = value_text(&user);
    const enum err err = principal_check(name, detail);
    if (err == ERR_OK) {
        memcpy(out->principal, name.at, name.length);
    }
    return err;
}

static struct text text_of(const char *text)
{
    return (struct text){.at = text, .length = strlen(text)};
}

static enum err check_proof(const struct authenticator *with,
                            struct item_attach *facts,
                            struct value attach,
                            struct proof_clock now,
                            struct credential *out,
                            struct err_detail *detail)
{
    const struct value space = object_field(attach, "space");
    const struct value branch = object_field(attach, "branch");
    const struct value session = object_field(attach, "session");
    const struct proof_claim claim = {
        .audience = text_of(with->audience),
        .space = value_text(&space),
        .branch = value_is_string(branch) ? value_text(&branch) : text_of(""),
        .session =
            value_is_string(session) ? value_text(&session) : (struct text){0},
    };
    const enum proof_fault fault = proof_check(object_field(attach, "proof"),
                                               &claim,
                                               &facts->challenge,
                                               now,
                                               out,
                                               detail);
    facts->may_retry = proof_may_retry(fault);
    return fault == PROOF_ACCEPTED ? ERR_OK : detail->err;
}

static enum err check_token(const struct authenticator *with,
                            struct text token,
                            struct proof_clock now,
                            struct credential *out,
                            struct err_detail *detail)
{
    const struct token_trust trust = {
        .audience = with->audience,
        .service_keys = with->service_keys,
        .service_key_count = with->service_key_count,
        .jwks = with->jwks,
    };
    return token_check(token, &trust, now.wall_ms / 1000, out, detail);
}

static enum err refuse_nobody(struct err_detail *detail)
{
    return err_set(detail,
                   ERR_UNAUTHENTICATED,
                   "this server asks for a token or a proof with a key");
}

enum err authenticate_attach(const struct authenticator *with,
                             struct item_attach *facts,
                             struct value attach,
                             struct proof_clock now,
                             struct credential *out,
                             struct err_detail *detail)
{
    const struct value token = object_field(attach, "token");
    const struct value space = object_field(attach, "space");
    enum err err;
    *out = (struct credential){0};
    if (with->is_insecure) {
        err = take_insecure(attach, out, detail);
    } else if (!value_is_absent(object_field(attach, "proof"))) {
        err = check_proof(with, facts, attach, now, out, detail);
    } else if (value_is_string(token)) {
        err = check_token(with, value_text(&token), now, out, detail);
    } else if (facts->bearer != NULL) {
        err = check_token(with, text_of(facts->bearer), now, out, detail);
    } else {
        err = refuse_nobody(detail);
    }
    if (err == ERR_OK && !credential_covers(out, value_text(&space))) {
        err = err_set(detail, ERR_ACCESS, "the token is for another space");
    }
    return err;
}

enum err authenticate_bearer(const struct authenticator *with,
                             const char *bearer,
                             struct proof_clock now,
                             struct credential *out,
                             struct err_detail *detail)
{
    *out = (struct credential){0};
    if (with->is_insecure) {
        return take_insecure(VALUE_NONE, out, detail);
    }
    return bearer != NULL ? check_token(with, text_of(bearer), now, out, detail)
                          : refuse_nobody(detail);
}

static bool is_service_key(const struct authenticator *with,
                           const struct public_key *key)
{
    for (size_t i = 0; i < with->service_key_count; i++) {
        if (memcmp(key->bytes,
                   with->service_keys[i].bytes,
                   sizeof key->bytes) == 0) {
            return true;
        }
    }
    return false;
}

bool authenticator_is_service(const struct authenticator *with,
                              const struct credential *credential)
{
    struct public_key key;
    return key_name_read(text_of(credential->principal), &key) &&
           is_service_key(with, &key);
}

bool authenticator_still_trusts(const struct authenticator *with,
                                const struct credential *credential)
{
    return with->is_insecure || !credential->grants ||
           is_service_key(with, &credential->signer);
}

bool authenticator_may_create(const struct authenticator *with,
                              const struct credential *credential)
{
    return credential->ceiling == CAPABILITY_OWNER &&
           (credential->grants || authenticator_is_service(with, credential));
}

bool authenticator_is_operator(const struct authenticator *with,
                               const struct credential *credential)
{
    return credential->space[0] == '\0' &&
           authenticator_may_create(with, credential);
}
