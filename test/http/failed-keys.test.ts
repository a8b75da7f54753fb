/** Guessing keys and invites: slowed per client network, in bounded memory, and never for callers on this machine. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { Refusal } from '../../src/errors.ts'
import { FailedKeys } from '../../src/http/callers/failed-keys.ts'
import { openLog } from '../../src/logs.ts'
import { senderNetwork } from '../../src/networks.ts'
import type { Server } from '../../src/serve/listening.ts'
import { startServer } from '../../src/serve.ts'

setDefaultTimeout(60_000)

const KEY = 'phx_preset_key_for_guessers'
const TRIES = 3

let folder = ''
let server: Server
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-guess-'))
  const env = {
    TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: KEY,
    TIDEMARK_FAILED_KEYS_PER_MINUTE: String(TRIES),
    TIDEMARK_TRUSTED_PROXIES: '127.0.0.1',
    TIDEMARK_PORT: '0',
  }
  server = await startServer(readConfig({ data_dir: folder }, env), openLog('silent', []))
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function call(from: string | null, key: string | null, path = '/api/users/@me/') {
  const headers = {
    ...(from === null ? {} : { 'X-Forwarded-For': from }),
    ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
  }
  const answer = await fetch(`${server.url}${path}`, { headers })
  const body = (await answer.json()) as { readonly code?: string }
  return { status: answer.status, code: body.code, wait: answer.headers.get('retry-after') }
}

const statusesOf = async (times: number, one: () => ReturnType<typeof call>) => {
  const statuses: number[] = []
  for (let time = 0; time < times; time += 1) statuses.push((await one()).status)
  return statuses
}

describe('a client that tries wrong keys', () => {
  test('is answered 429 after a few, with its right key too, and others are not', async () => {
    expect(await statusesOf(TRIES, () => call('1.1.1.1', 'phx_wrong'))).toEqual([401, 401, 401])
    const refused = await call('1.1.1.1', 'phx_wrong')
    expect(refused).toMatchObject({ status: 429, code: 'throttled' })
    expect(Number(refused.wait)).toBeGreaterThan(0)
    expect(Number(refused.wait)).toBeLessThanOrEqual(60 / TRIES)
    expect((await call('1.1.1.1', KEY)).status).toBe(429)
    expect((await call('1.1.1.2', KEY)).status).toBe(200)
    // They may be clients of an edge at that address.
    expect((await call('1.1.1.1', KEY, '/_edge/v1/edges')).status).toBe(200)
    // Without a key there is nothing to guess.
    expect((await call('1.1.1.1', null)).status).toBe(401)
  })

  test('with the right key has no limit, and calls without a key do not count', async () => {
    expect(new Set(await statusesOf(20, () => call('2.2.2.2', KEY)))).toEqual(new Set([200]))
    expect(new Set(await statusesOf(20, () => call('2.2.2.2', null)))).toEqual(new Set([401]))
    expect((await call('2.2.2.2', KEY)).status).toBe(200)
  })

  test('on this machine is not counted', async () => {
    expect(new Set(await statusesOf(30, () => call(null, 'phx_wrong')))).toEqual(new Set([401]))
    expect((await call(null, KEY)).status).toBe(200)
  })

  test('may not hide in a /64, and invites count like keys', async () => {
    const guess = (end: number) => call(`2001:1:2:3::${end}`, null, `/api/signup/guess${end}/`)
    let end = 0
    expect(await statusesOf(TRIES + 1, () => guess(++end))).toEqual([404, 404, 404, 429])
    expect((await call('2001:1:2:3:ffff::1', KEY)).status).toBe(429)
    expect((await call('2001:1:2:4::1', KEY)).status).toBe(200)
  })
})

describe('tries', () => {
  const socketOf = (address: string) => ({
    requestIP: () => ({ address }),
    timeout: () => undefined,
  })
  const request = new Request('http://localhost/')
  const fail = (): never => {
    throw new Refusal('authentication_failed', 'no')
  }
  const codeOf = (keys: FailedKeys, address: string, look: () => unknown = fail): string => {
    try {
      keys.guard(request, socketOf(address), look)
      return 'found'
    } catch (error) {
      return error instanceof Refusal ? error.code : String(error)
    }
  }

  test('come back with time, and never more than there were', () => {
    const clock = { now_ms: 0 }
    const keys = new FailedKeys(
      { per_minute: 2, trusted_proxies: [] },
      () => new Date(clock.now_ms),
    )
    const codes = () => Array.from({ length: 3 }, () => codeOf(keys, '1.1.1.1'))
    const [no, later] = ['authentication_failed', 'throttled']
    expect(codes()).toEqual([no, no, later])
    clock.now_ms += 30_000
    expect(codes()).toEqual([no, later, later])
    clock.now_ms += 3_600_000
    expect(codes()).toEqual([no, no, later])
  })

  test('are counted only for what is unknown', () => {
    const keys = new FailedKeys({ per_minute: 1, trusted_proxies: [] }, () => new Date(0))
    const broken = (): never => {
      throw new Error('broken')
    }
    expect(codeOf(keys, '1.1.1.1', () => 1)).toBe('found')
    expect(codeOf(keys, '1.1.1.1', broken)).toBe('Error: broken')
    expect(keys.size).toBe(0)
  })

  test('of any number of addresses are remembered for ten thousand', () => {
    const keys = new FailedKeys({ per_minute: 1, trusted_proxies: [] }, () => new Date(0))
    for (let one = 0; one < 12_000; one += 1) codeOf(keys, `9.9.${one >> 8}.${one & 255}`)
    expect(keys.size).toBe(10_000)
    expect(codeOf(keys, `9.9.${11_999 >> 8}.${11_999 & 255}`)).toBe('throttled')
  })

  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:0001::6', '2001:db8:1:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('of %s are those of %s', (address, network) => {
    expect(senderNetwork(address)).toBe(network)
  })
})
