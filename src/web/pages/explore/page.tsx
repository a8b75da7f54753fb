/** Explore: one editor for every kind of question, its answer, and saving both. */
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
import style from './page.module.css'
import {
  EXPLORE_KINDS,
  type ExploreQuestion,
  questionOf,
  readQuestion,
  wrapQuestion,
} from './question.ts'
import { SavedHead, SaveNew } from './save-bar.tsx'
import { Result } from './views/result.tsx'

/** A new question, in the address alone. */
export function ExplorePage(): VNode {
  const [question, setQuestion] = useQuestion()
  return (
    <>
      <PageHead title="Explore">{question && <SaveNew question={question} />}</PageHead>
      {question === undefined && <Skeleton lines={4} />}
      {question === null && <Examples onPick={setQuestion} />}
      {question && <Workbench question={question} onChange={setQuestion} />}
    </>
  )
}

/** A saved insight; unsaved changes of it are in the address. */
export function InsightPage(): VNode {
  const [, params] = useRoute('/insights/:short_id')
  const saved = useInsight(params?.short_id ?? null)
  const [changed, setChanged] = useQuestion()
  const lost = (
    <>
      <PageHead title="Insight" />
      <EmptyNote title="There is no such insight" icon="explore">
        <p>It may have been deleted.</p>
        <ButtonLink href="/boards?show=insights">All insights</ButtonLink>
      </EmptyNote>
    </>
  )
  return (
    <Loaded of={saved} title="Insight" empty={lost} isEmpty={(insight) => insight === null}>
      {(insight) => {
        if (insight === null || changed === undefined) return <Skeleton lines={4} />
        const stored = readQuestion(insight.query)
        const question = changed ?? stored
        return (
          <>
            <SavedHead insight={insight} stored={stored} question={question} />
            {question === null ? (
              <Foreign query={insight.query} />
            ) : (
              <Workbench question={question} onChange={setChanged} />
            )}
          </>
        )
      }}
    </Loaded>
  )
}

/** The question in the address; the address has the wrapper that other editors expect. */
function useQuestion() {
  const [question, setHash] = useHashQuery<ExploreQuestion>(readQuestion)
  const set = useCallback(
    (next: ExploreQuestion, options?: ChangeOptions) =>
      setHash(wrapQuestion(next) as unknown as ExploreQuestion, options),
    [setHash],
  )
  return [question, set] as const
}

type WorkbenchProps = {
  readonly question: ExploreQuestion
  readonly onChange: (question: ExploreQuestion, options?: ChangeOptions) => void
}

function Workbench({ question, onChange }: WorkbenchProps): VNode {
  const is_narrow = useMatch('(width <= 600px)')
  const tabs = useRef<HTMLElement>(null)
  useEffect(() => {
    // On a phone the last ones are outside of the screen.
    const open = tabs.current?.querySelector('[aria-current]')
    open?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [question.kind])
  return (
    <div class={style.workbench}>
      <nav ref={tabs} class={style.tabs} aria-label="Kind of question">
        {EXPLORE_KINDS.map(({ kind, text }) => (
          <button
            key={kind}
            type="button"
            aria-current={question.kind === kind ? 'true' : undefined}
            onClick={() => {
              if (question.kind !== kind) onChange(questionOf(kind, question))
            }}
          >
            {text}
          </button>
        ))}
      </nav>
      {/* On a phone the answer comes first: the editor fills the whole screen. */}
      {!is_narrow && <Editor question={question} onChange={onChange} />}
      <Result question={question} onChange={onChange} />
      {is_narrow && <Editor question={question} onChange={onChange} />}
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
        <p>It is a kind of question that has no editor here yet.</p>
      ) : (
        <ButtonLink href={`/sql#q=${encodeURIComponent(JSON.stringify(node))}`} icon="sql">
          Open in SQL
        </ButtonLink>
      )}
    </EmptyNote>
  )
}
