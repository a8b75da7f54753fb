/** Boards: the lists of boards and of saved insights, and one board at `/boards/:id`. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link, useRoute } from 'wouter-preact'
import { useBoardPages } from '../../api/boards.ts'
import { lazyPage } from '../../lazy-page.tsx'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import { formatAgo } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { useMayEdit } from '../../state/project.tsx'
import { SEARCH_LENGTH_MAX, useParam } from '../../state/url.ts'
import { BoardView } from './board.tsx'
import style from './boards.module.css'

/** These are loaded when they are shown: the page has little room. */
const InsightList = lazyPage(
  () => import('./insight-list.tsx').then(({ InsightList: List }) => List),
  { is_part: true },
)

const NewBoard = lazyPage(() => import('./new-board.tsx').then(({ NewBoard: Dialog }) => Dialog), {
  is_dialog: true,
})

/** The page. */
export function BoardsPage(): VNode {
  const [is_board, params] = useRoute('/boards/:id')
  const board_id = Number(params?.id)
  return is_board && Number.isSafeInteger(board_id) ? (
    <BoardView key={board_id} board_id={board_id} />
  ) : (
    <BothLists />
  )
}

const LISTS = [
  { value: '', text: 'Boards' },
  { value: 'insights', text: 'Insights' },
] as const

function BothLists(): VNode {
  const [is_new, setNew] = useState(false)
  const [shown, setShown] = useParam('show')
  const [search, setSearch] = useParam('search')
  const is_insights = shown === 'insights'
  const may_add = useMayEdit(is_insights ? 'insight' : 'dashboard')
  return (
    <>
      <PageHead title="Boards">
        {may_add && is_insights && (
          <ButtonLink href="/explore" look="main" icon="plus">
            New insight
          </ButtonLink>
        )}
        {may_add && !is_insights && (
          <Button look="main" icon="plus" onClick={() => setNew(true)}>
            New board
          </Button>
        )}
      </PageHead>
      <div class={style.controls}>
        <Choice
          label="Show"
          options={LISTS}
          value={is_insights ? 'insights' : ''}
          onChange={setShown}
        />
        {is_insights && (
          <input
            type="search"
            class="field"
            placeholder="Search insights"
            maxLength={SEARCH_LENGTH_MAX}
            aria-label="Search insights"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value, { is_typing: true })}
          />
        )}
      </div>
      {is_insights ? <InsightList search={search} /> : <BoardList />}
      {is_new && <NewBoard onClose={() => setNew(false)} />}
    </>
  )
}

function BoardList(): VNode {
  const list = useBoardPages()
  const boards = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <Loaded
        of={list}
        isEmpty={() => boards.length === 0}
        empty={
          <EmptyNote title="No boards yet" icon="boards">
            <p>A board shows insights side by side, for a team or a screen on the wall.</p>
          </EmptyNote>
        }
      >
        {() => (
          <ul class={style.list}>
            {boards.map((board) => (
              <li key={board.id}>
                <Link href={`/boards/${board.id}`}>
                  <Icon name="boards" />
                  <span>
                    <strong>{board.name || 'Board'}</strong>
                    {board.description && <span>{board.description}</span>}
                  </span>
                  <span>{board.pinned ? 'pinned' : formatAgo(board.created_at)}</span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <ShowMore list={list} text="Show more" />
    </>
  )
}
