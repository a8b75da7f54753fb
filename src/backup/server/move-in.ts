/** Moves a project's events, persons and definitions from another server here, through both servers' APIs. */
import { join } from 'node:path'
import { BackupFault } from '../fill-folder.ts'
import { OWN_MACHINE } from '../import.ts'
import { Move } from './move.ts'
import { MOVED_TABLES, type MoveEnds, nameMove, StateFile } from './move-state.ts'
import { writeReport } from './report.ts'
import { ServerAPI } from './server-api.ts'
import { finishRun, runStages, STAGE_NAMES } from './stages.ts'

export type MoveInOptions = MoveEnds & {
  /** The personal key for the source. */
  readonly key: string
  /** The address on this machine of the server here, the project's token, and a personal key for it. */
  readonly here: { readonly url: string; readonly api_token: string; readonly key: string }
  /** The folder of this move, which holds its progress and its report. */
  readonly folder: string
  readonly kinds: readonly string[]
  /** The most rows of one query; fewer where answers are too large. */
  readonly page_rows?: number
  readonly onProgress: (stage: string, done: number, all: number) => void
  readonly onWait: (wait_ms: number, reason: string) => void
}

type MoveInResult = {
  readonly report: object
  readonly lines: readonly string[]
  readonly path: string
}

const KEY_LENGTH_MAX = 1000
/** PostHog allows 120 queries an hour with some keys; it answers at most 50,000 rows, and we read 64 MiB. */
const PAGE_ROWS = 20_000

/** Throws a BackupFault for a malformed key, and for unknown kinds. */
export function requireMoveInput(key: string, kinds: readonly string[]): void {
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > KEY_LENGTH_MAX) {
    throw new BackupFault(
      'The key of the other server is missing, or holds blanks or foreign characters.',
    )
  }
  const unknown = kinds.find((kind) => !STAGE_NAMES.includes(kind))
  if (unknown !== undefined) {
    throw new BackupFault(`There is no kind ${unknown}; there are ${STAGE_NAMES.join(', ')}.`)
  }
}

/**
 * Resolves when everything that can be brought over is here; otherwise rejects with a BackupFault, and the next call goes on
 * from there.
 */
export async function moveIn(options: MoveInOptions): Promise<MoveInResult> {
  const { url, key, here, folder, kinds, onProgress, onWait } = options
  const file = new StateFile(folder)
  const move = new Move({
    source: new ServerAPI({
      url,
      key,
      project_id: options.source_project,
      name: 'The source',
      onWait,
    }),
    target: new ServerAPI({
      url: here.url,
      key: here.key,
      project_id: options.project_id,
      name: 'The server here',
      tls: OWN_MACHINE,
    }),
    api_token: here.api_token,
    file,
    page_rows: options.page_rows ?? PAGE_ROWS,
    mark: `tidemark import ${nameMove(options)}`,
    onProgress,
  })
  const path = join(folder, 'report.json')
  const reportOf = (is_whole: boolean): object => {
    const rows = Object.fromEntries(
      MOVED_TABLES.map((name) => {
        const { read, brought } = move.state[name]
        return [name, { read, brought }]
      }),
    )
    return move.report.toJSON({
      source: url,
      source_project: options.source_project,
      project: options.project_id,
      is_whole,
      ...rows,
      left_out_counts: move.state.left_out,
    })
  }
  try {
    await runStages(move, kinds.length === 0 ? STAGE_NAMES : kinds)
  } catch (error) {
    writeReport(path, reportOf(false))
    throw error
  }
  const report = reportOf(true)
  writeReport(path, report)
  const lines = [...rowLines(move), ...move.report.toLines()]
  finishRun(move)
  return { report, lines, path }
}

function rowLines({ state }: Move): readonly string[] {
  const tables = MOVED_TABLES.map(
    (name) => `${name}: ${state[name].read} read, ${state[name].brought} brought over`,
  )
  const counts = Object.entries(state.left_out).flatMap(([kind, reasons]) =>
    Object.entries(reasons).map(([reason, count]) => `${kind}: ${count} × ${reason}`),
  )
  return [...tables, ...counts]
}
