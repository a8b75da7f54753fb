/** The filters of a list, made from the parameters that a request names. */

/** Makes the filters whose parameter has a value; an empty one counts as missing. */
export function makeFilters<Filter>(
  filters: Readonly<Record<string, (value: string) => Filter>>,
  parameters: { readonly get: (name: string) => string | null | undefined },
): readonly Filter[] {
  return Object.entries(filters).flatMap(([name, makeFilter]) => {
    const value = parameters.get(name) ?? ''
    return value === '' ? [] : [makeFilter(value)]
  })
}
