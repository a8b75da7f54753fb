/** The messages to an edge's data thread: those of ingestion that it understands, and its own. */
import type { ToDataThread } from '../ingest/threads/messages.ts'
import type { MovedEntries } from '../storage/log/edge-entries.ts'
import type { CopiesFromHome, GroupTypeCopy } from '../storage/persons/edge-persons.ts'

type Ingestion = Extract<
  ToDataThread,
  { readonly kind: 'checkpoint' | 'close' | 'link' | 'open' | 'overrides' | 'requests' }
>

export type ToEdgeThread =
  | Ingestion
  /** The most bytes of entries that wait for the home; beyond it requests are answered 503. Precedes `open`. */
  | { readonly kind: 'limit'; readonly bytes_max: number }
  /** Persons, groups and group types that the home has sent. */
  | { readonly kind: 'replicate'; readonly copies: CopiesFromHome }
  | { readonly kind: 'group_types'; readonly types: readonly GroupTypeCopy[] }
  /** The home has stored an epoch's entries up to this number. */
  | { readonly kind: 'confirmed'; readonly epoch: string; readonly up_to_seq: number }
  /** Another server has the project of these entries: they are set aside. */
  | { readonly kind: 'moved'; readonly entries: MovedEntries }
  /** The home has this project, of which entries were set aside: they are to be sent. */
  | { readonly kind: 'resume'; readonly project_id: number }
