/** Texts that are the same for all: made once, sent compressed to those who take it, and not again to those who have it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openWorld, type World } from './world.ts'

let made = 0
let world: World
beforeAll(async () => {
  const publicUrl = (): string => {
    made += 1
    return 'https://tidemark.example'
  }
  world = await openWorld({ publicUrl })
})
afterAll(() => world.close())

describe.each(['/api/schema/', '/docs'])('%s', (path) => {
  const read = (headers: Readonly<Record<string, string>>) => world.send(path, { headers })

  test('is made once, and is the same compressed', async () => {
    const plain = await read({})
    const text = await plain.text()
    expect(plain.headers.get('content-encoding')).toBeNull()
    const made_by_then = made
    for (let call = 0; call < 5; call += 1) {
      const answer = await read({ 'Accept-Encoding': 'br, gzip;q=0.8' })
      expect(answer.headers.get('content-encoding')).toBe('gzip')
      expect(answer.headers.get('vary')).toBe('Accept-Encoding')
      const bytes = new Uint8Array(await answer.arrayBuffer())
      expect(bytes.length).toBeLessThan(text.length / 5)
      expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe(text)
    }
    expect(made).toBe(made_by_then)
  })

  test('is not sent again to a client that has it', async () => {
    const etag = (await read({})).headers.get('etag') ?? ''
    expect(etag).not.toBe('')
    for (const known of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const answer = await read({ 'If-None-Match': known, 'Accept-Encoding': 'gzip' })
      expect([answer.status, await answer.text()]).toEqual([304, ''])
      expect(answer.headers.get('etag')).toBe(etag)
    }
    expect((await read({ 'If-None-Match': '"other"' })).status).toBe(200)
  })
})
