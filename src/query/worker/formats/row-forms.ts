/** ROW_FORMS: the formats of streamed answers. */
import type { RowForm } from '../../engine/protocol.ts'
import { TEXT_FORMS } from '../../engine/text-forms.ts'
import type { OpenSink } from './row-sink.ts'
import { textSink } from './text-rows.ts'

/** One line per format. Formats that need a library import it on first use. */
export const ROW_FORMS = {
  csv: async () => textSink(TEXT_FORMS.csv),
  ndjson: async () => textSink(TEXT_FORMS.ndjson),
  arrow: async () => (await import('./arrow-rows.ts')).openArrow,
  parquet: async () => (await import('./parquet-rows.ts')).openParquet,
  xlsx: async () => (await import('./xlsx-rows.ts')).openXlsx,
} as const satisfies Record<RowForm, () => Promise<OpenSink>>
