/** POWER: binding powers of the operators, from loosest to tightest. */

/** An operand takes every operator after it whose power is at least the given one. */
export const POWER = {
  any: 0,
  alias: 10,
  ternary: 20,
  or: 30,
  and: 40,
  not: 50,
  between: 60,
  nullish: 70,
  null_safe: 80,
  distinct: 90,
  is_null: 100,
  compare: 110,
  add: 120,
  multiply: 130,
  negate: 140,
  postfix: 150,
} as const
