/** What is limited is shared: whoever has less than their part of it gets some even when all of it is taken. */

/**
 * True when no more is for a project: everything is taken, and it has its part of it. `taken` names a project for each
 * place that is taken. One that came late gets its part on top, so a few projects may together have a little more than
 * `max`.
 */
export function isOverShare(taken: readonly number[], project_id: number, max: number): boolean {
  if (taken.length < max) return false
  const projects = new Set([...taken, project_id])
  const own = taken.filter((other) => other === project_id).length
  return own >= max / projects.size
}
