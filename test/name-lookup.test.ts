/** Names of settings whose name servers do not answer hold none of the threads that files and passwords need. */
import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchByName } from '../src/name-lookup.ts'

/** Needs root: a mount and the port of name servers. */
const has_own_mounts =
  process.getuid?.() === 0 &&
  existsSync('/etc/resolv.conf') &&
  Bun.which('unshare') !== null &&
  Bun.spawnSync(['unshare', '-m', 'true']).success

/** The runtime's lookup of as many names holds every thread, and the file is read after the last fetch has failed. */
const FETCH_BESIDE_FILE = `
  const { createSocket } = require('node:dgram')
  const { readFile } = require('node:fs/promises')
  const { fetchByName } = require(${JSON.stringify(join(import.meta.dir, '../src/name-lookup.ts'))})
  createSocket('udp4').bind(53, '127.9.7.7', async () => {
    const ended = []
    const names = Array.from({ length: navigator.hardwareConcurrency }, (_, index) => 'n' + index + '.test')
    const fetches = names.map((name) =>
      fetchByName('http://' + name + '/', { signal: AbortSignal.timeout(3000) })
        .catch((error) => ended.push(error.name)))
    await Bun.sleep(100)
    await readFile('/etc/hosts')
    ended.push('file')
    await Promise.all(fetches)
    console.log(...new Set(ended))
    process.exit()
  })`

test.skipIf(!has_own_mounts)(
  'a file is read while names are looked up that no name server answers for',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-names-'))
    const path = join(folder, 'resolv.conf')
    writeFileSync(path, 'nameserver 127.9.7.7\n')
    const script = `mount --bind '${path}' /etc/resolv.conf && exec "$0" -e "$1"`
    const command = ['unshare', '-m', 'sh', '-c', script, process.execPath, FETCH_BESIDE_FILE]
    const { stdout, stderr } = Bun.spawnSync(command)
    rmSync(folder, { recursive: true })
    expect([stdout.toString(), stderr.toString()]).toEqual(['file TimeoutError\n', ''])
  },
)

test('a proxy is asked while no name server answers: names may be known only to it', async () => {
  using proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => new Response(`proxy: ${url}`),
  })
  const script = `
    const { setServers } = require('node:dns')
    const { fetchByName } = require(${JSON.stringify(join(import.meta.dir, '../src/name-lookup.ts'))})
    const silent = await Bun.udpSocket({ hostname: '127.0.0.1' })
    setServers(['127.0.0.1:' + silent.port])
    const answer = fetchByName('http://home.test/', { signal: AbortSignal.timeout(3000) })
    console.log(await answer.then((found) => found.text(), String))
    process.exit()`
  const env = { ...process.env, HTTP_PROXY: proxy.url.href, NO_PROXY: '' }
  const child = Bun.spawn([process.execPath, '-e', script], { env })
  expect(await child.stdout.text()).toBe('proxy: http://home.test/\n')
})

test('an address is fetched by its name, again after a failure', async () => {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('here') })
  const port = Number(server.port)
  const url = `http://localhost:${port}/`
  const get = () =>
    fetchByName(url, {}).then(
      (answer) => answer.text(),
      () => 'failed',
    )
  expect(await get()).toBe('here')
  await server.stop(true)
  expect(await get()).toBe('failed')
  using again = Bun.serve({
    hostname: '127.0.0.1',
    port,
    fetch: () => new Response('again'),
  })
  expect([again.port, await get()]).toEqual([port, 'again'])
})
