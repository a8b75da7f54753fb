/** STAGES: what a move from another server brings over, in order; each goes on where it was cut off. */
import { isObject } from '../../json.ts'
import { BackupFault } from '../fill-folder.ts'
import { moveKind } from './definitions.ts'
import { moveEvents } from './event-pages.ts'
import { mapGroupTypes, moveGroups } from './group-pages.ts'
import { readInstant } from './instants.ts'
import { KINDS } from './kinds.ts'
import type { Move } from './move.ts'
import { MOVED_TABLES, NOTHING_READ } from './move-state.ts'
import { movePersons } from './person-pages.ts'
import { AnswerTooLarge, isAbsent, printable, type ServerAPI, ServerRefusal } from './server-api.ts'

type MoveStage = {
  /** Its name in the report and in `--kinds`. */
  readonly name: string
  /** A call that needs the same right as the stage. */
  readonly probe: (source: ServerAPI) => Promise<unknown>
  readonly run: (move: Move) => Promise<void>
}

const probeQuery = (source: ServerAPI): Promise<unknown> => source.query('select 1')

/** Adding a stage means adding a line. Definitions come after persons, since lists of persons name them. */
const STAGES: readonly MoveStage[] = [
  { name: 'events', probe: probeQuery, run: moveEvents },
  {
    name: 'groups',
    probe: (source) => source.get('groups_types/'),
    run: moveGroups,
  },
  { name: 'persons', probe: probeQuery, run: movePersons },
  ...KINDS.map((kind) => ({
    name: kind.path,
    probe: (source: ServerAPI) => source.get(`${kind.path}/`, { limit: 1 }),
    run: (move: Move) => moveKind(move, kind),
  })),
]

export const STAGE_NAMES: readonly string[] = STAGES.map(({ name }) => name)

const ZONE_LENGTH_MAX = 100

/** Stages that read a table, whose end is part of the progress. */
const TABLES: ReadonlySet<string> = new Set(MOVED_TABLES)

/**
 * Runs the stages of these names, but for tables that are done. Rejects with a BackupFault when it cannot go on; the
 * next run continues from there.
 */
export async function runStages(move: Move, names: readonly string[]): Promise<void> {
  const stages = STAGES.filter(({ name }) => names.includes(name))
  await requireRights(move, stages)
  await beginRun(move)
  for (const stage of stages.filter(({ name }) => TABLES.has(name))) {
    if (move.state.stages_done.includes(stage.name)) continue
    await runStage(move, stage)
    move.state.stages_done.push(stage.name)
    move.save()
  }
  const definitions = stages.filter(({ name }) => !TABLES.has(name))
  if (definitions.length > 0) await compareZones(move)
  if (definitions.length > 0) await explainRefusal('groups', () => mapGroupTypes(move, true))
  for (const stage of definitions) await runStage(move, stage)
}

/** Notes a time zone that differs, since days of insights begin by it; a key may not read the project. */
async function compareZones(move: Move): Promise<void> {
  const [theirs, ours] = [await readZone(move.source), await readZone(move.target)]
  if (theirs === null || theirs === ours) return
  move.report.note(
    `The project's time zone is ${theirs} at the source and ${String(ours)} here: days of insights begin at another time.`,
  )
}

async function readZone(server: ServerAPI): Promise<string | null> {
  const project = await server.get('').catch((error: unknown) => {
    if (error instanceof ServerRefusal) return null
    throw error
  })
  const zone = isObject(project) ? project['timezone'] : null
  return typeof zone === 'string' ? printable(zone).slice(0, ZONE_LENGTH_MAX) : null
}

/** Notes that the run came to its end: the next one looks at everything again. */
export function finishRun(move: Move): void {
  move.state.began_at = null
  move.state.stages_done = []
  move.save()
}

async function runStage(move: Move, { name, run }: MoveStage): Promise<void> {
  move.beginSteps()
  await explainRefusal(name, () => run(move))
  move.save()
}

async function explainRefusal(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof AnswerTooLarge || error instanceof ServerRefusal) {
      throw new BackupFault(`${name}: ${error.message}`)
    }
    throw error
  }
}

/** Begins a run at the time of the source. A run that was cut off goes on instead, with its own time. */
async function beginRun(move: Move): Promise<void> {
  const { state } = move
  if (state.began_at !== null) return
  const [row] = await move.source.query('select now()')
  state.began_at = move.requireSane(readInstant(row?.[0]), 'its time')
  state.left_out = {}
  state.events = NOTHING_READ
  state.groups = NOTHING_READ
  state.persons = NOTHING_READ
  move.save()
}

/** Tries a small call of every stage first: a missing right is not found out after hours. */
async function requireRights(move: Move, stages: readonly MoveStage[]): Promise<void> {
  const refusals = new Set<string>()
  for (const { name, probe } of stages) {
    try {
      await probe(move.source)
    } catch (error) {
      if (!(error instanceof ServerRefusal)) throw error
      if (error.status === 401) throw new BackupFault(`The key is refused: ${error.detail}`)
      if (isAbsent(error) && probe !== probeQuery) continue
      refusals.add(`${name}: ${error.detail}`)
    }
  }
  if (refusals.size === 0) return
  const lines = [...refusals].join('\n  ')
  throw new BackupFault(
    `The key cannot read everything:\n  ${lines}\nGive it these rights, or name the kinds to bring over with --kinds.`,
  )
}
