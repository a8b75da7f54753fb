/** A row sink for the text formats. */

import type { TextRows } from '../../engine/text-forms.ts'
import { rowWriter } from './json-rows.ts'
import type { OpenSink } from './row-sink.ts'

const PART_LENGTH = 256 * 1024

/** Makes a sink that writes rows as text, in parts of about 256 KiB. */
export function textSink(form: (columns: readonly string[]) => TextRows): OpenSink {
  return ({ columns, types, timezone }) => {
    const writer = rowWriter(types, timezone)
    const rows = form(columns)
    let part = rows.head
    const takePart = (): readonly Uint8Array[] => {
      const bytes = Buffer.from(part)
      part = ''
      return [bytes]
    }
    return {
      add: async (chunk, row_count) => {
        const parts: Uint8Array[] = []
        for await (const text of writer.writeRows(chunk, row_count, rows.row)) {
          part += text
          if (part.length >= PART_LENGTH) parts.push(...takePart())
        }
        return parts
      },
      end: takePart,
    }
  }
}
