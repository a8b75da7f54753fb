/** Groups of one type: the list with a search. */
import type { VNode } from 'preact'
import { type GroupListed, groupAddress, nameOfGroup, useGroups } from '../../api/persons/groups.ts'
import { Ago } from '../../parts/ago.tsx'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { Table, type TableColumn } from '../../parts/table.tsx'

type GroupTableProps = {
  readonly group_type_index: number
  readonly search: string
  readonly filters: readonly PropertyCondition[]
}

/** Draws the groups with the search in their key or properties, for which all filters hold. */
export function GroupTable({ group_type_index, search, filters }: GroupTableProps): VNode {
  const list = useGroups(group_type_index, search, filters)
  const groups = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <Loaded
        of={list}
        skeleton={<SkeletonBlock height={480} />}
        isEmpty={() => groups.length === 0}
        empty={<EmptyNote title="No groups found" icon="search" />}
      >
        {() => (
          <Table
            label="Groups"
            columns={COLUMNS}
            rows={groups}
            rowKey={({ group_key }) => group_key}
            hrefOf={({ group_key }) => groupAddress(group_type_index, group_key)}
            height_max={720}
          />
        )}
      </Loaded>
      <ShowMore list={list} text="Show more" />
    </>
  )
}

const COLUMNS: readonly TableColumn<GroupListed>[] = [
  {
    name: 'name',
    title: 'Group',
    cell: ({ group_key, group_properties }) => nameOfGroup(group_key, group_properties),
  },
  { name: 'key', title: 'Key', is_wide_only: true, cell: ({ group_key }) => group_key },
  {
    name: 'properties',
    title: 'Properties',
    is_number: true,
    is_wide_only: true,
    cell: ({ group_properties }) => Object.keys(group_properties).length,
  },
  {
    name: 'created',
    title: 'First seen',
    is_number: true,
    cell: ({ created_at }) => <Ago iso={created_at} />,
  },
]
