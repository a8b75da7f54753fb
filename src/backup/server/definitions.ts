/**
 * Brings definitions over, each once: a new item is created with a mark in one of its texts, then its id is written
 * into the progress, then its own text replaces the mark. A kill before the id is written leaves the mark, by which the
 * next run finds the item.
 */
import { createHash } from 'node:crypto'
import { isObject } from '../../json.ts'
import type { JSONObject } from '../sources/source.ts'
import { EXTRAS } from './extras.ts'
import type { DefinitionKind } from './kinds.ts'
import type { Move } from './move.ts'
import type { MovedItem } from './move-state.ts'
import { isId, NestedTooDeeply, rewriteReferences } from './references.ts'
import { isAbsent, ServerRefusal } from './server-api.ts'

/** The longest chain of items that name others of their kind: each round sends those whose others are there. */
const ROUNDS_MAX = 20
const SAVED_EVERY = 50

/** An item of the source and its members as they are sent. */
type SourceItem = { readonly id: string; readonly item: JSONObject; readonly read: JSONObject }

/** Brings the items of one kind over. */
export async function moveKind(move: Move, kind: DefinitionKind): Promise<void> {
  const items = await listSource(move, kind)
  if (items === null) return
  const moved = move.itemsOf(kind.path)
  const new_items = items.filter(({ id }) => moved[id] === undefined)
  if (new_items.length > 0) await createAll(move, kind, new_items)
  await fillAll(
    move,
    kind,
    items.filter(({ id }) => moved[id] !== undefined),
  )
  const extra = EXTRAS[kind.path]
  if (extra === undefined) return
  for (const { id, item } of items) {
    const target = moved[id]
    if (target === undefined || target.is_theirs === true) continue
    const problems = await tryExtra(() => extra(move, item, target.id))
    for (const reason of problems) leaveOut(move, kind, { id, item }, reason)
  }
}

async function tryExtra(work: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServerRefusal) return [error.detail]
    throw error
  }
}

/** The items that can be brought over; null where the source has no such list. */
async function listSource(move: Move, kind: DefinitionKind): Promise<readonly SourceItem[] | null> {
  const all = await move.source.listItems(`${kind.path}/`, kind.list).catch((error: unknown) => {
    if (isAbsent(error)) return null
    throw error
  })
  if (all === null) {
    move.report.note(`The source has no ${kind.path}.`)
    return null
  }
  const survey_flags =
    kind.path === 'feature_flags' ? await flagsOfSurveys(move) : new Set<string>()
  const items: SourceItem[] = []
  // The oldest first: ids are in the same order here.
  for (const item of all.toReversed()) {
    const id = item['id']
    if (item['deleted'] === true || survey_flags.has(String(id))) continue
    const reason = isId(id) ? (kind.refuse?.(item) ?? null) : 'its id is none'
    if (reason === null) items.push({ id: String(id), item, read: kind.read?.(item) ?? item })
    else leaveOut(move, kind, { id: String(id), item }, reason)
  }
  return items
}

/** Flags that a survey makes for itself: it makes them here too. */
async function flagsOfSurveys(move: Move): Promise<ReadonlySet<string>> {
  const surveys = await move.source.listItems('surveys/').catch((error: unknown) => {
    if (error instanceof ServerRefusal) return []
    throw error
  })
  const flags = surveys.flatMap((survey) => [
    survey['targeting_flag'],
    survey['internal_targeting_flag'],
  ])
  return new Set(flags.flatMap((flag) => (isObject(flag) ? [String(flag['id'])] : [])))
}

/** Creates items under their marks, unless they are here: marked by a run that was cut off, or with the same unique name. */
async function createAll(
  move: Move,
  kind: DefinitionKind,
  items: readonly SourceItem[],
): Promise<void> {
  const moved = move.itemsOf(kind.path)
  const present = await move.target.listItems(`${kind.path}/`)
  const marked = indexBy(present, kind.mark)
  const unique = indexBy(present, kind.unique ?? null)
  for (const source of items) {
    const { id, read } = source
    const mark = `${move.mark} ${kind.path} ${id}`
    const marked_id = marked.get(mark)
    const same_id = kind.unique === undefined ? undefined : unique.get(String(read[kind.unique]))
    if (marked_id !== undefined) moved[id] = { id: marked_id, digest: '' }
    else if (same_id !== undefined) moved[id] = adopt(move, kind, source, same_id)
    else await createOne(move, kind, source, mark)
    move.showStep(kind.path)
  }
  move.save()
}

/** An item with the same unique name is left as it is, and named by the others. */
function adopt(
  move: Move,
  kind: DefinitionKind,
  source: SourceItem,
  id: number | string,
): MovedItem {
  // Without a mark an item of an earlier run looks the same: it is made whole at once, and needs no more.
  if (kind.mark !== null) {
    leaveOut(
      move,
      kind,
      source,
      `there was one with this ${kind.unique} here, which is left as it is`,
    )
  }
  return { id, digest: '', is_theirs: true }
}

async function createOne(
  move: Move,
  kind: DefinitionKind,
  source: SourceItem,
  mark: string,
): Promise<void> {
  const { id, read } = source
  const { body, missing } = rewrite(move, kind, read, kind.created)
  if (missing.size > 0) return leaveOut(move, kind, source, missingReason(missing))
  const marked = { ...body, ...kind.fixed, ...(kind.mark === null ? {} : { [kind.mark]: mark }) }
  try {
    const created = await move.target.send('POST', `${kind.path}/`, marked)
    const target_id = isObject(created) ? created['id'] : null
    if (!isId(target_id)) throw new ServerRefusal(500, 'the new item has no id')
    const moved = move.itemsOf(kind.path)
    moved[id] = { id: target_id, digest: '' }
    move.report.countsOf(kind.path).created += 1
  } catch (error) {
    if (!(error instanceof ServerRefusal)) throw error
    leaveOut(move, kind, source, error.detail)
  }
}

/** Sends the final members of items that differ from what was sent last. */
async function fillAll(
  move: Move,
  kind: DefinitionKind,
  items: readonly SourceItem[],
): Promise<void> {
  const moved = move.itemsOf(kind.path)
  const counts = move.report.countsOf(kind.path)
  const uses = new Map<string, ReadonlySet<string>>()
  let open = items.filter(({ id }) => moved[id]?.is_theirs !== true)
  counts.unchanged += items.length - open.length
  for (let round = 0; round < ROUNDS_MAX && open.length > 0; round++) {
    const refused: [SourceItem, string][] = []
    for (const [index, source] of open.entries()) {
      const reason = await fillOne(move, kind, source, uses)
      if (reason !== null) refused.push([source, reason])
      if (index % SAVED_EVERY === 0) move.save()
      move.showStep(kind.path)
    }
    if (refused.length === open.length || round === ROUNDS_MAX - 1) {
      await removeRefused(move, kind, { refused, items, uses })
      break
    }
    open = refused.map(([source]) => source)
  }
  move.save()
}

/** Sends one item; returns why it was refused, or null. */
async function fillOne(
  move: Move,
  kind: DefinitionKind,
  { id, read }: SourceItem,
  uses: Map<string, ReadonlySet<string>>,
): Promise<string | null> {
  const moved = move.itemsOf(kind.path)
  const target = moved[id]
  if (target === undefined) return null
  try {
    const rewritten = rewrite(move, kind, read, kind.members)
    if (rewritten.missing.size > 0) return missingReason(rewritten.missing)
    uses.set(id, rewritten.uses)
    // A mark is replaced by a text, also by an empty one.
    const text = kind.mark === null ? {} : { [kind.mark]: rewritten.body[kind.mark] ?? '' }
    const body = { ...rewritten.body, ...text }
    const digest = createHash('sha256').update(JSON.stringify(body)).digest('hex')
    const counts = move.report.countsOf(kind.path)
    if (digest === target.digest) {
      counts.unchanged += 1
      return null
    }
    await move.target.send('PATCH', `${kind.path}/${target.id}/`, body)
    moved[id] = { ...target, digest }
    if (target.digest !== '') counts.updated += 1
    if (rewritten.has_numbered_text) {
      const reason =
        'brought over, but its HogQL may name cohorts or actions by the numbers of the source'
      noteItem(move, kind, { id, item: read }, reason)
    }
    return null
  } catch (error) {
    if (error instanceof ServerRefusal && error.status === 404) return 'it was deleted here since'
    if (error instanceof ServerRefusal || error instanceof NestedTooDeeply) return error.message
    throw error
  }
}

/** Removes new items that cannot be filled, and those of their kind that name them. */
async function removeRefused(
  move: Move,
  kind: DefinitionKind,
  {
    refused,
    items,
    uses,
  }: {
    readonly refused: readonly (readonly [SourceItem, string])[]
    readonly items: readonly SourceItem[]
    readonly uses: ReadonlyMap<string, ReadonlySet<string>>
  },
): Promise<void> {
  const moved = move.itemsOf(kind.path)
  const counts = move.report.countsOf(kind.path)
  const removed: MovedItem[] = []
  const open = [...refused]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [source, reason] = next
    const target = moved[source.id]
    if (target === undefined) continue
    leaveOut(move, kind, source, reason)
    // An item that an earlier run completed stays as it is.
    if (target.digest !== '' && !uses.has(source.id)) continue
    removed.push(target)
    delete moved[source.id]
    counts.created = Math.max(0, counts.created - 1)
    const name = `${kind.path} ${source.id}`
    for (const other of items) {
      if (uses.get(other.id)?.has(name) === true) open.push([other, missingReason(new Set([name]))])
    }
  }
  await removeItems(move, kind, removed.toReversed())
}

/** Removes items in rounds, since an item that another one names is not removed before that one. */
async function removeItems(
  move: Move,
  kind: DefinitionKind,
  items: readonly MovedItem[],
): Promise<void> {
  const refused: MovedItem[] = []
  for (const item of items) if (!(await tryRemove(move, kind, item))) refused.push(item)
  if (refused.length > 0 && refused.length < items.length) await removeItems(move, kind, refused)
}

/** Removes one item; false if the server refuses. */
async function tryRemove(move: Move, kind: DefinitionKind, { id }: MovedItem): Promise<boolean> {
  try {
    if (kind.is_deleted_by_call === true) await move.target.send('DELETE', `${kind.path}/${id}/`)
    else await move.target.send('PATCH', `${kind.path}/${id}/`, { deleted: true })
    return true
  } catch (error) {
    if (!(error instanceof ServerRefusal)) throw error
    return false
  }
}

/** The members of an item that are set, with the ids of this server. */
function rewrite(move: Move, kind: DefinitionKind, read: JSONObject, members: readonly string[]) {
  const set = members
    .map((name): [string, unknown] => [name, read[name]])
    .filter(([, value]) => value !== undefined && value !== null)
  const rewritten = rewriteReferences(Object.fromEntries(set), move.findTarget)
  return { ...rewritten, body: kind.write?.(rewritten.body) ?? rewritten.body }
}

function missingReason(missing: ReadonlySet<string>): string {
  return `it names what is not here: ${[...missing].slice(0, 10).join(', ')}`
}

type NamedItem = { readonly id: string; readonly item: JSONObject }

function leaveOut(move: Move, kind: DefinitionKind, named: NamedItem, reason: string): void {
  move.report.countsOf(kind.path).left_out += 1
  noteItem(move, kind, named, reason)
}

function noteItem(move: Move, kind: DefinitionKind, { id, item }: NamedItem, reason: string): void {
  const names = [item['key'], item['name'], item['content']]
  const name = names.flatMap((text) => (typeof text === 'string' && text !== '' ? [text] : []))[0]
  move.report.noteItem({ kind: kind.path, id, name: name ?? '', reason })
}

/** Ids by the text of a member. */
function indexBy(
  items: readonly JSONObject[],
  member: string | null,
): ReadonlyMap<string, number | string> {
  const ids = new Map<string, number | string>()
  for (const item of items) {
    const text = member === null ? null : item[member]
    if (typeof text === 'string' && isId(item['id'])) ids.set(text, item['id'])
  }
  return ids
}
