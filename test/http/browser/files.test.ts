/** The web interface's pages and files: where they are, how they are cached, what a page may do. */
import { describe, expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { joinWorld } from '../shared-world.ts'

const world = await joinWorld()

const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
  world.send(path, { method, headers })

const SCRIPT = /src="(\/ui\/[\w-]+\.js)"/
const STYLE = /href="(\/ui\/[\w-]+\.css)"/

const fileOf = async (pattern: RegExp): Promise<string> =>
  pattern.exec(await (await get('/')).text())?.[1] ?? ''

describe('a page', () => {
  test.each([
    '/',
    '/setup',
    '/login',
    '/join',
    '/reset',
    '/p/1',
    '/p/1/',
    '/p/1/web',
    '/p/1/explore/abc',
  ])('is at %s', async (path) => {
    const answer = await get(path)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
    const html = await answer.text()
    expect(html).toMatch(SCRIPT)
    expect(html).toMatch(STYLE)
    expect(html).not.toMatch(/<script>|<style|\son\w+=|https?:\/\/(?!www\.w3\.org)/)
  })

  test.each([
    '/p',
    '/start',
    '/web',
    '/index.html',
    '/ui',
    '/ui/',
    '/ui/a/b',
    '/login/x',
    '/%70/1',
  ])('is not at %s, which stays a JSON 404', async (path) => {
    const answer = await get(path)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/json'])
  })

  test('may load and call nothing but this server, and stands in no frame', async () => {
    const { headers } = await get('/p/1/web')
    expect(headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "style-src-attr 'unsafe-inline'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ])
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
  })

  test('is not sent again to a browser that has it', async () => {
    const tag = (await get('/')).headers.get('etag') ?? ''
    const again = await get('/', { 'If-None-Match': tag })
    expect([again.status, await again.text()]).toEqual([304, ''])
    const other = await get('/', { 'If-None-Match': 'W/"other"' })
    expect(other.status).toBe(200)
  })

  test('takes GET and HEAD only', async () => {
    const head = await get('/login', {}, 'HEAD')
    expect(head.status).toBe(200)
    const post = await get('/login', {}, 'POST')
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})

describe('a file', () => {
  test('is compressed as the browser asks', async () => {
    for (const pattern of [SCRIPT, STYLE]) {
      const path = await fileOf(pattern)
      const plain = await get(path)
      const brotli = await get(path, { 'Accept-Encoding': 'gzip, deflate, br, zstd' })
      const gzip = await get(path, { 'Accept-Encoding': 'gzip, deflate' })
      const refused = await get(path, { 'Accept-Encoding': 'br;q=0, gzip;q=0' })
      const codings = [plain, brotli, gzip, refused].map((one) =>
        one.headers.get('content-encoding'),
      )
      expect(codings).toEqual([null, 'br', 'gzip', null])
      const text = await plain.text()
      expect(text.length).toBeGreaterThan(1000)
      expect(brotliDecompressSync(await brotli.arrayBuffer()).toString()).toBe(text)
      expect(gunzipSync(await gzip.arrayBuffer()).toString()).toBe(text)
      expect(await refused.text()).toBe(text)
      expect(brotli.headers.get('vary')).toBe('Accept-Encoding')
    }
  })

  test('is kept for a year, since its name changes with its content', async () => {
    const script = await get(await fileOf(SCRIPT))
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(script.headers.get('content-type')).toMatch(/^text\/javascript; ?charset=utf-8$/)
    const style = await get(await fileOf(STYLE))
    expect(style.headers.get('content-type')).toMatch(/^text\/css; ?charset=utf-8$/)
  })

  test.each(['index.js', '__proto__', 'constructor', '..%2Fserve.ts', '%ff'])(
    'that is none is refused: %s',
    async (name) => {
      const answer = await get(`/ui/${name}`)
      expect(answer.status).toBe(404)
      expect(answer.headers.get('cache-control')).toBe(null)
    },
  )
})

test('addresses that SDKs own stay theirs', async () => {
  for (const path of [
    '/decide',
    '/flags',
    '/static/array.js',
    '/array/phc_x/config',
    '/docs',
    '/_readiness',
  ]) {
    const answer = await get(path)
    expect([path, (await answer.text()).includes('id="app"')]).toEqual([path, false])
  }
})
