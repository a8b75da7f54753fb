/** `tidemark doctor` about the machine: what is wrong beside the data, and what to do. */
import { Database } from 'bun:sqlite'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  setDefaultTimeout,
  test,
} from 'bun:test'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { examineMachine } from '../../src/cli/monitoring/examine-machine.ts'
import { API_TOKEN, startServer } from '../flows/processes/server.ts'
import { commandLine, ENVIRONMENT, run } from './command.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

let data_dir = ''
beforeEach(() => {
  data_dir = join(mkdtempSync(join(tmpdir(), 'tidemark-doctor-')), 'data')
})
afterEach(() => rmSync(join(data_dir, '..'), { recursive: true, force: true }))

/** What is found about some subject; disk and memory are those of the machine that runs the test. */
const about = async (subject: string, now = new Date()) =>
  (await examineMachine(data_dir, now)).filter((finding) => finding.subject === subject)

/** A folder that was served once, with an event: tests begin with a copy. */
const served_dir = join(mkdtempSync(join(tmpdir(), 'tidemark-doctor-')), 'data')
beforeAll(async () => {
  const server = await startServer({ data_dir: served_dir })
  const body = JSON.stringify({ api_key: API_TOKEN, event: 'e', distinct_id: 'd' })
  expect((await fetch(`${server.url}/capture/`, { method: 'POST', body })).status).toBe(200)
  await server.stop()
})
afterAll(() => rmSync(join(served_dir, '..'), { recursive: true, force: true }))

const fill = (): void => cpSync(served_dir, data_dir, { recursive: true })

test('finds nothing about a folder as a server leaves it, and says so', async () => {
  fill()
  for (const subject of ['clock', 'limits', 'permissions', 'server']) {
    expect([subject, await about(subject)]).toEqual([subject, []])
  }
  const ran = await run(['doctor', '--data-dir', data_dir])
  expect(ran.out).toStartWith(
    'sound: both databases, and 0 snapshot files with 0 events; newer events are in events.db\n',
  )
})

test('says of a folder that was never served that there is nothing to restore', async () => {
  const expected = {
    exit_code: 1,
    err: '',
    out: `${data_dir} holds no events: no server has run on it, and none was restored into it
  Name the folder of a server with --data-dir, mount its disk, or start a server on this one.\n`,
  }
  expect(await run(['doctor', '--data-dir', data_dir])).toEqual(expected)
  await run(['organization', 'create', 'Acme', '--data-dir', data_dir])
  const ran = await run(['doctor', '--data-dir', data_dir])
  // The machine that runs the test may have a full disk.
  expect(ran.out).toStartWith(expected.out)
  fill()
  rmSync(join(data_dir, 'events.db'))
  expect((await run(['doctor', '--data-dir', data_dir])).out).toContain('restore the last backup')
})

test('finds a clock that is behind the last event', async () => {
  fill()
  const hour_ago = new Date(Date.now() - 3_600_000)
  expect(await about('clock', hour_ago)).toEqual([
    {
      subject: 'clock',
      severity: 'fault',
      fault: expect.stringMatching(/^is 3[56]\d\d seconds behind the last stored event$/),
      advice: expect.stringContaining('NTP'),
    },
  ])
})

test('finds files that other users may read, and names the command', async () => {
  fill()
  chmodSync(join(data_dir, 'control.db'), 0o644)
  const [finding] = await about('permissions')
  expect(finding?.fault).toBe(`let other users read 1 files, first ${join(data_dir, 'control.db')}`)
  expect(finding?.advice).toBe(`chmod -R go= ${data_dir}`)
})

test('finds that few files may be open', async () => {
  fill()
  const command = commandLine(['doctor', '--json', '--data-dir', data_dir])
  const child = Bun.spawn(['sh', '-c', 'ulimit -n 200; exec "$@"', 'sh', ...command], {
    env: ENVIRONMENT,
    stdout: 'pipe',
  })
  const { machine } = JSON.parse(await new Response(child.stdout).text())
  expect(machine).toContainEqual(
    expect.objectContaining({ subject: 'limits', fault: 'allow 200 open files' }),
  )
})

test('asks the server that runs on the folder, and finds one that hangs', async () => {
  const server = await startServer({ data_dir })
  expect(await about('server')).toEqual([])
  process.kill(server.pid, 'SIGSTOP')
  expect(await about('server')).toEqual([
    expect.objectContaining({
      severity: 'fault',
      fault: `(process ${server.pid}) does not answer on ${server.url}`,
    }),
  ])
  process.kill(server.pid, 'SIGCONT')
  await server.kill()
  // Its note is still there, its process is not, and another one may have its number.
  const note = join(data_dir, 'serve.json')
  writeFileSync(note, readFileSync(note, 'utf8').replace(`${server.pid}`, `${process.pid}`))
  expect(await about('server')).toEqual([])
})

test('a damaged database is a finding of the data, not of the clock', async () => {
  fill()
  using db = new Database(join(data_dir, 'events.db'))
  db.run('pragma wal_checkpoint(truncate)')
  db.close()
  writeFileSync(join(data_dir, 'events.db'), 'not a database')
  expect(await about('clock')).toEqual([])
  const ran = await run(['doctor', '--data-dir', data_dir])
  expect(ran.exit_code).toBe(1)
  expect(ran.out).toContain('restore the last backup')
})
