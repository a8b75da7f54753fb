/** decide and flags: the flags of one person, for SDKs. */
import { Refusal } from '../../errors.ts'
import { decideVersion, writeDecide } from '../../flags/response.ts'
import type { Evaluation, TextSink } from '../../flags/result.ts'
import type { Project } from '../../projects/settings/project.ts'
import { answerFlags, type FlagAnswer } from '../../targeting/flags/answer-flags.ts'
import type { ProjectFlags } from '../../targeting/flags/flag-definitions.ts'
import { noteProject, resumeWork } from '../../threads/this-thread.ts'
import { secondsSince } from '../../threads/timings.ts'
import { AnswerText } from '../answers/answer-text.ts'
import { JSON_HEADERS } from '../answers/answers.ts'
import { corsHeaders, preflightHeaders } from '../answers/cors.ts'
import type { PublicContext } from '../app-context.ts'
import type { ClientSocket, Endpoint } from '../endpoint.ts'
import { locate } from './flag-location.ts'
import { FLAG_BODY_BYTES_MAX, type FlagRequest, readFlagRequest } from './flag-request.ts'
import { withRuntime } from './flag-runtime.ts'
import { siteConfigText } from './site-config.ts'

/** The differences between the two names of the endpoint. */
type FlagDialect = {
  readonly no_key: string
  readonly wrong_key: string
  readonly no_distinct_id: string
  /** The member of an answer without flags, as JSON text. */
  readonly no_flags: string
  /** The body of a preflight's answer; null for a 204. */
  readonly preflight: string | null
  /** Writes the answer as JSON without braces, from an evaluation or null. */
  readonly write: (out: TextSink, call: FlagCall, evaluation: Evaluation | null, now: Date) => void
}

/** The parts that every request to one name of the endpoint needs. */
type FlagEndpointContext = {
  readonly app: PublicContext
  readonly dialect: FlagDialect
  readonly knowsToken: (token: string) => boolean
}

type FlagCall = {
  readonly request: Request
  readonly socket: ClientSocket
  readonly project: Project
  readonly flags: FlagRequest
  /** The page's origin; '' if unknown. */
  readonly origin: string
}

const DECIDE: FlagDialect = {
  no_key: 'No project API key provided. You can find your project API key in the project settings.',
  wrong_key: 'Project API key invalid. You can find your project API key in the project settings.',
  no_distinct_id: 'Decide requires a distinct_id.',
  no_flags: '"featureFlags":{}',
  preflight: '{"status":1}',
  write: writeDecideAnswer,
}

const FLAGS: FlagDialect = {
  no_key: 'No API token provided. Please include a valid API token in your request.',
  wrong_key:
    'The provided API key is invalid or has expired. Please check your API key and try again.',
  no_distinct_id: 'The distinct_id field is missing from the request. Please include a valid one.',
  no_flags: '"flags":{}',
  preflight: null,
  write: writeFlagsAnswer,
}

const PATHS: readonly (readonly [path: string, dialect: FlagDialect])[] = [
  ['/decide', DECIDE],
  ['/flags', FLAGS],
]

const ANSWER_INIT = { headers: new Headers(JSON_HEADERS) }
const ANSWER_TEXT = new AnswerText()

/** Creates the flag endpoints; a project token suffices. */
export function flagEndpoints(app: PublicContext): readonly Endpoint[] {
  const knowsToken = (token: string): boolean => app.flags.findProject(token.trim()) !== null
  return PATHS.flatMap(([path, dialect]) => {
    const context = { app, dialect, knowsToken }
    const answer: Endpoint['answer'] = (request, _params, socket) =>
      answerFlagRequest(context, request, socket)
    return [
      { method: 'POST', path, answer },
      { method: 'GET', path, answer: (request) => answerWithoutProject(request, dialect) },
      { method: 'HEAD', path, answer: (request) => answerWithoutProject(request, dialect) },
      { method: 'OPTIONS', path, answer: (request) => answerPreflight(request, dialect) },
    ] as const
  })
}

/**
 * Answers one request. This is a hot path: texts that do not depend on the person are built once per project.
 */
async function answerFlagRequest(
  { app, dialect, knowsToken }: FlagEndpointContext,
  request: Request,
  socket: ClientSocket,
): Promise<Response> {
  const body = await app.bodies.readForThread(request, FLAG_BODY_BYTES_MAX, socket)
  await app.bodies.turnEnd()
  resumeWork()
  const flags = readFlagRequest(request, body, knowsToken)
  const project = requireProject(app, dialect, flags.token)
  noteProject(project.id)
  if (!flags.is_disabled && (flags.distinct_id ?? null) === null) {
    throw new Refusal('missing_distinct_id', dialect.no_distinct_id, { attr: 'distinct_id' })
  }
  const origin = request.headers.get('origin')
  const call: FlagCall = { request, socket, project, flags, origin: origin ?? '' }
  const now = app.now()
  const loading = flags.is_disabled ? null : readyFlags(app, call)
  // Awaiting a value that is ready would cost a microtask turn.
  const stored = loading instanceof Promise ? await loading : loading
  resumeWork()
  const started_ms = performance.now()
  const answer = stored === null ? null : evaluate(app, call, stored, now)
  if (answer !== null) app.timings.flags.record(secondsSince(started_ms))
  if (answer !== null && answer.overrides.length > 0) {
    await storeOverrides(app, answer.overrides)
  }
  const out = ANSWER_TEXT.begin()
  out.write('{')
  dialect.write(out, call, answer?.evaluation ?? null, now)
  out.write('}')
  if (origin === null) return new Response(out.written(), ANSWER_INIT)
  return new Response(out.written(), { headers: { ...JSON_HEADERS, ...corsHeaders(request) } })
}

function requireProject(app: PublicContext, dialect: FlagDialect, token: unknown): Project {
  const text = typeof token === 'string' ? token.trim() : token
  if (text === undefined || text === null || text === '') {
    throw new Refusal('no_api_key', dialect.no_key, { attr: 'api_key' })
  }
  const project = typeof text === 'string' ? app.flags.findProject(text) : null
  if (project !== null) return project
  throw new Refusal('invalid_api_key', dialect.wrong_key, { attr: 'api_key' })
}

function writeDecideAnswer(
  out: TextSink,
  { flags, project, origin }: FlagCall,
  evaluation: Evaluation | null,
): void {
  const version = decideVersion(flags.fields['v'])
  if (evaluation !== null) writeDecide(out, evaluation, version)
  else out.write(version === 4 ? '"flags":{}' : '"featureFlags":{}')
  writeRequestId(out)
  out.write(',')
  out.write(siteConfigText(project, origin))
}

function writeFlagsAnswer(
  out: TextSink,
  { flags, project, origin }: FlagCall,
  evaluation: Evaluation | null,
  now: Date,
): void {
  const { v, config } = flags.fields
  const has_config = config === undefined ? v === undefined : isTrue(config)
  const version = v?.trim() === '1' ? 1 : 2
  if (evaluation !== null) {
    writeDecide(out, evaluation, version === 1 ? 3 : 4)
  } else {
    out.write(version === 1 ? '"featureFlags":{},"featureFlagPayloads":{}' : '"flags":{}')
    out.write(',"errorsWhileComputingFlags":false')
  }
  writeRequestId(out)
  out.write(`,"evaluatedAt":${now.getTime()}`)
  if (!has_config) return
  out.write(',')
  out.write(siteConfigText(project, origin))
}

function writeRequestId(out: TextSink): void {
  out.write(`,"requestId":"${Bun.randomUUIDv7()}"`)
}

function readyFlags(app: PublicContext, { project, flags: { groups } }: FlagCall) {
  const group_types = typeof groups === 'object' && groups !== null ? Object.keys(groups) : []
  return app.flags.readyFlagsOf(project.id, group_types)
}

function evaluate(
  app: PublicContext,
  { request, socket, flags }: FlagCall,
  stored: ProjectFlags,
  now: Date,
): FlagAnswer {
  const is_located = stored.inputs.needs_location && !flags.is_geoip_disabled
  const { has_runtimes } = stored.definitions
  const selection = has_runtimes ? withRuntime(request.headers, flags.selection) : flags.selection
  const query = is_located
    ? { ...flags, selection, ...locate(app.geoip, request, socket) }
    : has_runtimes
      ? { ...flags, selection }
      : flags
  const answer = answerFlags(app.persons, stored, query, now)
  const { evaluation, store_fault } = answer
  if (store_fault !== null) app.log.error({ err: store_fault }, 'flags without stored data')
  for (const { flag_key, cause } of evaluation.bugs) app.log.error({ err: cause, flag_key })
  return answer
}

/**
 * Stores hash key overrides. If the write fails, the next request computes the same value: the answer is right
 * either way.
 */
async function storeOverrides(
  app: PublicContext,
  overrides: FlagAnswer['overrides'],
): Promise<void> {
  try {
    await app.flag_rows.storeOverrides(overrides)
    app.persons.refresh()
  } catch (err) {
    app.log.error({ err }, 'flag overrides are not stored')
  }
}

/** Answers a connectivity check, which names no project, with members that are equal for every project. */
function answerWithoutProject(request: Request, { no_flags }: FlagDialect): Response {
  const text = `{${no_flags},"errorsWhileComputingFlags":false,${siteConfigText(null, '')}}`
  return new Response(text, { headers: { ...JSON_HEADERS, ...corsHeaders(request) } })
}

/** Answers a browser's preflight. */
function answerPreflight(request: Request, { preflight }: FlagDialect): Response {
  const headers = { Allow: 'GET, HEAD, OPTIONS, POST', ...preflightHeaders(request) }
  if (preflight === null) return new Response(null, { status: 204, headers })
  return new Response(preflight, { headers: { ...JSON_HEADERS, ...headers } })
}

function isTrue(text: string): boolean {
  return text === 'true' || text === '1'
}
