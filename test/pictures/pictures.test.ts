/** Pictures: what Chromium draws, what it cannot reach, and that it is gone afterwards. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PageFile, type Screenshot, takeScreenshot } from '../../src/pictures/chromium.ts'
import { findChromium } from '../../src/pictures/find-chromium.ts'
import { Pictures } from '../../src/pictures/pictures.ts'

const PROGRAM = findChromium('auto')
const no_log = { error: () => undefined }

let folder = ''
const tmp = process.env['TMPDIR']
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-pictures-'))
  process.env['TMPDIR'] = folder
})
afterAll(() => {
  if (tmp === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = tmp
  rmSync(folder, { recursive: true, force: true })
})

/** A page of one script, with a heading, as the interface's pages have it. */
function pageOf(script: string): Screenshot {
  const html = `<!doctype html><style>*{margin:0}</style><div id="app"><main><h1>x</h1></main></div><script src="/ui/a.js"></script>`
  const files: Readonly<Record<string, PageFile>> = {
    '/': { content_type: 'text/html', bytes: Buffer.from(html) },
    '/ui/a.js': { content_type: 'text/javascript', bytes: Buffer.from(script) },
  }
  const fileAt = (path: string): PageFile | null => files[path] ?? null
  return { path: '/', width: 300, height_max: 500, scale: 1, fileAt }
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

const heightOf = (png: Uint8Array): number => new DataView(png.buffer, png.byteOffset).getUint32(20)

describe.skipIf(PROGRAM === null)('a picture', () => {
  const draw = (script: string): Promise<Uint8Array> =>
    takeScreenshot(PROGRAM ?? '', pageOf(script), 30_000)

  test('is as high as the page is once it is drawn, up to a limit', async () => {
    const grow = (height: number): string =>
      `setTimeout(() => { document.querySelector('main').style.height = '${height}px' }, 50)`
    expect(heightOf(await draw(grow(321)))).toBe(321)
    expect(heightOf(await draw(grow(9000)))).toBe(500)
  }, 60_000)

  test('waits for a chart whose script comes later than the heading', async () => {
    const late = `
      const main = document.querySelector('main')
      main.innerHTML += '<div role="status" aria-label="Loading the page"></div>'
      setTimeout(() => { main.innerHTML = '<h1>x</h1>'; main.style.height = '321px' }, 1500)`
    expect(heightOf(await draw(late))).toBe(321)
  }, 60_000)

  test('reaches no server: not this machine, not by a name, not by any way of asking', async () => {
    const asked: string[] = []
    using server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        asked.push(request.url)
        return new Response('')
      },
    })
    const { port } = server
    const ways = `
      const main = document.querySelector('main')
      const tries = [
        fetch('http://127.0.0.1:${port}/fetch', { mode: 'no-cors' }),
        fetch('http://localhost:${port}/name', { mode: 'no-cors' }),
        fetch('/missing').then((answer) => { if (!answer.ok) throw 0 }),
        new Promise((resolve, reject) => {
          const image = new Image()
          image.onload = resolve
          image.onerror = reject
          image.src = 'http://127.0.0.1:${port}/image'
        }),
        new Promise((resolve, reject) => {
          const socket = new WebSocket('ws://127.0.0.1:${port}/socket')
          socket.onopen = resolve
          socket.onerror = reject
        }),
      ]
      Promise.allSettled(tries).then((results) => {
        const refused = results.filter(({ status }) => status === 'rejected').length
        main.style.height = 300 + refused * 10 + 'px'
      })`
    const height = heightOf(await draw(ways))
    expect(asked).toEqual([])
    // The page is 300 px and ten for each of the five ways that failed.
    expect(
      height - heightOf(await draw(`document.querySelector('main').style.height = '300px'`)),
    ).toBe(50)
  }, 60_000)

  test('leaves no process and no folder', async () => {
    await draw('')
    expect(readdirSync(folder).filter((name) => name.startsWith('tidemark-picture-'))).toEqual([])
  }, 60_000)
})

/** A browser that ends when the server answers the request for the page. */
const DIES_WHILE_LOADING = `
  import { createReadStream, writeSync } from 'node:fs'
  const send = (message) => writeSync(4, JSON.stringify(message) + '\\0')
  const request = { url: 'http://picture.invalid/', method: 'GET' }
  const paused = { method: 'Fetch.requestPaused', params: { requestId: '1', request } }
  let text = ''
  createReadStream('', { fd: 3 }).on('data', (bytes) => {
    const commands = (text + bytes).split('\\0')
    text = commands.pop() ?? ''
    for (const { id, method } of commands.map((command) => JSON.parse(command))) {
      if (method === 'Fetch.fulfillRequest') process.exit(3)
      else if (method === 'Page.navigate') send(paused)
      else send({ id, result: { targetId: 't', sessionId: 's' } })
    }
  })`

describe('a browser that does not work', () => {
  function program(script: string): string {
    const path = join(folder, `program-${Bun.randomUUIDv7()}`)
    writeFileSync(path, `#!/bin/sh\n${script}\n`)
    chmodSync(path, 0o700)
    return path
  }

  test('is ended at the deadline, with what it has started', async () => {
    const pid_file = join(folder, 'pid')
    const hangs = program(`sleep 600 & echo $! > '${pid_file}'; wait`)
    expect(await failureOf(takeScreenshot(hangs, pageOf(''), 1000))).toBeInstanceOf(Error)
    const stat = Bun.file(`/proc/${(await Bun.file(pid_file).text()).trim()}/stat`)
    // A killed process runs for a moment more on a busy machine.
    while (!/ Z/.test(await stat.text().catch(() => 'gone Z'))) await Bun.sleep(10)
  })

  test('and ends while the page loads fails the picture alone, not the server', async () => {
    const source = join(folder, 'browser.ts')
    writeFileSync(source, DIES_WHILE_LOADING)
    const dies = program(`exec '${process.execPath}' '${source}'`)
    const main = join(import.meta.dir, '../../src/pictures/chromium.ts')
    const server = `
      const { takeScreenshot } = await import('${main}')
      const fileAt = () => ({ content_type: 'text/html', bytes: Buffer.from('') })
      const page = { path: '/', width: 300, height_max: 500, scale: 1, fileAt }
      await takeScreenshot('${dies}', page, 20000).catch((error) => console.log(error.message))`
    const ran = Bun.spawnSync([process.execPath, '-e', server])
    expect(ran.exitCode).toBe(0)
    expect(ran.stdout.toString()).toStartWith('the browser has ')
  }, 30_000)

  test('and one that is none is said to be so; the next picture is tried all the same', async () => {
    const pictures = new Pictures(program('exit 3'), no_log)
    const answer = Buffer.from('{}')
    for (const _ of [1, 2]) {
      expect(
        await failureOf(pictures.draw({ project_id: 1, answer, size: 'insight' })),
      ).toMatchObject({
        code: 'query_failed',
      })
    }
    const missing = takeScreenshot(join(folder, 'nothing'), pageOf(''), 5000)
    expect(String(await failureOf(missing))).toContain('does not start')
  })

  test('comes in turns of the projects: one with many leaves places to another, which does not wait for all of them', async () => {
    const pictures = new Pictures(program('sleep 0.2; exit 3'), no_log)
    const order: string[] = []
    const draw = async (name: string, project_id: number): Promise<void> => {
      const answer = Buffer.from('{}')
      const error = await failureOf(pictures.draw({ project_id, answer, size: 'insight' }))
      if (Object(error).code !== 'throttled') order.push(name)
    }
    const many = Array.from({ length: 9 }, (_, index) => draw(`a${index}`, 1))
    await Promise.all([...many, draw('b0', 2), draw('b1', 2)])
    expect(order).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'a3', 'a4', 'a5'])
  }, 60_000)

  test('keeps a short queue; more pictures and longer answers are refused', async () => {
    const pictures = new Pictures(program('sleep 1; exit 3'), no_log)
    const answer = Buffer.from('{}')
    const drawn = Array.from({ length: 9 }, () =>
      failureOf(pictures.draw({ project_id: 1, answer, size: 'insight' })),
    )
    expect(await Promise.race(drawn)).toMatchObject({ code: 'throttled', retry_after_s: 10 })
    const codes = (await Promise.all(drawn)).map((error) => Object(error).code)
    expect(codes.filter((code) => code === 'query_failed')).toHaveLength(6)
    expect(codes.filter((code) => code === 'throttled')).toHaveLength(3)
    const answers = { project_id: 1, answer: new Uint8Array(5 * 1024 * 1024) }
    const long = pictures.draw({ ...answers, size: 'insight' })
    expect(await failureOf(long)).toMatchObject({ code: 'query_too_large' })
    const none = new Pictures(null, no_log).draw({ project_id: 1, answer, size: 'insight' })
    expect(await failureOf(none)).toMatchObject({ attr: 'export_format' })
  }, 60_000)
})
