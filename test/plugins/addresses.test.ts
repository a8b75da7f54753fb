/** Names of webhooks are resolved without the threads that passwords, compression and files share. */
import { expect, test } from 'bun:test'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { availableParallelism, hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Addresses } from '../../src/plugins/addresses.ts'

/** A name that no name server is asked for, but localhost, which is looked up in another way. */
const NAME = hostname().toLowerCase()
const is_listed = readFileSync('/etc/hosts', 'utf8').toLowerCase().split(/\s+/).includes(NAME)
const can_look_up = is_listed && NAME !== 'localhost'

test.skipIf(!can_look_up)(
  'is looked up while all threads that files and passwords share wait',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-pipes-'))
    const pipes = Array.from({ length: 4 * availableParallelism() }, (_, at) =>
      join(folder, `${at}`),
    )
    Bun.spawnSync(['mkfifo', ...pipes])
    // A pipe is open for its reader once it has a writer: until then a thread waits for it.
    const opened = Promise.all(pipes.map((pipe) => open(pipe, 'r')))
    const writers: number[] = []
    const release = (): void => {
      writers.push(...pipes.map((pipe) => openSync(pipe, 'r+')))
    }
    // Ends the wait of a lookup that needs one of the threads.
    const late = setTimeout(release, 4000)
    const looked_up = new Addresses().resolve(new URL(`http://${NAME}/`)).catch(String)
    const first = await Promise.race([looked_up, opened.then(() => 'opened')])
    const was_late = writers.length > 0
    clearTimeout(late)
    if (!was_late) release()
    for (const pipe of await opened) await pipe.close()
    for (const writer of writers) closeSync(writer)
    rmSync(folder, { recursive: true })
    expect([first, was_late]).toEqual([`Error: ${NAME} has no public address`, false])
  },
)

/** Needs root: a mount and the port of name servers. */
const has_own_mounts =
  process.getuid?.() === 0 &&
  existsSync('/etc/resolv.conf') &&
  Bun.which('unshare') !== null &&
  Bun.spawnSync(['unshare', '-m', 'true']).success

/** Looks up a name before and after the machine has another name server, as after a change of its network. */
const CHANGE = `
  const { createSocket } = require('node:dgram')
  const { writeFileSync } = require('node:fs')
  const { Addresses } = require(${JSON.stringify(join(import.meta.dir, '../../src/plugins/addresses.ts'))})
  const server = createSocket('udp4')
  server.on('message', (query, { port, address }) => {
    // The question, then one address: name at offset 12, A, IN, 1 s, 4 bytes.
    const question_end = query.indexOf(0, 12) + 5
    const is_v4 = query.readUInt16BE(question_end - 4) === 1
    const head = Buffer.from(query.subarray(0, question_end))
    head.set([0x81, 0x80, 0, 1, 0, is_v4 ? 1 : 0, 0, 0, 0, 0], 2)
    const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 93, 184, 215, 14]
    server.send(Buffer.concat([head, Buffer.from(is_v4 ? record : [])]), port, address)
  })
  server.bind(53, '127.9.8.7', async () => {
    const addresses = new Addresses()
    const resolve = () =>
      addresses.resolve(new URL('http://hook.test/')).then(({ ip }) => ip, () => 'none')
    console.log(await resolve())
    writeFileSync('/etc/resolv.conf', ['# a new network', 'nameserver 127.9.8.7'].join('\\n'))
    console.log(await resolve())
    process.exit()
  })`

test.skipIf(!has_own_mounts)('asks the name servers that the machine has now', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-names-'))
  const path = join(folder, 'resolv.conf')
  // Nothing listens there.
  writeFileSync(path, 'nameserver 127.9.8.6\n')
  const script = `mount --bind '${path}' /etc/resolv.conf && exec "$0" -e "$1"`
  const { stdout, stderr } = Bun.spawnSync([
    'unshare',
    '-m',
    'sh',
    '-c',
    script,
    process.execPath,
    CHANGE,
  ])
  rmSync(folder, { recursive: true })
  expect([stdout.toString(), stderr.toString()]).toEqual(['none\n93.184.215.14\n', ''])
})
