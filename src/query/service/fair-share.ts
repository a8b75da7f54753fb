/** Fair sharing of a limited resource among projects. */

/**
 * True when a project may take no more: all `max` units are taken, and the project has its equal part of them. `taken`
 * has the project's id for each unit. A project below its part still gets one, so the sum may exceed `max` a little.
 */
export function isOverShare(taken: readonly number[], project_id: number, max: number): boolean {
  if (taken.length < max) return false
  const projects = new Set([...taken, project_id])
  const used = taken.filter((other) => other === project_id).length
  return used >= max / projects.size
}
