/** Names of steps of paths: `1_/pricing`. */

export type PathNode = { readonly name: string; readonly step: number; readonly text: string }

/** `1_/pricing` → step 1, `/pricing`. */
export function readPathNode(name: string): PathNode {
  const [, step = '1', text = name] = /^(\d+)_([^]*)$/.exec(name) ?? []
  return { name, step: Number(step), text }
}
