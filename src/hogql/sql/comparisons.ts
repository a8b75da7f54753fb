/** COMPARISONS: the functions that compare two values. */
export const COMPARISONS: ReadonlySet<string> = new Set([
  'equals',
  'greater',
  'greaterOrEquals',
  'isDistinctFrom',
  'isNotDistinctFrom',
  'less',
  'lessOrEquals',
  'notEquals',
])
