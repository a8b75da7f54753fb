/**
 * Limits that a reader of one file cannot see are missing: how bodies are read, texts from outside parsed, streams
 * followed and settings used. Each place is named here with its limit, so that a new one is looked at.
 */
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SETTINGS } from '../src/config.ts'

const SRC = join(import.meta.dir, '../src')

/** Rooms whose code runs on the main thread or a thread of ingestion, and the leaves that they share. */
const ROOMS = [
  'certificates',
  'dashboards',
  'edge',
  'flags',
  'http',
  'ingest',
  'pictures',
  'plugins',
  'projects',
  'serve',
  'standby',
  'targeting',
  'threads',
] as const

const filesOf = (folder: string): readonly string[] =>
  readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}/${file}`)
    .toSorted()

/** The code of a file without its comments. */
const codeOf = (text: string): string =>
  text.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(^|\s)\/\/[^\n]*/g, '$1')

const code = new Map(
  [...ROOMS.flatMap(filesOf), 'bytes.ts', 'json.ts'].map((file) => [
    file,
    codeOf(readFileSync(join(SRC, file), 'utf8')),
  ]),
)
const allSource = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => codeOf(readFileSync(join(SRC, file), 'utf8')))
  .join('\n')

/** Files with their number of matches, one line each. */
function countIn(pattern: RegExp, files: ReadonlyMap<string, string> = code): readonly string[] {
  return [...files].flatMap(([file, text]) => {
    const count = text.matchAll(pattern).toArray().length
    return count === 0 ? [] : [`${file} ${count}`]
  })
}

/**
 * A file, its number of places, and their limit: a constant, a setting, `own` for what this server made, or
 * `head`: Bun refuses requests whose head has more than 16 KiB. */
type Place = readonly [file: string, count: number, limit: string]

const listed = (places: readonly Place[]): string[] =>
  places.map(([file, count]) => `${file} ${count}`).toSorted()

/** Limits that no source declares. */
const unknownLimits = (places: readonly Place[]): readonly string[] =>
  places
    .map(([, , limit]) => limit.split(':')[0] ?? '')
    .filter((limit) => limit !== 'own' && limit !== 'head')
    .filter((limit) => !new RegExp(`\\b${limit}\\b(?: =|:)`).test(allSource))

/** Reads all of a body, a form or a stream. */
const BODY = /\.(?:arrayBuffer|blob|bytes|formData|json|text)\(\)|\bfor await \(|\.getReader\(\)/g

const BODIES: readonly Place[] = [
  ['bytes.ts', 1, 'bytes_max: the reader of answers of other servers'],
  ['certificates/acme/transport.ts', 1, 'ANSWER_BYTES_MAX'],
  ['http/answers/compress.ts', 1, 'own: an answer'],
  ['http/bodies/body.ts', 2, 'body_bytes_max: the reader of bodies, charged to their sender first'],
  ['http/bodies/form.ts', 1, 'PARTS_MAX: of bytes that the reader of bodies returned'],
  ['http/idle-timeout.ts', 1, 'own: an answer'],
  ['http/public/web-client.ts', 1, 'own: a file of this build'],
  ['http/targeting/cohorts/cohort-upload.ts', 1, 'JSON_BYTES_MAX: a part of a form that was read'],
  ['serve/backups.ts', 2, 'own: words of a child process'],
  ['serve/trace-sender.ts', 1, 'own: of the collector that the operator named'],
  ['standby/follower.ts', 1, 'FILE_BYTES_MAX'],
  ['targeting/cohorts/cohort-members.ts', 1, 'own: slices of members'],
]

/** Parses or unpacks a text. */
const PARSER =
  /JSON\.parse\(|Bun\.JSONL|(?:^|[^\w.])(?:Bun\.)?(?:[gG]unzip|zstdDecompress|inflate|brotliDecompress)\w*\(|UNPACK\[|DecompressionStream/g

const PARSERS: readonly Place[] = [
  ['certificates/acme/acme-file.ts', 1, 'own: a file of the data folder'],
  ['certificates/acme/transport.ts', 1, 'ANSWER_BYTES_MAX'],
  ['edge/home.ts', 1, 'bytes_max: each call of the home says how much'],
  ['edge/report.ts', 1, 'head: a header'],
  ['flags/validate.ts', 1, 'JSON_BYTES_MAX: a payload in a body'],
  ['http/analytics/events/events.ts', 2, 'result_bytes_max: rows of the engine'],
  ['http/analytics/insights/insight-results.ts', 1, 'result_bytes_max: an answer without its rows'],
  ['http/analytics/queries/filter-parameters.ts', 1, 'head: a parameter'],
  ['http/analytics/queries/run-tree.ts', 1, 'result_bytes_max: an answer without its rows'],
  ['http/answers/answers.ts', 1, 'result_bytes_max: JSON that passes through'],
  ['http/bodies/body.ts', 1, 'JSON_BYTES_MAX: the reader of JSON bodies'],
  ['http/bodies/text-values.ts', 1, 'JSON_BYTES_MAX: a member of a body or a form'],
  ['http/browser/files.ts', 2, 'own: files of this build'],
  ['http/edges/batch.ts', 1, 'BATCH_BYTES_MAX: charged before'],
  ['http/edges/persons.ts', 1, 'JSON_BYTES_MAX'],
  ['http/openapi.ts', 1, 'own: a schema'],
  ['http/persons/actors.ts', 1, 'result_bytes_max: an answer without its rows'],
  ['http/persons/groups.ts', 1, 'result_bytes_max: rows of the engine'],
  ['http/persons/lists-as-csv.ts', 1, 'CELLS_MAX: an item at a time, in slices'],
  ['http/persons/person-analytics.ts', 1, 'result_bytes_max: rows of the engine'],
  ['http/persons/persons.ts', 1, 'result_bytes_max: rows of the engine'],
  ['http/persons/related-groups.ts', 1, 'result_bytes_max: rows of the engine'],
  [
    'http/public/capture-v1/read-batch.ts',
    2,
    'INLINE_BYTES_MAX: longer ones in a Worker with a deadline',
  ],
  ['http/public/flag-request.ts', 1, 'PLAIN_BYTES_MAX'],
  ['http/targeting/cohorts/cohort-query.ts', 1, 'result_bytes_max: an answer without its rows'],
  ['http/targeting/experiments/experiment-implementation.ts', 1, 'head: a parameter'],
  ['http/targeting/flags/flag-actions.ts', 1, 'head: a parameter'],
  ['http/targeting/flags/flag-filters.ts', 1, 'head: a parameter'],
  ['http/targeting/surveys/survey-stats.ts', 1, 'PAGE_MAX: rows of the engine'],
  ['ingest/notes/reports.ts', 1, 'own: warnings, whose texts are cut'],
  ['ingest/pipeline/decode.ts', 4, 'UNPACKED_BYTES_MAX: longer ones on the second decode thread'],
  ['ingest/pipeline/token.ts', 1, 'UNPACKED_BYTES: the start of a body'],
  ['ingest/threads/event-packing.ts', 2, 'HEADS_PER_TURN_MAX: more only of one event'],
  ['ingest/threads/forwarded-entry.ts', 1, 'SMALL_LENGTH: longer ones on the second decode thread'],
  ['ingest/threads/messages.ts', 1, 'own: heads of requests'],
  ['pictures/chromium.ts', 1, 'MESSAGE_BYTES_MAX'],
  ['pictures/page-files.ts', 1, 'own: files of this build'],
  ['plugins/destinations.ts', 1, 'EVENTS_READ_MAX: events of the log, of event_bytes_max each'],
  ['plugins/rest-hook.ts', 1, 'event_bytes_max: an event of the log'],
  ['plugins/transformations.ts', 1, 'JSON_BYTES_MAX: a stored configuration'],
  ['projects/activity.ts', 1, 'JSON_BYTES_MAX: a definition that was sent'],
  ['serve/backups.ts', 2, 'own: words of a child process'],
  ['standby/primary.ts', 1, 'HEAD_BYTES_MAX: of its primary'],
  ['standby/state.ts', 1, 'own: a file of the data folder'],
  ['targeting/action-matches.ts', 1, 'event_bytes_max: an event of the log'],
  ['threads/sliced-json.ts', 2, 'own: stored JSON, a bounded part in a turn'],
]

describe('what comes from outside', () => {
  test('is read by the readers that have a limit', () => {
    expect(countIn(BODY).toSorted()).toEqual(listed(BODIES))
    expect(unknownLimits(BODIES)).toEqual([])
  })

  test('is parsed and unpacked where its size is known', () => {
    expect(countIn(PARSER).toSorted()).toEqual(listed(PARSERS))
    expect(unknownLimits(PARSERS)).toEqual([])
  })
})

describe('a setting that limits something', () => {
  const limits = SETTINGS.filter(({ key }) => /_(?:max|min)$/.test(key))

  test('is used', () => {
    expect(limits.length).toBeGreaterThan(10)
    const unused = limits.filter(
      ({ key }) => allSource.matchAll(new RegExp(`\\b${key}\\b`, 'g')).toArray().length < 2,
    )
    expect(unused.map(({ key }) => key)).toEqual([])
  })

  test('is in docs/settings.md', () => {
    const documented = readFileSync(join(SRC, '../docs/settings.md'), 'utf8')
    expect(
      limits.map(({ env }) => env).filter((env) => !documented.includes(`\`${env}\``)),
    ).toEqual([])
  })
})

test('a place that nobody has looked at is found', () => {
  const planted = new Map([
    ['http/new.ts', 'const a = await request.json()\nfor await (const b of request.body) b'],
    ['http/newer.ts', 'JSON.parse(text)\nBun.gunzipSync(bytes)\nconst gunzip = 1'],
  ])
  expect(countIn(BODY, planted)).toEqual(['http/new.ts 2'])
  expect(countIn(PARSER, planted)).toEqual(['http/newer.ts 2'])
  expect(
    unknownLimits([
      ['a', 1, 'NOTHING_MAX'],
      ['b', 1, 'own'],
    ]),
  ).toEqual(['NOTHING_MAX'])
})
