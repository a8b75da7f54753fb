/** FORMATS of answers, chosen by `?format=` or the Accept header. A line adds a format. */
import { Refusal } from '../../../errors.ts'
import type { RowForm } from '../../../query/engine/protocol.ts'
import { queryValue } from '../../answers/pages.ts'

/** One JSON body. */
type JsonFormat = {
  readonly form: 'json'
  readonly names: readonly string[]
  readonly media: readonly string[]
}

/** Rows as a stream, with the limits of exports instead of those of a body. */
export type RowFormat = {
  readonly form: RowForm
  readonly names: readonly string[]
  readonly media: readonly string[]
  readonly headers: Readonly<Record<string, string>>
}

export type ResultFormat = JsonFormat | RowFormat

/** The media type of workbooks. */
export const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

const JSON_FORMAT: JsonFormat = {
  form: 'json',
  names: ['json'],
  media: ['application/json', '*/*'],
}

const FORMATS: readonly ResultFormat[] = [
  JSON_FORMAT,
  {
    form: 'csv',
    names: ['csv'],
    media: ['text/csv'],
    headers: {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': 'attachment; filename="query.csv"',
    },
  },
  {
    form: 'ndjson',
    names: ['ndjson', 'jsonl'],
    media: ['application/x-ndjson', 'application/ndjson', 'application/jsonl'],
    headers: {
      'Content-Type': 'application/x-ndjson',
      'Content-Disposition': 'attachment; filename="query.jsonl"',
    },
  },
  {
    form: 'arrow',
    names: ['arrow'],
    media: ['application/vnd.apache.arrow.stream'],
    headers: {
      'Content-Type': 'application/vnd.apache.arrow.stream',
      'Content-Disposition': 'attachment; filename="query.arrows"',
    },
  },
  {
    form: 'parquet',
    names: ['parquet'],
    media: ['application/vnd.apache.parquet'],
    headers: {
      'Content-Type': 'application/vnd.apache.parquet',
      'Content-Disposition': 'attachment; filename="query.parquet"',
    },
  },
  {
    form: 'xlsx',
    names: ['xlsx'],
    media: [XLSX],
    headers: {
      'Content-Type': XLSX,
      'Content-Disposition': 'attachment; filename="query.xlsx"',
    },
  },
]

/** Returns the format of a request: `?format=` first, then the first known type of Accept, else JSON. */
export function formatOf(request: Request): ResultFormat {
  const named = queryValue(request, 'format')
  if (named !== null && named !== '') {
    const result = FORMATS.find(({ names }) => names.includes(named))
    if (result !== undefined) return result
    const detail = `${JSON.stringify(named.slice(0, 100))} is not a valid choice.`
    throw new Refusal('invalid_input', detail, { attr: 'format' })
  }
  const accepted = request.headers.get('accept')
  if (accepted === null) return JSON_FORMAT
  for (const range of accepted.split(',')) {
    const media = range.split(';', 1)[0]?.trim().toLowerCase() ?? ''
    const result = FORMATS.find((format) => format.media.includes(media))
    if (result !== undefined) return result
  }
  return JSON_FORMAT
}
