/** The command line about organizations, projects and keys, as people and programs use it. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitTests, longTest } from '../long-tests.ts'
import { commandLine, run } from './command.ts'

/** These start processes, which a busy machine takes its time for. */
limitTests(60_000)

let folder = ''
let data_dir = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-cli-'))
  data_dir = join(folder, 'data')
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a command on the test's folder and reads the JSON it prints. */
async function made(...args: readonly string[]): Promise<Record<string, unknown>> {
  const ran = await run([...args, '--json', '--data-dir', data_dir])
  expect({ err: ran.err, exit_code: ran.exit_code }).toEqual({ err: '', exit_code: 0 })
  return JSON.parse(ran.out)
}

describe('the command line', () => {
  test('makes an organization, a project and a key, and prints each once as JSON', async () => {
    const organization = await made('organization', 'create', 'Acme')
    expect(organization).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), name: 'Acme' })
    const id = String(organization['id'])

    const project = await made('project', 'create', '--organization', id, 'Web shop')
    expect(project).toEqual({
      id: 1,
      organization: id,
      name: 'Web shop',
      api_token: expect.stringMatching(/^phc_[0-9A-Za-z]+$/),
    })

    const scopes = ['query:read', 'person:read']
    const options = ['--organization', id, '--project', '1', '--label', 'CI', '--scope', ...scopes]
    expect(await made('key', 'create', ...options)).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      label: 'CI',
      value: expect.stringMatching(/^phx_[0-9A-Za-z]+$/),
      scopes,
      organization: id,
      project: 1,
    })

    expect(await made('organization', 'list')).toEqual({ results: [{ id, name: 'Acme' }] })
    expect(await made('project', 'list', '--organization', id)).toEqual({ results: [project] })
    const second = String((await made('organization', 'create', 'Bcme'))['id'])
    const other = await made('project', 'create', '--organization', second, 'Web')
    expect(await made('project', 'list')).toEqual({ results: [project, other] })
  })

  test('says for how long a project keeps its events', async () => {
    const { id } = await made('organization', 'create', 'Acme')
    await made('project', 'create', '--organization', String(id), 'Web shop')
    for (const [text, months] of [
      ['18', 18],
      ['0', 0],
      ['default', null],
    ] as const) {
      expect(await made('project', 'retention', '1', text)).toEqual({ id: 1, months })
    }
    for (const [args, exit_code, words] of [
      [['1', '1.5'], 2, 'not a number of months'],
      [['7', '18'], 1, 'There is no project 7.'],
    ] as const) {
      const ran = await run(['project', 'retention', ...args, '--data-dir', data_dir])
      expect(ran.exit_code).toBe(exit_code)
      expect(ran.err).toContain(words)
    }
  })

  test('prints text for people', async () => {
    const ran = await run(['organization', 'create', 'Acme', '--data-dir', data_dir])
    expect(ran.out).toMatch(/^organization [0-9a-f-]{36} {2}Acme\n$/)
    const id = ran.out.split(/\s+/)[1] ?? ''
    const args = ['key', 'create', '--organization', id, '--scope', '*', '--data-dir', data_dir]
    const key = await run(args)
    expect(key.out).toMatch(
      /^personal API key {2}phx_[0-9A-Za-z]+\n\nIt is shown only now: keep it\.\n$/,
    )
  })

  test('prints no control characters of names, which others may have given', async () => {
    const name = 'Acme\u001b]0;owned\u0007\u009b2J'
    const { id } = await made('organization', 'create', name)
    const { out } = await run(['organization', 'list', '--data-dir', data_dir])
    expect(out).toBe(`${String(id)}  Acme ]0;owned  2J\n`)
    expect(await made('organization', 'list')).toEqual({ results: [{ id, name }] })
  })

  test('lists keys without their values, rolls and revokes them', async () => {
    const id = String((await made('organization', 'create', 'Acme'))['id'])
    const key = await made('key', 'create', '--organization', id, '--scope', 'query:read')
    const list = await made('key', 'list')
    expect(list).toEqual({ results: [expect.objectContaining({ id: key['id'] })] })
    expect(JSON.stringify(list)).not.toContain('key_hash')
    const rolled = await made('key', 'roll', String(key['id']))
    expect(rolled['value']).not.toBe(key['value'])
    await made('key', 'revoke', String(key['id']))
    expect(await made('key', 'list')).toEqual({ results: [] })
    const again = await run(['key', 'revoke', String(key['id']), '--data-dir', data_dir])
    expect([again.exit_code, again.err]).toEqual([1, 'error: There is no such key.\n'])
  })

  longTest(
    'fills a project with demo data without a server',
    async () => {
      const id = String((await made('organization', 'create', 'Acme'))['id'])
      await made('project', 'create', '--organization', id, 'Demo')
      const args = ['demo', '--project', '1', '--persons', '20', '--days', '7']
      const first = await made(...args)
      expect(first).toEqual({ project: 1, events: expect.any(Number) })
      expect(Number(first['events'])).toBeGreaterThan(20)
      // The same seed: everything is there already.
      expect(await made(...args)).toEqual(first)
      const wrong = await run(['demo', '--project', '9', '--data-dir', data_dir])
      expect([wrong.exit_code, wrong.err]).toEqual([1, 'error: There is no such project.\n'])
      // The server of a moment logs errors only: what holds its threads concerns the reader of no command.
      const held = await run([...args, '--json', '--data-dir', data_dir], {
        TIDEMARK_STALL_LOG_MS: '1',
      })
      expect([held.exit_code, held.err]).toEqual([0, ''])
      const many = await run(['demo', '--project', '1', '--persons', 'x', '--data-dir', data_dir])
      expect(many.err).toBe('error: persons: Ensure this value is from 1 to 100000.\n')
    },
    60_000,
  )

  test('finds the data folder in the environment too', async () => {
    const env = { TIDEMARK_DATA_DIR: data_dir }
    expect((await run(['organization', 'create', 'Acme'], env)).exit_code).toBe(0)
    expect(existsSync(join(data_dir, 'control.db'))).toBe(true)
  })

  test('may run several times at the same moment on an empty folder', async () => {
    const names = ['a', 'b', 'c', 'd']
    await Promise.all(names.map((name) => made('organization', 'create', name)))
    const { results } = await made('organization', 'list')
    expect(results).toHaveLength(names.length)
  })

  test('is described by --help, with examples', async () => {
    const all = await run(['--help'])
    expect(all.exit_code).toBe(0)
    for (const command of ['serve', 'up', 'organization', 'project', 'key', 'Examples:']) {
      expect(all.out).toContain(command)
    }
    const serve = await run(['serve', '--help'])
    for (const part of ['--port <number>', 'TIDEMARK_PORT', 'TIDEMARK_BOOTSTRAP_API_TOKEN']) {
      expect(serve.out).toContain(part)
    }
    expect((await run(['key', 'create', '--help'])).out).toContain('--scope <scopes...>')
  })

  test.each([
    ['no command there is', ['conjure'], 2, "error: unknown command 'conjure'"],
    ['a name of every object', ['constructor'], 2, "error: unknown command 'constructor'"],
    ['no command', [], 2, 'Usage: tidemark'],
    ['an unknown option', ['serve', '--prot', '1'], 2, "error: unknown option '--prot'"],
    ['a wrong setting', ['serve', '--port', 'x'], 2, 'error: --port must be a whole number'],
    ['no scope', ['key', 'create', '--organization', 'x'], 2, 'error: required option'],
    ['no organization', ['project', 'create', 'Web'], 2, 'error: required option'],
    [
      'a blank name',
      ['organization', 'create', ' '],
      1,
      'error: name: This field may not be blank.',
    ],
    [
      'a folder without data',
      ['project', 'list', '--organization', 'x'],
      1,
      'holds no Tidemark data',
    ],
  ])('says what is wrong with %s, without a stack', async (_what, args, exit_code, message) => {
    const ran = await run(args, { TIDEMARK_DATA_DIR: data_dir })
    expect(ran.exit_code).toBe(exit_code)
    expect(ran.err).toContain(message)
    expect(ran.err).not.toMatch(/^\s+at /m)
    expect(ran.out).toBe('')
  })

  test('refuses organizations, projects and scopes that do not exist', async () => {
    const id = String((await made('organization', 'create', 'Acme'))['id'])
    const cases: readonly (readonly [readonly string[], string])[] = [
      [
        ['project', 'create', '--organization', 'x', 'Web'],
        'organization: Organization not found.',
      ],
      [['key', 'create', '--organization', 'x', '--scope', '*'], 'Organization not found.'],
      [['key', 'create', '--organization', id, '--scope', 'all'], 'scopes: Invalid scope: all'],
      [
        ['key', 'create', '--organization', id, '--project', '7', '--scope', '*'],
        'project: Project not found.',
      ],
    ]
    for (const [args, message] of cases) {
      const ran = await run([...args, '--data-dir', data_dir])
      expect([ran.exit_code, ran.out]).toEqual([1, ''])
      expect(ran.err).toContain(message)
    }
  })

  test('reads and changes nothing of a folder whose restore was cut off', async () => {
    const { id } = await made('organization', 'create', 'Acme')
    await made('project', 'create', '--organization', String(id), 'Web shop')
    const backup = join(folder, 'backup')
    writeFileSync(join(data_dir, 'tidemark-unfinished'), '')
    const err = `error: ${data_dir} is not whole: its restore was cut off. Restore it again.\n`
    for (const command of [
      ['organization', 'create', 'Lost'],
      ['user', 'list'],
      ['backup', backup],
      ['export', '--project', '1', join(folder, 'export')],
      ['serve'],
    ]) {
      const ran = await run([...command, '--data-dir', data_dir])
      expect({ command, ...ran }).toEqual({ command, exit_code: 1, out: '', err })
    }
    expect(readdirSync(folder)).toEqual(['data'])
    expect(readdirSync(data_dir).toSorted()).toEqual(['control.db', 'tidemark-unfinished'])
    const examined = await run(['doctor', '--data-dir', data_dir])
    expect(examined.exit_code).toBe(1)
    expect(examined.out).toStartWith(`${data_dir} is not whole`)
  })

  test.skipIf(process.getuid?.() !== 0)(
    'leaves nothing of root in the stopped folder of another user',
    async () => {
      const NOBODY = 65_534
      mkdirSync(data_dir)
      chownSync(data_dir, NOBODY, NOBODY)
      const refused = {
        exit_code: 2,
        out: '',
        err: `error: ${data_dir} belongs to the user with the id ${NOBODY}, who could not read what root leaves in it: start the server first, or run the command as that user\n`,
      }
      const create = ['organization', 'create', 'Acme', '--data-dir', data_dir]
      expect(await run(create)).toEqual(refused)
      expect(readdirSync(data_dir)).toEqual([])

      chownSync(data_dir, 0, 0)
      const { id } = await made('organization', 'create', 'Acme')
      await made('project', 'create', '--organization', String(id), 'Web shop')
      for (const path of [data_dir, join(data_dir, 'control.db')]) chownSync(path, NOBODY, NOBODY)
      const input = join(folder, 'one.jsonl')
      writeFileSync(input, '{"event":"e","distinct_id":"a"}')
      const send = ['import', '--project', '1', input, '--data-dir', data_dir]
      // The note of a server that was killed.
      writeFileSync(
        join(data_dir, 'serve.json'),
        '{"pid":1,"url":null,"started_at":"2026-11-28T00:00:00Z"}',
      )
      expect(await run(send)).toEqual(refused)
      expect(readdirSync(data_dir).toSorted()).toEqual(['control.db', 'serve.json'])
      // What changes a database leaves nothing beside it.
      await made('project', 'list', '--organization', String(id))

      writeFileSync(join(data_dir, 'events.db'), '')
      const move = ['clickhouse', 'move', '--project', '1', '--to', join(folder, 'copy')]
      const as_user = refused.err.replace('start the server first, or ', '')
      const server = ['--url', 'http://127.0.0.1:9', '--source-project', '1', '--key', 'k']
      for (const [command, err] of [
        [['import', '--project', '1', '--from', 'posthog', ...server], refused.err],
        [['export', '--project', '1', join(folder, 'export')], refused.err],
        [['restore', folder], as_user],
        [['takeover'], as_user],
        [['clickhouse', 'fill'], as_user],
        [['clickhouse', 'take', folder], as_user],
        [move, as_user],
      ] as const) {
        const ran = await run([...command, '--data-dir', data_dir])
        expect({ command, ...ran }).toEqual({ command, ...refused, err })
      }
      expect(readdirSync(data_dir).toSorted()).toEqual(['control.db', 'events.db', 'serve.json'])
    },
  )

  test('restores as of no day that there is not', async () => {
    for (const at of ['2026-02-30', '2026-02-30T12:00', '2026-13-01', 'yesterday']) {
      const args = ['restore', '--from', folder, '--at', at, '--data-dir', data_dir]
      expect(await run(args)).toEqual({
        exit_code: 2,
        out: '',
        err: 'error: --at must be a time as 2026-11-20T12:00:00Z\n',
      })
    }
  })

  test('says why a database cannot be opened, and not that it is damaged', async () => {
    await made('organization', 'create', 'Acme')
    // A read-only disk would do, which a test cannot have.
    copyFileSync(join(data_dir, 'control.db'), join(data_dir, 'events.db'))
    for (const name of ['control', 'events']) mkdirSync(join(data_dir, `${name}.db-wal`))
    for (const args of [['organization', 'list'], ['doctor']]) {
      const ran = await run([...args, '--data-dir', data_dir])
      expect(ran).toEqual({
        exit_code: 1,
        out: '',
        err: 'error: unable to open database file: this user may not write in the data folder, its disk is read-only, or no file handle is left\n',
      })
    }
  })

  test('says of a damaged database what to do', async () => {
    await made('organization', 'create', 'Acme')
    const path = join(data_dir, 'control.db')
    writeFileSync(path, readFileSync(path).fill(0xa5, 4096))
    const ran = await run(['serve', '--port', '0', '--data-dir', data_dir])
    expect(ran.exit_code).toBe(1)
    expect(ran.err).toContain('error: database disk image is malformed: ')
    expect(ran.err).toContain(
      '"tidemark doctor" names it, and "tidemark restore" brings back a backup',
    )
  })

  test('refuses to serve at an address that this machine does not have, by the name of the setting', async () => {
    for (const host of ['192.0.2.1', 'nowhere.invalid']) {
      const ran = await run([
        'serve',
        '--port',
        '0',
        '--host',
        host,
        '--log-level',
        'error',
        '--data-dir',
        data_dir,
      ])
      expect([ran.exit_code, ran.err]).toEqual([
        2,
        `error: TIDEMARK_HOST must be an address of this machine, and ${host} is none\n`,
      ])
    }
  })

  test('says so when the data folder cannot be made', async () => {
    writeFileSync(data_dir, 'a file')
    const ran = await run(['organization', 'create', 'Acme', '--data-dir', data_dir])
    expect(ran.exit_code).toBe(1)
    expect(ran.err).toMatch(/^error: /)
    expect(ran.err).not.toMatch(/^\s+at /m)
  })

  test('ends without words when the program that reads its output does', async () => {
    const command = commandLine(['metrics', '--alerts'])
      .map((word) => `'${word}'`)
      .join(' ')
    const ran = Bun.spawn(['sh', '-c', `${command} | head -n 1`], {
      stdout: 'pipe',
      stderr: 'pipe',
    })
    expect(await new Response(ran.stdout).text()).toBe('groups:\n')
    expect(await new Response(ran.stderr).text()).toBe('')
  })
})
