/** Deletes events of deleted persons from the log, slice by slice. */
import type { Database } from 'bun:sqlite'

/** The progress of a removal: events after `after_seq` are not scanned yet. */
export type RemovalPosition = { readonly removal_id: number; readonly after_seq: number }

/**
 * Deletes events of the removed distinct ids, and events stored under the removed persons unless their distinct id has
 * moved to another person since. The lists are bound as JSON, so that each is parsed once: some persons have a hundred
 * thousand ids.
 */
const DELETE_SOME = `
delete from events
where seq in (
  select e.seq
  from events e
  where e.seq > $after and e.seq <= $until and e.project_id = $project_id
    and (
      e.distinct_id in (select value from json_each($distinct_ids))
      or hex(e.person_id) in (select upper(value) from json_each($person_ids))
        and not exists (
          select 1
          from distinct_id_overrides o
          where o.project_id = $project_id and o.distinct_id = e.distinct_id
        )
    )
)`

type PendingRemoval = {
  readonly project_id: number
  readonly up_to_seq: number
  readonly person_ids: string
  readonly distinct_ids: string
}

/** Scans the next `rows_max` events of the log. Returns the position reached; null at the end. */
export function removeSlice(
  db: Database,
  { removal_id, after_seq }: RemovalPosition,
  rows_max: number,
): RemovalPosition | null {
  const removal = db
    .query<PendingRemoval, [number]>(
      'select project_id, up_to_seq, person_ids, distinct_ids from event_removals where id = ?',
    )
    .get(removal_id)
  const next = db
    .query<{ first: number | null }, [number]>('select min(seq) as first from events where seq > ?')
    .get(after_seq)
  const first = next?.first ?? null
  if (removal === null || first === null || first > removal.up_to_seq) return null
  const { up_to_seq, ...filter } = removal
  const until = Math.min(first + rows_max - 1, up_to_seq)
  db.query(DELETE_SOME).run({ ...filter, after: first - 1, until })
  return { removal_id, after_seq: until }
}

/** Deletes a pending removal, once neither log nor files have its events. */
export function finishRemoval(db: Database, removal_id: number): void {
  db.query('delete from event_removals where id = ?').run(removal_id)
}
