/** Listens for requests, and stops. */
import type { Elysia } from 'elysia'
import type { Certificate, CertificateSource } from '../certificates/certificate.ts'
import { type Config, ConfigError } from '../config.ts'
import { Refusal } from '../errors.ts'
import { answerRefusal } from '../http/answers/refusals.ts'
import { IDLE_TIMEOUT_S } from '../http/endpoint.ts'
import type { Log } from '../logs.ts'
import type { FirstObjects } from '../projects/bootstrap.ts'
import type { Control } from '../storage/control/control-db.ts'

/** Time for started requests during a stop; then their connections are closed. */
export const ANSWER_TIME_MS = 5000

/** Another program uses the port. */
class PortInUse extends Error {
  override readonly name = 'PortInUse'
}

/** A running server. */
export type Server = {
  readonly url: string
  readonly control: Control
  /** The things that this start made on an empty folder. */
  readonly first: FirstObjects | null
  /** Resolves when the server cannot continue. */
  readonly broken: Promise<void>
  /** Answers received requests, commits, closes and resolves. */
  stop(): Promise<void>
}

export type ListeningServer = {
  /** The address that clients use. */
  readonly url: string
  /** The address on this machine, without a proxy between. */
  readonly local_url: string
  stop(): Promise<void>
}

/** Listens on the port of the settings, with https if there are certificates. Throws if another program does. */
export function listen(
  config: Config,
  app: Elysia,
  { certificates, log }: { readonly certificates: CertificateSource | null; readonly log: Log },
): ListeningServer {
  if (certificates === null) return listenPlainly(config, app)
  return listenWithTls(config, app, { certificates, log })
}

function listenPlainly(config: Config, app: Elysia): ListeningServer {
  const server = bind(app, config, config.port)
  const local_url = localUrl('http', config.host, server.port ?? config.port)
  return {
    url: publicUrl(config, local_url),
    local_url: local_url + config.base_path,
    stop: () => stopServers([server]),
  }
}

type TlsParts = { readonly certificates: CertificateSource; readonly log: Log }

/**
 * Listens with a certificate, and with each new one. Bun cannot change the certificate of a listener, so a second
 * listener takes the port beside the first. The first then takes no more connections, answers the requests that it has,
 * and closes idle connections.
 */
function listenWithTls(
  config: Config,
  app: Elysia,
  { certificates, log }: TlsParts,
): ListeningServer {
  requireFreePort(config)
  const certificate = certificates.read()
  const first = bind(app, config, config.port, certificate)
  const port = first.port ?? config.port
  const servers = new Set([first])
  log.info({ valid_until: certificate.valid_until }, 'serving with a certificate')
  const onChanged = (changed: Certificate): void => {
    const before = [...servers]
    servers.add(bind(app, config, port, changed))
    for (const server of before) void server.stop().then(() => servers.delete(server))
    log.info({ valid_until: changed.valid_until }, 'serving with a new certificate')
  }
  const unwatch = certificates.watch(onChanged, (err) =>
    log.error({ err }, 'the new certificate cannot be used; serving with the one before'),
  )
  const local_url = localUrl('https', config.host, port)
  return {
    url: publicUrl(config, local_url),
    local_url: local_url + config.base_path,
    stop() {
      unwatch()
      return stopServers([...servers])
    },
  }
}

type BunServer = NonNullable<Elysia['server']>

function bind(app: Elysia, config: Config, port: number, certificate?: Certificate): BunServer {
  try {
    // Endpoints look into it for the addresses of clients.
    app.server = Bun.serve({
      hostname: config.host,
      port,
      // Two servers on one port would each get half of the requests; a new certificate's listener takes them all.
      reusePort: certificate !== undefined,
      development: false,
      idleTimeout: IDLE_TIMEOUT_S,
      // Routes refuse large bodies early and with JSON; Bun would close the connection without an answer.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: frontOf(app, config, certificate !== undefined),
      ...(certificate && { tls: { cert: certificate.cert, key: certificate.key } }),
    })
    return app.server
  } catch (error) {
    throw portError(error, config)
  }
}

/** The host of an address, and the path and query after it. A request of HTTP/1.0 may have no host, and then no scheme. */
const PARTS_OF_URL = /^(?:https?:\/\/([^/]*))?(.*)$/s

/** Returns the listener's request handler: the application itself, unless a request's address has to be changed first. */
function frontOf(app: Elysia, { base_path }: Config, has_tls: boolean) {
  const front = (request: Request): Response | Promise<Response> => {
    const [, host = 'localhost', target = ''] = PARTS_OF_URL.exec(request.url) ?? []
    const path = target.startsWith(base_path) ? target.slice(base_path.length) : null
    if (path === null || !(path === '' || path.startsWith('/') || path.startsWith('?'))) {
      const detail = `Endpoint not found: this server is below ${base_path}/.`
      return answerRefusal(new Refusal('not_found', detail))
    }
    // The router takes the path to begin at the first slash after `http://`. Changed in place: a copy would lose its
    // socket, and with it the client's address.
    const value = `http://${host}${path.startsWith('/') ? '' : '/'}${path}`
    return app.fetch(Object.defineProperty(request, 'url', { value }))
  }
  if (base_path !== '' || has_tls) return front
  // 11 ns a request: only one of HTTP/1.0 without a host has to be changed.
  return (request: Request) =>
    request.url.startsWith('http') ? app.fetch(request) : front(request)
}

/** The address that clients use, which ends with the base path. */
function publicUrl(config: Config, local_url: string): string {
  const { public_url, base_path, acme_domains } = config
  const [domain] = acme_domains
  const own_url = domain === undefined ? local_url : withHost(local_url, domain)
  const url = public_url ?? own_url
  return url.endsWith(base_path) ? url : url + base_path
}

function withHost(local_url: string, hostname: string): string {
  return Object.assign(new URL(local_url), { hostname }).origin
}

/** Throws if another program listens on the port, even if that program would share the port. */
export function requireFreePort(config: Config): void {
  try {
    const { host: hostname, port } = config
    void Bun.serve({ hostname, port, reusePort: false, fetch: () => new Response() }).stop(true)
  } catch (error) {
    throw portError(error, config)
  }
}

function portError(error: unknown, { host, port }: Config): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'EADDRINUSE') return new PortInUse(`${host}:${port} is in use by another program`)
  // A name without an address is `ENOENT`.
  if (code !== 'EADDRNOTAVAIL' && code !== 'ENOENT') return error
  return new ConfigError(`TIDEMARK_HOST must be an address of this machine, and ${host} is none`)
}

async function stopServers(servers: readonly BunServer[]): Promise<void> {
  const answered = Promise.all(servers.map((server) => server.stop()))
  await Promise.race([answered, Bun.sleep(ANSWER_TIME_MS)])
  await Promise.all(servers.map((server) => server.stop(true)))
}

/** A URL that works from this machine, also if the server listens on all addresses. */
function localUrl(scheme: 'http' | 'https', host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const is_bare = reachable.includes(':') && !reachable.startsWith('[')
  return `${scheme}://${is_bare ? `[${reachable}]` : reachable}:${port}`
}
