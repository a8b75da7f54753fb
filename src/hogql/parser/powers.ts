/** How tightly the operators bind, from loosest to tightest. */

/** An operand takes every operator behind it that binds at least as tightly as the power asked for. */
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
