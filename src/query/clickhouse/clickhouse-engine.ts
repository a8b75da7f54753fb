/** Queries ClickHouse instead of the worker: the same `run`, its queue and fairness, limits per query, a stop that stops it there. */

import { MIB, readAtMost } from '../../bytes.ts'
import { Refusal } from '../../errors.ts'
import {
  type ClickHouseClient,
  type ClickHouseStatement,
  errorOf,
} from '../../storage/clickhouse/clickhouse-client.ts'
import { ROW_END } from '../../threads/sliced-json.ts'
import type { QueryEngine } from '../engine/engine.ts'
import {
  refuseCancelled,
  refuseFullQueue,
  refuseTimedOut,
  refuseTooLarge,
  stopping,
} from '../engine/engine-refusals.ts'
import type { WorkerAnswer, WorkerQuery } from '../engine/protocol.ts'
import { TEXT_FORMS } from '../engine/text-forms.ts'
import { whenAborted } from '../scheduling/abort-signal.ts'
import { ProjectQueue, type QueueEntry } from '../scheduling/project-queue.ts'
import { AnswerProbe } from './answer-probe.ts'
import { refusalOf } from './clickhouse-refusals.ts'
import { FOLD_LIMITS, GATHER_SETTINGS, GatherSpill, gatherFiles } from './gathered-files.ts'
import { type RowReading, rowReading } from './row-texts.ts'
import { tableFilters } from './table-filters.ts'
import { type ClickHouseLog, UnansweredLog } from './unanswered-log.ts'

export type ClickHouseLimits = {
  readonly running_max: number
  /** Queries beyond these are refused with `throttled`. */
  readonly waiting_max: number
  /** Memory of one query on each server, in bytes. */
  readonly memory_bytes_max: number
  /** Rows that one query may read. */
  readonly rows_read_max: number
  readonly result_bytes_max: number
  /** Disk for the rows that queries gather here, of all together. */
  readonly spill_mb: number
}

type ClickHouseEngineOptions = {
  /** The restricted user's. */
  readonly reader: ClickHouseClient
  /** The writer's, which alone may kill queries. */
  readonly writer: ClickHouseClient
  readonly limits: ClickHouseLimits
  /** Computes folds over the events of actors, which ClickHouse cannot. */
  readonly folding: Pick<QueryEngine, 'run'>
  readonly data_dir: string
  readonly log: ClickHouseLog
}

type RunInEngine = QueryEngine['run']
type EngineRunOptions = Parameters<RunInEngine>[1]

type GatherTerms = {
  readonly stop: AbortSignal
  readonly gather_limits: Readonly<Record<string, number>>
}

/** A query that waits for its turn or runs. */
type QueuedRun = QueueEntry & { readonly begin: () => void }

/** HogQL's meaning of SQL, and the form of rows. Sent with every query. */
const SETTINGS = {
  transform_null_in: 1,
  join_use_nulls: 1,
  group_by_use_nulls: 1,
  distributed_product_mode: 'global',
  // A date before 1970 is its first day, not one of the next century.
  date_time_overflow_behavior: 'saturate',
  // Partial answers are worse than none.
  skip_unavailable_shards: 0,
  cancel_http_readonly_queries_on_client_close: 1,
  http_write_exception_in_output_format: 0,
  // The end of a compressed answer, with the exception that broke it off, would be lost.
  enable_http_compression: 0,
  date_time_output_format: 'unix_timestamp',
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_denormals: 0,
  output_format_json_named_tuples_as_objects: 0,
  timeout_overflow_mode: 'throw',
  // It turns patterns over an aggregate into a function that the server then does not find.
  optimize_or_like_chain: 0,
  // The compiler limits texts of HogQL, whose SQL is many times as long.
  max_query_size: 64 * MIB,
  max_ast_elements: 10_000_000,
  max_expanded_ast_elements: 10_000_000,
  result_overflow_mode: 'throw',
}

/** ClickHouse ends longer queries by itself, should it miss the end of the connection. */
const GRACE_S = 5
/** A query that still runs this long after its connection ended is killed. */
const KILL_AFTER_MS = 2000
/** The time limit of the query that probes ClickHouse. */
const PROBE_MS = 10_000
/** Queries that may run beyond `running_max` when none of their project does. */
const EXTRA_MAX = 1
const PART_LENGTH = 256 * 1024
const EXCEPTION_LENGTH_MAX = 16_384
const PLAN_BYTES_MAX = MIB

export class ClickHouseEngine implements Pick<QueryEngine, 'run'> {
  readonly #options: ClickHouseEngineOptions
  readonly #queue: ProjectQueue<QueuedRun>
  readonly #leaving = new AbortController()
  readonly #spill: GatherSpill
  readonly #unanswered: UnansweredLog
  readonly #probe: AnswerProbe
  #last_id = 0

  constructor(options: ClickHouseEngineOptions) {
    this.#options = options
    this.#queue = new ProjectQueue({ ...options.limits, extra_max: EXTRA_MAX })
    const { data_dir, limits } = options
    this.#spill = new GatherSpill({ data_dir, spill_mb: limits.spill_mb })
    this.#unanswered = new UnansweredLog(options.log)
    this.#probe = new AnswerProbe(() => this.#askForNothing(), this.#leaving.signal)
  }

  /** The reason why no query is answered; null while some are. */
  get unready(): string | null {
    return this.#probe.has_failed ? 'ClickHouse does not answer queries.' : null
  }

  /** Queries that run and wait. */
  get load(): { readonly running: number; readonly waiting: number } {
    return this.#queue.state
  }

  /** Answers a compiled query. Refuses as the one-machine engine does, with the same codes. */
  async run(query: WorkerQuery, options: EngineRunOptions): Promise<WorkerAnswer> {
    const { timeout_ms, signal, onBegin } = options
    if (this.#leaving.signal.aborted) throw stopping()
    if (signal?.aborted) throw refuseCancelled()
    const { project_id } = query
    if (options.is_background !== true && this.#queue.isFull(project_id)) throw refuseFullQueue()
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), timeout_ms)
    const ends = [this.#leaving.signal, deadline.signal, ...(signal === undefined ? [] : [signal])]
    const stop = AbortSignal.any(ends)
    this.#last_id += 1
    const turn = Promise.withResolvers<void>()
    const entry: QueuedRun = { id: this.#last_id, project_id, begin: turn.resolve }
    try {
      this.#queue.add(entry)
      this.#beginNext()
      await Promise.race([turn.promise, whenAborted(stop)])
      if (stop.aborted) throw refuseCancelled()
      onBegin?.(() => Promise.resolve(null))
      const answer = await this.#execute(query, options, stop)
      this.#unanswered.noteAnswer()
      return answer
    } catch (error) {
      if (this.#leaving.signal.aborted) throw stopping()
      if (signal?.aborted) throw refuseCancelled()
      if (deadline.signal.aborted) throw refuseTimedOut(timeout_ms)
      const refusal = refusalOf(error)
      if (refusal.cause !== undefined) {
        this.#unanswered.noteFailure(refusal.cause)
        this.#probe.start()
      }
      throw refusal
    } finally {
      clearTimeout(timer)
      this.#queue.remove(entry)
      this.#beginNext()
    }
  }

  /** Ends all queries. */
  close(): void {
    this.#leaving.abort()
  }

  #beginNext(): void {
    for (let next = this.#queue.takeNext(); next !== null; next = this.#queue.takeNext())
      next.begin()
  }

  #execute(
    query: WorkerQuery,
    options: EngineRunOptions,
    stop: AbortSignal,
  ): Promise<WorkerAnswer> {
    if (query.is_plan === true) return this.#explain(query, options, stop)
    if (query.gathers !== undefined)
      return this.#askFiles(query, options, { stop, gather_limits: FOLD_LIMITS })
    return isWrittenHere(query)
      ? this.#answer(query, options, stop)
      : this.#write(query, options, stop)
  }

  /** Gathers the whole answer, and writes it in the query process. */
  #write(query: WorkerQuery, options: EngineRunOptions, stop: AbortSignal): Promise<WorkerAnswer> {
    const { sql, values, file_statement } = query
    if (file_statement === undefined)
      throw new Refusal(
        'invalid_input',
        'A type of the columns has no form in such a file of ClickHouse. Ask for CSV or NDJSON.',
      )
    const written = { ...query, ...file_statement, gathers: [{ sql, values }] }
    return this.#askFiles(written, options, { stop, gather_limits: {} })
  }

  async #answer(
    query: WorkerQuery,
    options: EngineRunOptions,
    stop: AbortSignal,
  ): Promise<WorkerAnswer> {
    const { result_bytes_max } = this.#options.limits
    const started_at = performance.now()
    const built = this.#statement(query, query, options.timeout_ms)
    const form = rowLines(query)
    const statement = {
      ...built,
      sql: `${query.sql} FORMAT ${form.name}`,
      settings: {
        ...built.settings,
        http_write_exception_in_output_format: Number(form.has_exceptions),
      },
    }
    return await this.#send(statement, query.project_id, stop, async (response) => {
      const begun_at = performance.now()
      const answer = new AnswerRows(query, options, result_bytes_max)
      // Leaving the loop early ends the connection, and with it the query.
      for await (const line of linesOf(response, form.start))
        if (!(await answer.add(form.readRow(line)))) break
      const timings = {
        follow_ms: 0,
        execute_ms: begun_at - started_at,
        read_ms: performance.now() - begun_at,
      }
      return { ...(await answer.end()), timings }
    })
  }

  /** Asks for the plans of the statements that ClickHouse runs: rows of a name and a text. */
  async #explain(
    query: WorkerQuery,
    options: EngineRunOptions,
    stop: AbortSignal,
  ): Promise<WorkerAnswer> {
    const { gathers = [query], project_id } = query
    const started_at = performance.now()
    const rows: (readonly [name: string, plan: string])[] = []
    for (const gather of gathers) {
      const statement = this.#statement(query, gather, options.timeout_ms)
      const sent = { ...statement, sql: `EXPLAIN ${gather.sql} FORMAT TSVRaw` }
      const plan = await this.#send(sent, project_id, stop, (response) =>
        readAtMost(response, PLAN_BYTES_MAX),
      )
      rows.push(['plan', plan?.toString() ?? ''])
    }
    const timings = { follow_ms: 0, execute_ms: performance.now() - started_at, read_ms: 0 }
    const rows_json = Buffer.from(JSON.stringify(rows))
    return { row_count: rows.length, has_more: false, rows_json, timings }
  }

  /** Gathers rows into files, and answers from them in the query process. */
  async #askFiles(
    query: WorkerQuery,
    options: EngineRunOptions,
    { stop, gather_limits }: GatherTerms,
  ): Promise<WorkerAnswer> {
    const { folding, data_dir } = this.#options
    const ends_at = performance.now() + options.timeout_ms
    const place = { data_dir, spill: this.#spill }
    const files = await gatherFiles(query, place, (gather, write) => {
      const statement = this.#statement(query, gather, options.timeout_ms)
      const sent = {
        ...statement,
        sql: `${gather.sql} FORMAT Parquet`,
        settings: {
          ...statement.settings,
          ...GATHER_SETTINGS,
          ...gather_limits,
        },
      }
      return this.#send(sent, query.project_id, stop, write)
    })
    try {
      const { onPart } = options
      return await folding.run(files.query, {
        timeout_ms: Math.max(1, ends_at - performance.now()),
        signal: stop,
        is_background: true,
        ...(onPart === undefined ? {} : { onPart }),
      })
    } finally {
      files.remove()
    }
  }

  async #askForNothing(): Promise<void> {
    const sql = 'SELECT 1 FROM events LIMIT 0'
    const built = this.#statement({ project_id: 0, timezone: 'UTC' }, { sql, values: [] }, PROBE_MS)
    await this.#options.reader.run(sql, { ...built, signal: AbortSignal.timeout(PROBE_MS) })
  }

  /** Sends a statement and reads its answer; ClickHouse ends it when `stop` does. */
  async #send<Answer>(
    statement: ClickHouseStatement,
    project_id: number,
    stop: AbortSignal,
    read: (response: Response) => Promise<Answer>,
  ): Promise<Answer> {
    const query_id = `tidemark-${project_id}-${crypto.randomUUID()}`
    const onStop = (): void => void this.#killLater(query_id)
    stop.addEventListener('abort', onStop)
    try {
      return await read(await this.#options.reader.send({ ...statement, query_id, signal: stop }))
    } finally {
      stop.removeEventListener('abort', onStop)
    }
  }

  #statement(
    { project_id, timezone, parts }: Pick<WorkerQuery, 'parts' | 'project_id' | 'timezone'>,
    { sql, values }: Pick<WorkerQuery, 'sql' | 'values'>,
    timeout_ms: number,
  ): ClickHouseStatement {
    const { limits } = this.#options
    return {
      sql,
      texts: values.map(({ text }) => text ?? ''),
      settings: {
        ...SETTINGS,
        session_timezone: timezone,
        additional_table_filters: tableFilters(project_id),
        max_execution_time: Math.ceil(timeout_ms / 1000) + GRACE_S,
        max_memory_usage: limits.memory_bytes_max,
        max_rows_to_read: limits.rows_read_max,
        // A server that holds an answer until it is whole can still say why there is none; a stream only breaks off.
        ...(parts === undefined
          ? { max_result_bytes: limits.result_bytes_max, wait_end_of_query: 1 }
          : {}),
      },
    }
  }

  /** A query ends with its connection. A query that goes on is killed by its id. */
  async #killLater(query_id: string): Promise<void> {
    await Bun.sleep(KILL_AFTER_MS)
    const sql = 'KILL QUERY WHERE query_id = {p1:String} SYNC'
    // A server that is gone has no queries.
    await this.#options.writer.run(sql, { texts: [query_id] }).catch(() => {})
  }
}

/** The format of the lines in which ClickHouse sends rows. */
type RowLines = {
  readonly name: 'JSONCompactEachRow' | 'JSONEachRow'
  /** The first character of each row. */
  readonly start: '[' | '{'
  /**
   * Whether an exception comes as one more row, so that the connection ends in order: what a slow reader has not taken
   * when it breaks is lost, and the reason with it.
   */
  readonly has_exceptions: boolean
  /** The row as a JSON array. Throws a ClickHouseError for an exception in its place. */
  readonly readRow: (line: string) => string
}

const PLAIN_ROWS: RowLines = {
  name: 'JSONCompactEachRow',
  start: '[',
  has_exceptions: false,
  readRow: (line) => line,
}

/** Streams of several columns: an exception has one value. */
const STREAMED_ROWS: RowLines = {
  ...PLAIN_ROWS,
  has_exceptions: true,
  readRow(line) {
    if (!line.startsWith('["Code: ')) return line
    const values: unknown = JSON.parse(line)
    if (Array.isArray(values) && values.length === 1) throw errorOf(String(values[0]), null)
    return line
  },
}

/** Streams of one column: `{"name":1}` → `[1]`. An exception has a name of its own, `{"exception":"Code: …"}`. */
const STREAMED_VALUES: RowLines = {
  name: 'JSONEachRow',
  start: '{',
  has_exceptions: true,
  readRow(line) {
    const [key = ''] = KEY.exec(line) ?? []
    const value = line.slice(key.length, line.lastIndexOf('}')).trimStart()
    if (key === EXCEPTION_KEY && value.startsWith('"Code: '))
      throw errorOf(String(JSON.parse(value)), null)
    return `[${value}]`
  },
}

const KEY = /^\{"(?:[^"\\]|\\.)*":/
const EXCEPTION_KEY = '{"exception":'

function rowLines({ parts, types }: WorkerQuery): RowLines {
  if (parts === undefined) return PLAIN_ROWS
  return types.length === 1 ? STREAMED_VALUES : STREAMED_ROWS
}

/** The rows of an answer as they arrive. Throws a ClickHouseError for an exception inside of it. */
async function* linesOf({ body }: Response, start: RowLines['start']): AsyncGenerator<string> {
  let exception = ''
  try {
    for await (const line of textLines(body)) {
      // After the last row, other lines are an exception.
      if (exception === '' && line.startsWith(start)) yield line
      else if (exception.length < EXCEPTION_LENGTH_MAX) exception += `${line}\n`
    }
  } catch (error) {
    // The server ends the connection after an exception.
    if (exception === '') throw error
  }
  if (exception !== '') throw errorOf(exception, null)
}

/** Characters of one row. */
const LINE_LENGTH_MAX = 256 * MIB

/** Decoded by hand: a transform stream would drop the last lines before a connection breaks. */
async function* textLines(body: Response['body']): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  // A long line is joined once, at its end.
  let begun: string[] = []
  let length = 0
  for await (const bytes of body ?? []) {
    const [first = '', ...lines] = decoder.decode(bytes, { stream: true }).split('\n')
    begun.push(first)
    length += first.length
    if (length > LINE_LENGTH_MAX) throw refuseTooLarge(`${LINE_LENGTH_MAX} characters in a row`)
    const last = lines.pop()
    if (last === undefined) continue
    yield begun.join('')
    yield* lines
    begun = [last]
    length = last.length
  }
  if (length > 0) yield begun.join('')
}

/** Whether this process writes the rows: JSON and texts; other formats are the worker's. */
const isWrittenHere = ({ parts }: WorkerQuery): boolean =>
  parts === undefined || parts.form === 'csv' || parts.form === 'ndjson'

/** Collects the rows of an answer, or sends them in parts. */
class AnswerRows {
  readonly #query: WorkerQuery
  readonly #onPart: EngineRunOptions['onPart']
  readonly #bytes_max: number
  readonly #reading: RowReading
  readonly #writeRow: ((values: readonly string[]) => string) | null
  #text = ''
  #parts: Uint8Array[] = []
  #byte_count = 2
  #row_count = 0
  #has_more = false

  constructor(query: WorkerQuery, { onPart }: EngineRunOptions, bytes_max: number) {
    this.#query = query
    this.#onPart = onPart
    this.#bytes_max = bytes_max
    this.#reading = rowReading(query.types, query.timezone)
    const { parts } = query
    this.#writeRow = null
    if (parts === undefined) return
    if (parts.form !== 'csv' && parts.form !== 'ndjson')
      throw new Refusal('invalid_input', `Rows as ${parts.form} are not available from ClickHouse.`)
    const rows = TEXT_FORMS[parts.form](parts.columns)
    this.#text = rows.head
    this.#writeRow = rows.row
  }

  /** Adds a row; false when no further row is wanted. Throws a Refusal for too many rows or bytes. */
  async add(line: string): Promise<boolean> {
    const { rows_max, more_is_too_many, parts } = this.#query
    if (this.#row_count >= rows_max) {
      if (more_is_too_many || parts !== undefined) throw refuseTooLarge(`${rows_max} rows`)
      this.#has_more = true
      return false
    }
    const row = this.#writeRow?.(this.#reading.values(line)) ?? this.#reading.row(line)
    this.#text += this.#writeRow === null && this.#row_count > 0 ? ROW_END + row : row
    this.#row_count += 1
    if (this.#text.length >= PART_LENGTH) await this.#flush()
    return true
  }

  async end(): Promise<Omit<WorkerAnswer, 'timings'>> {
    await this.#flush()
    const rows_json =
      this.#writeRow === null ? Buffer.concat([OPEN, ...this.#parts, CLOSE]) : new Uint8Array(0)
    return { row_count: this.#row_count, has_more: this.#has_more, rows_json }
  }

  async #flush(): Promise<void> {
    const part = Buffer.from(this.#text)
    this.#text = ''
    if (this.#writeRow !== null) {
      if (part.length > 0) await this.#onPart?.(part)
      return
    }
    this.#byte_count += part.length
    if (this.#byte_count > this.#bytes_max) throw refuseTooLarge(`${this.#bytes_max} bytes`)
    this.#parts.push(part)
  }
}

const OPEN = Buffer.from('[')
const CLOSE = Buffer.from(']')
