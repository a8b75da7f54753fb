/** Explore: one editor for every kind of query, its answer, and saving both. */
import type { VNode } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { useRoute } from 'wouter-preact'
import { useInsight } from '../../api/insights.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Skeleton } from '../../parts/notes/skeleton.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { type ChangeOptions, useHashQuery } from '../../state/url.ts'
import { readNode } from '../sql/node.ts'
import { Editor } from './editor/editor.tsx'
import { Examples } from './examples.tsx'
import { EXPLORE_KINDS, type ExploreQuery, queryOf, readQuery, wrapQuery } from './explore-query.ts'
import style from './page.module.css'
import { SavedHead, SaveNew } from './save-bar.tsx'
import { Result } from './views/result.tsx'

/** A new query, in the address alone. */
export function ExplorePage(): VNode {
  const [query, setQuery] = useQuery()
  return (
    <>
      <PageHead title="Explore">{query && <SaveNew query={query} />}</PageHead>
      {query === undefined && <Skeleton lines={4} />}
      {query === null && <Examples onPick={setQuery} />}
      {query && <Workbench query={query} onChange={setQuery} />}
    </>
  )
}

/** A saved insight; unsaved changes of it are in the address. */
export function InsightPage(): VNode {
  const [, params] = useRoute('/insights/:short_id')
  const saved = useInsight(params?.short_id ?? null)
  const [changed, setChanged] = useQuery()
  const lost = (
    <>
      <PageHead title="Insight" />
      <EmptyNote title="Insight not found" icon="explore">
        <p>It may have been deleted.</p>
        <ButtonLink href="/boards?show=insights">All insights</ButtonLink>
      </EmptyNote>
    </>
  )
  return (
    <Loaded of={saved} title="Insight" empty={lost} isEmpty={(insight) => insight === null}>
      {(insight) => {
        if (insight === null || changed === undefined) return <Skeleton lines={4} />
        const stored = readQuery(insight.query)
        const query = changed ?? stored
        return (
          <>
            <SavedHead insight={insight} stored={stored} query={query} />
            {query === null ? (
              <Foreign query={insight.query} />
            ) : (
              <Workbench query={query} onChange={setChanged} />
            )}
          </>
        )
      }}
    </Loaded>
  )
}

/** The query in the address; the address has the wrapper that other editors expect. */
function useQuery() {
  const [query, setHash] = useHashQuery<ExploreQuery>(readQuery)
  const set = useCallback(
    (next: ExploreQuery, options?: ChangeOptions) =>
      setHash(wrapQuery(next) as unknown as ExploreQuery, options),
    [setHash],
  )
  return [query, set] as const
}

type WorkbenchProps = {
  readonly query: ExploreQuery
  readonly onChange: (query: ExploreQuery, options?: ChangeOptions) => void
}

function Workbench({ query, onChange }: WorkbenchProps): VNode {
  const is_narrow = useMatch('(width <= 600px)')
  const tabs = useRef<HTMLElement>(null)
  useEffect(() => {
    // On a phone the last ones are outside of the screen.
    const open = tabs.current?.querySelector('[aria-current]')
    open?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [query.kind])
  return (
    <div class={style.workbench}>
      <nav ref={tabs} class={style.tabs} aria-label="Kind of query">
        {EXPLORE_KINDS.map(({ kind, text }) => (
          <button
            key={kind}
            type="button"
            aria-current={query.kind === kind ? 'true' : undefined}
            onClick={() => {
              if (query.kind !== kind) onChange(queryOf(kind, query))
            }}
          >
            {text}
          </button>
        ))}
      </nav>
      {/* On a phone the answer comes first: the editor fills the whole screen. */}
      {!is_narrow && <Editor query={query} onChange={onChange} />}
      <Result query={query} onChange={onChange} />
      {is_narrow && <Editor query={query} onChange={onChange} />}
    </div>
  )
}

/** Whether a media query holds; follows the window. */
function useMatch(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const follow = (): void => setMatches(list.matches)
    follow()
    list.addEventListener('change', follow)
    return () => list.removeEventListener('change', follow)
  }, [query])
  return matches
}

/** An insight of another editor: a text is opened in SQL. */
function Foreign({ query }: { readonly query: unknown }): VNode {
  const node = readNode(query)
  return (
    <EmptyNote title="Explore cannot edit this insight" icon="explore">
      {node === null ? (
        <p>This kind of query has no editor here yet.</p>
      ) : (
        <ButtonLink href={`/sql#q=${encodeURIComponent(JSON.stringify(node))}`} icon="sql">
          Open in SQL
        </ButtonLink>
      )}
    </EmptyNote>
  )
}
