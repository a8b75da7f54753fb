/** Deletes events of deleted persons from the log, a piece at a time. */
import type { Database } from 'bun:sqlite'

/** How far a removal has come: events after `after_seq` are still to be looked at. */
export type RemovalPlace = { readonly removal_id: number; readonly after_seq: number }

/** Events of an id, and those stored under a person unless their id belongs to somebody else today. */
const DELETE_SOME = `
delete from events
where seq in (
  select e.seq
  from events e join event_removals r on r.id = $id
  where e.seq > $after and e.seq <= $until and e.seq <= r.up_to_seq and e.project_id = r.project_id
    and (
      e.distinct_id in (select value from json_each(r.distinct_ids))
      or hex(e.person_id) in (select upper(value) from json_each(r.person_ids))
        and e.distinct_id not in (
          select o.distinct_id from distinct_id_overrides o where o.project_id = r.project_id
        )
    )
)`

/** Looks at the next `rows_max` events of the log. Where to go on, or null when all are done. */
export function removeSome(
  db: Database,
  { removal_id, after_seq }: RemovalPlace,
  rows_max: number,
): RemovalPlace | null {
  const bounds = db
    .query<{ first: number | null; up_to_seq: number }, [number, number]>(
      `select (select min(seq) from events where seq > ?2) as first, up_to_seq
from event_removals
where id = ?1`,
    )
    .get(removal_id, after_seq)
  if (bounds === null || bounds.first === null || bounds.first > bounds.up_to_seq) return null
  const until = bounds.first + rows_max - 1
  db.query(DELETE_SOME).run({ id: removal_id, after: bounds.first - 1, until })
  return { removal_id, after_seq: until }
}

/** Nothing of the removed events is left anywhere. */
export function finishRemoval(db: Database, removal_id: number): void {
  db.query('delete from event_removals where id = ?').run(removal_id)
}
