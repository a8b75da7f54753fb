/** The catalog of replica files (tables `mirrors` and `mirror_files`): which files each relation has, and as of which change number. */
import type { Database } from 'bun:sqlite'

/** One file with rows of a relation; files of a relation are disjoint. */
export type ReplicaFile = {
  readonly id: string
  readonly project_id: number
  readonly relation: string
  readonly row_count: number
  readonly byte_count: number
  readonly sha256: string
  /** Its property columns, as `writeColumns` writes them. */
  readonly columns: string
}

/** The position of one relation's files. */
export type ReplicaMark = {
  readonly project_id: number
  readonly relation: string
  /** The files contain each row as of this change number. */
  readonly change: number
  /** 1 when there was no newer change at the time of writing. */
  readonly is_whole: number
  readonly created_at: number
}

/** A change of one relation's files. A null `mark` removes all of them. */
export type NewReplicaFiles = {
  readonly project_id: number
  readonly relation: string
  readonly mark: ReplicaMark | null
  readonly added: readonly ReplicaFile[]
  readonly removed: readonly string[]
}

/** Lists the marks of all projects, or of one. */
export function listReplicaMarks(
  db: Database,
  project_id: number | null = null,
): readonly ReplicaMark[] {
  return db
    .query<ReplicaMark, [number | null]>(
      'select * from mirrors where ?1 is null or project_id = ?1 order by project_id, relation',
    )
    .all(project_id)
}

/** Lists the files of all projects, or of one. */
export function listReplicaFiles(
  db: Database,
  project_id: number | null = null,
): readonly ReplicaFile[] {
  return db
    .query<ReplicaFile, [number | null]>(
      'select * from mirror_files where ?1 is null or project_id = ?1 order by project_id, relation, id',
    )
    .all(project_id)
}

/** Applies a change, in the manifest's transaction, so that readers see both together. */
export function recordReplicaFiles(db: Database, replica: NewReplicaFiles): void {
  const { project_id, relation, mark, added, removed } = replica
  const remove = db.query('delete from mirror_files where id = ?')
  for (const id of removed) remove.run(id)
  const insert = db.query('insert into mirror_files values (?, ?, ?, ?, ?, ?, ?)')
  for (const file of added) {
    const { id, row_count, byte_count, sha256, columns } = file
    insert.run(id, project_id, relation, row_count, byte_count, sha256, columns)
  }
  db.query('delete from mirrors where project_id = ? and relation = ?').run(project_id, relation)
  if (mark === null) {
    db.query('delete from mirror_files where project_id = ? and relation = ?').run(
      project_id,
      relation,
    )
    return
  }
  db.query('insert into mirrors values (?, ?, ?, ?, ?)').run(
    project_id,
    relation,
    mark.change,
    mark.is_whole,
    mark.created_at,
  )
}
