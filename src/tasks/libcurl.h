/* libcurl, loaded with the first request.
 *
 * It brings some forty other libraries. Linked in the usual way, they would
 * double the time in which each command starts, whether it makes a request or
 * not. Its functions are called as libcurl.curl_easy_init(). */

#ifndef TASKS_LIBCURL_H
#define TASKS_LIBCURL_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

#define LIBCURL_FUNCTIONS(X)    \
    X(curl_easy_cleanup)        \
    X(curl_easy_getinfo)        \
    X(curl_easy_init)           \
    X(curl_easy_setopt)         \
    X(curl_easy_strerror)       \
    X(curl_free)                \
    X(curl_getdate)             \
    X(curl_global_cleanup)      \
    X(curl_global_init)         \
    X(curl_multi_add_handle)    \
    X(curl_multi_assign)        \
    X(curl_multi_cleanup)       \
    X(curl_multi_info_read)     \
    X(curl_multi_init)          \
    X(curl_multi_remove_handle) \
    X(curl_multi_setopt)        \
    X(curl_multi_socket_action) \
    X(curl_slist_append)        \
    X(curl_slist_free_all)      \
    X(curl_url)                 \
    X(curl_url_cleanup)         \
    X(curl_url_get)             \
    X(curl_url_set)

struct libcurl {
#define X(name) __typeof__(name) *name;
    LIBCURL_FUNCTIONS(X)
#undef X
};

extern struct libcurl libcurl;

/* Harmless if it was loaded before. False: it is not installed. */
bool libcurl_load(void);

#endif
