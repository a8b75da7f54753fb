/** Members of bodies that were sent; the families' readers of bodies share it. */

/** Removes undefined members: an undefined member was not sent and stays as stored, null is a value. */
export function sentMembers<Members extends object>(
  members: Members,
): { readonly [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Partial<{ [Name in keyof Members]: Exclude<Members[Name], undefined> }>
}

/** Reads a text that null clears, as scripts and Terraform send it: the stored text is never null. */
export function clearableText(text: string | null | undefined): string | undefined {
  return text === null ? '' : text
}
