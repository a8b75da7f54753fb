/** The saved insights: searched, opened, renamed, deleted. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { useInsightPages } from '../../api/boards.ts'
import type { StoredInsight } from '../../api/insights.ts'
import { formatAgo } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Menu } from '../../parts/overlays/menu.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { insightKind } from '../explore/insight-kind.ts'
import style from './boards.module.css'
import { deleteInsight, RenameInsight } from './insight-actions.tsx'
import { insightName } from './tile.tsx'

/** Draws the list. */
export function InsightList({ search }: { readonly search: string }): VNode {
  const list = useInsightPages(search)
  const [renamed, setRenamed] = useState<StoredInsight | null>(null)
  const insights = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <Loaded
        of={list}
        isEmpty={() => insights.length === 0}
        empty={
          search === '' ? (
            <EmptyNote title="No saved insights yet" icon="explore">
              <p>Create one in Explore or SQL and save it.</p>
            </EmptyNote>
          ) : (
            <EmptyNote title="No insights found" icon="search" />
          )
        }
      >
        {() => (
          <ul class={style.list}>
            {insights.map((insight) => (
              <InsightItem
                key={insight.id}
                insight={insight}
                onRename={() => setRenamed(insight)}
              />
            ))}
          </ul>
        )}
      </Loaded>
      <ShowMore list={list} text="Show more" />
      {renamed !== null && <RenameInsight insight={renamed} onClose={() => setRenamed(null)} />}
    </>
  )
}

type InsightItemProps = { readonly insight: StoredInsight; readonly onRename: () => void }

function InsightItem({ insight, onRename }: InsightItemProps): VNode {
  const { id } = useProject()
  const may_edit = useMayEdit('insight')
  const name = insightName(insight)
  return (
    <li class={style.item}>
      <Link href={`/insights/${insight.short_id}`}>
        <Icon name="explore" />
        <span>
          <strong>{name}</strong>
          <span>
            {[insightKind(insight.query), boardsText(insight.dashboards.length)]
              .filter(Boolean)
              .join(' · ')}
          </span>
        </span>
        <span>{formatAgo(insight.last_modified_at)}</span>
      </Link>
      {may_edit && (
        <Menu
          label={`Actions of ${name}`}
          items={[
            { text: 'Rename', onSelect: onRename },
            {
              text: 'Delete',
              icon: 'trash',
              is_danger: true,
              onSelect: () => void deleteInsight(id, insight),
            },
          ]}
        />
      )}
    </li>
  )
}

const boardsText = (count: number): string | null =>
  count === 0 ? null : count === 1 ? 'on a board' : `on ${count} boards`
