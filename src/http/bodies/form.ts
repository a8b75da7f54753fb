/** Reads management bodies that were sent as forms, as `curl -F` and old scripts do. */
import { Refusal } from '../../errors.ts'

/** The most fields of a form; no object has as many members. */
const FIELDS_MAX = 256

const MULTIPART = /^multipart\/form-data\s*(?:;|$)/i
const URL_ENCODED = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** A file in a form, or a plain field. */
export type FormField = readonly [name: string, value: string | Blob]

/** Whether a content type is that of a form. */
export function isFormType(type: string): boolean {
  return MULTIPART.test(type) || URL_ENCODED.test(type)
}

/** Reads the fields of a form. Refuses malformed ones, and ones with too many fields, before they are parsed. */
export async function readForm(
  bytes: Uint8Array<ArrayBuffer>,
  type: string,
): Promise<readonly FormField[]> {
  const is_multipart = MULTIPART.test(type)
  requireFewFields(bytes, is_multipart ? partMark(type) : '&')
  if (!is_multipart) return readUrlEncoded(bytes)
  try {
    const form = await new Response(bytes, { headers: { 'Content-Type': type } }).formData()
    return [...form.entries()]
  } catch {
    throw new Refusal('parse_error', 'Multipart form parse error.')
  }
}

/** `curl -d '{…}'` announces a form but sends JSON: read as a form it would change nothing, without a word. */
function readUrlEncoded(bytes: Uint8Array<ArrayBuffer>): readonly FormField[] {
  const text = new TextDecoder().decode(bytes)
  if (/^\s{0,9}[[{]/.test(text)) {
    const detail = 'The body is JSON. Send it with the header Content-Type: application/json.'
    throw new Refusal('unsupported_media_type', detail)
  }
  return [...new URLSearchParams(text)]
}

function partMark(type: string): string {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type) ?? []
  return `\n--${quoted ?? plain ?? ''}`
}

/** Counts the marks between fields: parsing takes 80 µs per part of a multipart form. */
function requireFewFields(bytes: Uint8Array<ArrayBuffer>, mark: string): void {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let fields = 1
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + 1)) {
    fields += 1
    // The last boundary of a multipart form ends it.
    if (fields <= FIELDS_MAX + 1) continue
    throw new Refusal('invalid_input', `A form may have ${FIELDS_MAX} fields.`)
  }
}
