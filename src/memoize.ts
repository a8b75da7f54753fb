/** Values that are made when they are first needed. */

/** Memoizes a function without arguments; a call that threw is repeated. */
export function memoizeValue<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
