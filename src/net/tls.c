/* Certificates: checked before they are used, and read again while the server
 * runs.
 *
 *   net-tls-1  A certificate or key that cannot be used changes nothing: both
 *              are loaded into a context of their own first.
 *   net-tls-2  The context of libwebsockets is changed on the I/O thread, which
 *              alone makes connections from it. */

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "net/net_internal.h"

struct net_reload {
    struct err_detail *detail;
    enum err err;
    bool is_done; /* with the lock of the net */
};

static enum err load(SSL_CTX *into,
                     const struct net_options *options,
                     struct err_detail *detail)
{
    const char *what = NULL;
    const char *path = NULL;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(into, options->certificate) != 1) {
        what = "certificate";
        path = options->certificate;
    } else if (SSL_CTX_use_PrivateKey_file(into,
                                           options->private_key,
                                           SSL_FILETYPE_PEM) != 1) {
        what = "private key";
        path = options->private_key;
    } else {
        return ERR_OK;
    }
    char text[120];
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    ERR_clear_error();
    return err_set(detail,
                   ERR_ARGUMENT,
                   "cannot use the %s %s: %s",
                   what,
                   path,
                   text);
}

enum err net_tls_check(const struct net_options *options,
                       struct err_detail *detail)
{
    if (options->private_key == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the certificate %s needs a private key",
                       options->certificate);
    }
    SSL_CTX *scratch = SSL_CTX_new(TLS_server_method());
    if (scratch == NULL) {
        return err_set(detail, ERR_NO_MEMORY, "cannot make a TLS context");
    }
    const enum err err = load(scratch, options, detail);
    SSL_CTX_free(scratch);
    return err;
}

struct ssl_ctx_st *net_tls_unused(struct net *net)
{
    net->unused_tls = SSL_CTX_new(TLS_client_method());
    return net->unused_tls;
}

void net_tls_release(struct net *net)
{
    SSL_CTX_free(net->unused_tls);
    net->unused_tls = NULL;
}

void net_tls_reload(struct net *net, struct net_reload *reload)
{
    enum err err = net_tls_check(&net->options, reload->detail);
    if (err == ERR_OK) {
        err = load(net->server_tls, &net->options, reload->detail);
    }
    (void)pthread_mutex_lock(&net->lock);
    reload->err = err;
    reload->is_done = true;
    (void)pthread_cond_broadcast(&net->changed);
    (void)pthread_mutex_unlock(&net->lock);
}

enum err net_reload(struct net *net, struct err_detail *detail)
{
    if (net->server_tls == NULL) {
        return ERR_OK;
    }
    struct net_reload reload = {.detail = detail};
    net_commands_push(
        net,
        &(struct net_command){.kind = NET_COMMAND_RELOAD, .reload = &reload},
        1);
    (void)pthread_mutex_lock(&net->lock);
    while (!reload.is_done) {
        (void)pthread_cond_wait(&net->changed, &net->lock);
    }
    (void)pthread_mutex_unlock(&net->lock);
    return reload.err;
}
