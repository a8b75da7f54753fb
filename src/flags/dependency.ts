/** The order in which things that depend on one another can be worked out. */

export type DependencyOrder = {
  /** Positions, each after everything it depends on. Those in a cycle, or behind one, are not in it. */
  readonly order: readonly number[]
  /** Per position how long its longest chain of dependencies is; -1 for those in or behind a cycle. */
  readonly depth: readonly number[]
}

/**
 * Orders positions by what each depends on; `depends_on[i]` lists positions and may repeat them.
 * Independent ones keep their order. Linear, and not recursive: chains may be as long as the list.
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
  // `order` grows while it is walked: whatever has its last dependency placed is placed behind it.
  for (const position of order) {
    const next_depth = (depth[position] ?? 0) + 1
    for (const dependant of dependants[position] ?? []) {
      depth[dependant] = Math.max(depth[dependant] ?? 0, next_depth)
      const left = (open[dependant] ?? 0) - 1
      open[dependant] = left
      if (left === 0) order.push(dependant)
    }
  }
  const placed = new Set(order)
  return { order, depth: depth.map((length, position) => (placed.has(position) ? length : -1)) }
}
