/* What libwebsockets knows of a request, as texts of ours.
 *
 * It decodes the path and the query while it reads them. They are encoded again
 * here, so that a receiver can tell an '&' in a value from one between two. */

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "net/net_internal.h"

char *net_header_copy(struct lws *wsi, enum lws_token_indexes token)
{
    const int length = lws_hdr_total_length(wsi, token);
    if (length <= 0) {
        return NULL;
    }
    char *text = mem_alloc((size_t)length + 1);
    const int copied = lws_hdr_copy(wsi, text, length + 1, token);
    text[copied > 0 ? copied : 0] = '\0';
    char *result = net_text_copy(text);
    mem_free(text, (size_t)length + 1);
    return result;
}

char *net_header_custom_copy(struct lws *wsi, const char *name)
{
    const int name_length = (int)strlen(name);
    const int length = lws_hdr_custom_length(wsi, name, name_length);
    if (length <= 0) {
        return NULL;
    }
    char *text = mem_alloc((size_t)length + 1);
    const int copied =
        lws_hdr_custom_copy(wsi, text, length + 1, name, name_length);
    text[copied > 0 ? copied : 0] = '\0';
    char *result = net_text_copy(text);
    mem_free(text, (size_t)length + 1);
    return result;
}

static void append_encoded(struct buf *to,
                           const char *at,
                           size_t length,
                           const char *kept)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)at[i];
        if (isalnum(c) || (c != '\0' && strchr(kept, c) != NULL)) {
            buf_append_char(to, (char)c);
        } else {
            buf_append_char(to, '%');
            buf_append_char(to, digits[c >> 4]);
            buf_append_char(to, digits[c & 15]);
        }
    }
}

static char *finish(struct buf *text)
{
    char *result = net_text_copy_length(buf_text(text), text->length);
    buf_release(text);
    return result;
}

char *net_header_path(const char *decoded, size_t length)
{
    struct buf text = {0};
    append_encoded(&text, decoded, length, "/-._~:@!$&'()*+,;=");
    return finish(&text);
}

/* Appends a parameter as it was decoded. False: there is none. */
static bool append_parameter(struct lws *wsi, int index, struct buf *to)
{
    const int length =
        lws_hdr_fragment_length(wsi, WSI_TOKEN_HTTP_URI_ARGS, index);
    if (length <= 0) {
        return false;
    }
    char *at = buf_reserve(to, (size_t)length + 1);
    const int copied = lws_hdr_copy_fragment(wsi,
                                             at,
                                             length + 1,
                                             WSI_TOKEN_HTTP_URI_ARGS,
                                             index);
    buf_advance(to, copied > 0 ? (size_t)copied : 0);
    return true;
}

char *net_header_query(struct lws *wsi)
{
    struct buf query = {0};
    struct buf one = {0};
    for (int i = 0; append_parameter(wsi, i, &one); i++) {
        if (i > 0) {
            buf_append_char(&query, '&');
        }
        append_encoded(&query, one.at, one.length, "/-._~:@!$'()*,;=");
        buf_clear(&one);
    }
    buf_release(&one);
    if (query.length == 0) {
        buf_release(&query);
        return NULL;
    }
    return finish(&query);
}

char *net_header_bearer(struct lws *wsi)
{
    static const char scheme[] = "Bearer ";
    static const char parameter[] = "access_token=";
    char *result = NULL;
    char *header = net_header_copy(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
    if (header != NULL && strncasecmp(header, scheme, strlen(scheme)) == 0) {
        result = net_text_copy(header + strlen(scheme));
    }
    net_text_free(header);
    struct buf one = {0};
    for (int i = 0; result == NULL && append_parameter(wsi, i, &one); i++) {
        if (strncmp(one.at, parameter, strlen(parameter)) == 0) {
            result = net_text_copy(one.at + strlen(parameter));
        }
        buf_clear(&one);
    }
    buf_release(&one);
    return result;
}
