/* Which web pages may use this server (CORS, and the handshake of a WebSocket).
 *
 * A browser lets a page send requests to any server, and tells the server by
 * the header Origin whose page it is. The page can read an answer only if the
 * server allows its origin; a WebSocket it can always read. Clients without
 * that header are not browsers, or ask for a page's own server.
 *
 *   net-origin-1  A request or handshake of an origin that is neither this
 *                 server nor one of the options is refused before anything is
 *                 done for it, whatever its method: some requests are sent
 *                 without a preflight.
 *   net-origin-2  An origin is this server if it is what the request names as
 *                 Host; of a server with TLS, also with the scheme https.
 *   net-origin-3  A name of a stranger's can be made to lead to this machine,
 *                 and is then the Host and the Origin of the stranger's page.
 *                 A net with `loopback_names` therefore refuses every Host that
 *                 is not an address, localhost, or in an allowed origin.
 *   net-origin-4  Only an origin that is named is allowed credentials. */

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "net/net_internal.h"

#define ANY "*"

enum {
    ORIGIN_BYTES_MAX = 300,
    SHOWN_SIZE = 61,
};

/* The request headers that net_request has; and those of answers that a page
 * needs beside what it can always read. */
#define REQUEST_HEADERS                                        \
    "authorization, content-type, idempotency-key, if-match, " \
    "if-none-match, last-event-id, prefer"
/* For which a browser remembers the answer to a preflight. */
#define PREFLIGHT_SECONDS "600"

#define METHODS         "GET, HEAD, POST, PUT, PATCH, DELETE"
#define EXPOSED_HEADERS "allow, etag, heddle-seq, location, retry-after"

/* -- The list ------------------------------------------------------------ */

struct net_origins *net_origins_new(const char *const *list, size_t count)
{
    struct net_origins *origins = mem_alloc_zero(sizeof *origins);
    for (size_t i = 0; i < count; i++) {
        vec_push(&origins->list, net_text_copy(list[i]));
        origins->has_named = origins->has_named || strcmp(list[i], ANY) != 0;
    }
    return origins;
}

void net_origins_free(struct net_origins *origins)
{
    if (origins != NULL) {
        VEC_FOREACH (&origins->list, origin) {
            net_text_free(*origin);
        }
        vec_release(&origins->list);
        mem_free(origins, sizeof *origins);
    }
}

void net_set_origins(struct net *net, const char *const *list, size_t count)
{
    net_commands_push(
        net,
        &(struct net_command){.kind = NET_COMMAND_ORIGINS,
                              .origins = net_origins_new(list, count)},
        1);
}

/* What is behind "scheme://"; NULL: there is no scheme. */
static const char *authority_of(const char *origin)
{
    const char *at = origin;
    while (isalnum((unsigned char)*at) || (*at != '\0' && strchr("+-.", *at))) {
        at++;
    }
    return at > origin && strncmp(at, "://", 3) == 0 ? at + 3 : NULL;
}

bool net_origin_is_valid(const char *text)
{
    const char *authority = authority_of(text);
    if (strcmp(text, ANY) == 0) {
        return true;
    }
    if (authority == NULL || *authority == '\0' || *authority == ':' ||
        strlen(text) > ORIGIN_BYTES_MAX) {
        return false;
    }
    for (const char *at = authority; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && strchr("-._~:[]", *at) == NULL) {
            return false;
        }
    }
    return true;
}

/* -- Requests ------------------------------------------------------------ */

static bool is_named(const struct net_origins *origins, const char *origin)
{
    VEC_FOREACH (&origins->list, one) {
        if (strcmp(*one, ANY) != 0 && strcasecmp(*one, origin) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_any(const struct net_origins *origins)
{
    VEC_FOREACH (&origins->list, one) {
        if (strcmp(*one, ANY) == 0) {
            return true;
        }
    }
    return false;
}

/* net-origin-2 */
static bool is_own(struct lws *wsi, const char *origin, const char *host)
{
    const char *authority = authority_of(origin);
    return authority != NULL && host != NULL &&
           strcasecmp(authority, host) == 0 &&
           (lws_is_ssl(wsi) == 0 || strncasecmp(origin, "https:", 6) == 0);
}

/* Whether a Host is an address or means this machine; `length` is without the
 * port. */
static bool is_local_name(const char *host, size_t length)
{
    static const char name[] = "localhost";
    const size_t tail = sizeof name - 1;
    if (host[0] == '[' || strspn(host, "0123456789.") == length) {
        return true;
    }
    return length >= tail &&
           strncasecmp(host + length - tail, name, tail) == 0 &&
           (length == tail || host[length - tail - 1] == '.');
}

/* net-origin-3 */
static bool is_local_host(const struct net *net, const char *host)
{
    if (host == NULL || is_local_name(host, strcspn(host, ":"))) {
        return true;
    }
    VEC_FOREACH (&net->origins->list, one) {
        const char *authority = authority_of(*one);
        if (authority != NULL && strcasecmp(authority, host) == 0) {
            return true;
        }
    }
    return false;
}

/* The beginning of a header, so that it can stand in JSON. */
static void show(char shown[SHOWN_SIZE], const char *text)
{
    size_t length = 0;
    for (; length < SHOWN_SIZE - 1 && text[length] != '\0'; length++) {
        const char c = text[length];
        const bool is_plain = c > ' ' && c < 0x7F && c != '"' && c != '\\';
        shown[length] = is_plain ? c : '?';
    }
    shown[length] = '\0';
}

/* Sets *allowed if the page of that origin may use this server. */
static bool admit(const struct net *net,
                  struct lws *wsi,
                  const char *origin,
                  const char *host,
                  char **allowed)
{
    if (is_named(net->origins, origin)) {
        *allowed = net_text_copy(origin);
    } else if (!is_own(wsi, origin, host)) {
        *allowed = has_any(net->origins) ? net_text_copy(ANY) : NULL;
        return *allowed != NULL;
    }
    return true;
}

bool net_origin_admit(const struct net *net,
                      struct lws *wsi,
                      char **allowed,
                      char why[NET_ORIGIN_SIZE])
{
    char *origin = net_header_copy(wsi, WSI_TOKEN_ORIGIN);
    char *host = net_header_copy(wsi, WSI_TOKEN_HOST);
    char shown[SHOWN_SIZE];
    bool is_admitted = true;
    *allowed = NULL;
    if (net->options.loopback_names && !is_local_host(net, host)) {
        show(shown, host);
        (void)snprintf(why,
                       NET_ORIGIN_SIZE,
                       "the Host '%s' is not a name of this machine: use an "
                       "address, localhost, or the setting allow-origin",
                       shown);
        is_admitted = false;
    } else if (origin != NULL && !admit(net, wsi, origin, host, allowed)) {
        show(shown, origin);
        (void)snprintf(why,
                       NET_ORIGIN_SIZE,
                       "web pages of the origin '%s' may not use this server: "
                       "its operator can allow them with the setting "
                       "allow-origin",
                       shown);
        is_admitted = false;
    }
    net_text_free(origin);
    net_text_free(host);
    return is_admitted;
}

/* -- Answers ------------------------------------------------------------- */

void net_origin_headers(const struct net *net,
                        const char *allowed,
                        struct buf *to)
{
    if (net->origins->has_named) {
        buf_append_text(to, "vary: origin\r\n");
    }
    if (allowed == NULL) {
        return;
    }
    buf_printf(to,
               "access-control-allow-origin: %s\r\n"
               "access-control-expose-headers: " EXPOSED_HEADERS "\r\n",
               allowed);
    if (strcmp(allowed, ANY) != 0) { /* net-origin-4 */
        buf_append_text(to, "access-control-allow-credentials: true\r\n");
    }
}

bool net_origin_is_preflight(struct lws *wsi)
{
    static const char name[] = "access-control-request-method:";
    return lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0 &&
           lws_hdr_custom_length(wsi, name, (int)strlen(name)) > 0;
}

struct net_response net_origin_preflight(void)
{
    return (struct net_response){
        .status = 204,
        .headers = {{"access-control-allow-methods:", METHODS},
                    {"access-control-allow-headers:", REQUEST_HEADERS},
                    {"access-control-max-age:", PREFLIGHT_SECONDS}},
    };
}
