/** The web client itself, for sites that load it with the HTML snippet: the library, and what it fetches when asked to. */

import client from 'posthog-js/package.json' with { type: 'json' }
import array from '#web-client/array.js' with { type: 'file' }
import deadClicks from '#web-client/dead-clicks-autocapture.js' with { type: 'file' }
import exceptions from '#web-client/exception-autocapture.js' with { type: 'file' }
import surveys from '#web-client/surveys.js' with { type: 'file' }
import tracingHeaders from '#web-client/tracing-headers.js' with { type: 'file' }
import webVitals from '#web-client/web-vitals.js' with { type: 'file' }
import { Refusal } from '../../errors.ts'
import type { AppContext } from '../app-context.ts'
import { corsHeaders } from '../cors.ts'
import type { Endpoint } from '../endpoint.ts'
import { answerFixed, type FixedText, fixText } from '../fixed-texts.ts'
import { remoteConfigScript } from './remote-config.ts'
import { siteReads } from './site-answers.ts'

/** What is served, by the name that the library asks for. Recordings are not kept here, so their part is not there. */
const SCRIPTS: Readonly<Record<string, string>> = {
  'array.js': array,
  'dead-clicks-autocapture.js': deadClicks,
  'exception-autocapture.js': exceptions,
  'surveys.js': surveys,
  'tracing-headers.js': tracingHeaders,
  'web-vitals.js': webVitals,
}

/** A new version of the server brings a new library; pages ask once an hour whether it has. */
const CACHE = { 'Cache-Control': 'public, max-age=3600' }
/** What stands before the library in `/array/{token}/array.js` changes with the project. */
const NO_CACHE = { 'Cache-Control': 'no-cache' }
const SCRIPT_HEADERS = {
  'Content-Type': 'application/javascript; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Origin',
}

/** The scripts, under the addresses that the snippet and the library make of the server's. */
export function webClientEndpoints(app: AppContext): readonly Endpoint[] {
  const readOnce = scriptReader(SCRIPTS)
  return [
    ...siteReads(app, '/static/:file', async (request, params) =>
      answerWith(request, await readOnce(params['file'] ?? '')),
    ),
    ...siteReads(app, '/static/:file/:version_file', async (request, params) => {
      // The library asks for parts of its own version, which no other fits.
      if (params['file'] !== client.version) throw new Refusal('not_found', 'Not found.')
      return answerWith(request, await readOnce(params['version_file'] ?? ''))
    }),
    ...siteReads(app, '/array/:token/array.js', async (request, params) => {
      const config = remoteConfigScript(app, request, params)
      const { text } = await readOnce('array.js')
      const headers = { ...SCRIPT_HEADERS, ...NO_CACHE, ...corsHeaders(request) }
      return new Response(`${config}\n${text}`, { headers })
    }),
  ]
}

/**
 * Reads each script, and compresses it, when somebody asks for it the first time; again where that failed. Refuses names
 * that `paths` does not have.
 */
export function scriptReader(
  paths: Readonly<Record<string, string>>,
): (name: string) => Promise<FixedText> {
  const stored = new Map<string, Promise<FixedText>>()
  return (name) => {
    const path = Object.hasOwn(paths, name) ? paths[name] : undefined
    if (path === undefined) throw new Refusal('not_found', 'Not found.')
    const before = stored.get(name)
    if (before !== undefined) return before
    const reading = readScript(path).catch((error: unknown) => {
      stored.delete(name)
      throw error
    })
    stored.set(name, reading)
    return reading
  }
}

async function readScript(path: string): Promise<FixedText> {
  const text = await Bun.file(path).text()
  // Maps of the source are not served.
  const bare = text.replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, '\n')
  return fixText(bare)
}

function answerWith(request: Request, script: FixedText): Response {
  return answerFixed(request, script, {
    ...SCRIPT_HEADERS,
    ...CACHE,
    ...corsHeaders(request),
    Vary: SCRIPT_HEADERS.Vary,
  })
}
