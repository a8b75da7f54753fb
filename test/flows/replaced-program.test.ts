/** The program of a running server is replaced: by `git pull` and package managers its modules, by an upgrade its executable. */
import { afterAll, expect, test } from 'bun:test'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitTests } from '../long-tests.ts'
import { buildExecutable } from './processes/build-executable.ts'
import { childrenOf } from './processes/processes.ts'
import { API_TOKEN, askHogQL, type Server, serverLog, startServer } from './processes/server.ts'

limitTests(180_000)

const ROOT = join(import.meta.dir, '../..')
/** Modules find the packages from here, and confined processes may read them. */
const SOURCE_COPY = join(ROOT, 'node_modules', '.cache', `tidemark-replaced-${process.pid}`)
const temporary = mkdtempSync(join(tmpdir(), 'tidemark-replaced-'))

afterAll(() => {
  for (const folder of [temporary, SOURCE_COPY]) rmSync(folder, { recursive: true, force: true })
})

test('a server whose modules have changed says that it must be started again', async () => {
  const cwd = copySource(SOURCE_COPY)
  const data_dir = join(temporary, 'source-data')
  const main = join(cwd, 'src/main.ts')
  const server = await startServer({ data_dir, command: [process.execPath, main], cwd })
  try {
    await capture(server)
    expect(await countEvents(server)).toBe('1')
    utimesSync(main, new Date(), new Date())
    killChildren(server)

    const why = 'The files of the program have changed since the server was started.'
    const refused = await countEvents(server)
    expect(refused).toContain('503: ')
    expect(refused).toContain(why)
    expect(await (await fetch(`${server.url}/_readyz`)).text()).toContain(why)
    expect(serverLog(data_dir)).toContain(why)
    await capture(server)
  } finally {
    expect(await server.stop()).toBe(0)
  }
})

test('an executable that another one has replaced starts its own children', async () => {
  mkdirSync(join(temporary, 'executable'))
  const executable = join(temporary, 'executable', 'tidemark')
  copyFileSync(buildExecutable(), executable)
  const data_dir = join(temporary, 'executable-data')
  const server = await startServer({ data_dir, command: [executable] })
  try {
    await capture(server)
    writeFileSync(`${executable}.new`, '#!/bin/sh\nexec sleep 600\n')
    chmodSync(`${executable}.new`, 0o755)
    renameSync(`${executable}.new`, executable)
    killChildren(server)
    await capture(server)
    expect(await countEvents(server)).toBe('2')
    expect(serverLog(data_dir)).not.toContain('confined')
  } finally {
    expect(await server.stop()).toBe(0)
  }
})

/** Copies the modules. Returns the folder. */
function copySource(folder: string): string {
  for (const name of ['package.json', 'sql', 'src', 'tsconfig.json']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  }
  return folder
}

async function capture({ url }: Server): Promise<void> {
  const body = JSON.stringify({ api_key: API_TOKEN, event: 'opened', distinct_id: 'ada' })
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch(`${url}/capture/`, { method: 'POST', headers, body })
  expect(answer.status).toBe(200)
}

/** The number of events; the refusal where there is none. */
async function countEvents({ url }: Server): Promise<string> {
  const answer = askHogQL(url, 'select count() from events')
  return answer.then(({ results }) => String(results), String)
}

function killChildren({ pid }: Server): void {
  for (const child of childrenOf(pid)) process.kill(child, 'SIGKILL')
}
