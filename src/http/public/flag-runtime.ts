/**
 * The runtime of a flag request: its own statement, else its headers, so that server flags do not reach
 * browsers.
 */
import { type Selection, UNKNOWN_RUNTIME } from '../../flags/evaluate.ts'

/** The runtime of each client library, by its name in User-Agent. */
const LIBRARIES: ReadonlyMap<string, string> = new Map([
  ...['python', 'ruby', 'php', 'java', 'go', 'node', 'dotnet', 'elixir', 'rs', 'server'].map(
    (name) => [name, 'server'] as const,
  ),
  ...['js', 'android', 'ios', 'react-native', 'flutter'].map((name) => [name, 'client'] as const),
])
const LIBRARY = /^posthog-([a-z-]+)\/\S/
const BROWSER = /Mozilla\/|Chrome\/|Safari\/|Firefox\/|Edge\//
const SCRIPT = /python-requests\/|curl\//
/** Browsers send these and let no page change them. */
const PAGE_HEADERS = ['origin', 'referer', 'sec-fetch-mode', 'sec-fetch-site']

/** The selection, with the runtime that the headers show where the request named none. */
export function withRuntime(headers: Headers, selection: Selection): Selection {
  if (selection.evaluation_runtime !== null) return selection
  return { ...selection, evaluation_runtime: runtimeOf(headers) }
}

/** The User-Agent decides before the headers of pages; an unknown library tells nothing. */
function runtimeOf(headers: Headers): string {
  const user_agent = headers.get('user-agent') ?? ''
  const runtime = user_agent.startsWith('posthog-')
    ? LIBRARIES.get(LIBRARY.exec(user_agent)?.[1] ?? '')
    : runtimeOfProgram(user_agent)
  if (runtime !== undefined) return runtime
  return PAGE_HEADERS.some((name) => headers.has(name)) ? 'client' : UNKNOWN_RUNTIME
}

function runtimeOfProgram(user_agent: string): string | undefined {
  if (BROWSER.test(user_agent)) return 'client'
  return SCRIPT.test(user_agent) ? 'server' : undefined
}
