/** Data: the events, properties and actions of a project, each a list, and a page of its own at `/data/events/:id`. */
import type { ComponentType, VNode } from 'preact'
import { useRoute } from 'wouter-preact'
import { ActionEditor, ActionView } from './action.tsx'
import { ActionList } from './action-list.tsx'
import { EventView } from './event.tsx'
import { EventDefinitionList } from './event-list.tsx'
import { PropertyView } from './property.tsx'
import { PropertyDefinitionList } from './property-list.tsx'

/** DATA_VIEWS: a part's list, and the page of one thing in it; their tabs are in `data-head.tsx`. */
const DATA_VIEWS: Readonly<
  Record<
    string,
    { readonly List: ComponentType; readonly One: ComponentType<{ readonly id: string }> }
  >
> = {
  properties: { List: PropertyDefinitionList, One: PropertyView },
  actions: {
    List: ActionList,
    One: ({ id }) => (id === 'new' ? <ActionEditor action={null} /> : <ActionView id={id} />),
  },
}
const EVENTS = { List: EventDefinitionList, One: EventView }

/** The page. */
export function DataPage(): VNode {
  const [, params] = useRoute('/data/:part?/:id?')
  const { part = '', id } = params ?? {}
  const { List, One } = (Object.hasOwn(DATA_VIEWS, part) && DATA_VIEWS[part]) || EVENTS
  return id === undefined ? <List /> : <One key={id} id={id} />
}
