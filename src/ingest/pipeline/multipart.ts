/** Reads the text fields of a multipart form, as `curl -F data=…` sends them. */

const TYPE = /^multipart\/form-data\b[^"]{0,200}?boundary=(?:"([^"]{1,70})"|([^;\s]{1,70}))/i
const NAME = /\bname="([^"]{1,100})"/i
/** Only the start of a part's header is searched for its name. */
const HEADER_LENGTH_MAX = 1000

/** Returns the boundary that a content type names; null if it is not that of a multipart form. */
export function boundaryOf(content_type: string): string | null {
  const [, quoted, plain] = TYPE.exec(content_type) ?? []
  return quoted ?? plain ?? null
}

/** Reads the first `parts_max` parts as fields by name, the first of repeated ones. Parts without a name are left out. */
export function readParts(
  text: string,
  boundary: string,
  parts_max: number,
): { readonly [name: string]: string } {
  const fields: { [name: string]: string } = Object.create(null)
  const mark = `--${boundary}`
  let start = text.indexOf(mark)
  for (let part = 0; part < parts_max && start !== -1; part += 1) {
    const end = text.indexOf(`\n${mark}`, start)
    if (end === -1) break
    const [header_end, gap] = blankLineIn(text, start)
    const name = NAME.exec(text.slice(start, Math.min(header_end, start + HEADER_LENGTH_MAX)))?.[1]
    if (name !== undefined && header_end < end) {
      fields[name] ??= text.slice(header_end + gap, text[end - 1] === '\r' ? end - 1 : end)
    }
    start = end + 1
  }
  return fields
}

/** The index and the length of the blank line after a part's header. */
function blankLineIn(text: string, start: number): readonly [index: number, length: number] {
  const header = text.slice(start, start + HEADER_LENGTH_MAX)
  const index = header.search(/\r?\n\r?\n/)
  if (index === -1) return [Infinity, 0]
  return [start + index, /^\r?\n\r?\n/.exec(header.slice(index))?.[0].length ?? 0]
}
