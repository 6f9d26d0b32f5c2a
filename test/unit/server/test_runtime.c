/* Runtimes of the public header on a server in this process, over real
 * connections. */

#include <stdio.h>
#include <string.h>

#include "auth/key.h"
#include "heddle/heddle.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "server/server.h"

struct site {
    char folder[256];
    char url[64];
    struct server *server;
};

static void site_open(struct site *site, bool is_insecure)
{
    const struct server_options options = {
        .folder = site->folder,
        .is_insecure = is_insecure,
        .durability = DURABILITY_NORMAL,
        .workers = 2,
    };
    struct err_detail detail = {0};
    if (server_open(&options, &site->server, &detail) != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "no server: %s", detail.text);
    }
    CHECK(site->server != NULL);
    (void)snprintf(site->url,
                   sizeof site->url,
                   "ws://127.0.0.1:%u",
                   server_port(site->server));
}

static void site_begin(struct site *site, bool is_insecure)
{
    kit_folder_new(site->folder, sizeof site->folder);
    site_open(site, is_insecure);
}

static void site_end(struct site *site)
{
    server_close(site->server);
    kit_folder_remove(site->folder);
}

struct client {
    hd_runtime *runtime;
    hd_cell *cell;
    hd_error error;
};

/* "n" of the space "main". */
static hd_status client_open(struct client *client,
                             const hd_runtime_options *options)
{
    *client = (struct client){0};
    const hd_status status =
        hd_runtime_open(options, &client->runtime, &client->error);
    return status == HD_OK ? hd_cell_new(client->runtime,
                                         "n",
                                         NULL,
                                         &client->cell,
                                         &client->error)
                           : status;
}

static void client_begin(struct client *client, const struct site *site)
{
    const hd_runtime_options options = {.directory = site->url};
    if (client_open(client, &options) != HD_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s", client->error.text);
    }
}

static void client_end(struct client *client)
{
    hd_cell_free(client->cell);
    hd_runtime_free(client->runtime);
}

static bool is_settled(struct client *client)
{
    const hd_status status =
        hd_runtime_settled(client->runtime, HD_NEVER, &client->error);
    return status == HD_OK ||
           test_fail(__FILE__, __LINE__, "%s", client->error.text);
}

static int64_t number_of(const struct client *client)
{
    int64_t number = -1;
    (void)hd_cell_get_int(client->cell, &number, NULL);
    return number;
}

/* Until it has that value; nothing else ends the wait. */
static void wait_for(const struct client *client, int64_t number)
{
    while (number_of(client) != number) {
        EXPECT_EQ(hd_runtime_wait(client->runtime, HD_NEVER, NULL), HD_OK);
        EXPECT_EQ(hd_runtime_settled(client->runtime, HD_NEVER, NULL), HD_OK);
    }
}

TEST(two_runtimes_on_a_server_see_each_other)
{
    struct site site;
    struct client a;
    struct client b;
    site_begin(&site, true);
    client_begin(&a, &site);
    client_begin(&b, &site);
    EXPECT_EQ(hd_cell_set_int(a.cell, 7, NULL), HD_OK);
    EXPECT(is_settled(&a));
    EXPECT_EQ(number_of(&b), 7);
    EXPECT_EQ(hd_cell_set_int(b.cell, 8, NULL), HD_OK);
    EXPECT(is_settled(&b));
    wait_for(&a, 8);
    client_end(&a);
    client_end(&b);
    site_end(&site);
}

TEST(increments_of_two_runtimes_are_all_counted)
{
    struct site site;
    struct client clients[2];
    site_begin(&site, true);
    client_begin(&clients[0], &site);
    client_begin(&clients[1], &site);
    EXPECT_EQ(hd_cell_set_int(clients[0].cell, 0, NULL), HD_OK);
    EXPECT(is_settled(&clients[0]));
    for (int i = 0; i < 40; i++) {
        EXPECT_EQ(hd_cell_increment(clients[i % 2].cell, 1, NULL), HD_OK);
    }
    EXPECT(is_settled(&clients[0]));
    EXPECT(is_settled(&clients[1]));
    wait_for(&clients[0], 40);
    client_end(&clients[0]);
    client_end(&clients[1]);
    site_end(&site);
}

/* What a directory has, its server has; and the other way round. */
TEST(a_runtime_on_the_directory_sees_what_the_server_has_taken)
{
    struct site site;
    struct client there;
    struct client here;
    site_begin(&site, true);
    const hd_runtime_options local = {.directory = site.folder};
    client_begin(&there, &site);
    EXPECT_EQ(hd_cell_set_int(there.cell, 3, NULL), HD_OK);
    EXPECT(is_settled(&there));
    EXPECT_EQ(client_open(&here, &local), HD_OK);
    EXPECT_EQ(number_of(&here), 3);
    EXPECT_EQ(hd_cell_set_int(here.cell, 4, NULL), HD_OK);
    EXPECT(is_settled(&here));
    wait_for(&there, 4);
    client_end(&here);
    client_end(&there);
    site_end(&site);
}

TEST(o02_a_server_that_is_closed_and_opened_again_loses_no_commit)
{
    struct site site;
    struct client client;
    site_begin(&site, true);
    client_begin(&client, &site);
    EXPECT_EQ(hd_cell_set_int(client.cell, 1, NULL), HD_OK);
    EXPECT(is_settled(&client));
    const uint16_t port = server_port(site.server);
    server_close(site.server);
    EXPECT_EQ(hd_cell_increment(client.cell, 1, NULL), HD_OK);
    uint64_t now = 0;
    EXPECT_EQ(hd_runtime_now(client.runtime, &now), HD_OK);
    EXPECT_EQ(hd_runtime_settled(client.runtime, now + 50, NULL), HD_TIMEOUT);
    const struct server_options options = {
        .folder = site.folder,
        .is_insecure = true,
        .port = port,
    };
    EXPECT_EQ(server_open(&options, &site.server, NULL), ERR_OK);
    EXPECT(is_settled(&client));
    EXPECT_EQ(number_of(&client), 2);
    client_end(&client);
    client_begin(&client, &site);
    EXPECT_EQ(number_of(&client), 2);
    client_end(&client);
    site_end(&site);
}

TEST(a_session_name_is_used_by_one_client_at_a_time)
{
    struct site site;
    struct client first;
    struct client second;
    site_begin(&site, true);
    const hd_runtime_options options = {
        .directory = site.url,
        .session = "mine",
    };
    EXPECT_EQ(client_open(&first, &options), HD_OK);
    EXPECT_EQ(client_open(&second, &options), HD_SESSION_IN_USE);
    EXPECT(strstr(second.error.text, "another client of the server") != NULL);
    EXPECT_EQ(hd_cell_set_int(first.cell, 1, NULL), HD_OK);
    EXPECT(is_settled(&first));
    client_end(&first);
    hd_status status = HD_SESSION_IN_USE;
    while (status == HD_SESSION_IN_USE) { /* until the end has arrived */
        client_end(&second);
        status = client_open(&second, &options);
    }
    EXPECT_EQ(status, HD_OK);
    EXPECT_EQ(hd_cell_set_int(second.cell, 2, NULL), HD_OK);
    EXPECT(is_settled(&second));
    client_end(&second);
    site_end(&site);
}

TEST(a_read_only_runtime_reads_and_follows)
{
    struct site site;
    struct client writer;
    struct client reader;
    site_begin(&site, true);
    client_begin(&writer, &site);
    EXPECT_EQ(hd_cell_set_int(writer.cell, 5, NULL), HD_OK);
    EXPECT(is_settled(&writer));
    const hd_runtime_options options = {
        .directory = site.url,
        .read_only = true,
    };
    EXPECT_EQ(client_open(&reader, &options), HD_OK);
    EXPECT_EQ(number_of(&reader), 5);
    EXPECT_EQ(hd_cell_set_int(reader.cell, 6, NULL), HD_READ_ONLY);
    EXPECT_EQ(hd_cell_set_int(writer.cell, 6, NULL), HD_OK);
    EXPECT(is_settled(&writer));
    wait_for(&reader, 6);
    client_end(&reader);
    client_end(&writer);
    site_end(&site);
}

/* A server with keys: its own key owns every space. */
TEST(an_identity_is_proven_with_a_key)
{
    struct site site;
    struct client client;
    char owner[300];
    char stranger[300];
    struct key key;
    site_begin(&site, false);
    (void)snprintf(owner, sizeof owner, "%s/server.key", site.folder);
    (void)snprintf(stranger, sizeof stranger, "%s/other.key", site.folder);
    EXPECT_EQ(key_make(&key, NULL), ERR_OK);
    EXPECT_EQ(key_file_write(stranger, &key, false, NULL), ERR_OK);
    key_release(&key);

    hd_runtime_options options = {.directory = site.url, .key_file = owner};
    EXPECT_EQ(client_open(&client, &options), HD_OK);
    EXPECT_EQ(hd_cell_set_int(client.cell, 1, NULL), HD_OK);
    EXPECT(is_settled(&client));
    EXPECT_EQ(hd_runtime_open_space(client.runtime, "other", NULL), HD_OK);
    client_end(&client);

    options.key_file = stranger;
    EXPECT_EQ(client_open(&client, &options), HD_ACCESS);
    options.key_file = NULL;
    EXPECT_EQ(client_open(&client, &options), HD_UNAUTHENTICATED);
    options.token = "nonsense";
    EXPECT_EQ(client_open(&client, &options), HD_UNAUTHENTICATED);
    options.token = NULL;
    options.key_file = "/nonexistent/key";
    EXPECT(client_open(&client, &options) != HD_OK);
    EXPECT(client.error.text[0] != '\0');
    site_end(&site);
}

TEST(an_address_must_be_one)
{
    static const char *const urls[] = {"ws://", "ws://a b", "wss://:x"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct client client;
        const hd_runtime_options options = {.directory = urls[i]};
        EXPECT_EQ(client_open(&client, &options), HD_ARGUMENT);
        EXPECT(client.error.text[0] != '\0');
    }
}
