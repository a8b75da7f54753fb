/** ROW_FORMS: the ways of writing an answer as rows one after the other, for answers too long for one JSON body. */
import type { RowForm } from '../../engine/protocol.ts'
import { TEXT_FORMS } from '../../engine/text-forms.ts'
import type { OpenSink } from './row-sink.ts'
import { textSink } from './text-rows.ts'

/** One line per form. What needs a library is read when it is first asked for. */
export const ROW_FORMS = {
  csv: async () => textSink(TEXT_FORMS.csv),
  ndjson: async () => textSink(TEXT_FORMS.ndjson),
  arrow: async () => (await import('./arrow-rows.ts')).openArrow,
  parquet: async () => (await import('./parquet-rows.ts')).openParquet,
} as const satisfies Record<RowForm, () => Promise<OpenSink>>
