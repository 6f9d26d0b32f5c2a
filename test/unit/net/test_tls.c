/* TLS: connections with a certificate of the test, its renewal, and what is
 * refused; and compression, which shares the peers. */

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "lib/net_kit.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "net/net.h"

static struct net_kit server;
static struct net_kit client;
static net_id client_id;
static net_id server_id;
static char folder[200];
static char certificate[256];
static char private_key[256];

/* A key and a certificate for "localhost", signed with it. */
static void make_certificate(long serial)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x509 = X509_new();
    CHECK(key != NULL && x509 != NULL);
    CHECK(X509_set_version(x509, 2) == 1);
    CHECK(ASN1_INTEGER_set(X509_get_serialNumber(x509), serial) == 1);
    CHECK(X509_gmtime_adj(X509_getm_notBefore(x509), -3600) != NULL);
    CHECK(X509_gmtime_adj(X509_getm_notAfter(x509), 3600) != NULL);
    CHECK(X509_set_pubkey(x509, key) == 1);
    X509_NAME *name = X509_get_subject_name(x509);
    CHECK(X509_NAME_add_entry_by_txt(name,
                                     "CN",
                                     MBSTRING_ASC,
                                     (const unsigned char *)"localhost",
                                     -1,
                                     -1,
                                     0) == 1);
    CHECK(X509_set_issuer_name(x509, name) == 1);
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost");
    CHECK(names != NULL && X509_add_ext(x509, names, -1) == 1);
    X509_EXTENSION_free(names);
    CHECK(X509_sign(x509, key, EVP_sha256()) > 0);
    FILE *file = fopen(certificate, "w");
    CHECK(file != NULL && PEM_write_X509(file, x509) == 1);
    CHECK(fclose(file) == 0);
    file = fopen(private_key, "w");
    CHECK(file != NULL &&
          PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    CHECK(fclose(file) == 0);
    X509_free(x509);
    EVP_PKEY_free(key);
}

static void init(void)
{
    kit_folder_new(folder, sizeof folder);
    (void)snprintf(certificate, sizeof certificate, "%s/c.pem", folder);
    (void)snprintf(private_key, sizeof private_key, "%s/k.pem", folder);
    make_certificate(1);
    net_kit_init(&server, "127.0.0.1");
    net_kit_init(&client, NULL);
    server.options.certificate = certificate;
    server.options.private_key = private_key;
    client.options.authority = certificate;
}

static void end(void)
{
    net_kit_close(&client);
    net_kit_close(&server);
    kit_folder_sweep(folder, ".pem");
    (void)rmdir(folder);
}

static bool connect_both(void)
{
    return net_kit_connect(&client, &server, &client_id, &server_id);
}

static char *long_text(size_t length)
{
    char *text = mem_alloc(length);
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)('a' + i * i % 23);
    }
    return text;
}

/* Messages of several sizes, both ways and at the same time. */
static void exchange(void)
{
    static const size_t sizes[] = {5, 0, 130, 70000, 1000, 2000000, 1};
    char *text = long_text(2000000);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        net_send(server.net, server_id, net_bytes_new(text, sizes[i]), NULL);
        net_send(client.net, client_id, net_bytes_new(text, sizes[i]), NULL);
    }
    for (size_t i = 0; i < 2 * COUNT_OF(sizes); i++) {
        const struct net_kit_event *event =
            net_kit_next(i % 2 == 0 ? &server : &client, NET_KIT_RECEIVED);
        if (event == NULL || !EXPECT_EQ(event->length, sizes[i / 2])) {
            break;
        }
        EXPECT(memcmp(event->text, text, event->length) == 0);
    }
    mem_free(text, 2000000);
}

TEST(messages_pass_through_tls)
{
    init();
    if (net_kit_open(&server) && net_kit_open(&client) && connect_both()) {
        EXPECT(server.happened.at[0].is_secure);
        exchange();
    }
    end();
}

TEST(a_deferred_message_is_offered_again_with_tls)
{
    init();
    server.later = 2;
    if (net_kit_open(&server) && net_kit_open(&client) && connect_both()) {
        char text[16];
        for (unsigned i = 0; i < 300; i++) {
            (void)snprintf(text, sizeof text, "%u", i);
            net_kit_send(&client, client_id, text);
        }
        for (unsigned times = 1; times <= 2; times++) {
            net_kit_await_deferred(&server, times);
            net_resume(server.net, server_id);
        }
        for (unsigned i = 0; i < 300; i++) {
            const struct net_kit_event *event =
                net_kit_next(&server, NET_KIT_RECEIVED);
            (void)snprintf(text, sizeof text, "%u", i);
            if (event == NULL || !EXPECT_TEXT(event->text, text)) {
                break;
            }
        }
    }
    end();
}

static void expect_refused(void)
{
    char url[64];
    struct err_detail detail = {0};
    (void)snprintf(url, sizeof url, "wss://localhost:%u", net_port(server.net));
    EXPECT_EQ(net_dial(client.net, url, NULL, &client_id, &detail), ERR_OK);
    const struct net_kit_event *event = net_kit_next(&client, NET_KIT_CLOSED);
    EXPECT(event != NULL && event->id == client_id);
}

TEST(a_certificate_that_no_authority_signed_is_refused)
{
    init();
    client.options.authority = NULL;
    if (net_kit_open(&server) && net_kit_open(&client)) {
        expect_refused();
    }
    end();
}

TEST(a_renewed_certificate_is_used_for_new_connections)
{
    struct err_detail detail = {0};
    init();
    if (net_kit_open(&server) && net_kit_open(&client) && connect_both()) {
        const net_id first_client = client_id;
        make_certificate(2);
        EXPECT_EQ(net_reload(server.net, &detail), ERR_OK);
        EXPECT_TEXT(detail.text, "");
        expect_refused(); /* by a client that knows the old one only */
        net_kit_send(&client, first_client, "still here");
        (void)net_kit_next(&server, NET_KIT_RECEIVED);
        net_close(client.net);
        (void)net_kit_next(&server, NET_KIT_CLOSED);
        (void)net_kit_next(&client, NET_KIT_CLOSED);
        if (net_kit_open(&client) && connect_both()) {
            exchange();
        }
    }
    end();
}

TEST(a_certificate_that_cannot_be_used_changes_nothing)
{
    struct err_detail detail = {0};
    init();
    if (net_kit_open(&server) && net_kit_open(&client)) {
        FILE *file = fopen(private_key, "w");
        CHECK(file != NULL && fputs("no key\n", file) >= 0);
        CHECK(fclose(file) == 0);
        EXPECT_EQ(net_reload(server.net, &detail), ERR_ARGUMENT);
        EXPECT_CONTAINS(detail.text, "cannot use the private key");
        if (connect_both()) {
            exchange();
        }
        struct net *other = NULL;
        EXPECT_EQ(net_open(&server.options, &other, &detail), ERR_ARGUMENT);
    }
    end();
}

TEST(a_request_over_tls_is_answered)
{
    init();
    if (net_kit_open(&server)) {
        /* Plain text on the port of TLS ends the connection. */
        const int fd = net_raw_connect(&server);
        struct buf answer = {0};
        EXPECT(net_raw_print(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        EXPECT(net_raw_read(fd, &answer, NULL));
        EXPECT_EQ(server.happened.count, 0);
        buf_release(&answer);
        (void)close(fd);
    }
    end();
}

TEST(messages_are_compressed_if_both_sides_like)
{
    for (int both = 0; both < 2; both++) {
        init();
        server.options.certificate = NULL;
        server.options.compress = true;
        client.options.compress = both == 1;
        if (net_kit_open(&server) && net_kit_open(&client) && connect_both()) {
            exchange();
            net_end(server.net, server_id, 1000, "bye");
            (void)net_kit_next(&client, NET_KIT_CLOSED);
        }
        end();
    }
}
