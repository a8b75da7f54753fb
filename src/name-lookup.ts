/**
 * Looks names up by c-ares, which waits on the event loop. The runtime's own lookup waits on one of the threads that passwords,
 * compression and files share: on two processors, two names whose name servers did not answer held all of them for ten seconds.
 * Backups go to buckets in a process of their own, which needs none of this.
 */
import { setServers } from 'node:dns'
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dns } from 'bun'
import { findErrorCode } from './error-message.ts'

/** The names whose last fetch was answered: their connections may last longer than their name servers answer. */
const reached = new Set<string>()

/** The runtime sends requests to the proxy of the environment, which looks their names up itself. */
const HAS_PROXY = Object.keys(process.env).some((name) => /^(all|https?)_proxy$/i.test(name))

/**
 * Fetches from an address of the settings. Where the last fetch failed or there was none, it rejects while no name server
 * answers for the name, before the runtime looks it up. A name that no name server knows is left to the runtime.
 */
export async function fetchByName(address: string, init: RequestInit): Promise<Response> {
  const host = hostOf(new URL(address))
  const is_looked_up = isIP(host) === 0 && !HAS_PROXY
  if (is_looked_up && !reached.has(host)) await requireNameServer(host, init.signal ?? null)
  try {
    const answer = await fetch(address, init)
    reached.add(host)
    return answer
  } catch (error) {
    reached.delete(host)
    throw error
  }
}

/** Rejects when no name server answers, or the signal is aborted before one does. */
async function requireNameServer(host: string, signal: AbortSignal | null): Promise<void> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal?.reason)
  signal?.addEventListener('abort', onAbort)
  try {
    signal?.throwIfAborted()
    await Promise.race([askNameServers(host), aborted.promise])
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Rejects when no name server answers; any answer will do. */
async function askNameServers(host: string): Promise<void> {
  try {
    await lookUp(host)
  } catch (cause) {
    if (findErrorCode(cause) !== SILENT) return
    throw new Error(`no name server answers for ${host}`, { cause })
  }
}

/** The code of c-ares where no name server answered in time, which is 25 seconds for one. */
const SILENT = 'DNS_ETIMEOUT'

/** Finds the addresses of a name; empty if the lookup fails. */
export async function findAddresses(host: string): Promise<readonly string[]> {
  const records = await lookUp(host).catch(() => [])
  return records.map(({ address }) => address)
}

function lookUp(host: string): ReturnType<typeof dns.lookup> {
  followNameServers()
  return dns.lookup(host, { backend: 'c-ares' })
}

const NAME_SERVERS = '/etc/resolv.conf'

/** The text of `NAME_SERVERS` at the last lookup; null before the first. */
let last_text: string | null = null

/** c-ares reads the name servers once; those of a machine change with its network, or come after the start. */
function followNameServers(): void {
  const text = existsSync(NAME_SERVERS) ? readFileSync(NAME_SERVERS, 'utf8') : ''
  const is_changed = last_text !== null && text !== last_text
  last_text = text
  if (!is_changed) return
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/))
  const servers = lines.flatMap(([name, value = '']) =>
    name === 'nameserver' && isIP(value) !== 0 ? [value] : [],
  )
  if (servers.length > 0) setServers(servers)
}

/** The name or the address of a URL's host, an IPv6 one without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}
