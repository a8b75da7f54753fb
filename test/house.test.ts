/** The drawing of the house: which room may import which, what lies at the top level, how a file begins. */
import { describe, expect, test } from 'bun:test'
import { execSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const ROOT = join(import.meta.dir, '..')

/** What lies at the top level; the lock file and dotfiles aside, nothing else may. */
const TOP_LEVEL = new Set([
  'Dockerfile',
  'README.md',
  'bun.lock',
  'bunfig.toml',
  'package.json',
  'sql',
  'src',
  'test',
  'tsconfig.json',
])

/** Every room and the rooms it may import. A room is a folder of src, or a file that stands alone. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  // the ground: leaves and mechanism
  contract: [],
  errors: [],
  geoip: [],
  hogql: ['errors'],
  licenses: [],
  networks: [],
  storage: ['errors'],
  threads: ['errors'],
  // the rooms: an event comes in, a question comes in, who may ask
  identity: ['errors', 'storage'],
  plugins: ['errors', 'networks', 'projects', 'storage'],
  ingest: ['errors', 'geoip', 'identity', 'plugins', 'storage', 'threads'],
  flags: ['errors', 'geoip', 'threads'],
  insights: ['contract', 'errors', 'hogql'],
  query: ['contract', 'errors', 'hogql', 'insights', 'storage', 'threads'],
  snapshots: ['errors', 'storage'],
  backup: ['errors', 'storage'],
  projects: ['errors', 'storage'],
  dashboards: ['errors', 'projects', 'storage'],
  targeting: ['errors', 'flags', 'projects', 'storage', 'threads'],
  demo: ['flags', 'projects', 'targeting'],
  // the edge: the wire on one side, rooms on the other
  config: ['errors', 'networks'],
  logs: ['config'],
  http: [
    'dashboards',
    'contract',
    'demo',
    'errors',
    'flags',
    'geoip',
    'hogql',
    'identity',
    'ingest',
    'insights',
    'networks',
    'plugins',
    'projects',
    'query',
    'targeting',
    'threads',
  ],
  app: ['errors', 'http', 'threads'],
  // the process: what runs, from the ground up
  serve: [
    'app',
    'config',
    'demo',
    'errors',
    'geoip',
    'http',
    'ingest',
    'logs',
    'plugins',
    'projects',
    'query',
    'snapshots',
    'storage',
    'targeting',
    'threads',
  ],
  cli: ['backup', 'config', 'errors', 'licenses', 'logs', 'projects', 'serve', 'storage'],
  main: ['cli', 'query', 'snapshots'],
  build: ['licenses', 'storage'],
}

type Import = { readonly from: string; readonly to: string }

const roomOf = (file: string): string =>
  relative('src', file).split('/')[0]?.replace(/\.ts$/, '') ?? ''

/** Every import of one file that stays inside src: static, dynamic, and the files that Workers start with. */
function importsOf(file: string, text: string): readonly Import[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const specifiers = code.matchAll(/(?:from|import\(|import|new URL\()\s*'(\.[^']+)'/g)
  return [...specifiers]
    .map(([, specifier]) => join(dirname(file), specifier ?? ''))
    .filter((to) => to.startsWith('src/'))
    .map((to) => ({ from: file, to }))
}

const isBreach = ({ from, to }: Import): boolean =>
  roomOf(from) !== roomOf(to) && !(ROOMS[roomOf(from)]?.includes(roomOf(to)) ?? false)

const trackedFiles = (): readonly string[] =>
  execSync('git ls-files', { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean)

const sourceFiles = trackedFiles().filter((file) => file.startsWith('src/') && file.endsWith('.ts'))

describe('the house', () => {
  test('has a room in the drawing for every source file', () => {
    expect(sourceFiles.filter((file) => !(roomOf(file) in ROOMS))).toEqual([])
  })

  test('has no import that the drawing lacks', () => {
    const breaches = sourceFiles
      .flatMap((file) => importsOf(file, readFileSync(join(ROOT, file), 'utf8')))
      .filter(isBreach)
    expect(breaches).toEqual([])
  })

  test('notices a planted breach', () => {
    const planted = [
      "import { runPipeline } from '../ingest/pipeline.ts'",
      "const lazily = await import('../ingest/pipeline.ts')",
      "import type { Draft } from '../ingest/pipeline.ts'",
    ]
    for (const line of planted) {
      expect(importsOf('src/query/run.ts', line).filter(isBreach)).toEqual([
        { from: 'src/query/run.ts', to: 'src/ingest/pipeline.ts' },
      ])
    }
  })

  test('has arrows that never run in a circle', () => {
    const reaches = (room: string, goal: string, seen: ReadonlySet<string>): boolean =>
      (ROOMS[room] ?? []).some(
        (next) =>
          next === goal || (!seen.has(next) && reaches(next, goal, new Set([...seen, next]))),
      )
    expect(Object.keys(ROOMS).filter((room) => reaches(room, room, new Set([room])))).toEqual([])
  })

  test('has nothing else at the top level', () => {
    const entries = new Set(trackedFiles().map((file) => file.split('/')[0] ?? ''))
    const visible = [...entries].filter((entry) => !entry.startsWith('.'))
    expect(visible.filter((entry) => !TOP_LEVEL.has(entry))).toEqual([])
  })

  test('says in the first line of every source file what the file is for', () => {
    const silent = sourceFiles.filter(
      (file) => !/^(#!.*\n)?\/\*\*/.test(readFileSync(join(ROOT, file), 'utf8')),
    )
    expect(silent).toEqual([])
  })
})
