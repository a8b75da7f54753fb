/** The path fold as a scalar of the engine: one row is one actor. */
import type { ScalarFunction } from '../../hogql/scalars/definition.ts'
import { readOnce } from './definition.ts'
import { foldPaths, type PathFold } from './paths.ts'

const readFold = readOnce<PathFold>((text) => JSON.parse(text))

/** Bits for a step's number, at most twenty, and whether it is the last. */
export const PATH_STEP_BITS = 6

/**
 * Three numbers per step: duration (microseconds) with its number and whether it is the last, in 5
 * bits and 1; the previous item (-1 for none); the item.
 */
export const PATH_SCALARS: readonly ScalarFunction[] = [
  {
    name: 'js_path_steps',
    takes: ['text', { list: 'number' }, { list: 'number' }],
    fixed: 1,
    gives: { list: 'number' },
    compute: (text: string, at_us: readonly number[], codes: readonly number[]) =>
      foldPaths({ at_us, codes }, readFold(text)).flatMap(
        ({ step, item, before, took_us, is_last }) => [
          took_us * 2 ** PATH_STEP_BITS + step * 2 + (is_last ? 1 : 0),
          before ?? -1,
          item,
        ],
      ),
  },
]
