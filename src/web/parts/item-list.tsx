/** The list of a page of flags, cohorts and the like: a search, and a line for each thing, page by page. */
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import type { ItemPages } from '../api/calls/pages.ts'
import { useKeys } from '../state/keys.ts'
import { SEARCH_LENGTH_MAX, useParam } from '../state/url.ts'
import style from './fields/edited-page.module.css'
import { Loaded } from './notes/loaded.tsx'
import { SkeletonBlock } from './notes/skeleton.tsx'
import { ShowMore } from './show-more.tsx'

/** A search whose text is in the address, where `useParam('search')` reads it; `/` leads to it. */
export function SearchField({ label }: { readonly label: string }): VNode {
  const [search, setSearch] = useParam('search')
  const field = useRef<HTMLInputElement>(null)
  useKeys([{ keys: '/', text: label, group: 'On this page', run: () => field.current?.focus() }])
  return (
    <input
      ref={field}
      type="search"
      class={`field ${style.search}`}
      placeholder={label}
      aria-label={label}
      maxLength={SEARCH_LENGTH_MAX}
      value={search}
      onInput={(event) => setSearch(event.currentTarget.value, { is_typing: true })}
    />
  )
}

type ItemListProps<Item> = {
  /** Of `useItemPages`. */
  readonly list: ItemPages<Item>
  /** Drawn in place of a list without items. */
  readonly empty: VNode
  /** Draws an item as `<li>` with its key. */
  readonly children: (item: Item) => VNode
}

const SKELETON_PX = 240

/** Draws the pages that were read so far, and the button that asks for the next one. */
export function ItemList<Item>({ list, empty, children }: ItemListProps<Item>): VNode {
  const items = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <Loaded
        of={list}
        skeleton={<SkeletonBlock height={SKELETON_PX} />}
        isEmpty={() => items.length === 0}
        empty={empty}
      >
        {() => <ul class={style.list}>{items.map((item) => children(item))}</ul>}
      </Loaded>
      <ShowMore list={list} text="Show more" />
    </>
  )
}
