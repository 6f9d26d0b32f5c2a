/* The tables, version by version. */

#include "store/schema.h"

#include "store/waiting.h"

/* waiting_number of waiting.c, of the row `d` of a document. */
#define WAITING_NUMBER "(d.head_seq * 131072 + d.head_index)"
_Static_assert(WAITING_PER_COMMIT == 131072, "as in WAITING_NUMBER");

/* One entry per version, from an empty file on.
 *
 * Numbers stand for names that repeat in every row (branch, session, document),
 * and every table is ordered by how it is queried; `sqlite3 FILE` shows the
 * rest: documents and patches are canonical JSON text.
 *
 * The check of a revision's operation is spelled out, because for "IN" SQLite
 * builds a tree of the three names for each row that is inserted. */
static const char *const migrations[SCHEMA_VERSION] = {
    "CREATE TABLE space("
    "  name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO space VALUES('horizon', 0);"

    "CREATE TABLE branch("
    "  branch INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    "  parent INTEGER REFERENCES branch, fork_seq INTEGER NOT NULL,"
    "  status TEXT NOT NULL CHECK(status IN ('active', 'deleted')),"
    "  record INTEGER NOT NULL, chain BLOB NOT NULL,"
    "  closed_record INTEGER, closed_chain BLOB);"
    "INSERT INTO branch"
    "  VALUES(0, '', NULL, 0, 'active', 0, zeroblob(32), NULL, NULL);"

    "CREATE TABLE session("
    "  session INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);"

    "CREATE TABLE \"commit\"("
    "  seq INTEGER PRIMARY KEY, record INTEGER NOT NULL,"
    "  branch INTEGER NOT NULL, session INTEGER NOT NULL,"
    "  local_seq INTEGER NOT NULL, digest BLOB NOT NULL,"
    "  at INTEGER NOT NULL, context TEXT, resolution TEXT,"
    "  documents TEXT NOT NULL, chain BLOB NOT NULL);"
    "CREATE UNIQUE INDEX commit_by_session ON \"commit\"(session, local_seq);"
    "CREATE INDEX commit_by_branch ON \"commit\"(branch, seq)"
    "  WHERE branch > 0;"

    "CREATE TABLE document("
    "  document INTEGER PRIMARY KEY, branch INTEGER NOT NULL,"
    "  scope TEXT NOT NULL, id TEXT NOT NULL,"
    "  head_seq INTEGER NOT NULL, head_index INTEGER NOT NULL,"
    "  op TEXT NOT NULL, base_seq INTEGER NOT NULL,"
    "  tail_count INTEGER NOT NULL, tail_bytes INTEGER NOT NULL,"
    "  base_bytes INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX document_by_id ON document(branch, scope, id);"

    "CREATE TABLE revision("
    "  document INTEGER NOT NULL, seq INTEGER NOT NULL,"
    "  op_index INTEGER NOT NULL,"
    "  op TEXT NOT NULL CHECK(op = 'set' OR op = 'patch' OR op = 'delete'),"
    "  data TEXT, trace TEXT,"
    "  PRIMARY KEY(document, seq, op_index)) WITHOUT ROWID;"
    "CREATE INDEX revision_base ON revision(document, seq, op_index)"
    "  WHERE op <> 'patch';"

    "CREATE TABLE snapshot("
    "  document INTEGER NOT NULL, seq INTEGER NOT NULL, value TEXT NOT NULL,"
    "  PRIMARY KEY(document, seq)) WITHOUT ROWID;",

    /* The registry (registry.h). Statuses are names, so that they outlive the
     * order of an enum. */
    "CREATE TABLE environment("
    "  id TEXT PRIMARY KEY, status TEXT NOT NULL, since INTEGER NOT NULL,"
    "  managed INTEGER NOT NULL, kept INTEGER NOT NULL, workspace TEXT,"
    "  attempt TEXT, provision TEXT, updated_at INTEGER NOT NULL)"
    "  WITHOUT ROWID;"
    "CREATE INDEX environment_unsettled ON environment(status)"
    "  WHERE status NOT IN ('ready', 'destroyed');"

    "CREATE TABLE thread("
    "  id TEXT PRIMARY KEY, status TEXT NOT NULL, since INTEGER NOT NULL,"
    "  environment TEXT NOT NULL REFERENCES environment, parent TEXT,"
    "  run TEXT, input TEXT, archived_at INTEGER, deleted_at INTEGER,"
    "  attention_at INTEGER NOT NULL, holds INTEGER NOT NULL,"
    "  updated_at INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX thread_by_environment ON thread(environment);"
    "CREATE INDEX thread_unsettled ON thread(status)"
    "  WHERE status NOT IN ('idle', 'error');"

    "CREATE TABLE message("
    "  thread TEXT NOT NULL REFERENCES thread, number INTEGER NOT NULL,"
    "  text TEXT NOT NULL, PRIMARY KEY(thread, number)) WITHOUT ROWID;"

    "CREATE TABLE schedule("
    "  thread TEXT NOT NULL REFERENCES thread, name TEXT NOT NULL,"
    "  next_at INTEGER NOT NULL, every_ms INTEGER NOT NULL,"
    "  text TEXT NOT NULL, PRIMARY KEY(thread, name)) WITHOUT ROWID;"
    "CREATE INDEX schedule_by_time ON schedule(next_at);",

    /* Observations (observations.h). The rows of a piece lie together; what a
     * run writes is in a table of its own, whose rows are as small as they can
     * be. An edge is four times its place and what is done there. */
    "CREATE TABLE fingerprint("
    "  fingerprint INTEGER PRIMARY KEY, implementation BLOB NOT NULL,"
    "  runtime BLOB NOT NULL, schema BLOB NOT NULL,"
    "  UNIQUE(implementation, runtime, schema));"

    "CREATE TABLE piece("
    "  piece INTEGER PRIMARY KEY, branch INTEGER NOT NULL, id TEXT,"
    "  generation INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX piece_by_id ON piece(branch, id);"

    "CREATE TABLE action("
    "  piece INTEGER NOT NULL, action INTEGER NOT NULL,"
    "  generation INTEGER NOT NULL, name BLOB NOT NULL, scope TEXT NOT NULL,"
    "  kind INTEGER NOT NULL, fingerprint INTEGER NOT NULL,"
    "  sets BLOB NOT NULL, gates TEXT, sum INTEGER NOT NULL,"
    "  PRIMARY KEY(piece, action)) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX action_by_name ON action(piece, name, scope);"

    "CREATE TABLE run("
    "  action INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER,"
    "  mark INTEGER NOT NULL,"
    "  error BLOB, elsewhere TEXT);"

    "CREATE TABLE place("
    "  place INTEGER PRIMARY KEY, space TEXT NOT NULL, scope TEXT NOT NULL,"
    "  id TEXT NOT NULL, path TEXT NOT NULL);"
    "CREATE UNIQUE INDEX place_by_address ON place(space, scope, id, path);"

    "CREATE TABLE edge("
    "  piece INTEGER NOT NULL, action INTEGER NOT NULL, edge INTEGER NOT NULL,"
    "  PRIMARY KEY(piece, action, edge)) WITHOUT ROWID;"
    "CREATE INDEX edge_by_place ON edge(edge);"

    "CREATE TABLE mirror("
    "  mirror INTEGER PRIMARY KEY, space TEXT NOT NULL, branch TEXT NOT NULL,"
    "  piece TEXT NOT NULL, here INTEGER NOT NULL, seq INTEGER NOT NULL,"
    "  UNIQUE(space, branch, piece));"
    "CREATE TABLE mirror_edge("
    "  mirror INTEGER NOT NULL, edge INTEGER NOT NULL,"
    "  PRIMARY KEY(mirror, edge)) WITHOUT ROWID;"
    "CREATE INDEX mirror_by_place ON mirror_edge(edge);",

    /* To explain runs (run_history.h): how often it ran, the watermark of the
     * run before, and the commit of the last one. */
    "ALTER TABLE run ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE run ADD COLUMN before INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE run ADD COLUMN landed INTEGER NOT NULL DEFAULT 0;",

    /* Copies of what is in the rows of neighbouring actions (images.h). */
    "CREATE TABLE image("
    "  piece INTEGER NOT NULL, last INTEGER NOT NULL, first INTEGER NOT NULL,"
    "  generation INTEGER NOT NULL, actions INTEGER NOT NULL,"
    "  data BLOB NOT NULL, PRIMARY KEY(piece, last)) WITHOUT ROWID;",

    /* The documents that hold an event (waiting.h). */
    "CREATE TABLE waiting(document INTEGER PRIMARY KEY);",

    /* The documents that hold an event with a due time (waiting.h). */
    "CREATE TABLE timer("
    "  document INTEGER PRIMARY KEY, branch INTEGER NOT NULL,"
    "  due INTEGER NOT NULL);"
    "CREATE INDEX timer_by_due ON timer(branch, due);",

    /* Actions have other names (digest_of_name), so nobody would ask for those
     * of before: what was remembered of them goes, and they run once. */
    "DELETE FROM image; DELETE FROM edge; DELETE FROM run; DELETE FROM action;",

    /* Events in the order of sending, also if an id is used again (waiting-2 of
     * waiting.h). */
    "ALTER TABLE waiting ADD COLUMN number INTEGER NOT NULL DEFAULT 0;"
    "UPDATE waiting SET number = coalesce("
    "  (SELECT " WAITING_NUMBER " FROM document d"
    "   WHERE d.document = waiting.document), 0);"
    "CREATE UNIQUE INDEX waiting_by_number ON waiting(number, document);",
};

/* What an older file that is only read lacks (SCHEMA_READABLE), or has and is
 * not to be seen: a table of the connection comes before the file's. */
static const char *const substitutes[] = {
    "CREATE TEMP TABLE waiting(document INTEGER PRIMARY KEY, number)",
    "CREATE TEMP TABLE timer(document INTEGER PRIMARY KEY, branch, due)",
    "CREATE TEMP TABLE action(piece, action, generation, name, scope, kind,"
    " fingerprint, sets, gates, sum);"
    "CREATE TEMP TABLE image(piece, last, first, generation, actions, data)",
    "CREATE TEMP VIEW IF NOT EXISTS waiting AS"
    " SELECT w.document AS document, " WAITING_NUMBER " AS number"
    " FROM main.waiting w JOIN main.document d USING(document)",
};

static enum err read_pragma(struct database *database,
                            const char *sql,
                            int64_t *out,
                            struct err_detail *detail)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(database->db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
    }
    if (code == SQLITE_ROW) {
        *out = sqlite3_column_int64(stmt, 0);
    }
    (void)sqlite3_finalize(stmt);
    return code == SQLITE_ROW ? ERR_OK : database_error(database, code, detail);
}

/* Refuses files that are not ours to change. */
static enum err check_file(struct database *database,
                           int64_t *version,
                           struct err_detail *detail)
{
    int64_t application = 0;
    int64_t tables = 0;
    enum err err =
        read_pragma(database, "PRAGMA application_id", &application, detail);
    if (err == ERR_OK) {
        err = read_pragma(database, "PRAGMA user_version", version, detail);
    }
    if (err == ERR_OK) {
        err = read_pragma(database,
                          "SELECT count(*) FROM sqlite_schema",
                          &tables,
                          detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    if (tables > 0 && application != SCHEMA_APPLICATION_ID) {
        return err_set(detail,
                       ERR_CORRUPT,
                       "the file is a database of another program");
    }
    if (*version > SCHEMA_VERSION || *version < 0) {
        return err_set(detail,
                       ERR_STORE,
                       "the file has schema version %lld, and this program "
                       "supports up to %d: use a newer program",
                       (long long)*version,
                       SCHEMA_VERSION);
    }
    return ERR_OK;
}

static enum err migrate(struct database *database,
                        int64_t from,
                        struct err_detail *detail)
{
    char stamp[96];
    (void)sqlite3_snprintf((int)sizeof stamp,
                           stamp,
                           "PRAGMA user_version = %d;"
                           "PRAGMA application_id = %d",
                           (int)from + 1,
                           SCHEMA_APPLICATION_ID);
    enum err err = database_run(database, migrations[from], detail);
    if (err == ERR_OK) {
        err = database_run(database, stamp, detail);
    }
    return err;
}

static enum err substitute(struct database *database,
                           int64_t from,
                           struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (int64_t i = from; i < SCHEMA_VERSION && err == ERR_OK; i++) {
        err = database_run(database, substitutes[i - SCHEMA_READABLE], detail);
    }
    return err;
}

enum err schema_open(struct database *database, struct err_detail *detail)
{
    int64_t version = 0;
    enum err err = check_file(database, &version, detail);
    if (err == ERR_OK) {
        err = database_set_journal(database, detail);
    }
    if (err != ERR_OK || version == SCHEMA_VERSION) {
        return err;
    }
    if (database->read_only && version >= SCHEMA_READABLE) {
        return substitute(database, version, detail);
    }
    if (database->read_only) {
        return err_set(detail,
                       ERR_READ_ONLY,
                       "the file has schema version %lld, and this program "
                       "reads %d: open it once with write access to upgrade it",
                       (long long)version,
                       SCHEMA_VERSION);
    }
    err = database_begin(database, detail);
    if (err != ERR_OK) {
        return err;
    }
    /* Another process may have been faster. */
    err = check_file(database, &version, detail);
    while (err == ERR_OK && version < SCHEMA_VERSION) {
        err = migrate(database, version, detail);
        version++;
    }
    return database_end(database, err, detail);
}
