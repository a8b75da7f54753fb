/** The package in an empty project: the README's sample runs there, with the folder added and with what is packed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ownCommand } from '../../src/storage/process/spawn-self.ts'
import { ENVIRONMENT } from '../cli/command.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'

limitTests(300_000)

const ROOT = join(import.meta.dir, '../..')

/** What Bun says when packages are neither in its cache nor to be had. */
const NO_REGISTRY = /ConnectionRefused|FailedToOpenSocket|ConnectionClosed|DNS|ENOTFOUND|Timeout/

let temporary: string

beforeAll(() => {
  temporary = mkdtempSync(join(tmpdir(), 'tidemark-package-'))
})

afterAll(() => rmSync(temporary, { recursive: true, force: true }))

/** Runs a program to its end, in a folder. */
async function runIn(
  cwd: string,
  command: readonly string[],
): Promise<{ exit_code: number; text: string }> {
  const child = Bun.spawn([...command], { cwd, env: ENVIRONMENT, stdout: 'pipe', stderr: 'pipe' })
  const [out, err, exit_code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { exit_code, text: out + err }
}

/** Prints how a server answers for a file that is beside the bundled program, and for one of another package; and its program. */
const ASK_FOR_FILES = `
const { startTidemark } = await import('tidemark/testing')
await using server = await startTidemark()
for (const path of ['/', '/static/array.js']) console.log((await fetch(server.url + path)).status)
const [child] = (await Bun.file('/proc/self/task/' + process.pid + '/children').text()).split(' ')
console.log((await Bun.file('/proc/' + child + '/cmdline').text()).includes('dist/package/main.js'))`

const ownVersionOf = (name: string): string =>
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).devDependencies[name]

/** The sample of `bun test` in the README. */
function readSample(): string {
  const blocks = readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)
  const sample = [...blocks].find(([, text]) => text?.includes("'tidemark/testing'"))?.[1]
  if (sample === undefined) throw new Error('the README has no sample')
  return sample
}

/** Makes an empty project with the package in it; null where no registry can be reached. */
async function makeProject(name: string, added: string): Promise<string | null> {
  const project = join(temporary, name)
  await Bun.write(join(project, 'package.json'), JSON.stringify({ name, private: true }))
  await Bun.write(join(project, 'signup.test.ts'), readSample())
  const packages = [added, `posthog-node@${ownVersionOf('posthog-node')}`]
  const { exit_code, text } = await runIn(project, [process.execPath, 'add', ...packages])
  if (exit_code !== 0 && NO_REGISTRY.test(text)) {
    console.warn(`not tested, since no registry can be reached: ${text}`)
    return null
  }
  expect(text).toContain('installed tidemark')
  expect(exit_code).toBe(0)
  return project
}

async function expectSampleToPass(project: string): Promise<void> {
  const command = [process.execPath, 'test', '--timeout', '120000']
  const { exit_code, text } = await runIn(project, command)
  expect(text).toContain('1 pass')
  expect(exit_code).toBe(0)
}

longTest(
  'the folder can be added to a project, and the sample of the README passes there',
  async () => {
    const project = await makeProject('with-folder', ROOT)
    if (project !== null) await expectSampleToPass(project)
  },
)

/** npm takes 3 s of processor time to pack what Bun packs by the same rules in a tenth of it. */
const PACK = EVERY_CASE
  ? ['npm', 'pack', '--silent', '--pack-destination']
  : [process.execPath, 'pm', 'pack', '--quiet', '--gzip-level', '1', '--destination']
const PACKED_PROGRAM = join(ROOT, 'dist/package')

/** Packs into the temporary folder. In `bun run check` the program is bundled already, for all tests. */
async function pack(): Promise<void> {
  const [, main = ''] = ownCommand([])
  const is_bundled = !EVERY_CASE && main.endsWith('.js')
  if (is_bundled) cpSync(dirname(main), PACKED_PROGRAM, { recursive: true })
  const flags = is_bundled ? ['--ignore-scripts'] : []
  const packed = await runIn(ROOT, [...PACK, temporary, ...flags])
  if (is_bundled) rmSync(PACKED_PROGRAM, { recursive: true })
  expect(packed).toMatchObject({ exit_code: 0 })
}

test('so can what is packed; the program is there as a command', async () => {
  await pack()
  const [tarball = ''] = Array.from(new Bun.Glob('*.tgz').scanSync(temporary))
  const project = await makeProject('with-tarball', join(temporary, tarball))
  if (project === null) return
  await expectSampleToPass(project)
  const served = await runIn(project, [process.execPath, '-e', ASK_FOR_FILES])
  expect(served.text).toBe('200\n200\ntrue\n')
  const tidemark = join(project, 'node_modules', '.bin', 'tidemark')
  const help = await runIn(project, [process.execPath, tidemark, '--help'])
  expect(help.text).toContain('tidemark serve')
  const files = new Bun.Glob('node_modules/tidemark/*').scan({ cwd: project, onlyFiles: false })
  const names = (await Array.fromAsync(files)).map((path) => path.split('/').at(-1) ?? '')
  // Bun makes node_modules there for the file of macros.
  const own = names.filter((name) => name !== 'node_modules')
  expect(own.toSorted()).toEqual(['README.md', 'dist', 'docs', 'package.json', 'sql', 'src'])
})
