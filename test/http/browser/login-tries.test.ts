/** Guessing passwords is slowed per address of the user and per network, without locking the user out. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../../src/config.ts'
import { LoginTries } from '../../../src/http/browser/login-tries.ts'
import { openLog } from '../../../src/logs.ts'
import type { Server } from '../../../src/serve/listening.ts'
import { startServer } from '../../../src/serve.ts'

setDefaultTimeout(60_000)

const OWNER = { email: 'owner@example.com', password: 'correct horse battery' } as const
const MINUTE_MS = 60_000

let folder = ''
let server: Server
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-login-'))
  const env = {
    TIDEMARK_BOOTSTRAP_OWNER_EMAIL: OWNER.email,
    TIDEMARK_BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    TIDEMARK_TRUSTED_PROXIES: '127.0.0.1',
    TIDEMARK_PORT: '0',
  }
  server = await startServer(readConfig({ data_dir: folder }, env), openLog('silent', []))
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const send = (path: string, ip: string, body: object, cookie = ''): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'X-Tidemark': '1',
      'X-Forwarded-For': ip,
      Cookie: cookie,
    },
    body: JSON.stringify(body),
  })

const logIn = (ip: string, password: string, email: string = OWNER.email): Promise<Response> =>
  send('/api/login/', ip, { email, password })

describe('guesses at a server', () => {
  test('end after ten for an address, from wherever they come, but not where its user logs in', async () => {
    const home = await logIn('9.9.9.9', OWNER.password)
    expect(home.status).toBe(200)
    const guesses = Array.from({ length: 14 }, (_, guess) => logIn(`1.1.1.${guess}`, 'wrong'))
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    expect(statuses.toSorted((one, other) => one - other)).toEqual([
      ...Array(10).fill(401),
      ...Array(4).fill(429),
    ])
    const elsewhere = await logIn('2.2.2.2', OWNER.password)
    expect(await elsewhere.json()).toMatchObject({ code: 'throttled' })
    expect(Number(elsewhere.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(elsewhere.headers.get('retry-after'))).toBeLessThanOrEqual(90)
    expect((await logIn('9.9.9.9', OWNER.password)).status).toBe(200)
  })

  test('end after ten from a network, for whichever address', async () => {
    for (let guess = 0; guess < 10; guess += 1) {
      const answer = await logIn(`2001:db8:1:2::${guess}`, 'wrong', `a${guess}@example.com`)
      expect(answer.status).toBe(401)
    }
    expect((await logIn('2001:db8:1:2::ffff', 'wrong', 'b@example.com')).status).toBe(429)
    expect((await logIn('2001:db8:1:3::1', 'wrong', 'b@example.com')).status).toBe(401)
  })

  test('of the current password count as well', async () => {
    const login = await logIn('9.9.9.9', OWNER.password)
    const [cookie = ''] = (login.headers.getSetCookie()[0] ?? '').split(';')
    const body = { current_password: 'wrong', password: 'another good one' }
    const change = () => send('/api/users/@me/password/', '9.9.9.9', body, cookie)
    for (let guess = 0; guess < 10; guess += 1) expect((await change()).status).toBe(400)
    expect((await change()).status).toBe(429)
  })
})

const refusalOf = (tried: Promise<unknown>): Promise<unknown> =>
  tried.then(
    () => null,
    (error: unknown) => error,
  )

describe('the buckets', () => {
  const wrong = async (): Promise<null> => null
  const right = async (): Promise<number> => 1
  const login = { email: 'a@b.example', ip: '1.2.3.4', session_ips: [] }

  test('get one try back every ninety seconds', async () => {
    let now_ms = 0
    const tries = new LoginTries(() => new Date(now_ms))
    for (let guess = 0; guess < 10; guess += 1) await tries.guard(login, wrong)
    expect(await refusalOf(tries.guard(login, right))).toMatchObject({ retry_after_s: 90 })
    now_ms = 1.5 * MINUTE_MS
    expect(await tries.guard(login, right)).toBe(1)
    expect(await tries.guard(login, wrong)).toBeNull()
    expect(await refusalOf(tries.guard(login, right))).toMatchObject({ code: 'throttled' })
  })

  test('are not charged for right passwords, nor for faults of the server', async () => {
    const tries = new LoginTries(() => new Date(0))
    const fault = async (): Promise<null> => {
      throw new Error('disk')
    }
    for (let time = 0; time < 20; time += 1) {
      expect(await tries.guard(login, right)).toBe(1)
      expect(await refusalOf(tries.guard(login, fault))).toMatchObject({ message: 'disk' })
    }
  })

  test('of this machine are those of the addresses alone', async () => {
    const tries = new LoginTries(() => new Date(0))
    const local = { ...login, ip: '127.0.0.1' }
    for (let guess = 0; guess < 30; guess += 1) {
      await tries.guard({ ...local, email: `a${guess}@b.example` }, wrong)
    }
    for (let guess = 0; guess < 10; guess += 1) await tries.guard(local, wrong)
    expect(await refusalOf(tries.guard(local, right))).toMatchObject({ code: 'throttled' })
  })

  test('are at most ten thousand of each kind', async () => {
    const tries = new LoginTries(() => new Date(0))
    for (let guess = 0; guess < 10_500; guess += 1) {
      const ip = `10.${guess >> 16}.${(guess >> 8) & 255}.${guess & 255}`
      await tries.guard({ email: `a${guess}@b.example`, ip, session_ips: [] }, wrong)
    }
    expect(tries.size).toBe(20_000)
  })
})
