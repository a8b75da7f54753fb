/** One tile of a board: an insight with its chart, or a text. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { type AnyQuery, useAnswer } from '../../api/ask.ts'
import type { BoardTile } from '../../api/boards.ts'
import type { DateRangeValue } from '../../parts/date-range.tsx'
import { EmptyNote } from '../../parts/empty-note.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { Menu, type MenuItem } from '../../parts/menu.tsx'
import { SkeletonBlock } from '../../parts/skeleton.tsx'
import { Table } from '../../parts/table.tsx'
import { useProject } from '../../state/project.tsx'
import { type ExploreQuestion, isObject, readQuestion } from '../explore/question.ts'
import { derivedName } from '../explore/save-bar.tsx'
import { KIND_VIEWS } from '../explore/views.ts'
import { cellText, type SqlRow } from '../sql/cells.ts'
import style from './boards.module.css'
import { layoutOf } from './layout.ts'

type TileProps = {
  readonly tile: BoardTile
  /** Replaces the range of every insight; null leaves each its own. */
  readonly range: DateRangeValue | null
  readonly actions: readonly (MenuItem | null)[]
  readonly onDragStart: () => void
  readonly onDrop: () => void
}

/** Draws the tile; it is dragged by its head. */
export function Tile({ tile, range, actions, onDragStart, onDrop }: TileProps): VNode {
  const { insight, text } = tile
  const title = insight === null ? 'Text' : insightName(tile)
  return (
    <article
      class={style.tile}
      style={{ gridColumnEnd: `span ${layoutOf(tile).w}` }}
      aria-label={title}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        onDrop()
      }}
    >
      <header draggable onDragStart={onDragStart}>
        {insight === null ? <span /> : <Link href={`/insights/${insight.short_id}`}>{title}</Link>}
        <Menu label={`Actions of ${title}`} items={actions} />
      </header>
      {text !== null && <p class={style.text}>{text.body}</p>}
      {insight !== null && <InsightBody query={insight.query} range={range} />}
    </article>
  )
}

function insightName({ insight }: BoardTile): string {
  const question = insight === null ? null : readQuestion(insight.query)
  return insight?.name || insight?.derived_name || (question ? derivedName(question) : 'Insight')
}

type InsightBodyProps = { readonly query: unknown; readonly range: DateRangeValue | null }

function InsightBody({ query, range }: InsightBodyProps): VNode {
  const question = readQuestion(query)
  if (question !== null) {
    return <Chart question={range === null ? question : { ...question, dateRange: range }} />
  }
  const source = isObject(query) && isObject(query['source']) ? query['source'] : query
  if (isObject(source) && source['kind'] === 'HogQLQuery')
    return <Rows query={source as AnyQuery} />
  return (
    <EmptyNote title="No chart for this kind of question">
      <p>It can be asked by the API.</p>
    </EmptyNote>
  )
}

const CHART_PX = 320
const ROWS_PX = 340

function Chart({ question }: { readonly question: ExploreQuestion }): VNode {
  const { timezone } = useProject()
  const answer = useAnswer(question)
  const { View, isEmpty } = KIND_VIEWS[question.kind]
  return (
    <Loaded
      of={answer}
      skeleton={<SkeletonBlock height={CHART_PX} />}
      isEmpty={({ results }) => isEmpty(results)}
      empty={<EmptyNote title="Nothing in this range" />}
    >
      {({ results }) => (
        <View
          question={question}
          results={results}
          timezone={timezone}
          annotations={[]}
          onPick={() => undefined}
          onMark={() => undefined}
        />
      )}
    </Loaded>
  )
}

function Rows({ query }: { readonly query: AnyQuery }): VNode {
  return (
    <Loaded of={useAnswer<readonly SqlRow[]>(query)}>
      {({ results, columns = [] }) => (
        <Table
          label="Rows"
          columns={columns.map((title, at) => ({
            name: `${at}`,
            title,
            cell: ({ cells }: { readonly cells: SqlRow }) => cellText(cells[at]),
          }))}
          rows={results.map((cells, index) => ({ cells, index }))}
          rowKey={({ index }) => index}
          height_max={ROWS_PX}
        />
      )}
    </Loaded>
  )
}
