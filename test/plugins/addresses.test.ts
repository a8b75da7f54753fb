/** Names of webhooks are resolved without the threads that passwords, compression and files share. */
import { expect, test } from 'bun:test'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
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
