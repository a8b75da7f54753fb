/** The endpoints that standbys call at their primary, below `/_standby/v1/`; see `standby/README.md`, 1. */
import { timingSafeEqual } from 'node:crypto'
import { existsSync } from 'node:fs'
import { MIB } from '../../bytes.ts'
import { Refusal } from '../../errors.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint, PathParams } from '../endpoint.ts'
import { bearerOf } from '../route.ts'

/** A part of a database file in one answer. */
const PART_BYTES_MAX = MIB

const DATABASES = ['events', 'control'] as const

type StandbyRequest = {
  readonly request: Request
  readonly params: PathParams
  readonly shipping: NonNullable<AppContext['log_shipping']>
}

/** Creates the endpoints; each takes the secret of TIDEMARK_REPLICA_KEY, without which a server has none of them. */
export function standbyEndpoints(app: AppContext): readonly Endpoint[] {
  const { log_shipping: shipping } = app
  if (shipping === null) return []
  const endpoint = (path: string, answer: (request: StandbyRequest) => Response): Endpoint => ({
    method: 'GET',
    path: `/_standby/v1/${path}`,
    answer(request, params, socket) {
      app.failed_keys.guard(request, socket, () => {
        if (isEqual(bearerOf(request) ?? '', shipping.key)) return
        throw new Refusal('authentication_failed', 'This is not the key of a standby.')
      })
      return answer({ request, params, shipping })
    },
  })
  return [
    endpoint('log/:database', answerLog),
    endpoint('pages/:database', answerPages),
    endpoint('files/:project/:id', answerFile),
  ]
}

function answerLog({ request, params, shipping }: StandbyRequest): Response {
  const database = readDatabase(params['database'])
  const query = new URL(request.url).searchParams
  const salts = query.get('salts')
  if (salts !== null && !/^[0-9a-f]{16}$/.test(salts))
    throw refuse('salts', '16 hexadecimal digits')
  const position = salts === null ? null : { salts, frames: readNumber(query, 'frames') }
  const standby = request.headers.get('Tidemark-Standby') ?? ''
  if (!/^[\w-]{1,64}$/.test(standby)) throw refuse('Tidemark-Standby', 'the id of a standby')
  // A standby without a list has no version.
  const version = query.get('version') === '-1' ? -1 : readNumber(query, 'version')
  const found = shipping.read(database, standby, position, version)
  if (found === null) throw new Refusal('storage_unavailable', 'The database is not open.')
  return new Response(new Blob([`${JSON.stringify(found.log)}\n`, new Uint8Array(found.bytes)]))
}

function answerPages({ request, params, shipping }: StandbyRequest): Response {
  const query = new URL(request.url).searchParams
  const length = Math.min(PART_BYTES_MAX, readNumber(query, 'length'))
  const database = readDatabase(params['database'])
  const pages = new Uint8Array(shipping.readPages(database, readNumber(query, 'offset'), length))
  const tag = `"${new Bun.CryptoHasher('sha256').update(pages).digest('hex')}"`
  if (request.headers.get('If-None-Match') === tag) return new Response(null, { status: 304 })
  return new Response(pages)
}

function answerFile({ params, shipping }: StandbyRequest): Response {
  const path = shipping.filePath(Number(params['project']), params['id'] ?? '')
  if (path === null || !existsSync(path)) throw new Refusal('not_found', 'No such file.')
  return new Response(Bun.file(path))
}

function readDatabase(name: string | null | undefined): (typeof DATABASES)[number] {
  const database = DATABASES.find((known) => known === name)
  if (database === undefined) throw new Refusal('not_found', 'No such database.')
  return database
}

function readNumber(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? ''
  if (!/^\d{1,15}$/.test(text)) throw refuse(name, 'a whole number')
  return Number(text)
}

const refuse = (attr: string, what: string): Refusal =>
  new Refusal('invalid_input', `${attr} must be ${what}.`, { attr })

function isEqual(given: string, expected: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(expected))
}

const digestOf = (text: string): Uint8Array => new Bun.CryptoHasher('sha256').update(text).digest()
