/** Random expressions of HogQL by type. */

import { PLAIN, RECIPES } from './random-recipes.ts'
import {
  type Both,
  both,
  type Chance,
  instant,
  type Kind,
  type Make,
  type Names,
} from './random-text.ts'

/** Any expression of a kind over some names. */
export function expressionOf(kind: Kind, names: Names, chance: Chance, depth = 2): Both {
  const own = names.filter((known) => known.kind === kind)
  const is_leaf = depth <= 0 || chance.below(5) < 2
  if (is_leaf && (own.length > 0 || kind === 'time'))
    return own.length > 0 ? both`${chance.one(own).name}` : instant('2024-03-31 00:30:00')
  if (depth <= 0) return both`${chance.one(PLAIN[kind])}`
  const make: Make = (inner) => expressionOf(inner, names, chance, depth - 1)
  return chance.one(RECIPES[kind])(make, chance, names)
}
