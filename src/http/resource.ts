/** A family of routes on one kind of stored item: list, create, read, change, remove, and its activity. */
import type { TSchema } from 'elysia'
import { ActivityQuery, ItemActivityAnswer } from '../contract/management/project.ts'
import type { ActivityScope } from '../projects/activity.ts'
import type { Resource, Scope } from '../projects/rights/scopes.ts'
import type { Project } from '../projects/settings/project.ts'
import { answerJson } from './answers/answers.ts'
import { answerPage, readSearch } from './answers/pages.ts'
import type { AppContext } from './app-context.ts'
import type { Validator } from './bodies/shape.ts'
import type { PathParams } from './endpoint.ts'
import { projectActivity } from './management/activity.ts'
import { type OfProject, projectRoute, type Route, type RouteCall } from './route.ts'
import type { ShownTo } from './targeting/flags/linked-flags.ts'

/** A call of any route of the family. */
type FamilyCall = RouteCall<OfProject, TSchema>

type Awaitable<Value> = Promise<Value> | Value

/** The declaration of a family of routes; a part that is missing makes no route. */
type ResourceFamily<Item, New extends TSchema, Change extends TSchema, Listed> = {
  /** Path of the list below the project, with its slash; several are synonyms. */
  readonly path: string | readonly string[]
  /** Reading needs `<resource>:read`, everything else `<resource>:write`. */
  readonly resource: Resource
  /** The schema of one item. */
  readonly answer: TSchema
  /** Returns the item of the path, also a deleted one. Refuses an unknown id with `not_found`. */
  readonly find: (app: AppContext, project: Project, params: PathParams) => Item
  /** Refuses a deleted item with `not_found`, unless the body of a change restores it. */
  readonly requirePresent?: (item: Item, body?: { readonly deleted?: boolean | null }) => Item
  /** Returns a function that serializes items during one request. */
  readonly serializer: (app: AppContext, to: ShownTo) => Awaitable<(item: Item) => object>
  readonly list?: {
    readonly summary: string
    readonly query: TSchema
    /** The schema of a page. */
    readonly answer: TSchema
    /** Returns all items that the request selects, in order, or the heads from which `open` makes items. */
    readonly items: (app: AppContext, call: FamilyCall) => Awaitable<readonly Listed[]>
    /** The texts in which the parameter `search` looks. */
    readonly texts?: (listed: Listed) => readonly string[]
    /** Reads an item of the page; missing where items are listed whole. */
    readonly open?: (app: AppContext, project: Project, listed: Listed) => Item
    /** The items of a page without `limit`; 100 if it is missing. */
    readonly limit_default?: number
  }
  readonly create?: {
    readonly summary: string
    readonly body: Validator<New>
    readonly run: (app: AppContext, call: RouteCall<OfProject, New>) => Awaitable<Item>
  }
  readonly read?: { readonly summary: string }
  /** A PUT is added beside the PATCH (`withPut`). */
  readonly change?: {
    readonly summary: string
    readonly body: Validator<Change>
    readonly run: (
      app: AppContext,
      call: RouteCall<OfProject, Change>,
      before: Item,
    ) => Awaitable<Item>
  }
  readonly remove?: {
    readonly summary: string
    readonly run: (app: AppContext, call: FamilyCall, item: Item) => void
  }
  /** Further routes, listed before the activity's in the documentation. */
  readonly more?: readonly Route[]
  readonly activity?: { readonly summary: string; readonly scope: ActivityScope }
}

/** Declares the routes of a family, in the order of the documentation. */
export function resource<
  Item extends { readonly id: number | string },
  New extends TSchema = TSchema,
  Change extends TSchema = TSchema,
  Listed = Item,
>(family: ResourceFamily<Item, New, Change, Listed>): readonly Route[] {
  return [
    ...listRoute(family),
    ...createRoute(family),
    ...readRoute(family),
    ...changeRoute(family),
    ...removeRoute(family),
    ...(family.more ?? []),
    ...activityRoute(family),
  ]
}

type Common<Item> = Pick<
  ResourceFamily<Item, TSchema, TSchema, unknown>,
  'answer' | 'find' | 'path' | 'requirePresent' | 'resource' | 'serializer'
>

const reading = ({ resource: name }: { readonly resource: Resource }): Scope => `${name}:read`
const writing = ({ resource: name }: { readonly resource: Resource }): Scope => `${name}:write`

const rootsOf = ({ path }: { readonly path: string | readonly string[] }): readonly string[] =>
  typeof path === 'string' ? [path] : path

/** Paths of one item, or below it. */
function itemPaths(family: Pick<Common<unknown>, 'path'>, rest = ''): readonly string[] {
  return rootsOf(family).map((root) => `${root}:id/${rest}`)
}

async function answerItem<Item>(
  app: AppContext,
  { serializer }: Pick<Common<Item>, 'serializer'>,
  to: ShownTo,
  item: Item,
  status = 200,
): Promise<Response> {
  return answerJson((await serializer(app, to))(item), status)
}
function listRoute<Item, Listed>({
  list,
  ...family
}: Common<Item> & Pick<ResourceFamily<Item, TSchema, TSchema, Listed>, 'list'>): readonly Route[] {
  if (list === undefined) return []
  const { items, texts, open, limit_default } = list
  const answer = async (app: AppContext, call: FamilyCall): Promise<Response> => {
    const serialize = await family.serializer(app, call)
    const all = await items(app, call)
    const search_text = readSearch(call.request).toLowerCase()
    const isFound = (listed: Listed): boolean =>
      texts === undefined || texts(listed).some((text) => text.toLowerCase().includes(search_text))
    const onWire = (listed: Listed): unknown =>
      // Without `open` the list has whole items.
      serialize(open === undefined ? (listed as unknown as Item) : open(app, call.project, listed))
    return answerPage(call.request, app.publicUrl(), all.filter(isFound), onWire, limit_default)
  }
  const { summary, query } = list
  const described = { summary, query, answers: { 200: list.answer } }
  const path = rootsOf(family)
  return [projectRoute({ method: 'GET', path, scope: reading(family), ...described, answer })]
}

function createRoute<Item, New extends TSchema>({
  create,
  ...family
}: Common<Item> & Pick<ResourceFamily<Item, New, TSchema, unknown>, 'create'>): readonly Route[] {
  if (create === undefined) return []
  const route = projectRoute({
    method: 'POST',
    path: rootsOf(family),
    scope: writing(family),
    summary: create.summary,
    body: create.body,
    answers: { 201: family.answer },
    answer: async (app, call) => answerItem(app, family, call, await create.run(app, call), 201),
  })
  return [route]
}

function readRoute<Item>({
  read,
  ...family
}: Common<Item> & Pick<ResourceFamily<Item, TSchema, TSchema, unknown>, 'read'>): readonly Route[] {
  if (read === undefined) return []
  const { find, requirePresent = (item) => item } = family
  const route = projectRoute({
    method: 'GET',
    path: itemPaths(family),
    scope: reading(family),
    summary: read.summary,
    answers: { 200: family.answer },
    answer: (app, call) =>
      answerItem(app, family, call, requirePresent(find(app, call.project, call.params))),
  })
  return [route]
}

function changeRoute<Item, Change extends TSchema>({
  change,
  ...family
}: Common<Item> &
  Pick<ResourceFamily<Item, TSchema, Change, unknown>, 'change'>): readonly Route[] {
  if (change === undefined) return []
  const { find, requirePresent = (item) => item } = family
  const route = projectRoute({
    method: 'PATCH',
    path: itemPaths(family),
    scope: writing(family),
    summary: change.summary,
    body: change.body,
    answers: { 200: family.answer },
    answer: async (app, call) => {
      const stored = find(app, call.project, call.params)
      const before = requirePresent(stored, call.body as { readonly deleted?: boolean | null })
      return answerItem(app, family, call, await change.run(app, call, before))
    },
  })
  return [route]
}

function removeRoute<Item>({
  remove,
  ...family
}: Common<Item> &
  Pick<ResourceFamily<Item, TSchema, TSchema, unknown>, 'remove'>): readonly Route[] {
  if (remove === undefined) return []
  const route = projectRoute({
    method: 'DELETE',
    path: itemPaths(family),
    scope: writing(family),
    summary: remove.summary,
    answers: { 204: null },
    answer: (app, call) => {
      remove.run(app, call, family.find(app, call.project, call.params))
      return new Response(null, { status: 204 })
    },
  })
  return [route]
}

function activityRoute<Item extends { readonly id: number | string }>({
  activity,
  ...family
}: Common<Item> &
  Pick<ResourceFamily<Item, TSchema, TSchema, unknown>, 'activity'>): readonly Route[] {
  if (activity === undefined) return []
  const route = projectRoute({
    method: 'GET',
    path: itemPaths(family, 'activity/'),
    scope: 'activity_log:read',
    summary: activity.summary,
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (app, call) => {
      const item_id = String(family.find(app, call.project, call.params).id)
      return answerJson(projectActivity(app, call, { scope: activity.scope, item_id }))
    },
  })
  return [route]
}
