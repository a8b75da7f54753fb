/** Certificates by ACME from a real authority: the first, the next, and everything that can go wrong between. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { openAcme } from '../../src/certificates/acme/acme-certificates.ts'
import { AcmeFile } from '../../src/certificates/acme/acme-file.ts'
import type { OrderOptions } from '../../src/certificates/acme/order.ts'
import {
  findAllowedTime,
  findRenewalTime,
  findRetryDelay,
} from '../../src/certificates/acme/schedule.ts'
import { readRetryAfter } from '../../src/certificates/acme/transport.ts'
import type { Certificate } from '../../src/certificates/certificate.ts'
import { SettableClock } from '../../src/http/settable-clock.ts'
import { openLog } from '../../src/logs.ts'
import { commandLine, ENVIRONMENT, run } from '../cli/command.ts'
import {
  type Authority,
  NO_AUTHORITY,
  newAddress,
  startAuthority,
} from '../flows/processes/authority.ts'
import { makeCertificate, NO_OPENSSL } from '../flows/processes/certificates.ts'
import { freePort } from '../flows/processes/server.ts'

setDefaultTimeout(60_000)

const HOUR_MS = 3_600_000
const ANSWER_PORT = freePort()

const folder = mkdtempSync(join(tmpdir(), 'tidemark-acme-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let folders = 0
const newFolder = (): string => {
  const path = join(folder, `data-${(folders += 1)}`)
  mkdirSync(path)
  return path
}

/** The firewall of this machine: what the authority asks on port 80 passes it, is refused, or waits at it. */
class Gate {
  readonly #server: Bun.Server<undefined>
  mode: 'hold' | 'pass' | 'refuse' = 'pass'
  held = 0

  constructor(host: string) {
    this.#server = Bun.serve({
      hostname: host,
      port: 80,
      fetch: async (request) => {
        if (this.mode === 'hold') this.held += 1
        while (this.mode === 'hold') await Bun.sleep(10)
        if (this.mode === 'refuse') return new Response('refused', { status: 403 })
        return fetch(`http://${host}:${ANSWER_PORT}${new URL(request.url).pathname}`).catch(
          () => new Response('nobody answers', { status: 502 }),
        )
      },
    })
  }

  async stop(): Promise<void> {
    await this.#server.stop(true)
  }
}

describe.skipIf(NO_AUTHORITY !== null)('an authority', () => {
  const host = newAddress()
  let authority: Authority
  let gate: Gate
  beforeAll(async () => {
    const hosts = { 'one.test': host, 'two.test': host }
    authority = await startAuthority({ folder, hosts })
    gate = new Gate(host)
  })
  afterEach(() => {
    gate.mode = 'pass'
  })
  afterAll(async () => {
    await gate.stop()
    await authority.stop()
  })

  /** Opens the source of a server on a folder, whose clock the test sets. */
  const open = async (data_dir: string, changes: Partial<OrderOptions> = {}) => {
    const log_lines: string[] = []
    const clock = new SettableClock()
    const log = openLog('info', [], { write: (line) => log_lines.push(line) })
    const damaged: string[] = []
    const file = new AcmeFile(data_dir, (kept_as) => damaged.push(kept_as))
    const options = {
      directory: authority.directory,
      domains: ['one.test'],
      email: 'operator@one.test',
      ca: readFileSync(authority.ca_path, 'utf8'),
      challenges: { host, port: ANSWER_PORT },
      ...changes,
    }
    const source = await openAcme({
      options,
      file,
      log,
      now: clock.now,
      may_order: true,
      look_ms: 10,
    })
    const served: Certificate[] = []
    source.watch((changed) => void served.push(changed))
    return {
      file,
      source,
      served,
      damaged,
      log_lines,
      forward: (hours: number) => clock.set(new Date(clock.now().getTime() + hours * HOUR_MS)),
      async orders(wanted: { readonly done: number; readonly failed: number }) {
        while (!Bun.deepEquals(source.state().orders, wanted)) await Bun.sleep(10)
      },
      [Symbol.asyncDispose]: () => source.close(),
    }
  }

  const namesOf = ({ cert }: Certificate): string => new X509Certificate(cert).subjectAltName ?? ''

  test('issues a certificate for all names, which a restart serves again and does not order again', async () => {
    const data_dir = newFolder()
    {
      await using first = await open(data_dir, { domains: ['one.test', 'two.test'] })
      expect(first.source.state().certificate).toBeNull()
      await first.orders({ done: 1, failed: 0 })
      expect(first.served.map(namesOf)).toEqual(['DNS:one.test, DNS:two.test'])
      expect(first.source.state()).toMatchObject({ certificate: first.served[0], fault: null })
      expect(statSync(join(data_dir, 'acme.json')).mode & 0o777).toBe(0o600)
    }
    await using second = await open(data_dir, { domains: ['two.test', 'one.test'] })
    expect(namesOf(second.source.read())).toBe('DNS:one.test, DNS:two.test')
    second.forward(7)
    await Bun.sleep(50)
    expect(second.source.state().orders).toEqual({ done: 0, failed: 0 })
  })

  test('that refuses a renewal leaves the certificate as it is, and is asked again later', async () => {
    await using server = await open(newFolder())
    await server.orders({ done: 1, failed: 0 })
    const before = server.source.read()
    gate.mode = 'refuse'
    server.forward(9)
    await server.orders({ done: 1, failed: 1 })
    expect(server.source.read()).toEqual(before)
    expect(server.source.state().fault).toContain('one.test was not confirmed')
    expect(server.log_lines.at(-1)).toContain('the next certificate could not be obtained')
    gate.mode = 'pass'
    await Bun.sleep(50)
    expect(server.source.state().orders).toEqual({ done: 1, failed: 1 })
    server.forward(0.2)
    await server.orders({ done: 2, failed: 1 })
    expect(server.served).toHaveLength(2)
    expect(server.source.read().cert).not.toBe(before.cert)
    expect(server.source.state().fault).toBeNull()
  })

  test('that issued one for other names, or is another one, is asked at once', async () => {
    const data_dir = newFolder()
    {
      await using server = await open(data_dir)
      await server.orders({ done: 1, failed: 0 })
    }
    await using server = await open(data_dir, { domains: ['two.test'] })
    expect(namesOf(server.source.read())).toBe('DNS:one.test')
    await server.orders({ done: 1, failed: 0 })
    expect(namesOf(server.source.read())).toBe('DNS:two.test')
  })

  test('is asked four times an hour at most, over restarts', async () => {
    const data_dir = newFolder()
    gate.mode = 'refuse'
    for (let start = 0; start < 4; start += 1) {
      await using server = await open(data_dir)
      await server.orders({ done: 0, failed: 1 })
    }
    gate.mode = 'pass'
    await using server = await open(data_dir)
    while (!server.log_lines.some((line) => line.includes('too many orders'))) await Bun.sleep(10)
    server.forward(0.9)
    await Bun.sleep(50)
    expect(server.source.state().orders).toEqual({ done: 0, failed: 0 })
    server.forward(0.2)
    await server.orders({ done: 1, failed: 0 })
  })

  test('that does not answer at the start is asked again, and the first answer is taken', async () => {
    const port = freePort()
    const directory = `https://localhost:${port}/acme/local/directory`
    await using server = await open(newFolder(), { directory })
    await server.orders({ done: 0, failed: 1 })
    expect(server.source.state()).toMatchObject({ certificate: null })
    expect(server.log_lines.at(-1)).toContain('clients refuse the connection')
    const hosts = { 'one.test': host }
    const late_folder = newFolder()
    // The same authority: it has the same root.
    cpSync(join(folder, 'caddy/pki'), join(late_folder, 'caddy/pki'), { recursive: true })
    const late = await startAuthority({ folder: late_folder, hosts, port })
    server.forward(0.2)
    await server.orders({ done: 1, failed: 1 })
    await late.stop()
  })

  test('of a wrong address, or without the right certificate, is a fault in words', async () => {
    const directory = new URL('/nowhere', authority.directory).href
    await using wrong = await open(newFolder(), { directory })
    await wrong.orders({ done: 0, failed: 1 })
    expect(wrong.source.state().fault).toContain('ACME directory')
    await using untrusted = await open(newFolder(), { ca: null })
    await untrusted.orders({ done: 0, failed: 1 })
    expect(untrusted.source.state().fault).toMatch(/certificate/)
  })

  test('cannot ask while the port of its challenges is taken, which costs no order', async () => {
    const challenges = { host, port: 80 }
    await using server = await open(newFolder(), { challenges })
    await server.orders({ done: 0, failed: 1 })
    expect(server.source.state().fault).toContain(`${host}:80 for the challenge: another program`)
    expect(server.file.state.attempts).toEqual([])
  })

  test('gets no new order for one that was broken off', async () => {
    const data_dir = newFolder()
    gate.mode = 'hold'
    const held = gate.held
    const first = await open(data_dir)
    while (gate.held === held) await Bun.sleep(10)
    await first.source.close()
    const { order } = first.file.state
    gate.mode = 'pass'
    const again: (string | undefined)[] = []
    await using second = await open(data_dir)
    again.push(second.file.state.order?.url)
    await second.orders({ done: 1, failed: 0 })
    expect(again).toEqual([order?.url])
    expect(second.file.state.certificate?.key).toBe(order?.key)
  })

  test('gives the certificate of a server that was killed while it was asked, and its clients see it at once', async () => {
    const data_dir = join(newFolder(), 'data')
    const port = freePort()
    const start = () =>
      Bun.spawn(commandLine(['serve']), {
        env: {
          ...ENVIRONMENT,
          TIDEMARK_DATA_DIR: data_dir,
          TIDEMARK_HOST: host,
          TIDEMARK_PORT: String(port),
          TIDEMARK_LOG_LEVEL: 'warn',
          TIDEMARK_ACME_DOMAINS: 'one.test',
          TIDEMARK_ACME_TERMS: 'accepted',
          TIDEMARK_ACME_DIRECTORY: authority.directory,
          TIDEMARK_ACME_CA: authority.ca_path,
          TIDEMARK_ACME_HTTP_PORT: String(ANSWER_PORT),
        },
        stdout: 'ignore',
        stderr: 'ignore',
      })
    const ask = (path: string) =>
      fetch(`https://${host}:${port}${path}`, {
        headers: { Host: 'one.test' },
        tls: { rejectUnauthorized: false },
      })
    const ca = readFileSync(authority.ca_path, 'utf8')
    const isTrusted = () =>
      new Promise<boolean>((resolve) => {
        const socket = connect({ host, port, ca, servername: 'one.test' })
        socket
          .once('secureConnect', () => resolve(socket.authorized))
          .once('error', () => resolve(false))
      })

    gate.mode = 'hold'
    const held = gate.held
    const killed = start()
    while (gate.held === held && killed.exitCode === null) await Bun.sleep(20)
    const early = await ask('/_readyz')
    expect(early.status).toBe(503)
    expect(await early.text()).toContain('There is no certificate yet: one is being ordered.')
    expect(await isTrusted()).toBe(false)
    const examined = await run(['doctor', '--json', '--data-dir', data_dir])
    expect(examined.out).toContain('is a temporary one, which clients refuse')
    killed.kill('SIGKILL')
    await killed.exited
    gate.mode = 'pass'

    const server = start()
    while (!(await isTrusted())) await Bun.sleep(20)
    while ((await ask('/_readyz')).status !== 200) await Bun.sleep(20)
    const metrics = await (await ask('/_metrics')).text()
    expect(metrics).toContain('tidemark_certificate_orders_total{outcome="done"} 1')
    expect(metrics).toMatch(/tidemark_certificate_remaining_seconds 4\d{4}/)
    server.kill()
    expect(await server.exited).toBe(0)
  })
})

describe.skipIf(NO_OPENSSL !== null)('an authority that has too much to do', () => {
  test('is asked again when it says so', async () => {
    const paths = await makeCertificate(folder, 'busy')
    const [cert, key] = [readFileSync(paths.cert, 'utf8'), readFileSync(paths.key, 'utf8')]
    const detail = 'too many certificates already issued'
    using busy = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: { cert, key },
      fetch: () => Response.json({ detail }, { status: 429, headers: { 'Retry-After': '7200' } }),
    })
    const log_lines: string[] = []
    const options = {
      directory: `https://localhost:${busy.port}/directory`,
      domains: ['one.test'],
      email: null,
      ca: cert,
      challenges: { host: '127.0.0.1', port: freePort() },
    }
    const file = new AcmeFile(newFolder(), () => undefined)
    const log = openLog('info', [], { write: (line) => log_lines.push(line) })
    const { now } = new SettableClock()
    const source = await openAcme({ options, file, log, now, may_order: true })
    const began = now().getTime()
    source.watch(() => undefined)
    while (source.state().orders?.failed !== 1) await Bun.sleep(10)
    await source.close()
    expect(file.state.fault).toBe(`it answered 429: ${detail}`)
    const { next_at }: { next_at: string } = JSON.parse(log_lines.at(-1) ?? '')
    expect(Date.parse(next_at)).toBeGreaterThanOrEqual(began + 2 * HOUR_MS)
  })
})

describe('a standby', () => {
  test('orders nothing while the names are its primary’s', async () => {
    const log_lines: string[] = []
    const options = {
      directory: 'https://localhost:1/directory',
      domains: ['one.test'],
      email: null,
      ca: null,
      challenges: { host: '127.0.0.1', port: freePort() },
    }
    const file = new AcmeFile(newFolder(), () => undefined)
    const log = openLog('info', [], { write: (line) => log_lines.push(line) })
    const { now } = new SettableClock()
    const source = await openAcme({ options, file, log, now, may_order: false })
    source.watch(() => undefined)
    await source.close()
    expect(source.state().orders).toEqual({ done: 0, failed: 0 })
    expect(log_lines.join()).toContain('a standby orders none before it takes over')
  })
})

describe('times', () => {
  const day = (number: number): Date => new Date(Date.UTC(2026, 0, 1) + number * 24 * HOUR_MS)
  const now = day(10)

  test('of renewals are after two thirds of a lifetime, spread by the certificate', () => {
    const times = ['a', 'b', 'c'].map((cert) =>
      findRenewalTime({ cert, valid_from: day(0), valid_until: day(90) }).getTime(),
    )
    expect(new Set(times).size).toBe(3)
    for (const time of times) {
      expect(time).toBeGreaterThanOrEqual(day(60).getTime())
      expect(time).toBeLessThan(day(62).getTime())
    }
  })

  test('of retries are further and further apart, with jitter, and as the authority asks', () => {
    const minutes = [1, 2, 3, 8, 1000].map((failures) => findRetryDelay(failures, 0, 0) / 60_000)
    expect(minutes).toEqual([5, 10, 20, 360, 360])
    expect(findRetryDelay(1, 0, 1) / 60_000).toBe(6.25)
    expect(findRetryDelay(1, 2 * HOUR_MS, 0)).toBe(2 * HOUR_MS)
    expect(findRetryDelay(1, 500 * HOUR_MS, 0)).toBe(24 * HOUR_MS)
  })

  test('of orders leave room for four an hour; those of a wrong clock do not count', () => {
    const attempts = [50, 40, 30, 20].map((minutes) => now.getTime() - minutes * 60_000)
    expect(findAllowedTime(attempts.slice(1), now)).toEqual(now)
    expect(findAllowedTime(attempts, now).getTime()).toBe(now.getTime() + 10 * 60_000)
    expect(findAllowedTime([...attempts.slice(1), day(11).getTime()], now)).toEqual(now)
  })

  test('to wait are seconds or a date', () => {
    const texts = [null, '120', day(11).toUTCString(), day(9).toUTCString(), 'soon']
    const waits = texts.map((text) => readRetryAfter(text, now.getTime()) / 1000)
    expect(waits).toEqual([0, 120, 86_400, 0, 0])
  })
})

describe('acme.json', () => {
  test('that is damaged is kept beside, and another one begun', () => {
    const data_dir = newFolder()
    writeFileSync(join(data_dir, 'acme.json'), '{"version":1,"account_keys":')
    const damaged: string[] = []
    const file = new AcmeFile(data_dir, (kept_as) => damaged.push(kept_as))
    expect(file.state.certificate).toBeNull()
    expect(damaged.filter((path) => existsSync(path))).toEqual([
      join(data_dir, 'acme.json.damaged'),
    ])
    file.change({ fault: 'none' })
    expect(new AcmeFile(data_dir, () => undefined).state.fault).toBe('none')
  })
})
