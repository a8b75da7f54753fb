/** The examples of `docs/running.md` for Caddy and nginx, started as printed there: SDKs through them, with TLS and below a path. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PostHog } from 'posthog-node'
import { askUntil } from './clients/patience.ts'
import { type CertificatePaths, makeCertificate, NO_OPENSSL } from './processes/certificates.ts'
import { PROXIES, type ProxyName, startProxy } from './processes/proxies.ts'
import { API_TOKEN, askHogQL, freePort, type Server, startServer } from './processes/server.ts'

setDefaultTimeout(180_000)

const RUNNING = readFileSync(join(import.meta.dir, '../../docs/running.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-proxies-'))

/** The address that the examples name. */
const UPSTREAM = '127.0.0.1:8000'

/** The one example in that language, with this test's server for the example's. */
function exampleOf(language: string, server: Server): string {
  const blocks = RUNNING.split(`\`\`\`${language}\n`).slice(1)
  const [text = ''] = blocks[0]?.split('```') ?? []
  expect(blocks).toHaveLength(1)
  return text.replaceAll(UPSTREAM, new URL(server.url).host)
}

type ProxySetup = {
  readonly server: Server
  readonly certificate: CertificatePaths
  /** Where the proxy serves the example's `analytics.example.com`, and its `www.example.com`. */
  readonly ports: { readonly own: number; readonly shared: number }
}

/** The example for a proxy, as this test serves it. */
const EXAMPLES: Readonly<Record<ProxyName, (setup: ProxySetup) => string>> = {
  caddy: caddyExample,
  nginx: nginxExample,
}

/** Gives each site a port and a certificate, which Caddy would get from an authority. */
function caddyExample({ server, certificate, ports }: ProxySetup): string {
  const tls = `tls ${certificate.cert} ${certificate.key}`
  return exampleOf('caddy', server)
    .replace('analytics.example.com {', `https://127.0.0.1:${ports.own} {\n${tls}`)
    .replace('www.example.com {', `https://127.0.0.1:${ports.shared} {\n${tls}`)
}

function nginxExample({ server, certificate, ports }: ProxySetup): string {
  return exampleOf('nginx', server)
    .replace('listen 443 ssl', `listen 127.0.0.1:${ports.own} ssl`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${ports.shared} ssl`)
    .replace('/etc/ssl/example.com.crt', certificate.cert)
    .replace('/etc/ssl/example.com.key', certificate.key)
}

/** Sends one event from another address of this machine, claiming a third one. */
function sendFrom(address: string, url: string, ca: string, body: string): Promise<number> {
  const headers = { 'X-Forwarded-For': '9.9.9.9', 'Content-Length': body.length }
  const options = { method: 'POST', localAddress: address, ca, headers }
  return new Promise((resolve, reject) => {
    request(`${url}/capture/`, options, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    })
      .on('error', reject)
      .end(body)
  })
}

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(PROXIES)('behind $name as in the documentation', (proxy_kind) => {
  const { name, program } = proxy_kind
  // Skipped where the program is not installed (Debian: caddy, nginx-light), or openssl.
  const tests = describe.skipIf(program === null || NO_OPENSSL !== null)

  tests('SDKs', () => {
    const parts = new AsyncDisposableStack()
    let server: Server
    let ca = ''
    const urls = { own: '', shared: '' }

    beforeAll(async () => {
      const home = join(folder, name)
      mkdirSync(home, { recursive: true })
      server = await startServer({
        data_dir: join(home, 'data'),
        env: { TIDEMARK_TRUSTED_PROXIES: '127.0.0.1' },
      })
      parts.defer(async () => void (await server.stop()))
      const certificate = await makeCertificate(home, name)
      ca = readFileSync(certificate.cert, 'utf8')
      const ports = { own: freePort(), shared: freePort() }
      urls.own = `https://127.0.0.1:${ports.own}`
      urls.shared = `https://127.0.0.1:${ports.shared}/tidemark`
      const sites = EXAMPLES[name]({ server, certificate, ports })
      const proxy = await startProxy(proxy_kind, {
        folder: home,
        sites,
        urls: Object.values(urls),
        ca,
      })
      parts.defer(() => proxy.stop())
    }, 180_000)
    afterAll(() => parts.disposeAsync(), 60_000)

    test.each(['own', 'shared'] as const)(
      'are answered over https on their %s address',
      async (kind) => {
        const client = new PostHog(API_TOKEN, {
          host: urls[kind],
          fetch: (url, options) => fetch(url, { ...options, tls: { ca } }),
        })
        const event = `through ${name}, ${kind}`
        for (let index = 0; index < 25; index += 1) {
          client.capture({ distinctId: `user-${index}`, event, properties: { index } })
        }
        expect(await client.getAllFlags('user-1')).toEqual({})
        await client.shutdown()
        const query = `select count(), sum(properties.index) from events where event = '${event}'`
        const results = await askUntil(
          async () => (await askHogQL(server.url, query)).results,
          ([row]) => row?.[0] === 25,
        )
        expect(results).toEqual([[25, 300]])
      },
    )

    test('are known by their own address, not by the one that they claim', async () => {
      const event = `from ${name}`
      const body = JSON.stringify({ api_key: API_TOKEN, event, distinct_id: 'u' })
      expect(await sendFrom('127.0.0.2', urls.shared, ca, body)).toBe(200)
      const query = `select properties.$ip from events where event = '${event}'`
      const results = await askUntil(
        async () => (await askHogQL(server.url, query)).results,
        (rows) => rows.length > 0,
      )
      expect(results).toEqual([['127.0.0.2']])
    })

    test('load the web client below the path', async () => {
      const answer = await fetch(`${urls.shared}/static/array.js`, { tls: { ca } })
      expect(answer.status).toBe(200)
      expect(await answer.text()).toContain('posthog')
    })
  })
})

test.todo('the address of the PROXY protocol is read (the HTTP server of Bun cannot)')
