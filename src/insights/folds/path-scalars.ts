/** The path fold as a scalar of the engine: one row is one actor. */
import type { ScalarFunction } from '../../hogql/scalars/definition.ts'
import { readInteger, readMembers, readOnce, refuseMember, WINDOW_MAX_US } from './definition.ts'
import { foldPaths, type PathFold } from './paths.ts'

const readFold = readOnce(readPathFold)

/** Bits for a step's number, at most twenty, and whether it is the last. */
export const PATH_STEP_BITS = 6

/** A step's number has five bits. */
const STEP_LIMIT_MAX = 2 ** (PATH_STEP_BITS - 1) - 1

function readPathFold(text: string): PathFold {
  const members = readMembers(text)
  const isSet = (name: 'has_end' | 'has_start'): boolean => {
    const value = members[name]
    if (typeof value === 'boolean') return value
    throw refuseMember(name)
  }
  return {
    gap_us: readInteger(members, 'gap_us', [0, WINDOW_MAX_US]),
    step_limit: readInteger(members, 'step_limit', [1, STEP_LIMIT_MAX]),
    has_start: isSet('has_start'),
    has_end: isSet('has_end'),
  }
}

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
