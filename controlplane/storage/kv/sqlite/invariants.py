"""What must hold in a store's file, as statements that find what breaks it. Run by ``storage.maintenance.check``."""

from __future__ import annotations

from controlplane.storage.kv.embedded.log import FIRST_REVISION

__all__ = ["INVARIANTS", "META", "NEWEST"]

NEWEST = "(SELECT max(meta.revision, (SELECT coalesce(max(revision), 0) FROM log)) FROM meta)"
"""The store's revision, as an expression."""

META = f"""
    SELECT 'revision ' || {NEWEST} || ', compacted ' || compacted || ', pruned ' || pruned FROM meta
    WHERE typeof(revision) <> 'integer' OR typeof(compacted) <> 'integer' OR typeof(pruned) <> 'integer'
        OR compacted > {NEWEST} OR pruned > compacted OR compacted < 0 OR cluster_id = ''
    UNION ALL SELECT count(*) || ' rows' FROM meta HAVING count(*) <> 1
"""  # noqa: S608  # constants only

GAPS = f"""
    SELECT expected - kept || ' of ' || expected FROM (
        SELECT {NEWEST} - max(compacted, {FIRST_REVISION}) AS expected,
            (SELECT count(*) FROM log WHERE log.revision > meta.compacted) AS kept
        FROM meta
    )
    WHERE kept <> expected
"""  # noqa: S608  # constants only

ROWS = """
    SELECT 'revision ' || revision FROM log
    WHERE prev_revision >= revision OR CASE WHEN version = 0
        THEN value IS NOT NULL OR create_revision <> 0 OR lease <> 0 OR prev_revision = 0
        ELSE value IS NULL OR version < 0 OR create_revision > revision OR create_revision <= 0
            OR (version = 1) <> (create_revision = revision) OR (version = 1) <> (prev_revision = 0)
        END
"""

CHAINS = """
    SELECT 'revision ' || revision FROM (
        SELECT revision, prev_revision, version, create_revision, lag(revision) OVER chain AS before,
            lag(version) OVER chain AS before_version, lag(create_revision) OVER chain AS before_created
        FROM log WINDOW chain AS (PARTITION BY key ORDER BY revision)
    )
    WHERE before IS NOT NULL AND CASE WHEN before_version = 0
        THEN prev_revision <> 0
        ELSE prev_revision <> before
            OR version > 0 AND (version <> before_version + 1 OR create_revision <> before_created)
        END
"""

REPLACED = """
    SELECT 'revision ' || log.revision FROM log, meta
    WHERE log.prev_revision > 0 AND log.revision > meta.compacted
        AND NOT EXISTS (SELECT 1 FROM log AS before WHERE before.revision = log.prev_revision)
"""

PRUNED = """
    SELECT 'revision ' || log.revision FROM log, meta
    WHERE log.revision <= meta.pruned AND (log.version = 0 OR EXISTS (
        SELECT 1 FROM log AS later
        WHERE later.key = log.key AND later.revision > log.revision AND later.revision <= meta.pruned
    ))
"""

LEASES = """
    SELECT 'lease ' || lease
    FROM (SELECT max(revision), version, lease FROM log GROUP BY key HAVING version > 0 AND lease <> 0)
    WHERE lease NOT IN (SELECT id FROM lease)
"""

INVARIANTS: tuple[tuple[str, str], ...] = (
    ("the store's own row is not as it must be", META),
    ("writes are missing after the compaction floor", GAPS),
    ("a write contradicts itself", ROWS),
    ("a write does not follow the one before it", CHAINS),
    ("what a write replaced is missing, though not forgotten", REPLACED),
    ("what was pruned is still there", PRUNED),
    ("a live key's lease is missing", LEASES),
)
"""(what is wrong, statement that selects one text a case). Linear in the log's rows, but for the walks by key."""
