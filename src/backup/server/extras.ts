/** Parts of definitions that have calls of their own: the persons of a list, the tiles of a dashboard. */
import { isObject } from '../../json.ts'
import type { JSONObject } from '../sources/source.ts'
import type { Move } from './move.ts'
import { AnswerTooLarge } from './server-api.ts'

/** Brings the parts of an item over; returns what it could not. */
type MoveExtra = (
  move: Move,
  item: JSONObject,
  target_id: number | string,
) => Promise<readonly string[]>

const MEMBERS_PAGE = 1000
/** The most persons of one list. */
const MEMBERS_MAX = 5_000_000

/** Adding a kind with parts means adding a line. */
export const EXTRAS: Readonly<Record<string, MoveExtra>> = {
  cohorts: movePersonsOfList,
  dashboards: moveTiles,
}

/** Adds the persons of a list by one of their distinct ids each. Adding one again changes nothing. */
async function movePersonsOfList(
  move: Move,
  { id, is_static }: JSONObject,
  target_id: number | string,
): Promise<readonly string[]> {
  if (is_static !== true) return []
  const path = `cohorts/${String(id)}/persons/`
  let sent = 0
  let unnamed = 0
  for (let offset = 0; offset < MEMBERS_MAX; ) {
    const page = await move.source.get(path, { limit: MEMBERS_PAGE, offset })
    const persons: unknown = isObject(page) ? page['results'] : null
    if (!Array.isArray(persons) || persons.length === 0) break
    const names = persons.map(nameOfPerson)
    const distinct_ids = names.filter((name) => name !== null)
    unnamed += names.length - distinct_ids.length
    if (distinct_ids.length > 0) {
      const add = `cohorts/${target_id}/add_persons_to_static_cohort/`
      await move.target.send('PATCH', add, { distinct_ids })
    }
    sent += distinct_ids.length
    offset += persons.length
    if (!isObject(page) || typeof page['next'] !== 'string') break
  }
  const stored = await move.target.get(`cohorts/${target_id}/`)
  const count = isObject(stored) ? stored['count'] : null
  const absent = typeof count === 'number' && count < sent ? sent - count : 0
  return [
    ...(unnamed === 0 ? [] : [`${unnamed} of its persons have no distinct id`]),
    ...(absent === 0 ? [] : [`${absent} of its persons are not here`]),
  ]
}

function nameOfPerson(person: unknown): string | null {
  const ids: unknown = isObject(person) ? person['distinct_ids'] : null
  if (!Array.isArray(ids)) return null
  return ids.find((one) => typeof one === 'string' && one !== '') ?? null
}

/** A tile of a dashboard: an insight, or a text. */
type ReadTile = {
  readonly tile: JSONObject
  readonly insight_id: string | null
  readonly body: string | null
}

/** Puts insights onto a dashboard, then their places, and the texts between them. */
async function moveTiles(
  move: Move,
  { id }: JSONObject,
  target_id: number | string,
): Promise<readonly string[]> {
  const problems: string[] = []
  const source_tiles = await readTiles(move, String(id))
  if (source_tiles === null) return ['its tiles: the answer with its results is too large']
  const insights = new Map<string, ReadTile>()
  const texts: ReadTile[] = []
  for (const read of source_tiles) {
    if (read.insight_id === null) {
      if (read.body === null) problems.push('a tile that is neither an insight nor a text')
      else texts.push(read)
      continue
    }
    const insight_id = move.findTarget('insights', read.insight_id)
    if (insight_id === null)
      problems.push(`a tile with insight ${read.insight_id}, which is not here`)
    else insights.set(String(insight_id), read)
  }
  const before = await readPresentTiles(move, target_id)
  const present = new Set(before.map(({ insight_id }) => insight_id))
  for (const insight_id of insights.keys()) {
    if (!present.has(insight_id)) await addToDashboard(move, insight_id, target_id)
  }
  const after = await readPresentTiles(move, target_id)
  const tiles = [...placeInsights(after, insights), ...placeTexts(after, texts)]
  if (tiles.length > 0) await move.target.send('PATCH', `dashboards/${target_id}/`, { tiles })
  return problems
}

async function readTiles(move: Move, id: string): Promise<readonly ReadTile[] | null> {
  try {
    return tilesIn(await move.source.get(`dashboards/${id}/`, { refresh: 'force_cache' }))
  } catch (error) {
    if (error instanceof AnswerTooLarge) return null
    throw error
  }
}

async function readPresentTiles(
  move: Move,
  target_id: number | string,
): Promise<readonly ReadTile[]> {
  return tilesIn(await move.target.get(`dashboards/${target_id}/`, { refresh: 'force_cache' }))
}

function tilesIn(dashboard: unknown): readonly ReadTile[] {
  const tiles: unknown = isObject(dashboard) ? dashboard['tiles'] : null
  if (!Array.isArray(tiles)) return []
  return tiles
    .filter((tile) => isObject(tile))
    .filter((tile) => tile['deleted'] !== true)
    .map((tile) => {
      const { insight, text } = tile
      const body = isObject(text) && typeof text['body'] === 'string' ? text['body'] : null
      return { tile, insight_id: isObject(insight) ? String(insight['id']) : null, body }
    })
}

async function addToDashboard(
  move: Move,
  insight_id: string,
  dashboard_id: number | string,
): Promise<void> {
  const insight = await move.target.get(`insights/${insight_id}/`, { refresh: 'force_cache' })
  const stored: unknown = isObject(insight) ? insight['dashboards'] : null
  const dashboards = [...(Array.isArray(stored) ? stored : []), dashboard_id]
  await move.target.send('PATCH', `insights/${insight_id}/`, { dashboards })
}

const placeOf = ({ tile: { layouts, color, show_description } }: ReadTile): JSONObject => ({
  ...(isObject(layouts) ? { layouts } : {}),
  ...(typeof color === 'string' ? { color } : {}),
  ...(typeof show_description === 'boolean' ? { show_description } : {}),
})

function placeInsights(
  present: readonly ReadTile[],
  insights: ReadonlyMap<string, ReadTile>,
): readonly JSONObject[] {
  return present.flatMap(({ tile, insight_id }) => {
    const read = insight_id === null ? undefined : insights.get(insight_id)
    return read === undefined ? [] : [{ id: tile['id'], ...placeOf(read) }]
  })
}

/** A text that is here already is the one that an earlier run made. */
function placeTexts(
  present: readonly ReadTile[],
  texts: readonly ReadTile[],
): readonly JSONObject[] {
  const free = present.filter(({ body }) => body !== null)
  return texts.map((read) => {
    const index = free.findIndex(({ body }) => body === read.body)
    const [same] = index === -1 ? [] : free.splice(index, 1)
    const place = { ...placeOf(read), text: { body: read.body } }
    return same === undefined ? place : { id: same.tile['id'], ...place }
  })
}
