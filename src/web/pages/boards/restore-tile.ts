/** The order of a board after one of its tiles was removed and put back. */

type OrderedTile = {
  readonly id: number
  readonly layouts: object
  readonly insight: { readonly id: number } | null
  readonly text: { readonly body: string } | null
}

/**
 * The tiles that a board has `now`, in the order `before` a removed one was removed, with the one that replaces it in its
 * place and size. Others may have been removed, restored and added since: those are last.
 */
export function restoreTile<Tile extends OrderedTile>(
  before: readonly Tile[],
  removed: Tile,
  now: readonly Tile[],
): readonly Tile[] {
  const known = new Set(before.map(({ id }) => id))
  const present = new Set(now.map(({ id }) => id))
  const added = now.findLast((one) => !known.has(one.id) && isSameContent(one, removed))
  const restored = added === undefined ? [] : [{ ...added, layouts: removed.layouts }]
  const old = before.flatMap((one) => {
    if (one.id === removed.id) return restored
    return present.has(one.id) ? [one] : []
  })
  const placed = new Set(old.map(({ id }) => id))
  return [...old, ...now.filter(({ id }) => !placed.has(id))]
}

const isSameContent = (one: OrderedTile, other: OrderedTile): boolean =>
  one.insight?.id === other.insight?.id && one.text?.body === other.text?.body
