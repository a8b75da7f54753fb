/** A process for tests: completes the worker's confinement, then attempts forbidden and required actions. */
import {
  chmodSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { filesFolder } from '../../../storage/files/parquet.ts'
import { systemCall } from '../../../storage/process/confinement/libc.ts'
import { callNumber } from '../../../storage/process/confinement/seccomp.ts'
import { openReader } from '../../../storage/sqlite/sqlite.ts'
import { completeConfinement } from '../confine-query.ts'
import { findMacroFile, macroFolders } from '../macro-file.ts'

/** The options, given as one JSON text. */
type ProbeOptions = {
  readonly data_dir: string
  readonly work_dir: string
  /** A port that a server listens on at 127.0.0.1. */
  readonly port: number
  /** The id of another process. */
  readonly pid: number
  /** The name of a file in the folder of snapshot files. */
  readonly file: string
  /** False tries everything without confinement. */
  readonly is_confined: boolean
}

type Attempt = (options: ProbeOptions) => unknown

const PTRACE_ATTACH = 16
const CLONE_NEWUSER = 0x1000_0000

/** Every attempt either throws or succeeds. */
const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  'read a file of the system': () => readFileSync('/etc/passwd'),
  'read the control database': ({ data_dir }) => readFileSync(join(data_dir, 'control.db')),
  'read the memory of a process': ({ pid }) => readFileSync(`/proc/${pid}/environ`),
  'write into the data folder': ({ data_dir }) => writeFileSync(join(data_dir, 'planted'), ''),
  'write the event log': ({ data_dir }) => openSync(join(data_dir, 'events.db'), 'r+'),
  'write a snapshot file': (options) =>
    writeFileSync(join(filesFolder(options.data_dir), options.file), ''),
  'write a linked snapshot file': (options) =>
    writeFileSync(join(options.work_dir, 'linked'), 'changed'),
  'change the mode of the data folder': ({ data_dir }) => chmodSync(data_dir, 0o777),
  'connect to a port': ({ port }) =>
    Bun.connect({ hostname: '127.0.0.1', port, socket: { data: () => undefined } }),
  'listen on a port': () =>
    Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } }),
  'execute a program': () => Bun.spawnSync(['/bin/true']),
  'trace a process': ({ pid }) => call('ptrace', PTRACE_ATTACH, pid),
  'signal a process': ({ pid }) => process.kill(pid, 0),
  'enter a new namespace': () => call('unshare', CLONE_NEWUSER),
  'read the event log': ({ data_dir }) => {
    using db = openReader(join(data_dir, 'events.db'))
    db.query('select * from sqlite_schema').all()
  },
  'link a snapshot file': (options) => readFileSync(join(options.work_dir, 'linked')).length,
  'list the snapshot files': ({ data_dir }) => readdirSync(filesFolder(data_dir)),
  'read the file of macros': ({ data_dir }) =>
    readFileSync(findMacroFile(macroFolders(data_dir)) ?? 'missing'),
  'spill to disk': ({ work_dir }) => {
    mkdirSync(join(work_dir, 'spill', '1-1'))
    writeFileSync(join(work_dir, 'spill', '1-1', 'block'), 'spilled')
  },
  'read its own accounts': () => readFileSync('/proc/self/io').length,
  'start a thread': () =>
    new Promise((resolve, reject) => {
      const worker = new Worker(URL.createObjectURL(new Blob(['postMessage(1)'])))
      worker.addEventListener('message', resolve)
      worker.addEventListener('error', reject)
    }),
}

/** Prints the outcome of every attempt as one JSON object, and ends. */
export async function runConfinementProbe(args: readonly string[]): Promise<never> {
  const options = JSON.parse(args[0] ?? '') as ProbeOptions
  const confinement = options.is_confined ? completeConfinement(args) : null
  linkSync(join(filesFolder(options.data_dir), options.file), join(options.work_dir, 'linked'))
  const outcomes: Record<string, string> = {}
  for (const [name, attempt] of Object.entries(ATTEMPTS)) {
    try {
      await attempt(options)
      outcomes[name] = 'done'
    } catch {
      outcomes[name] = 'refused'
    }
  }
  await Bun.write(Bun.stdout, `${JSON.stringify({ confinement, outcomes })}\n`)
  process.exit(0)
}

function call(name: 'ptrace' | 'unshare', ...words: readonly number[]): void {
  if (systemCall(callNumber(name), ...words) < 0) throw new Error(`${name} failed`)
}
