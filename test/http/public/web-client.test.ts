/** The web client's scripts, for sites with the HTML snippet. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { version } from 'posthog-js/package.json'
import { scriptReader } from '../../../src/http/public/web-client.ts'
import { joinWorld } from '../shared-world.ts'

const world = await joinWorld()

const ORIGIN = { Origin: 'https://shop.example' }

describe('GET /static/…', () => {
  test.each([
    'array.js',
    'surveys.js',
    'exception-autocapture.js',
    'dead-clicks-autocapture.js',
    'web-vitals.js',
    'web-vitals-soft-navs.js',
    'web-vitals-with-attribution.js',
    'web-vitals-with-attribution-soft-navs.js',
    'tracing-headers.js',
  ])('%s is a script that other sites may load', async (name) => {
    const answer = await world.send(`/static/${name}?v=1.2.3`, { headers: ORIGIN })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/javascript; charset=utf-8')
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=3600')
    const text = await answer.text()
    expect(text.length).toBeGreaterThan(5000)
    expect(text).not.toContain('sourceMappingURL')
    expect(text.startsWith('!function(')).toBe(true)
  })

  test('also by the version of the library, and by no other', async () => {
    const same = await world.send(`/static/${version}/surveys.js`, { headers: ORIGIN })
    expect(same.status).toBe(200)
    expect(same.headers.get('access-control-allow-origin')).toBe('https://shop.example')
    expect((await world.send('/static/1.0.0/surveys.js', { headers: ORIGIN })).status).toBe(404)
    expect((await world.send(`/static/${version}/recorder.js`)).status).toBe(404)
  })

  test('is compressed for who takes that', async () => {
    const headers = { ...ORIGIN, 'Accept-Encoding': 'gzip, deflate, br' }
    const answer = await world.send('/static/array.js', { headers })
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    const text = new TextDecoder().decode(
      Bun.gunzipSync(new Uint8Array(await answer.arrayBuffer())),
    )
    expect(text).toBe(await (await world.send('/static/array.js')).text())
  })

  test.each(['recorder.js', 'toolbar.js', 'toString', 'array.js.map', '..%2Fpackage.json', '%00'])(
    '%s is not there, and pages are told so',
    async (name) => {
      const answer = await world.send(`/static/${name}`, { headers: ORIGIN })
      expect(answer.status).toBe(404)
      expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example')
      expect(await answer.json()).toMatchObject({ code: 'not_found' })
    },
  )

  test('answers preflights and HEAD', async () => {
    const preflight = await world.send('/static/array.js', { method: 'OPTIONS', headers: ORIGIN })
    expect(preflight.status).toBe(204)
    expect((await world.send('/static/array.js', { method: 'HEAD' })).status).toBe(200)
    expect((await world.send('/static/array.js', { method: 'POST' })).status).toBe(405)
  })
})

describe('GET /array/{token}/array.js', () => {
  test('is the configuration and the library behind it', async () => {
    const token = world.first.api_token
    const text = await (await world.send(`/array/${token}/array.js`)).text()
    const config = await (await world.send(`/array/${token}/config.js`)).text()
    const library = await (await world.send('/static/array.js')).text()
    expect(text).toBe(`${config}\n${library}`)
  })

  test.each([
    ['phc_unknown', 404],
    ['a%2Fb', 400],
  ])('for %s answers %i', async (token, status) => {
    const answer = await world.send(`/array/${token}/array.js`, { headers: ORIGIN })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example')
  })
})

test('a script that could not be read is read when it is next asked for, and then once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-script-'))
  const path = join(folder, 'a.js')
  const read = scriptReader({ 'a.js': path })
  expect(await read('a.js').catch(() => 'failed')).toBe('failed')
  writeFileSync(path, 'first')
  expect((await read('a.js')).text).toBe('first')
  writeFileSync(path, 'second')
  expect((await read('a.js')).text).toBe('first')
  rmSync(folder, { recursive: true })
})
