/** Topological order (Kahn's algorithm), with the length of the longest chain of dependencies. */

type DependencyOrder = {
  /** Positions, each after all its dependencies. Without those in a cycle, or depending on one. */
  readonly order: readonly number[]
  /** Length of the longest chain of dependencies, by position; -1 in a cycle, or depending on one. */
  readonly depth: readonly number[]
}

/**
 * Orders positions by their dependencies; `depends_on[i]` lists positions and may repeat them. Independent positions
 * keep their order. Linear, and not recursive: a chain may be as long as the list.
 */
export function orderByDependency(depends_on: readonly (readonly number[])[]): DependencyOrder {
  const depth = depends_on.map(() => -1)
  const open = depends_on.map((list) => list.length)
  const dependants: number[][] = depends_on.map(() => [])
  depends_on.forEach((list, position) => {
    for (const dependency of list) dependants[dependency]?.push(position)
  })
  const order = [...depends_on.keys()].filter((position) => open[position] === 0)
  for (const position of order) depth[position] = 0
  // `order` grows while it is walked: a position is appended after its last dependency.
  for (const position of order) {
    const next_depth = (depth[position] ?? 0) + 1
    for (const dependant of dependants[position] ?? []) {
      depth[dependant] = Math.max(depth[dependant] ?? 0, next_depth)
      const unplaced = (open[dependant] ?? 0) - 1
      open[dependant] = unplaced
      if (unplaced === 0) order.push(dependant)
    }
  }
  const placed = new Set(order)
  return { order, depth: depth.map((length, position) => (placed.has(position) ? length : -1)) }
}
