/** The web client library for sites that load it with the HTML snippet, and the parts that it loads later. */

import client from 'posthog-js/package.json' with { type: 'json' }
import array from '#web-client/array.js' with { type: 'file' }
import deadClicks from '#web-client/dead-clicks-autocapture.js' with { type: 'file' }
import exceptions from '#web-client/exception-autocapture.js' with { type: 'file' }
import surveys from '#web-client/surveys.js' with { type: 'file' }
import tracingHeaders from '#web-client/tracing-headers.js' with { type: 'file' }
import webVitals from '#web-client/web-vitals.js' with { type: 'file' }
import softNavigations from '#web-client/web-vitals-soft-navs.js' with { type: 'file' }
import attribution from '#web-client/web-vitals-with-attribution.js' with { type: 'file' }
import attributionSoftNavigations from '#web-client/web-vitals-with-attribution-soft-navs.js' with {
  type: 'file',
}
import { Refusal } from '../../errors.ts'
import { corsHeaders } from '../answers/cors.ts'
import { answerFixed, type FixedText, fixText } from '../answers/fixed-texts.ts'
import type { PublicContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { remoteConfigScript } from './remote-config.ts'
import { siteReads } from './site-answers.ts'

/**
 * SCRIPTS: the served files, by the name that the library requests. Session recording is unsupported, so its
 * part is missing.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  'array.js': array,
  'dead-clicks-autocapture.js': deadClicks,
  'exception-autocapture.js': exceptions,
  'surveys.js': surveys,
  'tracing-headers.js': tracingHeaders,
  'web-vitals.js': webVitals,
  'web-vitals-soft-navs.js': softNavigations,
  // The library loads this one unless a page says that it wants no attribution.
  'web-vitals-with-attribution.js': attribution,
  'web-vitals-with-attribution-soft-navs.js': attributionSoftNavigations,
}

/** A new version of the server brings a new library; pages check once an hour. */
const CACHE = { 'Cache-Control': 'public, max-age=3600' }
/** `/array/{token}/array.js` starts with the project's settings, which can change at any time. */
const NO_CACHE = { 'Cache-Control': 'no-cache' }
const SCRIPT_HEADERS = {
  'Content-Type': 'application/javascript; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Origin',
}

/** Creates the endpoints, under the addresses that the snippet and the library derive from the server's. */
export function webClientEndpoints(app: PublicContext): readonly Endpoint[] {
  const readOnce = scriptReader(SCRIPTS)
  return [
    ...siteReads('/static/:file', async (request, params) =>
      answerWith(request, await readOnce(params['file'] ?? '')),
    ),
    ...siteReads('/static/:file/:version_file', async (request, params) => {
      // The library requests parts of its own version only.
      if (params['file'] !== client.version) throw new Refusal('not_found', 'Not found.')
      return answerWith(request, await readOnce(params['version_file'] ?? ''))
    }),
    ...siteReads('/array/:token/array.js', async (request, params) => {
      const config = remoteConfigScript(app, request, params)
      const { text } = await readOnce('array.js')
      const headers = { ...SCRIPT_HEADERS, ...NO_CACHE, ...corsHeaders(request) }
      return new Response(`${config}\n${text}`, { headers })
    }),
  ]
}

/**
 * Returns a reader that reads and compresses each script on its first request; a failed read is repeated.
 * Refuses names that `paths` does not have.
 */
export function scriptReader(
  paths: Readonly<Record<string, string>>,
): (name: string) => Promise<FixedText> {
  const stored = new Map<string, Promise<FixedText>>()
  return (name) => {
    const path = Object.hasOwn(paths, name) ? paths[name] : undefined
    if (path === undefined) throw new Refusal('not_found', 'Not found.')
    const cached = stored.get(name)
    if (cached !== undefined) return cached
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
  // Source maps are not served.
  const bare = text.replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, '\n')
  return fixText(bare)
}

function answerWith(request: Request, script: FixedText): Response {
  return answerFixed(request, script, {
    ...SCRIPT_HEADERS,
    ...CACHE,
    ...corsHeaders(request),
  })
}
