/** The rules of this source tree: which room may import which, no import circles, names, comments, room READMEs. */
import { describe, expect, test } from 'bun:test'
import { execSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseSync } from 'oxc-parser'

const ROOT = join(import.meta.dir, '..')

/** What lies at the top level; the lock file and dotfiles aside, nothing else may. */
const TOP_LEVEL = new Set([
  'Dockerfile',
  'README.md',
  'bun.lock',
  'bunfig.toml',
  'docs',
  'package.json',
  'sql',
  'src',
  'test',
  'tsconfig.json',
])

/** Leaves that every room of the server may import: what they hold belongs to no room. */
const LEAVES: ReadonlySet<string> = new Set([
  'back-off',
  'bytes',
  'error-message',
  'ip-version',
  'json',
  'like',
  'memoize',
  'name-lookup',
  'text-chunks',
  'time',
  'uuid',
])

/** Every room and the rooms it may import. A room is a folder of src, or a file that stands alone. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  // the ground: leaves and mechanism
  ...Object.fromEntries([...LEAVES].map((leaf) => [leaf, []])),
  'column-names': [],
  contract: [],
  errors: [],
  certificates: ['config'],
  geoip: [],
  hogql: ['column-names', 'errors'],
  licenses: ['web-build'],
  networks: [],
  storage: ['column-names', 'errors', 'threads'],
  threads: ['errors'],
  // the browser's side: of the server it knows the types of bodies and answers
  web: ['contract'],
  'web-pack': [],
  'web-build': ['web-pack'],
  'web-files': ['web-build', 'web-pack'],
  'web-dev': ['web-build', 'web-pack'],
  bundle: ['web-build', 'web-pack'],
  'build-package': ['bundle'],
  // the rooms: an event comes in, a query comes in, who may ask
  identity: ['errors', 'storage'],
  pictures: ['errors', 'threads', 'web-files', 'web-pack'],
  plugins: ['errors', 'networks', 'projects', 'storage'],
  ingest: ['errors', 'geoip', 'identity', 'plugins', 'storage', 'threads'],
  flags: ['errors', 'geoip', 'threads'],
  insights: ['contract', 'errors', 'hogql', 'threads'],
  query: ['column-names', 'contract', 'errors', 'hogql', 'insights', 'storage', 'threads'],
  shipping: ['column-names', 'errors', 'storage'],
  snapshots: ['errors', 'storage', 'threads'],
  backup: ['errors', 'storage'],
  projects: ['errors', 'storage'],
  dashboards: ['errors', 'projects', 'storage', 'threads'],
  targeting: ['errors', 'flags', 'projects', 'storage', 'threads'],
  demo: ['flags', 'projects', 'targeting'],
  // the edge: the wire on one side, rooms on the other
  config: ['errors', 'networks'],
  logs: ['config', 'threads'],
  edge: ['errors', 'geoip', 'ingest', 'storage', 'threads'],
  standby: ['edge', 'storage'],
  http: [
    'certificates',
    'edge',
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
    'pictures',
    'plugins',
    'projects',
    'query',
    'targeting',
    'threads',
    'web-files',
    'web-pack',
  ],
  app: ['errors', 'http', 'threads'],
  // the process: what runs, from the ground up
  serve: [
    'app',
    'certificates',
    'config',
    'demo',
    'edge',
    'errors',
    'geoip',
    'http',
    'ingest',
    'logs',
    'pictures',
    'plugins',
    'projects',
    'query',
    'shipping',
    'snapshots',
    'standby',
    'storage',
    'targeting',
    'threads',
  ],
  cli: [
    'backup',
    'certificates',
    'config',
    'errors',
    'licenses',
    'logs',
    'projects',
    'serve',
    'standby',
    'storage',
  ],
  // what other projects import: it starts the program as a process
  testing: [],
  children: ['query', 'shipping', 'snapshots', 'storage'],
  child: ['children'],
  main: ['children', 'cli'],
  build: ['bundle', 'licenses', 'storage', 'web-build', 'web-pack'],
}

/** Words that say nothing alone: no export and no type in src is called by one of them, in any case. */
const FORBIDDEN_NAMES = new Set(
  `asked asker asking asks counted draft flight flights found given gone held hold kept known late lean left letters
  named narrowed offer offers one outline parts people place places question questions raw remembered row rows said
  sent shown spell step taken thing things told turn turns wanted wants whoever wish written`.split(
    /\s+/,
  ),
)

/**
 * `Lowered`, `refused`: a participle lacks its noun (`LoweredQuery`) or is a verb in disguise (`refuseSpan`). `<Loaded>` reads
 * well in the pages that it wraps.
 */
const LONE_PARTICIPLE = /^(?!Loaded$)[A-Za-z][a-z]+ed$/

/** References to documents that are not in the repository. */
const FOREIGN_CITATION = /§|\bwire \d|\bInterface\b|\bcontract C\d|\bhouse-review|\bsecurity review/

/** `README.md`, or a path to one, and then the number or the title of what is cited: `threads/README.md, 2`. */
const CITATION = /((?:[\w.-]+\/)*README\.md)(?:,? ?(?:section |fact )?(\d+)\b|,? "([^"]+)")?/g

/**
 * A sentence that begins with one of these has a clause where its subject should be: "What rows are sorted by". The
 * subject is the field's noun: "The sort key of a row".
 */
const CLAUSE_AS_SUBJECT = /(?:^|[.:!?] )(?:Who|What|Whose|Whatever|Whoever|How|Why|Which)\b/

const README_LINES_MAX = 60

type Import = { readonly from: string; readonly to: string }
type Named = {
  readonly name: string
  readonly file: string
  readonly is_type: boolean
  readonly is_exported: boolean
}

const roomOf = (file: string): string =>
  relative('src', file)
    .split('/')[0]
    ?.replace(/\.tsx?$/, '') ?? ''

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
  roomOf(from) !== roomOf(to) &&
  !(LEAVES.has(roomOf(to)) && roomOf(from) !== 'web') &&
  !(ROOMS[roomOf(from)]?.includes(roomOf(to)) ?? false)

/** The files that a file imports, directly and through others. */
function reachableFrom(
  start: string,
  graph: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const reached = new Set<string>()
  const open = [...(graph.get(start) ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue
    reached.add(next)
    open.push(...(graph.get(next) ?? []))
  }
  return reached
}

/** The files of each import circle. */
function circlesIn(imports: readonly Import[]): readonly (readonly string[])[] {
  const graph = new Map(
    [...Map.groupBy(imports, ({ from }) => from)].map(([from, all]) => [
      from,
      all.map(({ to }) => to),
    ]),
  )
  const reached = new Map([...graph.keys()].map((file) => [file, reachableFrom(file, graph)]))
  const circles = new Map<string, readonly string[]>()
  for (const [file, others] of reached) {
    if (!others.has(file)) continue
    const members = [...others].filter((other) => reached.get(other)?.has(file)).toSorted()
    circles.set(members.join(' '), members)
  }
  return [...circles.values()]
}

/** What a file exports, and its types also where they are not exported. */
function namesIn(file: string, text: string): readonly Named[] {
  return parseSync(file, text).program.body.flatMap((statement): readonly Named[] => {
    const is_exported = statement.type === 'ExportNamedDeclaration'
    const declared = is_exported ? statement.declaration : statement
    if (!declared) return []
    if (declared.type === 'VariableDeclaration') {
      if (!is_exported) return []
      return declared.declarations.flatMap(({ id }) =>
        id.type === 'Identifier' ? [{ name: id.name, file, is_type: false, is_exported }] : [],
      )
    }
    if (!('id' in declared) || declared.id?.type !== 'Identifier') return []
    const is_type = declared.type !== 'FunctionDeclaration'
    return is_type || is_exported ? [{ name: declared.id.name, file, is_type, is_exported }] : []
  })
}

/** The comments of a file, each as one line without its marks. */
const commentsOf = (file: string, text: string): readonly string[] =>
  parseSync(file, text).comments.map(({ value }) =>
    value.replaceAll(/\s*\n\s*\*?\s*|^\*/g, ' ').trim(),
  )

/** Which README a citation means: from the file's folder, its room, src, or the top of the repository. */
function citedFile(file: string, path: string): string | null {
  const room = join('src', roomOf(file))
  const places = [dirname(file), room, 'src', '.'].map((folder) => join(folder, path))
  return places.find((place) => existsSync(join(ROOT, place))) ?? null
}

/** Whether a README has a numbered heading or fact, or a heading with this title. */
function hasCited(readme: string, number: string | undefined, title: string | undefined): boolean {
  const lines = readme.split('\n')
  if (number !== undefined)
    return lines.some((line) => /^(#+ )?(\d+)\. /.exec(line)?.[2] === number)
  return title === undefined || lines.some((line) => /^#+ (.*)$/.exec(line)?.[1] === title)
}

/** The citations in comments of a file that name no README, or nothing in it. */
function brokenCitations(file: string, comments: readonly string[]): readonly string[] {
  return comments.flatMap((comment) => [
    ...(FOREIGN_CITATION.test(comment) ? [comment.trim()] : []),
    ...[...comment.matchAll(CITATION)].flatMap(([whole, path = '', number, title]) => {
      const readme = citedFile(file, path)
      if (readme === null) return [whole]
      return hasCited(readFileSync(join(ROOT, readme), 'utf8'), number, title) ? [] : [whole]
    }),
  ])
}

const trackedFiles = (): readonly string[] =>
  execSync('git ls-files --cached --others --exclude-standard', { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(ROOT, file)))

const sourceFiles = trackedFiles().filter((file) => file.startsWith('src/') && /\.tsx?$/.test(file))
const sources = new Map(sourceFiles.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
const allImports = [...sources].flatMap(([file, text]) => importsOf(file, text))
const allNames = [...sources].flatMap(([file, text]) => namesIn(file, text))

describe('the house', () => {
  test('has a room in the drawing for every source file', () => {
    expect(sourceFiles.filter((file) => !(roomOf(file) in ROOMS))).toEqual([])
  })

  test('has no import that the drawing lacks', () => {
    expect(allImports.filter(isBreach)).toEqual([])
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
    const silent = [...sources].filter(([, text]) => !/^(#!.*\n)?\/\*\*/.test(text))
    expect(silent.map(([file]) => file)).toEqual([])
  })
})

describe('the web interface', () => {
  /** Files of src/web that import more than types from elsewhere in src. */
  const codeImports = (file: string, text: string): readonly string[] =>
    importsOf(file, text.replaceAll(/^(?:import|export) type [^']*'[^']+'/gm, ''))
      .filter(({ to }) => file.startsWith('src/web/') && !to.startsWith('src/web/'))
      .map(({ to }) => `${file}: ${to}`)

  test('takes from the rest of src only types: the schemas themselves would be sent to browsers', () => {
    expect([...sources].flatMap(([file, text]) => codeImports(file, text))).toEqual([])
  })

  test('notices a planted import of code', () => {
    const planted = [
      "import type { Static } from 'elysia'",
      "import type {\n  HogQLQuery,\n} from '../../contract/analytics/query.ts'",
      "const lazily = await import('../../contract/insights/funnels.ts')",
      "import { TrendsQuery } from '../../contract/insights/trends.ts'",
    ].join('\n')
    expect(codeImports('src/web/api/ask.ts', planted)).toEqual([
      'src/web/api/ask.ts: src/contract/insights/funnels.ts',
      'src/web/api/ask.ts: src/contract/insights/trends.ts',
    ])
  })
})

describe('files', () => {
  test('import no file that imports them in turn, types included', () => {
    // Move what both need (mostly a type) into the file that needs the other no more, or into one of its own.
    expect(circlesIn(allImports)).toEqual([])
  })

  test('show a planted circle', () => {
    const planted = [
      ...importsOf('src/flags/a.ts', "import type { B } from './b.ts'"),
      ...importsOf('src/flags/b.ts', "import { c } from './c.ts'"),
      ...importsOf('src/flags/c.ts', "import { a } from './a.ts'"),
      ...importsOf('src/flags/d.ts', "import { a } from './a.ts'"),
    ]
    expect(circlesIn(planted)).toEqual([['src/flags/a.ts', 'src/flags/b.ts', 'src/flags/c.ts']])
  })

  test('of a child process are imported by its own side and its command in children.ts alone', () => {
    const worker = 'src/query/worker/'
    const writer = 'src/snapshots/writer/'
    const shipping = 'src/shipping/writer/'
    // The protocol and its client name the types of the work.
    const clients = new Set(['src/snapshots/child.ts', 'src/snapshots/protocol.ts'])
    const breaches = allImports.filter(
      ({ from, to }) =>
        from !== 'src/children.ts' &&
        ((to.startsWith(writer) && !from.startsWith(writer) && !clients.has(from)) ||
          (to.startsWith(shipping) && !from.startsWith(shipping)) ||
          (to.startsWith(worker) && !from.startsWith(worker))),
    )
    // Move types that both sides use into protocol.ts: an import of more would load the worker into the server.
    expect(breaches).toEqual([])
  })
})

describe('names', () => {
  test('of types are unique in src, so that "go to symbol" finds one', () => {
    const by_name = Map.groupBy(
      allNames.filter(({ is_type }) => is_type),
      ({ name }) => name,
    )
    // Rename all but one; a name says of what it is a type (CohortRow, not Row).
    const clashes = [...by_name].filter(([, all]) => all.length > 1)
    expect(clashes.map(([name, all]) => [name, all.map(({ file }) => file)])).toEqual([])
  })

  test('of exported types are used in other files', () => {
    const others = trackedFiles()
      .filter((file) => /^(src|test)\/.*\.tsx?$/.test(file) && !file.endsWith('.d.ts'))
      .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const)
    const files_of = new Map<string, Set<string>>()
    for (const [file, text] of others)
      for (const word of new Set(text.match(/\w+/g)))
        files_of.set(word, (files_of.get(word) ?? new Set()).add(file))
    // Take away the word export; what the type is for is then seen in one file.
    const lonely = allNames.filter(
      ({ name, file, is_type, is_exported }) =>
        is_type && is_exported && !file.endsWith('.d.ts') && files_of.get(name)?.size === 1,
    )
    expect(lonely.map(({ name, file }) => `${file}: ${name}`)).toEqual([])
  })

  test('say what a thing is: no word that could name anything stands alone', () => {
    // src/README.md has the words of this code; a type is a noun, a function a verb and an object.
    const vague = allNames.filter(
      ({ name }) => FORBIDDEN_NAMES.has(name.toLowerCase()) || LONE_PARTICIPLE.test(name),
    )
    expect(vague.map(({ name, file }) => `${file}: ${name}`)).toEqual([])
  })

  test('are those of types, and of everything exported', () => {
    const text = 'type Asked = 1\nexport const kept = 2\nconst held = 3\nexport function told() {}'
    expect(namesIn('src/a.ts', text).map(({ name }) => name)).toEqual(['Asked', 'kept', 'told'])
  })
})

/** A pattern or a search in SQL or JSON that this program has printed: what it should know comes as data instead. */
const SEARCH_IN_PRINTED =
  /\b(?:sql|json|printed|hogql)\.(?:includes|startsWith|endsWith|indexOf|match|search)\(|\.(?:test|exec)\((?:sql|json|printed|hogql)\b|JSON\.stringify\([^()]*\)\.(?:includes|match)/

/** Cells, of which JSON is the value itself; and the guard that lets nothing but a SELECT reach the engine. */
const MAY_SEARCH: readonly string[] = [
  'src/query/engine/text-forms.ts',
  'src/query/worker/formats/xlsx-rows.ts',
  'src/storage/duckdb/duckdb.ts',
]

describe('knowledge flows as data', () => {
  test('nothing is decided by a search in printed SQL or JSON', () => {
    const searching = [...sources].filter(([, text]) => SEARCH_IN_PRINTED.test(text))
    expect(searching.map(([file]) => file).toSorted()).toEqual(MAY_SEARCH.toSorted())
  })

  test.each([
    ["const wants = sql.includes('p_rest')", true],
    ['if (NAMES.test(sql)) return', true],
    ["JSON.stringify(query).includes('a')", true],
    ["names.includes('a')", false],
  ])('notices %s', (line, is_noticed) => {
    expect(SEARCH_IN_PRINTED.test(line)).toBe(is_noticed)
  })
})

describe('comments', () => {
  test('cite only what is in a README of this repository', () => {
    // Write `README.md, 2` for the second numbered heading or fact of the room's README, `threads/README.md, 2` for another's.
    const broken = [...sources].flatMap(([file, text]) =>
      brokenCitations(file, commentsOf(file, text)).map((citation) => `${file}: ${citation}`),
    )
    expect(broken).toEqual([])
  })

  test.each([
    ['see README.md, 2', 0],
    ['see README.md, 99', 1],
    ['see threads/README.md, 3', 0],
    ['see README.md, "Jobs with a deadline"', 0],
    ['see README.md, "Nothing of the kind"', 1],
    ['see nowhere/README.md', 1],
    ['as wire §4.10 says', 1],
    ['contract C12', 1],
  ])('are found to be right or wrong: %s', (comment, count) => {
    expect(brokenCitations('src/threads/planted.ts', [comment])).toHaveLength(count)
  })
})

describe('the sentences of comments', () => {
  test('have a noun as their subject, no clause that begins with who, what, how, why or which', () => {
    // Not "What the button says" but "The label of the button"; not "Why the run failed" but "The error of the run".
    const riddles = [...sources].flatMap(([file, text]) =>
      commentsOf(file, text)
        .filter((comment) => CLAUSE_AS_SUBJECT.test(comment))
        .map((comment) => `${file}: ${comment}`),
    )
    expect(riddles).toEqual([])
  })

  test.each([
    ['/** What rows are sorted by. */', true],
    ['/**\n * Reads it all.\n * Whoever asks in turn finds some.\n */', true],
    ['// How often it ticks.', true],
    ['/** The sort key of a row, whatever its type; null where there is none. */', false],
    ['// Whether it ticks.', false],
  ])('are found to be riddles or not: %j', (code, is_riddle) => {
    const comments = commentsOf('src/planted.ts', code)
    expect(comments.map((comment) => CLAUSE_AS_SUBJECT.test(comment))).toEqual([is_riddle])
  })
})

/** Files that may lie flat in one folder of src before it takes sub-folders by subject. */
const FOLDER_FILES_MAX = 20

describe('folders', () => {
  test('have sub-folders where more files lie flat than one sees at once', () => {
    const all = Map.groupBy(trackedFiles(), dirname)
    const long = [...all].filter(
      ([folder, files]) => folder.startsWith('src/') && files.length > FOLDER_FILES_MAX,
    )
    expect(long.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([])
  })
})

describe('rooms', () => {
  const rooms = Object.keys(ROOMS).filter((room) => existsSync(join(ROOT, 'src', room)))
  const readmes = ['src', ...rooms.map((room) => join('src', room))].map((folder) =>
    join(folder, 'README.md'),
  )

  test('have a README each', () => {
    expect(readmes.filter((readme) => !existsSync(join(ROOT, readme)))).toEqual([])
  })

  test('have numbered headings that comments can cite: "## 2. The order of PASSES"', () => {
    const uncitable = [...sources.keys()]
      .map((file) => join('src', roomOf(file), 'README.md'))
      .filter(
        (readme, index, all) => all.indexOf(readme) === index && existsSync(join(ROOT, readme)),
      )
      .flatMap((readme) => readFileSync(join(ROOT, readme), 'utf8').split('\n'))
      .filter((line) => /^#+ \d/.test(line) && !/^#+ \d+\. \S/.test(line))
    expect(uncitable).toEqual([])
  })

  test('have READMEs of at most 60 lines', () => {
    const long = readmes.filter(
      (readme) =>
        readme !== 'src/README.md' &&
        existsSync(join(ROOT, readme)) &&
        readFileSync(join(ROOT, readme), 'utf8').trimEnd().split('\n').length > README_LINES_MAX,
    )
    expect(long).toEqual([])
  })
})
