/** Deletes events of deleted persons from the log, a piece at a time. */
import type { Database } from 'bun:sqlite'

/** How far a removal has come: events after `after_seq` are still to be looked at. */
export type RemovalPosition = { readonly removal_id: number; readonly after_seq: number }

/**
 * Events of an id, and those stored under a person unless their id belongs to somebody else today. The lists are bound,
 * so that each is read once for all rows: some persons have a hundred thousand ids.
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

/** Looks at the next `rows_max` events of the log. Where to go on, or null when all are done. */
export function removeSome(
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
  const { up_to_seq, ...which } = removal
  const until = Math.min(first + rows_max - 1, up_to_seq)
  db.query(DELETE_SOME).run({ ...which, after: first - 1, until })
  return { removal_id, after_seq: until }
}

/** Nothing of the removed events is left anywhere. */
export function finishRemoval(db: Database, removal_id: number): void {
  db.query('delete from event_removals where id = ?').run(removal_id)
}
