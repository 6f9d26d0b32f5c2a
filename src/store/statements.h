/* A table of every SQL statement of the store, for X(name, sql). Prepared once
 * a connection, when first used. */

X(BEGIN, "BEGIN IMMEDIATE")
X(BEGIN_READ, "BEGIN")
X(COMMIT, "COMMIT")
X(ROLLBACK, "ROLLBACK")
X(DATA_VERSION, "PRAGMA data_version")

/* The space. */
X(HORIZON_GET, "SELECT value FROM space WHERE name = 'horizon'")
X(HORIZON_SET, "UPDATE space SET value = ?1 WHERE name = 'horizon'")

/* Branches. The main one has the number 0. */
X(BRANCH_ALL,
  "SELECT branch, name, parent, fork_seq, status FROM branch ORDER BY branch")
X(BRANCH_INSERT,
  "INSERT INTO branch(branch, name, parent, fork_seq, status, record, chain)"
  " VALUES(?1, ?2, ?3, ?4, 'active', ?5, ?6)")
X(BRANCH_DELETE,
  "UPDATE branch SET status = 'deleted', closed_record = ?2,"
  " closed_chain = ?3 WHERE branch = ?1")
X(BRANCH_LAST_RECORD,
  "SELECT record, chain FROM branch UNION ALL SELECT closed_record,"
  " closed_chain FROM branch WHERE closed_record IS NOT NULL"
  " ORDER BY record DESC LIMIT 1")
X(BRANCH_RECORDS,
  "SELECT record, branch, chain, 0 FROM branch WHERE branch > 0 UNION ALL"
  " SELECT closed_record, branch, closed_chain, 1 FROM branch"
  " WHERE closed_record IS NOT NULL ORDER BY record")
X(MAIN_HEAD,
  "SELECT seq FROM \"commit\" WHERE branch = 0 ORDER BY seq DESC LIMIT 1")
X(BRANCH_HEAD,
  "SELECT max(seq) FROM \"commit\" WHERE branch = ?1"
  " AND branch > 0")

/* Sessions. */
X(SESSION_FIND,
  "SELECT session, (SELECT local_seq FROM \"commit\" c"
  " WHERE c.session = s.session ORDER BY local_seq DESC LIMIT 1)"
  " FROM session s WHERE key = ?1")
X(SESSION_INSERT, "INSERT INTO session(key) VALUES(?1)")

/* Commits. */
X(COMMIT_LAST,
  "SELECT seq, record, chain FROM \"commit\" ORDER BY seq DESC LIMIT 1")
X(COMMIT_AT, "SELECT record, chain FROM \"commit\" WHERE seq = ?1")
X(COMMIT_FIND,
  "SELECT seq, digest, resolution, documents FROM \"commit\""
  " WHERE session = ?1 AND local_seq = ?2")
X(COMMIT_INSERT,
  "INSERT INTO \"commit\"(seq, record, branch, session, local_seq, digest, at,"
  " context, resolution, documents, chain)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")
X(COMMIT_LIST,
  "SELECT c.seq, c.record, b.name, s.key, c.local_seq, c.digest, c.at,"
  " c.context, c.resolution, c.documents, c.chain FROM \"commit\" c"
  " JOIN branch b USING(branch) JOIN session s USING(session)"
  " WHERE c.seq > ?1 ORDER BY c.seq")

/* Documents: one row a branch, scope and id, with where its history ends. */
X(DOCUMENT_FIND,
  "SELECT document, head_seq, head_index, op, base_seq, tail_count,"
  " tail_bytes, base_bytes FROM document"
  " WHERE branch = ?1 AND scope = ?2 AND id = ?3")
X(DOCUMENT_INSERT,
  "INSERT INTO document(branch, scope, id, head_seq, head_index, op, base_seq,"
  " tail_count, tail_bytes, base_bytes)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")
X(DOCUMENT_UPDATE,
  "UPDATE document SET head_seq = ?2, head_index = ?3, op = ?4, base_seq = ?5,"
  " tail_count = ?6, tail_bytes = ?7, base_bytes = ?8 WHERE document = ?1")
X(DOCUMENT_ALL,
  "SELECT document, branch, scope, id FROM document WHERE document > ?1"
  " ORDER BY document LIMIT ?2")
X(DOCUMENT_TAIL,
  "SELECT count(*), coalesce(sum(length(data)), 0) FROM revision"
  " WHERE document = ?1 AND op = 'patch' AND seq > max("
  " (SELECT coalesce(max(seq), 0) FROM snapshot WHERE document = ?1),"
  " (SELECT coalesce(max(seq), 0) FROM revision WHERE document = ?1"
  "  AND op <> 'patch'))")
X(DOCUMENT_COUNT, "SELECT count(*) FROM document")
X(DOCUMENT_LIST,
  "SELECT id FROM document WHERE branch = ?1 AND scope = ?2 AND id > ?3"
  " AND op <> 'delete' ORDER BY id LIMIT ?4")

/* Revisions and snapshots. */
X(REVISION_INSERT,
  "INSERT INTO revision(document, seq, op_index, op, data, trace)"
  " VALUES(?1, ?2, ?3, ?4, ?5, ?6)")
X(REVISION_LAST,
  "SELECT seq, op_index, op FROM revision"
  " WHERE document = ?1 AND seq <= ?2"
  " ORDER BY seq DESC, op_index DESC LIMIT 1")
X(REVISION_BASE,
  "SELECT seq, op_index, op, data FROM revision"
  " WHERE document = ?1 AND seq <= ?2 AND op <> 'patch'"
  " ORDER BY seq DESC, op_index DESC LIMIT 1")
X(REVISION_PATCHES,
  "SELECT data FROM revision WHERE document = ?1 AND"
  " (seq, op_index) > (?2, ?3) AND seq <= ?4 AND op = 'patch'"
  " ORDER BY seq, op_index")
X(REVISION_AFTER,
  "SELECT r.seq, r.op, r.data, r.trace, c.session, c.local_seq"
  " FROM revision r JOIN \"commit\" c ON c.seq = r.seq"
  " WHERE r.document = ?1 AND r.seq > ?2 AND r.seq <= ?3"
  " ORDER BY r.seq DESC, r.op_index DESC")
X(REVISION_BASES_AFTER,
  "SELECT r.seq, c.session, c.local_seq"
  " FROM revision r JOIN \"commit\" c ON c.seq = r.seq"
  " WHERE r.document = ?1 AND r.seq > ?2 AND r.seq <= ?3"
  " AND r.op <> 'patch' ORDER BY r.seq DESC, r.op_index DESC")
X(REVISION_GET,
  "SELECT d.id, d.scope, r.op, r.data, r.trace FROM revision r"
  " JOIN document d USING(document)"
  " WHERE r.document = ?1 AND r.seq = ?2 AND r.op_index = ?3")
X(REVISION_COUNT, "SELECT count(*) FROM revision WHERE seq > ?1")
X(REVISION_WHOLE,
  "UPDATE revision SET op = 'set', data = ?4, trace = NULL"
  " WHERE document = ?1 AND seq = ?2 AND op_index = ?3")
X(REVISION_FORGET,
  "DELETE FROM revision WHERE document = ?1"
  " AND (seq, op_index) < (?2, ?3)")
X(SNAPSHOT_ALL,
  "SELECT seq, value FROM snapshot WHERE document = ?1 ORDER BY seq")
X(SNAPSHOT_LAST,
  "SELECT seq, value FROM snapshot WHERE document = ?1 AND seq <= ?2"
  " ORDER BY seq DESC LIMIT 1")
X(SNAPSHOT_INSERT,
  "INSERT OR REPLACE INTO snapshot(document, seq, value) VALUES(?1, ?2, ?3)")
X(SNAPSHOT_FORGET, "DELETE FROM snapshot WHERE document = ?1 AND seq <= ?2")
X(SNAPSHOT_PRUNE,
  "DELETE FROM snapshot WHERE document = ?1 AND seq NOT IN"
  " (SELECT seq FROM snapshot WHERE document = ?1"
  "  ORDER BY seq DESC LIMIT ?2)")

/* Counts, for people. */
X(SNAPSHOT_COUNT, "SELECT count(*) FROM snapshot")
X(SESSION_COUNT, "SELECT count(*) FROM session")
X(PAGE_COUNT, "PRAGMA page_count")

/* SQLite's own check. */
X(INTEGRITY, "PRAGMA integrity_check(20)")
